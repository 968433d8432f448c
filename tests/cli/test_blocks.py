# SPDX-License-Identifier: GPL-2.0
"""gpulens probe-kernels and blocks as programs, with fake_probe.py in place of the program that needs CUDA: scenarios,
logs, pictures, the checker's exit status, and the message for each thing that is wrong. Each rule by itself is tested
in tests/tools/blocks_test.cc."""

import json
import pathlib
import random
import re
import shutil
import typing
import xml.etree.ElementTree

import jsonschema
import pytest
from support.program import ROOT, TOOL, gpulens, usage_of

FAKE = str(ROOT / "tests/support/fake_probe.py")
SCHEMA = json.loads((ROOT / "docs/blocks-schema.json").read_text(encoding="utf-8"))
FIGURES = ("fig3.9", "fig3.11", "fig3.12", "fig3.13", "fig3.14", "fig3.15", "fig3.16")
SVG = "{http://www.w3.org/2000/svg}"
Json = typing.Any


def valid(document: Json, what: str) -> Json:
    """The document, which must conform to that definition of the schema."""
    schema = {"$ref": f"#/$defs/{what}", "$defs": SCHEMA["$defs"]}
    jsonschema.validate(document, schema, cls=jsonschema.Draft202012Validator)
    return document


def done(*words: str, status: int = 0, **more: typing.Any) -> str:
    """Standard output of a command that ends with that status."""
    result = gpulens(*words, **more)
    assert result.returncode == status, result.stderr
    assert bool(result.stderr) == (status > 1), result.stderr
    return result.stdout


def probed(file: pathlib.Path, scenario: str, *words: str, sms: int = 2) -> Json:
    """The log of a scenario run by the fake."""
    done("probe-kernels", scenario, "--program", FAKE, "-o", str(file), *words, env={"FAKE_SMS": str(sms)})
    return valid(json.loads(file.read_text(encoding="utf-8")), "log")


def kernels(log: Json) -> typing.Dict[str, Json]:
    """Name -> kernel."""
    return {k["kernel_name"]: k for one in log["benchmarks"] for k in one["times"] if "block_times" in k}


def spin(**more: typing.Any) -> typing.Dict[str, typing.Any]:
    """A benchmark of one kernel that spins 100 ms."""
    return {"filename": "./bin/timer_spin.so", "thread_count": 512, "block_count": 2, "additional_info": 100000000,
            **more}


def written(folder: pathlib.Path, *benchmarks: Json, **more: typing.Any) -> str:
    """A file of a scenario."""
    file = folder / "scenario.json"
    file.write_text(json.dumps({"name": "a scenario", "benchmarks": benchmarks, **more}))
    return str(file)


@pytest.mark.parametrize("sms", (2, 5, 132))
@pytest.mark.parametrize("figure", FIGURES)
def test_figures_keep_the_rules(tmp_path: pathlib.Path, figure: str, sms: int) -> None:
    """The fake, with its own implementation of the rules, and the simulation agree on Otterness' scenarios, except for
    the fake's delay of 7 us; the checker finds no violation."""
    log = probed(tmp_path / "a.json", figure, sms=sms)
    assert done("blocks", "--check", str(tmp_path / "a.json")).endswith("no rule is violated\n")
    done("probe-kernels", figure, "--simulate", "--sms", str(sms), "-o", str(tmp_path / "b.json"))
    simulated = valid(json.loads((tmp_path / "b.json").read_text(encoding="utf-8")), "log")
    assert simulated["simulated"] and not log["simulated"] and log["gpu"]["name"] == "Fake GPU"
    for name, k in kernels(log).items():
        same = kernels(simulated)[name]
        assert k["block_smids"] == same["block_smids"]
        assert k["block_times"] == pytest.approx([t + 7e-6 for t in same["block_times"]], abs=1e-9)
    assert log["clock"] == {"uncertainty_ns": 1500, "resolution_ns": 32}


