# SPDX-License-Identifier: GPL-2.0
"""gpulens schedule and gpulens schedule --simulate: policies that are refused, by the item, and what they print. What
holds do to a GPU: tests/vm/test_schedule.py; the policies: tests/tools."""

import json
import pathlib
import shutil
import typing

import jsonschema
import pytest
from support.fakeproc import BUSY, ENABLED, Channel, FakeProc, Tsg, snapshot
from support.program import ROOT, gpulens, image

SCHEMA = json.loads((ROOT / "docs/schedule-schema.json").read_text(encoding="utf-8"))
UNKNOWN = "  whether other TSGs have its address space is unknown: that takes the GPU's image"
TASK = {"name": "a", "tsg": "3"}
SERVER = {**TASK, "budget_ms": 5, "period_ms": 10}


@pytest.fixture(name="proc")
def fixture_proc(tmp_path: pathlib.Path) -> pathlib.Path:
    """A GPU with TSG 3 (channels 8 and 9) and TSG 5 (channel 16) on runlist 0, TSG 5 on runlist 1, too."""
    folder = tmp_path / "proc"
    folder.mkdir()
    FakeProc(folder).show(snapshot({
        0: [Tsg(3, 2_048_000, (Channel(8, ENABLED | BUSY), Channel(9))), Tsg(5, 1_024_000, (Channel(16),))],
        1: [Tsg(5, 1_024_000, (Channel(17),))]}))
    return folder


def run_policy(proc: pathlib.Path, policy: "str | dict[str, typing.Any]", *words: str) -> "tuple[int, str, str]":
    """gpulens schedule of this policy: status, output and message, in which FILE is the policy's name."""
    path = proc.parent / "policy.json"
    path.write_text(policy if isinstance(policy, str) else json.dumps(policy))
    done = gpulens("--proc", str(proc), "schedule", str(path), "--state", str(proc.parent / "state"), *words)
    return done.returncode, done.stdout, done.stderr.replace(str(path), "FILE")


def make_policy(policy: str, *tasks: "dict[str, typing.Any]") -> "dict[str, typing.Any]":
    """A policy's document."""
    return {"version": 1, "policy": policy, "tasks": list(tasks)}


REFUSED = {
    'FILE: task "a": TSG 7 is on no runlist of GPU 0': make_policy("edf", {**TASK, "tsg": "7"}),
    'FILE: task "a": tsg "x" is not an id, such as 3 or 0:3': make_policy("edf", {**TASK, "tsg": "x"}),
    'FILE: task "a": TSG 5 is on several runlists; name one of 0:5, 1:5': make_policy("edf", {**TASK, "tsg": "5"}),
    'FILE: task "a": has no tsg; without one, a task can be simulated only': make_policy("edf", {"name": "a"}),
    'FILE: task "a": tsg is neither an id nor a list of 1 to 1024 ids': make_policy("edf", {**TASK, "tsg": ["3", 4]}),
    'FILE: task "a": task a has the same TSG': make_policy("edf", {**TASK, "tsg": ["3", "0:3"]}),
    'FILE: task "a": task a has the TSG 3, too': make_policy("edf", {**TASK, "tsg": ["3", "3"]}),
    'FILE: task "b": task a has the TSG 0:5, too': make_policy(
        "edf", {**TASK, "tsg": ["3", "0:5"]}, {"name": "b", "tsg": "0:5"}),
    'FILE: task "a": has several TSGs, which the policy interleaved does not know': make_policy(
        "interleaved", {**TASK, "tsg": ["3", "0:5"]}),
    'FILE: task "a": has tsg and page_directory; one of them says what its TSGs are': make_policy(
        "edf", {**TASK, "page_directory": "0x1000"}),
    'FILE: task "a": page_directory is "4096", not a number as "0x60000000"': make_policy(
        "edf", {"name": "a", "page_directory": "4096"}),
    'FILE: task "a": budget_ms is 12, more than period_ms 10': make_policy("edf", {**SERVER, "budget_ms": 12}),
    'FILE: task "b": overload: with it, the servers have 1.100 of the GPU, more than all of it':
        make_policy("edf", SERVER, {**SERVER, "name": "b", "tsg": "0:5", "budget_ms": 6}),
    'FILE: task "a": has budget_ms and deadline_ms; the deadline of a server is the end of its period':
        make_policy("edf", {**SERVER, "deadline_ms": 3}),
    'FILE: task "a": has budget_ms but no period_ms': make_policy("edf", {**TASK, "budget_ms": 3}),
    'FILE: task "a": has a server but no budget_ms': make_policy("edf", {**TASK, "server": "hard"}),
    'FILE: task "a": has a budget, which only the policy edf knows': make_policy("share", SERVER),
    'FILE: task "a": has a priority, which only the policy fixed-priority knows':
        make_policy("edf", {**TASK, "priority": 1}),
    'FILE: task "a": has a weight or a tenant, which only best-effort tasks have':
        make_policy("fixed-priority", {**TASK, "priority": 1, "weight": 2}),
    'FILE: task "a": another task has this name': make_policy("share", TASK, {**TASK, "tsg": "0:5"}),
    'FILE: task "b": task a has the TSG 3, too': make_policy("share", TASK, {**TASK, "name": "b"}),
    'FILE: task "b": task a has the same TSG': make_policy("share", TASK, {"name": "b", "tsg": "0x3"}),
    'FILE: task "b": weight 2 of tenant t, which has 1 in task a':
        make_policy("share", {**TASK, "tenant": "t"}, {"name": "b", "tsg": "0:5", "tenant": "t", "weight": 2}),
    'FILE: policy is "lottery"; there are fixed-priority, edf, share, interleaved': make_policy("lottery", TASK),
    'FILE: task "a": server is "firm"; there are soft, hard': make_policy("edf", {**SERVER, "server": "firm"}),
    **{f'FILE: task "a": has {key}, which the policy interleaved does not know': make_policy(
        "interleaved", {**TASK, key: value}) for key, value in (("deadline_ms", 3), ("weight", 2), ("tenant", "t"))},
    "FILE: has 0 tasks, not 1 to 10000": make_policy("edf"),
    "FILE: version is not 1": {**make_policy("edf", TASK), "version": 2},
}


