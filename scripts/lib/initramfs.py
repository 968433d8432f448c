# SPDX-License-Identifier: GPL-2.0
"""Makes the guest's initramfs: busybox, the agent, kernel modules, the selftests. Needs no root: the archive (cpio,
"newc": 6-digit magic, 13 fields of 8 hex digits, name, padding to 4, data, padding to 4; see the kernel's
Documentation/driver-api/early-userspace/buffer-format.rst) is written directly, so owners and devices are just numbers.
Does not start anything in the guest: scripts/guest/init does."""

import lzma
import os
import pathlib
import shutil
import stat
import subprocess
from collections.abc import Container, Iterable, Mapping

from . import paths

BOOT_MODULES = ("virtio_pci", "virtio_mmio", "virtio_console")  # the agent's port; modules in Debian's kernel
SHARE_MODULES = ("9pnet_virtio", "9p")  # a folder of the host
TERMINALS = ("linux", "vt100", "screen", "tmux", "xterm", "xterm-256color")  # that gpulens top can draw on


class Cpio:
    """A cpio archive of format newc, built in memory."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._inode = 0
        self._dirs: set[str] = set()

    def _add(self, name: str, mode: int, data: bytes, rdev: tuple[int, int] = (0, 0)) -> None:
        self._inode += 1
        raw = name.encode() + b"\0"
        fields = (self._inode, mode, 0, 0, 1, 0, len(data), 0, 0, *rdev, len(raw), 0)
        head = b"070701" + b"".join(b"%08x" % field for field in fields) + raw
        self._parts += [head, b"\0" * (-len(head) % 4), data, b"\0" * (-len(data) % 4)]

    def directory(self, name: str, mode: int = 0o755) -> None:
        """Adds a directory and the ones above it, each once."""
        for parent in reversed(pathlib.PurePosixPath(name).parents):
            if str(parent) not in (".", "/") and str(parent) not in self._dirs:
                self.directory(str(parent))
        if name not in self._dirs:
            self._dirs.add(name)
            self._add(name, stat.S_IFDIR | mode, b"")

    def file(self, name: str, data: bytes, mode: int = 0o644) -> None:
        """Adds a regular file."""
        self.directory(str(pathlib.PurePosixPath(name).parent))
        self._add(name, stat.S_IFREG | mode, data)

    def symlink(self, name: str, target: str) -> None:
        """Adds a symbolic link."""
        self._add(name, stat.S_IFLNK | 0o777, target.encode())

    def char_device(self, name: str, major: int, minor: int) -> None:
        """Adds a character device node."""
        self.directory(str(pathlib.PurePosixPath(name).parent))
        self._add(name, stat.S_IFCHR | 0o600, b"", (major, minor))

    def tree(self, root: pathlib.Path, name: str, left_out: Container[str]) -> None:
        """Adds the files, folders and links of a folder with their modes, all owned by root, but for paths in it that
        are left out. Files with several names become several files."""
        for path in sorted(root.iterdir()):
            inner = f"{name}/{path.name}"
            mode = path.lstat().st_mode
            if inner.partition("/")[2] in left_out:
                continue
            if stat.S_ISLNK(mode):
                self.symlink(inner, str(path.readlink()))
            elif stat.S_ISDIR(mode):
                self.directory(inner, stat.S_IMODE(mode))
                self.tree(path, inner, left_out)
            elif stat.S_ISREG(mode):
                self.file(inner, path.read_bytes(), stat.S_IMODE(mode))

    def finish(self) -> bytes:
        """The whole archive."""
        self._add("TRAILER!!!", 0, b"")
        return b"".join(self._parts)


def _find_busybox() -> pathlib.Path:
    for place in ("/bin/busybox", shutil.which("busybox")):
        if place and pathlib.Path(place).exists():
            return pathlib.Path(place)
    raise FileNotFoundError("no busybox; run scripts/setup")


def modules_with_needs(tree: pathlib.Path, names: Iterable[str]) -> list[pathlib.Path]:
    """Modules of the guest's kernel with all they need, in loading order, by modules.dep; those that are built in, or
    that this kernel lacks, are left out."""
    base = tree / "lib" / "modules" / paths.kernel_version()
    needs: dict[str, tuple[str, list[str]]] = {}
    for line in (base / "modules.dep").read_text().splitlines():
        path, _, deps = line.partition(":")
        needs[pathlib.Path(path).name.split(".")[0]] = (path, deps.split())
    order: list[pathlib.Path] = []
    for name in names:
        if name not in needs:
            continue
        path, deps = needs[name]
        for needed in [*reversed(deps), path]:
            if base / needed not in order:
                order.append(base / needed)
    return order


def module_content(path: pathlib.Path) -> bytes:
    """A module of the guest's kernel, unpacked for insmod: the guest's busybox unpacks no modules."""
    if path.suffix == ".xz":  # Debian's since 13
        return lzma.decompress(path.read_bytes())
    if path.suffix == ".zst":  # Ubuntu's
        return subprocess.run(["zstd", "-dcq", str(path)], check=True, capture_output=True).stdout
    return path.read_bytes()


def without_debugging_data(path: pathlib.Path) -> bytes:
    """A built module without its debugging data, which is nine tenths of it and not used in the guest. Cached in
    build/guest until the module changes."""
    stripped = paths.BUILD / "guest" / "modules" / path.relative_to(path.parents[2])
    if not stripped.exists() or stripped.stat().st_mtime < path.stat().st_mtime:
        stripped.parent.mkdir(parents=True, exist_ok=True)
        part = stripped.with_suffix(f".{os.getpid()}")
        subprocess.run(["objcopy", "--strip-debug", str(path), str(part)], check=True)
        part.rename(stripped)
    return stripped.read_bytes()


def build_program(source: pathlib.Path) -> pathlib.Path:
    """Compiles a program of the guest, linked statically. Quick when up to date."""
    binary = paths.BUILD / "guest" / "bin" / source.stem
    if not binary.exists() or binary.stat().st_mtime < source.stat().st_mtime:
        binary.parent.mkdir(parents=True, exist_ok=True)
        part = binary.with_suffix(f".{os.getpid()}")  # another process may do the same
        subprocess.run(["gcc", "-O2", "-Wall", "-Wextra", "-Werror", "-static", "-o", str(part), str(source),
                        "-lpthread"], check=True)
        part.rename(binary)
    return binary


def build_helpers() -> list[pathlib.Path]:
    """Compiles the programs of every guest: the agent and the selftests' helpers."""
    return [build_program(source) for source in (
        paths.ROOT / "scripts" / "guest" / "agent.c",
        *sorted((paths.ROOT / "tests" / "selftests" / "helpers").glob("*.c")))]


