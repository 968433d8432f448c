# SPDX-License-Identifier: GPL-2.0
"""gpulens --source rm: what NVIDIA's resource manager tells. A preloaded library (tests/rm/fake_rm.cc) answers as three
H200s did (tests/rm/h200-580.json); expected values are that recording's, and what NVIDIA's headers of other versions
say."""

import csv
import json
import os
import pathlib
import statistics
import subprocess
import typing

import jsonschema
import pytest
from program import ROOT, gpulens, image

FACTS = json.loads((ROOT / "tests/rm/h200-580.json").read_text(encoding="utf-8"))
COMMANDS = ("chip", "engines", "channels", "copy", "gpcs", "isolation", "runlists")


def fake_rm(**more: str) -> dict[str, str]:
    """The environment in which a program meets the first of the GPUs that were recorded; more: variables of the fake,
    without GPULENS_FAKE_RM_."""
    library = ROOT / "build/bin/fake_rm.so"
    assert library.exists(), f"{library} is not there; run make tool-parts"
    return {"LD_PRELOAD": str(library), "GPULENS_FAKE_RM": str(ROOT / "tests/rm/h200-580.json"),
            **{f"GPULENS_FAKE_RM_{name}": value for name, value in more.items()}}


def ask_rm(*words: str, **more: str) -> "subprocess.CompletedProcess[str]":
    """gpulens --source rm in it."""
    return gpulens("--source", "rm", *words, env=fake_rm(**more))


def shown(*words: str, **more: str) -> typing.Any:
    """The only GPU's JSON, which the schema allows."""
    document = json.loads(ask_rm(*words, "--json", **more).stdout)
    jsonschema.validate(document, json.loads((ROOT / "docs/json-schema.json").read_text(encoding="utf-8")))
    assert len(document["gpus"]) == 1
    return document["gpus"][0]


def test_chip_is_the_one_that_was_recorded() -> None:
    """Name, memory and driver; no register was read, so that there is no BOOT_0."""
    gpu = shown("chip")
    assert gpu["source"] == "/dev/nvidiactl (driver 580.159.04)"
    assert {name: gpu["chip"][name] for name in ("name", "id", "product", "driver", "memory_bytes", "boot0")} == {
        "name": "GH100", "id": "0x180", "product": "NVIDIA H200", "driver": "580.159.04",
        "memory_bytes": 147221504 << 10, "boot0": None}
    assert gpu["chip"]["ids_per_runlist"] is False  # runlists but 0 are out of range: one id space


def test_engines_have_runlists_and_ids() -> None:
    """All 22, each with its runlist, that one's registers, its number for the hardware and its fault id."""
    engines = {one["short_name"]: one for one in shown("engines")["engines"]}
    names = {"GR0": "GR0", "GRCE0/LCE0": "COPY0", "GRCE1/LCE1": "COPY1", "SEC": "SEC2", "OFA0": "OFA0",
             **{f"LCE{i}": f"COPY{i}" for i in (2, 3, 4)}, **{f"NVDEC{i}": f"NVDEC{i}" for i in range(1, 8)},
             **{f"NVJPG{i}": f"NVJPEG{i}" for i in (0, 2, 3, 4, 5, 6, 7)}}
    assert set(engines) == set(names) and len(names) == 22
    recorded = {one["engine"]: one for one in FACTS["common"]["engines"]}
    for short, name in names.items():
        one, other = engines[short], recorded[name]
        assert (one["runlist"], one["engine"]) == (other["runlist_id"], other["hw_engine_id_fifo_tag"]), short
        assert (hex(one["fault"]), one["runlist_registers"]) == (other["mmu_fault_id"], other["runlist_pri_base"])
    assert engines["GR0"]["runlist"] == 0 and engines["LCE4"]["runlist"] == 10 and engines["LCE4"]["fault"] == 0x2F


