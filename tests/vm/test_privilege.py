# SPDX-License-Identifier: GPL-2.0
"""Who may do what (docs/proc.md): nobody steers a GPU, is shown an address or gets an image without CAP_SYS_ADMIN of the
machine itself, however the file was opened, by whom, or in which namespace; nor steers or gets an image once the kernel is
locked down.

One guest with a GPU of each kind of channel state, PCCSR and channel RAM. helpers/sweep.c tries every way to open a file
and every call on what opened, helpers/become.c as whom. That nothing came through is seen in the answers, in the
emulators' logs of every access, and in how the files and the channels are afterwards."""

import re
import struct
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

import pytest

from chips import AD102, GP106
from conftest import Card, Guest, gpu_of, healthy, scenario
from formats import shape

CHIPS = (GP106, AD102)
CONTROL = ("disable_channel", "enable_channel", "preempt_tsg", "switch_to_tsg", "preempt_runlist", "resubmit_runlist",
           "wfi_preempt_channel", "cta_preempt_channel", "cil_preempt_channel")
SUID = "/tmp/suid"  # the sweep as a setuid program


def text_for(card: Card, name: str) -> str:
    """What root would write there with success."""
    return "0" if name.endswith("_runlist") else card.chip.ref(16 if name.endswith("_channel") else 3)


@pytest.fixture(scope="module")
def two() -> Iterator[Guest]:
    """gpu0 and gpu1 in the order of CHIPS, with runlists that BAR1 shows."""
    with Guest([gpu_of(chip) for chip in CHIPS], limit=1200) as guest:
        for emu, chip in zip(guest.emu, CHIPS):
            emu.cmd({"cmd": "scenario", "file": scenario(chip.scenario), "with": {"bar1": "all", "bar2": "instmem"}})
        guest.load("gpulens", "control=1")
        guest.check(f"cp /bin/sweep {SUID}; chmod 4755 {SUID}; mkdir /tmp/fresh")
        yield guest
        guest.unload()
        healthy(guest)


@pytest.fixture(params=range(len(CHIPS)), ids=[chip.name for chip in CHIPS])
def one(request: pytest.FixtureRequest, two: Guest) -> Card:
    """Each of the two GPUs in turn."""
    return Card(two, CHIPS[request.param], request.param)


@pytest.fixture(scope="module")
def careless(two: Guest) -> Iterator[None]:
    """An administrator has let everybody open all files for everything: what is left is what the module asks itself."""
    two.check("chmod 0666 /proc/gpu*/*")
    yield
    two.unload()
    two.load("gpulens", "control=1")


# -- what was tried, and what came of it


class Tried(NamedTuple):
    """Lines of the sweep's report: (kind, call, mode, result) -> how often."""
    lines: Counter[tuple[str, str, str, str]]

    def results(self, kind: str) -> set[str]:
        """What calls of a kind answered."""
        return {result for (of, _, _, result) in self.lines if of == kind}

    def nothing_got_through(self) -> None:
        """No write, nothing changed, nothing mapped."""
        through = {line: count for line, count in self.lines.items() if line[3] == "OK" and (
            line[0] in ("write", "change") or line[1] in ("mmap", "open_by_handle_at"))}
        assert not through

    def nothing_opened_to_write(self) -> None:
        """Files open for reading at most."""
        opened = {line: count for line, count in self.lines.items() if line[0] == "open" and line[3] == "OK" and
                  not line[2].startswith("O_PATH") and (line[1] == "reopen" or not line[2].startswith("O_RDONLY"))}
        assert not opened


def sweep(guest: Guest, who: str, what: str, program: str = "sweep") -> Tried:
    """The sweep's report; who: steps of helpers/become.c, what: options and files of helpers/sweep.c."""
    report = guest.check(f"become {who} -- {program} {what}", timeout=120)
    assert "done " in report, report
    tried: Counter[tuple[str, str, str, str]] = Counter()
    for line in report.splitlines():
        if not line.startswith("done "):
            kind, call, mode, result, count = line.split()
            tried[kind, call, mode, result] += int(count)
    return Tried(tried)


