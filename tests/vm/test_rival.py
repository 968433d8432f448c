# SPDX-License-Identifier: GPL-2.0
"""GPU memory is read without ever disturbing a driver. A rival module (tests/support/kmod/rival) keeps using the PRAMIN
window of every GPU on processor 1, as a driver would, while processor 0 reads runlists 10,000 times: not one wrong word
for either side. The same with the protection built out must show wrong words, else this test proves nothing."""

from collections.abc import Iterator
from typing import NamedTuple

import pytest

from lib.guest import Gpu, Guest, pci_address
from support.vm.cards import need_module, scenario
from support.vm.chips import CHIPS

READS = 10000
CONTEXT_READS = 500
UNSAFE_READS = 2000
COPY = "Copy Engine 2 (LCE2)"  # its channels have no contexts: a reading stops the machine twice, not four times
# state that changes by itself while TSGs take turns; everything read from GPU memory is compared
CHANGING = ("Enabled", "Next", "Force CTX", "Status", "Busy", "On ", "Pending", "PBDMA Busy", "ENG Busy", "Acquire",
            "idle", "pending", "acquire", "on pbdma", "on eng", "undefined")
WHERE = 0x20000000  # the rival's memory: 512 MiB into the GPU's, far from what the emulated driver uses


class Outcome(NamedTuple):
    """What both sides saw."""
    reads: int
    different: int
    failed: int
    rounds: int
    wrong: int
    moved: int
    text: str


@pytest.fixture(scope="module", params=["module", "module-unsafe"], ids=["protected", "unprotected"])
def arena(request: pytest.FixtureRequest) -> Iterator[tuple[str, Guest]]:
    """A guest of two processors with one GPU of each chip and a small runlist on each."""
    modules = {"gpulens": need_module(request.param), "rival": need_module("kmod-tests", "rival")}
    gpus = [Gpu(chip.name.lower(), scenario("small")) for chip in CHIPS]
    with Guest(gpus, smp=2, modules=modules, limit=3600) as guest:
        guest.load()
        yield request.param, guest


def contest(guest: Guest, manner: int, reads: int, files: list[str]) -> Outcome:
    """Lets both work at the same time and asks both what they saw."""
    slots = ",".join(pci_address(index) for index in range(len(CHIPS)))
    windows = ",".join(f"{chip.window:#x}" for chip in CHIPS)
    guest.load("rival", f"gpus={slots} windows={windows} manner={manner} where={WHERE}")
    try:
        masks = " ".join(f"-m '{mask}'" for mask in CHANGING)
        _, text = guest.run(f"readloop 0 {reads} {masks} {' '.join(files)}", timeout=800)
        line = [line for line in text.splitlines() if line.startswith("reads ")][0].split()
        rounds, wrong, moved = (int(guest.read(f"/sys/module/rival/parameters/{name}"))
                                for name in ("rounds", "wrong", "moved"))
    finally:
        guest.unload("rival")
    return Outcome(int(line[1]), int(line[3]), int(line[5]), rounds, wrong, moved, text)


@pytest.mark.parametrize("manner", [0, 1], ids=["interrupts_off", "preemptible_with_pause"])
def test_neither_side_sees_a_wrong_word(arena: tuple[str, Guest], manner: int) -> None:
    """Protected: 10,000 readings, and 500 with contexts and page tables, none different, no word of the rival's wrong,
    its window never found elsewhere. Unprotected: the same contest shows wrong words, so that this can fail."""
    flavour, guest = arena
    lists = [f"/proc/gpu{index}/runlist{dict(chip.engines)[COPY]}" for index, chip in enumerate(CHIPS)]
    contexts = [f"/proc/gpu{index}/runlist0" for index in range(len(CHIPS))]
    if flavour == "module":
        for reads, files in (READS, lists), (CONTEXT_READS, contexts):
            seen = contest(guest, manner, reads, files)
            assert (seen.different, seen.failed, seen.wrong, seen.moved) == (0, 0, 0, 0), seen.text
            assert seen.reads == reads
            assert seen.rounds > reads / 20
    else:
        seen = contest(guest, manner, UNSAFE_READS, lists)
        assert seen.wrong + seen.moved > 0
        assert seen.wrong + seen.different > 0
