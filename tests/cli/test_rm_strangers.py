# SPDX-License-Identifier: GPL-2.0
"""The files in which programs report their TSGs to gpulens run and record: false reports and unusual files."""

import csv
import ctypes
import json
import os
import pathlib
import stat
import subprocess
import time
import typing

import pytest
from support.fakeclock import gpulens_by_clock
from support.fakerm import ask_rm, fake_rm
from support.program import ROOT


def record_by_clock(root: pathlib.Path, seconds: str, **more: str) -> "subprocess.CompletedProcess[str]":
    """gpulens record of two programs that take turns, by the tests' clock, each 250 us, to a.csv."""
    return gpulens_by_clock("--source", "rm", "record", "--for", seconds, "--every", "250us", "-o", str(root / "a.csv"),
                            env=fake_rm(STATE="two", **more))


@pytest.mark.parametrize("own", (True, False), ids=("own", "foreign"))
def test_record_knows_programs_started_by_run(tmp_path: pathlib.Path, own: bool) -> None:
    """record finds the file in the environment of the processes that the driver names: TSG 6 with its time slice and
    its process. A file of another user is ignored."""
    if not own and os.geteuid():
        pytest.skip("only root gives files away")
    tsgs = tmp_path / "tsgs"
    with subprocess.Popen(["sleep", "60"], env={"GPULENS_RUN_FILE": str(tsgs)}) as program:
        tsgs.write_text(json.dumps({"pid": program.pid, "device": 0, "tsg": 6, "engine": 1, "timeslice_us": 2048,
                                    "preemption": None, "channels": [11]}) + "\n", encoding="ascii")
        if not own:
            os.chown(tsgs, 1, -1)
        done = record_by_clock(tmp_path, "2s", PIDS=str(program.pid), NOTES=str(program.pid))
        program.kill()
    assert (done.returncode, done.stderr) == (0, "")
    first = done.stdout.splitlines()[3]  # after why it is sampled
    assert (f" 6 ({program.pid} sleep) " in first and "2.048 ms" in first) == own
    assert (" channel 11 " in first) != own


def test_claims_of_a_program_are_checked_against_the_driver(tmp_path: pathlib.Path) -> None:
    """A program claims the channels of two other programs and an unallocated one; the driver's samples name the two
    programs. Seen failing: all slots were attributed to the first program."""
    tsgs = tmp_path / "tsgs"
    with subprocess.Popen(["sleep", "60"], env={"GPULENS_RUN_FILE": str(tsgs)}) as program:
        tsgs.write_text(json.dumps({"pid": program.pid, "device": 0, "tsg": 6, "engine": 1, "timeslice_us": 2048,
                                    "preemption": None, "channels": [11, 31, 100]}) + "\n", encoding="ascii")
        done = record_by_clock(tmp_path, "3s", PIDS=str(program.pid))
        program.kill()
    assert (done.returncode, done.stderr) == (0, "")
    with (tmp_path / "a.csv").open(encoding="ascii") as file:
        rows = [row for row in csv.DictReader(file) if row["engine"]]
    assert {(row["channel"], row["pid"]) for row in rows[-20:]} == {("11", "4194777"), ("31", "4194828")}


def test_a_channel_claimed_twice_has_no_tsg(tmp_path: pathlib.Path) -> None:
    """Two TSGs of a program claim channel 11. Seen failing: the last one got it."""
    tsgs = tmp_path / "tsgs"
    with subprocess.Popen(["sleep", "60"], env={"GPULENS_RUN_FILE": str(tsgs)}) as program:
        tsgs.write_text("".join(json.dumps({"pid": program.pid, "device": 0, "tsg": tsg, "engine": 1,
                                            "timeslice_us": 2048, "preemption": None, "channels": [11]}) + "\n"
                                for tsg in (6, 7)), encoding="ascii")
        done = record_by_clock(tmp_path, "500ms", PIDS=str(program.pid))
        program.kill()
    assert (done.returncode, done.stderr) == (0, "") and " channel 11 " in done.stdout


BAD_LINES = {
    "deep": "[" * 4000, "long": '{"pid": 1, "x": "' + "x" * 5000 + '"}',
    **{name: json.dumps({"pid": 1, "device": 0, "tsg": 6, "engine": 1, "timeslice_us": 2048, "preemption": None,
                         "channels": [1], **what})
       for name, what in {"pid": {"pid": 1e20}, "tsg": {"tsg": -1}, "id": {"channels": [4096]},
                          "channels": {"channels": list(range(129))}}.items()}}


@pytest.mark.parametrize("what", BAD_LINES)
def test_lines_of_a_named_file_are_checked(tmp_path: pathlib.Path, what: str) -> None:
    """The message for an invalid line names the file. Seen failing: impossible numbers were truncated to possible
    ones."""
    (tmp_path / "tsgs").write_text(BAD_LINES[what] + "\n", encoding="ascii")
    done = ask_rm("record", "--for", "1s", "--tsgs", str(tmp_path / "tsgs"), "-o", str(tmp_path / "b.csv"))
    assert (done.returncode, done.stderr) == (3, f"gpulens: {tmp_path}/tsgs: line 1: not a line of gpulens run\n")


