# SPDX-License-Identifier: GPL-2.0
"""gpulens-lab probe-kernels and blocks with masks, priorities, iterations and several processes: the scenarios of
RTAS'23, with fake_probe.py instead of the program that needs CUDA, and the checker's answer to a log that breaks a
rule."""

import json
import pathlib
import random
import typing
import xml.etree.ElementTree

import pytest
from support.program import gpulens
from support.scenarios import (FAKE, Json, check_broken, kernels_of, make_copying, make_spin, read_log, run_probe,
                               run_tool, write_scenario)

GTX1060 = {"FAKE_SMS": "9", "FAKE_CAPABILITY": "61"}
GTX970 = {"FAKE_SMS": "13", "FAKE_CAPABILITY": "52"}
P100 = {"FAKE_SMS": "56", "FAKE_CAPABILITY": "60"}
TX2 = {"FAKE_SMS": "2"}
H100 = {"FAKE_SMS": "132", "FAKE_CAPABILITY": "90"}
# Blocks and threads of kernels on the figure's GPU, from the authors' configurations rtas23_*.json and
# rtss_2017_*.json.
FIGURES: typing.Dict[str, typing.Tuple[typing.Dict[str, str], typing.Dict[str, str]]] = {
    "rtas23-fig3-left": (GTX1060, {"K1": "20x1024", "K2": "8x1024"}),
    "rtas23-fig3-right": (GTX1060, {"K1": "20x1024 ~0x1f", "K2": "8x1024 ~0x1e0"}),
    "rtas23-fig4": (P100, {"K1": "112x1024 ~0x5555555", "K2": "112x1024 ~0xaaaaaaa"}),
    "rtas23-fig10": (GTX970, {"S2K7": "2x1024 ~0x20", "S2K8": "10x1024 ~0x3e", "S1K8": "6x1024 ~0xa80"}),
    "rtas23-fig11-left": (GTX1060, {"K1": "13x1024 ~0x1ff", "K2": "5x1024 ~0xf"}),
    "rtas23-fig11-right": (GTX1060, {"K1": "13x1024 ~0x1ff", "K2": "5x1024 ~0xf"}),
    "rtas23-fig12": (GTX1060, {"K1": "1x512 ~0xf", "K32": "1x512 ~0xf", "K33": "60x1024 ~0x1f0"}),
    "rtas23-fig14": (P100, {"A1": "32x1024 ~0x1", "B7": "32x1024 ~0xfe", "A7": "32x1024 ~0x7f"}),
    "rtss17-fig5": (TX2, {"K1": "6x768", "K2": "1x1024", "K3": "4x256", "K4": "4x256", "K5": "1x1024", "K6": "2x256"}),
    "rtss17-fig6": (TX2, {"K1": "8x1024", "K2": "16x1024", "K3": "16x1024"}),
    "rtss17-fig7": (TX2, {"K1": "8x1024", "K2": "8x1024", "K3": "8x1024", "K4": "8x1024"}),
    "rtss17-fig8": (TX2, {"K1": "1x512", "K7": "1x512", "K8": "1x1024", "K9": "1x512"}),
    "turns": ({"FAKE_SMS": "2"}, {"K1#1": "2x512", "K2#2": "2x512"}),
}


@pytest.mark.parametrize("figure", FIGURES)
def test_scenarios_keep_the_rules(tmp_path: pathlib.Path, figure: str) -> None:
    """On the figure's GPU, kernels have the authors' sizes and masks, the simulation equals the fake, which implements
    the rules independently with a delay of 7 us, and the checker finds no violation in either; nor with 132 SMs."""
    env, sizes = FIGURES[figure]
    ran = run_probe(tmp_path / "a.json", figure, **env)
    assert {name: f"{ran[name]['block_count']}x{ran[name]['thread_count']} {ran[name].get('sm_mask', '')}".strip()
            for name in sizes} == sizes
    run_tool("probe-kernels", figure, "--simulate", "-o", str(tmp_path / "b.json"))
    simulated = kernels_of(read_log(tmp_path / "b.json"))
    assert list(simulated) == list(ran)
    for name, kernel in ran.items():
        if figure == "rtas23-fig12":  # the fake does not have the channels for which its last stream waits
            break
        assert kernel["block_smids"] == simulated[name]["block_smids"]
        assert kernel["block_times"] == pytest.approx([t + 7e-6 for t in simulated[name]["block_times"]], abs=1e-9)
    run_probe(tmp_path / "c.json", figure, **H100)
    for name in ("a.json", "b.json", "c.json"):
        assert run_tool("blocks", "--check", str(tmp_path / name)).endswith("no rule is violated\n")
        xml.etree.ElementTree.fromstring(run_svg(tmp_path / name))


