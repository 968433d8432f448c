# SPDX-License-Identifier: GPL-2.0
"""The kernel's own driver, nouveau, on emulated GPUs, with gpulens beside it: a driver that this project did not write
makes page tables, instance blocks, channels and runlists, and its log says what it thinks of the emulated GPU. Any
warning of the kernel, such as the one at each of nouveau's time limits, ends the guest (panic_on_warn). scripts/test
runs the short tests on two GPUs; make test-drivers runs all tests, on three. Each test finds nouveau loaded and gpulens
not, whatever ran before. The modules come from Debian's package of the guest's kernel. docs/drivers.md."""

import os
import re
import time
from collections.abc import Iterator

import pytest

from lib import nouveau
from lib.guest import SLOW, Guest, interrupt_folder, pci_address, pci_folder
from support.vm.cards import wait_until
from support.vm.driven import ABSENT, LOAD_LIMIT, Card, count_work, list_unmodelled, load_nouveau, make_guest, read_log

# pylint: disable=redefined-outer-name

ALL = "GPULENS_DRIVERS" in os.environ  # make test-drivers
READS = int(os.environ.get("GPULENS_DRIVER_READS", "50"))  # of each file, in the longest test
GROUP = 8  # files of one readloop, which knows a limited number
UNLOAD_LIMIT = 10  # seconds; nouveau waits 15 for a channel that does not do its work
SUSPEND_LIMIT = 300  # seconds: nouveau copies 2 MiB of each GPU's memory word by word, and back
# Word 4 of RAMFC, which nouveau writes into each channel's instance block (gpfifogk104.c, gpfifogv100.c).
SIGNATURE = 0xface
# While a GPU suspends, a processor does nothing else, for longer than the kernel's watchdogs allow. What the kernel
# says meanwhile reaches the console.
APPEND = "nosoftlockup rcupdate.rcu_cpu_stall_suppress=1 no_console_suspend"

long = pytest.mark.skipif(not ALL, reason="make test-drivers runs the longer tests with nouveau")


# nouveau places nothing in the first 256 KiB and the last 1 MiB of a GPU's memory (subdev/fb/ramgf100.c).
CARDS = (Card(0, "gp106", "NVIDIA GP106 (136000a1)", "fb: 3072 MiB GDDR5", 3072 << 20),
         Card(1, "tu102", "NVIDIA TU102 (162000a1)", "fb: 11264 MiB GDDR5", 11264 << 20),
         Card(2, "gv100", "NVIDIA GV100 (140000a1)", "fb: 12288 MiB GDDR5", 12288 << 20))[:3 if ALL else 2]
FILES = "$(find /proc/gpu[0-9]/ -type f -perm -400 ! -name samples)"


@pytest.fixture(scope="module")
def machine() -> Iterator[Guest]:
    """A guest with these GPUs, into which nouveau was loaded."""
    with make_guest(CARDS, ALL, 7200 if ALL else 900, APPEND) as guest:
        print(f"nouveau was loaded in {load_nouveau(guest):.1f} s")
        yield guest


@pytest.fixture
def driven(machine: Guest) -> Guest:
    """nouveau drives the GPUs, and gpulens is not loaded, also where a test before failed halfway."""
    loaded = re.findall(r"^(\w+) ", machine.read("/proc/modules"), re.M)
    if "gpulens" in loaded:
        machine.unload()
    if machine.run("ls -d /sys/bus/pci/drivers/nouveau/0000:*")[1].count("\n") != len(CARDS):
        if "nouveau" in loaded:
            machine.check("rmmod nouveau", timeout=30)
        machine.check("echo 1 >/sys/bus/pci/rescan")
        load_nouveau(machine)
    return machine


@pytest.fixture
def watched(driven: Guest) -> Iterator[Guest]:
    """The same, gpulens loaded."""
    driven.load("gpulens", "control=1")
    yield driven
    driven.unload()


@pytest.mark.parametrize("card", CARDS, ids=[card.profile for card in CARDS])
def test_it_starts_without_an_error(driven: Guest, card: Card) -> None:
    """All that nouveau says of the GPU is known: no error of fifo, mmu, bar, ce or another unit. Seen failing: with
    TSG_PREEMPT_COMPLETE in Turing's INTR_0 ("fifo: INTR 10000000"); on Pascal without devinit's bit at 0x2240c."""
    assert read_log(driven, card) == card.expect_log()


