# SPDX-License-Identifier: GPL-2.0
"""gpulens run --plan FILE --task NAME: the TPCs of a task from a plan, on the tests' libcuda and resource manager of an
H200. Expected SMs are those of the recorded H200, as in test_plan.py."""

import json
import os
import pathlib
import subprocess
from typing import Any

import pytest
from support.fakemps import await_quit, make_own_daemon
from support.fakerm import RECORDING, ask_rm
from support.program import ROOT, TOOL, build_program, gpulens as ask_tool, image_without_tpc_table

EXAMPLE = ROOT / "docs/plan-example.json"
# camera and detector: GPC 0 whole, and what the reserved TPC 0 leaves of GPC 1
SMS = "12 13 16 17 28 29 32 33 44 45 48 49 60 61 74 75 88 89 102 103 116 117 120 121 124 125 126 127 128 129 130 131"


@pytest.fixture(scope="module", name="program")
def built(tmp_path_factory: pytest.TempPathFactory) -> str:
    """tests/partition/cuda_program.c."""
    return build_program("cuda_program", tmp_path_factory.mktemp("cuda"))


@pytest.fixture(scope="module", name="plan")
def planned() -> "dict[str, Any]":
    """The example on the recorded H200, through the driver."""
    return json.loads(ask_rm("plan", str(EXAMPLE), "--json", "--exact", "--memory", "separate",
                             "--spare", "keep", "--test", "edf").stdout)


def gpulens(*words: str, **more: str) -> "subprocess.CompletedProcess[str]":
    """The tool, with the tests' libcuda.so.1 and driver."""
    env = {**{key: value for key, value in os.environ.items() if key != "CUDA_VISIBLE_DEVICES"},
           "LD_PRELOAD": str(ROOT / "build/bin/fake_rm.so"), "LD_LIBRARY_PATH": str(ROOT / "build/bin/fake-cuda"),
           "GPULENS_FAKE_RM": RECORDING, **more}
    return subprocess.run([str(TOOL), *words], capture_output=True, text=True, check=False, timeout=600, env=env)


def written(folder: pathlib.Path, plan: Any) -> str:
    """A file of this plan."""
    file = folder / "plan.json"
    file.write_text(json.dumps(plan), encoding="utf-8")
    return str(file)


def refusal(folder: pathlib.Path, plan: Any, task: str = "camera") -> str:
    """The message, without the file's name; the program is not started."""
    file = written(folder, plan)
    done = gpulens("run", "--plan", file, "--task", task, "--", "echo", "begun")
    assert (done.stdout, done.returncode) == ("", 2), done.stderr
    assert done.stderr.startswith(f"gpulens: {file}: ") and done.stderr.count("\n") == 1
    return done.stderr[len(f"gpulens: {file}: "):-1]


def changed(plan: "dict[str, Any]", **more: Any) -> "dict[str, Any]":
    """A copy with other values."""
    return {**json.loads(json.dumps(plan)), **more}


def test_a_task_runs_on_the_tpcs_of_its_plan(tmp_path: pathlib.Path, program: str, plan: "dict[str, Any]") -> None:
    """On the SMs of its partition, and so does the other task of this partition. Seen failing with TPCs of the first
    partition for every task."""
    file = written(tmp_path, plan)
    for task in ("camera", "detector"):
        done = gpulens("run", "--quiet", "--plan", file, "--task", task, "--", program)
        assert done.stdout.splitlines()[0] == f"ran on {SMS}", done.stderr
        assert done.returncode == 7
    other = gpulens("run", f"--plan={file}", "--task=lidar", "--", program).stdout.splitlines()[0].split()[2:]
    assert len(other) == 10 and not set(other) & set(SMS.split())


def test_an_unknown_task_is_answered_with_the_names(tmp_path: pathlib.Path, plan: "dict[str, Any]") -> None:
    """In the order of the plan."""
    names = ", ".join(task["name"] for task in plan["tasks"])
    assert sorted(names.split(", ")) == ["camera", "detector", "lidar", "planner"]
    assert refusal(tmp_path, plan, "kamera") == f'there is no task "kamera"; there are {names}'


def test_another_numbering_is_refused(tmp_path: pathlib.Path, plan: "dict[str, Any]") -> None:
    """A plan of the module's numbers (an image of the same H200), of sizes only, of an older version, of an unknown
    numbering. Seen failing with the module's numbers taken for the driver's."""
    by_gpc = json.loads(ask_tool("-i", str(image_without_tpc_table("gh100")), "plan", str(EXAMPLE), "--json").stdout)
    assert refusal(tmp_path, by_gpc) == (
        "its TPCs are numbered GPC by GPC, and masks number them in the order of %smid, which NVIDIA's driver reports; "
        "plan again with --source rm")
    sizes = json.loads(ask_tool("plan", str(EXAMPLE), "--tpcs", "66", "--json").stdout)
    assert refusal(tmp_path, sizes) == ("it is for a number of TPCs and for no GPU, so its tasks have no TPCs; plan "
                                        "with --source rm instead of --tpcs")
    old = {key: value for key, value in plan.items() if key != "numbering"}
    assert refusal(tmp_path, old) == ("it does not say how its TPCs are numbered, as plans of older versions do not; "
                                      "plan again")
    assert refusal(tmp_path, changed(plan, numbering="sm")) == 'numbering is "sm", not gpc or smid'


