# SPDX-License-Identifier: GPL-2.0
"""Launch descriptors of every version whose mask NVIDIA's headers define, with a fake libcuda that has the bytes of
each (literals of open-gpu-doc, classes/compute/cl*qmd.h), and whose bits are not those of an H200."""

import json
import pathlib
import re
import subprocess

import pytest
from support.fakerm import FACTS, RECORDING, recording_with
from support.program import ROOT, TOOL, build_program

GPU = FACTS["gpus"][0]
UUID = "00112233445566778899aabbccddeeff"  # as fake_cuda.cc has it

# Version as FAKE_CUDA_VERSION, compute capability, TPCs, how the tool calls it, its source, bits of its mask.
VERSIONS = [
    (0x16, 30, 40, "1.6", "cla0c0qmd.h", 64),
    (0x17, 52, 40, "1.7", "cla0c0qmd.h", 64),
    (0x20, 60, 40, "2.0", "clc0c0qmd.h", 64),
    (0x21, 61, 40, "2.1", "clc0c0qmd.h", 64),
    (0x22, 70, 40, "2.2", "clc3c0qmd.h", 64),
    (0x23, 75, 40, "2.3", "clc5c0qmd.h", 64),
    (0x24, 86, 40, "2.4", "clc6c0qmd.h", 64),
    (0x24, 0, 64, "2.4", "clc6c0qmd.h", 64),
    (0x30, 80, 40, "3.0", "clc6c0qmd.h", 64),
    (0x30, 89, 66, "3.0 of Ada", "clc9c0qmd.h", 72),
    (0x41, 100, 66, "4.1", "clcdc0qmd.h", 128),
    (0x50, 100, 66, "5.0", "clcdc0qmd.h", 128),
    (0x50, 120, 40, "5.0", "clcdc0qmd.h", 128),
]
NEEDS_WORD = [row for row in VERSIONS if row[0] < 0x40 and (row[1] == 0 or row[1] >= 60)]
IDS = [f"{name}-{capability}-{tpcs}" for _, capability, tpcs, name, _, _ in VERSIONS]


@pytest.fixture(scope="module", name="program")
def build_cuda_program(tmp_path_factory: pytest.TempPathFactory) -> str:
    """tests/partition/cuda_program.c."""
    return build_program("cuda_program", tmp_path_factory.mktemp("cuda"))


@pytest.fixture(scope="module", name="work")
def build_work_program(tmp_path_factory: pytest.TempPathFactory) -> str:
    """tests/partition/work_program.c."""
    return build_program("work_program", tmp_path_factory.mktemp("work"), partition=True)


def gpu_of(folder: pathlib.Path, version: int, capability: int, tpcs: int, **more: str) -> dict[str, str]:
    """The environment with a GPU of so many TPCs; NVIDIA's driver reports the first ones of an H200."""
    recording = RECORDING if tpcs == 66 else recording_with(
        folder, ("gpus/0/sm_table", GPU["sm_table"][:2 * tpcs]), ("gpus/0/num_sm", 2 * tpcs), ("gpus/0/num_tpc", tpcs))
    return {"PATH": "/usr/bin:/bin", "LD_PRELOAD": str(ROOT / "build/bin/fake_rm.so"),
            "LD_LIBRARY_PATH": str(ROOT / "build/bin/fake-cuda"), "GPULENS_FAKE_RM": recording,
            "FAKE_CUDA_VERSION": str(version), "FAKE_CUDA_CAPABILITY": str(capability), "FAKE_CUDA_TPCS": str(tpcs),
            "GPULENS_NO_COOPERATIVE": "1", **more}


def run_text(words: list[str], env: dict[str, str]) -> "subprocess.CompletedProcess[str]":
    """Runs a program with output and errors as text."""
    return subprocess.run(words, capture_output=True, text=True, check=False, timeout=600, env=env)