@pytest.mark.parametrize("card", CARDS, ids=[card.profile for card in CARDS])
def test_interrupts_arrive(driven: Guest, card: Card) -> None:
    """nouveau's handler of the GPU was called. Seen failing: without --irq."""
    lines = [line.split() for line in driven.read("/proc/interrupts").splitlines() if line.endswith("nvkm")]
    assert len(lines) == len(CARDS)
    assert int(lines[card.index][1]) + int(lines[card.index][2]) > 0


@pytest.mark.parametrize("card", CARDS, ids=[card.profile for card in CARDS])
def test_what_is_not_modelled(driven: Guest, card: Card) -> None:
    """The emulator's list of registers that nouveau touched and no unit models is the one of emulator/README.md: the
    VGA index and data ports of a display, which these GPUs lack. Seen failing: with the GPIO registers, before they
    were there."""
    assert list_unmodelled(driven, card) == ABSENT


@pytest.mark.parametrize("card", CARDS, ids=[card.profile for card in CARDS])
def test_gpulens_shows_its_channel(watched: Guest, card: Card) -> None:
    """The runlist that nouveau wrote has one TSG with one channel, both with id 0, and where gpulens says that its
    instance block is, there is the signature that nouveau writes. Seen failing: with a PCCSR that shows the next
    page."""
    text = watched.read(f"/proc/gpu{card.index}/runlist0")
    base = int(re.search(r"^List: base (0x\w+), target vid, entries 2, pending 0$", text, re.M).group(1), 16)
    inst = int(re.search(r"\| Inst: (0x\w+)\|\n *\| Target: +vid\|", text).group(1), 16)
    page_directory = int(re.search(r"\| PDB: +(0x\w+)\|\n *\| Target: +vid\|\n *\| Pages: +v2\|", text).group(1), 16)
    for address in (base, inst, page_directory):
        assert 256 << 10 <= address < card.bytes - (1 << 20) and address % 4096 == 0, hex(address)
    assert re.findall(r"TSG Entry (\d+)", text) == ["0"] and re.findall(r"Channel Info (\d+)", text) == ["0"]
    assert "| Enabled:           1|" in text and "| Bound:             1|" in text
    words = watched.emu[card.index].cmd({"cmd": "peek", "ap": "vid", "addr": inst, "words": 5})["words"]
    assert words[4] == SIGNATURE


@pytest.mark.parametrize("card", CARDS, ids=[card.profile for card in CARDS])
def test_gpulens_shows_its_bars(watched: Guest, card: Card) -> None:
    """BAR1 and BAR2 go through page tables that nouveau wrote, and the runlist is seen through BAR2 where gpulens says.
    Seen failing: with a BAR2 block that reads as the next page."""
    text = watched.read(f"/proc/gpu{card.index}/bars")
    assert len(re.findall(r"^BAR[12]: +virtual, page directory 0x\w+ \(vid\), pages v2$", text, re.M)) == 2, text
    base, offset = re.search(r"^runlist 0 +(0x\w+) \(vid\): BAR2\+(0x\w+)$", text, re.M).groups()
    found = watched.emu[card.index].cmd({"cmd": "translate", "bar": 2, "va": int(offset, 16)})
    assert found["mapped"] and found["addr"] == int(base, 16)


def check_shown(guest: Guest, card: Card) -> None:
    """gpulens shows the channel that nouveau has for copies, enabled and bound."""
    text = guest.read(f"/proc/gpu{card.index}/runlist0")
    assert "entries 2, pending 0" in text and re.findall(r"Channel Info (\d+)", text) == ["0"]
    assert "| Enabled:           1|" in text and "| Bound:             1|" in text


def test_nouveau_is_unloaded_and_loaded_beside_gpulens(watched: Guest) -> None:
    """nouveau waits for its channel before it goes: Host releases a semaphore and interrupts. Afterwards its runlist is
    empty; loaded again, it says what it says at first. Seen failing without --execute ("failed to idle channel 0",
    after 15 s)."""
    began = time.monotonic()
    watched.check("rmmod nouveau", timeout=30)
    assert time.monotonic() - began < UNLOAD_LIMIT * SLOW
    for card in CARDS:
        work = count_work(watched, card)
        assert work["releases"] > 0 and (work["faults"], work["ignored"], work["refused_writes"]) == (0, [], 0)
        assert watched.read(f"/proc/gpu{card.index}/runlist0").endswith(", entries 0, pending 0\n! empty\n")
    load_nouveau(watched)
    for card in CARDS:
        assert read_log(watched, card) == card.expect_log()
        check_shown(watched, card)


