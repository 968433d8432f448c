# SPDX-License-Identifier: GPL-2.0
"""gpulens on recorded GPUs: the scenario of every chip, JSON by its schema, hazards by name."""

import json
import pathlib
import typing

import jsonschema
import pytest
from golden import COMMANDS, RECORDED, find_golden, find_image, run_all_commands
from support.program import PROFILES, ROOT, gpulens, image

SCHEMA = json.loads((ROOT / "docs/json-schema.json").read_text())


@pytest.mark.parametrize("profile", RECORDED)
def test_every_chip_matches_its_golden_file(profile: str) -> None:
    """The output of all commands equals the committed one, which was reviewed. Seen failing with time slices printed in
    another unit."""
    assert run_all_commands(find_image(profile)) == find_golden(profile).read_text()


@pytest.mark.parametrize("profile", PROFILES)
def test_json_keeps_to_its_schema(profile: str) -> None:
    """The JSON of every command conforms to docs/json-schema.json, which allows no key that it does not describe. Seen
    failing with one more key in an engine."""
    for command in COMMANDS:
        done = gpulens("-i", str(image(profile)), "--json", *command.split())
        parsed = json.loads(done.stdout)
        jsonschema.validate(parsed, SCHEMA, cls=jsonschema.Draft202012Validator)
        assert len(parsed["gpus"]) == 1, command


def find_hazards(recorded: pathlib.Path) -> typing.List[typing.Tuple[str, typing.List[str], typing.List[int]]]:
    """Name, engines and runlists of each hazard."""
    found = json.loads(gpulens("-i", str(recorded), "--json", "isolation").stdout)["gpus"][0]["isolation"]["hazards"]
    return [(hazard["name"], hazard["engines"], hazard["runlists"]) for hazard in found]


def test_isolation_names_the_copy_engines_that_the_rtx_6000_ada_shares() -> None:
    """RTAS'24, section V-D and Fig. 10, 11: both GRCEs of the RTX 6000 Ada are mapped onto LCEs of other runlists."""
    assert find_hazards(image("ad102")) == [
        ("grce-shares-pce", ["GRCE0/LCE0", "LCE3"], [0, 2]), ("grce-shares-pce", ["GRCE1/LCE1", "LCE2"], [0, 1])]
    assert gpulens("-i", str(image("ad102")), "isolation", "--check").returncode == 1


def test_isolation_names_the_shared_runlists_of_the_jetsons() -> None:
    """RTAS'24, Table III: LCE3 and the second graphics engine of the Jetson Orin are on runlist 2. Section V-C: the TX2
    has one runlist, so that its copies wait for time slices of compute."""
    assert find_hazards(image("ga10b")) == [("shared-runlist", ["GR1", "LCE3"], [2])]
    assert find_hazards(image("gp10b")) == [("shared-runlist", ["GR0", "GRCE0/LCE0"], [0])]
    assert "no other runlist has a copy engine" in gpulens("-i", str(image("gp10b")), "isolation").stdout


def test_isolation_finds_nothing_on_a_gtx_1060() -> None:
    """RTAS'24, Table II: graphics and its own copy engines share runlist 0, as on every GPU, and no other engines share
    one. With one task; test_isolation.py has several."""
    assert not find_hazards(image("gp106"))
    done = gpulens("-i", str(image("gp106", "minimal")), "isolation", "--check")
    assert done.returncode == 0 and "no hazards found" in done.stdout
    assert "as on every GPU; other copy engines have their own runlists.\n   no other on this GPU\n" in done.stdout


