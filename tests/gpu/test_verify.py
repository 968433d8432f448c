# SPDX-License-Identifier: GPL-2.0
"""gpulens verify, sweep and neighbour on a real GPU, with the programs that scripts/test-gpu has built. The numbers are
printed and belong into docs/results; asserted is what must hold on any GPU. Takes about two minutes."""

import json
import os
import pathlib
import shlex
import subprocess
from typing import Any

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOOL = shlex.split(os.environ.get("GPULENS_TOOL", str(ROOT / "build/bin/gpulens")))
PROBE = os.environ.get("GPULENS_LIBS", str(ROOT / "build/bin")) + "/gpulens-probe-kernels"
OUTPUT = ROOT / "build/gpu"


def run_gpulens(*words: str, statuses: tuple[int, ...] = (0,)) -> str:
    """What it prints; skips where masks are refused on this GPU and driver."""
    done = subprocess.run([*TOOL, *words], capture_output=True, text=True, check=False, timeout=300)
    refused = ("launch descriptors have version", "callback", "MPS")
    if done.returncode == 4 and any(why in done.stderr for why in refused):
        pytest.skip(done.stderr.strip())
    assert done.returncode in statuses, done.stderr + done.stdout
    return done.stdout


# 20 products of 4096 x 4096, as the head of tools/probe/probe_kernels.cc describes its input.
WORK = r"gpulens-probe 1\nstream 0\nkernel matrix 0 4096 20 1056 1024 0 0\nend\n"


def verify_half(*words: str, statuses: tuple[int, ...] = (0,)) -> Any:
    """The report on that program in a half, which is printed."""
    told = json.loads(run_gpulens("--json", "verify", "--half", "a", "--probe", PROBE, "--repeat", "2", *words, "--",
                                  "sh", "-c", f"printf '{WORK}' | {PROBE} run 0", statuses=statuses))
    print("\n" + told["verdict"] + ": " + told["sentence"])
    for entry in told["evidence"]:
        print(f"{entry['name']}: {entry['finding']}: {entry['text']}")
    for entry in told["slowdowns"]:
        print(entry["neighbour"], entry["factor"], entry["times_us"], entry["unknown"])
    return told


def test_a_program_in_a_half_is_verified() -> None:
    """A program with a fixed amount of work: the masks and both probes hold, launches are counted, all neighbours are
    measured. The verdict is printed: violated by the neighbours, as processes take turns."""
    told = verify_half("-o", str(OUTPUT / "verify.svg"), statuses=(0, 1))
    assert {entry["name"]: entry["finding"] for entry in told["evidence"]} == {
        "mask": "held", "acknowledgement": "held", "probe": "held", "others": "held"}
    assert told["probe"]["used"] == 2 * len(told["tpcs"]) and told["probe"]["outside"] == []
    assert all(entry["factor"] for entry in told["slowdowns"][1:])


def test_under_mps_a_program_in_a_half_is_not_slowed() -> None:
    """Neighbours run at the same time there: products take as long beside others as alone, and much longer beside
    others on the same TPCs."""
    told = verify_half("--mps", "--neighbours", "compute,memory", "--max-slowdown", "1.5")
    assert {entry["name"]: entry["finding"] for entry in told["evidence"]} == {
        "mask": "held", "acknowledgement": "held", "probe": "held", "others": "held", "overlap": "held"}
    assert told["slowdowns"][1]["factor"] < 1.1


def test_more_tpcs_are_faster_and_fit_takes_the_times() -> None:
    """A matrix product on 16 TPCs takes less than half of the time on 4; fit reads the CSV."""
    file = OUTPUT / "sweep.csv"
    run_gpulens("sweep", "--scenario", "matrix-copy", "--probe", PROBE, "--sizes", "1,4,16", "--repeat", "2", "-o",
                str(file))
    print("\n" + file.read_text(encoding="ascii") + run_gpulens("fit", str(file)))
    rows = [line.split(",") for line in file.read_text(encoding="ascii").splitlines()[1:]]
    longest = {size: max(float(row[2]) for row in rows if row[:2] == ["matrix", size]) for size in ("4", "16")}
    assert 2 * longest["16"] < longest["4"]


@pytest.mark.parametrize("kind", ("compute", "memory", "copies"))
def test_a_neighbour_works_until_it_is_told_to_end(kind: str) -> None:
    """It launches something, for about as long as it was told."""
    told = json.loads(run_gpulens("--json", "load", kind, "--half", "b", "--for", "3s", "--probe", PROBE))
    print("\n" + kind, told["launches"], "launches in", told["seconds"], "s")
    assert told["launches"] > 3 and told["seconds"] < 10
