# SPDX-License-Identifier: GPL-2.0
"""gpulens-lab blocks --within: logs of the fake probe against masks of TPCs and SMs."""

import json
import pathlib

import pytest
from support.program import gpulens
from test_blocks import (FAKE, SVG, Json, boxes_by_kernel, check_schema, cut_ahead, draw_log, kernels_by_name, make_log,
                         run_tool)


def find_outside(file: pathlib.Path, mask: str, status: int) -> Json:
    """The result of blocks --within, as JSON."""
    text = run_tool("blocks", str(file), "--within", mask, "--json", status=status)
    return check_schema(json.loads(text), "blocks")["within"]


def test_each_sm_outside_a_mask_is_named(tmp_path: pathlib.Path) -> None:
    """25 blocks of Fig. 3.16 on SMs 0 to 3, but for two on SM 7. TPC n has SMs 2n and 2n + 1.
    Seen failing with the last end taken from the last block."""
    file = tmp_path / "a.json"
    log = make_log(file, "fig3.16", sms=8)
    for kernel in kernels_by_name(log).values():
        kernel["block_smids"] = [sm % 4 for sm in kernel["block_smids"]]
    kernels_by_name(log)["K1"]["block_smids"][:2] = [7, 7]
    kernels_by_name(log)["K1"]["block_times"][:4] = [0.3, 0.5, 0.25, 0.4]
    file.write_text(json.dumps(log), encoding="utf-8")
    assert run_tool("blocks", str(file), "--within", "0-1", status=1) == (
        "SM 7 (TPC 3) is outside of TPCs 0-1: 2 blocks of K1, from 0.250000 s to 0.500000 s\n"
        "25 blocks on 5 SMs, within TPCs 0-1: 2 blocks on 1 SM outside\n")
    assert ", within TPC 3: 23 blocks on 4 SMs outside\n" in run_tool("blocks", str(file), "--within", "3", status=1)
    text = run_tool("blocks", str(file), "--within", "0,3,1")
    assert text == "25 blocks on 5 SMs, within TPCs 0-1, 3: none outside\n"
    seven = {"sm": 7, "tpc": 3, "blocks": 2, "kernels": ["K1"], "first_start": 0.25, "last_end": 0.5}
    for mask, name, sms in (("0-1", "TPCs 0-1", 4), ("0x3", "TPCs 0-1", 4), ("sm:0-3", "SMs 0-3", 4),
                            ("sm:0-6", "SMs 0-6", 7)):
        assert find_outside(file, mask, 1) == {
            "mask": name, "sms": list(range(sms)), "used": 5, "blocks": 25, "outside": [seven]}
    assert [sm["sm"] for sm in find_outside(file, "sm:2-7", 1)["outside"]] == [0, 1]
    assert check_schema(json.loads(run_tool("blocks", str(file), "--json")), "blocks")["within"] is None


def test_the_picture_marks_rows_outside_a_mask(tmp_path: pathlib.Path) -> None:
    """Blocks on all 8 SMs, mask of SMs 0 to 5: 6 and 7 are marked at their blocks' height; with blocks on SM 7 alone,
    6 is grey. Seen failing with every SM outside of the mask in the warning colour."""
    file = tmp_path / "a.json"
    log = make_log(file, "fig3.16", sms=8)
    picture = draw_log(file, "--within", "sm:0-5", status=1)
    assert "; within SMs 0-5: blocks on 2 SMs outside" in "".join(picture.itertext())
    rows = {box.findtext(f"{SVG}title"): box for box in picture.iter(f"{SVG}rect") if box.get("class") == "outside"}
    assert sorted(rows, key=str) == ["SM 6, outside", "SM 7, outside"]
    for title, box in rows.items():
        number = kernels_by_name(log)["K1"]["block_smids"].index(int(str(title)[3]))
        low = boxes_by_kernel(picture)["K1"][number][1]
        assert float(box.get("y", "")) < low <= float(box.get("y", "")) + float(box.get("height", "")) + 0.01
    for kernel in kernels_by_name(log).values():
        kernel["block_smids"] = [7 if sm == 6 else sm for sm in kernel["block_smids"]]
    file.write_text(json.dumps(log), encoding="utf-8")
    classes = {box.findtext(f"{SVG}title"): box.get("class") for box in
               draw_log(file, "--within", "sm:0-5", status=1).iter(f"{SVG}rect") if box.findtext(f"{SVG}title")}
    assert classes == {"SM 6, not in the mask": "excluded", "SM 7, outside": "outside"}


def test_the_rules_hold_within_a_mask(tmp_path: pathlib.Path) -> None:
    """A log from half of 8 SMs violates rule B, because blocks would fit on the other half, and not with --within. A
    kernel that cuts ahead still does. Seen failing with rule B checked on every SM."""
    file = tmp_path / "a.json"
    run_tool("probe-kernels", "fig3.9", "--program", FAKE, "-o", str(file),
             env={"FAKE_SMS": "8", "GPULENS_PARTITION": '[{"tpcs": [0, 1]}]'})
    assert "a block of it fits on SM 4 from" in run_tool("blocks", "--check", str(file), status=1)
    text = run_tool("blocks", "--check", "--within", "0-1", str(file))
    assert "no rule is violated\n" in text and text.endswith("within TPCs 0-1: none outside\n")
    log = json.loads(file.read_text(encoding="utf-8"))
    cut_ahead(log)
    file.write_text(json.dumps(log), encoding="utf-8")
    assert "Rule B: K3:0" in run_tool("blocks", "--check", "--within", "0-1", str(file), status=1)


BAD_MASKS = [("all", "expected 0-9,12, 0x3ff or sm:0-19"), ("0x", "expected"), ("0-1-2", "expected"),
             ("3-1", "expected"), ("sm:", "expected"), ("sm:0x3", "expected"), ("0x0", "the mask is empty"),
             ("1", "there is no TPC 1: the log's GPU has 2 SMs"), ("sm:2", "there is no SM 2: the log's GPU has 2 SMs"),
             ("4294967295", "expected"), ("0x100000000000000000", "there is no TPC 68")]


@pytest.mark.parametrize("mask,why", BAD_MASKS, ids=[mask for mask, _ in BAD_MASKS])
def test_invalid_masks_are_status_2(tmp_path: pathlib.Path, mask: str, why: str) -> None:
    """The message names the mask; an empty one is wrong usage. Seen failing with SMs that the GPU lacks accepted."""
    make_log(tmp_path / "a.json", "fig3.9")
    result = gpulens("blocks", str(tmp_path / "a.json"), "--within", mask)
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr.startswith(f'gpulens-lab: --within "{mask}": {why}'), result.stderr
    result = gpulens("blocks", str(tmp_path / "a.json"), "--within", "")
    assert result.returncode == 2 and result.stderr.startswith("gpulens-lab: --within: an empty mask")
