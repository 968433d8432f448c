# SPDX-License-Identifier: GPL-2.0
"""gpulens --source rm: what NVIDIA's resource manager reports. A preloaded library (tests/support/rm/fake_rm.cc)
answers as three H200s did (tests/support/rm/h200-580.json). Expected values are from that recording, and from NVIDIA's
headers of other versions."""

import csv
import json
import os
import pathlib
import re
import signal
import statistics
import subprocess
import typing

import jsonschema
import pytest
from support.fakeclock import CLOCK, gpulens_by_clock
from support.fakerm import FACTS, PROGRAM, ask_rm, fake_rm, recording_with
from support.program import ENDS_WITH_PARENT, PROGRAMS, ROOT, TOOL, gpulens, image

COMMANDS = ("chip", "engines", "channels", "copy-engines", "gpcs", "isolation", "runlists")


@pytest.fixture(autouse=True, name="begin")
def fixture_begin() -> None:
    """Owners are found by coincidences, so that what is found depends on when a test begins."""
    CLOCK.restart()


def show_json(*words: str, **more: str) -> typing.Any:
    """The JSON of the only GPU, which must conform to the schema."""
    document = json.loads(ask_rm(*words, "--json", **more).stdout)
    jsonschema.validate(document, json.loads((ROOT / "docs/json-schema.json").read_text(encoding="utf-8")))
    assert len(document["gpus"]) == 1
    return document["gpus"][0]


def test_chip_is_the_recorded_one() -> None:
    """Name, memory, driver and address. No register was read, so BOOT_0 is null."""
    gpu = show_json("chip")
    assert gpu["device"] == "0000:01:00.0"
    assert gpu["source"] == "/dev/nvidiactl (driver 580.159.04)"
    assert {name: gpu["chip"][name] for name in ("name", "id", "product", "driver", "memory_bytes", "boot0")} == {
        "name": "GH100", "id": "0x180", "product": "NVIDIA H200", "driver": "580.159.04",
        "memory_bytes": 147221504 << 10, "boot0": None}
    assert gpu["chip"]["ids_per_runlist"] is False  # runlists but 0 are out of range: one id space
    text = ask_rm("chip").stdout
    assert "  Product       NVIDIA H200\n" in text and "  Driver        580.159.04\n" in text


def test_another_chip_is_known_by_its_implementation(tmp_path: pathlib.Path) -> None:
    """NV2080_CTRL_MC_ARCH_INFO_ARCHITECTURE_AD100 is 0x190, _IMPLEMENTATION_AD102 is 2 (ctrl2080mc.h)."""
    changed = recording_with(tmp_path, ("common/arch/architecture", "0x190"), ("common/arch/implementation", "0x2"))
    chip = show_json("chip", RECORDING=changed)["chip"]
    assert (chip["name"], chip["id"], chip["architecture"]) == ("AD102", "0x192", "Ada")
    done = ask_rm("record", "--for", "100ms", "-o", str(tmp_path / "a.csv"), RECORDING=changed)
    assert done.stdout.startswith("gpu0: AD102 (Ada), 0000:01:00.0: ")


def test_engines_have_runlists_and_ids() -> None:
    """All 22 engines, each with its runlist, the base of the runlist's registers, its engine id and its fault id."""
    engines = {engine["short_name"]: engine for engine in show_json("engines")["engines"]}
    names = {"GR0": "GR0", "GRCE0/LCE0": "COPY0", "GRCE1/LCE1": "COPY1", "SEC": "SEC2", "OFA0": "OFA0",
             **{f"LCE{i}": f"COPY{i}" for i in (2, 3, 4)}, **{f"NVDEC{i}": f"NVDEC{i}" for i in range(1, 8)},
             **{f"NVJPG{i}": f"NVJPEG{i}" for i in (0, 2, 3, 4, 5, 6, 7)}}
    assert set(engines) == set(names) and len(names) == 22
    recorded = {engine["engine"]: engine for engine in FACTS["common"]["engines"]}
    for short, name in names.items():
        engine, other = engines[short], recorded[name]
        assert (engine["runlist"], engine["engine"]) == (other["runlist_id"], other["hw_engine_id_fifo_tag"]), short
        assert (hex(engine["fault"]), engine["runlist_registers"]) == (other["mmu_fault_id"], other["runlist_pri_base"])
    assert engines["GR0"]["runlist"] == 0 and engines["LCE4"]["runlist"] == 10 and engines["LCE4"]["fault"] == 0x2F


def test_values_that_the_driver_does_not_know_are_null(tmp_path: pathlib.Path) -> None:
    """_ERROR (0xfffffffb) and _NULL (0xffffffff) of ctrl2080gpu.h are not ids; engines without a runlist come last."""
    changed = recording_with(tmp_path, *((f"common/engines/{i}/{name}", value)
                                         for i, value in ((1, 0xfffffffb), (6, 0xffffffff))
                                         for name in ("runlist_id", "runlist_pri_base", "hw_engine_id_fifo_tag")))
    engines = show_json("engines", RECORDING=changed)["engines"]
    keys = ("short_name", "runlist", "runlist_registers", "engine")
    assert [tuple(engine[key] for key in keys) for engine in engines[-2:]] == [
        ("NVDEC1", None, None, None), ("LCE0", None, None, None)]
    assert len(engines) == 22


