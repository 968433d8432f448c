# SPDX-License-Identifier: GPL-2.0
"""Which calls of CUDA hold up others on a real GPU: probes of the driver, and a program with CUDA's runtime under
gpulens run --pitfalls. What is printed belongs into docs/results/."""

import json
import os
import pathlib
import shlex
import subprocess
from typing import Any

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOOL = shlex.split(os.environ.get("GPULENS_TOOL", str(ROOT / "build/bin/gpulens")))
LAB = [*TOOL[:-1], TOOL[-1] + "-lab"]


def test_each_call_has_a_verdict() -> None:
    """The rules that CUDA documents are seen: cuCtxSynchronize holds up its caller, work in the legacy default stream
    holds up kernels of other streams. The others are this driver's own."""
    done = subprocess.run([*LAB, "experiment", "pitfalls", "--json"], text=True, capture_output=True, check=False,
                          timeout=180)
    assert done.returncode in (0, 1, 5), done.stderr
    (result,) = json.loads(done.stdout)["results"]
    calls = {call["call"]: call for call in result["calls"]}
    print(f"\n{result['gpu']}: {result['verdict']}")
    for name, call in calls.items():
        print(f"{name:30} took {call['call_ms']:8.3f} ms (alone {call['alone_ms']:.3f}), a launch beside it "
              f"{call['launch_ms']:7.3f} ms, its kernel began at {call['kernel_at_ms']:8.3f} ms: {call['holds_up']}"
              + (f"; in the thesis {call['thesis']}" if call["thesis"] else ""))
    assert len(calls) == 8 and calls["none"]["holds_up"] == "nobody"
    assert calls["cuCtxSynchronize"]["caller"] == "held"
    assert calls["cuLaunchKernel, legacy stream"]["kernels"] == "held"


def test_a_program_s_calls_are_recorded(tmp_path: pathlib.Path) -> None:
    """cudaFree and a launch in the default stream, from where the program made them; the program itself runs as without
    it."""
    file = tmp_path / "calls.json"
    program = str(ROOT / "build/gpu/calls")
    done = subprocess.run([*TOOL, "run", "--pitfalls", "--pitfalls-json", str(file), "--", program], text=True,
                          capture_output=True, check=False, timeout=120)
    print("\n" + done.stderr)
    assert (done.returncode, done.stdout) == (0, "done\n")
    (process,) = json.loads(file.read_text("utf-8"))["processes"]
    rows: list[dict[str, Any]] = process["rows"]
    free = [row for row in rows if row["function"] == "cuMemFree_v2"]
    assert not free or free[0]["site"]["function"] == "release_memory"  # it may take less than 20 us
    (legacy,) = [row for row in rows if row["synchronizing"]]
    assert legacy["site"]["function"] == "launch_by_default"
    assert process["most_blocking_streams"] == 2 and process["threads"] >= 2
