# SPDX-License-Identifier: GPL-2.0
"""The output of scripts/demo; that each of its steps has its effect, the demo itself checks."""

from typing import Optional

import pytest

from lib import nouveau, paths, tour


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
