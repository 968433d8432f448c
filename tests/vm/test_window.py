# SPDX-License-Identifier: GPL-2.0
"""GPU memory through the PRAMIN window on a GPU that answers 64-bit reads there with half of what was asked for, as it
does of registers. That any does is not known; that none does is published nowhere."""

from collections.abc import Iterator

import pytest

from lib.guest import Guest
from support.vm.cards import Card, gpu_of, healthy
from support.vm.chips import CHIPS
from support.vm.formats import shape

TENANTS = [(3, [8, 9]), (5, [16]), (9, [24, 25])]  # runlist 0 of the scenario tenants


@pytest.fixture(params=["halves", "whole"], scope="module")
def machine(request: pytest.FixtureRequest) -> Iterator[Guest]:
    """The four chips, which answer so from the beginning."""
    with Guest([gpu_of(chip) for chip in CHIPS]) as guest:
        for emu in guest.emu:
            emu.cmd({"cmd": "fault", "kind": "halves" if request.param == "halves" else "none"})
        guest.load("gpulens", "control=1")
        guest.halves = request.param == "halves"  # type: ignore[attr-defined]
        yield guest
        guest.unload()
        healthy(guest)


@pytest.mark.parametrize("index", range(len(CHIPS)), ids=[chip.name for chip in CHIPS])
def test_memory_is_read_whole_either_way(machine: Guest, index: int) -> None:  # pylint: disable=redefined-outer-name
    """The list and its contexts are the same; stats counts what the GPU saw; once it is settled how the GPU answers,
    reading goes on with the accesses that serve. Seen failing with readq() alone: on each of the four that
    answer with halves."""
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
