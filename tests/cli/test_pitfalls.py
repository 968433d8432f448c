# SPDX-License-Identifier: GPL-2.0
"""gpulens run --pitfalls: a program of several threads with a fake libcuda whose calls hold up others as scripted
(tests/support/cuda/fake_calls.hpp)."""

import json
import os
import pathlib
import re
import shutil
import subprocess
from typing import Any

import jsonschema
import pytest
from support.fakeclock import CLOCK, run_by_clock
from support.program import ROOT, TOOL, build_program

SCHEMA = json.loads((ROOT / "docs/pitfalls-schema.json").read_text(encoding="utf-8"))
LIBCUDA = ROOT / "build/bin/fake-cuda"
OVERLAP = "calls that overlap are measured; that one waited for the other is not proven by it"
UNSEEN = "which work on the GPU was held up is unknown: only calls are seen"


@pytest.fixture(name="program", scope="module")
def fixture_program(tmp_path_factory: pytest.TempPathFactory) -> str:
    """tests/partition/calls_program.c, which loads libcuda.so.1 itself."""
    return build_program("calls_program", tmp_path_factory.mktemp("calls"))


def run_tool(*words: str, blocks: str = "", **env: str) -> "subprocess.CompletedProcess[str]":
    """Runs gpulens with the fake libcuda, by the clock of tests, with output and errors as text."""
    more = {"LD_LIBRARY_PATH": str(LIBCUDA), "FAKE_CUDA_BLOCKS": blocks, **env}
    return run_by_clock([TOOL, *words], {**os.environ, **CLOCK.environment(**more)})


def find_pitfalls(folder: pathlib.Path, *program: str, blocks: str = "", status: int = 3, **env: str) -> Any:
    """The JSON of run --pitfalls with that program."""
    file = folder / "pitfalls.json"
    done = run_tool("run", "--pitfalls", "--pitfalls-json", str(file), "--", *program, blocks=blocks, **env)
    assert done.returncode == status, done.stderr
    report = json.loads(file.read_text("utf-8"))
    jsonschema.validate(report, SCHEMA, cls=jsonschema.Draft202012Validator)
    assert report["notes"][:2] == [OVERLAP, UNSEEN] and report["program"] == list(program)
    return report


def row_of(process: Any, function: str) -> Any:
    """The only row of a function."""
    (row,) = [row for row in process["rows"] if row["function"] == function]
    return row


@pytest.mark.parametrize("how", ("dlsym", "get", "link"))
def test_who_waited_beside_a_call_is_named(how: str, program: str, tmp_path: pathlib.Path) -> None:
    """cuMemFree waits for a kernel of 60 ms, and a launch of another thread, 20 ms later, waits for it: the call, where
    it was made, who waited, from where and how long. The program has its functions by dlsym(), by cuGetProcAddress() or
    from the linker. Seen failing without the wrapper of cuGetProcAddress, and with the library's own frames kept."""
    if how == "link":
        program = str(tmp_path / "linked")
        subprocess.run(["gcc", "-DLINKED", "-o", program, str(ROOT / "tests/partition/calls_program.c"),
                        str(LIBCUDA / "libcuda.so.1")], check=True)
    report = find_pitfalls(tmp_path, program, how, "free", blocks="cuMemFree_v2:caller+threads")
    (process,) = report["processes"]
    assert (process["calls"], process["threads"]) == (7, 2)
    free, launch = row_of(process, "cuMemFree_v2"), row_of(process, "cuLaunchKernel")
    assert process["rows"][0] == free
    assert free["site"]["function"] == "release_memory" and free["site"]["module"] == program
    assert [frame["function"] for frame in free["frames"][:3]] == ["release_memory", "free_beside", "main"]
    assert free["longest_us"] == 60000 and free["calls"] == 1 and len(free["threads"]) == 1
    others = free["others"]
    assert (others["calls"], others["alone"]) == (1, 1) and len(others["threads"]) == 1
    assert set(others["threads"]) <= set(launch["threads"]) and others["threads"] != free["threads"]
    assert others["waited_us"] == launch["longest_us"] == 40000
    (waiter,) = others["waiters"]
    assert (waiter["function"], waiter["site"]["function"], waiter["calls"]) == ("cuLaunchKernel", "launch_spin", 1)
    assert [statement["basis"] for statement in free["statements"]] == ["measured", "rule"]
    assert "1 asynchronous call of 1 other thread (cuLaunchKernel from " in free["statements"][0]["text"]
    assert "may synchronize implicitly" in free["statements"][1]["text"]
    assert launch["others"]["calls"] == 0 and launch["statements"] == []