def run_svg(log: pathlib.Path) -> str:
    """The picture of a log."""
    run_tool("blocks", str(log), "-o", str(log.with_suffix(".svg")))
    return log.with_suffix(".svg").read_text(encoding="utf-8")


def test_fig3_splits_the_gpu(tmp_path: pathlib.Path) -> None:
    """Without masks K2 waits for K1's first blocks; with them it starts at its launch, on SMs 5 to 8."""
    left = run_probe(tmp_path / "a.json", "rtas23-fig3-left", **GTX1060)
    right = run_probe(tmp_path / "b.json", "rtas23-fig3-right", **GTX1060)
    assert min(left["K2"]["block_times"]) == pytest.approx(0.250007)
    assert min(right["K2"]["block_times"]) == pytest.approx(0.010007)
    assert set(right["K1"]["block_smids"]) == set(range(5)) and set(right["K2"]["block_smids"]) == set(range(5, 9))


# When the first blocks of kernels start on a TX2: by hand, from the rules of RTSS'17 and the kernels' sizes.
STARTS: typing.Dict[str, typing.Dict[str, float]] = {
    "rtss17-fig5": {"K1": 0, "K2": 2, "K3": 3, "K4": 4, "K5": 5, "K6": 6},
    "rtss17-fig6": {"K1": 0, "K2": 0.5, "K3": 2.5},
    "rtss17-fig7": {"K1": 0, "K3": 0.5, "K2": 2, "K4": 3},
    "rtss17-fig8": {"K1": 0, "K7": 0.6, "K8": 1.1, "K9": 1.1},
}


@pytest.mark.parametrize("figure", STARTS)
def test_null_stream_and_priorities_of_rtss17(tmp_path: pathlib.Path, figure: str) -> None:
    """Fig. 5: the NULL stream waits for all others, and they wait for it (N1, N2). Figs. 6 to 8: blocks of a low
    priority start when no block of a high one waits, though they would fit (A2). Seen failing without N1 and N2."""
    ran = run_probe(tmp_path / "a.json", figure, **TX2)
    assert {name: min(ran[name]["block_times"]) for name in STARTS[figure]} == pytest.approx(STARTS[figure], abs=1e-5)
    if figure == "rtss17-fig6":
        assert sorted(ran["K1"]["block_times"][::2])[4:] == pytest.approx([4.5] * 4, abs=1e-5)


@pytest.mark.parametrize("name, start, text", (
    ("K2", 1.5, "Rule N1: K2:0 starts on SM 0 at 1.500000 s in the NULL stream, though K1, launched earlier in a "
     "blocking stream, ends at 2.000007 s\n"),
    ("K3", 2.5, "Rule N2: K3:0 starts on SM 0 at 2.500000 s, though K2, launched earlier in the NULL stream, ends at "
     "3.000007 s\n")))
def test_not_waiting_for_the_null_stream_is_a_violation(
        tmp_path: pathlib.Path, name: str, start: float, text: str) -> None:
    """Also where an SM has room. Streams that do not block may start: the log without the marks keeps both rules."""
    run_probe(tmp_path / "a.json", "rtss17-fig5", **TX2)
    log = read_log(tmp_path / "a.json")
    kernel = kernels_of(log)[name]
    kernel["block_times"][:2] = [start, start + 1]
    found = check_broken(tmp_path / "b.json", log)
    assert text in found
    for benchmark in log["benchmarks"]:
        benchmark.pop("null_stream", None)
        benchmark.pop("blocking_stream", None)
    (tmp_path / "c.json").write_text(json.dumps(log))
    assert "Rule N" not in gpulens("blocks", "--check", str(tmp_path / "c.json")).stdout


