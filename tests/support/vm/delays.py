# SPDX-License-Identifier: GPL-2.0
"""How long guests waited for a processor of the host. The module refuses a GPU that answers too slowly, and cannot tell
a slow GPU from a host that delays QEMU or the emulator: a failure under such a delay is no result."""

import os
import time

from lib.guest import Guest

# Shares of the time of a test. Beside tests of the tool, guests were seen to wait for 1 to 4 %.
WAITED = 0.1
STOLEN = 0.02


def read_waits(pid: int) -> "dict[str, int]":
    """Nanoseconds that each thread of a process was runnable and did not run (schedstat, second number; see the
    kernel's Documentation/scheduler/sched-stats.rst)."""
    waits = {}
    for thread in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{thread}/schedstat", encoding="ascii") as file:
            waits[thread] = int(file.read().split()[1])
    return waits


def read_stolen() -> int:
    """Nanoseconds of all processors that a hypervisor gave to others (/proc/stat, proc(5): steal)."""
    with open("/proc/stat", encoding="ascii") as file:
        return int(file.readline().split()[8]) * 1_000_000_000 // os.sysconf("SC_CLK_TCK")


class Delay:
    """Delays since its creation."""

    def __init__(self) -> None:
        self._began = time.monotonic_ns()
        self._waited = self._read_guests()
        self._stolen = read_stolen()

    @staticmethod
    def _read_guests() -> "dict[int, int]":
        waited = {}
        for guest in Guest.running:
            for pid in guest.processes():
                try:
                    waited[pid] = sum(read_waits(pid).values())
                except OSError:  # it has ended
                    continue
        return waited

    def measure(self) -> "tuple[float, float]":
        """Shares of the time since then: in which processes of guests waited, and in which a hypervisor took a
        processor."""
        elapsed = max(time.monotonic_ns() - self._began, 1)
        waited = sum(now - self._waited.get(pid, 0) for pid, now in self._read_guests().items())
        return waited / elapsed, (read_stolen() - self._stolen) / elapsed

    def describe(self) -> str:
        """Both shares in words."""
        waited, stolen = self.measure()
        return f"it waited {waited:.0%} of the time for a processor, {stolen:.0%} was taken by a hypervisor"

    def is_long(self) -> bool:
        """Is a failure since then no result?"""
        waited, stolen = self.measure()
        return waited > WAITED or stolen > STOLEN
