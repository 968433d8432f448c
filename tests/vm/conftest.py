# SPDX-License-Identifier: GPL-2.0
"""Fixtures: few boots, each carrying many tests. A lost virtual machine is reported as LOST, apart from failures: the
tests that needed it are LOST too, and the run does not succeed."""

from collections.abc import Iterator
from typing import Any

import pytest

from lib.guest import Guest, LostVM, end_on_signals
from support.vm.cards import Card, gpu_of, healthy
from support.vm.chips import CHIPS

# pylint: disable=redefined-outer-name


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
