# SPDX-License-Identifier: GPL-2.0
"""What each emulated chip must look like through /proc, as literals. Not read from the emulator's profiles: the tables
are the papers' and the manuals', and where no source says, the emulator's README and profile say "assumed" and the
same number stands here so that a change shows.

Sources: RTAS'24 (Bakita & Anderson, "Demystifying NVIDIA GPU Internals") Table II (GP106) and Table IV (AD102);
open-gpu-doc turing/tu104/dev_ce.ref.txt (TU102's copy engines); an H200's resource manager, driver 580.159.04
(GH100)."""

from typing import NamedTuple, Optional

from lib.chips import names_of


class Chip(NamedTuple):
    """One chip's expected contents. engines: (name as in the papers, runlist or None)."""
    name: str
    boot0: int
    engines: tuple[tuple[str, Optional[int]], ...]
    absent_runlist: int  # below the highest, but no engine has it
    memory: int
    gpcs: int
    tpcs_per_gpc: int
    ces: int
    tpc_masks: tuple[int, ...]  # by physical GPC; a set bit is disabled
    pce_map: int
    lce_for_pce: tuple[int, ...]
    shared_lce: tuple[int, ...]  # by GRCE; 0xf none
    channels: int
    per_runlist: bool  # ids count per runlist
    scenario: str
    window: int
    preempts_runlists: bool = True

    def ref(self, number: int, runlist: int = 0) -> str:
        """How a user names this channel or TSG."""
        return f"{runlist}:{number}" if self.per_runlist else str(number)


GRCES = (("Graphics/Compute 0", 0), ("[Graphics] Copy Engine 0 (GRCE0/LCE0)", 0),
         ("[Graphics] Copy Engine 1 (GRCE1/LCE1)", 0))

GP106 = Chip(
    name="GP106", boot0=0x136000A1,
    # RTAS'24 Table II, whole
    engines=(*GRCES, ("Video Decoder 0 (NVDEC0)", 1), ("Video Encoder 0 (NVENC0)", 2), ("Sequencer", 3),
             ("Copy Engine 2 (LCE2)", 5), ("Copy Engine 3 (LCE3)", 6)),
    absent_runlist=4, memory=3 << 30, gpcs=2, tpcs_per_gpc=5, ces=4, tpc_masks=(0x00, 0x10),
    pce_map=0xF, lce_for_pce=(0, 1, 2, 3), shared_lce=(0xF, 0xF),
    channels=4096, per_runlist=False, scenario="tenants", window=0x1700, preempts_runlists=False)

TU102 = Chip(
    name="TU102", boot0=0x162000A1,
    engines=(*GRCES, ("Video Decoder 0 (NVDEC0)", 1), ("Video Encoder 0 (NVENC0)", 2), ("Sequencer", 3),
             ("Copy Engine 2 (LCE2)", 5), ("Copy Engine 3 (LCE3)", 6), ("Copy Engine 4 (LCE4)", 7),
             ("NVLink Control 0 (IOCTRL0)", None), ("GPU System Processor 0 (GSP0)", None)),
    absent_runlist=4, memory=11 << 30, gpcs=6, tpcs_per_gpc=6, ces=5, tpc_masks=(0, 0x04, 0, 0, 0x20, 0),
    pce_map=0xF, lce_for_pce=(1, 4, 2, 3), shared_lce=(1, 0xF),
    channels=4096, per_runlist=False, scenario="tenants", window=0x1700)

AD102 = Chip(
    name="AD102", boot0=0x192000A1,
    # RTAS'24 Table IV, whole, and one device without a runlist
    engines=(*GRCES, ("Copy Engine 2 (LCE2)", 1), ("Copy Engine 3 (LCE3)", 2), ("Copy Engine 4 (LCE4)", 3),
             ("Video Decoder 0 (NVDEC0)", 4), ("Video Decoder 1 (NVDEC1)", 5), ("Video Decoder 2 (NVDEC2)", 6),
             ("Video Encoder 0 (NVENC0)", 8), ("Video Encoder 1 (NVENC1)", 9), ("Video Encoder 2 (NVENC2)", 10),
             ("JPEG Decoder 0 (NVJPG0)", 11), ("JPEG Decoder 1 (NVJPG1)", 12), ("JPEG Decoder 2 (NVJPG2)", 13),
             ("JPEG Decoder 3 (NVJPG3)", 14), ("Optical Flow Accelerator", 15), ("Sequencer", 16),
             ("GPU System Processor 0 (GSP0)", None)),
    absent_runlist=7, memory=48 << 30, gpcs=12, tpcs_per_gpc=6, ces=5,
    tpc_masks=(0, 0, 0, 0, 0, 0, 0, 0x08, 0, 0, 0, 0),
    pce_map=0x1F, lce_for_pce=(0xF, 0xF, 2, 3, 4), shared_lce=(3, 2),
    channels=2048, per_runlist=True, scenario="tenants-per-runlist", window=0x1700)

