# SPDX-License-Identifier: GPL-2.0
"""gpulens schedule --source rm: a policy over several programs through a faked driver. How a coordinator's, a
program's and an agent's death or stop is survived: test_schedule_crashes.py."""

import json
import os
import pathlib
import re
import statistics
import subprocess
from typing import Any, Iterator

import jsonschema
import pytest

from support.fakeclock import CLOCK, run_by_clock
from support.program import ROOT
from support.scheduled import (BIN, DEVICES, HELD_SINCE, JOB_BEGAN, JOBS_BEGUN, JOBS_ENDED, REQUEST, SLICE_US,
                               Coordinator, Load, coordinator_words, end_loads, make_environment, run_coordinator,
                               start_task, wait_for, write_results)

SCHEMA = json.loads((ROOT / "docs/schedule-schema.json").read_text(encoding="utf-8"))


@pytest.fixture(autouse=True, name="loads")
def fixture_loads() -> Iterator[None]:
    """Ends the programs of a test."""
    yield
    end_loads()


@pytest.mark.skipif(os.geteuid() != 0, reason="NVIDIA's driver shows contexts of all users to root only")
def test_time_is_charged_by_context_switches(tmp_path: pathlib.Path) -> None:
    """A task with a priority is chosen all the time, and one of short time slices gets in for 0.907 of each 4 ms by the
    driver's records. By decisions it has nothing."""
    loads = [start_task(tmp_path, name, GPULENS_SCHEDULE_SLICE=us) for name, us in (("a", "500000"), ("b", "250"))]
    for load in loads:
        (tmp_path / str(load.process.pid)).write_text(str(load.process.pid), "ascii")
    turns = ",".join(f"{tmp_path}/{load.process.pid}:{us}" for load, us in zip(loads, (3000, 1000)))
    env = {**make_environment(tmp_path), "GPULENS_RUNTIME_DIR": str(tmp_path / "run"), "GPULENS_FAKE_RM_TURNS": turns}
    words = coordinator_words(tmp_path, "fixed-priority", ({"name": "a", "priority": 0}, {"name": "b"},
                                                           "--experimental", "--for", "2s"))

    def run(switches: str) -> "tuple[str, dict[str, Any]]":
        """Both outputs, by what the driver does with its records."""
        more = {**env, "GPULENS_FAKE_RM_SWITCHES": switches}
        summary = json.loads(run_by_clock([*words, "--json"], more).stdout)
        jsonschema.validate(summary, {**SCHEMA, "$ref": "#/$defs/summary"}, cls=jsonschema.Draft202012Validator)
        return run_by_clock(words, more).stdout, summary

    text, summary = run("all")
    first, other = summary["tasks"]
    assert summary["charged_by"] == "context switches" and "Time is charged by context switches.\n" in text
    assert first["overran_ns"] == other["holds"] == 0 and other["overran_ns"] == other["ran_ns"]
    assert abs(other["ran_ns"] / (first["ran_ns"] + other["ran_ns"]) - 0.907 / 4) < 0.005
    assert re.search(r"^b: 4\d\d\.\d+ ms of it while another task was chosen$", text, re.M)
    text, summary = run("admin")
    assert "Time is charged by decisions: NV2080_CTRL_CMD_GR_FECS_BIND_EVTBUF_FOR_UID_V2: " in text
    assert summary["tasks"][1]["ran_ns"] == 0


def measure_rates(loads: "list[Load]", seconds: float) -> "list[float]":
    """The share of the GPU that each program gets meanwhile."""
    before, start = [load.word(0) for load in loads], CLOCK.now()
    CLOCK.run(seconds)
    return [(load.word(0) - rounds) / 1e6 / (CLOCK.now() - start) for load, rounds in zip(loads, before)]


