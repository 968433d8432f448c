# SPDX-License-Identifier: GPL-2.0
"""gpulens-lab probe-kernels and blocks as programs, with fake_probe.py instead of the program that needs CUDA:
scenarios, logs, pictures, the exit status of the check, and the message for each error. tests/tools/blocks_test.cc
tests each rule by itself."""

import json
import pathlib
import random
import re
import shutil
import typing
import xml.etree.ElementTree

import jsonschema
import pytest
from support.program import LAB, ROOT, gpulens, usage_of

FAKE = str(ROOT / "tests/support/fake_probe.py")
SCHEMA = json.loads((ROOT / "docs/blocks-schema.json").read_text(encoding="utf-8"))
FIGURES = ("fig3.9", "fig3.11", "fig3.12", "fig3.13", "fig3.14", "fig3.15", "fig3.16")
SVG = "{http://www.w3.org/2000/svg}"
Json = typing.Any


def check_schema(document: Json, what: str) -> Json:
    """Returns the document, which must conform to that definition of the schema."""
    schema = {"$ref": f"#/$defs/{what}", "$defs": SCHEMA["$defs"]}
    jsonschema.validate(document, schema, cls=jsonschema.Draft202012Validator)
    return document


def run_tool(*words: str, status: int = 0, **more: typing.Any) -> str:
    """Standard output of a command, which must end with that status."""
    result = gpulens(*words, **more)
    assert result.returncode == status, result.stderr
    assert bool(result.stderr) == (status > 1), result.stderr
    return result.stdout


def make_log(file: pathlib.Path, scenario: str, *words: str, sms: int = 2) -> Json:
    """The log of a scenario that the fake ran."""
    run_tool("probe-kernels", scenario, "--program", FAKE, "-o", str(file), *words, env={"FAKE_SMS": str(sms)})
    return check_schema(json.loads(file.read_text(encoding="utf-8")), "log")


def kernels_by_name(log: Json) -> typing.Dict[str, Json]:
    """Kernels of a log by name."""
    return {k["kernel_name"]: k for benchmark in log["benchmarks"] for k in benchmark["times"] if "block_times" in k}


def spin_benchmark(**more: typing.Any) -> typing.Dict[str, typing.Any]:
    """A benchmark with one kernel that spins for 100 ms."""
    return {"filename": "./bin/timer_spin.so", "thread_count": 512, "block_count": 2, "additional_info": 100000000,
            **more}


def write_scenario(folder: pathlib.Path, *benchmarks: Json, **more: typing.Any) -> str:
    """Writes a scenario file and returns its path."""
    file = folder / "scenario.json"
    file.write_text(json.dumps({"name": "a scenario", "benchmarks": benchmarks, **more}))
    return str(file)


@pytest.mark.parametrize("sms", (2, 5, 132))
@pytest.mark.parametrize("figure", FIGURES)
def test_figures_keep_the_rules(tmp_path: pathlib.Path, figure: str, sms: int) -> None:
    """The fake implements the rules independently. Its logs of Otterness' scenarios equal the simulation, apart from
    its delay of 7 us, and the checker finds no violation."""
    log = make_log(tmp_path / "a.json", figure, sms=sms)
    assert run_tool("blocks", "--check", str(tmp_path / "a.json")).endswith("no rule is violated\n")
    run_tool("probe-kernels", figure, "--simulate", "--sms", str(sms), "-o", str(tmp_path / "b.json"))
    simulated = check_schema(json.loads((tmp_path / "b.json").read_text(encoding="utf-8")), "log")
    assert simulated["simulated"] and not log["simulated"] and log["gpu"]["name"] == "Fake GPU"
    for name, k in kernels_by_name(log).items():
        same = kernels_by_name(simulated)[name]
        assert k["block_smids"] == same["block_smids"]
        assert k["block_times"] == pytest.approx([t + 7e-6 for t in same["block_times"]], abs=1e-9)
    assert log["clock"] == {"uncertainty_ns": 1500, "resolution_ns": 32}


