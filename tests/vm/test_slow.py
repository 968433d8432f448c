# SPDX-License-Identifier: GPL-2.0
"""A GPU that answers slowly delays only its own readers: removal and unloading do not wait for queued readers, a
request past its time limit is not written, a kernel without preemption reports no soft lockup, and a GPU that could not
be read at load is attached later."""

from collections.abc import Iterator

import pytest

from lib import paths
from lib.guest import Guest, pci_folder
from support.vm.cards import Card, gpu_of, healthy, need_module, wait_until
from support.vm.chips import chips_for
from support.vm.soc import give_memory, load_scenario_with

CHIPS = chips_for("pair")
READERS = 8


@pytest.fixture(scope="module")
def machine() -> Iterator[Guest]:
    """A GPU of each kind of channel state. The kernel does not preempt its own code, and panics when a processor does
    not schedule for 6 s (twice watchdog_thresh)."""
    need_module("module-copy", "gpulen2")
    need_module("kmod-tests", "sysram")
    with Guest([gpu_of(chip) for chip in CHIPS], append="preempt=none watchdog_thresh=3 softlockup_panic=1") as guest:
        yield guest
        healthy(guest)


@pytest.fixture
def loaded(machine: Guest) -> Iterator[Guest]:  # pylint: disable=redefined-outer-name
    """With gpulens."""
    machine.load("gpulens", "control=1")
    yield machine
    for emu in machine.emu:
        emu.cmd({"cmd": "fault", "kind": "none"})
    machine.run("rmmod gpulens; echo 1 >/sys/bus/pci/rescan")
    folders = " ".join(pci_folder(gpu) for gpu in range(len(CHIPS)))
    wait_until(lambda: machine.run(f"ls {folders}")[0] == 0, "a GPU does not return")


@pytest.mark.parametrize("action", ["remove", "rmmod"])
def test_removal_does_not_wait_for_queued_readers(loaded: Guest, action: str) -> None:
    """With eight readers queued on a GPU whose registers take 5 ms, removal does not wait until each has read, which
    takes a second, and each gets an error. EIO comes from procfs, for a file that is removed between open and read
    (proc_reg_read()).
    Seen failing with the module of 8eb1b46."""
    loaded.emu[0].cmd({"cmd": "fault", "kind": "slow", "ns": 5_000_000})
    command = f"echo 1 >{pci_folder(0)}/remove" if action == "remove" else "rmmod gpulens"
    text = loaded.check(f"""for i in $(seq {READERS}); do
            (for j in $(seq 100); do tryop read /proc/gpu0/copy_topology || break; done) >/tmp/reader$i &
        done; until [ $(cat /tmp/reader* | wc -l) -ge {READERS} ]; do usleep 10000; done
        cat /tmp/reader* | wc -l; {command}; cat /tmp/reader* | grep -c OK; wait; cat /tmp/reader*; rm /tmp/reader*""",
                        timeout=600).splitlines()
    before, after, answers = int(text[0]), int(text[1]), text[2:]
    assert after - before < READERS
    ends = [answer for answer in answers if not answer.startswith("OK")]
    assert len(ends) == READERS and set(ends) <= {"read ENODEV", "read EIO", "open ENOENT"}


def test_a_request_past_its_time_limit_is_not_written(loaded: Guest) -> None:
    """timeout_ms=0: ETIMEDOUT; the channel keeps its state, and no preempt is requested.
    Seen failing with the module of 8eb1b46: channel 8 is disabled."""
    loaded.check("echo 0 >/sys/module/gpulens/parameters/timeout_ms")
    try:
        for index, chip in enumerate(CHIPS):
            card = Card(loaded, chip, index)
            card.emu.cmd({"cmd": "log", "on": True})
            card.emu.cmd({"cmd": "log-read"})
            for name, text in (("disable_channel", chip.ref(8)), ("preempt_tsg", chip.ref(3)),
                               ("resubmit_runlist", "0")):
                assert card.write(name, text) == "write ETIMEDOUT"
            log = card.emu.cmd({"cmd": "log-read"})["accesses"]
            card.emu.cmd({"cmd": "log", "on": False})
            assert not [access for access in log if access["op"] == "w"]
            channels = card.emu.cmd({"cmd": "state"})["channels"]
            states = [channel["enabled"] for channel in channels if channel["id"] == 8]
            assert states and all(states)
    finally:
        loaded.check("echo 20000 >/sys/module/gpulens/parameters/timeout_ms")


