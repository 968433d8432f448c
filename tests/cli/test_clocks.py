# SPDX-License-Identifier: GPL-2.0
"""The clocks in a trace for Perfetto: BOOTTIME, which Perfetto's own traces of the CPU use, and REALTIME, with which
recordings of several machines are compared."""

import pathlib
import subprocess
import time
import typing

from support.fakeproc import GR, ON, FakeProc, Tsg, make_sample, sample_head, snapshot
from support.program import TOOL, gpulens
from support.protobuf import read_fields

# builtin_clock.proto of google/perfetto, protos/perfetto/common
REALTIME, MONOTONIC, BOOTTIME = 1, 3, 6
CLOCKS = {REALTIME: time.CLOCK_REALTIME, MONOTONIC: time.CLOCK_MONOTONIC, BOOTTIME: time.CLOCK_BOOTTIME}
SECOND = 10**9


def clocks_of(trace: pathlib.Path) -> typing.Tuple[typing.Dict[int, int], int]:
    """The times by clock, and the primary clock, in the first packet of a trace: Trace.packet 1,
    TracePacket.clock_snapshot 6, ClockSnapshot.clocks 1 and primary_trace_clock 2, Clock.clock_id 1 and timestamp 2."""
    packet = next(value for field, value in read_fields(trace.read_bytes()) if field == 1)
    assert isinstance(packet, bytes)
    snapshot = next(value for field, value in read_fields(packet) if field == 6)
    assert isinstance(snapshot, bytes)
    times, primary = {}, 0
    for field, value in read_fields(snapshot):
        if isinstance(value, bytes):
            clock = dict(read_fields(value))
            times[clock[1]] = clock[2]
        elif field == 2:
            primary = value
    return times, primary  # type: ignore[return-value]


def test_a_trace_has_the_clocks_of_its_machine(tmp_path: pathlib.Path) -> None:
    """record and a later report write the same clocks: the time of the first sample by three clocks, whose differences
    are those of this machine to within a minute, as they are not read at once. Seen failing without the record of
    clocks, and with BOOTTIME's number for REALTIME."""
    gpu = tmp_path / "gpu0"
    FakeProc(tmp_path).show(snapshot({0: [Tsg(5, 2000000, ())]}))
    begun = time.monotonic_ns()
    (gpu / "samples").write_bytes(b"    " + sample_head((GR,)) + b"".join(
        make_sample(begun + i * 1000000, 0, 5, ON) for i in range(100)))
    files = [tmp_path / name for name in ("a.perfetto-trace", "a.rec", "b.perfetto-trace")]
    done = gpulens("--proc", str(tmp_path), "-g", "0", "record", "--every", "1ms", "--for", "300ms",
                   "-o", str(files[0]), "-o", str(files[1]))
    assert (done.returncode, done.stderr) == (0, "")
    assert gpulens("report", str(files[1]), "-o", str(files[2])).returncode == 0
    for file in (files[0], files[2]):
        times, primary = clocks_of(file)
        assert primary == BOOTTIME and set(times) == set(CLOCKS)
        assert times[MONOTONIC] == begun
        for clock, name in CLOCKS.items():
            here = time.clock_gettime_ns(name) - time.monotonic_ns()
            assert abs(times[clock] - times[MONOTONIC] - here) < 60 * SECOND, clock


def test_an_older_recording_has_one_clock(tmp_path: pathlib.Path) -> None:
    """The recording does not say how its clock relates to others. Seen failing with the clocks of the machine that
    reports."""
    data = sample_head((GR,)) + b"".join(make_sample(i * 1000000, 0, 5, ON) for i in range(10))
    subprocess.run([str(TOOL), "report", "-", "-o", str(tmp_path / "a.perfetto-trace")], input=data, check=True,
                   stdout=subprocess.DEVNULL)
    assert clocks_of(tmp_path / "a.perfetto-trace") == ({MONOTONIC: 0}, MONOTONIC)
