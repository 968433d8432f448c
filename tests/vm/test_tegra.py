# SPDX-License-Identifier: GPL-2.0
"""Tegra GPUs: platform devices over emulated BARs (tests/support/kmod/tegra), with runtime power management as in
nvgpu's driver, and all data structures in system memory. The BAR0 of a suspended GPU reads as all ones (parameter
"gate"), so that a file with correct contents was read while the GPU was awake."""

import re
import time
from collections.abc import Iterator
from typing import Any

import pytest

from lib import paths
from lib.guest import SLOW, Gpu, Guest, pci_address
from support.vm.cards import count_accesses, healthy, wait_until
from support.vm.formats import CONTROL_FILE, parse_runlist, shape
from support.vm.soc import give_memory, load_scenario_with, load_tegras, read_parameter

# emulators: a PCI GPU with the lowest PCI address, then the Tegras
CHIPS = ("gp106", "ga10b", "gm20b", "gp10b", "gv11b")
NAMES = {1: "17000000.ga10b", 2: "57000000.gpu", 3: "17000000.gp10b", 4: "17000000.gv11b"}
ORIN = 1  # its emulator; it is /proc/gpu0
DEMO = [(3, [8, 9, 10]), (4, [11]), (5, [16, 17]), (6, [24, 25, 26]), (7, [27])]  # runlist 0 of demo-ga10b


@pytest.fixture(scope="module")
def machine() -> Iterator[Guest]:
    """The guest with all GPUs and their memory, without any Tegra device and without gpulens."""
    # the PCI GPU has another scenario, so that it cannot be mistaken for a Tegra
    with Guest([Gpu(name, "minimal" if name == "gp106" else None) for name in CHIPS], mem=512) as guest:
        give_memory(guest, list(NAMES), soc=True)
        yield guest
        healthy(guest)


def reset_scenarios(guest: Guest) -> None:
    """Removes faults and loads every scenario again."""
    for index in NAMES:
        guest.emu[index].cmd({"cmd": "fault", "kind": "none"})
        load_scenario_with(guest, index, str(paths.SCENARIOS / f"demo-{CHIPS[index]}.json"), {})


@pytest.fixture
def tegras(machine: Guest) -> Iterator[Guest]:  # pylint: disable=redefined-outer-name
    """The four Tegras, gpu0 to gpu3, which are suspended as soon as they are unused; gpu4 is the PCI GPU."""
    reset_scenarios(machine)
    load_tegras(machine, NAMES)
    machine.load("gpulens", "control=1")
    yield machine
    machine.unload()
    if "tegra " in machine.read("/proc/modules"):
        machine.unload("tegra")


@pytest.fixture
def bare(machine: Guest) -> Iterator[Guest]:  # pylint: disable=redefined-outer-name
    """For tests that load the modules themselves."""
    reset_scenarios(machine)
    yield machine
    for name in ("gpulens", "tegra"):
        if f"{name} " in machine.read("/proc/modules"):
            machine.unload(name)


def read_counter(guest: Guest, name: str, tegra: int = 0) -> int:
    """A counter of the test driver."""
    return int(read_parameter(guest, "tegra", name)[tegra])


def is_asleep(guest: Guest, tegra: int = 0) -> bool:
    """Whether a Tegra is suspended now."""
    return read_parameter(guest, "tegra", "asleep")[tegra] == "1"


def try_operation(guest: Guest, name: str, words: str = "read") -> str:
    """The result of one operation on a file of gpu0."""
    verb, _, text = words.partition(" ")
    return guest.run(f"tryop {verb} /proc/gpu0/{name} {text}")[1].strip()


