# SPDX-License-Identifier: GPL-2.0
"""A plan from gpulens plan to its jobs and gpulens plan status, with the tests' libcuda and resource manager of an
H200. Expected SMs are those of test_run_plan.py."""

import json
import os
import pathlib
import subprocess
import textwrap
import typing

import jsonschema
import pytest
from support.fakerm import RECORDING, ask_rm
from support.program import ROOT, build_program, gpulens
from support.turns import SECONDS, run_turns, write_plan

SCHEMA = json.loads((ROOT / "docs/plan-schema.json").read_text(encoding="utf-8"))
# camera and detector: GPC 0 whole, and what the reserved TPC 0 leaves of GPC 1
SMS = "12 13 16 17 28 29 32 33 44 45 48 49 60 61 74 75 88 89 102 103 116 117 120 121 124 125 126 127 128 129 130 131"


@pytest.fixture(scope="module", name="turns")
def build_turns(tmp_path_factory: pytest.TempPathFactory) -> str:
    """tests/partition/turns_program.c."""
    return build_program("turns_program", tmp_path_factory.mktemp("turns"), partition=True)


@pytest.fixture(scope="module", name="plan")
def planned() -> "dict[str, typing.Any]":
    """The example on the recorded H200, through the driver."""
    return json.loads(ask_rm("plan", str(ROOT / "docs/plan-example.json"), "--json", "--exact", "--memory", "separate",
                             "--spare", "keep").stdout)


def build_example(folder: pathlib.Path, way: str) -> str:
    """Compiles the program of docs/partition.md, with another way to keep to a partition."""
    text = (ROOT / "docs/partition.md").read_text(encoding="utf-8").split("## Taking turns")[1]
    lines = text[text.index("    #include"):].splitlines()
    code = lines[:lines.index("    }") + 1]
    source = folder / "example.c"
    source.write_text(textwrap.dedent("\n".join(code)).replace("GPULENS_GREEN", way) + "\n", encoding="ascii")
    library = ROOT / "build/bin"
    subprocess.run(["gcc", "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-o", str(folder / "example"), str(source),
                    str(ROOT / "tests/partition/launch_frame.c"), f"-I{ROOT}/tools/partition", f"-L{library}",
                    "-lgpulens-partition", f"-Wl,-rpath,{library}"], check=True)
    return str(folder / "example")


def run_example(program: str, folder: pathlib.Path, plan: typing.Any) -> "subprocess.CompletedProcess[str]":
    """Runs it by this plan."""
    (folder / "plan.json").write_text(json.dumps(plan), encoding="utf-8")
    env = {**os.environ, "LD_PRELOAD": str(ROOT / "build/bin/fake_rm.so"), "GPULENS_FAKE_RM": RECORDING,
           "LD_LIBRARY_PATH": str(ROOT / "build/bin/fake-cuda"), "GPULENS_RUNTIME_DIR": str(folder / "run")}
    return subprocess.run([program, str(folder / "plan.json")], capture_output=True, text=True, check=False,
                          timeout=600, env=env)


def show_status(folder: pathlib.Path, plan: str, *words: str) -> "subprocess.CompletedProcess[str]":
    """gpulens plan status."""
    return gpulens("plan", "status", plan, *words, env={"GPULENS_RUNTIME_DIR": str(folder / "run")})


@pytest.mark.parametrize("way", ("GPULENS_GREEN", "GPULENS_MASKS"))
def test_the_documented_example_runs_on_its_partition(tmp_path: pathlib.Path, plan: "dict[str, typing.Any]",
                                                      way: str) -> None:
    """By a green context and by masks: three jobs on the SMs of the task's partition, counted for it alone. Seen
    failing with a mask of all TPCs."""
    done = run_example(build_example(tmp_path, way), tmp_path, plan)
    assert (done.stdout.splitlines(), done.stderr, done.returncode) == ([f"ran on {SMS}"] * 3, "", 0)
    told = json.loads(show_status(tmp_path, str(tmp_path / "plan.json"), "--json").stdout)
    jsonschema.validate(told, SCHEMA, cls=jsonschema.Draft202012Validator)
    assert {task["name"]: task["jobs"] for task in told["tasks"]} == {"camera": 3, "lidar": 0, "planner": 0,
                                                                      "detector": 0}


