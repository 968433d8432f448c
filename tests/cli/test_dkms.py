# SPDX-License-Identifier: GPL-2.0
"""dkms.conf as its two readers parse it: bash, for DKMS, and make, for Kbuild."""

import pathlib
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("kernel,built", [
    ("3.10.0-1160.el7.x86_64", False), ("4.19.0-27-amd64", False), ("5.4.0-216-generic", False), ("5.9.16", False),
    ("5.10.0-32-amd64", True), ("5.15.0-119-generic", True), ("6.1.0-56-amd64", True), ("6.12.95+deb12-amd64", True),
    ("7.3.4+deb13-amd64", True), ("10.0.1", True)])
def test_dkms_builds_for_kernels_from_5_10_on(kernel: str, built: bool) -> None:
    """The expression is matched as DKMS matches it. Seen failing without BUILD_EXCLUSIVE_KERNEL, for the first four."""
    script = '. ./dkms.conf; [[ $BUILD_EXCLUSIVE_KERNEL && ! $1 =~ $BUILD_EXCLUSIVE_KERNEL ]]'
    done = subprocess.run(["bash", "-c", script, "bash", kernel], cwd=ROOT, check=False)
    assert done.returncode == (1 if built else 0)


def test_dkms_asks_for_what_the_module_needs() -> None:
    """BUILD_EXCLUSIVE_CONFIG names the options without which the sources do not compile or work. Seen failing without
    it."""
    done = subprocess.run(["bash", "-c", '. ./dkms.conf; echo "$BUILD_EXCLUSIVE_CONFIG"'], cwd=ROOT, check=True,
                          stdout=subprocess.PIPE, text=True)
    assert done.stdout == "CONFIG_PCI CONFIG_PROC_FS\n"


def test_make_reads_the_same_version() -> None:
    """Kbuild includes dkms.conf for MODULE_VERSION. Seen failing with a $ in it, which make takes for a variable."""
    version = subprocess.run([ROOT / "scripts/lib/version"], check=True, stdout=subprocess.PIPE, text=True).stdout
    done = subprocess.run(["make", "-s", "-f", "dkms.conf", "-f", "-"], cwd=ROOT, check=True, stdout=subprocess.PIPE,
                          text=True, input="all:\n\t@echo '$(PACKAGE_VERSION) $(BUILD_EXCLUSIVE_KERNEL)'\n")
    assert done.stdout == f'"{version.strip()}" "^(5\\.[1-9][0-9]|[6-9]\\.|[1-9][0-9]+\\.)"\n'
