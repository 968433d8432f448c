# SPDX-License-Identifier: GPL-2.0
"""Modules, drivers and GPUs come and go in random order under eight readers and four writers, on two processors: no call
ends otherwise than documented, nothing hangs, every GPU is there again afterwards, and nothing stays behind.

Three plans of disturbances are carried out at once (disturb.sh), so that two of them meet in every way: a GPU is
removed while its driver is unbound, the module unloaded while it has yet to look for what a rescan found.
GPULENS_SEED repeats a run's plans and callers, though not the moments at which they meet; the seed stands in each
message. GPULENS_SOAK=N takes N times as long (`make soak`)."""

import contextlib
import random
import time
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

import pytest

from conftest import HERE, Gpu, Guest, LostVM, healthy, need_module, scenario
from storms import ERRNOS, LONGEST, SEED, SOAK, Storm, memory

# with PCCSR without and with runlist registers in a block, with channel RAM, and after that was moved
CHIPS = ("gk104", "gp106", "tu102", "ad102", "gh100")
ADDRESSES = tuple(f"0000:00:{4 + index:02x}.0" for index in range(len(CHIPS)))
READERS, WRITERS, PLANS = 8, 4, 3
ROUNDS = 3 * SOAK
SECONDS = 5  # a round
SETTLED = 10.0  # seconds in which all is to be as before, once nobody disturbs

# beside those of docs/proc.md
GONE = {"ENOENT"}  # of open: the directory was removed after it was listed
CALLS = {
    **{call: known | {"EAGAIN"} for call, known in ERRNOS.items()},
    "open": ERRNOS["open"] | GONE,
}
OFF = {"open ENOENT", "open ENODEV", "write ENODEV"}  # no such device or module now, or it went meanwhile
STEPS = {
    "load": {"OK", "File exists"},
    "unload": {"OK", "No such file or directory", "Resource temporarily unavailable", "Device or resource busy"},
    "load_driver": {"OK", "File exists"},
    "unload_driver": {"OK", "No such file or directory", "Resource temporarily unavailable"},
    "bind": OFF | {"OK"},
    "unbind": OFF | {"OK"},
    "remove": OFF | {"OK"},
    "rescan": {"OK"},
    "power": OFF | {"OK"},
    "timeout": OFF | {"OK"},
}


def plan(dice: random.Random, steps: int) -> str:
    """What one disturber does. Most of the time everything is there, or readers would have nothing to read."""
    lines: list[str] = []
    for _ in range(steps):
        where = dice.choice(ADDRESSES)
        pause = f"sleep {dice.choice((0, 0.02, 0.1, 0.3)):.2f}"
        lines += dice.choice((
            ["unload", pause, "load"],
            ["load_driver", f"sleep {dice.choice((0, 0.1, 0.5)):.2f}", "unload_driver"],
            ["load_driver", f"unbind {where}", pause, f"bind {where}"],
            [f"remove {where}", pause, "rescan"],
            # the module has still to look at what was found when it is unloaded
            [f"remove {where}", "rescan", pause, "unload", pause, "load"],
            [f"power {where} {dice.choice(('on', 'auto'))}"],
            [f"timeout {dice.choice((20, 200, 20000))}", pause, "timeout 20000"],
        ))
        lines.append(f"sleep {dice.choice((0, 0.05, 0.2)):.2f}")
    return "\n".join(lines) + "\n"


class Step(NamedTuple):
    """One disturbance."""
    name: str
    result: str
    seconds: float


class After:
    """What the storm left."""

    def __init__(self) -> None:
        self.calls = Storm()
        self.steps: list[Step] = []
        self.late: list[str] = []  # what did not end
        self.missing: list[str] = []
        self.texts: list[dict[str, str]] = []  # by round; the first before the storm
        self.memory: list[int] = []


