# SPDX-License-Identifier: GPL-2.0
"""The machine that QEMU emulates, and the kernel's command line for it. scripts/lib/guest.py starts the guests.

Guests run on microvm with a PCIe bus. On pc and q35, QEMU 8.2 and 10.0 (not 7.2) end by signal 11 as soon as they make
an x-pci-proxy-dev, the end of an emulated GPU that is in QEMU: these machines route a device's INTx interrupt from the
start, and the proxy then asks KVM for it, also where there is no KVM. microvm does not route INTx, and no GPU uses it.
Only q35 has an IOMMU. A guest with an IOMMU runs on q35 if this QEMU can add an emulated GPU there."""

import functools
import json
import os
import pathlib
import signal
import socket
import subprocess
from collections.abc import Sequence
from typing import Any, Optional

from . import paths

QEMU = "qemu-system-x86_64"
ACCEL = os.environ.get("ACCEL", "tcg")  # KVM only on request: it may exist and hang
MICROVM = "microvm,pcie=on,acpi=on,pit=on,pic=on,rtc=on,isa-serial=on"
BAR_SPACE = 512 << 20  # bytes of microvm's addresses below 4 GB; the proxy makes every BAR a 32-bit one
SMALL_BAR = 64 << 10
# Features that the processors lack: with one of them memset() and memcpy() go byte by byte (Linux up to 6.3: erms, from
# 6.4 on fsrs and fsrm), which QEMU emulates one by one, and a store to GPU memory is a message to the emulator.
WITHOUT = frozenset(("erms", "fsrm", "fsrs"))
PROBE_LIMIT = 60  # seconds for a QEMU that is only to make one device


def qemu_arguments(iommu: bool) -> list[str]:
    """The arguments of QEMU for the machine itself; its memory is the object m."""
    # thread=single: with a thread for each processor, two that reach the same device at once lock QEMU up
    # (7.2, hw/remote: one holds the device's mutex and waits for the big lock, the other the other way round).
    # The processors still interleave, at every interrupt, pause and idle loop, and no slower.
    absent = known_features() & WITHOUT
    cpu = "".join(["max" if ACCEL == "tcg" else "host", *(f",-{feature}" for feature in sorted(absent))])
    words = ["-machine", f"{'q35' if iommu else MICROVM},memory-backend=m",
             "-accel", "tcg,thread=single" if ACCEL == "tcg" else ACCEL, "-cpu", cpu,
             "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot"]
    if iommu:
        # interrupt remapping is not used; with it, QEMU 7.2 crashes more often (see Guest.__enter__)
        words += ["-device", "intel-iommu,intremap=off"]
    # On microvm the port is not a PCI device: beside many GPUs, a PCI port was seen without interrupts and queues.
    return words + ["-device", "virtio-serial-pci,addr=3" if iommu else "virtio-serial-device"]


def interrupt_slot(slot: int) -> int:
    """The PCI device number of interrupt_device() of a GPU in that slot, which has the same line."""
    return slot + 16


def interrupt_device(name: str, irq_fd: int, slot: int) -> list[str]:
    """QEMU's arguments for a serial port on the interrupt line of a GPU's slot, which raises that line when a byte
    comes from the socket and a process in the guest reads the port. The proxy itself raises interrupts through KVM
    only. Four lines are shared by the slots in turn."""
    return ["-chardev", f"socket,id={name}.irq,fd={irq_fd}",
            "-device", f"virtio-serial-pci,id={name}.line,addr={interrupt_slot(slot):#x},vectors=0",
            "-device", f"virtserialport,bus={name}.line.0,chardev={name}.irq,name=gpulens.irq.{name}"]


