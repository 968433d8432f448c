# SPDX-License-Identifier: GPL-2.0
"""Recordings of two machines, side by side in Perfetto's format and as a dataset for SQL. The queries of docs/queries
run as they are printed, in DuckDB and in SQLite.

alpha, up for 1000 s when its recording begins, at 2026-11-23 23:59:00 UTC: TSG 5, alice's, is on GR0 for 100 s, 40 of
them after midnight, and TSG 6, bob's, for 50 s; TSG 7, alice's, is on LCE2 for 30 s, 20 of them beside TSG 6. beta, up
for 50 s, begins 30 s later: TSG 5, alice's pod, is on GR0 for 20 s, and TSG 9, of which the process is unknown, for
10 s."""

import csv
import json
import os
import pathlib
import re
import socket
import sqlite3
import subprocess
import time
import typing

import pytest
from support.fakeproc import GR, LCE, FakeProc, make_marker, make_sample, sample_head, snapshot
from support.program import ROOT, gpulens
from support.recordings import (GPU_UUID, MACHINE, SECOND, Process, Turn, make_clocks, make_owner, make_recording,
                                make_texts, read_packets, read_slices)

QUERIES = ROOT / "docs/queries"
BEGIN = 1795478340 * SECOND  # 2026-11-23 23:59:00 UTC
UUID = "GPU-12345678-1234-1234-1234-123456789abc"
CONTAINER = "0123456789abcdef" * 4
POD = "11111111-2222-3333-4444-555555555555"
ALICE = Process(100, "python3", "alice")
BOB = Process(200, "train, fast", "bob")
PODDED = Process(300, "python3", "alice", POD, CONTAINER)

ALPHA = make_recording(
    (GR, LCE), [Turn(0, 5, 1000, 1100), Turn(0, 6, 1100, 1150), Turn(1, 7, 1090, 1120)],
    make_clocks(1000 * SECOND, 1010 * SECOND, BEGIN), make_texts(MACHINE, "alpha"), make_texts(GPU_UUID, UUID),
    make_owner(0, 5, ALICE), make_owner(0, 6, BOB), make_owner(1, 7, ALICE))
BETA = make_recording((GR,), [Turn(0, 5, 50, 70), Turn(0, 9, 70, 80)],
                      make_clocks(0, 0, BEGIN - 20 * SECOND), make_texts(MACHINE, "beta"),
                      make_owner(0, 5, PODDED)) + make_marker(75 * SECOND, 17, 3)


@pytest.fixture(name="files")
def fixture_files(tmp_path: pathlib.Path) -> typing.List[str]:
    """The recordings of both machines."""
    for name, data in (("alpha", ALPHA), ("beta", BETA)):
        (tmp_path / f"{name}.rec").write_bytes(data)
    return [str(tmp_path / "alpha.rec"), str(tmp_path / "beta.rec")]


def run_report(*words: str) -> "subprocess.CompletedProcess[str]":
    """That must succeed."""
    done = gpulens("report", *words)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return done


# --- Perfetto

ON_GR0 = [(BEGIN, BEGIN + 100 * SECOND), (BEGIN + 100 * SECOND, BEGIN + 150 * SECOND)]
ALPHA_GPU, BETA_GPU = ("alpha: gpu0: GP106 (Pascal), 0000:01:00.0", "beta: gpu0: GP106 (Pascal), 0000:01:00.0")
SIDE_BY_SIDE = {
    (ALPHA_GPU, "GR0"): ON_GR0, (ALPHA_GPU, "LCE2"): [(BEGIN + 90 * SECOND, BEGIN + 120 * SECOND)],
    (BETA_GPU, "GR0"): [(BEGIN + 30 * SECOND, BEGIN + 50 * SECOND), (BEGIN + 50 * SECOND, BEGIN + 60 * SECOND)]}


