# SPDX-License-Identifier: GPL-2.0
"""Recordings of gpulens record, made byte by byte: the samples of tests/support/fakeproc.py and the records that
tools/lib/model/recording.hpp describes, written here once more. And Perfetto's traces, read."""

import struct
import typing

from support.fakeproc import IDLE, ON, Engine, make_sample, sample_head, snapshot
from support.protobuf import read_fields

SECOND = 10**9
MACHINE, GPU_UUID, CONTAINER, POD, USER = range(1, 6)  # enum class RecordedText
REALTIME, MONOTONIC, BOOTTIME = 1, 3, 6  # builtin_clock.proto of google/perfetto, protos/perfetto/common
TSG = 1  # PROCESS_TSG
RESIDENT = 2  # Evidence::Resident


def make_record(data: bytes, time_ns: int = 0) -> bytes:
    """A sample of kind SAMPLE_RECORD (19) and 64 bytes."""
    assert len(data) == 64
    return struct.pack("<QBBBBhh", time_ns, 0xFF, 19, 0, 0, 0, 0) + data


def make_clocks(monotonic_ns: int, boottime_ns: int, realtime_ns: int) -> bytes:
    """A ClocksRecord (11)."""
    return make_record(struct.pack("<H6xQQQ32x", 11, monotonic_ns, boottime_ns, realtime_ns))


def make_texts(about: int, value: str) -> bytes:
    """The TextRecords (12) that hold a text."""
    data, records = value.encode(), b""
    while True:
        records += make_record(struct.pack("<HBB60s", 12, about, len(data) > 60, data[:60]))
        data = data[60:]
        if not data:
            return records


class Process(typing.NamedTuple):
    """The process that a TSG belongs to."""
    pid: int
    name: str
    user: str
    pod: str = ""
    container: str = ""


def make_owner(runlist: int, tsg: int, process: Process) -> bytes:
    """A ProcessRecord (9) of a TSG, with its texts."""
    data = make_record(struct.pack("<HHI16sBBHH16s16s2x", 9, 0xFFFF, process.pid, process.name.encode(), RESIDENT, TSG,
                                   runlist, tsg, process.user.encode(), process.container.encode()[:15]))
    data += make_texts(CONTAINER, process.container) if len(process.container) > 15 else b""
    return data + (make_texts(POD, process.pod) if process.pod else b"")


class Turn(typing.NamedTuple):
    """A TSG on an engine, in seconds of CLOCK_MONOTONIC."""
    engine: int
    tsg: int
    begin: int
    end: int


def make_recording(engines: "tuple[Engine, ...]", turns: typing.List[Turn], *records: bytes, gpu: int = 0,
                   with_snapshot: bool = True) -> bytes:
    """A sample of each engine each second, from the second of the first turn to that of the last one's end."""
    data = snapshot({}, gpu=gpu, engines=engines) if with_snapshot else b""
    data += sample_head(engines, 1000000, gpu) + b"".join(records)
    for second in range(min(turn.begin for turn in turns), max(turn.end for turn in turns) + 1):
        for number in range(len(engines)):
            tsg = next((turn.tsg for turn in turns if turn.engine == number and turn.begin <= second < turn.end), -1)
            data += make_sample(second * SECOND, number, tsg, ON if tsg >= 0 else IDLE)
    return data


def read_packets(trace: bytes) -> typing.List[typing.Dict[int, typing.Any]]:
    """The packets of a trace (Trace.packet 1), as the last value of each field."""
    return [dict(read_fields(value)) for field, value in read_fields(trace) if field == 1 and isinstance(value, bytes)]


