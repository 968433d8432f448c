# SPDX-License-Identifier: GPL-2.0
"""gpulens-lab experiment without a GPU: simulations by the rules of RTAS'24 and RTAS'23, and by rules that are broken,
before the judge that measurements have as well; and measurements with the tests' libcuda."""

import csv
import json
import pathlib
import re
import shutil
import xml.etree.ElementTree
from typing import Any

import pytest
from support.fakeclock import CLOCK, run_by_clock
from support.measured import check_report, check_schema, fake_environment, run_gpulens
from support.program import LAB, ROOT

SVG = "{http://www.w3.org/2000/svg}"
TRACES = {"r1": "R1", "fig5": "R2", "fig6": "R4", "fig7": "R4", "fig8": "R5", "fig9": "R5", "fig10": "R8"}
PITFALLS = {"pitfalls": "P3.1-P3.4"}
SHARING = {"sharing": "slices"}
TABLES = {"table3": "RTAS'23, Obs. 1", "fig13": "RTAS'23, Fig. 13", "fig14": "RTAS'23, Obs. 2"}


def simulate_one(*words: str, status: int = 0) -> Any:
    """The only result of a simulation."""
    report = check_report("experiment", "experiment", "--simulate", *words, status=status)
    (result,) = report["results"]
    return result


@pytest.mark.parametrize("name", (*TRACES, *TABLES, *PITFALLS, *SHARING))
def test_a_gpu_that_keeps_to_the_rules_shows_them(name: str) -> None:
    """Each simulation by the rules is judged as "seen". Seen failing with turns of kernels that overlap, and with
    partitions of table3 that share their TPCs."""
    result = simulate_one(name)
    assert (result["verdict"], result["simulated"], result["without"]) == ("seen", True, None), result["sentence"]
    assert result["rule"] == {**TRACES, **TABLES, **PITFALLS, **SHARING}[name]


# Experiment, the rule that its GPU breaks, verdict, exit status.
BROKEN = [("r1", "R1", "not seen", 1), ("fig5", "R2", "not seen", 1), ("fig6", "R4", "not seen", 1),
          ("fig7", "R4", "not seen", 1), ("fig8", "R5", "not seen", 1), ("fig8", "R4", "cannot be told", 5),
          ("fig9", "R4", "not seen", 1), ("fig9", "R5", "not seen", 1), ("fig10", "R8", "not seen", 1),
          ("table3", "masks", "not seen", 1), ("fig13", "masks", "cannot be told", 5),
          ("fig14", "masks", "not seen", 1), ("pitfalls", "P3.4", "not seen", 1),
          ("sharing", "slices", "not seen", 1)]


@pytest.mark.parametrize("name,rule,verdict,status", BROKEN)
def test_the_judge_refuses_a_gpu_that_breaks_a_rule(name: str, rule: str, verdict: str, status: int) -> None:
    """Fig. 8 says nothing about runlists where both kernels have the engine at once, and Fig. 13 nothing about places
    where TPCs do not matter. Seen failing with chunks that were interrupted counted as progress."""
    result = simulate_one(name, "--without", rule, status=status)
    assert (result["verdict"], result["without"]) == (verdict, rule), result["sentence"]


def test_numbers_of_the_simulated_papers() -> None:
    """RTAS'24: stream 9 waits until another one is dispatched, slices of 2 ms and of 1 ms, interruptions of 1.000 ms,
    twice the time beside uploads. By hand: nine streams 30 ms apart, four kernels of 200 ms each: stream 9 is launched
    at 240 ms, and stream 1 has started its last kernel at 600 ms. Seen failing with the wait from the launch of stream
    1."""
    waits = simulate_one("fig5")["numbers"]
    assert (waits["streams"], waits["channels"], waits["waiting_stream"]) == (9, [8, 9], 9)
    assert waits["longest_wait_ms"] == [360, 0]
    assert waits["wait_ended_ms"] == waits["first_stream_dispatched_ms"] == 600
    kernels = simulate_one("fig6")["numbers"]
    assert kernels["median_slice_ms"] == [2, 2] and kernels["slices"] == [74, 75] and kernels["both_active_share"] == 0
    assert kernels["interruptions_during_initialization"] == 10
    assert kernels["interrupted_during_initialization_ms"] == 20
    assert 0.4 < simulate_one("fig8")["numbers"]["copy_beside_other_kernel_share"] < 0.6
    one = simulate_one("fig9")["numbers"]
    assert one["shared_runlist"] is True and one["kernel_interrupted_share"] == 0
    assert simulate_one("fig10")["numbers"]["slow_down"] == 2
    calls = simulate_one("r1")["numbers"]
    assert calls["disabled_ms"] == 200
    assert all(call["later_than_20ms"] == 0 and call["after"] for call in calls["completed"].values())


