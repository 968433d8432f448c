# SPDX-License-Identifier: GPL-2.0
"""The programs gpulens and gpulens-lab on this machine, and recorded GPUs for it: no virtual machine and no GPU."""

import functools
import os
import pathlib
import subprocess
import sys
import tempfile
import typing

from lib.chips import CHIPS

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOOL = ROOT / "build/bin/gpulens"
LAB = ROOT / "build/bin/gpulens-lab"
LAB_COMMANDS = ("probe-kernels", "blocks", "tenants", "experiment", "evaluate", "interleave", "warps")
DOCS = ROOT / "build/cmake/docs"
RECORD = ROOT / "build/bin/record-image"
PROGRAMS = ROOT / "build/bin/tests"  # what tests/support/CMakeLists.txt makes for tests
# A program after these words ends when this process does, also if it is killed.
ENDS_WITH_PARENT = ("setpriv", "--pdeathsig", "KILL")
PROFILES = sorted(chip.name for chip in CHIPS)


def build_program(name: str, folder: pathlib.Path, partition: bool = False) -> str:
    """Compiles tests/partition/NAME.c in the folder, and links it with libgpulens-partition if it uses that."""
    library = ROOT / "build/bin/libgpulens-partition.so"
    words = [f"-I{ROOT}/tools/partition", f"-L{library.parent}", "-lgpulens-partition", f"-Wl,-rpath,{library.parent}"]
    assert not partition or library.exists(), f"{library} is not there; run make tool-parts"
    subprocess.run(["gcc", "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-o", str(folder / name),
                    str(ROOT / f"tests/partition/{name}.c"), *(words if partition else ())], check=True)
    return str(folder / name)


def tool_of(words: typing.Sequence[object]) -> pathlib.Path:
    """The program that has the command of a command line."""
    return LAB if any(word in LAB_COMMANDS for word in words) else TOOL


def scenario_of(profile: str) -> str:
    """The scenario that shows most of a chip."""
    return f"demo-{profile}" if (ROOT / f"emulator/scenarios/demo-{profile}.json").exists() else "minimal"


def gpulens(*words: str, stdin: typing.Optional[bytes] = None, env: typing.Optional[typing.Dict[str, str]] = None,
            tool: typing.Optional[pathlib.Path] = None,
            before: typing.Sequence[str] = ()) -> "subprocess.CompletedProcess[str]":
    """Runs gpulens, or gpulens-lab where the command is one of that, with a locale that can draw trees. before: the
    words of a program that starts it."""
    tool = tool or tool_of(words)
    assert tool.exists(), f"{tool} is not there; run make tool"
    done = subprocess.run([*before, str(tool), *words], input=stdin or b"", capture_output=True, check=False,
                          timeout=600, env={**os.environ, "LC_ALL": "C.UTF-8", **(env or {})})
    return subprocess.CompletedProcess(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())


class Usage(typing.NamedTuple):
    """The usage of a run: exit status, seconds, processor seconds of the program, peak memory."""
    status: int
    seconds: float
    user_s: float
    peak_mb: float


# A process counts its parent's memory as its own until it executes another program, so the parent is a small one.
LAUNCHER = """
import os, sys, time
begun = time.monotonic()
nowhere = [(os.POSIX_SPAWN_OPEN, fd, os.devnull, os.O_RDWR, 0) for fd in (0, 1, 2)]
child = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ, file_actions=nowhere)
_, status, usage = os.wait4(child, 0)
print(os.waitstatus_to_exitcode(status), time.monotonic() - begun, usage.ru_utime, usage.ru_maxrss / 1024)
"""


def usage_of(*words: str) -> Usage:
    """The usage of the program with these arguments; its output is discarded."""
    done = subprocess.run([sys.executable, "-I", "-S", "-c", LAUNCHER, str(tool_of(words)), *words], check=True,
                          stdout=subprocess.PIPE, text=True)
    status, seconds, user_s, peak_mb = done.stdout.split()
    return Usage(int(status), float(seconds), float(user_s), float(peak_mb))


FOLDER = tempfile.TemporaryDirectory(prefix="gpulens-images-")  # pylint: disable=consider-using-with


@functools.lru_cache(maxsize=None)
def image(profile: str, scenario: str = "") -> pathlib.Path:
    """The image of an emulated chip, recorded once."""
    assert RECORD.exists(), f"{RECORD} is not there; run make tool-parts"
    scenario = scenario or scenario_of(profile)
    file = pathlib.Path(FOLDER.name) / f"{profile}-{scenario}.image"
    file.write_bytes(subprocess.run([str(RECORD), profile, scenario], check=True, stdout=subprocess.PIPE).stdout)
    return file


@functools.lru_cache(maxsize=None)
def image_without_tpc_table(profile: str) -> pathlib.Path:
    """The image without the hardware's table of TPCs (0x405000 to 0x405fff), as recorded while no context is active."""
    file = pathlib.Path(FOLDER.name) / f"{profile}-without-tpc-table.image"
    lines = image(profile).read_text().splitlines(keepends=True)
    left = [line for line in lines if not line.startswith("r 0x00405")]
    assert len(left) < len(lines), f"the image of {profile} has no table of TPCs"
    file.write_text("".join(left))
    return file
