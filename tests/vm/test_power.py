# SPDX-License-Identifier: GPL-2.0
"""Runtime power management of PCI GPUs under a driver that suspends them (tests/support/kmod/sleeper): neither reads
nor control requests resume or access a suspended GPU, and a use keeps it awake only while it lasts. The emulator counts
accesses to a suspended GPU and answers them with all ones."""

import time
from collections.abc import Iterator

import pytest

from lib.guest import SLOW, Guest, pci_folder
from support.vm.cards import Card, count_accesses, scenario, wait_until
from support.vm.chips import chips_for
from support.vm.shared import PAIR, SharedGuests
from test_control import long_slice, wait_for

pytestmark = pytest.mark.guest("pair")

CHIPS = [chip.name.lower() for chip in chips_for("pair")]
REFS = ("16", "0:16")
KEPT = ("chip", "device_info", "tpc_map", "num_gpcs")
TOUCHING = ("runlist0", "bars", "snapshot", "image")


@pytest.fixture(scope="module")
def machine(guests: SharedGuests) -> Iterator[Guest]:
    """gpulens knows the GPUs from when they had no driver. The third sleeps and wakes with the two that are looked
    at."""
    with guests.take(PAIR, scenario("tenants")) as guest:
        guest.load("gpulens", "control=1")
        yield guest


@pytest.fixture
def sleeping(machine: Guest) -> Iterator[Guest]:  # pylint: disable=redefined-outer-name
    """All GPUs in D3hot."""
    machine.load("sleeper")
    for gpu in range(len(PAIR.gpus)):
        wait_until(lambda gpu=gpu: is_asleep(machine, gpu), "a GPU is not suspended")
        machine.emu[gpu].cmd({"cmd": "reset-counts"})
    yield machine
    machine.unload("sleeper")
    for gpu in range(len(CHIPS)):
        assert machine.read(f"/proc/gpu{gpu}/runlist0")
        machine.emu[gpu].cmd({"cmd": "scenario", "file": scenario("tenants")})


def is_asleep(guest: Guest, gpu: int) -> bool:
    """By its own power register (the low bits of PMCSR, at 0x64 in the emulator) and by the kernel."""
    where = pci_folder(gpu)
    text = guest.check(f"cat {where}/power/runtime_status; hexdump -s 100 -n 1 -e '1/1 \"%x\"' {where}/config")
    # 3: D3hot; 8: its state is kept
    return text.split() == ["suspended", "b"]


def count_resumes(guest: Guest) -> int:
    """How often the driver resumed a GPU."""
    return int(guest.read("/sys/module/sleeper/parameters/resumes"))


def try_operation(guest: Guest, words: str) -> str:
    """How one operation of helpers/tryop.c ends."""
    return guest.run(f"tryop {words}", timeout=60)[1].strip()


@pytest.mark.parametrize("gpu", range(len(CHIPS)), ids=CHIPS)
def test_reads_do_not_resume_or_access_a_suspended_gpu(sleeping: Guest, gpu: int) -> None:
    """Files with data that was read before succeed, files that need the GPU give ENODATA. No file gives EAGAIN, on
    which readers of a blocking descriptor retry at once.
    Seen failing with pci_get_use() resuming the device, and with both checks for suspension removed: runlist0 is
    read."""
    before = count_resumes(sleeping)
    for name in KEPT:
        assert try_operation(sleeping, f"read /proc/gpu{gpu}/{name}").startswith("OK"), name
    assert sleeping.run(f"become -u 1000 -- tryop read /proc/gpu{gpu}/snapshot")[1].startswith("OK")
    for name in TOUCHING:
        assert try_operation(sleeping, f"read /proc/gpu{gpu}/{name}") == "read ENODATA", name
    assert "read_runlist_failed" in sleeping.read(f"/proc/gpu{gpu}/stats")
    assert count_accesses(sleeping.emu[gpu]) == 0
    assert count_resumes(sleeping) == before and is_asleep(sleeping, gpu)


