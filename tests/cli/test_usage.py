# SPDX-License-Identifier: GPL-2.0
"""What every command does with options of all, wrong words and wrong values."""

import json
import pathlib
import re
import shutil
import typing

import pytest
from support.fakekfd import FakeKfd
from support.fakeproc import BUSY, ENABLED, Channel, FakeProc, Tsg, snapshot
from support.measured import FAKE, fake_environment
from support.program import LAB, LAB_COMMANDS, ROOT, TOOL, gpulens, image, scenario_of, tool_of

COMMANDS = sorted(re.findall(r"^([a-z-]+)\n  \S", gpulens("--help-all").stdout + gpulens(
    "--help-all", tool=LAB).stdout, re.M))
MANY = "gpulens --help lists commands and options."
SHOW = ("chip", "engines", "runlists", "channels", "copy-engines", "gpcs", "isolation")
# Words with which each command does something here. A new command needs a row.
WORDS: "dict[str, tuple[str, ...]]" = {
    **{command: ("-i", "IMAGE", command) for command in SHOW},
    "proc": ("-i", "IMAGE", "proc", "chip"),
    "xid": ("-i", "IMAGE", "xid", "NVRM: Xid (PCI:0000:01:00): 31, Ch 0000000b"),
    "first-card": ("first-card", "--module", "FOLDER/none"),
    "record": ("--proc", "PROC", "record", "--for", "100ms", "-o", "FOLDER/a.csv"),
    "report": ("report", "FOLDER/a.rec"),
    "run": ("run", "--", "true"),
    "partitions": ("partitions",),
    **{command: ("--proc", "PROC", command, "0", "--dry-run") for command in (
        "disable", "enable", "preempt", "switch-to", "resubmit")},
    "preemption-mode": ("--proc", "PROC", "preemption-mode", "cil", "0", "--dry-run"),
    "timeslice": ("--proc", "PROC", "timeslice", "3", "2000", "--dry-run"),
    "top": ("--proc", "PROC", "top", "--batch", "1", "--delay", "100ms"),
    "schedule": ("--proc", "PROC", "schedule", "FOLDER/policy.json", "--dry-run"),
    "interleave": ("interleave", "render:high", "batch:low"),
    "plan": ("plan", "docs/plan-example.json", "--tpcs", "20"),
    "fit": ("fit", "FOLDER/times.csv"),
    "amd": ("amd", "--from", "FOLDER/kfd"),
    "sweep": ("sweep", "--scenario", "matrix-copy", "--probe", FAKE, "--sizes", "66", "--repeat", "1"),
    "load": ("load", "memory", "--tpcs", "0", "--for", "10ms", "--probe", FAKE),
    "verify": ("verify", "--tpcs", "0", "--probe", FAKE, "--neighbours", "none", "--", "true"),
    "tenants": ("tenants", "cases", "--program", "FOLDER/tenants"),
    "experiment": ("experiment", "fig6", "--simulate"),
    "evaluate": ("evaluate", "--tasks", "5", "--sets", "2", "--tpcs", "4"),
    "warps": ("warps",),
    "probe-kernels": ("probe-kernels", "fig3.9", "--simulate", "-o", "-"),
    "blocks": ("blocks", "FOLDER/log.json"),
    "export": ("-i", "IMAGE", "export", "--prometheus")}
MEASURES = {"sweep", "load", "verify", "tenants"}  # with the tests' libcuda and driver
NO_JSON = {"disable", "enable", "export", "first-card", "preempt", "preemption-mode", "proc", "record", "report",
           "resubmit", "run", "switch-to", "timeslice", "top"}