def test_grces_share_physical_copy_engines() -> None:
    """COPY0 and COPY2 have PCEs 12 and 14, COPY1 and COPY3 13 and 15: the two hazards of rule R8, and no other."""
    copies = {copy["lce"]: copy for copy in show_json("copy-engines")["copy"]["engines"]}
    assert {lce: copy["pces"] for lce, copy in copies.items()} == {
        0: [12, 14], 1: [13, 15], 2: [12, 14], 3: [13, 15], 4: list(range(12))}
    assert {lce: copy["shares_lce"] for lce, copy in copies.items()} == {0: 2, 1: 3, 2: None, 3: None, 4: None}
    hazards = show_json("isolation")["isolation"]["hazards"]
    assert [(hazard["rule"], hazard["engines"], hazard["runlists"]) for hazard in hazards] == [
        ("R8", ["GRCE0/LCE0", "LCE2"], [0, 1]), ("R8", ["GRCE1/LCE1", "LCE3"], [0, 3])]
    assert ask_rm("isolation", "--check").returncode == 1


@pytest.mark.parametrize("index", range(3))
def test_each_gpu_has_its_own_gpcs_and_sms(index: int) -> None:
    """Three GPUs, each with other TPCs disabled: masks by physical GPC, the driver's numbers, and the place of each
    SM."""
    facts = FACTS["gpus"][index]
    gpcs = show_json("gpcs", GPU=str(index))["gpcs"]
    assert (gpcs["num_gpcs"], gpcs["num_tpc_per_gpc"], gpcs["gpc_mask"]) == (8, 9, "0x0")
    assert [f"{0x1ff & ~int(gpc['tpc_mask'], 0):#x}" for gpc in gpcs["gpcs"]] == facts["tpc_mask_by_physical_gpc"]
    assert sum(gpc["tpcs"] for gpc in gpcs["gpcs"]) == 66
    by_logical = {gpc["logical"]: gpc["gpc"] for gpc in gpcs["gpcs"]}
    assert [by_logical[logical] for logical in range(8)] == facts["logical_to_physical_gpc"]
    fields = facts["sm_table_fields"]
    for place, row in zip(gpcs["sms"], facts["sm_table"]):
        expected = dict(zip(fields, row))
        assert place == {"sm": expected["smid"], "logical_gpc": expected["logical_gpc"], "tpc": expected["local_tpc"],
                         "sm_in_tpc": expected["sm_in_tpc"], "cpc": expected["phys_cpc"],
                         "virtual_gpc": expected["virtual_gpc"], "ugpu": expected["ugpu"]}
    assert len(gpcs["sms"]) == 132


def test_driver_and_emulated_h200_agree() -> None:
    """The emulator's GH100 has the topology of the first of these GPUs. Its registers and the driver give the same
    values, except for those that docs/rm.md lists."""
    document = json.loads(gpulens("-i", str(image("gh100")), "--json").stdout)["gpus"][0]
    driver = show_json()
    differ = {"chip": {"boot0", "ids_per_runlist", "assumed", "product", "driver"}, "copy": set(),
              "gpcs": {"gpcs", "hardware_gpcs", "sms", "tpc_order"},
              "isolation": {"tasks", "sharing", "unknown", "mps_processes"}}
    for part, expected in differ.items():
        assert {name for name in driver[part] if driver[part][name] != document[part][name]} == expected, part
    for gpc, other in zip(driver["gpcs"]["gpcs"], document["gpcs"]["gpcs"]):
        assert {name for name in gpc if gpc[name] != other[name]} == {"first_tpc", "logical"}
    of_runlists = [engine for engine in document["engines"] if engine["runlist"] is not None]
    names, listed = ({engine["short_name"] for engine in engines} for engines in (document["engines"], of_runlists))
    assert names - listed == {
        "GSP0", "Unknown (type 26) 0"}
    for engine, other in zip(driver["engines"], of_runlists, strict=True):
        assert {name for name in engine if engine[name] != other[name]} == {"interrupt", "reset", "registers", "now"}


def test_the_first_gpus_virtual_gpcs() -> None:
    """As the recorded CUDA clusters showed: SMs 0, 1, 16, 17, 32, 33, 48 and 49 are in one."""
    text = ask_rm("gpcs").stdout
    assert "          0    0   18  12-13, 28-29, 44-45, 60-61, 74-75, 88-89, 102-103, 116-117, 120-121\n" in text
    assert "          7    5   18  14-15, 30-31, 46-47, 62-63, 76-77, 90-91, 104-105, 118-119, 122-123\n" in text
    assert "          0    8  0-1, 16-17, 32-33, 48-49\n" in text
    assert "         19    2  130-131\n" in text


