# SPDX-License-Identifier: GPL-2.0
"""A folder in place of /proc with the module loaded: gpuX/snapshot and samples with bytes laid out as
include/uapi/gpulens.h states, written here independently, and FIFOs in place of the control files."""

import os
import pathlib
import struct
from typing import NamedTuple, Optional

CHIP_IDS = {"GP106": 0x136, "AD102": 0x192}
PER_RUNLIST = {"AD102"}  # the chips whose ids count per runlist
ENABLED, NEXT, CTX_RELOAD, PBDMA_FAULTED, ENG_FAULTED, BUSY, ON_PBDMA, ON_ENG, PENDING = (1 << n for n in range(9))
IDLE, ON, LOAD, SAVE = range(4)
LATE, ASLEEP = 17, 18
WORKING = 1  # a sample's flag: ENGINE_BUSY
CONTROL = ("disable_channel", "enable_channel", "hold_channel", "preempt_tsg")
EPERM = 1
STATUS_ON_ENG = 7  # NV_PCCSR_CHANNEL_STATUS_ON_PBDMA_AND_ENG is 6, ON_ENG is 7 (nvgpu, hw_ccsr_gp10b.h)


class Engine(NamedTuple):
    """Type and inst are NV_PTOP_DEVICE_INFO_TYPE_ENUM's: 0 is graphics, 19 an LCE."""
    name: str
    runlist: int
    type: int = 0
    inst: int = 0


class Channel(NamedTuple):
    """A channel; flags as in a snapshot, status as in PCCSR."""
    id: int
    flags: int = ENABLED
    status: int = 0
    inst: int = 0


class Tsg(NamedTuple):
    """A TSG; None as id: its channels are in no TSG."""
    id: Optional[int]
    slice_ns: int
    channels: "tuple[Channel, ...]"


GR = Engine("Graphics (GR0)", 0)
LCE = Engine("Copy Engine 2 (LCE2)", 1, 19, 2)


def engine_record(engine: Engine) -> bytes:
    """struct gpulens_engine."""
    return struct.pack("<HHHhhhhhII40s", 2, engine.type, engine.inst, engine.runlist, 0, -1, -1, -1, 0, 0,
                       engine.name.encode())


def snapshot(lists: "dict[int, list[Tsg]]", chip: str = "GP106", gpu: int = 0, time_ns: int = 10**9,
             engines: "tuple[Engine, ...]" = (GR, LCE)) -> bytes:
    """A complete snapshot."""
    records = [struct.pack("<HHIQ4BII16s16s4x", 1, CHIP_IDS[chip], 0, 0, 0, 0, 0, chip in PER_RUNLIST, 0, 0,
                           chip.encode(), b"0000:01:00.0")]
    records += [engine_record(engine) for engine in engines]
    for runlist, tsgs in lists.items():
        entries = sum((tsg.id is not None) + len(tsg.channels) for tsg in tsgs)
        records.append(struct.pack("<HHHHIIIIQB31x", 3, runlist, entries, 0, 0, 4096, 0, 0, 0, 0))
        for tsg in tsgs:
            if tsg.id is not None:
                records.append(struct.pack("<HHHHBB6xQ40x", 4, runlist, tsg.id, len(tsg.channels), 3, 0, tsg.slice_ns))
            for channel in tsg.channels:
                records.append(struct.pack("<HHhHIBBBBIIQ32x", 5, runlist, -1 if tsg.id is None else tsg.id, channel.id,
                                           channel.flags, channel.status, 0, 0, 0, 0, 0, channel.inst))
    head = struct.pack("<4sHHIIQQ32x", b"GPLS", 1, 64, len(records), gpu, time_ns, 1000)
    assert all(len(record) == 64 for record in [head, *records])
    return head + b"".join(records)


