# SPDX-License-Identifier: GPL-2.0
"""Records of every use of a GPU: trace events of writes, and the counters of /proc/gpuX/stats."""

import re

import pytest

from support.vm.cards import Card
from test_control import long_slice, wait_for

TRACE = "/sys/kernel/tracing"
EVENT = re.compile(r": gpulens_control: gpu=(\d+) action=(\w+) runlist=(-?\d+) id=(-?\d+) pid=(\d+) result=(-?\d+)$")


def read_stats(card: Card) -> dict[str, int]:
    """The counters of stats by name."""
    lines = [line.split() for line in card.read("stats").splitlines()]
    assert all(len(words) == 2 for words in lines)
    return {name: int(value) for name, value in lines}


def find_growth(card: Card, before: dict[str, int], kinds: str = "") -> dict[str, int]:
    """Increases of the counters whose names begin so; unchanged counters are left out."""
    now = read_stats(card)
    assert now.keys() == before.keys()
    return {name: now[name] - before[name] for name in now if name.startswith(kinds) and now[name] != before[name]}


def shell_write(card: Card, action: str, text: str) -> str:
    """A shell command that prints its process id and writes the text itself, with one system call."""
    return f"sh -c 'echo $$; echo {text} >{card.path(action)}' 2>/dev/null"


def test_every_write_leaves_one_event_with_gpu_action_ids_pid_and_result(fresh: Card) -> None:
    """Requests that succeed, are refused for each reason, and time out: one event each, in order, with process and
    result. -1 stands for an id that was not parsed.
    Seen failing with files_write() returning EFAULT at once and giving 4294967295 for -1, and without its call of
    lens_trace_control()."""
    long_slice(fresh)
    ref, runlist = fresh.chip.ref, 0 if fresh.chip.per_runlist else -1
    fresh.guest.check(f"echo 1 >{TRACE}/events/gpulens/gpulens_control/enable; echo >{TRACE}/trace")
    try:
        pids = [fresh.guest.run(shell_write(fresh, action, text))[1].strip() for action, text in (
            ("tsg_timeslice", ref(5) + " 2000"),
            ("disable_channel", ref(16)), ("disable_channel", "16 17"), ("switch_to_tsg", ref(1000)),
            ("cil_preempt_channel", ref(4095)), ("resubmit_runlist", str(fresh.chip.absent_runlist)))]
        assert fresh.write("enable_channel", ref(16), "-C") == "write EPERM"
        assert fresh.guest.run(f"tryop writebad {fresh.path('enable_channel')}")[1].strip() == "write EFAULT"
        wait_for(fresh, 3)
        fresh.emu.cmd({"cmd": "fault", "kind": "preempt-hangs"})
        pids.append(fresh.guest.run(shell_write(fresh, "preempt_tsg", ref(3)))[1].strip())
        fresh.emu.cmd({"cmd": "fault", "kind": "all-ones"})
        pids.append(fresh.guest.run(shell_write(fresh, "resubmit_runlist", "0"))[1].strip())
        text = fresh.guest.check(f"grep -v '^#' {TRACE}/trace")
    finally:
        fresh.guest.check(f"echo 0 >{TRACE}/events/gpulens/gpulens_control/enable")
    matches = [EVENT.search(line) for line in text.splitlines()]
    assert all(matches), text
    events = [match.groups() for match in matches if match]
    assert [(int(gpu), action, int(where), int(number), int(result))
            for gpu, action, where, number, _, result in events] == [
        (fresh.index, "tsg_timeslice", runlist, 5, 0),
        (fresh.index, "disable_channel", runlist, 16, 0),
        (fresh.index, "disable_channel", -1, -1, -22),  # EINVAL
        (fresh.index, "switch_to_tsg", runlist, 1000, -2),  # ENOENT
        # ENOENT: bound to no instance block; ERANGE: there are 2048
        (fresh.index, "cil_preempt_channel", runlist, 4095, -34 if fresh.chip.per_runlist else -2),
        (fresh.index, "resubmit_runlist", fresh.chip.absent_runlist, fresh.chip.absent_runlist, -2),
        (fresh.index, "enable_channel", -1, -1, -1),  # EPERM
        (fresh.index, "enable_channel", -1, -1, -14),  # EFAULT
        (fresh.index, "preempt_tsg", runlist, 3, -110),  # ETIMEDOUT
        (fresh.index, "resubmit_runlist", -1, 0, -19),  # ENODEV, before anything is looked up
    ]
    assert [event[4] for event in events[:6] + events[8:]] == pids
    assert all(f"-{event[4]} " in line for event, line in zip(events, text.splitlines()))


