# SPDX-License-Identifier: GPL-2.0
"""The trace event gpulens:gpulens_engine_switch: against the samples of the same sampler, and in trace-cmd, perf and
bpftrace beside the events of the kernel's scheduler."""

import pathlib
import re
import shutil
from collections.abc import Iterator
from typing import NamedTuple

import pytest

from lib import initramfs
from lib.guest import Guest
from support.vm import sampled
from support.vm.cards import Card, gpu_of, scenario
from support.vm.chips import chips_for
from support.vm.shared import PAIR, SharedGuests

pytestmark = pytest.mark.guest("pair")

# pylint: disable=redefined-outer-name

TRACE = "/sys/kernel/tracing"
CHIPS = chips_for("pair")
SWITCH = re.compile(r"gpu=(\d+) runlist=(\d+) from_tsg=(-?\d+) from_channel=(-?\d+) to_tsg=(-?\d+) "
                    r"to_channel=(-?\d+) time_ns=(\d+) engine=(\S.*\S)$")


class Switch(NamedTuple):
    """An event; -1: none, -2: unknown."""
    gpu: int
    runlist: int
    engine: str
    before: tuple[int, int]
    after: tuple[int, int]
    time_ns: int


def parse_event(line: str) -> Switch:
    """An event from the text that the kernel, trace-cmd and perf print."""
    match = SWITCH.search(line.strip())
    assert match, line
    gpu, runlist, *ids, time = [int(word) for word in match.groups()[:-1]]
    return Switch(gpu, runlist, match[8], (ids[0], ids[1]), (ids[2], ids[3]), time)


@pytest.fixture(scope="module")
def machine(guests: SharedGuests) -> Iterator[Guest]:
    """Two TSGs take turns on runlist 1 of each GPU."""
    with guests.take(PAIR, scenario("slices-two")) as guest:
        guest.load()
        yield guest


@pytest.fixture(params=range(len(CHIPS)), ids=[chip.name for chip in CHIPS])
def card(request: pytest.FixtureRequest, machine: Guest) -> Card:
    """Each of the two GPUs."""
    return Card(machine, CHIPS[request.param], request.param)


def sample_ticks(card: Card, ticks: int, words: str) -> str:
    """A shell command that keeps a sampler until so many ticks have samples, and stores these in /tmp/samples."""
    return f"sample -n {ticks} -c '{words}' -o /tmp/samples {card.path('samples')}"


def find_occupant(sample: sampled.Sample) -> tuple[int, int]:
    """TSG and channel as an event names them."""
    if sample.kind == sampled.ERROR:
        return -2, -2
    if sample.kind == sampled.IDLE:
        return -1, -1
    return (-1, sample.id) if sample.flags & 8 else (sample.id, sample.channel)  # 8: GPULENS_SAMPLE_BARE_CHANNEL


def switches_in(recording: sampled.Recording) -> list[Switch]:
    """The events that these samples must have caused, engine by engine."""
    found = []
    for index, engine in enumerate(recording.engines):
        last = (-2, -2)
        for sample in recording.of_engine(index):
            if find_occupant(sample) != last:
                found.append(Switch(recording.gpu, engine.runlist, engine.name, last, find_occupant(sample),
                                    sample.time_ns))
                last = find_occupant(sample)
    return sorted(found, key=lambda switch: switch.time_ns)


def trace_sampler(card: Card, words: str) -> list[Switch]:
    """The events while a sampler with these words has 500 ticks; its samples are in /tmp/samples."""
    guest, enable = card.guest, f"{TRACE}/events/gpulens/gpulens_engine_switch/enable"
    guest.check(f"echo 1 >{enable}; echo >{TRACE}/trace")
    try:
        guest.check(sample_ticks(card, 500, words), timeout=400)
        text = guest.check(f"grep -v '^#' {TRACE}/trace")
    finally:
        guest.check(f"echo 0 >{enable}; echo >{TRACE}/trace")
    return [parse_event(line) for line in text.splitlines()]


def test_every_change_between_samples_is_an_event(card: Card) -> None:
    """The events of a sampler are the changes in its samples, with their times and names, and no other.
    Seen failing without the update of what was found last."""
    guest = card.guest
    events = trace_sampler(card, "500 1")
    guest.check("cp /tmp/samples /tmp/s.bin")
    recording = sampled.decode_recording(guest.read("/tmp/s.bin").encode(errors="surrogateescape"))
    assert not recording.remarks(sampled.FULL)
    expected = switches_in(recording)
    assert events[:len(expected)] == expected
    # The last ticks may not have been read any more.
    assert all(event.time_ns > recording.samples[-1].time_ns for event in events[len(expected):])
    turns = [event.after[0] for event in events if event.after[0] >= 0]
    assert len(turns) > 20 and set(turns) == {21, 22}


