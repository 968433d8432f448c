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


@pytest.mark.parametrize("kind", ("global", "stream", "stream_ext", "next"))
def test_a_partition_that_cannot_be_had_ends_the_program(program: str, kind: str) -> None:
    """As long as no way to a launch's mask is verified."""
    done = run(program, kind, GPULENS_SOURCE=str(image("gp106")))
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"gpulens-partition: libsmctrl_set_{kind}_mask: " if kind != "stream_ext" else
                                  "gpulens-partition: libsmctrl_set_stream_mask_ext: ")
    assert "would run unpartitioned" in done.stderr


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
    assert len(names) == 23 and {name for name in names if f"{name}(" not in headers} == {"GPULENS_0"}