@pytest.mark.parametrize("gpu", range(len(CHIPS)), ids=CHIPS)
def test_control_does_not_resume_or_access_a_suspended_gpu(sleeping: Guest, gpu: int) -> None:
    """ENODATA; once its driver keeps it awake, the same write changes the hardware.
    Seen failing with the module of 8eb1b46, which resumed it: OK."""
    before = count_resumes(sleeping)
    assert try_operation(sleeping, f"write /proc/gpu{gpu}/disable_channel {REFS[gpu]}") == "write ENODATA"
    assert count_accesses(sleeping.emu[gpu]) == 0
    assert count_resumes(sleeping) == before and is_asleep(sleeping, gpu)
    sleeping.check(f"echo on >{pci_folder(gpu)}/power/control")
    try:
        assert try_operation(sleeping, f"write /proc/gpu{gpu}/disable_channel {REFS[gpu]}") == f"OK {len(REFS[gpu])}"
    finally:
        sleeping.check(f"echo auto >{pci_folder(gpu)}/power/control")
    channels = sleeping.emu[gpu].cmd({"cmd": "state"})["channels"]
    assert [channel["enabled"] for channel in channels if (channel["runlist"], channel["id"]) == (0, 16)] == [False]
    wait_until(lambda: is_asleep(sleeping, gpu), "it stays awake")


@pytest.mark.parametrize("gpu", range(len(CHIPS)), ids=CHIPS)
def test_a_hold_of_a_suspended_gpu_ends_once_it_is_awake(sleeping: Guest, gpu: int) -> None:
    """The file is closed while the GPU is asleep: it is neither woken nor accessed, and the channel is enabled when the
    driver has resumed it. Seen failing with holds_run() trying once only."""
    card = Card(sleeping, chips_for("pair")[gpu], gpu)

    def is_enabled() -> bool:
        channels = card.emu.cmd({"cmd": "state"})["channels"]
        return [c["enabled"] for c in channels if (c["runlist"], c["id"]) == (0, 16)] == [True]
    power = f"{pci_folder(gpu)}/power"
    sleeping.check(f"echo on >{power}/control")
    sleeping.check(f"exec 3>{card.path('hold_channel')}; printf {REFS[gpu]} >&3; echo auto >{power}/control; "
                   f"while ! grep -q suspended {power}/runtime_status; do usleep 1000; done", timeout=300)
    before, resumes = count_accesses(card.emu), count_resumes(sleeping)
    time.sleep(0.3)
    assert count_accesses(card.emu) == before and count_resumes(sleeping) == resumes
    assert not is_enabled() and is_asleep(sleeping, gpu)
    sleeping.check(f"echo on >{power}/control")
    try:
        wait_until(is_enabled, "the channel stays disabled")
    finally:
        sleeping.check(f"echo auto >{power}/control")
    wait_until(lambda: is_asleep(sleeping, gpu), "it stays awake")


@pytest.mark.parametrize("gpu", range(len(CHIPS)), ids=CHIPS)
def test_another_file_goes_on_with_a_hold_that_has_yet_to_end(sleeping: Guest, gpu: int) -> None:
    """The GPU slept for long, so that the end of the hold is tried once in a second. It wakes, and another file holds
    the channel. Seen failing without that case in holds_enter(): EBUSY."""
    card = Card(sleeping, chips_for("pair")[gpu], gpu)
    power, file = f"{pci_folder(gpu)}/power", card.path("hold_channel")
    sleeping.check(f"echo on >{power}/control")
    sleeping.check(f"exec 3>{file}; printf {REFS[gpu]} >&3; echo auto >{power}/control; "
                   f"while ! grep -q suspended {power}/runtime_status; do usleep 1000; done", timeout=300)
    time.sleep(2.2)
    try:
        said = sleeping.check(f"echo on >{power}/control; tryop write {file} {REFS[gpu]}")
    finally:
        sleeping.check(f"echo auto >{power}/control")
    assert said.startswith("OK")
    wait_until(lambda: is_asleep(sleeping, gpu), "it stays awake")


