# SPDX-License-Identifier: GPL-2.0
"""gpulens-probe-kernels, linked with tests/support/cuda/fake_runtime.cc instead of CUDA's runtime, and plugins for it.
Needs nvcc; kernels are compiled for one architecture and never run."""

import functools
import pathlib
import shutil
import subprocess
import tempfile

from support.program import ROOT

NVCC = shutil.which("nvcc") or shutil.which("nvcc", path="/usr/local/cuda/bin")
FOLDER = tempfile.TemporaryDirectory(prefix="gpulens-probe-")  # pylint: disable=consider-using-with


def run_nvcc(*words: str) -> str:
    """Compiles to the file that is the first word; returns it."""
    subprocess.run([str(NVCC), "-O0", "-std=c++17", "-arch=sm_90", "-cudart", "none", "-o", *words], check=True,
                   timeout=600)
    return words[0]


@functools.lru_cache(maxsize=None)
def fake_program() -> str:
    """The program, built once. Plugins use the runtime that is in it."""
    return run_nvcc(f"{FOLDER.name}/program", "-Xlinker", "-export-dynamic", str(ROOT / "tools/probe/probe-kernels.cu"),
                    str(ROOT / "tests/support/cuda/fake_runtime.cc"))


@functools.lru_cache(maxsize=None)
def example_plugin() -> str:
    """docs/plugin-example.cu, built once."""
    return run_nvcc(f"{FOLDER.name}/plugin-example.so", "-shared", "-Xcompiler", "-fPIC,-Wall,-Wextra,-Werror",
                    f"-I{ROOT}/tools/probe", str(ROOT / "docs/plugin-example.cu"))


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
