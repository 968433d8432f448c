# SPDX-License-Identifier: GPL-2.0
"""The core's decoders give the same results in the kernel, compiled with its compiler and options, as on the host."""

from lib.guest import Guest
from support.vm.cards import need_module

CHECKS = 63  # in tests/support/kmod/decode/checks.c; detects checks that did not run


def test_decoders_give_literal_values_in_the_kernel(four: Guest) -> None:
    """Every literal check of tests/support/kmod/decode. Seen failing with one literal changed there: the log shows the
    line, the value and the expected value."""
    need_module("kmod-tests", "decode")
    four.load("decode")
    checks, failed = (int(four.read(f"/sys/module/decode/parameters/{name}")) for name in ("checks", "failed"))
    _, log = four.run("dmesg | grep decode:")
    four.unload("decode")
    assert failed == 0, log
    assert checks == CHECKS
