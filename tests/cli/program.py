# SPDX-License-Identifier: GPL-2.0
"""The gpulens program on this machine, and recorded GPUs for it: no virtual machine and no GPU."""

import functools
import os
import pathlib
import subprocess
import tempfile
import typing

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOOL = ROOT / "build/bin/gpulens"
DOCS = ROOT / "build/cmake/docs"
RECORD = ROOT / "build/bin/record-image"
PROFILES = sorted(path.stem for path in (ROOT / "emulator/profiles").glob("*.json"))


def scenario_of(profile: str) -> str:
    """The scenario that shows most of a chip."""
    return f"demo-{profile}" if (ROOT / f"emulator/scenarios/demo-{profile}.json").exists() else "minimal"


def gpulens(*words: str, stdin: typing.Optional[bytes] = None, env: typing.Optional[typing.Dict[str, str]] = None,
            tool: pathlib.Path = TOOL, before: typing.Sequence[str] = ()) -> "subprocess.CompletedProcess[str]":
    """Run the program with a locale that can draw trees. before: words of a program that runs it."""
    assert tool.exists(), f"{tool} is not there; run make tool"
    done = subprocess.run([*before, str(tool), *words], input=stdin or b"", capture_output=True, check=False,
                          timeout=120, env={**os.environ, "LC_ALL": "C.UTF-8", **(env or {})})
    return subprocess.CompletedProcess(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())


FOLDER = tempfile.TemporaryDirectory(prefix="gpulens-images-")  # pylint: disable=consider-using-with


@functools.lru_cache(maxsize=None)
def image(profile: str, scenario: str = "") -> pathlib.Path:
    """The image of an emulated chip, recorded once."""
    assert RECORD.exists(), f"{RECORD} is not there; run make tool-parts"
    scenario = scenario or scenario_of(profile)
    file = pathlib.Path(FOLDER.name) / f"{profile}-{scenario}.image"
    file.write_bytes(subprocess.run([str(RECORD), profile, scenario], check=True, stdout=subprocess.PIPE).stdout)
    return file
