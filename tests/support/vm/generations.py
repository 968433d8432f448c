# SPDX-License-Identifier: GPL-2.0
"""What each of the 23 emulated chips, one or more of each generation, must look like through /proc, as literals.

Sources, by what they give:
- boot: chip ids by open-gpu-kernel-modules nv_arch.h and nouveau engine/device/base.c (GA10B's: linux-nvgpu); revision
  A1 is the emulated boards' choice.
- engines and runlists: the device tables of a Titan V (GV100) and of a GTX 1660 Ti (TU116);
  RTAS'24 (Bakita & Anderson) Table II (GP106), Table III (GA10B), Table IV (AD102), section V.C
  (GP10B); nouveau engine/fifo/gk104.c (Kepler); an H200's resource manager, driver 580.159.04 (GH100). Which runlist
  serves the engines of the others is assumed: it stands here so that a change shows.
- units: envytools docs/hw/gpu.rst (Kepler, GM107, TU102, TU104, TU117), linux-nvgpu hw_proj_*.h (GM20B, GP100, GP10B,
  GV100, GV11B, GA100, GA10B), nouveau engine/gr/gp102.c (GP102); the others are the boards' product data.
- silent: the files whose registers NVIDIA publishes for no chip of that family (fuses: before GM20x, after Hopper; copy
  engine maps: before Pascal, after Hopper; size of memory: see the chips' heads in src/chip)."""

from typing import NamedTuple, Optional

FUSES = ("gpc_mask", "tpc_map")
COPIES = ("pce_map", "copy_topology")
MEMORY = ("local_memory",)


class Generation(NamedTuple):
    """One chip. engines: RUNLIST:NAMES, "-" for none; units: GPCs, TPCs in each; silent: files that give EOPNOTSUPP."""
    name: str
    boot0: int
    engines: str
    units: tuple[int, int]
    silent: tuple[str, ...] = ()
    bare: bool = False  # its demo has channel 30, which is in no TSG
    platform: Optional[str] = None  # a Tegra: the name of its platform device

    @property
    def by_runlist(self) -> dict[Optional[int], list[str]]:
        """Runlist -> short names of its engines, sorted."""
        found: dict[Optional[int], list[str]] = {}
        for word in self.engines.split():
            runlist, _, names = word.partition(":")
            found[None if runlist == "-" else int(runlist)] = sorted(names.split(","))
        return found

    @property
    def runlists(self) -> list[int]:
        """Those that there is a file for."""
        return sorted(runlist for runlist in self.by_runlist if runlist is not None)

    def runlist_of(self, engine: str) -> Optional[int]:
        """The runlist of an engine that the chip has."""
        return next(runlist for runlist, names in self.by_runlist.items() if engine in names)


# open-gpu-doc volta/gv100/dev_top.ref.txt NV_PTOP_DEVICE_INFO_TYPE_ENUM_*; open-gpu-kernel-modules blackwell/gb100/
# dev_top.h, dev_top_zb.h; nouveau nvkm/subdev/top/ga100.c. 26 stands in no manual.
TYPES = {0x00: "GR", 0x01: "COPY0.", 0x02: "COPY1.", 0x03: "COPY2.", 0x08: "MSPDEC", 0x09: "MSPPP", 0x0A: "MSVLD",
         0x0B: "MSENC", 0x0D: "SEC", 0x0E: "NVENC", 0x0F: "NVENC1.", 0x10: "NVDEC", 0x12: "IOCTRL", 0x13: "LCE",
         0x14: "GSP", 0x15: "NVJPG", 0x16: "OFA", 0x18: "HSHUB", 0x1A: "FSP", 0x1F: "TMR", 0x33: "PBUS", 0x34: "PTOP",
         0x35: "HUBMMU"}

_KEPLER = "0:GR0,COPY2.0 1:MSPDEC0 2:MSPPP0 3:MSVLD0 4:COPY0.0 5:COPY1.0 6:MSENC0"
_TURING = "0:GR0,LCE0,LCE1 1:NVDEC0 2:NVENC0 3:SEC0 5:LCE2 6:LCE3 7:LCE4 -:"

