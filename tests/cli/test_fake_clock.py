# SPDX-License-Identifier: GPL-2.0
"""The clock of the tests (tests/support/fakeclock.py)."""

import os
import subprocess
import sys

from support.fakeclock import CLOCK, run_by_clock

# Its time is that clock's, too.
ORPHAN = """
import os, time
end, begin = os.pipe()
if os.fork() == 0:
    if os.fork() == 0:
        sum(range(10 ** 7))
        os.write(begin, b"x")
    os._exit(0)
os.wait()
os.read(end, 1)
print(time.monotonic())
"""


def test_a_wait_that_only_the_kernel_ends() -> None:
    """A process that sleeps, but by no time of this clock, is awaited, and no time of it passes. Seen failing with the
    time led to its end."""
    CLOCK.restart()
    with subprocess.Popen(["sleep", "0.2"], text=True) as process:
        assert CLOCK.wait(process) == 0 and CLOCK.now() == 1000


def test_no_time_passes_while_an_orphan_computes() -> None:
    """As the guard of gpulens run is one: its parent has ended. Seen failing by 600 s without the place that fork()
    takes for it."""
    CLOCK.restart()
    done = run_by_clock([sys.executable, "-c", ORPHAN], CLOCK.environment(**os.environ))
    assert (done.returncode, done.stdout) == (0, "1000.0\n"), done.stderr
