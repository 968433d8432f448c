# SPDX-License-Identifier: GPL-2.0
"""The effect of control files on the emulated GPU: on what runs on its engines and on its memory, not only on a
register that is read back. Time on engine is counted by the emulator (control command "runtime")."""

import contextlib
from collections.abc import Iterator

import pytest

from support.vm.cards import Card, wait_until
from support.vm.formats import parse_runlist, read_enabled

WATCH = 0.3  # seconds by the GPU's clock, hundreds of time slices of 1 ms
SETTLE = 0.1  # longer than what may still run when a request returns: one slice of 3.3 ms


def long_slice(card: Card) -> None:
    """TSG 3 with the longest slice there is (8.6 s) and TSG 5 with 1 ms share runlist 0; TSG 7 is on runlist 1."""
    card.emu.cmd({"cmd": "scenario", "data": {"processes": [{"name": "both", "tsgs": [
        {"id": 3, "runlist": 0, "timeslice": {"timeout": 255, "scale": 15}, "channels": [{"id": 8}]},
        {"id": 5, "runlist": 0, "timeslice": {"timeout": 128, "scale": 3}, "channels": [{"id": 16}]},
        {"id": 7, "runlist": 1, "timeslice": {"timeout": 128, "scale": 3}, "channels": [{"id": 20}]}]}]}})


def on_engine(card: Card) -> int:
    """The TSG now on the graphics engine."""
    engines = card.emu.cmd({"cmd": "running"})["engines"]
    return [engine["tsg"] for engine in engines if engine["runlist"] == 0][0]


def wait_for(card: Card, tsg: int) -> None:
    """Waits until that TSG is on the graphics engine."""
    wait_until(lambda: on_engine(card) == tsg, f"TSG {tsg} never came on the engine")


@contextlib.contextmanager
def own_clock(card: Card) -> Iterator[None]:
    """Stops the GPU's clock, which only the command "time" advances then."""
    card.emu.cmd({"cmd": "time", "mode": "virtual"})
    yield
    card.emu.cmd({"cmd": "time", "mode": "real"})


def advance_clock(card: Card, seconds: float) -> None:
    """Advances the GPU's clock by that much at once, with everything that it schedules meanwhile."""
    with own_clock(card):
        card.emu.cmd({"cmd": "time", "advance_ns": int(seconds * 1e9)})


def measure_gain(card: Card, seconds: float = WATCH) -> dict[tuple[int, int], int]:
    """(runlist, channel) -> nanoseconds on its engine during the next seconds of the GPU's clock."""
    def read_account() -> dict[tuple[int, int], int]:
        channels = card.emu.cmd({"cmd": "runtime"})["channels"]
        return {(channel["runlist"], channel["id"]): channel["ns"] for channel in channels}
    with own_clock(card):
        before = read_account()
        card.emu.cmd({"cmd": "time", "advance_ns": int(seconds * 1e9)})
        after = read_account()
    return {key: after[key] - before.get(key, 0) for key in after}


def test_all_busy_channels_run_at_first(fresh: Card) -> None:
    """Without control, every busy enabled TSG gets time, and idle or disabled channels none."""
    got = measure_gain(fresh)
    assert got[0, 8] + got[0, 9] > 0 and got[0, 16] > 0 and got[1, 20] > 0
    assert got[0, 24] == 0 and got[0, 25] == 0


def test_a_disabled_channel_is_not_scheduled_and_others_are(fresh: Card) -> None:
    """disable_channel excludes one channel from scheduling; enable_channel includes it again."""
    name = fresh.chip.ref(16)
    assert fresh.write("disable_channel", name).startswith("OK")
    advance_clock(fresh, SETTLE)
    got = measure_gain(fresh)
    assert got[0, 16] == 0
    assert got[0, 8] + got[0, 9] > 0.5 * WATCH * 1e9
    assert read_enabled(fresh.read("runlist0")) == {8: True, 9: True, 16: False, 24: True, 25: False}

    assert fresh.write("enable_channel", name + "\\n").startswith("OK")
    advance_clock(fresh, SETTLE)
    assert measure_gain(fresh)[0, 16] > 0
    assert read_enabled(fresh.read("runlist0"))[16]


@pytest.mark.parametrize("text", ["16", "0x10", "020"])
def test_ids_are_decimal_hex_or_octal(fresh: Card, text: str) -> None:
    """The three notations name the same channel; a bare id that is on one runlist only is accepted on every chip."""
    assert fresh.write("disable_channel", text).startswith("OK")
    assert not read_enabled(fresh.read("runlist0"))[16]