GENERATIONS = (
    Generation("GM20B", 0x12B000A1, "0:GR0,COPY2.0", (1, 2), COPIES + MEMORY, True, "57000000.gpu"),
    Generation("GP10B", 0x13B000A1, "0:GR0,LCE0", (1, 2), MEMORY, True, "17000000.gp10b"),
    Generation("GV11B", 0x15B000A1, "0:GR0,LCE0,LCE1 1:LCE2", (1, 4), MEMORY, False, "17000000.gv11b"),
    Generation("GA10B", 0x17B000A1, "0:GR0,LCE0,LCE1 1:LCE2 2:GR1,LCE3", (2, 4), MEMORY, False, "17000000.ga10b"),
    Generation("GK104", 0x0E4000A1, _KEPLER, (4, 2), FUSES + COPIES + MEMORY, True),
    Generation("GK110", 0x0F0000A1, _KEPLER, (5, 3), FUSES + COPIES + MEMORY, True),
    Generation("GM107", 0x117000A1, "0:GR0,COPY2.0 1:NVDEC0 2:NVENC0 4:COPY0.0", (1, 5), FUSES + COPIES + MEMORY, True),
    Generation("GM204", 0x124000A1, "0:GR0,COPY2.0 1:NVDEC0 2:NVENC0 3:SEC0 4:NVENC1.0 5:COPY0.0 6:COPY1.0", (4, 4),
               COPIES + MEMORY, True),
    Generation("GP100", 0x130000A1, "0:GR0,LCE0,LCE1 1:NVDEC0 2:NVENC0 3:NVENC1.0 4:SEC0 5:LCE2 6:LCE3 7:LCE4 8:LCE5 "
               "-:IOCTRL0", (6, 5), MEMORY, True),
    Generation("GP102", 0x132000A1, "0:GR0,LCE0,LCE1 1:NVDEC0 2:NVENC0 3:SEC0 4:NVENC1.0 5:LCE2 6:LCE3", (6, 5), (),
               True),
    Generation("GP106", 0x136000A1, "0:GR0,LCE0,LCE1 1:NVDEC0 2:NVENC0 3:SEC0 5:LCE2 6:LCE3", (2, 5)),
    Generation("GV100", 0x140000A1, "0:GR0,LCE0,LCE1 1:NVDEC0 2:NVENC0 3:SEC0 4:NVENC1 5:NVENC2 6:LCE2 7:LCE3 8:LCE4 "
               "9:LCE5 10:LCE6 11:LCE7 12:LCE8 -:IOCTRL0,GSP0", (6, 7)),
    Generation("TU102", 0x162000A1, _TURING + "IOCTRL0,GSP0", (6, 6)),
    Generation("TU104", 0x164000A1, _TURING + "IOCTRL0,GSP0", (6, 4)),
    Generation("TU116", 0x168000A1, "0:GR0,LCE0,LCE1 1:NVDEC0 2:NVENC0 3:SEC0 8:LCE2 9:LCE3 10:LCE4 -:GSP0", (3, 4)),
    Generation("TU117", 0x167000A1, _TURING + "GSP0", (2, 4)),
    Generation("GA100", 0x170000A1, "0:GR0,LCE0,LCE1 1:GR1 2:GR2 3:GR3 4:GR4 5:GR5 6:GR6 7:GR7 8:LCE2 9:LCE3 10:LCE4 "
               "11:LCE5 12:LCE6 13:LCE7 14:LCE8 15:LCE9 16:NVDEC0 17:NVDEC1 18:NVDEC2 19:NVDEC3 20:NVDEC4 21:NVJPG0 "
               "22:OFA0 23:SEC0 -:IOCTRL0,GSP0", (8, 8)),
    Generation("GA102", 0x172000A1, "0:GR0,LCE0,LCE1 1:LCE2 2:LCE3 3:LCE4 4:NVDEC0 5:NVDEC1 6:NVENC0 7:OFA0 8:SEC0 "
               "-:GSP0", (7, 6)),
    Generation("AD102", 0x192000A1, "0:GR0,LCE0,LCE1 1:LCE2 2:LCE3 3:LCE4 4:NVDEC0 5:NVDEC1 6:NVDEC2 8:NVENC0 9:NVENC1 "
               "10:NVENC2 11:NVJPG0 12:NVJPG1 13:NVJPG2 14:NVJPG3 15:OFA0 16:SEC0 -:GSP0", (12, 6)),
    Generation("AD104", 0x194000A1, "0:GR0,LCE0,LCE1 1:LCE2 2:LCE3 3:LCE4 4:NVDEC0 8:NVENC0 9:NVENC1 11:NVJPG0 15:OFA0 "
               "16:SEC0 -:GSP0", (5, 6)),
    Generation("GH100", 0x180000A1, "0:GR0,LCE0,LCE1 1:LCE2 3:LCE3 5:NVJPG0 6:NVDEC1 8:OFA0 10:LCE4 13:NVDEC2 "
               "14:NVJPG2 15:NVDEC3 16:NVJPG3 21:NVDEC4 22:NVJPG4 23:NVDEC5 24:NVJPG5 25:SEC0 30:NVDEC6 31:NVJPG6 "
               "32:NVDEC7 33:NVJPG7 -:GSP0,FSP0", (8, 9)),
    Generation("GB100", 0x1A0000A1, "0:GR0,LCE0,LCE1 1:LCE2 2:LCE3 3:NVDEC0 4:NVJPG0 5:OFA0 6:SEC0 8:LCE4 9:LCE5 "
               "10:NVDEC1 11:NVJPG1 -:GSP0,FSP0,HSHUB0,HSHUB1,TMR0,PBUS0,HUBMMU0,PTOP0", (8, 10), FUSES + COPIES),
    # The runlist registers of these are not published, so that no engine's runlist is known
    Generation("GB202", 0x1B2000A1, "-:GR0,LCE0,LCE1,LCE2,LCE3,LCE4,LCE5,NVDEC0,NVDEC1,NVENC0,NVENC1,NVENC2,NVJPG0,"
               "NVJPG1,OFA0,SEC0,GSP0,FSP0", (12, 8), FUSES + COPIES),
)

TEGRA = tuple(chip for chip in GENERATIONS if chip.platform is not None)

# channels on the graphics runlist of every demo scenario, in the order of the list; some demos have one more, in no TSG
GRAPHICS_CHANNELS = [8, 9, 10, 11, 16, 17, 24, 25, 26, 27]
