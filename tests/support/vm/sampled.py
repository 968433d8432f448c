# SPDX-License-Identifier: GPL-2.0
"""Decodes /proc/gpuX/samples (include/uapi/gpulens.h) and finds time slices in it. Independent of the module's code:
sizes, offsets and codes are stated here again."""

import struct
from collections.abc import Iterator
from typing import NamedTuple, Optional

IDLE, ON, LOAD, SAVE, SWITCH, ERROR = range(6)
FULL, LATE, ASLEEP = 16, 17, 18
BUSY = 1
ALL = 0xFF
HEADER = struct.Struct("<4sHHIIQII32x")
ENGINE = struct.Struct("<HHHhhhhhII39sB")
SAMPLE = struct.Struct("<QBBBB4s")


class Engine(NamedTuple):
    """An engine record."""
    name: str
    runlist: int
    engine_id: int
    grce: bool


class Sample(NamedTuple):
    """A sample or a remark; word: the four bytes of id and channel as one number."""
    time_ns: int
    engine: int
    kind: int
    flags: int
    id: int
    channel: int
    word: int


class Recording(NamedTuple):
    """Everything that was read from one open file."""
    gpu: int
    start_ns: int
    period_us: int
    room: int
    engines: list[Engine]
    samples: list[Sample]

    def of_engine(self, engine: int) -> list[Sample]:
        """The samples of one engine, in order."""
        return [sample for sample in self.samples if sample.engine == engine]

    def remarks(self, kind: int) -> list[Sample]:
        """Remarks of one kind, which concern all engines; word is a number of ticks."""
        return [sample for sample in self.samples if sample.engine == ALL and sample.kind == kind]

    def missed(self) -> int:
        """The number of ticks without samples."""
        return sum(sample.word for sample in self.samples if sample.engine == ALL)


def _make_sample(engines: int, fields: tuple[int, int, int, int, int, bytes]) -> Sample:
    time_ns, engine, kind, flags, zero, rest = fields
    assert zero == 0
    assert kind >= FULL if engine == ALL else (kind <= ERROR and engine < engines), (engine, kind)
    return Sample(time_ns, engine, kind, flags, *struct.unpack("<hh", rest), *struct.unpack("<I", rest))


def decode_recording(data: bytes) -> Recording:
    """Decodes the complete content of a file, which must be well-formed."""
    magic, version, sample_bytes, engines, *settings = HEADER.unpack_from(data)
    assert (magic, version, sample_bytes) == (b"GPLT", 2, 16)
    records = [ENGINE.unpack_from(data, 64 + 64 * index) for index in range(engines)]
    assert all(record[0] == 2 for record in records)
    body = data[64 + 64 * engines:]
    assert len(body) % 16 == 0
    return Recording(
        *settings,
        [Engine(record[10].rstrip(b"\0").decode(), record[3], record[4], record[11] == 1) for record in records],
        [_make_sample(engines, fields) for fields in SAMPLE.iter_unpack(body)])


def whole_ticks(recording: Recording) -> int:
    """The number of ticks with samples, which must have one sample for each engine in order."""
    samples = [sample for sample in recording.samples if sample.engine != ALL]
    count = len(recording.engines)
    assert len(samples) % count == 0
    for first in range(0, len(samples), count):
        assert [sample.engine for sample in samples[first:first + count]] == list(range(count))
    return len(samples) // count


def step_us(samples: list[Sample]) -> float:
    """The median distance of an engine's samples."""
    return find_median([(later.time_ns - sample.time_ns) / 1000 for sample, later in zip(samples, samples[1:])])


def find_median(values: list[float]) -> float:
    """The middle value of the sorted ones."""
    return sorted(values)[len(values) // 2]


def measure_slices(samples: list[Sample], longest_us: float = 1e9) -> Iterator[tuple[int, float]]:
    """(TSG, microseconds) from the first sample of a TSG on the engine to the first that is not, for slices that begin
    and end within the samples, and in which no two samples are further apart than longest_us."""
    tsg: Optional[int] = None
    since: Optional[int] = None
    for number, sample in enumerate(samples):
        now = sample.id if sample.kind == ON else None
        if number and sample.time_ns - samples[number - 1].time_ns > longest_us * 1000:
            since = None
        elif number and now != tsg:
            if tsg is not None and since is not None:
                yield tsg, (sample.time_ns - since) / 1000
            since = sample.time_ns
        tsg = now
