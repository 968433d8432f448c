# SPDX-License-Identifier: GPL-2.0
"""Helpers for tests of gpulens export: a folder in place of /proc, a running server, and parsed answers."""

import concurrent.futures
import contextlib
import os
import pathlib
import shutil
import subprocess
import typing
import urllib.error
import urllib.request

from support.fakeproc import GR, IDLE, ON, SAVE, make_sample, sample_head
from support.fakeclock import CLOCK, run_by_clock
from support.program import ENDS_WITH_PARENT, TOOL, image

EXPORT = ("export", "--prometheus")
MS = 1000000
CACHED = 1.1  # seconds after which a collection is not used again


def parse_metrics(text: str) -> typing.Dict[str, float]:
    """The value of each series, by its name and labels as they are written."""
    series = {}
    for line in text.splitlines():
        if not line.startswith("#"):
            name, value = line.rsplit(" ", 1)
            assert name not in series, f"twice: {name}"
            series[name] = float(value)
    return series


def find_complaints(text: str) -> str:
    """The output of promtool, which is empty for valid metrics."""
    done = subprocess.run(["promtool", "check", "metrics"], input=text.encode(), capture_output=True, check=False)
    return (done.stdout + done.stderr).decode() + (f"exit {done.returncode}" if done.returncode else "")


STATS = """read_runlist 7
read_runlist_failed 1
write_disable_channel 3
write_disable_channel_failed 2
bar0_read32 123456789012
window_stopped_ns 2500000
window_longest_stop_ns 12000
something_new 5
"""


def recording(samples: typing.List[typing.Tuple[int, int, int]]) -> bytes:
    """Samples of engine GR0 on runlist 0: time in ns, kind, TSG. The first four bytes are a placeholder: the tool
    writes the period, 1000, over them."""
    return b"    " + sample_head((GR,)) + b"".join(make_sample(when, 0, tsg, kind) for when, kind, tsg in samples)


def fake_proc(folder: pathlib.Path) -> None:
    """Makes gpu0: TSG 5 on the engine for 2 ms, saved for 1 ms, then TSG 3 for 4 ms, of which one sample is late."""
    gpu = folder / "gpu0"
    gpu.mkdir(parents=True)
    shutil.copy(image("ad102"), gpu / "snapshot")
    (gpu / "stats").write_text(STATS)
    (gpu / "samples").write_bytes(recording([
        (1 * MS, ON, 5), (2 * MS, ON, 5), (3 * MS, SAVE, 5), (4 * MS, ON, 3), (7 * MS, ON, 3), (8 * MS, IDLE, -1)]))


@contextlib.contextmanager
def listening(*words: str, at: str = "127.0.0.1:0", env: typing.Optional[typing.Dict[str, str]] = None,
              by_clock: bool = True) -> typing.Iterator[typing.Tuple["subprocess.Popen[str]", str]]:
    """Starts the exporter, with more variables in its environment; yields the process and its URL. It answers while the
    tests' clock stands still; by_clock: False: it has the machine's."""
    more = CLOCK.environment(**(env or {})) if by_clock else env or {}
    with subprocess.Popen([*ENDS_WITH_PARENT, str(TOOL), *EXPORT, "--listen", at, *words], stderr=subprocess.PIPE,
                          text=True, env={**os.environ, **more}) as process:
        try:
            assert process.stderr
            line = process.stderr.readline()
            assert line.startswith("gpulens: metrics at http://"), line
            yield process, line.split()[-1]
        finally:
            process.kill()


def get(url: str) -> typing.Tuple[int, str, str]:
    """The status, the content type and the text of an answer, while the tests' clock stands still but for a server that
    waits because it reads the clock so often: seen with 100 clients."""
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        answer = pool.submit(fetch_page, url)
        while not answer.done():
            concurrent.futures.wait([answer], timeout=0.002)
            CLOCK.end_spins()
        return answer.result()


def fetch_page(url: str) -> typing.Tuple[int, str, str]:
    """As get(), while no time passes."""
    try:
        with urllib.request.urlopen(url, timeout=60) as answer:
            return answer.status, answer.headers["Content-Type"], answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, "", ""


def scrape_page(url: str, seconds: float = 10) -> str:
    """The text of an answer that may take so much time of the tests' clock, by a process that has it."""
    program = "import sys, urllib.request; sys.stdout.write(urllib.request.urlopen(sys.argv[1]).read().decode())"
    done = run_by_clock(["python3", "-c", program, url], {**os.environ, **CLOCK.environment()}, seconds)
    assert done.returncode == 0, done.stderr
    return done.stdout
