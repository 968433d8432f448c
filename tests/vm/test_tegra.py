# SPDX-License-Identifier: GPL-2.0
"""Tegra GPUs: platform devices over emulated BARs (tests/support/kmod/tegra), with runtime power management as nvgpu's
driver does it, and everything of theirs in system memory. While such a GPU sleeps its BAR0 reads as all ones ("gate"),
so that a file that holds what it should was read while it was awake."""

import re
import time
from collections.abc import Iterator

import pytest

from lib import paths
from lib.guest import SLOW, Gpu, Guest, pci_address
from support.vm.cards import accesses, healthy, until
from support.vm.formats import STEERS, parse_runlist, shape
from support.vm.soc import give_memory, load_tegras, parameter, place

# emulators: a PCI GPU with the lowest PCI address, then the Tegras
CHIPS = ("gp106", "ga10b", "gm20b", "gp10b", "gv11b")
NAMES = {1: "17000000.ga10b", 2: "57000000.gpu", 3: "17000000.gp10b", 4: "17000000.gv11b"}
ORIN = 1  # its emulator; it is /proc/gpu0
DEMO = [(3, [8, 9, 10]), (4, [11]), (5, [16, 17]), (6, [24, 25, 26]), (7, [27])]  # runlist 0 of demo-ga10b


@pytest.fixture(scope="module")
def machine() -> Iterator[Guest]:
    """The guest with all of them, their memory placed, without any Tegra device and without gpulens."""
    # the PCI GPU's runlist 0 is not that of the demos, so that it cannot pass for a Tegra
    with Guest([Gpu(name, "minimal" if name == "gp106" else None) for name in CHIPS], mem=512) as guest:
        give_memory(guest, list(NAMES), soc=True)
        yield guest
        healthy(guest)


def reset(guest: Guest) -> None:
    """Puts every scenario in its place again and lets nothing be out of order."""
    for index in NAMES:
        guest.emu[index].cmd({"cmd": "fault", "kind": "none"})
        place(guest, index, str(paths.SCENARIOS / f"demo-{CHIPS[index]}.json"), {})


@pytest.fixture
def tegras(machine: Guest) -> Iterator[Guest]:  # pylint: disable=redefined-outer-name
    """The four Tegras, gpu0 to gpu3, that sleep as soon as they are left alone; gpu4 is the PCI GPU."""
    reset(machine)
    load_tegras(machine, NAMES)
    machine.load("gpulens", "control=1")
    yield machine
    machine.unload()
    if "tegra " in machine.read("/proc/modules"):
        machine.unload("tegra")


@pytest.fixture
def bare(machine: Guest) -> Iterator[Guest]:  # pylint: disable=redefined-outer-name
    """For tests that load the modules themselves; they are unloaded."""
    reset(machine)
    yield machine
    for name in ("gpulens", "tegra"):
        if f"{name} " in machine.read("/proc/modules"):
            machine.unload(name)


def number(guest: Guest, name: str, tegra: int = 0) -> int:
    """A counter of the test driver."""
    return int(parameter(guest, "tegra", name)[tegra])


def asleep(guest: Guest, tegra: int = 0) -> bool:
    """Whether one sleeps now."""
    return parameter(guest, "tegra", "asleep")[tegra] == "1"


def answer(guest: Guest, name: str, words: str = "read") -> str:
    """How one operation on a file of gpu0 ends."""
    verb, _, text = words.partition(" ")
    return guest.run(f"tryop {verb} /proc/gpu0/{name} {text}")[1].strip()


