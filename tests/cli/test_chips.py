# SPDX-License-Identifier: GPL-2.0
"""scripts/lib/chips.py is the list of emulated chips; every other list of chips must have the same ones."""

import re
import subprocess

from golden import GOLDEN
from lib.chips import CHIPS, RUNS
from support.program import ROOT
from support.vm.generations import read_literals

NAMES = {chip.name for chip in CHIPS}


def test_each_chip_has_a_profile_expected_values_and_golden_output() -> None:
    """A chip that lacked one of these would not be tested by the tests that are made from it. No other list has more
    chips. Seen failing without GM107 in gm10x.json, and without gb202.txt."""
    assert len(NAMES) == len(CHIPS)
    assert {path.stem for path in (ROOT / "emulator/profiles").glob("*.json")} == NAMES
    assert {path.stem for path in GOLDEN.glob("*.txt")} == NAMES
    arches = {name: each["arch"] for each in read_literals().values() for name in each["emulated"]}
    assert arches == {chip.name: chip.generation for chip in CHIPS}


def test_readme_lists_the_emulated_chips() -> None:
    """In docs/chips.md's table, the last column names the emulated ones ("emulated TU102, TU104"), or has only
    "emulated" if all chips of the first column are. Seen failing without TU117 in that column, with GA103 in it, and
    without the row of GH100."""
    text = (ROOT / "docs/chips.md").read_text(encoding="utf-8")
    found: "dict[str, set[str]]" = {}
    for chips, generation, tried in re.findall(r"^\| ([^|]*) \((\w+)\) \|.*\| ([^|]*emulated[^|]*) \|$", text, re.M):
        named = tried if re.search(r"emulated [A-Z]{2}\w{3}\b", tried) else chips
        found.setdefault(generation, set()).update(re.findall(r"\b[A-Z]{2}\d\w{2}\b", named))
    assert found == {chip.generation: {other.name.upper() for other in CHIPS if other.generation == chip.generation}
                     for chip in CHIPS}


def test_the_core_lists_the_same_generations_everywhere() -> None:
    """src/chip/ has a file for each generation that include/gpulens/chip.h declares. The table in src/chip.c, which
    tests and fuzz targets use, Kbuild and the literals of tests have the same ones. Seen failing without GB20x in the
    table, without it in Kbuild, and without gb20x.json."""
    def find_names(pattern: str, path: str) -> "list[str]":
        return sorted(re.findall(pattern, (ROOT / path).read_text(encoding="ascii"), re.M))

    generations = sorted(path.stem for path in (ROOT / "src/chip").glob("*.c"))
    assert len(generations) >= 13
    assert find_names(r"^extern const struct lens_chip lens_chip_(\w+);", "include/gpulens/chip.h") == generations
    assert find_names(r"^\t&lens_chip_(\w+),", "src/chip.c") == generations
    assert find_names(r"-y \+= src/chip/(\w+)\.o$", "Kbuild") == generations
    assert sorted(read_literals()) == generations


def test_chips_of_a_run_are_printed_for_shell_scripts() -> None:
    """One line of names; an unknown run is refused. Seen failing with a misspelt run in the table."""
    def ask_script(run: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(["python3", str(ROOT / "scripts/lib/chips.py"), run], capture_output=True, text=True,
                              check=False)

    assert ask_script("hostile").stdout == "gk104 gm204 gp106 gv100 tu102 ga100 ad102 gh100 gb100\n"
    assert ask_script("storm").stdout == "gk104 gp106 tu102 ad102 gh100\n"
    assert ask_script("demo").stdout == "gp106 tu102 ad102 gh100\n"
    assert (ask_script("host").returncode, ask_script("host").stdout) == (2, "")
    assert {run for chip in CHIPS for run in chip.runs.split()} == set(RUNS)
