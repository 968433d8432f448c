# SPDX-License-Identifier: GPL-2.0
"""scripts/vm as a newcomer uses it: the guest has gpulens, so that what shows and samples live GPUs can be tried on
emulated ones."""

import pathlib
import re
import subprocess

from lib import paths


def test_the_guest_has_the_tool() -> None:
    """run: the overview, top, record and export. Seen failing: "gpulens: not found", as scripts/vm passed no
    program."""
    command = ("gpulens && gpulens top --batch 1 --delay 300ms && gpulens record --for 300ms -o /tmp/a.csv && "
               "gpulens export --prometheus && { ls /lib/terminfo/l/linux /usr/share/terminfo/l/linux 2>&1 | "
               "grep -v 'No such file'; }")
    done = subprocess.run([str(paths.ROOT / "scripts/vm"), "--gpu", "gp106:demo-gp106", "--gpu", "ad102:demo-ad102",
                           "run", command], capture_output=True, text=True, check=False, timeout=300)
    assert (done.returncode, done.stderr) == (0, "")
    for text in ("gpu0: GP106 (Pascal)", "gpu1: AD102 (Ada)", "runlist 0  GR0", "TSGs by utilisation\nGPU ",
                 "(asked: 100.000 us;", "gpulens_gpus 2\n", "/terminfo/l/linux\n"):
        assert text in done.stdout, text


def test_a_fake_driver_names_the_processes() -> None:
    """--driver fake: the overview has the processes of demo-gp106.json, by their names. Seen failing without the
    programs: "unknown whose they are" of every TSG."""
    done = subprocess.run([str(paths.ROOT / "scripts/vm"), "--driver", "fake", "--gpu", "gp106:demo-gp106", "run",
                           "gpulens"], capture_output=True, text=True, check=False, timeout=300)
    assert (done.returncode, done.stderr) == (0, "")
    for tsg, name in ((3, "detector"), (5, "planner"), (6, "desktop"), (50, "camera"), (40, "detector")):
        assert re.search(rf"TSG {tsg} .* of \d+ {name}$", done.stdout, re.M), done.stdout


def test_a_folder_is_shared(tmp_path: pathlib.Path) -> None:
    """What a user has reaches the guest, and what the guest records is there afterwards."""
    (tmp_path / "script").write_text("cp /proc/gpu0/image /share/gpu0.image\n", encoding="ascii")
    words = [str(paths.ROOT / "scripts/vm"), "--gpu", "gp106:demo-gp106", "--share"]
    subprocess.run([*words, str(tmp_path), "run", "sh /share/script"], check=True, timeout=300)
    assert (tmp_path / "gpu0.image").read_bytes().startswith(b"gpulens-image 1\n")
    done = subprocess.run([*words, "/nowhere", "run", "true"], check=False, timeout=300, capture_output=True, text=True)
    assert done.returncode == 1 and "/nowhere" in done.stderr