def test_random_scenarios_come_out_as_simulated(tmp_path: pathlib.Path) -> None:
    """Fifteen of them, up to eight streams: fake and simulation agree on every block, and the checker finds nothing.
    Seen failing with a primary queue that is last come, first served."""
    pick = random.Random(5)
    for number in range(15):
        streams = []
        for _ in range(pick.randint(1, 8)):
            several = [{"kernel_label": f"K{pick.getrandbits(40)}", "duration": pick.randint(1000000, 30000000),
                        "block_count": pick.randint(1, 12), "thread_count": pick.randint(1, 32) * 32,
                        "delay": pick.randint(0, 20000) / 1e6} for _ in range(pick.randint(1, 4))]
            streams.append({"filename": "multikernel.so", "additional_info": several,
                            "release_time": pick.randint(0, 40000) / 1e6})
        file = written(tmp_path, *streams)
        valid(json.loads(pathlib.Path(file).read_text(encoding="utf-8")), "scenario")
        log = kernels(probed(tmp_path / "a.json", file, sms=3))
        done("probe-kernels", file, "--simulate", "--sms", "3", "-o", str(tmp_path / "b.json"))
        for name, k in kernels(json.loads((tmp_path / "b.json").read_text(encoding="utf-8"))).items():
            assert k["block_smids"] == log[name]["block_smids"], (number, name)
            assert [t + 7e-6 for t in k["block_times"]] == pytest.approx(log[name]["block_times"], abs=1e-9)
        for one in ("a.json", "b.json"):
            done("blocks", "--check", str(tmp_path / one))


def test_the_input_of_the_program(tmp_path: pathlib.Path) -> None:
    """Streams with their priorities, kernels of all kinds in the order of launches, all numbers. Expected lines are
    written after the head of tools/probe/probe-kernels.cu. Seen failing with priorities left out."""
    told = tmp_path / "told"
    program = tmp_path / "program"
    program.write_text(f'#!/bin/sh\n[ "$1 $2" = "run 3" ] && cat >{told} && echo "$CUDA_DEVICE_MAX_CONNECTIONS" '
                       f'>>{told}\nexec {FAKE} info x\n')
    program.chmod(0o755)
    file = written(
        tmp_path, spin(release_time=0.5, stream_priority=-1, shared_memory_size=4096),
        {"filename": "memory_copy.so", "thread_count": 256, "block_count": 7, "data_size": 1048576,
         "additional_info": {"repeat": 3}},
        {"filename": "matrix_multiply", "thread_count": [16, 16], "block_count": 5,
         "additional_info": {"matrix_width": 100, "skip_copy": True}},
        {"filename": "a/multikernel.so", "release_time": 0.25, "thread_count": 0, "block_count": 0, "additional_info": [
            {"kernel_label": "X", "duration": 5, "block_count": 1, "thread_count": 32},
            {"kernel_label": "Y", "duration": 6, "block_count": 1, "thread_count": 32, "delay": 0.5}]},
        cuda_device=3, max_iterations=1, max_time=0, use_processes=False, pin_cpus=True)
    valid(json.loads(pathlib.Path(file).read_text(encoding="utf-8")), "scenario")
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


def test_a_scenario_can_be_had_as_a_file(tmp_path: pathlib.Path) -> None:
    """--print writes the scenario of that name for the present GPU; the file runs like it."""
    text = done("probe-kernels", "fig3.13", "--print", "--program", FAKE, env={"FAKE_SMS": "4", "FAKE_THREADS": "1024"})
    scenario = valid(json.loads(text), "scenario")
    assert [(k["kernel_label"], k["block_count"], k["thread_count"]) for one in scenario["benchmarks"]
            for k in one["additional_info"]] == [("K1", 15, 256), ("K2", 4, 512), ("K3", 1, 128)]
    (tmp_path / "s.json").write_text(text)
    size = ("--simulate", "--sms", "4", "--threads-per-sm", "1024")
    assert done("probe-kernels", str(tmp_path / "s.json"), *size) == done("probe-kernels", "fig3.13", *size)


