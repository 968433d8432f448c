# SPDX-License-Identifier: GPL-2.0
"""gpulens disable and its like on a folder that stands for /proc: what goes wrong between doing and undoing. What they
write, and what a GPU makes of it: tests/vm/test_tool.py."""

import os
import pathlib
import subprocess
import tempfile
import threading
import time
import typing

import pytest
from support.fakeproc import Channel, FakeProc, Tsg, snapshot
from support.program import TOOL


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


# -- only what was changed

class Driver:
    """The GPU as a program that is not told apart from a driver: each time that the snapshot is read it is another one,
    the last for ever."""

    def __init__(self, proc: FakeProc, *lists: "list[Tsg]") -> None:
        self._path = proc.gpu(0) / "snapshot"
        self._path.unlink()
        os.mkfifo(self._path)
        self._shots = [snapshot({0: one}) for one in lists]
        self.read = 0
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        for shot in self._shots:
            with self._path.open("wb") as file:  # waits for a reader
                self.read += 1
                file.write(shot)
            time.sleep(0.05)  # so that one reader does not meet two writers


def steer(proc: FakeProc, *words: str) -> "subprocess.CompletedProcess[str]":
    """With --for."""
    return subprocess.run([str(TOOL), "--proc", str(proc.folder), *words, "--for", "300ms"], capture_output=True,
                          text=True, timeout=60, check=False)


def test_what_a_driver_changes_meanwhile_stays(proc: FakeProc) -> None:
    """Channel 8 is named. 9 and 12 are enabled and TSG 4 gets another slice while it is disabled. Seen failing: 9 and
    12 were disabled at the end, and TSG 4 got its old slice."""
    before = [Tsg(3, 2_048_000, (Channel(8), Channel(9, 0))), Tsg(4, 1_024_000, (Channel(12, 0),))]
    after = [Tsg(3, 2_048_000, (Channel(8, 0), Channel(9))), Tsg(4, 4_096_000, (Channel(12),))]
    os.mkfifo(proc.gpu(0) / "tsg_timeslice")
    slices = os.open(proc.gpu(0) / "tsg_timeslice", os.O_RDWR | os.O_NONBLOCK)
    driver = Driver(proc, before, after, after)
    done = steer(proc, "disable", "8")
    assert (done.returncode, done.stderr, driver.read) == (0, "", 3)
    assert proc.written("disable_channel") == "8" and proc.written("enable_channel") == "8"
    with pytest.raises(BlockingIOError):
        os.read(slices, 100)
    os.close(slices)


@pytest.mark.parametrize("meanwhile", ([Channel(8)], [Channel(9, 0)], [Channel(8, 0, inst=0x2000)]),
                         ids=("enabled", "gone", "another one"))
def test_what_no_longer_stands_is_left_alone(proc: FakeProc, meanwhile: "list[Channel]") -> None:
    """Somebody else has enabled the channel, it is gone, or its id is another channel's, by its instance block. Seen
    failing for the last, which was enabled."""
    before, after = (Channel(8, inst=0x1000),), (Channel(8, 0, inst=0x1000),)
    Driver(proc, [Tsg(3, 2_048_000, before)], [Tsg(3, 2_048_000, after)], [Tsg(3, 2_048_000, tuple(meanwhile))])
    done = steer(proc, "disable", "8")
    assert (done.returncode, proc.written("enable_channel")) == (0, "")
    assert done.stderr == "gpulens: channel 8 was changed by another process or the driver; it is not undone\n"


def test_a_slice_is_put_back_where_it_stands(proc: FakeProc) -> None:
    """It became 1.984 ms of the 2 ms that were written, and another TSG's changed meanwhile; then the same where the
    driver has set this one's as well. Seen failing: both slices were written, and the driver's was taken back."""
    (proc.gpu(0) / "tsg_timeslice").write_text("", encoding="ascii")
    left = [Tsg(3, 1_984_000, (Channel(8),)), Tsg(4, 1_024_000, (Channel(9),))]
    Driver(proc, [Tsg(3, 1_024_000, (Channel(8),)), left[1]], left, [left[0], Tsg(4, 512_000, (Channel(9),))])
    done = steer(proc, "timeslice", "3", "2000")
    path = proc.gpu(0) / "tsg_timeslice"
    assert (done.returncode, done.stderr, done.stdout) == (0, "", f"{path} < 3 2000\n{path} < 3 1024\n")
    Driver(proc, [Tsg(3, 1_024_000, (Channel(8),))], left, [Tsg(3, 512_000, (Channel(8),))])
    done = steer(proc, "timeslice", "3", "2000")
    assert (done.returncode, done.stdout) == (0, f"{path} < 3 2000\n")
    assert done.stderr == ("gpulens: the timeslice of TSG 3 was changed by another process or the driver; "
                           "it is not undone\n")


