# SPDX-License-Identifier: GPL-2.0
"""gpulens plan --on masks, green, mig and mps: sizes, who carries the plan out, and commands. Profiles and placements
are those of NVIDIA's Multi-Instance GPU User Guide, r580; SMs of an H100 SXM5 from nvidia-smi mig -lgip."""

import json
import pathlib
import typing

import jsonschema
import pytest
from support.fakerm import ask_rm
from support.program import ROOT, gpulens

SCHEMA = json.loads((ROOT / "docs/plan-schema.json").read_text(encoding="utf-8"))
EXAMPLE = str(ROOT / "docs/plan-example.json")


def write_tasks(folder: pathlib.Path, *sizes: int, time: int = 800) -> str:
    """Tasks a, b, .. that take this time of 1000 us on so many TPCs or more, and cannot run on fewer."""
    tasks = [{"name": chr(ord("a") + i), "period_us": 1000, "class": "compute",
              "alone": {"times_us": {str(size): time}}} for i, size in enumerate(sizes)]
    file = folder / "tasks.json"
    file.write_text(json.dumps({"tasks": tasks}), encoding="ascii")
    return str(file)


def make_plan(file: str, *words: str, status: int = 0) -> typing.Any:
    """The plan's JSON, which conforms to the schema."""
    done = gpulens("--json", "plan", file, *words)
    assert done.returncode == status, done.stderr
    told = json.loads(done.stdout)
    jsonschema.validate(told, SCHEMA, cls=jsonschema.Draft202012Validator)
    return told


MIG = [  # TPCs that the tasks need on an H100 SXM5; instances as profile, first memory slice and SMs
    ((30, 30), [(9, 0, 60), (9, 4, 60)]),
    ((32, 30), [(5, 0, 64), (9, 4, 60)]),
    ((8,) * 7, [(19, i, 16) for i in range(7)]),
    ((13,) * 4, [(15, 0, 26), (15, 2, 26), (15, 4, 26), (15, 6, 26)]),
    ((33,), [(0, 0, 132)]),
    ((30, 16, 8, 8), [(9, 4, 60), (14, 2, 32), (19, 0, 16), (19, 1, 16)])]


@pytest.mark.parametrize("sizes,instances", MIG)
def test_tasks_get_mig_instances(tmp_path: pathlib.Path, sizes: typing.Sequence[int],
                                 instances: "list[tuple[int, int, int]]") -> None:
    """Each task is so long that it needs an instance of its own. Seen failing with profiles chosen by TPCs alone, which
    gave two 4g."""
    told = make_plan(write_tasks(tmp_path, *sizes), "--tpcs", "66", "--on", "mig")
    assert (told["on"], told["memory"], told["heuristic"]) == ("mig", "separate", "mig")
    found = [(p["mig"]["profile"], p["mig"]["first_memory_slice"], p["mig"]["sms"]) for p in told["partitions"]]
    assert sorted(found) == sorted(instances)
    needed = dict(zip("abcdefg", sizes))
    assert all(2 * needed[task] <= p["mig"]["sms"] for p in told["partitions"] for task in p["tasks"])


@pytest.mark.parametrize("sizes", [(30, 30, 8), (32, 32), (16,) * 4, (13,) * 5, (8,) * 8, (67,)])
def test_instances_that_do_not_fit(tmp_path: pathlib.Path, sizes: typing.Sequence[int]) -> None:
    """66 TPCs would be enough for three of them. Seen failing without the slices."""
    assert not make_plan(write_tasks(tmp_path, *sizes), "--tpcs", "66", "--on", "mig", status=1)["fits"]


def test_short_tasks_share_an_instance(tmp_path: pathlib.Path) -> None:
    """Eight tasks of a tenth of the time fit into one 1g. Seen failing with an instance for each task."""
    told = make_plan(write_tasks(tmp_path, *[8] * 8, time=100), "--tpcs", "66", "--on", "mig", "--serial")
    assert [p["mig"]["profile"] for p in told["partitions"]] == [19]


