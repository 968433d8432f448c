# SPDX-License-Identifier: GPL-2.0
"""hold_channel: a channel is disabled while a file is open, and is enabled however the process ends. The emulator says
which channels are enabled, without asking the module."""

import contextlib
import re
import time
from collections.abc import Iterator

import pytest

from lib.guest import SLOW, Guest
from support.vm.cards import Card, wait_until

LONGEST = 1.0  # seconds of a hold (LENS_HOLD_MS)
SOON = 0.25 * SLOW  # seconds in which the worker enables a channel on a loaded machine; on an idle one it takes 10 ms


def is_enabled(card: Card, channel: int, runlist: int = 0) -> bool:
    """By the emulator."""
    channels = card.emu.cmd({"cmd": "state"})["channels"]
    return [c["enabled"] for c in channels if (c["runlist"], c["id"]) == (runlist, channel)][0]


@contextlib.contextmanager
def hold_channels(card: Card, *channels: int, again: str = "") -> Iterator[int]:
    """A process that holds these channels, and its id. again: shell text that it repeats, with the file as 3."""
    writes = "; ".join(f"printf {card.chip.ref(channel)} >&3 || exit 1" for channel in channels)
    pid = int(card.guest.check(f"setsid sh -c 'exec 3>{card.path('hold_channel')}; {writes}; echo held >/tmp/held; "
                               f"while :; do {again or 'sleep 1000'}; done' >/dev/null 2>&1 </dev/null & echo $!"))
    try:
        wait_until(lambda: card.guest.run("grep -q held /tmp/held")[0] == 0, "nothing is held")
        yield pid
    finally:
        card.guest.run(f"kill -9 -{pid}; rm -f /tmp/held")


def wait_enabled(card: Card, channel: int, limit: float = SOON) -> float:
    """Waits until the channel is enabled. Returns how long that took."""
    start = time.monotonic()
    wait_until(lambda: is_enabled(card, channel), "the channel stays disabled", limit)
    return time.monotonic() - start


def test_a_hold_ends_with_the_process(fresh: Card) -> None:
    """Two channels are held, and both are enabled when the process is killed; another one is not changed.
    Seen failing without lens_holds_end_owner() in files_release_holds(): after 1 s only."""
    assert fresh.write("disable_channel", fresh.chip.ref(24)).startswith("OK")
    with hold_channels(fresh, 8, 16) as pid:
        assert not is_enabled(fresh, 8) and not is_enabled(fresh, 16)
        fresh.guest.check(f"kill -9 -{pid}")
        wait_enabled(fresh, 8)
        wait_enabled(fresh, 16)
    assert not is_enabled(fresh, 24)


def test_a_closed_file_holds_nothing(fresh: Card) -> None:
    """One write and close: the channel is enabled soon after that."""
    assert fresh.write("hold_channel", fresh.chip.ref(16)).startswith("OK")
    wait_enabled(fresh, 16)


def test_a_hold_ends_when_the_last_descriptor_is_closed(fresh: Card) -> None:
    """A child that inherited the file keeps the hold after its parent's end."""
    fresh.guest.check(f"setsid sh -c 'exec 3>{fresh.path('hold_channel')}; printf {fresh.chip.ref(16)} >&3; "
                      "sleep 1000 & echo $! >/tmp/child; touch /tmp/ended' >/dev/null 2>&1 </dev/null; "
                      "while ! rm /tmp/ended 2>/dev/null; do usleep 1000; done")
    assert not is_enabled(fresh, 16)
    fresh.guest.check("kill -9 $(cat /tmp/child)")
    wait_enabled(fresh, 16)


def test_a_hold_lasts_for_a_second_at_most(fresh: Card) -> None:
    """Also where the process writes again and again, and although the file stays open; and then it may hold anew.
    Seen failing with a time that each write begins again."""
    with hold_channels(fresh, 16, again=f"printf {fresh.chip.ref(16)} >&3; touch /tmp/again; usleep 700000"):
        since = time.monotonic()
        assert not is_enabled(fresh, 16)
        wait_enabled(fresh, 16, LONGEST + SOON)
        assert time.monotonic() - since > 0.5
        wait_until(lambda: not is_enabled(fresh, 16), "it holds nothing any more", 1 + SOON)
    wait_enabled(fresh, 16)


