# SPDX-License-Identifier: GPL-2.0
"""Runs a suite of tests: jobs, several at a time, each a command with a log and, for tests, JUnit files. Shows what
runs and, by the times of the last run (build/times), how long is left; at the end a line for each room, the reasons of
skipped tests, and each failure with the command that repeats it. Nothing is judged by time. However the suite ends, its
processes are ended and its folder in /tmp is removed. Used by scripts/test, scripts/test-lab and scripts/test-asan."""

import collections
import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree
from collections.abc import Iterable, Sequence
from typing import NamedTuple, Optional

from . import paths

RESULTS = paths.BUILD / "results"
GRACE = 30  # seconds that jobs have to end their programs when the suite is interrupted
QUIET = 60  # seconds after which a log without a terminal gets a line about what runs
NO_TESTS = 5  # exit status of pytest: none of its tests was asked for


class Case(NamedTuple):
    """A test that did not pass: how to repeat it, "failed" or "skipped", and why, in a line."""
    repeat: str
    outcome: str
    reason: str


class Job:  # pylint: disable=too-many-instance-attributes
    """A command. room and name are for people; expected is a first guess of its seconds; junit is a pattern of the
    JUnit files that it writes below build/, empty for a build."""

    def __init__(self, room: str, name: str, command: Sequence[str], *, expected: float = 10, junit: str = "",
                 nice: int = 0) -> None:
        self.room, self.name, self.command, self.expected = room, name, list(command), expected
        self.junit, self.nice = junit, nice
        self.log = RESULTS / f"{name.replace(' ', '-')}.log"
        self.process: Optional[subprocess.Popen[bytes]] = None
        self.began = self.seconds = 0.0
        self.passed, self.cases = 0, list[Case]()

    def start(self, environment: dict[str, str]) -> None:
        """Starts it in a process group of its own, so that Ctrl-C reaches this process alone."""
        self.began = time.monotonic()
        for path in self._list_results():
            path.unlink()
        with open(self.log, "wb") as log:
            # pylint: disable-next=consider-using-with
            self.process = subprocess.Popen(["nice", "-n", str(self.nice), *self.command], stdin=subprocess.DEVNULL,
                                            stdout=log, stderr=subprocess.STDOUT, env=environment, cwd=paths.ROOT,
                                            process_group=0)

    def raise_priority(self) -> None:
        """Gives it that of others, where this user may: on a machine with other work it would take hours."""
        with contextlib.suppress(PermissionError, ProcessLookupError):
            if self.nice and self.process is not None:
                os.setpriority(os.PRIO_PGRP, self.process.pid, os.getpriority(os.PRIO_PROCESS, 0))
        self.nice = 0

    def finish(self) -> None:
        """Reads its results, once it has ended."""
        assert self.process is not None
        self.seconds = time.monotonic() - self.began
        for path in self._list_results():
            try:
                self._count(path)
            except xml.etree.ElementTree.ParseError:
                self.cases.append(Case(f"see {self.log}", "failed", f"{path.name} is broken"))
        status = self.process.returncode
        if status not in (0, NO_TESTS) and not self.failed():
            self.cases.append(Case(f"see {self.log}", "failed", f"{self.name} ended with status {status}"))

    def _list_results(self) -> list[pathlib.Path]:
        return sorted(paths.BUILD.glob(self.junit)) if self.junit else []

    def failed(self) -> int:
        """The number of its tests that failed."""
        return sum(case.outcome == "failed" for case in self.cases)

    def skipped(self) -> int:
        """The number of its tests that were skipped."""
        return len(self.cases) - self.failed()

    def counts(self) -> str:
        """The three numbers."""
        return f"{self.passed} passed, {self.failed()} failed, {self.skipped()} skipped"

    def _count(self, path: pathlib.Path) -> None:
        """Adds up a file of pytest or GoogleTest. A test that had an error and a failure counts once."""
        for case in xml.etree.ElementTree.parse(path).getroot().iter("testcase"):
            bad = next((found for kind in ("failure", "error") if (found := case.find(kind)) is not None), None)
            skipped = case.find("skipped")
            if bad is not None:
                reason = (bad.get("message") or bad.text or "").strip().splitlines()
                self.cases.append(Case(name_command(case, path), "failed", reason[0] if reason else ""))
            elif skipped is not None or case.get("status") in ("notrun", "disabled"):
                reason = (skipped.get("message") or "") if skipped is not None else "disabled"
                reason = (reason.strip().splitlines() or [""])[-1]  # GoogleTest puts its place before it
                self.cases.append(Case(name_command(case, path), "skipped", reason.removeprefix("Skipped: ")))
            else:
                self.passed += 1


