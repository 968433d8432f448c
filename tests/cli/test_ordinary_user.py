# SPDX-License-Identifier: GPL-2.0
"""gpulens as an ordinary user: commands that need topology only work, and commands that need
runlists print one sentence about the required privilege. No command shows an unread runlist as an empty one."""

import json
import os
import pathlib
import subprocess
import typing

import jsonschema
import pytest
from support.fakeproc import ORDINARY, FakeProc, make_topology, snapshot
from support.program import ROOT, gpulens

SCHEMA = json.loads((ROOT / "docs/json-schema.json").read_text())
HOW = ("reading runlists requires CAP_PERFMON or CAP_SYS_ADMIN: sudo gpulens ..., or setcap cap_perfmon+ep "
       "$(command -v gpulens) for members of the group that the module was given (gid=)")
REFUSED = {"snapshot": "EPERM: " + HOW.replace("reading runlists", "reading").replace(":", ";", 1),
           "samples": f"EACCES: permission denied; {HOW}"}
SENTENCE = f"gpulens: gpu0: runlists: {HOW}\n"


@pytest.fixture(name="proc")
def fixture_proc(tmp_path: pathlib.Path) -> typing.Iterator[pathlib.Path]:
    """A GTX 1060 3GB that shows no runlist, and whose samples only root may open."""
    folder = FakeProc(tmp_path)
    folder.closed()
    yield tmp_path
    folder.close()


def ask_unprivileged(proc: pathlib.Path, *words: str) -> "subprocess.CompletedProcess[str]":
    """Runs gpulens as a process without any privilege, which a mode of 0 stops."""
    return gpulens("--proc", str(proc), *words, before=ORDINARY)


def test_mode_0_is_no_permission_for_an_ordinary_process(proc: pathlib.Path) -> None:
    """The tests below rely on this."""
    done = subprocess.run([*ORDINARY, "cat", str(proc / "gpu0/samples")], capture_output=True, text=True, check=False,
                          env={**os.environ, "LC_ALL": "C"})
    assert done.returncode == 1 and "Permission denied" in done.stderr


@pytest.mark.parametrize("command,shows", [
    ("chip", "Chip          GP106 (0x136)"), ("engines", "Graphics (GR0)"), ("copy-engines", "LCE2"),
    ("gpcs", "2 of 2 GPCs, 9 of 10 TPCs")])
def test_topology_needs_no_privilege(proc: pathlib.Path, command: str, shows: str) -> None:
    """Status 0 and no message. Seen failing (status 3) with load_live()."""
    done = ask_unprivileged(proc, command)
    assert (done.returncode, done.stderr) == (0, "")
    assert shows in done.stdout and f"from {proc}/gpu0/snapshot" in done.stdout


def test_a_plan_needs_no_privilege(proc: pathlib.Path, tmp_path: pathlib.Path) -> None:
    """A task of 80 ms on one TPC every 100 ms, on the two GPCs of topology. Seen failing with status 3."""
    tasks = tmp_path / "tasks.json"
    tasks.write_text(json.dumps({"tasks": [
        {"name": "a", "period_us": 100000, "class": "compute", "alone": {"a_us": 80000}}]}))
    done = ask_unprivileged(proc, "plan", str(tasks))
    assert (done.returncode, done.stderr) == (0, "") and "GP106" in done.stdout


@pytest.mark.parametrize("command", ["runlists", "runlists 1", "channels"])
def test_commands_name_the_capability_that_runlists_need(proc: pathlib.Path, command: str) -> None:
    """Status 1, one sentence, and no output that looks like an empty runlist or a GPU without channels. Seen failing
    with earlier runlists_text() and channels_text(): "no channels"."""
    done = ask_unprivileged(proc, *command.split())
    assert (done.returncode, done.stderr) == (1, SENTENCE)
    assert "empty" not in done.stdout and "no channels" not in done.stdout
    assert done.stdout == f"gpu0: GP106 (Pascal), 0000:01:00.0, from {proc}/gpu0/snapshot\n"


