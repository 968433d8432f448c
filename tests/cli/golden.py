#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""The output of gpulens for the scenario of every chip: golden/CHIP.txt. --write replaces these files with the present
output; read the diff before committing it."""

import pathlib
import sys

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS), str(TESTS.parent / "scripts")]

from support.program import PROFILES, gpulens, image  # noqa: E402 pylint: disable=wrong-import-position

COMMANDS = ("", "chip", "engines", "runlists", "channels", "copy-engines", "gpcs", "isolation")
GOLDEN = pathlib.Path(__file__).parent / "golden"


def run_all_commands(recorded: pathlib.Path) -> str:
    """Output, messages and exit statuses of all commands. The image comes through standard input, which has the same
    name on every machine."""
    out = ""
    for command in COMMANDS:
        done = gpulens("-i", "-", *command.split(), stdin=recorded.read_bytes())
        out += f"$ gpulens {command}".rstrip() + "\n" + done.stdout + done.stderr
        out += f"[exit status {done.returncode}]\n" if done.returncode else ""
    return out


if __name__ == "__main__":
    if sys.argv[1:] != ["--write"]:
        sys.exit("usage: tests/cli/golden.py --write")
    for name in PROFILES:
        (GOLDEN / f"{name}.txt").write_text(run_all_commands(image(name)))