def test_the_same_id_on_another_runlist_is_not_changed(fresh: Card) -> None:
    """Where ids count per runlist, disabling 1:8 does not change channel 8 of runlist 0."""
    if not fresh.chip.per_runlist:
        pytest.skip("ids of this chip count for the whole GPU")
    assert fresh.write("disable_channel", "1:8").startswith("OK")
    assert not read_enabled(fresh.read("runlist1"))[8]
    assert read_enabled(fresh.read("runlist0"))[8]


def test_a_preempted_tsg_leaves_the_engine(fresh: Card) -> None:
    """A TSG is preempted in the middle of a slice of 8.6 s, and the other TSG is scheduled."""
    long_slice(fresh)
    wait_for(fresh, 3)
    assert measure_gain(fresh)[0, 16] == 0
    before = fresh.emu.cmd({"cmd": "runtime"})["channels"]
    assert fresh.write("preempt_tsg", fresh.chip.ref(3)).startswith("OK")
    advance_clock(fresh, SETTLE)
    after = fresh.emu.cmd({"cmd": "runtime"})["channels"]
    before_ns, after_ns = ({channel["id"]: channel["ns"] for channel in channels}[16] for channels in (before, after))
    assert after_ns > before_ns
    assert measure_gain(fresh)[1, 20] > 0


def test_a_preempted_runlist_leaves_the_engine(fresh: Card) -> None:
    """preempt_runlist ends the running slice of any TSG; chips before Volta do not support it."""
    long_slice(fresh)
    wait_for(fresh, 3)
    before = {channel["id"]: channel["ns"] for channel in fresh.emu.cmd({"cmd": "runtime"})["channels"]}
    answer = fresh.write("preempt_runlist", "0")
    if not fresh.chip.preempts_runlists:
        assert answer.split()[-1] == "EOPNOTSUPP"
        return
    assert answer.startswith("OK")
    advance_clock(fresh, SETTLE)
    after = {channel["id"]: channel["ns"] for channel in fresh.emu.cmd({"cmd": "runtime"})["channels"]}
    assert after[16] - before[16] > 0


def test_switch_to_tsg_leaves_only_that_tsg_running(fresh: Card) -> None:
    """After switch_to_tsg 5, only TSG 5 gets time on its runlist, at once; other runlists are not affected."""
    long_slice(fresh)
    wait_for(fresh, 3)
    assert fresh.write("switch_to_tsg", fresh.chip.ref(5)).startswith("OK")
    advance_clock(fresh, SETTLE)
    got = measure_gain(fresh)
    assert got[0, 8] == 0
    assert got[0, 16] > 0.5 * WATCH * 1e9
    assert got[1, 20] > 0
    assert on_engine(fresh) == 5


def test_a_resubmitted_runlist_is_committed(fresh: Card) -> None:
    """The GPU fetches the list again: the running slice of 8.6 s expires and scheduling begins at the list's head,
    where TSG 5 stands (open-gpu-doc dev_ram: a new list, once fetched, expires the slices of the old one)."""
    fresh.emu.cmd({"cmd": "scenario", "data": {"processes": [{"name": "both", "tsgs": [
        {"id": 5, "runlist": 0, "timeslice": {"timeout": 128, "scale": 3}, "channels": [{"id": 16}]},
        {"id": 3, "runlist": 0, "timeslice": {"timeout": 255, "scale": 15}, "channels": [{"id": 8}]}]}]}})
    wait_for(fresh, 3)
    assert measure_gain(fresh)[0, 16] == 0
    before = {channel["id"]: channel["slices"] for channel in fresh.emu.cmd({"cmd": "runtime"})["channels"]}
    assert fresh.write("resubmit_runlist", "0").startswith("OK")
    advance_clock(fresh, SETTLE)
    after = {channel["id"]: channel["slices"] for channel in fresh.emu.cmd({"cmd": "runtime"})["channels"]}
    assert after[16] == before[16] + 1
    assert after[8] > before[8]


def read_slices(card: Card) -> dict[int, tuple[int, int, str]]:
    """TSG -> scale, timeout and slice, as runlist0 shows them."""
    return {tsg.id: (tsg.number("Scale"), tsg.number("Timeout"), tsg.fields["Slice"])
            for tsg in parse_runlist(card.read("runlist0"))}


