# SPDX-License-Identifier: GPL-2.0
"""The detectors of a debug kernel (`make test-debug`) work, and their messages fail the check of every guest's console:
tests/support/kmod/faulty makes one mistake at a time. KCSAN reports no race between concurrent callers on one GPU.
Skipped on kernels without these detectors."""

from collections import Counter
from collections.abc import Iterator

import pytest

from lib.guest import Guest, Splat
from support.vm.cards import Card, gpu_of, need_module, need_options
from support.vm.chips import CHIPS
from test_stats import find_growth, read_stats

FILES = {"runlist": "runlist0"}  # by the names that stats counts them under
# Calls by one caller of each kind, which take about equally long
ROUNDS = {"read_chip": 500, "read_stats": 2000, "read_runlist": 200, "write_disable_channel": 500,
          "write_enable_channel": 500}


def faulty_guest() -> Guest:
    """A guest without a GPU."""
    return Guest([], modules={"faulty": need_module("kmod-tests", "faulty")})


@pytest.fixture(scope="module")
def debug() -> Iterator[Guest]:
    """One guest for all faults that its kernel survives and reports more than once."""
    need_options("PROVE_LOCKING")
    with faulty_guest() as guest:
        yield guest


# In this order: lockdep, which RCU's check is part of, is off after its first complaint and after one of KASAN's.
@pytest.mark.parametrize("fault, option, said", [
    ("atomic", "DEBUG_ATOMIC_SLEEP", "BUG: sleeping function called from invalid context"),
    ("hung", "DETECT_HUNG_TASK", "INFO: task insmod:"),
    ("race", "KCSAN", "BUG: KCSAN: data-race in count"),
    ("order", "PROVE_LOCKING", "WARNING: possible circular locking dependency detected"),
    ("shift", "UBSAN_SHIFT", "UBSAN: shift-out-of-bounds"),
    ("index", "UBSAN_BOUNDS", "UBSAN: array-index-out-of-bounds"),
    ("beyond", "KASAN", "BUG: KASAN: slab-out-of-bounds in do_beyond"),
    ("freed", "KASAN", "BUG: KASAN: use-after-free in do_freed"),
    ("warning", "PROVE_LOCKING", "WARNING: CPU: "),
])
def test_a_fault_is_reported(fault: str, option: str, said: str, debug: Guest) -> None:
    """Each fault fails the check at the end of every test, with the kernel's text and the function's name."""
    need_options(option)
    if fault == "hung":
        debug.check("echo 4 >/proc/sys/kernel/hung_task_timeout_secs")
    for _ in range(10):  # KCSAN detects the race by chance, which may take several attempts
        debug.load("faulty", f"fault={fault}")
        debug.unload("faulty")
        texts = debug.splats()
        if texts or fault != "race":
            break
    with pytest.raises(Splat) as caught:
        debug.complain(texts)
    assert said in str(caught.value)
    assert fault == "hung" or "[faulty]" in str(caught.value)  # the call chain of a hung task is in dmesg only
    debug.complain()  # each message is reported once


def test_a_wrong_use_of_rcu_is_reported() -> None:
    """In a guest of its own, since lockdep reports only once."""
    need_options("PROVE_RCU")
    with faulty_guest() as guest:
        guest.load("faulty", "fault=rcu")
        with pytest.raises(Splat, match="suspicious RCU usage"):
            guest.complain()


def test_a_leak_is_reported_when_a_guest_ends() -> None:
    """Memory that a module did not free before it was unloaded fails the end of the guest."""
    need_options("DEBUG_KMEMLEAK")
    with pytest.raises(Splat, match="size 128"):  # 100 bytes, as the allocator gives them
        with faulty_guest() as guest:
            guest.load("faulty", "fault=leak")
            guest.unload("faulty")


# Two at a time, on one processor each, so that one runs while KCSAN delays the other at an access
PAIRS = (("read_chip", "read_chip"), ("read_stats", "read_stats"), ("read_stats", "read_runlist"),
         ("write_disable_channel", "write_disable_channel"), ("write_enable_channel", "read_stats"),
         ("write_disable_channel", "read_runlist"))


def test_concurrent_reads_and_control_are_no_race() -> None:
    """Two callers at once on one GPU: KCSAN reports nothing, and stats counts every call.
    Seen failing (KCSAN names both accesses) with lens_stats_count_call() counting by ++, and without the lock in
    lens_show_stats()."""
    need_options("KCSAN")
    with Guest([gpu_of(CHIPS[0])]) as guest:
        guest.load("gpulens", "control=1")
        card = Card(guest, CHIPS[0], 0)
        before, expected = read_stats(card), Counter({"read_stats": 1})
        for pair in PAIRS:
            for kind in pair:
                expected[kind] += ROUNDS[kind]
            callers = []
            for kind in pair:
                call, name = kind.split("_", 1)
                text = card.chip.ref(16) if call == "write" else ""
                callers.append(f"timeop {call} {card.path(FILES.get(name, name))} {ROUNDS[kind]} {text} &\n")
            guest.check("".join(callers) + "wait", timeout=300)
        counted = find_growth(card, before)
        assert {name: counted[name] for name in counted if name.startswith(("read_", "write_"))} == expected
        guest.complain()
        guest.unload()