@contextlib.contextmanager
def seeded() -> Iterator[None]:
    """Whatever fails says by which seed."""
    try:
        yield
    except LostVM as lost:
        raise LostVM(f"seed {SEED}: {lost}") from lost
    except AssertionError as failure:
        raise AssertionError(f"seed {SEED}: {failure}") from failure


def numbers(guest: Guest) -> dict[str, int]:
    """The address of each GPU that the module shows now -> the X of its /proc/gpuX."""
    text = guest.run("grep -so '0000:[0-9a-f:.]*' /proc/gpu*/chip")[1]
    found = {}
    for line in text.split():
        path, _, where = line.partition(":")
        found[where] = int(path.split("/")[2].removeprefix("gpu"))
    return found


def settle(guest: Guest) -> list[str]:
    """Puts back what a plan may have taken away, but for what comes back by itself: the addresses that do not."""
    guest.run("rmmod sleeper")
    guest.check("echo 1 >/sys/bus/pci/rescan; for each in /sys/bus/pci/devices/*; do echo on >$each/power/control; done")
    if guest.run("grep -q ^gpulens /proc/modules")[0] != 0:
        guest.load("gpulens", "control=1")
    guest.check("echo 20000 >/sys/module/gpulens/parameters/timeout_ms")
    deadline = time.monotonic() + SETTLED
    while len(found := numbers(guest)) < len(ADDRESSES) and time.monotonic() < deadline:
        time.sleep(0.1)
    return [where for where in ADDRESSES if where not in found]


def texts(guest: Guest) -> dict[str, str]:
    """What does not change while nobody steers, of each GPU by its address."""
    for emu in guest.emu:
        emu.cmd({"cmd": "scenario", "file": scenario("hostile")})
    return {where: guest.check(f"cat /proc/gpu{number}/device_info /proc/gpu{number}/runlist0")
            for where, number in numbers(guest).items()}


def blow(guest: Guest, after: After, turn: int) -> None:
    """One round of the storm."""
    dice = random.Random(f"{SEED} {turn}")
    plans = []
    for index in range(PLANS):
        plans.append(f"/tmp/plan.{index}")
        guest.push(plan(dice, 20 * SECONDS).encode(), plans[-1])
    status, said = guest.run(f"/tmp/disturb.sh {SECONDS} {SEED + 1000 * turn} {READERS} {WRITERS} {' '.join(plans)}",
                             timeout=SECONDS + 120)
    if status != 0:
        after.late.append(said)
    for caller in range(READERS + WRITERS):
        after.calls.take(int(caller >= READERS), guest.read(f"/tmp/storm.{caller}"))
    for name in plans:
        for line in guest.read(f"{name}.log").splitlines():
            begin, end, step, result = line.split(" ", 3)
            after.steps.append(Step(step, result, float(end) - float(begin)))


@pytest.fixture(scope="module")
def after() -> Iterator[After]:
    """The whole storm; the tests judge it. Between the rounds everything is put back and compared."""
    need_module("kmod-tests", "sleeper")
    seen = After()
    with seeded(), Guest([Gpu(name, scenario("hostile")) for name in CHIPS], limit=600 + 60 * SOAK) as guest:
        guest.push(HERE / "disturb.sh", "/tmp/disturb.sh", 0o755)
        guest.load("gpulens", "control=1")
        seen.texts.append(texts(guest))
        for turn in range(ROUNDS):
            blow(guest, seen, turn)
            seen.missing += settle(guest)
            seen.texts.append(texts(guest))
            guest.unload()
            seen.memory.append(memory(guest))
            guest.load("gpulens", "control=1")
        yield seen
        guest.unload()
        healthy(guest)


def test_debug(after):
    print(Counter((s.name, s.result) for s in after.steps))
    print(after.calls.seen, after.calls.longest)
    print(max(after.steps, key=lambda s: s.seconds))
    print(after.missing, after.late, after.memory)
    for t in after.texts[1:]:
        print(t == after.texts[0])
    print(after.texts[0])
    assert 0
