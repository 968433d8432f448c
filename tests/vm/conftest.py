# SPDX-License-Identifier: GPL-2.0
"""Fixtures: guests that many tests share. A guest that panics or stops answering is reported as LOST, apart from
failures; the tests that needed it are LOST as well, and the run fails. A test that failed while the host delayed the
guest is repeated, and listed as such."""

from collections.abc import Iterator, Sequence
from typing import Any, Optional

import pytest
from _pytest.runner import runtestprotocol

from lib.guest import Guest, LostVM, end_on_signals
from support.vm import driven as nouveau_cards
from support.vm.cards import TIMED, Card
from support.vm.chips import CHIPS
from support.vm.delays import Delay
from support.vm.shared import FOUR, SharedGuests

# pylint: disable=redefined-outer-name

REPEATED: list[str] = []


def pytest_configure() -> None:
    """Ctrl-C and SIGTERM end the guests and the run. To pytest, SystemExit would be a failed test."""
    end_on_signals(lambda status: pytest.exit("ended by a signal", status))


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: "pytest.CallInfo[Any]") -> Iterator[None]:
    """Marks reports of tests that lost their guest."""
    delay = getattr(item, "delay", None)
    outcome = yield
    if call.excinfo is None:
        return
    report = outcome.get_result()  # type: ignore[attr-defined]
    if report.failed and delay is not None:
        report.delayed = delay.describe() if delay.is_long() else ""
    if call.excinfo.errisinstance(LostVM):
        report.lost = True
        report.longrepr = f"LOST, not a result of the test: {call.excinfo.value}"


def pytest_runtest_protocol(item: pytest.Item, nextitem: Optional[pytest.Item]) -> bool:
    """Repeats a test that failed during a delay, twice at most."""
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    for left in (2, 1, 0):
        item.delay = Delay()  # type: ignore[attr-defined]
        reports = runtestprotocol(item, nextitem=nextitem, log=False)
        delays = [report.delayed for report in reports if getattr(report, "delayed", "")]
        if not left or not delays or any(getattr(report, "lost", False) for report in reports):
            break
        REPEATED.append(f"{item.nodeid}: {delays[0]}")
        item._initrequest()  # type: ignore[attr-defined]  # pylint: disable=protected-access
    for report in reports:
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


def pytest_report_teststatus(report: Any) -> Any:
    """Shows LOST instead of FAILED or ERROR."""
    if getattr(report, "lost", False):
        return "lost", "L", ("LOST", {"red": True})
    return None


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Lists the repeated tests, and the lost ones with the end of the console once for each guest."""
    if REPEATED:
        terminalreporter.section("repeated, since the host delayed the guest")
        for line in REPEATED:
            terminalreporter.write_line(line)
    lost = terminalreporter.getreports("lost")
    if lost:
        terminalreporter.section("lost virtual machines")
        printed = set()
        for report in lost:
            terminalreporter.write_line(f"LOST {report.nodeid}")
            if str(report.longrepr) not in printed:
                printed.add(str(report.longrepr))
                terminalreporter.write_line(str(report.longrepr))


@pytest.fixture(autouse=True)
def check_console() -> Iterator[None]:
    """A test fails when a guest's kernel wrote a complaint meanwhile. Guest checks for leaks when it ends."""
    yield
    for guest in Guest.running:
        guest.complain()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Tests that share a guest run one after the other, so that it is booted once. Those that only judge time are left
    out, except for GPULENS_TIMED."""
    left_out = [item for item in items if item.get_closest_marker("timed") and not TIMED]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if item not in left_out]
    order = {"four": 0, "pair": 1, "own": 2, "iommu": 3}

    def find_place(item: pytest.Item) -> int:
        marker = item.get_closest_marker("guest")
        if marker is not None:
            return order[marker.args[0]]
        return order["four" if "four" in getattr(item, "fixturenames", ()) else "own"]

    items.sort(key=find_place)


@pytest.fixture(scope="session")
def guests() -> Iterator[SharedGuests]:
    """The guests that modules share."""
    shared = SharedGuests()
    yield shared
    shared.end()


@pytest.fixture(scope="module")
def four(guests: SharedGuests) -> Iterator[Guest]:
    """The guest with one GPU of each chip, gpu0 to gpu3 in the order of CHIPS, the module loaded."""
    with guests.take(FOUR) as guest:
        guest.load("gpulens", "control=1")
        yield guest


@pytest.fixture(params=range(len(CHIPS)), ids=[chip.name for chip in CHIPS])
def card(request: pytest.FixtureRequest, four: Guest) -> Card:
    """Each GPU of the guest with four."""
    return Card(four, CHIPS[request.param], request.param)


@pytest.fixture
def fresh(card: Card) -> Iterator[Card]:
    """The same, for tests that change the GPU: its scenario is loaded again before and after."""
    card.reload()
    yield card
    card.reload()


@pytest.fixture
def driven(machine: Guest, cards: Sequence[nouveau_cards.Card]) -> Guest:
    """For modules with nouveau, which have machine and cards: it drives the GPUs, and gpulens is not loaded, also where
    a test before failed halfway."""
    nouveau_cards.restore_drivers(machine, cards)
    return machine


@pytest.fixture
def watched(driven: Guest) -> Iterator[Guest]:
    """The same, gpulens loaded."""
    driven.load("gpulens", "control=1")
    yield driven
    driven.unload()
