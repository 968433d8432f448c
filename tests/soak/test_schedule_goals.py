# SPDX-License-Identifier: GPL-2.0
"""The experiments of tests/gpu/ that judge a goal of gpulens schedule, with a faked driver: that each prints a verdict,
and which one. What the numbers are is for a GPU to say."""

import json
import os
import pathlib
import subprocess
import typing

import pytest

from support.fakeclock import CLOCK, run_by_clock
from support.program import ROOT
from support.scheduled import BIN, end_loads, make_environment, start_task
from support.stamps import Job, explain_misses, read_jobs


@pytest.fixture(autouse=True, name="loads")
def fixture_loads() -> typing.Iterator[None]:
    """Ends the programs of a test."""
    yield
    end_loads()


def run_experiment(root: pathlib.Path, name: str, verbs: str = "", shown: str = "",
                   meanwhile: "typing.Callable[[], None]" = CLOCK.settle, **more: str) -> "list[dict[str, typing.Any]]":
    """What an experiment prints: its lines with a verdict or what was left out, or with the key `shown`."""
    env = {**make_environment(root, verbs), "PYTHONPATH": str(ROOT / "tests"), "TMPDIR": str(root),
           "GPULENS_TOOL": str(BIN / "gpulens"), "GPULENS_GOALS_SHORT": "1", **more}
    done = run_by_clock(["python3", ROOT / "tests/gpu/schedule.py", BIN / "fake-load", BIN / "libgpulens-run.so", name],
                        env, 120, meanwhile)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 0 and not [line for line in lines if "failed" in line], done.stdout + done.stderr
    return [line for line in lines if {"verdict", "left_out", shown} & set(line)]


def test_misses_are_judged(tmp_path: pathlib.Path) -> None:
    """Without effective holds, a saturating program with the same time slice takes a third of the GPU, and jobs of 85 %
    miss their deadlines."""
    lines = run_experiment(tmp_path, "misses", "disable=inert")
    cuda = [line for line in lines if line["case"] == "CUDA's time slices"]
    assert [line["jobs_ms_of_ms"] for line in cuda] == [[[3, 10], [11, 20]], [[4, 10], [9, 20]], [[8, 20], [18, 40]]]
    assert len(lines) == 7 and all(line["u"] == 0.85 for line in lines)
    for line in lines:
        assert line["slices_us"] == ([2048, 2048, 2048] if line in cuda else [500000, 2048, 250])
        assert "tasks" in line["summary"], line["summary"]
        assert {task["name"] for task in line["summary"]["tasks"]} == {"a", "b", "c"}
    for line in cuda:
        assert line["verdict"] == "not reached" and line["misses"] > 10


def test_misses_with_holds(tmp_path: pathlib.Path) -> None:
    """The verdict is by the jobs' own times, and by how many there were: a program that skips periods misses less. The
    loads look once in a millisecond, so that a job may end that much after its deadline. Seen failing with a job of
    each ten that is noticed late."""
    for line in run_experiment(tmp_path, "misses"):
        assert line["verdict"] == ("not reached" if line["misses"] else
                                   "reached" if line["u_of_jobs"] >= 0.83 else "not settled")
        if "busy-poll" in line["case"]:
            assert ("--busy-poll with 3 programs" in line["summary"]["message"]) == (len(os.sched_getaffinity(0)) < 7)
        assert sum(times["n"] for times in line["us"]) >= 75 and line["misses"] <= 2


def test_where_the_time_of_a_job_went() -> None:
    """The GPU's clock is 1000 us behind. The first job waits for the GPU for 195 us, the second one's end is noticed
    60 us late, and the launch of a job beside that takes 600 us."""
    jobs = read_jobs([[5000, 5010, 4205, 4290, 5300], [6000, 6010, 5010, 5070, 6130]])
    assert jobs == [Job(5000, 10, 205, 290, 300), Job(6000, 10, 10, 70, 130)]
    assert jobs[0].delays() == {"launch": 10, "wait": 195, "gpu": 85, "notice": 10}
    beside = [Job(6050, 600, 610, 700, 710), Job(9000, 600, 610, 700, 710)]
    assert explain_misses([jobs, beside], (299, 1000)) == [
        {"task": 0, "late": 1, "on_gpu": False, "launch": 10, "wait": 195, "gpu": 85, "notice": 10, "beside": []}]
    assert explain_misses([jobs, beside], (100, 1000))[1] == {
        "task": 0, "late": 30, "on_gpu": False, "launch": 10, "wait": 0, "gpu": 60, "notice": 60,
        "beside": [{"launch": 600, "notice": 10}]}
    assert explain_misses([jobs, beside], (69, 1000))[1]["on_gpu"] is True