@pytest.mark.parametrize("version,capability,tpcs", [row[:3] for row in VERSIONS], ids=IDS)
def test_a_program_runs_on_its_tpcs(program: str, tmp_path: pathlib.Path, version: int, capability: int,
                                    tpcs: int) -> None:
    """An unmodified program on TPCs 0 to 2 and the last one, and on the first of each two. Seen failing with mask_at 4
    bytes higher in the library that is preloaded, and with EXT_UPPER one bit higher."""
    env = gpu_of(tmp_path, version, capability, tpcs)
    done = run_text([str(TOOL), "run", "-q", "--tpcs", f"0-2,{tpcs - 1}", "--", program], env)
    assert done.stdout.splitlines()[:1] == [f"ran on 0 1 2 3 4 5 {2 * tpcs - 2} {2 * tpcs - 1}"], done.stderr
    assert done.returncode == 7
    even = ",".join(str(tpc) for tpc in range(0, tpcs, 2))
    done = run_text([str(TOOL), "run", "-q", "--tpcs", even, "--", program], env)
    assert done.stdout.splitlines()[:1] == [
        "ran on " + " ".join(str(sm) for sm in range(2 * tpcs) if sm % 4 < 2)], done.stderr


@pytest.mark.parametrize("version,capability,tpcs", [row[:3] for row in VERSIONS], ids=IDS)
def test_streams_stay_on_their_tpcs(work: str, tmp_path: pathlib.Path, version: int, capability: int,
                                    tpcs: int) -> None:
    """A stream with a mask by the library; launches in other streams are unmodified. Seen failing with the version read
    from byte 72 in all formats (5.0)."""
    done = run_text([work, "0", "0-2"], gpu_of(tmp_path, version, capability, tpcs))
    assert done.stdout.splitlines() == [
        "granule 0 1", "got 0:0000000000000007 ran on 0 1 2 3 4 5",
        "after " + " ".join(str(sm) for sm in range(2 * tpcs))], done.stderr


@pytest.mark.parametrize("version,capability,tpcs,name,header,bits", VERSIONS, ids=IDS)
def test_methods_say_how_they_are_known(tmp_path: pathlib.Path, version: int, capability: int, tpcs: int, name: str,
                                        header: str, bits: int) -> None:
    """No version but 4.0 was seen on a GPU. Seen failing before --methods had evidence."""
    env = gpu_of(tmp_path, version, capability, tpcs)
    evidence = (f"launch descriptors of version {name}: from the manual, not yet tested on hardware (open-gpu-doc, "
                f"classes/compute/{header}); {tpcs} of {bits} bits disable 2 SMs each, found by setting each in turn")
    if (version, capability) in {row[:2] for row in NEEDS_WORD}:
        evidence += "; cooperative launches are not recognized, and the user states that there are none"
    lines = run_text([str(TOOL), "partitions", "--methods"], env).stdout.splitlines()
    assert lines[1].split() == ["masks", "any", "TPCs"] and lines[4:] == [f"masks: {evidence}"]
    methods = json.loads(run_text([str(TOOL), "partitions", "--methods", "--json"], env).stdout)["methods"]
    assert [method["evidence"] for method in methods] == [evidence, None, None]


def test_methods_name_what_was_seen(tmp_path: pathlib.Path) -> None:
    """Version 4.0 on an H200, whose bits the driver's table of SMs predicts. Seen failing before --methods had
    evidence."""
    lines = run_text([str(TOOL), "partitions", "--methods"], gpu_of(tmp_path, 0x40, 90, 66)).stdout.splitlines()
    assert lines[4:] == ["masks: launch descriptors of version 4.0, seen on H200 and H100; each TPC's bit follows from "
                         "the driver's table of SMs, and was tried"]


def describe_unknown(version: int, version_5: int) -> str:
    """The refusal of a descriptor with these bytes."""
    return (f"launch descriptors have {version:#04x} in byte 72 and {version_5:#04x} in byte 58, which is no version "
            "whose mask NVIDIA's headers define")