def name_command(case: xml.etree.ElementTree.Element, path: pathlib.Path) -> str:
    """The command that runs one test again."""
    name = case.get("name", "")
    if case.get("file", "").endswith(".py"):
        return f"scripts/pytest '{case.get('file')}::{name}'"
    if case.get("classname") == "fuzz":
        return f"tests/fuzz/run {name}"
    program = re.sub(r"-\d+$", "", path.stem)
    found = [file for file in path.parents[1].glob(f"tests/*/{program}") if file.is_file()]
    where = os.path.relpath(found[0], paths.ROOT) if found else program
    return f"{where} --gtest_filter='{case.get('classname')}.{name}'"


def pytest_job(room: str, name: str, arguments: Iterable[str], *, expected: float = 10, nice: int = 0) -> Job:
    """A run of pytest. Its file names tests as a person does (xunit1)."""
    command = ["scripts/pytest", "--tb=short", "-rs", "-o", "junit_family=xunit1",
               f"--junitxml={RESULTS / name.replace(' ', '-')}.xml", *arguments]
    return Job(room, name, command, expected=expected, nice=nice, junit=f"results/{name.replace(' ', '-')}.xml")


def count_processors() -> int:
    """Those that this process may use."""
    return len(os.sched_getaffinity(0))


def _in_words(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"


class Suite:  # pylint: disable=too-many-instance-attributes
    """The jobs of one command. A context manager: leaving it ends what still runs."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._began = self._spoke = time.monotonic()
        self._running: list[Job] = []
        self._ended: list[Job] = []
        self._file = paths.BUILD / "times" / f"{name}.json"
        self._times: dict[str, float] = {}
        if self._file.exists():
            self._times = json.loads(self._file.read_text(encoding="utf-8"))
        self._folder = ""
        self._line = 0  # length of the line that shows what runs
        self._signalled = 0  # the number of a signal that ends it

    def __enter__(self) -> "Suite":
        RESULTS.mkdir(parents=True, exist_ok=True)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, self._note_signal)
        self._folder = tempfile.mkdtemp(prefix="gpulens-test-")
        os.chmod(self._folder, 0o755)  # tests run programs in it as other users
        return self

    def _note_signal(self, number: int, _frame: object) -> None:
        """It ends the suite between two looks at the jobs: in the middle of a start, its process would be left."""
        self._signalled = number

    def __exit__(self, kind: object, *_: object) -> bool:
        self._clear_line()  # a second Ctrl-C is noted, too, and leaves no program behind
        if kind is KeyboardInterrupt:
            print(f"{self._name}: interrupted; ending {', '.join(job.name for job in self._running) or 'nothing'}",
                  file=sys.stderr)
        # pytest and make answer to Ctrl-C by ending what they have started
        self._signal(signal.SIGINT)
        limit = time.monotonic() + GRACE
        for job in self._running:
            assert job.process is not None
            try:
                job.process.wait(max(0, limit - time.monotonic()))
            except subprocess.TimeoutExpired:
                pass
        self._signal(signal.SIGKILL)
        shutil.rmtree(self._folder, ignore_errors=True)
        return kind is KeyboardInterrupt

    def _signal(self, number: signal.Signals) -> None:
        for job in self._running:
            assert job.process is not None
            try:
                os.killpg(job.process.pid, number)
            except ProcessLookupError:
                pass

    def _left(self, waiting: Sequence[Job], workers: int) -> float:
        """Seconds until these jobs and those that run have ended, by the last run."""
        rest = [self._expect(job) for job in waiting]
        rest += [max(1, self._expect(job) - (time.monotonic() - job.began)) for job in self._running]
        return max([sum(rest) / workers, *rest], default=0)

    def _expect(self, job: Job) -> float:
        return self._times.get(job.name, job.expected)

    def _say(self, text: str) -> None:
        self._clear_line()
        print(f"{time.monotonic() - self._began:5.0f} s  {text}", flush=True)
        self._spoke = time.monotonic()

    def _clear_line(self) -> None:
        if self._line:
            print("\r" + " " * self._line + "\r", end="", flush=True)
            self._line = 0

    def _show(self, waiting: Sequence[Job], workers: int) -> None:
        """On a terminal one line that changes, elsewhere a line now and then."""
        text = f"now: {', '.join(job.name for job in self._running)}; {len(waiting)} wait; " \
               f"about {_in_words(self._left(waiting, workers))} left"
        if not sys.stdout.isatty():
            if time.monotonic() - self._spoke >= QUIET:
                self._say(text)
            return
        text = f"{time.monotonic() - self._began:5.0f} s  {text}"[:shutil.get_terminal_size().columns - 1]
        print("\r" + text.ljust(self._line), end="", flush=True)
        self._line = len(text)

    def run(self, jobs: Iterable[Job], workers: int) -> None:
        """Runs these jobs, the longest first, so many at a time, and beside them, while there are others, as many of a
        lower priority (nice)."""
        waiting = sorted(jobs, key=self._expect, reverse=True)
        # what programs in a test leave in a folder for temporary files goes with the suite's
        environment = {**os.environ, "TMPDIR": self._folder}
        while waiting or self._running:
            if all(job.nice for job in [*waiting, *self._running]):
                for job in [*waiting, *self._running]:
                    job.raise_priority()
            for job in list(waiting):
                alike = sum(bool(other.nice) == bool(job.nice) for other in self._running)
                if alike < workers:
                    waiting.remove(job)
                    job.start(environment)
                    self._running.append(job)
            for job in [job for job in self._running if job.process is not None and job.process.poll() is not None]:
                self._running.remove(job)
                job.finish()
                self._ended.append(job)
                self._times[job.name] = round(job.seconds, 1)
                self._say(f"{job.name}: {job.counts() if job.junit else 'done'} in {_in_words(job.seconds)}; "
                          f"about {_in_words(self._left(waiting, workers))} left")
            self._show(waiting, workers)
            time.sleep(0.2)
            if self._signalled:
                raise KeyboardInterrupt if self._signalled == signal.SIGINT else SystemExit(128 + self._signalled)

    def build(self, jobs: Iterable[Job], workers: int) -> None:
        """The same for builds: ends the program where one fails."""
        self.run(jobs, workers)
        for job in self._ended:
            if job.failed():
                print("\n".join(job.log.read_text(errors="replace").splitlines()[-40:]))
                sys.exit(f"{self._name}: the build failed; all of it is in {os.path.relpath(job.log, paths.ROOT)}")

    def report(self) -> int:
        """Prints the results; 0 where nothing failed and something passed. The last line: N passed, N failed, N
        skipped."""
        self._file.parent.mkdir(parents=True, exist_ok=True)
        self._file.write_text(json.dumps(self._times, indent=1, sort_keys=True) + "\n", encoding="utf-8")
        tests = [job for job in self._ended if job.junit]
        for job in tests:
            if job.failed():
                print(f"\n== {job.name}\n{job.log.read_text(errors='replace')}")
        reasons = collections.Counter(case.reason for job in tests for case in job.cases if case.outcome == "skipped")
        print()
        for reason, count in reasons.most_common():
            print(f"skipped {count}: {reason}")
        for room in dict.fromkeys(job.room for job in tests):
            mine = [job for job in tests if job.room == room]
            print(f"{room:20} {sum(job.passed for job in mine):5} passed, {sum(job.failed() for job in mine)} failed, "
                  f"{sum(job.skipped() for job in mine)} skipped, {_in_words(sum(job.seconds for job in mine))}")
        delayed = sum(job.log.read_text(errors="replace").count(": it waited ") for job in tests)
        print(f"repeated {delayed}: tests that failed while their guest waited for a processor (the logs name them)")
        failed = [case for job in tests for case in job.cases if case.outcome == "failed"]
        for case in failed:
            print(f"FAILED  {case.reason}\n        again: {case.repeat}")
        passed = sum(job.passed for job in tests)
        print(f"{self._name}: {_in_words(time.monotonic() - self._began)}")
        print(f"{passed} passed, {len(failed)} failed, {sum(job.skipped() for job in tests)} skipped")
        return 0 if passed and not failed else 1


def run_suite(name: str, builds: Sequence[Job], tests: Sequence[Job]) -> int:
    """Installs what is missing, builds all at once, runs the tests, reports. The exit status."""
    if subprocess.run([str(paths.ROOT / "scripts" / "setup")], check=False).returncode != 0:
        return 1
    with Suite(name) as suite:
        suite.build(builds, len(builds))
        suite.run(tests, count_processors())
        return suite.report()
    return 130  # Ctrl-C