def make_topology(runlists: "tuple[int, ...]" = (0, 1), gpu: int = 0, error: int = EPERM) -> bytes:
    """The snapshot of a GTX 1060 3GB for a user without the capability: GPCs of 5 and 4 TPCs, PCEs of four copy
    engines, two GRCEs, and that error for each runlist."""
    records = [struct.pack("<HHIQ4BII16s16s4x", 1, CHIP_IDS["GP106"], 0, 3 << 30, 2, 5, 4, 0, 0, 0xF, b"GP106",
                           b"0000:01:00.0")]
    records += [engine_record(engine) for engine in (GR, LCE)]
    records += [struct.pack("<HHIHH52x", 6, *gpc) for gpc in ((0, 0, 0, 5), (1, 0x10, 5, 4))]
    records += [struct.pack("<HHh58x", 7, *pce) for pce in ((0, 2), (1, 3), (2, 2), (3, -1))]
    records += [struct.pack("<HHh58x", 8, *grce) for grce in ((0, 2), (1, -1))]
    records += [struct.pack("<HHHHIIIIQB31x", 3, runlist, 0, error, 0, 4096, 0, 0, 0, 0) for runlist in runlists]
    head = struct.pack("<4sHHIIQQ32x", b"GPLS", 1, 64, len(records), gpu, 10**9, 0)
    assert all(len(record) == 64 for record in [head, *records])
    return head + b"".join(records)


def sample_head(engines: "tuple[Engine, ...]" = (GR, LCE), period_us: int = 1000, gpu: int = 0) -> bytes:
    """struct gpulens_samples_header and its engines."""
    return struct.pack("<4sHHIIQII32x", b"GPLT", 1, 16, len(engines), gpu, 0, period_us, 65536) + b"".join(
        engine_record(engine) for engine in engines)


def make_sample(time_ns: int, engine: int, tsg: int = -1, kind: Optional[int] = None, flags: int = WORKING) -> bytes:
    """A sample of a busy engine; without a TSG: idle."""
    kind = (ON if tsg >= 0 else IDLE) if kind is None else kind
    return struct.pack("<QBBBBhh", time_ns, engine, kind, flags if tsg >= 0 else 0, 0, tsg, -1)


def make_marker(time_ns: int, kind: int, ticks: int) -> bytes:
    """A marker for that many ticks without samples."""
    return struct.pack("<QBBBBI", time_ns, 0xFF, kind, 0, 0, ticks)


# A program started by this command has no privilege, also if the tests run as root.
ORDINARY = ("setpriv", "--bounding-set=-all", "--inh-caps=-all") if os.geteuid() == 0 else ()


class FakeProc:
    """The folder, and the control files that it holds open."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.folder = folder
        self._fifos: "dict[pathlib.Path, int]" = {}

    def gpu(self, index: int) -> pathlib.Path:
        """The folder of a GPU."""
        path = self.folder / f"gpu{index}"
        path.mkdir(exist_ok=True)
        return path

    def show(self, data: bytes, index: int = 0) -> None:
        """Replaces the snapshot at once."""
        draft = self.folder / "draft"
        draft.write_bytes(data)
        draft.rename(self.gpu(index) / "snapshot")

    def closed(self, index: int = 0) -> None:
        """What an ordinary user gets: a snapshot without runlists; a process without capabilities and with another uid
        (ORDINARY) cannot open samples (EACCES)."""
        self.show(make_topology(gpu=index), index)
        samples = self.gpu(index) / "samples"
        samples.touch()
        samples.chmod(0)
        self.gpu(index).joinpath("stats").write_text("read_snapshot 1\n")

    def sampled(self, data: bytes, index: int = 0, period_us: int = 1000) -> None:
        """Appends samples. The tool opens the file, writes the period over its first bytes, and reads from there; the
        end of the file means that there are no new samples yet."""
        path = self.gpu(index) / "samples"
        begin = b"" if path.exists() else str(period_us).encode()
        with path.open("ab") as file:
            file.write(begin + data)

    def add_control_files(self, index: int = 0) -> None:
        """Creates control files. written() returns what was written to them."""
        for name in CONTROL:
            path = self.gpu(index) / name
            os.mkfifo(path)
            self._fifos[path] = os.open(path, os.O_RDWR | os.O_NONBLOCK)

    def written(self, name: str, index: int = 0) -> str:
        """Everything that was written since the last call."""
        try:
            return os.read(self._fifos[self.gpu(index) / name], 65536).decode()
        except BlockingIOError:
            return ""

    def close(self) -> None:
        """Closes the control files."""
        for fifo in self._fifos.values():
            os.close(fifo)
        self._fifos = {}
