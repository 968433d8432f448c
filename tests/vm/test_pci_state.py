# SPDX-License-Identifier: GPL-2.0
"""gpulens changes nothing of the PCI state of a GPU that has a driver (tests/support/kmod/owner, and the kernel's
vfio-pci): enable count, bus mastering and memory decoding. A GPU that does not decode its memory, is in error recovery,
or answers with another chip's BOOT_0 gives an errno, with no access other than the read of BOOT_0."""

from collections.abc import Iterator

import pytest

from lib.guest import Guest, pci_folder
from lib.machine import iommu_obstacle
from support.vm.cards import Card, count_accesses, need_module, wait_until
from support.vm.chips import CHIPS as FOUR_CHIPS
from support.vm.chips import chips_for
from support.vm.shared import FOUR_IOMMU, PAIR, SharedGuests
from support.vm.soc import load_vfio

pytestmark = pytest.mark.guest("pair")

CHIPS = chips_for("pair")
FILES = ("num_gpcs", "device_info", "runlist0", "snapshot", "bars", "copy_topology", "gpc0_tpc_mask")
COMMAND, MEMORY, MASTER = 4, 2, 4


@pytest.fixture(scope="module")
def machine(guests: SharedGuests) -> Iterator[Guest]:
    """A GPU of each kind of channel state; the module is loaded by each test."""
    need_module("kmod-tests", "owner")
    with guests.take(PAIR) as guest:
        yield guest


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


def pci_command(guest: Guest, gpu: int) -> int:
    """Its PCI_COMMAND."""
    return int(guest.check(f"hexdump -s {COMMAND} -n 2 -e '1/2 \"%x\"' {pci_folder(gpu)}/config"), 16)


def set_pci_command(guest: Guest, gpu: int, value: int) -> None:
    """Writes PCI_COMMAND, as setpci or a guest that the GPU is assigned to would."""
    text = "".join(f"\\x{byte:02x}" for byte in value.to_bytes(2, "little"))
    guest.check(f"printf '{text}' | dd of={pci_folder(gpu)}/config bs=1 seek={COMMAND} conv=notrunc 2>/dev/null")


def collect_answers(card: Card) -> set[str]:  # pylint: disable=redefined-outer-name
    """The results of reading each file and of a write."""
    found = {card.guest.run(f"tryop read {card.path(name)}")[1].strip() for name in FILES}
    return found | {card.write("disable_channel", card.chip.ref(8))}


@pytest.mark.parametrize("managed", [0, 1])
@pytest.mark.parametrize("first", ["gpulens first", "driver first"])
def test_bus_mastering_ends_with_the_driver(machine: Guest, managed: int, first: str) -> None:
    """After the driver is unloaded, no GPU is bus master or enabled, in whatever order gpulens and the driver are
    loaded and unloaded. Seen failing with the module of 8eb1b46."""
    def list_enabled() -> list[int]:
        return [int(machine.read(f"{pci_folder(gpu)}/enable")) for gpu in range(len(CHIPS))]
    before = list_enabled()
    order = [("gpulens", "control=1"), ("owner", f"managed={managed}")]
    for name, params in order if first == "gpulens first" else order[::-1]:
        machine.load(name, params)
    wait_until(lambda: machine.run("ls /proc/gpu1/chip")[0] == 0, "the GPUs are not attached")
    assert [pci_command(machine, gpu) & MASTER for gpu in range(len(CHIPS))] == [MASTER] * len(CHIPS)
    assert list_enabled() == [count + 1 for count in before]
    assert machine.read("/proc/gpu0/runlist0")
    machine.unload("owner")
    assert [pci_command(machine, gpu) & (MASTER | MEMORY) for gpu in range(len(CHIPS))] == [MEMORY] * len(CHIPS)
    assert list_enabled() == before
    machine.unload("gpulens")
    assert list_enabled() == before
    machine.load("gpulens", "control=1")
    machine.load("owner", f"managed={managed}")
    machine.unload("gpulens")
    machine.unload("owner")
    assert [pci_command(machine, gpu) & MASTER for gpu in range(len(CHIPS))] == [0] * len(CHIPS)
    assert list_enabled() == before


def test_a_gpu_that_does_not_decode_its_memory_is_not_accessed(card: Card) -> None:
    """ENXIO for every file, without an access; once it decodes again, reads succeed.
    Not seen failing by itself: the module of 8eb1b46 has no such check."""
    was = pci_command(card.guest, card.index)
    set_pci_command(card.guest, card.index, was & ~MEMORY)
    card.emu.cmd({"cmd": "reset-counts"})
    try:
        assert collect_answers(card) == {"read ENXIO", "write ENXIO"}
        assert count_accesses(card.emu) == 0
    finally:
        set_pci_command(card.guest, card.index, was)
    assert "Channel Info" in card.read("runlist0")


