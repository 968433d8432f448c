# SPDX-License-Identifier: GPL-2.0
"""Manual pages, completions and --help are made of one table of commands, and are complete."""

import os
import pathlib
import re
import subprocess
import tempfile
import typing

import pytest
from support.program import DOCS, LAB, LAB_COMMANDS, ROOT, TOOL, gpulens, image, tool_of

HELP_ALL = {tool.name: gpulens("--help-all", tool=tool).stdout for tool in (TOOL, LAB)}
# "record" alone on a line and its text indented below; options as "  -o,--output FILE ..."
COMMANDS = {name: sorted(re.findall(r"^([a-z-]+)\n  \S", text, re.M)) for name, text in HELP_ALL.items()}
OPTIONS = {name: sorted(set(re.findall(r"^ {2,4}(?:(-\w),)?(--[a-z-]+)", text, re.M)))
           for name, text in HELP_ALL.items()}
EACH = [(name, command) for name, commands in COMMANDS.items() for command in commands]
PAGES = ["gpulens.1", "gpulens-lab.1", *(f"{name}-{command}.1" for name, command in EACH)]
LIBRARY = ["gpulens-partition.3", "libsmctrl.3"]
ALL_PAGES = [*(f"man1/{page}" for page in PAGES), *(f"man3/{page}" for page in LIBRARY), "man5/gpulens.5"]


def options_of(command: str) -> typing.Set[str]:
    """The options that the command's --help lists."""
    return set(re.findall(r"^  (?:-\w,)?(--[a-z-]+)", gpulens(command, "--help").stdout, re.M))


def render_page(page: str) -> str:
    """The text of a page, without bold and line breaks."""
    text = subprocess.run(["man", "-l", str(DOCS / f"man{page[-1]}" / page)], check=True, stdout=subprocess.PIPE,
                          env={"PATH": "/usr/bin:/bin", "MANWIDTH": "1000", "LC_ALL": "C.UTF-8"}).stdout.decode()
    return text.replace("\u2010", "-")


def test_help_all_lists_every_command() -> None:
    """The tests below use these lists: they have some commands that exist for certain, and options of several."""
    assert {"chip", "record", "timeslice", "export"} <= set(COMMANDS["gpulens"]) and len(COMMANDS["gpulens"]) >= 18
    assert {("-i", "--image"), ("", "--listen"), ("", "--dry-run")} <= set(OPTIONS["gpulens"])
    assert COMMANDS["gpulens-lab"] == sorted(LAB_COMMANDS)


def test_help_is_free_of_the_parsers_notation() -> None:
    """The help has no types, ranges or maps in CLI11's notation. Seen failing with "value in {auto->0,...}" of
    --source."""
    assert not re.findall(r"->|\bin [\[{]|\b(?:UINT|INT|TEXT|FLOAT|BOOLEAN)\b", "".join(HELP_ALL.values()))


@pytest.mark.parametrize("value", ["2", "7", "", "RM"])
def test_a_source_has_a_name(value: str) -> None:
    """--source accepts its names and no number. Seen failing with 2, which selected rm."""
    done = gpulens("--source", value, "chip")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (f"gpulens: --source: {value} not in {{auto,module,rm}}\n"
                           "gpulens --help lists commands and options.\n")


