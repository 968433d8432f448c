# SPDX-License-Identifier: GPL-2.0
"""Copies before and after kernels in gpulens-lab probe-kernels and blocks: RTSS'17's rules C1 to C4, and RTAS'24's R4
and R5."""

import json
import pathlib
import typing

import jsonschema
import pytest
from support.program import gpulens
from support.scenarios import (FAKE, SCHEMA, Json, check_broken, kernels_of, make_copying, make_spin, read_log,
                               run_probe, run_tool, write_scenario)


def copies_of(log: Json) -> typing.Dict[str, typing.List[float]]:
    """Start and end of each copy, by kernel and direction."""
    return {f"{name} {way}": k[f"copy_{way}"]["times"] for name, k in kernels_of(log).items()
            for way in ("in", "out") if f"copy_{way}" in k}


COPIES: typing.Dict[int, typing.Dict[str, typing.List[float]]] = {  # by hand: 100 MB take 10 ms at 10 GB/s
    1: {"K1 in": [0, 0.01], "K2 in": [0.01, 0.02], "K1 out": [0.03, 0.04], "K3 in": [0.04, 0.05],
        "K2 out": [0.05, 0.06]},
    2: {"K1 in": [0, 0.01], "K2 in": [0.01, 0.02], "K1 out": [0.03, 0.04], "K3 in": [0.035, 0.045],
        "K2 out": [0.04, 0.05]},
}


def test_processes_take_turns_on_copy_engines(tmp_path: pathlib.Path) -> None:
    """R4 and R5 (RTAS'24), by hand: copies of 4 ms of two processes have the engine for 2 ms each in turn, the second
    process first; meanwhile the third one, which only has a kernel, keeps the SMs. Then kernels take turns. Seen
    failing with copies of several processes refused."""
    job = {"filename": "timer_spin", "thread_count": 32, "block_count": 1, "additional_info": 1000000}
    file = write_scenario(tmp_path, {**job, "copy_in_count": 10000000}, {**job, "copy_in_count": 10000000},
                          {**job, "additional_info": 5000000}, use_processes=True)
    run_probe(tmp_path / "a.json", file)
    run_tool("probe-kernels", file, "--simulate", "-o", str(tmp_path / "b.json"))
    for name in ("a.json", "b.json"):
        log = read_log(tmp_path / name)
        found, kernels = copies_of(log), kernels_of(log)
        assert found["K2 in"] == pytest.approx([0, 0.006], abs=1e-5)
        assert found["K1 in"] == pytest.approx([0.002, 0.008], abs=1e-5)
        assert [kernels[k]["block_times"][0] for k in ("K3", "K2", "K1")] == pytest.approx([0, 0.006, 0.008], abs=1e-5)
        assert "no rule is violated" in run_tool("blocks", "--check", str(tmp_path / name))


def test_copies_are_in_tables_and_json(tmp_path: pathlib.Path) -> None:
    """blocks has their bytes and times; without copies the table has no columns of them. Times by hand: 120 MB
    take 12 ms at 10 GB/s."""
    job = {"filename": "timer_spin", "thread_count": 32, "block_count": 1, "additional_info": 1000000}
    file = write_scenario(tmp_path, {**job, "copy_out_count": 30000000}, job)
    run_tool("probe-kernels", file, "--simulate", "-o", str(tmp_path / "a.json"))
    table = run_tool("blocks", str(tmp_path / "a.json")).splitlines()
    assert " ".join(table[1].split("Last end s")[1].split()) == (
        "In bytes In start s In end s Out bytes Out start s Out end s")
    assert table[2].split()[-6:] == ["-", "-", "-", "120000000", "0.001000", "0.013000"]
    assert table[3].split()[-6:] == ["-"] * 6
    report = json.loads(run_tool("--json", "blocks", str(tmp_path / "a.json")))
    jsonschema.validate(report, {"$ref": "#/$defs/blocks", "$defs": SCHEMA["$defs"]},
                        cls=jsonschema.Draft202012Validator)
    assert [(k["copy_in"], k["copy_out"]) for k in report["kernels"]] == [
        (None, {"bytes": 120000000, "start": 0.001, "end": 0.013}), (None, None)]
    run_tool("probe-kernels", write_scenario(tmp_path, job), "--simulate", "-o", str(tmp_path / "b.json"))
    assert "bytes" not in run_tool("blocks", str(tmp_path / "b.json"))