def test_switch_to_puts_back_what_it_switched(proc: FakeProc) -> None:
    """It enables 8 and disables 10 and 11. 9 and 13 were as it wants them; 12 was unbound and did not change; 13 is
    enabled meanwhile by the driver, 10 too, and 14 is new. Left to be put back: 8 and 11. Seen failing: 13 was
    disabled, and 12 was enabled when it had been bound again."""
    rest = Tsg(5, 2_048_000, (Channel(12),))
    mine = Tsg(3, 2_048_000, (Channel(8), Channel(9)))
    before = [Tsg(3, 2_048_000, (Channel(8, 0), Channel(9))),
              Tsg(4, 2_048_000, (Channel(10), Channel(11), Channel(13, 0))), rest]
    right = [mine, Tsg(4, 2_048_000, (Channel(10, 0), Channel(11, 0), Channel(13, 0))), rest]
    end = [mine, Tsg(4, 2_048_000, (Channel(10), Channel(11, 0), Channel(13), Channel(14, 0))),
           Tsg(5, 2_048_000, (Channel(12, 0),))]
    (proc.gpu(0) / "switch_to_tsg").write_text("", encoding="ascii")
    Driver(proc, before, right, end)
    done = steer(proc, "switch-to", "3")
    assert proc.written("disable_channel") == "8" and proc.written("enable_channel") == "11"
    assert done.stderr == "gpulens: channel 10 was changed by another process or the driver; it is not undone\n"
    assert done.returncode == 0


def test_a_write_that_fails_on_its_way_is_put_back(proc: FakeProc) -> None:
    """switch-to has disabled 10 when the GPU answers no more. Seen failing: 10 stayed disabled."""
    (proc.gpu(0) / "switch_to_tsg").symlink_to("/dev/full")
    before = [Tsg(3, 2_048_000, (Channel(8),)), Tsg(4, 2_048_000, (Channel(10), Channel(11)))]
    half = [Tsg(3, 2_048_000, (Channel(8),)), Tsg(4, 2_048_000, (Channel(10, 0), Channel(11)))]
    Driver(proc, before, half, half)
    done = steer(proc, "switch-to", "3")
    assert done.returncode == 4 and "ENOSPC" in done.stderr
    assert proc.written("disable_channel") == "" and proc.written("enable_channel") == "10"


def test_what_could_not_be_put_back_is_not_begun(proc: FakeProc) -> None:
    """A channel that its runlist does not list. Seen failing: it was disabled for good."""
    proc.show(snapshot({0: [Tsg(3, 2_048_000, (Channel(8),))]}, "AD102"))
    done = steer(proc, "disable", "0:7")
    assert (done.returncode, proc.written("disable_channel")) == (4, "")
    assert done.stderr == "gpulens: channel 0:7 is not on runlist 0, so the change could not be undone\n"


@pytest.mark.parametrize("words", (("disable", "8"), ("record", "-o", "x.csv"), ("export", "--prometheus")),
                         ids=" ".join)
def test_a_time_that_no_clock_reaches_is_wrong_usage(proc: FakeProc, words: "tuple[str, ...]") -> None:
    """More than 1e18 ns, some 31 years. Seen failing: 2600000h ended at once, as 63 bits overflow."""
    for time_text in ("2600000h", "2562047h", "277778h", "1000000001s"):
        done = gpulens(proc, *words, "--for", time_text)
        assert (done.returncode, done.stdout) == (2, "")
        assert f"--for: not a time such as 10s, 500ms or 100us: {time_text}" in done.stderr
    assert proc.written("disable_channel") == ""
    assert gpulens(proc, "disable", "8", "--dry-run", "--for", "277777h").returncode == 0


# -- all channels of a TSG

TWO = (Channel(8), Channel(9, 0))  # one that is enabled, and one that is not


def gpulens(proc: FakeProc, *words: str) -> "subprocess.CompletedProcess[str]":
    """The program, to its end."""
    return subprocess.run([str(TOOL), "--proc", str(proc.folder), *words], capture_output=True, text=True, timeout=60,
                          check=False)


def test_a_tsg_is_each_of_its_channels_once(proc: FakeProc) -> None:
    """Also where it is listed more than once; the channels of others are left alone. A dry run says the same."""
    tsg = Tsg(3, 2_048_000, TWO)
    proc.show(snapshot({0: [tsg, Tsg(4, 2_048_000, (Channel(10),)), tsg]}))
    dry = gpulens(proc, "disable", "--tsg", "3", "--dry-run")
    path = proc.gpu(0) / "disable_channel"
    assert (dry.returncode, dry.stdout) == (0, f"would write 8 to {path}\nwould write 9 to {path}\n")
    assert proc.written("disable_channel") == ""
    done = gpulens(proc, "disable", "--tsg", "3")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{path} < 8\n{path} < 9\n", "")
    assert proc.written("disable_channel") == "89" and proc.written("enable_channel") == ""