def test_logs_are_also_written_as_the_framework_does(tmp_path: pathlib.Path) -> None:
    """A file for each stream by its log_name, which blocks reads like the whole."""
    probed(tmp_path / "a.json", "fig3.9", "--logs", str(tmp_path))
    names = [str(tmp_path / f"fig3.9-{i}.json") for i in (1, 2, 3)]
    second = json.loads(pathlib.Path(names[1]).read_text(encoding="utf-8"))
    assert (second["scenario_name"], second["label"], second["release_time"]) == ("fig3.9", "Stream 2", 0.25)
    assert second["max_resident_threads"] == 4096 and "block_times" not in second["times"][0]
    kernel = second["times"][1]
    assert kernel["block_smids"] == [0, 1] and kernel["block_times"] == [1.000007, 1.500007] * 2
    assert kernel["cuda_launch_times"] == [0.25, 0.250007, 1.500014]
    rows = [line.split()[:2] + line.split()[-4:] for line in done("blocks", *names).splitlines()[2:]]
    assert rows[1] == ["K2", "2", "0.250000", "1.000007", "1.000007", "1.500007"]
    assert "B2 was not checked" in done("blocks", "--check", *names)


def test_list_and_text_and_json(tmp_path: pathlib.Path) -> None:
    """Names of --list, a line for each kernel, the same as JSON."""
    assert [line.split()[0] for line in done("probe-kernels", "--list").splitlines()[1:]] == [*FIGURES, "r2"]
    listed = valid(json.loads(done("probe-kernels", "--list", "--json")), "scenarios")
    assert [one["name"] for one in listed["scenarios"]] == [*FIGURES, "r2"]
    probed(tmp_path / "a.json", "fig3.9")
    assert done("blocks", str(tmp_path / "a.json")) == """\
fig3.9, Fake GPU, 2 SMs of 2048 threads, 8 channels
Kernel  Stream  Label     Blocks  Threads  SMs  Launched s  First start s  Last start s  Last end s
K1           1  Stream 1       7      512    2    0.000000       0.000007      0.000007    1.000007
K2           2  Stream 2       2     1024    2    0.250000       1.000007      1.000007    1.500007
K3           3  Stream 3       1      256    1    0.500000       1.000007      1.000007    1.500007
The GPU's clock has steps of 0.032 us; launches are known to 1.500 us against it
"""
    short = valid(json.loads(done("blocks", "--json", str(tmp_path / "a.json"))), "blocks")
    assert short["check"] is None and short["kernels"][1]["sms"] == [0, 1] and short["kernels"][2]["launched"] == 0.5
    assert json.loads(done("probe-kernels", "fig3.9", "--program", FAKE, "--json")) == json.loads(
        (tmp_path / "a.json").read_text(encoding="utf-8"))


def cut_ahead(log: Json) -> str:
    """B: K3 where K1 leaves room, before K2."""
    kernels(log)["K3"]["block_times"] = [0.6, 1.1]
    kernels(log)["K3"]["block_smids"] = [1]
    return "Rule B: K3:0 starts on SM 1 at 0.600000 s, though K2 is before it in the primary queue and has not begun"


def not_launched(log: Json) -> str:
    """A: K2 before it is launched."""
    kernels(log)["K2"]["cuda_launch_times"] = [1.2, 1.2, 1.6]
    return "Rule A: K2:0 starts on SM 0 at 1.000007 s, before K2 is launched at 1.200000 s"


def same_stream(log: Json) -> str:
    """D: K3 in K2's stream, beside it."""
    log["benchmarks"][1]["times"] += log["benchmarks"].pop(2)["times"]
    return "Rule D: K3:0 starts on SM 0 at 1.000007 s, though K2 before it in its stream has not ended: K2:0"


def too_full(log: Json) -> str:
    """B2: all of K1 on SM 0."""
    kernels(log)["K1"]["block_smids"] = [0] * 7
    return "and then 2560 threads in 5 blocks are there: it holds 2048 in 32"


@pytest.mark.parametrize("change", (cut_ahead, not_launched, same_stream, too_full))
def test_a_violation_is_named_and_is_status_1(tmp_path: pathlib.Path, change: typing.Callable[[Json], str]) -> None:
    """Of a good log with one thing changed. The picture is drawn all the same. Seen failing without each of
    the checks."""
    file = tmp_path / "a.json"
    log = probed(file, "fig3.9")
    expected = change(log)
    file.write_text(json.dumps(log))
    text = done("blocks", "--check", str(file), "-o", str(tmp_path / "a.svg"), status=1)
    assert expected in text and "violation" in text.splitlines()[-1], text
    assert (tmp_path / "a.svg").exists()
    check = valid(json.loads(done("blocks", "--check", "--json", str(file), status=1)), "blocks")["check"]
    assert any(expected.split(": ", 1)[-1] in one["text"] for one in check["violations"])