def find_libraries(program: pathlib.Path) -> dict[str, pathlib.Path]:
    """The libraries that a program of this machine loads: path in the guest -> file. The loader keeps its path, the
    others are put in /lib."""
    found = {}
    for line in subprocess.run(["ldd", str(program)], check=True, capture_output=True, text=True).stdout.splitlines():
        words = line.split()
        if "=>" in words:
            found[f"lib/{words[0]}"] = pathlib.Path(words[2])
        elif words[0].startswith("/"):
            found[words[0].lstrip("/")] = pathlib.Path(words[0])
    return found


def _add_terminals(cpio: Cpio) -> None:
    """Adds the descriptions of terminals, where ncurses-base of Debian 12 or 13 has them and looks for them."""
    for name in TERMINALS:
        for folder in ("lib/terminfo", "usr/share/terminfo"):
            entry = pathlib.Path("/", folder, name[0], name)
            if entry.exists():
                cpio.file(f"{folder}/{name[0]}/{name}", entry.read_bytes())


def build_initramfs(target: pathlib.Path, modules: Mapping[str, pathlib.Path], programs: Iterable[pathlib.Path] = (),
                    more: bytes = b"", boot: Iterable[str] = ()) -> None:
    """Writes the initramfs. modules: name in the guest -> .ko file; programs: of this machine, for /bin; more: a second
    archive, which the kernel unpacks over the first; boot: modules of the kernel that init loads, beside its own."""
    cpio = Cpio()
    for name in ("proc", "sys", "dev", "tmp", "root", "etc", "modules/boot", "selftests"):
        cpio.directory(name)
    cpio.char_device("dev/console", 5, 1)
    cpio.file("init", (paths.ROOT / "scripts" / "guest" / "init").read_bytes(), 0o755)
    cpio.file("etc/passwd", b"root:x:0:0:root:/root:/bin/sh\nuser:x:1000:1000:user:/tmp:/bin/sh\n")
    cpio.file("etc/group", b"root:x:0:\nuser:x:1000:\ngpu:x:2000:\n")

    busybox = _find_busybox()
    cpio.file("bin/busybox", busybox.read_bytes(), 0o755)
    applets = subprocess.run([str(busybox), "--list"], check=True, capture_output=True, text=True).stdout.split()
    for applet in applets:
        if applet != "busybox":
            cpio.symlink(f"bin/{applet}", "busybox")
    cpio.file("bin/sudo", b'#!/bin/sh\nexec "$@"\n', 0o755)  # the guest's only user is root; the documents say sudo
    for binary in build_helpers():
        cpio.file(f"bin/{binary.name}", binary.read_bytes(), 0o755)

    order = modules_with_needs(paths.kernel_tree(), (*BOOT_MODULES, *boot))
    for path in order:
        cpio.file(f"modules/boot/{path.name}", module_content(path))
    cpio.file("modules/boot/order", "".join(f"{path.name}\n" for path in order).encode())
    for name, path in modules.items():
        cpio.file(f"modules/{name}.ko", without_debugging_data(path))

    selftests = paths.ROOT / "tests" / "selftests"
    for path in sorted(selftests.iterdir()):
        if path.suffix in (".sh", ".inc") or path.name == "settings":
            cpio.file(f"selftests/{path.name}", path.read_bytes(), 0o755)
    needed: dict[str, pathlib.Path] = {}
    for path in programs:
        cpio.file(f"bin/{path.name}", path.read_bytes(), 0o755)
        needed.update(find_libraries(path))
    for name, path in needed.items():
        cpio.file(name, path.read_bytes(), 0o755)
    if needed:
        _add_terminals(cpio)
    target.write_bytes(cpio.finish() + more)
