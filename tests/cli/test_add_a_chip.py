# SPDX-License-Identifier: GPL-2.0
"""Follows docs/add-a-chip.md in a copy of the tree: an invented generation is built, emulated, recorded and shown, and
the tests that a new chip needs pass."""

import pathlib
import re
import subprocess
import sys
import typing

import pytest
from support.add_chip import CHIP, GENERATION, STEPS, Files
from support.program import ROOT

BUILD = ROOT / "build/cmake"


def run_command(*words: str, cwd: pathlib.Path) -> str:
    """The output of a command, which must succeed."""
    done = subprocess.run(words, cwd=cwd, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          timeout=600)
    assert done.returncode == 0, f"{' '.join(words)}\n{done.stdout[-4000:]}"
    return done.stdout


def find_command(build: pathlib.Path, target: str) -> str:
    """The last command of ninja for a target: the one that makes it, without those for what it waits for."""
    return run_command("ninja", "-C", str(build), "-t", "commands", target, cwd=ROOT).splitlines()[-1]


def link_program(target: str, tree: pathlib.Path, replaced: typing.Dict[str, str], *first: str) -> None:
    """Links a program from this tree's objects, with some replaced by those of the copy."""
    command = find_command(BUILD, target)
    for old, new in replaced.items():
        assert old in command, (old, command)
        command = command.replace(old, new)
    command = re.sub(r"-o \S+", f"-o {tree}/build/bin/{target} {' '.join(first)}", command, count=1)
    run_command("sh", "-c", command, cwd=BUILD)


class Added(typing.NamedTuple):
    """A copy of the tree with the chip, and the files that each step changed."""
    tree: pathlib.Path
    touched: typing.List[Files]


@pytest.fixture(name="added", scope="module")
def fixture_added(tmp_path_factory: pytest.TempPathFactory) -> Added:
    """A copy of the tree with the chip, its tool and record-image. Only what the chip changes is compiled again."""
    tree = tmp_path_factory.mktemp("tree")
    run_command("scripts/lib/copy-tree", str(tree), cwd=ROOT)
    touched = [step(tree) for step in STEPS]
    (tree / "build/bin").mkdir(parents=True)
    compilers = re.findall(r"^(CMAKE_C(?:XX)?_COMPILER):\w+=(.*)$", (BUILD / "CMakeCache.txt").read_text(), re.M)
    run_command("cmake", "-S", ".", "-B", "build/cmake", "-G", "Ninja", "-DCMAKE_BUILD_TYPE=None",
                "-DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON", *(f"-D{name}={path}" for name, path in compilers), cwd=tree)
    run_command("ninja", "-C", "build/cmake", "gpulenscore", "emulator/CMakeFiles/emumodel.dir/model/traits.cc.o",
                cwd=tree)
    record = "tests/support/CMakeFiles/record-image.dir/tools/record_image.cc.o"
    # Not by its target, which also makes gpulenslib: the custom command of protoc depends on it.
    (tree / "build/cmake" / record).parent.mkdir(parents=True, exist_ok=True)
    run_command("sh", "-c", find_command(tree / "build/cmake", record), cwd=tree / "build/cmake")
    core = {"libgpulenscore.a": f"{tree}/build/cmake/libgpulenscore.a"}
    link_program("gpulens", tree, core)
    link_program("record-image", tree, {**core, record: f"{tree}/build/cmake/{record}"},
                 f"{tree}/build/cmake/emulator/CMakeFiles/emumodel.dir/model/traits.cc.o")
    run_command(sys.executable, "tests/cli/golden.py", "--write", cwd=tree)
    return Added(tree, touched)


def test_the_document_names_every_file_of_each_step(added: Added) -> None:
    """Each file that a step of the script changes is named in the step of that number. Seen failing without
    emulator/model/traits.cc in step 5."""
    text = (ROOT / "docs/add-a-chip.md").read_text(encoding="utf-8")
    written = re.split(r"^\d\. ", text, flags=re.M)[1:]
    assert len(written) == len(STEPS)
    for number, (paths, paragraph) in enumerate(zip(added.touched, written), 1):
        words = paragraph.replace("CHIP", CHIP).replace("ad10x.c", f"{GENERATION}.c").replace("GENERATION", GENERATION)
        assert [path for path in paths if path not in words] == [], f"step {number}"


def test_the_number_of_files_is_the_documented_one(added: Added) -> None:
    """docs/where-to-add.md gives the number of files that a generation touches: those of the steps, and the golden
    file, which golden.py writes. Seen failing with 14 in the table."""
    text = (ROOT / "docs/where-to-add.md").read_text(encoding="utf-8")
    row = re.search(r"^\| \[chip generation\]\([^|]*\| [^|]* \| (\d+),", text, re.M)
    assert row and int(row[1]) == len(set().union(*added.touched)) + 1


def test_the_document_explains_every_member() -> None:
    """The table has each member of struct lens_chip and no other. Seen failing without has_num_ces."""
    header = (ROOT / "include/gpulens/chip.h").read_text(encoding="ascii")
    struct = header.split("struct lens_chip {")[1].split("\n};")[0]
    members = re.findall(r"(\w+)(?:\)\([^)]*\))?;", struct)
    text = (ROOT / "docs/add-a-chip.md").read_text(encoding="utf-8").split("| member |")[1].split("\n\n")[0]
    cells = re.findall(r"^ *\| (`[^|]*) \|", text, re.M)
    assert sorted(re.findall(r"`(\w+)`", " ".join(cells))) == sorted(members)


def test_the_chip_is_shown(added: Added) -> None:
    """An image recorded from the emulated chip is shown by its name, with its runlists. Seen failing without the line
    in src/chip.c."""
    tree = added.tree
    image = tree / "build/zu102.image"
    image.write_bytes(subprocess.run([tree / "build/bin/record-image", CHIP, f"demo-{CHIP}"], check=True,
                                     stdout=subprocess.PIPE).stdout)
    shown = run_command("build/bin/gpulens", "-i", str(image), cwd=tree)
    assert shown.startswith(f"ZU102 (Zuse), 0000:01:00.0, from {image}\n")
    assert "runlist 0  GR0 [TSG 5], GRCE0/LCE0, GRCE1/LCE1" in shown
    assert "everything, as AD10x" in run_command("build/bin/gpulens", "-i", str(image), "chip", cwd=tree)


def test_the_tests_of_a_chip_pass(added: Added) -> None:
    """In the copy, the tests that compare lists of chips, the tests of the new profile, and check-layers pass. Seen
    failing without the line in scripts/lib/chips.py."""
    output = run_command(sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-q", "tests/cli/test_chips.py",
                         "tests/cli/test_show.py", "-k", f"test_chips or {CHIP}", cwd=added.tree)
    assert re.search(r"^\d+ passed", output, re.M), output
    run_command("scripts/check-layers", cwd=added.tree)
