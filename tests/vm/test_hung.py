# SPDX-License-Identifier: GPL-2.0
"""A GPU that never completes a preempt: only the writer of the request waits, for a bounded time."""

from lib.guest import Guest, pci_folder
from support.vm.cards import Card, count_accesses
from support.vm.chips import CHIPS
from test_control import long_slice, wait_for


# Waits of 10 us, then twice as long each time: 13 until they are 81,920 us, and 12 of these, for a second in all. A
# read before the first and after each; a few more before and after the request.
POLLS = range(26, 31)


def count_polls(card: Card) -> int:
    """Reads of NV_RUNLIST_PREEMPT of runlist 0 or NV_PFIFO_PREEMPT, since the log began."""
    log = card.emu.cmd({"cmd": "log-read"})["accesses"]
    card.emu.cmd({"cmd": "log", "on": False})
    register = 0xC00098 if card.chip.per_runlist else 0x2634
    return len([access for access in log if (access["op"], access["off"]) == ("r", register)])


def test_reading_goes_on_while_a_preempt_is_not_answered(fresh: Card) -> None:
    """The writer gets ETIMEDOUT after a little more than a second, and after POLLS reads of a register. Meanwhile the
    runlist can be read, and a second writer waits for the first.
    Seen failing with the GPU's lock held in mmio_wait_us(): one read, after the writer has finished; and with
    lens_dev_steer() taking only the GPU's lock: the second writer does not wait."""
    long_slice(fresh)
    wait_for(fresh, 3)
    fresh.emu.cmd({"cmd": "fault", "kind": "preempt-hangs"})
    fresh.emu.cmd({"cmd": "log", "on": True})
    text = fresh.guest.check(f"""up() {{ cut -d' ' -f1 /proc/uptime; }}
        up; (tryop write {fresh.path('preempt_tsg')} {fresh.chip.ref(3)}; up) >/tmp/writer &
        sleep 0.1; (tryop write {fresh.path('disable_channel')} {fresh.chip.ref(16)}; up) >/tmp/second &
        while said=$(tryop read {fresh.path('runlist0')}) && [ ! -s /tmp/writer ]; do echo $said; done >/tmp/readers
        wait; cat /tmp/writer /tmp/second; cut -d' ' -f1 /tmp/readers | sort | uniq -c
        rm /tmp/writer /tmp/second /tmp/readers""", timeout=600).splitlines()
    polls = count_polls(fresh)
    start, refused, stop, second, after, *reads = text
    assert refused == "write ETIMEDOUT" and second.startswith("OK")
    assert 1.0 <= float(stop) - float(start) and polls in POLLS
    assert float(after) - float(start) >= 1.0
    assert [line.split()[1] for line in reads] == ["OK"], text  # before the writer ended


def test_a_gpu_that_is_removed_while_its_preempt_is_not_answered_is_no_device(fresh: Card) -> None:
    """The writer waits without the lock, so that the GPU can be removed meanwhile: ENODEV, and no further access.
    Seen failing (the machine is lost in an oops) with mmio_check_device() returning 0."""
    long_slice(fresh)
    wait_for(fresh, 3)
    where = pci_folder(fresh.index)
    fresh.emu.cmd({"cmd": "fault", "kind": "preempt-hangs"})
    text = fresh.guest.check(f"""(tryop write {fresh.path('preempt_tsg')} {fresh.chip.ref(3)}) >/tmp/writer &
        sleep 0.2; echo 1 >{where}/remove; wait; cat /tmp/writer; rm /tmp/writer
        tryop read {fresh.path('runlist0')}; grep write_preempt_tsg_failed {fresh.path('stats')}
        echo 1 >/sys/bus/pci/rescan; for i in 1 2 3 4 5 6 7 8 9 10; do
            tryop read {fresh.path('num_gpcs')} && break; sleep 0.5; done""", timeout=120).splitlines()
    assert text[:2] == ["write ENODEV", "read ENODEV"]
    assert int(text[2].split()[1]) > 0  # stats can be read after the GPU was removed
    assert text[-1].startswith("OK"), text


def test_registers_that_answer_after_50_ms_never_stop_the_machine(fresh: Card) -> None:
    """A stop of at most 50 ms is not possible: ETIMEDOUT before the window is accessed; later reads succeed.
    Seen failing with the module of 8eb1b46: stops of the machine of a second."""
    window = fresh.emu.cmd({"cmd": "reg-peek", "off": fresh.chip.window})["value"]
    stops = fresh.guest.check(f"grep window_stops {fresh.path('stats')}")
    try:
        fresh.emu.cmd({"cmd": "fault", "kind": "slow", "ns": 50_000_000})
        text = fresh.guest.check(f"tryop read {fresh.path('runlist0')} || true", timeout=120)
    finally:
        fresh.emu.cmd({"cmd": "fault", "kind": "none"})
    assert text.strip() == "read ETIMEDOUT"
    assert fresh.guest.check(f"grep window_stops {fresh.path('stats')}") == stops
    assert fresh.emu.cmd({"cmd": "reg-peek", "off": fresh.chip.window})["value"] == window
    assert "Channel Info" in fresh.read("runlist0")


def test_slow_registers_end_a_reading_in_time_and_leave_the_window_in_its_place(fresh: Card) -> None:
    """ETIMEDOUT after timeout_ms and the accesses that restore the window; later reads succeed.
    Seen failing with lens_use_is_over() always false: OK, after many seconds."""
    window = fresh.emu.cmd({"cmd": "reg-peek", "off": fresh.chip.window})["value"]
    fresh.guest.check("echo 300 >/sys/module/gpulens/parameters/timeout_ms")
    try:
        fresh.emu.cmd({"cmd": "fault", "kind": "slow", "ns": 2_000_000})
        fresh.emu.cmd({"cmd": "reset-counts"})
        text = fresh.guest.check(f"""up() {{ cut -d' ' -f1 /proc/uptime; }}
            up; tryop read {fresh.path('image')} || true; up""", timeout=600).split("\n")
        accesses = count_accesses(fresh.emu)
    finally:
        fresh.emu.cmd({"cmd": "fault", "kind": "none"})
        fresh.guest.check("echo 20000 >/sys/module/gpulens/parameters/timeout_ms")
    assert text[1] == "read ETIMEDOUT"
    assert 0.25 <= float(text[2]) - float(text[0]) and 2 < accesses < 200, accesses  # of 2 ms each
    assert fresh.emu.cmd({"cmd": "reg-peek", "off": fresh.chip.window})["value"] == window
    assert "Channel Info" in fresh.read("runlist0")


def test_a_short_time_limit_of_uses_does_not_keep_gpus_from_being_found(four: Guest) -> None:
    """timeout_ms limits reads and writes of files; attaching a GPU has a limit of its own.
    Seen failing with timeout_ms applied to attaching as well: no GPU was attached."""
    four.unload()
    try:
        four.load("gpulens", "control=1 timeout_ms=0")
        assert four.check("ls -d /proc/gpu*").split() == [f"/proc/gpu{index}" for index in range(len(CHIPS))]
        assert four.run("tryop read /proc/gpu0/runlist0")[1].strip() == "read ETIMEDOUT"
    finally:
        four.unload()
        four.load("gpulens", "control=1")
