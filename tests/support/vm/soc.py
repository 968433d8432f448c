# SPDX-License-Identifier: GPL-2.0
"""System memory for emulated GPUs, and Tegras on a PC: loads the modules of tests/support/kmod/sysram and
tests/support/kmod/tegra and tells the emulators. Does not judge what gpulens makes of it."""

from typing import Any, Mapping, NamedTuple

from lib.guest import Guest, pci_address


class Ram(NamedTuple):
    """A GPU's piece of ordinary memory: where it is, and where its device sees it."""
    phys: int
    bus: int
    bytes: int


def parameter(guest: Guest, module: str, name: str) -> list[str]:
    """A module's parameter, split at commas."""
    return guest.read(f"/sys/module/{module}/parameters/{name}").strip().split(",")


def give_memory(guest: Guest, indexes: list[int], soc: bool = False, blocks: int = 4,
                whole: bool = False) -> dict[int, Ram]:
    """Sets memory aside for these GPUs, whose driver sysram then is. soc: they are no PCI devices, so that no IOMMU
    translates for them. whole: in blocks of which only the first page has a reference."""
    guest.load("sysram", f"devices={','.join(pci_address(index) for index in indexes)} blocks={blocks} "
                         f"whole={whole:d}")
    given = {}
    size = int(parameter(guest, "sysram", "bytes")[0])
    for place, index in enumerate(indexes):
        phys, bus = (int(parameter(guest, "sysram", name)[place]) for name in ("phys", "bus"))
        given[index] = Ram(phys, phys if soc else bus, size)
        guest.emu[index].cmd({"cmd": "sysmem", "base": phys, "bytes": size, "bus": given[index].bus})
    return given


def place(guest: Guest, index: int, file: str, changes: Mapping[str, Any]) -> None:
    """Loads a scenario with some of its keys replaced."""
    guest.emu[index].cmd({"cmd": "scenario", "file": file, "with": dict(changes)})


def load_tegras(guest: Guest, names: Mapping[int, str], params: str = "") -> None:
    """Registers platform devices: index of the carrier's emulator -> name, in that order."""
    carriers = ",".join(pci_address(index) for index in names)
    guest.load("tegra", f"carriers={carriers} names={','.join(names.values())} {params}")
