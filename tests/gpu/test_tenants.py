# SPDX-License-Identifier: GPL-2.0
"""What partitions do to times on a real GPU (tenants.cu): Table III and Fig. 13 of RTAS'23 with a kernel of this
project's, and what a launch costs. What is refused on this GPU and driver is printed and skipped."""

import json
import os
import pathlib
import subprocess
from typing import Any

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
WAYS = {"masks": "0", "green contexts": "1"}


def tenants(*words: str) -> list[Any]:
    """Its lines."""
    done = subprocess.run([str(ROOT / "build/gpu/tenants"), *words], capture_output=True, text=True, check=False,
                          timeout=300, env={**os.environ, "GPULENS_SOURCE": "driver"})
    if done.returncode == 3:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.parametrize("way", WAYS)
def test_a_malfunction_stays_in_its_half(way: str) -> None:
    """RTAS'23, Table III: beside a competitor that launches without end a task takes several times as long; in disjoint
    halves as long as alone in its half, to a tenth."""
    seen = tenants("cases", WAYS[way])
    print(f"\n{way}")
    for one in seen:
        print(f"{one['case']:35} mean {one['mean']:.3f} ms, {one['min']:.3f} to {one['max']:.3f}, "
              f"deviation {one['deviation']:.3f}")
    alone, another, malfunction, halves, half = [one["mean"] for one in seen]
    assert 1.5 < another / alone < 2.5 and malfunction / alone > 4
    assert halves / half < 1.1 and 1.6 < half / alone < 2.4


@pytest.mark.parametrize("way", WAYS)
def test_more_tpcs_never_slow_a_partition(way: str) -> None:
    """RTAS'23, Fig. 13: each TPC more makes it faster, or not slower by more than a hundredth, wherever the TPC is;
    packed and distributed take as long, to two hundredths."""
    times: dict[str, list[float]] = {"packed": [], "distributed": []}
    for one in tenants("sizes", WAYS[way]):
        assert one["tpcs"] == len(times[one["how"]]) + 1
        times[one["how"]].append(one["median"])
    print(f"\n{way}: TPCs, packed, distributed (ms)")
    for number, both in enumerate(zip(times["packed"], times["distributed"])):
        print(number + 1, *both)
        assert 0.98 < both[0] / both[1] < 1.02
    for some in times.values():
        assert all(after < before * 1.01 for before, after in zip(some, some[1:]))


def test_a_masked_launch_costs_little_more() -> None:
    """Nanoseconds of the thread that launches; setting a mask for each launch is the dearest."""
    cost = {one["launch"]: one["ns"] for one in tenants("launches")}
    print()
    for name, nanoseconds in cost.items():
        print(f"{name:32} {nanoseconds:6.0f} ns")
    plain = cost["as CUDA has it"]
    assert cost["in a stream with a mask"] < 1.3 * plain and cost["with the global mask"] < 1.3 * plain
    assert cost["with a next mask each"] < 2 * plain
