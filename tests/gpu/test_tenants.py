# SPDX-License-Identifier: GPL-2.0
"""The effect of partitions on times on a real GPU (tools/probe/tenants.cc): Table III and Fig. 13 of RTAS'23 with a
kernel of this project, and the cost of a launch. If this GPU or driver is refused, the reason is printed and the test
is skipped."""

import json
import os
import pathlib
import subprocess
from typing import Any

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = os.environ.get("GPULENS_LIBS", str(ROOT / "build/bin")) + "/gpulens-tenants"
WAYS = {"masks": "0", "green contexts": "1"}


def run_tenants(*words: str) -> list[Any]:
    """The JSON lines that gpulens-tenants prints."""
    done = subprocess.run([PROGRAM, *words], capture_output=True, text=True, check=False, timeout=300,
                          env={**os.environ, "GPULENS_SOURCE": "driver"})
    if done.returncode == 3:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.parametrize("way", WAYS)
def test_a_malfunction_stays_in_its_half(way: str) -> None:
    """RTAS'23, Table III: beside a competitor that launches without end, a task takes several times as long; in
    disjoint halves, as long as alone in its half, within 10 %."""
    seen = run_tenants("cases", WAYS[way])
    print(f"\n{way}")
    for case in seen:
        print(f"{case['case']:35} mean {case['mean']:.3f} ms, {case['min']:.3f} to {case['max']:.3f}, "
              f"deviation {case['deviation']:.3f}")
    alone, another, malfunction, halves, half = [case["mean"] for case in seen]
    assert 1.5 < another / alone < 2.5 and malfunction / alone > 4
    assert halves / half < 1.1 and 1.6 < half / alone < 2.4


@pytest.mark.parametrize("way", WAYS)
def test_more_tpcs_never_slow_a_partition(way: str) -> None:
    """RTAS'23, Fig. 13: each additional TPC makes it faster, or at most 1 % slower, wherever the TPC is; packed and
    distributed take the same time within 2 %."""
    times: dict[str, list[float]] = {"packed": [], "distributed": []}
    for size in run_tenants("sizes", WAYS[way]):
        assert size["tpcs"] == len(times[size["how"]]) + 1
        times[size["how"]].append(size["median"])
    print(f"\n{way}: TPCs, packed, distributed (ms)")
    for number, both in enumerate(zip(times["packed"], times["distributed"])):
        print(number + 1, *both)
        assert 0.98 < both[0] / both[1] < 1.02
    for some in times.values():
        assert all(after < before * 1.01 for before, after in zip(some, some[1:]))


def test_a_masked_launch_costs_little_more() -> None:
    """Nanoseconds of the launching thread, by the slower of two runs of CUDA's own, which differed by a quarter.
    Setting a mask for each launch is the most expensive."""
    cost = {launch["launch"]: launch["ns"] for launch in run_tenants("launches")}
    print()
    for name, nanoseconds in cost.items():
        print(f"{name:32} {nanoseconds:6.0f} ns")
    plain = max(cost["as CUDA has it"], cost["as CUDA has it, again"])
    assert cost["in a stream with a mask"] < 1.3 * plain and cost["with the global mask"] < 1.3 * plain
    assert cost["with a next mask each"] < 2 * plain


@pytest.mark.parametrize("way", WAYS)
def test_a_product_in_a_half_does_not_feel_another(way: str) -> None:
    """As neighbours.py, without PyTorch: a product in one half is not slowed by one in the other; in two streams it is.
    What memory and copies cost is printed."""
    seen = run_tenants("neighbours", WAYS[way])
    print(f"\n{way}, ms             beside            whole    half")
    for line in seen:
        print(f"{line['job']:20} {line['beside']:20}", line["whole_ms"], line["half_ms"])
    time = {(line["job"], line["beside"]): line for line in seen}
    alone, both = time["product", "nothing"], time["product", "product"]
    assert both["half_ms"] < 1.05 * alone["half_ms"] and both["whole_ms"] > 1.5 * alone["whole_ms"]
