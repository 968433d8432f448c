# SPDX-License-Identifier: GPL-2.0
"""The paths of files in the tree and under build/. Starts no program except kernel.sh."""

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


def _ask_kernel_script(word: str) -> str:
    script = ROOT / "scripts" / "lib" / "kernel.sh"
    done = subprocess.run(["sh", str(script), word], check=True, capture_output=True, text=True)
    if not done.stdout.strip():
        raise FileNotFoundError("no kernel headers; run scripts/setup")
    return done.stdout.strip()


@functools.cache
def kernel_version() -> str:
    """The release of the kernel that the module is built for, e.g. 6.1.0-56-amd64."""
    return _ask_kernel_script("kver")


def kernel_build_folder() -> pathlib.Path:
    """The headers of that kernel, which the module is built with."""
    return pathlib.Path(_ask_kernel_script("kdir"))


def kernel_tree() -> pathlib.Path:
    """The unpacked linux-image package of that release."""
    tree = BUILD / "kernel" / kernel_version()
    if not (tree / "complete").exists():
        raise FileNotFoundError(f"{tree} is not there; run scripts/fetch-kernel")
    return tree


@functools.cache
def kernel_options() -> frozenset[str]:
    """What is built into that kernel, without CONFIG_: from the configuration that comes with its image, or, from
    Debian 13 on, with its headers."""
    config = kernel_tree() / "boot" / f"config-{kernel_version()}"
    if not config.exists():
        config = kernel_build_folder() / ".config"
    lines = config.read_text().splitlines()
    return frozenset(line[len("CONFIG_"):-len("=y")] for line in lines if line.endswith("=y"))


def kernel_hz() -> int:
    """That kernel's jiffies in a second."""
    return next(hz for hz in (100, 250, 300, 1000) if f"HZ_{hz}" in kernel_options())


def module(name: str, flavour: str = "module") -> pathlib.Path:
    """build/module/<release>/gpulens.ko and its like; flavour is module, module-unsafe or kmod-tests."""
    return BUILD / flavour / kernel_version() / f"{name}.ko"


def built_modules() -> dict[str, pathlib.Path]:
    """Every module that was built, by the name that insmod gets in a guest: gpulens, its variants that only tests load
    (gpulens-unsafe, gpulens-leaps, gpulen2), and the test modules."""
    known = {"gpulens": module("gpulens"), "gpulens-unsafe": module("gpulens", "module-unsafe"),
             "gpulens-leaps": module("gpulens", "module-leaps"), "gpulen2": module("gpulen2", "module-copy"),
             **{path.stem: path for path in sorted((BUILD / "kmod-tests" / kernel_version()).glob("*.ko"))}}
    return {name: path for name, path in known.items() if path.exists()}
