# SPDX-License-Identifier: GPL-2.0
"""The kernel's own driver, nouveau, comes and goes under gpulens: loaded and unloaded, bound and unbound, GPUs removed,
suspended and resumed; and files are read meanwhile. make test-drivers runs these tests, and scripts/test-debug kasan
those without suspending, on three sets of GPUs that differ in what nouveau has on them (support/vm/driven.py), each in
a guest. Each test finds nouveau loaded and gpulens not, whatever ran before. docs/drivers.md."""

import functools
import os
import re
from collections.abc import Iterator, Sequence

import pytest

from lib import nouveau
from lib.guest import Guest, interrupt_folder, pci_address, pci_folder
from support.vm.cards import wait_until
from support.vm.driven import (ABSENT, DRM, FROM_PASCAL, LOAD_LIMIT, UP_TO_GM107, Card, check_none_shown, check_shown,
                               count_work, list_files, list_unmodelled, load_nouveau, make_guest, read_log,
                               unload_nouveau)

# pylint: disable=redefined-outer-name

pytestmark = pytest.mark.skipif("GPULENS_DRIVERS" not in os.environ,
                                reason="make test-drivers runs the longer tests with nouveau")
# Each GPU takes a minute to suspend and to resume, so that there is one of each generation.
SETS = {"pascal-to-turing": (*FROM_PASCAL[:2], FROM_PASCAL[3]._replace(index=2)),
        "ampere": (FROM_PASCAL[2]._replace(index=0),),
        "up-to-gm107": (UP_TO_GM107[0], UP_TO_GM107[2]._replace(index=1))}
READS = int(os.environ.get("GPULENS_DRIVER_READS", "50"))  # of each file, in the longest test
GROUP = 8  # files of one readloop, which knows a limited number
SUSPEND_LIMIT = 300  # seconds: nouveau copies 2 MiB of each GPU's memory word by word, and back
# While a GPU suspends, a processor does nothing else, for longer than the kernel's watchdogs allow. What the kernel
# says meanwhile reaches the console.
APPEND = "nosoftlockup rcupdate.rcu_cpu_stall_suppress=1 no_console_suspend"


@pytest.fixture(scope="module", params=list(SETS))
def cards(request: pytest.FixtureRequest) -> Sequence[Card]:
    """The GPUs of the guest."""
    return SETS[request.param]


@pytest.fixture(scope="module")
def machine(cards: Sequence[Card]) -> Iterator[Guest]:
    """A guest with these GPUs, into which nouveau was loaded."""
    with make_guest(cards, True, 7200, APPEND) as guest:
        print(f"nouveau was loaded in {load_nouveau(guest):.1f} s")
        yield guest


def try_to_read(guest: Guest, card: Card) -> str:
    """What becomes of a read of runlist 0: "OK" with the text, or the call that failed and its error."""
    return guest.run(f"tryop read /proc/gpu{card.index}/runlist0")[1].strip()


def is_readable(guest: Guest, card: Card) -> bool:
    """gpulens knows the GPU."""
    return try_to_read(guest, card).startswith("OK")


def test_they_are_loaded_and_unloaded_in_every_order(driven: Guest, cards: Sequence[Card]) -> None:
    """The four orders of two loads and two unloads in which both are loaded for a time. nouveau says nothing else at
    its end. Seen failing with a line of nouveau that was not expected."""
    driven.check("rmmod nouveau", timeout=SUSPEND_LIMIT)
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
            for card in cards:
                if loaded == {"nouveau", "gpulens"}:
                    check_shown(driven, card)
        for card in cards:
            assert read_log(driven, card) == card.expect_log(), order


def test_a_gpu_is_unbound_and_bound(watched: Guest, cards: Sequence[Card]) -> None:
    """By the driver model. gpulens keeps the GPU, whose runlist is empty between. Seen failing with a PMC_ENABLE
    without effect: the guest's kernel crashed in nouveau's handler of interrupts."""
    driver = "/sys/bus/pci/drivers/nouveau"
    for card in cards:
        watched.check(f"echo {pci_address(card.index)} >{driver}/unbind", timeout=60)
        check_none_shown(watched, card)
        watched.check(f"echo {pci_address(card.index)} >{driver}/bind", timeout=LOAD_LIMIT)
        assert read_log(watched, card) == card.expect_log()
        check_shown(watched, card)


def find_again(guest: Guest, folders: list[str]) -> None:
    """Has the PCI core remove these devices and find them again: it resumes them after all others."""
    for folder in folders:
        guest.check(f"echo 1 >{folder}/remove", timeout=60)
    guest.check("echo 1 >/sys/bus/pci/rescan", timeout=LOAD_LIMIT)