@pytest.fixture(name="folder", scope="module")
def fixture_folder(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """Files for the commands of WORDS, and proc/, a folder in place of /proc with a GPU."""
    folder = tmp_path_factory.mktemp("usage")
    (folder / "proc").mkdir()
    FakeProc(folder / "proc").show(snapshot({0: [Tsg(3, 2_048_000, (Channel(8, ENABLED | BUSY, 6), Channel(9)))]}))
    FakeKfd(folder / "kfd").show()
    (folder / "times.csv").write_text("task,tpcs,time_us\n" + "".join(
        f"a,{tpcs},{100 + 1000 / tpcs}\n" for tpcs in range(1, 9)))
    (folder / "policy.json").write_text('{"version": 1, "policy": "share", "tasks": [{"name": "a", "tsg": "3"}]}')
    (folder / "tenants").write_text("#!/bin/sh\necho '{\"ms\": 1}'\n")
    (folder / "tenants").chmod(0o755)
    assert gpulens("probe-kernels", "fig3.9", "--simulate", "-o", str(folder / "log.json")).returncode == 0
    return folder


def fill_names(folder: pathlib.Path, words: typing.Iterable[str]) -> "list[str]":
    """The words with the names of files put in."""
    names = {"IMAGE": str(image("ad102", scenario_of("ad102"))), "PROC": str(folder / "proc"), "FOLDER": str(folder),
             "docs/": f"{ROOT}/docs/"}
    return [re.sub("|".join(names), lambda found: names[found[0]], word) for word in words]


@pytest.mark.parametrize("command", COMMANDS)
def test_json_is_json_or_refused(command: str, folder: pathlib.Path) -> None:
    """--json before the command: either all of standard output is a JSON document, or it is wrong usage, nothing is
    printed or written, and the message says what to use instead. Seen failing for twelve commands, which ignored it."""
    env = fake_environment() if command in MEASURES else None
    done = gpulens("--json", *fill_names(folder, WORDS[command]), env=env)
    if command in NO_JSON:
        assert (done.returncode, done.stdout) == (2, "")
        assert re.fullmatch(rf"gpulens: --json: {command} has no JSON; [^\n]+\n{re.escape(MANY)}\n", done.stderr)
        assert not list(folder.glob("a.*"))
        return
    assert done.returncode in ((5,) if command == "verify" else (0, 1)), done.stderr
    assert isinstance(json.loads(done.stdout), dict)


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_a_command_names_the_options_of_all(command: str) -> None:
    """Each option that gpulens --help lists, but --json where it is refused. Seen failing with -h alone."""
    text = gpulens(command, "--help").stdout.split("Options of every command")[1]
    for option in ("--image", "--gpu", "--source", "--proc", "--color"):
        assert option in text
    assert ("--json" in text) == (command not in NO_JSON)


@pytest.mark.parametrize("words, message, end", [
    (["runlist"], "no command runlist; did you mean runlists?", MANY),
    (["recrod", "-o", "x"], "no command recrod; did you mean record?", MANY),
    (["partition"], "no command partition; did you mean partitions?", MANY),
    (["iso"], "no command iso; did you mean isolation?", MANY),
    (["frobnicate"], "no command frobnicate", MANY),
    (["re"], "no command re", MANY),  # record, report, resubmit
    (["--jsn", "chip"], "no option --jsn; did you mean --json?", "gpulens chip --help lists its options."),
    (["chip", "--jsno"], "chip: no option --jsno; did you mean --json?", "gpulens chip --help lists its options."),
    (["record", "--outptu=x"], "record: no option --outptu; did you mean --output?",
     "gpulens record --help lists its options."),
    (["chip", "x"], "chip: unexpected argument x", "gpulens chip --help lists its options."),
])
def test_what_was_probably_meant_is_suggested(words: "list[str]", message: str, end: str) -> None:
    """Wrong usage, status 2: the word, one suggestion if one is nearest, and where the help is. Seen failing with "The
    following argument was not expected", and for record with "--output is required"."""
    done = gpulens(*words)
    message = message if message.startswith("no command") or ": " in message else f"{words[1]}: {message}"
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"gpulens: {message}\n{end}\n")


def test_usual_words_for_help_and_version() -> None:
    """help COMMAND is its --help, -V is --version. Seen failing with "not expected"."""
    assert gpulens("help", "record").stdout == gpulens("record", "--help").stdout != ""
    assert gpulens("-V").stdout == gpulens("--version").stdout != ""


