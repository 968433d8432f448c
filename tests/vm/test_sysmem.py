# SPDX-License-Identifier: GPL-2.0
"""Runlists, instance blocks, page tables and context images in system memory, as nouveau places them: with and without
an IOMMU (QEMU's intel-iommu) between the GPUs and memory. The memory is ordinary pages that the guest's kernel mapped
for each GPU (tests/support/kmod/sysram). Behind the IOMMU the bus address differs from the physical one and is the same
for all GPUs, so that only the translation of the right GPU leads to the right bytes."""

import pathlib
import re
import subprocess
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

from lib.guest import Emulator, Guest, pci_address
from lib.machine import iommu_obstacle
from support.vm.cards import run_tool, scenario, wait_until
from support.vm.chips import CHIPS, Chip
from support.vm.formats import Channel, is_unread, parse_runlist, read_enabled, shape
from support.vm.shared import FOUR, FOUR_IOMMU, SharedGuests
from support.vm.soc import Ram, give_memory, load_scenario_with, load_vfio, read_parameter

TENANTS = [(3, [8, 9]), (5, [16]), (9, [24, 25])]  # runlist 0 of the scenario tenants
HERE = pathlib.Path(__file__).resolve().parent


class Machine(NamedTuple):
    """A guest with one GPU of each chip and the memory that each has."""
    guest: Guest
    iommu: bool
    ram: dict[int, Ram]


class Card(NamedTuple):
    """One of the GPUs."""
    machine: Machine
    chip: Chip
    index: int

    @property
    def emu(self) -> Emulator:
        """Its emulator."""
        return self.machine.guest.emu[self.index]

    @property
    def ram(self) -> Ram:
        """Its memory."""
        return self.machine.ram[self.index]

    def read(self, name: str) -> str:
        """The content of one of its files."""
        return self.machine.guest.read(f"/proc/gpu{self.index}/{name}")

    def ends(self, name: str, *text: str) -> str:
        """The result of a read or, with a text, a write of one of its files: "OK n", or step and errno."""
        verb = "write" if text else "read"
        words = " ".join(f"'{word}'" for word in text)
        return self.machine.guest.run(f"tryop {verb} /proc/gpu{self.index}/{name} {words}")[1].strip()

    def load(self, **changes: Any) -> None:
        """Loads the scenario of the tenants, all in system memory unless the changes say otherwise."""
        self.emu.cmd({"cmd": "fault", "kind": "none"})
        load_scenario_with(self.machine.guest, self.index, scenario(self.chip.scenario), {"memory": "sys"} | changes)

    def channels(self) -> dict[int, Channel]:
        """Runlist 0's, by id."""
        return {channel.id: channel for tsg in parse_runlist(self.read("runlist0")) for channel in tsg.channels}

    def base_of_runlist0(self) -> int:
        """Where the emulated driver placed the list."""
        runlists = self.emu.cmd({"cmd": "state"})["runlists"]
        return next(int(runlist["base"]) for runlist in runlists if runlist["id"] == 0)

    def state(self) -> dict[int, dict[str, Any]]:
        """Runlist 0's channels as the emulator has them, by id."""
        channels = self.emu.cmd({"cmd": "state"})["channels"]
        return {channel["id"]: channel for channel in channels if channel["runlist"] == 0}

    def base_reads_as(self, address: int) -> None:
        """Makes the registers of runlist 0's base hold this address in system memory. Fields: open-gpu-doc
        volta/gv100/dev_fifo.ref.txt NV_PFIFO_ENG_RUNLIST_BASE (PTR 27:0, TARGET 29:28, 2 is coherent system memory),
        turing/tu104/dev_fifo.ref.txt NV_PFIFO_RUNLIST_BASE_LO (TARGET 1:0, PTR_LO 31:12), _HI (PTR_HI 7:0),
        ampere/ga100/dev_runlist.ref.txt NV_RUNLIST_SUBMIT_BASE_LO, _HI (likewise)."""
        if self.chip.name == "GP106":
            words = {0x2280: 2 << 28 | address >> 12}
        else:
            low = 0x2B00 if self.chip.name == "TU102" else 0xC00080
            words = {low: address & 0xFFFFF000 | 2, low + 4: address >> 32}
        for off, value in words.items():
            self.emu.cmd({"cmd": "fault", "kind": "bad-read", "off": off, "value": value})


