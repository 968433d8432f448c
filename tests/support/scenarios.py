# SPDX-License-Identifier: GPL-2.0
"""What tests of scenarios of gpulens-lab probe-kernels share: they are run by fake_probe.py instead of the program that
needs CUDA, and by the simulation."""

import json
import pathlib
import typing

import jsonschema
from support.program import ROOT, gpulens

FAKE = str(ROOT / "tests/support/fake_probe.py")
SCHEMA = json.loads((ROOT / "docs/blocks-schema.json").read_text(encoding="utf-8"))
Json = typing.Any


def run_tool(*words: str, status: int = 0, **more: typing.Any) -> str:
    """Standard output of a command, which must end with that status."""
    result = gpulens(*words, **more)
    assert result.returncode == status, result.stderr
    return result.stdout


def read_log(file: pathlib.Path) -> Json:
    """A log, which must conform to the schema."""
    log = json.loads(file.read_text(encoding="utf-8"))
    jsonschema.validate(log, {"$ref": "#/$defs/log", "$defs": SCHEMA["$defs"]}, cls=jsonschema.Draft202012Validator)
    return log


def kernels_of(log: Json) -> typing.Dict[str, Json]:
    """Kernels of a log by name."""
    return {k["kernel_name"]: k for benchmark in log["benchmarks"] for k in benchmark["times"] if "block_times" in k}


def run_probe(file: pathlib.Path, scenario: str, *words: str, **env: str) -> typing.Dict[str, Json]:
    """The kernels of a scenario that the fake ran."""
    run_tool("probe-kernels", scenario, "--program", FAKE, "-o", str(file), *words, env=env)
    return kernels_of(read_log(file))


def make_spin(**more: Json) -> Json:
    """A benchmark with one kernel that spins for 100 ms."""
    return {"filename": "timer_spin.so", "thread_count": 1024, "block_count": 4, "additional_info": 100000000, **more}


def write_scenario(folder: pathlib.Path, *benchmarks: Json, **more: Json) -> str:
    """Writes a scenario file, which must conform to the schema, and returns its path."""
    scenario = {"name": "s", "benchmarks": list(benchmarks), **more}
    jsonschema.validate(scenario, {"$ref": "#/$defs/scenario", "$defs": SCHEMA["$defs"]},
                        cls=jsonschema.Draft202012Validator)
    (folder / "scenario.json").write_text(json.dumps(scenario))
    return str(folder / "scenario.json")


def check_broken(file: pathlib.Path, log: Json) -> str:
    """What --check prints of a log that violates a rule; other violations may follow from it."""
    file.write_text(json.dumps(log))
    return run_tool("blocks", "--check", str(file), status=1)


def make_copying(tmp_path: pathlib.Path) -> str:
    """Three kernels of 20 ms; two copy 100 MB in and out, the third only in."""
    job = {"additional_info": 20000000, "block_count": 1, "copy_in_count": 25000000}
    return write_scenario(tmp_path, make_spin(**job, copy_out_count=25000000),
                          make_spin(**job, copy_out_count=25000000, release_time=0.001),
                          make_spin(**job, release_time=0.035))
