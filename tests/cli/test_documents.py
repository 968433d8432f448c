# SPDX-License-Identifier: GPL-2.0
"""README.md, the other documents of the root folder, and docs/: their links, commands, options, files and outputs agree
with this tree. Outputs are compared with those of recorded GPUs of the same chips and scenarios. docs/results is not
checked, because it describes the state of its day."""

import functools
import os
import pathlib
import re
import shutil
import subprocess
import typing

import pytest
from support.fakekfd import FakeKfd
from support.program import LAB, LAB_COMMANDS, ROOT, TOOL, gpulens, image

DOCUMENTS = [*(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md")),
             *sorted((ROOT / "docs").glob("*.md"))]
NAMES = [str(path.relative_to(ROOT)) for path in DOCUMENTS]
# Numbers of outputs that are compared.
SHOWS = {"README.md": 1, "docs/proc.md": 4, "docs/blocks.md": 1, "docs/export.md": 1, "docs/plan.md": 1,
         "docs/measure.md": 1, "docs/evaluate.md": 1, "docs/amd.md": 2}
SOURCES = ("src", "procfs", "include", "tools", "emulator", "scripts", "tests", "docs", "debian")
# Parts of a name that stand for any name.
ANY = re.compile(r"[A-Z]{3}|[*{$]|X\b")
# Manuals, headers of other projects, and of the kernel.
CITED = re.compile(r"\.ref\.txt$|^gk104-disable-graphics-power-gating\.txt$"
                   r"|^(?:hw_\w+|nv_arch|dev_\w+|pci-sysfs|resource|gr_\w+|grmgr|g[fkm]1\d\d|gk20a|nvdebug_entry"
                   r"|kfd_\w+|v\w+_structs)\.[ch]$")

COMMANDS = {*re.findall(r"^([a-z-]+)\n  \S", gpulens("--help-all").stdout, re.M), *LAB_COMMANDS}


def indented_blocks(document: str) -> typing.List[typing.List[str]]:
    """The indented blocks of a document, without their indentation."""
    found: typing.List[typing.List[str]] = [[]]
    for line in (ROOT / document).read_text(encoding="utf-8").splitlines():
        if line.startswith("    "):
            found[-1].append(line[4:])
        elif line and found[-1]:
            found.append([])
    return found


def shown_commands(document: str) -> typing.List[typing.Tuple[str, typing.List[str]]]:
    """Commands after a "$" or "#", with the lines below each."""
    found: typing.List[typing.Tuple[str, typing.List[str]]] = []
    for block in indented_blocks(document):
        below: typing.Optional[typing.List[str]] = None
        for line in block:
            command = re.match(r"[$#] +([a-z].*)", line)
            if command:
                below = []
                found.append((re.split(r" {2,}#", command[1])[0].strip(), below))
            elif below is not None and line:
                below.append(line)
    return [(command, lines) for command, lines in found if lines]


def run_shown_command(command: str, folder: pathlib.Path) -> typing.Optional[str]:
    """The output of a documented command; None if it needs a machine with the module."""
    read = re.match(r"cat /proc/gpu(\d)/([a-z_]+\d?)$", command)
    recorded = {"0": "gp106", "2": "ad102"}
    if read:
        return gpulens("-i", str(image(recorded[read[1]])), "proc", read[2]).stdout
    if command == "sudo gpulens":
        return gpulens("-i", str(image("ad102"))).stdout
    if not command.startswith(("gpulens ", "gpulens-lab ")):
        return None
    for name, chip in (("gpu.image", "ad102"), ("h100.image", "gh100")):
        (folder / name).write_bytes(image(chip).read_bytes())
    text = (ROOT / "docs/measure.md").read_text(encoding="utf-8")
    times = re.findall(r"(?:^    .*,.*,.*\n)+", text, re.M)[-1]
    (folder / "times.csv").write_text(re.sub("^    ", "", times, flags=re.M))
    (folder / "docs").symlink_to(ROOT / "docs")
    FakeKfd(folder / "copy").show_example()
    script = f"{TOOL.parent}/{command}"
    if "blocks" in command:
        script = f"{LAB} probe-kernels fig3.9 --simulate --sms 2 -o log.json && {script}"
    done = subprocess.run(script, shell=True, cwd=folder, check=False, stdout=subprocess.PIPE,
                          env={**os.environ, "LC_ALL": "C.UTF-8"})
    return done.stdout.decode()


@pytest.mark.parametrize("document", NAMES)
def test_outputs_are_what_the_commands_print(document: str, tmp_path: pathlib.Path) -> None:
    """Compared line by line; "..." stands for any lines. Blanks, line breaks and the source of a GPU are ignored. Seen
    failing with a changed digit, without a line, and with one line more."""
    compared = 0
    for number, (command, lines) in enumerate(shown_commands(document)):
        folder = tmp_path / str(number)
        folder.mkdir()
        printed = run_shown_command(command, folder)
        if printed is None:
            continue
        compared += 1
        if command == "sudo gpulens":
            assert re.fullmatch(r"gpu2: AD102 \(Ada\), \S+, from /proc/gpu2/snapshot", lines.pop(0))
            printed = printed.split("\n", 1)[1]
        pattern = ".*".join(re.escape(" ".join(part.split())) for part in "\n".join(lines).split("..."))
        pattern = pattern.replace(r"\ .*", ".*").replace(r".*\ ", ".*")
        assert re.fullmatch(pattern, " ".join(printed.split())), command
    assert compared == SHOWS.get(document, 0)


@functools.lru_cache(maxsize=None)
def heading_anchors(document: pathlib.Path) -> typing.Set[str]:
    """The anchors that GitHub gives a document's headings."""
    found = re.findall(r"^#+ (.*)$", document.read_text(encoding="utf-8"), re.M)
    return {re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-") for text in found}


@pytest.mark.parametrize("document", NAMES)
def test_links_lead_somewhere(document: str) -> None:
    """To a file of this tree and, after a #, to one of its headings. Seen failing with partition/ for tools/partition/,
    and with a heading that does not exist."""
    text = (ROOT / document).read_text(encoding="utf-8")
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        path, _, anchor = link.partition("#")
        target = (ROOT / document).parent / path if path else ROOT / document
        assert target.exists(), link
        assert not anchor or anchor in heading_anchors(target.resolve()), link


@pytest.mark.parametrize("document", NAMES)
def test_files_that_are_named_exist(document: str) -> None:
    """A name with a folder exists at that place, one without a folder somewhere in this tree. Seen failing with json.cc
    for gpu_json.cc, and with tools/model.hpp."""
    text = re.sub(r"\]\([^)]*\)", "]", (ROOT / document).read_text(encoding="utf-8"))
    text = "\n".join(line for line in text.splitlines() if not line.startswith("    "))
    there = {path.name for room in SOURCES for path in (ROOT / room).rglob("*")}
    for name in re.findall(r"(?<![\w./<-])[\w./*{},-]*\w\.(?:cc|hpp|c|h|cu|py|json|txt|sh|md)\b(?![\w(.])", text):
        if not ANY.search(name) and not CITED.search(name.split("/")[-1]):
            beside = name.split("/")[0] not in SOURCES
            assert name.split("/")[-1] in there if beside else (ROOT / name).exists(), name


def tool_calls(document: str) -> typing.List[typing.List[str]]:
    """The words of each call of gpulens or gpulens-lab in a document's blocks."""
    lines = [line for block in indented_blocks(document) for line in block]
    found = [re.search(r"(?:^|[$#] |sudo )gpulens(?:-lab)?((?: +\S+)*)", re.split(r" {2,}| #", line)[0])
             for line in lines]
    return [match[1].split(" -- ")[0].split() for match in found if match]


@pytest.mark.parametrize("document", NAMES)
def test_commands_and_options_exist(document: str) -> None:
    """Each call of gpulens in a block names an existing command with existing options. Seen failing with --one for
    --check, and with reports for report."""
    for words in tool_calls(document):
        words = words[:words.index("|")] if "|" in words else words
        names = [word for word in words if word in COMMANDS]
        assert names or not [word for word in words if re.fullmatch("[a-z][a-z-]+", word)], words
        text = gpulens(*names[:1], "--help").stdout + gpulens("--help").stdout
        for option in words:
            if re.match(r"--?[a-z]", option):
                assert re.search(rf"(?<![\w-]){option}\b", text), words


@pytest.mark.parametrize("document", NAMES)
def test_targets_of_make_exist(document: str) -> None:
    """`make NAME`, and the scripts of scripts/. Seen failing with one more letter in a name."""
    text = (ROOT / document).read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M))
    named = re.findall(r"`(?:[A-Z]+=\S* )*make ([a-z-]+)`", text)
    named += re.findall(r"^    (?:sudo )?make ([a-z-]+)", text, re.M)
    assert set(named) <= targets, set(named) - targets
    for script in re.findall(r"(?<![\w/])(?:\./)?scripts/[a-z-]+(?![\w/.-])", text):
        assert (ROOT / script).exists(), script


