# SPDX-License-Identifier: GPL-2.0
"""gpulens disable and its like on a folder that stands for /proc: what goes wrong between doing and undoing. What they
write, and what a GPU makes of it: tests/vm/test_tool.py."""

import pathlib
import subprocess
import tempfile
import time
import typing

import pytest
from fakeproc import Channel, FakeProc, Tsg, snapshot
from program import TOOL


@pytest.fixture
def proc() -> typing.Iterator[FakeProc]:
    """One GPU with a channel, 8, that is enabled."""
    with tempfile.TemporaryDirectory(prefix="gpulens-proc-") as folder:
        fake = FakeProc(pathlib.Path(folder))
        fake.show(snapshot({0: [Tsg(3, 2_048_000, (Channel(8),))]}))
        fake.steerable()
        yield fake
        fake.close()


def written(proc: FakeProc, name: str) -> str:
    """What comes there within some seconds."""
    end = time.monotonic() + 20
    text = ""
    while not text and time.monotonic() < end:
        text = proc.written(name)
        time.sleep(0.01)
    return text


@pytest.mark.parametrize("where", ("/dev/full", "a pipe that nobody reads"))
def test_it_undoes_itself_though_nobody_can_be_told(proc: FakeProc, where: str) -> None:
    """disable --for with an output that cannot be written: the channel is enabled again, and the status is 1.
    Seen failing in both ways when it ended with the first line that nobody took."""
    with open("/dev/full" if where == "/dev/full" else "/dev/null", "wb") as full:
        process = subprocess.Popen([str(TOOL), "--proc", str(proc.folder), "disable", "8", "--for", "700ms"],
                                   stdout=full if where == "/dev/full" else subprocess.PIPE, stderr=subprocess.PIPE)
        with process:
            if process.stdout:
                process.stdout.close()
            assert written(proc, "disable_channel") == "8"
            proc.show(snapshot({0: [Tsg(3, 2_048_000, (Channel(8, 0),))]}))
            assert written(proc, "enable_channel") == "8"
            assert process.wait(timeout=20) == 1
            assert process.stderr and b"standard output: " in process.stderr.read()