@pytest.mark.parametrize("message", REFUSED)
def test_a_wrong_policy_is_refused_by_the_item_and_changes_nothing(proc: pathlib.Path, message: str) -> None:
    """Status 2, one message, no file written. Seen failing without the checks of tasks."""
    status, out, err = run_policy(proc, REFUSED[message])
    assert (status, out, err) == (2, "", f"gpulens: {message}\n")
    assert not (proc.parent / "state").exists()


def test_a_dry_run_says_what_it_would_write(proc: pathlib.Path) -> None:
    """Tasks, their parameters and the writes of a hold; nothing is written, and no right is needed. The last line says
    why nothing could be written. Seen failing without that line."""
    gpu = f"{proc}/gpu0/"
    status, out, err = run_policy(proc, make_policy(
        "edf", {**SERVER, "slice_us": 500}, {"name": "b", "tsg": "0:5", "tenant": "t", "weight": 2}), "--dry-run")
    assert (status, err) == (0, "")
    refused = f"no right to schedule: {gpu}hold_channel: ENOENT: "
    assert out.splitlines()[:-1] == [
        "policy edf on GPU 0, 2 tasks",
        "task a: TSG 3 on runlist 0 (GR0); 5.000 ms of each 10.000 ms, soft server",
        f"  would write 3 500 to {gpu}tsg_timeslice, and undo it at the end",
        f"  to hold it, would write 8, 9 to {gpu}hold_channel and 3 to {gpu}preempt_tsg",
        f"  to release it, would write 8, 9 to {gpu}enable_channel", UNKNOWN,
        "task b: TSG 5 on runlist 0 (GR0); best effort, weight 2 of tenant t",
        f"  to hold it, would write 16 to {gpu}hold_channel and 5 to {gpu}preempt_tsg",
        f"  to release it, would write 16 to {gpu}enable_channel", UNKNOWN]
    assert out.splitlines()[-1].startswith(f"as it is, the command would end: {refused}")
    assert not (proc.parent / "state").exists()
    document = json.loads(run_policy(proc, make_policy("share", TASK), "--dry-run", "--json")[1])
    jsonschema.validate(document, {**SCHEMA, "$ref": "#/$defs/planned"})
    assert document["tasks"][0]["channels"] == ["8", "9"] and document["refused"].startswith(refused)
    fake = FakeProc(proc)
    fake.add_control_files()
    policy = make_policy("share", TASK)
    assert run_policy(proc, policy, "--dry-run")[1].splitlines()[-1] == UNKNOWN
    assert json.loads(run_policy(proc, policy, "--dry-run", "--json")[1])["refused"] is None
    fake.close()