@pytest.mark.parametrize("chunk,error", (("1M", 0.087), ("64k", 0.005)))
def test_slices_of_copies_are_known_to_within_a_chunk(chunk: str, error: float) -> None:
    """RTAS'24 tells slices of 1049 us (Fig. 7) from 1024 us with interruptions of 1000 us, which are 49.4 % of the time
    (Fig. 9). A chunk of 1 MiB takes 87 us, one of 64 KiB 5.4. Seen failing with interrupted chunks counted as
    interruptions only: slices of 0.957, interruptions of 1.087 ms, 52.8 %."""
    seven, nine = (simulate_one(name, "--chunk", chunk)["numbers"] for name in ("fig7", "fig9"))
    assert seven["slice_error_ms"] == [error, error] and nine["slice_error_ms"] == error
    near = error + 0.001
    assert seven["median_slice_ms"] == [pytest.approx(1.049, abs=near)] * 2
    assert nine["median_copy_slice_ms"] == pytest.approx(1.024, abs=near)
    assert nine["median_interruption_ms"] == pytest.approx(1.000, abs=near)
    assert nine["copy_interrupted_share"] == pytest.approx(0.494, abs=0.01)
    line = run_gpulens("experiment", "fig9", "--simulate", "--chunk", chunk).stdout.splitlines()[-1]
    assert f"+/- {error:.3f} ms), and the kernel" in line


def test_one_process_is_one_task() -> None:
    """Two streams of one process run at once, which R4 says nothing about. Seen failing with the verdict of two
    tasks."""
    for name in ("fig6", "fig7"):
        result = simulate_one(name, "--processes", "1", status=5)
        assert result["numbers"]["both_active_share"] == 1
        assert "R4 is about several tasks" in result["sentence"]


def test_all_write_files(tmp_path: pathlib.Path) -> None:
    """--all writes JSON and a picture for each but pitfalls, and CSV of times; the verdict is in the picture. Seen
    failing with CSV of the last experiment only."""
    folder = tmp_path / "new" / "results"
    report = check_report("experiment", "experiment", "--all", "--simulate", "-o", str(folder))
    names = {*TRACES, *TABLES, *SHARING}
    assert {result["experiment"] for result in report["results"]} == {*names, *PITFALLS}
    assert {file.name for file in folder.iterdir()} == {
        "pitfalls.json", *(f"{name}.json" for name in names), *(f"{name}.svg" for name in names),
        *(f"{name}.csv" for name in (*TABLES, *SHARING))}
    for result in report["results"]:
        name = result["experiment"]
        assert json.loads((folder / f"{name}.json").read_text("utf-8")) == result
        if name in PITFALLS:
            continue
        picture = xml.etree.ElementTree.parse(folder / f"{name}.svg").getroot()
        text = " ".join("".join(element.itertext()) for element in picture.iter(f"{SVG}text"))
        assert f"{result['rule']}, seen: " in text and "simulated" in text
    rows = list(csv.DictReader((folder / "table3.csv").read_text("ascii").splitlines()))
    assert {(row["setup"][0], row["instance"]) for row in rows} == {
        ("1", "A"), ("2", "A"), ("2", "B"), ("3", "A"), ("4", "A"), ("5", "A")}
    assert [row["run"] for row in rows][:5] == ["1", "2", "3", "4", "5"]


def find_all(folder: pathlib.Path, name: str, element: str, kind: str) -> "list[xml.etree.ElementTree.Element]":
    """The elements of a class in the picture of a simulated experiment."""
    assert run_gpulens("experiment", name, "--simulate", "-o", str(folder)).returncode == 0
    picture = xml.etree.ElementTree.parse(folder / f"{name}.svg").getroot()
    return [found for found in picture.iter(f"{SVG}{element}") if found.get("class") == kind]