def test_platform_gpus_come_first_and_are_called_by_their_names(tegras: Guest) -> None:
    """gpu0 to gpu3 are the Tegras in the order of the platform bus, though the PCI GPU has the lowest PCI address."""
    devices = []
    for gpu in range(5):
        lines = dict(re.split(r": +", line, maxsplit=1) for line in tegras.read(f"/proc/gpu{gpu}/chip").splitlines())
        devices.append((lines["Chip"].split()[0], lines["Device"], lines["BOOT_0"]))
    # BOOT_0: chip ids by open-gpu-kernel-modules nv_arch.h, linux-nvgpu gk20a.h NVGPU_GPUID_GA10B
    assert devices == [("GA10B", "17000000.ga10b", "0x17b000a1"), ("GM20B", "57000000.gpu", "0x12b000a1"),
                       ("GP10B", "17000000.gp10b", "0x13b000a1"), ("GV11B", "17000000.gv11b", "0x15b000a1"),
                       ("GP106", pci_address(0), "0x136000a1")]


def test_orin_is_table_3_of_rtas24(tegras: Guest) -> None:
    """device_info of GA10B holds RTAS'24 Table III as it is printed: Copy Engine 3 and Graphics/Compute 1 both on
    runlist 2. (Section V.D there says that no runlist but 0 has more than one engine; the table is held.)"""
    rows = [line.split() for line in tegras.read("/proc/gpu0/device_info").splitlines()[1:]]
    found = {(" ".join(row[:-9]), row[-7]) for row in rows}
    assert found == {("Graphics/Compute 0", "0"), ("[Graphics] Copy Engine 0 (GRCE0/LCE0)", "0"),
                     ("[Graphics] Copy Engine 1 (GRCE1/LCE1)", "0"), ("Copy Engine 2 (LCE2)", "1"),
                     ("Copy Engine 3 (LCE3)", "2"), ("Graphics/Compute 1", "2")}
    assert len(rows) == 6  # linux-nvgpu hw_proj_ga10b.h


@pytest.mark.parametrize("gpu, last", [(0, "0:2047"), (1, "511"), (2, "511"), (3, "511")],
                         ids=["GA10B", "GM20B", "GP10B", "GV11B"])
def test_limits(tegras: Guest, gpu: int, last: str) -> None:
    """512 channels (linux-nvgpu hw_ccsr_gm20b.h, _gp10b.h, _gv11b.h ccsr_channel_inst__size_1_v), 2048 for each runlist
    of GA10B (hw_runlist_ga10b.h): the next id is out of range, this one is not."""
    past = str(512) if last == "511" else "0:2048"
    assert tegras.run(f"tryop write /proc/gpu{gpu}/disable_channel {past}")[1].split() == ["write", "ERANGE"]
    assert tegras.run(f"tryop write /proc/gpu{gpu}/disable_channel {last}")[1].split()[-1] != "ERANGE"


def test_runlists_in_the_machines_memory(tegras: Guest) -> None:
    """Every Tegra's runlist 0 holds the demo, with instance blocks where the emulated driver put them and contexts that
    can be read through page tables; PRAMIN, behind which a Tegra has nothing, is not used."""
    for gpu, index in enumerate(NAMES):
        tegras.emu[index].cmd({"cmd": "reset-counts"})
        text = tegras.read(f"/proc/gpu{gpu}/runlist0")
        ids = [int(one) for one in re.findall(r"Channel Info (\d+) ", text)]
        assert ids[:10] == [8, 9, 10, 11, 16, 17, 24, 25, 26, 27]
        where = {one["id"]: one["inst"] for one in tegras.emu[index].cmd({"cmd": "state"})["channels"]
                 if one["runlist"] == 0}
        assert [int(one, 16) for one in re.findall(r"\| Inst: (0x[0-9a-f]+)\|", text)] == [where[one] for one in ids]
        assert all(where.values()) and "unreadable" not in text
        assert len(re.findall(r"= Context State =", text)) == len(ids)
        assert tegras.emu[index].cmd({"cmd": "counts"})["by_region"]["pramin"] == 0
    assert shape(tegras.read("/proc/gpu0/runlist0")) == DEMO
    assert shape(tegras.read("/proc/gpu0/runlist2")) == [(41, [101]), (60, [130, 131])]
    assert shape(tegras.read("/proc/gpu3/runlist1")) == [(40, [100])]