@pytest.fixture(scope="module", params=[pytest.param(False, id="direct", marks=pytest.mark.guest("four")),
                                        pytest.param(True, id="iommu", marks=pytest.mark.guest("iommu"))])
def machine(request: pytest.FixtureRequest, guests: SharedGuests) -> Iterator[Machine]:
    """Without and with an IOMMU."""
    if request.param and (obstacle := iommu_obstacle()):
        pytest.skip(obstacle)
    with guests.take(FOUR_IOMMU if request.param else FOUR) as guest:
        given = give_memory(guest, list(range(len(CHIPS))))
        guest.load("gpulens", "control=1")
        yield Machine(guest, request.param, given)
        guest.unload()
        guest.run("rmmod sysram")


@pytest.fixture(params=range(len(CHIPS)), ids=[chip.name for chip in CHIPS])
def card(request: pytest.FixtureRequest, machine: Machine) -> Iterator[Card]:  # pylint: disable=redefined-outer-name
    """Each GPU with everything in system memory."""
    found = Card(machine, CHIPS[request.param], request.param)
    found.load()
    yield found
    found.emu.cmd({"cmd": "fault", "kind": "none"})


def test_bus_addresses(machine: Machine) -> None:  # pylint: disable=redefined-outer-name
    """The precondition of the other tests: the GPUs are behind the IOMMU, or there is none."""
    groups = machine.guest.check("ls /sys/kernel/iommu_groups | wc -l").strip()
    same = [ram.bus == ram.phys for ram in machine.ram.values()]
    if machine.iommu:
        assert int(groups) >= len(CHIPS) and not any(same)
        assert len({ram.bus for ram in machine.ram.values()}) == 1
    else:
        assert groups == "0" and all(same)
    assert len({ram.phys for ram in machine.ram.values()}) == len(CHIPS)


@pytest.mark.parametrize("aperture, target", [("coherent", "sys coh"), ("noncoherent", "sys ncoh")])
def test_everything_in_system_memory(card: Card, aperture: str, target: str) -> None:
    """runlist0 shows the tenants; instance blocks are at the bus addresses where the emulated driver placed them;
    contexts are found through page tables there. GPU memory is not read."""
    card.load(aperture=aperture)
    card.emu.cmd({"cmd": "reset-counts"})
    text = card.read("runlist0")
    assert card.emu.cmd({"cmd": "counts"})["by_region"]["pramin"] == 0
    assert shape(text) == TENANTS
    assert {tsg.id: tsg.fields["Slice"].split("us")[0].strip() for tsg in parse_runlist(text)} == {
        3: "1048.576", 5: "3276.800", 9: "1.024"}  # (TIMEOUT << SCALE) * 1024 ns, open-gpu-doc dev_ram
    found = {channel.id: channel for tsg in parse_runlist(text) for channel in tsg.channels}
    state = card.state()
    for number, channel in found.items():
        assert int(channel.fields["Inst"], 16) == state[number]["inst"]
        assert card.ram.bus <= state[number]["inst"] < card.ram.bus + card.ram.bytes
        assert channel.fields["Target"] == target  # the page directory's, which stands last
    assert {number: channel.fields["Cmp. Preemption"] for number, channel in found.items()} == {
        8: "CTA", 9: "CTA", 16: "WFI", 24: "WFI", 25: "WFI"}
    assert text.count("= Context State =") == 5 and "unreadable" not in text