def test_run_names_the_task(tmp_path: pathlib.Path) -> None:
    """The program's environment; the folder is made, for its owner alone."""
    env = {**make_environment(tmp_path), "GPULENS_RUNTIME_DIR": str(tmp_path / "run")}
    done = run_by_clock([BIN / "gpulens", "run", "--experimental", "--schedule", "task=camera,best-effort", "--",
                         "env"], env)
    assert {line for line in done.stdout.splitlines() if line.startswith("GPULENS_SCHEDULE")} == {
        "GPULENS_SCHEDULE_TASK=camera", f"GPULENS_SCHEDULE_FOLDER={tmp_path}/run", "GPULENS_SCHEDULE_SLICE=250"}
    assert (tmp_path / "run").stat().st_mode & 0o777 == 0o700


def test_programs_of_run_are_found(tmp_path: pathlib.Path) -> None:
    """From the command line on: the agent in a program that gpulens run has started is the task's."""
    (tmp_path / "progress").write_bytes(bytes(4096))
    env = {**make_environment(tmp_path), "GPULENS_RUNTIME_DIR": str(tmp_path / "run")}
    with subprocess.Popen([BIN / "gpulens", "run", "-o", "/dev/null", "--schedule", "task=camera", "--",
                           BIN / "fake-load", "victim", tmp_path / "progress", "20"], env=env) as process:
        try:
            wait_for(lambda: any((tmp_path / "run").glob("agent-*")))
            pid = next((tmp_path / "run").glob("agent-*")).name.split("-")[1]
            done = run_coordinator(tmp_path, "share", {"name": "camera"}, "--dry-run")
        finally:
            process.terminate()
            CLOCK.wait(process)
    assert done.returncode == 0 and f"task camera: process {pid}; best effort, weight 1;" in done.stdout


A, SERVER = {"name": "a"}, {"name": "a", "budget_ms": 5, "period_ms": 10}
REFUSED: "dict[str, tuple[Any, ...]]" = {
    'task "b": no program of this user runs as this task with a TSG (RUN); start it with gpulens run --schedule task=b '
    '-- PROGRAM': ("share", A, {"name": "b"}),
    'task "a": has TSGs, which only the module knows; through NVIDIA\'s driver, a task is found by its name':
        ("share", {**A, "tsg": "3"}),
    "quantum_ms is below 5, the least through NVIDIA's driver": ("share 4", A),
    'task "a": has slice_us, which only the module sets; through NVIDIA\'s driver, start the program with gpulens run '
    '--schedule task=NAME,slice=TIME': ("share", {**A, "slice_us": 100}),
    'task "a": has a budget below 1 ms, or a period below 5 ms, the least through NVIDIA\'s driver':
        ("edf", {**SERVER, "budget_ms": 0.5}),
    'task "a": budget_ms is 12, more than period_ms 10': ("edf", {**SERVER, "budget_ms": 12}),
    'task "b": overload: with it, the servers have 1.100 of the GPU, more than all of it':
        ("edf", SERVER, {**SERVER, "name": "b", "budget_ms": 6}),
    'task "' + 39 * "n" + '...: has a name of more than 63 characters, which no program can have':
        ("share", {"name": 64 * "n"}),
}


@pytest.mark.parametrize("message", REFUSED)
def test_a_wrong_policy_is_refused_by_the_item(tmp_path: pathlib.Path, message: str) -> None:
    """Status 2, and no agent was asked for anything. Seen failing without check_programs()."""
    load = start_task(tmp_path, "a")
    done = run_coordinator(tmp_path, *REFUSED[message], "--experimental")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"gpulens: {tmp_path}/policy.json: {message}\n".replace("RUN", f"{tmp_path}/run")
    assert load.get(REQUEST) == 0 and not (tmp_path / "run/schedule-coordinator").exists()


def test_tasks_of_two_gpus_are_refused(tmp_path: pathlib.Path) -> None:
    """One program has TSGs on the driver's device 0, the other one on 1. Seen failing without that check."""
    start_task(tmp_path, "a")
    start_task(tmp_path, "b").put(DEVICES, 2)
    done = run_coordinator(tmp_path, "share", A, {"name": "b"}, "--experimental")
    assert done.returncode == 2
    assert 'task "b": runs on the driver\'s device 1, the tasks before it on 0; a policy is for one GPU' in done.stderr


