# SPDX-License-Identifier: GPL-2.0
"""Who may stop the machine, and for how long: nobody without a privilege; with unsafe_world_readable=1 all readers
without one together for stop_percent of the time and a burst of 200 ms, while root is neither throttled nor blocked.
The guest has two processors and two GPUs whose runlists and page tables take long to read."""

import re
from collections import Counter
from collections.abc import Iterator

import pytest

from lib.guest import SLOW, Guest
from support.vm.cards import Card, gpu_of, healthy, scenario
from support.vm.chips import chips_for

CHIPS = chips_for("pair")
BURST_NS = 200_000_000
PERCENT = 2
# One reader for each number, which reads each file again and again until ENOUGH. One that waits for the budget then
# is killed, or the test would wait for seconds, too.
READERS = """pids=; for i in {numbers}; do
    become -u 1000 -- sh -c 'while :; do for file in {files}; do tryop read $file; done; done' \\
        >/tmp/reader.$i 2>&1 </dev/null & pids="$pids $!"; done"""
ENOUGH = "\n{ kill -KILL $pids; killall -KILL tryop; wait; } 2>/dev/null; true"


@pytest.fixture(scope="module", name="guest")
def two_gpus() -> Iterator[Guest]:
    """Without the module. BAR1 shows all of the runlists, so that bars looks at many words."""
    with Guest([gpu_of(chip) for chip in CHIPS]) as guest:
        for index, chip in enumerate(CHIPS):
            guest.emu[index].cmd({"cmd": "scenario", "file": scenario(chip.scenario),
                                  "with": {"bar1": "all", "bar2": "instmem"}})
        yield guest
        healthy(guest)


@pytest.fixture(name="loaded")
def default(guest: Guest) -> Iterator[Guest]:
    """The module as it is without a parameter."""
    guest.load()
    yield guest
    guest.unload()


@pytest.fixture(name="readable")
def world_readable(guest: Guest) -> Iterator[Guest]:
    """Where everybody may read runlists; stop_percent is what it is when nothing is said."""
    guest.load("gpulens", "unsafe_world_readable=1")
    assert guest.read("/sys/module/gpulens/parameters/stop_percent").strip() == str(PERCENT)
    yield guest
    guest.unload()


def stops(guest: Guest) -> Counter[str]:
    """Of all GPUs: how often and for how many ns the machine was stopped."""
    found: Counter[str] = Counter()
    text = guest.check("cat /proc/gpu*/stats")
    for name, value in re.findall(r"^(window_stops|window_stopped_ns) (\d+)$", text, re.M):
        found[name] += int(value)
    return found


def uptime_ns(guest: Guest) -> int:
    """The guest's own clock."""
    return int(float(guest.read("/proc/uptime").split()[0]) * 1e9)


def test_a_busy_process_loses_nothing_to_a_user_who_reads_everything(loaded: Guest) -> None:
    """uid 1000 reads every file of both GPUs in a loop on one processor, for 5 s; a process of another user keeps the
    other one busy. The machine is not stopped once, nothing but registers is read, and the busy process has its
    processor. Seen failing with the module of 8eb1b46: 406 stops."""
    cards = [Card(loaded, chip, index) for index, chip in enumerate(CHIPS)]
    before = stops(loaded)
    for card in cards:
        card.emu.cmd({"cmd": "log", "on": True})
    text = loaded.check("""end=$(($(cut -d. -f1 /proc/uptime) + 5))
        become -u 1001 -- taskset 2 sh -c 'while :; do :; done' & busy=$!
        a=$(cut -d" " -f14,15 /proc/$busy/stat); t=$(cut -d" " -f1 /proc/uptime)
        become -u 1000 -- taskset 1 sh -c 'while [ $(cut -d. -f1 /proc/uptime) -lt '$end' ]; do
            cat /proc/gpu*/* 2>/dev/null; done' | wc -c
        echo $a $(cut -d" " -f14,15 /proc/$busy/stat) $t $(cut -d" " -f1 /proc/uptime)
        kill $busy; wait $busy 2>/dev/null; true""", timeout=60).splitlines()
    logs = [card.emu.cmd({"cmd": "log-read"})["accesses"] for card in cards]
    for card in cards:
        card.emu.cmd({"cmd": "log", "on": False})
    assert int(text[0]) > 10_000  # topology was read, over and over
    assert stops(loaded) == before
    for log in logs:
        assert log and not [one for one in log if one["op"] == "w" or one["size"] != 4]
    user0, system0, user1, system1 = (int(word) for word in text[1].split()[:4])
    start, stop = (float(word) for word in text[1].split()[4:])
    assert (user1 - user0 + system1 - system0) / 100 > 0.8 * (stop - start), text


def files(*names: str) -> str:
    """These of both GPUs."""
    return " ".join(f"/proc/gpu{index}/{name}" for index in range(len(CHIPS)) for name in names)


