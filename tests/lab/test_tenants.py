# SPDX-License-Identifier: GPL-2.0
"""gpulens-lab tenants with scripts in place of its program, which needs a GPU."""

import json
import pathlib
import subprocess

import pytest
from support.measured import UUID, check_schema, run_gpulens


def run_tenants(script: str, folder: pathlib.Path, *words: str) -> "subprocess.CompletedProcess[str]":
    """gpulens-lab tenants with a shell script in place of its program."""
    program = folder / "program"
    program.write_text(f"#!/bin/sh\n{script}\n", encoding="ascii")
    program.chmod(0o755)
    return run_gpulens("tenants", *words, "--program", str(program))


def test_tenants_are_a_table(tmp_path: pathlib.Path) -> None:
    """A line for each of the program's, titles from its keys; and as JSON. It gets the experiment and the method.
    Seen failing with titles as the keys are."""
    script = """echo '{"job": "product", "whole_ms": 1.5, "half_ms": null, "jobs": 3}'
        echo "{\\"job\\": \\"$*\\", \\"whole_ms\\": 0.25, \\"half_ms\\": 12.125, \\"jobs\\": 40}" """
    done = run_tenants(script, tmp_path, "neighbours", "--way", "green")
    assert (done.returncode, done.stdout) == (0, """\
Job           Whole ms  Half ms  Jobs
product          1.500        -     3
neighbours 1     0.250   12.125    40
"""), done.stderr
    told = check_schema("tenants", json.loads(run_tenants(script, tmp_path, "cases", "--json").stdout))
    assert told["lines"][1] == {"job": "cases 0", "whole_ms": 0.25, "half_ms": 12.125, "jobs": 40}


def test_tenants_run_on_the_gpu_that_is_named(tmp_path: pathlib.Path) -> None:
    """-g: CUDA shows the program that GPU alone, by its UUID, here CUDA's second device; without -g CUDA's device 0.
    Seen failing with the device not passed on."""
    program = tmp_path / "program"
    program.write_text("#!/bin/sh\necho '{\"shown\": \"'$CUDA_VISIBLE_DEVICES'\"}'\n", encoding="ascii")
    program.chmod(0o755)
    words = ("--json", "tenants", "cases", "--program", str(program))
    for gpu, device, shown in ((("-g", "0"), "0000:01:00.0", UUID), ((), None, "")):
        done = run_gpulens(*gpu, *words, FAKE_CUDA_SECOND="1")
        told = check_schema("tenants", json.loads(done.stdout))
        assert (told["device"], told["lines"]) == (device, [{"shown": shown}])
    for numbers, why in ((("7",), "there is no GPU 7; the driver has 1"), (("0", "1"), "one GPU at a time")):
        done = run_gpulens(*(word for number in numbers for word in ("-g", number)), *words)
        assert (done.returncode, done.stdout) == (3, "") and why in done.stderr, done.stderr


@pytest.mark.parametrize("script,status,why", (
    ("echo refused >&2; exit 3", 4, "refused\n"), ("exit 1", 4, "it ended with status 1"),
    ("true", 4, "it printed nothing"),
    ("echo x", 4, 'line 1 of its output is "x"'), ("echo '[1]'", 4, "line 1 of its output"),
    ("echo '{\"a\": [1]}'", 4, "line 1 of its output"),
    ("echo '{\"a\": 1}'; echo '{\"b\": 1}'", 4, "line 2 of its output")))
def test_tenants_that_fail_are_status_4(script: str, status: int, why: str, tmp_path: pathlib.Path) -> None:
    """With the program's own message, or the line that is invalid. Seen failing with lines of other keys accepted."""
    done = run_tenants(script, tmp_path, "cases")
    assert (done.returncode, done.stdout) == (status, "") and why in done.stderr, done.stderr
    assert run_tenants("true", tmp_path, "games").returncode == 2
