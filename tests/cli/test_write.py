# SPDX-License-Identifier: GPL-2.0
"""Output never destroys: what is no regular file is written to and stays what it is, a file is replaced at once by one
of a name that nobody can plant. Each was seen failing with a draft named PATH.part that was renamed over whatever was
there. Never on nodes of /dev, which a tool that fails these tests would take away."""

import os
import pathlib
import stat
import subprocess
import threading
import typing

import pytest
from support.fakerm import RECORDING
from support.program import ROOT, TOOL, image

WRITERS = ("export", "run")


def write(how: str, path: "str | pathlib.Path", **more: typing.Any) -> "subprocess.CompletedProcess[bytes]":
    """A command that writes a whole file."""
    words = {"export": ["-i", str(image("gp106")), "export", "--prometheus", "-o", str(path)],
             "run": ["run", "-o", str(path), "--", "true"]}[how]
    return subprocess.run([str(TOOL), *words], capture_output=True, check=False, timeout=60, **more)


def folder_of(path: pathlib.Path) -> "list[str]":
    """Names in it."""
    return sorted(one.name for one in path.iterdir())


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes devices")
@pytest.mark.parametrize("how", WRITERS)
def test_a_device_stays_one(tmp_path: pathlib.Path, how: str) -> None:
    """A private /dev/null."""
    null = tmp_path / "null"
    os.mknod(null, stat.S_IFCHR | 0o666, os.makedev(1, 3))
    assert write(how, null).returncode == 0
    assert stat.S_ISCHR(null.stat().st_mode) and folder_of(tmp_path) == ["null"]


def test_a_fifo_gets_the_bytes(tmp_path: pathlib.Path) -> None:
    """And is one afterwards."""
    fifo, got = tmp_path / "fifo", []
    os.mkfifo(fifo)
    reader = threading.Thread(target=lambda: got.append(fifo.read_bytes()), daemon=True)
    reader.start()
    assert write("export", fifo).returncode == 0
    reader.join(20)
    assert got and got[0].startswith(b"# HELP gpulens_") and fifo.is_fifo()
    assert folder_of(tmp_path) == ["fifo"]


def test_standard_output_and_process_substitution(tmp_path: pathlib.Path) -> None:
    """/dev/stdout is such a link. And >(...)."""
    (tmp_path / "stdout").symlink_to("/proc/self/fd/1")
    done = write("export", tmp_path / "stdout")
    assert done.returncode == 0 and done.stdout.startswith(b"# HELP gpulens_")
    script = f'{TOOL} -i {image("gp106")} export --prometheus -o >(cat >{tmp_path}/got); wait $!'
    assert subprocess.run(["bash", "-c", script], check=False, timeout=60).returncode == 0
    assert (tmp_path / "got").read_bytes().startswith(b"# HELP gpulens_")


@pytest.mark.parametrize("there", (True, False), ids=("there", "not there"))
def test_a_link_stays_one(tmp_path: pathlib.Path, there: bool) -> None:
    """What it names is written."""
    target, link = tmp_path / "target", tmp_path / "link"
    if there:
        target.write_text("old, and much longer than what is written\n" * 1000, encoding="ascii")
        target.chmod(0o640)
    link.symlink_to("target")
    assert write("export", link).returncode == 0
    assert link.is_symlink() and target.read_bytes().startswith(b"# HELP gpulens_")
    assert b"old" not in target.read_bytes() and folder_of(tmp_path) == ["link", "target"]
    assert not there or stat.S_IMODE(target.stat().st_mode) == 0o640


def test_a_planted_draft_is_not_followed(tmp_path: pathlib.Path) -> None:
    """The name of a draft as it was once, with a link to somebody's file."""
    victim = tmp_path / "victim"
    victim.write_text("mine\n", encoding="ascii")
    (tmp_path / "x.prom.part").symlink_to("victim")
    assert write("export", tmp_path / "x.prom").returncode == 0
    assert victim.read_text(encoding="ascii") == "mine\n"
    assert (tmp_path / "x.prom").is_file() and not (tmp_path / "x.prom").is_symlink()
    assert folder_of(tmp_path) == ["victim", "x.prom", "x.prom.part"]


def test_a_file_keeps_mode_and_owner(tmp_path: pathlib.Path) -> None:
    """One that is there; a new one has what the umask leaves. It is another file, so that a reader has all of the old
    one."""
    path = tmp_path / "x.prom"
    path.write_text("old\n", encoding="ascii")
    path.chmod(0o604)
    if not os.geteuid():
        os.chown(path, 7, 8)
    with path.open("rb") as reader:
        assert write("export", path).returncode == 0
        assert reader.read() == b"old\n"
    is_now = path.stat()
    assert stat.S_IMODE(is_now.st_mode) == 0o604
    assert os.geteuid() or (is_now.st_uid, is_now.st_gid) == (7, 8)
    assert write("export", tmp_path / "new", umask=0o027).returncode == 0
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o640
    assert folder_of(tmp_path) == ["new", "x.prom"]


def test_what_cannot_be_written_is_left(tmp_path: pathlib.Path) -> None:
    """A folder; one that is not there; a full device; a file larger than is allowed: the old one is still whole and no
    draft is left."""
    (tmp_path / "folder").mkdir()
    places = [(tmp_path / "folder", b"EISDIR"), (tmp_path / "none/x", b"ENOENT")]
    if not os.geteuid():
        os.mknod(tmp_path / "full", stat.S_IFCHR | 0o666, os.makedev(1, 7))
        places.append((tmp_path / "full", b"ENOSPC"))
    for path, why in places:
        done = write("export", path)
        assert done.returncode == 3 and why in done.stderr
    (tmp_path / "x").write_text("old\n", encoding="ascii")
    limit = 'trap "" XFSZ; ulimit -f 1; exec "$@"'
    done = subprocess.run(["bash", "-c", limit, "bash", str(TOOL), "-i", str(image("gp106")), "export", "--prometheus",
                           "-o", str(tmp_path / "x")], capture_output=True, check=False, timeout=60)
    assert done.returncode == 3 and b"EFBIG" in done.stderr
    assert (tmp_path / "x").read_text(encoding="ascii") == "old\n"
    assert not [name for name in folder_of(tmp_path) if name not in ("folder", "full", "x")]


def test_lines_of_run_go_through_a_pipe(tmp_path: pathlib.Path) -> None:
    """As the program makes TSGs, though the library opens the file by its name."""
    program = ["/usr/bin/python3", str(ROOT / "tests/support/rm/program.py")]
    script = f'"$0" run -o >(cat >{tmp_path}/got) -- "$@"; status=$?; wait $!; exit $status'
    env = {**os.environ, "LD_PRELOAD": str(ROOT / "build/bin/fake_rm.so"),
           "GPULENS_FAKE_RM": RECORDING}
    done = subprocess.run(["bash", "-c", script, str(TOOL), *program], env=env, check=False, timeout=60)
    assert done.returncode == 7
    assert len((tmp_path / "got").read_text(encoding="ascii").splitlines()) == 13
