# SPDX-License-Identifier: GPL-2.0
"""gpulens record, top and export by the driver's records of context switches, which tests/support/rm/fake_switches.cc
makes of a series of turns that was recorded on an H200: each ends 93 us before the next one begins. By the tests'
clock."""

import csv
import json
import os
import pathlib
import re
import signal
import statistics
import subprocess
import typing

import pytest
from support.fakeclock import CLOCK, gpulens_by_clock, run_by_clock
from support.fakerm import FACTS, fake_rm
from support.program import TOOL

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="NVIDIA's driver shows contexts of all users to root only")

# The recorded series: begin of each turn, in us, and channel; and whose channels these are.
SERIES = FACTS["live_run2"]["states"]["three"]["resident_channel_timeseries"]["first_changes_us_chid"]
PIDS = {11: "4194777", 31: "4194828", 51: "4194883"}
# The process of each turn, and how long it is, in us. The end of the last one was not recorded.
TURNS = [(PIDS[channel], after - begin - 93)
         for (begin, channel), after in zip(SERIES, [*(begin for begin, _ in SERIES[1:]), SERIES[-1][0] + 2000])]
CONTEXT = 0x30  # the fake's number of the context of channel 0


@pytest.fixture(autouse=True, name="begin")
def fixture_begin() -> None:
    """What is resident first depends on when a test begins."""
    CLOCK.restart()


def record_switches(file: pathlib.Path, switches: str, *words: str, seconds: int = 2,
                    **more: str) -> "tuple[subprocess.CompletedProcess[str], list[dict[str, str]]]":
    """Runs gpulens record of three programs; its output, and the rows of the graphics engine."""
    done = gpulens_by_clock("--source", "rm", "record", "--for", f"{seconds}s", "-o", str(file), *words,
                            env=fake_rm(STATE="three", SWITCHES=switches, **more))
    assert (done.returncode, done.stderr) == (0, "")
    rows = list(csv.DictReader(file.open(encoding="ascii")))
    return done, [row for row in rows if row["engine"] == "GR0"]


def length_us(row: "dict[str, str]") -> float:
    """How long an interval is."""
    return (int(row["end_ns"]) - int(row["start_ns"])) / 1000


def test_each_switch_is_recorded_with_its_process(tmp_path: pathlib.Path) -> None:
    """The turns are those of the series, one after another, and of its processes, to within 0.1 us; but for one when
    the drift of the GPU's timer becomes known. Seen failing with ends taken for starts."""
    done, rows = record_switches(tmp_path / "a.csv", "all")
    # the fake's timer loses 16 ppm, which is known when it is read again, after 1.02 s
    assert "each context switch, by the driver's records; 0 lost, times to within 16.320 us\n" in done.stdout
    assert {(row["pid"], row["tsg"], row["channel"], row["evidence"]) for row in rows} == {
        (pid, "", "", "switched") for pid in PIDS.values()}
    seen = [(row["pid"], length_us(row)) for row in rows[1:-1]]
    assert len(seen) > 900

    def find_errors(first: int) -> "list[float]":
        """By how much each turn differs, if the first one is this of the series."""
        turns = [TURNS[(first + k) % len(TURNS)] for k in range(len(seen))]
        return sorted(abs(length - turn[1]) if pid == turn[0] else 1e9 for (pid, length), turn in zip(seen, turns))

    errors = min((find_errors(first) for first in range(len(TURNS))), key=lambda found: found[-2])
    assert errors[-1] < 17 and errors[-2] < 0.1, errors[-9:]
    gaps = [(int(after["start_ns"]) - int(row["end_ns"])) / 1000 for row, after in zip(rows, rows[1:])]
    assert sorted(min(abs(gap - 93), abs(gap - 93 - SERIES[0][0])) for gap in gaps)[-2] < 0.1
    for channel, pid in PIDS.items():
        assert re.search(rf"^GR0 +context {CONTEXT + channel} \(pid {pid}\) ", done.stdout, re.M), done.stdout


def test_times_are_those_of_the_monotonic_clock(tmp_path: pathlib.Path) -> None:
    """A recording of 20 s that begins at 1000 s by the tests' clock, though the GPU's timer is at 1795404266 s and
    slower by 16 ppm: the turns are at multiples of the series' length. Seen failing without the drift (16 us)."""
    _, rows = record_switches(tmp_path / "a.csv", "all", seconds=20)
    period = (SERIES[-1][0] + 2000) * 1000
    places = [int(row["start_ns"]) % period / 1000 for row in rows[1:]]
    assert int(rows[0]["start_ns"]) >= 1000 * 10 ** 9 and int(rows[-1]["end_ns"]) <= 1021 * 10 ** 9
    errors = [min(abs(place - begin) for begin, _ in SERIES) for place in places]
    assert max(errors) < 17 and statistics.median(errors) < 0.2, (max(errors), statistics.median(errors))


