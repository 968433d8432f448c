# SPDX-License-Identifier: GPL-2.0
"""Runs gpulens with a preloaded library (tests/support/rm/fake_rm.cc) in place of NVIDIA's resource manager."""

import json
import pathlib
import subprocess
import typing

from support.program import ROOT, gpulens

RECORDING = str(ROOT / "tests/support/rm/h200-580.json")
FACTS = json.loads(pathlib.Path(RECORDING).read_text(encoding="utf-8"))

# A program that allocates TSGs.
PROGRAM = ("/usr/bin/python3", str(ROOT / "tests/support/rm/program.py"), "--for", "it")


def fake_rm(**more: str) -> dict[str, str]:
    """The environment with the first of the recorded GPUs. more: variables of the fake, without GPULENS_FAKE_RM_, and
    RECORDING, another recording."""
    library = ROOT / "build/bin/fake_rm.so"
    assert library.exists(), f"{library} is not there; run make tool-parts"
    recording = more.pop("RECORDING", RECORDING)
    return {"LD_PRELOAD": str(library), "GPULENS_FAKE_RM": recording,
            **{f"GPULENS_FAKE_RM_{name}": value for name, value in more.items()}}


def ask_rm(*words: str, **more: str) -> "subprocess.CompletedProcess[str]":
    """Runs gpulens --source rm in that environment."""
    return gpulens("--source", "rm", *words, env=fake_rm(**more))


def recording_with(folder: pathlib.Path, *changes: tuple[str, typing.Any]) -> str:
    """Writes the recording with other values at these paths ("common/arch"), for properties that the recorded GPUs
    lack."""
    facts = json.loads(json.dumps(FACTS))
    for path, value in changes:
        *way, last = path.split("/")
        place = facts
        for step in way:
            place = place[int(step) if isinstance(place, list) else step]
        place[last] = value
    (folder / "recording.json").write_text(json.dumps(facts), encoding="utf-8")
    return str(folder / "recording.json")
