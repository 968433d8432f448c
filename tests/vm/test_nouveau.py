# SPDX-License-Identifier: GPL-2.0
"""The kernel's own driver, nouveau, on emulated GPUs, with gpulens beside it: a driver that this project did not write
makes page tables, instance blocks, channels and runlists, and its log says what it thinks of the emulated GPU. Any
warning of the kernel, such as the one at each of nouveau's time limits, ends the guest (panic_on_warn), or fails the
test on a debug kernel. scripts/test runs these tests on one GPU, make test-drivers and scripts/test-debug kasan on
four; test_nouveau_lifecycle.py has the long ones. Each test finds nouveau loaded and gpulens not, whatever ran before.
docs/drivers.md."""

import os
import re
from collections.abc import Iterator, Sequence

import pytest

from lib import paths
from lib.guest import Guest
from support.vm.driven import (ABSENT, FROM_PASCAL, Card, check_enabled, check_none_shown, check_shown, count_work,
                               list_unmodelled, load_nouveau, make_guest, read_log, unload_nouveau)

# pylint: disable=redefined-outer-name

ALL = "GPULENS_DRIVERS" in os.environ  # make test-drivers
# the one that nouveau starts on in the shortest time
CARDS = FROM_PASCAL if ALL else (FROM_PASCAL[2]._replace(index=0),)
# Word 4 of RAMFC, which nouveau writes into each channel's instance block (gpfifogk104.c, gpfifogv100.c, ga102.c).
SIGNATURE = 0xface


@pytest.fixture(scope="module")
def machine() -> Iterator[Guest]:
    """A guest with these GPUs, into which nouveau was loaded."""
    with make_guest(CARDS, ALL, 3600, programs=[paths.tool()]) as guest:
        print(f"nouveau was loaded in {load_nouveau(guest):.1f} s")
        yield guest


@pytest.fixture(name="cards")
def fixture_cards() -> Sequence[Card]:
    """The GPUs of the guest."""
    return CARDS


@pytest.mark.parametrize("card", CARDS, ids=[card.profile for card in CARDS])
def test_it_starts_without_an_error(driven: Guest, card: Card) -> None:
    """All that nouveau says of the GPU is known: no error of fifo, mmu, bar, ce or another unit. Seen failing: with
    TSG_PREEMPT_COMPLETE in Turing's INTR_0 ("fifo: INTR 10000000"); on Pascal without devinit's bit at 0x2240c."""
    assert read_log(driven, card) == card.expect_log()


def test_the_processors_lack_fast_strings(machine: Guest) -> None:
    """With one of these the kernel clears GPU memory byte by byte: 27 s in one memset() on Debian 13. Seen failing with
    fsrm."""
    flags = machine.read("/proc/cpuinfo").partition("flags")[2].split("\n")[0].split()
    assert "sse2" in flags and not {"erms", "fsrm", "fsrs"} & set(flags)


@pytest.mark.parametrize("card", CARDS, ids=[card.profile for card in CARDS])
def test_interrupts_arrive(driven: Guest, card: Card) -> None:
    """nouveau's handler of the GPU was called. Seen failing: without --irq."""
    lines = [line.split() for line in driven.read("/proc/interrupts").splitlines() if line.endswith("nvkm")]
    assert len(lines) == len(CARDS)
    assert int(lines[card.index][1]) + int(lines[card.index][2]) > 0


@pytest.mark.parametrize("card", CARDS, ids=[card.profile for card in CARDS])
def test_what_is_not_modelled(driven: Guest, card: Card) -> None:
    """The emulator's list of registers that nouveau touched and no unit models is the one of emulator/README.md: the
    VGA index and data ports of a display, which these GPUs lack. Seen failing: with the GPIO registers, before they
    were there."""
    assert list_unmodelled(driven, card) == ABSENT