def test_no_event_while_the_engines_do_not_change(card: Card) -> None:
    """After the first sample of each engine, a GPU whose clock stands causes no events.
    Seen failing with -2 in place of -1 for an idle engine."""
    card.emu.cmd({"cmd": "time", "mode": "virtual", "access_ns": 0})
    try:
        events = trace_sampler(card, "1000")
    finally:
        card.emu.cmd({"cmd": "time", "mode": "real", "access_ns": 1000})
    assert events and all(event.before == (-2, -2) for event in events)
    assert len({event.engine for event in events}) == len(events)
    assert (-1, -1) in {event.after for event in events}


def push_program(guest: Guest, name: str) -> None:
    """Stores a program of this machine in the guest, with its libraries; skips the test where it is not installed."""
    found = shutil.which(name)
    if not found:
        pytest.skip(f"{name} is not installed")
    for place, file in initramfs.find_libraries(pathlib.Path(found)).items():
        if guest.run(f"test -e /{place}")[0] != 0:
            guest.push(file, f"/{place}", 0o755)
    guest.push(pathlib.Path(found), f"/bin/{name}", 0o755)


def test_trace_cmd_shows_engines_and_processors_on_one_clock(card: Card) -> None:
    """trace-cmd, unmodified, records the event beside sched:sched_switch. With the clock "mono" its time stamps are of
    the clock of time_ns, so that each is at most a little later than that.
    Seen failing with ktime_get_real_ns() for time_ns."""
    guest = card.guest
    push_program(guest, "trace-cmd")
    out = guest.check("cd /tmp; trace-cmd record -q -C mono -e sched:sched_switch -e gpulens:gpulens_engine_switch "
                      f"{sample_ticks(card, 300, '1000 1')} >/dev/null 2>&1; "
                      "trace-cmd report -t trace.dat", timeout=600)
    lines = [line for line in out.splitlines() if " gpulens_engine_switch: " in line]
    assert len(lines) > 20 and " sched_switch: " in out
    for line in lines:
        stamp = re.search(r" (\d+)\.(\d{9}): gpulens_engine_switch: ", line)
        assert stamp, line
        late = int(stamp[1]) * 10**9 + int(stamp[2]) - parse_event(line).time_ns
        assert 0 <= late < 60e9, line
    assert {parse_event(line).after[0] for line in lines} >= {21, 22}


def test_perf_shows_the_event(card: Card) -> None:
    """perf, unmodified, records the event on all processors and prints it."""
    guest = card.guest
    push_program(guest, "perf")
    out = guest.check("cd /tmp; perf record -q -a -e gpulens:gpulens_engine_switch -o perf.data "
                      f"{sample_ticks(card, 300, '1000 1')} >/dev/null 2>&1; perf script -i perf.data", timeout=600)
    lines = [line for line in out.splitlines() if "gpulens:gpulens_engine_switch:" in line]
    assert len(lines) > 20 and {parse_event(line).after[0] for line in lines} >= {21, 22}


def test_bpftrace_counts_the_event() -> None:
    """bpftrace, unmodified, sums the turns of each TSG. It brings LLVM, 200 MB, so that it has a guest of its own."""
    program = shutil.which("bpftrace")
    if not program:
        pytest.skip("bpftrace is not installed")
    with Guest([gpu_of(CHIPS[0])], mem=1536, programs=[pathlib.Path(program)]) as guest:
        guest.load()
        guest.emu[0].cmd({"cmd": "scenario", "file": scenario("slices-two")})
        guest.push(b"tracepoint:gpulens:gpulens_engine_switch /args->to_tsg >= 0/ "
                   b"{ @turns[args->to_tsg] = count(); }\n",
                   "/tmp/turns.bt")
        command = sample_ticks(Card(guest, CHIPS[0], 0), 300, "1000 1")
        guest.push(f"#!/bin/sh\n{command}\n".encode(), "/tmp/run.sh", 0o755)
        status, out = guest.run("bpftrace -c /tmp/run.sh /tmp/turns.bt", timeout=600)
        if "'linux/types.h' file not found" in out:
            pytest.skip("bpftrace wants the headers of this kernel")  # 5.10
        assert status == 0, out
        turns = {int(tsg): int(count) for tsg, count in re.findall(r"@turns\[(\d+)\]: (\d+)", out)}
        assert set(turns) == {21, 22} and all(count > 20 for count in turns.values()), out