def test_a_disabled_gpc_is_left_out(tmp_path: pathlib.Path) -> None:
    """Physical GPC 2 of the first GPU is disabled: its bit is set, and seven GPCs have the driver's numbers."""
    changed = recording_with(tmp_path, ("gpus/0/gpc_mask", "0xfb"),
                             ("gpus/0/logical_to_physical_gpc", [0, 1, 3, 4, 6, 7]))
    gpcs = show_json("gpcs", RECORDING=changed)["gpcs"]
    assert gpcs["gpc_mask"] == "0x4"
    assert [(gpc["gpc"], gpc["tpc_mask"], gpc["logical"]) for gpc in gpcs["gpcs"]] == [
        (0, "0x0", 0), (1, "0x4", 1), (3, "0x40", 2), (4, "0x40", 3), (5, "0x0", None), (6, "0x40", 4), (7, "0x40", 5)]


def test_channels_and_processes() -> None:
    """49 ids and two compute processes; the runlist of the channels is unknown."""
    gpu = show_json("channels")
    assert gpu["allocated_channels"] == list(range(1, 50))
    assert [(process["pid"], process["uses"], process["memory_bytes"]) for process in gpu["processes"]] == [
        (4194777, ["compute", "copy"], 748683264), (4194828, ["compute", "copy"], 748683264)]
    done = ask_rm("channels")
    assert (done.returncode, done.stderr) == (
        1, "gpulens: gpu0: runlists: NVIDIA's driver does not report them, the module of gpulens does: "
        "--source module\n")
    assert "49 channels are allocated: 1-49\n" in done.stdout
    assert re.search("\n *4194777  unknown +714.0 MiB  -    compute, copy\n", done.stdout)


def test_no_process_of_this_machine_has_a_recorded_pid() -> None:
    """Linux's pids are below 4194304. Seen failing with the pids as recorded: a process that had one of them by chance
    was refused its limit, because the fake driver hid it."""
    assert min(process["pid"] for process in FACTS["live_run2"]["processes"].values()) > 4194304


def test_memory_of_many_processes(tmp_path: pathlib.Path) -> None:
    """The driver takes 200 at a time, and has nothing of a process that has ended. Seen failing with all at once."""
    many = [{**FACTS["gpus"][0], "pids": [4194777, *range(5000000, 5000400)]}]
    processes = show_json("channels", RECORDING=recording_with(tmp_path, ("gpus", many)))["processes"]
    assert [process["memory_bytes"] for process in processes] == [748683264] + 400 * [0]


def test_first_and_last_ids_and_other_uses(tmp_path: pathlib.Path) -> None:
    """Ids up to 4095; MPS and a debugger, known by their classes; the name of a process of this machine."""
    states = "live_run2/states/two/"
    changed = recording_with(tmp_path, (states + "allocated_chids_runlist0", [0, 31, 32, 4095]),
                             (states + "pids_by_class/MPS_COMPUTE", [os.getpid()]),
                             (states + "pids_by_class/GT200_DEBUGGER", [os.getpid()]))
    gpu = show_json("channels", RECORDING=changed)
    assert gpu["allocated_channels"] == [0, 31, 32, 4095]
    name = pathlib.Path("/proc/self/comm").read_text(encoding="utf-8").strip()
    assert {"pid": os.getpid(), "name": name, "uses": ["MPS", "debugger"], "memory_bytes": 0,
            "mig": None} in gpu["processes"]
    text = ask_rm("channels", RECORDING=changed).stdout
    assert "4 channels are allocated: 0, 31-32, 4095\n" in text
    assert re.search(f"\n *{os.getpid()}  {re.escape(name)} +0 bytes  -    MPS, debugger\n", text)


def test_the_need_for_root_is_reported() -> None:
    """The answers that uid 65534 got: no runlists of engines and no channel ids; the rest is there."""
    done = ask_rm("engines", USER="1")
    assert done.returncode == 1
    assert done.stderr == ("gpulens: gpu0: runlists of engines: NV2080_CTRL_CMD_GPU_GET_ENGINE_RUNLIST_PRI_BASE: "
                           "NV_ERR_INSUFFICIENT_PERMISSIONS; be root: sudo gpulens ...\n")
    assert {engine["runlist"] for engine in show_json("engines", USER="1")["engines"]} == {None}
    assert [error["error"] for error in show_json("engines", USER="1")["errors"]] == ["EPERM"]
    assert show_json("channels", USER="1")["allocated_channels"] is None
    assert "no channels" not in ask_rm("channels", USER="1").stdout
    assert len(show_json("gpcs", USER="1")["gpcs"]["sms"]) == 132


def test_an_uncompared_driver_version_is_reported() -> None:
    """Its structures may have another layout with the same size. The seven versions of docs/rm.md were compared."""
    assert show_json("chip", VERSION="610.12.01")["source"] == (
        "/dev/nvidiactl (driver 610.12.01, whose layouts were not compared)")
    assert show_json("chip", VERSION="57.1")["source"] == (
        "/dev/nvidiactl (driver 57.1, whose layouts were not compared)")
    for version in ("535.261.03", "550.163.01", "570.195.03", "575.64.05", "580.142", "590.48.01", "595.45.04"):
        assert show_json("chip", VERSION=version)["source"] == f"/dev/nvidiactl (driver {version})"


COMPARED = ("535.288.01", "550.163.01", "570.211.01", "575.64.05", "590.48.01", "595.45.04")


