# SPDX-License-Identifier: GPL-2.0
"""gpulens amd on files in the formats of the kernel's driver (tests/support/fakekfd.py). Never compared with a GPU."""

import json
import pathlib
import typing

import jsonschema
import pytest
from support.fakekfd import (COPY, FIRST, HQDS, MQDS, NODE, RADEON_VII, RUNLIST, VEGA20, FakeKfd, Queue, describe_queue,
                             dump_registers, dump_words, map_process, map_queues, run_list)
from support.fakeproc import ORDINARY
from support.program import ROOT, gpulens

SCHEMA = json.loads((ROOT / "docs/amd-schema.json").read_text(encoding="utf-8"))


@pytest.fixture(name="kfd")
def fixture_kfd(tmp_path: pathlib.Path) -> FakeKfd:
    """A Radeon VII with four queues."""
    kfd = FakeKfd(tmp_path)
    kfd.show_example()
    return kfd


def show_amd(kfd: FakeKfd, *words: str, status: int = 0) -> str:
    """The output of gpulens amd."""
    done = gpulens("amd", *words, "--from", str(kfd.root))
    assert (done.returncode, done.stderr) == (status, ""), done.stderr
    return done.stdout


def show_json(kfd: FakeKfd, *words: str, status: int = 0) -> typing.Any:
    """The same as JSON that the schema allows."""
    document = json.loads(show_amd(kfd, *words, "--json", status=status))
    jsonschema.validate(document, SCHEMA, cls=jsonschema.Draft202012Validator)
    return document


def find_refusal(kfd: FakeKfd, *words: str) -> "tuple[int, str]":
    """Status and message, without the folder's name."""
    done = gpulens("amd", *words, "--from", str(kfd.root))
    assert done.stdout == ""
    return done.returncode, done.stderr.replace(str(kfd.root), "")


def test_all_parts_are_shown(kfd: FakeKfd) -> None:
    """GPU, queues, runlist and slots, each row as a whole. Seen failing with the doorbell not shifted."""
    lines = [line.split() for line in show_amd(kfd).splitlines()]
    assert ["1", "0x8f1c", "vega20", "9.0.6", "0000:03:00.0", "60", "4", "1", "24", "16"] in lines
    assert ["4000", "32769", "0", "compute", "0x8f1c", "yes", "0x1000", "0x7f0000100000", "65536", "0x40", "0x80",
            "64", "1/7", "all"] in lines
    assert ["4000", "32769", "1", "SDMA", "0x8f1c", "yes", "0x1004", "0x7f0000200000", "4096", "0x0", "0x0", "-",
            "-", "-"] in lines
    assert ["4010", "32770", "0", "compute", "0x8f1c", "yes", "0x1002", "0x7f0000300000", "65536", "0x100", "0x1c0",
            "192", "2/15", "0x3fff,0xfff,0x0,0x1"] in lines
    assert ["4010", "32770", "1", "compute", "0x8f1c", "no", "0x1006", "0x7f0000100000", "65536", "0x40", "0x80", "64",
            "1/7", "all"] in lines
    assert "Runlist of GPU 0x8f1c: 2 processes, 2 compute queues, 1 SDMA queue, not oversubscribed".split() in lines
    assert ["32769", "4000", "0", "compute", "0x1000", "0x800000100000", "yes", "normal"] in lines
    assert ["32769", "4000", "1", "SDMA", "0", "0x1004", "0x800000400000", "no", "normal"] in lines
    assert "Hardware queues of GPU 0x8f1c: 4 active, 2 idle, 0 unknown".split() in lines
    assert ["CP", "0", "0", "0", "active", "9", "4010", "0", "0x1002", "0x100", "0x1c0", "192"] in lines
    assert ["CP", "0", "1", "0", "active", "8", "4000", "0", "0x1000", "0x40", "0x80", "64"] in lines
    assert ["SDMA", "0", "0", "1", "active", "-", "4000", "1", "0x1004", "-", "-", "-"] in lines
    assert lines[-1][-5:] == ["on", "a", "machine", "with", "one"]