def kernel_words(iommu: bool) -> str:
    """Words for the kernel's command line.

    tsc_early_khz: emulated processors read this machine's time-stamp counter. microvm has no other clock for Linux:
    its ACPI is "hardware-reduced", where Linux starts no PIT. Without the word the kernel measures the counter against
    the PIT, which fails on a busy host ("tsc: Unable to calibrate against PIT"), and then waits forever for a tick.
    acpi=noirq, on q35 only: routing interrupts by the tables' byte code takes 150 ms per device, and INTx is not used.
    On microvm only these tables describe the I/O APIC.
    cryptomgr.notests, lpj (ticks of the counter in a jiffy, else measured): a quarter less of a processor per boot.
    mitigations=off: else each indirect call is a retpoline, which QEMU looks up anew each time."""
    words = "tsc=reliable cryptomgr.notests mitigations=off"
    if ACCEL == "tcg":
        words += f" tsc_early_khz={tsc_khz()} lpj={tsc_khz() * 1000 // paths.kernel_hz()}"
    return words + (" acpi=noirq intel_iommu=on" if iommu else "")


def _bar_bytes(profile: dict[str, Any]) -> list[int]:
    return [int(str(profile["pci"].get(f"bar{number}_size", 16 << 20)), 0) for number in range(3)]  # as profile.cc


def fit_bars(profiles: Sequence[str], run_dir: pathlib.Path) -> list[str]:
    """The paths of these profiles where their BARs fit into microvm; else of copies in run_dir with a small BAR1 and
    BAR2. Nothing in a guest looks into these, but a GPU whose BAR0 has no address is not there at all. The second
    window of a SoC, which has no BAR2, stays."""
    known = [json.loads(pathlib.Path(path).read_text(encoding="utf-8")) for path in profiles]
    if sum(sum(_bar_bytes(profile)) for profile in known) <= BAR_SPACE:
        return list(profiles)
    for profile in known:
        if _bar_bytes(profile)[2]:
            profile["pci"].update(bar1_size=SMALL_BAR, bar2_size=SMALL_BAR)
    need = sum(sum(_bar_bytes(profile)) for profile in known)
    if need > BAR_SPACE:
        raise ValueError(f"the BARs of {len(known)} GPUs take {need >> 20} MiB, and the machine has {BAR_SPACE >> 20}")
    paths_of = [run_dir / f"gpu{index}.json" for index in range(len(known))]
    for path, profile in zip(paths_of, known):
        path.write_text(json.dumps(profile), encoding="utf-8")
    return [str(path.resolve()) for path in paths_of]


@functools.cache
def known_features() -> frozenset[str]:
    """The features of processors that this QEMU knows. It refuses to go without one that it does not know."""
    text = subprocess.run([QEMU, "-cpu", "help"], check=True, capture_output=True, text=True).stdout
    return frozenset(text.partition("CPUID flags:")[2].split())


@functools.cache
def tsc_khz() -> int:
    """The frequency of this machine's time-stamp counter, by scripts/lib/tsc.c."""
    source = paths.ROOT / "scripts" / "lib" / "tsc.c"
    binary = paths.BUILD / "guest" / "tsc"
    if not binary.exists() or binary.stat().st_mtime < source.stat().st_mtime:
        binary.parent.mkdir(parents=True, exist_ok=True)
        part = binary.with_suffix(f".{os.getpid()}")
        subprocess.run(["gcc", "-O2", "-Wall", "-Wextra", "-Werror", "-o", str(part), str(source)], check=True)
        part.rename(binary)
    return int(subprocess.run([str(binary)], check=True, capture_output=True, text=True).stdout)


@functools.cache
def iommu_obstacle() -> Optional[str]:
    """The reason why a guest with an IOMMU cannot run here, or None. Tries the first step of its QEMU."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    with ours, theirs:
        ours.shutdown(socket.SHUT_RDWR)  # the proxy gets an error instead of a GPU, and goes on without
        done = subprocess.run(
            [QEMU, "-machine", "q35", "-accel", ACCEL, "-nodefaults", "-no-user-config", "-display", "none", "-S",
             "-monitor", "stdio", "-device", f"x-pci-proxy-dev,id=gpu,fd={theirs.fileno()}"],
            input=b"quit\n", pass_fds=[theirs.fileno()], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            timeout=PROBE_LIMIT, check=False)
    if done.returncode != -signal.SIGSEGV:
        return None
    version = subprocess.run([QEMU, "--version"], check=True, capture_output=True, text=True).stdout.split("\n")[0]
    return f"{version} ends by signal 11 when a GPU is put into q35, the only machine with an IOMMU"