def test_holds_must_have_been_seen_working(tmp_path: pathlib.Path) -> None:
    """As for gpulens run --schedule budget."""
    load = start_task(tmp_path, "a")
    done = run_coordinator(tmp_path, "share", A)
    assert (done.returncode, done.stdout) == (4, "") and "run gpulens schedule --probe" in done.stderr
    file = write_results(tmp_path, hold="without effect")
    done = run_coordinator(tmp_path, "share", A, "--probed", str(file))
    assert done.returncode == 4 and "hold was measured as 'without effect'" in done.stderr
    assert load.get(REQUEST) == 0
    write_results(tmp_path, hold="works")
    assert run_coordinator(tmp_path, "share", A, "--probed", str(file), "--for", "10ms").returncode == 0


def test_a_dry_run_names_processes(tmp_path: pathlib.Path) -> None:
    """Both processes of a task, whether jobs are announced, and the time slices that the driver granted; as text and
    JSON. Nothing is asked or written."""
    loads = [start_task(tmp_path, "a"), start_task(tmp_path, "a", GPULENS_SCHEDULE_SLICE="250"),
             start_task(tmp_path, "b", "jobs", "5", "20", verbs="slice=refused")]
    wait_for(lambda: loads[2].get(JOBS_ENDED) > 0)
    words = ("edf", {**SERVER, "server": "hard"}, {"name": "b", "deadline_ms": 20}, "--dry-run")
    done = run_coordinator(tmp_path, *words)
    first, second = sorted((loads[0].process.pid, loads[1].process.pid))
    assert done.stdout.splitlines() == [
        "policy edf through NVIDIA's driver, 2 tasks",
        f"task a: process {first}, {second}; 5.000 ms of each 10.000 ms, hard server; announces no jobs so far; "
        "time slice 250.000 us, 2.048 ms",
        f"task b: process {loads[2].process.pid}; deadline 20.000 ms after arrival; announces its jobs; "
        "time slice unknown",
        "to hold a task, would have the agent of each process disable the process' own channels "
        "(FIFO_DISABLE_CHANNELS), and enable them to release it"]
    document = json.loads(run_coordinator(tmp_path, *words, "--json").stdout)
    jsonschema.validate(document, {**SCHEMA, "$ref": "#/$defs/planned_programs"})
    assert [task["jobs"] for task in document["tasks"]] == ["unknown", "announced"]
    assert [task["slices_us"] for task in document["tasks"]] == [[250, 2048], []]
    assert all(load.get(REQUEST) == 0 for load in loads)


def test_the_urgent_task_runs_alone(tmp_path: pathlib.Path) -> None:
    """It announces nothing, so that it counts as busy: the other one is held, and after 0.9 s for a quantum not. Its
    summary conforms to the schema."""
    loads = [start_task(tmp_path, "a"), start_task(tmp_path, "b")]
    with Coordinator(tmp_path, "fixed-priority", {"name": "b", "priority": 0}, A) as coordinator:
        wait_for(lambda: loads[0].get(HELD_SINCE))
        held, urgent = measure_rates(loads, 2)
        summary = coordinator.stop()
    assert urgent > 0.8 and 0 < held < 0.15
    jsonschema.validate(summary, {**SCHEMA, "$ref": "#/$defs/summary"})
    first, second = summary["tasks"]
    assert second["forced_releases"] >= 1 and second["holds"] >= 2 and first["holds"] == 0
    assert not loads[0].get(HELD_SINCE)