def test_memory_walks_of_tables_3_1_and_3_2(tmp_path: pathlib.Path) -> None:
    """O 3.5.3.3: 64 threads as 2x32, 256 MB, 256,000 reads each, in three kinds of memory; --print has all of it. The
    framework's form has only a number of reads, which is 1000 without one."""
    told, program = tmp_path / "told", tmp_path / "program"
    program.write_text(f'#!/bin/sh\n[ "$1" = run ] && cat >{told}\nexec {FAKE} info x\n')
    program.chmod(0o755)

    def told_kernels(scenario: str) -> typing.List[str]:
        gpulens("probe-kernels", scenario, "--program", str(program))
        return told.read_text().splitlines()[2:-1]

    for table, kind in (("table3.1", "random_walk"), ("table3.2", "inorder_walk")):
        for memory, more in (("traditional", []), ("zero-copy", ["zero_copy"]), ("unified", ["managed"])):
            expected = ["iterations 100 0", f"kernel {kind} 0 268435456 256000 2 32 0 0", *more]
            assert told_kernels(f"{table}-{memory}") == expected
            printed = run_tool("probe-kernels", f"{table}-{memory}", "--print", "--program", FAKE)
            (tmp_path / "s.json").write_text(printed)
            assert told_kernels(str(tmp_path / "s.json")) == expected
    walk = {"filename": "./bin/random_walk.so", "thread_count": 32, "block_count": 1, "data_size": 4096}
    assert told_kernels(write_scenario(tmp_path, walk, {**walk, "additional_info": 7})) == [
        "stream 0", "kernel random_walk 0 4096 1000 1 32 0 0", "kernel random_walk 1 4096 7 1 32 0 0"]
    run_probe(tmp_path / "a.json", write_scenario(tmp_path, walk))
    assert read_log(tmp_path / "a.json")["benchmarks"][0]["benchmark_name"] == "Random Walk"
    result = gpulens("probe-kernels", "table3.1-unified", "--simulate")
    assert result.returncode == 2 and "only the run time of a spin kernel is known in advance" in result.stderr


def test_cpu_and_gpu_on_one_time_line(tmp_path: pathlib.Path) -> None:
    """--trace: the CPU's calls and waits, the kernels and the copies of each stream, in microseconds of one clock.
    --cpu: the same in the picture, where K1 waits from its last call at 7 us until 40.014 ms. Without it the picture
    has no such row."""
    run_probe(tmp_path / "a.json", make_copying(tmp_path))
    assert run_tool("blocks", str(tmp_path / "a.json"), "--trace", str(tmp_path / "t.json")) == ""
    events = json.loads((tmp_path / "t.json").read_text(encoding="utf-8"))["traceEvents"]
    names = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["name"] == "thread_name"}
    spans = {(names[e["pid"], e["tid"]], e["name"]): (e["ts"], e["ts"] + e["dur"]) for e in events if e["ph"] == "X"}
    assert spans["Stream 1: CPU", "launch K1"] == pytest.approx((0, 7))
    assert spans["Stream 1: CPU", "copy in K1"] == pytest.approx((0, 7))
    assert spans["Stream 1: CPU", "wait K1"] == pytest.approx((7, 40014))
    assert spans["Stream 1: kernels", "K1"] == pytest.approx((10007, 30007))
    assert spans["Stream 2: copies", "K2 out"] == pytest.approx((50007, 60007))
    assert len(spans) == 3 * 2 + 5 + 3 + 5
    assert "<title>wait K1</title>" not in run_svg(tmp_path / "a.json")
    run_tool("blocks", str(tmp_path / "a.json"), "--cpu", "-o", str(tmp_path / "c.svg"))
    picture = (tmp_path / "c.svg").read_text(encoding="utf-8")
    xml.etree.ElementTree.fromstring(picture)
    for name in ("<title>wait K1</title>", "<title>K2 out</title>", ">CPU, 3<", ">copy in<"):
        assert name in picture
    assert "not .json: a.txt" in gpulens("blocks", str(tmp_path / "a.json"), "--trace", "a.txt").stderr


def test_a_thread_for_each_benchmark(tmp_path: pathlib.Path) -> None:
    """The program is told by a line, --print has the key, and both keep the order that the fake's delay allows."""
    told, program = tmp_path / "told", tmp_path / "program"
    program.write_text(f'#!/bin/sh\n[ "$1" = run ] && cat >{told}\nexec {FAKE} info x\n')
    program.chmod(0o755)
    file = write_scenario(tmp_path, make_spin(use_null_stream=True), make_spin(), use_threads=True)
    (tmp_path / "again.json").write_text(run_tool("probe-kernels", file, "--simulate", "--print"))
    for name in (file, str(tmp_path / "again.json")):
        gpulens("probe-kernels", name, "--program", str(program))
        assert told.read_text() == """\
gpulens-probe 1
threads
stream 0
null
stream 0
blocking
kernel spin 0 100000000 1 4 1024 0 0
kernel spin 1 100000000 1 4 1024 0 0
end
"""
        told.unlink()
    ran = run_probe(tmp_path / "a.json", file)
    assert ran["K2"]["block_times"][0] == pytest.approx(0.100007)


