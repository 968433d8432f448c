# SPDX-License-Identifier: GPL-2.0
"""gpulens-probe-kernels itself, linked with tests/support/cuda/fake_runtime.cc instead of tools/device: threads,
barriers, the NULL stream, copies and memory walks, on a GPU that has room for everything."""

import json
import os
import pathlib
import re
import subprocess
import typing

import pytest
from support.fakeclock import gpulens_by_clock
from support.probe_program import fake_program
from support.program import ROOT, gpulens

Json = typing.Any


@pytest.fixture(name="program", scope="module")
def _program() -> str:
    """The program with the fake runtime."""
    return fake_program()


def run_scenario(program: str, folder: pathlib.Path, *benchmarks: Json,
                 run: "typing.Callable[..., subprocess.CompletedProcess[str]]" = gpulens,
                 **more: Json) -> typing.Dict[str, Json]:
    """The kernels of a scenario that the program ran, whose log breaks no rule."""
    (folder / "s.json").write_text(json.dumps({"name": "s", "benchmarks": benchmarks, **more}))
    result = run("probe-kernels", str(folder / "s.json"), "--program", program, "-o", str(folder / "log.json"),
                 env={"FAKE_RUNTIME_LOG": str(folder / "calls")})
    assert result.returncode == 0, result.stderr
    check = gpulens("blocks", "--check", str(folder / "log.json"))
    assert "no rule is violated" in check.stdout, check.stdout
    log = json.loads((folder / "log.json").read_text(encoding="utf-8"))
    return {k["kernel_name"]: k for benchmark in log["benchmarks"] for k in benchmark["times"] if "block_times" in k}


def make_spin(duration: float, **more: Json) -> Json:
    """A benchmark with a kernel that spins for so many milliseconds."""
    return {"filename": "timer_spin", "thread_count": 32, "block_count": 2, "additional_info": duration * 1e6, **more}


@pytest.mark.parametrize("threads", (False, True))
def test_null_stream(program: str, tmp_path: pathlib.Path, threads: bool) -> None:
    """K2 in the NULL stream waits for K1, and K3 for K2; K4, whose stream does not block, for none. With threads, each
    benchmark has its own. Seen failing with streams that do not block."""
    ran = run_scenario(program, tmp_path, make_spin(60), make_spin(60, use_null_stream=True, release_time=0.02),
                       make_spin(60, release_time=0.04), make_spin(5, release_time=0.06, blocking_stream=False),
                       use_threads=threads, run=gpulens_by_clock)
    first = {name: min(k["block_times"]) for name, k in ran.items()}
    last = {name: max(k["block_times"]) for name, k in ran.items()}
    assert first["K2"] > last["K1"] - 1e-4 and first["K3"] > last["K2"] - 1e-4
    assert first["K4"] < ran["K4"]["cuda_launch_times"][1] + 3e-4  # a step of the clock is 250 us
    calls = (tmp_path / "calls").read_text().split("\n")
    assert sorted(line for line in calls if line.startswith("stream")) == ["stream 0 0", "stream 0 0", "stream 1 0"]
    assert ("launcher 5" in calls) == threads and ("launcher 2" in calls) == threads


def test_copies(program: str, tmp_path: pathlib.Path) -> None:
    """A copy of 100 MB takes 10 ms here, before the kernel and after it; the next kernel of the stream waits for it."""
    ran = run_scenario(program, tmp_path, {"filename": "multikernel", "additional_info": [
        {"kernel_label": "A", "duration": 10000000, "block_count": 1, "thread_count": 32, "copy_in_count": 25000000,
         "copy_out_count": 25000000},
        {"kernel_label": "B", "duration": 10000000, "block_count": 1, "thread_count": 32}]}, run=gpulens_by_clock)
    copy_in, copy_out = (ran["A"][way] for way in ("copy_in", "copy_out"))
    assert copy_in["bytes"] == 100000000 and "copy_in" not in ran["B"]
    for copy in (copy_in, copy_out):
        assert 0.0099 < copy["times"][1] - copy["times"][0] < 0.0105
    assert copy_in["times"][1] - 1e-3 < min(ran["A"]["block_times"]) and copy_out["times"][1] - 1e-3 < min(
        ran["B"]["block_times"])


@pytest.mark.parametrize("threads", (False, True))
def test_barriers(program: str, tmp_path: pathlib.Path, threads: bool) -> None:
    """With sync_every_iteration a short kernel waits for the long one of the iteration before."""
    ran = run_scenario(program, tmp_path, make_spin(2, max_iterations=3), make_spin(30, max_iterations=3),
                       sync_every_iteration=True, use_threads=threads)
    assert list(ran) == [f"K{k}#{i}" for k in (1, 2) for i in (1, 2, 3)]
    for i in (2, 3):
        assert min(ran[f"K1#{i}"]["block_times"]) > max(ran[f"K2#{i - 1}"]["block_times"]) - 1e-4


@pytest.mark.parametrize("memory", ("device", "zero_copy", "managed"))
def test_walks(program: str, tmp_path: pathlib.Path, memory: str) -> None:
    """All words are one cycle, which the fake checks, in order and at random."""
    for name in ("random_walk", "inorder_walk"):
        ran = run_scenario(program, tmp_path, {
            "filename": name, "thread_count": 32, "block_count": 2, "data_size": 80000,
            "additional_info": {"reads": 50, "memory": memory}})
        assert ran["K1"]["thread_count"] == 32 and len(ran["K1"]["block_smids"]) == 2


def test_drivers_since_384_compile_the_kernels() -> None:
    """PTX 6.0 or older (CUDA 9.0, "PTX ISA", release notes), for compute capability 5.0. Seen failing with the PTX that
    clang 19 makes beside CUDA 13."""
    text = (ROOT / "build/bin/gpulens-probe-kernels").read_bytes()
    version, target = re.findall(rb"\n\.version (\d+\.\d+)\n\.target (\w+)\n", text)[0]
    assert float(version) <= 6.0 and target == b"sm_50"


def test_bad_input_is_refused(program: str) -> None:
    """Lines that the program does not know, or that lack numbers."""
    for line, text in (("null", "expected a line of a scenario"),
                       ("stream 0\ncopies 1 2", "expected a line of a scenario"),
                       ("stream 0\nkernel spin 0 1 1 1 32 0 0\ncopies 1", "copies without two numbers")):
        result = subprocess.run([program, "run", "0"], input=f"gpulens-probe 1\n{line}\nend\n", capture_output=True,
                                text=True, check=False, timeout=600, env=dict(os.environ))
        assert result.returncode == 2 and text in result.stderr
