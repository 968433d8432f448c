# SPDX-License-Identifier: GPL-2.0
"""Requests never reach another runlist. A rival module (tests/support/kmod/rival_driver) schedules work on a GPU as its
driver would, on processor 1: it submits lists to two runlists in turn, preempts a TSG and changes channels, while
processor 0 writes one request after another. Each runlist only ever gets its own lists, whole, and each channel keeps
the bits that the driver gave it. The same with the stops of the machine built out must show wrong ones, else this
proves nothing. GPULENS_RIVAL_ROUNDS: the driver's rounds of each chip and manner."""

import os
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

from lib.chips import names_of
from lib.guest import Gpu, Guest, pci_address
from support.vm.cards import healthy, need_module, scenario

ROUNDS = int(os.environ.get("GPULENS_RIVAL_ROUNDS", "400"))
UNSAFE_ROUNDS = 400
WHERE = 0x20000000  # the lists: 512 MiB into the GPU's memory, far from what the emulated driver uses
COUNTERS = ("rounds", "wrong_list", "wrong_next", "wrong_enable", "stuck", "preempts")
# slices-two.json: TSG 31 with channel 50 and TSG 32 with 51 on runlist 0, 21 with 40 and 22 with 41 on runlist 1
TSG, NEXT, ENABLE = 31, 50, 51


class Chip(NamedTuple):
    """One chip: kind as the rival counts them, 32-bit words of a list entry, where the registers of runlists 0 and 1
    begin (from its profile), what it can be asked for."""
    name: str
    kind: int
    words: int
    bases: tuple[int, int] = (0, 0)
    tsgs: bool = True
    preempts_runlists: bool = True

    def ref(self, number: int) -> str:
        """How a user names this channel or TSG of runlist 0."""
        return f"0:{number}" if self.kind == 2 else str(number)

    @property
    def entry_of_tsg(self) -> int:
        """Entries of a TSG and its channel on the list."""
        return 2 if self.tsgs else 1


KNOWN = (Chip("gk104", 0, 2, tsgs=False, preempts_runlists=False), Chip("gp106", 0, 2, preempts_runlists=False),
         Chip("gv100", 0, 4), Chip("tu102", 1, 4), Chip("ga100", 2, 4, (0xC00000, 0xC00400)))
CHIPS = tuple(next(chip for chip in KNOWN if chip.name == name) for name in names_of("rival"))


class Seen(NamedTuple):
    """What came of a contest."""
    rival: dict[str, int]
    answers: dict[str, dict[str, int]]  # by file, errno: how often
    foreign: list[Any]  # lists that a runlist got and the driver had never submitted to it
    over_pending: int
    spoilt: int  # words of the lists in memory that are not as they were, but for time slices

    @property
    def wrong(self) -> int:
        """How many things were not as they should be."""
        return (sum(self.rival[name] for name in ("wrong_list", "wrong_next", "wrong_enable", "stuck"))
                + sum(one["times"] for one in self.foreign) + self.over_pending + self.spoilt)

    @property
    def unexpected(self) -> dict[str, dict[str, int]]:
        """Answers other than that it was done, that the driver is at it, or, of one in twenty, that the machine was
        too busy for a short stop, when nothing is written."""
        return {name: rest for name, got in self.answers.items()
                if (rest := {err: n for err, n in got.items() if err not in ("OK", "EBUSY") and not (
                    err == "ETIMEDOUT" and 20 * n < sum(got.values()))})}


@pytest.fixture(scope="module", params=["module", "module-unsafe"], ids=["protected", "unprotected"])
def arena(request: pytest.FixtureRequest) -> Iterator[tuple[str, Guest]]:
    """A guest of two processors with one GPU of each chip, on which two TSGs take turns on each of two runlists."""
    flavour = os.environ.get("GPULENS_RIVAL_FLAVOUR", request.param)
    modules = {"gpulens": need_module(flavour), "rival_driver": need_module("kmod-tests", "rival_driver")}
    gpus = [Gpu(chip.name, scenario("slices-two")) for chip in CHIPS]
    with Guest(gpus, smp=2, modules=modules, limit=3600) as guest:
        guest.load("gpulens", "control=1")
        yield request.param, guest
        healthy(guest)


