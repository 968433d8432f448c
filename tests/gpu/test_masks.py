# SPDX-License-Identifier: GPL-2.0
"""Masks of TPCs on a real GPU, through libgpulens-partition: every block runs where its mask permits, also under MPS,
by what gpulens partitions --methods keeps. If this GPU or driver is refused, the reason is printed and the test is
skipped."""

import json
import os
import pathlib
import shlex
import subprocess
from typing import Any

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOOL = shlex.split(os.environ.get("GPULENS_TOOL", str(ROOT / "build/bin/gpulens")))
MASKS = str(ROOT / "build/gpu/masks")


class Masks:
    """masks.cu, whose blocks see other numbers of SMs under MPS: from 0, of those that the mask leaves."""

    def __init__(self, mps: bool, folder: pathlib.Path) -> None:
        self.mps, self.folder = mps, folder
        self.words = [*TOOL, "run", "-q", "-o", "/dev/null", "--mps", "--", MASKS] if mps else [MASKS]

    def start(self, *words: str) -> "subprocess.CompletedProcess[str]":
        """The program, with its output."""
        env = {**os.environ, "GPULENS_SOURCE": "driver", "GPULENS_RUNTIME_DIR": str(self.folder / "run")}
        return subprocess.run([*self.words, *words], capture_output=True, text=True, check=False, timeout=120, env=env)

    def run(self, *words: str) -> list[Any]:
        """The lines of JSON that it prints."""
        done = self.start(*words)
        if done.returncode == 1 and "would run unpartitioned" in done.stderr:
            pytest.skip(done.stderr.strip())
        assert done.returncode == 0, done.stderr
        return [json.loads(line) for line in done.stdout.splitlines()]

    def sms(self, *words: str) -> "list[list[int]]":
        """Of each launch."""
        return [launch["sms"] for launch in self.run(*words)]

    def seen(self, sms: "list[int]") -> "list[int]":
        """The numbers that these SMs have for the program."""
        return list(range(len(sms))) if self.mps else sms


@pytest.fixture(name="masks", params=(False, True), ids=("", "MPS"))
def fixture_masks(request: pytest.FixtureRequest, tmp_path: pathlib.Path) -> Masks:
    """Without and under a daemon of the test's own."""
    if request.param:
        subprocess.run([*TOOL, "partitions", "--methods"], check=True, timeout=120)
        done = subprocess.run([*TOOL, "run", "-q", "-o", "/dev/null", "--mps", "--", "true"], capture_output=True,
                              text=True, check=False, env={**os.environ, "GPULENS_RUNTIME_DIR": str(tmp_path / "run")})
        if done.returncode == 4:
            pytest.skip(done.stderr.strip())
    return Masks(request.param, tmp_path)


def test_kernels_are_confined_to_each_gpc_in_turn(masks: Masks) -> None:
    """On all SMs of the GPC by the driver's table, and on no other."""
    done = subprocess.run([*TOOL, "--source", "rm", "-g", "0", "--json", "gpcs"], capture_output=True, text=True,
                          check=True, timeout=60)
    gpcs = json.loads(done.stdout)["gpus"][0]["gpcs"]
    expected = [[sm["sm"] for sm in gpcs["sms"] if sm["logical_gpc"] == gpc["logical"]] for gpc in gpcs["gpcs"]]
    seen = masks.run("gpcs")
    for launch in seen:
        print(f"\n{len(launch['tpcs'])} TPCs {launch['tpcs']}: SMs {launch['sms']}", end="")
    assert [launch["sms"] for launch in seen] == [masks.seen(sms) for sms in expected]


def test_a_next_mask_overrides_the_global_mask(masks: Masks) -> None:
    """TPCs 0 to 32, then TPC 65 for one launch, then the first again."""
    half = list(range(66))
    assert masks.sms("global") == [half, masks.seen([130, 131]), half]


def test_a_streams_mask_applies_to_its_launches(masks: Masks) -> None:
    """TPC 65 in the stream, TPCs 0 to 32 in another, TPC 65 again."""
    one, half = masks.seen([130, 131]), list(range(66))
    assert masks.sms("streams") == [one, half, one]


def test_a_cooperative_launch_needs_an_sm_per_block(masks: Masks) -> None:
    """16 blocks on 16 SMs meet. 17 blocks of 1,024 threads would, too, as an SM has room for two; launches that are not
    known to fit are refused. Without the refusal, 33 blocks wait for ever, as a program without it showed."""
    assert masks.run("coop", "16") == [{"blocks": 16}]
    for blocks in ("17", "33"):
        done = masks.start("coop", blocks)
        assert (done.returncode, done.stdout) == (4, "")
        assert f"a cooperative launch of {blocks} blocks has a mask of 16 SMs: launch at most 16 blocks" in done.stderr
