# SPDX-License-Identifier: GPL-2.0
"""Helpers of test_privilege.py: the guest, a sweep of every call on a file and its results, the addresses that may not
be shown, and a check that a GPU was not accessed."""

import re
import struct
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from lib.guest import Guest
from support.vm.cards import Card, need_options, scenario
from support.vm.chips import chips_for

CHIPS = chips_for("pair")
CONTROL = ("disable_channel", "enable_channel", "hold_channel", "preempt_tsg", "switch_to_tsg", "preempt_runlist",
           "resubmit_runlist", "wfi_preempt_channel", "cta_preempt_channel", "cil_preempt_channel", "tsg_timeslice")
OBSERVE = ("runlist0", "bars")  # and each other runlist: TSGs, channels, contexts, addresses
SUID = "/tmp/suid"  # the sweep as a setuid program


def text_for(card: Card, name: str) -> str:
    """A text that root can write there, quoted for a shell."""
    if name == "tsg_timeslice":
        return f"'{card.chip.ref(3)} 1000'"
    return "0" if name.endswith("_runlist") else card.chip.ref(16 if name.endswith("_channel") else 3)


def set_scene(card: Card) -> None:
    """The chip's scenario, with runlists that BAR1 shows."""
    card.emu.cmd({"cmd": "scenario", "file": scenario(card.chip.scenario), "with": {"bar1": "all", "bar2": "instmem"}})


class House:
    """A guest with gpu0 and gpu1 in the order of CHIPS, and the parameters of its loaded module."""

    def __init__(self, guest: Guest) -> None:
        self.cards = [Card(guest, chip, index) for index, chip in enumerate(CHIPS)]
        self._guest, self._loaded = guest, ("", False)

    def load(self, params: str = "control=1", careless: bool = False) -> None:
        """Loads the module with these parameters. careless: with all file modes set to 0666."""
        if self._loaded == (params, careless):
            return
        if self._loaded[0]:
            self._guest.unload()
        self._guest.load("gpulens", params)
        if careless:
            self._guest.check("chmod 0666 /proc/gpu*/*")
        self._loaded = (params, careless)

    def unloaded(self) -> Guest:
        """The guest, with the module unloaded."""
        if self._loaded[0]:
            self._guest.unload()
        self._loaded = ("", False)
        return self._guest


# -- a sweep and its results


class Tried(NamedTuple):
    """Lines of the sweep's report: (kind, call, mode, result) -> how often."""
    lines: Counter[tuple[str, str, str, str]]

    def results(self, kind: str) -> set[str]:
        """The results of calls of a kind."""
        return {result for (of, _, _, result) in self.lines if of == kind}

    def nothing_got_through(self) -> None:
        """No write, change or mapping succeeded."""
        through = {line: count for line, count in self.lines.items() if line[3] == "OK" and (
            line[0] in ("write", "change") or line[1] in ("mmap", "open_by_handle_at"))}
        assert not through

    def nothing_opened_to_write(self) -> None:
        """No file was opened for writing."""
        opened = {line: count for line, count in self.lines.items() if line[0] == "open" and line[3] == "OK" and
                  not line[2].startswith("O_PATH") and (line[1] == "reopen" or not line[2].startswith("O_RDONLY"))}
        assert not opened


def sweep_files(guest: Guest, who: str, words: str, program: str = "sweep") -> Tried:
    """The sweep's report; who: steps of helpers/become.c, words: options and files of helpers/sweep.c."""
    if "-m" in who:
        need_options("PID_NS")
    status, report = guest.run(f"become {who} -- {program} {words}", timeout=120)
    if status == 99 and report.split()[:2] == ["become", "-r"]:
        return Tried(Counter({("open", "become", "O_RDONLY", report.split()[2]): 1}))
    assert status == 0, report
    assert "done " in report, report
    tried: Counter[tuple[str, str, str, str]] = Counter()
    for line in report.splitlines():
        if not line.startswith("done "):
            kind, call, mode, result, count = line.split()
            tried[kind, call, mode, result] += int(count)
    return Tried(tried)


def list_files(card: Card) -> str:
    """Mode, owner and size of its files, which only root may change."""
    return card.guest.check(f"stat -c '%n %a %u %g %s' /proc/gpu{card.index} /proc/gpu{card.index}/*")


