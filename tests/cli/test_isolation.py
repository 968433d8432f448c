# SPDX-License-Identifier: GPL-2.0
"""gpulens isolation --check and --accept: exit status 1 where tasks share something, 5 where that is unknown, 0
otherwise. Expected values follow from the scenarios in emulator/scenarios and from the recorded H200."""

import json
import pathlib
import subprocess
import typing

import jsonschema
import pytest
from support.fakeproc import ORDINARY, Channel, FakeProc, Tsg, snapshot
from support.fakerm import ask_rm
from support.program import ROOT, gpulens, image

SCHEMA = json.loads((ROOT / "docs/json-schema.json").read_text(encoding="utf-8"))
NAMES = ("R4:address-spaces-share-runlist, R4:processes-share-runlist, R4:unknown-tasks, R6:shared-runlist, "
         "R8:grce-shares-pce, R8:tasks-share-pce, R8:unknown-copy-engines, R8:unknown-tasks")


def read_verdict(done: "subprocess.CompletedProcess[str]") -> typing.Tuple[int, typing.Dict[str, typing.Any]]:
    """The exit status, and for each list of the JSON the ids and runlists of its entries."""
    parsed = json.loads(done.stdout)
    jsonschema.validate(parsed, SCHEMA, cls=jsonschema.Draft202012Validator)
    isolation = parsed["gpus"][0]["isolation"]
    return done.returncode, {key: [(f"{entry['rule']}:{entry['name']}", entry["runlists"]) for entry in isolation[key]]
                             for key in ("hazards", "sharing", "unknown")}


def check_isolation(recorded: pathlib.Path, *accept: str) -> typing.Tuple[int, typing.Dict[str, typing.Any]]:
    """The verdict on a recorded GPU."""
    words = [word for name in accept for word in ("--accept", name)]
    return read_verdict(gpulens("-i", str(recorded), "--json", "isolation", "--check", *words))


def test_one_task_shares_nothing() -> None:
    """A GTX 1060 with one TSG. Should fail with every runlist counted as shared (not tried)."""
    assert check_isolation(image("gp106", "minimal")) == (0, {"hazards": [], "sharing": [], "unknown": []})
    done = gpulens("-i", str(image("gp106", "minimal")), "isolation", "--check")
    assert done.returncode == 0 and done.stdout.endswith("\nno hazards found\n")


@pytest.mark.parametrize("scenario,spaces", [("two-tenants", 2), ("demo-gp106", 3)])
def test_address_spaces_on_one_runlist_are_found(scenario: str, spaces: int) -> None:
    """Two tenants, and the demo's three with five TSGs on runlist 0; its other runlists have one TSG each. Seen failing
    before there was a check of tasks: status 0."""
    shared = [("R4:address-spaces-share-runlist", [0])]
    assert check_isolation(image("gp106", scenario)) == (1, {"hazards": [], "sharing": shared, "unknown": []})
    text = gpulens("-i", str(image("gp106", scenario)), "isolation", "--check").stdout
    assert (f"   ! {spaces} address spaces share runlist 0: they take turns on GR0, GRCE0/LCE0 and GRCE1/LCE1 "
            "(R4:address-spaces-share-runlist)\n") in text
    assert text.endswith("\n1 hazard found\n")


def test_a_hazard_is_accepted_by_name() -> None:
    """It is still listed, as accepted; another name does not count. Seen failing with --accept ignored."""
    shared = image("gp106", "two-tenants")
    assert check_isolation(shared, "R4:address-spaces-share-runlist")[0] == 0
    assert check_isolation(shared, "R4:processes-share-runlist", "R8:grce-shares-pce")[0] == 1
    done = gpulens("-i", str(shared), "isolation", "--check", "--accept", "R4:address-spaces-share-runlist")
    assert "(R4:address-spaces-share-runlist, accepted)\n" in done.stdout and "1 hazard found" in done.stdout
    told = gpulens("-i", str(shared), "--json", "isolation", "--check", "--accept=R4:address-spaces-share-runlist")
    assert json.loads(told.stdout)["gpus"][0]["isolation"]["accepted"] == ["R4:address-spaces-share-runlist"]


def test_copy_hardware_that_tasks_share_is_found() -> None:
    """RTX 6000 Ada: GRCE0 on runlist 0 shares PCEs with LCE3 of runlist 2, GRCE1 with LCE2 of runlist 1. The demo has
    tasks of other address spaces on runlist 0 than on runlist 1. Accepting what the chip shares accepts none of what
    tasks share. Seen failing without the comparison of the tasks of two runlists."""
    status, found = check_isolation(image("ad102"), "R8:grce-shares-pce", "R4:address-spaces-share-runlist")
    assert status == 1 and ("R8:tasks-share-pce", [0, 1]) in found["sharing"]
    assert found["hazards"] == [("R8:grce-shares-pce", [0, 2]), ("R8:grce-shares-pce", [0, 1])]
    accepted = ("R8:grce-shares-pce", "R4:address-spaces-share-runlist", "R8:tasks-share-pce")
    assert check_isolation(image("ad102"), *accepted)[0] == 0
    # one task on runlist 0, none on another
    assert check_isolation(image("ad102", "minimal"))[1]["sharing"] == []
    assert check_isolation(image("ad102", "minimal"), "R8:grce-shares-pce")[0] == 0


