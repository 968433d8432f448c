# SPDX-License-Identifier: GPL-2.0
"""Programs with channels of their own on the kernel's driver nouveau, on emulated GPUs of Kepler and first Maxwell,
gpulens beside them. nouveau has the firmware of those chips' graphics engine in itself, so that it has a graphics
channel, without which it gives no channel to a program. The programs are scripts/guest/copies.c. scripts/test runs the
tests on a GK104; make test-drivers on a GK110 and a GM107 as well. docs/drivers.md."""

import os
import re
from collections.abc import Iterator

import pytest

from lib import nouveau
from lib.guest import Guest
from support.vm.driven import (ABSENT, COPIES, UP_TO_GM107, Card, check_none_shown, count_work, list_unmodelled,
                               load_nouveau, make_guest, read_log)

# pylint: disable=redefined-outer-name

ALL = "GPULENS_DRIVERS" in os.environ  # make test-drivers
CARDS = UP_TO_GM107[:3 if ALL else 1]
GRAPHICS = 0
ROUNDS, PAUSE = 40, 200  # of a program: rounds, milliseconds after each; the second one begins while the first one runs
SUM = "sum 0xd6de6d45"  # worked out in Python from the description of the pattern in copies.c
SIGNATURE = 0xface  # word 4 of RAMFC, which nouveau writes into each channel's instance block (gpfifogk104.c)
COPIED = 2 * (40 * 2 + 79) * 65536  # bytes: the buffer is in GPU memory at first, and in system memory at last
PROGRAM_LIMIT = 600  # seconds; it takes 15

each_card = pytest.mark.parametrize("card", CARDS, ids=[card.profile for card in CARDS])


@pytest.fixture(scope="module")
def machine() -> Iterator[Guest]:
    """A guest with these GPUs, nouveau and gpulens loaded."""
    with make_guest(CARDS, ALL, 3600) as guest:
        print(f"nouveau was loaded in {load_nouveau(guest):.1f} s")
        guest.load("gpulens", "control=1")
        yield guest


class Program:
    """A copies.c that runs in the guest."""

    def __init__(self, guest: Guest, card: Card, name: str) -> None:
        self._guest, self._output = guest, f"/tmp/{name}"
        device = f"/dev/dri/renderD{128 + card.index}"
        guest.check(f"{nouveau.COPIES} {device} {ROUNDS} {PAUSE} </dev/null >{self._output} 2>&1 &")
        self.wait_for("round 5")
        self.channel = int(re.match(r"channel (\d+)\n", self.read()).group(1))

    def read(self) -> str:
        """What it has printed."""
        return self._guest.read(self._output)

    def wait_for(self, line: str) -> None:
        """Waits until it has printed such a line."""
        self._guest.check(f"until grep -qx '{line}' {self._output}; do sleep 0.1; done", timeout=PROGRAM_LIMIT)

    def wait_for_rounds(self, count: int) -> None:
        """Waits until it has done so many more."""
        lines = f"$(grep -c round {self._output})"
        self._guest.check(f"n={lines}; until [ {lines} -ge $((n + {count})) ]; do sleep 0.1; done",
                          timeout=PROGRAM_LIMIT)


def read_channels(guest: Guest, card: Card, runlist: int) -> dict[int, str]:
    """The channels that gpulens shows on a runlist, and the text about each."""
    parts = re.split(r"Channel Info (\d+)", guest.read(f"/proc/gpu{card.index}/runlist{runlist}"))
    return {int(number): text for number, text in zip(parts[1::2], parts[2::2])}


def read_instance(text: str) -> int:
    """The address of a channel's instance block in its text, which is in video memory."""
    return int(re.search(r"\| Inst: (0x\w+)\|\n\| Target: +vid\|", text).group(1), 16)


@each_card
def test_nouveau_starts_without_an_error(machine: Guest, card: Card) -> None:
    """All that nouveau says of the GPU is known: no error of fifo, mmu, bar, ce or another unit. Seen failing without
    the ROM's table of init scripts ("bios: 0x00000000[ ]: script table pointer invalid")."""
    assert read_log(machine, card) == card.expect_log()