def test_a_channel_that_was_disabled_and_enabled_does_its_work(watched: Guest) -> None:
    """nouveau waits for its last work before it goes, and finds nothing wrong. Seen failing without enable_channel."""
    for card in CARDS:
        watched.check(f"echo 0 >/proc/gpu{card.index}/disable_channel")
        assert "| Enabled:           0|" in watched.read(f"/proc/gpu{card.index}/runlist0")
        watched.check(f"echo 0 >/proc/gpu{card.index}/enable_channel")
    began = time.monotonic()
    watched.check("rmmod nouveau", timeout=30)
    assert time.monotonic() - began < UNLOAD_LIMIT * SLOW
    for card in CARDS:
        assert count_work(watched, card)["faults"] == 0
    assert "failed to idle" not in watched.check("dmesg")


@long
def test_they_are_loaded_and_unloaded_in_every_order(driven: Guest) -> None:
    """The four orders of two loads and two unloads in which both are loaded for a time. nouveau says nothing else at
    its end. Seen failing with a line of nouveau that was not expected."""
    driven.check("rmmod nouveau", timeout=30)
    for order in ("nouveau gpulens nouveau gpulens", "nouveau gpulens gpulens nouveau",
                  "gpulens nouveau gpulens nouveau", "gpulens nouveau nouveau gpulens"):
        loaded: set[str] = set()
        for name in order.split():
            if name in loaded:
                driven.check(f"rmmod {name}", timeout=60)
                loaded.remove(name)
                continue
            if name == "nouveau":
                load_nouveau(driven)
            else:
                driven.load()
            loaded.add(name)
            for card in CARDS:
                if loaded == {"nouveau", "gpulens"}:
                    check_shown(driven, card)
        for card in CARDS:
            assert read_log(driven, card) == card.expect_log(), order


@long
@pytest.mark.parametrize("card", CARDS, ids=[card.profile for card in CARDS])
def test_a_gpu_is_unbound_and_bound(watched: Guest, card: Card) -> None:
    """By the driver model. gpulens keeps the GPU, whose runlist is empty between. Seen failing with a PMC_ENABLE
    without effect: the guest's kernel crashed in nouveau's handler of interrupts."""
    driver, where = "/sys/bus/pci/drivers/nouveau", pci_address(card.index)
    watched.check(f"echo {where} >{driver}/unbind", timeout=60)
    assert watched.read(f"/proc/gpu{card.index}/runlist0").endswith("! empty\n")
    watched.check(f"echo {where} >{driver}/bind", timeout=LOAD_LIMIT)
    assert read_log(watched, card) == card.expect_log()
    check_shown(watched, card)


def find_again(guest: Guest, folders: list[str]) -> None:
    """Has the PCI core remove these devices and find them again: it resumes them after all others."""
    for folder in folders:
        guest.check(f"echo 1 >{folder}/remove", timeout=60)
    guest.check("echo 1 >/sys/bus/pci/rescan", timeout=LOAD_LIMIT)


@long
@pytest.mark.parametrize("removed", [False, True], ids=["as-booted", "removed-before"])
def test_system_suspend(watched: Guest, removed: bool) -> None:
    """Suspend to idle as far as the devices (pm_test): nouveau saves what it has in GPU memory, restores it and
    starts the GPUs anew. Each channel is back, and interrupts arrive: nouveau can be unloaded. A device on the line of
    a GPU that resumes before it ends the guest: nouveau's handler then reads ones and warns (nvkm_mc_intr), as it would
    on a card. Seen failing where nothing was suspended, and so where only the GPUs were removed."""
    if removed:
        find_again(watched, [pci_folder(card.index) for card in CARDS])
        watched.check("rm /tmp/vport*")
        find_again(watched, [interrupt_folder(card.index) for card in CARDS])
        watched.check(f"{nouveau.READ_LINES} </dev/null >/dev/null 2>&1")
    watched.check("echo 0 >/sys/power/pm_async; echo devices >/sys/power/pm_test; echo freeze >/sys/power/state",
                  timeout=SUSPEND_LIMIT)
    assert watched.read("/sys/power/suspend_stats/success").strip() == ("2" if removed else "1")
    for card in CARDS:
        check_shown(watched, card)
        assert count_work(watched, card)["faults"] == 0
        assert list_unmodelled(watched, card) == ABSENT
    began = time.monotonic()
    watched.check("rmmod nouveau", timeout=30)
    assert time.monotonic() - began < UNLOAD_LIMIT * SLOW
    load_nouveau(watched)


