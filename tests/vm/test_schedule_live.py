# SPDX-License-Identifier: GPL-2.0
"""gpulens schedule on the emulated GPU, by the module: the urgent job first, deadlines that time slicing misses, and
what becomes of holds when processes are killed. The GPU's clock stands still but for accesses, 3 us each, so that a
loaded machine changes nothing: a look of the scheduler takes the GPU about half a millisecond."""

import functools
import json
from collections.abc import Iterator
from typing import Any, Optional

import pytest

from lib.guest import Guest
from support.vm.cards import Card, scenario, wait_until
from support.vm.chips import chips_for
from support.vm.formats import read_enabled
from support.vm.shared import PAIR, SharedGuests

pytestmark = pytest.mark.guest("pair")

# pylint: disable=redefined-outer-name

CHIPS = chips_for("pair")
MS = 1_000_000
POLICY, OUT, ERR = "/tmp/policy.json", "/tmp/schedule.out", "/tmp/schedule.err"
HOG = {"us": 16000}
BOTH: "list[dict[str, Any]]" = [{"name": "urgent", "tsg": 1, "priority": 0}, {"name": "hog", "tsg": 2}]
# However slow the machine is.
wait_for_event = functools.partial(wait_until, seconds=120)


@pytest.fixture(scope="module")
def machine(guests: SharedGuests) -> Iterator[Guest]:
    """Two GPUs, one with PCCSR and one with channel RAM, and the tool."""
    with guests.take(PAIR, scenario("slices-two")) as guest:
        guest.load("gpulens", "control=1")
        yield guest


@pytest.fixture(params=range(len(CHIPS)), ids=[chip.name for chip in CHIPS])
def card(request: pytest.FixtureRequest, machine: Guest) -> Iterator[Card]:
    """Each of the two, with the GPU's own clock."""
    yield Card(machine, CHIPS[request.param], request.param)
    machine.run("killall -9 gpulens gpulens-holds")


def load_programs(card: Card, programs: "dict[int, tuple[Optional[dict[str, int]], dict[str, int]]]") -> None:
    """TSG n with channel 10 + n on runlist 0 for each; its jobs (None: endless work) and its time slice."""
    tsgs = [{"id": tsg, "runlist": 0, "timeslice": slice_, "channels": [
        {"id": 10 + tsg} if jobs is None else {"id": 10 + tsg, "jobs": jobs}]}
            for tsg, (jobs, slice_) in programs.items()]
    card.emu.cmd({"cmd": "time", "mode": "virtual", "access_ns": 3000})
    card.emu.cmd({"cmd": "scenario", "data": {"processes": [{"name": "p", "tsgs": tsgs}]}})


def list_jobs(card: Card, tsg: int) -> "list[tuple[int, int]]":
    """(arrival, end) of the finished jobs of a TSG, in ns of the GPU's clock."""
    channels = card.emu.cmd({"cmd": "jobs"})["channels"]
    found = [channel for channel in channels if channel["tsg"] == tsg or channel["id"] == 10 + tsg]
    return [(job["arrived_ns"], job["ended_ns"]) for job in found[0]["finished"]]


def start_schedule(card: Card, policy: str, tasks: "list[dict[str, Any]]") -> int:
    """Starts gpulens schedule. Returns its process id."""
    document = {"version": 1, "policy": policy, "quantum_ms": 1, "tasks": [
        {**task, "tsg": card.chip.ref(task["tsg"])} for task in tasks]}
    card.guest.push(json.dumps(document).encode(), POLICY)
    return int(card.guest.check(f"setsid gpulens -g {card.index} --json schedule {POLICY} --lease 1s --every 100us "
                                f">{OUT} 2>{ERR} </dev/null & echo $!"))


def end_schedule(card: Card, pid: int) -> "dict[str, dict[str, Any]]":
    """Ends it as Ctrl-C does. Returns the summary of each task."""
    card.guest.check(f"kill -INT {pid}")
    wait_for_event(lambda: card.guest.run(f"kill -0 {pid}")[0] != 0, "gpulens schedule did not end")
    assert card.guest.read(ERR) == ""
    return {task["name"]: task for task in json.loads(card.guest.read(OUT))["tasks"]}


def all_enabled(card: Card) -> bool:
    """Whether every channel of runlist 0 is enabled."""
    return all(read_enabled(card.read("runlist0")).values())


def test_the_urgent_task_meets_deadlines_that_time_slices_miss(card: Card) -> None:
    """A job of 4 ms each 23 ms beside endless work with slices of 16 ms, and a deadline of 10 ms. By time slices, jobs
    miss it; by priority, none does, and the other gets the rest."""
    programs: Any = {1: ({"length_us": 4000, "every_us": 23000}, HOG), 2: (None, HOG)}
    load_programs(card, programs)
    card.emu.cmd({"cmd": "time", "advance_ns": 400 * MS})
    before = list_jobs(card, 1)
    assert len(before) >= 10
    assert sum(end - arrival > 10 * MS for arrival, end in before) >= 5

    load_programs(card, programs)
    pid = start_schedule(card, "fixed-priority", BOTH)
    wait_for_event(lambda: len(list_jobs(card, 1)) >= 1, "no job ended")
    skip = len(list_jobs(card, 1))  # the command may have begun in the middle of one
    wait_for_event(lambda: len(list_jobs(card, 1)) >= skip + 8, "the jobs do not end")
    jobs = list_jobs(card, 1)[skip:]
    summary = end_schedule(card, pid)
    assert [end - arrival for arrival, end in jobs if end - arrival > 10 * MS] == []
    assert summary["hog"]["holds"] >= 8 and summary["hog"]["refused"] == summary["urgent"]["holds"] == 0
    ran = {tsg["id"]: tsg["ns"] for tsg in card.emu.cmd({"cmd": "runtime"})["tsgs"] if tsg["runlist"] == 0}
    assert ran[2] > ran[1], "the other one has the rest"
    assert all_enabled(card)