def test_random_scenarios_equal_the_simulation(tmp_path: pathlib.Path) -> None:
    """15 random scenarios with up to eight streams: fake and simulation agree on every block, and the checker finds no
    violation. Seen failing with a primary queue that serves the last kernel first."""
    pick = random.Random(5)
    for number in range(15):
        streams = []
        for _ in range(pick.randint(1, 8)):
            several = [{"kernel_label": f"K{pick.getrandbits(40)}", "duration": pick.randint(1000000, 30000000),
                        "block_count": pick.randint(1, 12), "thread_count": pick.randint(1, 32) * 32,
                        "delay": pick.randint(0, 20000) / 1e6} for _ in range(pick.randint(1, 4))]
            streams.append({"filename": "multikernel.so", "additional_info": several,
                            "release_time": pick.randint(0, 40000) / 1e6})
        file = write_scenario(tmp_path, *streams)
        check_schema(json.loads(pathlib.Path(file).read_text(encoding="utf-8")), "scenario")
        log = kernels_by_name(make_log(tmp_path / "a.json", file, sms=3))
        run_tool("probe-kernels", file, "--simulate", "--sms", "3", "-o", str(tmp_path / "b.json"))
        for name, k in kernels_by_name(json.loads((tmp_path / "b.json").read_text(encoding="utf-8"))).items():
            assert k["block_smids"] == log[name]["block_smids"], (number, name)
            assert [t + 7e-6 for t in k["block_times"]] == pytest.approx(log[name]["block_times"], abs=1e-9)
        for name in ("a.json", "b.json"):
            run_tool("blocks", "--check", str(tmp_path / name))


def test_program_gets_the_scenario_as_lines(tmp_path: pathlib.Path) -> None:
    """Streams with their priorities, kernels of all kinds in launch order, and all numbers. The expected lines follow
    the head of tools/probe/probe_kernels.cc. Seen failing without priorities."""
    told = tmp_path / "told"
    program = tmp_path / "program"
    program.write_text(f'#!/bin/sh\n[ "$1 $2" = "run 3" ] && cat >{told} && echo "$CUDA_DEVICE_MAX_CONNECTIONS" '
                       f'>>{told}\nexec {FAKE} info x\n')
    program.chmod(0o755)
    file = write_scenario(
        tmp_path, spin_benchmark(release_time=0.5, stream_priority=-1, shared_memory_size=4096),
        {"filename": "memory_copy.so", "thread_count": 256, "block_count": 7, "data_size": 1048576,
         "additional_info": {"repeat": 3}},
        {"filename": "matrix_multiply", "thread_count": [16, 16], "block_count": 5,
         "additional_info": {"matrix_width": 100, "skip_copy": True}},
        {"filename": "a/multikernel.so", "release_time": 0.25, "thread_count": 0, "block_count": 0, "additional_info": [
            {"kernel_label": "X", "duration": 5, "block_count": 1, "thread_count": 32},
            {"kernel_label": "Y", "duration": 6, "block_count": 1, "thread_count": 32, "delay": 0.5}]},
        cuda_device=3, max_iterations=1, max_time=0, use_processes=False, pin_cpus=True)
    check_schema(json.loads(pathlib.Path(file).read_text(encoding="utf-8")), "scenario")
    gpulens("probe-kernels", file, "--program", str(program), "--connections", "17")
    assert told.read_text() == """\
gpulens-probe 1
stream -1
stream 0
stream 0
stream 0
kernel copy 1 1048576 3 7 256 0 0
kernel matrix 2 100 1 5 256 0 0
kernel spin 3 5 1 1 32 0 250000000
kernel spin 0 100000000 1 2 512 16384 500000000
kernel spin 3 6 1 1 32 0 750000000
end
17
"""


def test_print_writes_a_scenario_file(tmp_path: pathlib.Path) -> None:
    """--print writes the named scenario for the present GPU; the file gives the same log as the name."""
    text = run_tool("probe-kernels", "fig3.13", "--print", "--program", FAKE,
                    env={"FAKE_SMS": "4", "FAKE_THREADS": "1024"})
    scenario = check_schema(json.loads(text), "scenario")
    assert [(k["kernel_label"], k["block_count"], k["thread_count"]) for benchmark in scenario["benchmarks"]
            for k in benchmark["additional_info"]] == [("K1", 15, 256), ("K2", 4, 512), ("K3", 1, 128)]
    (tmp_path / "s.json").write_text(text)
    size = ("--simulate", "--sms", "4", "--threads-per-sm", "1024")
    assert run_tool("probe-kernels", str(tmp_path / "s.json"), *size) == run_tool("probe-kernels", "fig3.13", *size)