@pytest.mark.parametrize("engines", COPIES)
def test_copies_wait_for_a_copy_engine(tmp_path: pathlib.Path, engines: int) -> None:
    """C1 to C4: a copy waits for what is ahead in its stream and for its engine; a kernel for its copy. One engine
    copies in both directions, two in one each. Seen failing with engines that have two copies at a time."""
    file = make_copying(tmp_path)
    run_probe(tmp_path / "a.json", file, FAKE_COPY_ENGINES=str(engines))
    run_tool("probe-kernels", file, "--simulate", "--copy-engines", str(engines), "-o", str(tmp_path / "b.json"))
    for name in ("a.json", "b.json"):
        log = read_log(tmp_path / name)
        assert log["gpu"]["copy_engines"] == engines
        found = copies_of(log)
        assert found.keys() == COPIES[engines].keys()
        for which, times in COPIES[engines].items():
            assert found[which] == pytest.approx(times, abs=1e-5), which
        starts = [kernels_of(log)[name]["block_times"][0] for name in ("K1", "K2")]
        assert starts == pytest.approx([0.01, 0.02], abs=1e-5)
        assert "no rule is violated" in run_tool("blocks", "--check", str(tmp_path / name))
    run_tool("probe-kernels", file, "--simulate", "--copy-rate", "20", "-o", str(tmp_path / "c.json"))
    assert copies_of(read_log(tmp_path / "c.json"))["K1 in"] == pytest.approx([0, 0.005])


@pytest.mark.parametrize("which, times, text", (
    ("K1 out", [0.02, 0.03], "Rule C1: K1's copy out starts at 0.020000 s, before it is called and all ahead of it in "
     "its stream has ended, at 0.030007 s\n"),
    ("K2 in", [0.005, 0.015], "Rule C3: K2's copy in starts at 0.005000 s, though K1's copy in has the copy engine "
     "until 0.010007 s\n"),
    ("K1 in", [0.0, 0.012], "Rule C4: K1 starts at 0.010007 s, though its copy in ends at 0.012000 s\n"),
    ("K3 in", [0.065, 0.075], "Rule C2: K2's copy out starts at 0.050007 s, and ends at 0.060007 s, though K3's copy "
     "in, which came to the head of its stream earlier, ends at 0.075000 s\n")))
def test_copies_that_break_a_rule(
        tmp_path: pathlib.Path, which: str, times: typing.List[float], text: str) -> None:
    """A valid log with another time of a copy. Without a number of engines, C2 and C3 are not checked, and C3 only of
    simulated logs."""
    run_probe(tmp_path / "a.json", make_copying(tmp_path))
    log = read_log(tmp_path / "a.json")
    log["simulated"] = "C3" in text
    name, way = which.split()
    kernels_of(log)[name][f"copy_{way}"]["times"] = times
    assert text in check_broken(tmp_path / "b.json", log)
    del log["gpu"]["copy_engines"]
    (tmp_path / "c.json").write_text(json.dumps(log))
    found = gpulens("blocks", "--check", str(tmp_path / "c.json")).stdout
    assert "Note: the log does not state the number of copy engines: C2 and C3 were not checked\n" in found
    assert "Rule C3" not in found and "Rule C2" not in found


def test_the_program_gets_copies_as_lines(tmp_path: pathlib.Path) -> None:
    """After the kernel, in bytes; --print has them, and a bad answer is refused."""
    told, program = tmp_path / "told", tmp_path / "program"
    program.write_text(f'#!/bin/sh\n[ "$1" = run ] && cat >{told}\nexec {FAKE} info x\n')
    program.chmod(0o755)
    file = write_scenario(
        tmp_path, make_spin(copy_in_count=3), {"filename": "multikernel", "stream_priority": 0, "additional_info": [
            {"kernel_label": "X", "duration": 5, "block_count": 1, "thread_count": 32, "copy_out_count": 10}]})
    (tmp_path / "again.json").write_text(run_tool("probe-kernels", file, "--simulate", "--print"))
    for name in (file, str(tmp_path / "again.json")):
        gpulens("probe-kernels", name, "--program", str(program))
        assert told.read_text().splitlines()[3:] == ["kernel spin 0 100000000 1 4 1024 0 0", "copies 12 0",
                                                     "kernel spin 1 5 1 1 32 0 0", "copies 0 40", "end"]
    result = gpulens("probe-kernels", file, "--program", FAKE, env={"FAKE_BREAK": "copy"})
    assert result.returncode == 3 and "times are not in order" in result.stderr