@pytest.mark.parametrize("version", COMPARED)
def test_each_compared_version_gives_what_580_gives(version: str) -> None:
    """The fake has the sizes and offsets of that version. Absent before 580 are the physical CPC of an SM, before 575
    its part of the L2 cache, before 570 the runlist of an engine. Seen failing before layouts.cc, and with six fields
    of SMs in the layout of 575."""
    for command in ("chip", "engines", "copy-engines", "gpcs", "channels"):
        mine, known = show_json(command, VERSION=version), show_json(command)
        mine["source"], mine["chip"]["driver"] = known["source"], known["chip"]["driver"]
        for core in known["gpcs"]["sms"] if command == "gpcs" else []:
            core["cpc"] = core["cpc"] if version > "580" else None
            core["ugpu"] = core["ugpu"] if version > "575" else None
        for engine in known["copy"]["engines"] if command == "copy-engines" and version < "570" else []:
            engine["runlist"] = None
        for engine in known["engines"] if command == "engines" and version < "570" else []:
            engine["runlist"] = None
        if command == "engines":
            mine["engines"], known["engines"] = (
                sorted(gpu["engines"], key=lambda engine: engine["name"]) for gpu in (mine, known))
        assert mine == known, command


# Sizes in NVIDIA's headers of a version that differ from those of 580.142.
OTHERS = {
    "570.195.03": {"2080121b": 6168, "20801303": 460},
    "550.163.01": {"20800170": 260, "20800179": 512, "2080017a": 512, "2080121b": 6168, "20801228": 472,
                   "20801303": 444},
    "595.45.04": {"20800110": 68, "20801228": 496}}


@pytest.mark.parametrize("version", OTHERS)
def test_an_uncompared_version_is_asked_in_known_layouts(version: str, tmp_path: pathlib.Path) -> None:
    """A version that is not known, with the sizes of this one: in the layouts of known versions until the driver takes
    one, the newest first. Seen failing: what differs from 580 was missing."""
    more = {"VERSION": "610.12.01", "LOG": str(tmp_path / "log"),
            "SIZES": ",".join(f"{cmd}:{size}" for cmd, size in OTHERS[version].items())}
    for command in ("chip", "engines", "copy-engines", "gpcs", "channels"):
        mine, known = show_json(command, **more), show_json(command, VERSION=version)
        mine["source"], mine["chip"]["driver"] = known["source"], known["chip"]["driver"]
        assert mine == known, command
    refused = re.search(r" 58$", (tmp_path / "log").read_text(), re.M)  # NV_ERR_INVALID_PARAM_STRUCT
    assert bool(refused) == (version != "595.45.04")


def test_parameters_that_no_known_version_has() -> None:
    """The message names what is missing, and everything else is shown."""
    more = {"VERSION": "610.12.01", "SIZES": "20801228:500,2080121b:100,20800170:7"}
    gpu = show_json("gpcs", **more)
    assert (gpu["gpcs"]["num_gpcs"], gpu["gpcs"]["sms"]) == (None, None)
    assert gpu["chip"]["driver"] == "610.12.01" and gpu["chip"]["product"] == "NVIDIA H200"
    done = ask_rm("engines", **more)
    assert done.returncode == 1 and done.stderr == (
        "gpulens: gpu0: engines: NV2080_CTRL_CMD_GPU_GET_ENGINES_V2: NV_ERR_INVALID_PARAM_STRUCT; driver 610.12.01 has "
        "other parameters for it than all known ones\n")


def test_a_refused_client_leaves_no_file_open() -> None:
    """The driver refuses all of 50 clients, and /dev/nvidiactl is closed each time. Seen failing without the close: 50
    files were open."""
    told = [subprocess.run([PROGRAMS / "refused-program"], check=True, capture_output=True, text=True,
                           env={**os.environ, **fake_rm(**more)}).stdout for more in ({"FULL": "1"}, {})]
    assert told == ["0 0\n", "50 0\n"]


def test_a_driver_that_stays_busy_is_an_error() -> None:
    """EAGAIN is retried for a limited time. Seen failing: the command did not end."""
    assert ask_rm("chip", BUSY="100").returncode == 0
    done = ask_rm("chip", BUSY="1000000000")
    assert done.returncode == 3 and "/dev/nvidiactl: EAGAIN" in done.stderr


def test_refused_queries_give_null() -> None:
    """Each query is refused in turn: only the values that it alone reports are null, not 0."""
    ids = show_json("engines", SIZES="2080017a:0")["engines"]
    assert {engine["engine"] for engine in ids} == {None} and ids[0]["fault"] == 0x180
    assert {engine["fault"] for engine in show_json("engines", SIZES="20800125:0")["engines"]} == {None}
    gpcs = show_json("gpcs", SIZES="20803801:0")["gpcs"]
    assert {gpc["logical"] for gpc in gpcs["gpcs"]} == {None} and len(gpcs["sms"]) == 132
    for cmd in ("20802a02", "20802a03"):
        gpu = show_json("copy-engines", SIZES=f"{cmd}:0")
        assert gpu["copy"]["pce_map"] is None
        assert [error["item"] for error in gpu["errors"]] == [f"PCEs of LCE {lce}" for lce in range(5)]
    assert show_json("chip", SIZES="21b:0")["device"] is None


