# SPDX-License-Identifier: GPL-2.0
"""What the tests of gpulens sweep, neighbour, verify and tenants share: the tests' libcuda and resource manager of an
H200 (66 TPCs, 132 SMs), fake_probe.py in place of the program that needs CUDA, and a program to measure."""

import functools
import json
import os
import pathlib
import subprocess
import tempfile
from typing import Any

import jsonschema
from support.fakeclock import CLOCK, run_by_clock
from support.fakerm import fake_rm
from support.program import ROOT, build_program, tool_of

FAKE = str(ROOT / "tests/support/fake_probe.py")
SCHEMA = json.loads((ROOT / "docs/measure-schema.json").read_text(encoding="utf-8"))
UUID = "GPU-00112233-4455-6677-8899-aabbccddeeff"  # of the H200 in fake_cuda.cc
KINDS = ("compute", "memory", "copies")
FOLDER = tempfile.TemporaryDirectory(prefix="gpulens-measured-")  # pylint: disable=consider-using-with


@functools.lru_cache(maxsize=None)
def measured_program() -> str:
    """tests/partition/measured_program.c, built once."""
    return build_program("measured_program", pathlib.Path(FOLDER.name))


def fake_environment(**more: str) -> dict[str, str]:
    """The environment with the fake libcuda.so.1 and driver, and as many SMs as these have in the fake probe."""
    return {**{key: value for key, value in os.environ.items() if key != "CUDA_VISIBLE_DEVICES"}, **fake_rm(),
            "LD_LIBRARY_PATH": str(ROOT / "build/bin/fake-cuda"), "FAKE_SMS": "132", **more}


def run_gpulens(*words: str, **env: str) -> "subprocess.CompletedProcess[str]":
    """Runs the tool by the tests' clock; output and errors as text."""
    return run_by_clock([tool_of(words), *words], CLOCK.environment(**fake_environment(**env)))


def check_schema(what: str, document: Any) -> Any:
    """The parsed document; it must conform to this part of docs/measure-schema.json."""
    jsonschema.validate(document, {"$ref": f"#/$defs/{what}", "$defs": SCHEMA["$defs"]},
                        cls=jsonschema.Draft202012Validator)
    return document


def check_report(what: str, *words: str, status: int = 0, **env: str) -> Any:
    """The JSON of a command; it must conform to docs/measure-schema.json."""
    done = run_gpulens("--json", *words, **env)
    assert done.returncode == status, done.stderr + done.stdout
    return check_schema(what, json.loads(done.stdout))