def controlled_state(card: Card) -> list[object]:
    """The state that control changes: enabled channels, preemption modes, and time slices."""
    state = card.emu.cmd({"cmd": "state"})
    keys = ("runlist", "id", "enabled", "next", "inst", "graphics_preemption", "compute_preemption")
    return [[channel.get(key) for key in keys] for channel in state["channels"]] + \
        [[runlist.get(key) for key in ("id", "base", "length", "sched_disabled", "tsgs")]
         for runlist in state["runlists"]]


@contextmanager
def expect_untouched(card: Card, by_reading: bool = False) -> Iterator[None]:
    """The GPU is not accessed and not changed meanwhile; by_reading: reads of registers are allowed."""
    before = list_files(card), controlled_state(card)
    card.emu.cmd({"cmd": "log", "on": True})
    try:
        yield
    finally:
        accesses = card.emu.cmd({"cmd": "log-read"})["accesses"]
        card.emu.cmd({"cmd": "log", "on": False})
    if by_reading:
        accesses = [access for access in accesses if access["op"] == "w" or access["size"] != 4]
    assert not accesses
    assert (list_files(card), controlled_state(card)) == before


# -- addresses


def find_addresses(card: Card) -> dict[str, set[int]]:
    """Addresses that the emulated driver uses, by kind. A context's page directory stands at 0x200 of its instance
    block (NV_RAMIN_PAGE_DIR_BASE_LO, bits 31:12, and _HI). Of a context image the virtual address is shown: the
    emulator's page tables lead from it to where the image is."""
    state = card.emu.cmd({"cmd": "state"})
    virtual = {int(text, 16) for text in re.findall(r"VA: +(0x\w+)", card.read("runlist0"))}
    kinds: dict[str, set[int]] = {"runlist": {runlist["base"] for runlist in state["runlists"] if runlist.get("base")},
                                  "instance block": {channel["inst"] for channel in state["channels"]},
                                  "context image": virtual, "page directory": set()}
    images = {channel["inst"]: channel["context"] for channel in state["channels"] if "context" in channel}
    assert images
    for inst, image in images.items():
        assert image in [card.emu.cmd({"cmd": "translate", "va": va, "inst": inst}).get("addr") for va in virtual]
    for inst in kinds["instance block"]:
        low, high = card.emu.cmd({"cmd": "peek", "ap": "vid", "addr": inst + 0x200, "words": 2})["words"]
        kinds["page directory"].add((high << 32) | (low & ~0xFFF))
    assert all(kinds.values()), kinds
    return kinds


def find_shown(data: bytes, addrs: Iterable[int]) -> set[int]:
    """Those of these addresses that the data contains, as hexadecimal or decimal text, little-endian words of 8 or 4
    bytes, numbers of 4-KiB frames with or without flags in the top 4 bits, as in PCCSR. Round addresses are searched as
    text only: as words they are small numbers, which also occur by chance."""
    text = data.decode("latin-1").lower()
    numbers = {number.lstrip("0") for number in re.findall(r"[0-9a-f]{5,}", text)}
    data += bytes(-len(data) % 4)
    words = struct.unpack(f"<{len(data) // 4}I", data)
    doubles = {low | high << 32 for low, high in zip(words, words[1:])}
    frames = set(words) | {word & 0x0FFFFFFF for word in words}
    found = set()
    for addr in addrs:
        in_text = f"{addr:x}" in text or str(addr) in numbers
        is_round = (addr >> 12 & 0xFFFF) < 64
        in_words = addr in doubles or addr in words or addr >> 12 in frames or f"{addr >> 12:x}" in numbers
        if in_text or (in_words and not is_round):
            found.add(addr)
    return found


HIDEABLE = re.compile(r"(?<![0-9a-f])0x([0-9a-f]{12})(?![0-9a-f])|BAR[12]\+0x([0-9a-f]+)")


def read_printed(text: str) -> list[int]:
    """The numbers in runlistY and bars at the places of addresses."""
    return [int(address or offset, 16) for address, offset in HIDEABLE.findall(text)]


def read_collected(guest: Guest, path: str) -> bytes:
    """The bytes of a file in the guest, such as one with the data that a sweep has read."""
    return guest.read(path).encode(errors="surrogateescape")
