# SPDX-License-Identifier: GPL-2.0
"""What README.md, docs/tool.md and --help say of commands: each command that a document shows runs and does what stands
behind it, and each default that --help gives is what happens without the option. A new command or default needs a row
here."""

import json
import os
import pathlib
import re
import shlex
import subprocess
import typing

import pytest
from support.fakekfd import FakeKfd
from support.fakeproc import BUSY, ENABLED, GR, LCE, Channel, FakeProc, Tsg, make_sample, sample_head, snapshot
from support.fakerm import PROGRAM, ask_rm, fake_rm
from support.measured import FAKE, fake_environment, measured_program
from support.program import LAB, ROOT, TOOL, gpulens, image, tool_of

ON_ENG = 6  # NV_PCCSR_CHANNEL_STATUS_ON_PBDMA_AND_ENG
README = "".join((ROOT / name).read_text(encoding="utf-8") for name in ("README.md", "docs/tool.md"))


class Claim(typing.NamedTuple):
    """Words in place of those of the README, where it needs a GPU; what is printed; the exit status."""
    words: str
    prints: str
    status: int = 0
    env: "dict[str, str]" = {}


# The command of the README, without sudo and what stands behind #.
CLAIMS = {
    "gpulens": Claim("--proc PROC", r"^gpu0: GP106(.|\n)*runlist 0(.|\n)*TSG 3 (.|\n)*^gpu1: AD102"),
    "gpulens engines": Claim("--proc PROC engines", r"GR0"),
    "gpulens top": Claim("--proc TOP top --batch 1 --delay 100ms", r"^gpu0: (.|\n)*^gpu1: (.|\n)*UTIL%  TURN ms"),
    "gpulens isolation --check": Claim("-i IMAGE isolation --check", r"GRCE0/LCE0 of runlist 0 shares PCE 3", 1),
    "gpulens record --for 2s -o run.html -o run.perfetto-trace": Claim(
        "-g 0 --proc PROC record --for 100ms -o run.html -o run.perfetto-trace", r"Engine +TSG +Time +Turns"),
    "gpulens record --for 2s -o run.html": Claim(
        "-g 0 --proc PROC record --for 100ms -o run.html", r"Engine +TSG +Time"),
    "gpulens --source rm channels": Claim("--source rm channels", r"\n *4194777 +unknown +714.0 MiB", 1, fake_rm()),
    "gpulens run --schedule urgent -- ./infer": Claim(
        "run --experimental --schedule urgent -- env", "^GPULENS_SCHEDULE_SLICE=500000$", 0, {
            "GPULENS_RUNTIME_DIR": "."}),
    "gpulens timeslice 0:3 2000 --for 10s": Claim(
        "-g 1 --proc PROC timeslice 0:3 2000 --for 10s --dry-run", "0:3 2000 to .*, and undo it after 10.000 s"),
    "gpulens disable --tsg 0:3 --for 2s": Claim(
        "-g 1 --proc PROC disable --tsg 0:3 --for 2s --dry-run", "(would write 0:[89] to [^\n]*undo it[^\n]*\n){2}$"),
    "gpulens schedule policy.json --dry-run": Claim(
        "-g 1 --proc PROC schedule policy.json --dry-run", r"would write 0:8, 0:9 to \S*/gpu1/hold_channel and 0:3"),
    "gpulens run --schedule task=camera -- ./camera": Claim(
        "run --schedule task=camera -- env", "^GPULENS_SCHEDULE_TASK=camera$", 0, {"GPULENS_RUNTIME_DIR": "."}),
    "gpulens-lab interleave camera:high:1000 log:low": Claim("interleave camera:high:1000 log:low", "camera"),
    "gpulens -g 0 plan tasks.json": Claim("-i IMAGE plan tasks.json", r"GPCs +Which +Mask"),
    "gpulens fit times.csv": Claim("fit times.csv", r"class|Class"),
    "gpulens first-card": Claim("first-card --help", r"--runlists +load the module a second time"),
    "gpulens amd masks 15,15,15,15 --sizes 30,30": Claim(
        "amd masks 15,15,15,15 --sizes 30,30", r"0x33333333,0x3333333\n(.|\n)*0xcccccccc,0xccccccc"),
    "gpulens amd": Claim("amd --from kfd", r"^No AMD GPU in the topology\n(.|\n)*^Note: .*not on a machine with one$"),
    "gpulens-lab probe-kernels fig3.9 -o log.json": Claim("probe-kernels fig3.9 --simulate -o log.json", ""),
    "gpulens-lab blocks log.json --check -o log.svg": Claim("blocks log.json --check -o log.svg",
                                                            "no rule is violated"),
    "gpulens export": Claim("-i IMAGE export", r"^gpulens_tsgs\{"),
    "gpulens --source rm isolation": Claim("--source rm isolation", r"GH100(.|\n)*hazards found", 0, fake_rm()),
    "gpulens run -- python3 train.py": Claim(f"run -- {shlex.join(PROGRAM)}", "TSG", 7, fake_rm()),
    "gpulens run --gpcs 2,3 -- ./infer": Claim("run --gpcs 2,3 -- true", "is limited to TPCs", 0, {
        **fake_rm(), "LD_LIBRARY_PATH": str(ROOT / "build/bin/fake-cuda")}),
    "gpulens run --mps --tpcs 0-32 -- ./infer": Claim(
        "run --mps --tpcs 0-32 -- true", "nvidia-cuda-mps-control: it is not installed", 4, {"PATH": "/nowhere"}),
    "gpulens partitions set 1234 --tpcs 0-9": Claim(
        "partitions set 1 --tpcs 0-9", "process 1: gpulens run limits no process of this number", 3),
    "gpulens run --pitfalls -- ./infer": Claim(
        "run --pitfalls -- true", "note: no process of the program called a function of CUDA's driver"),
    "gpulens plan status plan.json": Claim(
        "plan status plan.json", "no counts of this plan for this user: there is no /nowhere/plan-", 3,
        {"GPULENS_RUNTIME_DIR": "/nowhere"}),
    "gpulens run --plan plan.json --task camera -- ./infer": Claim(
        "run --plan plan.json --task camera -- true", "is limited to TPCs", 0, {
            **fake_rm(), "LD_LIBRARY_PATH": str(ROOT / "build/bin/fake-cuda")}),
    "gpulens sweep -o times.csv -- ./infer": Claim(
        "sweep --sizes 2,3 --repeat 1 -o swept.csv -- sleep 0.1", "sleep on 3 TPCs", 0, fake_environment()),
    "gpulens verify --gpcs 2,3 -- ./infer": Claim(
        f"verify --gpcs 2,3 --neighbours none --probe {FAKE} -- {measured_program()} 500",
        r"probe +held(.|\n)*^held: no evidence against", 0, fake_environment()),
    "gpulens load memory --half b --for 10s": Claim(
        f"neighbour memory --half b --for 100ms --probe {FAKE}", "memory: 12 launches in 0.1 s", 0, fake_environment()),
    "gpulens-lab experiment sharing --simulate": Claim(
        "experiment sharing --simulate", "together, nothing else +300 +7.35 +8.36 +2.09 +78\n"),
    "gpulens-lab experiment fig6 --simulate": Claim("experiment fig6 --simulate", "R4, seen: the tasks take turns"),
    "gpulens-lab tenants cases": Claim("tenants cases --program ./tenants", "Way +Case +Ms\nmasks +alone +1.500"),
    "gpulens report a.rec b.rec -o fleet.perfetto-trace": Claim(
        "report a.rec b.rec -o fleet.perfetto-trace", r"a(.|\n)*Engine +TSG(.|\n)*b(.|\n)*Engine +TSG"),
    "gpulens -i gpu.image": Claim("-i IMAGE", "^AD102"),
    "gpulens -i gpu.image proc runlist0": Claim("-i IMAGE proc runlist0", "TSG Entry 5"),
}


