# SPDX-License-Identifier: GPL-2.0
"""The output of scripts/demo; that each of its steps has its effect, the demo itself checks."""

from typing import Optional

import pytest

from lib import machine, nouveau, paths, tour
from lib.guest import LostVM


def test_a_remark_stands_above_the_columns() -> None:
    """tpc_map begins with a line of "!". Seen failing: it was the first line of the left column, and the GPCs were out
    of order."""
    assert tour.in_columns(["! from the hardware", "gpc 0: 0x01f", "gpc 1: 0x1e0", "gpc 2: 0x200"]) == [
        "! from the hardware", "gpc 0: 0x01f   gpc 2: 0x200", "gpc 1: 0x1e0   "]
    assert tour.in_columns(["num_gpcs:0x2"]) == ["num_gpcs:0x2   "]
    assert not tour.in_columns([])


@pytest.mark.parametrize("kernel, archive_error, reason", [
    ("6.13.9", None, "nouveau was tried with kernels 6.1.x and 6.12.x, and the guest's is 6.13.9."),
    ("6.1.0-56-amd64", "nouveau is not there: no network", "nouveau is not there: no network.")],
    ids=["kernel", "modules"])
def test_the_part_with_nouveau_is_left_out_with_a_reason(
        monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], kernel: str, archive_error: Optional[str],
        reason: str) -> None:
    """On Debian 13, and where the modules cannot be had, the demo says so and goes on. Seen failing where
    find_obstacle() found none."""
    def make_archive(_: object) -> bytes:
        raise FileNotFoundError(archive_error)

    monkeypatch.setattr(paths, "kernel_version", lambda: kernel)
    monkeypatch.setattr(nouveau, "make_archive", make_archive if archive_error else None)
    tour.show_programs()
    assert capsys.readouterr().out.endswith(f"\nLeft out: {reason}\n")


def test_the_demo_goes_on_after_a_part_that_failed(monkeypatch: pytest.MonkeyPatch,
                                                   capsys: pytest.CaptureFixture[str]) -> None:
    """A lost guest costs its own part; the demo names it and ends with 1. Seen failing: the second part did not run."""
    def lose(_: object) -> None:
        raise LostVM("it does not answer")

    ran = []
    monkeypatch.setattr(tour, "show_gpus", lose)
    monkeypatch.setattr(tour, "show_programs", lambda: ran.append("programs"))
    assert tour.run_demo() == 1
    assert ran == ["programs"]
    assert capsys.readouterr().err.splitlines()[-1] == \
        "demo: FAILED: 1 of 2 parts: the machine with four GPUs"


def test_a_processor_goes_without_features_that_qemu_has(monkeypatch: pytest.MonkeyPatch) -> None:
    """QEMU 7.2 does not know fsrs, which QEMU 10 emulates, and ends when it is told to go without. Seen failing without
    the look at what QEMU knows."""
    monkeypatch.setattr(machine, "known_features", lambda: frozenset({"erms", "fsrm", "avx"}))
    monkeypatch.setattr(machine, "ACCEL", "tcg")
    words = machine.qemu_arguments(False)
    assert words[words.index("-cpu") + 1] == "max,-erms,-fsrm"
