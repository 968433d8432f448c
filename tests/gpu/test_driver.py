# SPDX-License-Identifier: GPL-2.0
"""NVIDIA's driver on a real GPU: gpulens --source rm compared with CUDA. As root, with nvcc; see scripts/test-gpu.
Changes no setting. Values of interest are printed for docs/results/."""

import contextlib
import csv
import json
import os
import pathlib
import shlex
import statistics
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest

# pylint: disable=redefined-outer-name
ROOT = pathlib.Path(__file__).resolve().parents[2]
TOOL = shlex.split(os.environ.get("GPULENS_TOOL", str(ROOT / "build/bin/gpulens")))
KERNELS = str(ROOT / "build/gpu/kernels")


def run_tool(*words: str) -> str:
    """The output of gpulens, whose exit status may report that runlists are unknown."""
    done = subprocess.run([*TOOL, "--source", "rm", "-g", "0", *words], capture_output=True, text=True, check=False,
                          timeout=120)
    assert done.returncode in (0, 1), done.stderr
    return done.stdout


def show_json(command: str) -> Any:
    """The GPU's JSON."""
    return json.loads(run_tool(command, "--json"))["gpus"][0]


def run_kernels(word: str) -> Any:
    """The JSON that kernels.cu prints."""
    return json.loads(subprocess.run([KERNELS, word], check=True, capture_output=True, text=True, timeout=120).stdout)


