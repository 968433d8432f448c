# SPDX-License-Identifier: GPL-2.0
"""Halves of a GPU beside neighbours that use arithmetic, memory or L2 cache."""

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
    """A product of matrices in a half is not slowed by one in the other half. A kernel that works in L2 cache waits an
    order of magnitude less for one that fills all SMs. The cost of shared memory is printed; nothing is asserted about
    it."""
    if subprocess.run([sys.executable, "-c", "import torch"], check=False, capture_output=True).returncode:
        pytest.skip("no PyTorch here")
    done = subprocess.run([sys.executable, str(ROOT / "tests/gpu/neighbours.py"), str(LIBRARY), way], text=True,
                          capture_output=True, check=False, timeout=300)
    if done.returncode == 4:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)
    print(f"\n{way}, ms             beside            whole    half")
    for row in rows:
        print(f"{row['job']:17} {row['beside']:17}",
              *(f"{row[which]:7.3f}" if row[which] else "  ended" for which in ("whole", "half")))
    half = {(row["job"], row["beside"]): row["half"] for row in rows}
    whole = {(row["job"], row["beside"]): row["whole"] for row in rows}
    assert half["product", "product"] < 1.05 * half["product", "nothing"]
    assert whole["product", "product"] > 1.5 * whole["product", "nothing"]
    assert 5 * half["20 sums of 8 MiB", "sum of 1 GiB"] < whole["20 sums of 8 MiB", "sum of 1 GiB"]
