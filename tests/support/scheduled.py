# SPDX-License-Identifier: GPL-2.0
"""Programs on the faked GPU that gpulens schedules through NVIDIA's driver: tests/support/rm/fake_load.cc. All of them
have the clock of tests/support/fakeclock.py."""

import ctypes
import json
import mmap
import os
import pathlib
import shutil
import struct
import subprocess
import typing

from support.fakeclock import CLOCK, run_by_clock
from support.program import ROOT

BIN = ROOT / "build/bin"
# struct AgentPage, tools/lib/launch/agent_page.hpp
REQUEST, VERB, ARGUMENT, LEASE_END, ANSWERED, STATUS = 12, 16, 24, 32, 40, 44
HELD_SINCE, EXPIRED, REASSERTED, SET_SLICES = 64, 72, 76, 80
DEVICES, JOBS_BEGUN, JOBS_ENDED, JOB_BEGAN, JOBS_MISSED = 104, 184, 188, 192, 216
GATE_WAITS, SLICE_US, BUSY_POLL = 256, 260, 272
DISABLE, UNLIST, RELEASE, GATE = 2, 4, 5, 8  # enum AgentVerb


def make_environment(folder: pathlib.Path, verbs: str = "") -> dict[str, str]:
    """Of a program on the faked GPU."""
    return {**os.environ, **CLOCK.environment(LD_PRELOAD=f"{BIN}/fake_rm.so"),
            "GPULENS_FAKE_RM": f"{ROOT}/tests/support/rm/h200-580.json",
            "GPULENS_FAKE_RM_SHARED": str(folder / "shared"), "GPULENS_FAKE_RM_VERBS": verbs, "HOME": str(folder),
            "XDG_STATE_HOME": str(folder)}


def write_results(folder: pathlib.Path, driver: str = "580.159.04", **results: str) -> pathlib.Path:
    """A file as --probe writes it."""
    file = folder / "results.json"
    file.write_text(json.dumps({"version": 1, "entries": [
        {"driver": driver, "gpu": "NVIDIA H200", "results_right": True,
         "verbs": {verb.replace("_", "-"): {"result": result} for verb, result in results.items()}}]}))
    return file


def place_tool(folder: pathlib.Path, load: pathlib.Path, program: str = "gpulens") -> "list[str]":
    """The words of a gpulens, or gpulens-lab, whose gpulens-schedule-load is load."""
    place = folder / "place"
    if not place.exists():
        place.mkdir()
        for name in ("gpulens", "gpulens-lab"):
            shutil.copy(BIN / name, place)
        for library in BIN.glob("libgpulens-*.so*"):
            (place / library.name).symlink_to(library)
        (place / "gpulens-schedule-load").symlink_to(load)
    return [str(place / program)]


LOADS: "list[Load]" = []  # of the present test


class Program:
    """A fake-load, by the file of its progress and the page of its agent."""

    def __init__(self, folder: pathlib.Path) -> None:
        progress = folder / "progress"
        progress.write_bytes(bytes(4096))
        with progress.open("r+b") as file:
            self.progress = mmap.mmap(file.fileno(), 0)
        self.page = mmap.mmap(-1, 4096)

    def map_page(self, path: pathlib.Path) -> None:
        """The page of its agent, as soon as it is one."""
        wait_for(lambda: self.word(4) and path.exists() and path.read_bytes()[:8] == b"GPLAGE05")
        with path.open("r+b") as file:
            self.page = mmap.mmap(file.fileno(), 0)

    def word(self, index: int) -> int:
        """Of struct LoadProgress: rounds (0) and so on."""
        return int(struct.unpack_from("Q", self.progress, 8 * index)[0])

    def get(self, offset: int) -> int:
        """A word of the page."""
        kind = "Q" if offset in (ARGUMENT, LEASE_END, HELD_SINCE, JOB_BEGAN) else "I"
        return int(struct.unpack_from(kind, self.page, offset)[0])

    def stands_still(self, seconds: float = 0.1) -> bool:
        """Whether it makes no progress."""
        CLOCK.settle()
        before = self.word(0)
        CLOCK.run(seconds)
        return self.word(0) == before