REFUSED = [
    (0x15, 35, {}, describe_unknown(0x15, 0)),
    (0x06, 30, {}, describe_unknown(0x06, 0)),   # in the headers of Kepler, without a mask
    (0x25, 86, {}, describe_unknown(0x25, 0)),
    (0x42, 100, {}, describe_unknown(0x42, 0)),
    (0x50, 90, {}, describe_unknown(0, 0x50)),   # byte 58 is no version before Blackwell
    (0x51, 100, {"FAKE_CUDA_EXTRA": "58:81"}, describe_unknown(0x51, 0x51)),  # in the headers, without words of a mask
    (0x41, 100, {"FAKE_CUDA_EXTRA": "58:80"}, describe_unknown(0x41, 0x50)),  # two versions fit
    (0x23, 75, {"FAKE_CUDA_TWICE": "5"}, "bits 1 and 7 of the launch mask both disabled SM 5"),
    (0x23, 75, {"FAKE_CUDA_NO_BIT": "5"}, "none of the 64 bits of the launch mask disabled SM 5"),
    (0x23, 75, {"FAKE_CUDA_ACROSS": "1"},
     "bit 0 of the launch mask disabled SMs 25, 26, which are in TPCs 12 and 13"),
    (0x23, 75, {"FAKE_CUDA_FLAKY": "70"},
     "bit 4 of the launch mask disabled SMs 66, 67, and at the second try no SM"),
    (0x23, 75, {"FAKE_CUDA_ALONE": "1"}, "with every second TPC enabled the probe ran on SMs 0, "),
    (0x41, 100, {"FAKE_CUDA_SINGLE": "1"},
     "80 of 128 bits disable 1 SM each; with descriptors of version 4.1 only bits of 2 SMs are supported"),
]


@pytest.mark.parametrize("version,capability,more,why", REFUSED,
                         ids=[" ".join([f"{row[0]:#04x}", *row[2]]) for row in REFUSED])
def test_what_is_not_verified_is_refused(program: str, tmp_path: pathlib.Path, version: int, capability: int,
                                         more: dict[str, str], why: str) -> None:
    """A version that no header describes, and bits that are not complete, disjoint, of one TPC, repeatable and
    independent. The program is not started. Each was seen failing without its check."""
    done = run_text([str(TOOL), "run", "--tpcs", "0", "--", program], gpu_of(tmp_path, version, capability, 40, **more))
    assert why in done.stderr and (done.returncode, done.stdout) == (4, ""), done.stderr


def test_more_tpcs_than_bits_are_refused(program: str, tmp_path: pathlib.Path) -> None:
    """66 TPCs, and 64 bits in descriptors of version 2.4: TPCs 0 and 64 share bit 7 of the fake. Seen
    failing without the check that a bit is of one TPC."""
    done = run_text([str(TOOL), "run", "--tpcs", "0", "--", program], gpu_of(tmp_path, 0x24, 86, 66))
    assert done.stderr == (
        "gpulens: bit 7 of the launch mask disabled SMs 0, 1, 128, 129, which are in TPCs 0 and 64\n")
    assert done.returncode == 4


def test_a_bit_may_be_an_sm(program: str, tmp_path: pathlib.Path) -> None:
    """Each SM has a bit of its own: a TPC has two bits. Seen failing with the last bit of a TPC alone."""
    env = gpu_of(tmp_path, 0x20, 60, 28, FAKE_CUDA_SINGLE="1")
    done = run_text([str(TOOL), "run", "-q", "--tpcs", "1,27", "--", program], env)
    assert done.stdout.splitlines()[:1] == ["ran on 2 3 54 55"], done.stderr
    assert "56 of 64 bits disable 1 SM each" in run_text([str(TOOL), "partitions", "--methods"], env).stdout


@pytest.mark.parametrize("version,capability,tpcs,launches", (
    (0x40, 90, 66, 67), (0x24, 86, 40, 131), (0x30, 89, 66, 147), (0x50, 100, 66, 259)))
def test_discovery_takes_few_launches(program: str, tmp_path: pathlib.Path, version: int, capability: int, tpcs: int,
                                      launches: int) -> None:
    """A launch without a mask, two of each bit, two of halves; of version 4.0 one of each TPC instead; and the
    program's own. Seen failing with a third launch of each bit."""
    log = tmp_path / "log"
    env = gpu_of(tmp_path, version, capability, tpcs, FAKE_CUDA_LOG=str(log))
    assert run_text([str(TOOL), "run", "-q", "--tpcs", "0", "--", program], env).returncode == 7
    assert log.stat().st_size == launches + 1