class TraceReader:
    """Reads slices as Perfetto's clock-sync.md has it: clocks from 64 to 127 are those of the packet's sequence, and
    convert by its own snapshots. Fields: timestamp 8, sequence 10, event 11 (type 9, track 11), flags 13, clock 58,
    track 60 (uuid 1, name 2, parent 5), clocks 6 (clocks 1, primary 2)."""

    def __init__(self) -> None:
        self.primary = 0  # clock of the trace
        self.offsets: typing.Dict[typing.Tuple[int, int], int] = {}  # by sequence, 0 for all of them, and clock
        self.tracks: typing.Dict[int, typing.Tuple[str, int]] = {}  # name and parent by uuid
        self.begun: typing.Dict[int, int] = {}  # time of the open slice by uuid
        self.found: typing.Dict[int, typing.List[typing.Tuple[int, int]]] = {}

    def take_clocks(self, sequence: int, snapshot_packet: bytes) -> None:
        """Takes a ClockSnapshot."""
        times = {}
        for field, value in read_fields(snapshot_packet):
            if isinstance(value, bytes):
                clock = dict(read_fields(value))
                times[clock[1]] = typing.cast(int, clock[2])
            else:
                assert field == 2 and self.primary in (0, value)
                self.primary = value
        for number, time_ns in times.items():
            key = (sequence if 64 <= typing.cast(int, number) < 128 else 0, typing.cast(int, number))
            self.offsets[key] = times[self.primary] - time_ns

    def take_event(self, sequence: int, packet: typing.Dict[int, typing.Any]) -> None:
        """Takes a TrackEvent: TYPE_SLICE_BEGIN (1), TYPE_SLICE_END (2) or another."""
        event, clock = dict(read_fields(packet[11])), packet[58]
        offset = 0 if clock == self.primary else self.offsets[(sequence if 64 <= clock < 128 else 0, clock)]
        uuid = typing.cast(int, event[11])
        if event[9] == 1:
            self.begun[uuid] = packet[8] + offset
        elif event[9] == 2:
            self.found.setdefault(uuid, []).append((self.begun.pop(uuid), packet[8] + offset))

    def take_track(self, data: bytes) -> None:
        """Takes a TrackDescriptor."""
        track: typing.Dict[int, typing.Any] = dict(read_fields(data))
        described = (track[2].decode(), track.get(5, 0))
        assert self.tracks.setdefault(track[1], described) == described, "two tracks have one uuid"


def read_slices(trace: bytes) -> typing.Dict[typing.Tuple[str, str], typing.List[typing.Tuple[int, int]]]:
    """Begin and end of each slice, in the trace's clock, by names of GPU and engine."""
    reader = TraceReader()
    sequences = set()
    for packet in read_packets(trace):
        sequence = packet[10]
        assert sequence and (sequence in sequences or packet.get(13) == 1), "a sequence begins without cleared state"
        sequences.add(sequence)
        if 6 in packet:
            reader.take_clocks(sequence, packet[6])
        if 60 in packet:
            reader.take_track(packet[60])
        if 11 in packet:
            reader.take_event(sequence, packet)
    names = reader.tracks
    return {(names[names[uuid][1]][0], names[uuid][0]): times for uuid, times in reader.found.items()}


class Event(typing.NamedTuple):
    """Of a track."""
    time: int
    kind: int
    name: str
    notes: "dict[str, int]"


def read_tracks(trace: bytes) -> "dict[str, list[Event]]":
    """The events of each track of a Perfetto trace, by the track's name."""
    names: "dict[int, str]" = {}
    tracks: "dict[str, list[Event]]" = {}
    for _, packet in read_fields(trace):
        assert isinstance(packet, bytes)
        fields: "dict[int, typing.Any]" = dict(read_fields(packet))
        if 60 in fields:
            track = dict(read_fields(fields[60]))
            assert isinstance(track[2], bytes) and isinstance(track[1], int)
            names[track[1]] = track[2].decode()
        if 11 in fields:
            event: "dict[int, typing.Any]" = dict(read_fields(fields[11]))
            notes = [dict(read_fields(value)) for number, value in read_fields(fields[11])
                     if number == 4 and isinstance(value, bytes)]
            tracks.setdefault(names[event[11]], []).append(
                Event(fields[8], event[9], event.get(23, b"").decode(),
                      {note[10].decode(): note[3] for note in notes if 3 in note}))  # type: ignore[union-attr,misc]
    return tracks
