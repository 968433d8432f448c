# SPDX-License-Identifier: GPL-2.0
"""What gpulens reads from a snapshot of either version, laid out here as include/uapi/gpulens.h states."""

import json
import pathlib
import struct
from typing import Any

import jsonschema
import pytest
from support.program import ROOT, gpulens

SCHEMA = json.loads((ROOT / "docs/json-schema.json").read_text())
CHIPS = {"GP106": 0x136, "AD102": 0x192, "GH100": 0x180, "GB100": 0x1A0}
EIO, ENOSPC = 5, 28
PENDING, REGS = 1, 4  # GPULENS_RUNLIST_*
NO_TARGET = 1 << 13  # GPULENS_CHANNEL_NO_TARGET
GRCE = 1  # GPULENS_ENGINE_GRCE


def chip_record(chip: str, error: int = 0, dropped: int = 0) -> bytes:
    """struct gpulens_chip: 2 GPCs of 5 TPCs, no PCE."""
    return struct.pack("<HHIQ4BII16s16s4B", 1, CHIPS[chip], 0, 0, 2, 5, 0, chip != "GP106", 0, 0, chip.encode(), b"x",
                       error, 0, 0, dropped)


def engine_record(name: str, kind: int, inst: int, flags: int = 0) -> bytes:
    """struct gpulens_engine, on runlist 0."""
    return struct.pack("<HHHhhhhhII39sB", 2, kind, inst, 0, -1, -1, -1, -1, 0, 0, name.encode(), flags)


def runlist_record(error: int, flags: int, length: int, entries: int = 0) -> bytes:
    """struct gpulens_runlist: runlist 0 at 0x123456000 in coherent system memory."""
    base, target = (0x123456000, 2) if flags & REGS else (0, 0)
    return struct.pack("<HHHHIIIIQB31x", 3, 0, entries, error, flags, 2048, 1, length, base, target)


def channel_record(error: int, flags: int) -> bytes:
    """struct gpulens_channel: channel 9, in no TSG."""
    return struct.pack("<HHhHIBBBBIIQ32x", 5, 0, -1, 9, flags, 0, 0, 0, error, 0, 0, 0)


def gpc_record(gpc: int) -> bytes:
    """struct gpulens_gpc: five TPCs."""
    return struct.pack("<HHIHH52x", 6, gpc, 0, 5 * gpc, 5)


def show_json(folder: pathlib.Path, command: str, version: int, *records: bytes) -> Any:
    """The tool's JSON for a snapshot, which must conform to the schema."""
    (folder / "snapshot").write_bytes(
        struct.pack("<4sHHIIQQ32x", b"GPLS", version, 64, len(records), 0, 10**9, 1000) + b"".join(records))
    parsed = json.loads(gpulens("-i", str(folder / "snapshot"), "--json", *command.split()).stdout)
    jsonschema.validate(parsed, SCHEMA, cls=jsonschema.Draft202012Validator)
    return parsed["gpus"][0]


def test_a_graphics_copy_engine_is_one_by_its_flag(tmp_path: pathlib.Path) -> None:
    """From version 2 on the flag decides, in version 1 the name."""
    engines = (engine_record("[Graphics] Copy Engine 0 (GRCE0/LCE0)", 19, 0), engine_record("Copied", 19, 1, GRCE))
    for version, graphics in ((2, [False, True]), (1, [True, False])):
        found = show_json(tmp_path, "copy-engines", version, chip_record("AD102"), *engines)["copy"]["engines"]
        assert [engine["graphics"] for engine in found] == graphics, version


def test_an_engine_type_beyond_16_bits_is_0xffff(tmp_path: pathlib.Path) -> None:
    """The engine's name has the whole number."""
    engine = engine_record("Unknown (type 65536) 0", 0xFFFF, 0)
    shown = show_json(tmp_path, "engines", 2, chip_record("GP106"), engine)["engines"][0]
    assert (shown["type"], shown["name"]) == (0xFFFF, "Unknown (type 65536) 0")


def test_engines_without_room_are_counted(tmp_path: pathlib.Path) -> None:
    """In the chip's JSON, and as an error about the engines."""
    gpu = show_json(tmp_path, "engines", 2, chip_record("GB100", ENOSPC, 12), engine_record("x", 0, 0))
    assert gpu["chip"]["engines_dropped"] == 12
    assert [(error["item"], error["error"], error["message"]) for error in gpu["errors"]] == [
        ("engines", "ENOSPC", "12 more exceed the number that is supported")]
    assert show_json(tmp_path, "engines", 2, chip_record("GB100"))["chip"]["engines_dropped"] == 0


# version, error, flags, length and records of entries; the known values
LISTS = [(2, 0, REGS, 1, 1, ("0x123456000", "sys coh", 1, False)),
         (2, EIO, REGS | PENDING, 7, 0, ("0x123456000", "sys coh", 7, True)),
         (2, EIO, 0, 0, 0, (None, None, None, None)),
         (1, 0, 0, 0, 1, (None, "vid", 1, False)),
         (1, EIO, 0, 0, 0, (None, None, None, None))]


@pytest.mark.parametrize("version, error, flags, length, entries, known", LISTS)
def test_unread_values_of_a_runlist_are_null(tmp_path: pathlib.Path, version: int, error: int, flags: int,
                                             length: int, entries: int, known: Any) -> None:
    """Only values that were not read are null."""
    records = [chip_record("AD102"), runlist_record(error, flags, length, entries)]
    records += [channel_record(0, 0)] * entries
    gpu = show_json(tmp_path, "runlists", version, *records)
    runlist = gpu["runlists"][0]
    assert (runlist["base"], runlist["target"], runlist["length"], runlist["pending"]) == known
    assert runlist["error"] == ("EIO" if error else None)
    text = gpulens("-i", str(tmp_path / "snapshot"), "runlists").stdout
    assert ("7 entries at 0x123456000 (sys coh), submitted, not yet committed, cannot be read" in text) == (
        length == 7)


def test_an_unknown_target_is_null(tmp_path: pathlib.Path) -> None:
    """By its flag; in version 1 whenever the state could not be read."""
    for version, error, flags, target in ((2, 0, 0, "vid"), (2, EIO, NO_TARGET, None), (2, EIO, 0, "vid"),
                                          (1, EIO, 0, None), (1, 0, 0, "vid")):
        gpu = show_json(tmp_path, "channels", version, chip_record("GP106"), runlist_record(0, REGS, 1, 1),
                        channel_record(error, flags))
        assert gpu["channels"][0]["instance_target"] == target, (version, error, flags)


@pytest.mark.parametrize("chip, order", [("GP106", "published"), ("AD102", "assumed"), ("GH100", "wrong")])
def test_the_certainty_of_logical_tpc_numbers_is_reported(tmp_path: pathlib.Path, chip: str, order: str) -> None:
    """RTAS'23 publishes them up to Turing; docs/results/2026-11-22-h200-masks.md contradicts them on GH100. Null
    without GPCs."""
    assert show_json(tmp_path, "gpcs", 2, chip_record(chip), gpc_record(0), gpc_record(1))["gpcs"]["tpc_order"] == order
    text = gpulens("-i", str(tmp_path / "snapshot"), "gpcs").stdout
    assert ("logical TPC numbers are assumed" in text) == (order == "assumed")
    assert ("! logical TPC numbers are known to be wrong" in text) == (order == "wrong")
    assert show_json(tmp_path, "gpcs", 2, chip_record(chip))["gpcs"]["tpc_order"] is None