def test_lines_of_a_program_with_debug_information(tmp_path: pathlib.Path) -> None:
    """addr2line is the second implementation. Seen failing with the address of the process in place of the file's."""
    program = str(tmp_path / "with_lines")
    subprocess.run(["gcc", "-g", "-o", program, str(ROOT / "tests/partition/calls_program.c")], check=True)
    (process,) = find_pitfalls(tmp_path, program, "get", "free", blocks="cuMemFree_v2:caller")["processes"]
    for frame in row_of(process, "cuMemFree_v2")["frames"][:3]:
        found = subprocess.run(["addr2line", "-f", "-s", "-e", program, frame["offset"]], check=True,
                               capture_output=True, encoding="utf-8").stdout.split()
        assert found[:2] == [frame["function"], frame["line"]] and frame["line"].startswith("calls_program.c:")
    done = run_tool("run", "--pitfalls", "--", program, "get", "free", blocks="cuMemFree_v2:caller")
    assert re.search(r" with_lines\+0x\w+ \(release_memory at calls_program\.c:\d+\) ", done.stderr)


@pytest.mark.parametrize("command", ("printf junk >$0", "rm $0; mkfifo $0", "head -c 5000 $0 >$0.cut; mv $0.cut $0"))
def test_a_program_that_is_another_file_afterwards(command: str, program: str, tmp_path: pathlib.Path) -> None:
    """Its addresses are shown without names. The symbols of CUDA's library are still there."""
    moved = shutil.copy(program, str(tmp_path / "moved"))
    (process,) = find_pitfalls(tmp_path, "sh", "-c", f"$0 get free; {command}; exit 3", moved,
                               blocks="cuMemFree_v2:caller")["processes"]
    frame = row_of(process, "cuMemFree_v2")["frames"][0]
    assert (frame["module"], frame["function"], frame["line"]) == (moved, None, None)


def test_a_call_that_holds_up_nobody_is_not_blamed(program: str, tmp_path: pathlib.Path) -> None:
    """cuMemFree takes as long, but the launch of the other thread returns at once."""
    report = find_pitfalls(tmp_path, program, "get", "free", blocks="cuMemFree_v2:caller")
    free = row_of(report["processes"][0], "cuMemFree_v2")
    assert (free["longest_us"], free["others"]["waited_us"]) == (60000, 0)


def test_text_names_calls_sites_and_grounds(program: str) -> None:
    """On standard error, as the table of TSGs: the time that others waited, the call, from where, and statements with
    what they are based on."""
    done = run_tool("run", "--pitfalls", "--", program, "get", "free", blocks="cuMemFree_v2:caller+threads")
    assert (done.returncode, done.stdout) == (3, "")
    lines = done.stderr.splitlines()
    assert lines[2].split("  ")[0] == "Others waited" and " ms  cuMemFree_v2 " in lines[3]
    assert "(release_memory)" in lines[3]
    assert any(line.startswith("cuMemFree_v2 from calls_program+0x") and "): measured: 1 asynchronous" in line
               for line in lines)
    assert any("): rule: it may synchronize implicitly" in line for line in lines)
    assert lines[-2:] == [f"gpulens: note: {OVERLAP}", f"gpulens: note: {UNSEEN}"]


