# SPDX-License-Identifier: GPL-2.0
"""gpulens run --gpcs on a real GPU: unmodified programs stay on their TPCs. If this GPU or driver is refused, the
reason is printed and the test is skipped."""

import json
import os
import pathlib
import shlex
import subprocess
import sys
from typing import Any

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOOL = shlex.split(os.environ.get("GPULENS_TOOL", str(ROOT / "build/bin/gpulens")))
KERNELS = str(ROOT / "build/gpu/kernels")
# A product of matrices, timed by the GPU: milliseconds.
TORCH = """
import torch
a = torch.rand(8192, 8192, device="cuda")
for _ in range(3): a @ a
begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
begin.record()
for _ in range(10): a @ a
end.record()
end.synchronize()
print(begin.elapsed_time(end) / 10)
"""


def run_confined(*words: str) -> str:
    """The output of a confined program."""
    done = subprocess.run([*TOOL, "run", *words], capture_output=True, text=True, check=False, timeout=300)
    if done.returncode == 4:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stderr
    return done.stdout


def gpus_by_driver(command: str) -> list[Any]:
    """The JSON of a command for each GPU of the driver, in PCI order."""
    done = subprocess.run([*TOOL, "--source", "rm", "--json", command], capture_output=True, text=True, check=True,
                          timeout=60)
    gpus: list[Any] = json.loads(done.stdout)["gpus"]
    return gpus


def sms_of_gpcs() -> dict[int, list[int]]:
    """%smid by the number of the GPC on the die."""
    gpcs = gpus_by_driver("gpcs")[0]["gpcs"]
    return {gpc["gpc"]: [sm["sm"] for sm in gpcs["sms"] if sm["logical_gpc"] == gpc["logical"]]
            for gpc in gpcs["gpcs"]}


@pytest.mark.parametrize("gpcs", ((0,), (3, 5)))
def test_a_program_stays_on_its_gpcs(gpcs: tuple[int, ...]) -> None:
    """Launches in the default stream, in another stream, and of a graph: on all SMs of the GPCs and no other."""
    expected = sorted(sum((sms_of_gpcs()[gpc] for gpc in gpcs), []))
    seen = [json.loads(line) for line in
            run_confined("--gpcs", ",".join(map(str, gpcs)), "--", KERNELS, "where").splitlines()]
    print(f"\nGPCs {gpcs}: {expected}")
    assert seen == [{"how": how, "sms": expected} for how in ("kernel", "stream", "graph", "graph")]


def test_a_cluster_without_room_is_refused() -> None:
    """Clusters of 2, 4 and 8 blocks run on four TPCs of one virtual GPC. On three, and on TPCs of different GPCs, the
    program ends at the first launch that would wait for ever."""
    sms = gpus_by_driver("gpcs")[0]["gpcs"]["sms"]
    by_gpc: dict[int, list[int]] = {}
    for row in sms[::2]:
        by_gpc.setdefault(row["logical_gpc"], []).append(row["sm"] // 2)
    gpc = max(by_gpc.values(), key=len)
    apart = [tpcs[0] for tpcs in by_gpc.values()][:4]
    for tpcs, refused in ((gpc[:4], 0), (gpc[:3], 8), (apart, 4)):
        words = [*TOOL, "run", "--tpcs", ",".join(map(str, sorted(tpcs))), "--", KERNELS, "clusters"]
        done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)
        print(tpcs, done.stderr)
        if refused:
            assert done.returncode == 4 and f"has clusters of {refused} blocks" in done.stderr
        else:
            assert done.returncode == 0, done.stderr
            used = {number // 2 for cluster in json.loads(done.stdout) for number in cluster}
            assert used <= set(tpcs)


def test_pytorch_is_slower_on_a_part() -> None:
    """A library that does not know gpulens: the product of two matrices takes longer on a half, and longest on one GPC;
    both halves take the same time within 10 %."""
    if subprocess.run([sys.executable, "-c", "import torch"], check=False, capture_output=True).returncode:
        pytest.skip("no PyTorch here")
    words = ("--", sys.executable, "-c", TORCH)
    times = {how: float(run_confined(*shlex.split(how), *words))
             for how in ("", "--half a", "--half b", "--gpcs 1")}
    print("\n" + ", ".join(f"{how or 'whole'}: {ms:.3f} ms" for how, ms in times.items()))
    assert 1.6 < times["--half a"] / times[""] < 2.4
    assert 0.9 < times["--half b"] / times["--half a"] < 1.1
    assert 5 < times["--gpcs 1"] / times[""] < 12


def test_another_gpu_is_not_used() -> None:
    """Masks were verified on GPU 0; the program asks for CUDA's device 1."""
    if len(gpus_by_driver("chip")) < 2:
        pytest.skip("there is one GPU")
    words = [*TOOL, "-g", "0", "run", "--gpcs", "0", "--", "env", "CUDA_DEVICE_ORDER=PCI_BUS_ID"]
    done = subprocess.run([*words, "CUDA_VISIBLE_DEVICES=1", KERNELS, "where"], capture_output=True, text=True,
                          check=False, timeout=120)
    print("\n" + done.stderr)
    assert done.returncode == 1 and not done.stdout
    assert "gpulens-partition: a launch is on GPU-" in done.stderr and "it would run unpartitioned" in done.stderr
    done = subprocess.run([*words, "CUDA_VISIBLE_DEVICES=0", KERNELS, "where"], capture_output=True, text=True,
                          check=False, timeout=120)
    assert done.returncode == 0 and len(done.stdout.splitlines()) == 4
