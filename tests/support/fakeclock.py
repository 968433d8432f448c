# SPDX-License-Identifier: GPL-2.0
"""A clock that passes only while the test lets it, for the processes of a test (tests/support/clock). Between two steps
every one of them has come to a wait, so that what happens, and when, does not depend on the machine."""

import ctypes
import enum
import mmap
import os
import struct
import subprocess
import tempfile
import time
import typing

from support.program import ROOT, tool_of

LIBRARY = ROOT / "build/bin/fake_clock.so"
PLACE, PLACES = 64, 1024  # struct Waiter, and the one of the page's head
BEGIN_NS = 10 ** 12
HUNG_S = 120  # of real time; a step takes a millisecond


class Kind(enum.IntEnum):
    """What a thread waits for: enum Kind, fake_clock.hpp."""
    NONE, SLEEP, SPIN, FUTEX, CONDITION, POLL, TICKER = range(7)


class Clock:
    """The clock."""

    def __init__(self) -> None:
        # pylint: disable-next=consider-using-with
        self.file = tempfile.NamedTemporaryFile(prefix="gpulens-clock-")
        self.file.truncate(PLACE * PLACES)
        self.page = mmap.mmap(self.file.fileno(), PLACE * PLACES)
        struct.pack_into("I", self.page, 8, os.getpid())
        self.restart()
        assert LIBRARY.exists(), f"{LIBRARY} is not there; run make tool-parts"
        self.library = ctypes.CDLL(str(LIBRARY))
        self.library.fake_clock_settle.restype = ctypes.c_uint32
        self.library.fake_clock_step.restype = ctypes.c_bool
        self.address = ctypes.c_void_p(ctypes.addressof(ctypes.c_char.from_buffer(self.page)))

    def environment(self, **more: str) -> "dict[str, str]":
        """Of a process that has this clock, with more variables. Other libraries are preloaded before that one."""
        libraries = filter(None, (more.get("LD_PRELOAD"), str(LIBRARY)))
        return {**more, "LD_PRELOAD": ":".join(libraries), "FAKE_CLOCK": self.file.name}

    def restart(self) -> None:
        """Sets it back to its begin, while no process has it, so that a test does not depend on those before."""
        struct.pack_into("Q", self.page, 0, BEGIN_NS)

    def now_ns(self) -> int:
        """The time by CLOCK_MONOTONIC."""
        return int(struct.unpack_from("Q", self.page)[0])

    def now(self) -> float:
        """The same in seconds."""
        return self.now_ns() / 1e9

    def settle(self) -> None:
        """Until all processes wait for something."""
        busy = self.library.fake_clock_settle(self.address, HUNG_S)
        assert not busy, f"process {busy} does not come to a wait"

    def run(self, seconds: float) -> None:
        """Lets so much time pass."""
        end = self.now_ns() + round(seconds * 1e9)
        self.settle()
        while self.library.fake_clock_step(self.address, ctypes.c_uint64(end), True):
            self.settle()

    def run_until(self, condition: "typing.Callable[[], object]", seconds: float = 10) -> None:
        """Lets time pass until the condition is true, that much at most. It stands still while no process waits for it:
        the kernel is awaited."""
        end = self.now_ns() + round(seconds * 1e9)
        hung = time.monotonic() + HUNG_S
        self.settle()
        while not condition():
            assert self.now_ns() < end and time.monotonic() < hung, "it does not come true"
            if self.library.fake_clock_step(self.address, ctypes.c_uint64(end), False):
                hung = time.monotonic() + HUNG_S
            else:
                time.sleep(0.001)
            self.settle()

    def wait(self, process: "subprocess.Popen[str]", seconds: float = 60) -> int:
        """Lets time pass until the process ends; its status."""
        self.run_until(lambda: process.poll() is not None, seconds)
        return process.returncode

    def await_outside(self, condition: "typing.Callable[[], object]") -> None:
        """Waits, while the clock stands still, for what the kernel does in its own time, as between sockets."""
        end = time.monotonic() + HUNG_S
        while not condition():
            assert time.monotonic() < end, "it does not come true"
            time.sleep(0.001)

    def end_spins(self) -> None:
        """Lets as much time pass as a thread waits for that reads the clock in a loop (SPIN_NS, fake_clock.cc)."""
        if any(pid and kind == Kind.SPIN and os.path.exists(f"/proc/{pid}") for pid, _, kind in self.places()):
            self.run(0.00025)

    def places(self) -> "typing.Iterator[tuple[int, int, int]]":
        """Of each thread that has waited its pid, its tid and what it waits for; of a free place, pid 0."""
        for place in range(PLACE, PLACE * PLACES, PLACE):
            yield struct.unpack_from("3I", self.page, place)

    def wait_of(self, tid: int) -> Kind:
        """What a thread waits for; NONE: nothing that a time ends."""
        return next((Kind(kind) for pid, thread, kind in self.places() if pid and thread == tid), Kind.NONE)


CLOCK = Clock()


def run_by_clock(words: "typing.Sequence[object]", env: "dict[str, str]", seconds: float = 600,
                 meanwhile: "typing.Callable[[], object]" = CLOCK.settle) -> "subprocess.CompletedProcess[str]":
    """As subprocess.run(), by that clock. The output is read afterwards, so that no pipe is full."""
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        with subprocess.Popen([str(word) for word in words], env=env, stdout=out, stderr=err, text=True) as process:
            try:
                meanwhile()
                CLOCK.wait(process, seconds)
            finally:
                process.kill()
        out.seek(0)
        err.seek(0)
        return subprocess.CompletedProcess(process.args, process.returncode, out.read(), err.read())


def gpulens_by_clock(*words: str, env: "dict[str, str]") -> "subprocess.CompletedProcess[str]":
    """As gpulens() of support/program.py, by that clock."""
    return run_by_clock([tool_of(words), *words], {**os.environ, "LC_ALL": "C.UTF-8", **CLOCK.environment(**env)})