@each_card
def test_gpulens_shows_nouveaus_channels(machine: Guest, card: Card) -> None:
    """A channel for graphics and one for copies, each by itself on its runlist, in one address space with pages of 128
    KiB. Each instance block has nouveau's signature where gpulens says that it is. Seen failing with gr=0, without
    which there is one channel."""
    found = {**read_channels(machine, card, GRAPHICS), **read_channels(machine, card, COPIES)}
    assert sorted(found) == [0, 1]
    for text in found.values():
        assert "| Enabled:           1|" in text and "| Bound:             1|" in text and "v1 128K|" in text
        words = machine.emu[card.index].cmd({"cmd": "peek", "ap": "vid", "addr": read_instance(text), "words": 5})
        assert words["words"][4] == SIGNATURE


@each_card
def test_exactly_one_program_is_stopped_and_let_go(machine: Guest, card: Card) -> None:
    """Two programs copy on channels of their own, which gpulens shows beside nouveau's. One channel is disabled: that
    program makes no more rounds, the other one ends with the right sum. Enabled again, it ends with the right sum, too.
    The GPU has copied what they asked for, 40 rounds of two copies of 64 KiB each, and what nouveau moved between
    them. Seen failing without disable_channel, and with the other program's channel."""
    before = count_work(machine, card)["copied_bytes"]
    first, second = Program(machine, card, "first"), Program(machine, card, "second")
    assert sorted(read_channels(machine, card, COPIES)) == sorted([1, first.channel, second.channel])
    try:
        machine.check(f"echo {first.channel} >/proc/gpu{card.index}/disable_channel")
        second.wait_for_rounds(3)  # the first one ends what it had begun
        stopped = first.read()
        second.wait_for(SUM)
        assert first.read() == stopped and "sum" not in stopped
        enabled = {channel: "| Enabled:           1|" in text
                   for channel, text in read_channels(machine, card, COPIES).items()}
        assert enabled[1] and not enabled[first.channel]
    finally:
        machine.check(f"echo {first.channel} >/proc/gpu{card.index}/enable_channel")
        first.wait_for(SUM)
    machine.check("while pidof copies; do sleep 0.1; done", timeout=PROGRAM_LIMIT)
    assert sorted(read_channels(machine, card, COPIES)) == [1]
    assert count_work(machine, card)["copied_bytes"] - before == COPIED


@pytest.mark.skipif(not ALL, reason="make test-drivers runs it: it takes some 20 s for each GPU")
@each_card
def test_nouveau_begins_its_pushbuffer_anew(machine: Guest, card: Card) -> None:
    """nouveau moves a buffer twice in each round, until its pushbuffer of 64 KiB is used up, after about 700 moves. It
    begins anew there once GET in USERD says that Host has read it, and the GPU copies all: 900 copies of the program,
    899 moves. Seen failing without GET: nouveau copies by itself, 10 s for each move."""
    before = count_work(machine, card)["copied_bytes"]
    machine.check(f"{nouveau.COPIES} /dev/dri/renderD{128 + card.index} 450 0 </dev/null", timeout=2 * PROGRAM_LIMIT)
    assert count_work(machine, card)["copied_bytes"] - before == (450 * 2 + 899) * 65536


def test_nouveau_is_unloaded_beside_gpulens(machine: Guest) -> None:
    """It finds nothing wrong with its channels, interrupts came, and all registers that it touched are modelled but
    those listed. The last test. Seen failing without the registers of the video engines' falcons."""
    machine.check("rmmod nouveau", timeout=PROGRAM_LIMIT)
    for card in CARDS:
        assert read_log(machine, card) == card.expect_log()
        assert list_unmodelled(machine, card) == ABSENT
        work = count_work(machine, card)
        assert (work["faults"], work["ignored"], work["refused_writes"]) == (0, [], 0)
        check_none_shown(machine, card)