def test_pictures_are_those_of_the_papers(tmp_path: pathlib.Path) -> None:
    """Fig. 6: a line for each slice, higher than the one before. Fig. 7: two curves that rise. Fig. 8 and 9: shaded
    where the copy advances. Fig. 5: two timelines. Seen failing with the slices of a task on one line."""
    first, second = find_all(tmp_path, "fig6", "path", "kernel")
    for path, count in ((first, 86), (second, 75)):
        lines = [float(y) for y in re.findall(r"M[\d.]+ ([\d.]+)H", path.get("d") or "")]
        assert len(lines) == count and all(after < before for before, after in zip(lines, lines[1:]))
    curves = find_all(tmp_path, "fig7", "path", "curve")
    assert len(curves) == 2
    for curve in curves:
        heights = [float(y) for y in re.findall(r"[ML][\d.]+ ([\d.]+)", curve.get("d") or "")]
        assert len(heights) > 20 and heights == sorted(heights, reverse=True)
    assert len(find_all(tmp_path, "fig8", "rect", "shade")) > 20
    assert len(find_all(tmp_path, "fig9", "rect", "shade")) > 40
    assert len(find_all(tmp_path, "fig10", "circle", "marker")) == 40
    assert len(find_all(tmp_path, "r1", "rect", "shade")) == 1 and len(find_all(tmp_path, "r1", "rect", "call")) > 500
    assert not find_all(tmp_path, "fig5", "path", "curve")
    text = (tmp_path / "fig5.svg").read_text("utf-8")
    assert text.count("<svg ") == 3 and "8 channels" in text and "9 channels" in text


def test_tables_are_those_of_the_papers(tmp_path: pathlib.Path) -> None:
    """Table III has its four cases and the job alone in its half, Fig. 13 four curves, Fig. 14 a marker for each
    instance of seven splits. The times follow from the model, 96 ms / TPCs + 2 ms. Seen failing with fig14's splits of
    the whole GPU."""
    cases = simulate_one("table3")
    assert [row["setup"][0] for row in cases["rows"]] == ["1", "2", "3", "4", "5"]
    assert [row["a"]["tpcs"] for row in cases["rows"]] == [8, 8, 8, 4, 4] and cases["rows"][2]["b"] is None
    assert [round(row["a"]["mean_ms"]) for row in cases["rows"]] == [14, 26, 86, 26, 26]
    assert all(row["settled"] for row in cases["rows"])
    splits = simulate_one("fig14")["rows"]
    assert [(row["a"]["tpcs"], row["b"]["tpcs"]) for row in splits] == [(n, 8 - n) for n in range(1, 8)]
    sizes = simulate_one("fig13")["rows"]
    assert len([row for row in sizes if row["placing"] == "packed" and row["b"] is None]) == 40
    assert max(row["a"]["tpcs"] for row in sizes if row["b"]) == 20
    assert len(find_all(tmp_path, "fig13", "path", "curve")) == 4
    assert len(find_all(tmp_path, "fig14", "circle", "marker")) == 14


def test_text_and_list() -> None:
    """The last line is the verdict; --list has a line for each experiment. Seen failing without the rule."""
    done = run_gpulens("experiment", "fig7", "--simulate")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0] == "fig7, simulated"
    assert done.stdout.splitlines()[-1].startswith("R4, seen: the tasks take turns: in ")
    listed = run_gpulens("experiment", "--list").stdout.splitlines()[1:]
    assert [line.split()[0] for line in listed] == [*TRACES, *TABLES, *PITFALLS, *SHARING]
    check_report("experiment_list", "experiment", "--list")


BAD = [(["fig11"], "not in {r1,fig5,fig6,fig7,fig8,fig9,fig10,table3,fig13,fig14,pitfalls,sharing}"),
       ([], "NAME, --all or --list is wanted"),
       (["fig6", "--all"], "excludes"),
       (["fig6", "--without", "R4"], "requires --simulate"),
       (["fig6", "--simulate", "--without", "R2"], "--without R2: fig6 does not depend on it, but on R4"),
       (["table3", "--simulate", "--without", "R2"], "--without R2: table3 does not depend on it, but on masks"),
       (["pitfalls", "--simulate", "--without", "R2"], "--without R2: pitfalls does not depend on it, but on P3.4"),
       (["fig7", "--simulate", "--chunk", "1k"], "--chunk: 1024 is not a number from 4096 to 67108864"),
       (["fig6", "--simulate", "--processes", "3"], "3 is not a number from 1 to 2"),
       (["-g", "0", "fig6"], "CUDA_VISIBLE_DEVICES chooses another GPU, not -g")]