def test_platform_gpus_are_numbered_first_and_have_their_device_names(tegras: Guest) -> None:
    """gpu0 to gpu3 are the Tegras in the order of the platform bus, though the PCI GPU has the lowest PCI address."""
    devices = []
    for gpu in range(5):
        lines = dict(re.split(r": +", line, maxsplit=1) for line in tegras.read(f"/proc/gpu{gpu}/chip").splitlines())
        devices.append((lines["Chip"].split()[0], lines["Device"], lines["BOOT_0"]))
    # BOOT_0: chip ids by open-gpu-kernel-modules nv_arch.h, linux-nvgpu gk20a.h NVGPU_GPUID_GA10B
    assert devices == [("GA10B", "17000000.ga10b", "0x17b000a1"), ("GM20B", "57000000.gpu", "0x12b000a1"),
                       ("GP10B", "17000000.gp10b", "0x13b000a1"), ("GV11B", "17000000.gv11b", "0x15b000a1"),
                       ("GP106", pci_address(0), "0x136000a1")]


def test_orin_has_the_engines_of_rtas24_table_3(tegras: Guest) -> None:
    """device_info of GA10B equals RTAS'24 Table III: Copy Engine 3 and Graphics/Compute 1 are both on runlist 2.
    (Section V.D says that only runlist 0 has several engines; the table counts.)"""
    rows = [line.split() for line in tegras.read("/proc/gpu0/device_info").splitlines()[1:]]
    found = {(" ".join(row[:-9]), row[-7]) for row in rows}
    assert found == {("Graphics/Compute 0", "0"), ("[Graphics] Copy Engine 0 (GRCE0/LCE0)", "0"),
                     ("[Graphics] Copy Engine 1 (GRCE1/LCE1)", "0"), ("Copy Engine 2 (LCE2)", "1"),
                     ("Copy Engine 3 (LCE3)", "2"), ("Graphics/Compute 1", "2")}
    assert len(rows) == 6  # linux-nvgpu hw_proj_ga10b.h


@pytest.mark.parametrize("gpu, last", [(0, "0:2047"), (1, "511"), (2, "511"), (3, "511")],
                         ids=["GA10B", "GM20B", "GP10B", "GV11B"])
def test_limits_of_channel_ids(tegras: Guest, gpu: int, last: str) -> None:
    """512 channels (linux-nvgpu hw_ccsr_gm20b.h, _gp10b.h, _gv11b.h ccsr_channel_inst__size_1_v), 2048 for each runlist
    of GA10B (hw_runlist_ga10b.h): the last id is in range, the next one is not."""
    past = str(512) if last == "511" else "0:2048"
    assert tegras.run(f"tryop write /proc/gpu{gpu}/disable_channel {past}")[1].split() == ["write", "ERANGE"]
    assert tegras.run(f"tryop write /proc/gpu{gpu}/disable_channel {last}")[1].split()[-1] != "ERANGE"


def test_runlists_in_system_memory(tegras: Guest) -> None:
    """Every Tegra's runlist 0 has the TSGs of the demo, with instance blocks where the emulated driver placed them and
    contexts read through page tables; PRAMIN, which a Tegra does not have, is not used."""
    for gpu, index in enumerate(NAMES):
        tegras.emu[index].cmd({"cmd": "reset-counts"})
        text = tegras.read(f"/proc/gpu{gpu}/runlist0")
        ids = [int(number) for number in re.findall(r"Channel Info (\d+) ", text)]
        assert ids[:10] == [8, 9, 10, 11, 16, 17, 24, 25, 26, 27]
        where = {channel["id"]: channel["inst"] for channel in tegras.emu[index].cmd({"cmd": "state"})["channels"]
                 if channel["runlist"] == 0}
        shown = [int(address, 16) for address in re.findall(r"\| Inst: (0x[0-9a-f]+)\|", text)]
        assert shown == [where[number] for number in ids]
        assert all(where.values()) and "unreadable" not in text
        assert len(re.findall(r"= Context State =", text)) == len(ids)
        assert tegras.emu[index].cmd({"cmd": "counts"})["by_region"]["pramin"] == 0
    assert shape(tegras.read("/proc/gpu0/runlist0")) == DEMO
    assert shape(tegras.read("/proc/gpu0/runlist2")) == [(41, [101]), (60, [130, 131])]
    assert shape(tegras.read("/proc/gpu3/runlist1")) == [(40, [100])]


def channels_of_runlist0(tegras: Guest) -> dict[int, dict[str, Any]]:
    """Orin's, by id, as the emulator has them."""
    channels = tegras.emu[ORIN].cmd({"cmd": "state"})["channels"]
    return {channel["id"]: channel for channel in channels if channel["runlist"] == 0}