def files(card: Card) -> str:
    """Details of its files that no one else may change."""
    return card.guest.check(f"stat -c '%n %a %u %g %s' /proc/gpu{card.index} /proc/gpu{card.index}/*")


def standing(card: Card) -> list[object]:
    """What steering changes: which channels are enabled, and how they are preempted."""
    state = card.emu.cmd({"cmd": "state"})
    keys = ("runlist", "id", "enabled", "next", "inst", "graphics_preemption", "compute_preemption")
    return [[one.get(key) for key in keys] for one in state["channels"]] + \
        [[one.get(key) for key in ("id", "base", "length", "sched_disabled")] for one in state["runlists"]]


@contextmanager
def untouched(card: Card, by_reading: bool = False) -> Iterator[None]:
    """Nothing steers the GPU meanwhile: not one access, or by reading at most those that move the PRAMIN window."""
    before = files(card), standing(card)
    card.emu.cmd({"cmd": "log", "on": True})
    yield
    accesses = card.emu.cmd({"cmd": "log-read"})["accesses"]
    card.emu.cmd({"cmd": "log", "on": False})
    if by_reading:
        accesses = [one for one in accesses if one["op"] == "w" and (one["bar"], one["off"]) != (0, card.chip.window)]
    assert not accesses
    assert (files(card), standing(card)) == before


# -- addresses


def addresses(card: Card) -> dict[str, set[int]]:
    """Where the emulated driver put things, by kind. A context's page directory stands at 0x200 of its instance block
    (NV_RAMIN_PAGE_DIR_BASE_LO, bits 31:12, and _HI)."""
    state = card.emu.cmd({"cmd": "state"})
    kinds: dict[str, set[int]] = {"runlist": {one["base"] for one in state["runlists"] if one.get("base")},
                                  "instance block": {one["inst"] for one in state["channels"]},
                                  "context image": {one["context"] for one in state["channels"] if "context" in one},
                                  "page directory": set()}
    for inst in kinds["instance block"]:
        low, high = card.emu.cmd({"cmd": "peek", "ap": "vid", "addr": inst + 0x200, "words": 2})["words"]
        kinds["page directory"].add((high << 32) | (low & ~0xFFF))
    assert all(kinds.values()), kinds
    return kinds


def shown(data: bytes, addrs: Iterable[int]) -> set[int]:
    """Which of these addresses are in there: hexadecimal or decimal text, little-endian words of 8 or 4 bytes, numbers of
    4-KiB frames with or without flags in the top 4 bits, as PCCSR's have. The roundest are looked for as text only: cut
    into words they are small numbers, which stand for other things too."""
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


def printed(text: str) -> list[int]:
    """The numbers that stand in runlistY and bars where an address belongs."""
    return [int(one or other, 16) for one, other in HIDEABLE.findall(text)]


def collected(guest: Guest, path: str) -> bytes:
    """What a sweep has read."""
    return guest.read(path).encode(errors="surrogateescape")


# -- any user


def test_another_user_writes_nothing_changes_nothing_and_sees_no_address(one: Card) -> None:
    """uid 1000, on every file, in every way to open it, with every call."""
    guest = one.guest
    addrs = set().union(*addresses(one).values())
    with untouched(one, by_reading=True):
        tried = sweep(guest, "-u 1000", f"-t {one.chip.ref(16)} -d /tmp/read $(find /proc/gpu{one.index} -type f)")
    tried.nothing_got_through()
    tried.nothing_opened_to_write()
    readable = int(guest.check(f"find /proc/gpu{one.index} -type f -perm 0444 | wc -l"))
    assert tried.lines["open", "open", "O_RDONLY", "OK"] == readable
    assert tried.lines["open", "open", "O_RDONLY", "EACCES"] == len(CONTROL) + 1  # and image
    assert not shown(collected(guest, "/tmp/read"), addrs)
