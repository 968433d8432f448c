# SPDX-License-Identifier: GPL-2.0
"""hold_channel: a channel is disabled while a file is open, and is enabled however the process ends. The emulator says
which channels are enabled, without asking the module."""

import re
from collections.abc import Iterator

import pytest

from lib.guest import Guest
from support.vm.cards import Card, wait_until
from support.vm.formats import read_enabled
from support.vm.holds import is_enabled

LONGEST = 1.0  # seconds of a hold (LENS_HOLD_MS)
TRACE = "/sys/kernel/tracing"
EVENT = re.compile(r" (\d+\.\d+): gpulens_control: (gpu=\d+ action=(\w+) runlist=-?\d+ id=(\d+)) pid=\d+ "
                   r"(result=-?\d+)$", re.M)


def wait_enabled(card: Card, channel: int) -> None:
    """Waits until the channel is enabled, by a worker."""
    wait_until(lambda: is_enabled(card, channel), "the channel stays disabled")


def write_holds(card: Card, *channels: int) -> str:
    """Shell text that holds these channels, with the file as 3, and tells as a list of channels what is held then. A
    machine that is so busy that the GPU answers late (ETIMEDOUT) is asked again."""
    writes = "; ".join(f"until printf {card.chip.ref(channel)} >&3; do usleep 9999; done 2>/dev/null"
                       for channel in channels)
    return f"exec 3>{card.path('hold_channel')}; {writes}; cat {card.path('runlist0')}"


@pytest.fixture(name="traced")
def trace_requests(fresh: Card) -> Iterator[Card]:
    """A GPU whose control requests are traced."""
    fresh.guest.check(f"echo >{TRACE}/trace; echo 1 >{TRACE}/events/gpulens/gpulens_control/enable")
    yield fresh
    fresh.guest.check(f"echo 0 >{TRACE}/events/gpulens/gpulens_control/enable")


def list_events(card: Card) -> "list[tuple[float, str, int]]":
    """Second, action and channel of each request that succeeded, in order."""
    found = EVENT.findall(card.guest.read(f"{TRACE}/trace"))
    return [(float(second), action, int(channel))
            for second, _, action, channel, result in found if result == "result=0"]


def wait_for_ends(card: Card, ends: int = 1) -> "dict[int, float]":
    """Waits for so many ends of holds. Returns how long each channel was held, in s of the guest's clock."""
    wait_until(lambda: [action for _, action, _ in list_events(card)].count("end_hold") >= ends, "no hold ends")
    begun: "dict[int, float]" = {}
    lasted: "dict[int, float]" = {}
    for second, action, channel in list_events(card):
        if action == "hold_channel":
            begun.setdefault(channel, second)
        elif action == "end_hold":
            lasted[channel] = second - begun.pop(channel)
    return lasted


def hold_briefly(card: Card, command: str, ends: int = 1) -> "tuple[int, str]":
    """Status and output of a command that holds channels and closes the file. By itself a hold lasts for LONGEST: one
    of 20 ends before, also on a busy machine, and then all of the command was done while it was held."""
    for _ in range(20):
        card.guest.check(f"echo >{TRACE}/trace")
        done = card.guest.run(command)
        lasted = wait_for_ends(card, ends)
        if len(lasted) == ends and max(lasted.values()) < LONGEST:
            return done
    raise AssertionError(f"a hold lasts until its time is over: {lasted}")


def test_a_hold_ends_with_the_process(traced: Card) -> None:
    """Two channels are held, and both are enabled when the process is killed; another one is not changed.
    Seen failing without lens_holds_end_owner() in files_release_holds(): after 1 s only."""
    assert traced.write("disable_channel", traced.chip.ref(24)).startswith("OK")
    status, text = hold_briefly(traced, f"sh -c '{write_holds(traced, 8, 16)}; kill -9 $$'", 2)
    assert status == 128 + 9 and read_enabled(text) == {8: False, 9: True, 16: False, 24: False, 25: False}
    assert is_enabled(traced, 8) and is_enabled(traced, 16) and not is_enabled(traced, 24)


def test_a_closed_file_holds_nothing(traced: Card) -> None:
    """One write and close: the channel is enabled soon after that."""
    path = traced.path("hold_channel")
    status, _ = hold_briefly(traced, f"until printf {traced.chip.ref(16)} >{path}; do usleep 9999; done")
    assert status == 0 and is_enabled(traced, 16)


def test_a_hold_ends_when_the_last_descriptor_is_closed(traced: Card) -> None:
    """A child that inherited the file keeps the hold after its parent's end."""
    _, text = hold_briefly(traced, f"sh -c '{write_holds(traced, 16)} >/dev/null; sleep 1000 >/dev/null 2>&1 & "
                           f"echo $! >/tmp/child'; cat {traced.path('runlist0')}; kill -9 $(cat /tmp/child)")
    assert not read_enabled(text)[16] and is_enabled(traced, 16)


def test_a_channel_that_the_gpu_loses_runs_after_its_hold(traced: Card) -> None:
    """The emulator's fault loses channels that are enabled until their runlist is submitted, as nvdebug says of
    Turing and later.
    Seen failing without control_notice()."""
    if traced.chip.name.startswith("GP"):
        pytest.skip("no such GPU before Volta")

    def runs() -> bool:
        return 16 in [engine["channel"] for engine in traced.emu.cmd({"cmd": "running"})["engines"]]

    traced.emu.cmd({"cmd": "fault", "kind": "lose-enabled"})
    assert traced.write("hold_channel", traced.chip.ref(16)).startswith("OK")
    wait_for_ends(traced)
    wait_until(runs, "it does not run")
    assert "\nenable_resubmits 0\n" not in traced.guest.read(traced.path("stats"))


