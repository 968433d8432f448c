# SPDX-License-Identifier: GPL-2.0
"""gpulens top with the module: time slices and shares of an engine are those that were set. The screen and its keys:
tests/cli/test_top.py."""

import pathlib
import re
import shlex
from collections.abc import Iterator
from typing import NamedTuple

import pytest

from lib.guest import Guest
from support.vm.cards import scenario
from support.vm.chips import chips_for
from support.vm.shared import PAIR, SharedGuests

pytestmark = pytest.mark.guest("pair")

# pylint: disable=redefined-outer-name

CHIPS = chips_for("pair")
TERMINFO = [f"{place}/terminfo/v/vt100" for place in ("/lib", "/usr/share", "/usr/lib")]


@pytest.fixture(scope="module")
def machine(guests: SharedGuests) -> Iterator[Guest]:
    """A GPU with PCCSR, one with channel RAM, and one of which no scheduling register is published; and the tool."""
    with guests.take(PAIR, scenario("slices-two")) as guest:
        guest.load("gpulens", "control=1")
        yield guest


@pytest.fixture(scope="module")
def terminals(machine: Guest) -> Guest:
    """The same with a terminal: pseudo-terminals, and the terminfo entry at the path where this machine's ncurses,
    which the tool in the guest uses, looks for it."""
    entry = next(path for path in map(pathlib.Path, TERMINFO) if path.exists())
    machine.check(f"mkdir -p /dev/pts {entry.parent}; mount -t devpts devpts /dev/pts")
    machine.push(entry, str(entry))
    return machine


class Row(NamedTuple):
    """The columns of a line of the table that are checked."""
    util: float
    turn_ms: float
    slice_ms: float
    turns: float


def read_rows(screen: str) -> dict[int, Row]:
    """TSG -> its row."""
    found = re.findall(r"^ +(\d+) +\d+ \S+ +([\d.]+) +<?([\d.]+) +([\d.]+) +([\d.]+) ", screen, re.M)
    return {int(tsg): Row(*map(float, rest)) for tsg, *rest in found}


def step_ms(screen: str) -> float:
    """The period of samples that the screen reports, in milliseconds."""
    found = re.search(r"^sampled every ([\d.]+) (us|ms) \(200\.000 us requested\)", screen, re.M)
    assert found, screen
    return float(found[1]) / (1000 if found[2] == "us" else 1)


SLICES = {21: 1.998848, 22: 0.999424}  # ms


def is_measured(screen: str) -> bool:
    """Whether both TSGs' median slots are their slices, within the period of samples and the digit that is shown, the
    engine is shared about 2 to 1, and both have about equally many slots."""
    found, reached = read_rows(screen), step_ms(screen)
    if reached >= 0.8 or set(found) != set(SLICES):
        return False
    first, second = found[21], found[22]
    if any(abs(found[tsg].turn_ms - length) > reached + 0.05 for tsg, length in SLICES.items()):
        return False
    if not 1.4 < first.util / second.util < 3 or not 70 < first.util + second.util <= 100.1:
        return False
    return 0.7 < first.turns / second.turns < 1.4 and min(first.turns, second.turns) > 100


def show_screens(machine: Guest, index: int) -> "list[str]":
    """Four screens of runlist 1, a second each."""
    text = machine.check(f"gpulens -g {index} top --every 200us --runlist 1 --window 1s --delay 1s --batch 4",
                         timeout=300)
    screens = text.split("\n\n")
    assert len(screens) == 4 and all(screen.startswith(f"gpu{index}: {CHIPS[index].name} (") for screen in screens)
    return screens


@pytest.mark.parametrize("index", range(len(CHIPS)), ids=[chip.name for chip in CHIPS])
def test_each_screen_has_the_slices_as_they_were_set(machine: Guest, index: int) -> None:
    """1998.848 and 999.424 us of TSGs 21 and 22, which have rows."""
    screens = show_screens(machine, index)
    for screen in screens:
        assert all(row.slice_ms == round(SLICES[tsg], 3) for tsg, row in read_rows(screen).items()), screen
    assert {tsg for screen in screens for tsg in read_rows(screen)} == set(SLICES), screens


@pytest.mark.timed
@pytest.mark.parametrize("index", range(len(CHIPS)), ids=[chip.name for chip in CHIPS])
def test_turns_measure_as_slices_were_set(machine: Guest, index: int) -> None:
    """One of the screens measures the turns of both."""
    screens = show_screens(machine, index)
    assert any(is_measured(screen) for screen in screens), screens


@pytest.mark.parametrize("index", range(len(CHIPS)), ids=[chip.name for chip in CHIPS])
def test_keys_control_the_gpu_after_a_question(terminals: Guest, index: int) -> None:
    """On a terminal that shows only TSG 21: d answered with n changes nothing; d and e answered with y disable and
    enable its channel, and x preempts it, by the module's counters."""
    names = ("disable_channel", "enable_channel", "preempt_tsg")

    def type_keys(*pairs: str) -> None:
        words = " ".join(shlex.quote(word) for word in pairs)
        terminals.check(f"TERM=vt100 terminal 'q quit' '/21\r' '1 of 2' {words} q "
                        f"-- gpulens -g {index} top --every 1ms --runlist 1", timeout=60)

    def read_state() -> tuple[bool, list[int]]:
        channels = terminals.emu[index].cmd({"cmd": "state"})["channels"]
        stats = dict(line.split() for line in terminals.read(f"/proc/gpu{index}/stats").splitlines())
        return ([channel["enabled"] for channel in channels if (channel["runlist"], channel["id"]) == (1, 40)][0],
                [int(stats[f"write_{name}"]) for name in names])

    before = read_state()[1]
    type_keys("d", "y/n", "n", "nothing was")
    assert read_state() == (True, before)
    type_keys("d", "y/n", "y", "written to")
    assert read_state() == (False, [before[0] + 1, *before[1:]])
    type_keys("e", "y/n", "y", "written to")
    assert read_state() == (True, [before[0] + 1, before[1] + 1, before[2]])
    type_keys("x", "y/n", "y", "written to")
    assert read_state() == (True, [count + 1 for count in before])


def test_an_unprivileged_user_gets_the_required_capability_named(machine: Guest) -> None:
    """Status 3 and one sentence: samples and snapshots need a capability."""
    status, text = machine.run("become -u 1000 -- gpulens -g 0 top --delay 100ms --batch 3", timeout=60)
    assert status == 3
    assert text.startswith(
        "gpulens: /proc/gpu0/snapshot: EPERM: reading requires CAP_PERFMON")


def test_a_chip_without_published_registers_has_no_rows(machine: Guest) -> None:
    """GB202: neither samples nor runlists; no row, and the reason."""
    text = machine.check("gpulens -g 2 top --delay 100ms --batch 1", timeout=60)
    assert "/proc/gpu2/samples: EOPNOTSUPP" in text and "0 TSGs" in text


def test_removal_of_the_gpu_ends_batch_mode(machine: Guest) -> None:
    """Status 1 with the reason, after the screens until then."""
    status, text = machine.run("""rm -f /tmp/top
        gpulens -g 2 top --delay 300ms --batch 100 >/tmp/top 2>/tmp/why & top=$!
        until [ -s /tmp/top ]; do sleep 0.1; done; echo 1 >/sys/bus/pci/devices/0000:00:06.0/remove
        wait $top; echo "status $?"
        cat /tmp/why; head -1 /tmp/top; echo 1 >/sys/bus/pci/rescan""", timeout=60)
    assert status == 0 and "status 1\n" in text and "gpulens: " in text and "gpu2: GB202" in text, text