def test_logs_are_written_in_the_frameworks_layout(tmp_path: pathlib.Path) -> None:
    """--logs writes a file for each stream, named by its log_name. gpulens-lab blocks reads them like the whole log."""
    make_log(tmp_path / "a.json", "fig3.9", "--logs", str(tmp_path))
    names = [str(tmp_path / f"fig3.9-{i}.json") for i in (1, 2, 3)]
    second = json.loads(pathlib.Path(names[1]).read_text(encoding="utf-8"))
    assert (second["scenario_name"], second["label"], second["release_time"]) == ("fig3.9", "Stream 2", 0.25)
    assert second["max_resident_threads"] == 4096 and "block_times" not in second["times"][1]
    kernel = second["times"][2]
    assert kernel["block_smids"] == [0, 1] and kernel["block_times"] == [1.000007, 1.500007] * 2
    assert kernel["cuda_launch_times"] == [0.25, 0.250007, 1.500014]
    rows = [line.split()[:2] + line.split()[-4:] for line in run_tool("blocks", *names).splitlines()[2:]]
    assert rows[1] == ["K2", "2", "0.250000", "1.000007", "1.000007", "1.500007"]
    assert "B2, waiting blocks and SM numbers were not checked" in run_tool("blocks", "--check", *names)


def test_list_and_text_and_json(tmp_path: pathlib.Path) -> None:
    """--list prints the names, blocks prints a line for each kernel, and --json has the same content."""
    names = [line.split()[0] for line in run_tool("probe-kernels", "--list").splitlines()[1:]]
    assert names[:8] == [*FIGURES, "r2"]
    listed = check_schema(json.loads(run_tool("probe-kernels", "--list", "--json")), "scenarios")
    assert [listed_scenario["name"] for listed_scenario in listed["scenarios"]] == names
    make_log(tmp_path / "a.json", "fig3.9")
    assert run_tool("blocks", str(tmp_path / "a.json")) == """\
fig3.9, Fake GPU, 2 SMs of 2048 threads, 8 channels
Kernel  Stream  Label     Blocks  Threads  SMs  Launched s  First start s  Last start s  Last end s
K1           1  Stream 1       7      512    2    0.000000       0.000007      0.000007    1.000007
K2           2  Stream 2       2     1024    2    0.250000       1.000007      1.000007    1.500007
K3           3  Stream 3       1      256    1    0.500000       1.000007      1.000007    1.500007
The GPU's clock has steps of 0.032 us; launches are known to 1.500 us against it
"""
    short = check_schema(json.loads(run_tool("blocks", "--json", str(tmp_path / "a.json"))), "blocks")
    assert short["check"] is None and short["kernels"][1]["sms"] == [0, 1] and short["kernels"][2]["launched"] == 0.5
    assert json.loads(run_tool("probe-kernels", "fig3.9", "--program", FAKE, "--json")) == json.loads(
        (tmp_path / "a.json").read_text(encoding="utf-8"))


def cut_ahead(log: Json) -> str:
    """Rule B: K3 starts in the threads that K1 leaves free, before K2."""
    kernels_by_name(log)["K3"]["block_times"] = [0.6, 1.1]
    kernels_by_name(log)["K3"]["block_smids"] = [1]
    return "Rule B: K3:0 starts on SM 1 at 0.600000 s, though K2 is before it in the primary queue and has not begun"


def not_launched(log: Json) -> str:
    """Rule A: K2 starts before its launch."""
    kernels_by_name(log)["K2"]["cuda_launch_times"] = [1.2, 1.2, 1.6]
    return "Rule A: K2:0 starts on SM 0 at 1.000007 s, before K2 is launched at 1.200000 s"


def same_stream(log: Json) -> str:
    """Rule D: K3 follows K2 in its stream and starts at the same time."""
    log["benchmarks"][1]["times"] += log["benchmarks"].pop(2)["times"]
    return "Rule D: K3:0 starts on SM 0 at 1.000007 s, though K2 before it in its stream has not ended: K2:0"


def too_full(log: Json) -> str:
    """Rule B2: all blocks of K1 are on SM 0."""
    kernels_by_name(log)["K1"]["block_smids"] = [0] * 7
    return "and then 2560 threads in 5 blocks are there: it holds 2048 in 32"


@pytest.mark.parametrize("change", (cut_ahead, not_launched, same_stream, too_full))
def test_a_violation_is_named_and_is_status_1(tmp_path: pathlib.Path, change: typing.Callable[[Json], str]) -> None:
    """A valid log with one change. The picture is drawn nevertheless. Seen failing without each of the checks."""
    file = tmp_path / "a.json"
    log = make_log(file, "fig3.9")
    expected = change(log)
    file.write_text(json.dumps(log))
    text = run_tool("blocks", "--check", str(file), "-o", str(tmp_path / "a.svg"), status=1)
    assert expected in text and "violation" in text.splitlines()[-1], text
    assert (tmp_path / "a.svg").exists()
    check = check_schema(json.loads(run_tool("blocks", "--check", "--json", str(file), status=1)), "blocks")["check"]
    assert any(expected.split(": ", 1)[-1] in violation["text"] for violation in check["violations"])