@contextlib.contextmanager
def start_kernels(*words: str, connections: int = 0) -> Iterator["subprocess.Popen[str]"]:
    """Starts a program that uses the GPU, and waits until it does."""
    env = {**os.environ, **({"CUDA_DEVICE_MAX_CONNECTIONS": str(connections)} if connections else {})}
    with subprocess.Popen(
            [KERNELS, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env) as started:
        assert started.stdout and started.stdout.readline() == "ready\n"
        try:
            yield started
        finally:
            started.kill()


@pytest.fixture(scope="module")
def gpcs() -> Any:
    """GPCs and SMs as the driver reports them."""
    return show_json("gpcs")["gpcs"]


def test_as_many_sms_and_copy_engines_as_cuda_counts(gpcs: Any) -> None:
    """The number of SMs; asyncEngineCount is the number of copy engines that do not share a runlist with graphics."""
    counted = run_kernels("info")
    copies = [engine for engine in show_json("copy")["copy"]["engines"] if not engine["graphics"]]
    print(f"\n{counted}; {len(gpcs['sms'])} SMs, {len(copies)} copy engines that are no GRCE")
    assert len(gpcs["sms"]) == counted["sms"] and len(copies) == counted["asyncEngineCount"]
    assert sum(gpc["tpcs"] for gpc in gpcs["gpcs"]) * 2 == counted["sms"]
    assert show_json("chip")["chip"]["product"] == counted["name"]


def test_clusters_stay_within_virtual_gpcs(gpcs: Any) -> None:
    """SMs that shared a thread-block cluster, joined into groups, are the driver's virtual GPCs."""
    group = list(range(len(gpcs["sms"])))

    def find_root(number: int) -> int:
        while group[number] != number:
            number = group[number]
        return number

    seen = run_kernels("clusters")
    for cluster in seen:
        for smid in cluster:
            group[find_root(smid)] = find_root(cluster[0])
    found: dict[int, set[int]] = {}
    for number in group:
        found.setdefault(find_root(number), set())
    for number in range(len(group)):
        found[find_root(number)].add(number)
    expected: dict[int, set[int]] = {}
    for place in gpcs["sms"]:
        expected.setdefault(place["virtual_gpc"], set()).add(place["sm"])
    print(f"\n{len(seen)} clusters over {len(set(sum(seen, [])))} SMs: {len(found)} groups, "
          f"{len(expected)} virtual GPCs of {sorted(len(one) for one in expected.values())} SMs")
    assert sorted(map(sorted, found.values())) == sorted(map(sorted, expected.values()))


@pytest.mark.parametrize("connections,channels", ((1, 4), (8, 32), (32, 128)))
def test_a_process_has_as_many_channels_as_it_requests(connections: int, channels: int) -> None:
    """Rule R2: CUDA_DEVICE_MAX_CONNECTIONS channels for compute, and as many for each of three copy engines."""
    with start_kernels("idle"):
        before = show_json("channels")["allocated_channels"]
        with start_kernels("idle", connections=connections) as started:
            now = show_json("channels")
            print(f"\n{connections} connections: {len(now['allocated_channels']) - len(before)} channels more")
            assert len(now["allocated_channels"]) - len(before) == channels
            assert started.pid in [user["pid"] for user in now["processes"] if "compute" in user["uses"]]


@pytest.mark.parametrize("count", (2, 3))
def test_busy_processes_have_even_slots(tmp_path: pathlib.Path, count: int) -> None:
    """Two and three processes: median slots of 2.0 to 2.6 ms, plus or minus a sampling step, equally often."""
    with contextlib.ExitStack() as all_of_them:
        pids = {str(all_of_them.enter_context(start_kernels("spin", "20")).pid) for _ in range(count)}
        text = run_tool("record", "--for", "8s", "--every", "250us", "-o", str(tmp_path / "a.csv"))
    print("\n" + text)
    rows = [row for row in csv.DictReader((tmp_path / "a.csv").open(encoding="ascii")) if row["state"] == "on"]
    turns: dict[tuple[str, str], list[float]] = {}
    for row in rows[1:-1]:
        turns.setdefault((row["pid"], row["process"]), []).append(
            (int(row["end_ns"]) - int(row["start_ns"])) / 1e6)
    often = {owner: some for owner, some in turns.items() if len(some) > 20}
    assert set(often) == {(pid, "kernels") for pid in pids}
    assert all(2.0 - 0.4 < statistics.median(some) < 2.6 + 0.4 for some in often.values())
    assert max(map(len, often.values())) < 1.1 * min(map(len, often.values()))


def test_each_switch_of_16_programs_is_recorded(tmp_path: pathlib.Path) -> None:
    """By the driver's records: none is lost, and each program is named, from its first second on."""
    with contextlib.ExitStack() as all_of_them:
        pids = {str(all_of_them.enter_context(start_kernels("spin", "30")).pid) for _ in range(16)}
        text = run_tool("record", "--for", "3s", "-o", str(tmp_path / "a.csv"))
    print("\n" + text)
    assert "each context switch, by the driver's records; 0 lost" in text
    rows = [row for row in csv.DictReader((tmp_path / "a.csv").open(encoding="ascii")) if row["state"] == "on"]
    begin = int(rows[0]["start_ns"])
    assert {row["pid"] for row in rows if int(row["start_ns"]) < begin + 10**9} == pids


def test_run_reports_the_tsgs_of_a_program(tmp_path: pathlib.Path) -> None:
    """A CUDA process has a TSG for compute with a time slice of 2048 us and instruction-level preemption, and one of
    1024 us for each of three copy engines, with 8 and 4 channels. record then names its TSG, and of the other
    process the context, or the channel where it samples."""
    tsgs = tmp_path / "tsgs"
    with start_kernels("spin", "30") as other:
        with subprocess.Popen([*TOOL, "run", "-o", str(tsgs), "--", KERNELS, "spin", "12"], stdout=subprocess.PIPE,
                              text=True) as program:
            assert program.stdout and program.stdout.readline() == "ready\n"
            last = {tsg["tsg"]: tsg for tsg in map(json.loads, tsgs.read_text(encoding="ascii").splitlines())}
            text = run_tool("record", "--for", "8s", "--every", "250us", "--tsgs", str(tsgs), "-o",
                            str(tmp_path / "a.csv"))
            assert program.wait() == 0
    print("\n" + "\n".join(map(str, last.values())) + "\n" + text)
    assert sorted((tsg["engine"], tsg["timeslice_us"], len(tsg["channels"])) for tsg in last.values()) == [
        (0x01, 2048, 8), (0x0B, 1024, 4), (0x0C, 1024, 4), (0x0D, 1024, 4)]
    assert {tsg["engine"]: tsg["preemption"] for tsg in last.values()} == {
        0x01: {"compute": "CILP", "graphics": "WFI"}, 0x0B: None, 0x0C: None, 0x0D: None}
    compute = next(tsg["tsg"] for tsg in last.values() if tsg["engine"] == 1)
    rows = {row[1]: row for row in map(str.split, text.splitlines()) if row[:1] == ["GR0"]}
    mine, others = rows.pop(str(compute)), rows.popitem()[1]
    assert not rows and mine[2] == f"({next(iter(last.values()))['pid']}" and mine[6:8] == ["2.048", "ms"]
    assert others[1] in ("context", "channel") and others[3] == f"({other.pid}"
