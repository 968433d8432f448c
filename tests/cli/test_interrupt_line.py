# SPDX-License-Identifier: GPL-2.0
"""The bytes by which an emulated GPU raises its interrupt (gpulens-emulator --irq), without a virtual machine."""

import contextlib
import pathlib
import time

import pytest

from lib import paths
from lib.guest import Emulator, Gpu

# NVIDIA's names are in emulator/README.md, "Registers": PTIMER's, line 20 of the tree, and the time in nanoseconds.
INTR_EN_SET, INTR_EN_CLEAR, PTIMER = 0x160, 0x180, 1 << 20
TIME_0, TIMER_INTR_EN, ALARM_0 = 0x9400, 0x9140, 0x9420


def test_bytes_come_while_the_interrupt_is_raised(tmp_path: pathlib.Path) -> None:
    """The line is a level. The guest may miss a byte while its port has unread ones, so that another one follows; none
    comes once the driver disables the interrupt. Seen failing with one byte at the rising edge."""
    emulator = Emulator(Gpu("tu102"), str(paths.PROFILES / "tu102.json"), "gpu0", tmp_path, True)
    line = emulator.qemu_ends[1]
    line.settimeout(60)
    try:
        for register, value in ((INTR_EN_SET, PTIMER), (TIMER_INTR_EN, 1)):
            emulator.cmd({"cmd": "reg-poke", "off": register, "value": value})
        now = emulator.cmd({"cmd": "reg-peek", "off": TIME_0})["value"]
        emulator.cmd({"cmd": "reg-poke", "off": ALARM_0, "value": (now + 1_000_000) & 0xffffffff})
        assert [line.recv(1) for _ in range(3)] == [b"!"] * 3
        emulator.cmd({"cmd": "reg-poke", "off": INTR_EN_CLEAR, "value": PTIMER})
        time.sleep(0.1)
        line.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            line.recv(1 << 16)  # those of before
        time.sleep(0.1)
        with pytest.raises(BlockingIOError):
            line.recv(1)
    finally:
        emulator.stop()
