# SPDX-License-Identifier: GPL-2.0
"""gpulens run --tpcs and --schedule: a program runs within its limit, in space or in time, or it does not run. Real
programs that the loader cannot preload into, or that use the GPU too early, with a fake libcuda that requests a channel
from the kernel as the real one does. Each test was seen failing with the tool before the guard
(tools/gpulens/limit/guard.hpp): the program ran on all SMs; in time with --tpcs alone guarded: nothing held it."""

import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time
import typing

import pytest
from support.fakerm import RECORDING
from support.program import ROOT, TOOL

TOO_EARLY = "requested a channel of the GPU's driver before {} had set its limit, and was killed"
LIMITS = {"space": ("--tpcs", "0"), "time": ("--experimental", "--schedule", "budget=2ms/10ms"),
          "slot": ("--experimental", "--slot", "gpu")}
LIBRARIES = {"space": "libgpulens-confine.so", "time": "libgpulens-run.so", "slot": "libgpulens-run.so"}
STATE: "dict[str, str]" = {}  # limit and folder of the present tests
ROOT_ONLY = pytest.mark.skipif(os.geteuid() != 0, reason="it takes root")
NOBODY = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
RAW = """
#include <stdint.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(void)
{
    uint32_t params[8] = {1, 2, 0, 0xc86f};
    syscall(SYS_ioctl, -1, 0xc020462b, params);
    puts("has a channel");
}
"""


@pytest.fixture(scope="module", name="folder", params=LIMITS, autouse=True)
def fixture_folder(request: pytest.FixtureRequest) -> typing.Iterator[pathlib.Path]:
    """A folder that every user can read, with cuda_program, and each kind of limit in turn."""
    STATE["limit"] = request.param
    with tempfile.TemporaryDirectory(prefix="gpulens-limit-") as name:
        folder = pathlib.Path(name)
        folder.chmod(0o755)
        for user in ("own", "nobody"):
            (folder / user).mkdir(mode=0o700)
        if os.geteuid() == 0:
            os.chown(folder / "nobody", 65534, 65534)
        STATE["folder"] = name
        compile_program("-o", str(folder / "cuda_program"), str(ROOT / "tests/partition/cuda_program.c"))
        yield folder


def compile_program(*words: str, source: str = "") -> None:
    """Builds a program, from the text in source if there is one."""
    subprocess.run(["gcc", "-std=gnu11", f"-I{ROOT}/tests/partition", *(["-x", "c", "-"] if source else []), *words],
                   check=True, text=True, input=source)


def fake_environment(**more: str) -> "dict[str, str]":
    """As in test_confine.py."""
    return {**{key: value for key, value in os.environ.items() if key != "CUDA_VISIBLE_DEVICES"},
            "LD_PRELOAD": str(ROOT / "build/bin/fake_rm.so"), "LD_LIBRARY_PATH": str(ROOT / "build/bin/fake-cuda"),
            "GPULENS_FAKE_RM": RECORDING, **more}


def run_limited(*words: str, tool: pathlib.Path = TOOL, before: "tuple[str, ...]" = (),
                cwd: typing.Optional[str] = None,
                **env: str) -> "subprocess.CompletedProcess[str]":
    """Runs a program under gpulens run with the test's limit."""
    env = fake_environment(GPULENS_RUNTIME_DIR=f"{STATE['folder']}/{'nobody' if before else 'own'}", **env)
    return subprocess.run([*before, str(tool), "run", *LIMITS[STATE["limit"]], "--", *words], capture_output=True,
                          text=True, check=False, timeout=600, cwd=cwd, env=env)


def limit_held(done: "subprocess.CompletedProcess[str]") -> bool:
    """Whether the program ran, and on the SMs of TPC 0 where that is its limit."""
    return done.stdout.startswith("ran on 0 1\n" if STATE["limit"] == "space" else "ran on 0 1 2 ")


def was_killed(done: "subprocess.CompletedProcess[str]") -> bool:
    """Whether the program was killed before its first launch, with a message and status 4."""
    return done.stdout == "" and done.returncode == 4 and TOO_EARLY.format(LIBRARIES[STATE["limit"]]) in done.stderr


# -- refused before the program starts

