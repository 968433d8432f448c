# SPDX-License-Identifier: GPL-2.0
"""What other processes and folders may do to gpulens: an endless environment, a full or foreign folder, large files.
Each test was seen failing: a command that took minutes or hung, a program ended by SIGBUS, gigabytes of memory."""

import os
import pathlib
import subprocess

import pytest

from support.fakeproc import FakeProc, snapshot
from support.fakerm import RECORDING
from support.program import TOOL, gpulens
from support.scheduled import BIN

ROOT_ONLY = pytest.mark.skipif(os.geteuid() != 0, reason="it mounts a folder, which takes root")
# A process may name any of its memory as its environment: here 64 GB that it has never touched.
ENDLESS = r"""
#include <linux/prctl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>
int main(void)
{
    static const int fields[] = {26, 27, 28, 45, 46, 47, 48, 49}; /* of proc(5), /proc/PID/stat */
    uint64_t found[8], size = 1ULL << 36;
    char line[4096] = "", *at = line;
    char *base = mmap(0, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    FILE *file = fopen("/proc/self/stat", "r");
    if (!fgets(line, sizeof(line), file))
        return 2;
    at = strrchr(line, ')') + 1;
    for (int field = 3, n = 0; n < 8; field++) {
        uint64_t value = strtoull(at + 1 + (at[1] == ' '), 0, 10);
        if (field == fields[n])
            found[n++] = value;
        at = strchr(at + 1, ' ');
    }
    struct prctl_mm_map map = {.start_code = found[0], .end_code = found[1], .start_stack = found[2],
        .start_data = found[3], .end_data = found[4], .start_brk = found[5], .brk = (uint64_t)sbrk(0),
        .arg_start = found[6], .arg_end = found[7], .env_start = (uint64_t)base, .env_end = (uint64_t)base + size,
        .exe_fd = (uint32_t)-1};
    if (prctl(PR_SET_MM, PR_SET_MM_MAP, &map, sizeof(map), 0))
        return 3;
    puts("ready");
    fflush(stdout);
    pause();
}
"""


def test_an_endless_environment(tmp_path: pathlib.Path) -> None:
    """Of a process that uses the GPU: the first MiB is looked at."""
    program = tmp_path / "endless"
    subprocess.run(["gcc", "-x", "c", "-", "-o", str(program)], input=ENDLESS, text=True, check=True)
    folder = tmp_path / "proc"
    folder.mkdir()
    FakeProc(folder).show(snapshot({0: [], 1: []}))
    with subprocess.Popen([program], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout and process.stdout.readline() == "ready\n"
        with pathlib.Path(f"/proc/{process.pid}/environ").open("rb") as environment:
            assert len(environment.read(2 << 20)) == 2 << 20
        done = gpulens("--proc", str(folder), "runlists", env={
            "LD_PRELOAD": f"{BIN}/fake_rm.so", "GPULENS_FAKE_RM": RECORDING, "GPULENS_FAKE_RM_PIDS": str(process.pid)})
        process.kill()
    assert done.returncode == 0, done.stderr


@ROOT_ONLY
@pytest.mark.parametrize(("how", "status"), (("task=a", 4), ("budget=2ms/10ms", 0)))
def test_a_full_folder(tmp_path: pathlib.Path, how: str, status: int) -> None:
    """A program that cannot have its page is not started on the GPU, and says so; one with a budget needs no folder."""
    (tmp_path / "run").mkdir()
    (tmp_path / "progress").write_bytes(bytes(4096))
    text = (f"mount -t tmpfs -o size=64k,mode=700 none {tmp_path}/run; head -c 1M /dev/zero >{tmp_path}/run/full; "
            f"exec timeout -s TERM 2 {TOOL} run -o /dev/null --experimental --schedule {how} -- {BIN}/fake-load victim "
            f"{tmp_path}/progress 20")
    env = {**os.environ, "LD_PRELOAD": f"{BIN}/fake_rm.so", "GPULENS_FAKE_RM": RECORDING, "HOME": str(tmp_path),
           "GPULENS_FAKE_RM_SHARED": str(tmp_path / "shared"), "GPULENS_RUNTIME_DIR": str(tmp_path / "run")}
    done = subprocess.run(["unshare", "--mount", "sh", "-c", text], env=env, capture_output=True, text=True,
                          check=False)
    assert (done.returncode == 124) == (status == 0) or done.returncode == status, done
    assert ("cannot be scheduled, so it ends: No space left on device" in done.stderr) == (status == 4), done.stderr


def test_a_fifo_in_a_folder_of_others(tmp_path: pathlib.Path) -> None:
    """A runtime folder that others may write to is not read."""
    folder = tmp_path / "run"
    folder.mkdir()
    os.mkfifo(folder / "schedule-status.json")
    folder.chmod(0o777)
    FakeProc(tmp_path).show(snapshot({0: [], 1: []}))
    (tmp_path / "gpu0/stats").write_text("read_snapshot 1\n")
    done = gpulens("--proc", str(tmp_path), "export", "--prometheus", env={"GPULENS_RUNTIME_DIR": str(folder)})
    assert done.returncode == 0 and "gpulens_up" in done.stdout, done.stderr


def test_a_policy_of_17_megabytes(tmp_path: pathlib.Path) -> None:
    """JSON takes 25 times its size; no policy, plan or scenario is that long."""
    file = tmp_path / "policy.json"
    file.write_text('{"version": 1, "tasks": [' + "{}, " * (17 << 18) + "{}]}")
    done = gpulens("--source", "rm", "schedule", str(file), "--dry-run")
    assert done.returncode == 3 and "EFBIG" in done.stderr, done.stderr


@pytest.mark.parametrize("words", ("--help", "--version", "plan --help"))
def test_help_that_cannot_be_written(words: str) -> None:
    """Status 1, as for any output."""
    done = subprocess.run(["sh", "-c", f"{TOOL} {words} >/dev/full"], capture_output=True, text=True, check=False)
    assert done.returncode == 1, done
