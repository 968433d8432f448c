# SPDX-License-Identifier: GPL-2.0
"""The guest's kernel in the form that QEMU starts fastest. A bzImage unpacks itself, which takes longer under emulation
than the rest of a boot; a kernel with CONFIG_PVH also starts as the ELF file inside (Documentation/arch/x86/boot.rst:
payload_offset; the PVH entry is described in the kernel's arch/x86/platform/pvh/). Does not start QEMU."""

import bz2
import lzma
import os
import pathlib
import shutil
import struct
import subprocess
import zlib
from typing import Optional

from . import paths

SETUP_SECTS, HEADER_MAGIC, VERSION, PAYLOAD = 0x1f1, 0x202, 0x206, 0x248  # offsets in a bzImage
PAYLOAD_SINCE = 0x208  # version of the boot protocol


def find_kernel() -> pathlib.Path:
    """The file for QEMU's -kernel: the ELF file, or the bzImage of a kernel that lacks PVH or whose compression is not
    known here. The ELF file is kept beside it, so that another image of the version replaces both."""
    version = paths.kernel_version()
    packed = paths.kernel_tree() / "boot" / f"vmlinuz-{version}"
    if "PVH" not in paths.kernel_options():
        return packed
    unpacked = packed.with_name(f"vmlinux-{version}")
    if not unpacked.exists():
        content = unpack_kernel(packed.read_bytes())
        if content is None:
            return packed
        part = packed.with_name(f"vmlinux.{os.getpid()}")  # another process may do the same
        part.write_bytes(content)
        part.rename(unpacked)
    return unpacked


def unpack_kernel(image: bytes) -> Optional[bytes]:
    """The ELF file in a bzImage; None where its compression is not known here."""
    if image[HEADER_MAGIC:HEADER_MAGIC + 4] != b"HdrS" or struct.unpack_from("<H", image, VERSION)[0] < PAYLOAD_SINCE:
        return None
    offset, length = struct.unpack_from("<II", image, PAYLOAD)
    begin = ((image[SETUP_SECTS] or 4) + 1) * 512 + offset
    payload = image[begin:begin + length]
    content = None
    # except with gzip, the size of the unpacked kernel follows the compressed data
    if payload.startswith(b"\xfd7zXZ\0"):
        content = lzma.LZMADecompressor().decompress(payload)
    elif payload.startswith(b"\x1f\x8b"):
        content = zlib.decompressobj(zlib.MAX_WBITS | 16).decompress(payload)
    elif payload.startswith(b"BZh"):
        content = bz2.BZ2Decompressor().decompress(payload)
    elif payload.startswith(b"\x28\xb5\x2f\xfd") and shutil.which("zstd"):
        content = subprocess.run(["zstd", "-dcq"], input=payload[:-4], check=True, capture_output=True).stdout
    return content if content and content.startswith(b"\x7fELF") else None
