# SPDX-License-Identifier: GPL-2.0
"""Where things are in the tree and under build/. Knows no guest and starts nothing but the shell's kernel.sh."""

import functools
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = ROOT / "build"
EMULATOR = BUILD / "bin" / "gpulens-emulator"
PROFILES = ROOT / "emulator" / "profiles"
SCENARIOS = ROOT / "emulator" / "scenarios"


def tool() -> pathlib.Path:
    """The gpulens program."""
    path = BUILD / "bin" / "gpulens"
    if not path.exists():
        raise FileNotFoundError(f"{path} is not there; run make tool")
    return path


@functools.cache
def kernel_version() -> str:
    """The release of the kernel that the module is built for, e.g. 6.1.0-56-amd64."""
    script = ROOT / "scripts" / "lib" / "kernel.sh"
    done = subprocess.run(["sh", str(script), "kver"], check=True, capture_output=True, text=True)
    if not done.stdout.strip():
        raise FileNotFoundError("no kernel headers; run scripts/setup")
    return done.stdout.strip()


def kernel_tree() -> pathlib.Path:
    """The unpacked linux-image package of that release."""
    tree = BUILD / "kernel" / kernel_version()
    if not (tree / "complete").exists():
        raise FileNotFoundError(f"{tree} is not there; run scripts/fetch-kernel")
    return tree


@functools.cache
def kernel_options() -> frozenset[str]:
    """What is built into that kernel, without CONFIG_: from the configuration that comes with its image."""
    config = kernel_tree() / "boot" / f"config-{kernel_version()}"
    lines = config.read_text().splitlines() if config.exists() else []
    return frozenset(line[len("CONFIG_"):-len("=y")] for line in lines if line.endswith("=y"))


def module(name: str, flavour: str = "module") -> pathlib.Path:
    """build/module/<release>/gpulens.ko and its like; flavour is module, module-unsafe or kmod-tests."""
    return BUILD / flavour / kernel_version() / f"{name}.ko"
