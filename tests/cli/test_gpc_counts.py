# SPDX-License-Identifier: GPL-2.0
"""GPCs and TPCs of chips without published fuses, as the hardware counts them (FECS_FS, GPC_FS): by logical GPC. The
emulated GK110 has 3, 3, 3, 2 and 3 TPCs in its five GPCs."""

import json
import pathlib
import typing

import jsonschema
import pytest
from support.fakeproc import FakeProc, make_topology
from support.program import ROOT, gpulens, image

SCHEMA = json.loads((ROOT / "docs/json-schema.json").read_text(encoding="utf-8"))
FIRST = "! counted by the hardware (FECS_FS, GPC_FS): GPCs are logical; order assumed, by turns over the GPCs"


def show_gpcs(*words: str) -> typing.Any:
    """The part of the JSON, which must conform to the schema."""
    document = json.loads(gpulens(*words, "gpcs", "--json").stdout)
    jsonschema.validate(document, SCHEMA)
    return document["gpus"][0]["gpcs"]


def change_image(folder: pathlib.Path, register: str, value: "typing.Optional[str]") -> str:
    """The image of the GK110 with another value of a register, or without it."""
    lines = image("gk110").read_text().splitlines()
    left = [line for line in lines if not line.startswith(f"r {register} ")]
    assert len(left) < len(lines)
    (folder / "image").write_text("\n".join(left + ([f"r {register} {value}"] if value else [])) + "\n")
    return str(folder / "image")


def test_gpcs_shows_the_counts() -> None:
    """14 of 15 TPCs, without a physical number. Seen failing with the GPCs of the fuses alone."""
    gpcs = show_gpcs("-i", str(image("gk110")))
    assert {gpc["logical_gpc"]: gpc["tpcs"] for gpc in gpcs["counted_gpcs"]} == {0: 3, 1: 3, 2: 3, 3: 2, 4: 3}
    assert gpcs["gpcs"] == [] and [gpcs[key] for key in ("gpc_mask", "tpc_order", "hardware_gpcs")] == [None] * 3
    done = gpulens("-i", str(image("gk110")), "gpcs")
    assert "5 of 5 GPCs, 14 of 15 TPCs, as the hardware counts them (FECS_FS, GPC_FS)" in done.stdout
    assert "          3     2  3, 8\n" in done.stdout
    assert "which physical ones are enabled is not published for this chip" in done.stderr
    assert show_gpcs("-i", str(image("gp106")))["counted_gpcs"] is None


def test_the_overview_and_chip_say_that_they_are_counts() -> None:
    """The overview of all GPUs, and the file chip."""
    assert "5 GPCs, 14 TPCs (counted)" in gpulens("-i", str(image("gk110"))).stdout
    chip = gpulens("-i", str(image("gk110")), "proc", "chip").stdout
    assert "logical TPC order (not published for this chip)" in chip


@pytest.mark.parametrize("register, value, message", [
    ("0x00409604", None, "not recorded: r 0x00409604"),
    ("0x00000200", "0xf833a1ff", "the graphics engine was not enabled (NV_PMC_ENABLE), as before a driver runs"),
    ("0x00502608", "0xbadf1201", "the words read are error codes of failed reads, or inconsistent"),
    ("0x00409604", "0x00000006", "the words read are error codes of failed reads, or inconsistent")])
def test_what_cannot_be_counted_is_an_error(tmp_path: pathlib.Path, register: str, value: "typing.Optional[str]",
                                            message: str) -> None:
    """tpc_map has the reason and no text; gpcs shows no count. Seen failing without the range of FECS_FS."""
    file = change_image(tmp_path, register, value)
    done = gpulens("-i", file, "proc", "tpc_map")
    assert done.returncode == 1 and done.stdout == "" and message in done.stderr
    assert show_gpcs("-i", file)["counted_gpcs"] is None
    assert "not published for this chip" in gpulens("-i", file, "gpcs").stderr


def test_the_modules_counts_are_read_from_tpc_map(tmp_path: pathlib.Path) -> None:
    """They are no table of the hardware. Seen failing when they were taken for one."""
    proc = FakeProc(tmp_path)
    proc.show(make_topology())
    proc.gpu(0).joinpath("tpc_map").write_text(f"{FIRST}\ngpc 0: 0x29\ngpc 1: 0x02\ngpc 2: 0x14\n")
    gpcs = show_gpcs("--proc", str(tmp_path), "--source", "module")
    assert [gpc["tpcs"] for gpc in gpcs["counted_gpcs"]] == [3, 1, 2] and gpcs["hardware_gpcs"] is None


def test_no_plan_is_made_of_counts() -> None:
    """An order that is assumed is none for a mask. Seen failing when counts were taken for the hardware's table."""
    done = gpulens("-i", str(image("gk110")), "plan", str(ROOT / "docs/plan-example.json"))
    assert done.returncode == 3 and done.stdout == ""
    assert "its TPCs are only counted, by logical GPC, and their order is assumed, so no mask is made" in done.stderr
