# SPDX-License-Identifier: GPL-2.0
"""gpulens partitions set: another partition for a program that runs, with the fake libcuda and an H200's recording."""

import contextlib
import fcntl
import os
import pathlib
import re
import signal
import subprocess
from collections.abc import Iterator

import pytest
from cli.test_confine import UUID, fake_environment, list_partitions, run_tool
from support.fakeclock import CLOCK
from support.fakerm import ask_rm
from support.program import ROOT, TOOL, build_program

GRAPHS = "gpulens: note: graphs keep the TPCs that they were uploaded with, until they are instantiated again\n"


def drop_notes(stderr: str) -> str:
    """Without the note on graphs, and on other programs of this machine that share TPCs, as those of tests beside."""
    return re.sub(r"^\d+ \(.*\) and \d+ \(.*\) share TPC.*\n", "", stderr.replace(GRAPHS, ""), flags=re.M)


@pytest.fixture(scope="module", name="program")
def build_cuda_program(tmp_path_factory: pytest.TempPathFactory) -> str:
    """tests/partition/cuda_program.c."""
    return build_program("cuda_program", tmp_path_factory.mktemp("cuda"))


class Steps:
    """A program that launches where it is told to."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self.process = process
        children = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children")
        self.sms = self.launch()
        self.pid = int(children.read_text(encoding="ascii").split()[0])

    def launch(self, how: str = "") -> "list[int]":
        """The SMs of a launch. how: "fork", in a child."""
        assert self.process.stdin and self.process.stdout
        print(how, file=self.process.stdin, flush=True)
        return [int(sm) for sm in self.process.stdout.readline().removeprefix("ran on").split()]


@contextlib.contextmanager
def run_steps(program: str, *words: str, **env: str) -> "Iterator[Steps]":
    """Starts gpulens run with the program, which has launched once."""
    with subprocess.Popen([str(TOOL), "run", *words, "--", program, "step"], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                          env=fake_environment(**env)) as process:
        assert process.stdin
        try:
            yield Steps(process)
        finally:
            process.stdin.close()


def page_of(pid: int) -> str:
    """The path of the process' memory file."""
    files = pathlib.Path(f"/proc/{pid}/fd")
    return next(str(link) for link in files.iterdir() if "gpulens-partition" in os.readlink(link))


def test_the_next_launch_has_the_new_partition(program: str) -> None:
    """So does a child that is forked later; the list shows it from that launch on. A partition is changed any number of
    times. Seen failing without the look at requests in a launch."""
    with run_steps(program, "--tpcs", "0-2") as steps:
        assert steps.sms == [0, 1, 2, 3, 4, 5]
        done = run_tool("partitions", "set", str(steps.pid), "--tpcs", "65")
        assert (done.returncode, done.stdout, drop_notes(done.stderr)) == (
            0, f"{steps.pid} (cuda_program) is limited to TPCs 65 of 0000:01:00.0, in GPCs 1, from its next launch "
            "on\n",
            "")
        assert [own["tpcs"] for own in list_partitions(steps.pid)] == [[0, 1, 2]]
        assert steps.launch() == [130, 131]
        (own,) = list_partitions(steps.pid)
        assert (own["tpcs"], own["gpcs"], own["scope"], own["launches"]) == ([65], [1], "program", 2)
        assert steps.launch("fork") == [130, 131]
        assert drop_notes(run_tool("partitions", "-q", "set", str(steps.pid), "--tpcs", "3,60").stderr) == ""
        assert steps.launch() == [6, 7, 120, 121]
        assert steps.launch() == [6, 7, 120, 121]


@contextlib.contextmanager
def ask_by_clock(steps: Steps, output: pathlib.Path) -> "Iterator[subprocess.Popen[str]]":
    """Asks for TPC 1 by the tests' clock, until the command waits for a launch; ends it at the end. output: what it
    prints."""
    words = [str(TOOL), "--json", "partitions", "-q", "set", str(steps.pid), "--tpcs", "1"]
    with output.open("w") as out, subprocess.Popen(
            words, stdout=out, stderr=out, text=True,
            env={**os.environ, **CLOCK.environment(**fake_environment())}) as command:
        try:
            CLOCK.run(0.5)
            assert command.poll() is None
            yield command
        finally:
            command.kill()


def test_a_launch_acknowledges(program: str, tmp_path: pathlib.Path) -> None:
    """The command ends as soon as a launch has taken the request; it waits for a second of its clock."""
    with run_steps(program, "--tpcs", "0") as steps, ask_by_clock(steps, tmp_path / "out") as command:
        assert steps.launch() == [2, 3]
        assert CLOCK.wait(command, 0.1) == 0
    assert '"taken": true' in (tmp_path / "out").read_text(encoding="ascii")


