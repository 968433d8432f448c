# SPDX-License-Identifier: GPL-2.0
"""gpulens-lab experiment sharing, on the tests' driver, libcuda and daemon of MPS: the ways are measured with
tests/support/rm/fake_load.cc in place of gpulens-schedule-load, on a GPU whose turns follow time slices."""

import contextlib
import csv
import json
import os
import pathlib
import signal
import subprocess
import typing

import pytest
from support.fakeclock import CLOCK, run_by_clock
from support.fakemps import write_daemon
from support.measured import check_schema
from support.program import LAB, ROOT
from support.scheduled import BIN, make_environment, place_tool, write_results

WAYS = ["alone", "together, nothing else", "run --schedule urgent, best-effort",
        "gpulens schedule, time slices", "gpulens schedule, holds", "run --mps",
        "run --mps, CUDA_MPS_CLIENT_PRIORITY=1", "run --mps, CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=67",
        "run --mps --tpcs, 1/3 and 2/3"]
Json = typing.Any


def make_call(folder: pathlib.Path, *words: str, hold: str = "works", **env: str) -> "tuple[list[str], dict[str, str]]":
    """The words of the command and its environment."""
    tool, temporary, state = place_tool(folder, BIN / "fake-load", LAB.name), folder / "temporary", folder / "gpulens"
    if not state.exists():
        temporary.mkdir()
        state.mkdir()
        write_results(folder, first_slice="works", slice="works", hold=hold).rename(state / "schedule-probe.json")
    own = {"LD_LIBRARY_PATH": f"{BIN}/fake-cuda", "GPULENS_RUNTIME_DIR": str(folder / "run"), "FAKE_CUDA_MPS": "1",
           "CUDA_MPS_PIPE_DIRECTORY": str(folder / "none"), "TMPDIR": str(temporary), **env}
    return [*tool, "--json", "experiment", "sharing", "--run", "300ms", *words], {**make_environment(folder), **own}


def measure_sharing(folder: pathlib.Path, *words: str, status: int = 0, hold: str = "works", **env: str) -> Json:
    """The only result; with another status, the message."""
    done = run_by_clock(*make_call(folder, "-o", str(folder / "out"), *words, hold=hold, **env))
    assert done.returncode == status, done.stderr + done.stdout
    if status > 1:
        return done.stderr
    (result,) = check_schema("experiment", json.loads(done.stdout))["results"]
    return result


@pytest.fixture(name="daemon")
def fixture_daemon(tmp_path: pathlib.Path) -> "dict[str, str]":
    """In the path."""
    CLOCK.restart()
    return write_daemon(tmp_path)


def test_the_ways_are_measured(tmp_path: pathlib.Path, daemon: "dict[str, str]") -> None:
    """By hand: a request needs 4 ms of each 20. In equal turns it takes 8, and training has the 12 ms beside them and
    half of these, 0.8 of the time; with 500 ms to 250 us of a turn it takes 4. The fake's step is 1 ms, and 0.3 s have
    150 kernels of training. Seen failing with the time slices of one program for both."""
    result = measure_sharing(tmp_path, **daemon)
    assert result["verdict"] == "seen" and [row["way"] for row in result["rows"]] == WAYS
    rows = {row["way"]: row for row in result["rows"]}
    assert all(row["missing"] is None and row["requests"] == 45 and len(row["rounds"]) == 3 for row in rows.values())
    alone, together, scheduled = (rows[way] for way in WAYS[:3])
    assert (alone["p50_ms"], alone["p99_by_alone"], alone["train_share"]) == (4, 1, 1)
    assert together["p50_ms"] == 8 and 0.78 <= together["train_share"] <= 0.82
    assert 4 <= scheduled["p50_ms"] <= 5 and 0.7 <= scheduled["train_share"] <= 0.8
    assert (scheduled["serve"], scheduled["train"]) == ("gpulens run --schedule urgent",
                                                        "gpulens run --schedule best-effort")
    for way in WAYS[3:5]:
        assert rows[way]["policy"] and 4 <= rows[way]["p50_ms"] <= 5 and 0.7 <= rows[way]["train_share"] <= 0.82
    assert rows[WAYS[8]]["serve"] == "gpulens run --mps --tpcs 1/3"
    called = [line.split()[1] for line in (tmp_path / "calls").read_text().splitlines() if len(line.split()) > 2]
    assert called.count("-f") == 12  # one daemon for each pair
    assert {file.name for file in (tmp_path / "out").iterdir()} == {"sharing.json", "sharing.csv", "sharing.svg"}
    with (tmp_path / "out/sharing.csv").open(encoding="ascii") as file:
        assert len(list(csv.DictReader(file))) == 9 * 45


