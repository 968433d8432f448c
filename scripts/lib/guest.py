# SPDX-License-Identifier: GPL-2.0
"""A virtual machine with emulated GPUs: starts an emulator process for each GPU and QEMU, talks to the agent in the
guest and to the emulators' control sockets, and ends all processes. Used by scripts/vm, scripts/bench and tests/vm.
Does not know the module or the chips.

A guest that panics, ends or stops answering raises LostVM: it is lost, which is neither a pass nor a failure. Wire
format of the agent: scripts/guest/agent.c. Control socket: one JSON object a line, emulator/README.md."""

# pylint: disable=subprocess-popen-preexec-fn
# (the children end with their parent; that takes a call between fork and exec)

import ctypes
import json
import os
import pathlib
import select
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Optional

from . import initramfs, kernel_image, machine, paths, splats

BOOT_LIMIT = 120.0  # seconds; a boot takes 3 on an idle machine of 2 cores
BOOT_ATTEMPTS = 3  # where a boot is known to fail occasionally
GRACE = 30.0  # seconds that the agent may take beyond the time limit of a command
SLOW = float(os.environ.get("GPULENS_SLOW", "1"))  # factor on all time limits, for kernels slower than Debian's
LEAK_AGE = 6.0  # seconds after which kmemleak reports unreferenced memory; its own limit is 5
DETECTORS = {"KASAN", "KCSAN"}  # a kernel with one of these is a debug kernel
FIRST_SLOT = 4  # lower PCI slots are used by the machine itself


def pci_address(index: int) -> str:
    """The PCI address of an emulator of the guest that has no slot of its own."""
    return f"0000:00:{FIRST_SLOT + index:02x}.0"


def pci_folder(index: int) -> str:
    """The folder of that device in the guest's sysfs."""
    return f"/sys/bus/pci/devices/{pci_address(index)}"


def interrupt_folder(index: int) -> str:
    """The folder, in the guest's sysfs, of the device that raises the interrupts of that emulator."""
    return f"/sys/bus/pci/devices/0000:00:{machine.interrupt_slot(FIRST_SLOT + index):02x}.0"


class LostVM(Exception):
    """The virtual machine or an emulator has ended or does not answer. Not a test result."""


class Splat(AssertionError):
    """The guest's kernel reported a fault or a leak, whose text this is. A failure of the test that ran last."""


class Gpu(NamedTuple):
    """One GPU of a guest: names or paths of its profile and scenario; slot is its PCI device number."""
    profile: str
    scenario: Optional[str] = None
    slot: Optional[int] = None

    @classmethod
    def parse(cls, text: str) -> "Gpu":
        """The GPU that PROFILE[:SCENARIO] on a command line names."""
        profile, _, scenario = text.partition(":")
        return cls(profile, scenario or None)


def pci_device(gpu: Gpu, index: int) -> int:
    """The PCI device number, on bus 0, of the guest's GPU of that index."""
    return gpu.slot or FIRST_SLOT + index


def _die_with_parent() -> None:
    """Runs in the child: SIGKILL when the process that started it ends, however it ends. Ctrl-C does not reach it. It
    stays in the session, since the kernel may share processors by sessions, and nice then has no effect between them;
    on a terminal, it is a session of its own, since only the foreground's processes may read one."""
    if os.isatty(0):
        os.setsid()
    else:
        os.setpgid(0, 0)
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # 1 = PR_SET_PDEATHSIG


def _find_file(name: str, folder: pathlib.Path) -> str:
    path = pathlib.Path(name) if "/" in name or name.endswith(".json") else folder / f"{name}.json"
    if not path.exists():
        raise FileNotFoundError(f"{path} is not there")
    return str(path.resolve())


