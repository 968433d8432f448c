# SPDX-License-Identifier: GPL-2.0
"""The two programs of tools/probe/schedule_load.cc, with the agent of libgpulens-run.so inside or under gpulens,
for the experiments of tests/gpu/. An effect is judged by the programs' progress, not by the driver's status."""

import contextlib
import ctypes
import json
import mmap
import os
import pathlib
import shutil
import signal
import statistics
import struct
import subprocess
import tempfile
import time
import typing
from typing import Iterator

from support.stamps import Job, read_jobs

FOLDER = pathlib.Path(tempfile.mkdtemp())
RUN = FOLDER / "run"  # of programs under a policy
FILES: dict[str, str] = {}  # load, library: copies that another user can read; jobs: libgpulens-partition.so
LIBC = ctypes.CDLL(None, use_errno=True)
SET_SLICE, DISABLE, DISABLE_PREEMPT, UNLIST, RELEASE, PREEMPT, COUNT = range(1, 8)  # enum AgentVerb
# Offsets of struct AgentPage, tools/lib/launch/agent_page.hpp
PAGE = {"pid": (8, "I"), "request": (12, "I"), "verb": (16, "I"), "argument": (24, "Q"), "lease_end": (32, "Q"),
        "answered": (40, "I"), "status": (44, "I"), "took_ns": (48, "Q"), "groups": (56, "I"), "channels": (60, "I"),
        "held_since": (64, "Q"), "expired": (72, "I"), "reasserted": (76, "I"), "set_slices": (80, "I"),
        "saves": (84, "I"),
        "restores": (88, "I"), "wfi_saves": (92, "I"), "cta_saves": (96, "I"), "cilp_saves": (100, "I"),
        "slice_us": (260, "I"), "ioctls": (264, "Q")}
LENGTH_NS, GO = 7, 8  # words of struct LoadProgress, tools/lib/schedule/load.hpp


def use_programs(load: str, library: str) -> None:
    """Names the compiled program and libgpulens-run.so, beside which libgpulens-partition.so is."""
    FOLDER.chmod(0o777)
    RUN.mkdir(mode=0o700)
    FILES.update(load=shutil.copy(load, FOLDER), library=shutil.copy(library, FOLDER),
                 jobs=str(pathlib.Path(library).resolve().parent / "libgpulens-partition.so"))


def print_finding(experiment: str, **values: object) -> None:
    """Prints a finding."""
    print(json.dumps({"experiment": experiment, **values}), flush=True)


def print_verdict(experiment: str, goal: str, reached: "bool | None", **values: object) -> None:
    """Prints whether a goal was reached; None: the measurement does not settle it."""
    words = {True: "reached", False: "not reached", None: "not settled"}
    print_finding(experiment, goal=goal, **values, verdict=words[reached])


def sum_up(times: list[float]) -> dict[str, float]:
    """Of times in us."""
    times = sorted(times)
    return {"n": len(times), "min": times[0], "p50": statistics.median(times), "p99": times[int(len(times) * 0.99)],
            "max": times[-1]} if times else {"n": 0}


class Page:
    """A program's agent."""

    def __init__(self, pid: int, folder: pathlib.Path = FOLDER) -> None:
        path = folder / f"agent-{pid}"
        for _ in range(400):
            if path.exists() and path.stat().st_size and path.read_bytes()[:8] == b"GPLAGE05":
                break
            time.sleep(0.05)
        with path.open("r+b") as file:
            self.map = mmap.mmap(file.fileno(), 0)
        self.base = ctypes.addressof(ctypes.c_char.from_buffer(self.map))

    def __getattr__(self, name: str) -> int:
        offset, kind = PAGE[name]
        return struct.unpack_from(kind, self.map, offset)[0]

    def write(self, name: str, value: int) -> None:
        """Sets a field."""
        struct.pack_into(PAGE[name][1], self.map, PAGE[name][0], value)

    def ask(self, verb: int, argument: int = 0, lease: float = 3.0) -> dict[str, int]:
        """Has the agent carry out a verb. Returns its answer; status -1: none in 3 s."""
        self.write("verb", verb)
        self.write("argument", argument)
        self.write("lease_end", int((time.monotonic() + lease) * 1e9))
        number = self.request + 1
        self.write("request", number)
        LIBC.syscall(202, ctypes.c_void_p(self.base + PAGE["request"][0]), 1, 2147483647, None, None, 0)
        end = time.monotonic() + 3
        while self.answered != number:
            if time.monotonic() > end:
                return {"status": -1, "took_us": 3000000, "groups": 0, "channels": 0}
        return {"status": self.status, "took_us": self.took_ns // 1000, "groups": self.groups,
                "channels": self.channels}

    def counts(self) -> dict[str, int]:
        """Context switches since the TSG was made."""
        self.ask(COUNT)
        return {name: getattr(self, name) for name in ("saves", "restores", "wfi_saves", "cta_saves", "cilp_saves")}