def test_every_file_of_proc_is_described() -> None:
    """The tables of docs/proc.md have each name of the module's tables, and no other. Seen failing without
    local_memory, and with one more name."""
    tables = "\n".join((ROOT / "procfs" / name).read_text(encoding="utf-8") for name in ("show.c", "control.c"))
    names = {name.replace("%u", "#") for name in re.findall(r'\.name = "([A-Za-z_%]+)"', tables)}
    text = (ROOT / "docs/proc.md").read_text(encoding="utf-8")
    text = text.split("### runlistY")[0] + text.split("## Control")[1].split("## Who may do what")[0]
    cells = re.findall(r"^\| (`[^|]*) \|", text, re.M)
    assert names == {re.sub("[XY]|(?<=ID)n", "#", name) for cell in cells for name in re.findall(r"`(\w+)`", cell)}


def test_every_label_of_a_runlist_is_described() -> None:
    """docs/proc.md explains the labels in the boxes of Pascal, Turing and Ada, and no other. Seen failing without a
    label, and with one more."""
    label = re.compile(r"^ *\| ([^:|]+):", re.M)
    described = {name for block in indented_blocks("docs/proc.md") for name in label.findall("\n".join(block))}
    assert described == {name for chip in ("gp106", "tu102", "ad102")
                         for name in label.findall(gpulens("-i", str(image(chip)), "proc", "runlist0").stdout)}


