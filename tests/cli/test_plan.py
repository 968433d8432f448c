# SPDX-License-Identifier: GPL-2.0
"""gpulens plan and fit as programs: text and JSON, exit status, the message for each error, and curves. Expected sizes
are computed by hand from docs/plan-example.json; tests/tools/plan_*_test.cc tests planning itself."""

import csv
import json
import os
import pathlib
import pty
import typing
import xml.etree.ElementTree

import jsonschema
import pytest
from support.program import ROOT, TOOL, gpulens, image
from test_rm import ask_rm

EXAMPLE = ROOT / "docs/plan-example.json"
SCHEMA = json.loads((ROOT / "docs/plan-schema.json").read_text(encoding="utf-8"))
HEURISTICS = ("sms-ina", "sms-act", "bf-ina", "bf-act", "1g")
SVG = "{http://www.w3.org/2000/svg}"


def run_checked(*words: str, status: int = 0) -> typing.Any:
    """The JSON of a command, which must conform to the schema."""
    done = gpulens(*words, "--json")
    assert done.returncode == status, done.stderr
    document = json.loads(done.stdout)
    jsonschema.validate(document, SCHEMA, cls=jsonschema.Draft202012Validator)
    return document


def make_task(name: str, **more: typing.Any) -> typing.Dict[str, typing.Any]:
    """A task that takes 80 ms on one TPC, every 100 ms."""
    return {"name": name, "period_us": 100000, "class": "compute", "alone": {"a_us": 80000}, **more}


def write_tasks(folder: pathlib.Path, *tasks: typing.Dict[str, typing.Any], **more: typing.Any) -> str:
    """Writes a file of these tasks and returns its path."""
    file = folder / "tasks.json"
    file.write_text(json.dumps({"tasks": tasks, **more}))
    return str(file)


def test_the_example_is_planned_on_an_h100() -> None:
    """camera: 120 / 5 + 2 = 26 ms of 30 on 5 TPCs, and 32 on 4; lidar: 94 of 100 on one; planner: 36.5 of 40 on 5;
    detector: 25 of 33.3 on 12. TPCs 0 and 1 are reserved. GPC 0 has TPCs 0-8, GPC 1 9-16, GPC 2 17-24, GPC 5 41-49:
    detector takes GPC 5 whole, and three from GPC 0, which has seven left, and no other GPC less. Lemma 1:
    122 / 33.3 + 94 / 100 + 180.5 / 50 + 4 * 70 / 33.3."""
    done = gpulens("-i", str(image("gh100")), "plan", str(EXAMPLE))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == """\
GH100 (Hopper), 0000:01:00.0
4 tasks on 64 TPCs (2 reserved), test edf: fits by sms-ina, 23 TPCs in 4 partitions
Lemma 1: at least 16.61 TPCs are needed
Partition  TPCs   Load  GPCs  Which       Mask
        0     5  0.780  1     9-13        0x00000000000003e00
        1     1  0.940  1     14          0x00000000000004000
        2     5  0.730  2     17-21       0x000000000003e0000
        3    12  0.750  0, 5  2-4, 41-49  0x00003fe000000001c
Partition  Task      Class    Conflict    Time us  Deadline us   Period us
        0  camera    memory   no        26000.000    30000.000   33333.000
        1  lidar     memory   no        94000.000   100000.000  100000.000
        2  planner   compute  no        36500.000    40000.000   50000.000
        3  detector  compute  no        25000.000    33333.000   33333.000
TPCs are numbered GPC by GPC, as in tpc_map; gpulens run takes them in the order of %smid (plan with --source rm)
Note: of 1 task the time in conflict is not given: 1.2 (compute) and 2.3 (memory) times the one alone, as measured on \
an RTX 2080 Ti
Note: TPC numbers are known to be wrong: this chip does not number TPCs GPC by GPC
Note: a partition separates TPCs, not time: processes on one graphics runlist take turns (RTAS'24, rule R4), except \
under MPS, and whether that is in use is unknown
Note: partitions share L2 cache and memory bandwidth: in half of an H200, memory-bound work took 2.0 times as long \
beside memory-bound work in the other half, compute-bound work 1.8 times
"""


