# SPDX-License-Identifier: GPL-2.0
"""What all runs of pytest share: python3 in PATH is the interpreter of pytest, and the last line is the processor time
of the run with all programs that it waited for. Unlike the duration, this hardly depends on what runs beside it."""

import os
import pathlib
import resource
import shlex
import signal
import sys
import tempfile
from typing import Any

BIN = tempfile.TemporaryDirectory(prefix="gpulens-python-")  # pylint: disable=consider-using-with


def pytest_configure() -> None:
    """Prepares what programs that tests start inherit. Many are in Python: through a launcher of several versions, as
    pyenv's, each start takes 75 ms more of a processor. A script, because a link to the interpreter would leave its
    virtual environment."""
    python = pathlib.Path(BIN.name) / "python3"
    python.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} "$@"\n', encoding="utf-8")
    python.chmod(0o755)
    os.environ["PATH"] = f"{BIN.name}{os.pathsep}{os.environ['PATH']}"
    # What gpulens keeps from one run to the next is the tests' own, also root's.
    os.environ["XDG_STATE_HOME"] = f"{BIN.name}/state"
    # A shell ignores it in what it runs in the background, as scripts/test does, and what tests start inherits it.
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """One line."""
    used = [resource.getrusage(whose) for whose in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    terminalreporter.write_line(f"processor time: {sum(usage.ru_utime + usage.ru_stime for usage in used):.0f} s")
