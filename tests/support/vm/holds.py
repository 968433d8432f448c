# SPDX-License-Identifier: GPL-2.0
"""Processes of a guest that hold channels through /proc/gpuX/hold_channel."""

import contextlib
import re
from collections.abc import Callable, Iterator
from typing import Any, Optional

from support.vm.cards import Card, wait_until

TRACE = "/sys/kernel/tracing"
EVENT = f"{TRACE}/events/gpulens/gpulens_control/enable"
ATTEMPTS = 20  # to begin again where a machine that is too busy for a test's conditions ends a hold
RENEW = "printf '* 1000' >&3; usleep 20000"


def is_enabled(card: Card, channel: int, runlist: int = 0) -> bool:
    """By the emulator."""
    channels = card.emu.cmd({"cmd": "state"})["channels"]
    return [c["enabled"] for c in channels if (c["runlist"], c["id"]) == (runlist, channel)][0]


@contextlib.contextmanager
def hold_channels(card: Card, *channels: int, ms: int = 0, again: str = "") -> Iterator[int]:
    """A process that holds these channels, and its id. ms: for so long at a time; 0: a second. again: shell text that
    it repeats, with the file as 3; without it, the holds are renewed, so that they last however slow the machine is."""
    time = f" {ms}" if ms else ""
    renew = "; printf '* 1000' >&3" if len(channels) > 8 else ""  # the first ones would end before the last ones begin
    writes = "; ".join(f'until printf "{ref}{time}" >&3; do usleep 10000; done{renew}'
                       for ref in map(card.chip.ref, channels))
    card.guest.push(f"exec 3>{card.path('hold_channel')}; {writes}; echo held >/tmp/held; "
                    f"while :; do {again or RENEW}; done\n".encode(), "/tmp/holder")
    pid = int(card.guest.check("rm -f /tmp/held; setsid sh /tmp/holder >/dev/null 2>&1 </dev/null & echo $!"))
    try:
        wait_until(lambda: card.guest.run("grep -q held /tmp/held")[0] == 0, "nothing is held")
        yield pid
    finally:
        card.guest.run(f"kill -9 -{pid}; rm -f /tmp/held")


@contextlib.contextmanager
def hold_during(card: Card, step: Callable[[], Any], *channels: int, again: str = "",
                prepare: Optional[Callable[[], None]] = None) -> Iterator[Any]:
    """hold_channels(), and what step() returned, during which none of them ended, by the trace (EVENT is on). Where one
    did, all begins again, with an empty kernel log, after prepare(), which is card.reload() if none is given."""
    for _ in range(ATTEMPTS):
        (prepare or card.reload)()
        card.guest.check(f"dmesg -c >/dev/null; echo >{TRACE}/trace")
        with hold_channels(card, *channels, again=again):
            result = step()
            ended = re.findall(r"action=end_hold .* id=(\d+) ", card.guest.read(f"{TRACE}/trace"))
            if not set(ended) & set(map(str, channels)):
                yield result
                return
    raise AssertionError("every hold ended too early")