def test_steering(tegras: Guest) -> None:
    """A channel is disabled and enabled, and a preemption mode and a time slice are written into system memory."""
    assert answer(tegras, "disable_channel", "write 0:16").startswith("OK")
    state = {one["id"]: one for one in tegras.emu[ORIN].cmd({"cmd": "state"})["channels"] if one["runlist"] == 0}
    assert not state[16]["enabled"] and state[8]["enabled"]
    assert answer(tegras, "enable_channel", "write 0:16").startswith("OK")
    assert state[8]["compute_preemption"] == 1  # CTA; 0 is WFI: open-gpu-doc ampere/ga102/dev_ctxsw.ref.txt
    assert answer(tegras, "wfi_preempt_channel", "write 0:8").startswith("OK")
    state = {one["id"]: one for one in tegras.emu[ORIN].cmd({"cmd": "state"})["channels"] if one["runlist"] == 0}
    assert state[16]["enabled"] and state[8]["compute_preemption"] == 0
    assert answer(tegras, "preempt_tsg", "write 0:3").startswith("OK")
    assert answer(tegras, "tsg_timeslice", "write '0:3 2000'").startswith("OK")
    slices = {tsg.id: tsg.fields["Slice"] for tsg in parse_runlist(tegras.read("/proc/gpu0/runlist0"))}
    assert slices.pop(3) == "1998.848us" and "1998.848us" not in slices.values()
    until(lambda: asleep(tegras), "it stays awake after it was steered")


def test_it_sleeps_again_after_it_was_read(tegras: Guest) -> None:
    """A read wakes it once to see that it is there and once to read it, not for each access; then it sleeps again."""
    until(lambda: asleep(tegras), "it stays awake after gpulens was loaded")
    before = number(tegras, "resumes")
    tegras.emu[ORIN].cmd({"cmd": "reset-counts"})
    assert shape(tegras.read("/proc/gpu0/runlist0")) == DEMO
    assert accesses(tegras.emu[ORIN]) > 10
    until(lambda: asleep(tegras), "it stays awake after it was read")
    assert before < number(tegras, "resumes") <= before + 2
    assert number(tegras, "suspends") == number(tegras, "resumes")


def test_it_is_awake_as_long_as_it_is_held(tegras: Guest) -> None:
    """While a request waits for the hardware (a preempt that hangs), the GPU does not sleep; afterwards it does."""
    until(lambda: asleep(tegras), "it stays awake after gpulens was loaded")
    tegras.emu[ORIN].cmd({"cmd": "scenario", "data": {"processes": [{"name": "one", "tsgs": [
        {"id": 3, "runlist": 0, "timeslice": {"timeout": 255, "scale": 15}, "channels": [{"id": 8}]}]}]}})
    tegras.emu[ORIN].cmd({"cmd": "fault", "kind": "preempt-hangs"})
    before = number(tegras, "resumes")
    text = tegras.check("""tryop write /proc/gpu0/preempt_tsg 0:3 >/tmp/held & writer=$!
        usleep 5000
        while kill -0 $writer 2>/dev/null; do cut -d, -f1 /sys/module/tegra/parameters/asleep; usleep 1000; done
        wait; cat /tmp/held""", timeout=60)
    tegras.emu[ORIN].cmd({"cmd": "fault", "kind": "none"})
    seen, held = text.split()[:-2], text.split()[-2:]
    assert held == ["write", "ETIMEDOUT"]
    first = seen.index("0")
    assert seen.count("0") >= 10 / SLOW and seen[first:first + seen.count("0")] == ["0"] * seen.count("0")
    until(lambda: asleep(tegras), "it stays awake after it was steered")
    assert number(tegras, "resumes") == before + 1


