# SPDX-License-Identifier: GPL-2.0
"""gpulens run as a parent: signals go on to the program, its status comes back, nothing is left behind. Each was seen
failing with the run that only waited."""

import contextlib
import json
import os
import pathlib
import signal
import subprocess
import time
import typing

import pytest
from support.fakerm import RECORDING
from support.program import ROOT, TOOL

# Whoever starts the tests may have them ignore signals (nohup, a background job); children inherit that.
HEEDED = ("env", "--default-signal=HUP,INT,QUIT")
LINE = {"pid": 7, "device": 0, "tsg": 6, "engine": 1, "timeslice_us": 2048, "preemption": None, "channels": [11]}


def left() -> "set[pathlib.Path]":
    """Files of runs."""
    return set(pathlib.Path("/tmp").glob("gpulens-run-*"))


def gone(pid: int, seconds: float = 20) -> bool:
    """Whether the process ends within that time, or was not waited for."""
    end = time.monotonic() + seconds
    while True:
        try:
            if pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rsplit(")", 1)[1].split()[0] == "Z":
                return True
        except (FileNotFoundError, ProcessLookupError):
            return True
        if time.monotonic() >= end:
            return False
        time.sleep(0.02)


@contextlib.contextmanager
def begun(script: str) -> "typing.Iterator[tuple[subprocess.Popen[str], int]]":
    """A shell under gpulens run, and its pid. It does not outlive a test that fails."""
    with subprocess.Popen([*HEEDED, str(TOOL), "run", "--", "sh", "-c", f"echo $$; {script}"], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True) as one:
        assert one.stdout
        program = int(one.stdout.readline())
        try:
            yield one, program
        finally:
            if not gone(program, 0):
                os.kill(program, signal.SIGKILL)


@pytest.mark.parametrize("name", ("TERM", "HUP", "INT", "QUIT", "USR1", "USR2"))
def test_signals_are_passed_on(name: str) -> None:
    """The program's own answer is the status."""
    before = left()
    with begun(f"trap 'echo got {name}; exit 9' {name}; echo ready; while :; do sleep 0.05; done") as (one, program):
        assert one.stdout and one.stdout.readline() == "ready\n"
        one.send_signal(getattr(signal, f"SIG{name}"))
        assert gone(program)
        out, err = one.communicate(timeout=20)
        assert (one.returncode, out, err) == (9, f"got {name}\n", "gpulens: the program allocated no TSG\n")
    assert left() <= before


@pytest.mark.parametrize("name", ("TERM", "HUP", "KILL"))
def test_a_program_that_a_signal_ends(name: str) -> None:
    """128 and its number, whatever process sent it."""
    with begun("exec sleep 60") as (one, program):
        number = getattr(signal, f"SIG{name}")
        if name == "KILL":
            os.kill(program, number)
        else:
            one.send_signal(number)
        assert one.wait(timeout=20) == 128 + number


def test_a_signal_of_the_terminal_arrives_once(tmp_path: pathlib.Path) -> None:
    """Ctrl-C, which the kernel sends to both: the program gets it once."""
    script = f"import signal,time\nn=[]\nsignal.signal(2, lambda *a: n.append(1))\nprint('ready', flush=True)\n" \
             f"end=time.time()+1.5\nwhile time.time()<end: time.sleep(.05)\nopen('{tmp_path}/n','w').write(str(len(n)))"
    (tmp_path / "program.py").write_text(script, encoding="ascii")
    typed = f"import os,pty,time\npid,fd=pty.fork()\nif not pid: os.execv('{TOOL}', ['gpulens','run','--','python3'," \
            f"'{tmp_path}/program.py'])\nd=b''\nwhile b'ready' not in d: d+=os.read(fd,100)\nos.write(fd,b'\\x03')\n" \
            "try:\n  while os.read(fd,100): pass\nexcept OSError: pass\nos.waitpid(pid,0)"
    subprocess.run(["python3", "-c", typed], check=True, timeout=60)
    assert (tmp_path / "n").read_text(encoding="ascii") == "1"


def test_a_killed_parent_leaves_no_program() -> None:
    """SIGKILL cannot be forwarded: the program gets SIGTERM."""
    before = left()
    with begun("exec sleep 60") as (one, program):
        one.kill()
        one.wait(timeout=20)
        assert gone(program)
    for path in left() - before:
        path.unlink()  # which nobody could do there


def test_ignored_children_are_waited_for() -> None:
    """SIGCHLD may be ignored by the process that starts it."""
    done = subprocess.run([str(TOOL), "run", "--", "sh", "-c", "exit 5"], check=False, timeout=60,
                          preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN) and None)
    assert done.returncode == 5


@pytest.mark.parametrize("line", ("no JSON", json.dumps({**LINE, "pid": 1e20}), json.dumps({**LINE, "pid": -1}),
                                  json.dumps({**LINE, "channels": [2**32]}), json.dumps({**LINE, "tsg": 6.5}),
                                  json.dumps({**LINE, "timeslice_us": 1e300}), json.dumps({**LINE, "channels": 3}),
                                  "[" * 100000, " " * 9000 + json.dumps(LINE)), ids=lambda text: text[:40])
def test_a_line_that_makes_no_sense_costs_the_table_only(line: str) -> None:
    """The program's status is kept, the file is removed, and the numbers are not taken for others. record --tsgs
    refuses it."""
    before = left()
    good = json.dumps(LINE)
    done = subprocess.run([str(TOOL), "run", "--", "sh", "-c", f"printf '%s\\n' '{good}' >>$GPULENS_RUN_FILE; "
                           "cat >>$GPULENS_RUN_FILE; exit 7"], input=line + "\n", capture_output=True, text=True,
                          check=False, timeout=60)
    assert done.returncode == 7 and ": line 2: not a line of gpulens run\n" in done.stderr
    assert len(done.stderr.splitlines()) == 1 and left() <= before


def test_the_library_makes_no_file_and_follows_no_link(tmp_path: pathlib.Path) -> None:
    """A program that continues after gpulens run has ended: another process may have that file name by then."""
    env = {**os.environ, "GPULENS_FAKE_RM": RECORDING,
           "LD_PRELOAD": f"{ROOT}/build/bin/libgpulens-run.so:{ROOT}/build/bin/fake_rm.so"}
    victim, link = tmp_path / "victim", tmp_path / "link"
    victim.touch()
    link.symlink_to(victim)
    for path in (link, tmp_path / "none"):
        done = subprocess.run(["/usr/bin/python3", str(ROOT / "tests/support/rm/program.py")], check=False,
                              capture_output=True, env={**env, "GPULENS_RUN_FILE": str(path)}, timeout=60)
        assert done.returncode == 7
    assert victim.read_bytes() == b"" and not (tmp_path / "none").exists()


def test_programs_with_gccs_asan_run(tmp_path: pathlib.Path) -> None:
    """Its runtime wants to come first in the list of libraries; the user's own options stay."""
    source = "#include <stdio.h>\n#include <stdlib.h>\nint main(void) { puts(getenv(\"ASAN_OPTIONS\")); return 6; }\n"
    subprocess.run(["gcc", "-fsanitize=address", "-o", str(tmp_path / "a"), "-x", "c", "-"], input=source, text=True,
                   check=True)
    done = subprocess.run([str(TOOL), "run", "--", str(tmp_path / "a")], capture_output=True, text=True, check=False,
                          timeout=60, env={**os.environ, "ASAN_OPTIONS": "verbosity=0"})
    assert (done.returncode, done.stdout) == (6, "verbosity=0:verify_asan_link_order=0\n")