class Emulator:
    """One emulated GPU: its process and its control socket."""

    def __init__(self, gpu: Gpu, profile: str, name: str, run_dir: pathlib.Path, driven: bool) -> None:
        self.gpu = gpu
        self.name = name
        program = os.environ.get("GPULENS_EMULATOR", str(paths.EMULATOR))
        if not pathlib.Path(program).exists():
            raise FileNotFoundError(f"{program} is not there; run make emulator")
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        self.qemu_ends = [theirs]  # of the GPU's socket and, of a driven one, of that for interrupts
        command = [program, "--profile", profile, "--fd", str(ours.fileno()),
                   "--control", f"{name}.sock", "--log", f"{name}.log"]
        if gpu.scenario:
            command += ["--scenario", _find_file(gpu.scenario, paths.SCENARIOS)]
        fds = [ours.fileno()]
        if driven:
            irq, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
            self.qemu_ends.append(theirs)
            fds.append(irq.fileno())
            command += ["--execute", "--irq", str(irq.fileno())]
        with open(run_dir / f"{name}.out", "wb") as out:
            self.process = subprocess.Popen(  # pylint: disable=consider-using-with
                command, cwd=run_dir, pass_fds=fds, stdin=subprocess.DEVNULL, stdout=out,
                stderr=subprocess.STDOUT, preexec_fn=_die_with_parent)
        ours.close()
        if driven:
            irq.close()
        self._run_dir = run_dir
        self._socket: Optional[socket.socket] = None
        self._buffer = b""

    def qemu_fds(self) -> list[int]:
        """QEMU's ends of the sockets, open until close_qemu_fds()."""
        return [end.fileno() for end in self.qemu_ends]

    def close_qemu_fds(self) -> None:
        """Closes them here, once QEMU has them."""
        for end in self.qemu_ends:
            end.close()

    def _connect(self) -> socket.socket:
        # through /proc/self/fd, since the folder's own path may be too long for a socket address
        folder = os.open(self._run_dir, os.O_PATH | os.O_DIRECTORY)
        try:
            deadline = time.monotonic() + 10
            while True:
                sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
                try:
                    sock.connect(f"/proc/self/fd/{folder}/{self.name}.sock")
                    return sock
                except OSError as error:
                    sock.close()
                    if self.process.poll() is not None or time.monotonic() > deadline:
                        raise LostVM(f"the emulator of {self.name} has no control socket: {self.tail()}") from error
                    time.sleep(0.02)
        finally:
            os.close(folder)

    def tail(self) -> str:
        """The state of the process and the end of its output."""
        text = (self._run_dir / f"{self.name}.out").read_text(errors="replace")[-2000:]
        status = self.process.poll()
        return ("still running" if status is None else f"ended with status {status}") + f"\n{text}"

    def ask(self, command: Mapping[str, Any], timeout: float = 30) -> dict[str, Any]:
        """Sends one control command and returns the reply, also one that reports an error."""
        if self._socket is None:
            self._socket = self._connect()
        self._socket.settimeout(timeout)
        try:
            self._socket.sendall(json.dumps(command).encode() + b"\n")
            while b"\n" not in self._buffer:
                data = self._socket.recv(1 << 16)
                if not data:
                    raise LostVM(f"the emulator of {self.name} closed its control socket: {self.tail()}")
                self._buffer += data
        except OSError as error:
            raise LostVM(f"the emulator of {self.name} does not answer ({error}): {self.tail()}") from error
        line, _, self._buffer = self._buffer.partition(b"\n")
        return json.loads(line)

    def cmd(self, command: Mapping[str, Any], timeout: float = 30) -> dict[str, Any]:
        """Like ask(); raises ValueError for a reply with "ok": false."""
        reply = self.ask(command, timeout)
        if not reply.get("ok"):
            raise ValueError(f"{self.name}: {dict(command)} was answered {reply}")
        return reply

    def stop(self) -> None:
        """Ends the process if it has not ended by itself with QEMU."""
        if self._socket is not None:
            self._socket.close()
        self.close_qemu_fds()
        try:
            self.process.wait(2)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class Guest:  # pylint: disable=too-many-instance-attributes
    """A running guest. A context manager: leaving it ends QEMU and the emulators."""

    _count = 0
    running: list["Guest"] = []

    def __init__(self, gpus: Iterable[Gpu], *, smp: int = 2, mem: int = 384,  # pylint: disable=too-many-arguments
                 modules: Optional[Mapping[str, pathlib.Path]] = None, append: str = "", iommu: bool = False,
                 programs: Sequence[pathlib.Path] = (), archive: bytes = b"", limit: float = 900,
                 boot_limit: float = BOOT_LIMIT, shell: bool = False, driven: bool = False,
                 share: Optional[pathlib.Path] = None,
                 say: Callable[[str], None] = lambda _: None) -> None:
        self._gpus = list(gpus)
        self._smp, self._mem, self._append, self._shell = smp, mem, append, shell
        self._options = paths.kernel_options()
        if "KASAN" in self._options:
            self._mem *= 2  # the shadow, and what was freed and is kept for a while
        self._iommu = iommu  # between devices and memory: another kind of machine
        self._driven = driven  # by a driver in the guest: channels execute their work, and interrupts arrive
        self._limit, self._boot_limit = limit * SLOW, boot_limit * SLOW
        self._say = say
        if modules is None:
            modules = paths.built_modules()
        self._modules, self._programs, self._archive = dict(modules), programs, archive
        self._share = share.resolve(strict=True) if share else None  # the guest's /share
        self.run_dir = self._new_run_dir()
        self.emu: list[Emulator] = []
        self.boot_seconds = 0.0
        self._qemu: Optional[subprocess.Popen[bytes]] = None
        self._agent: Optional[socket.socket] = None
        self._buffer = b""
        self._timer: Optional[threading.Timer] = None
        self._lost: Optional[str] = None
        self._reported = 0  # number of splats that splats() has returned

    # ---- starting and ending

    @staticmethod
    def _new_run_dir() -> pathlib.Path:
        while True:  # in another PID namespace, a process with the same id may have left a folder of a lost guest
            Guest._count += 1
            path = paths.BUILD / "run" / f"{os.getpid()}-{Guest._count}"
            if not path.exists():
                return path

    def __enter__(self) -> "Guest":
        for attempt in range(1, BOOT_ATTEMPTS + 1):
            try:
                self._start()
                break
            except BaseException as error:  # pylint: disable=broad-exception-caught
                self._stop(keep=True)
                # No module is loaded yet, so that no tested code can cause either: a segmentation fault of QEMU 7.2 in
                # memory dispatch while the kernel starts on a machine with an IOMMU; a debug kernel on a busy host that
                # hangs while it calibrates its clock.
                crashed = self._iommu and self._qemu is not None and self._qemu.returncode == -signal.SIGSEGV
                asleep = bool(DETECTORS & self._options) and isinstance(error, LostVM)
                if not (crashed or asleep) or attempt == BOOT_ATTEMPTS:
                    raise
                print(f"the guest did not boot ({self.run_dir}); trying again", file=sys.stderr)
                self.run_dir, self.emu, self._buffer, self._lost = self._new_run_dir(), [], b"", None
        Guest.running.append(self)
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        Guest.running.remove(self)
        keep = True
        try:
            if kind is None and self._lost is None:
                self.complain()
                self.complain(self.leaks())
            keep = self._lost is not None or (kind is not None and kind is not SystemExit)
        finally:
            self._stop(keep)

    def _qemu_command(self, agent_fd: int) -> list[str]:
        command = [machine.QEMU, *machine.qemu_arguments(self._iommu),
                   "-chardev", f"socket,id=agent,fd={agent_fd}",
                   "-device", "virtserialport,chardev=agent,name=gpulens.agent", "-m", f"{self._mem}M",
                   "-object", f"memory-backend-memfd,id=m,size={self._mem}M,share=on", "-smp", str(self._smp),
                   "-kernel", str(kernel_image.find_kernel()), "-initrd", "initramfs.cpio",
                   "-append", f"console=ttyS0 loglevel=5 panic=-1 oops=panic {self._strictness()} audit=0 "
                              f"rdinit=/init {machine.kernel_words(self._iommu)} "
                              f"{'lens.shell ' if self._shell else ''}{self._append}",
                   "-chardev", "file,id=console,path=console.log", "-serial", "chardev:console"]
        if self._shell:
            command += ["-chardev", "stdio,id=tty,signal=off", "-device", "isa-serial,index=1,chardev=tty"]
        if self._share:
            command += ["-fsdev", f"local,id=share,path={str(self._share).replace(',', ',,')},security_model=none",
                        "-device", "virtio-9p-device,fsdev=share,mount_tag=share"]
        for index, emulator in enumerate(self.emu):
            slot = pci_device(emulator.gpu, index)
            gpu_fd, *irq_fds = emulator.qemu_fds()
            command += ["-device", f"x-pci-proxy-dev,id={emulator.name},fd={gpu_fd},addr={slot:#x}"]
            for irq_fd in irq_fds:
                command += machine.interrupt_device(emulator.name, irq_fd, slot)
        return command

    def _strictness(self) -> str:
        """Debian's kernel panics on a warning. A kernel with detectors continues, so that a test fails with the message
        instead of losing the guest; lockdep would not panic anyway, and KASAN reports more than its first finding."""
        return "kasan_multi_shot" if DETECTORS & self._options else "panic_on_warn=1"

    def _start(self) -> None:
        began = time.monotonic()
        self.run_dir.mkdir(parents=True)
        initramfs.build_initramfs(self.run_dir / "initramfs.cpio", self._modules, self._programs, self._archive,
                                  initramfs.SHARE_MODULES if self._share else ())
        profiles = [_find_file(gpu.profile, paths.PROFILES) for gpu in self._gpus]
        if not self._iommu:
            profiles = machine.fit_bars(profiles, self.run_dir)
        for index, (gpu, profile) in enumerate(zip(self._gpus, profiles)):
            self.emu.append(Emulator(gpu, profile, f"gpu{index}", self.run_dir, self._driven))
        self._agent, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        command = self._qemu_command(theirs.fileno())
        (self.run_dir / "qemu.command").write_text(shlex.join(command) + "\n")
        with open(self.run_dir / "qemu.out", "wb") as out:
            self._qemu = subprocess.Popen(  # pylint: disable=consider-using-with
                command, cwd=self.run_dir,
                pass_fds=[theirs.fileno(), *(fd for emu in self.emu for fd in emu.qemu_fds())],
                stdin=None if self._shell else subprocess.DEVNULL, stdout=None if self._shell else out, stderr=out,
                preexec_fn=_die_with_parent)
        theirs.close()
        for emu in self.emu:
            emu.close_qemu_fds()
        if self._shell:
            return
        self._timer = threading.Timer(self._limit, self._time_is_up)
        self._timer.daemon = True
        self._timer.start()
        self._say(f"booting a virtual machine with {len(self.emu)} GPU(s)")
        line = self._line(self._boot_limit)
        if line != "READY":
            raise self._gone(f"the agent said {line!r} instead of READY")
        if "KCSAN" in self._options:
            self.check("echo on >/sys/kernel/debug/kcsan")  # not while it boots, which has no module in it
        self.boot_seconds = time.monotonic() - began
        self._say(f"booted in {self.boot_seconds:.1f} s")

    def _time_is_up(self) -> None:
        self._lost = f"it ran for more than {self._limit:.0f} s"
        if self._qemu is not None:
            self._qemu.kill()

    def wait(self) -> int:
        """Waits for QEMU to end by itself (shell mode)."""
        assert self._qemu is not None
        return self._qemu.wait()

    def processes(self) -> list[int]:
        """Process ids of QEMU and of the emulators."""
        started = [*(emu.process for emu in self.emu), *([self._qemu] if self._qemu else [])]
        return [process.pid for process in started]

    def _stop(self, keep: bool) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if self._qemu is not None:
            if self._qemu.poll() is None:
                self._qemu.kill()
            self._qemu.wait()
        if self._agent is not None:
            self._agent.close()
        for emulator in self.emu:
            emulator.stop()
        (self.run_dir / "initramfs.cpio").unlink(missing_ok=True)
        if not keep and "GPULENS_KEEP" not in os.environ:
            shutil.rmtree(self.run_dir, ignore_errors=True)

    @property
    def lost(self) -> bool:
        """Whether it has panicked, ended or stopped answering."""
        return self._lost is not None

    # ---- talking to the guest

    def console(self, lines: int = 40) -> str:
        """The end of what the kernel wrote to its console."""
        path = self.run_dir / "console.log"
        text = path.read_text(errors="replace") if path.exists() else ""
        return "\n".join(text.splitlines()[-lines:])

    def splats(self) -> list[str]:
        """Messages of the kernel's detectors since the last call."""
        path = self.run_dir / "console.log"
        size, texts = -1, []
        while path.exists() and path.stat().st_size != size:  # a message may be incomplete
            size = path.stat().st_size
            texts = splats.find_splats(path.read_text(errors="replace"), self._modules)
            if len(texts) > self._reported:
                time.sleep(0.5)
        new, self._reported = texts[self._reported:], len(texts)
        return new

    def leaks(self) -> list[str]:
        """Leaks that kmemleak reports, where the kernel has it and is not locked down, which closes debugfs. Scans
        twice, since a single scan may miss a pointer that is being moved."""
        if "DEBUG_KMEMLEAK" not in self._options or self._shell or \
                self.run("grep -v '\\[none\\]' /sys/kernel/security/lockdown 2>/dev/null")[0] == 0:
            return []
        where = "/sys/kernel/debug/kmemleak"
        text = self.check(f"echo scan >{where}; sleep {LEAK_AGE}; echo scan >{where}; cat {where}", timeout=120)
        return [f"unreferenced object{part}" for part in text.split("unreferenced object")[1:]]

    def complain(self, texts: Optional[list[str]] = None) -> None:
        """Raises Splat for the messages of splats(), or for these texts."""
        texts = self.splats() if texts is None else texts
        if texts:
            raise Splat(f"the guest's kernel complained {len(texts)} time(s), in {self.run_dir}/console.log:\n" +
                        "\n\n".join(texts))

    def _gone(self, why: str) -> LostVM:
        if self._lost is None:
            for emulator in self.emu:
                if emulator.process.poll() is not None:
                    why += f"; the emulator of {emulator.name} {emulator.tail()}"
            if self._qemu is not None and self._qemu.poll() is not None:
                why += f"; QEMU ended with status {self._qemu.returncode}"
                why += (self.run_dir / "qemu.out").read_text(errors="replace")[-1000:]
            self._lost = why
        if self._qemu is not None:
            self._qemu.kill()
        return LostVM(f"the virtual machine is lost: {self._lost}\n--- end of its console "
                      f"({self.run_dir}/console.log)\n{self.console()}")

    def _receive(self, deadline: float) -> None:
        assert self._agent is not None and self._qemu is not None
        left = deadline - time.monotonic()
        ready = left > 0 and select.select([self._agent], [], [], left)[0]
        if not ready:
            raise self._gone("it does not answer")
        data = b""
        try:
            data = self._agent.recv(1 << 20)
        except OSError:
            pass
        if not data:
            try:
                self._qemu.wait(5)
            except subprocess.TimeoutExpired:
                pass
            raise self._gone("it ended")
        self._buffer += data

    def _line(self, timeout: float) -> str:
        deadline = time.monotonic() + timeout
        while b"\n" not in self._buffer:
            self._receive(deadline)
        line, _, self._buffer = self._buffer.partition(b"\n")
        return line.decode(errors="replace")

    def _exchange(self, request: bytes, timeout: float) -> tuple[int, bytes]:
        assert self._agent is not None
        try:
            self._agent.settimeout(timeout)
            self._agent.sendall(request)
        except OSError as error:
            raise self._gone(f"its port takes no more ({error})") from error
        words = self._line(timeout).split()
        if len(words) != 3 or words[0] != "DONE":
            raise self._gone(f"the agent answered {words}")
        status, size = int(words[1]), int(words[2])
        deadline = time.monotonic() + timeout
        while len(self._buffer) < size:
            self._receive(deadline)
        data, self._buffer = self._buffer[:size], self._buffer[size:]
        return status, data

    def _request(self, head: str, payload: bytes, timeout: float) -> tuple[int, str]:
        if self._lost is not None:
            raise self._gone(self._lost)
        try:
            status, data = self._exchange(head.encode() + payload, timeout)
        except BaseException:
            # also for Ctrl-C: a late answer would be taken for that of the next request
            self._lost = self._lost or "a request to it was interrupted"
            raise
        if status == 125:
            raise self._gone(f"a command hangs in its kernel: {head} {payload[:300]!r}")
        return status, data.decode(errors="surrogateescape")

    def run(self, text: str, timeout: float = 30) -> tuple[int, str]:
        """Runs shell text as root in the guest: (exit status, standard output and error). Status 124: time was up."""
        return self._command("RUN", text, timeout)

    def _command(self, verb: str, text: str, timeout: float) -> tuple[int, str]:
        payload, timeout = text.encode(), timeout * SLOW
        return self._request(f"{verb} {timeout:.3f} {len(payload)}\n", payload, timeout + GRACE * SLOW)

    def check(self, text: str, timeout: float = 30, verb: str = "RUN") -> str:
        """Runs shell text that must succeed; returns its output."""
        status, output = self._command(verb, text, timeout)
        if status != 0:
            raise AssertionError(f"in the guest, this ended with status {status}:\n  {text}\n{output}")
        return output

    def read(self, path: str) -> str:
        """The content of a file in the guest. Only the agent reads it: no program starts, which takes longer."""
        return self.check(path, verb="GET")

    def push(self, source: "pathlib.Path | bytes", path: str, mode: int = 0o644) -> None:
        """Stores a file in the guest."""
        payload = source if isinstance(source, bytes) else source.read_bytes()
        status, output = self._request(f"PUT {mode:o} {len(payload)} {path}\n", payload, 60 * SLOW)
        if status != 0:
            raise AssertionError(f"could not store {path} in the guest: {output}")

    def load(self, module: str = "gpulens", params: str = "") -> None:
        """insmod, which must succeed."""
        self.check(f"insmod /modules/{module}.ko {params}", timeout=60)

    def unload(self, module: str = "gpulens") -> None:
        """rmmod, which must succeed."""
        self.check(f"rmmod {module}", timeout=60)


def end_on_signals(end: Callable[[int], object] = sys.exit) -> None:
    """Makes SIGTERM and SIGHUP unwind the stack like Ctrl-C, so that guests are ended. end() gets the exit status."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, _frame: end(128 + number))