def test_streams_are_blocking_as_in_the_framework(tmp_path: pathlib.Path) -> None:
    """Without a priority, or if asked for; only where there is a NULL stream, so that other scenarios are as before.
    timer_spin_default_stream is the framework's program for the NULL stream. --print tells the same."""
    null = make_spin(filename="./bin/timer_spin_default_stream.so")
    file = write_scenario(tmp_path, make_spin(), make_spin(stream_priority=0), make_spin(blocking_stream=False), null,
                          make_spin(stream_priority=-1, blocking_stream=True), make_spin(use_null_stream=True))
    again = tmp_path / "again.json"
    again.write_text(run_tool("probe-kernels", file, "--simulate", "--print"))
    for name in (file, str(again)):
        run_tool("probe-kernels", name, "--program", FAKE, "-o", str(tmp_path / "a.json"))
        assert [("null_stream" in b, "blocking_stream" in b) for b in read_log(tmp_path / "a.json")["benchmarks"]] == [
            (False, True), (False, False), (False, False), (True, False), (False, True), (True, False)]
    run_tool("probe-kernels", write_scenario(tmp_path, make_spin()), "--program", FAKE, "-o", str(tmp_path / "a.json"))
    assert "blocking_stream" not in read_log(tmp_path / "a.json")["benchmarks"][0]