@pytest.mark.parametrize("words, message", [
    (["runlists", "x"], "Y: x is not the number of a runlist"),
    (["record", "--runlist", "x", "-o", "x"], "--runlist: x is not the number of a runlist"),
    (["-g", "1,2", "chip"], "--gpu: 1,2 is not the number of a GPU; -g can be repeated"),
    (["disable", "--pid", "x"], "--pid: x is not a number, or out of range"),
    (["-i", "x", "proc", "runlist"], "NAME: runlist is not a file of /proc/gpuX; did you mean runlist0?"),
    (["experiment", "fig66"],
     "NAME: fig66 not in {r1,fig5,fig6,fig7,fig8,fig9,fig10,table3,fig13,fig14,pitfalls,sharing}; "
     "did you mean fig6?"),
    (["verify", "--neighbours", "compute,memry", "--tpcs", "0", "--", "true"],
     "--neighbours: memry not in {compute,memory,copies,none}; did you mean memory?"),
    (["--color", "alway", "chip"], "--color: alway not in {auto,always,never}; did you mean always?"),
    (["chip", "--proc"], "--proc: DIR is missing"),
    (["run", "--tpcs"], "--tpcs: TPCS is missing"),
    (["timeslice", "3"], "US is required"),
    (["top", "--batch", "0"], "--batch: 0 is not a number from 1 to 4294967295"),
    (["probe-kernels", "fig3.9", "--simulate", "--sms", "2000"], "--sms: 2000 is not a number from 1 to 1024"),
    (["timeslice", "3", "0"], "US: 0 is not a time of 1us to 8556380us, in whole microseconds"),
    (["timeslice", "3", "8556381"], "US: 8556381 is not a time of 1us to 8556380us, in whole microseconds"),
    (["timeslice", "3", "500ns"], "US: 500ns is not a time of 1us to 8556380us, in whole microseconds"),
    (["--color", "foo", "chip"], "--color: foo not in {auto,always,never}"),
    (["plan", "x.json", "--heuristic", "best"],
     "--heuristic: best not in {auto,sms-ina,sms-act,bf-ina,bf-act,1g,stgm,even,smart-even}"),
])
def test_a_wrong_value_is_named_with_its_range(words: "list[str]", message: str) -> None:
    """The option or argument, the value, what it may be, a suggestion where one is near, and the help that describes
    it. Seen failing with texts of the parser's library: "Value 2ms not in range 1 to 4294967295", "Could not convert: Y
    = x"; without a suggestion; and with the help of gpulens for options of a command."""
    done = gpulens(*words)
    command, tool = [word for word in words if word in COMMANDS][0], tool_of(words).name
    common = message.startswith(("--gpu", "--color", "--proc"))
    where = MANY if common else f"{tool} {command} --help lists its options."
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"{tool}: {message}\n{where}\n")


READS_NO_GPU = ("report", "interleave", "fit", "blocks", "probe-kernels", "experiment")


@pytest.mark.parametrize("command", READS_NO_GPU)
def test_a_gpu_that_is_named_is_not_ignored(command: str, folder: pathlib.Path) -> None:
    """A command that reads no GPU refuses -i, -g and --source, and does nothing. Seen failing: simulate -g 1 simulated,
    and -i FILE blocks LOG printed the log."""
    name = {"probe-kernels": "probe-kernels", "experiment": "experiment --simulate"}.get(command, command)
    for option, value in (("-g", "1"), ("-i", "IMAGE"), ("--source", "rm")):
        done = gpulens(*fill_names(folder, [option, value, *WORDS[command]]))
        reason = f"{option}: {name} reads no GPU"
        if (command, option) == ("experiment", "-i"):
            reason = "-i: experiment needs a GPU of this machine"
        assert (done.returncode, done.stdout) == (2, "") and done.stderr.startswith(
            f"{tool_of([command]).name}: {reason}"), done.stderr
    done = gpulens("-g", "1", "probe-kernels", "fig3.9", "-o", "-")
    assert done.returncode == 2 and "-g: probe-kernels takes the device number of CUDA: --device N" in done.stderr


def test_a_scenario_that_does_not_exist_is_named_with_the_nearest_one() -> None:
    """A name of a built-in scenario looks like a file's. Seen failing with "ENOENT: No such file or directory; check
    the path"."""
    done = gpulens("probe-kernels", "fig3.99", "--simulate", "-o", "-")
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr == ("gpulens-lab: fig3.99: there is no such file and no such scenario; did you mean fig3.9?; "
                           "gpulens-lab probe-kernels --list lists the scenarios\n")


def test_a_runlist_that_does_not_exist_is_named_with_those_that_do(folder: pathlib.Path) -> None:
    """Seen failing with "it does not exist" alone."""
    done = gpulens(*fill_names(folder, ["--proc", "PROC", "runlists", "7"]))
    assert (done.returncode, done.stderr) == (1, "gpulens: gpu0: runlist 7: it does not exist; there are 0, 1\n")


