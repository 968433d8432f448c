# SPDX-License-Identifier: GPL-2.0
"""A hypervisor that deschedules a processor for longer than a stop of the machine may last: the module's clock leaps
20 ms ahead in five calls of 61 (tests/support/kmod/leaping-clock.c). Reads continue in another stop, and requests that
report success have been carried out."""

from collections.abc import Iterator

import pytest

from lib.guest import Guest
from support.vm.cards import Card, loaded_flavour, scenario
from support.vm.chips import CHIPS
from support.vm.shared import FOUR, SharedGuests
from test_rival import CHANGING

pytestmark = pytest.mark.guest("four")

READS = 200
WRITES = 40
RESUBMITS = 200  # more than the 61 calls after which the clock leaps again


@pytest.fixture(scope="module")
def machine(guests: SharedGuests) -> Iterator[Guest]:
    """A GPU of each chip and the module with that clock."""
    with guests.take(FOUR, scenario("small")) as guest, loaded_flavour(guest, "module-leaps", "control=1"):
        yield guest


@pytest.fixture(params=range(len(CHIPS)), ids=[chip.name for chip in CHIPS])
def card(request: pytest.FixtureRequest, machine: Guest) -> Card:  # pylint: disable=redefined-outer-name
    """Each GPU in turn."""
    return Card(machine, CHIPS[request.param], request.param)


def test_no_read_fails(card: Card) -> None:
    """200 reads of runlist 0 with contexts are equal, none ends with ETIMEDOUT. Seen failing on each chip: a stop ended
    before its first access, or the first accesses were taken for slow ones."""
    masks = " ".join(f"-m '{mask}'" for mask in CHANGING)
    _, text = card.guest.run(f"readloop 0 {READS} {masks} /proc/gpu{card.index}/runlist0", timeout=600)
    assert [line for line in text.splitlines() if line.startswith("reads ")][0].startswith(
        f"reads {READS} different 0 failed 0 "), text


def test_requests_are_carried_out(card: Card) -> None:
    """A channel is enabled and disabled 40 times: each request succeeds and changes the channel. Seen failing:
    ETIMEDOUT where a stop ended before the write, and where it ended after the write, with the channel disabled."""
    channel = card.emu.cmd({"cmd": "state"})["channels"][0]
    name = card.chip.ref(channel["id"], channel["runlist"])
    for number in range(WRITES):
        action = "disable" if number % 2 else "enable"
        answer = card.write(f"{action}_channel", name)
        after = card.emu.cmd({"cmd": "state"})["channels"][0]["enabled"]
        assert (answer.startswith("OK"), after) == (True, action == "enable"), (number, answer)


def count_stops(card: Card) -> int:
    """The number of stops of the machine for that GPU."""
    return int(dict(line.split() for line in card.read("stats").splitlines())["window_stops"])


def test_a_stop_that_ends_before_the_write_is_repeated(card: Card) -> None:
    """A runlist is submitted again 200 times, and again where no leap came within a stop, as happens on a busy machine.
    Each request reads three or more registers in the stop that writes, so that three leaps end some of the stops before
    the write. Each request succeeds, and there are more stops than requests. Seen failing on each chip with one attempt
    (STOP_ATOMIC_TRIES 1): ETIMEDOUT."""
    for _ in range(5):
        before = count_stops(card)
        resubmit_runlist(card)
        if count_stops(card) - before > RESUBMITS:
            return
    pytest.fail("no stop ended before its write")


def resubmit_runlist(card: Card) -> None:
    """Submits runlist 0 RESUBMITS times, each with success."""
    _, text = card.guest.run(f"for n in $(seq {RESUBMITS}); do tryop write {card.path('resubmit_runlist')} 0; done",
                             timeout=600)
    answers = text.split("\n")[:-1]
    assert (len(answers), set(answers)) == (RESUBMITS, {"OK 1"}), text