def test_control(tegras: Guest) -> None:
    """A channel is disabled and enabled, and a preemption mode and a time slice are written into system memory."""
    assert try_operation(tegras, "disable_channel", "write 0:16").startswith("OK")
    state = channels_of_runlist0(tegras)
    assert not state[16]["enabled"] and state[8]["enabled"]
    assert try_operation(tegras, "enable_channel", "write 0:16").startswith("OK")
    assert state[8]["compute_preemption"] == 1  # CTA; 0 is WFI: open-gpu-doc ampere/ga102/dev_ctxsw.ref.txt
    assert try_operation(tegras, "wfi_preempt_channel", "write 0:8").startswith("OK")
    state = channels_of_runlist0(tegras)
    assert state[16]["enabled"] and state[8]["compute_preemption"] == 0
    assert try_operation(tegras, "preempt_tsg", "write 0:3").startswith("OK")
    assert try_operation(tegras, "tsg_timeslice", "write '0:3 2000'").startswith("OK")
    slices = {tsg.id: tsg.fields["Slice"] for tsg in parse_runlist(tegras.read("/proc/gpu0/runlist0"))}
    assert slices.pop(3) == "1998.848us" and "1998.848us" not in slices.values()
    wait_until(lambda: is_asleep(tegras), "it stays awake after a control request")


def test_a_tegra_is_suspended_again_after_a_read(tegras: Guest) -> None:
    """A read resumes it at most twice, for the check that it is present and for the data, not for each access."""
    wait_until(lambda: is_asleep(tegras), "it stays awake after gpulens was loaded")
    before = read_counter(tegras, "resumes")
    tegras.emu[ORIN].cmd({"cmd": "reset-counts"})
    assert shape(tegras.read("/proc/gpu0/runlist0")) == DEMO
    assert count_accesses(tegras.emu[ORIN]) > 10
    wait_until(lambda: is_asleep(tegras), "it stays awake after it was read")
    assert before < read_counter(tegras, "resumes") <= before + 2
    assert read_counter(tegras, "suspends") == read_counter(tegras, "resumes")


def test_a_tegra_stays_awake_during_a_request(tegras: Guest) -> None:
    """While a request waits for the hardware (a preempt that hangs), the GPU is not suspended; afterwards it is."""
    wait_until(lambda: is_asleep(tegras), "it stays awake after gpulens was loaded")
    tegras.emu[ORIN].cmd({"cmd": "scenario", "data": {"processes": [{"name": "one", "tsgs": [
        {"id": 3, "runlist": 0, "timeslice": {"timeout": 255, "scale": 15}, "channels": [{"id": 8}]}]}]}})
    tegras.emu[ORIN].cmd({"cmd": "fault", "kind": "preempt-hangs"})
    before = read_counter(tegras, "resumes")
    text = tegras.check("""tryop write /proc/gpu0/preempt_tsg 0:3 >/tmp/held & writer=$!
        usleep 5000
        while kill -0 $writer 2>/dev/null; do cut -d, -f1 /sys/module/tegra/parameters/asleep; usleep 1000; done
        wait; cat /tmp/held""", timeout=60)
    tegras.emu[ORIN].cmd({"cmd": "fault", "kind": "none"})
    seen, held = text.split()[:-2], text.split()[-2:]
    assert held == ["write", "ETIMEDOUT"]
    first = seen.index("0")
    assert seen[first:first + seen.count("0")] == ["0"] * seen.count("0")
    wait_until(lambda: is_asleep(tegras), "it stays awake after a control request")
    assert read_counter(tegras, "resumes") == before + 1