def test_lost_records_are_counted_and_no_turn_spans_them(tmp_path: pathlib.Path) -> None:
    """Each 99th record is dropped, starts and ends in turn. A turn whose end is lost does not last until the next one
    begins. Seen failing with turns that go on over the gap."""
    done, rows = record_switches(tmp_path / "a.csv", "drop")
    lost = int(re.findall(r"; (\d+) lost,", done.stdout)[0])
    assert abs(lost - 2 * len(rows) / 99) <= 2 and lost >= 17

    def is_turn(row: "dict[str, str]", more_us: int) -> bool:
        return any(abs(length_us(row) - length - more_us) < 0.2 for pid, length in TURNS if pid == row["pid"])

    assert not [row for row in rows if is_turn(row, 93) and not is_turn(row, 0)]


HIDDEN = {"hidden": r"^GR0 +context 0  ", "kernel": r"^GR0 +context of the driver  "}


@pytest.mark.parametrize("switches", HIDDEN)
def test_contexts_without_a_process(tmp_path: pathlib.Path, switches: str) -> None:
    """Other users' are hidden from those who have no right to see them; the driver's own have none."""
    done, rows = record_switches(tmp_path / "a.csv", switches)
    assert {row["pid"] for row in rows} == {""} and len(rows) > 900
    assert re.search(HIDDEN[switches], done.stdout, re.M), done.stdout


def test_a_context_of_mps_is_nobodys_alone(tmp_path: pathlib.Path) -> None:
    """On an H200, a context of two clients of MPS has the pid of one of them. Seen failing with that one."""
    done, rows = record_switches(tmp_path / "a.csv", "all", PIDS="4194777", MPS="1")
    assert {row["pid"] for row in rows} == {"", "4194828", "4194883"}
    assert re.search(rf"^GR0 +context {CONTEXT + 11}  ", done.stdout, re.M), done.stdout


def test_others_than_root_sample(tmp_path: pathlib.Path) -> None:
    """The driver would give them every switch, as an H200's did, of contexts that are all "0" but their own."""
    env = CLOCK.environment(**fake_rm(STATE="three", SWITCHES="hidden"))
    done = run_by_clock(["setpriv", "--bounding-set=-sys_admin", TOOL, "--source", "rm", "record", "--for", "1s", "-o",
                         tmp_path / "a.csv"], {**os.environ, **env})
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[1] == ("sampled, as the driver gives no records of context switches: be root: "
                                           "others do not see whose a context is")


REFUSED = {
    "admin": "NV2080_CTRL_CMD_GR_FECS_BIND_EVTBUF_FOR_UID_V2: NV_ERR_NOT_SUPPORTED: be root, or have CAP_PERFMON",
    "": "NV01_MEMORY_DEVICELESS: NV_ERR_INVALID_CLASS",
}


@pytest.mark.parametrize("switches", REFUSED)
def test_where_the_driver_gives_no_records_it_is_sampled_and_why(tmp_path: pathlib.Path, switches: str) -> None:
    """The second line says so; the processes come from coincidences, as before."""
    done, rows = record_switches(tmp_path / "a.csv", switches, "--every", "500us", seconds=4)
    lines = done.stdout.splitlines()
    assert " (asked: 500.000 us; " in lines[0]
    assert lines[1] == f"sampled, as the driver gives no records of context switches: {REFUSED[switches]}"
    assert {row["evidence"] for row in rows} == {"resident"}


def test_the_parameters_of_driver_535(tmp_path: pathlib.Path) -> None:
    """Memory is asked for with 120 bytes there, not 128. Seen failing with 128 only."""
    done, rows = record_switches(tmp_path / "a.csv", "all", VERSION="535.288.01")
    assert "each context switch" in done.stdout and len(rows) > 900


def test_each_gpu_has_its_own_records(tmp_path: pathlib.Path) -> None:
    """Seen failing with one event buffer in the fake driver."""
    done, rows = record_switches(tmp_path / "a.csv", "all", GPU="20")
    for gpu in "01":
        mine = [row for row in rows if row["gpu"] == gpu]
        assert {(row["pid"], row["evidence"]) for row in mine} == {(pid, "switched") for pid in PIDS.values()}
        assert abs(len(mine) - len(rows) / 2) < 5 and len(mine) > 900
    assert done.stdout.count("each context switch, by the driver's records; 0 lost") == 2


def test_a_program_that_is_alone_is_sampled(tmp_path: pathlib.Path) -> None:
    """Nothing switches, so that the resident channel says what is on."""
    _, rows = record_switches(tmp_path / "a.csv", "idle")
    assert {row["channel"] for row in rows} == {"11", "31", "51"}


