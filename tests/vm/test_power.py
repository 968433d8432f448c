# SPDX-License-Identifier: GPL-2.0
"""Power of GPUs on PCI: under a driver that lets them sleep (tests/support/kmod/sleeper), neither reading nor control
wakes or touches one that is asleep; a use holds it awake only while it works. The emulator counts what is tried while
it sleeps, and answers with all ones then."""

from collections.abc import Iterator

import pytest

from lib.guest import SLOW, Gpu, Guest, pci_folder
from support.vm.cards import Card, accesses, healthy, scenario, until
from support.vm.chips import chips_for
from test_control import long_slice, wait_for

CHIPS = [chip.name.lower() for chip in chips_for("pair")]
REFS = ("16", "0:16")
KEPT = ("chip", "device_info", "tpc_map", "num_gpcs", "topology")
TOUCHING = ("runlist0", "bars", "snapshot", "image")


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


def asleep(guest: Guest, gpu: int) -> bool:
    """By its own power register (the low bits of PMCSR, at 0x64 in the emulator) and by the kernel."""
    where = pci_folder(gpu)
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
def test_reading_a_gpu_that_sleeps_wakes_and_touches_nothing(sleeping: Guest, gpu: int) -> None:
    """What is kept answers from what was read before, what needs the GPU is ENODATA. No file is EAGAIN, at which
    readers of a blocking descriptor try again at once.
    Seen failing with pci_get_use() resuming the device (it wakes), and with neither way of being asleep looked at: it
    is read, and runlist0 answers."""
    before = resumes(sleeping)
    for name in KEPT:
        assert answer(sleeping, f"read /proc/gpu{gpu}/{name}").startswith("OK"), name
    for name in TOUCHING:
        assert answer(sleeping, f"read /proc/gpu{gpu}/{name}") == "read ENODATA", name
    assert "read_runlist_failed" in sleeping.read(f"/proc/gpu{gpu}/stats")
    assert accesses(sleeping.emu[gpu]) == 0
    assert resumes(sleeping) == before and asleep(sleeping, gpu)


@pytest.mark.parametrize("gpu", range(len(CHIPS)), ids=CHIPS)
def test_control_of_a_gpu_that_sleeps_wakes_and_touches_nothing(sleeping: Guest, gpu: int) -> None:
    """ENODATA; once its owner keeps it awake, the same write is done in the hardware.
    Seen failing with the module of 8eb1b46, which woke it: OK."""
    before = resumes(sleeping)
    assert answer(sleeping, f"write /proc/gpu{gpu}/disable_channel {REFS[gpu]}") == "write ENODATA"
    assert accesses(sleeping.emu[gpu]) == 0
    assert resumes(sleeping) == before and asleep(sleeping, gpu)
    sleeping.check(f"echo on >{pci_folder(gpu)}/power/control")
    try:
        assert answer(sleeping, f"write /proc/gpu{gpu}/disable_channel {REFS[gpu]}") == f"OK {len(REFS[gpu])}"
    finally:
        sleeping.check(f"echo auto >{pci_folder(gpu)}/power/control")
    channels = {one["id"]: one for one in sleeping.emu[gpu].cmd({"cmd": "state"})["channels"] if one["runlist"] == 0}
    assert channels[16]["enabled"] is False
    until(lambda: asleep(sleeping, gpu), "it stays awake")


@pytest.mark.parametrize("gpu", range(len(CHIPS)), ids=CHIPS)
def test_a_gpu_stays_awake_while_its_answer_is_polled(sleeping: Guest, gpu: int) -> None:
    """A preempt that is never answered is polled for a second; the driver lets a GPU sleep as soon as nobody uses it:
    it sleeps after that second, not before.
    Seen failing with the use counted down around the wait in mmio_wait_us(): it sleeps, ENODATA."""
    card = Card(sleeping, chips_for("pair")[gpu], gpu)
    sleeping.check(f"echo on >{pci_folder(gpu)}/power/control")
    long_slice(card)
    wait_for(card, 3)
    card.emu.cmd({"cmd": "fault", "kind": "preempt-hangs"})
    script = f"""tryop write /proc/gpu{gpu}/preempt_tsg {card.chip.ref(3)} >/tmp/writer &
        sleep 0.3; echo auto >{pci_folder(gpu)}/power/control
        sleep 0.3; cat {pci_folder(gpu)}/power/runtime_status; wait; cat /tmp/writer"""
    assert sleeping.check(script, timeout=60).split("\n")[:2] == ["active", "write ETIMEDOUT"]
    until(lambda: asleep(sleeping, gpu), "it stays awake")
    card.emu.cmd({"cmd": "fault", "kind": "none"})


def test_reading_over_and_over_does_not_keep_a_gpu_awake(machine: Guest) -> None:
    """The driver lets it sleep a second after its last use; reading every 50 ms is none.
    Seen failing with pm_runtime_mark_last_busy() in pci_put_use()."""
    machine.load("sleeper", f"delay={1000 * SLOW:.0f}")
    try:
        assert answer(machine, "read /proc/gpu0/runlist0").startswith("OK")
        text = machine.check("""for i in $(seq 100); do
            tryop read /proc/gpu0/runlist0 | grep ENODATA && break; sleep 0.05; done""", timeout=60)
        assert text.strip() == "read ENODATA"
    finally:
        machine.unload("sleeper")


@pytest.mark.parametrize("words", ("read /proc/gpu0/runlist0", "write /proc/gpu0/disable_channel 16"))
def test_a_gpu_that_its_driver_keeps_asleep_is_left_alone(machine: Guest, words: str) -> None:
    """Behind the back of the kernel's power management, as vfio-pci did it: ENODATA.
    Seen failing without the look at current_state: another answer than ENODATA."""
    machine.load("sleeper", "direct=1")
    try:
        machine.emu[0].cmd({"cmd": "reset-counts"})
        assert answer(machine, words).endswith("ENODATA")
        assert accesses(machine.emu[0]) == 0
    finally:
        machine.unload("sleeper")


def test_loading_wakes_no_gpu_and_finds_it_once_it_is_awake(sleeping: Guest) -> None:
    """Asleep, none is attached and the log says why; woken by its owner, it is found without a further event.
    Seen failing with the module of 8eb1b46, which woke both."""
    sleeping.unload()
    before = resumes(sleeping)
    sleeping.load("gpulens", "control=1")
    assert resumes(sleeping) == before and sum(accesses(emu) for emu in sleeping.emu) == 0
    assert sleeping.run("ls -d /proc/gpu[0-9]*")[0] != 0
    assert "0000:00:04.0: not attached: the GPU is asleep; will retry" in sleeping.check("dmesg")
    for gpu in range(len(CHIPS)):
        sleeping.check(f"echo on >{pci_folder(gpu)}/power/control")
    sleeping.check("for i in $(seq 100); do [ -e /proc/gpu1 ] && exit 0; sleep 0.1; done; exit 1", timeout=30)
    for gpu in range(len(CHIPS)):
        sleeping.check(f"echo auto >{pci_folder(gpu)}/power/control")
        until(lambda gpu=gpu: asleep(sleeping, gpu), "it stays awake")
        assert answer(sleeping, f"read /proc/gpu{gpu}/device_info").startswith("OK")
