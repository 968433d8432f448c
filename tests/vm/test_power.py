# SPDX-License-Identifier: GPL-2.0
"""Power of GPUs on PCI: under a driver that lets them sleep (tests/kmod/sleeper), reading neither wakes nor touches
one that sleeps; steering wakes it, and holds it while it works. The emulator counts what is tried while it sleeps,
and answers with all ones then."""

from collections.abc import Iterator

import pytest

from chips import CHIPS as KNOWN
from conftest import Card, Gpu, Guest, accesses, healthy, scenario, until
from lib.guest import SLOW
from test_control import long_slice, wait_for

# one with PCCSR, one with channel RAM
CHIPS = ("gp106", "ad102")
REFS = ("16", "0:16")
KEPT = ("device_info", "tpc_map", "copy_topology", "num_gpcs")
TOUCHING = ("chip", "runlist0", "bars", "snapshot", "image")


@pytest.fixture(scope="module")
def machine() -> Iterator[Guest]:
    """gpulens knows both GPUs from when they had no driver."""
    with Guest([Gpu(name, scenario("tenants")) for name in CHIPS]) as guest:
        guest.load("gpulens", "control=1")
        yield guest
        guest.unload()
        healthy(guest)


@pytest.fixture
def sleeping(machine: Guest) -> Iterator[Guest]:  # pylint: disable=redefined-outer-name
    """Both GPUs are in D3hot."""
    machine.load("sleeper")
    for gpu in range(len(CHIPS)):
        until(lambda gpu=gpu: asleep(machine, gpu), "they do not go to sleep")
        machine.emu[gpu].cmd({"cmd": "reset-counts"})
    yield machine
    machine.unload("sleeper")
    for gpu in range(len(CHIPS)):
        assert machine.read(f"/proc/gpu{gpu}/runlist0")
        machine.emu[gpu].cmd({"cmd": "scenario", "file": scenario("tenants")})


def sysfs(gpu: int) -> str:
    """A GPU's folder."""
    return f"/sys/bus/pci/devices/0000:00:{4 + gpu:02x}.0"


def asleep(guest: Guest, gpu: int) -> bool:
    """By its own power register (the low bits of PMCSR, at 0x64 in the emulator) and by the kernel."""
    where = sysfs(gpu)
    text = guest.check(f"cat {where}/power/runtime_status; hexdump -s 100 -n 1 -e '1/1 \"%x\"' {where}/config")
    # 3: D3hot; 8: its state is kept
    return text.split() == ["suspended", "b"]


def resumes(guest: Guest) -> int:
    """How often the driver woke one up."""
    return int(guest.read("/sys/module/sleeper/parameters/resumes"))


def answer(guest: Guest, words: str) -> str:
    """How one operation ends."""
    return guest.run(f"tryop {words}", timeout=60)[1].strip()


@pytest.mark.parametrize("gpu", range(len(CHIPS)), ids=CHIPS)
def test_reading_a_gpu_that_sleeps_is_eagain_without_an_access_and_does_not_wake_it(sleeping: Guest, gpu: int) -> None:
    """For every file that reads; only stats answers.
    Seen failing with pci_get() resuming for readers too (it wakes), and with neither way of
    being asleep looked at: it is read, and device_info answers."""
    before = resumes(sleeping)
    for name in (*KEPT, *TOUCHING):
        assert answer(sleeping, f"read /proc/gpu{gpu}/{name}") == "read EAGAIN", name
    assert "read_runlist_failed" in sleeping.read(f"/proc/gpu{gpu}/stats")
    assert accesses(sleeping.emu[gpu]) == 0
    assert resumes(sleeping) == before and asleep(sleeping, gpu)


@pytest.mark.parametrize("gpu", range(len(CHIPS)), ids=CHIPS)
def test_steering_wakes_a_gpu_that_sleeps_and_lets_it_sleep_again(sleeping: Guest, gpu: int) -> None:
    """Each write once; the channel is disabled in the hardware, and afterwards it sleeps.
    Seen failing with pci_get() not waking for those who steer (EAGAIN), and without pci_put() (no GPU goes to
    sleep)."""
    before = resumes(sleeping)
    assert answer(sleeping, f"write /proc/gpu{gpu}/disable_channel {REFS[gpu]}") == f"OK {len(REFS[gpu])}"
    assert resumes(sleeping) == before + 1
    channels = {one["id"]: one for one in sleeping.emu[gpu].cmd({"cmd": "state"})["channels"] if one["runlist"] == 0}
    assert channels[16]["enabled"] is False
    until(lambda: asleep(sleeping, gpu), "it stays awake")


