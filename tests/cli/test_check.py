# SPDX-License-Identifier: GPL-2.0
"""scripts/lib/changed.py selects every file whose check may end otherwise than last time, and no other file."""

import pathlib
import shutil
import subprocess

import pytest

CHANGED = pathlib.Path(__file__).resolve().parents[2] / "scripts/lib/changed.py"
FILES = {
    "one.c": '#include "lib/one.h"\n', "lib/one.h": '#include "deep.h"\n', "lib/deep.h": "int deep;\n",
    "two.cc": "#include <vector>\n", "three.py": "from lib import four\n", "lib/four.py": "x = 1\n",
    "five": "#!/bin/sh\n. lib/six.sh\n", "lib/six.sh": "y=1\n",
}
CHECKED = ["one.c", "two.cc", "three.py", "five"]


class Project:
    """A small tree with its own copy of the script."""

    def __init__(self, root: pathlib.Path) -> None:
        self.root = root
        for name, text in FILES.items():
            (root / name).parent.mkdir(exist_ok=True)
            (root / name).write_text(text, encoding="ascii")
        (root / "scripts/lib").mkdir(parents=True)
        shutil.copy(CHANGED, root / "scripts/lib/changed.py")

    def run_script(self, *arguments: str, rules: str = "1") -> list[str]:
        """Runs the script once and returns the files that it prints."""
        done = subprocess.run(["python3", "scripts/lib/changed.py", *arguments], cwd=self.root, input=rules, text=True,
                              stdout=subprocess.PIPE, check=True)
        return done.stdout.split()

    def pick_files(self, *arguments: str, rules: str = "1") -> list[str]:
        """The files that are to be checked."""
        return self.run_script("pick", "build/store", *arguments, *CHECKED, rules=rules)


@pytest.fixture
def clean(tmp_path: pathlib.Path) -> Project:
    """A project in which all files were checked without findings."""
    project = Project(tmp_path)
    assert project.pick_files() == CHECKED
    project.run_script("keep", "build/store")
    assert not project.pick_files()
    return project


@pytest.mark.parametrize("edited,picked", [
    ("one.c", "one.c"), ("lib/one.h", "one.c"), ("lib/deep.h", "one.c"), ("two.cc", "two.cc"),
    ("lib/four.py", "three.py"), ("lib/six.sh", "five")])
def test_a_file_is_checked_again_after_a_change_of_a_dependency(clean: Project, edited: str, picked: str) -> None:
    """The file itself, or a file that it includes, imports or sources, was changed. Seen failing for lib/deep.h without
    includes of headers, and for the others in lib/ without any dependencies."""
    (clean.root / edited).write_text(FILES[edited] + "\n", encoding="ascii")
    assert clean.pick_files() == [picked]


def test_a_new_file_with_an_included_name_is_a_change(clean: Project) -> None:
    """A new header of the same name in another folder may be the one that is included now. Seen failing with paths
    compared instead of names."""
    (clean.root / "deep.h").write_text("int other;\n", encoding="ascii")
    assert clean.pick_files() == ["one.c"]


def test_changed_rules_select_all_files(clean: Project) -> None:
    """Another version or setting of the tool. Seen failing without the rules in the hash."""
    assert clean.pick_files(rules="2") == CHECKED
    assert not clean.pick_files()


def test_a_file_with_findings_is_selected_again(clean: Project) -> None:
    """After a run with findings, keep_clean is not called, so that the file is selected again. Seen failing with
    keep_clean() at each pick_files()."""
    (clean.root / "two.cc").write_text("int wrong;\n", encoding="ascii")
    assert clean.pick_files() == ["two.cc"]
    assert clean.pick_files() == ["two.cc"]


def test_a_file_changed_during_the_check_is_not_clean(clean: Project) -> None:
    """Neither its old nor its new content is recorded as clean. Seen failing without the comparison in keep_clean()."""
    for text in "int first;\n", "int second;\n":
        (clean.root / "two.cc").write_text(text, encoding="ascii")
        if text == "int first;\n":
            assert clean.pick_files() == ["two.cc"]
    clean.run_script("keep", "build/store")
    assert clean.pick_files() == ["two.cc"]
    (clean.root / "two.cc").write_text("int first;\n", encoding="ascii")
    assert clean.pick_files() == ["two.cc"]


def test_whole_selects_all_files_or_none(tmp_path: pathlib.Path) -> None:
    """--whole, for builds. Seen failing when only the changed file was selected."""
    project = Project(tmp_path)
    assert project.pick_files("--whole") == CHECKED
    project.run_script("keep", "build/store")
    assert not project.pick_files("--whole")
    (project.root / "lib/six.sh").write_text("y=2\n", encoding="ascii")
    assert project.pick_files("--whole") == CHECKED