def test_a_gpu_without_a_driver_is_made_to_decode_its_memory_and_not_enabled(machine: Guest) -> None:
    """At load, memory decoding of a GPU without a driver is switched on; its enable count stays."""
    count = machine.read(f"{pci_folder(0)}/enable")
    was = pci_command(machine, 0)
    set_pci_command(machine, 0, was & ~MEMORY)
    machine.load("gpulens")
    assert pci_command(machine, 0) & MEMORY and machine.read(f"{pci_folder(0)}/enable") == count
    assert "Channel Info" in machine.read("/proc/gpu0/runlist0")
    machine.unload()


def test_a_gpu_in_error_recovery_is_not_accessed(machine: Guest) -> None:
    """EIO while the PCI core reports its channel as frozen.
    Seen failing with the module of 8eb1b46."""
    machine.load("owner")
    machine.load("gpulens", "control=1")
    card = Card(machine, CHIPS[0], 0)
    machine.check("echo 1 >/sys/module/owner/parameters/frozen")
    card.emu.cmd({"cmd": "reset-counts"})
    assert collect_answers(card) == {"read EIO", "write EIO"}
    assert count_accesses(card.emu) == 0
    machine.check("echo 0 >/sys/module/owner/parameters/frozen")
    assert "Channel Info" in card.read("runlist0")
    machine.unload()
    machine.unload("owner")


@pytest.mark.parametrize("value, errno", [(0x134000A1, "ENODEV"), (0, "EIO"), (0xBADF1100, "EIO"),
                                          (0xFFFFFFFF, "ENODEV")])
def test_a_gpu_with_another_boot_register_gives_an_error(card: Card, value: int, errno: str) -> None:
    """BOOT_0 of another chip, of a chip in reset, an error code, all ones: one read of BOOT_0 per call, no write.
    Not seen failing by itself: the module of 8eb1b46 has no such check."""
    card.emu.cmd({"cmd": "fault", "kind": "bad-read", "off": 0, "value": value})
    card.emu.cmd({"cmd": "log", "on": True})
    card.emu.cmd({"cmd": "log-read"})
    assert collect_answers(card) == {f"read {errno}", f"write {errno}"}
    log = card.emu.cmd({"cmd": "log-read"})["accesses"]
    card.emu.cmd({"cmd": "log", "on": False})
    assert {(access["op"], access["bar"], access["off"]) for access in log} == {("r", 0, 0)}


@pytest.mark.guest("iommu")
def test_a_gpu_bound_to_vfio_pci_is_not_attached(guests: SharedGuests) -> None:
    """Bound to vfio-pci later, a GPU is detached before vfio-pci uses it; bound before, it is not attached, with one
    line in the log; unbound, it is attached again.
    Seen failing with the module of 8eb1b46."""
    if obstacle := iommu_obstacle():
        pytest.skip(obstacle)
    last = f"/proc/gpu{len(FOUR_CHIPS) - 1}/chip"
    with guests.take(FOUR_IOMMU) as guest:
        load_vfio(guest)
        where = pci_folder(0).rsplit("/", 1)[1]
        guest.load("gpulens", "control=1")
        guest.check(f"echo vfio-pci >{pci_folder(0)}/driver_override; echo {where} >/sys/bus/pci/drivers_probe")
        assert guest.check(f"readlink {pci_folder(0)}/driver").strip().endswith("/vfio-pci")
        guest.emu[0].cmd({"cmd": "reset-counts"})
        assert guest.run("tryop read /proc/gpu0/runlist0")[1].strip() == "read ENODEV"
        assert count_accesses(guest.emu[0]) == 0
        guest.unload()
        guest.check("dmesg -c >/dev/null")
        guest.load("gpulens", "control=1")
        assert f"{where}: not used: driver vfio-pci assigns it to a guest or a program" in guest.check("dmesg")
        assert guest.read("/proc/gpu0/chip").splitlines()[0] == "Chip:         TU102 (0x162)"
        assert count_accesses(guest.emu[0]) == 0
        guest.check(f"echo {where} >{pci_folder(0)}/driver/unbind; echo >{pci_folder(0)}/driver_override")
        wait_until(lambda: guest.run(f"ls {last}")[0] == 0, "the GPU is not attached again")
        assert guest.read(last).splitlines()[0] == "Chip:         GP106 (0x136)"