def test_more_streams_than_channels_are_a_violation(tmp_path: pathlib.Path) -> None:
    """R2: nine streams with eight channels. The fake does not model channels, and violates the rule with eight; with
    nine it keeps to the rules. Seen failing without the check of channels."""
    file = str(tmp_path / "a.json")
    assert len(probed(pathlib.Path(file), "r2")["benchmarks"]) == 9
    text = done("blocks", "--check", file, status=1)
    assert "Rule R2: K33:0 starts on SM" in text and "there are 8 channels" in text
    assert "Note: R2: 9 streams and 8 channels: A, B and C do not hold beyond" in text
    done("blocks", "--check", "--channels", "9", file)
    assert probed(pathlib.Path(file), "r2", "--connections", "9")["channels"] == 9
    done("blocks", "--check", file)


def test_tolerance_is_an_option(tmp_path: pathlib.Path) -> None:
    """K3 100 us before K2: no violation with 200 us, one with the default of 50 us."""
    file = tmp_path / "a.json"
    log = probed(file, "fig3.9")
    kernels(log)["K3"]["block_times"] = [0.999907, 1.499907]
    kernels(log)["K3"]["block_smids"] = [1]
    file.write_text(json.dumps(log))
    assert "Rule B: K3:0" in done("blocks", "--check", str(file), status=1)
    assert "tolerance 200.000 us: no rule" in done("blocks", "--check", "--tolerance", "200us", str(file))


def drawn(file: pathlib.Path, *words: str) -> xml.etree.ElementTree.Element:
    """The picture of a log."""
    picture = file.with_suffix(".svg")
    assert done("blocks", str(file), "-o", str(picture), *words) == ""
    return xml.etree.ElementTree.parse(picture).getroot()


def boxes(picture: xml.etree.ElementTree.Element) -> typing.Dict[str, typing.List[typing.List[float]]]:
    """x, y of the lower left corner, width and height of each block, by kernel."""
    found = {}
    for group in picture.iter(f"{SVG}g"):
        path = group.find(f"{SVG}path")
        assert path is not None
        found[group.findtext(f"{SVG}title", "")] = [
            [float(number) for number in re.findall(r"[\d.]+", one)[:4]] for one in path.get("d", "").split("M")[1:]]
    return found


def test_the_picture_shows_every_block(tmp_path: pathlib.Path) -> None:
    """Fig. 3.9 on two SMs: the axes are 880 wide for 1.500007 s and 130 high for an SM's 2048 threads; SM 0 is at the
    bottom; K2 stands on the floor, K3 on K2; labels, arrows with names, streams in the legend. Seen failing with blocks
    on each other."""
    probed(tmp_path / "a.json", "fig3.9")
    picture = drawn(tmp_path / "a.json")
    found = boxes(picture)
    assert {name: len(some) for name, some in found.items()} == {"K1": 7, "K2": 2, "K3": 1}
    second, third = found["K2"][0], found["K3"][0]
    assert second[0] == pytest.approx(66 + 880 * 1.000007 / 1.500007, abs=0.1)
    assert second[2:] == [pytest.approx(880 * 0.5 / 1.500007, abs=0.1), 65]
    assert second[1] == 324 and third[1] == 324 - 65 and third[3] == 16.25
    assert {one[1] for one in found["K1"]} == {324 - 32.5 * i for i in range(7)}
    texts = [one.text for one in picture.iter(f"{SVG}text")]
    assert texts[0] == "fig3.9, Fake GPU, 2 SMs of 2048 threads"
    for words in ("K1:6", "K2:0", "K3:0", "Stream 3", "SM 0", "SM 1", "0.8", "K1", "K2", "K3"):
        assert words in texts, words
    arrows = [one for one in picture.iter(f"{SVG}path") if one.get("stroke-width") == "2"]
    assert [float(one.get("d", "")[1:].split()[0]) for one in arrows] == pytest.approx(
        [66 + 880 * t / 1.500007 for t in (0, 0.25, 0.5)], abs=0.1)
    colours = {one.get("fill") for group in picture.iter(f"{SVG}g") for one in group.iter(f"{SVG}path")}
    assert len(colours) == 3