@pytest.mark.parametrize("words,why", BAD, ids=[why for _, why in BAD])
def test_bad_words_are_named(words: "list[str]", why: str) -> None:
    """Status 2, and nothing on standard output. Seen failing with --without ignored where it has no effect."""
    done = run_gpulens("experiment", *words)
    assert (done.returncode, done.stdout) == (2, "") and why in done.stderr, done.stderr


# -- measurements, with the tests' libcuda, whose processes may take turns (tests/support/cuda/fake_work.hpp) --

def measure_one(name: str, folder: pathlib.Path, *words: str, status: int = 0, turns: bool = True, **env: str) -> Any:
    """The only result of a measurement by the tests' clock, with that status."""
    more = {**env, **({"FAKE_CUDA_TURNS": str(folder / f"{name}-{len(list(folder.iterdir()))}")} if turns else {})}
    done = run_by_clock([LAB, "--json", "experiment", name, "--run", "150ms", *words],
                        CLOCK.environment(**fake_environment(**more)))
    assert done.returncode == status, done.stderr + done.stdout
    (result,) = check_schema("experiment", json.loads(done.stdout))["results"]
    assert (result["gpu"], result["simulated"]) == ("Fake H200", False)
    return result


def test_streams_wait_for_channels(tmp_path: pathlib.Path) -> None:
    """The fake keeps the ninth of nine streams waiting until the first has begun its last kernel, at 0.6 s, and reads
    CUDA_DEVICE_MAX_CONNECTIONS. Where it does not, the rule is not seen. Seen failing with the same number of channels
    twice."""
    numbers = measure_one("fig5", tmp_path)["numbers"]
    assert numbers["waiting_stream"] == 9 and 300 < numbers["longest_wait_ms"][0] < 500
    assert numbers["longest_wait_ms"][1] < 50
    assert measure_one("fig5", tmp_path, status=1, FAKE_CUDA_CHANNELS="1")["verdict"] == "not seen"


def test_processes_take_turns(tmp_path: pathlib.Path) -> None:
    """Two processes with slices of 2 ms for kernels and 1 ms for copies; without turns the rule is not seen. Seen
    failing with chunks of copies that include the interruption counted as progress."""
    kernels = measure_one("fig6", tmp_path)
    assert (kernels["verdict"], kernels["numbers"]["median_slice_ms"]) == ("seen", [2, 2]), kernels["sentence"]
    copies = measure_one("fig7", tmp_path, FAKE_CUDA_COPIERS="2")
    slices, errors = (copies["numbers"][key] for key in ("median_slice_ms", "slice_error_ms"))
    assert copies["verdict"] == "seen" and abs(slices[0] - 1) <= errors[0] < 0.3, copies["sentence"]
    assert measure_one("fig6", tmp_path, status=1, turns=False)["verdict"] == "not seen"
    assert measure_one("fig7", tmp_path, status=1, turns=False)["verdict"] == "not seen"


def test_runlists_of_kernels_and_copies(tmp_path: pathlib.Path) -> None:
    """Turns of kernels and of copies do not depend on each other in the fake: Fig. 8 is seen, with four tasks, and Fig.
    9, where nothing shares a runlist, cannot be told. Seen failing with the copies of another task."""
    four = measure_one("fig8", tmp_path, FAKE_CUDA_COPIERS="3")
    assert four["verdict"] == "seen" and 0.3 < four["numbers"]["copy_beside_other_kernel_share"] < 0.7, four["sentence"]
    assert [(track["task"], track["work"]) for track in four["tracks"]] == [
        ("task 1", "kernel"), ("task 2", "kernel"), ("task 2", "copy to the host"),
        ("task 3", "copy to the host"), ("task 4", "copy to the host")]
    one = measure_one("fig9", tmp_path, status=5)
    assert one["verdict"] == "cannot be told" and "do not depend on each other" in one["sentence"]


def test_two_streams_of_one_process(tmp_path: pathlib.Path) -> None:
    """--processes 1: both tracks are of one task. Seen failing with two processes."""
    for name in ("fig6", "fig7"):
        result = measure_one(name, tmp_path, "--processes", "1", status=5)
        assert len({track["task"] for track in result["tracks"]}) == 1 and len(result["tracks"]) == 2