class Load(Program):
    """A fake-load with the agent inside. words: how it is called, without the file of its progress."""

    def __init__(self, folder: pathlib.Path, verbs: str = "", words: "tuple[str, ...]" = ("victim", "20"),
                 **more: str) -> None:
        folder.mkdir(exist_ok=True)
        super().__init__(folder)
        env = {**make_environment(folder, verbs), "GPULENS_SCHEDULE_FOLDER": str(folder), **more}
        gate = f"{BIN}/libgpulens-gate.so:" if "GPULENS_SCHEDULE_GATE" in env else ""
        env["LD_PRELOAD"] = f"{BIN}/libgpulens-run.so:{gate}{env['LD_PRELOAD']}"
        # pylint: disable-next=consider-using-with
        self.process = subprocess.Popen([BIN / "fake-load", words[0], folder / "progress", *words[1:]], env=env)
        LOADS.append(self)
        self.map_page(pathlib.Path(env["GPULENS_SCHEDULE_FOLDER"]) / f"agent-{self.process.pid}")
        CLOCK.run(0.11)  # nothing is held before

    def put(self, offset: int, value: int) -> None:
        """Writes a word of the page, of 32 bits."""
        struct.pack_into("I", self.page, offset, value)

    def ask(self, verb: int, lease: float) -> None:
        """A request, until it is answered."""
        struct.pack_into("I", self.page, VERB, verb)
        struct.pack_into("Q", self.page, LEASE_END, CLOCK.now_ns() + round(lease * 1e9))
        number = self.get(REQUEST) + 1
        struct.pack_into("I", self.page, REQUEST, number)
        word = ctypes.addressof(ctypes.c_char.from_buffer(self.page, REQUEST))
        ctypes.CDLL(None).syscall(202, ctypes.c_void_p(word), 1, 2147483647, None, None, 0)  # FUTEX_WAKE
        CLOCK.run_until(lambda: self.get(ANSWERED) == number)

    def wait_for_progress(self) -> float:
        """How long it takes."""
        before, start = self.word(0), CLOCK.now()
        CLOCK.run_until(lambda: self.word(0) != before)
        return CLOCK.now() - start

    def responses(self) -> "list[float]":
        """Of the jobs that have ended, in ms."""
        return [self.word(16 + i) / 1000 for i in range(self.word(5))]


def start_task(root: pathlib.Path, task: str, *words: str, verbs: str = "", **more: str) -> Load:
    """A program as gpulens run --schedule task=NAME starts it, on the GPU that all programs of this folder share."""
    (root / "run").mkdir(mode=0o700, exist_ok=True)
    return Load(root / f"load-{len(LOADS)}", verbs, words or ("victim", "20"), GPULENS_SCHEDULE_TASK=task,
                GPULENS_SCHEDULE_FOLDER=str(root / "run"), GPULENS_FAKE_RM_SHARED=str(root / "shared"), **more)


def end_loads() -> None:
    """Ends the programs of a test."""
    for load in LOADS:
        load.process.kill()
        load.process.wait()
    LOADS.clear()


def wait_for(condition: "typing.Callable[[], object]", seconds: float = 10) -> None:
    """Until it is true."""
    CLOCK.run_until(condition, seconds)


def coordinator_words(root: pathlib.Path, policy: str, tasks: "tuple[dict[str, typing.Any] | str, ...]") -> "list[str]":
    """gpulens schedule of these tasks; texts among them are options. policy: may name a quantum, as in "share 20"."""
    name, *quantum = policy.split()
    file = root / "policy.json"
    file.write_text(json.dumps({"version": 1, "policy": name, **({"quantum_ms": float(quantum[0])} if quantum else {}),
                                "tasks": [task for task in tasks if isinstance(task, dict)]}))
    return [str(BIN / "gpulens"), "--source", "rm", "schedule", str(file),
            *(task for task in tasks if isinstance(task, str))]


def run_coordinator(root: pathlib.Path, policy: str,
                    *tasks: "dict[str, typing.Any] | str") -> "subprocess.CompletedProcess[str]":
    """Until it ends."""
    env = {**make_environment(root), "GPULENS_RUNTIME_DIR": str(root / "run")}
    return run_by_clock(coordinator_words(root, policy, tasks), env)


class Coordinator:
    """gpulens schedule --source rm, which runs."""

    def __init__(self, root: pathlib.Path, policy: str, *tasks: "dict[str, typing.Any] | str",
                 experimental: bool = True) -> None:
        words = (*tasks, "--experimental", "--json") if experimental else (*tasks, "--json")
        self.env = {**make_environment(root), "GPULENS_RUNTIME_DIR": str(root / "run")}
        self.stderr = ""
        # pylint: disable-next=consider-using-with
        self.process = subprocess.Popen(coordinator_words(root, policy, words), env=self.env,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def __enter__(self) -> "Coordinator":
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.communicate()

    def stop(self, status: int = 0) -> "dict[str, typing.Any]":
        """Ends it, with this status; its summary."""
        self.process.terminate()
        CLOCK.wait(self.process)
        out, self.stderr = self.process.communicate()
        assert self.process.returncode == status, self.stderr
        summary: "dict[str, typing.Any]" = json.loads(out)
        return summary
