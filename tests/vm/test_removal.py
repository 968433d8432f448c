# SPDX-License-Identifier: GPL-2.0
"""Removing a GPU waits for nothing that a frozen task, a reader or a request can hold up: while the machine sleeps, under
a reader whose memory never arrives, and under requests that never complete."""

import contextlib
from collections.abc import Iterator

import pytest

from lib.guest import SLOW, Gpu, Guest, pci_address, pci_folder
from support.vm.cards import need_module, need_options, scenario, wait_until

LIMIT = 60 * SLOW  # seconds; what is waited for takes less than one on an idle machine
GPUS = (Gpu("gp106", scenario("tenants")), Gpu("ad102", scenario("tenants-per-runlist")))
REFS = ("16", "0:16")


@pytest.fixture(name="machine", scope="module")
def boot_guest() -> Iterator[Guest]:
    """Two GPUs with a driver bound."""
    need_module("kmod-tests", "remover")
    with Guest(GPUS, mem=512, append="no_console_suspend") as guest:
        guest.load("sysram", f"devices={','.join(pci_address(i) for i in range(len(GPUS)))} blocks=1 master=1")
        yield guest


@pytest.fixture(name="guest")
def load_gpulens(machine: Guest) -> Iterator[Guest]:
    """With gpulens; both GPUs are there again afterwards."""
    machine.load("gpulens", "control=1")
    yield machine
    machine.check("echo 1 >/sys/bus/pci/rescan", timeout=60)
    machine.unload()
    for emu, gpu in zip(machine.emu, GPUS):
        emu.cmd({"cmd": "fault", "kind": "none"})
        emu.cmd({"cmd": "scenario", "file": gpu.scenario})


@contextlib.contextmanager
def keep_open(guest: Guest, name: str, text: str, gpu: int = 0) -> Iterator[int]:
    """A process that has written this to a file of a GPU and keeps it open, and its process group."""
    pid = int(guest.check(f"rm -f /tmp/written; setsid sh -c 'exec 3>/proc/gpu{gpu}/{name}; printf \"{text}\" >&3 && "
                          "touch /tmp/written; sleep 1000' >/dev/null 2>&1 </dev/null & echo $!"))
    try:
        wait_until(lambda: guest.run("[ -e /tmp/written ]")[0] == 0, "nothing was written", LIMIT)
        yield pid
    finally:
        guest.run(f"kill -9 -{pid} 2>/dev/null")


def remove_while_asleep(guest: Guest) -> None:
    """Suspends the machine as far as the devices, while a kernel thread removes the first GPU once the PM core has
    suspended it. The kernel wakes the machine five seconds later; until then nothing is sent to it, which would be lost."""
    need_options("PM_SLEEP", "PM_DEBUG")
    guest.load("remover", "slot=4")
    try:
        guest.check("echo devices >/sys/power/pm_test; echo freeze >/sys/power/state", timeout=60)
        wait_until(lambda: guest.read("/sys/module/remover/parameters/removed") == "Y\n", "it is not removed", LIMIT)
        # before the machine woke: nothing was waited for
        assert guest.read("/sys/module/remover/parameters/awake") == "N\n"
    finally:
        guest.run("rmmod remover")


@pytest.mark.parametrize("held", [False, True], ids=["idle", "held"])
def test_a_gpu_is_removed_while_the_machine_sleeps(guest: Guest, held: bool) -> None:
    """As one that is unplugged from a sleeping notebook: its removal does not wait for the machine to wake, which waits
    for the removal. Seen failing, by losing the guest, with work on system_freezable_wq that the bus notifier waits
    for."""
    with keep_open(guest, "hold_channel", REFS[0]) if held else contextlib.nullcontext():
        remove_while_asleep(guest)
    assert guest.read("/proc/gpu1/runlist0")
    guest.check("echo 1 >/sys/bus/pci/rescan")
    wait_until(lambda: guest.run("cat /proc/gpu0/runlist0")[0] == 0, "it does not come back", LIMIT)
    assert pci_folder(0) in guest.check("ls -d /sys/bus/pci/devices/*")
