# SPDX-License-Identifier: GPL-2.0
"""What each emulated chip, one or more of each generation, must look like through /proc: the literals in
tests/support/generations/, which name their sources. The C++ tests read the same files
(tests/support/generations.hpp)."""

import json
import pathlib
from typing import Any, NamedTuple, Optional

from lib.chips import CHIPS

FOLDER = pathlib.Path(__file__).resolve().parents[1] / "generations"
FUSES = ("gpc_mask", "tpc_map")
# The files that give EOPNOTSUPP, by the part of the topology whose registers no public source gives. Where TPCs are
# counted, tpc_map is not one of them.
SILENT = {"fuses": FUSES, "copy": ("pce_map", "copy_topology"), "memory": ("local_memory",)}


class Generation(NamedTuple):
    """One chip. engines: RUNLIST:NAMES, "-" for no runlist; units: GPCs, TPCs in each; silent: files that give
    EOPNOTSUPP; counted: the TPCs of each logical GPC, where the hardware only counts them."""
    name: str
    boot0: int
    engines: str
    units: tuple[int, int]
    silent: tuple[str, ...]
    bare: bool  # its demo has channel 30, which is in no TSG
    counted: tuple[int, ...]
    platform: Optional[str]  # a Tegra: the name of its platform device

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
        """The runlists that /proc/gpuX has a file for."""
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


def read_literals() -> dict[str, dict[str, Any]]:
    """The file of each generation, by its name, which is that of its row in src/chip/."""
    return {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(FOLDER.glob("*.json"))}


def _make_chip(profile: str, literals: dict[str, Any]) -> Generation:
    counted = tuple(literals.get("counted_tpcs", ()))
    silent: tuple[str, ...] = sum((SILENT[part] for part in literals["unpublished"]), ())
    return Generation(name=profile.upper(), boot0=int(literals["boot0"], 16), engines=" ".join(literals["engines"]),
                      units=(literals["units"]["gpcs"], literals["units"]["tpcs_per_gpc"]),
                      silent=tuple(name for name in silent if not (counted and name == "tpc_map")),
                      bare=literals.get("bare_channel", False), counted=counted, platform=literals.get("platform"))


def _read_chips() -> tuple[Generation, ...]:
    """All chips in the order of scripts/lib/chips.py, Tegras first."""
    literals = {profile: chip for each in read_literals().values() for profile, chip in each["emulated"].items()}
    chips = (_make_chip(chip.name, literals[chip.name]) for chip in CHIPS if chip.name in literals)
    return tuple(sorted(chips, key=lambda chip: chip.platform is None))


GENERATIONS = _read_chips()
TEGRA = tuple(chip for chip in GENERATIONS if chip.platform is not None)

# channels on the graphics runlist of every demo scenario, in the order of the list; some demos have one more, in no TSG
GRAPHICS_CHANNELS = [8, 9, 10, 11, 16, 17, 24, 25, 26, 27]