@pytest.mark.parametrize("driver", ("535.288.01", "550.163.01", "570.211.01", "575.64.05", "590.48.01", "595.45.04"))
def test_other_drivers_give_masks(program: str, tmp_path: pathlib.Path, driver: str) -> None:
    """TPCs by GPC, as an H200 had them (docs/results/2026-11-22-h200-masks.md), with the layouts of that driver.
    Seen failing before they were known: the GPU's GPCs and TPCs were unknown."""
    env = gpu_of(tmp_path, 0x40, 90, 66, GPULENS_FAKE_RM_VERSION=driver)
    done = run_text([str(TOOL), "run", "-q", "--gpcs", "0", "--", program], env)
    assert done.stdout.splitlines()[:1] == [
        "ran on 12 13 28 29 44 45 60 61 74 75 88 89 102 103 116 117 120 121"], done.stderr


# GR_GET_GLOBAL_SM_ORDER is refused.
NO_TABLE = {"GPULENS_FAKE_RM_SIZES": "2080121b:0"}


@pytest.mark.parametrize("version,capability,tpcs", ((0x40, 90, 66), (0x24, 86, 40), (0x30, 89, 66), (0x50, 100, 66)))
def test_bits_are_discovered_without_the_drivers_table(program: str, work: str, tmp_path: pathlib.Path, version: int,
                                                       capability: int, tpcs: int) -> None:
    """The driver does not report SMs: TPC n is the bit that disables %smid 2n and 2n + 1. Seen failing before
    discovery: the GPU's GPCs and TPCs were unknown."""
    env = gpu_of(tmp_path, version, capability, tpcs, **NO_TABLE)
    done = run_text([str(TOOL), "run", "--tpcs", f"0-2,{tpcs - 1}", "--", program], env)
    assert done.stdout.splitlines()[:1] == [f"ran on 0 1 2 3 4 5 {2 * tpcs - 2} {2 * tpcs - 1}"], done.stderr
    assert f"is limited to TPCs 0-2, {tpcs - 1} of 0000:01:00.0, in unknown GPCs\n" in done.stderr
    done = run_text([work, "0", "0-2"], env)
    assert done.stdout.splitlines()[:2] == ["granule 0 1", "got 0:0000000000000007 ran on 0 1 2 3 4 5"], done.stderr


def test_without_the_drivers_table_there_are_no_gpcs(program: str, work: str, tmp_path: pathlib.Path) -> None:
    """GPCs and halves are refused, and green contexts, whose TPCs the library cannot name. Seen failing without
    require_gpcs()."""
    env = gpu_of(tmp_path, 0x40, 90, 66, **NO_TABLE)
    for words in (["--gpcs", "0"], ["--half", "a"]):
        done = run_text([str(TOOL), "run", *words, "--", program], env)
        assert done.stderr == ("gpulens: the GPCs of this GPU are unknown, as NVIDIA's driver does not report its SMs; "
                               "name TPCs\n")
        assert (done.returncode, done.stdout) == (4, "")
    methods = json.loads(run_text([str(TOOL), "partitions", "--methods", "--json"], env).stdout)["methods"]
    assert methods[0]["evidence"] == (
        "launch descriptors of version 4.0, seen on H200 and H100; 66 of 128 bits disable 2 SMs each, found by setting "
        "each in turn; NVIDIA's driver does not report the GPU's SMs, so its GPCs are unknown, and a TPC is what one "
        "bit disables")
    assert {method["why"] for method in methods[1:]} == {
        "NVIDIA's driver does not report the GPU's SMs, so the TPCs of a green context are unknown"}
    assert run_text([work, "1", "0-2"], env).stdout.splitlines()[0].split()[:2] == ["granule", "-95"]


WAITS = ("a cooperative launch of 13 blocks has a mask of 12 SMs: launch at most 12 blocks, without clusters; the "
         "program ends, because its blocks could wait for each other for ever")


