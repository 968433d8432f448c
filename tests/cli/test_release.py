# SPDX-License-Identifier: GPL-2.0
"""What a release states once: its version, its changes, and the maintainer of each file."""

import os
import pathlib
import re
import shutil
import subprocess
import typing

import pytest
from support.program import ROOT

# The files that state the version.
VERSION_FILES = ("dkms.conf", "CHANGELOG.md")


def read_version() -> str:
    """The version that scripts/lib/version prints."""
    done = subprocess.run([ROOT / "scripts/lib/version"], check=True, stdout=subprocess.PIPE, text=True)
    return done.stdout.strip()


def tracked_files() -> typing.List[str]:
    """Paths of the project, from git."""
    if not shutil.which("git"):
        pytest.skip("git is not installed")
    done = subprocess.run(["git", "ls-files"], cwd=ROOT, check=False, stdout=subprocess.PIPE, text=True)
    if done.returncode:
        pytest.skip("this is no clone")
    return done.stdout.splitlines()


def test_version_is_in_one_place() -> None:
    """Only dkms.conf and CHANGELOG.md have the version's number, and the list of the library's symbols, which has the
    version in which each came. Seen failing with it in tools/CMakeLists.txt."""
    assert re.fullmatch(r"\d+\.\d+\.\d+", read_version())
    number = re.compile(rf"(?<![\d.]){re.escape(read_version())}(?![\d.])".encode())
    found = [path for path in tracked_files() if (ROOT / path).is_file() and number.search((ROOT / path).read_bytes())]
    assert [path for path in found if path != "debian/libgpulens-partition0.symbols"] == sorted(VERSION_FILES)


def test_changelog_begins_with_the_version() -> None:
    """The newest heading is the version, and older ones follow in order. Seen failing with 0.3.0 in dkms.conf."""
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    headings = re.findall(r"^## (\d+\.\d+\.\d+) - (?:\d{4}-\d\d-\d\d|unreleased)$", text, re.M)
    assert headings and headings[0] == read_version()
    assert len(headings) == len(re.findall(r"^## ", text, re.M))
    order = [tuple(int(part) for part in heading.split(".")) for heading in headings]
    assert order == sorted(order, reverse=True)


def has_maintainer(path: str, patterns: typing.List[str]) -> bool:
    """Whether a pattern is this file or a folder of it."""
    return any(path == pattern or (pattern.endswith("/") and path.startswith(pattern)) for pattern in patterns)


def test_every_file_has_a_maintainer() -> None:
    """Each file is in a folder that MAINTAINERS names, and each name exists. Seen failing without debian/."""
    text = (ROOT / "MAINTAINERS").read_text(encoding="utf-8")
    patterns = re.findall(r"^F:\t(\S+)$", text, re.M)
    assert [path for path in tracked_files() if not has_maintainer(path, patterns)] == []
    assert [pattern for pattern in patterns if not (ROOT / pattern).exists()] == []


def test_commands_of_contributing_work(tmp_path: pathlib.Path) -> None:
    """The commands of the loop for one chip that need no build: an image is recorded and shown. Seen failing with
    record-image's arguments exchanged."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").split("## A one-minute loop")[1].split("\n## ")[0]
    commands = re.findall(r"^    (build/bin/.*)$", text, re.M)
    assert len(commands) == 2
    script = "\n".join(command.replace("build/ad102.image", str(tmp_path / "ad102.image")) for command in commands)
    done = subprocess.run(["sh", "-ec", script], cwd=ROOT, check=False, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"AD102 (Ada), 0000:01:00.0, from {tmp_path}/ad102.image\n")


def test_targets_are_not_built_at_the_same_time(tmp_path: pathlib.Path) -> None:
    """With make -j, as MAKEFLAGS may say: two builds in one folder destroy each other's files. Seen failing without
    .NOTPARALLEL in the Makefile."""
    program = tmp_path / "cmake"
    program.write_text(f"""#!/bin/sh
echo begin >>{tmp_path}/log
sleep 0.1
echo end >>{tmp_path}/log
""", encoding="ascii")
    program.chmod(0o755)
    (tmp_path / "build.ninja").touch()
    subprocess.run(["make", "-j4", f"CMAKE_BUILD={tmp_path}", "emulator", "tool", "tool-parts"], cwd=ROOT, check=True,
                   env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}, stdout=subprocess.DEVNULL)
    assert (tmp_path / "log").read_text(encoding="ascii").split() == ["begin", "end"] * 3