@pytest.fixture(name="folder", scope="module")
def fixture_folder(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """The files that the README names, and folders in place of /proc with a GTX 1060 and an RTX 6000 Ada: proc/, whose
    samples are 100 us apart, as record asks for, and top/, 1 ms."""
    folder = tmp_path_factory.mktemp("claims")
    tasks = [Tsg(3, 2_048_000, (Channel(8, ENABLED | BUSY, ON_ENG), Channel(9)))]
    for name, period_us in (("proc", 100), ("top", 1000)):
        (folder / name).mkdir()
        proc = FakeProc(folder / name)
        for index, chip in enumerate(("GP106", "AD102")):
            proc.show(snapshot({0: tasks}, chip, index), index)
            proc.sampled(sample_head((GR, LCE), period_us, index) + b"".join(
                make_sample(at * 1000 * period_us, 0, 3 if at % 40 < 20 else -1) + make_sample(at * 1000 * period_us, 1)
                for at in range(1000)), index, period_us)
    FakeKfd(folder / "kfd").show()
    (folder / "stdout.svg").symlink_to("/dev/stdout")
    assert gpulens("probe-kernels", "fig3.9", "--simulate", "-o", str(folder / "log.json")).returncode == 0
    (folder / "policy.json").write_text('{"version": 1, "policy": "share", "tasks": [{"name": "a", "tsg": "0:3"}]}')
    (folder / "copies.json").write_text(json.dumps({"name": "copies", "benchmarks": [
        {"filename": "timer_spin", "block_count": 1, "thread_count": 32, "additional_info": 1000000,
         "copy_in_count": 100000, "copy_out_count": 100000, "release_time": start} for start in (0, 0.0001)]}))
    (folder / "tasks.json").write_text((ROOT / "docs/plan-example.json").read_text(encoding="utf-8"))
    plan = ask_rm("plan", str(folder / "tasks.json"), "--json", "--exact")
    (folder / "plan.json").write_text(plan.stdout, encoding="utf-8")
    for machine in "ab":
        done = gpulens("-g", "0", "--proc", str(folder / "proc"), "record", "--for", "100ms", "--machine", machine,
                       "-o", str(folder / f"{machine}.rec"))
        assert done.returncode == 0, done.stderr
    (folder / "tenants").write_text("#!/bin/sh\necho '{\"way\": \"masks\", \"case\": \"alone\", \"ms\": 1.5}'\n")
    (folder / "tenants").chmod(0o755)
    (folder / "times.csv").write_text("task,tpcs,time_us\n" + "".join(
        f"a,{tpcs},{100 + 1000 / tpcs}\n" for tpcs in range(1, 9)))
    return folder


def fill_names(folder: pathlib.Path, words: str) -> "list[str]":
    """The words of a command, with the names of files put in."""
    names = {"IMAGE": str(image("ad102")), "PROC": str(folder / "proc"), "TOP": str(folder / "top")}
    return [names.get(word, word) for word in shlex.split(words)]


def readme_commands() -> "list[str]":
    """Calls of gpulens in indented blocks."""
    lines = re.findall(r"^    (?:\$ )?(?:sudo )?(gpulens\b.*)$", README, re.M)
    return [re.split(r" {2,}#| {2,}|#", line)[0].strip() for line in lines]


def test_every_command_of_the_readme_has_a_claim() -> None:
    """And no other. Seen failing with a command left out here."""
    assert set(readme_commands()) == set(CLAIMS)


@pytest.mark.parametrize("command", CLAIMS)
def test_a_command_of_the_readme_does_what_it_says(command: str, folder: pathlib.Path) -> None:
    """Run with a folder in place of /proc, a recorded GPU, a simulation or the tests' driver. Seen failing with another
    pattern for each."""
    claim = CLAIMS[command]
    done = subprocess.run([str(tool_of(claim.words.split())), *fill_names(folder, claim.words)], cwd=folder,
                          check=False, capture_output=True, text=True, timeout=600,
                          env={**os.environ, "LC_ALL": "C.UTF-8", **claim.env})
    assert done.returncode == claim.status, done.stderr
    assert re.search(claim.prints, done.stdout + done.stderr, re.M), done.stdout + done.stderr
    for file in re.findall(r"-o (\S+)", claim.words):
        assert (folder / file).stat().st_size > 0


SWEEP = f"sweep --scenario matrix-copy --probe {FAKE}"
# Command and option with a default in --help: words without the option, and the value. The output must be the same.
EVALUATE = "evaluate --json --tasks 5 --from 2 --to 4 --sets 2"
SIMULATE = "probe-kernels fig3.9 --simulate -o -"
SAME = {
    ("", "--source"): ("--proc PROC chip", "auto"),
    ("", "--color"): ("-i IMAGE chip", "auto"),
    ("plan", "--heuristic"): ("plan tasks.json --tpcs 40", "auto"),
    ("plan", "--search"): ("plan tasks.json --tpcs 40", "200"),
    ("plan", "--test"): ("plan tasks.json --tpcs 40", "np-edf"),
    ("plan", "--start"): ("plan tasks.json --tpcs 40 --heuristic sms-ina", "largest"),
    ("plan", "--ties"): ("plan tasks.json --tpcs 40 --heuristic sms-ina", "first"),
    ("plan", "--memory"): ("plan tasks.json --tpcs 60", "shared"),
    ("plan", "--spare"): ("plan tasks.json --tpcs 60", "assign"),
    ("plan", "--quantum"): ("plan tasks.json --tpcs 40", "1"),
    ("plan", "--least"): ("plan tasks.json --tpcs 40", "1"),
    ("plan", "--place"): ("-i IMAGE plan tasks.json", "packed"),
    ("evaluate", "--tpcs"): (EVALUATE, "68"),
    ("evaluate", "--tasks"): ("evaluate --json --from 2 --to 2 --sets 1", "50 --tasks 200"),
    ("evaluate", "--sets"): ("evaluate --json --tasks 5 --from 2 --to 2", "100"),
    ("evaluate", "--seed"): (EVALUATE, "1"),
    ("evaluate", "--from"): ("evaluate --json --tasks 5 --to 4 --sets 2", "2"),
    ("evaluate", "--to"): ("evaluate --json --tasks 5 --tpcs 8 --sets 2", "8"),
    ("evaluate", "--step"): (EVALUATE, "2"),
    ("evaluate", "--test"): (EVALUATE, "edf"),
    ("evaluate", "--start"): (EVALUATE, "largest"),
    ("evaluate", "--ties"): (EVALUATE, "first"),
    ("evaluate", "--memory-tasks"): (EVALUATE, "0.5"),
    ("evaluate", "--deadline"): (EVALUATE, "0.75"),
    ("evaluate", "--periods"): (EVALUATE, "50,80,100,125,160,200,250,400,500,800,1000,2000,4000"),
    ("evaluate", "--conflict"): (EVALUATE, "1.2,2.3"),
    ("evaluate", "--serial-part"): (EVALUATE, "0.02,0.1"),
    ("evaluate", "--heuristics"): (EVALUATE, "sms-ina,sms-act,bf-ina,bf-act,1g,stgm,even,smart-even"),
    ("evaluate", "--quantum"): (EVALUATE, "1"),
    ("evaluate", "--least"): (EVALUATE, "1"),
    ("schedule", "--for"): (f"schedule --simulate {ROOT}/docs/schedule-table1.json", "10s"),
    ("probe-kernels", "--sms"): (SIMULATE, "2"),
    ("probe-kernels", "--threads-per-sm"): (SIMULATE, "2048"),
    ("probe-kernels", "--sms-per-tpc"): (SIMULATE, "2"),
    ("probe-kernels", "--resident-grids"): (SIMULATE, "128"),
    ("probe-kernels", "--connections"): (SIMULATE, "8"),
    ("probe-kernels", "--copy-engines"): ("probe-kernels copies.json --simulate -o -", "1"),
    ("probe-kernels", "--copy-rate"): ("probe-kernels copies.json --simulate -o -", "10"),
    ("experiment", "--chunk"): ("experiment fig7 --simulate", "1M"),
    ("blocks", "--channels"): ("blocks log.json --check", "8"),
    ("blocks", "--tolerance"): ("blocks log.json --check", "50us"),
    ("blocks", "--colour-by"): ("blocks log.json -o stdout.svg", "stream"),
    ("sweep", "--repeat"): (f"{SWEEP} --sizes 66", "3"),
    ("sweep", "--sizes"): (f"{SWEEP} --repeat 1", "1,2,4,8,16,32,49,64,66"),
    ("sweep", "--place"): (f"{SWEEP} --json --repeat 1 --sizes 20", "packed"),
    ("sweep", "--output"): (f"{SWEEP} --repeat 1 --sizes 66", "/dev/stdout"),
    ("export", "--output"): ("-i IMAGE export", "-"),
    ("warps", "--latencies"): ("warps", "3,1,1,7,1,1"),
    ("amd", "--place"): ("amd masks 15,15 --sizes 3", "packed"),
    ("top", "--every"): ("--proc TOP top --batch 1 --delay 100ms", "1ms"),
    ("top", "--window"): ("--proc TOP top --batch 1 --delay 100ms", "5s"),
}
# These are held by other tests, or mean that nothing is done.
ELSEWHERE = {
    ("amd", "PART"): "tests/cli/test_amd.py, test_all_parts_are_shown; no word stands for all",
    ("", "--gpu"): "test_every_command_of_the_readme_has_a_claim: gpulens shows gpu0 and gpu1",
    ("", "--proc"): "/proc itself, which tests/vm reads",
    ("xid", "LINE"): "tests/cli/test_xid.py, the forms of messages",
    ("record", "--for"): "tests/vm/test_tool.py ends it by a signal",
    ("record", "--every"): "test_defaults_that_are_printed",
    ("record", "--clock"): "tests/cli/test_fleet.py, one machine's trace",
    ("report", "--clock"): "tests/cli/test_fleet.py, one machine's trace and machines side by side",
    ("record", "--machine"): "the host's name",
    ("report", "--machine"): "tests/cli/test_fleet.py, an older recording",
    ("top", "--delay"): "test_defaults_that_are_printed",
    ("report", "--output"): "tests/cli/test_report.py, the fixture page",
    ("run", "--output"): "tests/cli/test_rm.py, the table",
    ("run", "--slot"): "tests/cli/test_slots.py, slots without a number",
    ("run", "--priority"): "tests/cli/test_slots.py, programs without one",
    ("evaluate", "--cap"): "no limit",
    ("plan", "--times"): "tests/cli/test_plan.py, a plan that is played",
    ("warps", "KERNEL"): "tests/tools/warps_test.cc",
    **{("plan", option): "tests/cli/test_plan.py, the same plan without costs" for option in ("--control", "--switch")},
    ("plan", "--on"): "tests/cli/test_places.py; with the option the plan also says who carries it out",
    ("sweep", "--on"): "tests/cli/test_sweep.py",
    ("schedule", "--switch"): "no time",
    **{("schedule", option): "tests/vm/test_schedule_live.py" for option in ("--every", "--lease", "--state")},
    ("schedule", "--program"): "needs a GPU",
    ("schedule", "--results"): "tests/cli/test_schedule_driver.py",
    ("probe-kernels", "--device"): "needs a GPU",
    ("probe-kernels", "--program"): "tests/lab/test_blocks.py",
    ("export", "--every"): "as of top, one function",
    ("export", "--keep-ended"): "tests/cli/test_metrics.py",
    ("runlists", "Y"): "tests/cli/test_show.py",
    **{(command, "--probe"): "needs a GPU" for command in ("sweep", "load", "verify")},
    ("sweep", "--time"): "tests/cli/test_sweep.py, a program that sleeps",
    ("sweep", "--unit"): "tests/cli/test_sweep.py, the number of SMs",
    ("sweep", "--name"): "tests/cli/test_sweep.py",
    ("load", "--for"): "tests/cli/test_neighbour.py, ended by a signal",
    ("verify", "--neighbours"): "tests/cli/test_verify.py, a limit that holds",
    ("verify", "--repeat"): "tests/cli/test_verify.py, defaults",
    ("verify", "--max-slowdown"): "tests/cli/test_verify.py, defaults",
    ("experiment", "--processes"): "tests/lab/test_experiment.py, one process",
    **{("experiment", option): "needs a GPU" for option in ("--run", "--for", "--sizes", "--job")},
    ("experiment", "--within"): "tests/lab/test_experiment.py, the tables",
    ("first-card", "--module"): "tests/tools/program_test.cc, load_words()",
    ("first-card", "--output"): "tests/cli/test_first_card.py",
    ("tenants", "--way"): "tests/lab/test_tenants.py",
    ("tenants", "--program"): "needs a GPU",
}


def documented_defaults() -> "set[tuple[str, str]]":
    """Command and long option, or argument, of each "(default: ...)" in --help-all."""
    found = set()
    for tool in (TOOL, LAB):
        command, option, about = "", "", ""
        for line in gpulens("--help-all", tool=tool).stdout.splitlines():
            if re.fullmatch("[a-z][a-z-]+", line):
                command, option, about = line, "", ""
            name = re.match(r"^ {2,4}(?:-\w,)?(--[a-z-]+)|^ {2,6}([A-Z]+)\s", line)
            option, about = ((name[1] or name[2]), "") if name else (option, about)
            about += " " + line.strip()
            if re.search(r"\(default(?: for [a-z-]+)?:", about):
                found.add((command, option))
    return found


def test_every_default_has_a_row() -> None:
    """Of those that --help gives, and no other. Seen failing with a row left out."""
    assert documented_defaults() == set(SAME) | set(ELSEWHERE)


@pytest.mark.parametrize("where", SAME, ids=" ".join)
def test_a_default_is_what_happens_without_the_option(where: "tuple[str, str]", folder: pathlib.Path) -> None:
    """The output is the same with the option and its documented default. Seen failing with another value for each."""
    words, value = SAME[where]

    def run_script(more: str) -> "tuple[int, str]":
        done = subprocess.run([str(tool_of(words.split())), *fill_names(folder, f"{words} {more}")], cwd=folder,
                              check=False, capture_output=True, text=True, timeout=600, env={
                                  **(fake_environment() if where[0] == "sweep" else os.environ), "LC_ALL": "C.UTF-8"})
        assert done.stdout, done.stderr
        return done.returncode, done.stdout
    assert run_script("") == run_script(f"{where[1]} {value}")


def test_defaults_that_are_printed(folder: pathlib.Path) -> None:
    """record samples every 100 us, top shows two screens a second. Seen failing with other numbers."""
    done = gpulens("-g", "0", "--proc", str(folder / "proc"), "record", "--for", "100ms", "-o", str(folder / "a.csv"))
    assert "(asked: 100.000 us;" in done.stdout, done.stderr
    (folder / "top/gpu1/samples").unlink()
    text = gpulens("-g", "1", "--proc", str(folder / "top"), "top", "--batch", "1").stdout
    assert "sampled 2 times a second from snapshots" in text


def test_json_follows_its_schema_as_help_says() -> None:
    """"docs/json-schema.json is its schema", of the overview; tests/cli/test_show.py has every command and chip."""
    import jsonschema  # pylint: disable=import-outside-toplevel
    jsonschema.validate(json.loads(gpulens("--json", "-i", str(image("ad102"))).stdout),
                        json.loads((ROOT / "docs/json-schema.json").read_text(encoding="utf-8")))
