# SPDX-License-Identifier: GPL-2.0
"""gpulens top on the module: what it says of time slices and of who has the engine is what was set. How it looks on a
terminal, and its keys: tests/cli/test_top.py."""

import pathlib
import re
import shlex
from collections.abc import Iterator
from typing import NamedTuple

import pytest

from lib import paths
from lib.guest import SLOW, Gpu, Guest
from support.vm.cards import taking_turns
from support.vm.chips import chips_for

# pylint: disable=redefined-outer-name

CHIPS = chips_for("pair")
TERMINFO = [f"{place}/terminfo/v/vt100" for place in ("/lib", "/usr/share", "/usr/lib")]


@pytest.fixture(scope="module")
def machine() -> Iterator[Guest]:
    """A GPU with PCCSR, one with channel RAM, and one of which no scheduling register is published; and the tool."""
    with taking_turns(CHIPS, Gpu("gb202"), programs=[paths.tool()]) as guest:
        yield guest


@pytest.fixture(scope="module")
def terminals(machine: Guest) -> Guest:
    """The same with what a terminal's program needs: the description of a terminal, where this machine's ncurses, which
    the guest's tool uses, has it."""
    entry = next(path for path in map(pathlib.Path, TERMINFO) if path.exists())
    machine.check(f"mkdir -p /dev/pts {entry.parent}; mount -t devpts devpts /dev/pts")
    machine.push(entry, str(entry))
    return machine


class Row(NamedTuple):
    """What is looked at here of a line of the table."""
    util: float
    turn_ms: float
    slice_ms: float
    turns: float


def rows(screen: str) -> dict[int, Row]:
    """By TSG."""
    found = re.findall(r"^ +(\d+) +\d+ \S+ +([\d.]+) +([\d.]+) +([\d.]+) +([\d.]+) ", screen, re.M)
    return {int(tsg): Row(*map(float, rest)) for tsg, *rest in found}


def step_ms(screen: str) -> float:
    """What it says was reached."""
    found = re.search(r"^sampled every ([\d.]+) (us|ms) \(200\.000 us requested\)", screen, re.M)
    assert found, screen
    return float(found[1]) / (1000 if found[2] == "us" else 1)


@pytest.mark.parametrize("index", range(len(CHIPS)), ids=[chip.name for chip in CHIPS])
def test_turns_measure_as_slices_were_set(machine: Guest, index: int) -> None:
    """TSGs 21 and 22 with slices of 1998.848 and 999.424 us: median turns within the step that the screen says was
    reached, the engine split about 2 to 1, both configured slices, turns of both as often. Of the screen that was
    disturbed least."""
    text = machine.check(f"gpulens -g {index} top --every 200us --runlist 1 --window 2s --delay 2s --batch 4",
                         timeout=60)
    screens = text.split("\n\n")
    assert len(screens) == 4 and all(one.startswith(f"gpu{index}: {CHIPS[index].name} (") for one in screens)
    screen = min(screens, key=step_ms)
    reached, found = step_ms(screen), rows(screen)
    assert reached < 0.8 * SLOW and set(found) == {21, 22}, text
    for tsg, length in {21: 1.998848, 22: 0.999424}.items():
        assert found[tsg].slice_ms == round(length, 3)
        assert abs(found[tsg].turn_ms - length) <= reached, text
    assert 1.4 < found[21].util / found[22].util < 3, text
    assert 70 < found[21].util + found[22].util <= 100.1, text
    assert 0.7 < found[21].turns / found[22].turns < 1.4 and found[21].turns > 100 / SLOW, text


@pytest.mark.parametrize("index", range(len(CHIPS)), ids=[chip.name for chip in CHIPS])
def test_keys_steer_the_gpu_after_a_question(terminals: Guest, index: int) -> None:
    """On a terminal, with all but TSG 21 filtered out: d and n change nothing; d and e with y switch its channel off
    and on, x preempts it, as the module counts."""
    names = ("disable_channel", "enable_channel", "preempt_tsg")

    def type_keys(*pairs: str) -> None:
        words = " ".join(shlex.quote(word) for word in pairs)
        terminals.check(f"TERM=vt100 terminal 'q quit' '/21\r' '1 of 2' {words} q "
                        f"-- gpulens -g {index} top --every 1ms --runlist 1", timeout=60)

    def state() -> tuple[bool, list[int]]:
        channels = terminals.emu[index].cmd({"cmd": "state"})["channels"]
        stats = dict(line.split() for line in terminals.read(f"/proc/gpu{index}/stats").splitlines())
        return ([one["enabled"] for one in channels if one["runlist"] == 1 and one["id"] == 40][0],
                [int(stats[f"write_{name}"]) for name in names])

    before = state()[1]
    type_keys("d", "y/n", "n", "nothing was")
    assert state() == (True, before)
    type_keys("d", "y/n", "y", "written to")
    assert state() == (False, [before[0] + 1, *before[1:]])
    type_keys("e", "y/n", "y", "written to")
    assert state() == (True, [before[0] + 1, before[1] + 1, before[2]])
    type_keys("x", "y/n", "y", "written to")
    assert state() == (True, [one + 1 for one in before])


def test_an_ordinary_user_is_told_what_top_takes(machine: Guest) -> None:
    """Status 3 and one sentence: neither samples nor snapshots are for everybody."""
    status, text = machine.run("become -u 1000 -- gpulens -g 0 top --delay 100ms --batch 3", timeout=60)
    assert status == 3
    assert text.startswith("gpulens: /proc/gpu0/snapshot: EACCES: permission denied; reading runlists requires CAP_PERFMON")


def test_a_chip_without_published_registers_is_said_to_be_one(machine: Guest) -> None:
    """GB202: neither samples nor runlists; no row, and why."""
    text = machine.check("gpulens -g 2 top --delay 100ms --batch 1", timeout=60)
    assert "/proc/gpu2/samples: EOPNOTSUPP" in text and "0 TSGs" in text


def test_a_gpu_that_is_removed_ends_batch(machine: Guest) -> None:
    """Status 1, and its reason; the screens of before are there."""
    status, text = machine.run("""rm -f /tmp/top
        gpulens -g 2 top --delay 300ms --batch 100 >/tmp/top 2>/tmp/why & top=$!
        until [ -s /tmp/top ]; do sleep 0.1; done; echo 1 >/sys/bus/pci/devices/0000:00:06.0/remove
        wait $top; echo "status $?"
        cat /tmp/why; head -1 /tmp/top; echo 1 >/sys/bus/pci/rescan""", timeout=60)
    assert status == 0 and "status 1\n" in text and "gpulens: " in text and "gpu2: GB202" in text, text
