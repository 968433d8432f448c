# SPDX-License-Identifier: GPL-2.0
"""gpulens-probe-kernels, linked with tests/support/cuda/fake_runtime.cc instead of tools/device, and plugins for it.
The example in CUDA C++ needs nvcc; its kernels are compiled for one architecture and never run."""

import functools
import pathlib
import shutil
import subprocess
import tempfile

from support.program import ROOT

NVCC = shutil.which("nvcc") or shutil.which("nvcc", path="/usr/local/cuda/bin")
FOLDER = tempfile.TemporaryDirectory(prefix="gpulens-probe-")  # pylint: disable=consider-using-with


def fake_program() -> str:
    """The program. Plugins use the runtime that is in it."""
    program = ROOT / "build/bin/fake-probe-kernels"
    assert program.exists(), f"{program} is not there; run make tool-parts"
    return str(program)


@functools.lru_cache(maxsize=None)
def example_plugin() -> str:
    """docs/plugin-example.cu, built once."""
    plugin = f"{FOLDER.name}/plugin-example.so"
    subprocess.run([str(NVCC), "-O0", "-std=c++17", "-arch=sm_90", "-cudart", "none", "-o", plugin, "-shared",
                    "-Xcompiler", "-fPIC,-Wall,-Wextra,-Werror", f"-I{ROOT}/tools/probe",
                    str(ROOT / "docs/plugin-example.cu")], check=True, timeout=600)
    return plugin


@functools.lru_cache(maxsize=None)
def odd_plugin() -> str:
    """tests/support/probe/odd_plugin.c, built once, by a C compiler."""
    return compile_c("odd_plugin", (ROOT / "tests/support/probe/odd_plugin.c").read_text(encoding="utf-8"))


def compile_c(name: str, source: str) -> str:
    """A shared object of C source."""
    file = pathlib.Path(FOLDER.name) / name
    file.with_suffix(".c").write_text(source, encoding="utf-8")
    subprocess.run(["gcc", "-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC",
                    f"-I{ROOT}/tools/probe", "-o", f"{file}.so", f"{file}.c"], check=True, timeout=60)
    return f"{file}.so"
