# SPDX-License-Identifier: GPL-2.0
"""The hardware's table of TPCs (CWD_GPC_TPC_ID) in the tool: images and the module's files. The emulated GPUs number
TPCs GPC by GPC up to Turing, and by turns over the GPCs later, as Jetson Thor and GB10 do."""

import json
import pathlib
import typing

import jsonschema
import pytest
from support.fakeproc import FakeProc, make_topology
from support.program import ROOT, gpulens, image, image_without_tpc_table

SCHEMA = json.loads((ROOT / "docs/json-schema.json").read_text(encoding="utf-8"))
FROM_HARDWARE = "from the hardware (CWD_GPC_TPC_ID)"


def show_gpcs(*words: str) -> typing.Any:
    """The part of the JSON, which must conform to the schema."""
    document = json.loads(gpulens(*words, "gpcs", "--json").stdout)
    jsonschema.validate(document, SCHEMA)
    return document["gpus"][0]["gpcs"]


def test_gpcs_shows_the_table() -> None:
    """GPC 7 of AD102 has five TPCs of six: the last turn leaves it out. Seen failing with TPCs counted GPC by GPC."""
    table = {gpc["logical_gpc"]: gpc["tpcs"] for gpc in show_gpcs("-i", str(image("ad102")))["hardware_gpcs"]}
    assert (len(table), table[0], table[7], table[8]) == (
        12, [0, 12, 24, 36, 48, 60], [7, 19, 31, 43, 55], [8, 20, 32, 44, 56, 67])
    text = gpulens("-i", str(image("ad102")), "gpcs").stdout
    assert FROM_HARDWARE in text and "logical TPC numbers are assumed" not in text
    assert "          7     5  7, 19, 31, 43, 55\n" in text


def test_where_the_table_was_read_no_other_numbers_are_shown() -> None:
    """Neither those that are counted GPC by GPC, nor that their order is assumed. Seen failing with both."""
    for name, recorded in (("with", image("ad102")), ("without", image_without_tpc_table("ad102"))):
        gpcs, chip = (gpulens("-i", str(recorded), command).stdout for command in ("gpcs", "chip"))
        assert ("\n  7     5  0x8\n" in gpcs) == (name == "with")
        assert ("\n  7     5  0x8                   42-46\n" in gpcs) == (name == "without")
        assert ("context layouts as GA10x (not published for this chip)\n" in chip) == (name == "with")
        assert ("as GA10x; logical TPC order (not published for this chip)\n" in chip) == (name == "without")
        assumed = json.loads(gpulens("-i", str(recorded), "--json", "chip").stdout)["gpus"][0]["chip"]["assumed"]
        assert assumed.endswith("; logical TPC order") == (name == "without")


def test_without_a_context_there_is_no_table() -> None:
    """JSON has null, and the order is said to be assumed."""
    file = str(image_without_tpc_table("ad102"))
    assert show_gpcs("-i", file)["hardware_gpcs"] is None
    text = gpulens("-i", file, "gpcs").stdout
    assert FROM_HARDWARE not in text and "logical TPC numbers are assumed" in text


@pytest.mark.parametrize("chip, first", [
    ("gp106", "gpc 0: 0x01f"), ("ad102", "! assumed: GPC by GPC, which no manual publishes for this chip"),
    ("gh100", "! known wrong: GPC by GPC, and this chip has another order")])
def test_tpc_map_says_where_its_order_is_from(chip: str, first: str) -> None:
    """The published order needs no line."""
    with_table = gpulens("-i", str(image(chip)), "proc", "tpc_map").stdout.splitlines()
    assert with_table[0] == f"! {FROM_HARDWARE}: in the order of %smid; GPCs as the driver numbers them"
    assert gpulens("-i", str(image_without_tpc_table(chip)), "proc", "tpc_map").stdout.splitlines()[0] == first


def test_words_of_the_table_are_files() -> None:
    """GP106: 16 words of each, of which nine TPCs fill three. Layout: linux-nvgpu hal/gr/init/gr_init_gm20b.c."""
    def word(name: str, file: pathlib.Path = image("gp106")) -> "tuple[str, int]":
        done = gpulens("-i", str(file), "proc", name)
        return done.stdout + done.stderr, done.returncode

    assert word("CWD_GPC_TPC_ID0") == ("0x3020100\n", 0) and word("CWD_GPC_TPC_ID1") == ("0x12111004\n", 0)
    assert word("CWD_SM_ID1") == ("0x8070605\n", 0) and word("CWD_SM_ID15") == ("0x0\n", 0)
    text, status = word("CWD_SM_ID16")
    assert status != 0 and "CWD_SM_ID16" in text
    text, status = word("CWD_GPC_TPC_ID0", image_without_tpc_table("gp106"))
    assert status != 0 and "not recorded: r 0x00405b60" in text


@pytest.mark.parametrize("text, table", [
    ("! from the hardware (CWD_GPC_TPC_ID): x\ngpc 0: 0x155\ngpc 1: 0x0aa\n", [[0, 2, 4, 6, 8], [1, 3, 5, 7]]),
    ("gpc 0: 0x01f\ngpc 1: 0x1e0\n", None),
    ("! assumed: x\ngpc 0: 0x01f\ngpc 1: 0x1e0\n", None),
    ("! from the hardware: x\ngpc 0: 0x155\ngpc 1: 0x0ab\n", None),  # TPC 0 twice
    ("! from the hardware: x\ngpc 0: 0x155\nGPC 1\n", None),
    ("! from the hardware: x\ngpc 0: 0x155\ngpc 1: 0x0ag\n", None)])
def test_the_modules_table_is_read_from_tpc_map(tmp_path: pathlib.Path, text: str,
                                                table: "typing.Optional[list[list[int]]]") -> None:
    """Only a whole one that says that it is the hardware's."""
    proc = FakeProc(tmp_path)
    proc.show(make_topology())
    proc.gpu(0).joinpath("tpc_map").write_text(text)
    found = show_gpcs("--proc", str(tmp_path), "--source", "module")["hardware_gpcs"]
    assert (found and [gpc["tpcs"] for gpc in found]) == table
