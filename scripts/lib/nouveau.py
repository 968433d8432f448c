# SPDX-License-Identifier: GPL-2.0
"""The kernel's own driver, nouveau, in a guest: its modules, the ROM that it reads (vbios.py), and how it is loaded.
The modules are those of the guest's kernel, unmodified; scripts/fetch-kernel --module nouveau gets them, and
scripts/build-debug-kernel kasan builds them."""

import json
import pathlib
import subprocess
from collections.abc import Sequence
from typing import Any, Optional

from . import initramfs, paths, vbios
from .guest import Gpu

KERNELS = ("6.1.", "6.12.")  # whose nouveau was tried
FOLDER = "/modules/nouveau"  # in the guest
ROM = "vbios.rom"
# Without a display, and without units that want firmware that only NVIDIA signs.
WITHOUT_UNITS = ("disp", "sec2", "nvdec", "nvenc")
MEMORY = 1024  # MiB of a guest in which it is loaded
START = "/bin/load-nouveau"
READ_LINES = "/bin/read-interrupt-ports"  # START calls it
COPIES = "/bin/copies"  # scripts/guest/copies.c
FAMILIES = ("kepler", "maxwell1", "pascal", "volta", "turing", "ampere2")
# Whose firmware for the graphics engine is a part of nouveau. With that engine, programs may have channels.
BUILT_IN_FIRMWARE = ("kepler", "maxwell1")


def find_obstacle() -> Optional[str]:
    """The reason why nouveau was not tried with the guest's kernel, or None."""
    if paths.kernel_version().startswith(KERNELS):
        return None
    return f"nouveau was tried with kernels {'x and '.join(KERNELS)}x, and the guest's is {paths.kernel_version()}"


def fetch_modules() -> list[pathlib.Path]:
    """The module and those it needs, in loading order. Fetches them at first; raises FileNotFoundError with the reason
    where they cannot be had."""
    tree = paths.BUILD / "kernel" / paths.kernel_version() / "drivers" / "nouveau"
    if not tree.exists():
        done = subprocess.run([str(paths.ROOT / "scripts" / "fetch-kernel"), "--module", "nouveau"], check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode != 0:
            raise FileNotFoundError(f"nouveau is not there: {done.stdout.strip()}")
    return initramfs.modules_with_needs(tree, ["nouveau"])


def _read_profile(gpu: Gpu) -> dict[str, Any]:
    path = pathlib.Path(gpu.profile)
    if not path.suffix:
        path = paths.PROFILES / f"{gpu.profile}.json"
    return dict(json.loads(path.read_text(encoding="utf-8")))


def check_gpus(gpus: Sequence[Gpu]) -> None:
    """Raises ValueError, which names the GPU, where nouveau would not start one of these."""
    for gpu in gpus:
        profile = _read_profile(gpu)
        if profile["family"] not in FAMILIES or "soc" in profile:
            raise ValueError(f"nouveau does not start on {gpu.profile}: the emulator models what it asks for of "
                             f"graphics cards of {', '.join(FAMILIES)} only (docs/drivers.md)")
        if gpu.scenario:
            raise ValueError(f"{gpu.profile}:{gpu.scenario}: nouveau makes the channels of its GPU, which takes no "
                             "scenario")


def _make_options(gpus: Sequence[Gpu]) -> str:
    """The parameters of the module. They are those of all GPUs."""
    units = WITHOUT_UNITS
    if any(_read_profile(gpu)["family"] not in BUILT_IN_FIRMWARE for gpu in gpus):
        units += ("gr",)
    return f"config=NvBios={ROM},{','.join(f'{unit}=0' for unit in units)} modeset=2"


def make_archive(gpus: Sequence[Gpu], options: str = "") -> bytes:
    """What a guest with these GPUs needs, as an archive that the kernel unpacks over the guest's own, and the program
    that copies. options: more parameters of the module. All GPUs get one ROM, with the PCI ids of the first, which
    nouveau does not look at."""
    check_gpus(gpus)
    cpio = initramfs.Cpio()
    found = fetch_modules()
    for path in found:
        cpio.file(f"{FOLDER[1:]}/{path.name.split('.')[0]}.ko", initramfs.module_content(path))
    names = [path.name.split(".")[0] for path in found[:-1]]
    cpio.file(f"lib/firmware/{ROM}", vbios.build_rom(_read_profile(gpus[0])))
    cpio.file(COPIES[1:], initramfs.build_program(paths.ROOT / "scripts" / "guest" / "copies.c").read_bytes(), 0o755)
    cpio.file(READ_LINES[1:], (b"#!/bin/sh\n# Reads the ports that raise the GPUs' interrupts.\n"
                               b"for port in /sys/class/virtio-ports/*; do\n"
                               b"\tif grep -q '^gpulens.irq' $port/name && [ ! -e /tmp/${port##*/} ]; then\n"
                               b"\t\tcat /dev/${port##*/} >/tmp/${port##*/} 2>&1 &\n\tfi\ndone\n"), 0o755)
    cpio.file(START[1:], (f"#!/bin/sh\n# Loads nouveau and what it needs.\nset -e\n{READ_LINES}\n"
                          f"for name in {' '.join(names)}; do\n"
                          f"\tif [ ! -e /sys/module/$(echo $name | tr - _) ]; then insmod {FOLDER}/$name.ko; fi\n"
                          f"done\ninsmod {FOLDER}/nouveau.ko {_make_options(gpus)} {options} \"$@\"\n").encode(), 0o755)
    return cpio.finish()