@ROOT_ONLY
def test_file_capabilities(folder: pathlib.Path) -> None:
    """A program with file capabilities is refused; if another program starts it, it is killed, because the loader drops
    LD_PRELOAD. Setuid has no effect under the guard, so that the limit holds."""
    program = folder / "capable"
    compile_program("-o", str(program), f"-Wl,-rpath,{ROOT}/build/bin/fake-cuda",
                    str(ROOT / "tests/partition/cuda_program.c"))
    subprocess.run(["setcap", "cap_sys_nice+ep", str(program)], check=True)
    done = run_limited(str(program), before=NOBODY)
    assert (done.stdout, done.returncode) == ("", 4)
    assert done.stderr == (f"gpulens: {program}: it has file capabilities, so no library can be preloaded; remove them "
                           "(setcap -r) and give it ambient ones (setpriv)\n")
    assert was_killed(run_limited("sh", "-c", f"{program}; true", before=NOBODY))
    os.chown(program, 1, 1)  # which takes capabilities away
    program.chmod(0o4755)
    assert limit_held(run_limited("sh", "-c", f"{program}; true", before=NOBODY))


@pytest.mark.parametrize("name", ("a blank", "co:lon", "tab\tbed", "$LIB"))
def test_an_install_path_that_the_loader_splits(folder: pathlib.Path, name: str) -> None:
    """LD_PRELOAD has no quoting."""
    place = folder / name
    place.mkdir()
    for file in ("gpulens", "libgpulens-run.so", "libgpulens-confine.so"):
        shutil.copy(ROOT / "build/bin" / file, place)
    done = run_limited(str(folder / "cuda_program"), tool=place / "gpulens")
    assert (done.stdout, done.returncode) == ("", 4)
    assert done.stderr == (f"gpulens: {place}/libgpulens-run.so: the loader cannot preload a path with blanks, colons "
                           "or $; install gpulens elsewhere\n")


def test_the_program_is_the_one_that_execvp_finds(folder: pathlib.Path) -> None:
    """A folder of that name earlier in PATH and a file that is not executable are skipped; an empty element means the
    current folder. The program that is found is static."""
    first, second = folder / "first", folder / "second"
    (first / "found").mkdir(parents=True)
    second.mkdir()
    compile_program("-static", "-o", str(second / "found"), source=RAW)
    static = "it is linked statically, so no library can be preloaded\n"
    done = run_limited("found", PATH=f"{first}:{second}:/usr/bin:/bin")
    assert (done.stdout, done.stderr, done.returncode) == ("", f"gpulens: {second}/found: {static}", 4)
    for path in (":/usr/bin:/bin", "/usr/bin::/bin", "/usr/bin:/bin:"):
        done = run_limited("found", PATH=path, cwd=str(second))
        assert (done.stdout, done.stderr, done.returncode) == ("", f"gpulens: ./found: {static}", 4)
    (first / "found").rmdir()
    (first / "found").write_text("no program\n", encoding="ascii")
    assert run_limited("found", PATH=f"{first}:{second}:/usr/bin:/bin").returncode == 4


def test_a_script_is_judged_by_its_interpreter(folder: pathlib.Path) -> None:
    """A static interpreter is refused, also if another script leads to it; one that loads the library is accepted."""
    static = folder / "interpreter"
    compile_program("-static", "-o", str(static), source=RAW)
    for name, head in (("one", f"#! {static} -x"), ("two", f"#!{folder}/one"), ("three", f"#!{folder}/two")):
        (folder / name).write_text(head + "\n", encoding="ascii")
        (folder / name).chmod(0o755)
        done = run_limited(str(folder / name))
        assert (done.stdout, done.stderr, done.returncode) == (
            "", f"gpulens: {static}: it is linked statically, so no library can be preloaded\n", 4)
    (folder / "good").write_text(f"#!/usr/bin/env -S sh -e\n{folder}/cuda_program\n", encoding="ascii")
    (folder / "good").chmod(0o755)
    assert limit_held(run_limited(str(folder / "good")))


@pytest.mark.parametrize("limit", (["--tpcs", ""], ["--tpcs="], ["--gpcs", ""], ["--gpcs="], ["--half", ""],
                                   ["--half="], ["--tpcs", " "], ["--tpcs", ","], ["--tpcs", "0,"], ["--tpcs", "0x"],
                                   ["--tpcs", "0-"], ["--gpcs", "-"], ["--tpcs", "gpc:"], ["--tpcs", "+1"]),
                         ids=" ".join)