def test_fig4_shows_tpcs_not_sms(tmp_path: pathlib.Path) -> None:
    """A mask of every second TPC leaves pairs of SMs on a GPU with two SMs per TPC."""
    ran = run_probe(tmp_path / "a.json", "rtas23-fig4", **P100)
    assert set(ran["K1"]["block_smids"]) == {sm for sm in range(56) if sm // 2 % 2 == 0}
    assert set(ran["K2"]["block_smids"]) == {sm for sm in range(56) if sm // 2 % 2 == 1}


def test_fig10_has_38_kernels_in_19_partitions(tmp_path: pathlib.Path) -> None:
    """As the authors' file, whose masks are 19 (the text says 17), and the text of RTAS'23, VI-B: each kernel only on
    SMs of its mask, K10 of stream 2 after K9, though on another SM."""
    ran = run_probe(tmp_path / "a.json", "rtas23-fig10", **GTX970)
    masks = {name: int(kernel["sm_mask"][1:], 16) for name, kernel in ran.items()}
    assert (len(ran), len(set(masks.values()))) == (38, 19)
    assert all(masks[name] >> sm & 1 for name, kernel in ran.items() for sm in kernel["block_smids"])
    assert min(ran["S2K10"]["block_times"]) > max(ran["S2K9"]["block_times"]) - 1e-4


@pytest.mark.parametrize("env, slots", ((GTX1060, 32), (H100, 128)), ids=("32", "128"))
def test_fig12_takes_all_task_slots(tmp_path: pathlib.Path, env: typing.Dict[str, str], slots: int) -> None:
    """The last kernel starts no block while the others hold the slots, 32 or 128 by compute capability."""
    ran = run_probe(tmp_path / "a.json", "rtas23-fig12", **env)
    assert len(ran) == slots + 1 and read_log(tmp_path / "a.json")["gpu"]["resident_grids"] == slots
    starts = ran[f"K{slots + 1}"]["block_times"][::2]
    assert any(start < 0.15 for start in starts) and any(start > 0.399 for start in starts)
    assert not any(0.151 < start < 0.399 for start in starts)


def test_a_block_outside_its_mask_violates_m(tmp_path: pathlib.Path) -> None:
    """Also where the SM has room."""
    run_probe(tmp_path / "a.json", "rtas23-fig3-right", **GTX1060)
    log = read_log(tmp_path / "a.json")
    kernels_of(log)["K1"]["block_smids"][0] = 8
    assert "Rule M: K1:0 starts on SM 8 at 0.000007 s, but its mask ~0x1f does not have TPC 8\n" in check_broken(
        tmp_path / "b.json", log)


def test_waiting_though_the_own_tpcs_are_free_violates_b(tmp_path: pathlib.Path) -> None:
    """K2 of Fig. 3 does not need to wait for K1, whose TPCs are others. Where its own are taken, it waits."""
    run_probe(tmp_path / "a.json", "rtas23-fig3-right", **GTX1060)
    log = read_log(tmp_path / "a.json")
    kernel = kernels_of(log)["K2"]
    kernel["block_times"] = [t + 0.1 for t in kernel["block_times"]]
    assert check_broken(tmp_path / "b.json", log).startswith(
        "Rule B: K2 heads the primary queue and a block of it fits on SM 5 from 0.010")


def test_starting_before_a_kernel_of_higher_priority_violates_p(tmp_path: pathlib.Path) -> None:
    """K2 comes while K1's first blocks run, and goes before the others: RTAS'23, VI-C. The log in which it does not is
    refused."""
    file = write_scenario(tmp_path, make_spin(block_count=8), make_spin(release_time=0.05, stream_priority=-1))
    ran = run_probe(tmp_path / "a.json", file)
    assert sorted(ran["K1"]["block_times"][::2])[4:] == pytest.approx([0.200007] * 4)
    assert ran["K2"]["block_times"][::2] == pytest.approx([0.100007] * 4)
    assert run_tool("blocks", "--check", str(tmp_path / "a.json")).endswith("no rule is violated\n")
    log = read_log(tmp_path / "a.json")
    kernels = kernels_of(log)
    kernels["K2"]["block_times"] = [0.200007, 0.300007] * 4
    kernels["K1"]["block_times"][8:] = [0.100007, 0.200007] * 4
    assert check_broken(tmp_path / "b.json", log).startswith(
        "Rule P: K1:4 starts on SM 0 at 0.100007 s, though K2 of a higher priority is in the queue and still has")


def test_starting_without_a_task_slot_violates_s(tmp_path: pathlib.Path) -> None:
    """A block of K33 of Fig. 12 while 32 kernels of a higher priority run."""
    run_probe(tmp_path / "a.json", "rtas23-fig12", "--connections", "32", **{**GTX1060, "FAKE_SMS": "18"})
    log = read_log(tmp_path / "a.json")
    kernel = kernels_of(log)["K33"]
    starts = kernel["block_times"][::2]
    late = 2 * starts.index(max(starts))
    kernel["block_times"][late:late + 2] = [0.3, 0.375]
    assert "though 32 kernels before it hold all task slots from 0.150" in check_broken(tmp_path / "b.json", log)


def test_processes_at_the_same_time_violate_r4(tmp_path: pathlib.Path) -> None:
    """Blocks of two processes that end in turn within 30 us: as with MPS."""
    run_probe(tmp_path / "a.json", "turns")
    log = read_log(tmp_path / "a.json")
    kernels = kernels_of(log)
    for i, name in enumerate(("K1#1", "K2#1", "K1#1", "K2#1")):
        kernels[name]["block_times"][1 if i < 2 else 3] = 0.01 + i / 1e5
    found = check_broken(tmp_path / "b.json", log)
    assert ("Rule R4: K1#1:1 ends at 0.010020 s, while process 2 has blocks that run and had its turn only since "
            "0.010000 s at most: processes run at the same time, as with MPS\n") in found


def test_processes_and_iterations(tmp_path: pathlib.Path) -> None:
    """Two processes take turns: K1's second iteration begins when its first one has ended, and starts when process 2's
    time slice has. Each has a PID, also in the framework's files, which make one picture."""
    ran = run_probe(tmp_path / "a.json", "turns", "--logs", str(tmp_path))
    assert list(ran) == ["K1#1", "K1#2", "K2#1", "K2#2"]
    assert ran["K1#2"]["block_times"] == pytest.approx([0.022007, 0.042007] * 2)
    assert [benchmark["PID"] for benchmark in read_log(tmp_path / "a.json")["benchmarks"]] == [1, 2]
    own = str(tmp_path / "turns-1.json"), str(tmp_path / "turns-2.json")
    assert run_tool("blocks", "--check", *own).splitlines()[-2:] == [
        "Note: 2 processes: A to D were checked for each by itself, and waits only while no other one had work",
        "4 kernels in 2 streams, tolerance 50.000 us: no rule is violated"]
    assert "Process 2" in run_svg(tmp_path / "a.json") and "Process 1" in run_svg(tmp_path / "a.json")


def test_times_of_jobs_kernels_and_blocks(tmp_path: pathlib.Path) -> None:
    """Both iterations of K1 take 20 ms; the second waits 2 ms for process 2. The CPU sees the end 14 us later."""
    run_probe(tmp_path / "a.json", "turns")
    assert run_tool("blocks", str(tmp_path / "a.json"), "--cdf", str(tmp_path / "a.csv")) == ""
    lines = (tmp_path / "a.csv").read_text(encoding="utf-8").splitlines()
    assert lines[:6] == ["what,process,stream,label,seconds,fraction",
                         'job,1,1,"Stream 1",0.020014000,0.500000', 'job,1,1,"Stream 1",0.022014000,1.000000',
                         'kernel,1,1,"Stream 1",0.020000000,0.500000', 'kernel,1,1,"Stream 1",0.020000000,1.000000',
                         'block,1,1,"Stream 1",0.020000000,0.250000']
    assert len(lines) == 1 + 2 * (2 + 2 + 4) and 'job,2,2,"Stream 2",0.022014000,1.000000' in lines
    assert gpulens("blocks", str(tmp_path / "a.json"), "--cdf", str(tmp_path / "a.svg")).returncode == 0
    assert (tmp_path / "a.svg").read_text(encoding="utf-8").count('class="curve"') > 2
    assert "not .csv or .svg: a.txt" in gpulens("blocks", str(tmp_path / "a.json"), "--cdf", "a.txt").stderr


def test_barriers_and_limits_of_iterations(tmp_path: pathlib.Path) -> None:
    """With sync_every_iteration a short kernel waits for the long one; max_time begins no iteration after it."""
    fast, slow = make_spin(additional_info=20000000, max_iterations=3), make_spin(max_iterations=3, block_count=1)
    for more, expected in (({}, [0, 0.02, 0.04]), ({"sync_every_iteration": True}, [0, 0.1, 0.2])):
        file = write_scenario(tmp_path, {**fast, "block_count": 1}, slow, **more)
        for words in (("--program", FAKE), ("--simulate",)):
            run_tool("probe-kernels", file, *words, "-o", str(tmp_path / "a.json"))
            ran = kernels_of(read_log(tmp_path / "a.json"))
            assert [ran[f"K1#{i}"]["block_times"][0] for i in (1, 2, 3)] == pytest.approx(expected, abs=1e-5)
    file = write_scenario(tmp_path, make_spin(max_iterations=100, max_time=0.25))
    for words in (("--program", FAKE), ("--simulate",)):
        run_tool("probe-kernels", file, *words, "-o", str(tmp_path / "a.json"))
        assert list(kernels_of(read_log(tmp_path / "a.json"))) == ["K1#1", "K1#2", "K1#3"]


def test_the_program_gets_masks_as_lines(tmp_path: pathlib.Path) -> None:
    """A kernel's mask goes before the stream's, and that before the scenario's, which may disable all TPCs. The lines
    follow the head of tools/probe/probe_kernels.cc. Printing the scenario and reading it again gives the same lines."""
    told, program = tmp_path / "told", tmp_path / "program"
    program.write_text(f'#!/bin/sh\n[ "$1" = run ] && cat >{told}\nexec {FAKE} info x\n')
    program.chmod(0o755)
    file = write_scenario(
        tmp_path, make_spin(sm_mask="~0x3", max_iterations=2, max_time=0.5),
        {"filename": "multikernel", "additional_info": [
            {"kernel_label": "X", "duration": 5, "block_count": 1, "thread_count": 32,
             "sm_mask": "0xfffffffffffffffe"}]},
        sm_mask="0xffffffffffffffff", use_processes=True, sync_every_iteration=True)
    (tmp_path / "again.json").write_text(run_tool("probe-kernels", file, "--simulate", "--print"))
    for name in (file, str(tmp_path / "again.json")):
        gpulens("probe-kernels", name, "--program", str(program))
        assert told.read_text() == """\
gpulens-probe 1
all ffffffffffffffff ffffffffffffffff
barrier
stream 0
mask ffffffffffffffff fffffffffffffffc
iterations 2 500000000
process
stream 0
kernel spin 0 100000000 1 4 1024 0 0
kernel spin 1 5 1 1 32 0 0
mask ffffffffffffffff fffffffffffffffe
end
"""
        told.unlink()


REFUSED: typing.List[typing.Tuple[Json, Json, str]] = [
    (make_spin(sm_mask="3"), {}, 'sm_mask is "3", not "0x..." (TPCs that are disabled) or "~0x..." (enabled) of'),
    (make_spin(sm_mask="0x" + "0" * 33), {}, "of up to 32 digits"),
    (make_spin(), {"sm_mask": "0xffffffffffffffff"},
     'kernel "K1": its sm_mask, its stream\'s or the scenario\'s disables all TPCs'),
    (make_spin(sm_mask="~0x0"), {}, 'kernel "K1": its sm_mask, its stream\'s or the scenario\'s disables all TPCs'),
    (make_spin(sm_mask="~0x8"), {}, 'kernel "K1": its mask ~0x8 has none of the GPU\'s 1 TPCs'),
    (make_spin(use_null_stream=True, stream_priority=0), {}, "stream_priority is set, but the NULL stream has none"),
    (make_spin(use_null_stream=True, sm_mask="0x1"), {}, "sm_mask is set, but the NULL stream has none"),
    (make_spin(filename="timer_spin_default_stream", blocking_stream=True), {}, "blocking_stream is set, but the NULL"),
    (make_spin(), {"use_threads": True, "use_processes": True},
     "use_threads is true, but with use_processes each process has one benchmark"),
    (make_spin(), {"use_threads": 1}, "use_threads is 1, not true or false"),
    (make_spin(copy_in_count=-1), {}, "copy_in_count is -1, not a whole number from 0 to 268435456"),
    (make_spin(copy_out_count=268435457), {}, "copy_out_count is 268435457, not a whole number from 0 to 268435456"),
    ({"filename": "multikernel", "copy_in_count": 1, "additional_info": [
        {"kernel_label": "X", "duration": 5, "block_count": 1, "thread_count": 32}]}, {},
     "copy_in_count is set, but multikernel has it for each kernel"),
    (make_spin(filename="random_walk", data_size=4), {}, "data_size is 4, not bytes from 8 to 4294967296"),
    (make_spin(filename="random_walk", data_size=8, additional_info=0), {}, "additional_info is 0, not a whole number"),
    (make_spin(filename="inorder_walk", data_size=8, additional_info={"memory": "fast"}), {},
     'memory is "fast", not device, zero_copy or managed'),
    (make_spin(filename="inorder_walk", data_size=8, additional_info={"reads": 100000001}), {},
     "reads is 100000001, not a whole number from 1 to 100000000"),
    (make_spin(use_null_stream=1), {}, "use_null_stream is 1, not true or false"),
    (make_spin(blocking_stream="yes"), {}, 'blocking_stream is "yes", not true or false'),
    (make_spin(max_iterations=30000), {}, "max_iterations is 30000, not a whole number from 1 to 4096"),
    (make_spin(block_count=90000, max_iterations=2), {}, "more than 1024 streams, 4096 kernels or 100000 blocks"),
]


@pytest.mark.parametrize("benchmark, more, message", REFUSED)
def test_bad_masks_and_iterations_are_refused(
        tmp_path: pathlib.Path, benchmark: Json, more: Json, message: str) -> None:
    """With a message that names the item."""
    (tmp_path / "s.json").write_text(json.dumps({"name": "s", "benchmarks": [benchmark], **more}))
    result = gpulens("probe-kernels", str(tmp_path / "s.json"), "--simulate")
    assert result.returncode == 2 and message in result.stderr, result.stderr


def test_a_scenario_that_needs_more_tpcs_is_refused() -> None:
    """Fig. 10 uses 12 TPCs."""
    result = gpulens("probe-kernels", "rtas23-fig10", "--simulate", "--sms", "8")
    assert result.returncode == 2 and "rtas23-fig10: 12 TPCs are needed, but the GPU has 8" in result.stderr


def test_a_bad_number_of_iterations_is_refused() -> None:
    """In the program's answer."""
    result = gpulens("probe-kernels", "turns", "--program", FAKE, env={"FAKE_BREAK": "ran"})
    assert result.returncode == 3 and 'of its output, "ran 3": out of range' in result.stderr


def random_benchmark(pick: random.Random) -> Json:
    """A stream of up to three kernels with masks of six TPCs, copies, a priority and up to two iterations; of six
    one is in the NULL stream."""
    def mask() -> Json:
        return {"sm_mask": f"~{pick.randint(1, 63):#x}"} if pick.random() < 0.5 else {}
    kernels = [{"kernel_label": f"K{pick.getrandbits(40)}", "duration": pick.randint(1000000, 30000000),
                "block_count": pick.randint(1, 12), "thread_count": pick.randint(1, 32) * 32,
                "delay": pick.randint(0, 20000000) / 1e9, **mask(),
                **({"copy_in_count": pick.randrange(20000000), "copy_out_count": pick.choice((0, 7000000))}
                   if pick.random() < 0.5 else {})} for _ in range(pick.randint(1, 3))]
    own = {"stream_priority": pick.randint(-2, 0), "blocking_stream": pick.random() < 0.7, **mask()}
    return {"filename": "multikernel.so", "additional_info": kernels, "max_iterations": pick.randint(1, 2),
            "release_time": pick.randint(0, 40000000) / 1e9,
            **(own if pick.randrange(6) else {"use_null_stream": True})}


def test_random_scenarios_equal_the_simulation(tmp_path: pathlib.Path) -> None:
    """20 random scenarios with masks, priorities, iterations, NULL streams, copies and, half of them, processes: fake
    and simulation agree on every block and copy, and the checker finds no violation in either."""
    pick = random.Random(23)
    for number in range(20):
        file = write_scenario(tmp_path, *[random_benchmark(pick) for _ in range(pick.randint(1, 6))],
                              use_processes=number % 2 == 1, sync_every_iteration=number % 4 > 1)
        engines = str(1 + number // 4 % 2)
        ran = run_probe(tmp_path / "a.json", file, FAKE_SMS="6", FAKE_CAPABILITY="61", FAKE_COPY_ENGINES=engines)
        run_tool("probe-kernels", file, "--simulate", "--sms", "6", "--sms-per-tpc", "1", "--copy-engines", engines,
                 "-o", str(tmp_path / "b.json"))
        simulated = kernels_of(read_log(tmp_path / "b.json"))
        assert ran.keys() == simulated.keys()
        for name, kernel in ran.items():
            assert kernel["block_smids"] == simulated[name]["block_smids"], (number, name)
            assert kernel["block_times"] == pytest.approx([t + 7e-6 for t in simulated[name]["block_times"]], abs=1e-9)
            for way in ("copy_in", "copy_out"):
                assert (way in kernel) == (way in simulated[name])
                if way in kernel:
                    assert kernel[way]["times"] == pytest.approx([t + 7e-6 for t in simulated[name][way]["times"]])
        for log in ("a.json", "b.json"):
            assert "no rule is violated" in run_tool("blocks", "--check", str(tmp_path / log)), number


@pytest.mark.parametrize("words,last", (((), ("K9", "K10")), (("--channel-order", "10"), ("K10", "K9"))))
def test_streams_that_wait_get_channels_in_an_order_of_choice(
        tmp_path: pathlib.Path, words: "tuple[str, ...]", last: "tuple[str, str]") -> None:
    """RTAS'24, VI-A: ten jobs, a large kernel in a stream of each, released in order, and eight channels. By hand: a
    kernel of 8 blocks of 10 ms, of which 4 fit, takes 20 ms, and is dispatched after 10. When K1 is, K9 and K10 wait
    for its channel; who gets it runs after K8, and the other one last. Seen failing without the option."""
    jobs = [make_spin(block_count=8, additional_info=10000000, release_time=n / 1000) for n in range(10)]
    file, log = write_scenario(tmp_path, *jobs), tmp_path / "a.json"
    run_tool("probe-kernels", file, "--simulate", *words, "-o", str(log))
    starts = {name: kernel["block_times"][0] for name, kernel in kernels_of(read_log(log)).items()}
    order = [*(f"K{n}" for n in range(1, 9)), *last]
    assert [starts[name] for name in order] == pytest.approx([0.02 * n for n in range(10)])
    assert "no rule is violated" in run_tool("blocks", "--check", str(log))
    done = gpulens("probe-kernels", file, "--simulate", "--channel-order", "11")
    assert done.returncode == 2 and ": has 10 streams, not 11" in done.stderr