def test_short_time_slices_replace_holds(tmp_path: pathlib.Path) -> None:
    """An urgent task with a slice of 500 ms beside one with 250 us, which is not held and gets 1 part of 2001; one with
    a slice of 100 ms is held. Both tell the coordinator the slice that the driver granted."""
    loads = [start_task(tmp_path, "a", GPULENS_SCHEDULE_SLICE="500000"),
             start_task(tmp_path, "b", GPULENS_SCHEDULE_SLICE="250"),
             start_task(tmp_path, "c", GPULENS_SCHEDULE_SLICE="100000")]
    assert [load.get(SLICE_US) for load in loads] == [500000, 250, 100000]
    with Coordinator(tmp_path, "fixed-priority", {"name": "a", "priority": 0}, {"name": "b"},
                     {"name": "c"}) as coordinator:
        wait_for(lambda: loads[2].get(HELD_SINCE))
        urgent, short, _ = measure_rates(loads, 0.5)
        assert not loads[1].get(HELD_SINCE)
        summary = coordinator.stop()
    assert urgent > 0.8 and short < 0.05
    holds = [task["holds"] for task in summary["tasks"]]
    assert holds[:2] == [0, 0] and holds[2] >= 1


def test_shares_are_per_task(tmp_path: pathlib.Path) -> None:
    """Weights 3 and 1; that the second task has two processes gives it no more."""
    loads = [start_task(tmp_path, "a"), start_task(tmp_path, "b"), start_task(tmp_path, "b")]
    with Coordinator(tmp_path, "share", {"name": "a", "weight": 3}, {"name": "b"}):
        wait_for(lambda: loads[1].get(HELD_SINCE) and loads[2].get(HELD_SINCE))
        first, *second = measure_rates(loads, 3)
    assert 2 < first / sum(second) < 4.5


def test_a_hard_server_gets_its_budget_alone(tmp_path: pathlib.Path) -> None:
    """20 ms of each 100 ms, although it has always work; the best-effort program gets the rest."""
    loads = [start_task(tmp_path, "a"), start_task(tmp_path, "b")]
    with Coordinator(tmp_path, "edf", {"name": "a", "budget_ms": 20, "period_ms": 100, "server": "hard"},
                     {"name": "b"}) as coordinator:
        wait_for(lambda: loads[0].get(HELD_SINCE))
        server, rest = measure_rates(loads, 2)
        summary = coordinator.stop()
    assert 0.1 < server < 0.35 and rest > 0.55
    assert summary["tasks"][0]["budgets_used_up"] >= 10


@pytest.mark.parametrize("policy, task", [("fixed-priority", {"priority": 0}), ("edf", {"deadline_ms": 150})])
def test_announced_jobs_run_at_once(tmp_path: pathlib.Path, policy: str, task: "dict[str, int]") -> None:
    """40 ms of work each 160 ms take 80 ms beside a program that is always busy, and about 40 ms before it; that one
    has the GPU between two jobs. Seen failing with a task that counts as busy between jobs."""
    loads = [start_task(tmp_path, "a", "jobs", "40", "160"), start_task(tmp_path, "b")]
    wait_for(lambda: len(loads[0].responses()) >= 4)
    beside = statistics.median(loads[0].responses())
    with Coordinator(tmp_path, policy, {"name": "a", **task}, {"name": "b"}) as coordinator:
        wait_for(lambda: loads[1].get(HELD_SINCE))
        before = len(loads[0].responses())
        _, rest = measure_rates(loads, 2)
        after = statistics.median(loads[0].responses()[before + 1:])
        summary = coordinator.stop()
    assert beside > 65 and after < 0.8 * beside and rest > 0.5
    first, second = summary["tasks"]
    assert first["jobs"] >= 8 and first["holds"] == 0 and second["holds"] >= 8
    assert first["missed"] == 0


def test_a_deadline_has_no_meaning_without_jobs(tmp_path: pathlib.Path) -> None:
    """A task with deadline_ms that announces nothing is neither chosen nor held."""
    loads = [start_task(tmp_path, "a"), start_task(tmp_path, "b")]
    with Coordinator(tmp_path, "edf", {"name": "a", "deadline_ms": 10}, {"name": "b"}) as coordinator:
        CLOCK.run(0.5)
        summary = coordinator.stop()
    assert [task["holds"] for task in summary["tasks"]] == [0, 0]
    assert all(load.get(REQUEST) == 0 for load in loads)


