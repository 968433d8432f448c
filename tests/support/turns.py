# SPDX-License-Identifier: GPL-2.0
"""Plans for tests of turns, and programs that take them."""

import json
import os
import pathlib
import subprocess
import typing

SECONDS = 1e6


def write_plan(folder: pathlib.Path, test: str, /, *partitions: "typing.Sequence[typing.Tuple[str, float, float]]",
               **more: typing.Any) -> str:
    """Writes a plan of no GPU in particular. partitions: their tasks, each with a name, time and deadline in us."""
    plan = {"version": 1, "command": "plan", "fits": True, "device": None, "numbering": None, "test": test,
            "partitions": [{"place": None} for _ in partitions],
            "tasks": [{"name": name, "partition": i, "time_us": time, "deadline_us": deadline}
                      for i, tasks in enumerate(partitions) for name, time, deadline in tasks], **more}
    file = folder / f"{test}.json"
    file.write_text(json.dumps(plan), encoding="ascii")
    return str(file)


def run_turns(program: str, folder: pathlib.Path, *words: str, **env: str) -> "typing.List[str]":
    """Runs a program that takes turns by files in the folder. Returns the lines that it prints."""
    done = subprocess.run([program, *words], capture_output=True, text=True, check=False, timeout=300,
                          env={**os.environ, "GPULENS_RUNTIME_DIR": str(folder / "run"), **env})
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.splitlines()