def test_a_dry_run_names_tsgs_of_a_task_that_are_left_out(proc: pathlib.Path) -> None:
    """A program's copies and its other TSGs (RTAS'24, VI-B), by the page directories of the image: on the emulated
    GP106, TSGs 3, 4 and 40 have 0x60000000, TSGs 5 and 41 0x60001000. Seen failing with runlists for address spaces."""
    for name in ("snapshot", "image"):
        shutil.copy(image("gp106"), proc / "gpu0" / name)
    lines = []
    for tsgs in ("3", ["3", "5:40"], ["3", "4", "5:40"]):
        policy = make_policy("share", {**TASK, "tsg": tsgs}, {"name": "b", "tsg": ["5", "6:41"]})
        status, out, _ = run_policy(proc, policy, "--dry-run")
        assert status == 0
        lines.append([line for line in out.splitlines() if "task" in line or "address space" in line])
        document = json.loads(run_policy(proc, policy, "--dry-run", "--json")[1])
        jsonschema.validate({**document, "gpu": 0}, {**SCHEMA, "$ref": "#/$defs/planned"})  # an image has no number
        assert [len(task["left_out"]) for task in document["tasks"]] == [3 - len(tsgs) if tsgs != "3" else 2, 0]
    on_0 = "on runlist 0 (GR0 GRCE0/LCE0 GRCE1/LCE1)"
    left = "  not held with it, though in its address space: "
    last = f"task b: TSG 5 {on_0}, TSG 41 on runlist 6 (LCE3); best effort, weight 1"
    assert [line[1:] for line in lines] == [
        [f"task a: TSG 3 {on_0}; best effort, weight 1", f"{left}TSG 4 {on_0}, TSG 40 on runlist 5 (LCE2)", last],
        [f"task a: TSG 3 {on_0}, TSG 40 on runlist 5 (LCE2); best effort, weight 1", f"{left}TSG 4 {on_0}", last],
        [f"task a: TSG 3 {on_0}, TSG 4 {on_0}, TSG 40 on runlist 5 (LCE2); best effort, weight 1", last]]


def test_a_task_is_an_address_space(proc: pathlib.Path) -> None:
    """All TSGs with a page directory, on three runlists, without their numbers. Seen failing with the first runlist."""
    for name in ("snapshot", "image"):
        shutil.copy(image("gp106"), proc / "gpu0" / name)
    policy = make_policy("share", {"name": "a", "page_directory": "0x60000000"},
                         {"name": "b", "page_directory": "0x60001000"})
    document = json.loads(run_policy(proc, policy, "--dry-run", "--json")[1])
    assert [[one["tsg"] for one in (task, *task["also"])] for task in document["tasks"]] == [
        ["3", "4", "40"], ["5", "41"]]
    assert not any(task["left_out"] for task in document["tasks"])
    policy = make_policy("share", {"name": "a", "page_directory": "0x7000"})
    assert run_policy(proc, policy, "--dry-run") == (
        2, "", 'gpulens: FILE: task "a": no TSG has the page directory 0x7000\n')
    (proc / "gpu0/image").unlink()
    assert run_policy(proc, policy, "--dry-run") == (
        4, "", 'gpulens: FILE: task "a": page directories take the GPU\'s image, which cannot be read\n')


def test_runlists_without_hardware_in_common_are_decided_apart(proc: pathlib.Path) -> None:
    """RTAS'24, R5, R7 and R8: the copy engine LCE2 of runlist 5 has a lock of its own on the emulated GP106, so that a
    task there waits for nobody; one task on both joins the two. Seen failing where groups that a task joins stay
    apart."""
    for name in ("snapshot", "image"):
        shutil.copy(image("gp106"), proc / "gpu0" / name)
    tasks = ({**TASK, "tsg": "3"}, {"name": "b", "tsg": "5:40"}, {"name": "c", "tsg": "5"})
    out = run_policy(proc, make_policy("share", *tasks), "--dry-run")[1]
    assert out.splitlines()[1:3] == [
        "decided by themselves, with no runlist and no copy engine of the others: a, c",
        "decided by itself, with no runlist and no copy engine of the others: b"]
    tasks = ({"name": "a", "tsg": "6:41"}, {"name": "b", "tsg": "3"}, {"name": "c", "tsg": ["4", "5:40"]},
             {"name": "d", "tsg": "5"})
    document = json.loads(run_policy(proc, make_policy("share", *tasks), "--dry-run", "--json")[1])
    assert [task["group"] for task in document["tasks"]] == [0, 1, 1, 1]


def test_without_the_right_nothing_begins(proc: pathlib.Path) -> None:
    """No control file: the message names it."""
    status, out, err = run_policy(proc, make_policy("share", TASK))
    assert (status, out) == (4, "")
    assert err.startswith(f"gpulens: no right to schedule: {proc}/gpu0/hold_channel: ENOENT")