def test_programs_may_come_later_and_others_are_left_alone(tmp_path: pathlib.Path) -> None:
    """A second process of the task is held, too; a task that the policy does not name is not, and is said."""
    loads = [start_task(tmp_path, "a"), start_task(tmp_path, "b"), start_task(tmp_path, "c")]
    with Coordinator(tmp_path, "fixed-priority", {"name": "b", "priority": 0}, A) as coordinator:
        wait_for(lambda: loads[0].get(HELD_SINCE))
        late = start_task(tmp_path, "a")
        wait_for(lambda: late.get(HELD_SINCE))
        assert not loads[2].get(HELD_SINCE) and not loads[2].stands_still()
        coordinator.stop()
    assert f"gpulens: task c runs and is not in {tmp_path}/policy.json: it is left alone\n" in coordinator.stderr
    assert loads[2].get(REQUEST) == 0 and loads[2].get(JOBS_BEGUN) == 0


def ask_tool(root: pathlib.Path, *words: str) -> str:
    """What another command of the same user prints."""
    env = {**make_environment(root), "GPULENS_RUNTIME_DIR": str(root / "run")}
    done = run_by_clock([BIN / "gpulens", "--source", "rm", *words], env)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_top_and_export_show_the_tasks(tmp_path: pathlib.Path) -> None:
    """Which is chosen and which is held, and what docs/export.md lists, as long as the coordinator runs; a file that is
    old or no status is not shown. Seen failing without add_schedule(), and with a file that stays."""
    start_task(tmp_path, "a")
    start_task(tmp_path, "b")
    file = tmp_path / "run/schedule-status.json"
    with Coordinator(tmp_path, "fixed-priority", {"name": "b", "priority": 7}, A) as coordinator:
        wait_for(file.exists)
        for _ in range(10):  # once a second it is not held
            screen = ask_tool(tmp_path, "top", "--batch", "1", "--delay", "100ms")
            page = ask_tool(tmp_path, "export", "--prometheus")
            kept = file.read_text()
            if all("held" in text for text in (screen, page, kept)):
                break
        coordinator.stop()
    rows = screen[screen.index("policy fixed-priority"):].splitlines()
    assert rows[0] == f"policy fixed-priority by process {coordinator.process.pid}, 0 leases lost"
    assert rows[1].split() == ["Task", "State", "Charged", "Jobs", "Missed", "Worst", "Holds", "Refused", "Used", "up",
                               "Parameters"]
    assert rows[2].startswith("b     chosen") and rows[2].endswith("priority 7")
    assert rows[3].startswith("a     held") and rows[3].endswith("best effort, weight 1")
    assert f'gpulens_schedule_info{{policy="fixed-priority",pid="{coordinator.process.pid}"}} 1\n' in page
    assert 'gpulens_schedule_task_state{task="a",state="held"} 1\n' in page
    document = (ROOT / "docs/export.md").read_text(encoding="utf-8").split("## Programs under a policy")[1]
    listed = dict(re.findall(r"^\| `(gpulens_schedule_\w+)` \| (\w+) \|", document, re.M))
    assert dict(re.findall(r"^# TYPE (gpulens_schedule_\w+) (\w+)$", page, re.M)) == listed and len(listed) == 11

    assert not file.exists()
    late = json.loads(kept)
    late["tasks"][0]["late_now_ns"] = 3_960_000_000
    file.write_text(json.dumps(late))
    screen = ask_tool(tmp_path, "top", "--batch", "1", "--delay", "100ms")
    assert "b: late now, by 3.960 s: a job that has not ended, and is not among the missed\n" in screen
    old = json.loads(kept)
    old["time_ns"] -= 6_000_000_000
    for text in (json.dumps(old), kept.replace('"jobs"', '"job"'), kept.replace("forced_", "_"), "{", "[]"):
        file.write_text(text)
        assert "gpulens_schedule" not in ask_tool(tmp_path, "export", "--prometheus")


