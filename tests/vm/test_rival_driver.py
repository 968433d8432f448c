# SPDX-License-Identifier: GPL-2.0
"""Control requests beside a driver that schedules work. A rival module (tests/support/kmod/rival_driver) submits lists
to two runlists in turn, preempts a TSG and changes channels on processor 1, while processor 0 writes one request after
another. Each runlist only gets its own lists, whole, and each channel keeps the bits that the driver gave it. Without
the stops of the machine the same contest must show wrong ones, or the test could not fail. GPULENS_RIVAL_ROUNDS: the
driver's rounds of each chip and manner."""

import os
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

from lib.chips import names_of
from lib.guest import Gpu, Guest, pci_address
from support.vm.cards import healthy, loaded_flavour, need_module, scenario

ROUNDS = int(os.environ.get("GPULENS_RIVAL_ROUNDS", "400"))
UNSAFE_ROUNDS, UNSAFE_PART = 400, 50
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
    """The result of a contest."""
    rival: dict[str, int]
    answers: dict[str, dict[str, int]]  # by file, errno: how often
    foreign: list[Any]  # lists that a runlist got and the driver had never submitted to it
    over_pending: int
    spoilt: int  # words of the lists in memory that are not as they were, but for time slices

    @property
    def wrong(self) -> int:
        """The number of errors of all kinds."""
        return (sum(self.rival[name] for name in ("wrong_list", "wrong_next", "wrong_enable", "stuck"))
                + sum(foreign["times"] for foreign in self.foreign) + self.over_pending + self.spoilt)

    @property
    def unexpected(self) -> dict[str, dict[str, int]]:
        """Results other than success, EBUSY for a pending list of the driver, and, for less than one write in twenty,
        ETIMEDOUT where the host was too busy for a short stop; nothing is written then."""
        return {name: rest for name, got in self.answers.items()
                if (rest := {err: n for err, n in got.items() if err not in ("OK", "EBUSY") and not (
                    err == "ETIMEDOUT" and 20 * n < sum(got.values()))})}


@pytest.fixture(scope="module")
def machine() -> Iterator[Guest]:
    """A guest of two processors with one GPU of each chip, on which two TSGs take turns on each of two runlists."""
    need_module("kmod-tests", "rival_driver")
    with Guest([Gpu(chip.name, scenario("slices-two")) for chip in CHIPS], smp=2, limit=3600) as guest:
        yield guest
        healthy(guest)


@pytest.fixture(scope="module", params=["module", "module-unsafe"], ids=["protected", "unprotected"])
def arena(request: pytest.FixtureRequest, machine: Guest) -> Iterator[tuple[str, Guest]]:
    """The guest with the module, with or without stops of the machine."""
    flavour = os.environ.get("GPULENS_RIVAL_FLAVOUR", request.param)
    with loaded_flavour(machine, flavour, "control=1"):
        yield request.param, machine


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
        for place, (before, after) in enumerate(zip(text, now)):
            may_change = chip.tsgs and number < 2 and place % (4 * chip.words) == 0
            wrong += before != after and not may_change
    return wrong


def foreign_lists(state: dict[str, Any], before: dict[str, Any], lists: list[int]) -> list[Any]:
    """Lists that a runlist got and the driver had not submitted to it."""
    foreign = []
    for runlist, old in zip(state["runlists"], before["runlists"]):
        first = 4 * runlist["id"]
        known = {(submitted["base"], submitted["length"]) for submitted in old["submitted"]}
        known |= {(lists[first + place], lists[first + place + 1]) for place in (0, 2) if runlist["id"] < 2}
        foreign += [{"runlist": runlist["id"], **submitted} for submitted in runlist["submitted"]
                    if (submitted["base"], submitted["length"]) not in known]
    return foreign


def answers_by_file(text: str) -> dict[str, dict[str, int]]:
    """From the output of helpers/writeloop.c: file -> errno -> how often."""
    by_file: dict[str, dict[str, int]] = {}
    for line in text.splitlines()[1:]:
        path, *_, err, times = line.split()
        got = by_file.setdefault(path.rpartition("/")[2], {})
        got[err] = got.get(err, 0) + int(times)
    return by_file


def requests_of(chip: Chip, folder: str) -> list[tuple[str, str]]:
    """The requests that are repeated: files and texts."""
    every = [("resubmit_runlist", "0"), ("disable_channel", chip.ref(NEXT)), ("resubmit_runlist", "1"),
             ("enable_channel", chip.ref(NEXT))]
    if chip.tsgs:
        every += [("tsg_timeslice", f"{chip.ref(TSG)} 1000"), ("preempt_tsg", chip.ref(TSG))]
    if chip.preempts_runlists:
        every += [("preempt_runlist", "0")]
    return [(f"{folder}/{name}", text) for name, text in every]


def run_contest(guest: Guest, index: int, manner: int, rounds: int) -> Seen:
    """Runs both at the same time and collects the counters of the rival, the results of requests and the emulator's
    state."""
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


def check_that_errors_occur(guest: Guest, index: int, manner: int, most_rounds: int) -> None:
    """Without stops of the machine. In parts, since errors mostly occur in the first."""
    seen: list[Seen] = []
    while len(seen) * UNSAFE_PART < most_rounds and not any(part.wrong for part in seen):
        seen.append(run_contest(guest, index, manner, UNSAFE_PART))
    assert any(part.wrong for part in seen), seen


@pytest.mark.parametrize("index", range(len(CHIPS)), ids=[chip.name for chip in CHIPS])
def test_every_runlist_keeps_its_own_list(arena: tuple[str, Guest], index: int) -> None:
    """Beside a driver whose sequences run with interrupts disabled: no error. Unprotected: some."""
    flavour, guest = arena
    if flavour == "module-unsafe":
        check_that_errors_occur(guest, index, 0, UNSAFE_ROUNDS)
    else:
        seen = run_contest(guest, index, 0, ROUNDS)
        print(f"{flavour} {CHIPS[index].name}: {seen}")
        assert seen.wrong == 0, seen
        assert not seen.unexpected, seen
        # a list that is rewritten has to stay the same for the time of four stops of the machine
        assert all(got["OK"] > (0 if name == "tsg_timeslice" else got.get("EBUSY", 0))
                   for name, got in seen.answers.items()), seen
        assert seen.rival["preempts"] > ROUNDS / 2, seen


@pytest.mark.parametrize("index", [index for index, chip in enumerate(CHIPS) if chip.kind == 0],
                         ids=[chip.name for chip in CHIPS if chip.kind == 0])
def test_base_is_restored_for_a_driver_that_is_interrupted(arena: tuple[str, Guest], index: int) -> None:
    """Up to Volta also beside a driver that sleeps between its writes of BASE and RUNLIST. From Turing on, a submitted
    BASE cannot be told from one that was only written, see docs/proc.md."""
    flavour, guest = arena
    if flavour == "module-unsafe":
        check_that_errors_occur(guest, index, 1, UNSAFE_ROUNDS // 4)
    else:
        seen = run_contest(guest, index, 1, ROUNDS // 4)
        print(f"{flavour} {CHIPS[index].name} asleep: {seen}")
        assert seen.rival["wrong_list"] == 0 and not seen.foreign and not seen.spoilt, seen
        assert not seen.unexpected, seen