@long
def test_runtime_suspend(watched: Guest) -> None:
    """nouveau suspends GPUs that are not used (runpm=1). gpulens, which knows them from before, does not wake one: its
    runlist has no data. Used again, the GPU has its channel. Seen failing with runpm=0: it stays active."""
    watched.check("rmmod nouveau", timeout=30)
    try:
        watched.check(f"{nouveau.START} runpm=1", timeout=LOAD_LIMIT + SUSPEND_LIMIT)
        for card in CARDS:
            status = f"{pci_folder(card.index)}/power/runtime_status"
            watched.check(f"while ! grep -q suspended {status}; do sleep 1; done", timeout=SUSPEND_LIMIT)
            assert watched.run(f"tryop read /proc/gpu{card.index}/runlist0")[1].strip() == "read ENODATA"
        for card in CARDS:
            watched.check(f"echo on >{pci_folder(card.index)}/power/control", timeout=SUSPEND_LIMIT)
            check_shown(watched, card)
            assert count_work(watched, card)["faults"] == 0
    finally:
        watched.check("rmmod nouveau", timeout=SUSPEND_LIMIT)


@long
@pytest.mark.parametrize("card", CARDS, ids=[card.profile for card in CARDS])
def test_a_gpu_is_removed_and_found_again(watched: Guest, card: Card) -> None:
    """By the PCI core, under both. Without the GPU its files have nothing; found again, it has its number and its
    channel. Seen failing with a line of nouveau that was not expected."""
    def read_list() -> str:
        return watched.run(f"tryop read /proc/gpu{card.index}/runlist0")[1].strip()

    watched.check(f"echo 1 >{pci_folder(card.index)}/remove", timeout=60)
    assert read_list() in ("read ENODEV", "open ENOENT")
    watched.check("echo 1 >/sys/bus/pci/rescan", timeout=LOAD_LIMIT)
    wait_until(lambda: read_list().startswith("OK"), "gpulens does not find it")
    assert read_log(watched, card) == card.expect_log()
    check_shown(watched, card)


@long
def test_files_are_read_while_nouveau_makes_and_destroys_channels(watched: Guest) -> None:
    """Every file is read READS times while nouveau is loaded and unloaded, which makes and destroys its channels and
    address spaces, and uses its window and BARs meanwhile. No read fails, no work of a channel faults, and nouveau says
    each time what it says at first."""
    count = int(watched.check(f"echo {FILES} | wc -w"))
    watched.check(f"(echo {FILES} | xargs -n {GROUP} readloop 1 {READS * GROUP} >/tmp/reads 2>/tmp/differences; "
                  "touch /tmp/done) </dev/null >/dev/null 2>&1 &")
    cycles = 0
    while watched.run("ls /tmp/done")[0] != 0:
        watched.check("rmmod nouveau", timeout=60)
        load_nouveau(watched)
        cycles += 1
        for card in CARDS:
            assert read_log(watched, card) == card.expect_log()
            assert count_work(watched, card)["faults"] == 0
    failed = re.findall(rf"^reads {READS * GROUP} different \d+ failed (\d+) ", watched.read("/tmp/reads"), re.M)
    assert len(failed) == -(-count // GROUP) and set(failed) == {"0"}, watched.read("/tmp/differences")
    print(f"{READS} reads of {count} files in {cycles} loads of nouveau")
    assert cycles > 0


@long
def test_a_disabled_channel_stops_nouveau(watched: Guest) -> None:
    """nouveau waits 15 s for the work of a channel that gpulens has disabled, says so, and gives up; of the other GPUs
    it says nothing. Seen failing without disable_channel. The last test, since nouveau leaves work behind."""
    watched.check("echo 0 >/proc/gpu0/disable_channel")
    watched.check("rmmod nouveau", timeout=60)
    given_up = re.findall(r"nouveau (\S+): DRM: failed to idle channel 0", watched.check("dmesg"))
    assert given_up == [pci_address(0)]
    load_nouveau(watched)