def lay_out(guest: Guest, index: int) -> tuple[list[int], list[list[int]]]:
    """Two lists for each of two runlists, in the GPU's memory: the scenario's, and that with its first TSG once more at
    its end. Addresses and lengths as the rival takes them, and the words of each."""
    chip, emu = CHIPS[index], guest.emu[index]
    lists, texts = [], []
    state = emu.cmd({"cmd": "state"})
    for runlist in state["runlists"][:2]:
        words = emu.cmd({"cmd": "peek", "addr": runlist["base"], "words": runlist["length"] * chip.words})["words"]
        for text in words, words + words[:chip.entry_of_tsg * chip.words]:
            addr = WHERE + len(texts) * 0x10000
            emu.cmd({"cmd": "poke", "addr": addr, "words": text})
            lists += [addr, len(text) // chip.words]
            texts.append(text)
    return lists, texts


def spoilt_words(guest: Guest, index: int, texts: list[list[int]]) -> int:
    """Words that changed, but for the first of TSG 31's entries on runlist 0, which holds its slice."""
    chip, wrong = CHIPS[index], 0
    for number, text in enumerate(texts):
        addr = WHERE + number * 0x10000
        now = guest.emu[index].cmd({"cmd": "peek", "addr": addr, "words": len(text)})["words"]
        for place, (one, other) in enumerate(zip(text, now)):
            may_change = chip.tsgs and number < 2 and place % (4 * chip.words) == 0
            wrong += one != other and not may_change
    return wrong


def foreign_lists(state: dict[str, Any], before: dict[str, Any], lists: list[int]) -> list[Any]:
    """Lists that a runlist got, of which the driver had submitted none to it."""
    foreign = []
    for runlist, old in zip(state["runlists"], before["runlists"]):
        first = 4 * runlist["id"]
        known = {(one["base"], one["length"]) for one in old["submitted"]}
        known |= {(lists[first + place], lists[first + place + 1]) for place in (0, 2) if runlist["id"] < 2}
        foreign += [{"runlist": runlist["id"], **one} for one in runlist["submitted"]
                    if (one["base"], one["length"]) not in known]
    return foreign


def answers_by_file(text: str) -> dict[str, dict[str, int]]:
    """What writeloop printed: how often each errno came, of each file."""
    by_file: dict[str, dict[str, int]] = {}
    for line in text.splitlines()[1:]:
        path, *_, err, times = line.split()
        got = by_file.setdefault(path.rpartition("/")[2], {})
        got[err] = got.get(err, 0) + int(times)
    return by_file


def requests_of(chip: Chip, folder: str) -> list[tuple[str, str]]:
    """What is written over and over: files and texts."""
    every = [("resubmit_runlist", "0"), ("disable_channel", chip.ref(NEXT)), ("resubmit_runlist", "1"),
             ("enable_channel", chip.ref(NEXT))]
    if chip.tsgs:
        every += [("tsg_timeslice", f"{chip.ref(TSG)} 1000"), ("preempt_tsg", chip.ref(TSG))]
    if chip.preempts_runlists:
        every += [("preempt_runlist", "0")]
    return [(f"{folder}/{name}", text) for name, text in every]


def contest(guest: Guest, index: int, manner: int, rounds: int) -> Seen:
    """Lets both work at the same time and asks all sides what they saw."""
    chip, emu = CHIPS[index], guest.emu[index]
    emu.cmd({"cmd": "scenario", "file": scenario("slices-two")})
    lists, texts = lay_out(guest, index)
    before = emu.cmd({"cmd": "state"})
    # gk104 lists channels only and preempts one; TYPE 25:24 is 1 for a TSG
    preempt = TSG | 1 << 24 if chip.tsgs else NEXT
    guest.load("rival_driver", f"gpu={pci_address(index)} kind={chip.kind} manner={manner} ids=0,1 "
               f"bases={chip.bases[0]},{chip.bases[1]} lists={','.join(map(str, lists))} channels={NEXT},{ENABLE} "
               f"preempt={preempt} preempt_runlists={int(chip.preempts_runlists)} limit={rounds}")
    counters = "/sys/module/rival_driver/parameters"
    try:
        words = " ".join(f"{path} '{text}'" for path, text in requests_of(chip, f"/proc/gpu{index}"))
        answers = guest.check(f"writeloop 0 {counters}/rounds {rounds} {words}", timeout=900)
        rival = {name: int(guest.read(f"{counters}/{name}")) for name in COUNTERS}
    finally:
        guest.unload("rival_driver")
    state = emu.cmd({"cmd": "state"})
    return Seen(rival, answers_by_file(answers), foreign_lists(state, before, lists), state["preempts_over_pending"],
                spoilt_words(guest, index, texts))


@pytest.mark.parametrize("index", range(len(CHIPS)), ids=[chip.name for chip in CHIPS])
def test_every_runlist_keeps_its_own_list(arena: tuple[str, Guest], index: int) -> None:
    """Against a driver whose sequences have interrupts off: none wrong. Unprotected: some, so that this can fail."""
    flavour, guest = arena
    seen = contest(guest, index, 0, ROUNDS if flavour == "module" else UNSAFE_ROUNDS)
    print(f"{flavour} {CHIPS[index].name}: {seen}")
    if flavour == "module":
        assert seen.wrong == 0, seen
        assert not seen.unexpected, seen
        # a list that is rewritten has to stay the same for the time of four stops of the machine
        assert all(got["OK"] > (0 if name == "tsg_timeslice" else got.get("EBUSY", 0))
                   for name, got in seen.answers.items()), seen
        assert seen.rival["preempts"] > ROUNDS / 2, seen
    else:
        assert seen.wrong > 0, seen


@pytest.mark.parametrize("index", [index for index, chip in enumerate(CHIPS) if chip.kind == 0],
                         ids=[chip.name for chip in CHIPS if chip.kind == 0])
def test_driver_that_is_interrupted_finds_base_as_it_left_it(arena: tuple[str, Guest], index: int) -> None:
    """Up to Volta also against a driver that sleeps between BASE and RUNLIST: BASE is put back. From Turing on nothing
    tells a BASE that was submitted from one that was only written, see docs/proc.md."""
    flavour, guest = arena
    seen = contest(guest, index, 1, ROUNDS // 4 if flavour == "module" else UNSAFE_ROUNDS // 4)
    print(f"{flavour} {CHIPS[index].name} asleep: {seen}")
    if flavour == "module":
        assert seen.rival["wrong_list"] == 0 and not seen.foreign and not seen.spoilt, seen
        assert not seen.unexpected, seen
    else:
        assert seen.wrong > 0, seen
