# SPDX-License-Identifier: GPL-2.0
"""Runs the kselftests (tests/selftests) in the guest. They also run on a machine with a real GPU."""

import pytest

from lib import paths
from lib.guest import Guest

PROGRAMS = sorted(path.name for path in (paths.ROOT / "tests" / "selftests").glob("*-*.sh"))


@pytest.mark.parametrize("program", PROGRAMS)
def test_selftest(four: Guest, program: str) -> None:
    """The program exits with 0 (4: skipped) and prints KTAP with as many results as its plan."""
    status, output = four.run(f"LENS_EMULATED=1 sh /selftests/{program}", timeout=120)
    if status == 4:
        pytest.skip(output)
    results = [line for line in output.splitlines() if line.startswith(("ok ", "not ok "))]
    assert status == 0, output
    assert results and all(line.startswith("ok ") for line in results), output
    assert f"1..{len(results)}" in output.splitlines()
    assert output.startswith("KTAP version 1\n")


def test_without_gpus_the_selftests_skip(four: Guest) -> None:
    """Without the module, each program reports a skip and exits with 4."""
    four.unload()
    try:
        for program in PROGRAMS:
            status, output = four.run(f"sh /selftests/{program}")
            assert status == 4 and "SKIP" in output
    finally:
        four.load("gpulens", "control=1")


def test_a_program_that_ended_is_not_there_any_more(four: Guest) -> None:
    """The guest's process 1 waits for orphans while a command runs, too: a test that waits for the end of a program
    that an earlier command began would see it for ever otherwise. Seen failing without this waiting."""
    four.check("sleep 0.4 &")
    assert four.run("sleep 1.5; grep -l '^State:.Z' /proc/[0-9]*/status") == (1, "")
