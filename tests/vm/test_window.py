# SPDX-License-Identifier: GPL-2.0
"""GPU memory through the PRAMIN window of a GPU that returns only the lower half of 64-bit reads, as registers do. No
GPU is known to do so in the window, but no manual excludes it."""

from collections.abc import Iterator

import pytest

from lib.guest import Guest
from support.vm.cards import Card
from support.vm.chips import CHIPS
from support.vm.formats import shape
from support.vm.shared import FOUR, SharedGuests

pytestmark = pytest.mark.guest("four")

TENANTS = [(3, [8, 9]), (5, [16]), (9, [24, 25])]  # runlist 0 of the scenario tenants


@pytest.fixture(params=["halves", "whole"], scope="module")
def machine(request: pytest.FixtureRequest, guests: SharedGuests) -> Iterator[Guest]:
    """The four chips, which return halves, or whole words, from the beginning."""
    with guests.take(FOUR) as guest:
        for emu in guest.emu:
            emu.cmd({"cmd": "fault", "kind": "halves" if request.param == "halves" else "none"})
        guest.load("gpulens", "control=1")
        guest.halves = request.param == "halves"  # type: ignore[attr-defined]
        yield guest


@pytest.mark.parametrize("index", range(len(CHIPS)), ids=[chip.name for chip in CHIPS])
def test_memory_is_read_whole_either_way(machine: Guest, index: int) -> None:  # pylint: disable=redefined-outer-name
    """The list and its contexts are read correctly, and stats counts the accesses that the GPU saw. Once a word has
    shown how the GPU answers, only the accesses that work are used. Seen failing with readq() alone, on each chip that
    returns halves."""
    card = Card(machine, CHIPS[index], index)
    for settled in (False, True):
        before = dict(map(str.split, card.read("stats").splitlines()))
        card.emu.cmd({"cmd": "reset-counts"})
        text = card.read("runlist0")
        assert shape(text) == TENANTS and text.count("= Context State =") == 5
        seen, now = card.emu.cmd({"cmd": "counts"}), dict(map(str.split, card.read("stats").splitlines()))
        assert [int(now[name]) - int(before[name]) for name in ("bar0_read32", "bar0_read64")] == [
            seen["reads"]["4"], seen["reads"]["8"]]
        in_window = seen["reads_by_region"]["pramin"]
        if settled:
            assert seen["reads"]["8"] == (0 if machine.halves else in_window)  # type: ignore[attr-defined]