GH100 = Chip(
    name="GH100", boot0=0x180000A1,
    # every engine the resource manager lists, and two devices without a runlist
    engines=(*GRCES, ("Copy Engine 2 (LCE2)", 1), ("Copy Engine 3 (LCE3)", 3), ("JPEG Decoder 0 (NVJPG0)", 5),
             ("Video Decoder 1 (NVDEC1)", 6), ("Optical Flow Accelerator", 8), ("Copy Engine 4 (LCE4)", 10),
             ("Video Decoder 2 (NVDEC2)", 13), ("JPEG Decoder 2 (NVJPG2)", 14), ("Video Decoder 3 (NVDEC3)", 15),
             ("JPEG Decoder 3 (NVJPG3)", 16), ("Video Decoder 4 (NVDEC4)", 21), ("JPEG Decoder 4 (NVJPG4)", 22),
             ("Video Decoder 5 (NVDEC5)", 23), ("JPEG Decoder 5 (NVJPG5)", 24), ("Sequencer", 25),
             ("Video Decoder 6 (NVDEC6)", 30), ("JPEG Decoder 6 (NVJPG6)", 31), ("Video Decoder 7 (NVDEC7)", 32),
             ("JPEG Decoder 7 (NVJPG7)", 33), ("GPU System Processor 0 (GSP0)", None), ("Unknown (type 26) 0", None)),
    # run 1: 147221504 KiB; enabled TPCs 0x1ff 0x1fb 0x1bf 0x1bf 0x1bf 0x1ff 0x1bf 0x1bf, so disabled:
    absent_runlist=2, memory=147221504 << 10, gpcs=8, tpcs_per_gpc=9, ces=5,
    tpc_masks=(0x000, 0x004, 0x040, 0x040, 0x040, 0x000, 0x040, 0x040),
    # LCE4 on PCEs 0-11, LCE2 on 12 and 14, LCE3 on 13 and 15; GRCE0 shares with LCE2, GRCE1 with LCE3
    pce_map=0xFFFF, lce_for_pce=(4,) * 12 + (2, 3, 2, 3), shared_lce=(2, 3),
    channels=2048, per_runlist=True, scenario="tenants-per-runlist", window=0x10FD40)

# the resource manager's answers for GH100: engine id, MMU fault id, base of the runlist's registers, by name
GH100_IDS = {
    "Graphics/Compute 0": (0, 0x180, 0xC00000),
    "[Graphics] Copy Engine 0 (GRCE0/LCE0)": (1, 0x2B, 0xC00000),
    "[Graphics] Copy Engine 1 (GRCE1/LCE1)": (2, 0x2C, 0xC00000),
    "Copy Engine 2 (LCE2)": (3, 0x2D, 0xC00400),
    "Copy Engine 3 (LCE3)": (5, 0x2E, 0xC00800),
    "JPEG Decoder 0 (NVJPG0)": (7, 0x1B, 0xC06000),
    "Video Decoder 1 (NVDEC1)": (8, 0x14, 0xC04400),
    "Optical Flow Accelerator": (10, 0x35, 0xC08000),
    "Copy Engine 4 (LCE4)": (12, 0x2F, 0xC00C00),
    "Video Decoder 2 (NVDEC2)": (15, 0x15, 0xC04800),
    "JPEG Decoder 2 (NVJPG2)": (16, 0x1D, 0xC06800),
    "Video Decoder 3 (NVDEC3)": (17, 0x16, 0xC04C00),
    "JPEG Decoder 3 (NVJPG3)": (18, 0x1E, 0xC06C00),
    "Video Decoder 4 (NVDEC4)": (23, 0x17, 0xC05000),
    "JPEG Decoder 4 (NVJPG4)": (24, 0x1F, 0xC07000),
    "Video Decoder 5 (NVDEC5)": (25, 0x18, 0xC05400),
    "JPEG Decoder 5 (NVJPG5)": (26, 0x20, 0xC07400),
    "Sequencer": (27, 0x6, 0xC08400),
    "Video Decoder 6 (NVDEC6)": (32, 0x19, 0xC05800),
    "JPEG Decoder 6 (NVJPG6)": (33, 0x21, 0xC07800),
    "Video Decoder 7 (NVDEC7)": (34, 0x1A, 0xC05C00),
    "JPEG Decoder 7 (NVJPG7)": (35, 0x22, 0xC07C00),
}

_KNOWN = {chip.name.lower(): chip for chip in (GP106, TU102, AD102, GH100)}


def chips_for(run: str) -> tuple[Chip, ...]:
    """The chips that a run of scripts/lib/chips.py takes."""
    return tuple(_KNOWN[name] for name in names_of(run))


CHIPS = chips_for("demo")
