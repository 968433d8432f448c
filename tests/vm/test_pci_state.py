# SPDX-License-Identifier: GPL-2.0
"""A GPU that has a driver is that driver's (tests/support/kmod/owner, and the kernel's own vfio-pci): its enabling, bus
mastering and decoding are as they would be without gpulens. A GPU that does not decode its memory, is in error
recovery, or answers as another one gives an errno, without an access beyond the look at BOOT_0, and never a number."""

from collections.abc import Iterator

import pytest

from lib import initramfs, paths
from lib.guest import Guest, pci_folder
from lib.machine import iommu_obstacle
from support.vm.cards import Card, accesses, gpu_of, healthy, until
from support.vm.chips import chips_for

CHIPS = chips_for("pair")
FILES = ("num_gpcs", "device_info", "runlist0", "snapshot", "topology", "bars", "copy_topology", "gpc0_tpc_mask")
COMMAND, MEMORY, MASTER = 4, 2, 4


@pytest.fixture(scope="module")
def machine() -> Iterator[Guest]:
    """A GPU of each kind of channel state; the module is loaded by each test."""
    modules = {"gpulens": paths.module("gpulens"), "owner": paths.module("owner", "kmod-tests")}
    with Guest([gpu_of(chip) for chip in CHIPS], modules=modules) as guest:
        yield guest
        healthy(guest)


@pytest.fixture
def loaded(machine: Guest) -> Iterator[Guest]:  # pylint: disable=redefined-outer-name
    """With gpulens."""
    machine.load("gpulens", "control=1")
    yield machine
    for emu in machine.emu:
        emu.cmd({"cmd": "fault", "kind": "none"})
    machine.unload()


@pytest.fixture(params=range(len(CHIPS)), ids=[chip.name for chip in CHIPS])
def card(request: pytest.FixtureRequest, loaded: Guest) -> Card:  # pylint: disable=redefined-outer-name
    """Each GPU in turn."""
    return Card(loaded, CHIPS[request.param], request.param)


def command(guest: Guest, gpu: int) -> int:
    """Its PCI_COMMAND."""
    return int(guest.check(f"hexdump -s {COMMAND} -n 2 -e '1/2 \"%x\"' {pci_folder(gpu)}/config"), 16)


def set_command(guest: Guest, gpu: int, value: int) -> None:
    """Writes PCI_COMMAND, as a guest that owns the GPU, or setpci, would."""
    text = "".join(f"\\x{byte:02x}" for byte in value.to_bytes(2, "little"))
    guest.check(f"printf '{text}' | dd of={pci_folder(gpu)}/config bs=1 seek={COMMAND} conv=notrunc 2>/dev/null")


def answers(card: Card) -> set[str]:  # pylint: disable=redefined-outer-name
    """How every file and a write end."""
    found = {card.guest.run(f"tryop read {card.path(name)}")[1].strip() for name in FILES}
    return found | {card.write("disable_channel", card.chip.ref(8))}


@pytest.mark.parametrize("managed", [0, 1])
@pytest.mark.parametrize("first", ["gpulens first", "driver first"])
def test_bus_mastering_ends_with_the_driver(machine: Guest, managed: int, first: str) -> None:
    """With gpulens as without it: unbound, no device is bus master, and none is left enabled, whichever was there first
    and whichever goes first. Seen failing with the module of 8eb1b46."""
    def enabled() -> list[int]:
        return [int(machine.read(f"{pci_folder(gpu)}/enable")) for gpu in range(len(CHIPS))]
    before = enabled()
    order = [("gpulens", "control=1"), ("owner", f"managed={managed}")]
    for name, params in order if first == "gpulens first" else order[::-1]:
        machine.load(name, params)
    until(lambda: machine.run("ls /proc/gpu1/chip")[0] == 0, "the GPUs are not found")
    assert [command(machine, gpu) & MASTER for gpu in range(len(CHIPS))] == [MASTER] * len(CHIPS)
    assert enabled() == [one + 1 for one in before]
    assert machine.read("/proc/gpu0/runlist0")
    machine.unload("owner")
    assert [command(machine, gpu) & (MASTER | MEMORY) for gpu in range(len(CHIPS))] == [MEMORY] * len(CHIPS)
    assert enabled() == before
    machine.unload("gpulens")
    assert enabled() == before
    machine.load("gpulens", "control=1")
    machine.load("owner", f"managed={managed}")
    machine.unload("gpulens")
    machine.unload("owner")
    assert [command(machine, gpu) & MASTER for gpu in range(len(CHIPS))] == [0] * len(CHIPS)
    assert enabled() == before


def test_a_gpu_that_does_not_decode_its_memory_is_not_touched(card: Card) -> None:
    """ENXIO for every file, without an access; once it decodes again, all is as before.
    Not seen failing by itself: the module of 8eb1b46 has no such look."""
    was = command(card.guest, card.index)
    set_command(card.guest, card.index, was & ~MEMORY)
    card.emu.cmd({"cmd": "reset-counts"})
    try:
        assert answers(card) == {"read ENXIO", "write ENXIO"}
        assert accesses(card.emu) == 0
    finally:
        set_command(card.guest, card.index, was)
    assert "Channel Info" in card.read("runlist0")