@pytest.mark.parametrize("page", ALL_PAGES)
def test_pages_are_sound(page: str) -> None:
    """groff -ww and mandoc -T lint print no warning. Seen failing with a paragraph right after a heading."""
    file = str(DOCS / page)
    for check in (["groff", "-ww", "-man", "-z", "-Tutf8", file], ["mandoc", "-T", "lint", "-W", "warning", file]):
        done = subprocess.run(check, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        assert (done.returncode, done.stdout) == (0, b"")


def test_there_is_a_page_for_each_command_and_no_other() -> None:
    """Seen failing with one page more."""
    assert sorted(file.name for file in (DOCS / "man1").iterdir()) == sorted(PAGES)


@pytest.mark.parametrize("program", COMMANDS)
def test_the_page_has_every_command_and_option(program: str) -> None:
    """gpulens(1) has everything that --help-all has, exit statuses, files and the environment; a command's page has its
    own options. Seen failing without the commands' own options in gpulens(1)."""
    page = render_page(f"{program}.1")
    for command in COMMANDS[program]:
        assert re.search(rf"^   {command}$", page, re.M), command
        own = render_page(f"{program}-{command}.1")
        for option in options_of(command):
            assert re.search(rf"^ +(-\w.*)?{option}\b", own, re.M), (command, option)
    for short, long in OPTIONS[program]:
        assert re.search(rf"^ +{short + '.*, ' if short else ''}{long}\b", page, re.M), long
    for heading in ("EXAMPLES", "EXIT STATUS", "FILES", "ENVIRONMENT", "SEE ALSO"):
        assert re.search(rf"^{heading}$", page, re.M), heading
    assert re.search(r"^ +3 +no GPU", page, re.M) and "NO_COLOR" in page


@pytest.mark.parametrize("program,command", EACH)
def test_the_page_of_a_command_describes_it(program: str, command: str) -> None:
    """More than the one line of NAME, the files, and where else to read. Seen failing without a description."""
    text = render_page(f"{program}-{command}.1")
    sections = dict(re.findall(r"^([A-Z][A-Z ]+)\n((?:^ .*\n|\n)+)", text, re.M))
    assert {"NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXAMPLES", "EXIT STATUS", "FILES", "SEE ALSO"} <= {*sections}
    assert len(sections["DESCRIPTION"].split()) >= 7
    assert "/proc/gpuX" in sections["FILES"] and "gpulens(5)" in sections["SEE ALSO"]


def test_the_keys_of_top_are_those_of_the_screen() -> None:
    """gpulens-top(1), KEYS, and docs/top.txt have each key that the screen handles, and no other. Seen failing with
    x left out, and with a key more in the document."""
    code = (ROOT / "tools/gpulens/top/screen.cc").read_text(encoding="utf-8")
    code = code.split("void handle_table_key(int k)")[1].split("default:")[0]
    handled = {"space" if key == " " else key for key in re.findall(r"case '(.)'", code)}
    words = {"up", "down", "PgUp", "PgDn", "space"}
    page = render_page("gpulens-top.1").split("\nKEYS\n")[1].split("\nOPTIONS\n")[0]
    document = (ROOT / "docs/top.txt").read_text(encoding="utf-8").split("with these keys:\n\n")[1].split("\n\n")[0]
    for text in ("\n".join(re.findall(r"^ {7}(\S.*?) {2,}\S", page, re.M)),
                 "\n".join(line[2:15] + line[41:54] for line in document.splitlines())):
        keys = {word for word in re.findall(r"[^\s,]+", text) if len(word) == 1 or word in words}
        assert handled <= keys, handled - keys
        assert keys - words <= handled | {"space"}, keys - handled


def rows_of(document: str) -> typing.List[typing.Tuple[str, str]]:
    """The first and the last cell of each row of a document's tables, without the signs of Markdown."""
    text = (ROOT / document).read_text(encoding="utf-8")
    rows = [line[2:-2].split(" | ") for line in text.splitlines() if line.startswith("| ") and "| ---" not in line]

    def strip_marks(cell: str) -> str:
        return re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", cell).replace("`", "").replace("**", "")
    return [(strip_marks(row[0]), strip_marks(row[-1])) for row in rows]


def test_the_page_of_proc_is_the_document() -> None:
    """gpulens(5) has each row of each table of docs/proc.md, its first cell as a term with its last one below, each
    title of a section, and each line that is an example. Seen failing with a row left out, and with a table that was
    not recognized."""
    text = render_page("gpulens.5")
    flat = " ".join(text.split())
    titles = ("file", "name", "errno", "parameter", "process", "files", "first line", "looked for")
    rows = [row for row in rows_of("docs/proc.md") if row[0] not in titles]
    assert len(rows) > 70
    terms = {" ".join(line.split()) for line in text.splitlines()}
    for first, last in rows:
        assert " ".join(first.split()) in terms, first
        assert " ".join(last.split()) in flat, last
    document = (ROOT / "docs/proc.md").read_text(encoding="utf-8")
    for title in re.findall(r"^##+ (.*)", document, re.M):
        assert re.search(rf"^ *{re.escape(title)}$", text, re.M), title
    for line in re.findall(r"^    (\S.*)", document, re.M):
        assert " ".join(line.split()) in flat, line


def test_the_pages_of_the_library_have_every_function() -> None:
    """Each function that libgpulens-partition exports has a page by its name, which includes the one of its header;
    that one declares it and has the comment of the header. Seen failing with a function left out of the header."""
    symbols = (ROOT / "debian/libgpulens-partition0.symbols").read_text(encoding="utf-8")
    exported = re.findall(r"^ ([a-z]\w+)@", symbols, re.M)
    assert len(exported) > 25
    pages = {page: render_page(page) for page in LIBRARY}
    for function in exported:
        include = (DOCS / f"man3/{function}.3").read_text(encoding="utf-8")
        page = re.fullmatch(r"\.so man3/([\w-]+\.3)\n", include)
        assert page and re.search(rf"\b{function}\(", pages[page[1]]), function
    assert "Counts the TPCs of a mask. -ENOENT: mask has a TPC that the GPU does not have." in " ".join(
        pages["gpulens-partition.3"].split())
    assert sorted(path.name for path in (DOCS / "man3").iterdir()) == sorted(
        [*LIBRARY, *(f"{function}.3" for function in exported)])


def test_documents_that_help_names_are_installed() -> None:
    """docs/NAME in help and manual pages is a file, and of a kind that CMake installs beside the manual pages. Seen
    failing with a document that is not there."""
    rule = (ROOT / "tools/docs/CMakeLists.txt").read_text(encoding="utf-8").split("file(GLOB DOCUMENTS")[1]
    kinds = tuple(re.findall(r"docs/\*?(\.?\w*\.\w+)", rule))
    assert {".md", ".json", "top.txt"} <= set(kinds)
    text = "".join(HELP_ALL.values()) + gpulens("--help").stdout + "".join(render_page(page) for page in PAGES)
    named = set(re.findall(r"\bdocs/([\w-]+\.\w+)", text))
    assert named
    for name in named:
        assert (ROOT / "docs" / name).is_file() and name.endswith(kinds), name


@pytest.mark.parametrize("program,command", [("gpulens", ""), ("gpulens-lab", ""), *EACH])
def test_help_shows_an_example(program: str, command: str) -> None:
    """--help and the manual page have a line that calls this command, with existing options. Seen failing without the
    footers of commands."""
    text = gpulens(*command.split(), "--help", tool=TOOL.with_name(program)).stdout
    examples = re.findall(r"^  (\S.*)", text.split("Examples:\n")[1].split("\n\n")[0], re.M)
    assert examples
    for line in examples:
        assert re.search(rf"\b{program}\b.*{command}", line), line
        for option in re.findall(r" (--[a-z-]+)", line.split("|")[0]):
            assert option in {long for _, long in OPTIONS[program]}, line


IN_PATH = {**os.environ, "PATH": f"{TOOL.parent}:{os.environ['PATH']}"}


def complete_in_bash(*words: str, cwd: pathlib.Path = DOCS) -> typing.List[str]:
    """The completions that bash offers for the last of these words, through the function that the file registers."""
    script = """. "$1"; shift
        COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
        $(complete -p "$1" | sed 's/.*-F \\([^ ]*\\).*/\\1/') "$1" "${@: -1}" "${@: -2:1}"
        printf '%s\\n' "${COMPREPLY[@]}" """
    program = tool_of(words).name
    done = subprocess.run(["bash", "-uc", script, "bash", str(ROOT / "tools/docs/completion.bash"), program, *words],
                          cwd=cwd, env=IN_PATH, check=True, capture_output=True)
    assert not done.stderr, done.stderr
    return done.stdout.decode().split()


def test_bash_offers_every_command_and_option() -> None:
    """At the start all commands, after a command its own options and the common ones. Seen failing without flags."""
    assert sorted(complete_in_bash("")) == COMMANDS["gpulens"]
    assert complete_in_bash("rec") == ["record"]
    for _, command in EACH:
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
    assert complete_in_bash("report", "--clock", "r") == ["realtime"]
    assert complete_in_bash("record", "--dataset", "f", cwd=tmp_path) == ["folder"]
    assert complete_in_bash("proc", "t") == ["tpc_map"]
    assert complete_in_bash("--source", "") == ["auto", "module", "rm"]
    assert complete_in_bash("plan", "--heuristic", "sms") == ["sms-ina", "sms-act"]
    assert complete_in_bash("plan", "--test", "=", "n") == ["np-edf", "np-dm"]
    assert complete_in_bash("plan", "--place", "") == ["packed", "distributed"]
    assert complete_in_bash("run", "--half", "") == ["a", "b"]
    assert complete_in_bash("blocks", "--colour-by", "") == ["kernel", "stream"]
    assert complete_in_bash("blocks", "my", cwd=tmp_path) == ["my", "gpu.image"]
    assert {"fig3.9", "folder"} <= set(complete_in_bash("probe-kernels", "f", cwd=tmp_path))
    assert complete_in_bash("-i", "report", "cha") == ["channels"]
    assert complete_in_bash("isolation", "--accept", "R6") == ["R6:shared-runlist"]
    assert complete_in_bash("isolation", "--accept", "R6", ":") == ["shared-runlist"]
    assert complete_in_bash("isolation", "--accept", "R8", ":", "g") == ["grce-shares-pce"]
    assert complete_in_bash("run", "--plan", "my", cwd=tmp_path) == ["my", "gpu.image"]
    # the machine's own; none where the module is not loaded
    numbers = sorted(path.name[3:] for path in pathlib.Path("/proc").glob("gpu[0-9]*"))
    assert sorted(complete_in_bash("-g", "")) == numbers
    assert str(os.getpid()) in complete_in_bash("disable", "--pid", "")


def test_bash_offers_what_this_proc_has(tmp_path: pathlib.Path) -> None:
    """GPUs, and runlists by number, of the folder that --proc names. Seen failing with runlist0 alone."""
    for name in ("gpu0/runlist0", "gpu0/runlist12", "gpu10/runlist3", "gpu10/runlist0"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    proc = ("--proc", str(tmp_path))
    assert complete_in_bash(*proc, "-g", "") == ["0", "10"]
    for words in (("runlists",), ("top", "--runlist")):
        assert complete_in_bash(*proc, *words, "") == ["0", "3", "12"]
    assert complete_in_bash(*proc, "resubmit", "1") == ["12"]
    assert complete_in_bash(*proc, "proc", "runlist") == ["runlist0", "runlist3", "runlist12"]


def test_bash_offers_what_files_have(tmp_path: pathlib.Path) -> None:
    """TSGs and runlists of a recorded GPU, of which standard input is none that a shell can read; tasks of a plan. Seen
    failing with the runlists of /proc alone, and with no task."""
    ada, pascal = (("-i", str(image(profile))) for profile in ("ad102", "gp106"))
    assert complete_in_bash(*pascal, "disable", "--tsg", "") == ["3", "4", "5", "6", "7", "50", "51", "40", "41"]
    assert complete_in_bash(*ada, "timeslice", "1") == ["1:40", "14:53", "15:54"]
    for words in (("runlists",), ("resubmit",), ("preempt", "--runlist")):
        assert complete_in_bash(*pascal, *words, "") == ["0", "1", "2", "3", "5", "6"]
    assert complete_in_bash(*ada, "proc", "runlist1") == ["runlist1", *(f"runlist{number}" for number in range(10, 17))]
    assert complete_in_bash("-i", "-", "resubmit", "1") == []
    (tmp_path / "plan.json").write_text('{"tasks": [{"name": "camera"}, {"name": "log"}]}', encoding="ascii")
    assert complete_in_bash("run", "--plan", "plan.json", "--task", "", cwd=tmp_path) == ["camera", "log"]
    assert complete_in_bash("verify", "--plan", "plan.json", "--task", "c", cwd=tmp_path) == ["camera"]


def test_bash_completes_the_program_that_is_run(tmp_path: pathlib.Path) -> None:
    """Behind -- the program and then its arguments, by the shell's own means; before it, options and values of run.
    Seen failing with nothing offered."""
    (tmp_path / "data").touch()
    (tmp_path / "tool").touch(mode=0o755)
    assert complete_in_bash("run", "--", "./to", cwd=tmp_path) == ["./tool"]
    assert "gzip" in complete_in_bash("run", "gzi")
    assert complete_in_bash("run", "--gpcs", "2,3", "--", "./tool", "da", cwd=tmp_path) == ["data"]
    assert complete_in_bash("run", "--gpcs", "=", "2,3", "./tool", "-x", "da", cwd=tmp_path) == ["data"]
    assert complete_in_bash("run", "--ha") == ["--half"]
    assert complete_in_bash("run", "-o", "da", cwd=tmp_path) == ["data"]


def test_values_of_measuring_commands_are_offered() -> None:
    """Words of options and arguments that have few, in both shells. Seen failing with --neighbours unchecked."""
    assert complete_in_bash("verify", "--half", "") == ["a", "b"]
    assert complete_in_bash("verify", "--neighbours", "com") == ["compute"]
    assert complete_in_bash("verify", "--neighbours", "") == ["compute", "memory", "copies", "none"]
    assert complete_in_bash("sweep", "--place", "") == ["packed", "distributed"]
    assert complete_in_bash("sweep", "--unit", "") == ["us", "ms", "s"]
    assert complete_in_bash("load", "") == ["compute", "memory", "copies"]
    assert complete_in_bash("tenants", "") == ["cases", "sizes", "launches", "neighbours"]
    assert complete_in_bash("tenants", "--way", "m") == ["masks"]
    assert complete_in_bash("experiment", "fig1") == ["fig10", "fig13", "fig14"]
    assert complete_in_bash("experiment", "--without", "R") == ["R1", "R2", "R4", "R5", "R8"]


ZSH = ROOT / "tools/docs/completion.zsh"


def complete_in_zsh(*words: str, cwd: pathlib.Path = DOCS) -> typing.List[str]:
    """What zsh is told of the last of these words: the lines of _describe, and the functions that are called."""
    script = """file=$1; shift; words=("$@") CURRENT=$# PREFIX=${@[-1]}
        _describe() { print -rl -- "${(@P)2}"; }; compset() { }
        _files() { print -r -- "_files $*"; }; _normal() { print -r -- "_normal $CURRENT $words"; }; . $file"""
    done = subprocess.run(["zsh", "-fc", script, "zsh", str(ZSH), tool_of(words).name, *words], cwd=cwd, env=IN_PATH,
                          check=True, capture_output=True, text=True)
    assert not done.stderr, done.stderr
    return done.stdout.splitlines()


def test_zsh_offers_commands_options_and_values() -> None:
    """With what they mean. compinit assigns the file to both programs. Seen failing with a colon that was not
    escaped."""
    assert complete_in_zsh("exp")[0].startswith("export:export metrics\\: TSGs")
    for name, command in EACH:
        words = {line.replace("\\:", "").split(":")[0] for line in complete_in_zsh(command, "-")}
        assert options_of(command) | {"--image", "-i", "--json"} <= words, (name, command)
    assert complete_in_zsh("sweep", "--unit=") == ["--unit=us", "--unit=ms", "--unit=s"]
    assert complete_in_zsh("isolation", "--accept", "R6") == ["R6\\:shared-runlist"]
    assert complete_in_zsh("report", "") == ["_files "] and complete_in_zsh("record", "--dataset", "") == ["_files -/"]
    assert complete_in_zsh("run", "--gpcs", "2", "--", "./tool", "-x", "da") == ["_normal 3 ./tool -x da"]
    script = """mkdir $1 && cp $2 $1/_gpulens && fpath=($1 $fpath)
        autoload -U compinit && compinit -u -D; print $_comps[$3]"""
    for program in COMMANDS:
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run(["zsh", "-fc", script, "zsh", f"{folder}/site", str(ZSH), program], check=True,
                                  capture_output=True)
        assert (done.stdout, done.stderr) == (b"_gpulens\n", b"")


def test_an_option_is_offered_once() -> None:
    """Not again where it was given, unless it can be repeated; by an older name of the command, too; without any sign
    of an error. Seen failing with --json offered twice."""
    assert {"--json", "--image"} & set(complete_in_bash("--json", "-i", "x", "chip", "-")) == {"--image"}
    assert "--colour-by" in complete_in_bash("blocks", "log.json", "--colour")
    assert complete_in_bash("amd", "") == ["gpus", "queues", "runlist", "slots", "masks"]
    assert complete_in_bash("no-command-begins-so") == []
    gpu = ("-i", str(image("ad102")))
    assert complete_in_bash(*gpu, "disable", "--tsg", "0", ":") == ["3", "4", "5", "6", "7"]
    assert complete_in_bash(*gpu, "timeslice", "1") == ["1:40", "14:53", "15:54"]
    assert complete_in_bash(f"--image={gpu[1]}", "timeslice", "1") == ["1:40", "14:53", "15:54"]
    assert complete_in_bash("-i", "none", "preempt", "1") == []
    done = gpulens("--complete")
    assert done.returncode == 0 and done.stdout.startswith("words\nchip\t") and not done.stderr


def test_version_is_the_modules() -> None:
    """--version prints the version of dkms.conf. Seen failing before the option existed."""
    version = subprocess.run([ROOT / "scripts/lib/version"], stdout=subprocess.PIPE, check=True, text=True).stdout
    done = gpulens("--version")
    assert version.strip() and (done.returncode, done.stdout) == (0, f"gpulens {version}")
