# SPDX-License-Identifier: GPL-2.0
"""Twelve GPUs in one guest: their order, two modules that want the same files, unloading, and removal of a GPU."""

from collections.abc import Iterator

import pytest

from lib import paths
from lib.guest import FIRST_SLOT, Guest, pci_address
from support.vm.cards import gpu_of, healthy, need_module
from support.vm.chips import CHIPS
from support.vm.formats import UNREAD, shape

ORDER = [(5 * index) % 12 for index in range(12)]  # emulator number -> position in PCI order


@pytest.fixture(scope="module")
def twelve() -> Iterator[Guest]:
    """Three GPUs of each chip; their emulators start in an order that differs from that of the PCI addresses."""
    need_module("module-copy", "gpulen2")
    gpus = [gpu_of(CHIPS[index % 4], slot=FIRST_SLOT + ORDER[index]) for index in range(12)]
    with Guest(gpus, programs=[paths.tool()]) as guest:
        guest.load("gpulens", "control=1")
        yield guest
        guest.unload()
        healthy(guest)


def test_twelve_gpus_are_numbered_in_pci_order(twelve: Guest) -> None:
    """gpu0 to gpu11 have rising PCI addresses, each with its own chip."""
    for index in range(12):
        text = twelve.read(f"/proc/gpu{ORDER[index]}/chip")
        assert pci_address(ORDER[index]) in text
        assert CHIPS[index % 4].name in text
    assert twelve.check("ls -d /proc/gpu*").split() == sorted(f"/proc/gpu{index}" for index in range(12))


def test_each_gpu_shows_its_own_runlists(twelve: Guest) -> None:
    """A channel disabled on one of three GPUs of the same chip stays enabled on the other two."""
    chip = CHIPS[0]
    gpus = [ORDER[index] for index in range(12) if CHIPS[index % 4] is chip]
    twelve.check(f"echo 16 >/proc/gpu{gpus[1]}/disable_channel")
    seen = [twelve.emu[ORDER.index(gpu)].cmd({"cmd": "state"})["channels"] for gpu in gpus]
    states = [[channel["enabled"] for channel in channels if channel["id"] == 16] for channels in seen]
    assert states == [[True], [False], [True]]
    assert all(shape(twelve.read(f"/proc/gpu{gpu}/runlist0")) == [(3, [8, 9]), (5, [16]), (9, [24, 25])]
               for gpu in range(12))


def test_the_tool_shows_twelve_gpus_in_one_call(twelve: Guest) -> None:
    """gpulens without arguments shows all GPUs in order, each with the contents of runlist 0."""
    out = twelve.check("gpulens", timeout=60)
    heads = [line for line in out.splitlines() if line.startswith("gpu")]
    assert [line.split(":")[0] for line in heads] == [f"gpu{index}" for index in range(12)]
    assert all(f"{pci_address(index)}, from /proc/gpu{index}/snapshot" in line for index, line in enumerate(heads))
    assert out.count("TSG 9 ") == 12


def test_a_second_module_that_wants_the_same_files_is_not_loaded(twelve: Guest) -> None:
    """Two modules that want /proc/gpu0: the second fails to load with EBUSY, the first continues."""
    status, output = twelve.run("insmod /modules/gpulen2.ko", timeout=60)
    assert status != 0 and "resource busy" in output
    assert "gpulen2" not in twelve.read("/proc/modules")
    assert "GP106" in twelve.read("/proc/gpu0/chip")
    twelve.unload()
    twelve.check("insmod /modules/gpulen2.ko", timeout=60)
    assert twelve.run("insmod /modules/gpulens.ko", timeout=60)[0] != 0
    twelve.unload("gpulen2")
    assert twelve.run("ls -d /proc/gpu*")[0] != 0
    twelve.load("gpulens", "control=1")


def test_loading_and_unloading_again_and_again_leaves_nothing(twelve: Guest) -> None:
    """Four rounds: no file remains after unloading, and all exist after loading."""
    for _ in range(4):
        twelve.unload()
        assert twelve.run("ls -d /proc/gpu*")[0] != 0
        twelve.load("gpulens", "control=1")
    assert twelve.check("ls -d /proc/gpu* | wc -l").strip() == "12"


def test_unloading_waits_for_readers(twelve: Guest) -> None:
    """rmmod succeeds while eight readers read in a loop, and each reader ends with an error."""
    twelve.check("""for reader in 1 2 3 4 5 6 7 8; do
        (while cat /proc/gpu$reader/runlist0 >/dev/null 2>&1; do :; done) &
        done; sleep 0.3; rmmod gpulens; wait""", timeout=120)
    twelve.load("gpulens", "control=1")


def test_vram_off_never_moves_the_window(twelve: Guest) -> None:
    """vram=off: only the location of a runlist is shown, and the window's register is never written."""
    twelve.unload()
    for emu in twelve.emu:
        emu.cmd({"cmd": "log", "on": True})
    twelve.load("gpulens", "vram=off")
    try:
        for gpu in range(12):
            twelve.run(f"cat /proc/gpu{gpu}/* >/dev/null 2>&1", timeout=60)
            assert twelve.read(f"/proc/gpu{gpu}/runlist0").splitlines()[1:] == [f"{UNREAD}: vram=off"]
        for index, emu in enumerate(twelve.emu):
            accesses = emu.cmd({"cmd": "log-read"})["accesses"]
            assert accesses
            assert not [access for access in accesses
                        if access["op"] == "w" and access["off"] == CHIPS[index % 4].window]
    finally:
        for emu in twelve.emu:
            emu.cmd({"cmd": "log", "on": False})
        twelve.unload()
        twelve.load("gpulens", "control=1")


def test_files_of_a_removed_gpu_give_enodev(twelve: Guest) -> None:
    """After a removal, a file that was open and a newly opened one give ENODEV; the other GPUs can be read."""
    text = twelve.check("""exec 3</proc/gpu11/runlist0 4>/proc/gpu11/preempt_tsg
        echo 1 >/sys/bus/pci/devices/0000:00:0f.0/remove
        cat <&3; echo "read: $?"; echo 3 >&4; echo "write: $?" """, timeout=60)
    assert text.count("No such device") == 2
    assert "read: 1" in text and "write: 1" in text
    status, text = twelve.run("cat /proc/gpu11/runlist0")
    assert status != 0 and "No such" in text
    assert shape(twelve.read("/proc/gpu10/runlist0"))