def test_words_of_system_memory_are_no_accesses_of_bar0(card: Card) -> None:
    """stats counts as bar0_* what the emulator saw, and words that the module read or wrote in system memory only as
    system_words. Seen failing with words counted by sysmem.c too: bar0_read64 was 59 to 118 more than what the emulator
    saw, bar0_write32 2 more."""
    def read_stats() -> dict[str, int]:
        return {words[0]: int(words[1]) for words in map(str.split, card.read("stats").splitlines())}

    before = read_stats()
    card.emu.cmd({"cmd": "reset-counts"})
    card.read("runlist0")
    assert card.ends("cil_preempt_channel", card.chip.ref(8)).startswith("OK")
    seen, now = card.emu.cmd({"cmd": "counts"}), read_stats()
    grown = {name: now[name] - before[name] for name in now}
    assert (grown["bar0_read32"], grown["bar0_write32"], grown["bar0_read64"]) == (
        seen["reads"].get("4", 0), seen["writes"].get("4", 0), seen["reads"].get("8", 0))
    assert grown["bar0_read64"] == 0
    # the list (8 entries of 8 or 16 bytes), five contexts of 4 words each, two words stored
    assert grown["system_words"] > 8 + 5 * 4 + 2


@pytest.mark.parametrize("parts", [
    {"runlists": "sys", "instances": "vid", "tables": "vid", "contexts": "vid"},
    {"runlists": "vid", "instances": "sys", "tables": "vid", "contexts": "vid"},
    {"runlists": "vid", "instances": "vid", "tables": "sys", "contexts": "vid"},
    {"runlists": "vid", "instances": "vid", "tables": "vid", "contexts": "sys"},
    {"runlists": "sys", "instances": "vid", "tables": "sys", "contexts": "vid"}],
    ids=["runlists", "instances", "tables", "contexts", "runlists-tables"])
def test_some_of_it_in_system_memory(card: Card, parts: dict[str, str]) -> None:
    """Each part may be in either memory, with pointers from one to the other."""
    card.load(memory=parts)
    text = card.read("runlist0")
    assert shape(text) == TENANTS
    assert text.count("= Context State =") == 5 and "unreadable" not in text
    assert [card.channels()[number].fields["Cmp. Preemption"] for number in (8, 16)] == ["CTA", "WFI"]
    inst = int(card.channels()[8].fields["Inst"], 16)
    assert (card.ram.bus <= inst < card.ram.bus + card.ram.bytes) == (parts["instances"] == "sys")


def test_an_address_is_translated_for_its_gpu(card: Card) -> None:
    """Two GPUs with the same bus address of a runlist show their own lists; that of the second is empty."""
    other = Card(card.machine, CHIPS[(card.index + 1) % len(CHIPS)], (card.index + 1) % len(CHIPS))
    other.emu.cmd({"cmd": "scenario", "data": {"memory": "sys", "processes": []}})
    assert shape(card.read("runlist0")) == TENANTS
    assert shape(other.read("runlist0")) == []


def bad_addresses(card: Card) -> dict[str, int]:
    """Bus addresses (40 bits) that are not those of ordinary memory."""
    bar0 = card.machine.guest.read(f"/sys/bus/pci/devices/{pci_address(card.index)}/resource").split()[0]
    bad = {"beyond all": 0xFFFFFFF000, "MMIO, its own BAR0": int(bar0, 16), "hole, 512 MiB of RAM": 0x60000000}
    if card.machine.iommu:
        bad["physical, not mapped"] = card.ram.phys
        bad["just below"] = card.ram.bus - 0x1000
    else:
        iomem = card.machine.guest.check("cat /proc/iomem")
        code = re.search(r"([0-9a-f]+)-[0-9a-f]+ : Kernel code", iomem)
        rom = re.search(r"([0-9a-f]+)-[0-9a-f]+ : System ROM", iomem)
        assert code and rom
        bad |= {"the kernel's own image": int(code[1], 16), "ROM": int(rom[1], 16)}
    return bad


def test_a_runlist_outside_of_memory_is_an_error_of_that_runlist(card: Card) -> None:
    """A runlist whose base is unmapped, a register or unallocated memory is shown without entries; others can be
    read."""
    for kind, address in bad_addresses(card).items():
        card.base_reads_as(address)
        assert is_unread(card.read("runlist0")), f"{kind}: {address:#x}"
        assert shape(card.read("runlist1"))
    card.emu.cmd({"cmd": "fault", "kind": "none"})
    assert shape(card.read("runlist0")) == TENANTS