def test_more_streams_than_channels_are_a_violation(tmp_path: pathlib.Path) -> None:
    """R2: nine streams with eight channels. The fake does not model channels, so its log with eight channels violates
    the rule, and the one with nine does not. Seen failing without the check of channels."""
    file = str(tmp_path / "a.json")
    assert len(make_log(pathlib.Path(file), "r2")["benchmarks"]) == 9
    text = run_tool("blocks", "--check", file, status=1)
    assert "Rule R2: K33:0 starts on SM" in text and "there are 8 channels" in text
    assert "Note: R2: 9 streams and 8 channels: A, B and C do not hold beyond" in text
    run_tool("blocks", "--check", "--channels", "9", file)
    assert make_log(pathlib.Path(file), "r2", "--connections", "9")["channels"] == 9
    run_tool("blocks", "--check", file)


def test_tolerance_is_an_option(tmp_path: pathlib.Path) -> None:
    """K3 starts 100 us before K2: a violation with the default tolerance of 50 us, none with 200 us."""
    file = tmp_path / "a.json"
    log = make_log(file, "fig3.9")
    kernels_by_name(log)["K3"]["block_times"] = [0.999907, 1.499907]
    kernels_by_name(log)["K3"]["block_smids"] = [1]
    file.write_text(json.dumps(log))
    assert "Rule B: K3:0" in run_tool("blocks", "--check", str(file), status=1)
    assert "tolerance 200.000 us: no rule" in run_tool("blocks", "--check", "--tolerance", "200us", str(file))


def draw_log(file: pathlib.Path, *words: str, status: int = 0) -> xml.etree.ElementTree.Element:
    """The picture of a log."""
    picture = file.with_suffix(".svg")
    assert (run_tool("blocks", str(file), "-o", str(picture), *words, status=status) == "") == (status == 0)
    return xml.etree.ElementTree.parse(picture).getroot()


def boxes_by_kernel(picture: xml.etree.ElementTree.Element) -> typing.Dict[str, typing.List[typing.List[float]]]:
    """For each block of each kernel: x, y of the lower left corner, width, height."""
    found = {}
    for group in picture.iter(f"{SVG}g"):
        path = group.find(f"{SVG}path")
        assert path is not None
        found[group.findtext(f"{SVG}title", "")] = [
            [float(number) for number in re.findall(r"[\d.]+", outline)[:4]]
            for outline in path.get("d", "").split("M")[1:]]
    return found


def test_the_picture_shows_every_block(tmp_path: pathlib.Path) -> None:
    """Fig. 3.9 on two SMs: the axes are 880 wide for 1.500007 s and 130 high for an SM's 2048 threads; SM 0 is at the
    bottom; K2 is on the baseline, K3 on K2; labels, arrows with names, streams in the legend. Seen failing with blocks
    that cover each other."""
    make_log(tmp_path / "a.json", "fig3.9")
    picture = draw_log(tmp_path / "a.json")
    found = boxes_by_kernel(picture)
    assert {name: len(some) for name, some in found.items()} == {"K1": 7, "K2": 2, "K3": 1}
    second, third = found["K2"][0], found["K3"][0]
    assert second[0] == pytest.approx(66 + 880 * 1.000007 / 1.500007, abs=0.1)
    assert second[2:] == [pytest.approx(880 * 0.5 / 1.500007, abs=0.1), 65]
    assert second[1] == 324 and third[1] == 324 - 65 and third[3] == 16.25
    assert {box[1] for box in found["K1"]} == {324 - 32.5 * i for i in range(7)}
    texts = [element.text for element in picture.iter(f"{SVG}text")]
    assert texts[0] == "fig3.9, Fake GPU, 2 SMs of 2048 threads"
    for words in ("K1:6", "K2:0", "K3:0", "Stream 3", "SM 0", "SM 1", "0.8", "K1", "K2", "K3"):
        assert words in texts, words
    arrows = [path for path in picture.iter(f"{SVG}path") if path.get("stroke-width") == "2"]
    assert [float(path.get("d", "")[1:].split()[0]) for path in arrows] == pytest.approx(
        [66 + 880 * t / 1.500007 for t in (0, 0.25, 0.5)], abs=0.1)
    colours = {path.get("fill") for group in picture.iter(f"{SVG}g") for path in group.iter(f"{SVG}path")}
    assert len(colours) == 3