def test_an_empty_limit_is_refused(limit: "list[str]") -> None:
    """Wrong usage, and the program is not started. Seen failing for empty limits, which meant the whole GPU."""
    done = subprocess.run([str(TOOL), "run", *limit, "--", "echo", "begun"], capture_output=True, text=True,
                          check=False, timeout=600, env=fake_environment())
    assert (done.stdout, done.returncode) == ("", 2) and done.stderr.startswith("gpulens: ")


# -- found while the program runs

def test_an_empty_environment(folder: pathlib.Path) -> None:
    """Without LD_PRELOAD the program is killed when it requests a channel, also if its parent continues; a program that
    does not use CUDA runs."""
    clean = ("env", "-i", f"LD_LIBRARY_PATH={ROOT}/build/bin/fake-cuda")
    assert was_killed(run_limited(*clean, str(folder / "cuda_program")))
    assert was_killed(run_limited("sh", "-c", '"$@"; exit 0', "sh", *clean, str(folder / "cuda_program")))
    done = run_limited(*clean, str(folder / "cuda_program"), "none")
    assert (done.stdout, done.returncode) == ("no CUDA\n", 0)


def test_a_static_program_started_by_another_program(folder: pathlib.Path) -> None:
    """It is killed when it requests a channel from the driver. ldconfig, which many programs start, is not affected."""
    compile_program("-static", "-o", str(folder / "raw"), source=RAW)
    assert was_killed(run_limited("sh", "-c", f"{folder}/raw"))
    done = run_limited("sh", "-c", "/sbin/ldconfig -p | head -1")
    assert "libs found in cache" in done.stdout and done.returncode == 0


def test_a_program_of_another_c_library(folder: pathlib.Path) -> None:
    """musl's loader cannot preload the library, which needs the GNU C library. Such a program gets no channel, whether
    it is started directly or by another program. It is linked dynamically, so that it is not refused before it
    starts."""
    musl = shutil.which("musl-gcc")
    if not musl:
        pytest.skip("no musl-gcc")
    program = folder / "musl"
    subprocess.run([musl, "-std=gnu11", "-x", "c", "-", "-o", str(program)], check=True, text=True, input=RAW)
    for words in ((str(program),), ("sh", "-c", str(program))):
        done = run_limited(*words)
        assert done.returncode != 0 and "has a channel" not in done.stdout, done


@pytest.mark.parametrize(("hidden", "asks"), ((0, "0x41"), (1, "0x41"), (0, "0xc86f")))
def test_requests_that_the_guard_cannot_read(folder: pathlib.Path, hidden: int, asks: str) -> None:
    """The guard may not read the memory of a program without the library, as under Yama (ptrace_scope 1). Its request
    for a client could be one for a channel, so it is killed. A program whose memory can be read gets its client."""
    source = RAW.replace("#include <unistd.h>", "#include <sys/prctl.h>\n#include <unistd.h>").replace("0xc86f", asks)
    compile_program("-static", "-o", str(folder / "hidden"),
                    source=source.replace("    uint32_t", f"    prctl(PR_SET_DUMPABLE, {1 - hidden});\n    uint32_t"))
    done = run_limited("sh", "-c", f"{folder}/hidden; true", before=NOBODY if os.geteuid() == 0 else ())
    if hidden or asks == "0xc86f":
        assert was_killed(done), done
    else:
        assert (done.stdout, done.returncode) == ("has a channel\n", 0), done


@ROOT_ONLY
def test_another_root_folder_without_the_library(folder: pathlib.Path) -> None:
    """The loader in that root folder reports that it cannot preload the library, and continues."""
    root = folder / "root"
    shutil.copytree(ROOT / "build/bin/fake-cuda", root / "lib")
    shutil.copy(folder / "cuda_program", root)
    needed = subprocess.run(["ldd", str(folder / "cuda_program"), str(root / "lib/libcuda.so.1")], check=True,
                            capture_output=True, text=True).stdout
    for word in needed.split():
        if word.startswith("/") and not word.endswith(":"):
            place = root / word[1:]
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(word, place)
    done = run_limited("chroot", str(root), "/cuda_program", LD_LIBRARY_PATH=f"{ROOT}/build/bin/fake-cuda:/lib")
    assert was_killed(done) and "cannot be preloaded" in done.stderr