def test_programs_with_a_budget_are_shown(tmp_path: pathlib.Path) -> None:
    """In top and export, without a coordinator; the one whose hold the driver refuses is not enforced. Seen failing
    without add_budgets()."""
    (tmp_path / "run").mkdir(mode=0o700)
    budget = {"GPULENS_SCHEDULE_BUDGET": "20000/100000", "GPULENS_SCHEDULE_FOLDER": str(tmp_path / "run")}
    good, bad = (Load(tmp_path / name, verbs, **budget) for name, verbs in (("a", ""), ("b", "disable=refused")))
    wait_for(lambda: good.get(HELD_SINCE))
    CLOCK.run(0.2)
    screen = ask_tool(tmp_path, "top", "--batch", "1", "--delay", "100ms")
    page = ask_tool(tmp_path, "export", "--prometheus")
    rows = {line.split()[0]: line for line in screen[screen.index("Process  Name"):].splitlines()}
    assert re.search(r"fake-load +(held|runs) +20\.000 ms +100\.000 ms +\d+$", rows[str(good.process.pid)])
    assert re.search(r"fake-load +not enforced +20\.000 ms +100\.000 ms +1$", rows[str(bad.process.pid)])
    assert f'gpulens_budget_seconds{{pid="{good.process.pid}",process="fake-load"}} 0.02\n' in page
    assert f'gpulens_budget_enforced{{pid="{bad.process.pid}",process="fake-load"}} 0\n' in page
    document = (ROOT / "docs/export.md").read_text(encoding="utf-8").split("## Programs with a budget")[1]
    listed = dict(re.findall(r"^\| `(gpulens_budget_\w+)` \| (\w+) \|", document, re.M))
    assert dict(re.findall(r"^# TYPE (gpulens_budget_\w+) (\w+)$", page, re.M)) == listed and len(listed) == 5
    good.process.kill()
    good.process.wait()
    assert f'pid="{good.process.pid}"' not in ask_tool(tmp_path, "export", "--prometheus")


def test_the_begin_of_a_job_wakes_the_coordinator(tmp_path: pathlib.Path) -> None:
    """With 20 ms between two looks, the other program is held within a millisecond of the begin. Seen failing without
    JobBell."""
    loads = [start_task(tmp_path, "a", "jobs", "40", "160"), start_task(tmp_path, "b")]
    late: "list[float]" = []
    with Coordinator(tmp_path, "fixed-priority", {"name": "a", "priority": 0}, {"name": "b"}, "--every", "20ms"):
        wait_for(lambda: loads[1].get(HELD_SINCE))
        while len(late) < 10:
            wait_for(lambda: not loads[1].get(HELD_SINCE))
            wait_for(lambda: loads[1].get(HELD_SINCE))
            late.append(loads[1].get(HELD_SINCE) - loads[0].get(JOB_BEGAN))
    assert all(0 <= ns <= 1_000_000 for ns in late)


def test_looks_do_not_wait_for_the_file_system(tmp_path: pathlib.Path) -> None:
    """The status is written to a pipe that nobody reads. Seen failing with a coordinator that writes it itself: it
    never looked."""
    loads = [start_task(tmp_path, "a"), start_task(tmp_path, "b")]
    os.mkfifo(tmp_path / "run/schedule-status.json")
    with Coordinator(tmp_path, "fixed-priority", {"name": "b", "priority": 0}, A) as coordinator:
        wait_for(lambda: loads[0].get(HELD_SINCE))
        CLOCK.run(0.5)
        # not open(), which the faked driver locks
        pipe = os.open(tmp_path / "run/schedule-status.json", os.O_RDONLY | os.O_NONBLOCK)
        assert coordinator.stop()["lost_leases"] == 0
        os.close(pipe)