def test_every_parameter_of_the_module_is_described() -> None:
    """The table of docs/proc.md has those of module_param() and no other. Seen failing without one."""
    sources = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "src/linux").glob("*.c"))
    text = (ROOT / "docs/proc.md").read_text(encoding="utf-8").split("## Module parameters")[1]
    assert set(re.findall(r"module_param\w*\((\w+)", sources)) == set(re.findall(r"^\| `(\w+)=", text, re.M))


def test_every_fuzz_target_is_described() -> None:
    """The table of docs/testing.md has each target and no other. Seen failing without one."""
    text = (ROOT / "docs/testing.md").read_text(encoding="utf-8").split("## Fuzzing")[1]
    targets = {path.name[:-len("_fuzz.cc")] for path in (ROOT / "tests/fuzz").glob("*_fuzz.cc")}
    assert set(re.findall(r"^\| ([a-z_]+) \|", text, re.M)) - {"target"} == targets


def test_commits_that_are_examples_exist() -> None:
    """The subjects in docs/where-to-add.md are subjects of commits. Seen failing with a changed word."""
    text = " ".join((ROOT / "docs/where-to-add.md").read_text(encoding="utf-8").split())
    if not shutil.which("git"):
        pytest.skip("no git")
    log = subprocess.run(["git", "log", "--format=%s"], cwd=ROOT, check=False, capture_output=True)
    if log.returncode:
        pytest.skip("this is no clone with a history")
    subjects = set(log.stdout.decode().splitlines())
    named = re.findall(r"`((?:core|docs|emulator|module|procfs|tests|tool|tools): [^`]+)`", text)
    assert len(named) >= 8
    assert set(named) <= subjects, set(named) - subjects