def test_mig_commands(tmp_path: pathlib.Path) -> None:
    """They are printed and not carried out; the largest instance comes first. Seen failing in the order of the
    partitions."""
    done = gpulens("plan", write_tasks(tmp_path, 8, 30), "--tpcs", "66", "--on", "mig")
    lines = done.stdout.splitlines()
    first = next(i for i, line in enumerate(lines) if line.startswith("Carried out by these commands"))
    assert lines[first + 1:first + 7] == [
        "    nvidia-smi -i GPU -mig 1", "    nvidia-smi mig -i GPU -cgi 9:4,19:0 -C", "    nvidia-smi mig -i GPU -lgi",
        "    nvidia-smi -L", "    CUDA_VISIBLE_DEVICES=MIG-UUID PROGRAM   # 1g at 0:1, partition 0: a",
        "    CUDA_VISIBLE_DEVICES=MIG-UUID PROGRAM   # 3g at 4:4, partition 1: b"]
    assert ("assumed for an H200; --mig-profiles takes those of this GPU, as nvidia-smi mig -lgip prints them"
            in done.stdout)


def test_programs_under_mps_have_masks(tmp_path: pathlib.Path) -> None:
    """A plan for them has the TPCs of one for masks, and its commands have --mps. Seen failing with percentages of
    MPS."""
    file = write_tasks(tmp_path, 33, 22, 11)
    masks, told = (json.loads(ask_rm("--json", "plan", file, "--on", on).stdout) for on in ("masks", "mps"))
    assert told["partitions"] == masks["partitions"] and sorted(p["tpcs"] for p in told["partitions"]) == [11, 22, 33]
    assert told["commands"] == [f"gpulens run --mps --plan PLAN --task {name} -- PROGRAM" for name in "abc"]
    assert [command.replace("--mps ", "") for command in told["commands"]] == masks["commands"]
    assert [note for note in masks["notes"] if note not in told["notes"]] == [
        note for note in masks["notes"] if "take turns" in note]


HOLDS = {
    "masks": "tasks of one process, with --on mps for programs at the same time; not for programs that take turns",
    "green": "tasks of one process; not for programs that take turns",
    "mps": "programs of gpulens run --mps --plan, which run at the same time",
    "mig": "one program at a time in each MIG instance"}


@pytest.mark.parametrize("place", HOLDS)
def test_a_plan_says_for_whom_it_holds(tmp_path: pathlib.Path, place: str) -> None:
    """Where it has several partitions."""
    for sizes, lines in ((30, 30), [f"Holds for {HOLDS[place]}"]), ((30,), []):
        done = gpulens("plan", write_tasks(tmp_path, *sizes), "--tpcs", "66", "--on", place)
        assert [line for line in done.stdout.splitlines() if line.startswith("Holds for ")] == lines


def test_masks_and_green_contexts_are_carried_out() -> None:
    """Of a plan with the driver's numbers of TPCs; otherwise a note says that they are missing. Seen failing without
    the note."""
    done = ask_rm("plan", EXAMPLE, "--on", "masks")
    assert "Carried out by gpulens run --plan, and libgpulens-partition (GPULENS_MASKS)\n" in done.stdout
    assert "    gpulens run --plan PLAN --task camera -- PROGRAM\n" in done.stdout
    assert "cannot be carried out" not in done.stdout
    done = gpulens("plan", EXAMPLE, "--tpcs", "66", "--on", "green")
    assert "Carried out by libgpulens-partition (GPULENS_GREEN)\n" in done.stdout
    assert "Note: this plan cannot be carried out, because its TPCs are not numbered" in done.stdout
    assert "Carried out" not in gpulens("plan", EXAMPLE, "--tpcs", "66").stdout


def test_a_plan_on_mig_is_not_run_by_masks(tmp_path: pathlib.Path) -> None:
    """gpulens run --plan names what to do instead. Seen failing with "it is for a number of TPCs"."""
    file = tmp_path / "plan.json"
    file.write_text(json.dumps(make_plan(write_tasks(tmp_path, 8), "--tpcs", "66", "--on", "mig")), encoding="ascii")
    done = gpulens("run", "--plan", str(file), "--task", "a", "--", "true")
    assert done.returncode == 2 and "its partitions are MIG instances, and not TPCs" in done.stderr


REFUSED = [
    (["--tpcs", "68", "--on", "mig"],
     "the profiles of this GPU, with 68 TPCs, are not known; those of A100 (54 TPCs), "),
    (["--tpcs", "66", "--on", "mig", "--quantum", "2"], "--quantum: it has no effect with --on mig"),
    (["--tpcs", "66", "--on", "mig"], "reserved TPCs cannot be kept from MIG instances")]


