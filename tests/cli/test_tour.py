# SPDX-License-Identifier: GPL-2.0
"""The output of scripts/demo; that each of its steps has its effect, the demo itself checks."""

from lib import tour


def test_a_remark_stands_above_the_columns() -> None:
    """tpc_map begins with a line of "!". Seen failing: it was the first line of the left column, and the GPCs were out
    of order."""
    assert tour.in_columns(["! from the hardware", "gpc 0: 0x01f", "gpc 1: 0x1e0", "gpc 2: 0x200"]) == [
        "! from the hardware", "gpc 0: 0x01f   gpc 2: 0x200", "gpc 1: 0x1e0   "]
    assert tour.in_columns(["num_gpcs:0x2"]) == ["num_gpcs:0x2   "]
    assert not tour.in_columns([])
