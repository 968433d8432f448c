# SPDX-License-Identifier: GPL-2.0
"""Kernel memory that a read allocates is charged to the reader's control group, so that the group's limit applies. The
guest mounts cgroup2 with the memory controller, which Debian's kernels have built in."""

from collections.abc import Iterator

import pytest

from lib.guest import Guest
from support.vm.cards import need_options
from support.vm.chips import AD102, CHIPS

GPU = f"/proc/gpu{CHIPS.index(AD102)}"
GROUP = "/sys/fs/cgroup/reader"
CHARGED = 1 << 20  # bytes of buffers of the files that are held open


@pytest.fixture(scope="module")
def machine(four: Guest) -> Iterator[Guest]:
    """The module, and a control group with the memory controller."""
    need_options("MEMCG")
    four.check("mount -t cgroup2 none /sys/fs/cgroup; echo +memory >/sys/fs/cgroup/cgroup.subtree_control")
    yield four
    four.check("umount /sys/fs/cgroup")


@pytest.fixture
def group(machine: Guest) -> Iterator[Guest]:  # pylint: disable=redefined-outer-name
    """An empty control group without a limit."""
    machine.check(f"mkdir {GROUP}")
    yield machine
    machine.check(f"rmdir {GROUP}")


def hold_files(guest: Guest, words: str) -> tuple[str, int, int]:
    """Runs helpers/hold.c in the group, which holds files open: its output, the group's memory in bytes meanwhile, and
    the bytes by which unreclaimable slab and vmalloc memory of the whole kernel grew."""
    text = guest.check(f"""mine() {{ awk '/^SUnreclaim|^VmallocUsed/ {{ n += $2 }} END {{ print n }}' /proc/meminfo; }}
        before=$(mine); mkfifo /tmp/go; exec 3<>/tmp/go
        (echo 0 >{GROUP}/cgroup.procs; exec hold {words}) <&3 >/tmp/said 2>&1 & pid=$!
        while [ ! -s /tmp/said ] && kill -0 $pid 2>/dev/null; do usleep 10000; done
        charged=$(cat {GROUP}/memory.current); after=$(mine)
        echo >&3; wait $pid; echo "status $?" >>/tmp/said
        echo $charged $(((after - before) * 1024)); head -n 1 /tmp/said; rm -f /tmp/go /tmp/said""", timeout=120)
    numbers, said = text.splitlines()
    charged, grown = map(int, numbers.split())
    return said, charged, grown


@pytest.mark.parametrize("name, least", [("device_info", 4096), ("runlist0", 4096), ("snapshot", 4096),
                                         ("image", 16384)])
def test_the_text_of_an_open_file_is_charged_to_its_reader(group: Guest, name: str, least: int) -> None:
    """Each open file holds at least the first buffer of its text, charged to the group: as many files as hold a MiB.
    Compared with as many files of procfs that keep no buffer. Seen failing with GFP_KERNEL: no buffer was charged."""
    count = CHARGED // least
    said, nothing, _ = hold_files(group, f"{count} /proc/self/cmdline")
    assert said == f"held {count}"
    said, with_text, _ = hold_files(group, f"{count} {GPU}/{name}")
    assert said == f"held {count}"
    # the kernel charges in batches of up to 256 KiB per processor
    assert with_text - nothing >= CHARGED / 2, (nothing, with_text)


def test_the_ring_of_samples_is_charged_to_its_reader(group: Guest) -> None:
    """65536 samples of 16 bytes are charged to the process that started sampling.
    Seen failing with GFP_KERNEL: nothing was charged."""
    said, charged, _ = hold_files(group, f"1 {GPU}/samples 1000")
    assert said == "held 1"
    assert charged >= 65536 * 16


def test_the_limit_of_the_readers_group_applies(group: Guest) -> None:
    """With memory.max of 8 MiB, a reader of 8000 files of 4 KiB is killed or gets ENOMEM, and kernel memory does not
    grow beyond the limit. Seen failing with GFP_KERNEL: all 8000 files are held, and kernel memory grows by 32 MB."""
    group.check(f"echo $((8 << 20)) >{GROUP}/memory.max")
    said, _, grown = hold_files(group, f"8000 {GPU}/device_info")
    assert said == "status 137" or said.split()[1] == "ENOMEM", said
    assert grown < 9 << 20
    assert group.read(f"{GPU}/device_info")