def test_the_legacy_stream_is_named_by_its_rule(program: str, tmp_path: pathlib.Path) -> None:
    """One launch in the default stream before there is another stream, and one beside a stream that it synchronizes
    with. The per-thread default stream is no legacy one. Seen failing with CU_STREAM_NON_BLOCKING ignored."""
    (process,) = find_pitfalls(tmp_path, program, "get", "legacy")["processes"]
    (legacy,) = [row for row in process["rows"] if row["legacy_stream"]]
    assert (legacy["function"], legacy["site"]["function"]) == ("cuLaunchKernel", "launch_spin")
    assert legacy["synchronizing"] == 1
    assert (process["synchronizing"], process["most_blocking_streams"], process["per_thread_stream"]) == (1, 1, False)
    (statement,) = [s for s in legacy["statements"] if s["basis"] == "rule"]
    assert statement["text"].startswith("1 call in the legacy default stream, beside 1 stream made without ")
    (process,) = find_pitfalls(tmp_path, program, "thread", "legacy")["processes"]
    assert not any(row["legacy_stream"] for row in process["rows"])
    assert (process["synchronizing"], process["per_thread_stream"]) == (0, True)
    (process,) = find_pitfalls(tmp_path, program, "get", "free")["processes"]
    assert process["most_blocking_streams"] == 0


def test_a_program_that_is_killed_leaves_its_calls(program: str, tmp_path: pathlib.Path) -> None:
    """SIGKILL during cuMemFree, while a launch waits: both had not returned, and where they were made is known."""
    (process,) = find_pitfalls(tmp_path, program, "get", "hang", blocks="cuMemFree_v2:caller+threads",
                               status=137)["processes"]
    free, launch = row_of(process, "cuMemFree_v2"), row_of(process, "cuLaunchKernel")
    assert (free["in_progress"], launch["in_progress"]) == (1, 1)
    assert (free["site"]["function"], launch["site"]["function"]) == ("release_memory", "launch_spin")
    assert free["others"]["calls"] == 1 and free["others"]["waited_us"] == 20000
    assert "1 call had not returned when the process ended" in [s["text"] for s in free["statements"]]


def test_a_child_has_its_own_records(program: str, tmp_path: pathlib.Path) -> None:
    """A child of fork() that frees memory after calls of its parent. Seen failing with the parent's record kept."""
    parent, child = find_pitfalls(tmp_path, program, "get", "fork",
                                  blocks="cuMemFree_v2:caller+threads")["processes"]
    assert parent["pid"] < child["pid"] and (parent["calls"], child["calls"]) == (2, 5)
    assert row_of(child, "cuMemFree_v2")["others"]["calls"] == 1
    assert not any(row["others"]["calls"] for row in parent["rows"])


def test_cuda_s_libraries_are_no_call_site(tmp_path: pathlib.Path) -> None:
    """A library named libcudart and functions named as CUDA's runtime, also linked statically, are passed over."""
    (tmp_path / "cudart.c").write_text("int cuMemAlloc_v2(unsigned long *, unsigned long);\n"
                                       "int shared(unsigned long *p) { return cuMemAlloc_v2(p, 8); }\n", "ascii")
    (tmp_path / "main.c").write_text(
        "int shared(unsigned long *), cuCtxSynchronize(void);\n#include <unistd.h>\n"
        "__attribute__((noinline)) int cudaDeviceSynchronize(void) { return cuCtxSynchronize(); }\n"
        "__attribute__((noinline)) int allocate(void) { unsigned long p; return shared(&p) + getpid(); }\n"
        "__attribute__((noinline)) int synchronize(void) { return cudaDeviceSynchronize() + getpid(); }\n"
        "int main(void) { allocate(); synchronize(); return 3; }\n", "ascii")
    libcuda = str(LIBCUDA / "libcuda.so.1")
    for words in (["-shared", "-fPIC", "-o", str(tmp_path / "libcudart.so.99"), str(tmp_path / "cudart.c"), libcuda],
                  ["-o", str(tmp_path / "main"), str(tmp_path / "main.c"), str(tmp_path / "libcudart.so.99"), libcuda,
                   f"-Wl,-rpath,{tmp_path}"]):
        subprocess.run(["gcc", "-O1", *words], check=True)
    # long enough to be recorded
    (process,) = find_pitfalls(tmp_path, str(tmp_path / "main"), FAKE_CUDA_SLOW_US="100")["processes"]
    allocation, wait = row_of(process, "cuMemAlloc_v2"), row_of(process, "cuCtxSynchronize")
    assert [frame["function"] for frame in allocation["frames"][:3]] == ["shared", "allocate", "main"]
    assert allocation["site"]["function"] == "allocate"
    assert [frame["function"] for frame in wait["frames"][:2]] == ["cudaDeviceSynchronize", "synchronize"]
    assert wait["site"]["function"] == "synchronize"