def answers(guest: Guest) -> Counter[str]:
    """What the readers were told, how often."""
    lines = guest.check("cat /tmp/reader.*; rm /tmp/reader.*").splitlines()
    return Counter("OK" if line.startswith("OK ") else line for line in lines)


def test_readers_without_a_privilege_stop_the_machine_for_their_share(readable: Guest) -> None:
    """Four readers of all runlists, bars and snapshots of both GPUs: window_stopped_ns grows by 2 % of the time and one
    burst at most. They do get to read.
    Seen failing with lens_stop_budget_charge() doing nothing."""
    before, start = stops(readable), uptime_ns(readable)
    readable.check(READERS.format(numbers="1 2 3 4", files=files("runlist0", "snapshot", "bars")) +
                   "\nsleep 10" + ENOUGH, timeout=90)
    after, end = stops(readable), uptime_ns(readable)
    told = answers(readable)
    stopped = after["window_stopped_ns"] - before["window_stopped_ns"]
    print(f"stopped for {stopped / 1e6:.0f} ms of {(end - start) / 1e6:.0f} ms, {told}")
    assert 0 < stopped <= (end - start) * PERCENT // 100 + BURST_NS
    assert told["OK"] > 0 and set(told) <= {"OK", "read EBUSY"}


def test_a_reading_that_takes_more_than_the_budget_is_busy(readable: Guest) -> None:
    """Registers of 1 ms: bars would stop the machine for a second. A user gets EBUSY, after a second try with the whole
    budget, and root the text. Seen failing with lens_stop_budget_allows_stop() always true: OK, and stops of a second."""
    readable.emu[0].cmd({"cmd": "fault", "kind": "slow", "ns": 1_000_000})
    try:
        before, start = stops(readable), uptime_ns(readable)
        told = readable.run("become -u 1000 -- tryop read /proc/gpu0/bars", timeout=60)[1].strip()
        after, end = stops(readable), uptime_ns(readable)
        root = readable.run("tryop read /proc/gpu0/bars", timeout=60)[1]
        roots = stops(readable)["window_stopped_ns"] - after["window_stopped_ns"]
    finally:
        readable.emu[0].cmd({"cmd": "fault", "kind": "none"})
    stopped = after["window_stopped_ns"] - before["window_stopped_ns"]
    print(f"user {told}: {stopped / 1e6:.0f} ms of {(end - start) / 1e6:.0f} ms, root {root}: {roots / 1e6:.0f} ms")
    assert 0 < stopped <= (end - start) * PERCENT // 100 + BURST_NS and told == "read EBUSY"
    assert root.startswith("OK ") and roots > BURST_NS


def test_root_is_neither_throttled_nor_blocked_by_them(readable: Guest) -> None:
    """Beside the same readers root reads a file again and again for 8 s: every time with success, in little time, and
    for longer than the budget has. Seen failing with lens_stop_is_budgeted() always true: root is told EBUSY."""
    before = stops(readable)
    text = readable.check(READERS.format(numbers="1 2 3 4", files=files("runlist0", "bars")) + """
        end=$(($(cut -d. -f1 /proc/uptime) + 8))
        while [ $(cut -d. -f1 /proc/uptime) -lt $end ]; do
            a=$(cut -d" " -f1 /proc/uptime); tryop read /proc/gpu0/bars
            echo "$a $(cut -d" " -f1 /proc/uptime)"; done""" + ENOUGH, timeout=90).splitlines()
    stopped = stops(readable)["window_stopped_ns"] - before["window_stopped_ns"]
    assert answers(readable)["OK"] > 0
    said = [line for line in text if re.match("OK |read |open ", line)]
    times = [tuple(float(word) for word in line.split()) for line in text if re.fullmatch(r"[\d.]+ [\d.]+", line)]
    longest = max(end - begin for begin, end in times)
    print(f"root read {len(said)} times, {longest:.2f} s at most; stopped for {stopped / 1e6:.0f} ms")
    assert len(said) >= 5 and all(line.startswith("OK ") for line in said), said
    assert longest < 3 * SLOW, times
    assert stopped > 3 * (10 * 10**9 * PERCENT // 100 + BURST_NS)


def test_stop_percent_may_be_set_and_is_never_nothing(readable: Guest) -> None:
    """100: as fast as they go; 0 is taken as 1. Seen failing with stop_percent left out of budget_fill()."""
    def share(percent: int) -> float:
        readable.check(f"echo {percent} >/sys/module/gpulens/parameters/stop_percent")
        before, start = stops(readable), uptime_ns(readable)
        readable.check(READERS.format(numbers="1 2 3 4", files=files("runlist0", "snapshot", "bars")) +
                       "\nsleep 4" + ENOUGH, timeout=60)
        told = answers(readable)
        assert set(told) <= {"OK", "read EBUSY"}
        stopped = stops(readable)["window_stopped_ns"] - before["window_stopped_ns"]
        return (stopped - BURST_NS) / (uptime_ns(readable) - start)
    assert share(100) > 2 * PERCENT / 100
    assert share(0) <= 0.01