@pytest.mark.parametrize("version", (0x41, 0x50))
def test_cooperative_launches_are_recognized(program: str, tmp_path: pathlib.Path, version: int) -> None:
    """GPU_CGA_WIDTH is at 2223:2208 in version 4.1 and at 2127:2112 in 5.0, QMD_TYPE at 25:23 and at 153:151. Seen
    failing with the offsets of 4.0 in 5.0: 13 blocks were launched."""
    env = gpu_of(tmp_path, version, 100, 66, LD_PRELOAD=str(ROOT / "build/bin/libgpulens-confine.so"),
                 GPULENS_LAUNCH_MASK=f"{version:x}:ffffffffffffffc0:ffffffffffffffff:2:{UUID}")
    done = run_text([program, "coop", "12"], env)
    assert (done.returncode, done.stdout, done.stderr) == (0, "cooperated\n", "")
    done = run_text([program, "coop", "13"], env)
    assert (done.returncode, done.stdout, done.stderr) == (4, "", f"gpulens-partition: {WAITS}\n")


CLUSTER = ("gpulens-partition: a launch has clusters of {} blocks, and its mask leaves at most {} SMs of one GPC: "
           "choose TPCs of one GPC (gpulens --source rm gpcs); the program ends, because the launch would wait for "
           "ever\n")


# TPCs, blocks of a cluster as the program takes them, their number, and the SMs of the mask in one virtual GPC.
CLUSTERS = [("0-7", "2", 2, 2), ("0-7", "4", 4, 2), ("0,8,16", "2x3", 6, 6), ("0,8,16", "2x4", 8, 6),
            ("0-7", "3", 3, 2), ("0-8", "4", 4, 4), ("0,65", "4", 4, 2), ("0-65", "16", 16, 18),
            ("1,9,17,25", "8", 8, 8)]


@pytest.mark.parametrize("version,cases", ((0x40, CLUSTERS), (0x41, CLUSTERS[:4]), (0x50, CLUSTERS[:4])),
                         ids=("4.0", "4.1", "5.0"))
def test_a_cluster_that_its_mask_does_not_hold_is_refused(program: str, tmp_path: pathlib.Path, version: int,
                                                          cases: list[tuple[str, str, int, int]]) -> None:
    """A cluster has its blocks on different SMs of one virtual GPC, as an H100 showed; without room it waits for ever.
    TPCs 0 to 7 are in different ones, 0, 8 and 16 in one, 65 alone. GPC_CGA_WIDTH is at 2149:2144 in versions 4.0 and
    4.1, and at 2053:2048 in 5.0. Seen failing with the driver's GPCs in place of virtual ones, and with 4.0's place
    in 5.0."""
    env = gpu_of(tmp_path, version, 90 if version == 0x40 else 100, 66)
    for tpcs, cluster, blocks, fits in cases:
        done = run_text([str(TOOL), "run", "-q", "--tpcs", tpcs, "--", program, "cluster", cluster], env)
        expected = (0, "clustered 0\n") if blocks <= fits else (4, "")
        assert (done.returncode, done.stdout) == expected, (tpcs, cluster, done.stderr)
        assert (CLUSTER.format(blocks, fits) in done.stderr) == (blocks > fits), (tpcs, cluster, done.stderr)


def test_a_large_cluster_is_recognized(program: str, tmp_path: pathlib.Path) -> None:
    """LARGE_GPC_CGA_WIDTH_MINUS_ONE and _HEIGHT_MINUS_ONE, 2075:2072 and 2079:2076, are byte 259 of version 5.0: 0x13
    is 4 x 2 blocks. Seen failing without them."""
    env = gpu_of(tmp_path, 0x50, 100, 66, FAKE_CUDA_EXTRA="259:19",
                 LD_PRELOAD=str(ROOT / "build/bin/libgpulens-confine.so"),
                 GPULENS_LAUNCH_MASK=f"50:ffffffffffffffc0:ffffffffffffffff:6:{UUID}")
    done = run_text([program, "cluster", "2"], env)
    assert (done.returncode, done.stdout, done.stderr) == (4, "", CLUSTER.format(8, 6))


WORD = ("cooperative launches are not recognized in launch descriptors of version {}, and their blocks wait for ever "
        "where the TPCs of a mask do not hold all; if the program launches none, say so by gpulens run "
        "--no-cooperative or GPULENS_NO_COOPERATIVE=1")