def test_what_a_tsg_had_is_put_back_and_no_more(proc: FakeProc) -> None:
    """--for: 9 was disabled before and stays so; 11, of the same TSG, has gone meanwhile; 12 somebody else has enabled
    again. Seen failing with either of two conditions in put_back() taken out."""
    before = (*TWO, Channel(11), Channel(12))
    proc.show(snapshot({0: [Tsg(3, 2_048_000, before), Tsg(4, 2_048_000, (Channel(10),))]}))
    with subprocess.Popen([str(TOOL), "--proc", str(proc.folder), "disable", "--tsg", "3", "--for", "1500ms"],
                          stdout=subprocess.DEVNULL) as process:
        assert written(proc, "disable_channel").startswith("8")
        after = (Channel(8, 0), Channel(9, 0), Channel(12))
        proc.show(snapshot({0: [Tsg(3, 2_048_000, after), Tsg(4, 2_048_000, (Channel(10, 0),))]}))
        assert written(proc, "enable_channel") == "8"
        assert process.wait(timeout=20) == 0
    assert proc.written("enable_channel") == ""


def test_a_tsg_that_is_refused_ends_it_with_nothing_done(proc: FakeProc) -> None:
    """The first write fails: status 4, and nothing to put back. What a later one does: tests/vm/test_tool.py."""
    proc.show(snapshot({0: [Tsg(3, 2_048_000, TWO)]}))
    (proc.gpu(0) / "disable_channel").unlink()
    (proc.gpu(0) / "disable_channel").symlink_to("/dev/full")
    done = gpulens(proc, "disable", "--tsg", "3")
    assert (done.returncode, done.stdout) == (4, "") and "ENOSPC" in done.stderr
    assert proc.written("enable_channel") == ""


def test_a_tsg_that_is_not_whole_is_not_written(proc: FakeProc) -> None:
    """It says that it has more channels than the list shows, or does not exist, or is on two runlists."""
    short = bytearray(snapshot({0: [Tsg(3, 2_048_000, TWO)]}))
    record = [place for place in range(64, len(short), 64) if short[place] == 4][0]
    short[record + 6] = 3  # struct gpulens_tsg: length
    proc.show(bytes(short))
    done = gpulens(proc, "disable", "--tsg", "3")
    assert (done.returncode, done.stdout) == (4, "") and "being replaced" in done.stderr
    proc.show(snapshot({0: [Tsg(3, 2_048_000, TWO)], 1: [Tsg(3, 2_048_000, (Channel(20),))]}, "AD102"))
    done = gpulens(proc, "disable", "--tsg", "3")
    assert (done.returncode, done.stdout) == (4, "")
    assert done.stderr == ("gpulens: TSG 3 is on more than one runlist; name one of these:\n  0:3        GR0\n"
                           "  1:3        LCE2\n")
    done = gpulens(proc, "disable", "--tsg", "99")
    assert (done.returncode, done.stderr) == (4, "gpulens: TSG 99 is on no runlist\n")
    done = gpulens(proc, "disable", "--tsg", "7:3")
    assert (done.returncode, done.stderr) == (4, "gpulens: 7:3: no such runlist\n")
    assert proc.written("disable_channel") == ""
    done = gpulens(proc, "disable", "--tsg", "1:3")
    assert (done.returncode, done.stderr) == (0, "") and proc.written("disable_channel") == "1:20"


def test_a_process_is_refused_where_nobody_knows_its_channels(proc: FakeProc) -> None:
    """--pid: a sentence that says so, and status 4."""
    done = gpulens(proc, "disable", "--pid", "4711")
    assert (done.returncode, done.stdout) == (4, "")
    assert done.stderr == ("gpulens: --pid 4711: the module cannot attribute channels to processes; name a "
                           "channel, or a TSG with --tsg\n")
    assert proc.written("disable_channel") == ""


@pytest.mark.parametrize("words", ((), ("8", "--tsg", "3"), ("8", "--pid", "1"), ("--tsg", "3", "--pid", "1"),
                                   ("--tsg", "x")), ids=" ".join)
def test_one_thing_is_named(proc: FakeProc, words: "tuple[str, ...]") -> None:
    """A channel, a TSG or a process: none, or two of them, is wrong usage."""
    done = gpulens(proc, "disable", *words)
    assert (done.returncode, done.stdout) == (2, "") and done.stderr
    assert proc.written("disable_channel") == ""
