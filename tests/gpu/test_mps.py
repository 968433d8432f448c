# SPDX-License-Identifier: GPL-2.0
"""gpulens run --mps --tpcs on a real GPU: programs that run at the same time, each on its own TPCs. The daemon
of MPS is one of gpulens' own, in a folder of the test's own."""

import contextlib
import fcntl
import json
import os
import pathlib
import shlex
import subprocess
import time
from collections.abc import Iterator

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOOL = shlex.split(os.environ.get("GPULENS_TOOL", str(ROOT / "build/bin/gpulens")))
KERNELS = str(ROOT / "build/gpu/kernels")
SECONDS = "2"
LIMIT_S = 30  # of the end of the daemon, which takes a quarter of a second
# TPCs of a program and of its neighbour, out of this many.
SPLITS = {"33 and 33": ("0-32", "33-65"), "8 and 58": ("0-7", "8-65"), "1 and 65": ("0", "1-65")}
TPCS = 66


@pytest.fixture(autouse=True)
def own_folder(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Of the daemon, which ends with the last program: nobody has its file locked then."""
    monkeypatch.setenv("GPULENS_RUNTIME_DIR", str(tmp_path / "run"))
    words = [*TOOL, "run", "--mps", "--tpcs", f"0-{TPCS - 1}", "--", KERNELS, "info"]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=120)
    if done.returncode == 4:
        pytest.skip(done.stderr.strip())
    if json.loads(done.stdout)["sms"] != 2 * TPCS:
        pytest.skip(f"a GPU of {done.stdout.strip()}: the splits are of {TPCS} TPCs")
    yield
    end = time.monotonic() + LIMIT_S
    with (tmp_path / "run/mps/daemon").open(encoding="ascii") as file:
        while True:
            try:
                return fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                assert time.monotonic() < end, "the daemon does not end"
                time.sleep(0.05)


def measure_at_once(kernel: str, *tpcs: str) -> list[float]:
    """The ms of a kernel of each program, while all of them run."""
    with contextlib.ExitStack() as stack:
        all_of_them = [stack.enter_context(subprocess.Popen(
            [*TOOL, "run", "--mps", "--tpcs", one, "-o", "/dev/null", "--", KERNELS, kernel, SECONDS],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)) for one in tpcs]
        for program in all_of_them:
            assert program.stdout and program.stdout.readline() == "ready\n"
        for program in all_of_them:
            assert program.stdin
            program.stdin.write("\n")
            program.stdin.flush()
        return [float(program.communicate(timeout=60)[0]) for program in all_of_them]


def test_a_program_has_as_many_sms_as_its_tpcs() -> None:
    """%smid is renumbered under MPS, so that their number is what can be seen: of a kernel, in a stream, in a graph."""
    for first, last in (0, 0), (3, 10), (33, 65):
        text = subprocess.run([*TOOL, "run", "--mps", "--tpcs", f"{first}-{last}", "--", KERNELS, "where"], check=True,
                              capture_output=True, text=True, timeout=120).stdout
        seen = {line["how"]: len(line["sms"]) for line in map(json.loads, text.splitlines())}
        assert seen == dict.fromkeys(("kernel", "stream", "graph"), 2 * (last - first + 1))


@pytest.mark.parametrize("split", SPLITS)
def test_programs_that_compute_do_not_slow_each_other(split: str) -> None:
    """On TPCs of their own, at most 1.01 times alone; on the same ones twice as long, or they would not run at once."""
    alone = [measure_at_once("compute", tpcs)[0] for tpcs in SPLITS[split]]
    beside = measure_at_once("compute", *SPLITS[split])
    same = measure_at_once("compute", SPLITS[split][0], SPLITS[split][0])
    print(f"\n{split} TPCs, ms alone {alone}, beside the other {beside}, twice on the first {same}")
    assert all(together <= 1.01 * apart for together, apart in zip(beside, alone))
    assert min(same) > 1.8 * alone[0]


@pytest.mark.parametrize("split", SPLITS)
def test_programs_that_share_the_memory(split: str) -> None:
    """As measured: a limit of TPCs does not divide the memory's bandwidth."""
    alone = [measure_at_once("memory", tpcs)[0] for tpcs in SPLITS[split]]
    beside = measure_at_once("memory", *SPLITS[split])
    print(f"\n{split} TPCs, ms of 1 GiB alone {alone}, beside the other {beside}: "
          + ", ".join(f"{together / apart:.2f}" for together, apart in zip(beside, alone)) + " times")
    assert all(together > 0.9 * apart for together, apart in zip(beside, alone))