def test_grces_share_physical_copy_engines() -> None:
    """COPY0 and COPY2 have PCEs 12 and 14, COPY1 and COPY3 13 and 15: the two hazards of rule R8, and no other."""
    copies = {one["lce"]: one for one in shown("copy")["copy"]["engines"]}
    assert {lce: one["pces"] for lce, one in copies.items()} == {
        0: [12, 14], 1: [13, 15], 2: [12, 14], 3: [13, 15], 4: list(range(12))}
    assert {lce: one["shares_lce"] for lce, one in copies.items()} == {0: 2, 1: 3, 2: None, 3: None, 4: None}
    hazards = shown("isolation")["isolation"]["hazards"]
    assert [(one["rule"], one["engines"], one["runlists"]) for one in hazards] == [
        ("R8", ["GRCE0/LCE0", "LCE2"], [0, 1]), ("R8", ["GRCE1/LCE1", "LCE3"], [0, 3])]
    assert ask_rm("isolation", "--check").returncode == 1


@pytest.mark.parametrize("index", range(3))
def test_each_gpu_has_its_own_gpcs_and_sms(index: int) -> None:
    """Three GPUs, each with other TPCs disabled: masks by physical GPC, the driver's numbers, and where each SM is."""
    facts = FACTS["gpus"][index]
    gpcs = shown("gpcs", GPU=str(index))["gpcs"]
    assert (gpcs["num_gpcs"], gpcs["num_tpc_per_gpc"], gpcs["gpc_mask"]) == (8, 9, "0x0")
    assert [f"{0x1ff & ~int(one['tpc_mask'], 0):#x}" for one in gpcs["gpcs"]] == facts["tpc_mask_by_physical_gpc"]
    assert sum(one["tpcs"] for one in gpcs["gpcs"]) == 66
    by_logical = {one["logical"]: one["gpc"] for one in gpcs["gpcs"]}
    assert [by_logical[logical] for logical in range(8)] == facts["logical_to_physical_gpc"]
    fields = facts["sm_table_fields"]
    for one, row in zip(gpcs["sms"], facts["sm_table"]):
        expected = dict(zip(fields, row))
        assert one == {"sm": expected["smid"], "logical_gpc": expected["logical_gpc"], "tpc": expected["local_tpc"],
                       "sm_in_tpc": expected["sm_in_tpc"], "cpc": expected["phys_cpc"],
                       "virtual_gpc": expected["virtual_gpc"], "ugpu": expected["ugpu"]}
    assert len(gpcs["sms"]) == 132


def test_the_emulated_h200_is_told_alike() -> None:
    """The emulator's GH100 is made of the first of these GPUs. What it shows through its registers and what the driver
    tells is the same, but for what docs/rm.md lists."""
    document = json.loads(gpulens("-i", str(image("gh100")), "--json").stdout)["gpus"][0]
    driver = shown()
    differ = {"chip": {"boot0", "ids_per_runlist", "assumed", "product", "driver"}, "copy": set(),
              "gpcs": {"gpcs", "sms"}, "isolation": {"tasks"}}
    for part, expected in differ.items():
        assert {name for name in driver[part] if driver[part][name] != document[part][name]} == expected, part
    for one, other in zip(driver["gpcs"]["gpcs"], document["gpcs"]["gpcs"]):
        assert {name for name in one if one[name] != other[name]} == {"first_tpc", "logical"}
    of_runlists = [one for one in document["engines"] if one["runlist"] is not None]
    assert {one["short_name"] for one in document["engines"]} - {one["short_name"] for one in of_runlists} == {
        "GSP0", "Unknown (type 26) 0"}
    for one, other in zip(driver["engines"], of_runlists, strict=True):
        assert {name for name in one if one[name] != other[name]} == {"reset", "registers"}


def test_the_first_gpus_virtual_gpcs() -> None:
    """As the recording's CUDA clusters had it: SMs 0, 1, 16, 17, 32, 33, 48 and 49 in one."""
    text = ask_rm("gpcs").stdout
    assert "          0    8  0-1, 16-17, 32-33, 48-49\n" in text
    assert "         19    2  130-131\n" in text