def test_other_preloaded_libraries_find_the_next_function(program: str, tmp_path: pathlib.Path) -> None:
    """dlsym(RTLD_NEXT) is about who calls it. Seen failing (endless recursion) with a call of the real dlsym() in place
    of a jump."""
    (tmp_path / "next.c").write_text(
        "#define _GNU_SOURCE\n#include <dlfcn.h>\n#include <stdio.h>\n#include <string.h>\n"
        "unsigned sleep(unsigned s) { unsigned (*next)(unsigned) = dlsym(RTLD_NEXT, \"sleep\");\n"
        "puts(\"mine\"); return next(s); }\n"
        "__attribute__((constructor)) static void begin(void) { sleep(0); }\n", "ascii")
    library = str(tmp_path / "next.so")
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", library, str(tmp_path / "next.c")], check=True)
    done = run_tool("run", "--pitfalls", "--", program, "get", "legacy", LD_PRELOAD=library)
    assert (done.returncode, done.stdout) == (3, "mine\nmine\n"), done.stderr  # gpulens has it, too


def test_call_sites_of_frequent_calls_are_looked_for_seldom(program: str) -> None:
    """10,000 calls in the legacy stream beside another one: the first 1,000, each 32nd of the rest, and those in which
    the clock went on. What that costs: tests/bench."""
    done = run_tool("run", "--pitfalls", "--", program, "get", "cost", "1000")
    found = re.search(r"note: of 10000 calls in the legacy stream beside other streams, the call sites of (\d+) were "
                      r"looked for: the first 1000 of a thread, and then every 32nd\n", done.stderr)
    assert found and 1281 <= int(found[1]) < 1400


def test_a_program_without_cuda_and_a_broken_record() -> None:
    """Each is said, and the program's status is kept."""
    done = run_tool("run", "--pitfalls", "--", "sh", "-c", "echo x >$GPULENS_CALLS_FOLDER/calls-1-0; exit 5")
    assert done.returncode == 5
    assert "/calls-1-0: not a complete record of calls\n" in done.stderr
    assert done.stderr.endswith("gpulens: note: no process of the program called a function of CUDA's driver that is "
                                "recorded\n")


def test_a_static_program_is_refused(tmp_path: pathlib.Path) -> None:
    """It would run without a record."""
    (tmp_path / "a.c").write_text("int main(void) { return 0; }\n", "ascii")
    subprocess.run(["gcc", "-static", "-o", str(tmp_path / "static"), str(tmp_path / "a.c")], check=True)
    done = run_tool("run", "--pitfalls", "--", str(tmp_path / "static"))
    assert (done.returncode, done.stdout) == (3, "") and "it is linked statically, so no library" in done.stderr
    done = run_tool("run", "--pitfalls-json", "x", "--", "true")
    assert done.returncode == 2 and "--pitfalls-json requires --pitfalls" in done.stderr