def test_a_gpu_without_a_driver_is_made_to_decode_its_memory_and_not_enabled(machine: Guest) -> None:
    """At load, where nobody owns it: decoding is switched on, and nothing is counted that a later driver would have to
    take back."""
    count = machine.read(f"{pci_folder(0)}/enable")
    was = command(machine, 0)
    set_command(machine, 0, was & ~MEMORY)
    machine.load("gpulens")
    assert command(machine, 0) & MEMORY and machine.read(f"{pci_folder(0)}/enable") == count
    assert "Channel Info" in machine.read("/proc/gpu0/runlist0")
    machine.unload()


def test_a_gpu_in_error_recovery_is_not_touched(machine: Guest) -> None:
    """EIO while the PCI core says that its channel is frozen.
    Seen failing with the module of 8eb1b46."""
    machine.load("owner")
    machine.load("gpulens", "control=1")
    card = Card(machine, CHIPS[0], 0)
    machine.check("echo 1 >/sys/module/owner/parameters/frozen")
    card.emu.cmd({"cmd": "reset-counts"})
    assert answers(card) == {"read EIO", "write EIO"}
    assert accesses(card.emu) == 0
    machine.check("echo 0 >/sys/module/owner/parameters/frozen")
    assert "Channel Info" in card.read("runlist0")
    machine.unload()
    machine.unload("owner")


@pytest.mark.parametrize("value, errno", [(0x134000A1, "ENODEV"), (0, "EIO"), (0xBADF1100, "EIO"),
                                          (0xFFFFFFFF, "ENODEV")])
def test_a_gpu_that_answers_as_another_one_gives_no_number(card: Card, value: int, errno: str) -> None:
    """BOOT_0 of another chip, of one in reset, an error code, all ones: one read of BOOT_0 a call, no write.
    Not seen failing by itself: the module of 8eb1b46 has no such look."""
    card.emu.cmd({"cmd": "fault", "kind": "bad-read", "off": 0, "value": value})
    card.emu.cmd({"cmd": "log", "on": True})
    card.emu.cmd({"cmd": "log-read"})
    assert answers(card) == {f"read {errno}", f"write {errno}"}
    log = card.emu.cmd({"cmd": "log-read"})["accesses"]
    card.emu.cmd({"cmd": "log", "on": False})
    assert {(one["op"], one["bar"], one["off"]) for one in log} == {("r", 0, 0)}


def test_a_gpu_that_vfio_drives_is_left_alone() -> None:
    """The kernel's own vfio-pci: bound later, its GPU is gone for gpulens before vfio touches it; bound first, it is
    not attached, with one line in the log; unbound, it is found again.
    Seen failing with the module of 8eb1b46."""
    files = initramfs.modules_with_needs(paths.kernel_tree(), ("vfio-pci",))
    if not any(path.name.startswith("vfio-pci.") for path in files):
        pytest.skip("this kernel has no vfio-pci")
    if obstacle := iommu_obstacle():
        pytest.skip(obstacle)
    with Guest([gpu_of(chip) for chip in CHIPS], mem=512, iommu=True) as guest:
        for path in files:
            guest.push(initramfs.module_content(path), "/tmp/vfio.ko")
            guest.check(f"insmod /tmp/vfio.ko {'disable_idle_d3=1' if path.name.startswith('vfio-pci.') else ''}")
        where = pci_folder(0).rsplit("/", 1)[1]
        guest.load("gpulens", "control=1")
        guest.check(f"echo vfio-pci >{pci_folder(0)}/driver_override; echo {where} >/sys/bus/pci/drivers_probe")
        assert guest.check(f"readlink {pci_folder(0)}/driver").strip().endswith("/vfio-pci")
        guest.emu[0].cmd({"cmd": "reset-counts"})
        assert guest.run("tryop read /proc/gpu0/runlist0")[1].strip() == "read ENODEV"
        assert accesses(guest.emu[0]) == 0
        guest.unload()
        guest.check("dmesg -c >/dev/null")
        guest.load("gpulens", "control=1")
        assert f"{where}: not used: driver vfio-pci assigns it to a guest or a program" in guest.check("dmesg")
        assert guest.read("/proc/gpu0/chip").splitlines()[0] == "Chip:         AD102 (0x192)"
        assert accesses(guest.emu[0]) == 0
        guest.check(f"echo {where} >{pci_folder(0)}/driver/unbind; echo >{pci_folder(0)}/driver_override")
        until(lambda: guest.run("ls /proc/gpu1/chip")[0] == 0, "the GPU is not found again")
        assert guest.read("/proc/gpu1/chip").splitlines()[0] == "Chip:         GP106 (0x136)"
        guest.unload()
        healthy(guest)
