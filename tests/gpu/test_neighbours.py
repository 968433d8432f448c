# SPDX-License-Identifier: GPL-2.0
"""Halves of a GPU beside neighbours that want arithmetic, memory or L2 cache."""

import json
import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
LIBRARY = pathlib.Path(os.environ.get("GPULENS_LIBS", str(ROOT / "build/bin"))) / "libgpulens-partition.so.0"


@pytest.mark.parametrize("way", ("masks", "green"))
def test_a_half_has_its_own_sms_and_shares_the_memory(way: str) -> None:
    """A product of matrices in a half does not feel one in the other half; a kernel that is in L2 cache waits an order
    of magnitude less for one that fills all SMs. What memory costs both is printed, and is no promise."""
    if subprocess.run([sys.executable, "-c", "import torch"], check=False, capture_output=True).returncode:
        pytest.skip("no PyTorch here")
    done = subprocess.run([sys.executable, str(ROOT / "tests/gpu/neighbours.py"), str(LIBRARY), way], text=True,
                          capture_output=True, check=False, timeout=300)
    if done.returncode == 4:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    print(f"\n{way}, ms             beside            whole    half")
    for one in told:
        print(f"{one['job']:17} {one['beside']:17}",
              *(f"{one[which]:7.3f}" if one[which] else "  ended" for which in ("whole", "half")))
    half = {(one["job"], one["beside"]): one["half"] for one in told}
    whole = {(one["job"], one["beside"]): one["whole"] for one in told}
    assert half["product", "product"] < 1.05 * half["product", "nothing"]
    assert whole["product", "product"] > 1.5 * whole["product", "nothing"]
    assert 5 * half["20 sums of 8 MiB", "sum of 1 GiB"] < whole["20 sums of 8 MiB", "sum of 1 GiB"]
