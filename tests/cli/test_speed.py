# SPDX-License-Identifier: GPL-2.0
"""Response times of commands. The shortest of many runs counts, because other work only adds to it."""

import ctypes
import os
import pathlib
import subprocess
import time
import typing

from support.fakeproc import BUSY, ENABLED, Channel, FakeProc, Tsg, snapshot
from support.fakerm import fake_rm
from support.program import TOOL, gpulens, image


def best_ms(*words: str, runs: int = 30, env: typing.Optional[typing.Dict[str, str]] = None) -> float:
    """The shortest of that many runs."""
    times = []
    for _ in range(runs):
        began = time.perf_counter()
        subprocess.run([str(TOOL), *words], check=True, stdout=subprocess.DEVNULL, env={**os.environ, **(env or {})})
        times.append((time.perf_counter() - began) * 1000)
    return min(times)


def test_starting_takes_less_than_10_ms() -> None:
    """Loading, parsing the command line, and help."""
    assert best_ms("--help") < 10


def test_2048_channels_take_less_than_50_ms() -> None:
    """All runlists of an AD102 whose runlist 0 has 2048 channels, from its image."""
    assert best_ms("-i", str(image("ad102", "bench-2048")), "runlists") < 50


def make_machine(folder: pathlib.Path, gpus: int) -> FakeProc:
    """That many GPUs with 40 TSGs of two channels each."""
    proc = FakeProc(folder)
    tsgs = [Tsg(n, 1_024_000, (Channel(2 * n, ENABLED | BUSY), Channel(2 * n + 1))) for n in range(40)]
    for index in range(gpus):
        proc.show(snapshot({0: tsgs}, "AD102", index), index)
    return proc


def test_the_overview_of_16_gpus_takes_less_than_100_ms(tmp_path: pathlib.Path) -> None:
    """Without a driver, and with one that is queried for processes."""
    make_machine(tmp_path, 16)
    assert best_ms("--proc", str(tmp_path)) < 100
    assert best_ms("--proc", str(tmp_path), env=fake_rm()) < 100


def test_the_overview_reads_each_gpu_once(tmp_path: pathlib.Path) -> None:
    """The owners of TSGs need no second read of a GPU through the module, which stops the machine, and few queries to
    the driver. Seen failing with a second snapshot for the processes."""
    make_machine(tmp_path, 2)
    libc = ctypes.CDLL(None, use_errno=True)
    watch = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
    for index in range(2):
        assert libc.inotify_add_watch(watch, os.fsencode(tmp_path / f"gpu{index}/snapshot"), 0x20) >= 0  # IN_OPEN
    log = tmp_path / "log"
    assert gpulens("--proc", str(tmp_path), env=fake_rm(LOG=str(log))).returncode == 0
    assert len(os.read(watch, 4096)) == 2 * 16  # struct inotify_event without a name
    # One client with the GPU at that address; 0 resident channels and utilisation samples.
    asked = [line.split()[1] for line in log.read_text(encoding="ascii").splitlines() if line.startswith("control")]
    assert len(asked) <= 12 and not {"0x2080121c", "0x20802096"} & set(asked)