def test_misses_of_the_host_are_told_apart(tmp_path: pathlib.Path) -> None:
    """Each tenth job's end is noticed 12 ms late, which is more than the slack of all jobs of the first set. Jobs after
    those may miss, too, so that only some of them are shown."""
    for line in run_experiment(tmp_path, "misses", GPULENS_FAKE_LOAD_LATE="12000")[:2]:
        late = [miss for miss in line["missed"] if miss["notice"] > 11000]
        assert len(late) >= 3 and not all(miss["on_gpu"] for miss in late), line["missed"]
        assert 0 <= line["misses_on_gpu"] < line["misses"] >= 10


def test_what_the_host_delays(tmp_path: pathlib.Path) -> None:
    """A program that is stopped for 30 ms has a job that is longer; the sleeps beside it are counted, too."""
    lines = run_experiment(tmp_path, "host", shown="jobs_ms_of_ms", meanwhile=lambda: stop_for_a_while(tmp_path))
    assert [line["jobs_ms_of_ms"] for line in lines] == [[3, 10], [4, 10], [9, 20], [11, 20]]
    assert [line["length_ms"] for line in lines] == [3, 4, 9, 11]
    assert all(line["jobs"]["n"] in range(40, 102) and line["sleeps_of_1_ms"]["n"] > 900 for line in lines)
    worst = max(lines, key=lambda line: line["jobs"]["max_us"])["jobs"]
    assert 20000 < worst["max_us"] and worst["over_3_ms"] >= 1


def stop_for_a_while(root: pathlib.Path) -> None:
    """Stops this test's program 10 times for 30 ms, as a host that gives it no processor: the second one, some 2 ms
    after a job of 4 ms began, as there is one when the program goes on, and each 10 ms after that."""
    CLOCK.run(1.4)
    for _ in range(10):
        for name, seconds in (("-STOP", 0.03), ("-CONT", 0.032)):
            subprocess.run(["pkill", name, "-f", f"^{root}/.*fake-load"], check=False)
            CLOCK.run(seconds)


def test_shares_are_judged(tmp_path: pathlib.Path) -> None:
    """Three times as much of what each has alone, which is measured with the other one held: without effective holds,
    both have what they had."""
    for verbs, verdicts in (("", ("reached", None)), ("disable=inert", ("not reached", "not reached"))):
        lines = run_experiment(tmp_path, "shares", verbs)
        assert [line["case"] for line in lines] == ["time slices of 6 ms and 2 ms", "policy share, weights 3 and 1"]
        for line, verdict in zip(lines, verdicts):
            assert line["verdict"] == ("reached" if 2.91 <= line["shares"] <= 3.09 else "not reached")
            assert abs(line["shares"] - line["parts"][0] / line["parts"][1]) < 0.01
            assert not verdict or line["verdict"] == verdict, line


def test_a_lone_program_is_judged(tmp_path: pathlib.Path) -> None:
    """A program that is not alone loses by a short time slice."""
    lines = run_experiment(tmp_path, "alone")
    assert [line["case"] for line in lines] == [
        "nothing is changed", "time slice of 250 us", "time slice of 6000 us", "time slice of 500000 us",
        "the only task of policy fixed-priority", "the only task of policy share", "libgpulens-run.so with its agent"]
    assert all(0.9 < line["median"] < 1.1 for line in lines[:-1])
    assert lines[-1] == {"experiment": "alone", "goal": lines[0]["goal"], "case": "libgpulens-run.so with its agent",
                         "kernels": lines[-1]["kernels"], "ioctls": 0, "context_switches": 0, "verdict": "reached"}
    assert lines[-1]["kernels"] > 2
    start_task(tmp_path, "x")
    lines = run_experiment(tmp_path, "alone")
    assert lines[1]["verdict"] == "not reached" and lines[1]["interval"][1] < 0.3
    assert lines[2]["verdict"] == lines[3]["verdict"] == "reached"
