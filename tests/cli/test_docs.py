# SPDX-License-Identifier: GPL-2.0
"""Manual pages, completions and --help are generated from one table of commands, and are complete."""

import pathlib
import re
import subprocess
import typing

import pytest
from support.program import DOCS, ROOT, gpulens

HELP_ALL = gpulens("--help-all").stdout
# "record" alone on a line and its text indented below; options as "  -o,--output FILE ..."
COMMANDS = sorted(re.findall(r"^([a-z-]+)\n  \S", HELP_ALL, re.M))
OPTIONS = sorted(set(re.findall(r"^ +(?:(-\w),)?(--[a-z-]+)", HELP_ALL, re.M)))
PAGES = ["gpulens.1", *(f"gpulens-{command}.1" for command in COMMANDS)]


def options_of(command: str) -> typing.Set[str]:
    """The options that the command's --help lists."""
    return set(re.findall(r"^ +(?:-\w,)?(--[a-z-]+)", gpulens(command, "--help").stdout, re.M))


def render_page(page: str) -> str:
    """The text of a page, without bold and line breaks."""
    text = subprocess.run(["man", "-l", str(DOCS / "man1" / page)], check=True, stdout=subprocess.PIPE,
                          env={"PATH": "/usr/bin:/bin", "MANWIDTH": "1000", "LC_ALL": "C.UTF-8"}).stdout.decode()
    return text.replace("\u2010", "-")


def test_help_all_lists_every_command() -> None:
    """The tests below use these lists: they have some commands that exist for certain, and options of several."""
    assert {"chip", "record", "timeslice", "export"} <= set(COMMANDS) and len(COMMANDS) >= 18
    assert {("-i", "--image"), ("", "--listen"), ("", "--dry-run")} <= set(OPTIONS)


def test_help_is_free_of_the_parsers_notation() -> None:
    """The help has no types, ranges or maps in CLI11's notation. Seen failing with "value in {auto->0,...}" of
    --source."""
    assert not re.findall(r"->|\bin [\[{]|\b(?:UINT|INT|TEXT|FLOAT|BOOLEAN)\b", HELP_ALL)


@pytest.mark.parametrize("value", ["2", "7", "", "RM"])
def test_a_source_has_a_name(value: str) -> None:
    """--source accepts its names and no number. Seen failing with 2, which selected rm."""
    done = gpulens("--source", value, "chip")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (f"gpulens: --source: {value} not in {{auto,module,rm}}\n"
                           "gpulens --help lists commands and options.\n")


