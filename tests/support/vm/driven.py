# SPDX-License-Identifier: GPL-2.0
"""Guests in which the kernel's own driver, nouveau, drives emulated GPUs, and what it says of each, on kernel 6.1 and
on 6.12. Used by tests/vm/test_nouveau*.py. docs/drivers.md."""

import pathlib
import re
import time
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import pytest

from lib import nouveau, paths
from lib.guest import Gpu, Guest, pci_address

LOAD_LIMIT = 600  # seconds for all GPUs: the load of one takes 3 to 20, by how fast the host wakes a process up
UNLOAD_LIMIT = 300
# Registers that it touches and that are not modelled: VGA index and data ports of a display.
ABSENT = ["0x6013d4", "0x6013d5"]
COPIES = 4  # the runlist of COPY0 on Kepler and GM107: engine/fifo/gk104.c, profiles
LEFT_OUT = re.compile("firmware: |enabling device|acr: firmware unavailable|vgaarb: ")
SINCE_6_12 = not paths.kernel_version().startswith("6.1.")
DRM = "drm" if SINCE_6_12 else "DRM"  # what nouveau calls that part of itself


class Card(NamedTuple):
    """One GPU of a guest. chip and memory are what nouveau prints; bytes: of its memory. built_in: nouveau has the
    firmware of its PMU and its graphics engine in itself, which is so up to GM107. ampere: it knows neither."""
    index: int
    profile: str
    chip: str
    memory: str
    bytes: int
    built_in: bool = False
    ampere: bool = False

    def list_channels(self) -> dict[int, int]:
        """The channels that nouveau has for itself, by runlist: for copies, and up to GM107 one for graphics on runlist
        0. From Pascal on a channel is in a TSG (engine/fifo). On Ampere 6.12 leaves out runlists with an engine that it
        lacks, such as that for graphics, and 6.1 takes that of the first copy engine in the device table."""
        if self.built_in:
            return {0: 0, COPIES: 1}
        return {1 if self.ampere and SINCE_6_12 else 0: 0}

    def is_used(self, address: int) -> bool:
        """nouveau may place something there: not in the first 256 KiB and the last 1 MiB (subdev/fb/ramgf100.c), but
        for Ampere, of which it uses all (6.1, subdev/fb/ramga102.c)."""
        return 0 <= address < self.bytes if self.ampere else 256 << 10 <= address < self.bytes - (1 << 20)

    def expect_log(self) -> list[str]:
        """All that nouveau says of the GPU when it starts it, in order, without firmware that it asks for and goes
        without, and the kernel's own lines. The one error follows from gr=0, on 6.1: there is no channel for graphics.
        The last two lines of 6.12 are about a display."""
        plain = self.built_in or self.ampere
        lines = [self.chip, "bios: version 86.06.00.00.00"] + ([] if plain else ["pmu: firmware unavailable"])
        lines += [self.memory, f"{DRM}: VRAM: {self.bytes >> 20} MiB"]
        lines += [f"{DRM}: GART: {1048576 if self.built_in else 536870912} MiB"]  # 40 and 49 bits of address
        lines += [f"{DRM}: BIT table '{name}' not found" for name in "ADLT"]
        if not SINCE_6_12:
            lines += ["DRM: DCB version 4.0"] + ([] if plain else ["DRM: failed to create kernel channel, -22"])
        lines += [f"{DRM}: MM: using COPY for buffer copies"]
        if SINCE_6_12:
            lines += ["[drm] No compatible format found", "[drm] Cannot find any crtc or sizes"]
        return lines


FROM_PASCAL = (Card(0, "gp106", "NVIDIA GP106 (136000a1)", "fb: 3072 MiB GDDR5", 3072 << 20),
               Card(1, "tu102", "NVIDIA TU102 (162000a1)", "fb: 11264 MiB GDDR5", 11264 << 20),
               Card(2, "ga102", "NVIDIA GA102 (172000a1)", "fb: 24576 MiB GDDR5", 24576 << 20, ampere=True),
               Card(3, "gv100", "NVIDIA GV100 (140000a1)", "fb: 12288 MiB GDDR5", 12288 << 20))
UP_TO_GM107 = (Card(0, "gk104", "NVIDIA GK104 (0e4000a1)", "fb: 2048 MiB DDR3", 2048 << 20, built_in=True),
               Card(1, "gk110", "NVIDIA GK110 (0f0000a1)", "fb: 6144 MiB DDR3", 6144 << 20, built_in=True),
               Card(2, "gm107", "NVIDIA GM107 (117000a1)", "fb: 2048 MiB DDR3", 2048 << 20, built_in=True))