@pytest.mark.parametrize("version,capability,tpcs,name", [row[:4] for row in NEEDS_WORD],
                         ids=[f"{row[3]}-{row[1]}" for row in NEEDS_WORD])
def test_masks_need_a_word_where_cooperative_launches_are_not_recognized(
        program: str, work: str, tmp_path: pathlib.Path, version: int, capability: int, tpcs: int, name: str) -> None:
    """From Pascal on, CUDA has cooperative launches, and descriptors before 4.0 do not tell them: no program starts, no
    partition opens, and --methods names the reason. Seen failing without check_recognized()."""
    for env in ({}, {"GPULENS_NO_COOPERATIVE": ""}, {"GPULENS_NO_COOPERATIVE": "0"}):
        env = {**gpu_of(tmp_path, version, capability, tpcs), "GPULENS_NO_COOPERATIVE": "", **env}
        done = run_text([str(TOOL), "run", "-q", "--tpcs", "0-2", "--", program], env)
        assert (done.returncode, done.stdout, done.stderr) == (4, "", f"gpulens: {WORD.format(name)}\n")
    methods = json.loads(run_text([str(TOOL), "partitions", "--methods", "--json"], env).stdout)["methods"]
    assert methods[0]["why"] == WORD.format(name)
    assert run_text([work, "0", "0-2"], env).stdout.splitlines()[0].split()[:2] == ["granule", "-38"]
    done = run_text([str(TOOL), "run", "-q", "--no-cooperative", "--tpcs", "0-2", "--", program], env)
    assert done.stdout.splitlines()[:1] == ["ran on 0 1 2 3 4 5"], done.stderr


@pytest.mark.parametrize("version,capability,tpcs", [row[:3] for row in VERSIONS if row not in NEEDS_WORD])
def test_masks_need_no_word_elsewhere(program: str, tmp_path: pathlib.Path, version: int, capability: int,
                                      tpcs: int) -> None:
    """Kepler and Maxwell have no cooperative launches; from 4.0 on they are recognized. Seen failing with the word
    asked for on each GPU."""
    env = {**gpu_of(tmp_path, version, capability, tpcs), "GPULENS_NO_COOPERATIVE": ""}
    done = run_text([str(TOOL), "run", "-q", "--tpcs", "0-2", "--", program], env)
    assert done.stdout.splitlines()[:1] == ["ran on 0 1 2 3 4 5"], done.stderr


def test_a_mask_is_for_one_version(program: str, tmp_path: pathlib.Path) -> None:
    """A program whose descriptors have another version than those of the verified launches is ended. Seen failing when
    only byte 72 was compared (5.0)."""
    env = gpu_of(tmp_path, 0x41, 100, 66, LD_PRELOAD=str(ROOT / "build/bin/libgpulens-confine.so"))
    for format_id, why in (("50", "a launch has a descriptor of version 0, not 0x50"),
                           ("30", "a launch has a descriptor of version 0x41, not 0x30"),
                           ("51", "GPULENS_LAUNCH_MASK is not what gpulens run sets")):
        limited = {**env, "GPULENS_LAUNCH_MASK": f"{format_id}:fffffffffffffffe:ffffffffffffffff:2:{UUID}"}
        done = run_text([program], limited)
        assert done.stderr == (f"gpulens-partition: {why}; the program ends, because it would run unpartitioned\n")
        assert (done.returncode, done.stdout) == (4, "")


def test_documents_name_each_version() -> None:
    """docs/partition.md has a row for each version, with its header, and calls all but 4.0 never seen. Seen failing
    with 2.9 for 2.3."""
    text = (ROOT / "docs/partition.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ([0-9]\.[0-9](?: of Ada)?) \|.*\| cl(\w+)qmd[^|]*\| ([^|]*) \|$", text, re.MULTILINE)
    assert {(name, f"cl{header}qmd.h") for name, header, _ in rows} == {
        *((row[3], row[4]) for row in VERSIONS), ("4.0", "clcbc0qmd.h")}
    assert [name for name, _, seen in rows if seen != "from the manual, not yet tested on hardware"] == ["4.0"]
