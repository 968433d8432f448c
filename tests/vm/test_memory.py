# SPDX-License-Identifier: GPL-2.0
"""Memory of the kernel's that reading takes: charged to the reader's control group, so that its limit holds and the
machine does not pay. The guest mounts cgroup2 with the memory controller (Debian's kernels have it built in)."""

from collections.abc import Iterator

import pytest

from lib.guest import Guest
from support.vm.cards import gpu_of, healthy, need
from support.vm.chips import AD102

GROUP = "/sys/fs/cgroup/reader"


@pytest.fixture(scope="module")
def machine() -> Iterator[Guest]:
    """One GPU, the module, and a control group with the memory controller."""
    need("MEMCG")
    with Guest([gpu_of(AD102)]) as guest:
        guest.load("gpulens", "control=1")
        guest.check("mount -t cgroup2 none /sys/fs/cgroup; echo +memory >/sys/fs/cgroup/cgroup.subtree_control")
        yield guest
        guest.unload()
        healthy(guest)


@pytest.fixture
def group(machine: Guest) -> Iterator[Guest]:  # pylint: disable=redefined-outer-name
    """An empty group of its own, without a limit."""
    machine.check(f"mkdir {GROUP}")
    yield machine
    machine.check(f"rmdir {GROUP}")


def held(guest: Guest, words: str) -> tuple[str, int, int]:
    """What a program in the group says that holds files open, the group's memory meanwhile, and by how many bytes the
    machine's unreclaimable slab and vmalloc memory grew."""
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
def test_what_a_reader_holds_is_his(group: Guest, name: str, least: int) -> None:
    """Of 256 open files each holds at least the text's first room: all that is in the group. Compared with 256 files of
    procfs that keep nothing. Seen failing with GFP_KERNEL: none of those rooms was charged."""
    said, nothing, _ = held(group, "256 /proc/self/cmdline")
    assert said == "held 256"
    said, with_text, _ = held(group, f"256 /proc/gpu0/{name}")
    assert said == "held 256"
    # what is charged is counted in batches of up to 256 KiB a processor
    assert with_text - nothing >= 256 * least / 2, (nothing, with_text)


def test_samples_ring_is_its_readers(group: Guest) -> None:
    """The ring of samples, of 65536 samples of 16 bytes, is charged to who began.
    Seen failing with GFP_KERNEL: nothing was charged."""
    said, charged, _ = held(group, "1 /proc/gpu0/samples 1000")
    assert said == "held 1"
    assert charged >= 65536 * 16


def test_a_reader_ends_at_his_own_limit(group: Guest) -> None:
    """memory.max of 8 MiB and 8000 files of 4 KiB each: the reader is killed or gets ENOMEM, and meanwhile the machine
    did not pay more than the limit. Seen failing with GFP_KERNEL: all 8000 are held, and the machine's kernel grows by
    32 MB."""
    group.check(f"echo $((8 << 20)) >{GROUP}/memory.max")
    said, _, grown = held(group, "8000 /proc/gpu0/device_info")
    assert said == "status 137" or said.split()[1] == "ENOMEM", said
    assert grown < 9 << 20
    assert group.read("/proc/gpu0/device_info")