def test_a_list_beyond_the_end_of_mapped_memory_is_an_error(card: Card) -> None:
    """A list that begins in the last mapped page and continues beyond it is shown without entries."""
    if not card.machine.iommu:
        pytest.skip("without an IOMMU, other memory of the machine follows")
    entry = 8 if card.chip.name == "GP106" else 16
    alone = card.ram.bus + card.ram.bytes - 0x1000
    many = {"generate": {"runlist": 0, "channels": 1024, "channels_per_tsg": 8, "tsgs_per_process": 32}}
    card.emu.cmd({"cmd": "scenario", "data": {"memory": {"runlists": "sys"}, **many}})
    assert 0x1000 < 1152 * entry
    card.base_reads_as(alone)
    assert is_unread(card.read("runlist0"))


def test_an_instance_block_outside_of_memory_is_an_error_of_that_channel(card: Card) -> None:
    """Channel 16 with an instance block outside of memory is shown as unreadable; all others are complete."""
    for kind, address in bad_addresses(card).items():
        card.load()
        if card.chip.per_runlist:
            # runlist entry 4 (TSG, 8, 9, TSG, 16): word 2 is INST_PTR_LO 31:12 and CHID 11:0, word 3 INST_PTR_HI
            base = card.base_of_runlist0()
            card.emu.cmd({"cmd": "poke", "ap": "sys", "addr": base + 4 * 16 + 8,
                          "words": [address & 0xFFFFF000 | 16, address >> 32]})
        else:
            # NV_PCCSR_CHANNEL_INST(16): PTR 27:0, TARGET 29:28, BIND 31
            card.emu.cmd({"cmd": "fault", "kind": "bad-read", "off": 0x800000 + 8 * 16,
                          "value": 1 << 31 | 2 << 28 | address >> 12})
        text = card.read("runlist0")
        assert shape(text) == TENANTS
        assert text.count("unreadable") == 1, f"{kind}: {address:#x}"
        assert text.count("= Context State =") == 4
        channel = text.split("Channel Info 16 ")[1].split("Channel Info")[0]
        assert "unreadable" in channel and f"0x{address:012x}" in channel


def test_control(card: Card) -> None:
    """Channels are disabled and enabled, preemption modes written into context images, lists resubmitted."""
    ref = card.chip.ref
    assert card.ends("disable_channel", ref(16)).startswith("OK")
    assert read_enabled(card.read("runlist0")) == {8: True, 9: True, 16: False, 24: True, 25: False}
    assert not card.state()[16]["enabled"]
    assert card.ends("enable_channel", ref(16)).startswith("OK")
    assert card.state()[16]["enabled"]
    # 0 WFI, 1 CTA, 2 CILP: open-gpu-doc ampere/ga102/dev_ctxsw.ref.txt NV_CTXSW_MAIN_IMAGE_COMPUTE_PREEMPTION_OPTIONS
    assert card.state()[8]["compute_preemption"] == 1
    for name, mode in (("wfi_preempt_channel", 0), ("cil_preempt_channel", 2), ("cta_preempt_channel", 1)):
        assert card.ends(name, ref(8)).startswith("OK")
        assert card.state()[8]["compute_preemption"] == mode
        assert card.state()[16]["compute_preemption"] == 0
    for name, text in (("preempt_tsg", ref(3)), ("switch_to_tsg", ref(5)), ("resubmit_runlist", "0"),
                       ("tsg_timeslice", f"{ref(3)} 2000")):
        assert card.ends(name, text).startswith("OK"), name
    assert shape(card.read("runlist0")) == TENANTS
    assert parse_runlist(card.read("runlist0"))[0].fields["Slice"] == "1998.848us"


