# SPDX-License-Identifier: GPL-2.0
"""Output files: anything but a regular file is written in place and keeps its type; a regular file is replaced at once
through a draft whose name cannot be guessed. Each test was seen failing with a draft PATH.part that was renamed over
the target. No test uses nodes of /dev, which a failing tool would remove."""

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


def run_writer(how: str, path: "str | pathlib.Path", **more: typing.Any) -> "subprocess.CompletedProcess[bytes]":
    """Runs a command that writes a whole file."""
    words = {"export": ["-i", str(image("gp106")), "export", "--prometheus", "-o", str(path)],
             "run": ["run", "-o", str(path), "--", "true"]}[how]
    return subprocess.run([str(TOOL), *words], capture_output=True, check=False, timeout=600, **more)


def names_in(path: pathlib.Path) -> "list[str]":
    """The names in a folder."""
    return sorted(entry.name for entry in path.iterdir())


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes devices")
@pytest.mark.parametrize("how", WRITERS)
def test_a_device_stays_one(tmp_path: pathlib.Path, how: str) -> None:
    """A private node like /dev/null."""
    null = tmp_path / "null"
    os.mknod(null, stat.S_IFCHR | 0o666, os.makedev(1, 3))
    assert run_writer(how, null).returncode == 0
    assert stat.S_ISCHR(null.stat().st_mode) and names_in(tmp_path) == ["null"]


def test_a_fifo_gets_the_bytes(tmp_path: pathlib.Path) -> None:
    """And is still a FIFO afterwards."""
    fifo, got = tmp_path / "fifo", []
    os.mkfifo(fifo)
    reader = threading.Thread(target=lambda: got.append(fifo.read_bytes()), daemon=True)
    reader.start()
    assert run_writer("export", fifo).returncode == 0
    reader.join(20)
    assert got and got[0].startswith(b"# HELP gpulens_") and fifo.is_fifo()
    assert names_in(tmp_path) == ["fifo"]


def test_standard_output_and_process_substitution(tmp_path: pathlib.Path) -> None:
    """/dev/stdout is such a link, and so is >(...)."""
    (tmp_path / "stdout").symlink_to("/proc/self/fd/1")
    done = run_writer("export", tmp_path / "stdout")
    assert done.returncode == 0 and done.stdout.startswith(b"# HELP gpulens_")
    script = f'{TOOL} -i {image("gp106")} export --prometheus -o >(cat >{tmp_path}/got); wait $!'
    assert subprocess.run(["bash", "-c", script], check=False, timeout=600).returncode == 0
    assert (tmp_path / "got").read_bytes().startswith(b"# HELP gpulens_")


@pytest.mark.parametrize("there", (True, False), ids=("there", "not there"))
def test_a_link_stays_one(tmp_path: pathlib.Path, there: bool) -> None:
    """Its target is written."""
    target, link = tmp_path / "target", tmp_path / "link"
    if there:
        target.write_text("old, and much longer than what is written\n" * 1000, encoding="ascii")
        target.chmod(0o640)
    link.symlink_to("target")
    assert run_writer("export", link).returncode == 0
    assert link.is_symlink() and target.read_bytes().startswith(b"# HELP gpulens_")
    assert b"old" not in target.read_bytes() and names_in(tmp_path) == ["link", "target"]
    assert not there or stat.S_IMODE(target.stat().st_mode) == 0o640


def test_a_planted_draft_is_not_followed(tmp_path: pathlib.Path) -> None:
    """An earlier version used this draft name; here it is a link to another file."""
    victim = tmp_path / "victim"
    victim.write_text("mine\n", encoding="ascii")
    (tmp_path / "x.prom.part").symlink_to("victim")
    assert run_writer("export", tmp_path / "x.prom").returncode == 0
    assert victim.read_text(encoding="ascii") == "mine\n"
    assert (tmp_path / "x.prom").is_file() and not (tmp_path / "x.prom").is_symlink()
    assert names_in(tmp_path) == ["victim", "x.prom", "x.prom.part"]


def test_a_file_keeps_mode_and_owner(tmp_path: pathlib.Path) -> None:
    """An existing file; a new one gets its mode from the umask. The new content is a new file, so that a reader of the
    old one still gets all of it."""
    path = tmp_path / "x.prom"
    path.write_text("old\n", encoding="ascii")
    path.chmod(0o604)
    if not os.geteuid():
        os.chown(path, 7, 8)
    with path.open("rb") as reader:
        assert run_writer("export", path).returncode == 0
        assert reader.read() == b"old\n"
    is_now = path.stat()
    assert stat.S_IMODE(is_now.st_mode) == 0o604
    assert os.geteuid() or (is_now.st_uid, is_now.st_gid) == (7, 8)
    assert run_writer("export", tmp_path / "new", umask=0o027).returncode == 0
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o640
    assert names_in(tmp_path) == ["new", "x.prom"]


def test_a_failed_write_keeps_the_old_file(tmp_path: pathlib.Path) -> None:
    """A folder, a missing folder, a full device, a limit on the file size: the old file is unchanged, and no draft is
    left."""
    (tmp_path / "folder").mkdir()
    places = [(tmp_path / "folder", b"EISDIR"), (tmp_path / "none/x", b"ENOENT")]
    if not os.geteuid():
        os.mknod(tmp_path / "full", stat.S_IFCHR | 0o666, os.makedev(1, 7))
        places.append((tmp_path / "full", b"ENOSPC"))
    for path, why in places:
        done = run_writer("export", path)
        assert done.returncode == 3 and why in done.stderr
    (tmp_path / "x").write_text("old\n", encoding="ascii")
    limit = 'trap "" XFSZ; ulimit -f 1; exec "$@"'
    done = subprocess.run(["bash", "-c", limit, "bash", str(TOOL), "-i", str(image("gp106")), "export", "--prometheus",
                           "-o", str(tmp_path / "x")], capture_output=True, check=False, timeout=600)
    assert done.returncode == 3 and b"EFBIG" in done.stderr
    assert (tmp_path / "x").read_text(encoding="ascii") == "old\n"
    assert not [name for name in names_in(tmp_path) if name not in ("folder", "full", "x")]


def test_lines_of_run_go_through_a_pipe(tmp_path: pathlib.Path) -> None:
    """The lines arrive as the program allocates TSGs, though the library opens the file by its name."""
    program = ["/usr/bin/python3", str(ROOT / "tests/support/rm/program.py")]
    script = f'"$0" run -o >(cat >{tmp_path}/got) -- "$@"; status=$?; wait $!; exit $status'
    env = {**os.environ, "LD_PRELOAD": str(ROOT / "build/bin/fake_rm.so"),
           "GPULENS_FAKE_RM": RECORDING}
    done = subprocess.run(["bash", "-c", script, str(TOOL), *program], env=env, check=False, timeout=600)
    assert done.returncode == 7
    assert len((tmp_path / "got").read_text(encoding="ascii").splitlines()) == 13