def test_a_picture_of_used_sms_alone(tmp_path: pathlib.Path) -> None:
    """Blocks on SMs 3 and 7 of 8: two rows with their numbers, SM 3 below; and else all eight."""
    file = tmp_path / "a.json"
    log = probed(file, "fig3.16", sms=8)
    for kernel in kernels(log).values():
        kernel["block_smids"] = [3 + 4 * (i % 2) for i in range(len(kernel["block_smids"]))]
    file.write_text(json.dumps(log), encoding="utf-8")
    rows = [one for one in drawn(file, "--used").iter(f"{SVG}text") if (one.text or "").startswith("SM ")]
    assert [one.text for one in rows] == ["SM 3", "SM 7"] and float(rows[0].get("y", "")) > float(rows[1].get("y", ""))
    assert "2 of 8 SMs of 2048 threads" in "".join(drawn(file, "--used").itertext())
    floors = [box[1] for some in boxes(drawn(file, "--used")).values() for box in some]
    assert 100 < max(floors) - min(floors) < 260  # two rows of 130
    whole = drawn(file)
    assert len([one for one in whole.iter(f"{SVG}text") if (one.text or "").startswith("SM ")]) == 8
    assert ", 8 SMs of 2048 threads" in "".join(whole.itertext())


@pytest.mark.parametrize("figure", (*FIGURES, "r2"))
def test_pictures_of_132_sms_are_whole(tmp_path: pathlib.Path, figure: str) -> None:
    """All blocks are within the axes and within the rows of their SMs, 6 high; none overlaps another in its row, and
    the page is at most 1100 pixels high. Seen failing with rows half as far apart."""
    log = probed(tmp_path / "a.json", figure, sms=132)
    picture = drawn(tmp_path / "a.json", "--colour-by", "kernel")
    found = boxes(picture)
    assert {name: len(some) for name, some in found.items()} == {
        name: k["block_count"] for name, k in kernels(log).items()}
    everything = sorted(one for some in found.values() for one in some)
    assert min(one[0] for one in everything) >= 65.9 and max(one[0] + one[2] for one in everything) <= 946.1
    floor = max(one[1] for one in everything)
    for name, k in kernels(log).items():
        for one, where in zip(found[name], k["block_smids"]):
            assert -0.01 <= floor - one[1] - 6 * where <= 6 - one[3] + 0.02, (name, where)
    ends: typing.Dict[float, float] = {}
    for left, low, width, _ in everything:
        assert ends.get(low, 0) <= left + 0.15, (left, low)
        ends[low] = left + width
    assert float(picture.get("height", "0")) < 1100
    assert sum((one.text or "").startswith("SM ") for one in picture.iter(f"{SVG}text")) == 14


def test_words_of_a_log_cannot_break_the_picture(tmp_path: pathlib.Path) -> None:
    """Names with characters that have a meaning in XML, and with control characters. Seen failing without escaping."""
    log = probed(tmp_path / "a.json", "fig3.9")
    log["scenario_name"] = "<b>&\"\u0001'"
    log["benchmarks"][0]["label"] = "</svg><!--"
    kernels(log)["K1"]["kernel_name"] = "<K>&1"
    (tmp_path / "a.json").write_text(json.dumps(log))
    texts = [one.text for one in drawn(tmp_path / "a.json").iter(f"{SVG}text")]
    assert texts[0] and texts[0].startswith("<b>&\"?'") and "Stream 1: </svg><!--" in texts and "<K>&1:0" in texts