def test_a_picture_of_used_sms_alone(tmp_path: pathlib.Path) -> None:
    """Blocks on SMs 3 and 7 of 8: --used draws two rows with their numbers, SM 3 below; without it, all eight rows."""
    file = tmp_path / "a.json"
    log = make_log(file, "fig3.16", sms=8)
    for kernel in kernels_by_name(log).values():
        kernel["block_smids"] = [3 + 4 * (i % 2) for i in range(len(kernel["block_smids"]))]
    file.write_text(json.dumps(log), encoding="utf-8")
    rows = [element for element in draw_log(file, "--used").iter(f"{SVG}text")
            if (element.text or "").startswith("SM ")]
    assert [element.text for element in rows] == ["SM 3", "SM 7"]
    assert float(rows[0].get("y", "")) > float(rows[1].get("y", ""))
    assert "2 of 8 SMs of 2048 threads" in "".join(draw_log(file, "--used").itertext())
    floors = [box[1] for some in boxes_by_kernel(draw_log(file, "--used")).values() for box in some]
    assert 100 < max(floors) - min(floors) < 260  # two rows of 130
    whole = draw_log(file)
    assert len([element for element in whole.iter(f"{SVG}text") if (element.text or "").startswith("SM ")]) == 8
    assert ", 8 SMs of 2048 threads" in "".join(whole.itertext())


@pytest.mark.parametrize("figure", (*FIGURES, "r2"))
def test_pictures_of_132_sms_are_whole(tmp_path: pathlib.Path, figure: str) -> None:
    """All blocks are within the axes and within the rows of their SMs, which are 6 high; no two blocks of a row
    overlap, and the page is at most 1100 pixels high. Seen failing with half the distance between rows."""
    log = make_log(tmp_path / "a.json", figure, sms=132)
    picture = draw_log(tmp_path / "a.json", "--colour-by", "kernel")
    found = boxes_by_kernel(picture)
    assert {name: len(some) for name, some in found.items()} == {
        name: k["block_count"] for name, k in kernels_by_name(log).items()}
    everything = sorted(box for some in found.values() for box in some)
    assert min(box[0] for box in everything) >= 65.9 and max(box[0] + box[2] for box in everything) <= 946.1
    floor = max(box[1] for box in everything)
    for name, k in kernels_by_name(log).items():
        for box, where in zip(found[name], k["block_smids"]):
            assert -0.01 <= floor - box[1] - 6 * where <= 6 - box[3] + 0.02, (name, where)
    ends: typing.Dict[float, float] = {}
    for left, low, width, _ in everything:
        assert ends.get(low, 0) <= left + 0.15, (left, low)
        ends[low] = left + width
    assert float(picture.get("height", "0")) < 1100
    assert sum((element.text or "").startswith("SM ") for element in picture.iter(f"{SVG}text")) == 14


def test_names_of_a_log_are_escaped_in_the_picture(tmp_path: pathlib.Path) -> None:
    """Names with characters that have a meaning in XML, and with control characters. Seen failing without escaping."""
    log = make_log(tmp_path / "a.json", "fig3.9")
    log["scenario_name"] = "<b>&\"\u0001'"
    log["benchmarks"][0]["label"] = "</svg><!--"
    kernels_by_name(log)["K1"]["kernel_name"] = "<K>&1"
    (tmp_path / "a.json").write_text(json.dumps(log))
    texts = [element.text for element in draw_log(tmp_path / "a.json").iter(f"{SVG}text")]
    assert texts[0] and texts[0].startswith("<b>&\"?'") and "Stream 1: </svg><!--" in texts and "<K>&1:0" in texts


def test_the_documented_picture_is_reproduced(tmp_path: pathlib.Path) -> None:
    """docs/blocks-example.svg is the simulation of figure 3.9 on two SMs, and is marked as simulated."""
    file = tmp_path / "a.json"
    run_tool("probe-kernels", "fig3.9", "--simulate", "--sms", "2", "-o", str(file))
    draw_log(file)
    text = (ROOT / "docs/blocks-example.svg").read_text(encoding="utf-8")
    assert text == file.with_suffix(".svg").read_text(encoding="utf-8")
    assert "<title>fig3.9, simulated, 2 SMs" in text


