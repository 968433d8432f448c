# SPDX-License-Identifier: GPL-2.0
"""How long processes of the host waited for a processor, to be taken from a time that was measured meanwhile."""

import os


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
