# SPDX-License-Identifier: GPL-2.0
"""gpulens schedule --busy-poll: neither the coordinator nor the agents of held programs sleep."""

import os
import pathlib
import subprocess
import time
from typing import Iterator

import pytest

from support.scheduled import (BIN, BUSY_POLL, DISABLE, HELD_SINCE, RELEASE, Coordinator, Load, end_loads,
                               run_coordinator, start_task, wait_for)

URGENT = {"name": "a", "priority": 0}
OTHER = {"name": "b"}
TICKS = os.sysconf("SC_CLK_TCK")


@pytest.fixture(autouse=True, name="loads")
def fixture_loads() -> Iterator[None]:
    """Ends the programs of a test."""
    yield
    end_loads()


def measure_use(thread: pathlib.Path, seconds: float = 0.4) -> float:
    """How many processors a process or thread of /proc uses meanwhile."""
    def read() -> int:
        fields = (thread / "stat").read_text().rpartition(")")[2].split()
        return int(fields[11]) + int(fields[12])  # utime, stime

    before, start = read(), time.monotonic()
    time.sleep(seconds)
    return (read() - before) / TICKS / (time.monotonic() - start)


def find_agent(load: Load) -> pathlib.Path:
    """The agent's thread of a program."""
    return next(thread for thread in pathlib.Path(f"/proc/{load.process.pid}/task").iterdir()
                if (thread / "comm").read_text().strip() == "gpulens-agent")


def test_an_agent_does_not_sleep_while_it_holds(tmp_path: pathlib.Path) -> None:
    """Where the coordinator wants it, until the release; and without sleeping, the hold still ends with its lease."""
    load = start_task(tmp_path, "a")
    agent = find_agent(load)
    load.ask(DISABLE, 5)
    assert measure_use(agent) < 0.1
    load.ask(RELEASE, 0)
    load.put(BUSY_POLL, 1)
    assert measure_use(agent) < 0.1
    load.ask(DISABLE, 5)
    assert measure_use(agent) > 0.3
    load.ask(RELEASE, 0)
    assert measure_use(agent) < 0.1
    start = time.monotonic()
    load.ask(DISABLE, 0.3)
    wait_for(lambda: not load.get(HELD_SINCE))
    assert 0.2 < time.monotonic() - start < 0.8


def test_a_coordinator_does_not_sleep(tmp_path: pathlib.Path) -> None:
    """With --busy-poll; it asks the agents to do likewise, takes that back at its end, and warns of few processors."""
    loads = [start_task(tmp_path, "a"), start_task(tmp_path, "b")]
    for busy in (False, True):
        options = ("--busy-poll",) if busy else ()
        with Coordinator(tmp_path, "fixed-priority", URGENT, OTHER, *options) as coordinator:
            wait_for(lambda: loads[1].get(HELD_SINCE))
            assert loads[1].get(BUSY_POLL) == busy
            use = measure_use(pathlib.Path(f"/proc/{coordinator.process.pid}"))
            coordinator.stop()
        assert use > 0.3 if busy else use < 0.2
        assert loads[1].get(BUSY_POLL) == 0
    first = str(min(os.sched_getaffinity(0)))
    done = subprocess.run(["taskset", "-c", first, *map(str, coordinator.process.args), "--for", "10ms"],
                          env=coordinator.env, capture_output=True, text=True, timeout=20, check=True)
    assert done.stderr == ("gpulens: --busy-poll with 2 programs can keep 5 processors busy, and there are 1: jobs may "
                           "become later by it\n")


def test_where_it_is_refused(tmp_path: pathlib.Path) -> None:
    """The module has no agents. A dry run changes no page."""
    load = start_task(tmp_path, "a")
    load.put(BUSY_POLL, 1)
    done = run_coordinator(tmp_path, "fixed-priority", URGENT, "--busy-poll", "--dry-run")
    assert done.returncode == 0 and load.get(BUSY_POLL) == 1
    done = subprocess.run([BIN / "gpulens", "schedule", tmp_path / "policy.json", "--busy-poll"], capture_output=True,
                          text=True, timeout=20, check=False)
    assert done.returncode and done.stderr == (
        "gpulens: --experimental, --gates, --busy-poll and --probed go with --source rm\n")
