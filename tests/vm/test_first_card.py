# SPDX-License-Identifier: GPL-2.0
"""gpulens first-card with the module, on emulated cards of several generations: beside answers of an H200's driver,
with faults of the card, and ended by signals. What needs no kernel: tests/cli/test_first_card.py; beside nouveau:
test_nouveau.py."""

import pathlib
import re
from collections.abc import Iterator

import pytest

from lib import fake_driver, paths
from lib.guest import Gpu, Guest, pci_address
from support.vm.cards import run_tool, scenario, wait_until

# pylint: disable=redefined-outer-name

GPUS = (*(Gpu(name, scenario("slices-two")) for name in ("gh100", "gk104", "gp106", "tu102", "ad102")), Gpu("gb202"))
FILE = "/tmp/card.image"
COMMAND = f"first-card --module /modules/gpulens.ko --yes -o {FILE}"


@pytest.fixture(scope="module")
def machine() -> Iterator[Guest]:
    """A guest with six cards, the tool, and what is needed for a driver of the first one; gpulens is not loaded."""
    with Guest(GPUS, mem=512, programs=[paths.tool()], limit=1800) as guest:
        yield guest


@pytest.fixture(scope="module")
def driver(machine: Guest) -> str:
    """The words before a command that is to meet the fake of NVIDIA's driver."""
    return fake_driver.install_files(machine, GPUS[:1])


def run_command(guest: Guest, words: str, before: str = "") -> tuple[int, str]:
    """Exit status and output of the command, which leaves neither the module nor a file but the one asked for."""
    guest.check("rm -rf /tmp/out && mkdir /tmp/out")
    status, out = guest.run(f"cd /tmp/out; {before}gpulens {words}", timeout=120)
    assert guest.run("grep -q '^gpulens ' /proc/modules")[0] == 1, out
    assert not guest.check("ls /tmp/out")
    return status, out


def facts_of(text: str) -> dict[str, tuple[str, str]]:
    """By fact: the result and the value."""
    return {fact: (result, value) for fact, result, value in re.findall(
        r"^(\S+(?: \S+)*) {2,}(equal|different|not comparable) +(.+)$", text, re.M)}


def find_differences(text: str) -> dict[str, str]:
    """The facts that differ, with the values."""
    return {fact: value for fact, (result, value) in facts_of(text).items() if result == "different"}


@pytest.mark.parametrize("index", range(len(GPUS)), ids=[gpu.profile for gpu in GPUS])
def test_the_file_shows_the_card(machine: Guest, index: int, tmp_path: pathlib.Path) -> None:
    """Without a driver: nothing differs, PCI ids are equal, and the file shows what /proc/gpuX/image shows, but for the
    place on the bus. With --runlists it has the channels."""
    status, out = run_command(machine, f"-g {index} {COMMAND} --runlists")
    assert status == 0 and not find_differences(out), out
    assert facts_of(out)["PCI ids"][0] == "equal"
    (tmp_path / "card.image").write_text(machine.read(FILE))
    machine.load("gpulens", "control=0")
    try:
        (tmp_path / "own.image").write_text(machine.read(f"/proc/gpu{index}/image"))
    finally:
        machine.unload()
    text, own = (run_tool(tmp_path / f"{name}.image", "isolation").stdout for name in ("card", "own"))
    assert text.replace("0000:00:00.0", pci_address(index)).replace("card.image", "own.image") == own
    assert pci_address(index) not in (tmp_path / "card.image").read_text()
    if GPUS[index].scenario:
        assert facts_of(out)["instance blocks"][0] == "equal"


def test_an_h200_and_its_driver_agree(machine: Guest, driver: str) -> None:
    """All that the answers of an H200's driver are comparable with is equal, also after the second load."""
    status, out = run_command(machine, f"-g 0 {COMMAND} --runlists", driver)
    facts = facts_of(out)
    assert status == 0 and {fact for fact, (result, _) in facts.items() if result == "not comparable"} == {"BOOT_0"}
    assert not find_differences(out) and len(facts) == 13, out
    stops = re.findall(r"^Longest stop of all processors: .*, of (\d+) stops$", out, re.M)
    assert len(stops) == 2 and int(stops[1]) > int(stops[0])
    assert out.count("PRI errors: 0 of ") == 2