def test_a_context_outside_of_memory_is_not_written(card: Card) -> None:
    """A preemption mode for a channel whose instance block is outside of memory: EIO, and no other context changes."""
    if card.chip.per_runlist:
        base = card.base_of_runlist0()
        card.emu.cmd({"cmd": "poke", "ap": "sys", "addr": base + 4 * 16 + 8, "words": [0x60000000 | 16, 0]})
    else:
        card.emu.cmd({"cmd": "fault", "kind": "bad-read", "off": 0x800000 + 8 * 16,
                      "value": 1 << 31 | 2 << 28 | 0x60000})
    assert card.ends("cil_preempt_channel", card.chip.ref(16)) == "write EIO"
    modes = {number: channel.fields["Cmp. Preemption"] for number, channel in card.channels().items() if number != 16}
    assert modes == {8: "CTA", 9: "CTA", 24: "WFI", 25: "WFI"}


def test_the_image_holds_system_memory_at_its_bus_addresses(card: Card, tmp_path: pathlib.Path) -> None:
    """The tool prints from the image what runlist0 showed."""
    card.emu.cmd({"cmd": "time", "mode": "virtual", "access_ns": 0})
    try:
        image = tmp_path / "image"
        image.write_text(card.read("image"))
        done = run_tool(image, "proc", "runlist0")
        assert (done.returncode, done.stdout, done.stderr) == (0, card.read("runlist0"), "")
    finally:
        card.emu.cmd({"cmd": "time", "mode": "real", "access_ns": 1000})
    addresses = [int(line.split()[1], 16) for line in image.read_text().splitlines() if line.startswith("s ")]
    assert addresses and all(card.ram.bus <= address < card.ram.bus + card.ram.bytes for address in addresses)
    assert not [line for line in image.read_text().splitlines() if line.startswith("v ")]


def test_memory_that_the_kernel_does_not_map_is_an_error(
        machine: Machine, tmp_path: pathlib.Path) -> None:  # pylint: disable=redefined-outer-name
    """A page of ordinary memory that is not in the kernel's own mapping (memfd_secret): EIO, not an oops."""
    if machine.iommu:
        pytest.skip("no GPU has such a page mapped")
    if machine.guest.run("grep -q secretmem /proc/kallsyms")[0] != 0:
        pytest.skip("this kernel has no memfd_secret")
    program = tmp_path / "secret"
    subprocess.run(["gcc", "-O2", "-Wall", "-Wextra", "-Werror", "-static", "-o", str(program), str(HERE / "secret.c")],
                   check=True)
    machine.guest.push(program, "/secret", 0o755)
    address = int(machine.guest.check("rm -f /tmp/secret; /secret >/tmp/secret & "
                                      "until [ -s /tmp/secret ]; do usleep 10000; done; cat /tmp/secret"), 16)
    assert address
    for index, chip in enumerate(CHIPS):
        card = Card(machine, chip, index)
        card.load()
        card.base_reads_as(address)
        assert is_unread(card.read("runlist0"))
        card.load()
    machine.guest.check("kill $(pidof secret)")


def unbind_driver(guest: Guest, index: int) -> None:
    """Unbinds the driver of a GPU."""
    guest.check(f"echo {pci_address(index)} >/sys/bus/pci/devices/{pci_address(index)}/driver/unbind")


def bind_driver(guest: Guest, index: int, driver: str) -> None:
    """Binds this driver and no other to a GPU."""
    device = f"/sys/bus/pci/devices/{pci_address(index)}"
    guest.check(f"echo {driver} >{device}/driver_override; echo {pci_address(index)} >/sys/bus/pci/drivers_probe; "
                f"echo >{device}/driver_override")
    assert guest.check(f"basename $(readlink {device}/driver)").strip() == driver


def test_system_memory_is_not_accessed_without_the_driver_that_mapped_it(card: Card) -> None:
    """Without a driver, a list in system memory gives ENXIO, though an IOMMU may still translate the address, and
    nothing is written there; lists in GPU memory can be read. chip names the reason. With the driver bound again, reads
    succeed.
    Seen failing before the driver was checked: without an IOMMU the list was shown, behind one it was EIO."""
    unbind_driver(card.machine.guest, card.index)
    try:
        assert "! entries not readable: no driver maps them" in card.read("runlist0")
        assert card.ends("tsg_timeslice", f"{card.chip.ref(3)} 2000") == "write ENXIO"
        assert "Runlist entries: not readable, system memory without a driver that maps it, " in card.read("chip")
        card.load(memory="vid")
        assert shape(card.read("runlist0")) == TENANTS
    finally:
        bind_driver(card.machine.guest, card.index, "sysram")
    buses = read_parameter(card.machine.guest, "sysram", "bus")
    assert int(buses[card.index]) == card.ram.bus
    card.load()
    assert shape(card.read("runlist0")) == TENANTS


