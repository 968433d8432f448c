# SPDX-License-Identifier: GPL-2.0
"""Launches that wait, in place of holds that the driver does not carry out: gpulens schedule --gates and gpulens run
--schedule task=NAME,gate, with a faked driver and a fake libcuda."""

import pathlib
import signal
from typing import Iterator

import pytest

from support.fakeclock import CLOCK, run_by_clock
from support.scheduled import (BIN, EXPIRED, GATE, GATE_WAITS, HELD_SINCE, RELEASE, REQUEST, STATUS, Coordinator, Load,
                               end_loads, make_environment, run_coordinator, start_task, wait_for)

CUDA = {"LD_LIBRARY_PATH": str(BIN / "fake-cuda")}
GATED = {**CUDA, "GPULENS_SCHEDULE_GATE": "1"}
URGENT, OTHER = {"name": "urgent", "priority": 0}, {"name": "other"}


@pytest.fixture(autouse=True, name="loads")
def fixture_loads() -> Iterator[None]:
    """Ends the programs of a test."""
    yield
    end_loads()


def launches_in(load: Load, seconds: float) -> int:
    """How many launches return meanwhile."""
    before = load.word(6)
    CLOCK.run(seconds)
    return load.word(6) - before


def test_launches_wait_while_the_gate_is_closed(tmp_path: pathlib.Path) -> None:
    """Not the channels, which the faked GPU would not run: its progress goes on until the launch that waits. Seen
    failing without wait_at_gate()."""
    load = start_task(tmp_path, "a", "launches", "5", **GATED)
    wait_for(lambda: load.word(6) > 3)
    load.ask(GATE, 0.9)
    CLOCK.run(0.02)
    assert load.get(STATUS) == 0 and load.get(HELD_SINCE) and launches_in(load, 0.2) == 0 and load.get(GATE_WAITS) == 1
    load.ask(RELEASE, 0)
    assert not load.get(HELD_SINCE) and launches_in(load, 0.2) > 3 and load.get(EXPIRED) == 0


@pytest.mark.parametrize("lease, least, most", [(0.1, 0.1, 0.11), (60, 0.9, 0.91)])
def test_a_closed_gate_ends_by_itself(tmp_path: pathlib.Path, lease: float, least: float, most: float) -> None:
    """With the lease, and after 0.9 s."""
    load = start_task(tmp_path, "a", "launches", "5", **GATED)
    wait_for(lambda: load.word(6) > 3)
    load.ask(GATE, lease)
    start, before = CLOCK.now(), load.word(6)
    wait_for(lambda: load.word(6) > before + 1)
    assert least < CLOCK.now() - start < most


def test_a_process_without_a_gate_is_not_gated(tmp_path: pathlib.Path) -> None:
    """The agent refuses (NV_ERR_NOT_SUPPORTED), and a coordinator names the process. The same where the driver has no
    callback, which the program says. Seen failing with an agent that does not look whether there is a gate."""
    for name, more in (("a", CUDA), ("b", {**GATED, "FAKE_CUDA_NO_TABLE": "1"})):
        load = start_task(tmp_path, name, "launches", "5", **more)
        load.ask(GATE, 0.9)
        assert load.get(STATUS) == 0x56 and not load.get(HELD_SINCE) and launches_in(load, 0.1) > 1
        requests = load.get(REQUEST)
        done = run_coordinator(tmp_path, "share", {"name": name}, "--gates")
        assert done.returncode == 2 and load.get(REQUEST) == requests
        assert done.stderr.endswith(f'task "{name}": process {load.process.pid} has no gate for its launches; start it '
                                    f"with gpulens run --schedule task={name},gate -- PROGRAM\n")


def test_a_policy_by_gates(tmp_path: pathlib.Path) -> None:
    """Without a probe and without --experimental. The urgent program launches, the other one does so for a quantum each
    0.9 s; after the coordinator's death, both do."""
    loads = [start_task(tmp_path, name, "launches", "5", **GATED) for name in ("urgent", "other")]
    with Coordinator(tmp_path, "fixed-priority", URGENT, OTHER, "--gates", experimental=False) as coordinator:
        wait_for(lambda: loads[1].get(HELD_SINCE))
        CLOCK.run(0.03)
        assert launches_in(loads[1], 0.3) <= 8
        assert launches_in(loads[0], 0.3) > 8
        wait_for(lambda: loads[1].get(HELD_SINCE))
        coordinator.process.send_signal(signal.SIGKILL)
        start = CLOCK.now()
        wait_for(lambda: not loads[1].get(HELD_SINCE))
        assert CLOCK.now() - start < 0.06
    assert all(launches_in(load, 0.2) > 3 for load in loads)


def test_run_preloads_the_gate(tmp_path: pathlib.Path) -> None:
    """Library and variable; not together with a limit, whose callback is the only one. Seen failing without the
    library."""
    env = {**make_environment(tmp_path), **CUDA, "GPULENS_RUNTIME_DIR": str(tmp_path / "run")}
    done = run_by_clock([BIN / "gpulens", "run", "--schedule", "task=camera,gate", "--", "env"], env)
    lines = done.stdout.splitlines()
    assert done.returncode == 0 and "GPULENS_SCHEDULE_GATE=1" in lines and "GPULENS_SCHEDULE_TASK=camera" in lines
    assert any(line.startswith("LD_PRELOAD=") and "/libgpulens-gate.so:" in line for line in lines)
    done = run_by_clock([BIN / "gpulens", "run", "--schedule", "task=camera,gate", "--tpcs", "0", "--", "env"], env)
    assert (done.returncode, done.stdout) == (2, "") and "a limit and --schedule gate do not go together" in done.stderr
