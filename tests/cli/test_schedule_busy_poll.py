# SPDX-License-Identifier: GPL-2.0
"""gpulens schedule --busy-poll: neither the coordinator nor the agents of held programs sleep."""

import os
import pathlib
from typing import Iterator

import pytest

from support.fakeclock import CLOCK, Kind, run_by_clock
from support.program import gpulens
from support.scheduled import (BUSY_POLL, DISABLE, HELD_SINCE, RELEASE, Coordinator, Load, end_loads,
                               run_coordinator, start_task, wait_for)

URGENT = {"name": "a", "priority": 0}
OTHER = {"name": "b"}


@pytest.fixture(autouse=True, name="loads")
def fixture_loads() -> Iterator[None]:
    """Ends the programs of a test."""
    yield
    end_loads()


def see_waits(tid: int) -> "set[Kind]":
    """What a thread is seen waiting for in 10 ms."""
    seen = set()
    for _ in range(10):
        CLOCK.run(0.001)
        seen.add(CLOCK.wait_of(tid))
    return seen


def find_agent(load: Load) -> int:
    """The agent's thread of a program."""
    return next(int(thread.name) for thread in pathlib.Path(f"/proc/{load.process.pid}/task").iterdir()
                if (thread / "comm").read_text().strip() == "gpulens-agent")


def test_an_agent_does_not_sleep_while_it_holds(tmp_path: pathlib.Path) -> None:
    """Where the coordinator wants it, until the release; and without sleeping, the hold still ends with its lease. Seen
    failing without BUSY_POLL being set."""
    load = start_task(tmp_path, "a")
    agent = find_agent(load)
    load.ask(DISABLE, 5)
    assert see_waits(agent) == {Kind.FUTEX}
    load.ask(RELEASE, 0)
    load.put(BUSY_POLL, 1)
    assert see_waits(agent) == {Kind.NONE}
    load.ask(DISABLE, 5)
    assert see_waits(agent) == {Kind.SPIN}
    load.ask(RELEASE, 0)
    assert see_waits(agent) == {Kind.NONE}
    start = CLOCK.now_ns()
    load.ask(DISABLE, 0.3)
    wait_for(lambda: not load.get(HELD_SINCE))
    assert 300_000_000 <= CLOCK.now_ns() - start < 301_000_000


def test_a_coordinator_does_not_sleep(tmp_path: pathlib.Path) -> None:
    """With --busy-poll; it asks the agents to do likewise, takes that back at its end, and warns of few processors."""
    loads = [start_task(tmp_path, "a"), start_task(tmp_path, "b")]
    for busy in (False, True):
        options = ("--busy-poll",) if busy else ()
        with Coordinator(tmp_path, "fixed-priority", URGENT, OTHER, *options) as coordinator:
            wait_for(lambda: loads[1].get(HELD_SINCE))
            assert loads[1].get(BUSY_POLL) == busy
            waits = see_waits(coordinator.process.pid)
            coordinator.stop()
        assert waits == {Kind.SPIN} if busy else waits == {Kind.FUTEX}
        assert loads[1].get(BUSY_POLL) == 0
    first = str(min(os.sched_getaffinity(0)))
    done = run_by_clock(["taskset", "-c", first, *map(str, coordinator.process.args), "--for", "10ms"],
                        coordinator.env)
    assert (done.returncode, done.stderr) == (0, (
        "gpulens: --busy-poll with 2 programs can keep 5 processors busy, and there are 1: jobs may become later by "
        "it\n"))


def test_where_it_is_refused(tmp_path: pathlib.Path) -> None:
    """The module has no agents. A dry run changes no page."""
    load = start_task(tmp_path, "a")
    load.put(BUSY_POLL, 1)
    done = run_coordinator(tmp_path, "fixed-priority", URGENT, "--busy-poll", "--dry-run")
    assert done.returncode == 0 and load.get(BUSY_POLL) == 1
    done = gpulens("schedule", str(tmp_path / "policy.json"), "--busy-poll")
    assert done.returncode and done.stderr == (
        "gpulens: --experimental, --gates, --busy-poll and --probed go with --source rm\n")
