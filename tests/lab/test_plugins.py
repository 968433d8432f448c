# SPDX-License-Identifier: GPL-2.0
"""Plugins of gpulens-lab probe-kernels: docs/plugin-example.cu and a C plugin with faults, in the real program with
tests/support/cuda/fake_runtime.cc: a GPU of 4 SMs whose clock is CLOCK_MONOTONIC."""

import json
import pathlib
import re
import shutil
import typing
import xml.etree.ElementTree

import jsonschema
import pytest
from support.probe_program import NVCC, compile_c, example_plugin, fake_program, odd_plugin
from support.program import ROOT, gpulens

Json = typing.Any
SCHEMA = json.loads((ROOT / "docs/blocks-schema.json").read_text(encoding="utf-8"))
needs_nvcc = pytest.mark.skipif(not NVCC, reason="no nvcc")


def check_schema(what: str, document: Json) -> Json:
    """The document, which must conform to this part of the schema."""
    jsonschema.validate(document, {"$ref": f"#/$defs/{what}", "$defs": SCHEMA["$defs"]},
                        cls=jsonschema.Draft202012Validator)
    return document


def write_scenario(folder: pathlib.Path, *benchmarks: Json, **more: Json) -> str:
    """Writes a scenario, which must conform to the schema, and returns its path."""
    scenario = check_schema("scenario", {"name": "s", "benchmarks": list(benchmarks), **more})
    (folder / "s.json").write_text(json.dumps(scenario))
    return str(folder / "s.json")


def run_probe(folder: pathlib.Path, *benchmarks: Json, status: int = 0, fault: str = "", **more: Json) -> Json:
    """The log of a scenario, which must conform to the schema and break no rule, or the error message."""
    (folder / "calls").unlink(missing_ok=True)
    done = gpulens("probe-kernels", write_scenario(folder, *benchmarks, **more), "--program", fake_program(), "-o",
                   str(folder / "log.json"), env={"ODD_LOG": str(folder / "calls"), "FAULT": fault,
                                                  "FAKE_RUNTIME_LOG": str(folder / "runtime")})
    assert done.returncode == status, done.stderr
    if status:
        return done.stderr
    check = gpulens("blocks", "--check", str(folder / "log.json"))
    assert "no rule is violated" in check.stdout, check.stdout + check.stderr
    return check_schema("log", json.loads((folder / "log.json").read_text(encoding="utf-8")))


def kernels_of(log: Json) -> typing.Dict[str, Json]:
    """Kernels of a log by name."""
    return {k["kernel_name"]: k for benchmark in log["benchmarks"] for k in benchmark["times"] if "block_times" in k}


def make_plugin(file: str, **more: Json) -> Json:
    """A benchmark with that plugin."""
    return {"filename": file, "thread_count": 64, "block_count": 6, **more}


def make_odd(fault: str = "none", **more: Json) -> Json:
    """A benchmark with the plugin in C."""
    return make_plugin(odd_plugin(), additional_info={"fault": fault}, **more)


def calls_of(folder: pathlib.Path) -> typing.List[str]:
    """The calls of the plugin in C."""
    return (folder / "calls").read_text().splitlines()


@needs_nvcc
def test_the_example_is_drawn_like_a_builtin(tmp_path: pathlib.Path) -> None:
    """docs/plugin-example.cu beside a built-in kernel: launch times, blocks and SMs in the log, the picture, CDFs and
    the checker."""
    log = run_probe(tmp_path, make_plugin(example_plugin(), additional_info=3e7, release_time=0.01, label="mine"),
                    {"filename": "timer_spin", "thread_count": 32, "block_count": 2, "additional_info": 5000000})
    kernel, stream = kernels_of(log)["spin_for"], log["benchmarks"][0]
    assert (kernel["block_count"], kernel["thread_count"], kernel["shared_memory"]) == (6, 64, 0)
    assert kernel["block_smids"] == [0, 1, 2, 3, 0, 1]
    times, launch = kernel["block_times"], kernel["cuda_launch_times"]
    error = log["clock"]["uncertainty_ns"] * 1e-9 + 1e-6
    assert all(end - start == pytest.approx(0.03, abs=error) for start, end in zip(times[::2], times[1::2]))
    assert 0.01 <= launch[0] <= min(times) + error and max(times) - error <= launch[2] and launch[0] <= launch[1]
    assert (stream["benchmark_name"], stream["label"]) == ("Example", "mine")
    calls = stream["times"][1]
    assert calls["execute_times"][0] <= launch[0] and launch[2] <= calls["execute_times"][1]
    assert calls["cpu_times"] == [calls["copy_in_times"][0], calls["copy_out_times"][1]]
    assert "stream 0 0" in (tmp_path / "runtime").read_text().splitlines()  # cudaStreamDefault, as without a priority
    done = gpulens("blocks", str(tmp_path / "log.json"), "-o", str(tmp_path / "log.svg"), "--cdf",
                   str(tmp_path / "times.csv"), "--cpu")
    assert done.returncode == 0, done.stderr
    drawn = xml.etree.ElementTree.fromstring((tmp_path / "log.svg").read_text(encoding="utf-8"))
    assert sum("spin_for" in (e.text or "") for e in drawn.iter()) >= 4
    assert 'kernel,1,1,"mine",0.0' in (tmp_path / "times.csv").read_text(encoding="utf-8")


