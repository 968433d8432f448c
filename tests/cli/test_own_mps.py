# SPDX-License-Identifier: GPL-2.0
"""gpulens run --mps: its daemon begins with the first program and ends with the last one, however that ends."""

import os
import pathlib
import signal
import socket
import subprocess
import time
import typing

import pytest

from support.fakemps import write_daemon
from support.fakerm import RECORDING
from support.program import TOOL
from support.scheduled import BIN

LIMIT_S = 60  # of what takes some milliseconds


class Place:
    """A user's folder, and the daemon's program."""

    def __init__(self, root: pathlib.Path) -> None:
        self.root, self.control = root, root / "run/mps/pipe/control"
        self.env = {**os.environ, "LD_PRELOAD": f"{BIN}/fake_rm.so", "LD_LIBRARY_PATH": f"{BIN}/fake-cuda",
                    "GPULENS_FAKE_RM": str(RECORDING), "GPULENS_RUNTIME_DIR": str(root / "run"),
                    "FAKE_CUDA_MPS": "1", **write_daemon(root)}

    def start(self, *words: str, **more: str) -> "subprocess.Popen[str]":
        """gpulens run with these words."""
        return subprocess.Popen([str(TOOL), "run", "-q", "-o", "/dev/null", *words], text=True,
                                env={**self.env, **more}, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def run(self, *words: str, **more: str) -> "tuple[int, str, str]":
        """Its status, output and messages."""
        process = self.start(*words, **more)
        out, err = process.communicate(timeout=LIMIT_S)
        return process.returncode, out, err

    def calls(self) -> "list[str]":
        """How the program of the daemon was called: its words, without its process id."""
        return [" ".join(line.split()[1:-1]) for line in (self.root / "calls").read_text().splitlines()]

    def wait(self, condition: "typing.Callable[[], bool]") -> None:
        """Until it is true."""
        end = time.monotonic() + LIMIT_S
        while not condition():
            if time.monotonic() > end:
                shown = subprocess.run(["ps", "ax", "-o", "pid,ppid,stat,wchan:20,args"], stdout=subprocess.PIPE,
                                       text=True, check=False).stdout
                lines = [line for line in shown.splitlines() if "mps" in line]
                raise AssertionError("\n".join([f"called: {self.calls()}, socket: {self.control.exists()}", *lines]))
            time.sleep(0.01)


@pytest.fixture(name="place")
def fixture_place(tmp_path: pathlib.Path) -> Place:
    """A new one."""
    return Place(tmp_path)


def begin_program(place: Place) -> "subprocess.Popen[str]":
    """A program that has begun, and runs until it is ended."""
    mark = place.root / "begun"
    mark.unlink(missing_ok=True)
    process = place.start("--mps", "--", "sh", "-c", f": >{mark}; exec sleep 1000")
    place.wait(lambda: mark.exists() or process.poll() is not None)
    assert process.poll() is None, process.communicate()
    return process


def end_program(process: "subprocess.Popen[str]", number: int = signal.SIGTERM) -> None:
    """Ends gpulens run by a signal."""
    process.send_signal(number)
    process.communicate(timeout=LIMIT_S)


def test_a_program_gets_the_daemon(place: Place) -> None:
    """By its environment, in place of another daemon's; also without its folder beforehand."""
    status, out, err = place.run("--mps", "--tpcs", "3", "--", "env", CUDA_MPS_PIPE_DIRECTORY="/elsewhere")
    assert (status, err) == (0, "gpulens: env is limited to TPCs 3 of 0000:01:00.0, in GPCs 4\n")
    assert f"CUDA_MPS_PIPE_DIRECTORY={place.root}/run/mps/pipe\n" in out
    assert f"CUDA_MPS_LOG_DIRECTORY={place.root}/run/mps/log\n" in out
    place.wait(lambda: not place.control.exists())
    assert place.calls() == ["-f", ""]
    assert (place.root / "run/mps").stat().st_mode & 0o777 == 0o700


def test_programs_share_it_until_the_last_one_ends(place: Place) -> None:
    """Seen failing with a copy of the lock in the process that keeps the daemon: the second did not begin; and where
    that process gives the users' lock back before the daemon's: the fourth one had none."""
    first, second = begin_program(place), begin_program(place)
    end_program(first)
    assert place.control.exists() and place.calls() == ["-f"]
    third = begin_program(place)
    end_program(second)
    end_program(third)
    place.wait(lambda: not place.control.exists())
    assert place.calls() == ["-f", ""]
    end_program(begin_program(place))
    place.wait(lambda: place.calls() == ["-f", "", "-f", ""])


def test_it_ends_with_a_command_that_is_killed(place: Place) -> None:
    """SIGKILL of gpulens run, twice. The next one starts it anew."""
    for number in (1, 2):
        end_program(begin_program(place), signal.SIGKILL)
        place.wait(lambda count=2 * number: len(place.calls()) == count)
        place.wait(lambda: not place.control.exists())


def test_a_daemon_that_does_not_begin_starts_nothing(place: Place) -> None:
    """One that ends, none at all, one that CUDA does not use, and a file that cannot be opened."""
    (place.root / "broken").touch()
    status, out, err = place.run("--mps", "--", "echo", "begun")
    assert (status, out) == (4, "")
    assert err == (f"gpulens: --mps: nvidia-cuda-mps-control: it ended with status 1; {place.root}/run/mps/log has its "
                   "messages\n")
    status, out, err = place.run("--mps", "--", "echo", "begun", PATH="/usr/bin:/bin")
    assert (status, out, err) == (4, "", "gpulens: --mps: nvidia-cuda-mps-control: it is not installed\n")
    (place.root / "broken").unlink()
    del place.env["FAKE_CUDA_MPS"]
    for words, message in ((("--tpcs", "3"), "--mps: CUDA does not use the daemon\n"),
                           ((), "programs are not under MPS: CUDA does not use the daemon\n")):
        status, out, err = place.run("--mps", *words, "--", "echo", "begun")
        assert (status, out) == (4, "") and err.startswith(f"gpulens: {message}"), err
    (place.root / "run/mps/daemon").unlink()
    (place.root / "run/mps/daemon").mkdir()
    status, out, err = place.run("--mps", "--", "echo", "begun")
    assert (status, out) == (3, "") and "/mps/daemon" in err


@pytest.mark.parametrize("words", (("--schedule", "urgent"), ("--slot", "gpu")))
def test_holds_are_refused_under_a_daemon(place: Place, words: "tuple[str, ...]") -> None:
    """Of the environment, while one listens. Seen on an H200: exit status 0, and a budget without effect."""
    pipes = place.root / "pipes"
    pipes.mkdir()
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as control:
        control.bind(str(pipes / "control"))
        control.listen()
        done = place.run(*words, "--experimental", "--", "echo", "begun", CUDA_MPS_PIPE_DIRECTORY=str(pipes))
    assert done[:2] == (4, "") and done[2].startswith(f"gpulens: under MPS ({pipes}/control), programs share a context")
    done = place.run(*words, "--experimental", "--", "echo", "begun", CUDA_MPS_PIPE_DIRECTORY=str(pipes))
    assert done[:2] == (0, "begun\n")


@pytest.mark.parametrize("words", (("--schedule", "urgent"), ("--slot", "gpu")))
def test_it_excludes_holds(place: Place, words: "tuple[str, ...]") -> None:
    """A context that several programs share is held as a whole. No daemon begins."""
    assert place.run("--mps", *words, "--experimental", "--", "true") == (
        2, "", "gpulens: --mps goes with neither --schedule nor --slot: programs under MPS share a context, which is "
        "held as a whole\n")
    assert not (place.root / "calls").exists()
