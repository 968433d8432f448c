# SPDX-License-Identifier: GPL-2.0
"""The kernel's own driver, nouveau, on emulated GPUs, with gpulens beside it: a driver that this project did not write
makes page tables, instance blocks, channels and runlists, and its log says what it thinks of the emulated GPU. Any
warning of the kernel, such as the one at each of nouveau's time limits, ends the guest (panic_on_warn). make
test-drivers runs this; the modules come from Debian's package of the guest's kernel. docs/drivers.md."""

import os
import re
import time
from collections.abc import Iterator
from typing import NamedTuple

import pytest

from lib import nouveau, paths
from lib.guest import Gpu, Guest

pytestmark = pytest.mark.skipif("GPULENS_DRIVERS" not in os.environ,
                                reason="make test-drivers runs the tests with drivers")

LOAD_LIMIT = 60  # seconds for all GPUs: the load of one may take 20
UNLOAD_LIMIT = 10  # seconds; nouveau waits 15 for a channel that does not do its work
# Word 4 of RAMFC, which nouveau writes into each channel's instance block (gpfifogk104.c, gpfifogv100.c).
SIGNATURE = 0xface


class Card(NamedTuple):
    """One GPU of the guest. chip and memory are what nouveau prints; bytes: of its memory. nouveau places nothing in
    the first 256 KiB and the last 1 MiB of it (subdev/fb/ramgf100.c)."""
    index: int
    profile: str
    chip: str
    memory: str
    bytes: int


CARDS = (Card(0, "gp106", "NVIDIA GP106 (136000a1)", "fb: 3072 MiB GDDR5", 3072 << 20),
         Card(1, "gv100", "NVIDIA GV100 (140000a1)", "fb: 12288 MiB GDDR5", 12288 << 20),
         Card(2, "tu102", "NVIDIA TU102 (162000a1)", "fb: 11264 MiB GDDR5", 11264 << 20))
# All that nouveau says of such a GPU, in order, without firmware that it asks for and goes without, and the kernel's
# own lines. The one error follows from gr=0: without a graphics engine there is no channel for it.
SAID = ("{chip}", "bios: version 86.06.00.00.00", "pmu: firmware unavailable", "{memory}", "DRM: VRAM: {mib} MiB",
        "DRM: GART: 536870912 MiB", "DRM: BIT table 'A' not found", "DRM: BIT table 'D' not found",
        "DRM: BIT table 'L' not found", "DRM: BIT table 'T' not found", "DRM: DCB version 4.0",
        "DRM: failed to create kernel channel, -22", "DRM: MM: using COPY for buffer copies")
LEFT_OUT = re.compile("firmware: |enabling device|acr: firmware unavailable")


def read_log(guest: Guest, card: Card) -> list[str]:
    """nouveau's lines about a GPU since the guest booted."""
    lines = re.findall(rf"^\[.*?\] nouveau 0000:00:0{4 + card.index}\.0: (.*)$", guest.check("dmesg"), re.M)
    return [line for line in lines if not LEFT_OUT.search(line)]


def expect_log(card: Card) -> list[str]:
    """What it says of a GPU that it starts once."""
    return [line.format(chip=card.chip, memory=card.memory, mib=card.bytes >> 20) for line in SAID]


@pytest.fixture(scope="module")
def driven() -> Iterator[Guest]:
    """A guest with these GPUs, nouveau loaded, gpulens not."""
    gpus = [Gpu(card.profile) for card in CARDS]
    try:
        archive = nouveau.make_archive(gpus)
    except FileNotFoundError as missing:
        pytest.fail(str(missing))  # this file runs only where it was asked for
    with Guest(gpus, mem=nouveau.MEMORY, archive=archive, driven=True, without=nouveau.WITHOUT,
               modules={"gpulens": paths.module("gpulens")}) as guest:
        began = time.monotonic()
        guest.check(nouveau.START, timeout=LOAD_LIMIT)
        print(f"nouveau was loaded in {time.monotonic() - began:.1f} s")
        yield guest


@pytest.fixture
def watched(driven: Guest) -> Iterator[Guest]:
    """The same, gpulens loaded."""
    driven.load("gpulens", "control=1")
    yield driven
    driven.unload()


