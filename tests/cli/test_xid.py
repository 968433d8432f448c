# SPDX-License-Identifier: GPL-2.0
"""gpulens xid on messages that people posted in public (open-gpu-kernel-modules, issues 363, 447, 502, 1146 and 1150;
dxvk, issue 1027), with the process and the TSG of this machine where they are there. Seen failing without the form
"channel 0x"."""

import json
import os
import pathlib
import pwd

import pytest
from support.program import gpulens, image

LINES = """\
[ 7839.537906] NVRM: GPU at PCI:0000:26:00: GPU-b50e4ccf-b785-06da-31c0-1f77c0c46f4c
[ 7839.537911] NVRM: Xid (PCI:0000:26:00): 109, pid=55914, name=re8.exe, Ch 00000046, errorString CTX SWITCH TIMEOUT
NVRM: Xid (PCI:0000:08:00): 31, pid=169800, name=chrome, Ch 00000023, intr 00000000. MMU Fault: ENGINE CE0
[31609.615516] NVRM: Xid (PCI:0000:01:00): 32, Channel ID 00000052 intr 02000000
NVRM: Xid (PCI:0000:00:0b): 13, pid='<unknown>', name=<unknown>, Graphics SM Warp Exception on (GPC 2, TPC 4, SM 0)
NVRM: Xid (PCI:0000:00:0b): 13, pid='<unknown>', name=<unknown>, Graphics Exception: ESR 0x516730=0x9000b 0x516734=0x0
Sep 18 20:07:01 NVRM: Xid (PCI:0000:02:00): 109, pid=8494,   name=RenderThread, channel 0x0000000d, CTX SWITCH TIMEOUT
kernel: NVRM: Xid (PCI:0000:dc:00): 45, pid=1818990, name=python3, Ch 00000001 caused by previous Xid 149
NVRM: Xid (PCI:0000:01:00 GPU-I:05): 94, pid=7194, Contained: CE User Channel (0x9). RST: No, D-RST: No
NVRM: Xid (0000:01:00): 31, Ch 0000000b, engmask 00000120, intr 10000000
"""
FOUND = [  # Xid, device, process, its name, channel, cause, times
    (109, "0000:26:00.0", 55914, "re8.exe", 70, None, 1), (31, "0000:08:00.0", 169800, "chrome", 35, None, 1),
    (32, "0000:01:00.0", None, None, 82, None, 1), (13, "0000:00:0b.0", None, None, None, None, 2),
    (109, "0000:02:00.0", 8494, "RenderThread", 13, None, 1), (45, "0000:dc:00.0", 1818990, "python3", 1, 149, 1),
    (94, "0000:01:00.0", 7194, None, 9, None, 1), (31, "0000:01:00.0", None, None, 11, None, 1)]


def test_each_form_of_a_message_is_read() -> None:
    """From standard input, among other lines; like ones once. Channels are hexadecimal in every form."""
    done = gpulens("-i", str(image("ad102", "minimal")), "--json", "xid", stdin=LINES.encode())
    keys = ("xid", "device", "pid", "name", "channel", "caused_by", "times")
    assert [tuple(xid[key] for key in keys) for xid in json.loads(done.stdout)["xids"]] == FOUND
    assert (done.returncode, done.stderr) == (0, "")


def test_process_and_tsg_are_those_of_now() -> None:
    """The recorded AD102 is 0000:01:00.0, and its channel 0x11 is on runlist 0 in TSG 5 (demo-ad102.json). The process
    is this test, under its name of 15 characters or fewer."""
    name = pathlib.Path("/proc/self/comm").read_text(encoding="utf-8").strip()
    line = f"NVRM: Xid (PCI:0000:01:00): 31, pid={os.getpid()}, name={name}, Ch 00000011, intr 00000000. MMU Fault"
    done = gpulens("-i", str(image("ad102", "demo-ad102")), "xid", line)
    assert f"process  {os.getpid()} {name}, user {pwd.getpwuid(os.getuid()).pw_name}" in done.stdout
    assert "which still runs\n  channel  17 is now on runlist 0, TSG 5\n" in done.stdout
    assert "others   The program's TSG ends, and under MPS all clients of that server." in done.stdout


@pytest.mark.parametrize("pid, name", [("4194304", "re8.exe"), (str(os.getpid()), "another")], ids=["none", "reused"])
def test_a_process_that_ended_is_not_shown(pid: str, name: str) -> None:
    """No process has a number above 2^22 (proc(5), pid_max); one of another name has only the number."""
    line = f"Xid (PCI:0000:26:00): 109, pid={pid}, name={name}, Ch 00000046"
    done = gpulens("-i", str(image("ad102")), "xid", line)
    assert f"  process  {pid} {name}, which does not run now\n  channel  70; no source shows this GPU\n" in done.stdout


def test_without_a_source_the_message_is_explained_all_the_same(tmp_path: "os.PathLike[str]") -> None:
    """Status 0, and one line on standard error; without a message status 1."""
    done = gpulens("--proc", str(tmp_path), "xid", LINES)
    assert done.returncode == 0 and done.stdout.startswith("Xid 109 on 0000:26:00.0\n")
    assert done.stderr.startswith("gpulens: xid: channels are not looked up: ") and done.stderr.count("\n") == 1
    none = gpulens("xid", "usb 1-1: new device")
    assert (none.returncode, none.stdout) == (1, "") and "no line has a message of the form" in none.stderr


def test_a_hostile_log_is_read() -> None:
    """A line of 8 MiB, numbers out of range, control characters: no crash, nothing raw on the terminal."""
    head = "Xid (PCI:0000:01:00): 31, "
    log = f"{head}{'Ch ' * (8 << 18)}\n{head}pid=99999999999, Ch fffffffff \033[31m"
    done = gpulens("-i", str(image("ad102")), "xid", stdin=log.encode())
    assert done.returncode == 0 and "\033" not in done.stdout and done.stdout.startswith("Xid 31 on 0000:01:00.0")