def test_machines_are_side_by_side_by_the_wall_clock(files: typing.List[str], tmp_path: pathlib.Path) -> None:
    """One trace of both recordings, and the traces of each behind one another in any order. Seen failing with
    MONOTONIC in place of the sequence's own clock."""
    trace = tmp_path / "fleet.perfetto-trace"
    run_report(*files, "-o", str(trace))
    assert read_slices(trace.read_bytes()) == SIDE_BY_SIDE
    parts = []
    for file in files:
        run_report(file, "--clock", "realtime", "-o", f"{file}.perfetto-trace")
        parts.append(pathlib.Path(f"{file}.perfetto-trace").read_bytes())
    assert read_slices(parts[0] + parts[1]) == read_slices(parts[1] + parts[0]) == SIDE_BY_SIDE


def test_clock_snapshots_come_before_events(files: typing.List[str], tmp_path: pathlib.Path) -> None:
    """With REALTIME (1) as the trace's clock, MONOTONIC and BOOTTIME of each machine as 64 and 65. Perfetto takes the
    trace's clock from the first packets. Seen failing with the second machine's snapshot before its events."""
    trace = tmp_path / "fleet.perfetto-trace"
    run_report(*files, "-o", str(trace))
    kinds = [6 in packet for packet in read_packets(trace.read_bytes())]
    assert kinds[:3] == [True, True, False] and not any(kinds[2:])


def test_one_machines_trace_is_in_boottime(files: typing.List[str], tmp_path: pathlib.Path) -> None:
    """For traces of its CPUs; the machine was up for 1010 s. Seen failing with REALTIME."""
    trace = tmp_path / "alpha.perfetto-trace"
    run_report(files[0], "-o", str(trace))
    found = read_slices(trace.read_bytes())
    assert found[(ALPHA_GPU, "GR0")] == [(1010 * SECOND, 1110 * SECOND), (1110 * SECOND, 1160 * SECOND)]


def test_a_recording_without_clocks_is_beside_no_other(files: typing.List[str], tmp_path: pathlib.Path) -> None:
    """It is named, and nothing is written. --clock boottime is wrong usage for several. Seen failing with time 0."""
    old = tmp_path / "old.rec"
    old.write_bytes(make_recording((GR,), [Turn(0, 5, 50, 70)]))
    trace = tmp_path / "fleet.perfetto-trace"
    done = gpulens("report", files[0], str(old), "-o", str(trace))
    assert done.returncode == 3 and f"{old}: gpu0: GP106" in done.stderr and "no wall clock" in done.stderr
    assert not trace.exists()
    done = gpulens("report", *files, "--clock", "boottime", "-o", str(trace))
    assert done.returncode == 2 and "--clock" in done.stderr and not trace.exists()


# --- HTML

def test_charts_have_one_time_axis(files: typing.List[str], tmp_path: pathlib.Path) -> None:
    """150 s from alpha's begin on; beta's 30 s begin 30 s later, the rest of its chart is hatched. A process has one
    colour on all engines. Seen failing with an axis of 30 s for beta, and another colour for TSG 7."""
    run_report(*files, "-o", str(tmp_path / "fleet.html"))
    page = (tmp_path / "fleet.html").read_text()
    assert re.findall(r'class="(chart[^"]*)"', page) == ["chart common", "chart common"]
    assert re.findall(r'viewBox="(.*?)"', page) == ["0.0 0 150000000.0 110", "-30000000.0 0 150000000.0 66"]
    assert page.count("All GPUs have one time axis: 0 ms is 2026-11-23 23:59:00.000000 UTC.") == 2
    assert re.findall(r'<rect x="(.*?)" y="0" width="(.*?)" .*<title>(not sampled.*?)</title>', page) == [
        ("-30000000.0", "30000000.0", "not sampled: 30.000 s at 0.000 ms"),
        ("30000000.0", "90000000.0", "not sampled: 90.000 s at 60000.000 ms")]
    assert '<rect x="0.0" y="25" width="20000000.0" height="16"><title>TSG 5 (300 python3): 20.000 s at 30000' in page
    assert re.findall(r'background:(#\w+)"></i>(.*?)</div>', page) == [
        ("#0072b2", "TSG 5 (100 python3)"), ("#e69f00", "TSG 6 (200 train, fast)"), ("#0072b2", "TSG 7 (100 python3)"),
        ("#009e73", "TSG 5 (300 python3)"), ("#cc79a7", "TSG 9")]


