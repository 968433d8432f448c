# SPDX-License-Identifier: GPL-2.0
"""libgpulens-partition as programs use it: in C, by libsmctrl's names, fed by an image and by NVIDIA's driver."""

import json
import os
import subprocess
import typing

import pytest
from program import ROOT, image

LIBRARY = ROOT / "build/bin/libgpulens-partition.so"
FACTS = json.loads((ROOT / "tests/rm/h200-580.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module", name="program")
def built(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A C program for libsmctrl, linked with this library."""
    assert LIBRARY.exists(), f"{LIBRARY} is not there; run make tool-parts"
    program = tmp_path_factory.mktemp("smctrl") / "program"
    subprocess.run(["gcc", "-std=gnu11", "-Wall", "-Wextra", "-Werror", f"-I{ROOT}/partition", "-o", str(program),
                    str(ROOT / "tests/partition/smctrl_program.c"), f"-L{LIBRARY.parent}", "-lgpulens-partition",
                    f"-Wl,-rpath,{LIBRARY.parent}"], check=True)
    return str(program)


def run(program: str, *words: str, **env: str) -> "subprocess.CompletedProcess[str]":
    """Output and errors as text."""
    return subprocess.run([program, *words], capture_output=True, text=True, check=False, timeout=60,
                          env={**os.environ, **env})


def test_a_program_for_libsmctrl_gets_the_gpcs_of_an_image(program: str) -> None:
    """GTX 1060 3GB: nine TPCs, five in GPC 0 and four in GPC 1, as the emulated die has them."""
    done = run(program, GPULENS_SOURCE=str(image("gp106")))
    assert done.stdout.splitlines() == ["tpcs 0 9", "gpcs 0", "1f", "1e0", "ext 0", "0:000000000000001f",
                                        "0:00000000000001e0", "gpu 7: 19"]
    assert done.stderr == f"gpulens-partition: {image('gp106')}: there is no GPU 7; there are 1\n"


@pytest.mark.parametrize("index", range(3))
def test_more_than_64_tpcs_are_told_by_ext_alone(program: str, index: int) -> None:
    """H200s, whose SMs the driver tells: TPC n has SMs 2n and 2n + 1; ERANGE where 64 bits are too few."""
    facts = FACTS["gpus"][index]
    masks = [0] * 8
    for row in facts["sm_table"]:
        one = dict(zip(facts["sm_table_fields"], row))
        masks[facts["logical_to_physical_gpc"][one["logical_gpc"]]] |= 1 << one["smid"] // 2
    done = run(program, GPULENS_SOURCE="driver", LD_PRELOAD=str(ROOT / "build/bin/fake_rm.so"),
               GPULENS_FAKE_RM=str(ROOT / "tests/rm/h200-580.json"), GPULENS_FAKE_RM_GPU=str(index))
    assert done.stdout.splitlines() == ["tpcs 0 66", "gpcs 34", "ext 0",
                                        *[f"{mask >> 64:x}:{mask & (1 << 64) - 1:016x}" for mask in masks], "gpu 7: 19"]
    assert "gpulens-partition: GPU 0 has 66 TPCs, more than 64 bits\n" in done.stderr


def run_on_h200(program: str, *words: str, **env: str) -> "subprocess.CompletedProcess[str]":
    """With a libcuda and a resource manager of the tests."""
    return run(program, *words, LD_PRELOAD=str(ROOT / "build/bin/fake_rm.so"),
               LD_LIBRARY_PATH=str(ROOT / "build/bin/fake-cuda"),
               GPULENS_FAKE_RM=str(ROOT / "tests/rm/h200-580.json"), **env)


@pytest.mark.parametrize("index", range(3))
def test_masks_confine_launches(program: str, index: int) -> None:
    """TPC n has SMs 2n and 2n + 1: the global mask, the next one over it for one launch, and TPCs beyond 64."""
    done = run_on_h200(program, "masks", GPULENS_FAKE_RM_GPU=str(index), FAKE_CUDA_BUS=f"0{index + 1}")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        "ran on 0 1 2 3", "ran on 4 5", "ran on 0 1 2 3", "ran on 130 131", "ran on 128 129 130 131"]


REFUSED = {
    "VERSION=65": "descriptors of launches have version 0x41 here; known is 0x40",
    "VERSION=22": "descriptors of launches have version 0x16 here; known is 0x40",
    "SHIFT=1": "bit 0 of a launch's mask took SMs none away, and not TPC 0's",
    "DEAF=1": "the driver does not call back before a launch",
    "BUSY=1": "the driver refuses its callback before a launch (one subscriber at a time: a profiler, or gpulens run?)",
    "NO_TABLE=1": "this driver has no callback before a launch"}


@pytest.mark.parametrize("how", REFUSED)
def test_what_is_not_verified_is_not_used(program: str, how: str) -> None:
    """A driver that does otherwise: the program ends before its first launch, and says what was seen."""
    name, value = how.split("=")
    done = run_on_h200(program, "masks", **{f"FAKE_CUDA_{name}": value})
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (f"gpulens-partition: libsmctrl_set_global_mask: {REFUSED[how]}; the program ends, because "
                           "it would run unpartitioned\n")


def test_a_partition_without_tpcs_is_refused(program: str) -> None:
    """It would wait for ever."""
    done = run_on_h200(program, "empty")
    assert (done.returncode, done.stdout) == (1, "")
    assert "libsmctrl_set_next_mask: the mask is empty; " in done.stderr


def test_masks_of_streams_confine_their_launches(program: str) -> None:
    """Over the global mask of TPCs 0 and 1, below the next launch's; another stream has the global one still."""
    done = run_on_h200(program, "streams")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        "ran on 4 5", "ran on 0 1 2 3", "ran on 6 7", "ran on 4 5", "ran on 130 131", "ran on 0 1 2 3"]


STREAMS = {
    "ROAM=1": "the stream's launches cannot be told from others'",
    "FAR=1": "the stream's launches cannot be told from others'",
    "LEAK=9": "with the stream's mask the probe ran on SM 9"}


@pytest.mark.parametrize("how", STREAMS)
def test_a_stream_whose_launches_are_not_known_ends_the_program(program: str, how: str) -> None:
    """A driver that keeps descriptors otherwise, or whose masks do not hold there."""
    name, value = how.split("=")
    done = run_on_h200(program, "streams", **{f"FAKE_CUDA_{name}": value})
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (f"gpulens-partition: libsmctrl_set_stream_mask: {STREAMS[how]}; the program ends, because "
                           "it would run unpartitioned\n")


def test_the_per_thread_stream_has_no_mask(program: str) -> None:
    """It is another stream in each thread."""
    done = run_on_h200(program, "per-thread")
    assert (done.returncode, done.stdout) == (1, "")
    assert "the per-thread default stream is another one in each thread; " in done.stderr


def test_tpcs_by_cudas_number(program: str) -> None:
    """CUDA's device 0 is found by its PCI address."""
    assert run_on_h200(program, "cuda").stdout == "tpcs 0 66\n"
    done = run_on_h200(program, "cuda", FAKE_CUDA_BUS="07")
    assert done.stdout == "tpcs 19 0\n"
    assert done.stderr == "gpulens-partition: NVIDIA's driver tells of no GPU at 0000:07:00.0\n"


def test_without_cuda_or_its_gpu_it_says_so(program: str) -> None:
    """No libcuda.so.1; one whose GPU the driver does not tell of."""
    done = run(program, "masks")
    assert done.returncode == 1 and "no CUDA: libcuda.so.1: cannot open shared object file" in done.stderr
    done = run_on_h200(program, "masks", FAKE_CUDA_BUS="07")
    assert done.returncode == 1 and "NVIDIA's driver tells of no GPU at 0000:07:00.0" in done.stderr


def test_without_a_module_or_a_driver_it_says_so(program: str) -> None:
    """ENODEV, and why."""
    done = run(program, GPULENS_SOURCE="module")
    assert done.stdout.splitlines() == ["tpcs 19 0", "gpcs 19", "ext 19", "gpu 7: 19"]
    assert "the module is not loaded" in done.stderr


def test_only_the_interface_is_exported() -> None:
    """Symbols of the library are those of its headers."""
    text = subprocess.run(["nm", "-D", "--defined-only", str(LIBRARY)], check=True, capture_output=True,
                          text=True).stdout
    names: typing.Set[str] = {line.split()[2].split("@")[0] for line in text.splitlines()}
    headers = "".join((ROOT / "partition" / name).read_text(encoding="ascii")
                      for name in ("gpulens-partition.h", "libsmctrl.h"))
    assert len(names) == 26 and {name for name in names if f"{name}(" not in headers} == {"GPULENS_0"}
