# SPDX-License-Identifier: GPL-2.0
"""gpulens schedule --source rm where the coordinator, a program or its agent is killed or stopped: everything runs
again, and what is left goes on. The limit is 60 ms of the programs' clock, of which 50 are the lease."""

import json
import os
import pathlib
import random
import signal
import subprocess
from typing import Any, Iterator

import pytest

from support.fakeclock import CLOCK
from support.scheduled import (ANSWERED, EXPIRED, HELD_SINCE, REASSERTED, REQUEST, Coordinator,
                               coordinator_words, end_loads, make_environment, run_coordinator, start_task, wait_for)

URGENT, OTHER = {"name": "urgent", "priority": 0}, {"name": "other"}
LIMIT = 0.06  # an agent alone would end the hold after 0.9 s


@pytest.fixture(autouse=True, name="loads")
def fixture_loads() -> Iterator[None]:
    """Ends the programs of a test."""
    yield
    end_loads()


def start_pair(folder: pathlib.Path) -> "list[Any]":
    """A program that is held, one that holds it, and the coordinator."""
    loads = [start_task(folder, "urgent"), start_task(folder, "other")]
    coordinator = Coordinator(folder, "fixed-priority", URGENT, OTHER)
    wait_for(lambda: loads[1].get(HELD_SINCE))
    return [*loads, coordinator]


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
def test_all_run_when_the_coordinator_ends_or_stops(tmp_path: pathlib.Path, number: int) -> None:
    """The agent ends the hold with the lease. Seen failing with a lease of a second: the agent's own limit ended it. A
    coordinator that goes on says that it lost the lease, and holds again."""
    urgent, other, coordinator = start_pair(tmp_path)
    with coordinator:
        expired, start = other.get(EXPIRED), CLOCK.now()
        coordinator.process.send_signal(number)
        wait_for(lambda: not other.get(HELD_SINCE))
        assert CLOCK.now() - start < LIMIT and other.get(EXPIRED) == expired + 1
        assert not other.stands_still() and not urgent.get(HELD_SINCE)
        if number == signal.SIGSTOP:
            coordinator.process.send_signal(signal.SIGCONT)
            wait_for(lambda: other.get(HELD_SINCE))
            assert coordinator.stop()["lost_leases"] >= 1
            assert not other.get(HELD_SINCE)


def test_a_lost_lease_names_its_remedy(tmp_path: pathlib.Path) -> None:
    """In the summary as text: --lease. Seen failing without it."""
    other = [start_task(tmp_path, name) for name in ("urgent", "other")][1]
    words = coordinator_words(tmp_path, "fixed-priority", (URGENT, OTHER, "--experimental"))
    with subprocess.Popen(words, env={**make_environment(tmp_path), "GPULENS_RUNTIME_DIR": str(tmp_path / "run")},
                          stdout=subprocess.PIPE, text=True) as process:
        try:
            wait_for(lambda: other.get(HELD_SINCE))
            process.send_signal(signal.SIGSTOP)
            wait_for(lambda: not other.get(HELD_SINCE))
            CLOCK.run(LIMIT)
            process.send_signal(signal.SIGCONT)
            wait_for(lambda: other.get(HELD_SINCE))
            process.terminate()
            CLOCK.wait(process)
        finally:
            process.kill()
        assert process.stdout
        assert "for too long; a longer --lease, up to 1s, waits for it.\n" in process.stdout.read()


def test_the_next_coordinator_takes_over_at_once(tmp_path: pathlib.Path) -> None:
    """After one that was killed, with what it had held."""
    *_, other, coordinator = start_pair(tmp_path)
    with coordinator:
        coordinator.process.kill()
        coordinator.process.wait()
        done = run_coordinator(tmp_path, "fixed-priority", URGENT, OTHER, "--experimental", "--json", "--for", "300ms")
    assert done.returncode == 0 and json.loads(done.stdout)["tasks"][1]["holds"] >= 1
    assert not other.get(HELD_SINCE) and not other.stands_still()


def test_a_second_coordinator_is_refused_by_name(tmp_path: pathlib.Path) -> None:
    """It says which process has the programs; the first one goes on. Seen failing without the lock."""
    *_, other, coordinator = start_pair(tmp_path)
    with coordinator:
        done = run_coordinator(tmp_path, "share", OTHER, "--experimental")
        assert (done.returncode, done.stdout) == (4, "")
        assert done.stderr == (f"gpulens: the programs of {tmp_path}/run have a coordinator already: process "
                               f"{coordinator.process.pid} ({tmp_path}/run/schedule-coordinator)\n")
        assert coordinator.process.poll() is None and other.get(HELD_SINCE)


def test_a_program_is_killed_while_held(tmp_path: pathlib.Path) -> None:
    """Its page goes, the coordinator does not, and a program of the same name that starts then is held as it was."""
    *_, other, coordinator = start_pair(tmp_path)
    with coordinator:
        other.process.kill()
        other.process.wait()
        page = tmp_path / f"run/agent-{other.process.pid}"
        wait_for(lambda: not page.exists())
        again = start_task(tmp_path, "other")
        wait_for(lambda: again.get(HELD_SINCE))
        coordinator.stop()
    assert not again.stands_still()


def test_the_urgent_program_ends(tmp_path: pathlib.Path) -> None:
    """The one that it kept off the GPU runs at once, and is not held any more."""
    urgent, other, coordinator = start_pair(tmp_path)
    with coordinator:
        urgent.process.kill()
        start = CLOCK.now()
        wait_for(lambda: not other.get(HELD_SINCE))
        assert CLOCK.now() - start < LIMIT
        requests = other.get(REQUEST)
        CLOCK.run(0.3)
        assert other.get(REQUEST) == requests
        coordinator.stop()