@pytest.mark.parametrize("gpu", range(len(CHIPS)), ids=CHIPS)
def test_a_gpu_stays_awake_while_its_answer_is_waited_for(sleeping: Guest, gpu: int) -> None:
    """A preempt that is never answered is waited for a second; the driver lets a GPU sleep as soon as nobody uses it:
    it sleeps after that second, not before.
    Seen failing with the use counted down around the wait in mmio_wait_us(): it sleeps, EAGAIN."""
    card = Card(sleeping, next(chip for chip in KNOWN if chip.name.lower() == CHIPS[gpu]), gpu)
    long_slice(card)
    wait_for(card, 3)
    card.emu.cmd({"cmd": "fault", "kind": "preempt-hangs"})
    before = resumes(sleeping)
    script = f"""tryop write /proc/gpu{gpu}/preempt_tsg {card.chip.ref(3)} >/tmp/writer &
        sleep 0.3; cat {sysfs(gpu)}/power/runtime_status; wait; cat /tmp/writer"""
    assert sleeping.check(script, timeout=60).split("\n")[:2] == ["active", "write ETIMEDOUT"]
    assert resumes(sleeping) == before + 1
    until(lambda: asleep(sleeping, gpu), "it stays awake")
    card.emu.cmd({"cmd": "fault", "kind": "none"})


def test_who_reads_over_and_over_does_not_keep_a_gpu_awake(machine: Guest) -> None:
    """The driver lets it sleep a second after its last use; reading every 50 ms is none.
    Seen failing with pm_runtime_mark_last_busy() in pci_put()."""
    machine.load("sleeper", f"delay={1000 * SLOW:.0f}")
    try:
        assert answer(machine, "read /proc/gpu0/num_gpcs").startswith("OK")
        text = machine.check("""for i in $(seq 100); do
            tryop read /proc/gpu0/num_gpcs | grep EAGAIN && break; sleep 0.05; done""", timeout=60)
        assert text.strip() == "read EAGAIN"
    finally:
        machine.unload("sleeper")


def test_a_gpu_that_cannot_be_woken_is_no_device(sleeping: Guest) -> None:
    """ENODEV, without an access; the next one is asked anew once its driver can again.
    Seen failing with the result of resuming ignored: the write is OK."""
    sleeping.check("echo 1 >/sys/module/sleeper/parameters/refuse")
    assert answer(sleeping, "write /proc/gpu0/disable_channel 16") == "write ENODEV"
    assert accesses(sleeping.emu[0]) == 0
    sleeping.check("echo 0 >/sys/module/sleeper/parameters/refuse")
    # the kernel keeps the error until the driver is bound anew
    where = sysfs(0)
    sleeping.check(f"echo {where.rsplit('/', 1)[1]} | tee {where}/driver/unbind >/sys/bus/pci/drivers/sleeper/bind")
    assert answer(sleeping, "write /proc/gpu0/disable_channel 16").startswith("OK")


@pytest.mark.parametrize("words", ("read /proc/gpu0/runlist0", "write /proc/gpu0/disable_channel 16"))
def test_a_gpu_that_its_driver_keeps_asleep_is_left_alone(machine: Guest, words: str) -> None:
    """Behind the back of the kernel's power management, as vfio-pci did it: EAGAIN, also for who steers.
    Seen failing without the look at current_state: another answer than EAGAIN."""
    machine.load("sleeper", "direct=1")
    try:
        machine.emu[0].cmd({"cmd": "reset-counts"})
        assert answer(machine, words).endswith("EAGAIN")
        assert accesses(machine.emu[0]) == 0
    finally:
        machine.unload("sleeper")


def test_loading_wakes_a_gpu_once_to_learn_what_it_is(sleeping: Guest) -> None:
    """Its topology is known then; afterwards it sleeps, and its files say so.
    Seen failing with attaching as a reader does: none is woken."""
    sleeping.unload()
    before = resumes(sleeping)
    sleeping.load("gpulens", "control=1")
    assert resumes(sleeping) == before + len(CHIPS)
    for gpu in range(len(CHIPS)):
        until(lambda gpu=gpu: asleep(sleeping, gpu), "it stays awake")
        assert answer(sleeping, f"read /proc/gpu{gpu}/device_info") == "read EAGAIN"