def test_slow_registers_cause_no_soft_lockup(loaded: Guest) -> None:
    """Reading the state of 2048 channels, two registers of 3 ms each, takes 12.3 s on one processor, of which the
    watchdog accepts less than 9 (twice watchdog_thresh in units of 2^30 ns, and a period of its timer). The list is in
    system memory, since a stop of the machine, as for GPU memory, restarts the watchdog's time.
    Seen failing (the guest panics: soft lockup) without cond_resched() in mmio_may_access()."""
    index = [chip.name for chip in CHIPS].index("GP106")
    emu = loaded.emu[index]
    give_memory(loaded, [index], blocks=1)
    try:
        load_scenario_with(loaded, index, str(paths.SCENARIOS / "bench-2048.json"), {"memory": {"runlists": "sys"}})
        emu.cmd({"cmd": "fault", "kind": "slow", "ns": 3_000_000})
        began, answer, ended = loaded.check(f"""up() {{ cut -d' ' -f1 /proc/uptime; }}
            up; taskset 1 tryop read /proc/gpu{index}/snapshot; up""", timeout=600).splitlines()
        emu.cmd({"cmd": "fault", "kind": "none"})
        assert answer.startswith("OK") and float(ended) - float(began) > 12
        assert "soft lockup" not in loaded.check("dmesg")
    finally:
        emu.cmd({"cmd": "fault", "kind": "none"})
        emu.cmd({"cmd": "scenario", "file": str(paths.SCENARIOS / "bench-2048.json")})
        loaded.unload("sysram")


def test_a_gpu_that_could_not_be_read_at_load_is_attached_later(machine: Guest) -> None:
    """All registers read as ones while the module is loaded, as before the GPU's firmware has started it: one log line,
    and the GPU is attached once it answers, without a driver, a rescan or another event.
    Seen failing with the module of 8eb1b46: no /proc/gpu1."""
    machine.emu[0].cmd({"cmd": "fault", "kind": "all-ones"})
    machine.check("dmesg -c >/dev/null")
    machine.load("gpulens", "control=1")
    try:
        assert machine.read("/proc/gpu0/chip").splitlines()[0] == "Chip:         AD102 (0x192)"
        assert machine.run("ls /proc/gpu1")[0] != 0
        machine.check("sleep 2.5")
        said = [line for line in machine.check("dmesg").splitlines() if "not attached: " in line]
        assert len(said) == 1 and "0000:00:04.0" in said[0]
        machine.emu[0].cmd({"cmd": "fault", "kind": "none"})
        machine.check("until [ -e /proc/gpu1/chip ]; do sleep 0.2; done", timeout=300)
        assert machine.read("/proc/gpu1/chip").splitlines()[0] == "Chip:         GP106 (0x136)"
    finally:
        machine.emu[0].cmd({"cmd": "fault", "kind": "none"})
        machine.unload()


def test_loading_in_a_chroot_without_proc_causes_no_kernel_warning(machine: Guest) -> None:
    """The check for an existing /proc/gpu0 uses the system's /proc, not the root folder of insmod.
    Seen failing with the module of 8eb1b46: two warnings in proc_register, which panic the kernel."""
    machine.load("gpulens", "control=1")
    machine.check("mkdir -p /tmp/jail/bin && cp /bin/busybox /tmp/jail/bin/ && cp /modules/*.ko /tmp/jail/")
    status, _ = machine.run("chroot /tmp/jail /bin/busybox insmod /gpulen2.ko")
    assert status != 0 and "/proc/gpu0 exists" in machine.check("dmesg")
    machine.unload()