def test_shipped_policies_conform_to_the_schema() -> None:
    """docs/schedule-example.json and docs/schedule-table1.json, and a document that does not."""
    for name in ("schedule-example.json", "schedule-table1.json"):
        jsonschema.validate(json.loads((ROOT / "docs" / name).read_text(encoding="utf-8")), SCHEMA)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(make_policy("edf", {**TASK, "period_s": 3}), SCHEMA)


def test_a_simulation_has_responses_and_misses_by_slices_and_by_the_policy(tmp_path: pathlib.Path) -> None:
    """Worked out by hand: U arrives every 10 ms from 1 ms on and needs 2 ms; H is endless; slices of 8 ms in turn. By
    slices, H begins at 0, U's first job waits until 8 and ends at 10, a response of 9 ms; H runs from 10 to 18, U
    arrived at 11 and ends at 20, again 9 ms, and so on: three jobs in 30 ms, all late. By the policy, each takes 2."""
    path = tmp_path / "policy.json"
    path.write_text(json.dumps(make_policy(
        "fixed-priority",
        {"name": "H", "slice_us": 8000, "load": {"endless": True}},
        {"name": "U", "slice_us": 8000, "priority": 0, "deadline_ms": 5, "period_ms": 10,
         "load": {"length_ms": 2, "first_ms": 1}})))
    done = gpulens("--json", "schedule", "--simulate", str(path), "--for", "30ms")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    jsonschema.validate(document, {**SCHEMA, "$ref": "#/$defs/simulation"})
    other, urgent = document["tasks"]
    assert urgent["interleaved"] == {"jobs": 3, "missed": 3, "late_now_ns": 0, "worst_response_ns": 9000000,
                                     "mean_response_ns": 9000000, "ran_ns": 6000000}
    assert urgent["scheduled"] == {"jobs": 3, "missed": 0, "late_now_ns": 0, "worst_response_ns": 2000000,
                                   "mean_response_ns": 2000000, "ran_ns": 6000000}
    assert other["interleaved"]["ran_ns"] == other["scheduled"]["ran_ns"] == 24000000
    assert (urgent["response_bound_ns"], other["response_bound_ns"]) == (10000000, None)  # a slice of H, and 2 ms
    assert urgent["events"] == {"arrived": 3, "ended": 3, "budgets_used_up": 0}
    assert document["skipped_entries"] == 0
    text = gpulens("schedule", "--simulate", str(path), "--for", "30ms").stdout
    assert "U                  2.000 ms   5.000 ms |   9.000 ms       3/3   6.000 ms |   2.000 ms       0/3" in text
    assert "U                 10.000 ms  10.000 ms |         3         3         0" in text
    assert "5 switches by the time slices, which skipped 0 entries without work; 6 by the policy\n" in text


def test_a_job_that_has_not_ended_is_late(tmp_path: pathlib.Path) -> None:
    """Worked out by hand: behind an endless task of a higher priority, U's jobs of 1, 11 and 21 ms with deadlines of 5
    do not end in 30 ms; the first is late by 24. Seen failing where only missed jobs were counted."""
    path = tmp_path / "policy.json"
    path.write_text(json.dumps(make_policy(
        "fixed-priority",
        {"name": "H", "slice_us": 8000, "priority": 0, "load": {"endless": True}},
        {"name": "U", "slice_us": 8000, "priority": 1, "deadline_ms": 5, "period_ms": 10,
         "load": {"length_ms": 2, "first_ms": 1}})))
    urgent = json.loads(gpulens("--json", "schedule", "--simulate", str(path), "--for", "30ms").stdout)["tasks"][1]
    assert urgent["scheduled"] == {"jobs": 0, "missed": 3, "late_now_ns": 24000000, "worst_response_ns": None,
                                   "mean_response_ns": None, "ran_ns": 0}
    text = gpulens("schedule", "--simulate", str(path), "--for", "30ms").stdout
    assert text.endswith("\nU: by the policy, a job that has not ended is late by 24.000 ms at the end\n"), text


STARVING = (
    ("edf", ({"deadline_ms": 16}, {"budget_ms": 4, "period_ms": 20}),
     "FILE: a has a deadline and no budget: a long job can keep b from its 4 ms of 20"),
    ("edf", ({"budget_ms": 4, "period_ms": 20}, {"deadline_ms": 16}),
     "FILE: b has a deadline and no budget: a long job can keep a from its 4 ms of 20"),
    ("edf", ({"deadline_ms": 16}, {"deadline_ms": 20}), ""),
    ("edf", ({"budget_ms": 4, "period_ms": 20}, {}), ""),
    ("fixed-priority", ({"priority": 0}, {"priority": 1}), ""),
)


