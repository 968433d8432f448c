# SPDX-License-Identifier: GPL-2.0
"""Guests in which the kernel's own driver, nouveau, drives emulated GPUs, and what it says of each. Used by
tests/vm/test_nouveau*.py. docs/drivers.md."""

import re
import time
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import pytest

from lib import nouveau, paths
from lib.guest import Gpu, Guest, pci_address

KERNEL = "6.1."  # whose nouveau's messages are known
LOAD_LIMIT = 60  # seconds for all GPUs: the load of one may take 20
# Registers that it touches and that are not modelled: VGA index and data ports of a display.
ABSENT = ["0x6013d4", "0x6013d5"]
LEFT_OUT = re.compile("firmware: |enabling device|acr: firmware unavailable")


class Card(NamedTuple):
    """One GPU of a guest. chip and memory are what nouveau prints; bytes: of its memory. built_in: nouveau has the
    firmware of its PMU and its graphics engine in itself, which is so up to GM107."""
    index: int
    profile: str
    chip: str
    memory: str
    bytes: int
    built_in: bool = False

    def expect_log(self) -> list[str]:
        """All that nouveau says of the GPU when it starts it, in order, without firmware that it asks for and goes
        without, and the kernel's own lines. The one error follows from gr=0: there is no channel for graphics."""
        lines = [self.chip, "bios: version 86.06.00.00.00"]
        lines += [] if self.built_in else ["pmu: firmware unavailable"]
        lines += [self.memory, f"DRM: VRAM: {self.bytes >> 20} MiB"]
        lines += [f"DRM: GART: {1048576 if self.built_in else 536870912} MiB"]  # 40 and 49 bits of address
        lines += [f"DRM: BIT table '{name}' not found" for name in "ADLT"] + ["DRM: DCB version 4.0"]
        lines += [] if self.built_in else ["DRM: failed to create kernel channel, -22"]
        return lines + ["DRM: MM: using COPY for buffer copies"]


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


def list_unmodelled(guest: Guest, card: Card) -> list[str]:
    """The registers that nouveau touched and no unit of the emulator models."""
    return [hex(register["off"]) for register in guest.emu[card.index].cmd({"cmd": "unmodelled"})["registers"]]


def count_work(guest: Guest, card: Card) -> Mapping[str, Any]:
    """What the channels of a GPU did since the emulator started."""
    return dict(guest.emu[card.index].cmd({"cmd": "work"}))


def make_guest(cards: Sequence[Card], required: bool, limit: float, append: str = "") -> Guest:
    """A guest with these GPUs, nouveau in it but not loaded. Skips the test where nouveau cannot be had, or fails it
    if it is required."""
    if not paths.kernel_version().startswith(KERNEL):
        pytest.skip(f"the messages of nouveau are known for kernel {KERNEL}x, this is {paths.kernel_version()}")
    gpus = [Gpu(card.profile) for card in cards]
    try:
        archive = nouveau.make_archive(gpus)
    except FileNotFoundError as missing:
        if required:
            pytest.fail(str(missing))
        pytest.skip(str(missing))
    return Guest(gpus, mem=nouveau.MEMORY, archive=archive, driven=True, without=nouveau.WITHOUT, append=append,
                 limit=limit, modules={"gpulens": paths.module("gpulens")})