def test_every_file_is_read_awake(tegras: Guest) -> None:
    """Each file of a suspended GPU has the same contents as that of a GPU that is awake all the time."""
    names = [name for name in tegras.check("cd /proc/gpu0; ls").split()
             if not CONTROL_FILE.search(name) and name not in ("snapshot", "stats", "samples")]
    assert len(names) > 15
    tegras.emu[ORIN].cmd({"cmd": "time", "mode": "virtual", "access_ns": 0})
    try:
        seen = {}
        for name in names:
            wait_until(lambda: is_asleep(tegras), "it stays awake")
            seen[name] = tegras.run(f"cat /proc/gpu0/{name}")
        tegras.check(f"echo on >/sys/bus/platform/devices/{NAMES[ORIN]}/power/control")
        assert not is_asleep(tegras)
        assert seen == {name: tegras.run(f"cat /proc/gpu0/{name}") for name in names}
        refused = {name for name, (status, _) in seen.items() if status != 0}
        assert refused == {"local_memory"}
    finally:
        tegras.emu[ORIN].cmd({"cmd": "time", "mode": "real", "access_ns": 1000})


def test_a_gpu_that_cannot_be_resumed_is_not_accessed(tegras: Guest) -> None:
    """Every file gives ENODEV, also control files, and BAR0 is not accessed, though it would answer here; opening and
    listing files does not resume the GPU. Only stats can be read. Afterwards reads succeed, and the GPU is suspended
    again."""
    wait_until(lambda: is_asleep(tegras), "it stays awake")
    tegras.check("cd /sys/module/tegra/parameters; echo 0 >gate; echo 1 >refuse")
    before = read_counter(tegras, "resumes")
    tegras.check("cat /proc/gpu0/runlist0 >/dev/null 2>&1; true")
    tegras.emu[ORIN].cmd({"cmd": "reset-counts"})
    for name in tegras.check("ls /proc/gpu0").split():
        text = "write '0:8 1000'" if name == "tsg_timeslice" else "write 0:8"
        said = try_operation(tegras, name, text if CONTROL_FILE.search(name) else "read").split()
        if name == "samples":
            assert said[-1] == "EINVAL"
            said = tegras.check("sample -c 100 /proc/gpu0/samples").split()
        assert said[0] == "OK" if name == "stats" else said[-1] == "ENODEV", name
    assert read_counter(tegras, "resumes") == before
    tegras.check("echo 0 >/sys/module/tegra/parameters/refuse")
    tegras.check("ls -l /proc/gpu0 >/dev/null; exec 3</proc/gpu0/runlist0 4>/proc/gpu0/preempt_tsg")
    assert read_counter(tegras, "resumes") == before
    assert count_accesses(tegras.emu[ORIN]) == 0
    assert shape(tegras.read("/proc/gpu0/runlist0")) == DEMO
    assert count_accesses(tegras.emu[ORIN]) > 0
    wait_until(lambda: is_asleep(tegras), "it stays awake after it was read")
    tegras.emu[ORIN].cmd({"cmd": "reset-counts"})
    time.sleep(0.3)
    assert count_accesses(tegras.emu[ORIN]) == 0


def test_autosuspend_counts_from_the_last_read(bare: Guest) -> None:
    """With an autosuspend delay as nvgpu has one, a GPU that is read within the delay stays awake. The machine may take
    two seconds for a read."""
    load_tegras(bare, {ORIN: NAMES[ORIN]}, f"delay={3000 * SLOW:.0f}")
    bare.load("gpulens")
    first = read_counter(bare, "resumes")
    assert first == 1
    for _ in range(4):
        time.sleep(SLOW)
        assert shape(bare.read("/proc/gpu0/runlist0")) == DEMO
    assert (read_counter(bare, "resumes"), read_counter(bare, "suspends")) == (first, first - 1)
    wait_until(lambda: is_asleep(bare), "it never sleeps")


def test_a_gpu_without_runtime_pm_counts_as_awake(bare: Guest) -> None:
    """A driver without runtime power management keeps the GPU awake while it is bound."""
    load_tegras(bare, {ORIN: NAMES[ORIN]}, "pm=0")
    bare.load("gpulens")
    assert shape(bare.read("/proc/gpu0/runlist0")) == DEMO
    assert read_counter(bare, "resumes") == 0