def test_a_reported_tsg_has_its_contexts(tmp_path: pathlib.Path) -> None:
    """Where a process reports one TSG on the engine it is that; which of two it is, the driver does not say. Seen
    failing with the first of several."""
    line = {"pid": 4194777, "device": 0, "engine": 1, "timeslice_us": 2048, "preemption": None}
    one = {**line, "tsg": 6, "channels": [11]}
    (tmp_path / "tsgs").write_text(json.dumps(one) + "\n", "ascii")
    done, rows = record_switches(tmp_path / "a.csv", "all", "--tsgs", str(tmp_path / "tsgs"))
    assert {(row["tsg"], row["channel"]) for row in rows if row["pid"] == "4194777"} == {("6", "11")}
    assert re.search(r"^GR0 +6 \(pid 4194777\) .* 2\.048 ms ", done.stdout, re.M), done.stdout
    (tmp_path / "tsgs").write_text("".join(json.dumps(tsg) + "\n" for tsg in (
        one, {**line, "tsg": 7, "channels": [12]})), "ascii")
    _, rows = record_switches(tmp_path / "b.csv", "all", "--tsgs", str(tmp_path / "tsgs"))
    assert {(row["tsg"], row["channel"]) for row in rows if row["pid"] == "4194777"} == {("", "")}


def test_a_tsg_that_is_reported_twice_is_one(tmp_path: pathlib.Path) -> None:
    """By the file of a program that runs, and by --tsgs, which names the same file. Seen failing as two of its TSGs."""
    tsgs = tmp_path / "tsgs"
    with subprocess.Popen(["sleep", "60"], env={"GPULENS_RUN_FILE": str(tsgs)}) as program:
        tsgs.write_text(json.dumps({"pid": program.pid, "device": 0, "tsg": 6, "engine": 1, "timeslice_us": 2048,
                                    "preemption": None, "channels": [11]}) + "\n", "ascii")
        _, rows = record_switches(tmp_path / "a.csv", "all", "--tsgs", str(tsgs), seconds=1, PIDS=str(program.pid),
                                  NOTES=str(program.pid))
        program.kill()
    assert {(row["pid"], row["tsg"]) for row in rows} == {(str(program.pid), "6")}


def test_all_is_freed_when_the_command_ends(tmp_path: pathlib.Path) -> None:
    """By Ctrl-C, too: the event buffer and its memory. The driver frees what a killed process had."""
    log = tmp_path / "log"
    with subprocess.Popen([TOOL, "--source", "rm", "record", "-o", str(tmp_path / "a.csv")], stdout=subprocess.PIPE,
                          env=CLOCK.environment(**fake_rm(STATE="three", SWITCHES="all", LOG=str(log)))) as process:
        CLOCK.run(0.3)
        process.send_signal(signal.SIGINT)
        CLOCK.wait(process)
    lines = [line.split()[:2] for line in log.read_text("ascii").splitlines()]
    for kind in ("0x90cd", "0x90ce"):
        assert lines.count(["alloc", kind]) == lines.count(["free", kind]) == (2 if kind == "0x90ce" else 1)
    assert lines.count(["control", "0x20801238"]) == 1 and lines[-1] == ["free", "0x41"]
    assert lines.count(["control", "0x90cd0104"]) <= 0.3 / 0.02 + 3


def test_top_and_export_have_each_switch() -> None:
    """A screen says so, with x and the context's number; of the metrics, a process' time is that of its turns."""
    env = fake_rm(STATE="three", SWITCHES="all")
    done = gpulens_by_clock("--source", "rm", "top", "--batch", "2", "--delay", "1s", env=env)
    screen = done.stdout[done.stdout.rindex("each context switch, 0 lost, in "):]
    assert re.search(rf"^ +x{CONTEXT + 11} +0 GR0 ", screen, re.M), done.stdout
    done = gpulens_by_clock("--source", "rm", "export", "--prometheus", "--for", "2s", env=env)
    times = dict(re.findall(r'process_engine_seconds_total\{.*pid="(\d+)".*evidence="switched"\} ([0-9.]+)',
                            done.stdout))
    assert set(times) == set(PIDS.values())
    for pid in PIDS.values():
        share = sum(length for other, length in TURNS if other == pid) / (SERIES[-1][0] + 2000)
        assert abs(float(times[pid]) / 2 - share) < 0.04, (pid, times, share)


def test_a_recording_has_what_its_files_have(tmp_path: pathlib.Path) -> None:
    """A raw recording, reported, is the CSV and the text of the recording itself."""
    done, rows = record_switches(tmp_path / "a.csv", "all", "-o", str(tmp_path / "a.rec"))
    report: "typing.Any" = gpulens_by_clock("report", str(tmp_path / "a.rec"), "-o", str(tmp_path / "b.csv"), env={})
    assert report.returncode == 0, report.stderr
    again = [row for row in csv.DictReader((tmp_path / "b.csv").open(encoding="ascii")) if row["engine"] == "GR0"]
    assert again == rows and report.stdout == done.stdout