def test_the_example_is_what_docs_say(tmp_path: pathlib.Path) -> None:
    """docs/blocks-example.svg is the simulation's figure 3.9 on two SMs, and says that it is simulated."""
    file = tmp_path / "a.json"
    done("probe-kernels", "fig3.9", "--simulate", "--sms", "2", "-o", str(file))
    drawn(file)
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
    ({"use_processes": True}, "use_processes is true, but all streams are in one process"),
    ({"max_iterations": 5}, "max_iterations is 5, but each kernel is launched once"),
    (spin(label="x", filename="./bin/mandelbrot.so"),
     'benchmark "x": filename is "./bin/mandelbrot.so", but there are only kernels for timer_spin,'),
    (spin(label="x", block_count=0), 'benchmark "x": block_count is 0, not a whole number from 1 to 100000'),
    (spin(block_count=-1), "benchmark 0: block_count is -1, not a whole"),
    (spin(thread_count=1025), "benchmark 0: thread_count is 1025, not a whole number from 1 to 1024"),
    (spin(thread_count=[16, 16]), "thread_count is [16,16], not a number from 1 to 1024"),
    (spin(additional_info="soon"), 'additional_info is "soon", not nanoseconds from 1 to 60000000000'),
    (spin(additional_info=0), "additional_info is 0, not nanoseconds"),
    (spin(release_time=-1), "release_time is -1, not seconds from 0 to 600"),
    (spin(stream_priority=1e9), "stream_priority is 1000000000.0, not a priority from -100 to 100"),
    (spin(tpcs="0x1"), 'unknown key "tpcs"; expected one of filename,'),
    (spin(filename="matrix_multiply.so", additional_info={"matrix_width": 64}), "thread_count is 512, but matrix_mult"),
    (spin(filename="matrix_multiply.so", thread_count=[16, 99], additional_info={"matrix_width": 64}),
     "thread_count is [16,99], not a number from 1 to 1024 nor a pair"),
    (spin(filename="memory_copy.so", additional_info={}), "data_size is missing"),
    (spin(filename="multikernel.so", additional_info=[]), "no kernel"),
    (spin(filename="multikernel.so", additional_info=[{"kernel_label": "a b"}]),
     'kernel "a b": kernel_label is "a b"; it must be printable ASCII without blanks, and not empty'),
    ([spin(log_name="a.json"), spin(label="y", log_name="a.json")],
     'benchmark "y": log_name "a.json" is also used by another benchmark'),
    ([spin(), spin(filename="multikernel.so", label="y", additional_info=[
        {"kernel_label": "K1", "duration": 1, "block_count": 1, "thread_count": 1}])],
     'benchmark "y": there is another kernel "K1"'),
    ([spin(block_count=60000), spin(block_count=60000)], "more than 1024 streams, 4096 kernels or 100000 blocks"),
]


@pytest.mark.parametrize("what,why", BAD_SCENARIOS, ids=[why[:40] for _, why in BAD_SCENARIOS])
def test_invalid_scenarios_are_status_2(what: Json, why: str) -> None:
    """One line on standard error that names file, item and reason; nothing runs."""
    if isinstance(what, dict) and "filename" not in what:
        what = {"name": "a", "benchmarks": [], **what}
    elif isinstance(what, (dict, list)):
        what = {"name": "a", "benchmarks": what if isinstance(what, list) else [what]}
    text = what if isinstance(what, str) else json.dumps(what)
    result = gpulens("probe-kernels", "-", "--program", "/bin/false", stdin=text.encode())
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr.startswith("gpulens: standard input: ") and result.stderr.count("\n") == 1
    assert why in result.stderr


def test_scenarios_beyond_the_gpu_or_the_rules_are_status_2(tmp_path: pathlib.Path) -> None:
    """More threads than an SM holds, more shared memory than a block gets; and what no simulation knows."""
    def why(*words: str, **env: str) -> str:
        return gpulens("probe-kernels", *words, env=env).stderr

    file = written(tmp_path, spin(thread_count=1024))
    assert "\"K1\": 1024 threads per block, but an SM holds 512" in why(file, "--program", FAKE, FAKE_THREADS="512")
    file = written(tmp_path, spin(shared_memory_size=20000))
    assert "80000 bytes of shared memory per block, but this GPU has 49152" in why(file, "--program", FAKE)
    assert "shared memory is not simulated" in why(file, "--simulate")
    assert "the rules do not cover priorities" in why(written(tmp_path, spin(), spin(stream_priority=-1)), "--simulate")
    file = written(tmp_path, {**spin(filename="memory_copy.so", additional_info={}), "data_size": 4096})
    assert "only the run time of a spin kernel is known in advance" in why(file, "--simulate")