def test_a_plan_of_another_gpu_is_refused(tmp_path: pathlib.Path, plan: "dict[str, Any]") -> None:
    """By its address, and by the GPCs in which TPCs are. Seen failing without the checks."""
    assert refusal(tmp_path, changed(plan, device="0000:02:00.0")) == (
        "it is a plan for GPU 0000:02:00.0, and the program would run on 0000:01:00.0; choose the GPU with -g, or plan "
        "for this one")
    other = changed(plan)
    for partition in other["partitions"]:
        partition["place"]["gpcs"] = [7]
    assert refusal(tmp_path, other).endswith(
        "are in GPCs 0-1 of 0000:01:00.0, and in GPCs 7 by the plan; plan again for this GPU")


def test_what_is_no_plan_is_refused(tmp_path: pathlib.Path, plan: "dict[str, Any]") -> None:
    """A file of tasks, a plan that does not fit, and values of a wrong kind; each is named."""
    tasks = json.loads(EXAMPLE.read_text(encoding="utf-8"))
    no_plan = "it is not a plan; gpulens plan TASKS --json prints one"
    assert refusal(tmp_path, tasks) == no_plan
    assert refusal(tmp_path, changed(plan, command="plan --evaluate")) == no_plan
    assert refusal(tmp_path, changed(plan, fits=False)) == "the tasks do not fit, so they have no TPCs"
    assert refusal(tmp_path, changed(plan, version=2)) == "version is 2, not a whole number from 1 to 1"
    assert refusal(tmp_path, changed(plan, partitions={})) == "partitions is {}, not a list"
    assert refusal(tmp_path, changed(plan, tasks=[])) == 'there is no task "camera"; there are '
    assert refusal(tmp_path, changed(plan, partitions=[])) == 'task "camera": there is no partition 0'
    assert refusal(tmp_path, changed(plan, tasks=plan["tasks"] * 2)) == 'task "camera": another task has the same name'
    for key, value, why in (("tpcs", [], "it has no TPC"), ("tpcs", [1], "its mask is not that of its tpcs"),
                            ("tpcs", [-1], "tpcs has -1, not a number from 0 to 1023"),
                            ("mask", "all", "its mask is not that of its tpcs")):
        other = changed(plan)
        for partition in other["partitions"]:
            partition["place"][key] = value
        assert refusal(tmp_path, other) == f"partition 0: place: {why}"
    (tmp_path / "plan.json").write_text("{")
    done = gpulens("run", "--plan", str(tmp_path / "plan.json"), "--task", "camera", "--", "echo", "begun")
    assert (done.stdout, done.returncode) == ("", 2) and "plan.json: not JSON: " in done.stderr
    done = gpulens("run", "--plan", str(tmp_path / "none.json"), "--task", "camera", "--", "echo", "begun")
    assert (done.stdout, done.returncode) == ("", 3) and "none.json" in done.stderr


EMPTY = "an empty limit would let the program run on the whole GPU"


@pytest.mark.parametrize("words,why", (
    (["--plan", "", "--task", "camera"], f"--plan: {EMPTY}"),
    (["--plan=", "--task=camera"], "--plan: it looks like an option"),
    (["--plan", "PLAN", "--task", ""], f"--task: {EMPTY}"), (["--plan", "PLAN", "--task="], "there is no task \"--\""),
    (["--plan", "PLAN"], "--plan requires --task"), (["--task", "camera"], "--task requires --plan"),
    (["--plan", "-", "--task", "camera"], "--plan: standard input is the program's"),
    (["--plan", "--task=camera"], "--plan: it looks like an option"),
    (["--plan", "PLAN", "--task", "camera", "--tpcs", "0"], "excludes"),
    (["--plan", "PLAN", "--task", "camera", "--gpcs", "0"], "excludes"),
    (["--plan", "PLAN", "--task", "camera", "--half", "a"], "excludes")), ids=str)
def test_half_of_a_limit_is_refused(tmp_path: pathlib.Path, plan: "dict[str, Any]", words: "list[str]",
                                    why: str) -> None:
    """Empty values (behind "=" CLI11 takes the next word in place of an empty one), one option without the other, two
    limits: wrong usage, and the program is not started. Seen failing without the checks of empty values."""
    file = written(tmp_path, plan)
    done = gpulens("run", *(file if word == "PLAN" else word for word in words), "--", "echo", "begun")
    assert (done.stdout, done.returncode) == ("", 2) and why in done.stderr, done.stderr


def test_a_plan_on_mps_wants_mps(tmp_path: pathlib.Path) -> None:
    """Without it the programs would take turns: nothing is started. Under a daemon the program has the TPCs of the
    plan. Seen failing where the place was not read."""
    plan = json.loads(ask_rm("plan", str(EXAMPLE), "--json", "--on", "mps").stdout)
    file = written(tmp_path, plan)
    done = gpulens("run", "--plan", file, "--task", "camera", "--", "echo", "begun")
    assert (done.returncode, done.stdout) == (4, "") and done.stderr == (
        f"gpulens: {file}: it is a plan for programs that run at the same time, under MPS: add --mps\n")
    done = gpulens("run", "--mps", "--plan", file, "--task", "camera", "--", "sh", "-c", "echo $GPULENS_PARTITION",
                   **make_own_daemon(tmp_path))
    assert done.returncode == 0, done.stderr
    placed = next(p["place"] for p in plan["partitions"] if "camera" in p["tasks"])
    assert json.loads(done.stdout)[0]["tpcs"] == placed["tpcs"]
    await_quit(tmp_path)