# NV0000_CTRL_CMD_GPU_GET_ATTACHED_IDS, _GET_ID_INFO_V2
NOTHING = {"201": "does not list its GPUs", "205": "does not identify GPU 0x100"}


@pytest.mark.parametrize("cmd", NOTHING)
def test_a_driver_that_reports_no_gpu_is_an_error(cmd: str) -> None:
    """Status 3, and the driver's status code."""
    done = ask_rm("chip", SIZES=f"{cmd}:0")
    assert (done.returncode, done.stdout, done.stderr) == (
        3, "", f"gpulens: /dev/nvidiactl: driver 580.159.04 {NOTHING[cmd]}: NV_ERR_INVALID_PARAM_STRUCT\n")


# Channel -> pid: processes A, B and C of the recording.
PIDS = {"10": "4194777", "11": "4194777", "31": "4194828", "51": "4194883"}

# Medians, in us, of the slots whose beginning and end are in the recording's first_changes_us_chid.
TURNS = {"one": {10: None}, "two": {11: 2361, 31: 2283}, "three": {11: 2124, 31: 2555, 51: 2347}}


@pytest.mark.parametrize("state", TURNS)
def test_record_measures_slots_of_channels(tmp_path: pathlib.Path, state: str) -> None:
    """The resident channel, queried every 250 us: the slots of each process within two steps, and the process of each
    channel, from the driver's utilisation samples. By the tests' clock, the driver's answers take 100 us of it."""
    file = tmp_path / "a.csv"
    done = gpulens_by_clock("--source", "rm", "record", "--for", "3s", "--every", "250us", "-o", str(file),
                            env=fake_rm(STATE=state))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("gpu0: GH100 (Hopper), 0000:01:00.0: ")
    assert " (asked: 250.000 us; " in done.stdout
    rows = [row for row in csv.DictReader(file.open(encoding="ascii")) if row["engine"]]
    assert {row["state"] for row in rows} == {"on"}
    assert {int(row["channel"]) for row in rows} == set(TURNS[state])
    assert {(row["engine"], row["runlist"], row["tsg"]) for row in rows} == {("GR0", "0", "")}
    assert {(row["channel"], row["pid"]) for row in rows} == {
        (str(channel), PIDS[str(channel)]) for channel in TURNS[state]}
    assert all(f"channel {channel} (" in done.stdout for channel in TURNS[state])
    for channel, expected in TURNS[state].items():
        if expected:
            turns = [int(row["end_ns"]) - int(row["start_ns"]) for row in rows[1:-1] if row["channel"] == str(channel)]
            # the begin and the end of a turn are each seen up to a step late
            assert len(turns) > 50 and abs(statistics.median(turns) / 1000 - expected) <= 500


def test_record_counts_missed_samples(tmp_path: pathlib.Path) -> None:
    """0.5 s at 10 us are 50,000 ticks, of which the driver can answer each tenth; the others are counted as lost."""
    done = gpulens_by_clock("--source", "rm", "record", "--for", "500ms", "--every", "10us", "-o",
                            str(tmp_path / "a.csv"), env=fake_rm())
    ticks, lost = (int(n) for n in re.findall(r"(\d+) (?:samples,|lost\n)", done.stdout))
    assert 4900 < ticks <= 5500 and 49000 < ticks + lost <= 55000, (ticks, lost)


def test_record_distinguishes_a_refusal_from_an_idle_engine(tmp_path: pathlib.Path) -> None:
    """NV_ERR_INVALID_CHANNEL means an engine without a context. Any other refusal is an error, which at the beginning
    ends the recording before a file is created."""
    done = ask_rm("record", "--for", "100ms", "-o", str(tmp_path / "a.csv"), SIZES="2080121c:0")
    assert (done.returncode, done.stdout, done.stderr) == (
        3, "", "gpulens: /dev/nvidiactl: driver 580.159.04 does not report the resident channel: "
        "NV2080_CTRL_CMD_GR_GET_CURRENT_RESIDENT_CHANNEL: NV_ERR_INVALID_PARAM_STRUCT; driver 580.159.04 has other "
        "parameters for it than all known ones\n")
    assert not list(tmp_path.iterdir())
    ask_rm("record", "--for", "100ms", "-o", str(tmp_path / "a.csv"), ANSWERS="1")
    with (tmp_path / "a.csv").open(encoding="ascii") as file:
        assert [row["state"] for row in csv.DictReader(file) if row["engine"]] == ["error"]


def test_only_the_graphics_engine_can_be_sampled(tmp_path: pathlib.Path) -> None:
    """Another runlist than 0 is refused before a file is created, and so is a missing GPU beside an existing one."""
    done = ask_rm("record", "--for", "1s", "--runlist", "1", "-o", str(tmp_path / "a.csv"))
    assert done.returncode == 3 and "the driver reports only the graphics engine" in done.stderr
    done = ask_rm("-g", "0", "-g", "1", "record", "--for", "1s", "-o", str(tmp_path / "a.csv"))
    assert done.returncode == 3 and done.stderr == "gpulens: there is no GPU 1; the driver has 1\n"
    assert not list(tmp_path.iterdir())