@pytest.mark.parametrize("gpu", range(len(CHIPS)), ids=CHIPS)
def test_a_gpu_stays_awake_while_a_request_polls_it(sleeping: Guest, gpu: int) -> None:
    """A preempt that never completes is polled for a second. The driver suspends a GPU as soon as it is unused: it does
    so after that second, not before (ENODATA). On a machine that takes longer than that second for what comes between,
    the state of the GPU is not asked for. Seen failing with the use released during the wait in mmio_wait_us():
    ENODATA."""
    card = Card(sleeping, chips_for("pair")[gpu], gpu)
    sleeping.check(f"echo on >{pci_folder(gpu)}/power/control")
    long_slice(card)
    wait_for(card, 3)
    card.emu.cmd({"cmd": "fault", "kind": "preempt-hangs"})
    script = f"""tryop write /proc/gpu{gpu}/preempt_tsg {card.chip.ref(3)} >/tmp/writer &
        sleep 0.3; echo auto >{pci_folder(gpu)}/power/control
        sleep 0.1; state=$(cat {pci_folder(gpu)}/power/runtime_status)
        [ -s /tmp/writer ] || echo $state; wait; cat /tmp/writer"""
    assert sleeping.check(script, timeout=300).splitlines() in (["active", "write ETIMEDOUT"], ["write ETIMEDOUT"])
    wait_until(lambda: is_asleep(sleeping, gpu), "it stays awake")
    card.emu.cmd({"cmd": "fault", "kind": "none"})


def test_repeated_reads_do_not_keep_a_gpu_awake(machine: Guest) -> None:
    """The driver suspends it a second after its last use; reads every 50 ms do not count as use.
    Seen failing with pm_runtime_mark_last_busy() in pci_put_use()."""
    machine.load("sleeper", f"delay={1000 * SLOW:.0f}")
    try:
        assert try_operation(machine, "read /proc/gpu0/runlist0").startswith("OK")
        text = machine.check("""for i in $(seq 100); do
            tryop read /proc/gpu0/runlist0 | grep ENODATA && break; sleep 0.05; done""", timeout=60)
        assert text.strip() == "read ENODATA"
    finally:
        machine.unload("sleeper")


@pytest.mark.parametrize("words", ("read /proc/gpu0/runlist0", "write /proc/gpu0/disable_channel 16"))
def test_a_gpu_in_d3hot_without_runtime_pm_is_not_accessed(machine: Guest, words: str) -> None:
    """A driver that sets the power state directly, as vfio-pci did: ENODATA.
    Seen failing without the check of current_state: another answer than ENODATA."""
    machine.load("sleeper", "direct=1")
    try:
        machine.emu[0].cmd({"cmd": "reset-counts"})
        assert try_operation(machine, words).endswith("ENODATA")
        assert count_accesses(machine.emu[0]) == 0
    finally:
        machine.unload("sleeper")


def test_a_suspended_gpu_is_attached_once_it_is_awake(sleeping: Guest) -> None:
    """Loading resumes no GPU; a suspended one is not attached, and the log says why. Resumed by its driver, it is
    attached without another event. Seen failing with the module of 8eb1b46, which resumed both."""
    sleeping.unload()
    before = count_resumes(sleeping)
    sleeping.load("gpulens", "control=1")
    assert count_resumes(sleeping) == before and sum(count_accesses(emu) for emu in sleeping.emu) == 0
    assert sleeping.run("ls -d /proc/gpu[0-9]*")[0] != 0
    assert "0000:00:04.0: not attached: the GPU is asleep; will retry" in sleeping.check("dmesg")
    for gpu in range(len(CHIPS)):
        sleeping.check(f"echo on >{pci_folder(gpu)}/power/control")
    sleeping.check("until [ -e /proc/gpu1 ]; do sleep 0.1; done", timeout=300)
    for gpu in range(len(CHIPS)):
        sleeping.check(f"echo auto >{pci_folder(gpu)}/power/control")
        wait_until(lambda gpu=gpu: is_asleep(sleeping, gpu), "it stays awake")
        assert try_operation(sleeping, f"read /proc/gpu{gpu}/device_info").startswith("OK")
