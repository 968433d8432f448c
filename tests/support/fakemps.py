# SPDX-License-Identifier: GPL-2.0
"""A control daemon of MPS for tests, in place of NVIDIA's nvidia-cuda-mps-control."""

import os
import pathlib
import time

LIMIT_S = 60  # of what takes some milliseconds


def write_daemon(root: pathlib.Path) -> "dict[str, str]":
    """A control daemon of MPS that writes down how it was called."""
    (root / "bin").mkdir()
    daemon = root / "bin/nvidia-cuda-mps-control"
    daemon.write_text(f"""#!/bin/sh
echo "$$ $* $CUDA_MPS_PIPE_DIRECTORY" >>{root}/calls
if [ "$1" = -f ]; then
    [ -e {root}/broken ] && {{ echo "no GPU" >"$CUDA_MPS_LOG_DIRECTORY/control.log"; exit 1; }}
    touch "$CUDA_MPS_PIPE_DIRECTORY/control"
    while [ -e "$CUDA_MPS_PIPE_DIRECTORY/control" ]; do sleep 0.05; done
else
    read -r command
    [ "$command" != quit ] || rm "$CUDA_MPS_PIPE_DIRECTORY/control"
fi
""")
    daemon.chmod(0o755)
    return {"PATH": f"{root}/bin:{os.environ['PATH']}"}


def make_own_daemon(root: pathlib.Path) -> "dict[str, str]":
    """Variables for a gpulens that starts this daemon below the folder, and for the tests' CUDA to use it."""
    return {"FAKE_CUDA_MPS": "1", "GPULENS_RUNTIME_DIR": str(root / "run"), **write_daemon(root)}


def await_quit(root: pathlib.Path) -> None:
    """Until that daemon has quit, as it does after its last user."""
    end = time.monotonic() + LIMIT_S
    while (root / "run/mps/pipe/control").exists():
        assert time.monotonic() < end, "the daemon does not quit"
        time.sleep(0.01)