@pytest.mark.parametrize("card", CARDS, ids=[card.profile for card in CARDS])
def test_gpulens_shows_its_channel(watched: Guest, card: Card) -> None:
    """The runlist that nouveau wrote has one TSG with one channel, both with id 0, and where gpulens says that its
    instance block is, there is the signature that nouveau writes. Seen failing: with a PCCSR that shows the next
    page."""
    runlist, channel = next(iter(card.list_channels().items()))
    text = watched.read(f"/proc/gpu{card.index}/runlist{runlist}")
    base = int(re.search(r"^List: base (0x\w+), target vid, entries 2, pending 0$", text, re.M).group(1), 16)
    inst = int(re.search(r"\| Inst: (0x\w+)\|\n *\| Target: +vid\|", text).group(1), 16)
    page_directory = int(re.search(r"\| PDB: +(0x\w+)\|\n *\| Target: +vid\|\n *\| Pages: +v2\|", text).group(1), 16)
    for address in (base, inst, page_directory):
        assert card.is_used(address) and address % 4096 == 0, hex(address)
    assert re.findall(r"TSG Entry (\d+)", text) == ["0"]
    assert re.findall(r"Channel Info (\d+)", text) == [str(channel)]
    check_enabled(text, card)
    words = watched.emu[card.index].cmd({"cmd": "peek", "ap": "vid", "addr": inst, "words": 5})["words"]
    assert words[4] == SIGNATURE


@pytest.mark.parametrize("card", CARDS, ids=[card.profile for card in CARDS])
def test_gpulens_shows_its_bars(watched: Guest, card: Card) -> None:
    """BAR1 and BAR2 go through page tables that nouveau wrote, and the runlist is seen through BAR2 where gpulens says.
    Seen failing: with a BAR2 block that reads as the next page."""
    text = watched.read(f"/proc/gpu{card.index}/bars")
    assert len(re.findall(r"^BAR[12]: +virtual, page directory 0x\w+ \(vid\), pages v2$", text, re.M)) == 2, text
    runlist = next(iter(card.list_channels()))
    base, offset = re.search(rf"^runlist {runlist} +(0x\w+) \(vid\): BAR2\+(0x\w+)$", text, re.M).groups()
    found = watched.emu[card.index].cmd({"cmd": "translate", "bar": 2, "va": int(offset, 16)})
    assert found["mapped"] and found["addr"] == int(base, 16)


@pytest.mark.parametrize("card", CARDS, ids=[card.profile for card in CARDS])
def test_first_card_agrees(driven: Guest, card: Card) -> None:
    """gpulens first-card: name, BOOT_0 and memory that nouveau printed are equal, and so is the page directory of its
    channel. nouveau says nothing more, and gpulens is not loaded afterwards. Seen failing with memory in MB."""
    out = driven.check(f"gpulens -g {card.index} first-card --module /modules/gpulens.ko --runlists --yes -o /tmp/a",
                       timeout=120)
    facts = dict(re.findall(r"^(\S+(?: \S+)*) {2,}(equal|different|not comparable) ", out, re.M))
    assert {fact for fact, result in facts.items() if result == "equal"} == {
        "chip", "BOOT_0", "memory size", "PCI ids", "instance blocks"} and "different" not in facts.values(), out
    assert read_log(driven, card) == card.expect_log()
    assert "gpulens " not in driven.read("/proc/modules")


def test_nouveau_is_unloaded_and_loaded_beside_gpulens(watched: Guest) -> None:
    """nouveau waits for its channel before it goes: Host releases a semaphore and interrupts. Afterwards its runlist is
    empty; loaded again, it says what it says at first. Seen failing without --execute ("failed to idle channel 0",
    after 15 s)."""
    unload_nouveau(watched)
    for card in CARDS:
        work = count_work(watched, card)
        assert work["releases"] > 0 and (work["faults"], work["ignored"], work["refused_writes"]) == (0, [], 0)
        check_none_shown(watched, card)
    load_nouveau(watched)
    for card in CARDS:
        assert read_log(watched, card) == card.expect_log()
        check_shown(watched, card)


def test_a_channel_that_was_disabled_and_enabled_does_its_work(watched: Guest) -> None:
    """nouveau waits for its last work before it goes, and finds nothing wrong. Seen failing without enable_channel."""
    for card in CARDS:
        runlist, channel = next(iter(card.list_channels().items()))
        written = f"{runlist}:{channel}" if card.ampere else channel
        watched.check(f"echo {written} >/proc/gpu{card.index}/disable_channel")
        assert "| Enabled:           0|" in watched.read(f"/proc/gpu{card.index}/runlist{runlist}")
        watched.check(f"echo {written} >/proc/gpu{card.index}/enable_channel")
    unload_nouveau(watched)
    for card in CARDS:
        assert count_work(watched, card)["faults"] == 0
