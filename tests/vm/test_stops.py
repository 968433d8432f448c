# SPDX-License-Identifier: GPL-2.0
"""A stop of the machine lasts at most 50 ms, also with an unreliable clock or a slow GPU: it is bounded by a count of
accesses as well as by the clock. The emulator delays and logs each access, so that the length of a stop is known
without the guest's clock: from the read that saves the window's position to the read that verifies its restoration."""

from collections.abc import Iterator
from typing import NamedTuple

import pytest

from lib import paths
from lib.guest import Guest
from lib.machine import iommu_obstacle
from support.vm.cards import Card
from support.vm.chips import CHIPS
from support.vm.shared import FOUR, FOUR_IOMMU, SharedGuests

LONGEST_STOP_MS = 50
CLOCK = "/sys/devices/system/clocksource/clocksource0"
PIECE_WORDS = 512  # vram_piece, 4096 bytes


def scenario_of(name: str) -> str:
    """The path of one of the emulator's scenarios."""
    return str(paths.SCENARIOS / f"{name}.json")


class Stop(NamedTuple):
    """One acquisition of the window, as the emulator saw it."""
    accesses: int
    words: int


def list_stops(card: Card) -> list[Stop]:
    """The acquisitions of the window in the emulator's log: a read of its register, accesses, a write that restores it
    and the read that follows."""
    found: list[Stop] = []
    begin, words, before = None, 0, None
    log = card.emu.cmd({"cmd": "log-read"})["accesses"]
    for index, access in enumerate(log):
        window = (access["bar"], access["off"]) == (0, card.chip.window)
        if window and access["op"] == "r" and before == ("w", index - 1):
            assert begin is not None
            found.append(Stop(index - begin + 1, words))
            begin = None
        elif window and access["op"] == "r":  # the one before it did not move the window, and ends without a read
            if begin is not None:
                found.append(Stop(index - begin, words))
            begin, words = index, 0
        elif window:
            before = ("w", index)
        elif begin is not None and access["size"] == 8:
            words += 1
    if begin is not None:
        found.append(Stop(words + 1, words))
    return found


@pytest.fixture(scope="module", params=[pytest.param("default clock", marks=pytest.mark.guest("four")),
                                        pytest.param("acpi_pm", marks=pytest.mark.guest("iommu"))])
def machine(request: pytest.FixtureRequest, guests: SharedGuests) -> Iterator[Guest]:
    """A GPU of each chip with 64 channels. acpi_pm: a clock of 24 bits, which wraps every 4.7 s and loses time when the
    machine is stopped for longer. Only QEMU's machine with an IOMMU has it."""
    acpi_pm = request.param == "acpi_pm"
    if acpi_pm and (obstacle := iommu_obstacle()):
        pytest.skip(obstacle)
    with guests.take(FOUR_IOMMU if acpi_pm else FOUR, scenario_of("bench-64")) as guest:
        clock = guest.read(f"{CLOCK}/current_clocksource").strip()
        if acpi_pm:
            guest.check(f"echo acpi_pm >{CLOCK}/current_clocksource")
        guest.load("gpulens", "control=1")
        yield guest
        guest.check(f"echo {clock} >{CLOCK}/current_clocksource")


@pytest.fixture(params=range(len(CHIPS)), ids=[chip.name for chip in CHIPS])
def loaded(request: pytest.FixtureRequest, machine: Guest) -> Iterator[Card]:  # pylint: disable=redefined-outer-name
    """Each GPU, with a log of its accesses."""
    card = Card(machine, CHIPS[request.param], request.param)
    card.emu.cmd({"cmd": "log", "on": True})
    card.emu.cmd({"cmd": "log-read"})
    yield card
    card.emu.cmd({"cmd": "log", "on": False})
    card.emu.cmd({"cmd": "fault", "kind": "none"})


def read_numbers(card: Card) -> dict[str, int]:
    """The numbers of stats by name."""
    return {name: int(value) for name, value in (line.split() for line in card.read("stats").splitlines())}


def test_slow_registers_are_read_in_stops_of_50_ms_at_most(loaded: Card) -> None:
    """A runlist of 64 channels is read correctly in several stops, none with more than 50 accesses of 1 ms.
    Seen failing with the module of 8eb1b46: one stop of 148 accesses and more."""
    text = loaded.read("runlist0")
    loaded.emu.cmd({"cmd": "log-read"})
    before = read_numbers(loaded)
    loaded.emu.cmd({"cmd": "fault", "kind": "slow", "ns": 1_000_000})
    slow = loaded.guest.check(f"cat {loaded.path('runlist0')}", timeout=60)
    loaded.emu.cmd({"cmd": "fault", "kind": "none"})
    assert slow.count("TSG Entry") == text.count("TSG Entry") == 8
    seen = list_stops(loaded)
    assert len(seen) > 3 and sum(stop.words for stop in seen) >= 72
    assert max(stop.accesses for stop in seen) <= LONGEST_STOP_MS
    after = read_numbers(loaded)
    assert after["window_stops"] - before["window_stops"] == len(seen)
    # Measured by the guest's clock, which runs during short stops. A busy machine only adds to it.
    together = after["window_stopped_ns"] - before["window_stopped_ns"]
    longest = after["window_longest_stop_ns"]
    assert max(stop.accesses for stop in seen) * 1_000_000 <= longest <= after["window_stopped_ns"]
    assert sum(stop.accesses for stop in seen) * 1_000_000 <= together < 10**15


def test_very_slow_registers_do_not_stop_the_machine(loaded: Card) -> None:
    """With registers that take 30 ms no stop can be short: ETIMEDOUT, the window is not accessed, and no counter
    decreases.
    Seen failing with the module of 8eb1b46 and acpi_pm: one stop of 576 words, window_longest_stop_ns
    18446744073704332796."""
    before = read_numbers(loaded)
    loaded.emu.cmd({"cmd": "log-read"})
    loaded.emu.cmd({"cmd": "fault", "kind": "slow", "ns": 30_000_000})
    answer = loaded.guest.run(f"tryop read {loaded.path('runlist0')}", timeout=60)[1].strip()
    loaded.emu.cmd({"cmd": "fault", "kind": "none"})
    assert answer == "read ETIMEDOUT"
    log = loaded.emu.cmd({"cmd": "log-read"})["accesses"]
    assert log and not [access for access in log if (access["bar"], access["off"]) == (0, loaded.chip.window)]
    after = read_numbers(loaded)
    for name in ("window_stops", "window_stopped_ns", "window_longest_stop_ns"):
        assert after[name] == before[name] < 10**12
    assert "TSG Entry" in loaded.read("runlist0")


def test_a_stop_reads_at_most_4_kib(loaded: Card) -> None:
    """2048 channels are 2304 entries of 8 bytes up to Pascal, of 16 from Volta on; a stop reads at most 512 words.
    Seen failing with the module of 8eb1b46: 2304 and 4608 words in a stop."""
    loaded.emu.cmd({"cmd": "scenario", "file": scenario_of("bench-2048")})
    loaded.emu.cmd({"cmd": "log-read"})
    loaded.guest.check(f"cat {loaded.path('snapshot')} >/dev/null", timeout=60)
    seen = list_stops(loaded)
    loaded.emu.cmd({"cmd": "scenario", "file": scenario_of("bench-64")})
    assert max(stop.words for stop in seen) <= PIECE_WORDS
    assert sum(stop.words for stop in seen) >= (2304 if loaded.chip.name == "GP106" else 4608)