def test_the_translation_of_a_vfio_domain_is_not_used(
        machine: Machine) -> None:  # pylint: disable=redefined-outer-name
    """vfio-pci assigns the GPU to a guest: it is detached from gpulens until it has another driver, and its IOMMU
    domain is not used. Seen failing before the driver was checked: EIO, from the domain that vfio-pci's container would
    replace."""
    if not machine.iommu:
        pytest.skip("vfio wants an IOMMU")
    load_vfio(machine.guest)
    card = Card(machine, CHIPS[0], 0)
    card.load()
    unbind_driver(machine.guest, 0)
    bind_driver(machine.guest, 0, "vfio-pci")
    try:
        assert card.ends("runlist0") == "read ENODEV"
    finally:
        unbind_driver(machine.guest, 0)
        bind_driver(machine.guest, 0, "sysram")
    wait_until(lambda: card.ends("num_gpcs").startswith("OK"), "the GPU is not attached again")
    card.load()
    assert shape(card.read("runlist0")) == TENANTS


def test_the_machine_is_not_stopped_to_read_system_memory(card: Card) -> None:
    """Addresses are translated, and contexts read, without a stop. A new time slice takes two stops: the check that the
    entry is still the TSG's with the store, and the submit. A preemption mode takes one.
    Seen failing with contexts of system memory read in exclusive(): 3 stops."""
    def count_stops() -> int:
        return int(dict(map(str.split, card.read("stats").splitlines()))["window_stops"])

    before = count_stops()
    assert card.read("runlist0").count("= Context State =") == 5
    assert count_stops() == before
    assert card.ends("tsg_timeslice", f"{card.chip.ref(3)} 2000").startswith("OK")
    assert count_stops() == before + 2
    assert card.ends("cil_preempt_channel", card.chip.ref(8)).startswith("OK")
    assert count_stops() == before + 3
    assert card.state()[8]["compute_preemption"] == 2


def test_memory_taken_away_is_an_error(machine: Machine) -> None:  # pylint: disable=redefined-outer-name
    """Registers with the address of memory that the driver has unmapped: EIO. After the driver is unloaded: ENXIO. Runs
    last but one, since it unloads the driver."""
    cards = [Card(machine, chip, index) for index, chip in enumerate(CHIPS)]
    for card in cards:
        card.load(memory="vid")
        card.base_reads_as(card.ram.bus)
        assert card.ends("runlist0").startswith("OK")
        machine.guest.check(f"echo {card.index} >/sys/module/sysram/parameters/unmap")
        # without an IOMMU nothing is unmapped
        assert is_unread(card.read("runlist0")) == machine.iommu
    machine.guest.unload("sysram")
    for card in cards:
        assert "! entries not readable: no driver maps them" in card.read("runlist0")
        card.emu.cmd({"cmd": "fault", "kind": "none"})
        assert shape(card.read("runlist0")) == TENANTS


def test_a_page_without_a_reference_is_not_read(machine: Machine) -> None:  # pylint: disable=redefined-outer-name
    """Of a block of pages that was not split only the first page has a reference; another may be freed at any time:
    EIO. Runs last. Seen failing before the reference was checked: the list was read."""
    given = give_memory(machine.guest, list(range(len(CHIPS))), whole=True)
    for index, chip in enumerate(CHIPS):
        card = Card(machine, chip, index)
        card.load(memory="vid")
        for offset, refused in ((0, False), (0x1000, True), (0x3FF000, True), (0x400000, False)):
            card.base_reads_as(given[index].bus + offset)
            assert is_unread(card.read("runlist0")) == refused, hex(offset)
        card.emu.cmd({"cmd": "fault", "kind": "none"})