def test_a_plan_tells_its_numbering_and_its_gpu(tmp_path: pathlib.Path) -> None:
    """Of the module (an image), of NVIDIA's driver, and of sizes, in text and JSON. Seen failing with the numbering of
    an image for all."""
    by_gpc = run_checked("-i", str(image("gh100")), "plan", str(EXAMPLE))
    sizes = run_checked("plan", str(EXAMPLE), "--tpcs", "66")
    by_smid = json.loads(ask_rm("plan", str(EXAMPLE), "--json").stdout)
    jsonschema.validate(by_smid, SCHEMA, cls=jsonschema.Draft202012Validator)
    assert [(plan["numbering"], plan["device"]) for plan in (by_gpc, by_smid, sizes)] == [
        ("gpc", "0000:01:00.0"), ("smid", "0000:01:00.0"), (None, None)]
    text = ask_rm("plan", str(EXAMPLE)).stdout
    assert "\nTPCs are numbered in the order of %smid, as gpulens run takes them\n" in text
    assert "numbered" not in gpulens("plan", str(EXAMPLE), "--tpcs", "66").stdout
    alone = write_tasks(tmp_path, make_task("a"))
    assert "TPC numbers" not in gpulens("-i", str(image("gp106")), "plan", alone).stdout  # RTAS'23 found the order


def test_a_plan_says_what_partitions_do_not_separate(tmp_path: pathlib.Path) -> None:
    """Of two tasks and more; with what the driver reports of MPS. --quiet omits all notes from the text, not from JSON,
    and not the numbering. Seen failing with --quiet ignored."""
    def turns(notes: typing.List[str]) -> typing.List[str]:
        return [note.split("under MPS, ")[1] for note in notes if "take turns (RTAS'24, rule R4)" in note]

    plan = str(EXAMPLE)
    assert turns(run_checked("plan", plan, "--tpcs", "66")["notes"]) == ["and whether that is in use is unknown"]
    assert turns(json.loads(ask_rm("plan", plan, "--json", "-q").stdout)["notes"]) == [
        "which no process uses now, as far as NVIDIA's driver reports"]
    assert turns(json.loads(ask_rm("plan", plan, "--json", PIDS="1").stdout)["notes"]) == [
        "which is in use on this GPU; gpulens run limits no program under it"]
    assert turns(run_checked("plan", write_tasks(tmp_path, make_task("a")), "--tpcs", "66")["notes"]) == []
    quiet = gpulens("-i", str(image("gh100")), "plan", plan, "--quiet").stdout
    assert "Note" not in quiet and quiet.endswith("(plan with --source rm)\n")


def test_the_example_keeps_to_its_schema() -> None:
    """docs/plan-example.json conforms to the schema's $defs/tasks. Seen failing with one more key."""
    schema = {"$ref": "#/$defs/tasks", "$defs": SCHEMA["$defs"]}
    jsonschema.validate(json.loads(EXAMPLE.read_text(encoding="utf-8")), schema, cls=jsonschema.Draft202012Validator)


@pytest.mark.parametrize("placing", ["packed", "distributed"])
@pytest.mark.parametrize("chip", ["gh100", "ad102", "ga100", "gv100"])
def test_masks_are_disjoint_and_of_their_sizes(chip: str, placing: str) -> None:
    """On chips with more than 64 TPCs and on others: each partition has its number of TPCs, no TPC is used twice, no
    reserved one is used, and both masks agree."""
    plan = run_checked("-i", str(image(chip)), "plan", str(EXAMPLE), "--place", placing)
    seen = {0, 1}
    for partition in plan["partitions"]:
        tpcs = set(partition["place"]["tpcs"])
        assert len(tpcs) == partition["tpcs"] and not tpcs & seen
        seen |= tpcs
        assert int(partition["place"]["mask"], 16) == sum(1 << tpc for tpc in tpcs)
        masks = [int(partition["place"][name], 16) for name in ("mask", "disable_mask")]
        assert masks[0] ^ masks[1] == (1 << plan["tpcs"]) - 1
    assert plan["reserved_tpcs"] == 2 and plan["placing"] == placing and max(seen) < plan["tpcs"]


