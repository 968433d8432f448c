# SPDX-License-Identifier: GPL-2.0
"""The unit gpulens-export.service under Debian's own systemd, which is the first process of a PID namespace in a
guest: it starts with the rights that it leaves itself, answers a scrape about an emulated GPU, is started again after
it died, and stops. scripts/test-systemd makes the root folders; without them these tests are skipped."""

import os
import pathlib
import re
import time
from collections.abc import Callable, Iterator

import pytest

from lib import initramfs, paths
from lib.guest import SLOW, Guest
from support.vm.cards import gpu_of, healthy, need_module
from support.vm.chips import AD102

ROOTS = paths.BUILD / "releases"
UNIT = "gpulens-export.service"
METRICS = "http://127.0.0.1:10835/metrics"
CAP_PERFMON = 1 << 38  # include/uapi/linux/capability.h
# What neither systemd nor the tool needs, most of a root folder's bytes.
LEFT_OUT = ("boot", "dev", "proc", "sys", "run", "usr/share/doc", "usr/share/i18n", "usr/share/locale", "usr/share/man",
            "usr/share/perl5", "usr/share/zoneinfo", "usr/lib/x86_64-linux-gnu/gconv",
            "usr/lib/x86_64-linux-gnu/perl-base", "var/cache", "var/lib/apt", "var/lib/dpkg", "var/log")
# systemd as the first process of a namespace, with the guest's devices and a root folder that can be moved to /.
START = """
mkdir -p /debian/proc /debian/sys /debian/dev /debian/run
mount --bind /debian /debian && cd /debian
mount -t proc proc proc && mount -t sysfs sysfs sys && mount -t cgroup2 cgroup2 sys/fs/cgroup
mount --rbind /dev dev && mount -t tmpfs tmpfs run && mount --move . /
sed "s/^Character devices:/&\\n195 nvidia/" /proc/devices >run/devices
mount --bind run/devices proc/devices
mknod run/nvidiactl c 195 255 && mknod run/mem c 1 1
exec chroot . env -i container=gpulens-test PATH=/usr/sbin:/usr/bin /sbin/init
"""


def wait_until(condition: Callable[[], bool], failure: str) -> None:
    """Waits up to a minute for a condition, checked once a second, as systemd is slow in a guest."""
    deadline = time.monotonic() + 60 * SLOW
    while not condition():
        assert time.monotonic() < deadline, failure
        time.sleep(1)


def archive_of(root: pathlib.Path) -> bytes:
    """The root folder, the tool with its libraries and the unit, as make install leaves them, below /debian."""
    cpio = initramfs.Cpio()
    cpio.tree(root, "debian", LEFT_OUT)
    cpio.directory("debian/var/log")
    cpio.file("debian/usr/bin/gpulens", paths.tool().read_bytes(), 0o755)
    for name, path in initramfs.find_libraries(paths.tool()).items():
        if not (root / "usr/lib/x86_64-linux-gnu" / path.name).exists() and not name.startswith("lib64"):
            cpio.file(f"debian/usr/lib/x86_64-linux-gnu/{path.name}", path.read_bytes(), 0o755)
    source = (paths.ROOT / "tools/gpulens/export" / f"{UNIT}.in").read_text()
    cpio.file(f"debian/usr/lib/systemd/system/{UNIT}", source.replace("@CMAKE_INSTALL_PREFIX@", "/usr").encode())
    return cpio.finish()


class System:
    """A running systemd in a guest."""

    def __init__(self, guest: Guest) -> None:
        self.guest = guest
        guest.check(f"cat >/tmp/start <<'END'\n{START}\nEND\n"
                    "setsid unshare -m -p -f sh /tmp/start </dev/null >/tmp/start.log 2>&1 &")
        self.pid = ""
        wait_until(self._has_started, "systemd started")

    def _has_started(self) -> bool:
        self.pid = self.guest.run("pidof init systemd | tr ' ' '\\n' | head -n 1")[1].strip()
        return bool(self.pid) and self.run("systemctl is-system-running")[1].strip() in ("running", "degraded")

    def run(self, command: str) -> tuple[int, str]:
        """Runs a command in systemd's namespace: its status and output."""
        return self.guest.run(f"nsenter -t {self.pid} -m -p /usr/bin/{command}", timeout=60)

    def property_of(self, name: str) -> str:
        """A property of the unit, from systemctl show."""
        return self.run(f"systemctl show --value -p {name} {UNIT}")[1].strip()

    def scrape(self) -> str:
        """An answer of the exporter; empty if there is none."""
        status, text = self.guest.run(f"wget -q -O - {METRICS}", timeout=30)
        return text if status == 0 else ""