def test_channels_and_processes() -> None:
    """49 ids, with two processes that compute; which runlist holds them is not told."""
    gpu = shown("channels")
    assert gpu["allocated_channels"] == list(range(1, 50))
    assert [(one["pid"], one["uses"]) for one in gpu["processes"]] == [
        (473, ["compute", "copy"]), (524, ["compute", "copy"])]
    done = ask_rm("channels")
    assert done.returncode == 1 and "runlists: not available from this source" in done.stderr
    assert "49 channels are allocated: 1-49\n" in done.stdout


def test_what_takes_root_is_said() -> None:
    """As uid 65534 was answered: no runlists of engines, no channel ids; the rest is there."""
    done = ask_rm("engines", USER="1")
    assert done.returncode == 1
    assert done.stderr == ("gpulens: gpu0: runlists of engines: NV2080_CTRL_CMD_GPU_GET_ENGINE_RUNLIST_PRI_BASE: "
                           "NV_ERR_INSUFFICIENT_PERMISSIONS; be root: sudo gpulens ...\n")
    assert {one["runlist"] for one in shown("engines", USER="1")["engines"]} == {None}
    assert shown("channels", USER="1")["allocated_channels"] is None
    assert "no channels" not in ask_rm("channels", USER="1").stdout
    assert len(shown("gpcs", USER="1")["gpcs"]["sms"]) == 132


# Sizes by NVIDIA's headers of that version where they are not those of 580.142.
OTHERS = {
    "570.195.03": {"2080121b": 6168, "20801303": 460},
    "550.163.01": {"20800170": 260, "20800179": 512, "2080017a": 512, "2080121b": 6168, "20801228": 472,
                   "20801303": 444},
    "595.45.04": {"20800110": 68, "20801228": 496}}


@pytest.mark.parametrize("version", OTHERS)
def test_another_version_is_used_for_what_did_not_change(version: str) -> None:
    """The driver refuses parameters of another size; what is affected is named, all else is shown."""
    sizes = ",".join(f"{cmd}:{size}" for cmd, size in OTHERS[version].items())
    more = {"VERSION": version, "SIZES": sizes}
    gpu = shown("gpcs", **more)
    assert gpu["chip"]["driver"] == version
    assert (gpu["gpcs"]["num_gpcs"] is None) == ("20801228" in OTHERS[version])
    assert (gpu["gpcs"]["sms"] is None) == ("2080121b" in OTHERS[version])
    assert (gpu["chip"]["product"] is None) == ("20800110" in OTHERS[version])
    assert (gpu["chip"]["memory_bytes"] is None) == ("20801303" in OTHERS[version])
    done = ask_rm("engines", **more)
    if "20800170" in OTHERS[version]:
        assert done.returncode == 1 and done.stderr == (
            "gpulens: gpu0: engines: NV2080_CTRL_CMD_GPU_GET_ENGINES_V2: NV_ERR_INVALID_PARAM_STRUCT; its parameters "
            f"are not those of driver 580 in driver {version}\n")
    else:
        assert (done.returncode, done.stderr) == (0, "")


# Whose they are: processes A, B and C of the recording.
PIDS = {"10": "473", "11": "473", "31": "524", "51": "579"}

# Medians, in us, of the turns whose beginning and end are in the recording's first_changes_us_chid.
TURNS = {"one": {10: None}, "two": {11: 2361, 31: 2283}, "three": {11: 2124, 31: 2555, 51: 2347}}


@pytest.mark.parametrize("state", TURNS)
def test_record_measures_turns_of_channels(tmp_path: pathlib.Path, state: str) -> None:
    """The resident channel, asked every 250 us: each process' turns within a step or, on a busy machine, two; and which
    process that is, by the driver's samples of processes."""
    done = ask_rm("record", "--for", "4s", "--every", "250us", "-o", str(tmp_path / "a.csv"), STATE=state)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("gpu0: GH100 (Hopper), 0000:01:00.0: ")
    rows = [row for row in csv.DictReader((tmp_path / "a.csv").open(encoding="ascii")) if row["state"] == "on"]
    assert {int(row["channel"]) for row in rows} == set(TURNS[state])
    assert {(row["engine"], row["runlist"], row["tsg"]) for row in rows} == {("GR0", "0", "")}
    assert {(row["channel"], row["pid"]) for row in rows} == {(str(one), PIDS[str(one)]) for one in TURNS[state]}
    assert all(f"channel {one} (" in done.stdout for one in TURNS[state])
    for channel, expected in TURNS[state].items():
        if expected:
            turns = [int(row["end_ns"]) - int(row["start_ns"]) for row in rows[1:-1] if row["channel"] == str(channel)]
            assert len(turns) > 50 and abs(statistics.median(turns) / 1000 - expected) < 500


