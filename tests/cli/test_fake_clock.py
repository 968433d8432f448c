# SPDX-License-Identifier: GPL-2.0
"""The clock of the tests (tests/support/fakeclock.py)."""

import subprocess

from support.fakeclock import CLOCK


def test_a_wait_that_only_the_kernel_ends() -> None:
    """A process that sleeps, but by no time of this clock, is awaited. Seen failing with the time led to its end."""
    with subprocess.Popen(["sleep", "0.2"], text=True) as process:
        assert CLOCK.wait(process) == 0