def test_a_plan_without_a_gpu_is_shown_a_way(tmp_path: pathlib.Path) -> None:
    """Seen failing without the last line: plan needs no GPU for sizes, and the message named the module alone."""
    done = gpulens("--proc", str(tmp_path), "--source", "module", "plan", f"{ROOT}/docs/plan-example.json")
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.endswith(f"\nWithout a GPU, gpulens plan {ROOT}/docs/plan-example.json --tpcs N plans sizes.\n")


def test_a_timeslice_has_a_unit_or_is_in_microseconds(folder: pathlib.Path) -> None:
    """2000, 2000us and 2ms are the same. Seen failing with 2ms refused."""
    printed = {gpulens(*fill_names(folder, ["--proc", "PROC", "timeslice", "3", text, "--dry-run"])).stdout
               for text in ("2000", "2000us", "2ms")}
    assert printed == {f"would write 3 2000 to {folder}/proc/gpu0/tsg_timeslice\n"}


@pytest.mark.parametrize("words", [["-i", "FOLDER/none", "chip"], ["plan", "FOLDER/none", "--tpcs", "20"],
                                   ["report", "FOLDER/none"], ["blocks", "FOLDER/none"], ["fit", "FOLDER/none"]])
def test_a_missing_file_is_not_to_be_created(words: "list[str]", folder: pathlib.Path) -> None:
    """Of a file to read, the path is wrong; only for output a folder may be missing. Seen failing with "or create the
    folder" for a file that is read."""
    done = gpulens(*fill_names(folder, words))
    assert done.returncode in (2, 3)
    assert done.stderr == f"{tool_of(words).name}: {folder}/none: ENOENT: No such file or directory; check the path\n"
    done = gpulens(*fill_names(folder, ["-i", "IMAGE", "export", "--prometheus", "-o", "FOLDER/none/x"]))
    assert done.stderr.endswith("check the path, or create the folder\n")


@pytest.mark.parametrize("words, message, status", [
    (["report", "FOLDER/text"], "FOLDER/text: it is no recording of gpulens, or ends before its first sample", 3),
    (["report", "x", "-o", "a.pdf"], "a.pdf: the name must end with .html, .csv or .perfetto-trace", 2),
    (["--proc", "FOLDER", "schedule", "FOLDER/none"], "FOLDER/none: ENOENT: No such file or directory", 3),
    (["--proc", "FOLDER", "schedule", "FOLDER/text"], "FOLDER/text: not JSON: parse error at line 1", 2),
    (["--proc", "FOLDER", "plan", "FOLDER/text"], "FOLDER/text: not JSON: parse error at line 1", 2),
    (["amd", "--from", "FOLDER/none"], "FOLDER/none/sys/class/kfd/kfd/topology/nodes: No such file or directory\n", 3),
    (["run", "FOLDER/none"], "FOLDER/none: No such file or directory\n", 127),
    (["run", "--tpcs", "3-1", "true"], '--tpcs: "3-1": expected 0-9,12, 0x3ff, gpc:2,3, half:a or all\n', 2),
])
def test_what_is_wrong_comes_first(words: "list[str]", message: str, status: int, folder: pathlib.Path) -> None:
    """The file or the word is named before a GPU, a driver or CUDA is asked for, and nothing is said of a program that
    never began. Seen failing for each of them."""
    (folder / "text").write_text("hello\n")
    done = gpulens(*fill_names(folder, words))
    assert (done.returncode, done.stdout) == (status, "")
    assert done.stderr.startswith(f"gpulens: {message}".replace("FOLDER", str(folder)))
    assert "TSG" not in done.stderr


def test_a_refused_write_names_what_was_written(folder: pathlib.Path) -> None:
    """The file and the id. The module's own refusals are in tests/vm/test_tool.py. Seen failing with the file alone."""
    done = gpulens(*fill_names(folder, ["--proc", "PROC", "preempt", "3"]))
    assert (done.returncode, done.stderr) == (
        4, f"gpulens: {folder}/proc/gpu0/preempt_tsg < 3: ENOENT: no such file or object\n")