def test_edf_runs_three_jobs_in_the_order_of_their_deadlines(card: Card) -> None:
    """Three jobs of 20, 15 and 10 ms arrive one after another, the latest with the earliest deadline. In turns of
    1 ms, the third ends after all three have had 10 ms; by EDF they end in the order 3, 2, 1. Order is by the policy's
    deadlines, which are so far apart that no delay of the machine changes it."""
    slice_ = {"us": 1000}
    load_programs(card, {tsg: ({}, slice_) for tsg in (1, 2, 3)})

    def ask_for_jobs() -> None:
        for tsg, length in ((1, 20000), (2, 15000), (3, 10000)):
            card.emu.cmd({"cmd": "job", "runlist": 0, "channel": 10 + tsg, "length_us": length})
    ask_for_jobs()
    card.emu.cmd({"cmd": "time", "advance_ns": 100 * MS})
    by_slices = {tsg: end - arrival for tsg in (1, 2, 3) for arrival, end in list_jobs(card, tsg)}
    assert by_slices[3] > 25 * MS

    load_programs(card, {tsg: ({}, slice_) for tsg in (1, 2, 3)})
    pid = start_schedule(card, "edf", [{"name": f"t{tsg}", "tsg": tsg, "deadline_ms": deadline}
                                       for tsg, deadline in ((1, 600000), (2, 400000), (3, 200000))])
    wait_for_event(lambda: card.guest.run("pidof gpulens-holds")[0] == 0, "it does not start")
    ask_for_jobs()
    wait_for_event(lambda: all(list_jobs(card, tsg) for tsg in (1, 2, 3)), "the jobs do not end")
    end_schedule(card, pid)
    response = {tsg: end - arrival for tsg in (1, 2, 3) for arrival, end in list_jobs(card, tsg)}
    assert response[3] < 17 * MS and response[3] < response[2] < response[1]
    assert all_enabled(card)


def hold_hog(card: Card) -> int:
    """Starts a policy under which an endless urgent task keeps the other held."""
    load_programs(card, {1: (None, HOG), 2: (None, HOG)})
    pid = start_schedule(card, "fixed-priority", BOTH)
    wait_for_event(lambda: not all_enabled(card), "nothing is held")
    return pid


def test_everything_runs_again_when_the_coordinator_is_killed(card: Card) -> None:
    """SIGKILL, and SIGSTOP: the watchdog enables what was held, and ends after a killed one. Seen failing with a
    watchdog that never enables."""
    pid = hold_hog(card)
    card.guest.check(f"kill -STOP {pid}")
    wait_for_event(lambda: all_enabled(card), "a stopped coordinator keeps its holds")
    card.guest.check(f"kill -KILL {pid}")
    wait_for_event(lambda: card.guest.run("pidof gpulens gpulens-holds")[0] != 0, "the watchdog does not end")
    assert all_enabled(card)
    pid = hold_hog(card)
    card.guest.check(f"kill -KILL {pid}")
    wait_for_event(lambda: all_enabled(card), "a killed coordinator leaves its holds")


def test_what_is_left_when_both_are_killed_is_released_by_the_next(card: Card) -> None:
    """The command and its watchdog are killed at once: the hold stays, and --release ends it."""
    for _ in range(9):  # until it is not in the release that each second has
        pid = hold_hog(card)
        card.guest.check(f"killall -STOP gpulens-holds; kill -STOP {pid}")
        held = not all_enabled(card)
        card.guest.run(f"kill -9 {pid}; killall -9 gpulens-holds")
        wait_for_event(lambda: card.guest.run("pidof gpulens gpulens-holds")[0] != 0, "they do not end")
        if held:
            break
        card.guest.check(f"gpulens -g {card.index} schedule --release 2>{ERR}")
    assert held and not all_enabled(card)
    status, _ = card.guest.run(f"gpulens -g {card.index} schedule --release 2>{ERR}")
    assert (status, card.guest.read(ERR)) == (0, "gpulens: enabled 1 channels that a killed coordinator had held\n")
    assert all_enabled(card)


def test_a_gpu_has_one_coordinator_and_it_needs_the_right(card: Card) -> None:
    """A second coordinator, and a user without the capability, are refused by name, and change nothing."""
    pid = hold_hog(card)
    status, _ = card.guest.run(f"gpulens -g {card.index} schedule {POLICY} 2>/tmp/second.err")
    assert status == 4
    assert card.guest.read("/tmp/second.err") == (
        f"gpulens: GPU {card.index} has a coordinator already: process {pid} (/run/gpulens/schedule-gpu{card.index})\n")
    end_schedule(card, pid)
    status, _ = card.guest.run(f"become -u 65534 -- gpulens -g {card.index} schedule {POLICY} 2>{ERR}")
    assert status == 3 and "CAP_PERFMON" in card.guest.read(ERR)
    assert all_enabled(card)
