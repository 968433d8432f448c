# SPDX-License-Identifier: GPL-2.0
"""What tests in virtual machines share beside their fixtures: scenarios, a GPU of a guest and what it should be, what a
test waits for or wants."""

import contextlib
import pathlib
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import pytest

from lib import paths
from lib.guest import Emulator, Gpu, Guest
from support.vm.chips import Chip

TAINTS_ALLOWED = (1 << 12) | (1 << 13)  # out of tree, unsigned: that is what the module is


def scenario(name: str) -> str:
    """The path of one of these tests' scenarios."""
    return str(paths.ROOT / "tests/vm/scenarios" / f"{name}.json")


def gpu_of(chip: Chip, slot: int | None = None) -> Gpu:
    """The GPU of that chip with the scenario that these tests expect."""
    return Gpu(chip.name.lower(), scenario(chip.scenario), slot)


def run_tool(image: pathlib.Path, *words: str) -> "subprocess.CompletedProcess[str]":
    """The gpulens tool on an image."""
    return subprocess.run([str(paths.tool()), "--image", str(image), *words],
                          capture_output=True, text=True, check=False)


def healthy(guest: Guest) -> None:
    """The kernel noted no fault of its own: an oops or a warning would have ended it, this is the rest."""
    taint = int(guest.check("cat /proc/sys/kernel/tainted"))
    assert taint & ~TAINTS_ALLOWED == 0, f"the kernel is tainted: {taint:#x}\n{guest.check('dmesg | tail -n 40')}"


def until(true: Callable[[], bool], what: str) -> None:
    """Waits for something that takes its time, in the guest or in its kernel's workqueue."""
    deadline = time.monotonic() + 5
    while not true():
        assert time.monotonic() < deadline, what
        time.sleep(0.02)


def accesses(emu: Emulator) -> int:
    """How often that GPU was touched since its counts were reset."""
    counts = emu.cmd({"cmd": "counts"})
    return sum(counts["reads"].values()) + sum(counts["writes"].values())


@contextlib.contextmanager
def taking_turns(chips: Sequence[Chip], *more: Gpu, programs: Sequence[pathlib.Path] = ()) -> Iterator[Guest]:
    """A GPU of each chip, on which two TSGs take turns on each of two runlists, and those; the module loaded."""
    gpus = [Gpu(chip.name.lower(), scenario("slices-two")) for chip in chips]
    with Guest([*gpus, *more], programs=programs) as guest:
        guest.load("gpulens", "control=1")
        yield guest
        guest.unload()
        healthy(guest)


class Card(NamedTuple):
    """One GPU of a guest: where it is and what it should be."""
    guest: Guest
    chip: Chip
    index: int

    @property
    def emu(self) -> Emulator:
        """Its emulator."""
        return self.guest.emu[self.index]

    def path(self, name: str) -> str:
        """One of its files."""
        return f"/proc/gpu{self.index}/{name}"

    def read(self, name: str) -> str:
        """The content of one of its files."""
        return self.guest.read(self.path(name))

    def number(self, name: str) -> int:
        """The content of a file that holds one number."""
        return int(self.read(name), 0)

    def write(self, name: str, text: str, who: str = "") -> str:
        """Writes with one system call; "OK n", or the step that failed and its errno: "write EINVAL". who: steps of
        helpers/become.c."""
        quoted = text.replace("'", "'\\''")
        become = f"become {who} -- " if who else ""
        return self.guest.run(f"{become}tryop write {self.path(name)} '{quoted}'", timeout=60)[1].strip()

    def reload(self) -> None:
        """Puts the scenario back as it was, as a driver would after a restart."""
        self.emu.cmd({"cmd": "fault", "kind": "none"})
        self.emu.cmd({"cmd": "scenario", "file": scenario(self.chip.scenario)})


def need_module(flavour: str, name: str = "gpulens") -> pathlib.Path:
    """The path of a built module; a skip that says why when it was not built."""
    path = paths.module(name, flavour)
    if not path.exists():
        pytest.skip(f"{path} was not built")
    return path


def need(*options: str) -> None:
    """Skips where the kernel was not built so."""
    missing = [option for option in options if option not in paths.kernel_options()]
    if missing:
        pytest.skip(f"this kernel has no {' '.join(missing)}")
