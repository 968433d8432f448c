# SPDX-License-Identifier: GPL-2.0
"""Plans for tests of turns, and programs that take them."""

import json
import os
import pathlib
import subprocess
import typing

from support.fakeclock import CLOCK, run_by_clock

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
    """Runs a program that takes turns by files in the folder, by the tests' clock. Returns the lines that it prints."""
    return finish_turns(run_by_clock([program, *words], CLOCK.environment(**make_environment(folder, **env))))


def time_turns(program: str, folder: pathlib.Path, *words: str) -> "typing.List[str]":
    """The same by the machine's clock, for a program that measures, or one that its debugger stops."""
    return finish_turns(subprocess.run([program, *words], capture_output=True, text=True, check=False, timeout=600,
                                       env=make_environment(folder)))


def make_environment(folder: pathlib.Path, **more: str) -> "typing.Dict[str, str]":
    """Of a program that takes turns."""
    return {**os.environ, "GPULENS_RUNTIME_DIR": str(folder / "run"), **more}


def finish_turns(done: "subprocess.CompletedProcess[str]") -> "typing.List[str]":
    """The lines of a program that succeeded."""
    assert done.returncode == 0, f"{done.returncode}: {done.stdout}{done.stderr}"
    return done.stdout.splitlines()
