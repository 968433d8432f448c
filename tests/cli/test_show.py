# SPDX-License-Identifier: GPL-2.0
"""What gpulens shows of recorded GPUs: every chip's scenario, JSON by its schema, hazards by name."""

import json
import pathlib
import typing

import jsonschema
import pytest
from golden import COMMANDS, GOLDEN, said
from support.program import PROFILES, ROOT, gpulens, image

SCHEMA = json.loads((ROOT / "docs/json-schema.json").read_text())


@pytest.mark.parametrize("profile", PROFILES)
def test_every_chip_is_shown_as_ever(profile: str) -> None:
    """The text of all commands equals the one that was looked at when it was committed.
    Seen failing with slices printed in another unit."""
    assert said(image(profile)) == (GOLDEN / f"{profile}.txt").read_text()


@pytest.mark.parametrize("profile", PROFILES)
def test_json_keeps_to_its_schema(profile: str) -> None:
    """Every command's JSON is valid by docs/json-schema.json, which allows no key that it does not describe.
    Seen failing with one key more in an engine."""
    for command in COMMANDS:
        done = gpulens("-i", str(image(profile)), "--json", *command.split())
        parsed = json.loads(done.stdout)
        jsonschema.validate(parsed, SCHEMA, cls=jsonschema.Draft202012Validator)
        assert len(parsed["gpus"]) == 1, command


def hazards(recorded: pathlib.Path) -> typing.List[typing.Tuple[str, typing.List[str], typing.List[int]]]:
    """Name, engines and runlists of each hazard found."""
    found = json.loads(gpulens("-i", str(recorded), "--json", "isolation").stdout)["gpus"][0]["isolation"]["hazards"]
    return [(one["name"], one["engines"], one["runlists"]) for one in found]


def test_isolation_names_the_copy_engines_that_the_rtx_6000_ada_shares() -> None:
    """RTAS'24, section V-D and Fig. 10, 11: both GRCEs of the RTX 6000 Ada are mapped onto LCEs of other runlists."""
    assert hazards(image("ad102")) == [
        ("grce-shares-pce", ["GRCE0/LCE0", "LCE3"], [0, 2]), ("grce-shares-pce", ["GRCE1/LCE1", "LCE2"], [0, 1])]
    assert gpulens("-i", str(image("ad102")), "isolation", "--check").returncode == 1


def test_isolation_names_the_shared_runlists_of_the_jetsons() -> None:
    """RTAS'24, Table III: LCE3 and the second graphics engine of the Jetson Orin are on runlist 2. Section V-C: the TX2
    has one runlist, so that its copies wait for time slices of compute."""
    assert hazards(image("ga10b")) == [("shared-runlist", ["GR1", "LCE3"], [2])]
    assert hazards(image("gp10b")) == [("shared-runlist", ["GR0", "GRCE0/LCE0"], [0])]
    assert "no other runlist has a copy engine" in gpulens("-i", str(image("gp10b")), "isolation").stdout


def test_isolation_finds_nothing_on_a_gtx_1060() -> None:
    """RTAS'24, Table II: graphics and its own copy engines share runlist 0 as on every GPU, and nothing else does."""
    assert not hazards(image("gp106"))
    done = gpulens("-i", str(image("gp106")), "isolation", "--check")
    assert done.returncode == 0 and "no hazards found" in done.stdout


def test_locks_join_what_shares_a_runlist_or_a_physical_copy_engine() -> None:
    """RTAS'24, section VI-C: a scheme of locks must not give compute, the GRCEs and the LCEs that they borrow from
    locks of their own on the RTX 6000 Ada; LCE4 and the others may have one each."""
    locks = json.loads(gpulens("-i", str(image("ad102")), "--json", "isolation").stdout)["gpus"][0]["isolation"][
        "locks"]
    assert locks[:2] == [["GR0", "GRCE0/LCE0", "GRCE1/LCE1", "LCE2", "LCE3"], ["LCE4"]]
    assert all(len(lock) == 1 for lock in locks[1:])


def test_no_color_and_a_dumb_output_mean_no_escapes() -> None:
    """Escapes are for terminals; a pipe gets none."""
    for command in COMMANDS:
        assert "\033" not in gpulens("-i", str(image("ad102")), *command.split()).stdout


def test_a_tree_is_drawn_in_ascii_where_the_locale_knows_no_more() -> None:
    """LC_ALL=C: no byte beyond ASCII. Seen failing with Style::utf8 always true."""
    done = gpulens("-i", str(image("ad102")), env={"LC_ALL": "C"})
    assert done.stdout.isascii() and "|- runlist 0" in done.stdout


def test_a_gpu_of_another_module_is_not_said_to_be_missing(tmp_path: pathlib.Path) -> None:
    """/proc/gpuX without a snapshot: what is not there, and why that may be; a GPU that is not there is counted."""
    (tmp_path / "gpu0").mkdir()
    done = gpulens("--proc", str(tmp_path), "chip")
    assert (done.returncode, done.stdout, done.stderr) == (
        3, "", f"gpulens: {tmp_path}/gpu0/snapshot: no such file; the module's version differs from this "
        "gpulens\n")
    done = gpulens("--proc", str(tmp_path), "-g", "1", "chip")
    assert (done.returncode, done.stderr) == (3, "gpulens: there is no GPU 1; there is 0\n")