def test_a_process_that_ends_is_reported(program: str, tmp_path: pathlib.Path) -> None:
    """Seen failing: it was said to be limited from its next launch on."""
    with run_steps(program, "--tpcs", "0") as steps, ask_by_clock(steps, tmp_path / "out") as command:
        os.kill(steps.pid, signal.SIGKILL)
        steps.process.wait(timeout=60)
        assert CLOCK.wait(command, 0.1) == 3
    assert (tmp_path / "out").read_text(encoding="ascii") == f"gpulens: process {steps.pid}: it has ended\n"


@pytest.mark.parametrize("how", ("--fixed", "plan"))
def test_a_fixed_partition_stays(program: str, tmp_path: pathlib.Path, how: str) -> None:
    """Also where the page says that it takes requests, as another process of the user can write. A plan counts on its
    partitions. Seen failing with --plan."""
    plan = ask_rm("plan", str(ROOT / "docs/plan-example.json"), "--json", "--exact", "--spare", "keep").stdout
    (tmp_path / "plan.json").write_text(plan, encoding="utf-8")
    words = ("--tpcs", "0", "--fixed") if how == "--fixed" else ("--plan", f"{tmp_path}/plan.json", "--task", "camera")
    with run_steps(program, *words) as steps:
        done = run_tool("partitions", "set", str(steps.pid), "--tpcs", "1")
        assert (done.returncode, done.stdout, drop_notes(done.stderr)) == (
            4, "", f"gpulens: process {steps.pid}: its partition is fixed (gpulens run --fixed or --plan)\n")
        with open(page_of(steps.pid), "r+b", buffering=0) as page:
            os.pwrite(page.fileno(), b"\1\0\0\0", 32)
        run_tool("partitions", "set", str(steps.pid), "--tpcs", "1")
        assert steps.launch() == steps.sms


def test_what_cannot_be_changed_is_refused(program: str) -> None:
    """No partition of gpulens run, impossible partitions, and wrong usage. Nothing changes."""
    with run_steps(program, "--tpcs", "0") as steps:
        pid = str(steps.pid)
        for words, status, message in (
                (("set", str(os.getpid()), "--tpcs", "1"), 3, "gpulens run limits no process of this number"),
                (("set", pid, "--tpcs", "66"), 2, "TPC"),
                (("set", pid), 2, "set goes with --tpcs, --gpcs, --half or --plan"),
                (("--tpcs", "0"), 2, "set goes with --tpcs, --gpcs, --half or --plan"),
                (("set", "--tpcs", "0"), 2, "set requires PID"),
                (("set", pid, "--tpcs", "0", "--methods"), 2, "--methods excludes set"),
                (("sett", pid, "--tpcs", "0"), 2, "did you mean set?")):
            done = run_tool("partitions", *words)
            assert (done.returncode, done.stdout) == (status, ""), done.stderr
            assert message in done.stderr
        with open(page_of(steps.pid), "rb") as page:
            fcntl.flock(page, fcntl.LOCK_EX)
            done = run_tool("partitions", "set", pid, "--tpcs", "1")
            assert (done.returncode, drop_notes(done.stderr)) == (
                4, f"gpulens: process {pid}: another process asks it\n")
        assert steps.launch() == [0, 1]


def test_a_request_for_another_gpu_is_refused(program: str) -> None:
    """By the program: the bits of the mask are those of the GPU that it was verified on."""
    with run_steps(program, "--tpcs", "0") as steps:
        other = re.sub("[0-9a-f]{32}$", "f" * 32, re.findall(
            "^GPULENS_LAUNCH_MASK=(.*)", run_tool("run", "--tpcs", "1", "--", "env").stdout, re.M)[0])
        with open(page_of(steps.pid), "r+b", buffering=0) as page:
            os.pwrite(page.fileno(), other.encode() + b"\0", 48)
            os.pwrite(page.fileno(), b"\2\0\0\0", 36)
            assert steps.launch() == [0, 1]
            assert os.pread(page.fileno(), 8, 40) == b"\2\0\0\0\2\0\0\0"
        assert steps.launch() == [0, 1] and UUID[4:8] == "0011"


@pytest.mark.skipif(os.geteuid() != 0, reason="it takes root")
def test_another_users_program_is_not_changed(program: str) -> None:
    """Who may not see the process' files cannot ask it."""
    with run_steps(program, "--tpcs", "0") as steps:
        done = subprocess.run(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", str(TOOL), "partitions",
                               "set", str(steps.pid), "--tpcs", "1"], env=fake_environment(), capture_output=True,
                              text=True, check=False, timeout=600)
        assert (done.returncode, done.stdout) == (3, "") and "that this user may see" in done.stderr
        assert steps.launch() == [0, 1]