@pytest.mark.parametrize("card", CARDS, ids=[card.profile for card in CARDS])
def test_it_starts_without_an_error(driven: Guest, card: Card) -> None:
    """All that nouveau says of the GPU is known: no error of fifo, mmu, bar, ce or another unit. Seen failing: with
    TSG_PREEMPT_COMPLETE in Turing's INTR_0 ("fifo: INTR 10000000"); on Pascal without devinit's bit at 0x2240c."""
    assert read_log(driven, card) == expect_log(card)


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
    listed = driven.emu[card.index].cmd({"cmd": "unmodelled"})["registers"]
    assert [hex(register["off"]) for register in listed] == ["0x6013d4", "0x6013d5"]


@pytest.mark.parametrize("card", CARDS, ids=[card.profile for card in CARDS])
def test_gpulens_shows_its_channel(watched: Guest, card: Card) -> None:
    """The runlist that nouveau wrote has one TSG with one channel, both with id 0, and where gpulens says that its
    instance block is, there is the signature that nouveau writes. Seen failing: with a PCCSR that shows the next
    page."""
    text = watched.read(f"/proc/gpu{card.index}/runlist0")
    base = int(re.search(r"^List: base (0x\w+), target vid, entries 2, pending 0$", text, re.M).group(1), 16)
    inst = int(re.search(r"\| Inst: (0x\w+)\|\n *\| Target: +vid\|", text).group(1), 16)
    page_directory = int(re.search(r"\| PDB: +(0x\w+)\|\n *\| Target: +vid\|\n *\| Pages: +v2\|", text).group(1), 16)
    for address in (base, inst, page_directory):
        assert 256 << 10 <= address < card.bytes - (1 << 20) and address % 4096 == 0, hex(address)
    assert re.findall(r"TSG Entry (\d+)", text) == ["0"] and re.findall(r"Channel Info (\d+)", text) == ["0"]
    assert "| Enabled:           1|" in text and "| Bound:             1|" in text
    words = watched.emu[card.index].cmd({"cmd": "peek", "ap": "vid", "addr": inst, "words": 5})["words"]
    assert words[4] == SIGNATURE


@pytest.mark.parametrize("card", CARDS, ids=[card.profile for card in CARDS])
def test_gpulens_shows_its_bars(watched: Guest, card: Card) -> None:
    """BAR1 and BAR2 go through page tables that nouveau wrote, and the runlist is seen through BAR2 where gpulens says.
    Seen failing: with a BAR2 block that reads as the next page."""
    text = watched.read(f"/proc/gpu{card.index}/bars")
    assert len(re.findall(r"^BAR[12]: +virtual, page directory 0x\w+ \(vid\), pages v2$", text, re.M)) == 2, text
    base, offset = re.search(r"^runlist 0 +(0x\w+) \(vid\): BAR2\+(0x\w+)$", text, re.M).groups()
    found = watched.emu[card.index].cmd({"cmd": "translate", "bar": 2, "va": int(offset, 16)})
    assert found["mapped"] and found["addr"] == int(base, 16)


def test_they_are_loaded_and_unloaded_in_every_order(driven: Guest) -> None:
    """gpulens is loaded and unloaded while nouveau stays, nouveau while gpulens stays, and every file is read
    meanwhile. nouveau waits for its channel before it goes: Host releases a semaphore and interrupts. Afterwards its
    runlist is empty. Seen failing: without --execute ("failed to idle channel 0", after 15 s)."""
    read_all = ("i=0; while [ $i -lt 20 ]; do for file in $(find /proc/gpu[0-9]/ -type f -perm -400 ! -name samples); "
                "do cat $file >/dev/null || echo $file; done; i=$((i + 1)); done")
    driven.load()
    assert driven.check(read_all, timeout=120) == ""
    began = time.monotonic()
    driven.check("rmmod nouveau", timeout=30)
    assert time.monotonic() - began < UNLOAD_LIMIT
    for card in CARDS:
        work = driven.emu[card.index].cmd({"cmd": "work"})
        assert work["releases"] > 0 and (work["faults"], work["ignored"]) == (0, [])
        assert driven.read(f"/proc/gpu{card.index}/runlist0").endswith(", entries 0, pending 0\n! empty\n")
    driven.check(f"({read_all}) >/tmp/read 2>&1 & {nouveau.START}; status=$?; wait; exit $status",
                 timeout=LOAD_LIMIT + 60)
    for card in CARDS:
        assert "entries 2" in driven.read(f"/proc/gpu{card.index}/runlist0")
        assert read_log(driven, card) == expect_log(card) * 2
    driven.unload()
    driven.check("rmmod nouveau", timeout=30)