def test_a_part_reads_what_it_needs(kfd: FakeKfd) -> None:
    """GPUs are shown without the files of debugfs, and queues without rls and hqds. Seen failing with every file read
    for each part."""
    for name in ("rls", "hqds"):
        (kfd.debug / name).unlink()
    queue = show_json(kfd, "queues")["processes"][1]["queues"][0]
    assert queue["mqd"]["cu_masks"] == [["0x3fff", "0xfff", "0x0", "0x1"]]
    (kfd.debug / "mqds").unlink()
    assert show_json(kfd, "gpus")["gpus"][0]["address"] == "0000:03:00.0"
    assert find_refusal(kfd, "queues") == (
        3, "gpulens: /sys/kernel/debug/kfd/mqds: ENOENT: No such file or directory; check the path; it needs "
        "CONFIG_DEBUG_FS, and debugfs mounted\n")


def test_json_has_owners_and_order(kfd: FakeKfd) -> None:
    """The runlist's queues in its order, with process and queue; and all slots. Seen failing with the doorbell not
    shifted."""
    document = show_json(kfd)
    (runlist,) = document["runlists"]
    assert [[(q["owner"], q["gws"]) for q in process["queues"]] for process in runlist["processes"]] == [
        [({"pid": 4000, "queue": 0}, True), ({"pid": 4000, "queue": 1}, False)], [({"pid": 4010, "queue": 0}, False)]]
    assert runlist["oversubscription"] == {"chained": False, "compute_queues": 2, "compute_slots": 24, "processes": 2,
                                           "processes_at_once": None}
    assert [(s["kind"], s["pipe"], s["slot"], s["active"]) for s in document["hardware_queues"][0]["slots"]] == [
        ("HIQ", 0, 0, True), ("CP", 0, 0, True), ("CP", 0, 1, False), ("CP", 1, 0, True), ("SDMA", 0, 0, False),
        ("SDMA", 0, 1, True)]


def test_oversubscription_names_its_reasons(kfd: FakeKfd) -> None:
    """25 queues for 24 slots, and 3 processes of which 2 are mapped at once. Seen failing with the SDMA queue counted
    among the compute queues."""
    words = [*map_process(1, 25)]
    for i in range(25):
        words += map_queues(Queue(doorbell=0x2000 + 2 * i, mqd=0x9000_0000 + 0x1000 * i))
    words += [*map_queues(COPY), *map_process(2, 0), *map_process(3, 0)]
    words += run_list(0x8000_0000_1000, len(words) + 4, 2)
    kfd.show(MQDS, NODE + dump_words(words, 2), HQDS)
    text = show_amd(kfd, "runlist", status=1)
    assert ("3 processes, 25 compute queues, 1 SDMA queue, oversubscribed: 25 compute queues for 24 slots; "
            "3 processes, 2 at once\n") in text
    assert "25 queues of the runlist are in no process of mqds" in text
    words[-1] &= ~(1 << 20)  # no chain: the driver does not call it oversubscribed
    kfd.show(MQDS, NODE + dump_words(words, 2), HQDS)
    assert "1 SDMA queue, not oversubscribed\n" in show_amd(kfd, "runlist", status=1)


def test_a_queue_needs_its_doorbell_and_its_mqd(kfd: FakeKfd) -> None:
    """A slot with the doorbell of a queue and another MQD has no known owner. Seen failing with the doorbell alone."""
    other = Queue(mqd=0x8000_0099_0000).registers()
    kfd.show(MQDS, NODE + "  No active runlist\n", NODE + "  CP Pipe 0, Queue 0\n" + dump_registers(other))
    text = show_amd(kfd, "slots", status=1)
    assert "unknown  unknown    0x1000" in text
    assert "the queues in 1 slots are in no process of mqds" in text
    assert "Runlist of GPU 0x8f1c: none is active\n" in show_amd(kfd, "runlist")


def test_a_stopped_device_is_called_so(kfd: FakeKfd) -> None:
    """dqm_debugfs_hqds() writes one line for it. Seen failing with the line skipped."""
    kfd.show(MQDS, "", NODE + " Device is stopped\n")
    assert "Hardware queues of GPU 0x8f1c: the device is stopped\n" in show_amd(kfd, "slots")