def test_through_the_driver_tpcs_are_numbered_by_smid() -> None:
    """The recorded H200 has 66 TPCs with two %smid each. A partition of 16: GPC 0 whole, which is SMs 12-13, 28-29,
    44-45, 60-61, 74-75, 88-89, 102-103, 116-117, 120-121, and GPC 1 without TPC 0: SMs 16-17, 32-33, 48-49, 124-131."""
    plan = json.loads(ask_rm("plan", str(EXAMPLE), "--json", "--exact").stdout)
    jsonschema.validate(plan, SCHEMA)
    assert plan["tpcs"] == 66 and plan["fits"]
    place = next(partition["place"] for partition in plan["partitions"] if partition["tpcs"] == 16)
    assert place["gpcs"] == [0, 1]
    assert place["tpcs"] == [6, 8, 14, 16, 22, 24, 30, 37, 44, 51, 58, 60, 62, 63, 64, 65]


def test_exact_finds_the_fewest_and_quantum_rounds_up() -> None:
    """camera (9.5) and detector (19.5) share 16 TPCs for 33.3 ms, lidar (22) and planner (36.5) share 5; in multiples
    of 4 the latter need 8."""
    plan = run_checked("plan", str(EXAMPLE), "--tpcs", "66", "--exact")
    assert [(partition["tpcs"], partition["tasks"]) for partition in plan["partitions"]] == [
        (16, ["camera", "detector"]), (5, ["lidar", "planner"])]
    assert plan["gpu"] is None and plan["placing"] is None and plan["partitions"][0]["place"] is None
    plan = run_checked("plan", str(EXAMPLE), "--tpcs", "66", "--exact", "--quantum", "4", "--least", "4", "--test",
                       "np-edf")
    assert [partition["tpcs"] for partition in plan["partitions"]] == [16, 8]
    assert (plan["quantum"], plan["least"], plan["test"]) == (4, 4, "np-edf")


def test_each_heuristic_can_be_selected(tmp_path: pathlib.Path) -> None:
    """Two tasks of 0.4 on one TPC: each heuristic merges them, without conflict; auto begins with sms-ina."""
    file = write_tasks(tmp_path, make_task("a", alone={"a_us": 40000}),
                       make_task("b", alone={"a_us": 40000}, **{"class": "memory"}))
    for heuristic in HEURISTICS:
        plan = run_checked("plan", file, "--tpcs", "1", "--heuristic", heuristic)
        assert plan["heuristic"] == heuristic
        assert [partition["tasks"] for partition in plan["partitions"]] == [["a", "b"]]
    assert run_checked("plan", file, "--tpcs", "1")["heuristic"] == "sms-ina"


@pytest.mark.parametrize("test,status", [("edf", 0), ("dm", 1), ("density", 1), ("np-edf", 1)])
def test_each_test_can_be_selected(tmp_path: pathlib.Path, test: str, status: int) -> None:
    """Buttazzo's set, C = 2, 2, 3, D = 4, 5, 7, T = 6, 8, 9, on one TPC: only preemptive EDF schedules it."""
    tasks = [make_task(str(i), period_us=t, deadline_us=d, alone={"a_us": c}, conflict={"factor": 1})
             for i, (c, d, t) in enumerate(((2, 4, 6), (2, 5, 8), (3, 7, 9)))]
    plan = run_checked("plan", write_tasks(tmp_path, *tasks), "--tpcs", "1", "--test", test, status=status)
    assert plan["fits"] == (status == 0) and plan["test"] == test