def test_a_chip_that_cannot_be_read_has_a_status_of_its_own() -> None:
    """GB202's runlists and copy engines are in no manual: 5, also where everything is accepted that can be. Seen
    failing before: "no hazards found", status 0."""
    status, found = check_isolation(image("gb202"), *NAMES.split(", "))
    assert status == 5 and found["hazards"] == found["sharing"] == []
    assert ("R7:unknown-engines", []) in found["unknown"] and ("R4:unknown-tasks", []) in found["unknown"]
    done = gpulens("-i", str(image("gb202")), "isolation", "--check")
    assert done.returncode == 5 and "no hazards found, 2 unknown\n" in done.stdout
    assert "   ? the engines and runlists of this chip are unknown, or not all of them are known (R7:" in done.stdout


def test_a_hazard_outweighs_what_is_unknown() -> None:
    """Of two GPUs the one that shares, in any order."""
    for order in (("gb202", "ga10b"), ("ga10b", "gb202")):
        words = [word for chip in order for word in ("-i", str(image(chip)))]
        assert gpulens(*words, "isolation", "--check").returncode == 1
    for order in (("gb202", "gp106"), ("gp106", "gb202")):
        words = [word for chip in order for word in ("-i", str(image(chip, "minimal")))]
        assert gpulens(*words, "isolation", "--check").returncode == 5


def test_through_the_module_alone_tasks_have_no_owner(tmp_path: pathlib.Path) -> None:
    """A snapshot has neither processes nor address spaces: one TSG is alone, whether two are of one process is unknown.
    Seen failing with unknown owners taken for one."""
    proc = FakeProc(tmp_path)
    ask = ("--proc", str(tmp_path), "--source", "module", "--json", "isolation", "--check")
    proc.show(snapshot({0: [Tsg(3, 2000000, (Channel(8), Channel(9)))], 1: []}))
    assert read_verdict(gpulens(*ask)) == (0, {"hazards": [], "sharing": [], "unknown": []})
    proc.show(snapshot({0: [Tsg(3, 2000000, (Channel(8),)), Tsg(4, 2000000, (Channel(9),))], 1: []}))
    assert read_verdict(gpulens(*ask)) == (5, {"hazards": [], "sharing": [], "unknown": [("R4:unknown-tasks", [0])]})
    assert gpulens(*ask, "--accept", "R4:unknown-tasks").returncode == 0


def test_an_ordinary_user_cannot_determine_it(tmp_path: pathlib.Path) -> None:
    """Topology alone: which tasks there are is unknown."""
    FakeProc(tmp_path).closed()
    done = gpulens("--proc", str(tmp_path), "--source", "module", "--json", "isolation", "--check", before=ORDINARY)
    status, found = read_verdict(done)
    assert (status, found["hazards"], found["sharing"]) == (5, [], [])
    assert ("R4:unknown-tasks", [0, 1]) in found["unknown"]


def test_through_the_driver_processes_are_counted() -> None:
    """Two processes computed on the recorded H200, whose GRCEs share PCEs. With one process it is unknown which tasks
    are on its runlists, which can be accepted. Seen failing with several processes taken for one."""
    status, found = read_verdict(ask_rm("--json", "isolation", "--check", "--accept", "R8:grce-shares-pce"))
    assert status == 1 and found["sharing"] == [("R4:processes-share-runlist", [0])]
    text = ask_rm("isolation", "--check").stdout
    assert " compute on GR0 of runlist 0: they take turns (R4:processes-share-runlist)\n" in text
    alone = read_verdict(ask_rm("--json", "isolation", "--check", "--accept", "R8:grce-shares-pce", PIDS="1", MPS="1"))
    assert alone[0] == 5 and alone[1]["sharing"] == []
    assert sorted({name for name, _ in alone[1]["unknown"]}) == ["R4:unknown-tasks", "R8:unknown-tasks"]
    words = [word for name in ("R8:grce-shares-pce", "R4:unknown-tasks", "R8:unknown-tasks")
             for word in ("--accept", name)]
    assert ask_rm("isolation", "--check", *words, PIDS="1", MPS="1").returncode == 0


@pytest.mark.parametrize("name", ("R8", "R8:", "grce-shares-pce", "r8:grce-shares-pce", "R8:...",
                                  "R7:unknown-engines", ""))
def test_a_wrong_name_is_refused_with_the_names(name: str) -> None:
    """Status 2. Seen failing with the check removed."""
    done = gpulens("-i", str(image("gp106")), "isolation", "--check", "--accept", name)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (f"gpulens: --accept: no hazard is named \"{name}\"; there are {NAMES}\n"
                           "gpulens isolation --help lists its options.\n")


def test_accept_needs_check() -> None:
    """Without --check the status says nothing about hazards."""
    done = gpulens("-i", str(image("gp106")), "isolation", "--accept", "R8:grce-shares-pce")
    assert (done.returncode, done.stdout) == (2, "") and "--accept requires --check" in done.stderr
    assert gpulens("-i", str(image("gp106")), "isolation").returncode == 0


def test_statuses_and_names_are_documented() -> None:
    """In docs/isolation.md, and the statuses in --help."""
    text = (ROOT / "docs/isolation.md").read_text(encoding="utf-8")
    for name in NAMES.split(", "):
        assert f"`{name}`" in text, name
    assert ("5 isolation --check found no hazard, but could not determine whether there is one; "
            "verify: what was seen is not enough for a verdict") in " ".join(gpulens("help").stdout.split())