def test_a_second_write_disables_once_more(fresh: Card) -> None:
    """switch_to_tsg enables a held channel, as a driver may, and does not end the hold: the holder's next write
    disables the channel, and is no error."""
    again = f"[ -e /tmp/go ] && printf {fresh.chip.ref(16)} >&3 && rm /tmp/go; usleep 10000"
    with hold_channels(fresh, 16, again=again):
        assert fresh.write("switch_to_tsg", fresh.chip.ref(5)).startswith("OK")
        assert is_enabled(fresh, 16)
        fresh.guest.check("touch /tmp/go")
        wait_until(lambda: fresh.guest.run("[ -e /tmp/go ]")[0] != 0, "it does not write", SOON)
        assert not is_enabled(fresh, 16)
    wait_enabled(fresh, 16)


def test_a_disabled_channel_is_refused(fresh: Card) -> None:
    """The end of its hold would enable what somebody else has disabled. Seen failing without that check in
    holds_enter()."""
    assert fresh.write("hold_channel", fresh.chip.ref(25)) == "write EALREADY"
    time.sleep(SOON)
    assert not is_enabled(fresh, 25)


def test_a_channel_is_held_by_one_file(fresh: Card) -> None:
    """Another file gets EBUSY, and its close leaves the hold. Seen failing where any owner may hold."""
    with hold_channels(fresh, 16):
        assert fresh.write("hold_channel", fresh.chip.ref(16)) == "write EBUSY"
        assert not is_enabled(fresh, 16)


@pytest.mark.parametrize("name", ["enable_channel", "disable_channel"])
def test_a_later_request_ends_a_hold(fresh: Card, name: str) -> None:
    """The channel is as that request left it, also after the holder's end. Seen failing without lens_hold_drop(): a
    channel that was disabled is enabled."""
    with hold_channels(fresh, 16):
        assert fresh.write(name, fresh.chip.ref(16)).startswith("OK")
        assert is_enabled(fresh, 16) == (name == "enable_channel")
    time.sleep(SOON)
    assert is_enabled(fresh, 16) == (name == "enable_channel")


def test_the_same_id_on_another_runlist_is_another_channel(fresh: Card) -> None:
    """Where ids count per runlist, 1:8 is held and enabled again, and 0:8 is not changed."""
    if not fresh.chip.per_runlist:
        pytest.skip("ids of this chip count for the whole GPU")
    assert fresh.write("disable_channel", "0:8").startswith("OK")
    assert fresh.write("hold_channel", "1:8").startswith("OK")
    wait_until(lambda: is_enabled(fresh, 8, 1), "the channel stays disabled", SOON)
    assert not is_enabled(fresh, 8)


def test_unloading_ends_holds(fresh: Card) -> None:
    """The module is unloaded while a file is open: every channel is enabled before. Seen failing without
    lens_holds_end_all() in lens_detach_devices()."""
    guest: Guest = fresh.guest
    with hold_channels(fresh, 16):
        guest.unload()
        try:
            assert is_enabled(fresh, 16)
        finally:
            guest.load("gpulens", "control=1")


def test_the_end_of_a_hold_is_traced(fresh: Card) -> None:
    """hold_channel by the process, end_hold by a worker, each with the channel."""
    event = "/sys/kernel/tracing/events/gpulens/control/enable"
    fresh.guest.check(f"echo >/sys/kernel/tracing/trace; echo 1 >{event}")
    try:
        assert fresh.write("hold_channel", fresh.chip.ref(16)).startswith("OK")
        wait_until(lambda: "end_hold" in fresh.guest.read("/sys/kernel/tracing/trace"), "no event", SOON)
    finally:
        fresh.guest.check(f"echo 0 >{event}")
    runlist = 0 if fresh.chip.per_runlist else -1
    lines = re.findall(r": control: (.*) pid=\d+ (.*)$", fresh.guest.read("/sys/kernel/tracing/trace"), re.M)
    assert lines == [(f"gpu={fresh.index} action={action} runlist={runlist} id=16", "result=0")
                     for action in ("hold_channel", "end_hold")]
