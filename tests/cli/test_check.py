# SPDX-License-Identifier: GPL-2.0
"""scripts/check looks again at every file whose check could end otherwise than last time, and at no other."""

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

    def run(self, *arguments: str, rules: str = "1") -> list[str]:
        """One call; the files that it prints."""
        done = subprocess.run(["python3", "scripts/lib/changed.py", *arguments], cwd=self.root, input=rules, text=True,
                              stdout=subprocess.PIPE, check=True)
        return done.stdout.split()

    def pick(self, *arguments: str, rules: str = "1") -> list[str]:
        """What is to be looked at."""
        return self.run("pick", "build/store", *arguments, *CHECKED, rules=rules)


@pytest.fixture
def clean(tmp_path: pathlib.Path) -> Project:
    """A project whose files were all found clean."""
    project = Project(tmp_path)
    assert project.pick() == CHECKED
    project.run("keep", "build/store")
    assert not project.pick()
    return project


@pytest.mark.parametrize("edited,picked", [
    ("one.c", "one.c"), ("lib/one.h", "one.c"), ("lib/deep.h", "one.c"), ("two.cc", "two.cc"),
    ("lib/four.py", "three.py"), ("lib/six.sh", "five")])
def test_a_file_is_looked_at_when_what_it_reads_changed(clean: Project, edited: str, picked: str) -> None:
    """The file itself, or what it includes, imports or sources. Seen failing for lib/deep.h without the headers'
    headers, and for the others of lib/ without any dependencies."""
    (clean.root / edited).write_text(FILES[edited] + "\n", encoding="ascii")
    assert clean.pick() == [picked]


def test_a_new_file_that_is_found_instead_counts(clean: Project) -> None:
    """A header of the same name elsewhere may be the one that is read now. Seen failing with paths instead of names."""
    (clean.root / "deep.h").write_text("int other;\n", encoding="ascii")
    assert clean.pick() == ["one.c"]


def test_other_rules_want_all_files(clean: Project) -> None:
    """Another version or setting of the tool. Seen failing without the rules in the hash."""
    assert clean.pick(rules="2") == CHECKED
    assert not clean.pick()


def test_nothing_is_clean_before_it_was_checked(clean: Project) -> None:
    """A run that found something does not keep: the file is picked again. Seen failing with keep() at each pick()."""
    (clean.root / "two.cc").write_text("int wrong;\n", encoding="ascii")
    assert clean.pick() == ["two.cc"]
    assert clean.pick() == ["two.cc"]


def test_what_changed_during_the_check_is_not_kept(clean: Project) -> None:
    """Neither as it was nor as it is. Seen failing without comparing in keep()."""
    for text in "int first;\n", "int second;\n":
        (clean.root / "two.cc").write_text(text, encoding="ascii")
        if text == "int first;\n":
            assert clean.pick() == ["two.cc"]
    clean.run("keep", "build/store")
    assert clean.pick() == ["two.cc"]
    (clean.root / "two.cc").write_text("int first;\n", encoding="ascii")
    assert clean.pick() == ["two.cc"]


def test_whole_steps_look_at_all_or_nothing(tmp_path: pathlib.Path) -> None:
    """--whole: a build. Seen failing where only the changed file was picked."""
    project = Project(tmp_path)
    assert project.pick("--whole") == CHECKED
    project.run("keep", "build/store")
    assert not project.pick("--whole")
    (project.root / "lib/six.sh").write_text("y=2\n", encoding="ascii")
    assert project.pick("--whole") == CHECKED