@pytest.fixture(scope="module", params=["bookworm", "trixie"])
def system(request: pytest.FixtureRequest) -> Iterator[System]:
    """systemd of that release, beside a module that sees one GPU."""
    root = ROOTS / f"{request.param}-systemd"
    if not pathlib.Path(f"{root}.complete").exists():
        pytest.skip(f"{root} is not there: scripts/test-systemd makes it")
    with Guest([gpu_of(AD102)], modules={"gpulens": need_module("module")}, mem=1536,
               archive=archive_of(root), boot_limit=300) as guest:
        guest.load("gpulens")
        yield System(guest)
        healthy(guest)


def test_it_answers_with_one_capability(system: System) -> None:
    """Started, it answers about the GPU, TSGs included, with CAP_PERFMON and nothing else, and in a sandbox."""
    assert system.run(f"systemctl start {UNIT}")[0] == 0
    wait_until(lambda: system.scrape() != "", f"an answer; {system.run(f'systemctl status {UNIT}')[1]}")
    text = system.scrape()
    assert re.search(r'^gpulens_up\{[^}]*\} 1$', text, re.MULTILINE)
    assert re.search(r'^gpulens_tsg_timeslice_seconds\{', text, re.MULTILINE), text
    status = dict(line.split(":\t", 1) for line in
                  system.guest.check("cat /proc/$(pidof gpulens)/status").splitlines() if ":\t" in line)
    assert int(status["CapEff"], 16) == CAP_PERFMON and int(status["CapBnd"], 16) == CAP_PERFMON
    assert status["NoNewPrivs"] == "1" and status["Seccomp"] == "2"
    assert system.property_of("MemoryMax") == str(64 << 20)


def test_it_opens_the_drivers_devices_alone(system: System) -> None:
    """In the unit's control group, opening a device of major 195, which /proc/devices calls nvidia here, finds no
    driver behind it (ENXIO), and /dev/mem is refused. Seen failing with PrivateDevices=yes, and with
    DevicePolicy=auto."""
    group = system.property_of("ControlGroup")

    def open_in_unit(device: str) -> str:
        return system.run(f"sh -c 'echo $$ >/sys/fs/cgroup{group}/cgroup.procs; exec 3<{device}' 2>&1")[1]

    assert "No such device or address" in open_in_unit("/run/nvidiactl")
    assert "Operation not permitted" in open_in_unit("/run/mem")
    assert open_in_unit("/dev/null") == ""


def test_it_is_started_again(system: System) -> None:
    """A process that was killed is replaced, and answers."""
    old = system.property_of("MainPID")
    system.guest.check("kill -9 $(pidof gpulens)")
    wait_until(lambda: system.property_of("MainPID") not in ("0", old) and system.scrape() != "", "another")
    assert system.property_of("NRestarts") == "1"


def test_it_stops(system: System) -> None:
    """Stopping it is no failure, and frees the port."""
    assert system.run(f"systemctl stop {UNIT}")[0] == 0
    assert (system.property_of("ActiveState"), system.property_of("Result")) == ("inactive", "success")
    assert system.scrape() == ""


def test_systemd_calls_it_confined(system: System) -> None:
    """The exposure that systemd-analyze computes: 10 means no confinement; below 3.0 is rated OK."""
    text = system.run(f"systemd-analyze --no-pager security {UNIT}")[1]
    found = re.search(r"exposure level for \S+: (\d+\.\d)", text)
    assert found and float(found[1]) < 3.0, text
    if "GPULENS_SHOW" in os.environ:
        print(text)