# Each fault of the plugin in C, and what the message says of it after the file's name.
FAULTS = {
    "initialize": "initialize failed",
    "copy_in": "copy_in failed",
    "execute": "execute failed",
    "copy_out": "copy_out failed",
    "killed": "execute ended by a signal",
    "exits": "execute ended the program",
    "wild_times": "reading its kernel_info ended by a signal",
    "negative_count": "kernel_count is -1, not 0 to 4096",
    "many_kernels": "kernel_count is 5000, not 0 to 4096",
    "null_info": "kernel_info is NULL",
    "null_times": "kernel 1 (odd): block_times is NULL",
    "null_sms": "kernel 1 (odd): block_smids is NULL",
    "no_blocks": "kernel 1 (odd): block_count is 0, not 1 to 100000",
    "many_blocks": "kernel 1 (odd): block_count is 100001, not 1 to 100000",
    "many_threads": "kernel 1 (odd): thread_count is 1025, not 1 to 1024",
    "shared": "kernel 1 (odd): shared_memory is -1, not 0 to 2147483647",
    "backwards": "kernel 1 (odd): block 1 ends before it starts",
    "sm4": "kernel 1 (odd): block 1 ran on SM 4, but the GPU has 4",
    "zero_time": "kernel 1 (odd): block 0 has the time 0, which %globaltimer did not have",
    "old_time": "kernel 1 (odd): block 0 has the time ",
    "late_time": "kernel 1 (odd): block 2 has the time ",
    "endless_time": "kernel 1 (odd): block 2 has the time 18446744073709551615, which %globaltimer did not have",
    "wall_clock": "kernel 1 (odd): cuda_launch_times[0] is ",
    "nan": "kernel 1 (odd): cuda_launch_times[1] is nan, which CLOCK_MONOTONIC_RAW was not",
    "order": "kernel 1 (odd): cuda_launch_times are not in order",
}


@pytest.mark.parametrize("processes", (False, True))
@pytest.mark.parametrize("fault", FAULTS)
def test_impossible_values_are_refused(tmp_path: pathlib.Path, fault: str, processes: bool) -> None:
    """The message names the file and the item, and no log is written; also where other processes wait for this one."""
    others = [make_odd()] if processes else []
    error = run_probe(tmp_path, make_odd(fault), *others, status=3, use_processes=processes)
    assert f"gpulens-probe-kernels: {odd_plugin()}: {FAULTS[fault]}" in error, error
    assert not (tmp_path / "log.json").exists()


REGISTER_FAULTS = {
    "register": "RegisterFunctions failed",
    "no_initialize": "RegisterFunctions did not set initialize",
    "no_copy_out": "RegisterFunctions did not set copy_out",
    "no_get_name": "RegisterFunctions did not set get_name",
    "null_name": "get_name returned NULL",
}


@pytest.mark.parametrize("fault", REGISTER_FAULTS)
def test_faults_of_registering_are_refused(tmp_path: pathlib.Path, fault: str) -> None:
    """What RegisterFunctions() must do."""
    error = run_probe(tmp_path, make_odd(), status=3, fault=fault)
    assert f"gpulens-probe-kernels: {odd_plugin()}: {REGISTER_FAULTS[fault]}" in error, error


