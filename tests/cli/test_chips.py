# SPDX-License-Identifier: GPL-2.0
"""scripts/lib/chips.py is the list of emulated chips: what lists chips elsewhere lists the same ones."""

import re
import subprocess

from golden import GOLDEN
from lib.chips import CHIPS, RUNS
from support.program import ROOT
from support.vm.generations import GENERATIONS

NAMES = {chip.name for chip in CHIPS}


def test_each_chip_has_a_profile_expected_values_and_golden_output() -> None:
    """A chip that lacks one of them is not tested by what takes it from there, and no other list has more chips.
    Seen failing with GM107 left out of the table, and with gb202.txt removed."""
    assert len(NAMES) == len(CHIPS)
    assert {path.stem for path in (ROOT / "emulator/profiles").glob("*.json")} == NAMES
    assert {path.stem for path in GOLDEN.glob("*.txt")} == NAMES
    assert {chip.name.lower() for chip in GENERATIONS} == NAMES


def test_readme_says_of_the_same_chips_that_they_are_emulated() -> None:
    """README's table of chips: the last column names the emulated ones ("emulated TU102, TU104"), or says only
    "emulated" where it means all of the first column.
    Seen failing with TU117 left out of that column, with GA103 added to it, and without the row of GH100."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    found: "dict[str, set[str]]" = {}
    for chips, generation, tried in re.findall(r"^\| ([^|]*) \((\w+)\) \|.*\| ([^|]*emulated[^|]*) \|$", text, re.M):
        named = tried if re.search(r"emulated [A-Z]{2}\w{3}\b", tried) else chips
        found.setdefault(generation, set()).update(re.findall(r"\b[A-Z]{2}\d\w{2}\b", named))
    assert found == {chip.generation: {other.name.upper() for other in CHIPS if other.generation == chip.generation}
                     for chip in CHIPS}


def test_the_core_lists_the_same_generations_everywhere() -> None:
    """src/chip/ has a file for each generation that include/gpulens/chip.h declares; src/chip.c, whose table tests and
    fuzz targets take them from, and Kbuild name them. Seen failing without GB20x in the table, and in Kbuild."""
    def found(pattern: str, path: str) -> "list[str]":
        return sorted(re.findall(pattern, (ROOT / path).read_text(encoding="ascii"), re.M))

    generations = sorted(path.stem for path in (ROOT / "src/chip").glob("*.c"))
    assert len(generations) >= 13
    assert found(r"^extern const struct lens_chip lens_chip_(\w+);", "include/gpulens/chip.h") == generations
    assert found(r"^\t&lens_chip_(\w+),", "src/chip.c") == generations
    assert found(r"-y \+= src/chip/(\w+)\.o$", "Kbuild") == generations


def test_shell_scripts_can_ask_which_chips_a_run_takes() -> None:
    """One line of names; a run that is not there is refused. Seen failing with a run misspelt in the table."""
    def ask(run: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(["python3", str(ROOT / "scripts/lib/chips.py"), run], capture_output=True, text=True,
                              check=False)

    assert ask("hostile").stdout == "gk104 gm204 gp106 gv100 tu102 ga100 ad102 gh100 gb100\n"
    assert ask("storm").stdout == "gk104 gp106 tu102 ad102 gh100\n"
    assert ask("demo").stdout == "gp106 tu102 ad102 gh100\n"
    assert (ask("host").returncode, ask("host").stdout) == (2, "")
    assert {run for chip in CHIPS for run in chip.runs.split()} == set(RUNS)
