# SPDX-License-Identifier: GPL-2.0
"""What a release names once: the version, its changes, and who answers for which file."""

import pathlib
import re
import subprocess
import typing

import pytest
from support.program import ROOT

# Where a number of the same form is another thing's, and the files that tell of versions.
TELLS_OF_VERSIONS = ("dkms.conf", "CHANGELOG.md")


def version() -> str:
    """What scripts/lib/version prints."""
    done = subprocess.run([ROOT / "scripts/lib/version"], check=True, stdout=subprocess.PIPE, text=True)
    return done.stdout.strip()


def tracked() -> typing.List[str]:
    """Paths of the project, from git."""
    done = subprocess.run(["git", "ls-files"], cwd=ROOT, check=False, stdout=subprocess.PIPE, text=True)
    if done.returncode:
        pytest.skip("this is no clone")
    return done.stdout.splitlines()


def test_version_is_in_one_place() -> None:
    """No file but dkms.conf has the version's number, CHANGELOG.md apart. Seen failing with it in
    tools/CMakeLists.txt."""
    assert re.fullmatch(r"\d+\.\d+\.\d+", version())
    number = re.compile(rf"(?<![\d.]){re.escape(version())}(?![\d.])".encode())
    found = [path for path in tracked() if (ROOT / path).is_file() and number.search((ROOT / path).read_bytes())]
    assert found == sorted(TELLS_OF_VERSIONS)


def test_changelog_begins_with_the_version() -> None:
    """The newest heading is the version's, and older ones follow in order. Seen failing with 0.3.0 in dkms.conf."""
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    headings = re.findall(r"^## (\d+\.\d+\.\d+) - (?:\d{4}-\d\d-\d\d|unreleased)$", text, re.M)
    assert headings and headings[0] == version()
    assert len(headings) == len(re.findall(r"^## ", text, re.M))
    order = [tuple(int(part) for part in heading.split(".")) for heading in headings]
    assert order == sorted(order, reverse=True)


def answered_for(path: str, patterns: typing.List[str]) -> bool:
    """Is there a file of that name, or a folder that it is in?"""
    return any(path == pattern or (pattern.endswith("/") and path.startswith(pattern)) for pattern in patterns)


def test_maintainers_answer_for_every_file() -> None:
    """Each file is in a folder that MAINTAINERS names, and each name is of something. Seen failing without debian/."""
    text = (ROOT / "MAINTAINERS").read_text(encoding="utf-8")
    patterns = re.findall(r"^F:\t(\S+)$", text, re.M)
    assert [path for path in tracked() if not answered_for(path, patterns)] == []
    assert [pattern for pattern in patterns if not (ROOT / pattern).exists()] == []


def test_contributing_names_a_loop_that_runs(tmp_path: pathlib.Path) -> None:
    """The commands of the loop for one chip that need no build, run as they are written: an image is recorded and
    shown. Seen failing with record-image's arguments swapped."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").split("## A one-minute loop")[1].split("\n## ")[0]
    commands = re.findall(r"^    (build/bin/.*)$", text, re.M)
    assert len(commands) == 2
    script = "\n".join(command.replace("build/ad102.image", str(tmp_path / "ad102.image")) for command in commands)
    done = subprocess.run(["sh", "-ec", script], cwd=ROOT, check=False, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"AD102 (Ada), 0000:01:00.0, from {tmp_path}/ad102.image\n")
