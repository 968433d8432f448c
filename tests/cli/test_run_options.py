# SPDX-License-Identifier: GPL-2.0
"""gpulens run with limits in space and in time at once: each combination of options, on the tests' libcuda and resource
manager of an H200. What was asked for reaches the program, or the program does not start."""

import itertools
import os
import pathlib
import subprocess

import pytest

from support.fakerm import RECORDING
from support.program import TOOL
from support.scheduled import BIN

# The variable that brings each limit to the program, and its library.
SPACE = {(): {}, ("--tpcs", "0-2"): {"GPULENS_LAUNCH_MASK": None, "LD_PRELOAD": "libgpulens-confine.so"}}
TIME = {
    (): {},
    ("--schedule", "slice=500us"): {"GPULENS_SCHEDULE_SLICE": "500"},
    ("--schedule", "budget=2ms/10ms"): {"GPULENS_SCHEDULE_BUDGET": "2000/10000"},
    ("--schedule", "task=camera"): {"GPULENS_SCHEDULE_TASK": "camera"},
    ("--schedule", "task=camera,gate"): {
        "GPULENS_SCHEDULE_TASK": "camera", "GPULENS_SCHEDULE_GATE": "1", "LD_PRELOAD": "libgpulens-gate.so"},
}
SLOT = {(): {}, ("--slot", "gpu"): {"GPULENS_SCHEDULE_TASK": "slot:"}}
PITFALLS = {(): {}, ("--pitfalls",): {"GPULENS_CALLS_FOLDER": None, "LD_PRELOAD": "libgpulens-calls.so"}}
NAMES = {name for kind in (SPACE, TIME, SLOT, PITFALLS) for wanted in kind.values() for name in wanted}
REFUSED = {
    ("--schedule", "task=camera,gate"): (("--tpcs", "0-2"), "a limit and --schedule gate do not go together"),
    ("--schedule", "budget=2ms/10ms"): (("--slot", "gpu"), "--slot goes with a time slice only"),
    ("--schedule", "task=camera"): (("--slot", "gpu"), "--slot goes with a time slice only"),
}


def find_refusal(space: "tuple[str, ...]", when: "tuple[str, ...]", slot: "tuple[str, ...]") -> str:
    """Why a combination is refused; empty: it is not."""
    other, sentence = REFUSED.get(when, ((), ""))
    if when == ("--schedule", "task=camera,gate") and slot and not space:
        return "--slot goes with a time slice only"
    return sentence if other and other in (space, slot) else ""


@pytest.mark.parametrize("options", itertools.product(SPACE, TIME, SLOT, PITFALLS),
                         ids=lambda options: " ".join(word for option in options for word in option) or "none")
def test_all_that_was_asked_for_reaches_the_program(
        tmp_path: pathlib.Path, options: "tuple[tuple[str, ...], ...]") -> None:
    """By the environment of the program. Seen failing (exit status 0): with --tpcs the variables of --schedule and
    --slot were gone."""
    words = [*itertools.chain(*options), *(["--experimental"] if options[1] or options[2] else [])]
    env = {**{name: value for name, value in os.environ.items() if name != "CUDA_VISIBLE_DEVICES"},
           "LD_PRELOAD": f"{BIN}/fake_rm.so", "LD_LIBRARY_PATH": f"{BIN}/fake-cuda", "GPULENS_FAKE_RM": RECORDING,
           "GPULENS_RUNTIME_DIR": str(tmp_path / "run")}
    done = subprocess.run([TOOL, "run", "-q", "-o", "/dev/null", *words, "--", "env", "-0"], env=env,
                          capture_output=True, text=True, check=False, timeout=600)
    refusal = find_refusal(*options[:3])
    if refusal:
        assert (done.returncode, done.stdout) == (2, "") and refusal in done.stderr
        return
    assert done.returncode == 0, done.stderr
    found = dict(line.split("=", 1) for line in done.stdout.split("\0") if "=" in line)
    wanted = [(name, value) for kind, option in zip((SPACE, TIME, SLOT, PITFALLS), options)
              for name, value in kind[option].items()]
    for name, value in wanted:
        assert name in found and (value or "") in found[name], (name, done.stderr)
    assert {name for name in NAMES if name in found} <= {name for name, _ in wanted} | {"LD_PRELOAD"}