def test_only_queries_are_sent(tmp_path: pathlib.Path) -> None:
    """The fake logs all ioctls: one client with a device and a subdevice, only controls that were recorded as queries,
    and the client is freed. record lists the GPUs with a client of its own before."""
    log = tmp_path / "log"
    for command in COMMANDS:
        ask_rm(command, LOG=str(log))
    ask_rm("record", "--for", "100ms", "-o", str(tmp_path / "a.csv"), LOG=str(log))
    lines = [line.split() for line in log.read_text(encoding="ascii").splitlines()]
    assert [line for line in lines if line[0] == "alloc"] == [
        ["alloc", cls, "NV_OK"]
        for cls in ("0x41", "0x80", "0x2080") * len(COMMANDS) + ("0x41", "0x41", "0x80", "0x2080")
    ] + [["alloc", "0x90ce", "34"]]  # NV_ERR_INVALID_CLASS: of an event buffer, test_context_switches.py
    asked = {int(line[1], 0) for line in lines if line[0] == "control"}
    assert asked <= {int(row["cmd"], 0) for row in FACTS["queries"]} | {0x201, 0x21B}
    assert [line for line in lines if line[0] == "free"] == [["free", "0x41", "NV_OK"]] * (len(COMMANDS) + 2)
    assert {line[0] for line in lines} == {"version", "alloc", "control", "free"}


def test_a_gpu_that_is_not_there() -> None:
    """-g counts the driver's GPUs in PCI order."""
    done = ask_rm("-g", "1", "chip")
    assert done.returncode == 3 and done.stderr == "gpulens: there is no GPU 1; the driver has 1\n"


def test_gpus_are_counted_in_pci_order(tmp_path: pathlib.Path) -> None:
    """The driver's first GPU is the third of the recording, on bus 3; its second one is the first, on bus 1."""
    document = json.loads(ask_rm("gpcs", "--json", GPU="20").stdout)
    assert [(gpu["gpu"], gpu["device"], f"{0x1ff & ~int(gpu['gpcs']['gpcs'][0]['tpc_mask'], 0):#x}")
            for gpu in document["gpus"]] == [(0, "0000:01:00.0", "0x1ff"), (1, "0000:03:00.0", "0x1fe")]
    gpu = show_json("-g", "1", "gpcs", GPU="20")
    assert (gpu["gpu"], gpu["device"], gpu["gpcs"]["gpcs"][0]["tpc_mask"]) == (1, "0000:03:00.0", "0x1")
    done = ask_rm("-g", "1", "record", "--for", "100ms", "-o", str(tmp_path / "a.csv"), GPU="20")
    assert done.stdout.startswith("gpu1: GH100 (Hopper), 0000:03:00.0: ")


CLOSED = {
    "2": "/dev/nvidia1: ENOENT: No such file or directory; the driver has this GPU, but its node is missing; a "
         "container must be given the node",
    "13": "/dev/nvidia1: EACCES: Permission denied; be root: sudo gpulens ..."}


@pytest.mark.parametrize("errno", CLOSED)
def test_a_gpu_that_cannot_be_opened_is_left_out(errno: str) -> None:
    """A container with one of two GPUs, or a device node of another group: the other GPU is shown, and a line gives the
    reason for the missing one. Seen failing: status 3 and no output."""
    there = {"GPU": "20", "CLOSED": f"1:{errno}"}
    for command in COMMANDS[:-2]:
        done = ask_rm(command, **there)
        assert done.returncode == 1 and "0000:01:00.0" in done.stdout and "0000:03:00.0" not in done.stdout
        assert f"gpulens: gpu1: 0000:03:00.0: {CLOSED[errno]}\n" in done.stderr, command
        assert done.stderr.count("nvidia1") == 1
    document = json.loads(ask_rm("gpcs", "--json", **there).stdout)
    jsonschema.validate(document, json.loads((ROOT / "docs/json-schema.json").read_text(encoding="utf-8")))
    assert [(gpu["gpu"], gpu["device"], len(gpu["gpcs"]["gpcs"])) for gpu in document["gpus"]] == [
        (0, "0000:01:00.0", 8), (1, "0000:03:00.0", 0)]
    assert document["gpus"][1]["errors"] == [{"item": "0000:03:00.0", "error": {"2": "ENOENT", "13": "EACCES"}[errno],
                                              "message": CLOSED[errno], "missing": []}]
    assert ask_rm("-g", "0", "chip", **there).returncode == 0
    for words in (("-g", "1", "chip"), ("-g", "1", "runlists", "0"), ("-g", "1", "record", "--for", "1s", "-o", "/x")):
        done = ask_rm(*words, **there)
        assert (done.returncode, done.stdout, done.stderr) == (3, "", f"gpulens: {CLOSED[errno]}\n")