BAD_SCENARIOS = [
    ('{"name": "a", "benchmarks": [', "not JSON: parse error at line 1, column 30"),
    ("[]", "[] is not an object"),
    ('{"benchmarks": []}', "name is missing"),
    ('{"name": "a", "benchmarks": []}', "no benchmark"),
    ('{"name": "a", "benchmarks": {}}', "benchmarks is {}, not a list"),
    ({"benchmark": []}, 'unknown key "benchmark"; expected one of name, comment, benchmarks,'),
    ({"use_processes": 1}, "use_processes is 1, not true or false"),
    ({"max_iterations": 0}, "max_iterations is 0, without limit, but the memory for times needs one"),
    (spin_benchmark(label="x", filename="./bin/mandelbrot"),
     'benchmark "x": filename is "./bin/mandelbrot", but there are only kernels for timer_spin,'),
    (spin_benchmark(label="x", block_count=0), 'benchmark "x": block_count is 0, not a whole number from 1 to 100000'),
    (spin_benchmark(block_count=-1), "benchmark 0: block_count is -1, not a whole"),
    (spin_benchmark(thread_count=1025), "benchmark 0: thread_count is 1025, not a whole number from 1 to 1024"),
    (spin_benchmark(thread_count=[16, 16]), "thread_count is [16,16], not a number from 1 to 1024"),
    (spin_benchmark(additional_info="soon"), 'additional_info is "soon", not nanoseconds from 1 to 60000000000'),
    (spin_benchmark(additional_info=0), "additional_info is 0, not nanoseconds"),
    (spin_benchmark(release_time=-1), "release_time is -1, not seconds from 0 to 600"),
    (spin_benchmark(stream_priority=1e9), "stream_priority is 1000000000.0, not a priority from -100 to 100"),
    (spin_benchmark(tpcs="0x1"), 'unknown key "tpcs"; expected one of filename,'),
    (spin_benchmark(filename="matrix_multiply.so", additional_info={"matrix_width": 64}),
     "thread_count is 512, but matrix_mult"),
    (spin_benchmark(filename="matrix_multiply.so", thread_count=[16, 99], additional_info={"matrix_width": 64}),
     "thread_count is [16,99], not a number from 1 to 1024 nor a pair"),
    (spin_benchmark(filename="memory_copy.so", additional_info={}), "data_size is missing"),
    (spin_benchmark(filename="multikernel.so", additional_info=[]), "no kernel"),
    (spin_benchmark(filename="multikernel.so", additional_info=[{"kernel_label": "a b"}]),
     'kernel "a b": kernel_label is "a b"; it must be printable ASCII without blanks, and not empty'),
    ([spin_benchmark(log_name="a.json"), spin_benchmark(label="y", log_name="a.json")],
     'benchmark "y": log_name "a.json" is also used by another benchmark'),
    (spin_benchmark(filename="multikernel.so", label="y", additional_info=2 * [
        {"kernel_label": "K1", "duration": 1, "block_count": 1, "thread_count": 1}]),
     'benchmark "y": there is another kernel "K1"'),
    ([spin_benchmark(block_count=60000), spin_benchmark(block_count=60000)],
     "more than 1024 streams, 4096 kernels or 100000 blocks"),
]


@pytest.mark.parametrize("what,why", BAD_SCENARIOS, ids=[why[:40] for _, why in BAD_SCENARIOS])
def test_invalid_scenarios_are_status_2(what: Json, why: str) -> None:
    """One line on standard error names file, item and reason; no kernel runs."""
    if isinstance(what, dict) and "filename" not in what:
        what = {"name": "a", "benchmarks": [], **what}
    elif isinstance(what, (dict, list)):
        what = {"name": "a", "benchmarks": what if isinstance(what, list) else [what]}
    text = what if isinstance(what, str) else json.dumps(what)
    result = gpulens("probe-kernels", "-", "--program", "/bin/false", stdin=text.encode())
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr.startswith("gpulens-lab: standard input: ") and result.stderr.count("\n") == 1
    assert why in result.stderr


def test_scenarios_beyond_the_gpu_or_the_rules_are_status_2(tmp_path: pathlib.Path) -> None:
    """More threads than an SM holds, more shared memory than a block can have, and features that the simulation does
    not cover."""
    def error_of(*words: str, **env: str) -> str:
        return gpulens("probe-kernels", *words, env=env).stderr

    file = write_scenario(tmp_path, spin_benchmark(thread_count=1024))
    assert "\"K1\": 1024 threads per block, but an SM holds 512" in error_of(
        file, "--program", FAKE, FAKE_THREADS="512")
    file = write_scenario(tmp_path, spin_benchmark(shared_memory_size=20000))
    assert "80000 bytes of shared memory per block, but this GPU has 49152" in error_of(file, "--program", FAKE)
    assert "shared memory is not simulated" in error_of(file, "--simulate")
    copy = spin_benchmark(filename="memory_copy.so", additional_info={}, data_size=4096)
    file = write_scenario(tmp_path, copy)
    assert "only the run time of a spin kernel is known in advance" in error_of(file, "--simulate")


