# SPDX-License-Identifier: GPL-2.0
"""Reads the text of /proc/gpuX/runlistY as a script written for the published tool would: by its boxes and labels
(RTAS'24, Listing 1). Independent of the module's own formatting code."""

import re
from typing import NamedTuple

TSG = re.compile(r"TSG Entry (\d+)\b")
CHANNEL = re.compile(r"Channel Info (\d+)\b")
CONTROL_FILE = re.compile(r"_(channel|tsg|runlist)$|^switch_to_tsg$|^tsg_timeslice$")
FIELD = re.compile(r"^\s*\|\s*([^:|]+):\s*(.*?)\s*\|\s*$")


LIST = re.compile(r"List: base (0x[0-9a-f]{12}), target (vid|invalid|sys n?coh), entries (\d+), pending ([01])")
UNREAD = "! entries not readable"


class Listed(NamedTuple):
    """The first line: the location of the list."""
    base: int
    target: str
    entries: int
    pending: bool


class Channel(NamedTuple):
    """One channel's box."""
    id: int
    fields: dict[str, str]

    def number(self, label: str) -> int:
        """A field that begins with a number, as "Status: 5 (on pbdma)"."""
        return int(self.fields[label].split()[0], 0)


class Tsg(NamedTuple):
    """One TSG's box and its channels' boxes."""
    id: int
    fields: dict[str, str]
    channels: list[Channel]

    def number(self, label: str) -> int:
        """A field that begins with a number."""
        return int(self.fields[label].split()[0], 0)


def parse_list(text: str) -> Listed:
    """The first line of a runlist's text."""
    found = LIST.fullmatch(text.splitlines()[0])
    assert found, text.splitlines()[0]
    return Listed(int(found[1], 16), found[2], int(found[3]), found[4] == "1")


def is_unread(text: str) -> bool:
    """Whether only the location of a list is shown."""
    parse_list(text)
    return [line for line in text.splitlines()[1:] if not line.startswith("! submitted")] == [UNREAD]


def parse_runlist(text: str) -> list[Tsg]:
    """The TSGs in order. A channel before the first TSG is an error: no scenario of these tests has one."""
    tsgs: list[Tsg] = []
    fields: dict[str, str] = {}
    parse_list(text)
    for line in text.splitlines():
        if found := TSG.search(line):
            fields = {}
            tsgs.append(Tsg(int(found[1]), fields, []))
        elif found := CHANNEL.search(line):
            fields = {}
            tsgs[-1].channels.append(Channel(int(found[1]), fields))
        elif found := FIELD.match(line):
            fields[found[1].strip()] = found[2]
    return tsgs


def shape(text: str) -> list[tuple[int, list[int]]]:
    """The ids alone: [(TSG, [channels])]."""
    return [(tsg.id, [channel.id for channel in tsg.channels]) for tsg in parse_runlist(text)]


def read_enabled(text: str) -> dict[int, bool]:
    """Channel id -> the Enabled bit."""
    return {channel.id: channel.number("Enabled") == 1 for tsg in parse_runlist(text) for channel in tsg.channels}
