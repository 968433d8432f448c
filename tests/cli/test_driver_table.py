# SPDX-License-Identifier: GPL-2.0
"""The driver's table of SMs, added to a GPU that the module shows: only where both report the same GPCs."""

import json
import pathlib
import typing

import pytest
from support.fakeproc import FakeProc
from support.fakerm import FACTS, fake_rm, recording_with
from support.program import gpulens, image_without_tpc_table

TASKS = {"tasks": [{"name": name, "period_us": 10000, "class": "compute", "alone": {"a_us": a_us, "b_us": 100}}
                   for name, a_us in (("small", 8000), ("large", 100000))]}


@pytest.fixture(name="plan")
def fixture_plan(tmp_path: pathlib.Path) -> typing.Iterator[typing.Callable[..., typing.Any]]:
    """plan() for the emulated GH100, whose GPCs and PCI address are those of the recorded H200, and which lacks the
    table of TPCs."""
    proc = FakeProc(tmp_path)
    proc.show(image_without_tpc_table("gh100").read_bytes())
    (tmp_path / "tasks.json").write_text(json.dumps(TASKS), encoding="ascii")

    def plan(*words: str, **more: str) -> typing.Any:
        return json.loads(gpulens("--proc", str(tmp_path), *words, "--json", "plan", str(tmp_path / "tasks.json"),
                                  env=fake_rm(**more)).stdout)

    yield plan
    proc.close()


def first_partition(plan: typing.Any) -> "tuple[str, list[int]]":
    """Numbering and TPCs of the smaller partition."""
    return plan["numbering"], plan["partitions"][0]["place"]["tpcs"]


def test_plan_numbers_tpcs_as_the_driver_does(plan: typing.Callable[..., typing.Any]) -> None:
    """A GPC of the recorded H200 has SMs 58-59, 72-73, 86-87, 100-101 and 114-115, so TPCs 29 to 57."""
    assert FACTS["gpus"][0]["virtual_gpc_sms"]["5"][-10:] == [58, 59, 72, 73, 86, 87, 100, 101, 114, 115]
    assert first_partition(plan()) == ("smid", [29, 36, 43, 50, 57])
    assert first_partition(plan("--source", "module")) == ("gpc", [61, 62, 63, 64, 65])


def test_gpcs_numbers_tpcs_as_run_does(plan: typing.Callable[..., typing.Any], tmp_path: pathlib.Path) -> None:
    """By physical GPC, once: the TPCs of that GPC, and of GPC 1, which has SMs 0-1, 16-17, 32-33, 48-49 and 124-131.
    Seen failing with TPCs counted GPC by GPC."""
    assert plan
    words = ("--proc", str(tmp_path), "gpcs")
    text = gpulens(*words, env=fake_rm()).stdout
    assert "  1     8  0x4                   0, 8, 16, 24, 62-65\n" in text and "logical TPC numbers" not in text
    assert "  7     8  0x40                  5, 13, 21, 29, 36, 43, 50, 57\n" in text
    text = gpulens("--source", "module", *words, env=fake_rm()).stdout
    assert "  1     8  0x4                   9-16\n" in text and "logical TPC numbers are known to be wrong" in text


def test_a_table_of_other_gpcs_is_not_taken(plan: typing.Callable[..., typing.Any], tmp_path: pathlib.Path) -> None:
    """The driver reports another TPC of GPC 1 as disabled."""
    masks = list(FACTS["gpus"][0]["tpc_mask_by_physical_gpc"])
    masks[1] = "0x1f7"
    other = recording_with(tmp_path, ("gpus/0/tpc_mask_by_physical_gpc", masks))
    assert first_partition(plan(RECORDING=other)) == ("gpc", [61, 62, 63, 64, 65])