def test_files_that_are_no_plugins(tmp_path: pathlib.Path) -> None:
    """A file that is missing, that is no ELF file, that lacks a symbol, and one without RegisterFunctions."""
    (tmp_path / "text.so").write_text("text")
    (tmp_path / "cut.so").write_bytes(pathlib.Path(odd_plugin()).read_bytes()[:100])
    unresolved = compile_c("unresolved", "int nowhere(void); int RegisterFunctions(void *f) { return f && nowhere(); }")
    empty = compile_c("empty", "int nothing;")
    for file, why in ((tmp_path / "none.so", "it cannot be loaded: .*No such file"),
                      (tmp_path / "text.so", "it cannot be loaded: .*(invalid ELF header|file too short)"),
                      (tmp_path / "cut.so", "it cannot be loaded: ."),
                      (unresolved, "it cannot be loaded: .*undefined symbol: nowhere"),
                      (empty, "it has no function RegisterFunctions")):
        error = run_probe(tmp_path, make_plugin(str(file)), status=3)
        assert re.search(f"^gpulens-probe-kernels: {file}: {why}", error, re.MULTILINE), error


def test_parameters_follow_the_framework(tmp_path: pathlib.Path) -> None:
    """What initialize() gets: dimensions, data_size, additional_info on one line with whole numbers, priority and mask;
    and the order of the calls. What the plugin prints is no part of the protocol."""
    run_probe(tmp_path, make_odd(thread_count=[8, 4], block_count=[2, 3, 4], data_size=123456789012, stream_priority=-1,
                                 max_iterations=2))
    assert calls_of(tmp_path)[0].startswith('initialize 8,4,1 2,3,4 123456789012 {"fault":"none"} 0 -1 0 cores ')
    assert calls_of(tmp_path)[1:] == ["copy_in", "execute", "copy_out"] * 2 + ["cleanup"]
    run_probe(tmp_path, make_plugin(odd_plugin()), do_warmup=True)
    assert calls_of(tmp_path)[0].startswith("initialize 64,1,1 6,1,1 0 NULL 0 -100 0 cores ")
    assert len(calls_of(tmp_path)) == 1 + 3 * 5 + 1
    run_probe(tmp_path, make_plugin(odd_plugin(), additional_info=[1e6, 2.5, "a\u00e9\nb"]))
    assert '[1000000,2.5,"a\u00e9\\nb"]' in calls_of(tmp_path)[0]


def test_masks_are_the_plugins_to_set(tmp_path: pathlib.Path) -> None:
    """initialize() gets libsmctrl's mask. This plugin ignores it, which the checker shows: block 2 is on SM 2 of TPC
    1."""
    done = gpulens("probe-kernels", write_scenario(tmp_path, make_odd(sm_mask="0x2")), "--program", fake_program(),
                   "-o", str(tmp_path / "log.json"), env={"ODD_LOG": str(tmp_path / "calls")})
    assert done.returncode == 0 and " 0 -100 2 cores " in calls_of(tmp_path)[0], done.stderr
    check = gpulens("blocks", "--check", str(tmp_path / "log.json"))
    assert check.returncode == 1 and "Rule M: odd:2 starts on SM 2 " in check.stdout, check.stdout


def test_processors_and_mps(tmp_path: pathlib.Path) -> None:
    """cpu_core and pin_cpus keep a plugin's thread on one processor; mps_thread_percentage is set before CUDA
    begins."""
    run_probe(tmp_path, make_odd(cpu_core=0))
    assert " cores 1 mps unset" in calls_of(tmp_path)[0]
    run_probe(tmp_path, make_odd(), pin_cpus=True)
    assert " cores 1 mps unset" in calls_of(tmp_path)[0]
    assert "cpu_core 1023 is not available" in run_probe(tmp_path, make_odd(cpu_core=1023), status=3)
    run_probe(tmp_path, make_odd("no_kernel", mps_thread_percentage=25), make_odd(), use_processes=True)
    ends = sorted(line.split(" mps ")[1] for line in calls_of(tmp_path) if " mps " in line)
    assert ends == ["25.0000", "unset"]


@needs_nvcc
def test_iterations_and_barriers(tmp_path: pathlib.Path) -> None:
    """Iterations are numbered and wait for the slow benchmark; threads and processes."""
    for more in ({}, {"use_threads": True}):
        ran = kernels_of(run_probe(tmp_path, make_plugin(example_plugin(), additional_info=1000000), {
            "filename": "timer_spin", "thread_count": 32, "block_count": 2, "additional_info": 30000000},
            max_iterations=3, sync_every_iteration=True, **more))
        assert sorted(ran) == ["K1#1", "K1#2", "K1#3", "spin_for#1", "spin_for#2", "spin_for#3"]
        for i in (2, 3):
            assert min(ran[f"spin_for#{i}"]["block_times"]) > max(ran[f"K1#{i - 1}"]["block_times"]) - 1e-4
    log = run_probe(tmp_path, make_plugin(example_plugin(), additional_info=1000000),
                    make_plugin(example_plugin(), additional_info=1000000, release_time=0.05), use_processes=True,
                    max_iterations=2)
    assert [b["PID"] for b in log["benchmarks"]] == [1, 2]
    assert sorted(kernels_of(log)) == ["spin_for.1#1", "spin_for.1#2", "spin_for.2#1", "spin_for.2#2"]
    limited = run_probe(tmp_path, make_plugin(example_plugin(), additional_info=20000000), max_iterations=50,
                        max_time=0.05)
    assert 1 < len(kernels_of(limited)) < 5