def test_a_plan_of_another_gpu_is_not_carried_out(tmp_path: pathlib.Path, plan: "dict[str, typing.Any]") -> None:
    """By its address, by the GPCs of its TPCs, and of no GPU at all. Seen failing without check_device()."""
    program = build_example(tmp_path, "GPULENS_GREEN")

    def refusal(changed: typing.Any) -> str:
        done = run_example(program, tmp_path, changed)
        assert (done.stdout, done.returncode) == ("", 1)
        return done.stderr.strip()
    assert refusal({**plan, "device": "0000:02:00.0"}) == (
        "example: it is a plan for GPU 0000:02:00.0, and the thread's CUDA context is on 0000:01:00.0")
    other = json.loads(json.dumps(plan))
    for partition in other["partitions"]:
        partition["place"]["gpcs"] = [7]
    assert refusal(other).endswith("of 0000:01:00.0, and in GPCs 7 by the plan; plan again for this GPU")
    assert "it is for a number of TPCs and for no GPU" in refusal({**plan, "numbering": None})
    other["partitions"][1] = other["partitions"][0]
    assert refusal(other).endswith("is in two partitions")


def test_the_status_tells_what_runs_and_waits(turns: str, tmp_path: pathlib.Path) -> None:
    """Before, while a job of a killed process is on the partition and afterwards. Seen failing with the counts of the
    first task for all."""
    plan = write_plan(tmp_path, "np-edf", (("one", 50000, 10 * SECONDS),), (("two", 20, 10 * SECONDS),))
    done = show_status(tmp_path, plan)
    assert (done.stdout, done.returncode) == ("", 3)
    assert done.stderr == (f"gpulens: {plan}: no counts of this plan for this user: there is no "
                           f"{tmp_path}/run/plan-any; programs are counted by their calls of gpulens_job_begin(), "
                           "without them gpulens run --plan only limits their TPCs\n")
    run_turns(turns, tmp_path, "counts", plan, "one")
    lines = show_status(tmp_path, plan).stdout.splitlines()
    assert lines[0].split("  ")[0] == "Partition" and lines[0].endswith("Now")
    assert [line.split()[:7] + line.split()[9:] for line in lines[1:]] == [
        ["0", "one", "3", "0", "1", "1", "0", "50000.000", "-"], ["1", "two", "0", "0", "0", "0", "0", "20.000", "-"]]
    with subprocess.Popen([turns, "stay", plan, "two"], stdout=subprocess.PIPE, text=True,
                          env={**os.environ, "GPULENS_RUNTIME_DIR": str(tmp_path / "run")}) as process:
        assert process.stdout and process.stdout.readline() == "runs\n"
        assert show_status(tmp_path, plan).stdout.splitlines()[2].endswith(f"  runs in process {process.pid}")
        told = json.loads(show_status(tmp_path, plan, "--json").stdout)
        assert [(task["running"], task["waiting"]) for task in told["tasks"]] == [([], []), ([process.pid], [])]
        process.kill()
    run_turns(turns, tmp_path, "counts", plan, "two")
    told = json.loads(show_status(tmp_path, plan, "--json").stdout)
    jsonschema.validate(told, SCHEMA, cls=jsonschema.Draft202012Validator)
    assert [(task["jobs"], task["deaths"], task["running"]) for task in told["tasks"]] == [(3, 0, []), (3, 1, [])]


def test_the_status_stands_alone(turns: str, tmp_path: pathlib.Path) -> None:
    """Other options of plan have no effect on it and are refused; so is a file that is no plan. Seen failing without
    the exclusions."""
    plan = write_plan(tmp_path, "np-edf", (("one", 50000, 10 * SECONDS),))
    run_turns(turns, tmp_path, "counts", plan, "one")
    for words in (["--tpcs", "4"], ["--exact"], ["tasks.json"], ["--test", "dm"], ["--quiet"]):
        done = show_status(tmp_path, plan, *words)
        assert (done.stdout, done.returncode) == ("", 2), words
        assert "PLAN" in done.stderr or "unexpected" in done.stderr, done.stderr
    done = show_status(tmp_path, str(ROOT / "docs/plan-example.json"))
    assert done.returncode == 2 and done.stderr.endswith("it is not a plan; gpulens plan TASKS --json prints one\n")
