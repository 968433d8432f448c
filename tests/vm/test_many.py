# SPDX-License-Identifier: GPL-2.0
"""Many GPUs in one guest, their order, and what happens when modules or the bus take something away."""

from collections.abc import Iterator

import pytest

from lib import paths
from lib.guest import FIRST_SLOT, Guest, pci_address
from support.vm.cards import gpu_of, healthy, need_module
from support.vm.chips import CHIPS
from support.vm.formats import UNREAD, shape

ORDER = [(5 * index) % 12 for index in range(12)]  # place in PCI order of the GPU given as number index


@pytest.fixture(scope="module")
def twelve() -> Iterator[Guest]:
    """Three GPUs of each chip, started in another order than the one they have on the bus."""
    modules = {"gpulens": need_module("module"), "gpulens2": need_module("module-copy", "gpulens2")}
    gpus = [gpu_of(CHIPS[index % 4], slot=FIRST_SLOT + ORDER[index]) for index in range(12)]
    with Guest(gpus, modules=modules, programs=[paths.tool()]) as guest:
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
    assert [[one["enabled"] for one in channels if one["id"] == 16] for channels in seen] == [[True], [False], [True]]
    assert all(shape(twelve.read(f"/proc/gpu{gpu}/runlist0")) == [(3, [8, 9]), (5, [16]), (9, [24, 25])]
               for gpu in range(12))


def test_the_tool_shows_twelve_gpus_in_one_call(twelve: Guest) -> None:
    """gpulens without a word: all of them, in order, each with what is on its runlist 0."""
    out = twelve.check("gpulens", timeout=60)
    heads = [line for line in out.splitlines() if line.startswith("gpu")]
    assert [line.split(":")[0] for line in heads] == [f"gpu{index}" for index in range(12)]
    assert all(f"{pci_address(index)}, from /proc/gpu{index}/snapshot" in line for index, line in enumerate(heads))
    assert out.count("TSG 9 ") == 12


def test_a_second_module_that_wants_the_same_files_fails_cleanly(twelve: Guest) -> None:
    """Two modules that want /proc/gpu0: the second does not load (EBUSY), the first goes on."""
    status, output = twelve.run("insmod /modules/gpulens2.ko", timeout=60)
    assert status != 0 and "resource busy" in output
    assert "gpulens2" not in twelve.read("/proc/modules")
    assert "GP106" in twelve.read("/proc/gpu0/chip")
    twelve.unload()
    twelve.check("insmod /modules/gpulens2.ko", timeout=60)
    assert twelve.run("insmod /modules/gpulens.ko", timeout=60)[0] != 0
    twelve.unload("gpulens2")
    assert twelve.run("ls -d /proc/gpu*")[0] != 0
    twelve.load("gpulens", "control=1")


def test_loading_and_unloading_again_and_again_leaves_nothing(twelve: Guest) -> None:
    """Four rounds: no files stay, and all are there again."""
    for _ in range(4):
        twelve.unload()
        assert twelve.run("ls -d /proc/gpu*")[0] != 0
        twelve.load("gpulens", "control=1")
    assert twelve.check("ls -d /proc/gpu* | wc -l").strip() == "12"


def test_unloading_waits_for_readers(twelve: Guest) -> None:
    """rmmod while eight readers read without pause ends, and the readers end with an error, not an oops."""
    twelve.check("""for reader in 1 2 3 4 5 6 7 8; do
        (while cat /proc/gpu$reader/runlist0 >/dev/null 2>&1; do :; done) &
        done; sleep 0.3; rmmod gpulens; wait""", timeout=120)
    twelve.load("gpulens", "control=1")


def test_vram_off_never_moves_the_window(twelve: Guest) -> None:
    """vram=off: of runlists where they lie is shown and no more, and the window's register is not written once."""
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
            assert not [one for one in accesses if one["op"] == "w" and one["off"] == CHIPS[index % 4].window]
    finally:
        for emu in twelve.emu:
            emu.cmd({"cmd": "log", "on": False})
        twelve.unload()
        twelve.load("gpulens", "control=1")


def test_a_gpu_taken_off_the_bus_is_an_error_code_for_who_holds_its_file(twelve: Guest) -> None:
    """After a removal, an open file of that GPU and a new one give ENODEV, and the other GPUs go on."""
    text = twelve.check("""exec 3</proc/gpu11/runlist0 4>/proc/gpu11/preempt_tsg
        echo 1 >/sys/bus/pci/devices/0000:00:0f.0/remove
        cat <&3; echo "read: $?"; echo 3 >&4; echo "write: $?" """, timeout=60)
    assert text.count("No such device") == 2
    assert "read: 1" in text and "write: 1" in text
    status, text = twelve.run("cat /proc/gpu11/runlist0")
    assert status != 0 and "No such" in text
    assert shape(twelve.read("/proc/gpu10/runlist0"))