def test_writes_and_their_failures_are_counted_by_action(fresh: Card) -> None:
    """Every write counts as a call of its action, and as a failure when it was refused; other counters of writes stay.
    Seen failing without lens_stats_count_call() in files_write(), and with it called only where that succeeds."""
    before = read_stats(fresh)
    for text in (fresh.chip.ref(16), fresh.chip.ref(8), "8x"):
        fresh.write("disable_channel", text)
    fresh.write("enable_channel", fresh.chip.ref(16), "-C")
    fresh.write("enable_channel", fresh.chip.ref(16))
    fresh.write("preempt_tsg", fresh.chip.ref(1000))
    for text in (f"{fresh.chip.ref(5)} 2000", fresh.chip.ref(5)):
        fresh.write("tsg_timeslice", text)
    assert find_growth(fresh, before, "write_") == {
        "write_disable_channel": 3, "write_disable_channel_failed": 1, "write_enable_channel": 2,
        "write_enable_channel_failed": 1, "write_preempt_tsg": 1, "write_preempt_tsg_failed": 1,
        "write_tsg_timeslice": 2, "write_tsg_timeslice_failed": 1}


def test_reads_and_their_failures_are_counted_by_kind_of_file(fresh: Card) -> None:
    """A file that is read in pieces counts once, and runlists count together. A read of stats counts after it, and so
    appears in the next one; stats can be read when the GPU does not answer.
    Seen failing with lens_stats_count_call() outside of the condition in files_read(), and without it."""
    before = read_stats(fresh)
    fresh.read("chip")
    fresh.guest.check(f"dd if={fresh.path('device_info')} bs=1 of=/dev/null 2>/dev/null")
    fresh.read("runlist0")
    fresh.read("runlist1")
    fresh.read("gpc1_tpc_mask")
    assert fresh.guest.run(f"become -u 1000 -- tryop read {fresh.path('stats')}")[1].startswith("OK")
    assert fresh.guest.run(f"become -s -- tryop read {fresh.path('image')}")[1].startswith("OK")  # CAP_PERFMON is left
    fresh.emu.cmd({"cmd": "fault", "kind": "all-ones"})
    fresh.guest.run(f"cat {fresh.path('runlist0')}")
    assert find_growth(fresh, before, "read_") == {
        "read_chip": 1, "read_device_info": 1, "read_runlist": 3, "read_runlist_failed": 1, "read_gpc_tpc_mask": 1,
        "read_stats": 2, "read_image": 1}


def test_accesses_are_those_that_the_gpu_saw(fresh: Card) -> None:
    """bar0_* grow by what the emulator counted, and reading stats makes no access.
    Seen failing without the counting in mmio_rd64() and mmio_wr32()."""
    before = read_stats(fresh)
    fresh.emu.cmd({"cmd": "reset-counts"})
    fresh.read("runlist0")
    assert fresh.write("cta_preempt_channel", fresh.chip.ref(16)).startswith("OK")
    seen = fresh.emu.cmd({"cmd": "counts"})
    ours = find_growth(fresh, before, "bar0_")
    assert ours == {"bar0_read32": seen["reads"]["4"], "bar0_write32": seen["writes"]["4"],
                    "bar0_read64": seen["reads"]["8"]}
    assert ours["bar0_read32"] > 5  # a channel state each
    assert fresh.emu.cmd({"cmd": "counts"}) == seen


@pytest.mark.parametrize("piece", [4096, 64])
def test_each_stop_of_the_machine_is_counted(fresh: Card, piece: int) -> None:
    """A snapshot reads two lists that are not empty, of 8 and of 4 entries, 8 and 6 where ids count per runlist; an
    entry has 8 bytes up to Pascal and 16 from Volta on. In pieces of 64 bytes that is 1 + 1, 2 + 1 and 2 + 2 stops, or
    more where the host delays accesses. The GPU sees that the window is read, moved, restored and read in each stop.
    Seen failing without the counting in stop_run()."""
    fresh.guest.check(f"echo {piece} >/sys/module/gpulens/parameters/vram_piece")
    fresh.emu.cmd({"cmd": "log", "on": True})
    try:
        before = read_stats(fresh)
        fresh.guest.check(f"cat {fresh.path('snapshot')} >/dev/null")
        now = read_stats(fresh)
        accesses = fresh.emu.cmd({"cmd": "log-read"})["accesses"]
    finally:
        fresh.emu.cmd({"cmd": "log", "on": False})
        fresh.guest.check("echo 4096 >/sys/module/gpulens/parameters/vram_piece")
    places = [index for index, access in enumerate(accesses)
              if (access["bar"], access["off"]) == (0, fresh.chip.window)]
    stops = len(places) // 4
    assert [accesses[place]["op"] for place in places] == ["r", "w", "w", "r"] * stops
    assert stops >= ({"GP106": 2, "TU102": 3, "AD102": 4, "GH100": 4}[fresh.chip.name] if piece == 64 else 2)
    assert all(end - begin - 1 <= piece / 8 for begin, end in zip(places[1::4], places[2::4]))
    assert now["window_stops"] - before["window_stops"] == stops
    assert now["window_borrows"] - before["window_borrows"] == stops
    took = now["window_stopped_ns"] - before["window_stopped_ns"]
    # an access takes at least 1 us, and a stop of 8 words less than a second
    assert stops * 1000 < took < stops * 1_000_000_000
    assert took / stops <= now["window_longest_stop_ns"] <= now["window_stopped_ns"]
    assert fresh.number("local_memory") and read_stats(fresh)["system_words"] == 0