def test_every_file_is_read_awake(tegras: Guest) -> None:
    """Each file of a sleeping GPU holds what it holds of one that is awake all the time."""
    names = [name for name in tegras.check("cd /proc/gpu0; ls").split()
             if not STEERS.search(name) and name not in ("snapshot", "topology", "stats", "samples")]
    assert len(names) > 15
    tegras.emu[ORIN].cmd({"cmd": "time", "mode": "virtual", "access_ns": 0})
    try:
        seen = {}
        for name in names:
            until(lambda: asleep(tegras), "it stays awake")
            seen[name] = tegras.run(f"cat /proc/gpu0/{name}")
        tegras.check(f"echo on >/sys/bus/platform/devices/{NAMES[ORIN]}/power/control")
        assert not asleep(tegras)
        assert seen == {name: tegras.run(f"cat /proc/gpu0/{name}") for name in names}
        refused = {name for name, (status, _) in seen.items() if status != 0}
        assert refused == {"local_memory"}
    finally:
        tegras.emu[ORIN].cmd({"cmd": "time", "mode": "real", "access_ns": 1000})


def test_a_sleeping_gpu_is_not_touched(tegras: Guest) -> None:
    """When it cannot be woken up every file is ENODEV, also those that steer, and its BAR0 is not touched once, though
    it would answer here; opening and listing files wakes nothing. Only stats, which needs no GPU, answers. Then all is
    well again, and it sleeps."""
    until(lambda: asleep(tegras), "it stays awake")
    tegras.check("cd /sys/module/tegra/parameters; echo 0 >gate; echo 1 >refuse")
    before = number(tegras, "resumes")
    tegras.check("cat /proc/gpu0/runlist0 >/dev/null 2>&1; true")
    tegras.emu[ORIN].cmd({"cmd": "reset-counts"})
    for name in tegras.check("ls /proc/gpu0").split():
        text = "write '0:8 1000'" if name == "tsg_timeslice" else "write 0:8"
        said = answer(tegras, name, text if STEERS.search(name) else "read").split()
        if name == "samples":
            assert said[-1] == "EINVAL"
            said = tegras.check("sample -c 100 /proc/gpu0/samples").split()
        assert said[0] == "OK" if name == "stats" else said[-1] == "ENODEV", name
    assert number(tegras, "resumes") == before
    tegras.check("echo 0 >/sys/module/tegra/parameters/refuse")
    tegras.check("ls -l /proc/gpu0 >/dev/null; exec 3</proc/gpu0/runlist0 4>/proc/gpu0/preempt_tsg")
    assert number(tegras, "resumes") == before
    assert accesses(tegras.emu[ORIN]) == 0
    assert shape(tegras.read("/proc/gpu0/runlist0")) == DEMO
    assert accesses(tegras.emu[ORIN]) > 0
    until(lambda: asleep(tegras), "it stays awake after it was read")
    tegras.emu[ORIN].cmd({"cmd": "reset-counts"})
    time.sleep(0.3)
    assert accesses(tegras.emu[ORIN]) == 0


def test_autosuspend_counts_from_the_last_read(bare: Guest) -> None:
    """With a delay as nvgpu has one, reading now and then does not switch power each time."""
    load_tegras(bare, {ORIN: NAMES[ORIN]}, f"delay={600 * SLOW:.0f}")
    bare.load("gpulens")
    first = number(bare, "resumes")
    assert first == 1
    for _ in range(6):
        time.sleep(0.2 * SLOW)
        assert shape(bare.read("/proc/gpu0/runlist0")) == DEMO
    assert (number(bare, "resumes"), number(bare, "suspends")) == (first, first - 1)
    until(lambda: asleep(bare), "it never sleeps")


def test_a_driver_that_manages_no_power_is_trusted(bare: Guest) -> None:
    """A driver without runtime power management keeps the GPU awake while it is bound."""
    load_tegras(bare, {ORIN: NAMES[ORIN]}, "pm=0")
    bare.load("gpulens")
    assert shape(bare.read("/proc/gpu0/runlist0")) == DEMO
    assert number(bare, "resumes") == 0