def test_a_plan_that_does_not_fit_is_status_1(tmp_path: pathlib.Path) -> None:
    """Two tasks of 0.8 on one TPC: by Lemma 1 no heuristic can succeed, so none is tried. Two tasks of 0.4 with half
    the period as deadline: all heuristics are tried, and need two TPCs."""
    file = write_tasks(tmp_path, make_task("a"), make_task("b"))
    plan = run_checked("plan", file, "--tpcs", "1", status=1)
    assert plan["lemma1_tpcs"] == pytest.approx(1.6) and plan["tried"] == [
        {"heuristic": "sms-ina", "fits": False, "tpcs": None}]
    done = gpulens("plan", file, "--tpcs", "1")
    assert (done.returncode, done.stderr) == (1, "")
    assert "more than there are: nothing was tried" in done.stdout
    file = write_tasks(tmp_path, make_task("a", alone={"a_us": 40000}, deadline_us=50000),
                       make_task("b", alone={"a_us": 40000}, deadline_us=50000))
    assert run_checked("plan", file, "--tpcs", "1", status=1)["tried"] == [
        {"heuristic": heuristic, "fits": False, "tpcs": None if heuristic == "1g" else 2} for heuristic in HEURISTICS]
    assert "sms-act            2\n" in gpulens("plan", file, "--tpcs", "1").stdout


def test_a_task_that_fits_nowhere_is_named(tmp_path: pathlib.Path) -> None:
    """80 ms on one TPC within 15 ms needs six TPCs; another task was measured with 8 TPCs only."""
    file = write_tasks(tmp_path, make_task("slow", deadline_us=15000), make_task("fine"),
                       make_task("wide", alone={"times_us": {"8": 10}}))
    assert run_checked("plan", file, "--tpcs", "5", status=1)["impossible"] == ["slow", "wide"]
    done = gpulens("plan", file, "--tpcs", "5")
    assert done.returncode == 1 and done.stderr == (
        f'gpulens: {file}: task "slow" fits nowhere: alone on 5 TPCs it takes 16000.000 us, and its deadline is '
        '15000.000 us\n'
        f'gpulens: {file}: task "wide" fits nowhere: no time of it is known with 5 TPCs or fewer, and its deadline is '
        '100000.000 us\n')


RESERVED = [
    ([{"name": "x", "gpcs": [8]}], 'reserved "x": there is no GPC 8; there are 0, 1, 2, 3, 4, 5, 6, 7'),
    ([{"name": "x", "tpcs": [66]}], 'reserved "x": there is no TPC 66; there are 0 to 65'),
    ([{"name": "x", "mask": "0x40000000000000000"}], 'reserved "x": there is no TPC 66; there are 0 to 65'),
    ([{"name": "x", "mask": "0x0"}], 'reserved "x": it is empty'),
    ([{"name": "x", "mask": "0xc00"}, {"name": "y", "gpcs": [1]}],
     'reserved "y": TPC 10 is reserved for "x" already'),
    ([{"name": "x", "gpcs": list(range(8))}], "only 0 of 66 TPCs are not reserved, fewer than the smallest partition"),
]


@pytest.mark.parametrize("reserved,why", RESERVED)
def test_impossible_reservations_are_named(tmp_path: pathlib.Path, reserved: typing.Any, why: str) -> None:
    """An unknown GPC or TPC, an empty mask, overlapping sets, no TPC left."""
    file = write_tasks(tmp_path, make_task("a"), reserved=reserved)
    done = gpulens("-i", str(image("gh100")), "plan", file)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"gpulens: {file}: {why}\n")


