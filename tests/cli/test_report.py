# SPDX-License-Identifier: GPL-2.0
"""gpulens report: from a recording that is made here, byte by byte, to a page, a table and a trace. Real recordings:
tests/vm/test_tool.py."""

import pathlib
import re
import shutil
import subprocess

import pytest
from fakeproc import Engine, sample, sample_head
from program import gpulens


def recording(turns: int) -> bytes:
    """Two TSGs that take turns of 2 ms and 1 ms on NVDEC0, sampled every 100 us."""
    data = sample_head((Engine("Video Decoder 0 (NVDEC0)", 4, 0x10),), 100)
    time_ns = 0
    for turn in range(turns):
        tsg, count = ((21, 20), (22, 10))[turn % 2]
        for _ in range(count):
            data += sample(time_ns, 0, tsg)
            time_ns += 100_000
    return data + sample(time_ns, 0)


@pytest.fixture(name="page")
def a_page(tmp_path: pathlib.Path) -> pathlib.Path:
    """The page of a recording of 100 turns."""
    (tmp_path / "a.gplt").write_bytes(recording(100))
    done = gpulens("report", str(tmp_path / "a.gplt"))
    assert done.returncode == 0, done.stderr
    return tmp_path / "a.gplt.html"


def test_a_report_measures_the_turns(tmp_path: pathlib.Path) -> None:
    """49 turns of TSG 21, for the first one was under way when the recording began, and 50 of 22. Of 150 ms, 100 and
    50. Seen failing with the first turn measured, too."""
    (tmp_path / "a.gplt").write_bytes(recording(100))
    done = gpulens("report", str(tmp_path / "a.gplt"), "-o", str(tmp_path / "a.csv"))
    assert done.stdout == (
        "gpu0: 0.150 s, 1501 ticks every 100.000 us asked for, 100.000 us reached (99% within 100.000 us, longest "
        "100.000 us); 0 ticks lost\n"
        "Engine  TSG   Time  Turns  Slice set  Median turn  Shortest   Longest\n"
        "NVDEC0   21  66.7%     49          -     2.000 ms  2.000 ms  2.000 ms\n"
        "NVDEC0   22  33.3%     50          -     1.000 ms  1.000 ms  1.000 ms\n")
    assert len((tmp_path / "a.csv").read_text().splitlines()) == 101


def test_a_page_needs_nothing_beside_it(page: pathlib.Path) -> None:
    """No address, no file, no font is loaded from anywhere."""
    assert not re.search(r"(src|href)=|url\(|@import|https?:", page.read_text())


def test_a_browser_draws_the_page(page: pathlib.Path) -> None:
    """Headless Chromium: a bar for each turn, marks on the axis, which the script makes, and no error."""
    browser = shutil.which("chromium") or shutil.which("chromium-browser")
    if not browser:
        pytest.skip("no chromium; scripts/setup installs it")
    done = subprocess.run([browser, "--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr",
                           "--dump-dom", page.as_uri()], capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout.count("<title>TSG 21: 2.000 ms") == 50 and done.stdout.count("<title>TSG 22: 1.000 ms") == 50
    assert re.search(r'<div class="axis"><span style="left: 0%;">0 ms</span><span ', done.stdout)
    assert "CONSOLE" not in done.stderr, done.stderr


def test_what_is_no_recording_is_refused(tmp_path: pathlib.Path) -> None:
    """A text, and a recording of which the head is cut: status 3, the file's name, and nothing is written."""
    (tmp_path / "a").write_text("x" * 100)
    done = gpulens("report", str(tmp_path / "a"))
    assert done.returncode == 3 and done.stderr == f"gpulens: {tmp_path}/a: not a recording: samples begin with GPLT\n"
    (tmp_path / "a").write_bytes(recording(2)[:100])
    assert gpulens("report", str(tmp_path / "a")).returncode == 3
    assert [path.name for path in tmp_path.iterdir()] == ["a"]
