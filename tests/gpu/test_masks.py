# SPDX-License-Identifier: GPL-2.0
"""Masks of TPCs on a real GPU, through libgpulens-partition: every block runs where its mask permits. If this GPU or
driver is refused, the reason is printed and the test is skipped."""

import json
import os
import pathlib
import shlex
import subprocess
from typing import Any

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOOL = shlex.split(os.environ.get("GPULENS_TOOL", str(ROOT / "build/bin/gpulens")))


def run_masks(*words: str) -> list[Any]:
    """The lines of JSON that masks.cu prints."""
    done = subprocess.run([str(ROOT / "build/gpu/masks"), *words], capture_output=True, text=True, check=False,
                          timeout=120, env={**os.environ, "GPULENS_SOURCE": "driver"})
    if done.returncode == 1 and "would run unpartitioned" in done.stderr:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_kernels_are_confined_to_each_gpc_in_turn() -> None:
    """On all SMs of the GPC by the driver's table, and on no other."""
    done = subprocess.run([*TOOL, "--source", "rm", "-g", "0", "--json", "gpcs"], capture_output=True, text=True,
                          check=True, timeout=60)
    gpcs = json.loads(done.stdout)["gpus"][0]["gpcs"]
    expected = [[sm["sm"] for sm in gpcs["sms"] if sm["logical_gpc"] == gpc["logical"]] for gpc in gpcs["gpcs"]]
    seen = run_masks("gpcs")
    for launch in seen:
        print(f"\n{len(launch['tpcs'])} TPCs {launch['tpcs']}: SMs {launch['sms']}", end="")
    assert [launch["sms"] for launch in seen] == expected


def test_a_next_mask_overrides_the_global_mask() -> None:
    """TPCs 0 to 32, then TPC 65 for one launch, then the first again."""
    half = list(range(66))
    assert [launch["sms"] for launch in run_masks("global")] == [half, [130, 131], half]


def test_a_streams_mask_applies_to_its_launches() -> None:
    """TPC 65 in the stream, TPCs 0 to 32 in another, TPC 65 again."""
    half = list(range(66))
    assert [launch["sms"] for launch in run_masks("streams")] == [[130, 131], half, [130, 131]]


def test_a_cooperative_launch_needs_an_sm_per_block() -> None:
    """16 blocks on 16 SMs meet. 17 blocks of 1,024 threads would, too, as an SM has room for two; launches that are not
    known to fit are refused. Without the refusal, 33 blocks wait for ever, as a program without it showed."""
    assert run_masks("coop", "16") == [{"blocks": 16}]
    for blocks in ("17", "33"):
        done = subprocess.run([str(ROOT / "build/gpu/masks"), "coop", blocks], capture_output=True, text=True,
                              check=False, timeout=60, env={**os.environ, "GPULENS_SOURCE": "driver"})
        assert (done.returncode, done.stdout) == (4, "")
        assert f"a cooperative launch of {blocks} blocks has a mask of 16 SMs: launch at most 16 blocks" in done.stderr
