# SPDX-License-Identifier: GPL-2.0
"""Makes the ROM of an emulated GPU for a driver that wants one: tables that NVIDIA publishes, without a script, a table
of displays or a program of a falcon. The emulated GPU is as after devinit, so that nothing in the ROM is executed.

Sources: PCI Firmware Specification 3.0, 5.1 (55 AA, PCIR); open-gpu-doc BIOS-Information-Table (BIT header, tokens, the
structures BIOSDATA, NVINIT_PTRS, MEMORY_PTRS, PERF_PTRS, FALCON_DATA), MemoryClockTable, DCB (header of 4.x);
open-gpu-kernel-modules kernel_gsp_fwsec.c (falcon ucode table); nouveau bios/M0203.c (memory information table),
bios/pmu.c (application 4 is devinit), bios/volt.c (voltage table), nouveau_bios.c (pointer to the DCB at 0x36)."""

import struct
from collections.abc import Mapping

SIZE = 8 << 10  # bytes; nouveau wants 4 KiB at least
BLOCK = 512  # PCIR counts in these
PCIR, BIT, DATA = 0x40, 0x100, 0x200
VERSION = bytes((0x00, 0x00, 0x06, 0x86))  # shown as 86.06.00.00: this project's choice
# Of the memory information table, by strap: strap (7:4), type (3:0). Strap 0: GDDR5. Strap 1, Kepler: DDR3, since
# nouveau wants a table of link training for GDDR5 (subdev/fb/ramgk104.c).
MEMORY_TYPES = (0x03, 0x11)


class _Image:
    """A ROM that grows: place() puts a structure behind the last one and returns where."""

    def __init__(self) -> None:
        self.data = bytearray(SIZE)
        self._next = DATA

    def put(self, where: int, content: bytes) -> None:
        """Stores bytes at a fixed place."""
        self.data[where:where + len(content)] = content

    def place(self, content: bytes) -> int:
        """Stores bytes at the next multiple of 16."""
        where = self._next
        self.put(where, content)
        self._next = (where + len(content) + 15) & ~15
        return where


def _falcon_table(image: _Image) -> int:
    """One program, devinit, whose descriptor says that it is empty."""
    descriptor = image.place(bytes(0x30))
    # version, bytes of the header, bytes of an entry, entries, version and bytes of a descriptor
    header = struct.pack("<6B", 1, 6, 6, 1, 1, 0x30)
    return image.place(header + struct.pack("<BBI", 0x04, 0, descriptor))


def _pack_tokens(image: _Image) -> list[bytes]:
    """The tokens of BIT: id, version, bytes and place of the data."""
    clocks = image.place(struct.pack("<6B20x", 0x11, 26, 20, 26, 0, 0))
    memory = image.place(struct.pack("<5BH", 0x10, 7, 2, len(MEMORY_TYPES), 0, 0) +
                         b"".join(bytes((kind, 0)) for kind in MEMORY_TYPES))
    # Version, bytes of the header, of an entry, entries; it says no more. nouveau 6.1 crashes on Kepler without it:
    # gk104_volt_new() reports success and makes nothing.
    voltages = image.place(struct.pack("<4B28x", 0x50, 32, 0, 0))
    structures = (
        (b"i", 2, VERSION + bytes(28)),
        (b"I", 1, struct.pack("<H32x", image.place(bytes(2)))),  # a table of scripts without one
        (b"M", 2, struct.pack("<BHH8xII", 1, 0, memory, 0, 0)),
        (b"P", 2, struct.pack("<IIII36x", 0, clocks, 0, voltages)),
        (b"p", 2, struct.pack("<I", _falcon_table(image))),
    )
    return [struct.pack("<cBHH", name, version, len(data), image.place(data)) for name, version, data in structures]


def build_rom(profile: Mapping[str, Mapping[str, str]]) -> bytes:
    """The ROM for a chip's profile (emulator/profiles), whose PCI ids it has."""
    image = _Image()
    image.put(0, b"\x55\xaa" + bytes((SIZE // BLOCK,)))
    image.put(0x18, struct.pack("<H", PCIR))
    vendor, device = (int(profile["pci"][key], 16) for key in ("vendor", "device"))
    image.put(PCIR, struct.pack("<4sHHHHB3sHHBBH", b"PCIR", vendor, device, 0, 0x18, 0, b"\x00\x00\x03", SIZE // BLOCK,
                                0, 0, 0x80, 0))
    tokens = _pack_tokens(image)
    header = struct.pack("<H4sHBBBB", 0xb8ff, b"BIT\0", 0x0100, 12, 6, len(tokens), 0)
    image.put(BIT, header[:-1] + bytes((-sum(header) & 0xff,)) + b"".join(tokens))
    # version 4.0, bytes of the header, entries, bytes of an entry, pointer to the CCB, signature, further pointers
    dcb = image.place(struct.pack("<4BHI17x", 0x40, 27, 0, 8, 0, 0x4edcbdcb))
    image.put(0x36, struct.pack("<H", dcb))
    image.data[SIZE - 1] = -sum(image.data) & 0xff
    return bytes(image.data)