def test_a_hold_lasts_for_a_second_at_most(traced: Card) -> None:
    """Also where the process writes again and again, and although the file stays open; and then it may hold anew.
    Seen failing with a time that each write begins again."""
    ref = traced.chip.ref(16)
    pid = int(traced.guest.check(f"setsid sh -c 'exec 3>{traced.path('hold_channel')}; while :; do printf {ref} >&3; "
                                 "usleep 700000; done' >/dev/null 2>&1 </dev/null & echo $!"))
    try:
        lasted = wait_for_ends(traced)
        wait_until(lambda: list_events(traced)[-1][1] == "hold_channel", "it holds nothing any more")
    finally:
        traced.guest.run(f"kill -9 -{pid}; while kill -0 -{pid} 2>/dev/null; do usleep 10000; done", timeout=600)
    assert lasted[16] > 0.9 * LONGEST
    wait_enabled(traced, 16)


def test_a_second_write_disables_once_more(traced: Card) -> None:
    """switch_to_tsg enables a held channel, as a driver may, and does not end the hold: the holder's next write
    disables the channel, and is no error."""
    list_channels = f"cat {traced.path('runlist0')}"
    _, text = hold_briefly(traced, f"{write_holds(traced, 16)}; "
                           f"printf {traced.chip.ref(5)} >{traced.path('switch_to_tsg')}; {list_channels}; "
                           f"printf {traced.chip.ref(16)} >&3; {list_channels}")
    states = [read_enabled(f"List: base{part}")[16] for part in text.split("List: base")[1:]]
    assert states == [False, True, False]
    wait_enabled(traced, 16)


def test_a_disabled_channel_is_refused(traced: Card) -> None:
    """The end of its hold would enable what somebody else has disabled: it is disabled still after the end of another
    hold. Seen failing without that check in
    holds_check()."""
    assert traced.write("hold_channel", traced.chip.ref(25)) == "write EALREADY"
    assert traced.write("hold_channel", traced.chip.ref(16)).startswith("OK")
    assert set(wait_for_ends(traced)) == {16}
    assert not is_enabled(traced, 25)


def test_a_channel_is_held_by_one_file(traced: Card) -> None:
    """Another file gets EBUSY, and its close leaves the hold. Seen failing where any owner may hold."""
    _, text = hold_briefly(traced, f"{write_holds(traced, 16)} >/dev/null; "
                           f"tryop write {traced.path('hold_channel')} {traced.chip.ref(16)}; "
                           f"cat {traced.path('runlist0')}")
    said, _, listed = text.partition("\n")
    assert said == "write EBUSY" and not read_enabled(listed)[16]


@pytest.mark.parametrize("name", ["enable_channel", "disable_channel"])
def test_a_later_request_ends_a_hold(traced: Card, name: str) -> None:
    """The channel is as that request left it, also after the holder's end and that of another hold. Seen failing
    without lens_hold_drop(): a channel that was disabled is enabled."""
    text = traced.guest.check(f"{write_holds(traced, 16)} >/dev/null; "
                              f"tryop write {traced.path(name)} {traced.chip.ref(16)}; cat {traced.path('runlist0')}")
    said, _, listed = text.partition("\n")
    assert said.startswith("OK") and read_enabled(listed)[16] == (name == "enable_channel")
    traced.guest.check(f"echo >{TRACE}/trace")
    assert traced.write("hold_channel", traced.chip.ref(8)).startswith("OK")
    assert set(wait_for_ends(traced)) == {8}
    assert is_enabled(traced, 16) == (name == "enable_channel")


def test_the_same_id_on_another_runlist_is_another_channel(fresh: Card) -> None:
    """Where ids count per runlist, 1:8 is held and enabled again, and 0:8 is not changed."""
    if not fresh.chip.per_runlist:
        pytest.skip("ids of this chip count for the whole GPU")
    assert fresh.write("disable_channel", "0:8").startswith("OK")
    assert fresh.write("hold_channel", "1:8").startswith("OK")
    wait_until(lambda: is_enabled(fresh, 8, 1), "the channel stays disabled")
    assert not is_enabled(fresh, 8)


def test_unloading_ends_holds(fresh: Card) -> None:
    """The module is unloaded while a file is open: every channel is enabled before. Seen failing without
    lens_holds_end_all() in lens_devices_exit()."""
    guest: Guest = fresh.guest
    for _ in range(20):  # a busy machine may end the hold before
        text = guest.check(f"{write_holds(fresh, 16)}; rmmod gpulens")
        enabled = is_enabled(fresh, 16)
        guest.load("gpulens", "control=1")
        if not read_enabled(text)[16]:
            break
    assert not read_enabled(text)[16] and enabled


def test_the_end_of_a_hold_is_traced(traced: Card) -> None:
    """hold_channel by the process, end_hold by a worker, each with the channel."""
    assert traced.write("hold_channel", traced.chip.ref(16)).startswith("OK")
    wait_for_ends(traced)
    runlist = 0 if traced.chip.per_runlist else -1
    lines = [(what, result) for _, what, _, _, result in EVENT.findall(traced.guest.read(f"{TRACE}/trace"))]
    assert lines == [(f"gpu={traced.index} action={action} runlist={runlist} id=16", "result=0")
                     for action in ("hold_channel", "end_hold")]