def test_newer_kernels_write_the_pid_for_the_pasid(kfd: FakeKfd) -> None:
    """Then the PASID is unknown, unless proc/PID/pasid_GPU tells. Seen failing with the PID shown as the PASID."""
    for pasid in ("4000", "0xfa0"):  # the second form was on the mailing list; Linux 7.1.5 writes the first
        kfd.show(f"Process 4000 PASID {pasid}:\n" + describe_queue(VEGA20, FIRST))
        assert show_json(kfd, "queues")["processes"][0]["queues"][0]["pasid"] is None
    (kfd.debug / "proc/4000").mkdir(parents=True)
    (kfd.debug / f"proc/4000/pasid_{VEGA20}").write_text("77\n")
    assert show_json(kfd, "queues")["processes"][0]["queues"][0]["pasid"] == 77


def test_several_dies_have_an_mqd_each(tmp_path: pathlib.Path) -> None:
    """GFX 9.4.2 (gfx942), two XCCs: masks of each, MAP_PROCESS of 21 words, slots of both dies, and an SDMA queue whose
    MQD the driver repeats. Words 39 to 42 are no masks there. Seen failing with the first die's MQD for all."""
    kfd = FakeKfd(tmp_path)
    kfd.add_node(1, VEGA20, {**RADEON_VII, "gfx_target_version": 90402, "array_count": 8, "simd_count": 320,
                             "num_xcc": 2}, "gfx942")
    first, second = Queue(masks=(1, 2, 3, 4, 9)), Queue(mqd=0x8000_0010_1000, masks=(5, 6, 7, 8, 9))
    kfd.show("Process 7 PASID 0x8001:\n" + describe_queue(VEGA20, first, second) + describe_queue(VEGA20, COPY, COPY),
             NODE + dump_words([*map_process(32769, 1, words=21), *map_queues(first)], 2),
             NODE + " Inst 1,  CP Pipe 3, Queue 7\n" + dump_registers(second.registers()))
    document = show_json(kfd)
    assert document["processes"][0]["queues"][0]["mqd"]["cu_masks"] == [
        ["0x1", "0x2", "0x3", "0x4"], ["0x5", "0x6", "0x7", "0x8"]]
    assert document["hardware_queues"][0]["slots"][0] == {
        "kind": "CP", "die": 1, "pipe": 3, "slot": 7, "active": True, "owner": {"pid": 7, "queue": 0},
        "doorbell": 0x1000, "vmid": 8, "mqd": "0x800000101000", "read_pointer": 0x40, "write_pointer": 0x80,
        "ring_bytes": 65536, "pending_words": 64}


def test_sdma_queues_of_gfx10(tmp_path: pathlib.Path) -> None:
    """v10_sdma_mqd has the words of v9_sdma_mqd. Seen failing: not decoded, and status 1."""
    kfd = FakeKfd(tmp_path)
    kfd.add_node(1, VEGA20, {**RADEON_VII, "gfx_target_version": 100103}, "navi10")
    kfd.show(MQDS, NODE + dump_words(RUNLIST, 2), HQDS)
    document = show_json(kfd)
    queue = next(q for p in document["processes"] for q in p["queues"] if q["type"] == "SDMA")
    assert (queue["mqd"]["doorbell"], queue["mqd"]["ring"], queue["in_runlist"]) == (0x1004, "0x7f0000200000", True)
    slots = [slot for slot in document["hardware_queues"][0]["slots"] if slot["kind"] == "SDMA" and slot["active"]]
    assert [slot["doorbell"] for slot in slots] == [0x1004] and slots[0]["owner"]


@pytest.mark.parametrize("gfx", [70001, 120500, 130000, None])
def test_nothing_is_guessed_of_an_unknown_generation(tmp_path: pathlib.Path, gfx: "typing.Optional[int]") -> None:
    """Queues and slots without numbers, no runlist, and status 1. Seen failing with GFX9's positions for the rest."""
    kfd = FakeKfd(tmp_path)
    properties = {**RADEON_VII, "gfx_target_version": gfx}
    kfd.add_node(1, VEGA20, {k: v for k, v in properties.items() if v is not None}, "new")
    kfd.show(MQDS, NODE + dump_words(RUNLIST, 2), HQDS)
    document = show_json(kfd, status=1)
    assert [q["mqd"] for p in document["processes"] for q in p["queues"]] == [None] * 4
    assert document["runlists"][0]["processes"] is None
    assert {slot["active"] for slot in document["hardware_queues"][0]["slots"]} == {None}
    assert "the positions in MQDs of compute queues of GFX" in document["notes"][0]