def test_a_removed_device_gives_enodev_until_it_is_attached_again(tegras: Guest) -> None:
    """After the Tegras' driver is unloaded, open files and new ones give ENODEV; the PCI GPU can be read. With the
    driver loaded again, the GPUs are attached under their numbers."""
    text = tegras.check("""exec 3</proc/gpu0/runlist0 4>/proc/gpu0/preempt_tsg; rmmod tegra
        cat <&3; echo "read: $?"; echo 0:3 >&4; echo "write: $?" """, timeout=60)
    assert text.count("No such device") == 2
    assert "read: 1" in text and "write: 1" in text
    assert try_operation(tegras, "chip").split()[-1] == "ENODEV"
    assert tegras.read("/proc/gpu4/chip")
    load_tegras(tegras, NAMES)
    for gpu, name in enumerate(NAMES.values()):
        path = f"/proc/gpu{gpu}/chip"
        wait_until(lambda path=path: tegras.run(f"cat {path}")[0] == 0, "it is not attached again")
        assert name in tegras.read(f"/proc/gpu{gpu}/chip")
    assert shape(tegras.read("/proc/gpu0/runlist0")) == DEMO
    assert len(tegras.check("ls -d /proc/gpu*").split()) == 5


def test_a_gpu_without_its_driver_is_not_accessed(tegras: Guest) -> None:
    """Without its driver, which alone can power it, a GPU gives ENODEV without an access, until the driver is bound
    again."""
    tegras.check("echo 0 >/sys/module/tegra/parameters/gate")
    tegras.read("/proc/gpu0/runlist0")
    tegras.check(f"echo {NAMES[ORIN]} >/sys/bus/platform/drivers/tegra-test/unbind")
    tegras.emu[ORIN].cmd({"cmd": "reset-counts"})
    assert try_operation(tegras, "runlist0").split()[-1] == "ENODEV"
    assert try_operation(tegras, "preempt_tsg", "write 0:3").split()[-1] == "ENODEV"
    time.sleep(0.3)
    assert count_accesses(tegras.emu[ORIN]) == 0
    tegras.check(f"echo {NAMES[ORIN]} >/sys/bus/platform/drivers/tegra-test/bind")
    wait_until(lambda: tegras.run("cat /proc/gpu0/chip")[0] == 0, "it is not attached again")
    assert shape(tegras.read("/proc/gpu0/runlist0")) == DEMO


def test_a_tegra_without_a_driver_at_load_is_attached_later(bare: Guest) -> None:
    """gpulens is loaded before the Tegra's driver: the Tegra gets the number after the PCI GPU's. Its device name is
    that of Orin in the mainline kernel."""
    bare.load("gpulens")
    assert bare.check("ls -d /proc/gpu*").split() == ["/proc/gpu0"]
    load_tegras(bare, {ORIN: "17000000.gpu"})
    wait_until(lambda: bare.run("cat /proc/gpu1/chip")[0] == 0, "it is not attached")
    assert "17000000.gpu" in bare.read("/proc/gpu1/chip")
    assert shape(bare.read("/proc/gpu1/runlist0")) == DEMO


def test_removal_and_return_under_readers(tegras: Guest) -> None:
    """The device is removed and registered again twenty times, and until a read was whole, while four readers read in a
    loop: each read ends with a whole list or an error."""
    tegras.check("""for reader in 1 2 3 4; do
        (while [ ! -e /tmp/stop ]; do cat /proc/gpu0/runlist0 >/tmp/cycle.$reader 2>/dev/null && {
            grep -c 'Channel Info' /tmp/cycle.$reader >>/tmp/read; }; done) &
        done
        n=0
        while [ $((n += 1)) -le 20 ] || [ ! -s /tmp/read ]; do
            echo 0 >/sys/module/tegra/parameters/cycle; usleep 150000; done
        touch /tmp/stop; wait; rm -f /tmp/stop /tmp/cycle.*""", timeout=300)
    assert set(tegras.check("cat /tmp/read; rm /tmp/read").split()) == {"10"}
    wait_until(lambda: tegras.run("cat /proc/gpu0/chip")[0] == 0, "it is not attached again")
    assert shape(tegras.read("/proc/gpu0/runlist0")) == DEMO
    wait_until(lambda: is_asleep(tegras), "it stays awake")
