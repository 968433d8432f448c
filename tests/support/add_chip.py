# SPDX-License-Identifier: GPL-2.0
"""Adds an invented generation, ZU10x with its chip ZU102, to a copy of the tree, by the steps of docs/add-a-chip.md
only. Each step is a function that returns the files that it changed."""

import json
import pathlib
import re
import typing

CHIP, GENERATION, PARENT = "zu102", "zu10x", "ad102"
BOOT0, BOOT42 = "0x1f2000a1", "0x1f2a1000"  # architecture 0x1f, implementation 2: no chip of NVIDIA's nv_arch.h
Files = typing.Set[str]

SOURCE = """// SPDX-License-Identifier: GPL-2.0
/*
 * Zuse: an invented generation, for the test of docs/add-a-chip.md. Nothing of it is published; everything is assumed
 * to be as on Ada.
 */
#include "rows.h"

static const struct lens_chip_id zu10x_ids[] = {
    { 0x1f2, "ZU102" },
    { }
};

const struct lens_chip lens_chip_zu10x = {
    LENS_CHIP_GA10X,
    .name = "ZU10x",
    .arch = "Zuse",
    .ids = zu10x_ids,
    .assumed = "everything, as AD10x",
};
""".replace("    ", "\t")


def add_line(tree: pathlib.Path, path: str, pattern: str, addition: str) -> Files:
    """Adds a line behind the last one that the pattern finds."""
    file = tree / path
    text = file.read_text(encoding="utf-8")
    found = list(re.finditer(pattern, text, re.M))
    assert found, f"{path} has nothing like {pattern}"
    file.write_text(text[:found[-1].end()] + addition + text[found[-1].end():], encoding="utf-8")
    return {path}


def step_1(tree: pathlib.Path) -> Files:
    """The row of the generation, and its chip."""
    (tree / f"src/chip/{GENERATION}.c").write_text(SOURCE)
    return {f"src/chip/{GENERATION}.c"}


def step_2(tree: pathlib.Path) -> Files:
    """The table of generations, and the declaration."""
    return (add_line(tree, "src/chip.c", r"^\t&lens_chip_gb20x,\n", f"\t&lens_chip_{GENERATION},\n")
            | add_line(tree, "include/gpulens/chip.h", r"^extern const struct lens_chip lens_chip_\w+;\n",
                       f"extern const struct lens_chip lens_chip_{GENERATION};\n"))


def step_3(tree: pathlib.Path) -> Files:
    """The object."""
    return add_line(tree, "Kbuild", r"^.*src/chip/gb20x\.o\n", f"gpulens-y += src/chip/{GENERATION}.o\n")


def step_4(_tree: pathlib.Path) -> Files:
    """No new register."""
    return set()


def step_5(tree: pathlib.Path) -> Files:
    """The emulated generation: its family, and a profile with the source of each number."""
    profiles = tree / "emulator/profiles"
    profile = json.loads((profiles / f"{PARENT}.json").read_text())
    profile.update(name=CHIP.upper(), marketing="an invented chip", family="zuse", boot0=BOOT0, boot42=BOOT42,
                   source="invented")
    (profiles / f"{CHIP}.json").write_text(json.dumps(profile, indent=2))
    family = 'constexpr Traits ZUSE = derive(ADA, "zuse", [](Traits &) {});\n\n'
    return ({f"emulator/profiles/{CHIP}.json"}
            | add_line(tree, "emulator/model/traits.cc", r"^constexpr Traits BLACKWELL2 = (?:.*\n)*?\}\);\n\n", family)
            | add_line(tree, "emulator/model/traits.cc", r"&BLACKWELL2", ", &ZUSE"))


def step_6(tree: pathlib.Path) -> Files:
    """The files of each emulated chip: its line in the list of chips, its literals, a scenario, the table of chips.
    golden.py --write makes the golden file after the build."""
    scenarios = tree / "emulator/scenarios"
    (scenarios / f"demo-{CHIP}.json").write_text((scenarios / f"demo-{PARENT}.json").read_text())
    literals = json.loads((tree / "tests/support/generations/ad10x.json").read_text(encoding="utf-8"))
    literals.update(generation="ZU10x", arch="Zuse", ids=[[BOOT0, CHIP.upper()]], unlisted_ids=[],
                    emulated={CHIP: {**literals["emulated"][PARENT], "boot0": BOOT0, "boot42": BOOT42}})
    (tree / f"tests/support/generations/{GENERATION}.json").write_text(json.dumps(literals, indent=2))
    return ({f"emulator/scenarios/demo-{CHIP}.json", f"tests/support/generations/{GENERATION}.json"}
            | add_line(tree, "scripts/lib/chips.py", r'^    Chip\("gb202".*\n', f'    Chip("{CHIP}", "Zuse"),\n')
            | add_line(tree, "docs/chips.md", r"^\| GB202 .*\n", "| ZU102 (Zuse) | none | invented | emulated |\n"))


STEPS = (step_1, step_2, step_3, step_4, step_5, step_6)