def test_only_the_graphics_engine_can_be_sampled(tmp_path: pathlib.Path) -> None:
    """Another runlist than 0 is refused before a file is made."""
    done = ask_rm("record", "--for", "1s", "--runlist", "1", "-o", str(tmp_path / "a.csv"))
    assert done.returncode == 3 and "only the graphics engine can be sampled" in done.stderr
    assert not list(tmp_path.iterdir())


def test_only_questions_are_asked(tmp_path: pathlib.Path) -> None:
    """By the fake's log of all ioctls: one client with a device and a subdevice, controls that were recorded as answers
    to questions, and the client is freed."""
    log = tmp_path / "log"
    for command in COMMANDS:
        ask_rm(command, LOG=str(log))
    ask_rm("record", "--for", "100ms", "-o", str(tmp_path / "a.csv"), LOG=str(log))
    lines = [line.split() for line in log.read_text(encoding="ascii").splitlines()]
    assert [line for line in lines if line[0] == "alloc"] == [
        ["alloc", cls, "NV_OK"] for cls in ("0x41", "0x80", "0x2080")] * (len(COMMANDS) + 1)
    asked = {int(line[1], 0) for line in lines if line[0] == "control"}
    assert asked <= {int(row["cmd"], 0) for row in FACTS["queries"]} | {0x201, 0x21B}
    assert len([line for line in lines if line[0] == "free"]) == len(COMMANDS) + 1
    assert {line[0] for line in lines} == {"version", "alloc", "control", "free"}


def test_a_gpu_that_is_not_there() -> None:
    """-g counts the driver's GPUs in PCI order."""
    done = ask_rm("-g", "1", "chip")
    assert done.returncode == 3 and done.stderr == "gpulens: there is no GPU 1; the driver has 1\n"


def test_without_a_driver_it_says_so() -> None:
    """No /dev/nvidiactl: status 3, and what to do."""
    if pathlib.Path("/dev/nvidiactl").exists():
        pytest.skip("this machine has NVIDIA's driver")
    done = gpulens("--source", "rm", "chip")
    assert done.returncode == 3
    assert done.stderr == ("gpulens: /dev/nvidiactl: ENOENT: No such file or directory; NVIDIA's driver is not loaded "
                           "here: sudo modprobe nvidia\n")


def test_by_itself_it_asks_the_driver_where_there_is_no_module(tmp_path: pathlib.Path) -> None:
    """--source auto, which is the default: /proc without a gpuX; --source module keeps to it."""
    done = gpulens("--proc", str(tmp_path), "chip", env=fake_rm())
    assert done.returncode == 0 and "from /dev/nvidiactl (driver 580.159.04)" in done.stdout
    done = gpulens("--proc", str(tmp_path), "--source", "module", "chip", env=fake_rm())
    assert done.returncode == 3 and "the module is not loaded" in done.stderr


# -- a program's own TSGs

PROGRAM = ("/usr/bin/python3", str(ROOT / "tests/rm/program.py"), "--for", "it")


def test_run_tells_a_programs_tsgs() -> None:
    """A program that gets two of the TSGs that a PyTorch process had: its output, its status and options are its own,
    the table comes behind it."""
    done = ask_rm("run", "--", *PROGRAM)
    assert (done.returncode, done.stdout) == (7, "done --for it\n")
    lines = done.stderr.splitlines()
    assert lines[0].split() == ["Process", "Engine", "TSG", "Slice", "set", "Preemption", "Channels"]
    assert [line.split()[1:] for line in lines[1:]] == [
        ["GR0", "6", "2.048", "ms", "CILP", "10-17"], ["COPY2", "7", "1.024", "ms", "-", "18-21"]]