def watch_opening(path: pathlib.Path) -> "typing.Callable[[], bool]":
    """Returns a function that tells whether the file was opened since, by inotify, which does not report O_PATH."""
    libc = ctypes.CDLL(None, use_errno=True)
    watch = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
    assert watch >= 0 and libc.inotify_add_watch(watch, os.fsencode(path), 0x20) >= 0  # IN_OPEN

    def was_opened() -> bool:
        try:
            return bool(os.read(watch, 4096))
        except BlockingIOError:
            return False
    return was_opened


@pytest.mark.parametrize("kind", ("device", "FIFO", "link", "large"))
def test_only_a_regular_file_named_by_a_program_is_opened(tmp_path: pathlib.Path, kind: str) -> None:
    """Opening a device has effects: a watchdog reboots the machine, a tape rewinds. Here: a node like /dev/null, a
    FIFO, a link to a valid file, and a file of 14 MB. Seen failing: each except the link was opened."""
    if kind == "device" and os.geteuid():
        pytest.skip("only root makes device nodes")
    tsgs = tmp_path / "tsgs"
    line = {"device": 0, "tsg": 6, "engine": 1, "timeslice_us": 2048, "preemption": None, "channels": [11]}
    with subprocess.Popen(["sleep", "60"], env={"GPULENS_RUN_FILE": str(tsgs)}) as program:
        text = json.dumps({"pid": program.pid, **line}) + "\n"
        if kind == "device":
            os.mknod(tsgs, 0o600 | stat.S_IFCHR, os.makedev(1, 3))
        if kind == "FIFO":
            os.mkfifo(tsgs)
        if kind == "link":
            (tmp_path / "good").write_text(text, encoding="ascii")
            tsgs.symlink_to(tmp_path / "good")
        if kind == "large":
            tsgs.write_text(text * (14000000 // len(text)), encoding="ascii")
        was_opened = watch_opening(tsgs)
        done = ask_rm("record", "--for", "200ms", "--every", "250us", "-o", str(tmp_path / "a.csv"), STATE="two",
                      PIDS=str(program.pid), NOTES=str(program.pid))
        program.kill()
    assert (done.returncode, done.stderr) == (0, "") and " channel 11 " in done.stdout
    assert not was_opened()


def test_a_file_is_opened_in_the_programs_namespace(tmp_path: pathlib.Path) -> None:
    """In the program's mount namespace that name belongs to another file. Seen failing: the file of the reader's
    namespace was read."""
    if os.geteuid():
        pytest.skip("takes root")
    (tmp_path / "tsgs").write_text("", encoding="ascii")
    script = 'mount -t tmpfs none "$1" && echo ready && cat >"$1/tsgs" && exec sleep 60'
    with subprocess.Popen(["unshare", "--mount", "sh", "-c", script, "sh", str(tmp_path)], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, text=True,
                          env={**os.environ, "GPULENS_RUN_FILE": str(tmp_path / "tsgs")}) as program:
        assert program.stdin and program.stdout and program.stdout.readline() == "ready\n"
        program.stdin.write(json.dumps({"pid": program.pid, "device": 0, "tsg": 6, "engine": 1, "timeslice_us": 2048,
                                        "preemption": None, "channels": [11]}) + "\n")
        program.stdin.close()
        while pathlib.Path(f"/proc/{program.pid}/comm").read_text(encoding="ascii") != "sleep\n":
            time.sleep(0.01)
        done = ask_rm("record", "--for", "500ms", "--every", "250us", "-o", str(tmp_path / "a.csv"), STATE="two",
                      PIDS=str(program.pid), NOTES=str(program.pid))
        program.kill()
    assert (done.returncode, done.stderr) == (0, "") and f" 6 ({program.pid} sleep) " in done.stdout


def test_freed_channels_are_forgotten(tmp_path: pathlib.Path) -> None:
    """A program allocates and frees channels, 200 in all. Seen failing: freed ones were still listed, and none after
    the first 128 was."""
    program = tmp_path / "frees.py"
    text = (ROOT / "tests/support/rm/program.py").read_text(encoding="ascii").split("for _ in range(300)")[0]
    program.write_text(text + """
group = alloc_object(CLIENT, DEVICE, 0xA06C, struct.pack("<IIIII", 0, 0, 0, 0x01, 0))
kept = [alloc_object(CLIENT, group, 0xC86F) for _ in range(2)]
for _ in range(200):
    free_object(CLIENT, alloc_object(CLIENT, group, 0xC86F))
kept.append(alloc_object(CLIENT, group, 0xC86F))
control_object(CLIENT, group, 0xA06C0101, b"\\1\\0\\0")
free_object(CLIENT, kept[0])
control_object(CLIENT, group, 0xA06C0101, b"\\1\\0\\0")
""", encoding="ascii")
    ask_rm("run", "-o", str(tmp_path / "tsgs"), "--", "/usr/bin/python3", str(program))
    lines = [json.loads(line) for line in (tmp_path / "tsgs").read_text(encoding="ascii").splitlines()]
    assert [len(line["channels"]) for line in lines[-2:]] == [3, 2]
    assert all(channel < 4096 for line in lines for channel in line["channels"])
