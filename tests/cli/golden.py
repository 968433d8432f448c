#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""The output of gpulens for the scenario of every chip: golden/CHIP.txt. --write replaces these files with the present
output; read the diff before committing it. --add FILE makes a test case of a file of gpulens first-card: it becomes
cards/NAME.image, and cards/NAME.txt its output."""

import pathlib
import sys

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS), str(TESTS.parent / "scripts")]

from support.program import PROFILES, gpulens, image  # noqa: E402 pylint: disable=wrong-import-position

COMMANDS = ("", "chip", "engines", "runlists", "channels", "copy-engines", "gpcs", "isolation")
GOLDEN = pathlib.Path(__file__).parent / "golden"
CARDS = pathlib.Path(__file__).parent / "cards"  # of first-card
RECORDED = PROFILES + sorted(path.stem for path in CARDS.glob("*.image"))


def find_image(name: str) -> pathlib.Path:
    """The image of an emulated chip, or of a card."""
    return image(name) if name in PROFILES else CARDS / f"{name}.image"


def find_golden(name: str) -> pathlib.Path:
    """The file with the output for that image."""
    return (GOLDEN if name in PROFILES else CARDS) / f"{name}.txt"


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
    if len(sys.argv) == 3 and sys.argv[1] == "--add":
        added = pathlib.Path(sys.argv[2])
        name = added.stem.removeprefix("gpulens-").lower()
        CARDS.mkdir(exist_ok=True)
        find_image(name).write_bytes(added.read_bytes())
        RECORDED = [name]
    elif sys.argv[1:] != ["--write"]:
        sys.exit("usage: tests/cli/golden.py --write | --add FILE")
    for name in RECORDED:
        find_golden(name).write_text(run_all_commands(find_image(name)))
