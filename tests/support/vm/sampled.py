# SPDX-License-Identifier: GPL-2.0
"""Reads what /proc/gpuX/samples gives (include/uapi/gpulens.h), and what of it is a time slice. Independent of the
module's own code: sizes, offsets and codes are written here once more."""

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
    """One sample, or a remark; word is what stands in the place of id and channel."""
    time_ns: int
    engine: int
    kind: int
    flags: int
    id: int
    channel: int
    word: int


class Recording(NamedTuple):
    """All that was read from one open file."""
    gpu: int
    start_ns: int
    period_us: int
    room: int
    engines: list[Engine]
    samples: list[Sample]

    def of_engine(self, engine: int) -> list[Sample]:
        """The samples of one engine, in order."""
        return [one for one in self.samples if one.engine == engine]

    def remarks(self, kind: int) -> list[Sample]:
        """Those about all engines, of one kind; word is how many ticks."""
        return [one for one in self.samples if one.engine == ALL and one.kind == kind]

    def missed(self) -> int:
        """How many ticks have no samples."""
        return sum(one.word for one in self.samples if one.engine == ALL)


def _sample(engines: int, fields: tuple[int, int, int, int, int, bytes]) -> Sample:
    time_ns, engine, kind, flags, zero, rest = fields
    assert zero == 0
    assert kind >= FULL if engine == ALL else (kind <= ERROR and engine < engines), (engine, kind)
    return Sample(time_ns, engine, kind, flags, *struct.unpack("<hh", rest), *struct.unpack("<I", rest))


def decode(data: bytes) -> Recording:
    """The whole of a file's content, which must be well-formed."""
    magic, version, sample_bytes, engines, *how = HEADER.unpack_from(data)
    assert (magic, version, sample_bytes) == (b"GPLT", 2, 16)
    records = [ENGINE.unpack_from(data, 64 + 64 * index) for index in range(engines)]
    assert all(record[0] == 2 for record in records)
    body = data[64 + 64 * engines:]
    assert len(body) % 16 == 0
    return Recording(
        *how, [Engine(record[10].rstrip(b"\0").decode(), record[3], record[4], record[11] == 1) for record in records],
        [_sample(engines, fields) for fields in SAMPLE.iter_unpack(body)])


def whole_ticks(recording: Recording) -> int:
    """Ticks with samples: one for each engine, in order, none between them."""
    samples = [one for one in recording.samples if one.engine != ALL]
    count = len(recording.engines)
    assert len(samples) % count == 0
    for first in range(0, len(samples), count):
        assert [one.engine for one in samples[first:first + count]] == list(range(count))
    return len(samples) // count


def step_us(samples: list[Sample]) -> float:
    """The median distance of an engine's samples."""
    return median([(two.time_ns - one.time_ns) / 1000 for one, two in zip(samples, samples[1:])])


def median(values: list[float]) -> float:
    """The one in the middle."""
    return sorted(values)[len(values) // 2]


def slices(samples: list[Sample], longest_us: float = 1e9) -> Iterator[tuple[int, float]]:
    """(TSG, microseconds) from the first sample of it on the engine to the first that is not, of those that both begin
    and end in here, and in which no two samples are further apart."""
    tsg: Optional[int] = None
    since: Optional[int] = None
    for number, one in enumerate(samples):
        now = one.id if one.kind == ON else None
        if number and one.time_ns - samples[number - 1].time_ns > longest_us * 1000:
            since = None
        elif number and now != tsg:
            if tsg is not None and since is not None:
                yield tsg, (one.time_ns - since) / 1000
            since = one.time_ns
        tsg = now