def test_kernels_from_a_constructor(folder: pathlib.Path) -> None:
    """The program is linked with a library whose constructor launches kernels before the constructor of the preloaded
    library runs."""
    source = (ROOT / "tests/partition/cuda_program.c").read_text(encoding="ascii")
    source = source.replace("int main(", "int later(")
    compile_program("-shared", "-fPIC", "-o", str(folder / "libearly.so"), source=source + """
__attribute__((constructor)) static void early(void) { launch_kernels(1); }
""")
    flags = ("-Wl,--no-as-needed", f"-L{folder}", "-learly", f"-Wl,-rpath,{folder}")
    compile_program("-o", str(folder / "early"), *flags, source="""
int later(int argc, char **argv);
int main(void) { char *words[] = {"early", "none", 0}; return later(2, words); }
""")
    assert was_killed(run_limited(str(folder / "early")))


def test_children_of_all_kinds_have_the_limit(folder: pathlib.Path) -> None:
    """Forked children, which do not acknowledge the limit themselves; children that continue after the first program
    has ended; a child that has closed all descriptors."""
    program = folder / "cuda_program"
    assert limit_held(run_limited(str(program), "fork"))
    late = folder / "late"
    assert run_limited("sh", "-c", f"(sleep 1; {program} >{late} 2>&1) >/dev/null 2>&1 & exit 3").returncode == 3
    end = time.monotonic() + 60
    while not (late.exists() and "\non" in late.read_text(encoding="ascii")) and time.monotonic() < end:
        time.sleep(0.05)
    assert late.read_text(encoding="ascii").startswith("ran on 0 1")
    assert limit_held(run_limited("python3", "-c", f"import os; os.closerange(3, 65536); os.execv('{program}', ['a'])"))


def test_a_limit_within_a_limit_is_refused(folder: pathlib.Path) -> None:
    """The kernel permits one process, not two, to be notified of another's system calls."""
    done = run_limited(str(TOOL), "run", "--tpcs", "1", "--", str(folder / "cuda_program"))
    assert (done.stdout, done.returncode) == ("", 4)
    assert ("does not permit seccomp notification (Device or resource busy), so the limit cannot be enforced"
            in done.stderr)


def test_the_guard_outlives_a_signal_to_the_group(folder: pathlib.Path) -> None:
    """Ctrl-C ends neither the guard nor a program that ignores it, which still gets channels."""
    program = f"trap '' INT; echo ready; read x; exec {folder}/cuda_program"
    with subprocess.Popen([str(TOOL), "run", "--tpcs", "0", "--", "sh", "-c", program], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, start_new_session=True,
                          env=fake_environment()) as process:
        assert process.stdin and process.stdout and process.stdout.readline() == "ready\n"
        os.killpg(process.pid, signal.SIGINT)
        process.stdin.write("\n")
        process.stdin.close()
        assert process.stdout.read().startswith("ran on 0 1\n")
        assert process.wait(timeout=600) == 7


def test_signals_that_a_program_ignored_do_not_end_the_command() -> None:
    """Also those that the command, which did not run meanwhile, has not passed on when the program has ended. Seen
    failing: it ended by the second one."""
    program = "trap '' INT HUP; echo ready; read x; exit 7"
    with subprocess.Popen([str(TOOL), "run", "-q", "--", "sh", "-c", program], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, start_new_session=True,
                          env=fake_environment()) as process:
        assert process.stdin and process.stdout and process.stdout.readline() == "ready\n"
        (child,) = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text(encoding="ascii").split()
        process.send_signal(signal.SIGSTOP)
        os.killpg(process.pid, signal.SIGHUP)
        os.killpg(process.pid, signal.SIGINT)
        process.stdin.close()
        while pathlib.Path(f"/proc/{child}/stat").read_text(encoding="ascii").rsplit(")", 1)[1].split()[0] != "Z":
            time.sleep(0.01)
        process.send_signal(signal.SIGCONT)
        assert process.wait(timeout=600) == 7