@pytest.mark.parametrize("page", PAGES)
def test_pages_are_sound(page: str) -> None:
    """groff -ww and mandoc -T lint print no warning. Seen failing with a paragraph right after a heading."""
    file = str(DOCS / "man1" / page)
    for check in (["groff", "-ww", "-man", "-z", "-Tutf8", file], ["mandoc", "-T", "lint", "-W", "warning", file]):
        done = subprocess.run(check, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        assert (done.returncode, done.stdout) == (0, b"")


def test_there_is_a_page_for_each_command_and_no_other() -> None:
    """Seen failing with one page more."""
    assert sorted(file.name for file in (DOCS / "man1").iterdir()) == sorted(PAGES)


def test_the_page_has_every_command_and_option() -> None:
    """gpulens(1) has everything that --help-all has, exit statuses, files and the environment; a command's page has its
    own options. Seen failing without the commands' own options in gpulens(1)."""
    page = render_page("gpulens.1")
    for command in COMMANDS:
        assert re.search(rf"^   {command}$", page, re.M), command
        own = render_page(f"gpulens-{command}.1")
        for option in options_of(command):
            assert re.search(rf"^ +(-\w.*)?{option}\b", own, re.M), (command, option)
    for short, long in OPTIONS:
        assert re.search(rf"^ +{short + '.*, ' if short else ''}{long}\b", page, re.M), long
    for heading in ("EXAMPLES", "EXIT STATUS", "FILES", "ENVIRONMENT", "SEE ALSO"):
        assert re.search(rf"^{heading}$", page, re.M), heading
    assert re.search(r"^ +3 +no GPU to show", page, re.M) and "NO_COLOR" in page


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_help_shows_an_example(command: str) -> None:
    """--help and the manual page have a line that calls this command, with existing options. Seen failing without the
    footers of commands."""
    text = gpulens(*command.split(), "--help").stdout
    examples = text.split("Examples:\n")[1].split("\n\n")[0].splitlines()
    assert examples
    for line in examples:
        assert re.search(rf"\bgpulens\b.*{command}", line), line
        for option in re.findall(r" (--[a-z-]+)", line.split("|")[0]):
            assert option in {long for _, long in OPTIONS}, line


def complete_in_bash(*words: str, cwd: pathlib.Path = DOCS) -> typing.List[str]:
    """The completions that bash offers for the last of these words, through the function that the installed file
    registers."""
    script = """. "$1"; shift
        COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
        $(complete -p gpulens | sed 's/.*-F \\([^ ]*\\).*/\\1/') gpulens "${@: -1}" "${@: -2:1}"
        printf '%s\\n' "${COMPREPLY[@]}" """
    done = subprocess.run(["bash", "-uc", script, "bash", str(DOCS / "bash/gpulens"), "gpulens", *words], cwd=cwd,
                          check=True, capture_output=True)
    assert not done.stderr, done.stderr
    return done.stdout.decode().split()


def test_bash_offers_every_command_and_option() -> None:
    """At the start all commands, after a command its own options and the common ones. Seen failing without flags."""
    assert sorted(complete_in_bash("")) == COMMANDS
    assert complete_in_bash("rec") == ["record"]
    for command in COMMANDS:
        offered = complete_in_bash(command, "-")
        assert options_of(command) | {"--image", "--gpu", "--json"} <= set(offered), command
        assert len(offered) == len(set(offered)), "twice"


def test_bash_offers_values(tmp_path: pathlib.Path) -> None:
    """File names where a file is expected, and words where the values are known. A file named like a command is not
    taken for one. Seen failing with values completed as options."""
    (tmp_path / "my gpu.image").touch()
    (tmp_path / "folder").mkdir()
    assert sorted(complete_in_bash("-i", "", cwd=tmp_path)) == ["folder", "gpu.image", "my"]
    assert complete_in_bash("--proc", "", cwd=tmp_path) == ["folder"]
    assert complete_in_bash("report", "my", cwd=tmp_path) == ["my", "gpu.image"]
    assert complete_in_bash("record", "-o", "f", cwd=tmp_path) == ["folder"]
    assert complete_in_bash("--color", "=", "a") == ["auto", "always"]
    assert complete_in_bash("proc", "t") == ["tpc_map"]
    assert complete_in_bash("-i", "report", "cha") == ["channels"]
    assert complete_in_bash("isolation", "--accept", "R6") == ["R6:shared-runlist"]
    assert complete_in_bash("isolation", "--accept", "R6", ":") == ["shared-runlist"]
    assert complete_in_bash("isolation", "--accept", "R8", ":", "g") == ["grce-shares-pce"]
    assert complete_in_bash("run", "--plan", "my", cwd=tmp_path) == ["my", "gpu.image"]
    # the machine's own; none where the module is not loaded
    numbers = sorted(path.name[3:] for path in pathlib.Path("/proc").glob("gpu[0-9]*"))
    assert sorted(complete_in_bash("-g", "")) == numbers


def test_zsh_completion_has_every_command_and_option() -> None:
    """zsh parses the file, compinit assigns it to gpulens, and it has every command and option. Seen failing with an
    unescaped quote."""
    file = DOCS / "zsh/_gpulens"
    subprocess.run(["zsh", "-n", str(file)], check=True)
    script = "fpath=($1 $fpath); autoload -U compinit && compinit -u -D && print -r -- $_comps[gpulens]"
    done = subprocess.run(["zsh", "-fc", script, "zsh", str(file.parent)], check=True, capture_output=True)
    assert (done.stdout, done.stderr) == (b"_gpulens\n", b"")
    text = file.read_text()
    for command in COMMANDS:
        assert f"\t\t'{command}:" in text and f"\t{command})\n" in text, command
    for short, long in OPTIONS:
        assert f"{long}[" in text and (not short or f"{short}[" in text), long


def test_version_is_the_modules() -> None:
    """--version prints the version of dkms.conf. Seen failing before the option existed."""
    version = subprocess.run([ROOT / "scripts/lib/version"], stdout=subprocess.PIPE, check=True, text=True).stdout
    done = gpulens("--version")
    assert version.strip() and (done.returncode, done.stdout) == (0, f"gpulens {version}")