@pytest.mark.parametrize("removed", [False, True], ids=["as-booted", "removed-before"])
def test_system_suspend(watched: Guest, cards: Sequence[Card], removed: bool) -> None:
    """Suspend to idle as far as the devices (pm_test): nouveau saves what it has in GPU memory, restores it and
    starts the GPUs anew. Each channel is back, and interrupts arrive: nouveau can be unloaded. A device on the line of
    a GPU that resumes before it ends the guest: nouveau's handler then reads ones and warns (nvkm_mc_intr), as it would
    on a card. Seen failing where nothing was suspended, and so where only the GPUs were removed."""
    if removed:
        find_again(watched, [pci_folder(card.index) for card in cards])
        watched.check("rm /tmp/vport*")
        find_again(watched, [interrupt_folder(card.index) for card in cards])
        watched.check(f"{nouveau.READ_LINES} </dev/null >/dev/null 2>&1")
    watched.check("echo 0 >/sys/power/pm_async; echo devices >/sys/power/pm_test; echo freeze >/sys/power/state",
                  timeout=SUSPEND_LIMIT)
    assert watched.read("/sys/power/suspend_stats/success").strip() == ("2" if removed else "1")
    for card in cards:
        check_shown(watched, card)
        assert count_work(watched, card)["faults"] == 0
        assert list_unmodelled(watched, card) == ABSENT
    unload_nouveau(watched)
    load_nouveau(watched)


def test_runtime_suspend(watched: Guest, cards: Sequence[Card]) -> None:
    """nouveau suspends GPUs that are not used (runpm=1). gpulens, which knows them from before, does not wake one: its
    runlist has no data. Used again, the GPU has its channel. Seen failing with runpm=0: it stays active."""
    watched.check("rmmod nouveau", timeout=SUSPEND_LIMIT)
    try:
        watched.check(f"{nouveau.START} runpm=1", timeout=LOAD_LIMIT + SUSPEND_LIMIT)
        for card in cards:
            status = f"{pci_folder(card.index)}/power/runtime_status"
            watched.check(f"while ! grep -q suspended {status}; do sleep 1; done", timeout=SUSPEND_LIMIT)
            assert try_to_read(watched, card) == "read ENODATA"
        for card in cards:
            watched.check(f"echo on >{pci_folder(card.index)}/power/control", timeout=SUSPEND_LIMIT)
            check_shown(watched, card)
            assert count_work(watched, card)["faults"] == 0
    finally:
        watched.check("rmmod nouveau", timeout=SUSPEND_LIMIT)


def test_a_gpu_is_removed_and_found_again(watched: Guest, cards: Sequence[Card]) -> None:
    """By the PCI core, under both. Without the GPU its files have nothing; found again, it has its number and its
    channel. Seen failing with a line of nouveau that was not expected."""
    for card in cards:
        watched.check(f"echo 1 >{pci_folder(card.index)}/remove", timeout=60)
        assert try_to_read(watched, card) in ("read ENODEV", "open ENOENT")
        watched.check("echo 1 >/sys/bus/pci/rescan", timeout=LOAD_LIMIT)
        wait_until(functools.partial(is_readable, watched, card), "gpulens does not find it")
        assert read_log(watched, card) == card.expect_log()
        check_shown(watched, card)


def test_files_are_read_while_nouveau_makes_and_destroys_channels(watched: Guest, cards: Sequence[Card]) -> None:
    """Every file is read READS times while nouveau is loaded and unloaded, which makes and destroys its channels and
    address spaces, and uses its window and BARs meanwhile. No read fails, no work of a channel faults, and nouveau says
    each time what it says at first."""
    files = list_files(watched)
    watched.check("rm -f /tmp/done")  # of a run that is repeated
    watched.check(f"(echo {' '.join(files)} | xargs -n {GROUP} readloop 1 {READS * GROUP} >/tmp/reads "
                  "2>/tmp/differences; touch /tmp/done) </dev/null >/dev/null 2>&1 &")
    cycles = 0
    while watched.run("ls /tmp/done")[0] != 0:
        watched.check("rmmod nouveau", timeout=SUSPEND_LIMIT)
        load_nouveau(watched)
        cycles += 1
        for card in cards:
            assert read_log(watched, card) == card.expect_log()
            assert count_work(watched, card)["faults"] == 0
    failed = re.findall(rf"^reads {READS * GROUP} different \d+ failed (\d+) ", watched.read("/tmp/reads"), re.M)
    assert len(failed) == -(-len(files) // GROUP) and set(failed) == {"0"}, watched.read("/tmp/differences")
    print(f"{READS} reads of {len(files)} files in {cycles} loads of nouveau")
    assert cycles > 0


@pytest.mark.parametrize("cards", ["pascal-to-turing"], indirect=True)
def test_a_disabled_channel_stops_nouveau(watched: Guest) -> None:
    """nouveau waits 15 s for the work of a channel that gpulens has disabled, says so, and gives up; of the other GPUs
    it says nothing. Seen failing without disable_channel. The last test, since nouveau leaves work behind."""
    watched.check("echo 0 >/proc/gpu0/disable_channel")
    watched.check("rmmod nouveau", timeout=SUSPEND_LIMIT)
    given_up = re.findall(rf"nouveau (\S+): {DRM}: failed to idle channel 0", watched.check("dmesg"))
    assert given_up == [pci_address(0)]
    load_nouveau(watched)