def change_log(key: str, value: Json) -> typing.Callable[[Json], None]:
    """Returns a function that sets that key of K2."""
    return lambda log: kernels_by_name(log)["K2"].update({key: value})


BAD_LOGS: typing.List[typing.Tuple[typing.Callable[[Json], typing.Any], str]] = [
    (lambda log: log.update(version=2), "version is 2, but this gpulens reads 1"),
    (lambda log: log.update(benchmarks=[]), "no kernel with block_times"),
    (lambda log: log["gpu"].update(sms=0), "gpu: sms is 0, not a whole number from 1 to 4096"),
    (lambda log: log["benchmarks"][1].pop("times"), 'benchmark "Stream 2": times is missing'),
    (change_log("block_times", [1, 2, 3]),
     'benchmark "Stream 2": kernel "K2": block_times has 3 numbers, not two for each of 2 blocks'),
    (change_log("block_times", [1, 2, 3, "x"]), 'kernel "K2": block_times has "x", which is not a time in seconds'),
    (change_log("block_times", [1, 2, 3, 2.5]), 'kernel "K2": block 1 ends before it starts'),
    (change_log("block_smids", [1]), 'kernel "K2": block_smids has 1 numbers, but there are 2 blocks'),
    (change_log("block_smids", [1, 2]), 'kernel "K2": a block ran on SM 2, but the GPU has 2 SMs'),
    (change_log("block_smids", [0, 1 << 40]), '"K2": block_smids has 1099511627776, not a number from 0 to 4095'),
    (change_log("block_count", 0), 'kernel "K2": block_count is 0, not a whole number from 1 to 100000'),
    (change_log("cuda_launch_times", [2, 1, 3]), 'kernel "K2": cuda_launch_times are not in order'),
    (change_log("cuda_launch_times", [2, 3]), 'kernel "K2": cuda_launch_times has 2 numbers, not three'),
    (change_log("kernel_name", "\x1b[2J"), "it must be printable ASCII without blanks, and not empty"),
]


def test_a_scenario_as_the_framework_takes_it(tmp_path: pathlib.Path) -> None:
    """Labels of kernels are not names of others, and comments may be several. Both were refused, of three files of
    cuda_scheduling_examiner."""
    multi = spin_benchmark(filename="multikernel.so", label="y", additional_info=[
        {"kernel_label": "K1", "duration": 1, "block_count": 1, "thread_count": 1}])
    text = json.dumps({"name": "a", "comment": "b", "benchmarks": [spin_benchmark(), multi, spin_benchmark(label="z")]})
    (tmp_path / "a.json").write_text(text.replace('"comment"', '"comment": "c", "comment"'))
    result = gpulens("probe-kernels", str(tmp_path / "a.json"), "--simulate", "-o", "-")
    assert result.returncode == 0, result.stderr
    assert sorted(kernels_by_name(json.loads(result.stdout))) == ["K1", "K2", "K3"]


def test_a_log_of_the_framework(tmp_path: pathlib.Path) -> None:
    """Its first entry of times is empty, and so is ours. Nobody waited for K2: the third time is 0. It was refused."""
    log = make_log(tmp_path / "a.json", "fig3.9")
    assert [stream["times"][0] for stream in log["benchmarks"]] == len(log["benchmarks"]) * [{}]
    kernels_by_name(log)["K2"]["cuda_launch_times"][2] = 0.0
    (tmp_path / "a.json").write_text(json.dumps(log))
    result = gpulens("blocks", str(tmp_path / "a.json"), "--check")
    assert result.returncode == 0 and "no rule is violated" in result.stdout, result.stdout + result.stderr


@pytest.mark.parametrize("change,why", BAD_LOGS, ids=[why[-40:] for _, why in BAD_LOGS])
def test_invalid_logs_are_status_2(tmp_path: pathlib.Path, change: typing.Callable[[Json], typing.Any],
                                   why: str) -> None:
    """The message names file, stream, kernel and reason."""
    log = make_log(tmp_path / "a.json", "fig3.9")
    change(log)
    (tmp_path / "a.json").write_text(json.dumps(log))
    result = gpulens("blocks", str(tmp_path / "a.json"))
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr.startswith(f"gpulens-lab: {tmp_path}/a.json: ") and why in result.stderr, result.stderr


@pytest.mark.parametrize("broken,why", (
    ("status", "it ended with status 1"),
    ("version", 'line 1 of its output, "gpulens-probe 2": expected "gpulens-probe 1"'),
    ("short", 'line 12 of its output, "": unexpected end'),
    ("sm", "the block ends before it starts, or its SM does not exist")))