def cut_off(text: str, line: int, end: int) -> str:
    """The text up to some characters of a line, with an end of line."""
    lines = text.split("\n")
    return "\n".join([*lines[:line - 1], lines[line - 1][:end]]) + "\n"


def leave_out(text: str, line: int) -> str:
    """The text without a line."""
    lines = text.split("\n")
    return "\n".join(lines[:line - 1] + lines[line:])


OTHER = "the file was cut off, or is of a kernel that is not known"
BAD: "list[tuple[str, str, str]]" = [
    ("mqds", MQDS[:-20], "mqds:214: the line has no end; the file was cut off"),
    ("mqds", cut_off(MQDS, 10, 38), "mqds:10: expected up to 8 words of 8 hexadecimal digits; the line may be cut off"),
    ("mqds", leave_out(MQDS, 10), "mqds:10: offset 0x100 where 0xe0 follows; rows are missing"),
    ("mqds", cut_off(MQDS, 60, 999), f"mqds:2: the MQD has 464 words, not 512; {OTHER}"),
    ("mqds", cut_off(MQDS, 2, 999), "mqds:2: no MQD follows the queue's heading"),
    ("mqds", MQDS.replace("device 8f1c", "device 1234", 1), "mqds:2: GPU id 1234 is not in the topology"),
    ("mqds", "What\n", 'mqds:1: "What": the kernel\'s driver writes no such line here'),
    ("mqds", MQDS.replace("Process 4010", "Process -1"),
     'mqds:84: "Process -1 PASID 0x8002:": the kernel\'s driver writes no such line here'),
    ("rls", NODE, "rls:2: nothing follows the GPU's heading; the file was cut off"),
    ("rls", "Node 1, gpu_id 1:\n  No active runlist\n", "rls:1: GPU id 1 is not in the topology"),
    ("rls", NODE + dump_words(RUNLIST[:20], 2),
     "rls:4: word 16 of the runlist: MAP_QUEUES of 7 words, of which 4 are there; the file was cut off"),
    ("rls", NODE + dump_words([*RUNLIST, 5], 2), "rls:8: word 53 of the runlist: 0x00000005 is no header of a packet"),
    ("rls", NODE + dump_words([*RUNLIST, 0, 5], 2),
     "rls:8: word 54 of the runlist: a word that is not 0 after the last packet"),
    ("rls", NODE + dump_words([0xc0033700, 0, 0, 0, 0], 2),
     "rls:2: word 0 of the runlist: opcode 0x37, which the driver does not write there"),
    ("rls", NODE + dump_words([0xc00fa100, *[0] * 16], 2),
     "rls:2: word 0 of the runlist: MAP_PROCESS of 17 words, which the driver does not write"),
    ("rls", NODE + dump_words(map_queues(FIRST), 2), "rls:2: word 0 of the runlist: MAP_QUEUES before any MAP_PROCESS"),
    ("rls", NODE + dump_words([*run_list(0, 8, 1), *run_list(0, 8, 1)], 2),
     "rls:2: word 4 of the runlist: a packet after RUN_LIST, which the driver does not write"),
    ("hqds", HQDS.replace("CP Pipe 1", "CP Pipe x"),
     'hqds:26: " Inst 0,  CP Pipe x, Queue 0": the kernel\'s driver writes no such line here'),
    ("hqds", cut_off(HQDS, 16, 999), f"hqds:10: the HQD has 48 words, not 56; {OTHER}"),
    ("hqds", NODE + "  CP Pipe 0, Queue 0\n", "hqds:2: no registers follow the slot's heading"),
]


@pytest.mark.parametrize("file, text, message", BAD, ids=[message for _, _, message in BAD])
def test_a_bad_file_is_refused_with_its_line(kfd: FakeKfd, file: str, text: str, message: str) -> None:
    """Cut off, of another kernel, or not of the driver: nothing is shown. Seen failing with the line of the
    file's end in each message."""
    (kfd.debug / file).write_text(text)
    part = {"mqds": "queues", "rls": "runlist", "hqds": "slots"}[file]
    assert find_refusal(kfd, part) == (2, f"gpulens: /sys/kernel/debug/kfd/{message}\n")


