# SPDX-License-Identifier: GPL-2.0
"""scripts/lib/suite.py, by which scripts/test and its kind run: what it counts, prints, and leaves behind."""

import os
import pathlib
import signal
import subprocess
import sys
import textwrap
import time

import pytest

from lib import paths, suite

LIMIT = 120  # seconds, only for what hangs


@pytest.fixture(name="build", autouse=True)
def fixture_build(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    """A folder in place of build/."""
    monkeypatch.setattr(paths, "BUILD", tmp_path)
    monkeypatch.setattr(suite, "RESULTS", tmp_path / "results")
    (tmp_path / "results").mkdir()
    return tmp_path


def run_shell(*texts: str, junit: str = "") -> int:
    """A suite of these shell texts as jobs; its status."""
    with suite.Suite("test") as mine:
        mine.run([suite.Job("room", f"job {number}", ["sh", "-c", text], junit=junit)
                  for number, text in enumerate(texts)], 2)
        return mine.report()


def test_each_failure_is_named_with_the_command_that_repeats_it(
        build: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    """pytest's test by its file and name, GoogleTest's by its program and filter, a fuzz target by its name. Seen
    failing: with the name of the class of pytest's older form."""
    (build / "tests" / "unit").mkdir(parents=True)
    (build / "tests" / "unit" / "unit-tests").touch()
    (build / "made").mkdir()
    (build / "made" / "unit-tests-2.xml").write_text(
        '<a><testcase name="Reads/ad102" classname="Mmu" status="run"><failure message="1&#10;2"/></testcase>'
        '<testcase name="Off" classname="Mmu" status="notrun"/></a>', encoding="utf-8")
    (build / "made" / "x.xml").write_text(
        '<a><testcase file="tests/cli/test_x.py" classname="tests.cli.test_x" name="test_y[0]"><failure message="no"/>'
        '<error message="also"/></testcase><testcase classname="fuzz" name="bars"><failure message="f"/></testcase>'
        '<testcase file="a.py" name="b"/><testcase file="a.py" name="c"><skipped message="Skipped: no KVM"/></testcase>'
        '</a>', encoding="utf-8")
    assert run_shell(f"cp {build}/made/* {build}/results; exit 1", junit="results/*.xml") == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1] == "1 passed, 3 failed, 2 skipped"
    again = [line.split("again: ")[1] for line in lines if "again: " in line]
    assert again[0].endswith("unit-tests --gtest_filter='Mmu.Reads/ad102'")
    assert again[1] == "scripts/pytest 'tests/cli/test_x.py::test_y[0]'"
    assert again[2] == "tests/fuzz/run bars"
    assert "skipped 1: no KVM" in lines and "FAILED  1" in lines


@pytest.mark.parametrize("text, last", [
    ("kill -9 $$", "0 passed, 1 failed, 0 skipped"),
    ("exit 5", "0 passed, 0 failed, 0 skipped"),
    ("echo '<a><testcase' >{build}/results/x.xml", "0 passed, 1 failed, 0 skipped")],
    ids=["crash", "no tests", "broken"])
def test_a_run_without_a_passed_test_fails(build: pathlib.Path, capsys: pytest.CaptureFixture[str], text: str,
                                           last: str) -> None:
    """A crash counts as a failure, and so does a broken file. Seen failing where the status was not looked at."""
    assert run_shell(text.format(build=build), junit="results/*.xml") == 1
    assert capsys.readouterr().out.splitlines()[-1] == last


def test_the_times_of_the_last_run_are_kept(build: pathlib.Path) -> None:
    """They say how long is left and what begins first. Seen failing without report()'s write."""
    run_shell("true", "true")
    assert set((build / "times" / "test.json").read_text(encoding="utf-8").split('"')[1::2]) == {"job 0", "job 1"}


def test_jobs_of_a_lower_priority_do_not_keep_it(tmp_path: pathlib.Path) -> None:
    """Once none of the others is left: on a machine with other work they took hours. Seen failing with nice 10."""
    own = os.getpriority(os.PRIO_PROCESS, 0)
    wait = f"for i in $(seq 50); do [ $(nice) = {own} ] && break; sleep 0.1; done; nice >>{tmp_path}/ended"
    with suite.Suite("test") as mine:
        low = [suite.Job("room", f"job {number}", ["sh", "-c", wait], nice=10) for number in range(3)]
        mine.run([suite.Job("room", "job", ["sleep", "1"]), *low], 1)
    ended = (tmp_path / "ended").read_text("ascii").split()
    assert ended == 3 * [str(own)] if os.geteuid() == 0 else str(own) in ended


def test_a_build_that_fails_ends_the_suite(capsys: pytest.CaptureFixture[str]) -> None:
    """With the end of its log, and nothing after it. Seen failing where run() was called for builds."""
    with pytest.raises(SystemExit, match="the build failed"), suite.Suite("test") as mine:
        mine.build([suite.Job("build", "build", ["sh", "-c", "echo wrong; exit 2"])], 1)
    assert "wrong" in capsys.readouterr().out


@pytest.mark.parametrize("early", [False, True], ids=["later", "in a start"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_nothing_is_left_when_it_is_interrupted(tmp_path: pathlib.Path, number: signal.Signals, early: bool) -> None:
    """The jobs and their programs have ended, and the folder for temporary files is gone. Seen failing without
    killpg(), and where a signal between a job's start and its place among those that run left it."""
    program = tmp_path / "program.py"
    program.write_text(textwrap.dedent(f"""
        import os, pathlib, sys
        sys.path.insert(0, {str(paths.ROOT / 'scripts')!r})
        from lib import paths, suite
        paths.BUILD = pathlib.Path({str(tmp_path)!r})
        suite.RESULTS = paths.BUILD / "results"

        class Job(suite.Job):
            def start(self, environment):
                super().start(environment)
                (paths.BUILD / "started").write_text(f"{{environment['TMPDIR']}} {{self.process.pid}}")
                if {early}:
                    os.kill(os.getpid(), {int(number)})

        with suite.Suite("test") as mine:
            mine.run([Job("room", "job", ["sh", "-c", "sleep 1000 & touch {tmp_path}/runs; wait"])], 1)
        sys.exit(130)
        """), encoding="utf-8")
    with subprocess.Popen([sys.executable, str(program)], stdout=subprocess.DEVNULL) as process:
        limit = time.monotonic() + LIMIT
        while not (early or (tmp_path / "runs").exists()):
            assert process.poll() is None and time.monotonic() < limit
            time.sleep(0.05)
        if not early:
            process.send_signal(number)
        assert process.wait(LIMIT) in (130, 128 + number)
    folder, group = (tmp_path / "started").read_text(encoding="utf-8").split()
    assert not pathlib.Path(folder).exists()
    limit = time.monotonic() + LIMIT
    while any(in_group(path, group) for path in pathlib.Path("/proc").glob("[0-9]*/stat")):
        assert time.monotonic() < limit  # what is killed ends when it gets a processor
        time.sleep(0.05)


def in_group(path: pathlib.Path, group: str) -> bool:
    """Whether that process is in the process group and no zombie."""
    try:
        words = path.read_text(encoding="utf-8").rpartition(")")[2].split()
    except OSError:
        return False
    return words[2] == group and words[0] != "Z"
