# SPDX-License-Identifier: GPL-2.0
"""A folder that is to the tool what /proc is where the module is loaded: gpuX/snapshot, topology and samples with bytes
as include/uapi/gpulens.h lays them out, written here once more, and FIFOs in place of the files that steer."""

import os
import pathlib
import struct
from typing import NamedTuple, Optional

CHIP_IDS = {"GP106": 0x136, "AD102": 0x192}
PER_RUNLIST = {"AD102"}  # whose ids count per runlist
ENABLED, NEXT, CTX_RELOAD, PBDMA_FAULTED, ENG_FAULTED, BUSY, ON_PBDMA, ON_ENG, PENDING = (1 << n for n in range(9))
IDLE, ON, LOAD, SAVE = range(4)
LATE, ASLEEP = 17, 18
WORKING = 1  # a sample's flag: ENGINE_BUSY
CONTROL = ("disable_channel", "enable_channel", "preempt_tsg")
EPERM = 1
STATUS_ON_ENG = 7  # NV_PCCSR_CHANNEL_STATUS_ON_PBDMA_AND_ENG is 6, ON_ENG is 7 (nvgpu, hw_ccsr_gp10b.h)


class Engine(NamedTuple):
    """Type and inst are NV_PTOP_DEVICE_INFO_TYPE_ENUM's: 0 is graphics, 19 an LCE."""
    name: str
    runlist: int
    type: int = 0
    inst: int = 0


class Channel(NamedTuple):
    """flags as in a snapshot; status is a PCCSR's."""
    id: int
    flags: int = ENABLED
    status: int = 0
    inst: int = 0


class Tsg(NamedTuple):
    """None as id: its channels are in no TSG."""
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
    """A whole one."""
    records = [struct.pack("<HHIQ4BII16s16s4x", 1, CHIP_IDS[chip], 0, 0, 0, 0, 0, chip in PER_RUNLIST, 0, 0,
                           chip.encode(), b"0000:01:00.0")]
    records += [engine_record(engine) for engine in engines]
    for runlist, tsgs in lists.items():
        entries = sum((tsg.id is not None) + len(tsg.channels) for tsg in tsgs)
        records.append(struct.pack("<HHHHIIIIQB31x", 3, runlist, entries, 0, 0, 4096, 0, 0, 0, 0))
        for tsg in tsgs:
            if tsg.id is not None:
                records.append(struct.pack("<HHHHBB6xQ40x", 4, runlist, tsg.id, len(tsg.channels), 3, 0, tsg.slice_ns))
            for one in tsg.channels:
                records.append(struct.pack("<HHhHIBBBBIIQ32x", 5, runlist, -1 if tsg.id is None else tsg.id, one.id,
                                           one.flags, one.status, 0, 0, 0, 0, 0, one.inst))
    head = struct.pack("<4sHHIIQQ32x", b"GPLS", 1, 64, len(records), gpu, time_ns, 1000)
    assert all(len(one) == 64 for one in [head, *records])
    return head + b"".join(records)


def topology(runlists: "tuple[int, ...]" = (0, 1), gpu: int = 0) -> bytes:
    """The file topology of a GTX 1060 3GB: what every user may read. GPCs of 5 and 4 TPCs, four copy engines' PCEs, two
    GRCEs, and EPERM (1) for each runlist."""
    records = [struct.pack("<HHIQ4BII16s16s4x", 1, CHIP_IDS["GP106"], 0, 3 << 30, 2, 5, 4, 0, 0, 0xF, b"GP106",
                           b"0000:01:00.0")]
    records += [engine_record(engine) for engine in (GR, LCE)]
    records += [struct.pack("<HHIHH52x", 6, *gpc) for gpc in ((0, 0, 0, 5), (1, 0x10, 5, 4))]
    records += [struct.pack("<HHh58x", 7, *pce) for pce in ((0, 2), (1, 3), (2, 2), (3, -1))]
    records += [struct.pack("<HHh58x", 8, *grce) for grce in ((0, 2), (1, -1))]
    records += [struct.pack("<HHHHIIIIQB31x", 3, runlist, 0, EPERM, 0, 4096, 0, 0, 0, 0) for runlist in runlists]
    head = struct.pack("<4sHHIIQQ32x", b"GPLS", 1, 64, len(records), gpu, 10**9, 0)
    assert all(len(one) == 64 for one in [head, *records])
    return head + b"".join(records)


def sample_head(engines: "tuple[Engine, ...]" = (GR, LCE), period_us: int = 1000, gpu: int = 0) -> bytes:
    """struct gpulens_samples_header and its engines."""
    return struct.pack("<4sHHIIQII32x", b"GPLT", 1, 16, len(engines), gpu, 0, period_us, 65536) + b"".join(
        engine_record(engine) for engine in engines)


def sample(time_ns: int, engine: int, tsg: int = -1, kind: Optional[int] = None, flags: int = WORKING) -> bytes:
    """One, on the engine with work; without a TSG: idle."""
    kind = (ON if tsg >= 0 else IDLE) if kind is None else kind
    return struct.pack("<QBBBBhh", time_ns, engine, kind, flags if tsg >= 0 else 0, 0, tsg, -1)


def remark(time_ns: int, kind: int, ticks: int) -> bytes:
    """So many ticks without samples."""
    return struct.pack("<QBBBBI", time_ns, 0xFF, kind, 0, 0, ticks)


# A program after these words has no privilege, also where the tests run as root.
ORDINARY = ("setpriv", "--bounding-set=-all", "--inh-caps=-all") if os.geteuid() == 0 else ()


class FakeProc:
    """The folder; a context of nothing else."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.folder = folder
        self._fifos: "dict[pathlib.Path, int]" = {}

    def gpu(self, index: int) -> pathlib.Path:
        """Its folder."""
        path = self.folder / f"gpu{index}"
        path.mkdir(exist_ok=True)
        return path

    def show(self, data: bytes, index: int = 0) -> None:
        """Another snapshot from now on; never half of one."""
        draft = self.folder / "draft"
        draft.write_bytes(data)
        draft.rename(self.gpu(index) / "snapshot")

    def closed(self, index: int = 0) -> None:
        """As an ordinary user finds it: topology can be read, snapshot and samples cannot be opened (EACCES) by a
        process that has no capability and another uid (ORDINARY)."""
        self.gpu(index).joinpath("topology").write_bytes(topology(gpu=index))
        for name in ("snapshot", "samples"):
            path = self.gpu(index) / name
            path.touch()
            path.chmod(0)
        self.gpu(index).joinpath("stats").write_text("read_topology 1\n")

    def sampled(self, data: bytes, index: int = 0, period_us: int = 1000) -> None:
        """More samples. The tool opens the file, writes the period to it, which goes over what stands there in its
        place, and reads on from there: its end is as good as nothing new."""
        path = self.gpu(index) / "samples"
        begin = b"" if path.exists() else str(period_us).encode()
        with path.open("ab") as file:
            file.write(begin + data)

    def steerable(self, index: int = 0) -> None:
        """Files that take what is written to them, for written()."""
        for name in CONTROL:
            path = self.gpu(index) / name
            os.mkfifo(path)
            self._fifos[path] = os.open(path, os.O_RDWR | os.O_NONBLOCK)

    def written(self, name: str, index: int = 0) -> str:
        """All that was written since, one write after the other."""
        try:
            return os.read(self._fifos[self.gpu(index) / name], 65536).decode()
        except BlockingIOError:
            return ""

    def close(self) -> None:
        """Ends what it holds open."""
        for fifo in self._fifos.values():
            os.close(fifo)
        self._fifos = {}