def read_log(guest: Guest, card: Card) -> list[str]:
    """nouveau's lines about a GPU since it last started it."""
    lines = re.findall(rf"^\[.*?\] nouveau {pci_address(card.index)}: (.*)$", guest.check("dmesg"), re.M)
    lines = [line for line in lines if not LEFT_OUT.search(line)]
    starts = [number for number, line in enumerate(lines) if line == card.chip]
    return lines[starts[-1]:] if starts else lines


def load_nouveau(guest: Guest) -> float:
    """Returns the seconds that it took for all GPUs."""
    began = time.monotonic()
    guest.check(nouveau.START, timeout=LOAD_LIMIT)
    return time.monotonic() - began


def unload_nouveau(guest: Guest) -> None:
    """nouveau waits 15 s for a channel that does not do its last work, and says so: it must not have said that."""
    said = guest.check("dmesg").count("failed to idle")
    guest.check("rmmod nouveau", timeout=UNLOAD_LIMIT)
    assert guest.check("dmesg").count("failed to idle") == said


def list_unmodelled(guest: Guest, card: Card) -> list[str]:
    """The registers that nouveau touched and no unit of the emulator models."""
    return [hex(register["off"]) for register in guest.emu[card.index].cmd({"cmd": "unmodelled"})["registers"]]


def count_work(guest: Guest, card: Card) -> Mapping[str, Any]:
    """What the channels of a GPU did since the emulator started."""
    return dict(guest.emu[card.index].cmd({"cmd": "work"}))


def check_enabled(text: str, card: Card) -> None:
    """The channel that gpulens shows is enabled and, but on Ampere, which binds none, bound."""
    assert "| Enabled:           1|" in text and ("| Bound:             1|" in text) == (not card.ampere)


def check_shown(guest: Guest, card: Card) -> None:
    """gpulens shows the channels that nouveau has for itself, enabled and bound."""
    for runlist, channel in card.list_channels().items():
        text = guest.read(f"/proc/gpu{card.index}/runlist{runlist}")
        assert f", entries {1 if card.built_in else 2}, pending 0\n" in text
        assert re.findall(r"Channel Info (\d+)", text) == [str(channel)]
        check_enabled(text, card)


def check_none_shown(guest: Guest, card: Card) -> None:
    """The runlists on which nouveau had them are empty."""
    for runlist in card.list_channels():
        assert guest.read(f"/proc/gpu{card.index}/runlist{runlist}").endswith(", entries 0, pending 0\n! empty\n")


def list_files(guest: Guest) -> list[str]:
    """The files of all GPUs, without those of what a chip lacks, samples, which has no end, and those that have data
    only while a context is on the graphics engine."""
    found = guest.check("find /proc/gpu[0-9]/ -type f -perm -400 ! -name samples ! -name 'CWD_*'").split()
    said = guest.run(f"for name in {' '.join(found)}; do tryop read $name; done", timeout=60)[1].splitlines()
    return [name for name, result in zip(found, said) if result != "read EOPNOTSUPP"]


def restore_drivers(guest: Guest, cards: Sequence[Card]) -> None:
    """Has nouveau drive all these GPUs, and gpulens not be loaded, whatever a test left behind."""
    loaded = re.findall(r"^(\w+) ", guest.read("/proc/modules"), re.M)
    if "gpulens" in loaded:
        guest.unload()
    if guest.run("ls -d /sys/bus/pci/drivers/nouveau/0000:* 2>/dev/null")[1].count("\n") != len(cards):
        if "nouveau" in loaded:
            guest.check("rmmod nouveau", timeout=UNLOAD_LIMIT)
        guest.check("echo 1 >/sys/bus/pci/rescan")
        load_nouveau(guest)


def make_guest(cards: Sequence[Card], required: bool, limit: float, append: str = "",
               programs: Sequence[pathlib.Path] = ()) -> Guest:
    """A guest with these GPUs and programs, nouveau in it but not loaded. Skips the test where nouveau cannot be had,
    or fails it if it is required."""
    obstacle = nouveau.find_obstacle()
    if obstacle is not None:
        pytest.skip(obstacle)
    gpus = [Gpu(card.profile) for card in cards]
    try:
        archive = nouveau.make_archive(gpus)
    except FileNotFoundError as missing:
        if required:
            pytest.fail(str(missing))
        pytest.skip(str(missing))
    return Guest(gpus, mem=nouveau.MEMORY, archive=archive, driven=True, append=append, programs=programs, limit=limit,
                 modules={"gpulens": paths.module("gpulens")})
