# SPDX-License-Identifier: GPL-2.0
"""The examples of --help and of README.md, typed as they stand (scripts/lib/walk-examples); `make test-deb` types them
where the packages are installed."""

import os
import pathlib
import subprocess

import pytest
from support.program import ROOT, TOOL, image


def test_each_example_does_something_or_says_what_is_missing(tmp_path: pathlib.Path) -> None:
    """Without a GPU: a simulation, a plan, a check of a log end with status 0; what needs a GPU says so. Seen failing
    with an option that does not exist in an example, and with a document that is not there."""
    places = (*pathlib.Path("/proc").glob("gpu[0-9]*"), pathlib.Path("/dev/nvidiactl"))
    found = [path for path in places if path.exists()]
    if found:
        pytest.skip(f"{found[0]} is there, and examples control GPUs")
    done = subprocess.run([str(ROOT / "scripts/lib/walk-examples"), str(ROOT / "README.md"), str(ROOT / "docs"),
                           str(image("ad102"))], check=False, capture_output=True, text=True, cwd=tmp_path, timeout=600,
                          env={**os.environ, "PATH": f"{TOOL.parent}:{os.environ['PATH']}"})
    assert done.returncode == 0 and not done.stderr, done.stdout[-3000:] + done.stderr
    assert done.stdout.count("\nok ") > 100