def test_run_writes_lines_as_they_come(tmp_path: pathlib.Path) -> None:
    """A line for each channel and when the compute object has set the mode of preemption, none that says what the one
    before did; the last says all."""
    done = ask_rm("run", "-o", str(tmp_path / "tsgs"), "--", *PROGRAM)
    assert (done.returncode, done.stderr) == (7, "")
    lines = [json.loads(line) for line in (tmp_path / "tsgs").read_text(encoding="ascii").splitlines()]
    assert [(one["tsg"], len(one["channels"])) for one in lines] == [
        *((6, count) for count in (*range(1, 9), 8)), *((7, count) for count in range(1, 5))]
    assert [one["preemption"] for one in lines] == [
        *[{"compute": "WFI", "graphics": "WFI"}] * 8, {"compute": "CILP", "graphics": "WFI"}, *[None] * 4]
    assert lines[-1] == {"pid": lines[0]["pid"], "tsg": 7, "engine": 0x0B, "timeslice_us": 1024, "preemption": None,
                         "channels": [18, 19, 20, 21]}


def test_record_names_tsgs_that_run_told(tmp_path: pathlib.Path) -> None:
    """Channel 11 is of the program's TSG 6, whose slice is set to 2.048 ms; 31 is nobody's."""
    ask_rm("run", "-o", str(tmp_path / "tsgs"), "--", *PROGRAM)
    done = ask_rm("record", "--for", "2s", "--every", "250us", "--tsgs", str(tmp_path / "tsgs"), "-o",
                  str(tmp_path / "a.csv"))
    assert (done.returncode, done.stderr) == (0, "")
    rows = [line.split() for line in done.stdout.splitlines()[2:]]
    assert [row[:2] for row in rows] == [["GR0", "6"], ["GR0", "channel"]]
    assert rows[0][6:8] == ["2.048", "ms"]
    (tmp_path / "tsgs").write_text('{"pid": 1}\n')
    done = ask_rm("record", "--for", "1s", "--tsgs", str(tmp_path / "tsgs"), "-o", str(tmp_path / "b.csv"))
    assert done.returncode == 3 and f"{tmp_path}/tsgs: line 1: not what gpulens run writes" in done.stderr


@pytest.mark.parametrize("own", (True, False), ids=("own", "foreign"))
def test_record_knows_programs_that_run_has_begun(tmp_path: pathlib.Path, own: bool) -> None:
    """By the environment of the processes that the driver names: TSG 6 with its slice, and its process; a file that is
    not the process' user's own is left alone."""
    if not own and os.geteuid():
        pytest.skip("only root gives files away")
    tsgs = tmp_path / "tsgs"
    with subprocess.Popen(["sleep", "60"], env={"GPULENS_RUN_FILE": str(tsgs)}) as program:
        tsgs.write_text(json.dumps({"pid": program.pid, "tsg": 6, "engine": 1, "timeslice_us": 2048,
                                    "preemption": None, "channels": [11]}) + "\n", encoding="ascii")
        if not own:
            os.chown(tsgs, 1, -1)
        done = ask_rm("record", "--for", "2s", "--every", "250us", "-o", str(tmp_path / "a.csv"), STATE="two",
                      PIDS=str(program.pid))
        program.kill()
    assert (done.returncode, done.stderr) == (0, "")
    first = done.stdout.splitlines()[2]
    assert (f" 6 ({program.pid} sleep) " in first and "2.048 ms" in first) == own
    assert ("channel 11 (" in first) != own


def test_run_of_a_program_that_is_not_there() -> None:
    """127, as of a shell, and why; without a program it is wrong usage."""
    done = gpulens("run", "--", "/nonexistent/program")
    assert done.returncode == 127 and "/nonexistent/program: No such file or directory" in done.stderr
    assert gpulens("run").returncode == 2


def test_run_of_a_program_without_a_gpu() -> None:
    """Nothing is in its way."""
    done = gpulens("run", "--", "sh", "-c", "echo it; kill -TERM $$")
    assert (done.returncode, done.stdout, done.stderr) == (143, "it\n", "gpulens: the program made no TSG\n")
