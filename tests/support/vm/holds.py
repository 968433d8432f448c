# SPDX-License-Identifier: GPL-2.0
"""Processes of a guest that hold channels through /proc/gpuX/hold_channel."""

import contextlib
from collections.abc import Iterator

from lib.guest import SLOW
from support.vm.cards import Card, wait_until


def is_enabled(card: Card, channel: int, runlist: int = 0) -> bool:
    """By the emulator."""
    channels = card.emu.cmd({"cmd": "state"})["channels"]
    return [c["enabled"] for c in channels if (c["runlist"], c["id"]) == (runlist, channel)][0]


@contextlib.contextmanager
def hold_channels(card: Card, *channels: int, ms: int = 0, again: str = "") -> Iterator[int]:
    """A process that holds these channels, and its id. ms: for so long, 0: as long as it may. again: shell text that it
    repeats, with the file as 3."""
    time = f" {ms}" if ms else ""
    writes = "; ".join(f'printf "{card.chip.ref(channel)}{time}" >&3 || exit 1' for channel in channels)
    card.guest.push(f"exec 3>{card.path('hold_channel')}; {writes}; echo held >/tmp/held; "
                    f"while :; do {again or 'sleep 1000'}; done\n".encode(), "/tmp/holder")
    pid = int(card.guest.check("rm -f /tmp/held; setsid sh /tmp/holder >/dev/null 2>&1 </dev/null & echo $!"))
    try:
        wait_until(lambda: card.guest.run("grep -q held /tmp/held")[0] == 0, "nothing is held", 10 * SLOW)
        yield pid
    finally:
        card.guest.run(f"kill -9 -{pid}; rm -f /tmp/held")