def test_a_program_that_fails_is_status_3(broken: str, why: str) -> None:
    """The message has the program's own message and the invalid line of its output. Seen failing when an SM number
    beyond the last one was accepted."""
    result = gpulens("probe-kernels", "fig3.9", "--program", FAKE, env={"FAKE_BREAK": broken})
    assert (result.returncode, result.stdout) == (3, "") and f"gpulens-lab: {FAKE}: " in result.stderr
    assert why in result.stderr, result.stderr


def test_no_program_and_no_file_are_status_3(tmp_path: pathlib.Path) -> None:
    """If the tool was built without nvcc, the message says how to get the program."""
    (tmp_path / "bin").mkdir()
    shutil.copy(LAB, tmp_path / "bin/gpulens-lab")
    done_alone = gpulens("probe-kernels", "fig3.9", tool=tmp_path / "bin/gpulens-lab")
    assert done_alone.returncode == 3 and done_alone.stderr == (
        f"gpulens-lab: {tmp_path}/lib/gpulens/gpulens-probe-kernels: not found; make probe in the sources of gpulens "
        "builds it, name another program with --program, or use --simulate\n")
    assert gpulens("probe-kernels", "none.json", "--simulate").returncode == 3
    assert gpulens("blocks", "none.json").returncode == 3
    assert gpulens("probe-kernels", "fig3.9", "--program", "/nowhere/x").returncode == 3


USAGE = [
    (["probe-kernels"], "either SCENARIO or --list is wanted"),
    (["probe-kernels", "fig3.9", "--list"], "either SCENARIO or --list is wanted"),
    (["probe-kernels", "fig3.9", "--sms", "4"], "--sms"),
    (["probe-kernels", "fig3.9", "--connections", "33"], "--connections"),
    (["probe-kernels", "fig3.9", "--simulate", "--program", "x"], "--program"),
    (["blocks"], "LOG"),
    (["blocks", "a.json", "-o", "a.png"], "not .svg: a.png"),
    (["blocks", "a.json", "--tolerance", "5us"], "--tolerance"),
    (["blocks", "a.json", "--check", "--tolerance", "much"], "not a time such as"),
    (["blocks", "a.json", "--colour-by", "sm"], "--colour-by"),
]


@pytest.mark.parametrize("words,why", USAGE, ids=[" ".join(words) for words, _ in USAGE])
def test_wrong_usage_is_status_2(words: typing.List[str], why: str) -> None:
    """The message names the option."""
    result = gpulens(*words)
    assert (result.returncode, result.stdout) == (2, "") and why in result.stderr, result.stderr


def many_kernels(file: pathlib.Path, kernels: int) -> str:
    """Writes a log of 100,000 blocks on 4 SMs, divided into that many kernels in 16 streams. Each kernel starts when
    the one before it has started its last block; every tenth starts together with the one before it."""
    streams: typing.List[Json] = [{"label": f"s{i}", "times": []} for i in range(16)]
    per = 100_000 // kernels
    begin = 1.0
    for k in range(kernels):
        start = begin - 20e-6 * per if k % 10 == 9 else begin
        times = [[start + b * 20e-6, start + b * 20e-6 + 30e-6] for b in range(per)]
        streams[k % 16]["times"].append({
            "kernel_name": f"K{k}", "block_count": per, "thread_count": 512, "block_smids": [b % 4 for b in range(per)],
            "block_times": [time for pair in times for time in pair], "release_time": 0,
            "cuda_launch_times": [k * 1e-6, k * 1e-6, times[-1][1]]})
        begin = start + per * 20e-6 + 1e-6
    file.write_text(json.dumps({"version": 1, "scenario_name": "x", "benchmarks": streams, "channels": 32, "gpu": {
        "name": "x", "sms": 4, "threads_per_sm": 2048, "blocks_per_sm": 32}}))
    return str(file)


def test_checking_takes_no_longer_for_more_kernels(tmp_path: pathlib.Path) -> None:
    """The same number of blocks in 10 and in 20,000 kernels: at most four times as long, plus half a second. Seen
    failing when each kernel was compared with each other one: 8.3 s for 20,000 kernels."""
    few, many = (many_kernels(tmp_path / f"{n}.json", n) for n in (10, 20000))
    seconds = [min(usage_of("blocks", "--check", file).user_s for _ in range(2)) for file in (few, many)]
    assert seconds[1] < 4 * seconds[0] + 0.5, seconds
