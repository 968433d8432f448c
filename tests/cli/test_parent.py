# SPDX-License-Identifier: GPL-2.0
"""gpulens run as a parent: it forwards signals to the program, returns its status, and leaves no file or process
behind. Each test was seen failing with a run that only waited."""

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

# nohup or a background job may start the tests with signals ignored, which children inherit.
HEEDED = ("env", "--default-signal=HUP,INT,QUIT")
LINE = {"pid": 7, "device": 0, "tsg": 6, "engine": 1, "timeslice_us": 2048, "preemption": None, "channels": [11]}


@pytest.fixture(autouse=True)
def set_folder(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder for the files of gpulens run: other tests run programs at the same time."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))


def run_files() -> "set[pathlib.Path]":
    """The files of gpulens run."""
    return set(pathlib.Path(os.environ["TMPDIR"]).glob("gpulens-run-*"))


def wait_until_gone(pid: int, seconds: float = 60) -> bool:
    """Whether the process ends within that time; a zombie counts as ended."""
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
def start_shell(script: str) -> "typing.Iterator[tuple[subprocess.Popen[str], int]]":
    """Starts a shell under gpulens run; yields both with the shell's pid. The shell is killed at the end."""
    with subprocess.Popen([*HEEDED, str(TOOL), "run", "--", "sh", "-c", f"echo $$; {script}"], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout
        program = int(process.stdout.readline())
        handle = os.pidfd_open(program)  # another process may have its pid later
        try:
            yield process, program
        finally:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(handle, signal.SIGKILL)
            os.close(handle)


@pytest.mark.parametrize("name", ("TERM", "HUP", "INT", "QUIT", "USR1", "USR2"))
def test_signals_are_passed_on(name: str) -> None:
    """The program handles the signal, and its status is returned."""
    script = f"trap 'echo got {name}; exit 9' {name}; echo ready; while :; do sleep 0.05; done"
    with start_shell(script) as (process, program):
        assert process.stdout and process.stdout.readline() == "ready\n"
        process.send_signal(getattr(signal, f"SIG{name}"))
        assert wait_until_gone(program)
        out, err = process.communicate(timeout=600)
        assert (process.returncode, out, err) == (9, f"got {name}\n", "gpulens: the program allocated no TSG\n")
    assert not run_files()


@pytest.mark.parametrize("name", ("TERM", "HUP", "KILL"))
def test_death_by_a_signal_is_128_and_its_number(name: str) -> None:
    """Whatever process sent the signal."""
    with start_shell("exec sleep 60") as (process, program):
        number = getattr(signal, f"SIG{name}")
        if name == "KILL":
            os.kill(program, number)
        else:
            process.send_signal(number)
        assert process.wait(timeout=600) == 128 + number


def test_a_signal_of_the_terminal_arrives_once(tmp_path: pathlib.Path) -> None:
    """The kernel sends Ctrl-C to both processes: the program gets it once."""
    script = f"import signal,time\nn=[]\nsignal.signal(2, lambda *a: n.append(1))\nprint('ready', flush=True)\n" \
             "while not n: time.sleep(.05)\nend=time.time()+1.5\nwhile time.time()<end: time.sleep(.05)\n" \
             f"open('{tmp_path}/n','w').write(str(len(n)))"
    (tmp_path / "program.py").write_text(script, encoding="ascii")
    typed = f"import os,pty,time\npid,fd=pty.fork()\nif not pid: os.execv('{TOOL}', ['gpulens','run','--','python3'," \
            f"'{tmp_path}/program.py'])\nd=b''\nwhile b'ready' not in d: d+=os.read(fd,100)\nos.write(fd,b'\\x03')\n" \
            "try:\n  while os.read(fd,100): pass\nexcept OSError: pass\nos.waitpid(pid,0)"
    subprocess.run(["python3", "-c", typed], check=True, timeout=600)
    assert (tmp_path / "n").read_text(encoding="ascii") == "1"


def test_a_killed_parent_leaves_no_program() -> None:
    """SIGKILL cannot be forwarded: the program gets SIGTERM."""
    with start_shell("exec sleep 60") as (process, program):
        process.kill()
        process.wait(timeout=600)
        assert wait_until_gone(program)
    assert len(run_files()) == 1  # after SIGKILL, gpulens run could not remove it


def test_ignored_children_are_waited_for() -> None:
    """The process that starts gpulens may ignore SIGCHLD."""
    done = subprocess.run([str(TOOL), "run", "--", "sh", "-c", "exit 5"], check=False, timeout=600,
                          preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN) and None)
    assert done.returncode == 5


@pytest.mark.parametrize("line", ("no JSON", json.dumps({**LINE, "pid": 1e20}), json.dumps({**LINE, "pid": -1}),
                                  json.dumps({**LINE, "channels": [2**32]}), json.dumps({**LINE, "tsg": 6.5}),
                                  json.dumps({**LINE, "timeslice_us": 1e300}), json.dumps({**LINE, "channels": 3}),
                                  "[" * 100000, " " * 9000 + json.dumps(LINE)), ids=lambda text: text[:40])
def test_an_invalid_line_prevents_the_table_only(line: str) -> None:
    """The program's status is kept, the file is removed, and no number is misread. record --tsgs refuses the line."""
    good = json.dumps(LINE)
    done = subprocess.run([str(TOOL), "run", "--", "sh", "-c", f"printf '%s\\n' '{good}' >>$GPULENS_RUN_FILE; "
                           "cat >>$GPULENS_RUN_FILE; exit 7"], input=line + "\n", capture_output=True, text=True,
                          check=False, timeout=600)
    assert done.returncode == 7 and ": line 2: not a line of gpulens run\n" in done.stderr
    assert len(done.stderr.splitlines()) == 1 and not run_files()


def test_the_library_makes_no_file_and_follows_no_link(tmp_path: pathlib.Path) -> None:
    """A program that continues after gpulens run has ended: another process may have that file name by then."""
    env = {**os.environ, "GPULENS_FAKE_RM": RECORDING,
           "LD_PRELOAD": f"{ROOT}/build/bin/libgpulens-run.so:{ROOT}/build/bin/fake_rm.so"}
    victim, link = tmp_path / "victim", tmp_path / "link"
    victim.touch()
    link.symlink_to(victim)
    for path in (link, tmp_path / "none"):
        done = subprocess.run(["/usr/bin/python3", str(ROOT / "tests/support/rm/program.py")], check=False,
                              capture_output=True, env={**env, "GPULENS_RUN_FILE": str(path)}, timeout=600)
        assert done.returncode == 7
    assert victim.read_bytes() == b"" and not (tmp_path / "none").exists()


def test_programs_with_gccs_asan_run(tmp_path: pathlib.Path) -> None:
    """ASan's runtime requires the first place in the list of libraries; the user's own options are kept."""
    source = "#include <stdio.h>\n#include <stdlib.h>\nint main(void) { puts(getenv(\"ASAN_OPTIONS\")); return 6; }\n"
    subprocess.run(["gcc", "-fsanitize=address", "-o", str(tmp_path / "a"), "-x", "c", "-"], input=source, text=True,
                   check=True)
    done = subprocess.run([str(TOOL), "run", "--", str(tmp_path / "a")], capture_output=True, text=True, check=False,
                          timeout=600, env={**os.environ, "ASAN_OPTIONS": "verbosity=0"})
    assert (done.returncode, done.stdout) == (6, "verbosity=0:verify_asan_link_order=0\n")