def test_the_exporter_shows_gpus_that_can_be_opened() -> None:
    """Each GPU of the driver by itself. Seen failing: "the module is not loaded"."""
    done = ask_rm("export", "--prometheus", GPU="20", CLOSED="1:2")
    assert done.returncode == 1 and done.stderr == f"gpulens: {CLOSED['2']}\n"
    for line in ("gpulens_gpus 2", 'gpulens_up{gpu="0"} 1', 'gpulens_up{gpu="1"} 0'):
        assert line in done.stdout.splitlines()
    done = ask_rm("top", "--batch", "1", "--delay", "100ms", GPU="20", CLOSED="1:2")
    assert done.returncode == 1 and done.stderr.splitlines() == [f"gpulens: {CLOSED['2']}"]
    assert "0000:01:00.0" in done.stdout and "0000:03:00.0" not in done.stdout


def test_the_exporter_says_what_it_gave_up_rights_for() -> None:
    """Where processes are among the metrics, after the address; one that exports a file says the address alone. Seen
    failing without the message, and with it for a file."""
    for words, env, more in ((("--source", "rm"), fake_rm(), 1), (("-i", str(image("gp106"))), {}, 0)):
        with subprocess.Popen([*ENDS_WITH_PARENT, str(TOOL), *words, "export", "--prometheus", "--listen",
                               "127.0.0.1:0"], env={**os.environ, **CLOCK.environment(**env)}, stderr=subprocess.PIPE,
                              text=True) as process:
            assert process.stderr and process.stderr.readline().startswith("gpulens: metrics at ")
            CLOCK.run(0.5)
            process.kill()
            told = process.stderr.read().splitlines()
        assert ["CAP_SYS_PTRACE" in line and "CAP_DAC_READ_SEARCH" in line for line in told] == [True] * more


def test_a_missing_driver_is_reported() -> None:
    """No /dev/nvidiactl: status 3, and the command that loads the driver."""
    if pathlib.Path("/dev/nvidiactl").exists():
        pytest.skip("this machine has NVIDIA's driver")
    done = gpulens("--source", "rm", "chip")
    assert done.returncode == 3
    assert done.stderr == ("gpulens: /dev/nvidiactl: ENOENT: No such file or directory; NVIDIA's driver is not loaded: "
                           "sudo modprobe nvidia\n")


def test_a_source_is_selected_by_name() -> None:
    """Seen failing: 2 selected the driver."""
    done = gpulens("--source", "2", "chip")
    assert (done.returncode, done.stderr) == (
        2, "gpulens: --source: 2 not in {auto,module,rm}\ngpulens --help lists commands and options.\n")


def test_source_auto_uses_the_driver_without_the_module(tmp_path: pathlib.Path) -> None:
    """--source auto, the default, if /proc has no gpuX; --source module does not use the driver."""
    done = gpulens("--proc", str(tmp_path), "chip", env=fake_rm())
    assert done.returncode == 0 and "from /dev/nvidiactl (driver 580.159.04)" in done.stdout
    done = gpulens("--proc", str(tmp_path), "--source", "module", "chip", env=fake_rm())
    assert done.returncode == 3 and "the module is not loaded" in done.stderr
    (tmp_path / "gpu0").mkdir()
    (tmp_path / "gpu0/snapshot").write_bytes(image("ga100").read_bytes())
    done = gpulens("--proc", str(tmp_path), "chip", env=fake_rm())
    assert done.returncode == 0 and f"from {tmp_path}/gpu0/snapshot\n" in done.stdout


# -- a program's own TSGs

def test_run_reports_a_programs_tsgs() -> None:
    """A program that gets two of the TSGs that a PyTorch process had. Its output, status and options are not changed,
    and the table follows its output."""
    done = ask_rm("run", "--", *PROGRAM)
    assert (done.returncode, done.stdout) == (7, "done --for it\n")
    lines = done.stderr.splitlines()
    assert lines[0].split() == ["Process", "Engine", "TSG", "Timeslice", "Preemption", "Channels"]
    assert [line.split()[1:] for line in lines[1:]] == [
        ["GR0", "6", "2.048", "ms", "CILP", "10-17"], ["COPY2", "7", "1.024", "ms", "-", "18-21"]]
    done = ask_rm("run", "--", "sh", "-c", '"$@"; "$@"', "sh", *PROGRAM)  # two processes with TSGs of the same ids
    assert len(done.stderr.splitlines()) == 5 and len({line.split()[0] for line in done.stderr.splitlines()[1:]}) == 2
    done = ask_rm("run", "--", "sh", "-c", 'PROGRAM_DEVICE=1 "$@"; exec "$@"', "sh", *PROGRAM, GPU="20")  # two GPUs
    assert [line.split()[1:4] for line in done.stderr.splitlines()] == [
        ["Device", "Engine", "TSG"], *[[device, *tsg] for device in "01" for tsg in (("GR0", "6"), ("COPY2", "7"))]]


def test_run_puts_ids_in_order(tmp_path: pathlib.Path) -> None:
    """Ids that are not ascending in the order of allocation."""
    changed = recording_with(tmp_path, ("live_run2/processes/A/tsgs/0/chids", [17, 11, 12, 13, 14, 15, 16, 10]))
    done = ask_rm("run", "--", *PROGRAM, RECORDING=changed)
    assert done.stderr.splitlines()[1].split()[-1] == "10-17"


