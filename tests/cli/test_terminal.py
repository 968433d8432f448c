# SPDX-License-Identifier: GPL-2.0
"""What is shown on a terminal of 80 columns."""

import fcntl
import os
import pty
import re
import struct
import termios

import pytest
from support.program import ROOT, TOOL, gpulens, image


def show_on_terminal(*words: str) -> str:
    """What the tool prints on a terminal of 40 rows and 80 columns, without colours."""
    pid, terminal = pty.fork()
    if pid == 0:
        fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 80, 0, 0))
        os.execv(TOOL, [str(TOOL), *words])
    shown = b""
    try:
        while piece := os.read(terminal, 4096):
            shown += piece
    except OSError:  # it ended
        pass
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    return re.sub(r"\x1b\[\d+m", "", shown.decode().replace("\r\n", "\n"))


def test_hazards_wrap_with_their_indent() -> None:
    """Each line below that of the file is within 80 columns, and further lines stand below the text. Seen failing with
    an indent of 2."""
    text = show_on_terminal("-i", str(image("ad102")), "isolation")
    assert max(map(len, text.splitlines()[1:])) <= 80
    assert re.search(r"^   ! GRCE0/LCE0 .*\n     \w.*\n     on an RTX", text, re.M), text


def test_a_legend_explains_the_overview() -> None:
    """On a terminal; what goes into a file or a pipe has the data alone. Seen failing before there was one."""
    words = ("-i", str(image("ad102")))
    assert show_on_terminal(*words).endswith('TSG: its number, time slice, "runs" while it is on an engine, and its '
                                             'channels\n  by number\n')
    assert "its number" not in gpulens(*words).stdout


@pytest.mark.parametrize("command, left_out", [
    ("engines", "Reset, Fault, Registers, Runlist base"), ("channels", "Instance, Aperture")])
def test_tables_fit_the_terminal(command: str, left_out: str) -> None:
    """A line names the columns that are left out, which --wide and a pipe have. Seen failing with lines of 117 and 97
    columns."""
    words = ("-i", str(image("ad102")), command)
    narrow, wide = show_on_terminal(*words), show_on_terminal("--wide", *words)
    assert max(map(len, narrow.splitlines()[1:])) <= 80
    assert f"\nwith --wide also: {left_out}\n" in narrow
    titles = narrow.splitlines()[1]
    assert all(title in wide.splitlines()[1] and title not in titles for title in left_out.split(", "))
    assert wide == gpulens(*words).stdout


def test_notes_wrap() -> None:
    """Those of a plan, with an indent of two. Seen failing with lines of up to 220 columns."""
    text = show_on_terminal("plan", str(ROOT / "docs/plan-example.json"), "--tpcs", "66")
    notes = text[text.index("\nNote: ") + 1:].splitlines()
    assert max(map(len, notes)) <= 80 and sum(line.startswith("  ") for line in notes) > 3
    assert all(line.startswith(("Note: ", "  ")) for line in notes)