def test_a_program_ends_while_held(tmp_path: pathlib.Path) -> None:
    """It frees its channels at its end; these are released before, so that the end does not wait for the GPU."""
    *_, other, coordinator = start_pair(tmp_path)
    with coordinator:
        other.process.send_signal(signal.SIGHUP)  # frees a channel of its own
        other.process.send_signal(signal.SIGTERM)
        start = CLOCK.now()
        CLOCK.wait(other.process)
        assert CLOCK.now() - start < 1 and coordinator.process.poll() is None
        coordinator.stop()


@pytest.mark.parametrize("held", [True, False])
def test_a_program_is_stopped(tmp_path: pathlib.Path, held: bool) -> None:
    """With its agent. The coordinator does not wait for it, and lets the others run; when it goes on, it is scheduled
    as before. Seen failing with a stopped urgent program that counts as busy."""
    urgent, other, coordinator = start_pair(tmp_path)
    with coordinator:
        stopped, free = (other, urgent) if held else (urgent, other)
        stopped.process.send_signal(signal.SIGSTOP)
        wait_for(lambda: not free.get(HELD_SINCE))
        CLOCK.run(0.5)
        assert not free.get(HELD_SINCE) and not free.stands_still()
        stopped.process.send_signal(signal.SIGCONT)
        wait_for(lambda: other.get(HELD_SINCE) and other.get(ANSWERED) == other.get(REQUEST))
        wait_for(lambda: other.stands_still(0.05) and not urgent.get(HELD_SINCE))
        summary = coordinator.stop()
    assert summary["lost_leases"] == 0


def test_a_new_channel_does_not_end_the_hold(tmp_path: pathlib.Path) -> None:
    """The driver schedules the TSG anew; the agent repeats the hold."""
    *_, other, coordinator = start_pair(tmp_path)
    with coordinator:
        other.process.send_signal(signal.SIGUSR1)
        wait_for(lambda: other.get(REASSERTED))
        wait_for(lambda: other.stands_still(0.05))  # but for a quantum each 0.9 s


def test_a_hold_that_the_driver_refuses_leaves_all_running(tmp_path: pathlib.Path) -> None:
    """It is counted, and tried again after a quantum. The driver refuses the release, too, which the command says at
    its end."""
    loads = [start_task(tmp_path, "urgent"), start_task(tmp_path, "other", verbs="disable=refused")]
    with Coordinator(tmp_path, "fixed-priority", URGENT, OTHER) as coordinator:
        wait_for(lambda: loads[1].get(REQUEST) >= 4)
        assert not loads[1].stands_still()
        summary = coordinator.stop(status=4)
    other = summary["tasks"][1]
    assert other["refused"] >= 2 and other["holds"] == 0
    assert coordinator.stderr.endswith(f"could not be released yet: the driver refused it (0x40) to process "
                                       f"{loads[1].process.pid}\n")


def test_pages_of_ended_processes_and_other_files_are_no_programs(tmp_path: pathlib.Path) -> None:
    """They name no program, and are not taken for one; the coordinator removes those of processes that are gone."""
    load = start_task(tmp_path, "urgent")
    page = (tmp_path / f"run/agent-{load.process.pid}").read_bytes()
    gone, foreign, short = (tmp_path / f"run/agent-{number}" for number in (4194303, os.getpid(), 1))
    gone.write_bytes(page)
    foreign.write_bytes(page)  # of another process than its name says
    short.write_bytes(b"GPLAGE05")
    done = run_coordinator(tmp_path, "fixed-priority", URGENT, "--dry-run")
    assert f"task urgent: process {load.process.pid};" in done.stdout and gone.exists()
    assert run_coordinator(tmp_path, "fixed-priority", URGENT, "--experimental", "--for", "10ms").returncode == 0
    assert not gone.exists() and foreign.exists() and short.exists()


def test_random_deaths(tmp_path: pathlib.Path) -> None:
    """The coordinator of three programs, of which one announces jobs, is killed, stopped or ended at random times, and
    now and then a program is killed: nothing stays held. GPULENS_DEATHS: how often. Seen failing with a lease of a
    second."""
    chance = random.Random(25)
    names = ("a", "b", "c")
    loads = {"a": start_task(tmp_path, "a", "jobs", "5", "20"), "b": start_task(tmp_path, "b"),
             "c": start_task(tmp_path, "c")}
    policies: "list[tuple[Any, ...]]" = [
        ("fixed-priority", {"name": "a", "priority": 0}, {"name": "b", "priority": 1}, {"name": "c"}),
        ("edf", {"name": "a", "deadline_ms": 20}, {"name": "b", "budget_ms": 5, "period_ms": 20, "server": "hard"},
         {"name": "c"}),
        ("share", {"name": "a"}, {"name": "b", "weight": 3}, {"name": "c"})]
    for _ in range(int(os.environ.get("GPULENS_DEATHS", "12"))):
        with Coordinator(tmp_path, *chance.choice(policies), "--lease", "50ms") as coordinator:
            wait_for(lambda: any(loads[name].get(HELD_SINCE) for name in names))
            CLOCK.run(chance.uniform(0, 0.15))
            if chance.random() < 0.3:
                name = chance.choice(names[1:])
                loads[name].process.kill()
                loads[name].process.wait()
                loads[name] = start_task(tmp_path, name)
            coordinator.process.send_signal(chance.choice([signal.SIGKILL, signal.SIGSTOP, signal.SIGTERM]))
            start = CLOCK.now()
            wait_for(lambda: not any(loads[name].get(HELD_SINCE) for name in names))
            assert CLOCK.now() - start < LIMIT
            assert not any(loads[name].stands_still() for name in names)
