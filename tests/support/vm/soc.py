# SPDX-License-Identifier: GPL-2.0
"""System memory for emulated GPUs, Tegras on a PC, and vfio-pci: loads the modules (tests/support/kmod/sysram and
tegra) and sets up the emulators."""

from typing import Any, Mapping, NamedTuple

import pytest

from lib import initramfs, paths
from lib.guest import Guest, pci_address


class Ram(NamedTuple):
    """A GPU's part of system memory: its physical address and the bus address of the device."""
    phys: int
    bus: int
    bytes: int


def read_parameter(guest: Guest, module: str, name: str) -> list[str]:
    """A module's parameter, split at commas."""
    return guest.read(f"/sys/module/{module}/parameters/{name}").strip().split(",")


def give_memory(guest: Guest, indexes: list[int], soc: bool = False, blocks: int = 4,
                whole: bool = False) -> dict[int, Ram]:
    """Allocates memory for these GPUs and binds the driver sysram to them. soc: the GPUs are no PCI devices, so that no
    IOMMU translates their addresses. whole: allocates blocks of which only the first page has a reference."""
    guest.load("sysram", f"devices={','.join(pci_address(index) for index in indexes)} blocks={blocks} "
                         f"whole={whole:d}")
    given = {}
    size = int(read_parameter(guest, "sysram", "bytes")[0])
    for place, index in enumerate(indexes):
        phys, bus = (int(read_parameter(guest, "sysram", name)[place]) for name in ("phys", "bus"))
        given[index] = Ram(phys, phys if soc else bus, size)
        guest.emu[index].cmd({"cmd": "sysmem", "base": phys, "bytes": size, "bus": given[index].bus})
    return given


def load_vfio(guest: Guest) -> None:
    """The kernel's own vfio-pci with what it needs, unless it is loaded; skips where this kernel has none."""
    files = initramfs.modules_with_needs(paths.kernel_tree(), ("vfio-pci", "vfio_iommu_type1"))
    if not any(path.name.startswith("vfio-pci.") for path in files):
        pytest.skip("this kernel has no vfio-pci")
    if guest.run("grep -q '^vfio_pci ' /proc/modules")[0] == 0:
        return
    for path in files:
        guest.push(initramfs.module_content(path), "/tmp/vfio.ko")
        guest.check(f"insmod /tmp/vfio.ko {'disable_idle_d3=1' if path.name.startswith('vfio-pci.') else ''}")


def load_scenario_with(guest: Guest, index: int, file: str, changes: Mapping[str, Any]) -> None:
    """Loads a scenario with some of its keys replaced."""
    guest.emu[index].cmd({"cmd": "scenario", "file": file, "with": dict(changes)})


def load_tegras(guest: Guest, names: Mapping[int, str], params: str = "") -> None:
    """Registers platform devices: index of the carrier's emulator -> name, in that order."""
    carriers = ",".join(pci_address(index) for index in names)
    guest.load("tegra", f"carriers={carriers} names={','.join(names.values())} {params}")
