# SPDX-License-Identifier: GPL-2.0
"""Fixtures: few boots, each carrying many tests. A lost virtual machine is reported as LOST, apart from failures: the
tests that needed it are LOST too, and the run does not succeed."""

import contextlib
import pathlib
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import pytest

from lib import paths
from lib.guest import Emulator, Gpu, Guest, LostVM, end_on_signals
from support.vm.chips import CHIPS, Chip

# pylint: disable=redefined-outer-name
HERE = pathlib.Path(__file__).resolve().parent

TAINTS_ALLOWED = (1 << 12) | (1 << 13)  # out of tree, unsigned: that is what the module is


def scenario(name: str) -> str:
    """The path of one of this folder's scenarios."""
    return str(HERE / "scenarios" / f"{name}.json")


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


def pytest_configure() -> None:
    """Ctrl-C and SIGTERM end the guests too, and the run: to pytest, SystemExit is a test that failed."""
    end_on_signals(lambda status: pytest.exit("ended by a signal", status))


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: "pytest.CallInfo[Any]") -> Iterator[None]:
    """Marks what a lost machine caused."""
    del item
    outcome = yield
    if call.excinfo is not None and call.excinfo.errisinstance(LostVM):
        report = outcome.get_result()  # type: ignore[attr-defined]
        report.lost = True
        report.longrepr = f"LOST, not a result of the test: {call.excinfo.value}"


def pytest_report_teststatus(report: Any) -> Any:
    """Shows LOST instead of FAILED or ERROR."""
    if getattr(report, "lost", False):
        return "lost", "L", ("LOST", {"red": True})
    return None


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Lists what was lost, with the end of the console."""
    lost = terminalreporter.getreports("lost")
    if lost:
        terminalreporter.section("lost virtual machines")
        told = set()
        for report in lost:
            terminalreporter.write_line(f"LOST {report.nodeid}")
            if str(report.longrepr) not in told:
                told.add(str(report.longrepr))
                terminalreporter.write_line(str(report.longrepr))


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


@pytest.fixture(autouse=True)
def nothing_to_complain_of() -> Iterator[None]:
    """A test fails when a guest's kernel wrote a complaint meanwhile. Those of the end, and leaks, are for Guest."""
    yield
    for guest in Guest.running:
        guest.complain()


@pytest.fixture(scope="session")
def four() -> Iterator[Guest]:
    """One guest with one GPU of each chip, gpu0 to gpu3 in the order of CHIPS, the module loaded. It lives for nearly
    the whole run, however slow the machine is."""
    with Guest([gpu_of(chip) for chip in CHIPS], limit=3600) as guest:
        guest.load("gpulens", "control=1")
        yield guest
        guest.unload()
        healthy(guest)


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


@pytest.fixture(params=range(len(CHIPS)), ids=[chip.name for chip in CHIPS])
def card(request: pytest.FixtureRequest, four: Guest) -> Card:
    """Each GPU of the guest with four, in turn."""
    return Card(four, CHIPS[request.param], request.param)


@pytest.fixture
def fresh(card: Card) -> Iterator[Card]:
    """The same, for tests that change something: its scenario is put back before and after."""
    card.reload()
    yield card
    card.reload()


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
