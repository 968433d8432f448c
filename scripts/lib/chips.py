# SPDX-License-Identifier: GPL-2.0
"""The emulated chips, each with a profile in emulator/profiles/, and which runs take it. What a chip must look like is
not said here: tests hold literals of their own. "python3 scripts/lib/chips.py RUN" prints the names of a run."""

import sys
from typing import NamedTuple

RUNS = {
    "demo": "the demo, and tests that look at every kind of host",
    "pair": "tests for which one chip with PCCSR and one with channel RAM are enough",
    "hostile": "hardware that answers anything: a chip of each family",
    "storm": "devices and modules that come and go: PCCSR without and with registers in a block, channel RAM",
    "rival": "a driver that schedules at the same time: a chip of each way to submit a runlist and to preempt",
    "bench": "accesses and times: a chip of each generation",
}


class Chip(NamedTuple):
    """runs: names of RUNS, separated by spaces; board: what the demo calls it."""
    name: str
    generation: str
    runs: str = ""
    board: str = ""


CHIPS = (
    Chip("gk104", "Kepler", "hostile storm rival"),
    Chip("gk110", "Kepler", "bench"),
    Chip("gm107", "Maxwell"),
    Chip("gm204", "Maxwell", "hostile bench"),
    Chip("gm20b", "Maxwell"),
    Chip("gp100", "Pascal"),
    Chip("gp102", "Pascal"),
    Chip("gp106", "Pascal", "demo pair hostile storm rival bench", "GeForce GTX 1060 3GB"),
    Chip("gp10b", "Pascal"),
    Chip("gv100", "Volta", "hostile rival bench"),
    Chip("gv11b", "Volta"),
    Chip("tu102", "Turing", "demo hostile storm rival bench", "GeForce RTX 2080 Ti"),
    Chip("tu104", "Turing"),
    Chip("tu116", "Turing"),
    Chip("tu117", "Turing"),
    Chip("ga100", "Ampere", "hostile rival bench"),
    Chip("ga102", "Ampere"),
    Chip("ga10b", "Ampere"),
    Chip("ad102", "Ada", "demo pair hostile storm bench", "RTX 6000 Ada Generation"),
    Chip("ad104", "Ada"),
    Chip("gh100", "Hopper", "demo hostile storm bench", "H200"),
    Chip("gb100", "Blackwell", "hostile bench"),
    Chip("gb202", "Blackwell"),
)


def chips_of(run: str) -> tuple[Chip, ...]:
    """The chips that a run takes, in the order of the table."""
    if run not in RUNS:
        raise ValueError(f"no run {run}; there are: {' '.join(RUNS)}")
    return tuple(chip for chip in CHIPS if run in chip.runs.split())


def names_of(run: str) -> tuple[str, ...]:
    """The names of these, which are those of their profiles."""
    return tuple(chip.name for chip in chips_of(run))


if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1] not in RUNS:
        print(__doc__, *(f"  {run:8} {about}" for run, about in RUNS.items()), sep="\n", file=sys.stderr)
        sys.exit(2)
    print(*names_of(sys.argv[1]))