def test_a_removed_device_is_an_error_code_and_comes_back(tegras: Guest) -> None:
    """After the Tegras' module is gone, open files and new ones give ENODEV; the PCI GPU goes on. When it is there
    again, so are the GPUs, under their numbers."""
    text = tegras.check("""exec 3</proc/gpu0/runlist0 4>/proc/gpu0/preempt_tsg; rmmod tegra
        cat <&3; echo "read: $?"; echo 0:3 >&4; echo "write: $?" """, timeout=60)
    assert text.count("No such device") == 2
    assert "read: 1" in text and "write: 1" in text
    assert answer(tegras, "chip").split()[-1] == "ENODEV"
    assert tegras.read("/proc/gpu4/chip")
    load_tegras(tegras, NAMES)
    for gpu, name in enumerate(NAMES.values()):
        until(lambda: tegras.run(f"cat /proc/gpu{gpu}/chip")[0] == 0, "it is not found again")  # pylint: disable=W0640
        assert name in tegras.read(f"/proc/gpu{gpu}/chip")
    assert shape(tegras.read("/proc/gpu0/runlist0")) == DEMO
    assert len(tegras.check("ls -d /proc/gpu*").split()) == 5


def test_a_gpu_without_its_driver_is_not_touched(tegras: Guest) -> None:
    """Unbinding the driver, who alone can power it, makes the GPU ENODEV without an access; binding it again helps."""
    tegras.check("echo 0 >/sys/module/tegra/parameters/gate")
    tegras.read("/proc/gpu0/runlist0")
    tegras.check(f"echo {NAMES[ORIN]} >/sys/bus/platform/drivers/tegra-test/unbind")
    tegras.emu[ORIN].cmd({"cmd": "reset-counts"})
    assert answer(tegras, "runlist0").split()[-1] == "ENODEV"
    assert answer(tegras, "preempt_tsg", "write 0:3").split()[-1] == "ENODEV"
    time.sleep(0.3)
    assert accesses(tegras.emu[ORIN]) == 0
    tegras.check(f"echo {NAMES[ORIN]} >/sys/bus/platform/drivers/tegra-test/bind")
    until(lambda: tegras.run("cat /proc/gpu0/chip")[0] == 0, "it is not found again")
    assert shape(tegras.read("/proc/gpu0/runlist0")) == DEMO


def test_without_a_driver_at_loading_it_is_found_later(bare: Guest) -> None:
    """gpulens first, then the Tegra: it gets the next number, since the PCI GPU has 0 by then. Its name here is Orin's
    in the kernel of kernel.org."""
    bare.load("gpulens")
    assert bare.check("ls -d /proc/gpu*").split() == ["/proc/gpu0"]
    load_tegras(bare, {ORIN: "17000000.gpu"})
    until(lambda: bare.run("cat /proc/gpu1/chip")[0] == 0, "it is not found")
    assert "17000000.gpu" in bare.read("/proc/gpu1/chip")
    assert shape(bare.read("/proc/gpu1/runlist0")) == DEMO


def test_coming_and_going_under_readers(tegras: Guest) -> None:
    """Twenty times the device goes and comes back while four readers read without pause: each ends, with a whole list
    or with an error."""
    text = tegras.check("""for reader in 1 2 3 4; do
        (while [ ! -e /tmp/stop ]; do cat /proc/gpu0/runlist0 >/tmp/cycle.$reader 2>/dev/null && {
            grep -c 'Channel Info' /tmp/cycle.$reader; }; done) &
        done
        for n in $(seq 20); do echo 0 >/sys/module/tegra/parameters/cycle; usleep 150000; done
        touch /tmp/stop; wait; rm -f /tmp/stop /tmp/cycle.*""", timeout=120)
    assert set(text.split()) == {"10"}
    until(lambda: tegras.run("cat /proc/gpu0/chip")[0] == 0, "it is not found again")
    assert shape(tegras.read("/proc/gpu0/runlist0")) == DEMO
    until(lambda: asleep(tegras), "it stays awake")
