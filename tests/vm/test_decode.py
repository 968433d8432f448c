# SPDX-License-Identifier: GPL-2.0
"""The core's decoders say the same inside of a kernel, made by its compiler and with its options, as on the host."""

from lib.guest import Guest
from support.vm.cards import need_module

CHECKS = 63  # in tests/support/kmod/decode/checks.c; so that none is left out unseen


def test_decoders_hold_inside_of_the_kernel() -> None:
    """Every literal check of tests/support/kmod/decode, in a guest without a GPU. Seen failing with one literal changed
    there: the test shows the line, the value and what was expected."""
    with Guest([], modules={"decode": need_module("kmod-tests", "decode")}) as guest:
        guest.load("decode")
        checks, failed = (int(guest.read(f"/sys/module/decode/parameters/{name}")) for name in ("checks", "failed"))
        _, log = guest.run("dmesg | grep decode:")
        assert failed == 0, log
        assert checks == CHECKS
        guest.unload("decode")