def test_run_writes_lines_as_they_come(tmp_path: pathlib.Path) -> None:
    """A line for each channel, and one when the compute object has set the preemption mode; no line repeats the one
    before it, and the last one of a TSG has everything."""
    done = ask_rm("run", "-o", str(tmp_path / "tsgs"), "--", *PROGRAM)
    assert (done.returncode, done.stderr) == (7, "")
    lines = [json.loads(line) for line in (tmp_path / "tsgs").read_text(encoding="ascii").splitlines()]
    assert [(line["tsg"], len(line["channels"])) for line in lines] == [
        *((6, count) for count in (*range(1, 9), 8)), *((7, count) for count in range(1, 5))]
    assert [line["preemption"] for line in lines] == [
        *[{"compute": "WFI", "graphics": "WFI"}] * 8, {"compute": "CILP", "graphics": "WFI"}, *[None] * 4]
    assert lines[-1] == {"pid": lines[0]["pid"], "device": 0, "tsg": 7, "engine": 0x0B, "timeslice_us": 1024,
                         "preemption": None, "channels": [18, 19, 20, 21]}
    before = (tmp_path / "tsgs").read_text(encoding="ascii").splitlines()
    away = ("sh", "-c", 'cd / && exec "$@"', "sh", *PROGRAM)
    ask_rm("run", "-o", os.path.relpath(tmp_path / "tsgs"), "--", *away)  # written anew, wherever the program goes
    assert len((tmp_path / "tsgs").read_text(encoding="ascii").splitlines()) == len(before)


def test_record_names_tsgs_reported_by_run(tmp_path: pathlib.Path) -> None:
    """Channel 11 belongs to the program's TSG 6, whose time slice is 2.048 ms; 31 belongs to no TSG on the graphics
    engine."""
    ask_rm("run", "-o", str(tmp_path / "tsgs"), "--", *PROGRAM)
    lines = (tmp_path / "tsgs").read_text(encoding="ascii").splitlines()
    copies = json.dumps({**json.loads(lines[-1]), "channels": [31]})  # where ids count per runlist
    (tmp_path / "tsgs").write_text("\n".join([*lines, copies]) + "\n", encoding="ascii")
    done = gpulens_by_clock("--source", "rm", "record", "--for", "1s", "--every", "250us", "--tsgs",
                            str(tmp_path / "tsgs"), "-o", str(tmp_path / "a.csv"), env=fake_rm())
    assert (done.returncode, done.stderr) == (0, "")
    rows = [line.split() for line in done.stdout.splitlines()[3:]]  # after why it is sampled
    assert [row[:2] for row in rows] == [["GR0", "6"], ["GR0", "channel"]]
    assert rows[0][6:8] == ["2.048", "ms"]
    ask_rm("run", "-o", str(tmp_path / "tsgs"), "--", "env", "PROGRAM_DEVICE=1", *PROGRAM, GPU="20")
    done = ask_rm("-g", "1", "record", "--for", "1s", "--tsgs", str(tmp_path / "tsgs"), "-o", str(tmp_path / "a.csv"),
                  GPU="20")  # the driver's first
    assert {line.split()[1] for line in done.stdout.splitlines()[3:]} == {"channel"}
    (tmp_path / "tsgs").write_text('{"pid": 1}\n')
    done = ask_rm("record", "--for", "1s", "--tsgs", str(tmp_path / "tsgs"), "-o", str(tmp_path / "b.csv"))
    assert done.returncode == 3 and f"{tmp_path}/tsgs: line 1: not a line of gpulens run" in done.stderr
    done = gpulens("--source", "module", "record", "--for", "1s", "--tsgs", str(tmp_path / "tsgs"), "-o",
                   str(tmp_path / "c.csv"))
    assert done.returncode == 3 and "--tsgs is for --source rm" in done.stderr


def test_run_of_a_missing_program() -> None:
    """Status 127, as a shell gives, with the reason; no program at all is wrong usage."""
    done = gpulens("run", "--", "/nonexistent/program")
    assert done.returncode == 127 and "/nonexistent/program: No such file or directory" in done.stderr
    assert gpulens("run").returncode == 2


def test_run_of_a_program_without_a_gpu() -> None:
    """It runs as without gpulens."""
    done = gpulens("run", "--", "sh", "-c", "echo it; kill -TERM $$")
    assert (done.returncode, done.stdout, done.stderr) == (143, "it\n", "gpulens: the program allocated no TSG\n")


def test_run_leaves_nothing_behind() -> None:
    """The file in which the program reports its TSGs is removed after its end."""
    done = gpulens("run", "--", "sh", "-c", 'test -f "$GPULENS_RUN_FILE" && echo "$GPULENS_RUN_FILE"')
    assert done.returncode == 0 and "/gpulens-run-" in done.stdout
    assert not pathlib.Path(done.stdout.strip()).exists()


def test_run_outlives_ctrl_c() -> None:
    """run continues until the program has ended, and returns its status."""
    # Ignored in the background of a shell, and so by what is started; a handler is not handed down.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    done = gpulens("run", "--", "sh", "-c", "sleep 0.2; kill -INT $PPID; sleep 0.2; exit 5")
    signal.signal(signal.SIGINT, before)
    assert (done.returncode, done.stderr) == (5, "gpulens: the program allocated no TSG\n")