def test_what_a_plugin_may_leave_out(tmp_path: pathlib.Path) -> None:
    """No launch times, or no third one: then those of the calls count. No name, odd names, no kernel, and functions
    that are NULL."""
    log = run_probe(tmp_path, make_odd("no_launch_times"))
    launch, calls = kernels_of(log)["odd"]["cuda_launch_times"], log["benchmarks"][0]["times"][1]
    assert launch == [*calls["execute_times"], calls["execute_times"][1]]
    log = run_probe(tmp_path, make_odd("two"))
    assert sorted(kernels_of(log)) == ["odd.1", "odd.2"]
    assert kernels_of(log)["odd.2"]["cuda_launch_times"][2] == log["benchmarks"][0]["times"][1]["execute_times"][1]
    assert list(kernels_of(run_probe(tmp_path, make_odd("no_name")))) == ["kernel1"]
    assert list(kernels_of(run_probe(tmp_path, make_odd("odd_name")))) == ['a_??"<b>"']
    assert list(kernels_of(run_probe(tmp_path, make_odd("no_kernel"), make_odd()))) == ["odd"]
    error = run_probe(tmp_path, make_odd(), status=3, fault="only_required")
    assert "thread_count is 0" in error  # without execute(), this plugin's kernel is empty
    assert calls_of(tmp_path)[1:] == ["copy_out"]


def test_plugins_with_names_of_builtins(tmp_path: pathlib.Path) -> None:
    """Without "plugin", a file with the name of a built-in benchmark stands for that."""
    shutil.copy(odd_plugin(), tmp_path / "timer_spin.so")
    file = str(tmp_path / "timer_spin.so")
    assert list(kernels_of(run_probe(tmp_path, make_plugin(file, plugin=True)))) == ["odd"]
    assert list(kernels_of(run_probe(tmp_path, make_plugin(file, additional_info=1000)))) == ["K1"]


def test_kernels_of_the_scenario(tmp_path: pathlib.Path) -> None:
    """With "kernels" a plugin can be simulated, and what it launches is compared with them."""
    kernel = {"kernel_label": "A", "duration": 5000000, "block_count": 3, "thread_count": 64}
    assert list(kernels_of(run_probe(tmp_path, make_odd(kernels=[kernel])))) == ["odd"]
    error = run_probe(tmp_path, make_odd(kernels=[{**kernel, "block_count": 2}]), status=3)
    assert f'{odd_plugin()}: kernel 1 has 3 blocks of 64 threads, but the scenario\'s kernel "A" has 2 of 64' in error
    error = run_probe(tmp_path, make_odd("two", kernels=[kernel]), status=3)
    assert "it launched 2 kernels, but the scenario's kernels has 1" in error


def test_simulation(tmp_path: pathlib.Path) -> None:
    """--simulate refuses a plugin by name, unless the scenario says what it launches."""
    kernel = {"kernel_label": "A", "duration": 5000000, "block_count": 3, "thread_count": 64, "delay": 0.5}
    done = gpulens("probe-kernels", write_scenario(tmp_path, make_plugin("a/b.so")), "--simulate")
    assert (done.returncode, done.stderr) == (2, 'gpulens-lab: s: a/b.so: what a plugin launches is unknown to '
                                                 '--simulate unless its key "kernels" says it\n')
    done = gpulens("probe-kernels", write_scenario(tmp_path, make_plugin("a/b.so", kernels=[kernel], release_time=1)),
                   "--simulate", "-o", "-")
    log = check_schema("log", json.loads(done.stdout))
    assert kernels_of(log)["A"]["block_times"] == [1.5, 1.505] * 3 and log["benchmarks"][0]["benchmark_name"] == "b"
    for key, value in (("sm_mask", "0x1"), ("copy_in_count", 1)):
        file = tmp_path / "s.json"
        plugin = make_plugin("b.so", kernels=[{**kernel, key: value}])
        file.write_text(json.dumps({"name": "s", "benchmarks": [plugin]}))
        done = gpulens("probe-kernels", str(file), "--simulate")
        assert done.returncode == 2 and f'unknown key "{key}"' in done.stderr