class Program:
    """One of the two programs, with an agent unless `plain`. user: a uid to run as. task: its name in a policy. before:
    a command that runs it, and that makes the agent. more: of its environment; with GPULENS_LOAD_WAIT=1 the urgent
    program waits for begin()."""

    def __init__(self, *words: object, slice_us: int = 0, plain: bool = False, user: int = 0, task: str = "",
                 jobs: bool = False, before: tuple[str, ...] = (), more: "dict[str, str] | None" = None) -> None:
        handle, name = tempfile.mkstemp(dir=FOLDER)
        os.ftruncate(handle, 4096)
        os.close(handle)
        os.chmod(name, 0o666)
        env = {**os.environ, **(more or {})}
        plain |= bool(before)
        if before:
            env["GPULENS_RUNTIME_DIR"] = str(RUN)
        if not plain:
            env["LD_PRELOAD"] = ":".join([FILES["library"], *filter(None, [os.environ.get("LD_PRELOAD")])])
            env["GPULENS_SCHEDULE_FOLDER"] = str(FOLDER)
        if slice_us:
            env["GPULENS_SCHEDULE_SLICE"] = str(slice_us)
        if task:
            env |= {"GPULENS_SCHEDULE_TASK": task, "GPULENS_SCHEDULE_FOLDER": str(RUN)}
        if jobs:
            env["GPULENS_JOBS_LIBRARY"] = FILES["jobs"]
        with open(name, "r+b") as file:
            self.map = mmap.mmap(file.fileno(), 0)
        drop = ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups"] if user else []
        # pylint: disable-next=consider-using-with
        self.process = subprocess.Popen([*before, *drop, FILES["load"], str(words[0]), name, *map(str, words[1:])],
                                        env=env, text=True, stdout=subprocess.PIPE)
        end = time.monotonic() + 30
        while not self.field(4) and self.process.poll() is None and time.monotonic() < end:
            time.sleep(0.02)
        if not self.field(4):
            self.process.kill()
            raise RuntimeError(f"{words}: did not begin")
        self.page = None if plain else Page(self.process.pid, RUN if task else FOLDER)

    def field(self, index: int) -> int:
        """A word of struct Progress."""
        return struct.unpack_from("Q", self.map, 8 * index)[0]

    def begin(self) -> None:
        """Lets a program begin that waits for it."""
        struct.pack_into("Q", self.map, 8 * GO, 1)

    def rate(self, seconds: float) -> float:
        """Rounds a second in the next seconds."""
        begin, start = self.field(0), time.monotonic()
        time.sleep(seconds)
        return (self.field(0) - begin) / (time.monotonic() - start)

    def stop(self) -> dict[str, int]:
        """Ends the victim."""
        os.kill(self.field(3), signal.SIGTERM)
        try:
            status = self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            status = self.process.wait()
        return {"status": status, "kernels": self.field(1), "wrong": self.field(2)}

    def times(self) -> "list[typing.Any]":
        """What the urgent program measured, when it has ended: response times, or with GPULENS_LOAD_STAMPS=1 five times
        of each job."""
        return json.loads(self.process.communicate(timeout=60)[0])

    def jobs(self) -> "list[Job]":
        """With GPULENS_LOAD_STAMPS=1, its jobs."""
        return read_jobs(self.times())


@contextlib.contextmanager
def run_victim(length_ms: float = 100, **options: object) -> Iterator[Program]:
    """A victim that runs; its end is reported if a result was wrong."""
    program = Program("victim", length_ms, **options)
    time.sleep(0.3)
    try:
        yield program
    finally:
        end = program.stop()
        if end["status"] or end["wrong"] or not end["kernels"]:
            print_finding("victim's end", **end)


def time_urgent(length_ms: float, seconds: float = 2, period: float = 5, **options: object) -> dict[str, float]:
    """Response times of the urgent program."""
    return sum_up(Program("urgent", length_ms, period, seconds, **options).times())


def rates_of(first: Program, second: Program, seconds: float = 1) -> tuple[float, float]:
    """Rounds a second of both, at the same time."""
    begin, start = (first.field(0), second.field(0)), time.monotonic()
    time.sleep(seconds)
    took = time.monotonic() - start
    return (first.field(0) - begin[0]) / took, (second.field(0) - begin[1]) / took


def share_of(first: Program, second: Program) -> float:
    """The first one's rounds for each of the second one's."""
    first, second = rates_of(first, second)
    return round(first / second, 3) if second else 0.0


@contextlib.contextmanager
def run_policy(policy: str, *tasks: dict[str, object], summary: "dict[str, object] | None" = None,
               options: "tuple[str, ...]" = ()) -> Iterator[subprocess.Popen[str]]:
    """gpulens --source rm schedule of these tasks, whose programs run; its summary is a finding, or goes to
    `summary`."""
    file = FOLDER / "policy.json"
    file.write_text(json.dumps({"version": 1, "policy": policy, "tasks": tasks}))
    with subprocess.Popen([*os.environ["GPULENS_TOOL"].split(), "--source", "rm", "--json", "schedule", file,
                           "--experimental", *options], env={**os.environ, "GPULENS_RUNTIME_DIR": str(RUN)}, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        time.sleep(0.3)
        try:
            yield process
        finally:
            process.terminate()
            out, err = process.communicate(timeout=60)
        if summary is None:
            print_finding("policy", policy=policy, tasks=tasks, summary=json.loads(out) if out else None, message=err)
        else:
            summary.update(json.loads(out) if out else {}, message=err)