BAD = [
    ("{\"tasks\": [", "not JSON: parse error at line 1, column 12: "),
    ("\x00\xff", "not JSON: parse error at line 1, column 1: "),
    ("[" * 100000, "lists and objects are nested more than 64 deep"),
    ("{}", "tasks is missing\n"),
    ('{"tasks": []}', "no task\n"),
    ('{"tasks": [{"name": "a", "period_us": -1}]}', 'task "a": period_us is -1, not microseconds from '),
    (json.dumps({"tasks": [make_task("a"), make_task("a")]}), 'task "a": another task has the same name\n'),
    (json.dumps({"tasks": [make_task(str(i)) for i in range(15)]}), "15 tasks, but --exact supports at most 14\n"),
]


@pytest.mark.parametrize("text,why", BAD, ids=range(len(BAD)))
def test_invalid_files_are_status_2(text: str, why: str) -> None:
    """Nothing on standard output, one line on standard error that names file, item and reason."""
    done = gpulens("plan", "-", "--tpcs", "20", "--exact", stdin=text.encode("latin-1"))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("gpulens: standard input: " + why) and done.stderr.count("\n") == 1


USAGE = [
    (["plan"], "either FILE or --evaluate is wanted"),
    (["plan", str(EXAMPLE), "--evaluate"], "either FILE or --evaluate is wanted"),
    (["plan", str(EXAMPLE), "--tpcs", "0"], "--tpcs"),
    (["plan", str(EXAMPLE), "--tpcs", "4", "-g", "0"], "--tpcs: a GPU is named as well"),
    (["plan", "--evaluate", "-g", "0"], "--evaluate: a GPU is named as well"),
    (["plan", str(EXAMPLE), "--sets", "4"], "--evaluate"),
    (["plan", str(EXAMPLE), "--test", "rm"], "--test"),
    (["plan", str(EXAMPLE), "--heuristic", "best"], "--heuristic"),
    (["plan", "--evaluate", "-o", "curves.png"], "neither .csv nor .svg: curves.png"),
    (["plan", "--evaluate", "--from", "9", "--to", "8"], "--from is above --to"),
    (["plan", "--evaluate", "--step", "0"], "not a utilization: 0"),
    (["plan", "--evaluate", "--tpcs", "3", "--quantum", "4"],
     "--least and --quantum allow no partition on that number of TPCs"),
    (["plan", "--evaluate", "--tasks", "5", "--cap", "1", "--sets", "1"],
     "5 tasks with a utilization of at most 1 cannot have a total utilization of"),
]


@pytest.mark.parametrize("words,why", USAGE, ids=[" ".join(words[-2:]) for words, _ in USAGE])
def test_wrong_usage_is_status_2(words: typing.List[str], why: str) -> None:
    """The message names the option."""
    done = gpulens(*words)
    assert (done.returncode, done.stdout) == (2, "") and why in done.stderr, done.stderr


def test_no_file_and_no_gpcs_are_status_3(tmp_path: pathlib.Path) -> None:
    """As for all commands, a missing source is status 3. No manual publishes Kepler's GPCs; two images are two GPUs."""
    done = gpulens("plan", str(tmp_path / "none.json"), "--tpcs", "4")
    assert done.returncode == 3 and "none.json" in done.stderr
    done = gpulens("-i", str(image("gk104")), "plan", str(EXAMPLE))
    assert done.returncode == 3 and "its GPCs and TPCs are unknown; use --tpcs to plan without them" in done.stderr
    done = gpulens("-i", str(image("gh100")), "-i", str(image("gp106")), "plan", str(EXAMPLE))
    assert done.returncode == 3 and "a plan needs exactly one GPU" in done.stderr


