#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""What gpulens prints of every chip's scenario: golden/CHIP.txt. With --write, writes what it prints now, to be read
in the diff before it is committed."""

import pathlib
import sys

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS), str(TESTS.parent / "scripts")]

from support.program import PROFILES, gpulens, image  # noqa: E402 pylint: disable=wrong-import-position

COMMANDS = ("", "chip", "engines", "runlists", "channels", "copy", "gpcs", "isolation")
GOLDEN = pathlib.Path(__file__).parent / "golden"


def said(recorded: pathlib.Path) -> str:
    """All commands' output and messages. The image comes through standard input, which has the same name everywhere."""
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
        (GOLDEN / f"{name}.txt").write_text(said(image(name)))