def test_what_is_missing_is_named(tmp_path: pathlib.Path) -> None:
    """Fig. 10 without NVIDIA's EGL and R1 without the module: the verdict cannot be told, and the sentence says why.
    Without CUDA: status 3. Seen failing with uploads that are missing taken for ones that disturb nothing."""
    uploads = measure_one("fig10", tmp_path, status=5)
    assert "no texture can be uploaded: " in uploads["sentence"]
    assert uploads["numbers"]["copies_alone"] == 20 and uploads["numbers"]["copies_beside"] == 0
    disabled = measure_one("r1", tmp_path, status=5)
    assert "nothing was disabled" in disabled["sentence"]
    assert [track["work"] for track in disabled["tracks"]] == ["kernel", "copy to the host", "allocation"]
    done = run_gpulens("experiment", "fig6", LD_LIBRARY_PATH="/nowhere")
    assert (done.returncode, done.stdout) == (3, "") and "libcuda.so.1" in done.stderr


def test_tables_are_measured(tmp_path: pathlib.Path) -> None:
    """Products in masked streams of the fake, whose time is 8 ms / TPCs: more TPCs are faster, splits are those of 8
    TPCs. The fake's streams do not disturb each other, so Table III cannot be told. Seen failing with the masks of A
    for B."""
    splits = measure_one("fig14", tmp_path, "--for", "2s")
    assert splits["verdict"] == "seen", splits["sentence"]
    for row in splits["rows"]:
        for instance in (row["a"], row["b"]):
            assert 7.9 < instance["mean_ms"] * instance["tpcs"] < 10
    sizes = measure_one("fig13", tmp_path, "--for", "2s", "--sizes", "1,2,64")
    assert sizes["verdict"] == "seen", sizes["sentence"]
    assert [row["setup"] for row in sizes["rows"]][:5] == [
        "packed, 1 x 1 TPCs", "packed, 1 x 2 TPCs", "packed, 1 x 64 TPCs", "packed, 2 x 1 TPCs", "packed, 2 x 2 TPCs"]
    cases = measure_one("table3", tmp_path, "--for", "2s", status=5)
    assert cases["verdict"] == "cannot be told" and "1.00 times in partitions" in cases["sentence"]


def test_a_net_is_measured(tmp_path: pathlib.Path) -> None:
    """--job net with tests/support/fake_torch.py, whose net takes 96 ms / TPCs: each split of fig14 has the TPCs that
    it says. Seen failing with streams of four TPCs."""
    shutil.copy(ROOT / "tests/support/fake_torch.py", tmp_path / "torch.py")
    splits = measure_one("fig14", tmp_path, "--job", "net", "--for", "2s", PYTHONPATH=str(tmp_path))
    assert splits["verdict"] == "seen", splits["sentence"]
    assert "net" in splits["job"] and len(splits["rows"]) == 7
    for row in splits["rows"]:
        assert row["a"]["tpcs"] + row["b"]["tpcs"] == 8
        for instance in (row["a"], row["b"]):
            assert instance["mean_ms"] == pytest.approx(96 / instance["tpcs"])


def test_a_tpc_more_may_bring_little(tmp_path: pathlib.Path) -> None:
    """RTAS'23 of Fig. 14: the second TPC halves the time, 70 ms then, and the third one saves "14 % (10 ms)", where
    inverse proportion would save 70 / 3. So 80 ms of the net are shared by two TPCs at most and 60 by all, which gives
    48.57 ms on seven: the last one saves 10/7 of 50 ms, 0.20 of 50 / 7. With 96 ms / TPCs each brings its share.
    Seen failing with the times of instance A for both."""
    shutil.copy(ROOT / "tests/support/fake_torch.py", tmp_path / "torch.py")
    words = ("--job", "net", "--for", "2s")
    splits = measure_one("fig14", tmp_path, *words, PYTHONPATH=str(tmp_path), FAKE_TORCH_MS="80,60")
    assert [round(share, 2) for share in splits["numbers"]["tpc_benefits"]] == [1, 0.43, 0.33, 0.27, 0.23, 0.20]
    assert splits["verdict"] == splits["numbers"]["obs_3"] == "seen"
    assert splits["notes"][-1] == (
        "RTAS'23, Obs. 3, seen: TPC number 7 brings least: it shortens a job by 2.9 %, 0.20 of what it would if time "
        "were in inverse proportion to TPCs")
    splits = measure_one("fig14", tmp_path, *words, PYTHONPATH=str(tmp_path))
    assert splits["numbers"]["tpc_benefits"] == pytest.approx([1] * 6)
    assert (splits["verdict"], splits["numbers"]["obs_3"]) == ("seen", "cannot be told")