def test_evaluation_is_written_as_csv_and_curves(tmp_path: pathlib.Path) -> None:
    """Text, JSON, CSV and drawing have the same numbers, for two sizes of sets; without a terminal there is no progress
    bar."""
    files = [tmp_path / "curves.csv", tmp_path / "curves.svg"]
    words = ["plan", "--evaluate", "--tasks", "10", "--tasks", "20", "--tpcs", "16", "--sets", "8", "--from", "6",
             "--to", "14", "--seed", "5"]
    done = gpulens(*words, "-o", str(files[0]), "-o", str(files[1]))
    assert (done.returncode, done.stderr) == (0, "")
    points = run_checked(*words)["points"]
    rows = list(csv.DictReader(files[0].open(encoding="ascii")))
    assert len(points) == len(rows) == 10
    for point, row in zip(points, rows):
        assert (int(row["tasks"]), float(row["utilization"])) == (point["tasks"], point["utilization"])
        for heuristic in HEURISTICS:
            assert float(row[heuristic]) * 8 == point[heuristic]
    assert points[0]["1g"] > 0 and points[-1]["1g"] == 0
    curves = {group.get("id"): group.find(f"{SVG}polyline")
              for group in xml.etree.ElementTree.parse(files[1]).getroot().iter(f"{SVG}g")}
    assert set(curves) == {f"n{tasks}-{heuristic}" for tasks in (10, 20) for heuristic in HEURISTICS}
    for tasks, bottom in ((10, 44 + 260), (20, 44 + 344 + 260)):
        for heuristic in HEURISTICS:
            line = curves[f"n{tasks}-{heuristic}"]
            assert line is not None
            assert [float(pair.split(",")[1]) for pair in line.get("points", "").split()] == pytest.approx(
                [bottom - 260 * point[heuristic] / 8 for point in points if point["tasks"] == tasks], abs=0.06)


def test_progress_is_shown_on_a_terminal() -> None:
    """A bar on standard error, which is erased at the end; standard output is unchanged."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.execv(TOOL, [str(TOOL), "plan", "--evaluate", "--tasks", "30", "--sets", "30", "--from", "30", "--to", "40"])
    shown = b""
    try:
        while piece := os.read(terminal, 4096):
            shown += piece
    except OSError:
        pass
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    progress, text = shown.split(b"\r\033[K")
    assert b"\r[" + b"#" * 40 + b"] 100 %" in progress and b"#" not in text and b"sms-ina" in text


def test_fit_writes_tasks_for_plan(tmp_path: pathlib.Path) -> None:
    """480 / m + 20, and twice that in conflict. The fitted values are a task for plan: 180 of 200 us on 3 TPCs, 260 on
    2."""
    file = tmp_path / "times.csv"
    rows = ["task,tpcs,time_us,conflict"]
    for tpcs in (1, 2, 4, 8):
        rows += [f"resize,{tpcs},{480 / tpcs + 20},0", f"resize,{tpcs},{960 / tpcs + 40},1"]
    file.write_text("\n".join(rows))
    fitted = run_checked("fit", str(file))["tasks"][0]
    assert (fitted["name"], fitted["class"], fitted["knee"]) == ("resize", "compute", 8)
    assert fitted["alone"]["a_us"] == pytest.approx(480) and fitted["alone"]["b_us"] == pytest.approx(20)
    assert fitted["factor"] == pytest.approx(2)
    curves = {key: {name: fitted[key][name] for name in ("a_us", "b_us")} for key in ("alone", "conflict")}
    plan = run_checked("plan", write_tasks(tmp_path, make_task("resize", period_us=200, **curves)), "--tpcs", "8")
    assert [partition["tpcs"] for partition in plan["partitions"]] == [3]
    assert plan["tasks"][0]["time_us"] == pytest.approx(180, abs=0.001)
    done = gpulens("fit", str(file))
    assert done.returncode == 0 and "resize  compute     8   8  alone     480.000" in done.stdout


def test_invalid_times_are_status_2() -> None:
    """The message names line and item."""
    done = gpulens("fit", "-", stdin=b"task,tpcs,time_us\na,1,10\na,2,-5\n")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == 'gpulens: standard input: line 3: time_us is "-5", not microseconds above 0\n'