def test_a_bad_file_costs_its_part(kfd: FakeKfd) -> None:
    """Where all are shown, with the reason; whether a queue is in the runlist is unknown then. Seen failing: nothing
    was shown, not even the GPUs; and with false for each queue."""
    (kfd.debug / "rls").unlink()
    (kfd.debug / "hqds").write_text("What\n")
    document = show_json(kfd, status=1)
    assert len(document["gpus"]) == 1 and len(document["processes"]) == 2
    assert document["runlists"] is None and document["hardware_queues"] is None
    assert ["rls: ENOENT" in document["notes"][0], "hqds:1: " in document["notes"][1]] == [True, True]
    assert {queue["in_runlist"] for process in document["processes"] for queue in process["queues"]} == {None}
    assert "Runlist" not in show_amd(kfd, status=1).split("Note:")[0].split("PASID", 1)[1][40:]


def test_partitions_have_the_address_of_their_gpu(tmp_path: pathlib.Path) -> None:
    """Eight of a GPU, by its unique id, whose numbers the driver adds to the location, as of a real MI300X in CPX. GPUs
    of other ids keep theirs. Seen failing with functions 0 to 7."""
    kfd = FakeKfd(tmp_path)
    for node in range(8):
        kfd.add_node(1 + node, VEGA20 + node, {**RADEON_VII, "location_id": 1280 + node, "unique_id": 2 ** 60 + 1}, "x")
    kfd.add_node(9, 9, {**RADEON_VII, "location_id": 1281, "unique_id": 7}, "y")
    assert [gpu["address"] for gpu in show_json(kfd, "gpus")["gpus"]] == 8 * ["0000:05:00.0"] + ["0000:05:00.1"]


def test_an_empty_queue_has_nothing_pending(kfd: FakeKfd) -> None:
    """The words of a real BC-250's queue: 0x15fd0 and 0x95fd0 in a ring of 1 MiB. Seen failing without a modulus."""
    queue = FIRST._replace(pointers=(0x15fd0, 0x95fd0), size=1 << 20)
    kfd.show("Process 4000 PASID 4000:\n" + describe_queue(VEGA20, queue))
    assert show_json(kfd, "queues")["processes"][0]["queues"][0]["mqd"]["pending_words"] == 0


def test_a_bad_topology_is_refused(kfd: FakeKfd) -> None:
    """A missing folder, lines that are no properties, and numbers that are too large. Seen failing with such a number
    called missing."""
    properties = kfd.nodes / "1/properties"
    place = "gpulens: /sys/class/kfd/kfd/topology/nodes"
    properties.write_text("simd_count\n")
    assert find_refusal(kfd, "gpus") == (2, f"{place}/1/properties:1: expected a name and a number\n")
    properties.write_text("simd_count 5\nsimd_per_cu 99999999999\n")
    assert find_refusal(kfd, "gpus") == (2, f"{place}/1/properties:2: simd_per_cu is not a number of 32 bits\n")
    properties.write_text("simd_count 5\n")
    assert find_refusal(kfd, "gpus") == (
        2, f"{place}/1/properties: it has no simd_per_cu, so it is not the properties of a KFD node\n")
    (kfd.root / "sys/class").rename(kfd.root / "elsewhere")
    assert find_refusal(kfd, "gpus") == (
        3, f"{place}: No such file or directory\n")


def test_queues_that_the_driver_calls_bad_are_noted(kfd: FakeKfd) -> None:
    """With file and line, and status 1. Seen failing with the line skipped."""
    kfd.show(MQDS + "  Bad user queue type 9 on device 8f1c\n")
    assert "mqds:215: Bad user queue type 9 on device 8f1c\n" in show_amd(kfd, "queues", status=1)


def test_missing_rights_are_named(kfd: FakeKfd) -> None:
    """debugfs is root's: the file and what to do. Seen failing with an empty table."""
    (kfd.debug / "mqds").chmod(0)
    done = gpulens("amd", "queues", "--from", str(kfd.root), before=ORDINARY)
    assert (done.returncode, done.stderr) == (
        3, f"gpulens: {kfd.debug}/mqds: EACCES: Permission denied; run as its owner, or as root: sudo gpulens ...\n")


def test_gpus_of_other_sources_are_refused(kfd: FakeKfd) -> None:
    """-i and -g name GPUs of NVIDIA. Seen failing with -g ignored."""
    done = gpulens("-g", "0", "amd", "--from", str(kfd.root))
    assert (done.returncode, done.stdout) == (2, "")
    assert "it reads AMD's GPUs only, and has neither -i nor -g" in done.stderr