@pytest.mark.parametrize("old, name, now", [
    ("-i IMAGE copy", "copy", "-i IMAGE copy-engines"), ("preemption --help", "preemption", "preemption-mode --help"),
    ("neighbour --help", "neighbour", "load --help"),
    ("--proc PROC preempt-runlist 0 --dry-run", "preempt-runlist", "--proc PROC preempt --runlist 0 --dry-run"),
    ("blocks none.json", "blocks", "blocks none.json"), ("simulate warps", "simulate warps", "warps"),
    ("simulate a:high b:low", "simulate", "interleave a:high b:low"),
    ("simulate --policy docs/schedule-table1.json --for 1s", "simulate --policy",
     "schedule --simulate docs/schedule-table1.json --for 1s"),
    ("tenants none", "tenants", "tenants none"), ("experiment --list", "experiment", "experiment --list"),
    ("probe-kernels --list", "probe-kernels", "probe-kernels --list"),
    ("plan --evaluate --tasks 5 --sets 2 --tpcs 4", "plan --evaluate", "evaluate --tasks 5 --sets 2 --tpcs 4"),
    ("plan --status none.json", "plan --status", "plan status none.json"),
    ("masks --amd 15,15 --sizes 3", "masks --amd", "amd masks 15,15 --sizes 3"),
    ("masks --sizes 3 --amd=15,15", "masks --amd", "amd masks --sizes 3 15,15"),
    ("partitions --ways --quiet", "partitions --ways", "partitions --methods --quiet"),
    ("--json plan --tasks 5 --evaluate --sets 2 --tpcs 4", "plan --evaluate",
     "--json evaluate --tasks 5 --sets 2 --tpcs 4")])
def test_older_names_of_commands_work(old: str, name: str, now: str, folder: pathlib.Path) -> None:
    """With a note, and not in the help; gpulens-lab is started for its own. Seen failing with "no command"."""
    done = gpulens(*fill_names(folder, old.split()), tool=TOOL)
    new = gpulens(*fill_names(folder, now.split()))
    command = [word for word in now.split() if word in COMMANDS][0]
    more = {"preempt": " --runlist", "schedule": " --simulate", "plan": " status", "amd": " masks",
            "partitions": " --methods"}.get(command, "")
    means = "gpulens-lab " * (command in LAB_COMMANDS) + command + more
    assert (done.returncode, done.stdout, done.stderr) == (
        new.returncode, new.stdout, f"gpulens: {name} is {means} now\n{new.stderr}")
    assert new.returncode or new.stdout
    assert name in ("blocks", "tenants", "experiment", "probe-kernels") or name not in COMMANDS


def test_words_behind_another_command_start_no_lab(tmp_path: pathlib.Path) -> None:
    """As the program of run. Where gpulens-lab is not installed, the message names its package."""
    assert gpulens("run", "--", "echo", "blocks", tool=TOOL).stdout == "blocks\n"
    shutil.copy(image("gp106"), tmp_path / "blocks")
    done = gpulens("-i", "blocks", "chip", tool=TOOL, before=("env", "-C", str(tmp_path)))
    assert (done.returncode, done.stderr) == (0, "")
    shutil.copy(TOOL, tmp_path / "gpulens")
    done = gpulens("blocks", "log.json", tool=tmp_path / "gpulens")
    assert done.returncode == 3 and done.stderr.endswith(
        "gpulens-lab: No such file or directory; it is in the package gpulens-lab\n")


def test_help_is_one_screen() -> None:
    """24 lines of 80 columns with each command, below the heading of its group. Seen failing with 66 lines of 208."""
    lines, lab = gpulens("--help").stdout.splitlines(), gpulens("--help", tool=LAB).stdout.splitlines()
    assert max(len(lines), len(lab)) <= 24 and max(map(len, lines + lab)) <= 80
    words = " ".join(lines[:lines.index("Examples:")] + lab[:lab.index("Examples:")]).split()
    assert set(COMMANDS) <= set(words)
    assert [line.split()[0] for line in lines if re.match(r"  [A-Z]\w+  ", line)] == [
        "Look", "Watch", "Control", "Share", "Measure", "AMD", "Options"]


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_help_has_80_columns(command: str) -> None:
    """And gpulens help, but for examples that are one command. The parser's library names what excludes what, which is
    left out. Seen failing with a line of 1,400."""
    text = gpulens(*([command, "--help"] if command else ["help"])).stdout
    assert [line for line in text.splitlines() if len(line) > 80 and not re.match("  gpulens(-lab)? ", line)] == []
    assert not re.search("Excludes:|Needs:|REQUIRED", text)