def test_charts_without_clocks_have_axes_of_their_own(files: typing.List[str], tmp_path: pathlib.Path) -> None:
    """As soon as one recording has no clocks; the page says so. One recording needs no such words."""
    old = tmp_path / "old.rec"
    old.write_bytes(make_recording((GR,), [Turn(0, 5, 50, 70)]))
    run_report(files[0], str(old), "-o", str(tmp_path / "a.html"))
    page = (tmp_path / "a.html").read_text()
    assert re.findall(r'viewBox="(.*?)"', page) == ["0.0 0 150000000.0 110", "0.0 0 20000000.0 44"]
    assert page.count("Each GPU has a time axis of its own, as not all recordings have a wall clock.") == 2
    assert 'class="chart common"' not in page and "<title>not sampled" not in page
    run_report(files[0], "-o", str(tmp_path / "a.html"))
    assert "time axis" not in (tmp_path / "a.html").read_text()


# --- CSV

def rows_of(path: pathlib.Path) -> typing.List[typing.Dict[str, str]]:
    """Of a file with a head."""
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_csv_has_machine_and_wall_clock(files: typing.List[str], tmp_path: pathlib.Path) -> None:
    """New columns are behind those of version 0.1.0 and what followed. The interval over midnight is two lines, of 60
    and 40 of its 100 samples. Seen failing with one line."""
    run_report(*files, "-o", str(tmp_path / "fleet.csv"))
    assert (tmp_path / "fleet.csv").read_text().splitlines()[0] == (
        "start_ns,end_ns,engine,runlist,state,tsg,channel,samples,busy,pid,process,gpu,user,container,evidence,pod,"
        "device,gpu_uuid,start_unix_ns,end_unix_ns,start_utc,day,machine")
    rows = rows_of(tmp_path / "fleet.csv")
    assert [(row["machine"], row["day"], row["engine"], row["tsg"], row["start_utc"], row["samples"], row["busy"])
            for row in rows] == [
        ("alpha", "2026-11-23", "GR0", "5", "2026-11-23 23:59:00.000000", "60", "60"),
        ("alpha", "2026-11-24", "GR0", "5", "2026-11-24 00:00:00.000000", "40", "40"),
        ("alpha", "2026-11-24", "GR0", "6", "2026-11-24 00:00:40.000000", "50", "50"),
        ("alpha", "2026-11-24", "LCE2", "7", "2026-11-24 00:00:30.000000", "30", "30"),
        ("beta", "2026-11-23", "GR0", "5", "2026-11-23 23:59:30.000000", "20", "20"),
        ("beta", "2026-11-23", "GR0", "9", "2026-11-23 23:59:50.000000", "10", "10"),
        ("beta", "2026-11-23", "", "", "2026-11-23 23:59:55.000000", "3", "")]
    assert (rows[1]["start_ns"], rows[1]["end_ns"]) == (str(1060 * SECOND), str(1100 * SECOND))
    assert (rows[1]["start_unix_ns"], rows[1]["end_unix_ns"]) == (str(BEGIN + 60 * SECOND), str(BEGIN + 100 * SECOND))
    assert (rows[0]["gpu_uuid"], rows[4]["gpu_uuid"], rows[0]["device"]) == (UUID, "", "0000:01:00.0")
    assert (rows[4]["container"], rows[4]["pod"], rows[0]["pod"]) == (CONTAINER, POD, "")
    assert (rows[2]["process"], rows[6]["state"], rows[6]["end_unix_ns"]) == (
        "train, fast", "sampling came too late", "")


