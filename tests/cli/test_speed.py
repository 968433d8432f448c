# SPDX-License-Identifier: GPL-2.0
"""How long a person waits. The best of many runs, since a busy machine only adds to it."""

import subprocess
import time

from support.program import TOOL, image


def best_ms(*words: str, runs: int = 30) -> float:
    """The shortest of so many runs."""
    times = []
    for _ in range(runs):
        began = time.perf_counter()
        subprocess.run([str(TOOL), *words], check=True, stdout=subprocess.DEVNULL)
        times.append((time.perf_counter() - began) * 1000)
    return min(times)


def test_starting_takes_less_than_10_ms() -> None:
    """Loading, parsing the command line, and help."""
    assert best_ms("--help") < 10


def test_2048_channels_take_less_than_50_ms() -> None:
    """All runlists of an AD102 whose runlist 0 has 2048 channels, from its image."""
    assert best_ms("-i", str(image("ad102", "bench-2048")), "runlists") < 50