def test_a_program_is_run_in_processes() -> None:
    """Each instance is a process under a limit; one that fails is named. Seen failing with B never started again."""
    done = run_gpulens("--json", "experiment", "fig14", "--program", "sleep 0.02; true", "--for", "1ms")
    assert done.returncode in (1, 5), done.stderr  # the times are those of sleep, on any number of TPCs
    (result,) = check_schema("experiment", json.loads(done.stdout))["results"]
    assert result["job"] == "sleep 0.02; true, from start to end" and len(result["rows"]) == 7
    assert all(row["a"]["jobs"] == 5 and row["a"]["mean_ms"] > 20 and row["b"]["jobs"] for row in result["rows"])
    assert "instances are processes, which take turns" in result["notes"][0]
    done = run_gpulens("experiment", "table3", "--program", "exit 7")
    assert done.returncode == 4 and "it ended with status 7" in done.stderr
    assert run_gpulens("experiment", "table3", "--program", "true", "--job", "net").returncode == 2
    assert "--job eager is for sharing" in run_gpulens("experiment", "table3", "--job", "eager").stderr


# What calls of the fake hold up, and the verdicts of the probes in their order.
EFFECTS = ("cuMemAlloc_v2:kernels,cuMemFree_v2:caller+kernels+threads,cuMemHostAlloc:caller,legacy:kernels,"
           "cuCtxSynchronize:caller,cuStreamCreate:caller+threads,cuMemcpyDtoH_v2:caller+kernels")
KERNELS, THREADS = "other streams' kernels", "other threads' launches"
VERDICTS = ["nobody", KERNELS, THREADS, "only the caller", KERNELS, "only the caller", THREADS, KERNELS]
THESIS = "cuMemFree_v2:caller+kernels+threads,legacy:kernels,cuCtxSynchronize:caller"


def test_calls_hold_up_whom_they_do(tmp_path: pathlib.Path) -> None:
    """Each effect of each call of the fake is the verdict; what the thesis saw is "seen", any other "not seen", and
    nothing is told where kernels do not run at once even without a call. Seen failing with the time of the call for
    that of the launch, and with the first probe not looked at."""
    result = measure_one("pitfalls", tmp_path, turns=False, status=1, FAKE_CUDA_BLOCKS=EFFECTS)
    assert [call["holds_up"] for call in result["calls"]] == VERDICTS, result["calls"]
    assert [call["as_thesis"] for call in result["calls"]] == [None, False, True, False, True, True, None, None]
    assert measure_one("pitfalls", tmp_path, turns=False, FAKE_CUDA_BLOCKS=THESIS)["verdict"] == "seen"
    result = measure_one("pitfalls", tmp_path, turns=False, status=5, FAKE_CUDA_BLOCKS="launch:kernels")
    assert result["verdict"] == "cannot be told" and "even without a call" in result["sentence"]


def test_a_net_needs_pytorch(tmp_path: pathlib.Path) -> None:
    """A module in place of PyTorch that has no GPU, and no Python at all: status 4, and the message names PyTorch. Seen
    failing with the script's error ignored."""
    (tmp_path / "torch.py").write_text("class cuda:\n    is_available = staticmethod(lambda: False)\n")
    done = run_gpulens("experiment", "table3", "--job", "net", PYTHONPATH=str(tmp_path))
    assert done.returncode == 4 and "PyTorch: RuntimeError: torch.cuda.is_available() is False" in done.stderr
    done = run_gpulens("experiment", "table3", "--job", "net", PATH="/nowhere")
    assert done.returncode == 4 and "PyTorch: python3 is missing\n" in done.stderr
    python = tmp_path / "python3"
    python.write_text("#!/bin/sh\nexit 4\n", encoding="ascii")
    python.chmod(0o755)
    done = run_gpulens("experiment", "table3", "--job", "net", PATH=str(tmp_path))
    assert done.returncode == 4 and "PyTorch: python3: it ended with status 4\n" in done.stderr