def change_log(key: str, value: Json) -> typing.Callable[[Json], None]:
    """Sets that key of K2."""
    return lambda log: kernels(log)["K2"].update({key: value})


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


@pytest.mark.parametrize("change,why", BAD_LOGS, ids=[why[-40:] for _, why in BAD_LOGS])
def test_invalid_logs_are_status_2(tmp_path: pathlib.Path, change: typing.Callable[[Json], typing.Any],
                                   why: str) -> None:
    """The message names file, stream, kernel and reason."""
    log = probed(tmp_path / "a.json", "fig3.9")
    change(log)
    (tmp_path / "a.json").write_text(json.dumps(log))
    result = gpulens("blocks", str(tmp_path / "a.json"))
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr.startswith(f"gpulens: {tmp_path}/a.json: ") and why in result.stderr, result.stderr


@pytest.mark.parametrize("broken,why", (
    ("status", "it ended with status 1"),
    ("version", 'line 1 of its output, "gpulens-probe 2": expected "gpulens-probe 1"'),
    ("short", 'line 11 of its output, "": unexpected end'),
    ("sm", "the block ends before it starts, or its SM does not exist")))
def test_a_program_that_fails_is_status_3(broken: str, why: str) -> None:
    """With its own message, and the line of its output that is invalid. Seen failing with one SM too many accepted."""
    result = gpulens("probe-kernels", "fig3.9", "--program", FAKE, env={"FAKE_BREAK": broken})
    assert (result.returncode, result.stdout) == (3, "") and f"gpulens: {FAKE}: " in result.stderr
    assert why in result.stderr, result.stderr


def test_no_program_and_no_file_are_status_3(tmp_path: pathlib.Path) -> None:
    """Where nvcc was not there when the tool was built, the message says what to do."""
    (tmp_path / "bin").mkdir()
    shutil.copy(TOOL, tmp_path / "bin/gpulens")
    done_alone = gpulens("probe-kernels", "fig3.9", tool=tmp_path / "bin/gpulens")
    assert done_alone.returncode == 3 and done_alone.stderr == (
        f"gpulens: {tmp_path}/lib/gpulens/gpulens-probe-kernels: not found; build it with make probe (needs nvcc), "
        "name another program with --program, or use --simulate\n")
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
    """With the option named."""
    result = gpulens(*words)
    assert (result.returncode, result.stdout) == (2, "") and why in result.stderr, result.stderr


def many_kernels(file: pathlib.Path, kernels: int) -> str:
    """A log of 100,000 blocks on 4 SMs in so many kernels of 16 streams, each of which starts when the one before it
    has started its last block, but for each tenth: that starts with the one before it."""
    streams: typing.List[Json] = [{"label": f"s{i}", "times": []} for i in range(16)]
    per = 100_000 // kernels
    begin = 1.0
    for k in range(kernels):
        start = begin - 20e-6 * per if k % 10 == 9 else begin
        times = [[start + b * 20e-6, start + b * 20e-6 + 30e-6] for b in range(per)]
        streams[k % 16]["times"].append({
            "kernel_name": f"K{k}", "block_count": per, "thread_count": 512, "block_smids": [b % 4 for b in range(per)],
            "block_times": [one for pair in times for one in pair], "release_time": 0,
            "cuda_launch_times": [k * 1e-6, k * 1e-6, times[-1][1]]})
        begin = start + per * 20e-6 + 1e-6
    file.write_text(json.dumps({"version": 1, "scenario_name": "x", "benchmarks": streams, "channels": 32, "gpu": {
        "name": "x", "sms": 4, "threads_per_sm": 2048, "blocks_per_sm": 32}}))
    return str(file)


def test_checking_takes_no_longer_for_more_kernels(tmp_path: pathlib.Path) -> None:
    """The same number of blocks in 10 and in 20,000 kernels: at most four times as long, and half a second more.
    Seen failing with each kernel compared to each: 8.3 s of 20,000 kernels."""
    few, many = (many_kernels(tmp_path / f"{n}.json", n) for n in (10, 20000))
    seconds = [min(usage_of("blocks", "--check", file).user_s for _ in range(2)) for file in (few, many)]
    assert seconds[1] < 4 * seconds[0] + 0.5, seconds
