# SPDX-License-Identifier: GPL-2.0
"""What a CUDA program does to get channels, by ioctls on /dev/nvidiactl (offsets: open-gpu-kernel-modules 580.142,
nvos.h): a client, a device, a subdevice, for each of two engines a channel group with some channels, one of which is
refused, and which is scheduled, and an object of the engine on the first channel. Ends with status 7."""

import ctypes
import fcntl
import os
import struct
import sys

NODE = os.open("/dev/nvidiactl", os.O_RDWR)
GPU = os.open("/dev/nvidia0", os.O_RDWR)


def alloc_object(root: int, parent: int, cls: int, params: bytes = b"", rights: bool = False, status: int = 0) -> int:
    """The new object's handle: NVOS21, or NVOS64 in its place. status: what the driver must answer."""
    buffer = ctypes.create_string_buffer(params, max(1, len(params)))
    where = ctypes.addressof(buffer) if params else 0
    if rights:
        data = bytearray(struct.pack("<IIIIQQIIII", root, parent, 0, cls, where, 0, len(params), 0, 0, 0))
        fcntl.ioctl(NODE, 0xC030462B, data)
    else:
        data = bytearray(struct.pack("<IIIIQII", root, parent, 0, cls, where, len(params), 0))
        fcntl.ioctl(NODE, 0xC020462B, data)
    assert struct.unpack_from("<I", data, 40 if rights else 28) == (status,)
    return int(struct.unpack_from("<I", data, 8)[0])


def control_object(root: int, obj: int, cmd: int, params: bytes) -> None:
    """NVOS54."""
    buffer = ctypes.create_string_buffer(params, len(params))
    data = bytearray(struct.pack("<IIIIQII", root, obj, cmd, 0, ctypes.addressof(buffer), len(params), 0))
    fcntl.ioctl(NODE, 0xC020462A, data)
    assert struct.unpack_from("<I", data, 28) == (0,)


def free_object(root: int, obj: int) -> None:
    """NVOS00."""
    data = bytearray(struct.pack("<IIII", root, 0, obj, 0))
    fcntl.ioctl(NODE, 0xC0104629, data)
    assert struct.unpack_from("<I", data, 12) == (0,)


CLIENT = alloc_object(0, 0, 0x41)
DEVICE = alloc_object(CLIENT, CLIENT, 0x80, struct.pack("<I52x", int(os.environ.get("PROGRAM_DEVICE", "0"))))
alloc_object(CLIENT, DEVICE, 0x2080, bytes(4))
for _ in range(300):  # more than gpulens run keeps at a time
    free_object(CLIENT, alloc_object(CLIENT, DEVICE, 0xA06C, struct.pack("<IIIII", 0, 0, 0, 0x01, 0)))
for engine, channels in ((0x01, 8), (0x0B, 4)):  # GR0, COPY2
    group = alloc_object(CLIENT, DEVICE, 0xA06C, struct.pack("<IIIII", 0, 0, 0, engine, 0), rights=engine == 0x0B)
    first = [alloc_object(CLIENT, group, 0xC86F) for _ in range(channels)][0]
    alloc_object(CLIENT, group, 0xC86F, bytes(4), status=0x3A)  # NV_ERR_INVALID_PARAM_STRUCT: no object was made
    control_object(CLIENT, group, 0xA06C0101, b"\1\0\0")
    alloc_object(CLIENT, first, 0xCBC0 if engine == 0x01 else 0xC8B5)
print("done", *sys.argv[1:])
sys.exit(7)
