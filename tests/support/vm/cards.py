# SPDX-License-Identifier: GPL-2.0
"""Helpers of tests in virtual machines: scenarios, a GPU of a guest with its expected contents, waiting, and
requirements of a test."""

import contextlib
import os
import pathlib
import subprocess
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pytest

from lib import paths
from lib.guest import SLOW, Emulator, Gpu, Guest
from support.vm.chips import Chip

TIMED = "GPULENS_TIMED" in os.environ  # tests judge time, too: for an idle machine
TAINTS_ALLOWED = (1 << 12) | (1 << 13)  # out of tree, unsigned: both hold for the module


def scenario(name: str) -> str:
    """The path of one of these tests' scenarios."""
    return str(paths.ROOT / "tests/vm/scenarios" / f"{name}.json")


def gpu_of(chip: Chip, slot: int | None = None) -> Gpu:
    """The GPU of that chip with the scenario that these tests expect."""
    return Gpu(chip.name.lower(), scenario(chip.scenario), slot)


def load_scenario(emu: Emulator, file: str, **changes: Any) -> None:
    """Puts a scenario in place, with some of its keys replaced."""
    emu.cmd({"cmd": "scenario", "file": file, "with": changes} if changes else {"cmd": "scenario", "file": file})


def run_tool(image: pathlib.Path, *words: str) -> "subprocess.CompletedProcess[str]":
    """The gpulens tool on an image."""
    return subprocess.run([str(paths.tool()), "--image", str(image), *words],
                          capture_output=True, text=True, check=False)


def healthy(guest: Guest) -> None:
    """The kernel is not tainted by anything but the test modules. Debian's kernel panics on an oops or a warning."""
    taint = int(guest.check("cat /proc/sys/kernel/tainted"))
    assert taint & ~TAINTS_ALLOWED == 0, f"the kernel is tainted: {taint:#x}\n{guest.check('dmesg | tail -n 40')}"


def wait_until(condition: Callable[[], bool], failure: str, seconds: float = 60) -> None:
    """Waits for a condition in the guest, such as the result of a workqueue: for longer than any busy machine takes."""
    deadline = time.monotonic() + seconds * SLOW
    while not condition():
        assert time.monotonic() < deadline, failure
        time.sleep(0.02)


def count_accesses(emu: Emulator) -> int:
    """The number of accesses to that GPU since its counts were reset."""
    counts = emu.cmd({"cmd": "counts"})
    return sum(counts["reads"].values()) + sum(counts["writes"].values())


class Card(NamedTuple):
    """One GPU of a guest with its number and its expected contents."""
    guest: Guest
    chip: Chip
    index: int

    @property
    def emu(self) -> Emulator:
        """The emulator of this GPU."""
        return self.guest.emu[self.index]

    def path(self, name: str) -> str:
        """The path of one of the GPU's files."""
        return f"/proc/gpu{self.index}/{name}"

    def read(self, name: str) -> str:
        """The content of one of the GPU's files."""
        return self.guest.read(self.path(name))

    def number(self, name: str) -> int:
        """The content of a file that holds one number."""
        return int(self.read(name), 0)

    def write(self, name: str, text: str, who: str = "") -> str:
        """Writes with one system call: "OK n", or the step that failed and its errno, as "write EINVAL". who: steps of
        helpers/become.c."""
        quoted = text.replace("'", "'\\''")
        become = f"become {who} -- " if who else ""
        return self.guest.run(f"{become}tryop write {self.path(name)} '{quoted}'", timeout=60)[1].strip()

    def reload(self) -> None:
        """Removes faults and loads the scenario again, as a driver would after a restart."""
        self.emu.cmd({"cmd": "fault", "kind": "none"})
        self.emu.cmd({"cmd": "scenario", "file": scenario(self.chip.scenario)})


@contextlib.contextmanager
def loaded_flavour(guest: Guest, flavour: str, params: str = "") -> Iterator[None]:
    """Loads the module of "make FLAVOUR" for the duration of the context."""
    need_module(flavour)
    guest.load(flavour.replace("module", "gpulens"), params)
    yield
    guest.unload()


def need_module(flavour: str, name: str = "gpulens") -> pathlib.Path:
    """The path of a built module; skips the test when it was not built."""
    path = paths.module(name, flavour)
    if not path.exists():
        pytest.skip(f"{path} was not built")
    return path


def need_options(*options: str) -> None:
    """Skips the test when one of these options is not built into the kernel."""
    missing = [option for option in options if option not in paths.kernel_options()]
    if missing:
        pytest.skip(f"this kernel has no {' '.join(missing)}")
