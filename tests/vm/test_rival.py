# SPDX-License-Identifier: GPL-2.0
"""Reading GPU memory never disturbs a driver. A rival module (tests/support/kmod/rival) keeps using the PRAMIN window
of every GPU on processor 1, as a driver would, while processor 0 reads runlists: neither side reads a wrong word.
Without the stops of the machine the same contest must show wrong words within as many reads, or the test could not
fail. GPULENS_RIVAL_READS: how many (`make soak`: 10,000)."""

import os
from collections.abc import Iterator
from typing import NamedTuple

import pytest

from lib.guest import Guest, pci_address
from support.vm.cards import loaded_flavour, scenario
from support.vm.chips import CHIPS
from support.vm.shared import FOUR, SharedGuests

pytestmark = pytest.mark.guest("four")

READS = int(os.environ.get("GPULENS_RIVAL_READS", "1000"))
CONTEXT_READS = READS // 20
UNSAFE_READS, UNSAFE_PART = 1000, 250
COPY = "Copy Engine 2 (LCE2)"  # its channels have no contexts: a reading stops the machine twice, not four times
# state that changes by itself while TSGs take turns; everything read from GPU memory is compared
CHANGING = ("Enabled", "Next", "Force CTX", "Status", "Busy", "On ", "Pending", "PBDMA Busy", "ENG Busy", "Acquire",
            "idle", "pending", "acquire", "on pbdma", "on eng", "undefined")
WHERE = 0x20000000  # the rival's memory: 512 MiB into the GPU's, far from what the emulated driver uses


class Outcome(NamedTuple):
    """Counters of both sides after a contest."""
    reads: int
    different: int
    failed: int
    rounds: int
    wrong: int
    moved: int
    text: str


@pytest.fixture(scope="module", params=["module", "module-unsafe"], ids=["protected", "unprotected"])
def arena(request: pytest.FixtureRequest, guests: SharedGuests) -> Iterator[tuple[str, Guest]]:
    """A GPU of each chip with a small runlist; the module, with or without stops of the machine."""
    with guests.take(FOUR, scenario("small")) as guest, loaded_flavour(guest, request.param):
        yield request.param, guest


def run_contest(guest: Guest, manner: int, reads: int, files: list[str]) -> Outcome:
    """Runs both at the same time and reads their counters."""
    slots = ",".join(pci_address(index) for index in range(len(CHIPS)))
    windows = ",".join(f"{chip.window:#x}" for chip in CHIPS)
    guest.load("rival", f"gpus={slots} windows={windows} manner={manner} where={WHERE}")
    try:
        masks = " ".join(f"-m '{mask}'" for mask in CHANGING)
        _, text = guest.run(f"readloop 0 {reads} {masks} {' '.join(files)}", timeout=3000)
        line = [line for line in text.splitlines() if line.startswith("reads ")][0].split()
        rounds, wrong, moved = (int(guest.read(f"/sys/module/rival/parameters/{name}"))
                                for name in ("rounds", "wrong", "moved"))
    finally:
        guest.unload("rival")
    return Outcome(int(line[1]), int(line[3]), int(line[5]), rounds, wrong, moved, text)


@pytest.mark.parametrize("manner", [0, 1], ids=["interrupts_off", "preemptible_with_pause"])
def test_neither_side_sees_a_wrong_word(arena: tuple[str, Guest], manner: int) -> None:
    """Protected: of 1,000 reads, and 50 with contexts and page tables, none differs, and the rival finds no wrong word
    and its window never moved. Unprotected: the same contest shows wrong words."""
    flavour, guest = arena
    lists = [f"/proc/gpu{index}/runlist{dict(chip.engines)[COPY]}" for index, chip in enumerate(CHIPS)]
    contexts = [f"/proc/gpu{index}/runlist0" for index in range(len(CHIPS))]
    if flavour == "module":
        for reads, files in (READS, lists), (CONTEXT_READS, contexts):
            seen = run_contest(guest, manner, reads, files)
            assert (seen.different, seen.failed, seen.wrong, seen.moved) == (0, 0, 0, 0), seen.text
            assert seen.reads == reads
            assert seen.rounds > reads / 20
    else:
        # in parts, since wrong words come soon
        parts: list[Outcome] = []
        while sum(part.reads for part in parts) < UNSAFE_READS and not sum(part.wrong for part in parts):
            parts.append(run_contest(guest, manner, UNSAFE_PART, lists))
        assert sum(part.wrong + part.moved for part in parts) > 0
        assert sum(part.wrong + part.different for part in parts) > 0