def test_the_overview_shows_which_runlists_there_are_and_that_they_are_unknown(proc: pathlib.Path) -> None:
    """Each runlist with its engines, and once the reason why they are not shown. Seen failing with it at each."""
    done = ask_unprivileged(proc)
    assert (done.returncode, done.stderr) == (1, SENTENCE)
    assert "3.0 GiB, 2 GPCs, 9 TPCs" in done.stdout and "empty" not in done.stdout
    assert done.stdout.count("CAP_PERFMON") == 1
    assert "not shown without CAP_PERFMON or CAP_SYS_ADMIN: 0 (GR0), 1 (LCE2)" in done.stdout


def test_a_card_that_no_driver_has_set_up(proc: pathlib.Path) -> None:
    """The module says ENODATA (61) for each runlist; the rest is shown. Seen failing: "ENODATA" alone."""
    FakeProc(proc).show(make_topology(error=61))
    done = ask_unprivileged(proc)
    assert "3.0 GiB, 2 GPCs, 9 TPCs" in done.stdout
    assert "no driver has set it up yet: 0 (GR0)" in done.stdout


def test_isolation_judges_engines_and_says_that_channels_are_unknown(proc: pathlib.Path) -> None:
    """Rules R4 to R8 depend on topology only. Seen failing with R1 for no channel: "0 of them, 0 disabled"."""
    done = ask_unprivileged(proc, "isolation")
    assert (done.returncode, done.stderr) == (1, SENTENCE)
    assert "R1 All work goes through channels; they are unknown, because no runlist can be read." in done.stdout
    assert "0 of them" not in done.stdout and "no channels" not in done.stdout
    assert "R5 Tasks run independently only if they are on different runlists; there are 2." in done.stdout


def test_json_has_an_error_for_each_runlist_and_one_for_all(proc: pathlib.Path) -> None:
    """The JSON conforms to the schema, and each runlist has its error."""
    for command in ("", "runlists", "channels", "gpcs"):
        done = ask_unprivileged(proc, "--json", *command.split())
        parsed = json.loads(done.stdout)
        jsonschema.validate(parsed, SCHEMA, cls=jsonschema.Draft202012Validator)
        gpu = parsed["gpus"][0]
        assert (done.returncode, len(gpu["errors"])) == ((0, 0) if command == "gpcs" else (1, 1))
        for runlist in gpu.get("runlists", []):
            assert runlist["error"] == "EPERM"


def test_unknown_metrics_are_omitted(proc: pathlib.Path) -> None:
    """Engines and hazards are there, numbers of TSGs and channels are not; status 1 and the sentence."""
    done = ask_unprivileged(proc, "export", "--prometheus")
    assert (done.returncode, done.stderr) == (1, SENTENCE)
    assert 'gpulens_up{gpu="0"} 1\n' in done.stdout and 'gpulens_runlist_up{gpu="0",runlist="0"} 0\n' in done.stdout
    assert "gpulens_engine_info" in done.stdout
    assert "gpulens_tsgs" not in done.stdout and "gpulens_channels" not in done.stdout


@pytest.mark.parametrize("command,file", [
    ("top --batch 1", "snapshot"), ("record --for 100ms -o /dev/null", "samples"),
    ("disable 3 --for 1s", "snapshot"), ("export --prometheus --for 100ms", "samples")])
def test_commands_that_need_more_than_topology_name_the_file(proc: pathlib.Path, command: str, file: str) -> None:
    """No GPU can be shown (status 3); export shows the rest. Seen failing with "be root, or in the group": membership
    in the group alone does not suffice."""
    done = ask_unprivileged(proc, *command.split())
    assert done.returncode == (1 if command.startswith("export") else 3)
    assert f"{proc}/gpu0/{file}: {REFUSED[file]}\n" in done.stderr


def test_a_user_with_the_capability_sees_runlists(proc: pathlib.Path) -> None:
    """The module's answer decides, not the user's id."""
    (proc / "gpu0/snapshot").write_bytes(snapshot({0: [], 1: []}))
    done = ask_unprivileged(proc, "runlists")
    assert (done.returncode, done.stderr) == (0, "") and "empty: 0 (GR0), 1 (LCE2)" in done.stdout