@pytest.mark.parametrize("fact, plant, expected", [
    ("runlists", "s/\"runlist_id\": 10/\"runlist_id\": 9/", "gpulens: LCE4 0xa; driver: LCE4 0x9"),
    ("memory size", "s/\"fb_total_ram_kib\": 147221504/\"fb_total_ram_kib\": 147220480/",
     "gpulens: 147221504 KiB; driver: 147220480 KiB"),
    ("channels of runlists", "s/\"channels\": \\[40, /\"channels\": [/",
     "gpulens: channel 1:40 on the runlist; driver: channel 1:40 not allocated"),
])
def test_one_planted_difference_is_found_and_no_other(machine: Guest, driver: str, fact: str, plant: str,
                                                      expected: str) -> None:
    """One value in the driver's tables is another one."""
    machine.check(f"cp /tmp/driver/recording.json /tmp/kept && sed -i '{plant}' /tmp/driver/recording.json && "
                  "! cmp -s /tmp/kept /tmp/driver/recording.json")
    try:
        status, out = run_command(machine, f"-g 0 {COMMAND} --runlists", driver)
    finally:
        machine.check("cp /tmp/kept /tmp/driver/recording.json")
    assert (status, find_differences(out)) == (1, {fact: expected})


def test_faults_of_the_card_are_found(machine: Guest, driver: str) -> None:
    """Another number of a TPC's fuse, or a code of a failed read there: the TPCs differ, or cannot be compared, and the
    read is counted. PTOP 0x224fc and the fuses are of profiles/gh100.json."""
    emu = machine.emu[0]
    text = machine.read(FILE)
    fuse = re.search(r"^r (0x0082[0-9a-f]{4}) 0x00000004$", text, re.M)  # of GPC 1: TPC 2 is disabled
    assert fuse, text[:3000]
    try:
        emu.cmd({"cmd": "fault", "kind": "bad-read", "off": int(fuse[1], 16), "value": 0xC})
        assert find_differences(run_command(machine, f"-g 0 {COMMAND}", driver)[1]) == {
            "TPCs of GPCs": "gpulens: 7 8 8 8 8 8 9 9; driver: 8 8 8 8 8 8 9 9"}
        emu.cmd({"cmd": "fault", "kind": "bad-read", "off": int(fuse[1], 16), "value": 0xBADF1100})
        out = run_command(machine, f"-g 0 {COMMAND}", driver)[1]
    finally:
        emu.cmd({"cmd": "fault", "kind": "none"})
    assert re.search(rf"^PRI errors: 1 of \d+ registers: {int(fuse[1], 16):#x}$", out, re.M), out
    assert facts_of(out)["TPCs of GPCs"][0] == "not comparable" and not find_differences(out)


@pytest.mark.parametrize("name", ["INT", "TERM", "KILL"])
def test_a_signal_unloads_the_module(machine: Guest, name: str) -> None:
    """While a slow card is read (each access takes 300 us): the module is unloaded, and there is no file."""
    machine.check(f"rm -f {FILE}")
    machine.emu[0].cmd({"cmd": "fault", "kind": "slow", "ns": 300_000})
    try:
        machine.check(f"gpulens -g 0 {COMMAND} >/tmp/said 2>&1 & echo $! >/tmp/pid")
        wait_until(lambda: machine.run("test -e /proc/gpu0/image")[0] == 0, "the module was not loaded")
        machine.check(f"kill -{name} $(cat /tmp/pid)")
        wait_until(lambda: machine.run("test -e /sys/module/gpulens")[0] == 1, "the module stays loaded")
        assert machine.run(f"test -e {FILE}")[0] == 1, machine.read("/tmp/said")
    finally:
        machine.emu[0].cmd({"cmd": "fault", "kind": "none"})


def test_a_loaded_module_stays(machine: Guest) -> None:
    """It is refused, and the module is as it was."""
    machine.load()
    try:
        status, out = machine.run(f"gpulens -g 0 {COMMAND}")
        assert status == 4 and "the module is loaded already" in out
        assert machine.read("/sys/module/gpulens/parameters/vram") == "on\n"
    finally:
        machine.unload()