def test_a_switch_while_the_gpu_is_read_shows_no_two_running_tsgs() -> None:
    """NV_PFIFO_ENGINE_STATUS of GR0, which is read after the states of channels, has TSG 3, and a channel of TSG 5 was
    on the engine. TSG 4, on a copy engine of the same runlist, runs. Seen failing with "runs" beside TSG 5."""
    switched = image("gp106").read_text(encoding="ascii").replace("r 0x00002640 0x80003005", "r 0x00002640 0x80003003")
    lines = gpulens("-i", "-", stdin=switched.encode()).stdout.splitlines()
    assert lines[2:6] == [
        "├─ runlist 0  GR0 [TSG 3], GRCE0/LCE0, GRCE1/LCE1 [TSG 4]  switched from TSG 5 while it was read",
        "│  ├─ TSG 3       1.049 ms       8-9 waits, 10 off",
        "│  ├─ TSG 4     262.144 us runs  11 runs",
        "│  ├─ TSG 5       3.277 ms ran   16 ran, 17 idle"]
    gpu = json.loads(gpulens("-i", "-", "--json", "runlists", stdin=switched.encode()).stdout)["gpus"][0]
    assert [(tsg["id"], tsg["running"], tsg["left_engine"]) for tsg in gpu["runlists"][0]["tsgs"]] == [
        (3, False, False), (4, True, False), (5, False, True), (6, False, False), (7, False, False)]
    unread = image("gp106").read_text(encoding="ascii").replace("r 0x00002640 0x80003005\n", "")
    assert "switched" not in gpulens("-i", "-", stdin=unread.encode()).stdout


def test_locks_join_what_shares_a_runlist_or_a_physical_copy_engine() -> None:
    """RTAS'24, section VI-C: on the RTX 6000 Ada, compute, the GRCEs and the LCEs that share PCEs with them need one
    common lock; LCE4 and the others may have one each."""
    locks = json.loads(gpulens("-i", str(image("ad102")), "--json", "isolation").stdout)["gpus"][0]["isolation"][
        "locks"]
    assert locks[:2] == [["GR0", "GRCE0/LCE0", "GRCE1/LCE1", "LCE2", "LCE3"], ["LCE4"]]
    assert all(len(lock) == 1 for lock in locks[1:])


def test_no_color_and_a_dumb_output_mean_no_escapes() -> None:
    """Only terminals get escape sequences."""
    for command in COMMANDS:
        assert "\033" not in gpulens("-i", str(image("ad102")), *command.split()).stdout


@pytest.mark.parametrize("profile, line", [
    ("gp106", "N/A: no known engine has runlist 4\n"), ("ad102", "N/A: no known engine has runlist 7\n"),
    ("tu116", "N/A: no known engine has runlists 4-7\n"), ("gp102", ""), ("gb202", "")])
def test_engines_names_runlists_without_an_engine(profile: str, line: str) -> None:
    """RTAS'24, Tables II and IV, have "N/A" for runlist 4 of the GTX 1060 and 7 of the RTX 6000 Ada. Seen failing
    without the line."""
    text = gpulens("-i", str(image(profile)), "engines").stdout
    assert text.endswith(line) and ("N/A" in text) == bool(line)


def test_what_is_off_is_magenta() -> None:
    """Which can be read on white and on black. Seen failing with yellow (33)."""
    text = gpulens("-i", str(image("ad102")), "--color", "always").stdout
    assert "10 \033[35moff\033[0m" in text and "\033[33m" not in text


def test_trees_are_drawn_in_ascii_in_an_ascii_locale() -> None:
    """LC_ALL=C: no byte beyond ASCII. Seen failing with Style::utf8 always true."""
    done = gpulens("-i", str(image("ad102")), env={"LC_ALL": "C"})
    assert done.stdout.isascii() and "|- runlist 0" in done.stdout


def test_a_gpu_without_a_snapshot_is_not_reported_missing(tmp_path: pathlib.Path) -> None:
    """/proc/gpuX without a snapshot: the missing file and a possible reason. For a missing GPU, the message names the
    existing ones."""
    (tmp_path / "gpu0").mkdir()
    done = gpulens("--proc", str(tmp_path), "chip")
    assert (done.returncode, done.stdout, done.stderr) == (
        3, "", f"gpulens: {tmp_path}/gpu0/snapshot: no such file; the module's version differs from this "
        "gpulens\n")
    done = gpulens("--proc", str(tmp_path), "-g", "1", "chip")
    assert (done.returncode, done.stderr) == (3, "gpulens: there is no GPU 1; there is 0\n")


def test_an_image_without_the_enable_register_shows_runlists() -> None:
    """As of versions that did not read NV_PMC_ENABLE. Seen failing with status 1, "engines: not recorded"."""
    lines = image("gp106").read_text(encoding="ascii").splitlines(keepends=True)
    older = [line for line in lines if not line.startswith("r 0x00000200 ")]
    assert len(older) == len(lines) - 1
    done = gpulens("-i", "-", "runlists", stdin="".join(older).encode())
    assert (done.returncode, done.stderr) == (0, "") and "TSG" in done.stdout