def test_a_way_that_is_missing_is_named(tmp_path: pathlib.Path) -> None:
    """Without a daemon of MPS, the other ways are measured, and the reason is that of gpulens run."""
    result = measure_sharing(tmp_path, PATH=f"{BIN}:/usr/bin:/bin")
    for row in result["rows"][5:]:
        assert (row["requests"], row["p99_ms"], row["rounds"]) == (0, None, [])
        assert "nvidia-cuda-mps-control: it is not installed" in row["missing"]
    assert result["verdict"] == "seen"


@pytest.mark.skipif(os.geteuid() != 0, reason="NVIDIA's driver shows contexts of all users to root only")
def test_who_had_the_gpu_is_that_of_context_switches(tmp_path: pathlib.Path) -> None:
    """Training for 2.907 of each 4 ms and serving for 0.907, by the driver's records. Alone, nobody is asked."""
    result = measure_sharing(tmp_path, PATH=f"{BIN}:/usr/bin:/bin", FAKE_PIDS=str(tmp_path),
                             GPULENS_FAKE_RM_SWITCHES="all",
                             GPULENS_FAKE_RM_TURNS=f"{tmp_path}/victim:3000,{tmp_path}/urgent:1000")
    alone, together = result["rows"][:2]
    assert alone["serve_gpu_share"] is alone["train_gpu_share"] is None
    assert abs(together["train_gpu_share"] - 2.907 / 4) < 0.02 and abs(together["serve_gpu_share"] - 0.907 / 4) < 0.02


def test_a_policy_that_is_refused_is_missing(tmp_path: pathlib.Path) -> None:
    """Where holds have no effect: the reason is that of gpulens schedule, and nothing of it is left."""
    result = measure_sharing(tmp_path, hold="no effect", PATH=f"{BIN}:/usr/bin:/bin")
    for row in result["rows"][3:5]:
        assert row["rounds"] == [] and "gpulens schedule: it ended with status 4: gpulens: " in row["missing"]
    assert result["verdict"] == "seen" and not (tmp_path / "run/schedule-status.json").exists()


def test_programs_in_pytorch(tmp_path: pathlib.Path, daemon: "dict[str, str]") -> None:
    """--job net with a torch whose graph takes 3 ms and whose step 10: the times are those of the requests, and
    training is counted by steps. Without a torch, its message is the reason."""
    (tmp_path / "torch.py").write_text((ROOT / "tests/support/fake_transformer.py").read_text())
    result = measure_sharing(tmp_path, "--job", "net", status=1, PYTHONPATH=str(tmp_path), **daemon)
    row = result["rows"][1]
    assert "in PyTorch" in result["job"] and row["requests"] > 40 and 3 <= row["p50_ms"] < 3.5
    assert 90 < row["rounds"][0]["train_per_s"] < 110
    for how, message in (("prints", "serving printed no times, but and more"), ("1e4", "python3: launched no kernel")):
        assert message in measure_sharing(tmp_path, "--job", "net", status=4, PYTHONPATH=str(tmp_path),
                                          FAKE_GRAPH=how, **daemon)
    # no graph is replayed
    result = measure_sharing(tmp_path, "--job", "eager", status=1, PYTHONPATH=str(tmp_path), FAKE_GRAPH="1e4", **daemon)
    assert "kernel by kernel" in result["job"] and result["rows"][1]["requests"] > 40
    (tmp_path / "torch.py").write_text("raise ImportError('no torch here')")
    assert "python3: it ended with status 1: ImportError: no torch here" in measure_sharing(
        tmp_path, "--job", "net", status=4, PYTHONPATH=str(tmp_path), **daemon)


def test_other_programs_are_refused(tmp_path: pathlib.Path) -> None:
    """--program says nothing about two of them."""
    assert "--program is for other experiments than sharing" in measure_sharing(
        tmp_path, "--program", "true", status=2)


def test_a_signal_leaves_nothing(tmp_path: pathlib.Path, daemon: "dict[str, str]") -> None:
    """While two programs run, and while the daemon of MPS begins: all end, and no file of theirs is there. Seen failing
    with their files in a folder, and with a daemon that did not quit."""
    words, env = make_call(tmp_path, **daemon)
    control = tmp_path / "run/mps/pipe/control"

    def interrupt(number: signal.Signals, condition: "typing.Callable[[], bool]") -> None:
        with subprocess.Popen(words, env=env, stdout=subprocess.DEVNULL) as process:
            CLOCK.run_until(condition)
            process.send_signal(number)
            CLOCK.run_until(lambda: process.poll() is not None and not find_programs(tmp_path) and not control.exists())
        assert not list((tmp_path / "temporary").iterdir())

    for number in (signal.SIGINT, signal.SIGTERM):
        interrupt(number, lambda: len(find_programs(tmp_path)) == 3)  # the tool is one
        interrupt(number, control.exists)


def find_programs(folder: pathlib.Path) -> "list[str]":
    """Programs of the folder that run."""
    found = []
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            words = (process / "cmdline").read_bytes().decode().split("\0")
            if any(word.startswith(f"{folder}/") for word in words[:2]):
                found.append(words[0])
    return found