def test_a_new_time_slice_is_shown_and_scheduled_by(fresh: Card) -> None:
    """tsg_timeslice writes the nearest slice that the entry can represent into the list, and the GPU schedules by it:
    TSG 3 ends its slice of 8.6 s, and of two TSGs the one with nine times the slice runs nine times as long. 1000 us
    are 976.56 units of 1.024 us: 244 << 2; 9000 are 8789.06: 137 << 6."""
    long_slice(fresh)
    wait_for(fresh, 3)
    assert measure_gain(fresh)[0, 16] == 0
    assert read_slices(fresh) == {3: (15, 255, "8556380.160us"), 5: (3, 128, "1048.576us")}
    assert fresh.write("tsg_timeslice", f"{fresh.chip.ref(3)} 1000\\n").startswith("OK")
    assert read_slices(fresh) == {3: (2, 244, "999.424us"), 5: (3, 128, "1048.576us")}
    got = measure_gain(fresh)
    assert 0.8 < got[0, 16] / got[0, 8] < 1.3
    assert fresh.write("tsg_timeslice", f"{fresh.chip.ref(5)} 9000").startswith("OK")
    assert read_slices(fresh) == {3: (2, 244, "999.424us"), 5: (6, 137, "8978.432us")}
    advance_clock(fresh, SETTLE)
    got = measure_gain(fresh, seconds=3 * WATCH)
    assert 7 < got[0, 16] / got[0, 8] < 11
    assert fresh.write("tsg_timeslice", f"{fresh.chip.ref(5)} 8556380").startswith("OK")
    assert read_slices(fresh)[5] == (15, 255, "8556380.160us")


def test_a_list_that_its_driver_has_replaced_is_not_written_to(fresh: Card) -> None:
    """EBUSY where the driver replaces the list at the last check before the store, after the two scans of the list: the
    memory of the old list, which the driver has overwritten, is not changed, and the new list has its own slices."""
    before = read_slices(fresh)
    old = [runlist for runlist in fresh.emu.cmd({"cmd": "state"})["runlists"] if runlist["id"] == 0][0]
    reads = old["length"] * (1 if fresh.chip.name == "GP106" else 2)  # entries of 8 or 16 bytes, read by 8
    fresh.emu.cmd({"cmd": "fault", "kind": "torn", "runlist": 0, "every": 2 * reads + 1})
    answer = fresh.write("tsg_timeslice", f"{fresh.chip.ref(3)} 1000")
    fresh.emu.cmd({"cmd": "fault", "kind": "none"})
    assert answer == "write EBUSY"
    words = fresh.emu.cmd({"cmd": "peek", "ap": "vid", "addr": old["base"], "words": 2 * reads})["words"]
    assert words == [0x5A5A5A5A] * (2 * reads)
    assert read_slices(fresh) == before


@pytest.mark.parametrize("name, mode", [("cta", 1), ("cil", 2), ("wfi", 0)])
def test_preemption_modes_reach_the_context_image(fresh: Card, name: str, mode: int) -> None:
    """NAME_preempt_channel writes COMPUTE_PREEMPTION of the channel's own context in GPU memory, found through instance
    block and page tables: 0 WFI, 1 CTA, 2 CILP (open-gpu-doc dev_ctxsw; for Ada and Hopper the layout is assumed)."""
    def count_modes() -> dict[tuple[int, int], int]:
        return {(channel["runlist"], channel["id"]): channel.get("compute_preemption")
                for channel in fresh.emu.cmd({"cmd": "state"})["channels"]}
    start = 8 if name == "wfi" else 16  # channel 8 starts with CTA, channel 16 with WFI
    before = count_modes()
    assert fresh.write(f"{name}_preempt_channel", fresh.chip.ref(start)).startswith("OK")
    changed = {key: value for key, value in count_modes().items() if value != before[key]}
    assert changed[0, start] == mode
    assert set(changed) <= ({(0, 8), (0, 9)} if start == 8 else {(0, 16)})  # a TSG's channels share one context


def test_disable_channel_makes_the_documented_accesses(fresh: Card) -> None:
    """One write and one confirming read on chips with channel RAM; one read, one write, one read on PCCSR chips. They
    follow a read of BOOT_0, as in every use: one where it answers quickly."""
    fresh.emu.cmd({"cmd": "log", "on": True})
    fresh.emu.cmd({"cmd": "log-read"})
    fresh.write("disable_channel", fresh.chip.ref(8))
    log = fresh.emu.cmd({"cmd": "log-read"})["accesses"]
    fresh.emu.cmd({"cmd": "log", "on": False})
    request = [access["op"] for access in log if (access["bar"], access["off"]) != (0, 0)]
    assert request == (["w", "r"] if fresh.chip.per_runlist else ["r", "w", "r"])
    assert log[0]["off"] == 0 and log[0]["op"] == "r"