@pytest.mark.parametrize("words,why", REFUSED)
def test_what_a_place_cannot_do_is_refused(tmp_path: pathlib.Path, words: "list[str]", why: str) -> None:
    """With status 2. Seen failing with options ignored."""
    file = pathlib.Path(write_tasks(tmp_path, 8))
    if "reserved" in why:
        tasks = json.loads(file.read_text(encoding="ascii"))
        file.write_text(json.dumps({**tasks, "reserved": [{"name": "x", "mask": "0x1"}]}), encoding="ascii")
    done = gpulens("plan", str(file), *words)
    assert done.returncode == 2 and why in done.stderr, done.stderr


# What nvidia-smi mig -lgip and -lgipp print, with the numbers that a B200 printed (github.com/NVIDIA/gpu-operator 1242:
# 1g 18 SMs, with two slices of memory 30, 2g 36), and of a made-up GPU with four slices.
LGIP_HEAD = ("+" + "-" * 77 + "+\n| GPU instance profiles:" + " " * 54 + "|\n"
             "| GPU   Name             ID    Instances   Memory     P2P    SM    DEC   ENC  |\n"
             "|                              Free/Total   GiB              CE    JPEG  OFA  |\n")


def profile_rows(gpu: int, name: str, number: int, count: int, sms: int) -> str:
    """The two lines of a profile."""
    return (f"|   {gpu}  MIG {name:<12}  {number:>3}     {count}/{count}        22.00      No     {sms:>3}     1     0"
            "   |\n|                                                             1     1     0   |\n")


B200 = LGIP_HEAD + "".join(
    profile_rows(gpu, *row) for gpu in (0, 1) for row in (
        ("1g.23gb", 19, 7, 18), ("1g.23gb+me", 20, 1, 18), ("1g.45gb", 15, 4, 30), ("2g.45gb", 14, 3, 36)))
QUARTERS = (LGIP_HEAD + profile_rows(0, "1g.24gb", 47, 4, 46) + profile_rows(0, "2g.48gb", 35, 2, 94)
            + profile_rows(0, "4g.96gb", 32, 1, 188))
PLACES = ("GPU  0 Profile ID 47 Placements: {0,1,2,3}:1\nGPU  0 Profile ID 35 Placements: {0,2}:2\n"
          "GPU  0 Profile ID 32 Placement : {0}:4\n")


@pytest.mark.parametrize("text,sizes,instances", [
    (B200, (9,) * 7, [(19, i, 18) for i in range(7)]),
    (B200, (15,) * 4, [(15, i, 30) for i in (0, 2, 4, 6)]),
    (QUARTERS + PLACES, (23,) * 4, [(47, i, 46) for i in range(4)]),
    (PLACES + QUARTERS, (47, 23, 23), [(35, 2, 94), (47, 0, 46), (47, 1, 46)])])
def test_profiles_that_nvidia_smi_prints(tmp_path: pathlib.Path, text: str, sizes: typing.Sequence[int],
                                         instances: "list[tuple[int, int, int]]") -> None:
    """In place of those known; nothing is assumed then. Seen failing with the profiles of seven slices for all."""
    (tmp_path / "mig.txt").write_text(text, encoding="ascii")
    told = make_plan(write_tasks(tmp_path, *sizes), "--tpcs", "94", "--on", "mig", "--mig-profiles",
                     str(tmp_path / "mig.txt"))
    found = [(p["mig"]["profile"], p["mig"]["first_memory_slice"], p["mig"]["sms"]) for p in told["partitions"]]
    assert sorted(found) == sorted(instances)
    assert not [note for note in told["notes"] if "assumed" in note and "nvidia-smi" in note]


@pytest.mark.parametrize("text,said", [
    ("No MIG-supported devices found.\n", "not the output of nvidia-smi mig -lgip: no row of a profile is there"),
    (QUARTERS, "where instances of profile 47 (1g.24gb) may begin is not there; add the output of nvidia-smi mig "
     "-lgipp"),
    (QUARTERS + PLACES.replace("{0,2}:2", "{0,99}:2"), "profile 35 (2g.48gb) has numbers that no GPU has")])
def test_profiles_that_cannot_be_used(tmp_path: pathlib.Path, text: str, said: str) -> None:
    """The file is named."""
    (tmp_path / "mig.txt").write_text(text, encoding="ascii")
    done = gpulens("plan", write_tasks(tmp_path, 8), "--tpcs", "94", "--on", "mig", "--mig-profiles",
                   str(tmp_path / "mig.txt"))
    assert done.returncode != 0 and done.stderr == f"gpulens: {tmp_path}/mig.txt: {said}\n"