@pytest.mark.parametrize("policy,tasks,note", STARVING)
def test_who_can_keep_a_server_from_its_budget_is_named(proc: pathlib.Path, policy: str, note: str,
                                                        tasks: "tuple[dict[str, typing.Any], ...]") -> None:
    """By --dry-run and in a simulation, where an endless job leaves the server nothing (half by time slices). Seen
    failing without the note."""
    document = make_policy(policy, *({"name": name, "tsg": f"0:{tsg}", "load": {"endless": True}, **task}
                                     for name, tsg, task in zip("ab", (3, 5), tasks)))
    said = f"gpulens: {note}\n" if note else ""
    status, _, message = run_policy(proc, document, "--dry-run")
    assert (status, message) == (0, said)
    path = proc.parent / "policy.json"
    done = gpulens("--json", "schedule", "--simulate", str(path), "--for", "100ms")
    assert (done.returncode, done.stderr.replace(str(path), "FILE")) == (0, said)
    if note:
        server = next(task for task, given in zip(json.loads(done.stdout)["tasks"], tasks) if "budget_ms" in given)
        assert server["scheduled"]["ran_ns"] == 0 and server["interleaved"]["ran_ns"] > 49000000


def test_a_task_without_a_load_is_not_simulated() -> None:
    """The message names it; so does one without TSGs and without a policy."""
    done = gpulens("schedule", "--simulate", str(ROOT / "docs/schedule-example.json"))
    assert (done.returncode, done.stderr.replace(str(ROOT), "")) == (
        2, "gpulens: /docs/schedule-example.json: display has a deadline and no budget: a long job can keep detector "
        'from its 12 ms of 40\ngpulens: /docs/schedule-example.json: task "detector": has no load to simulate\n')
    assert gpulens("interleave").returncode == 2


# -- interleaved

LEVELS = ({**TASK, "level": "high", "slice_us": 500}, {"name": "b", "tsg": "0:5", "level": "low"})


def test_a_dry_run_of_an_interleaved_policy(tmp_path: pathlib.Path) -> None:
    """The order by linux-nvgpu's rule: high, then each low one with high before it. TSG 9, of no task, is low; TSG 5 of
    runlist 1 is left alone. Nothing is written."""
    folder = tmp_path / "proc"
    folder.mkdir()
    FakeProc(folder).show(snapshot({
        0: [Tsg(9, 1_024_000, (Channel(24),)), Tsg(3, 2_048_000, (Channel(8),)), Tsg(5, 1_024_000, (Channel(16),))],
        1: [Tsg(5, 1_024_000, (Channel(17),))]}))
    policy = make_policy("interleaved", *LEVELS)
    status, out, err = run_policy(folder, policy, "--dry-run")
    assert (status, err) == (0, "")
    assert out.splitlines() == ["policy interleaved on GPU 0", "runlist 0 (GR0): TSGs 3 5 3 9",
                                "  TSG 3 with a time slice of 500 us"]
    document = json.loads(run_policy(folder, policy, "--dry-run", "--json")[1])
    jsonschema.validate(document, {**SCHEMA, "$ref": "#/$defs/interleaved"})
    assert document["runlists"] == [{"runlist": 0, "order": [3, 5, 3, 9], "slices_us": {"3": 500}}]


@pytest.mark.parametrize("chip", ["GP106", "AD102"])
def test_an_interleaved_policy_is_not_carried_out(tmp_path: pathlib.Path, chip: str) -> None:
    """On any GPU: the module submits no list of its own. The message names what can be used."""
    folder = tmp_path / "proc"
    folder.mkdir()
    FakeProc(folder).show(snapshot({0: [Tsg(3, 2_048_000, (Channel(8),))]}, chip))
    policy = make_policy("interleaved", {**TASK, "tsg": "0:3", "level": "high"})
    assert run_policy(folder, policy) == (
        4, "", "gpulens: the policy interleaved is shown only (--dry-run, or --simulate): the module submits no "
        "list of its own; use fixed-priority, edf or share\n")
    assert run_policy(folder, policy, "--dry-run")[0] == 0


def test_interleaved_is_neither_simulated_nor_for_the_driver(proc: pathlib.Path) -> None:
    """Each says why."""
    path = proc.parent / "policy.json"
    path.write_text(json.dumps(make_policy("interleaved", {**TASK, "load": {"endless": True}})))
    done = gpulens("schedule", "--simulate", str(path))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (f"gpulens: {path}: the policy interleaved is what --simulate compares others with; "
                           "name another one\n")
    done = gpulens("--proc", str(proc), "--source", "rm", "schedule", str(path), "--experimental")
    assert done.returncode == 2 and "needs the module; --source rm has no runlists" in done.stderr