def test_record_names_machine_and_gpu(tmp_path: pathlib.Path) -> None:
    """The host's name, or --machine; the UUID as NVIDIA's driver tells it; today's day. Also in a recording whose end,
    with the last record of clocks, is cut off. Seen failing without introduce()."""
    proc = tmp_path / "proc"
    (proc / "driver/nvidia/gpus/0000:01:00.0").mkdir(parents=True)
    (proc / "driver/nvidia/gpus/0000:01:00.0/information").write_text(f"GPU UUID: \t {UUID}\n")
    FakeProc(proc).show(snapshot({}))
    begun = time.monotonic_ns()
    (proc / "gpu0/samples").write_bytes(b"    " + sample_head((GR,)) + b"".join(
        make_sample(begun + i * 10**6, 0, 5) for i in range(100)))
    words = ("--proc", str(proc), "-g", "0", "record", "--every", "1ms", "--for", "300ms")
    before = time.time_ns()
    done = gpulens(*words, "-o", str(tmp_path / "a.rec"), "-o", str(tmp_path / "a.csv"))
    assert (done.returncode, done.stderr) == (0, "")
    [row] = rows_of(tmp_path / "a.csv")
    assert (row["machine"], row["gpu_uuid"]) == (socket.gethostname(), UUID)
    assert abs(int(row["start_unix_ns"]) - before) < 60 * SECOND and row["start_ns"] == str(begun)
    assert row["start_utc"][:10] == row["day"] == time.strftime("%Y-%m-%d", time.gmtime(
        int(row["start_unix_ns"]) // SECOND))
    data = (tmp_path / "a.rec").read_bytes()
    (tmp_path / "cut.rec").write_bytes(data[:-80])
    run_report(str(tmp_path / "cut.rec"), "-o", str(tmp_path / "cut.csv"))
    [cut] = rows_of(tmp_path / "cut.csv")
    assert (cut["machine"], cut["gpu_uuid"], cut["day"]) == (row["machine"], UUID, row["day"])
    done = gpulens(*words, "--machine", "node-7", "--dataset", str(tmp_path / "data"))
    assert (done.returncode, done.stderr) == (0, "")
    [file] = list_tree(tmp_path / "data")
    assert re.fullmatch(rf"day={row['day']}/machine=node-7/{row['day'].replace('-', '')}T\d{{6}}\.\d{{9}}Z\.csv", file)


def test_an_older_recording_has_neither_machine_nor_wall_clock(tmp_path: pathlib.Path) -> None:
    """These fields are empty; --machine names it. Seen failing with 1970-01-01."""
    (tmp_path / "a").write_bytes(sample_head((GR,)) + b"".join(make_sample(i * 10**6, 0, 5) for i in range(1, 4)))
    for words, machine in (((), ""), (("--machine", "old-1"), "old-1")):
        run_report(str(tmp_path / "a"), *words, "-o", str(tmp_path / "a.csv"))
        [row] = rows_of(tmp_path / "a.csv")
        assert [row[name] for name in ("device", "gpu_uuid", "start_unix_ns", "end_unix_ns", "start_utc", "day",
                                       "machine")] == ["", "", "", "", "", "", machine]


@pytest.mark.parametrize("name", ("", ".", "..", "a/b", "a b", "x" * 254, "a\n"))
def test_a_machine_is_named_by_a_word(name: str, tmp_path: pathlib.Path) -> None:
    """A name that is no folder's: wrong usage. Seen failing with all names allowed: ".." left the dataset."""
    (tmp_path / "a").write_bytes(BETA)
    done = gpulens("report", str(tmp_path / "a"), "--machine", name, "--dataset", str(tmp_path / "data"))
    assert done.returncode == 2 and not (tmp_path / "data").exists()


# --- the dataset

PARTITIONS = ["day=2026-11-23/machine=alpha/20261123T235900.000000000Z.csv",
              "day=2026-11-23/machine=beta/20261123T235930.000000000Z.csv",
              "day=2026-11-24/machine=alpha/20261123T235900.000000000Z.csv"]


def list_tree(folder: pathlib.Path) -> typing.List[str]:
    """Its files, drafts as well."""
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


@pytest.fixture(name="dataset")
def fixture_dataset(files: typing.List[str], tmp_path: pathlib.Path) -> pathlib.Path:
    """That of both recordings."""
    run_report(*files, "--dataset", str(tmp_path / "gpulens-data"))
    return tmp_path / "gpulens-data"


def test_partitions_are_days_and_machines(dataset: pathlib.Path) -> None:
    """The files, whose columns are those of -o FILE.csv but for the last two. Seen failing with day in the files."""
    assert list_tree(dataset) == PARTITIONS
    lines = (dataset / PARTITIONS[0]).read_text().splitlines()
    assert len(lines) == 2 and lines[0].endswith(",start_unix_ns,end_unix_ns,start_utc")
    assert lines[1].endswith(f",{BEGIN},{BEGIN + 60 * SECOND},2026-11-23 23:59:00.000000")


def test_nothing_is_added_twice(dataset: pathlib.Path, files: typing.List[str]) -> None:
    """Also if one of a recording's days is missing: status 3, and no file is changed, made or left behind. Seen failing
    with OutputFile::Existing::Replace."""
    (dataset / PARTITIONS[0]).unlink()
    (dataset / PARTITIONS[2]).write_text("kept")
    done = gpulens("report", files[0], "--dataset", str(dataset))
    assert done.returncode == 3
    assert done.stderr == f"gpulens: {dataset}/{PARTITIONS[2]}: this recording is in the dataset already\n"
    assert list_tree(dataset) == PARTITIONS[1:] and (dataset / PARTITIONS[2]).read_text() == "kept"


def test_all_days_of_a_recording_are_added_or_none(tmp_path: pathlib.Path) -> None:
    """The second day's file does not fit: the first one's is taken back. Seen failing without withdraw()."""
    turns = [Turn(0, 5 + second % 2, second, second + 1) for second in range(60)]
    clocks = make_clocks(0, 0, BEGIN + 58 * SECOND)
    (tmp_path / "a").write_bytes(make_recording((GR,), turns, clocks, make_texts(MACHINE, "a")))
    limited = ("sh", "-c", 'trap "" XFSZ; exec prlimit --fsize=4096 "$@"', "sh")
    done = gpulens("report", str(tmp_path / "a"), "--dataset", str(tmp_path / "data"), before=limited)
    assert done.returncode == 3 and "day=2026-11-24" in done.stderr and "EFBIG" in done.stderr, done.stderr
    assert not list_tree(tmp_path / "data")
    run_report(str(tmp_path / "a"), "--dataset", str(tmp_path / "data"))
    assert len(list_tree(tmp_path / "data")) == 2


def test_what_has_no_partition_is_refused(tmp_path: pathlib.Path) -> None:
    """A recording without a machine, and one without clocks: status 3, the file and what is missing are named. Seen
    failing without the checks."""
    turns = [Turn(0, 5, 50, 70)]
    for name, data, message in (
            ("nameless", make_recording((GR,), turns, make_clocks(0, 0, BEGIN)),
             "its machine is unknown; give its name with --machine HOST"),
            ("timeless", make_recording((GR,), turns, make_texts(MACHINE, "a")),
             "it has no wall clock, so that its days are unknown: it is of an older version, or cut short"),
            ("outside", make_recording((GR,), turns, make_texts(MACHINE, "../a"), make_clocks(0, 0, BEGIN)),
             'its machine "../a" cannot be the name of a folder; give another one with --machine HOST')):
        (tmp_path / name).write_bytes(data)
        done = gpulens("report", str(tmp_path / name), "--dataset", str(tmp_path / "data"))
        assert (done.returncode, done.stderr) == (3, f"gpulens: {tmp_path / name}: {message}\n")
        assert not (tmp_path / "data").exists()


def test_a_dataset_that_cannot_be_written_is_an_error(tmp_path: pathlib.Path) -> None:
    """A file in place of the folder: named, before anything is recorded. Seen failing without the check of record."""
    (tmp_path / "file").touch()
    for words in (("record", "--for", "60s"), ("report", str(tmp_path / "none"))):
        done = gpulens(*words, "--dataset", str(tmp_path / "file"))
        assert done.returncode == 3 and f"{tmp_path}/file: ENOTDIR" in done.stderr, done.stderr
        done = gpulens(*words, "--dataset", str(tmp_path / "file/below"))
        assert done.returncode == 3 and f"{tmp_path}/file/below: ENOTDIR" in done.stderr, done.stderr
    done = gpulens("record")
    assert done.returncode == 2 and "-o FILE or --dataset DIR" in done.stderr
    (tmp_path / "a").write_bytes(BETA)
    done = gpulens("report", str(tmp_path / "a"), str(tmp_path / "a"))
    assert done.returncode == 2 and "-o FILE or --dataset DIR" in done.stderr


def test_a_recording_that_does_not_begin_makes_no_folder(tmp_path: pathlib.Path) -> None:
    """No GPU, no recording: a folder of the dataset that does not exist is not made. Seen failing while it was."""
    for words in (("--proc", str(tmp_path), "record", "--for", "1s"), ("report", str(tmp_path / "none"))):
        done = gpulens(*words, "--dataset", str(tmp_path / "data/deep"))
        assert done.returncode == 3 and done.stderr and not list(tmp_path.iterdir()), done.stderr


# --- SQL

class Column(typing.NamedTuple):
    """A column of docs/recordings.md."""
    name: str
    type: str


def list_columns() -> typing.List[Column]:
    """Those that are described, in their order."""
    table = (ROOT / "docs/recordings.md").read_text(encoding="utf-8").split("## CSV")[1].split("## The dataset")[0]
    kinds = "BIGINT|INTEGER|VARCHAR|TIMESTAMP|DATE"
    return [Column(*found) for found in re.findall(rf"^\| (\w+) \| ({kinds}) \|", table, re.M)]


Rows = typing.List[typing.Tuple[typing.Any, ...]]


def ask_sqlite(dataset: pathlib.Path, query: str) -> Rows:
    """The rows of a query, on a table of the files, in which what is empty is NULL."""
    base = sqlite3.connect(":memory:")
    columns = ", ".join(f'"{name}" {kind}' for name, kind in list_columns())
    base.execute(f"CREATE TABLE gpulens ({columns})")
    marks = ", ".join("?" for _ in list_columns())
    for path in dataset.rglob("*.csv"):
        partition = dict(part.split("=") for part in path.parent.relative_to(dataset).parts)
        for row in rows_of(path):
            base.execute(f"INSERT INTO gpulens VALUES ({marks})", [
                {**row, **partition}[column.name] or None for column in list_columns()])
    return list(base.execute((QUERIES / query).read_text(encoding="utf-8")))


def ask_duckdb(dataset: pathlib.Path, *queries: str) -> typing.List[Rows]:
    """The rows of each query, after duckdb.sql, from the folder in which the dataset is."""
    done = subprocess.run([ROOT / "scripts/fetch-duckdb"], check=False, capture_output=True, text=True)
    if done.returncode:
        pytest.skip(done.stderr.strip())
    words = [str(QUERIES / query) for query in ("duckdb.sql", *queries)]
    ran = subprocess.run(["node", str(ROOT / "tests/support/duckdb/query.js"), *words], cwd=dataset.parent, check=False,
                         capture_output=True, text=True,
                         env={**os.environ, "NODE_PATH": str(ROOT / "build/duckdb/node_modules")})
    assert ran.returncode == 0, ran.stderr
    return [[tuple(row) for row in rows] for rows in json.loads(ran.stdout)[1:]]


# By query: its rows.
ANSWERS: typing.Dict[str, Rows] = {
    "busy.sql": [
        ("2026-11-23", "alpha", 0, 100, "python3", "alice", None, 60.0),
        ("2026-11-23", "beta", 0, 300, "python3", "alice", POD, 20.0),
        ("2026-11-23", "beta", 0, None, None, None, None, 10.0),
        ("2026-11-24", "alpha", 0, 200, "train, fast", "bob", None, 50.0),
        ("2026-11-24", "alpha", 0, 100, "python3", "alice", None, 40.0)],
    "top_tenants.sql": [
        ("alice", None, 1, 1, 100.0), ("bob", None, 1, 1, 50.0), ("alice", POD, 1, 1, 20.0), (None, None, 1, 1, 10.0)],
    # TSG 7 is on LCE2 from 00:00:30 to 00:01:00, TSG 5 on GR0 until 00:00:40 and TSG 6 from then on.
    "overlap.sql": [("2026-11-24", "alpha", 0, 0, 6, 1, 7, 20.0), ("2026-11-24", "alpha", 0, 0, 5, 1, 7, 10.0)],
    "lost.sql": [("2026-11-23", "beta", 0, "sampling came too late", 3)],
}


def as_text(rows: Rows) -> Rows:
    """Each value as text, a number without a fraction as an integer."""
    return [tuple(None if value is None else str(int(value)) if isinstance(value, float) and value == int(value)
                  else str(value) for value in row) for row in rows]


def test_every_query_is_tried_and_described() -> None:
    """docs/recordings.md links each file of docs/queries; each has an answer here. Seen failing with a file more."""
    linked = set(re.findall(r"\]\(queries/([^)]+)\)", (ROOT / "docs/recordings.md").read_text(encoding="utf-8"))) - {""}
    names = {path.name for path in QUERIES.iterdir()}
    assert linked == names == {*ANSWERS, "duckdb.sql", "parquet.sql"}


def test_every_column_is_described(files: typing.List[str], tmp_path: pathlib.Path) -> None:
    """docs/recordings.md has those of a file in their order, and duckdb.sql the same with the same types. Seen failing
    with pod left out."""
    run_report(*files, "-o", str(tmp_path / "fleet.csv"))
    head = (tmp_path / "fleet.csv").read_text().splitlines()[0].split(",")
    assert [column.name for column in list_columns()] == head
    table = (QUERIES / "duckdb.sql").read_text(encoding="utf-8").split("columns =")[1]
    assert re.findall(r"'(\w+)': '(\w+)'", table) == [tuple(column) for column in list_columns()][:-2]


@pytest.mark.parametrize("query", sorted(ANSWERS))
def test_sqlite_answers(dataset: pathlib.Path, query: str) -> None:
    """Each query, as it is printed. Seen failing with an interval over midnight in one line, and with IS NOT NULL in
    lost.sql."""
    assert as_text(ask_sqlite(dataset, query)) == as_text(ANSWERS[query])


def test_duckdb_answers(dataset: pathlib.Path) -> None:
    """Each query, as it is printed, on the folder that gpulens wrote, and again on the Parquet files that parquet.sql
    makes of it. Seen failing without quote in duckdb.sql, where DuckDB guessed that there are none, and with IS NOT
    NULL in lost.sql."""
    names = sorted(ANSWERS)
    answers = ask_duckdb(dataset, *names, "parquet.sql")
    for name, rows in zip(names, answers):
        assert [tuple(re.sub(r"\.0$", "", value) if value else value for value in row) for row in rows] == as_text(
            ANSWERS[name]), name
    parquet = dataset.parent / "parquet.sql"
    parquet.write_text("SELECT day, machine, COUNT(*), SUM(samples) FROM read_parquet('gpulens-parquet/*/*/*.parquet', "
                       "hive_partitioning = true) GROUP BY day, machine ORDER BY day, machine")
    assert ask_duckdb(dataset, str(parquet))[0] == [
        ("2026-11-23", "alpha", "1", "60"), ("2026-11-23", "beta", "3", "33"), ("2026-11-24", "alpha", "3", "120")]