REFUSED = [({key: value}, f"{key} is set, but a plugin decides this itself") for key, value in (
    ("use_null_stream", False), ("blocking_stream", True), ("shared_memory_size", 1), ("copy_in_count", 1),
    ("copy_out_count", 1))] + [
    ({"thread_count": [1025]}, "thread_count has 1025, not a number from 0 to 1024"),
    ({"thread_count": [32, 33]}, "thread_count is [32,33], more than 1024 in all"),
    ({"thread_count": []}, "thread_count is [], not 1 to 3 numbers"),
    ({"block_count": [1, 2, 3, 4]}, "block_count is [1,2,3,4], not 1 to 3 numbers"),
    ({"block_count": [2, 0]}, "block_count has 0"),
    ({"data_size": -1}, "data_size is -1, not bytes from 0 to"),
    ({"cpu_core": 1024}, "cpu_core is 1024, not a whole number from 0 to 1023"),
    ({"plugin": 1}, "plugin is 1, not true or false"),
    ({"plugin": False}, 'plugin is false, but filename "p.so" is no built-in benchmark'),
    ({"filename": "a\nb.so"}, r'filename is "a\nb.so", which is empty or has control characters'),
    ({"filename": "timer_spun"}, "and plugins, whose names end in .so"),
    ({"sm_mask": "~0x10000000000000000"}, "but that of a plugin disables some of TPCs 0 to 63 and all others"),
    ({"sm_mask": "0x0"}, "but that of a plugin disables some of TPCs 0 to 63 and all others"),
    ({"sm_mask": "~0x0"}, "its sm_mask, or the scenario's, disables all TPCs"),
    ({"mps_thread_percentage": 0}, "mps_thread_percentage is 0, not percent from 0.0001 to 100"),
    ({"mps_thread_percentage": 50}, "mps_thread_percentage is set, but the scenario has no use_processes"),
    ({"max_iterations": 0}, "max_iterations is 0, without limit"),
    ({"kernels": []}, "no kernel"),
    ({"filename": "timer_spin", "additional_info": 1, "kernels": []}, "kernels is set, but only plugins have it"),
]


@pytest.mark.parametrize("more,text", REFUSED)
def test_keys_that_a_plugin_cannot_follow(tmp_path: pathlib.Path, more: Json, text: str) -> None:
    """They are refused by name, as are values out of range."""
    (tmp_path / "s.json").write_text(json.dumps({"name": "s", "benchmarks": [make_plugin("p.so", **more) | more]}))
    done = gpulens("probe-kernels", str(tmp_path / "s.json"), "--print")
    assert done.returncode == 2 and "/s.json: benchmark 0: " in done.stderr and text in done.stderr, done.stderr


def test_print(tmp_path: pathlib.Path) -> None:
    """A scenario with plugins is printed as it was read."""
    kernel = {"kernel_label": "A", "duration": 5, "block_count": 3, "thread_count": 64, "delay": 0.5}
    benchmark = {"filename": "x/timer_spin.so", "plugin": True, "thread_count": [2, 3], "block_count": 5,
                 "data_size": 7, "additional_info": {"a": [1, "b"]}, "release_time": 0.25, "cpu_core": 1,
                 "kernels": [kernel], "stream_priority": 0, "sm_mask": "~0x7", "mps_thread_percentage": 12.5}
    printed = json.loads(gpulens("probe-kernels", write_scenario(
        tmp_path, benchmark, use_processes=True, pin_cpus=True, do_warmup=True), "--print").stdout)
    assert check_schema("scenario", printed)["benchmarks"] == [{**benchmark, "thread_count": [2, 3, 1]}]
    file = write_scenario(tmp_path, make_plugin("no-suffix", plugin=True), make_plugin("p.so"))
    printed = json.loads(gpulens("probe-kernels", file, "--print").stdout)["benchmarks"]
    assert [b.get("plugin") for b in printed] == [True, None]


def test_flags_are_printed(tmp_path: pathlib.Path) -> None:
    """As are those of the scenario that only plugins follow."""
    printed = json.loads(gpulens("probe-kernels", write_scenario(
        tmp_path, make_plugin("p.so"), use_processes=True, pin_cpus=True, do_warmup=True), "--print").stdout)
    assert printed["pin_cpus"] and printed["do_warmup"] and printed["use_processes"]
