# SPDX-License-Identifier: GPL-2.0
"""The gpulens program in a guest with the module: what it shows, records and steers. What it prints of recorded GPUs:
tests/cli."""

import csv
import io
import json
import pathlib
import subprocess
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

from lib import paths
from lib.guest import SLOW, Guest
from support.vm.cards import Card, run_tool, scenario, taking_turns
from support.vm.chips import chips_for

# pylint: disable=redefined-outer-name

CHIPS = chips_for("pair")


@pytest.fixture(scope="module")
def machine() -> Iterator[Guest]:
    """A GPU with PCCSR and one with channel RAM, two TSGs taking turns on two runlists of each, and the tool."""
    with taking_turns(CHIPS, programs=[paths.tool()]) as guest:
        yield guest


@pytest.fixture(params=range(len(CHIPS)), ids=[chip.name for chip in CHIPS])
def card(request: pytest.FixtureRequest, machine: Guest) -> Iterator[Card]:
    """Each in turn, as it was."""
    one = Card(machine, CHIPS[request.param], request.param)
    yield one
    one.emu.cmd({"cmd": "scenario", "file": scenario("slices-two")})


class Said(NamedTuple):
    """What the program answered."""
    status: int
    out: str
    err: str


def run(card: Card, words: str, who: str = "") -> Said:
    """gpulens -g X WORDS in the guest; who: steps of helpers/become.c."""
    become = f"become {who} -- " if who else ""
    status, out = card.guest.run(f"{become}gpulens -g {card.index} {words} 2>/tmp/err", timeout=120)
    return Said(status, out, card.guest.read("/tmp/err"))


def plain(value: Any) -> Any:
    """JSON without what an image tells and a snapshot does not, or the other way round."""
    if isinstance(value, dict):
        return {key: plain(one) for key, one in value.items()
                if key not in ("source", "gpu", "time_ns", "boot42", "context", "page_directory")}
    return [plain(one) for one in value] if isinstance(value, list) else value


def test_a_snapshot_shows_what_an_image_shows(card: Card, tmp_path: pathlib.Path) -> None:
    """Both at the same instant of a GPU that stands still: chip, engines, runlists with every channel's state, copy
    engines, GPCs and hazards are equal."""
    card.emu.cmd({"cmd": "time", "mode": "virtual", "access_ns": 0})
    try:
        (tmp_path / "image").write_text(card.read("image"))
        live = json.loads(run(card, "--json").out)
    finally:
        card.emu.cmd({"cmd": "time", "mode": "real", "access_ns": 1000})
    recorded = json.loads(run_tool(tmp_path / "image", "--json").stdout)
    assert plain(live) == plain(recorded)
    assert live["gpus"][0]["source"] == card.path("snapshot") and live["gpus"][0]["gpu"] == card.index


def test_an_image_tells_of_every_file_what_the_module_does(card: Card, tmp_path: pathlib.Path) -> None:
    """gpulens -i IMAGE proc NAME, for every name in /proc/gpuX: the same text or the same lack of it, or a sentence why
    an image cannot tell. At one instant of a GPU that stands still."""
    card.emu.cmd({"cmd": "time", "mode": "virtual", "access_ns": 0})
    try:
        (tmp_path / "image").write_text(card.read("image"))
        names = card.guest.check(f"ls /proc/gpu{card.index}").split()
        live = {name: card.guest.run(f"cat {card.path(name)}") for name in names if told(name)}
    finally:
        card.emu.cmd({"cmd": "time", "mode": "real", "access_ns": 1000})
    assert {"bars", "chip", "runlist0", "num_ces", "gpc0_tpc_mask", "shared_lce_for_grce1"} <= set(live)
    assert len(live) > 20 and len(names) - len(live) == 15
    for name, (status, text) in live.items():
        done = run_tool(tmp_path / "image", "proc", name)
        assert (done.returncode, done.stdout) == (status, text), name
    for name in set(names) - set(live):
        done = run_tool(tmp_path / "image", "proc", name)
        assert done.returncode == (0 if name == "image" else 1), name
        assert name == "image" or f": {name}: it " in done.stderr and not done.stdout, done


def told(name: str) -> bool:
    """Is it a file of the GPU's own state, as text? The others: 10 that control, image, snapshot, topology, stats,
    samples."""
    return name not in ("image", "snapshot", "topology", "stats", "samples", "tsg_timeslice") and not name.endswith(
        ("_channel", "_tsg", "preempt_runlist", "resubmit_runlist"))


def test_all_gpus_are_shown_in_one_call(machine: Guest) -> None:
    """Without -g: each GPU under its own first line, with where it comes from."""
    out = machine.check("gpulens chip")
    assert [line.split(",")[0] for line in out.splitlines() if line.startswith("gpu")] == [
        "gpu0: GP106 (Pascal)", "gpu1: AD102 (Ada)"]
    assert "from /proc/gpu1/snapshot" in out


# -- record


def intervals(text: str) -> list[dict[str, str]]:
    """Of a CSV, in order."""
    return [row for row in csv.DictReader(io.StringIO(text)) if row["end_ns"]]


def varint(data: bytes, pos: int) -> tuple[int, int]:
    """A number of Protocol Buffers' encoding, and where it ends."""
    value = shift = 0
    while True:
        value |= (data[pos] & 0x7F) << shift
        shift += 7
        pos += 1
        if data[pos - 1] < 0x80:
            return value, pos


def fields(data: bytes) -> dict[int, list[Any]]:
    """A message by field number: numbers, and bytes of strings and messages. No other wire type is expected."""
    found: dict[int, list[Any]] = {}
    pos = 0
    while pos < len(data):
        tag, pos = varint(data, pos)
        value: Any
        value, pos = varint(data, pos)
        if tag & 7 == 2:
            value, pos = data[pos:pos + value], pos + value
        else:
            assert tag & 7 == 0, tag
        found.setdefault(tag >> 3, []).append(value)
    return found


def perfetto_slices(data: bytes) -> list[tuple[str, str, int, int]]:
    """(track, name, begin, end) of a trace, read by the numbers of google/perfetto's protos: Trace.packet 1;
    TracePacket timestamp 8, sequence 10, track_event 11, clock 58, track_descriptor 60; TrackDescriptor uuid 1, name 2,
    parent 5; TrackEvent type 9 (begin 1, end 2), track 11, name 23."""
    tracks: dict[int, str] = {}
    open_slices: dict[int, tuple[str, int]] = {}
    slices = []
    for packet in (fields(raw) for raw in fields(data)[1]):
        assert packet[10] == [1]
        if 60 in packet:
            track = fields(packet[60][0])
            assert track[1][0] not in tracks and (5 not in track or track[5][0] in tracks)
            tracks[track[1][0]] = track[2][0].decode()
        if 11 in packet:
            event = fields(packet[11][0])
            assert packet[58] == [3] and event[11][0] in tracks  # CLOCK_MONOTONIC
            if event[9] == [1]:
                assert event[11][0] not in open_slices
                open_slices[event[11][0]] = (event[23][0].decode(), packet[8][0])
            elif event[9] == [2]:
                name, begin = open_slices.pop(event[11][0])
                slices.append((tracks[event[11][0]], name, begin, packet[8][0]))
    assert not open_slices
    return slices


def test_recorded_turns_are_the_time_slices_that_were_set(card: Card) -> None:
    """1998.848 us and 999.424 us (slices-two.json): each median turn is within the step that 99 % of the recording's
    samples keep, by what it says, and CSV, Perfetto's format and the text agree."""
    said = run(card, "record --runlist 1 --every 200us --for 4s -o /tmp/a.csv -o /tmp/a.perfetto-trace -o /tmp/a.gplt")
    assert said.status == 0, said
    assert "every 200.000 us requested" in said.out.splitlines()[0]
    step = {"us": 1, "ms": 1000}
    words = said.out.splitlines()[0].split("(99% within ")[1].split(",")[0].split()
    kept = float(words[0]) * step[words[1]]
    rows = {line.split()[1]: line.split()[2:] for line in said.out.splitlines()[2:]}
    for tsg, expected in (("21", 1998.848), ("22", 999.424)):
        turns, median, unit = int(rows[tsg][1]), float(rows[tsg][4]), rows[tsg][5]
        assert turns > 50 / SLOW, said.out
        assert abs(median * step[unit] - expected) <= max(kept, 200), said.out
        assert abs(float(rows[tsg][2]) * step[rows[tsg][3]] - expected) < 1
    found = intervals(card.guest.read("/tmp/a.csv"))
    assert {row["runlist"] for row in found} == {"1"} and {row["tsg"] for row in found} == {"21", "22"}
    data = card.guest.read("/tmp/a.perfetto-trace").encode(errors="surrogateescape")
    assert [(begin, end) for _, _, begin, end in perfetto_slices(data)] == [
        (int(row["start_ns"]), int(row["end_ns"])) for row in found]
    assert {name for _, name, _, _ in perfetto_slices(data)} <= {
        "TSG 21", "TSG 22", "switching, TSG 21", "switching, TSG 22"}


def test_a_report_of_a_recording_says_what_record_said(card: Card) -> None:
    """The raw file goes to another machine: report's text there is record's here."""
    said = run(card, "record --every 1ms --for 1s -o /tmp/b.gplt")
    again = card.guest.check("cd /tmp; gpulens report b.gplt; ls b.gplt.html")
    assert again == said.out + "b.gplt.html\n"


def test_recording_ends_at_a_signal_with_what_there_is(card: Card) -> None:
    """No --for: SIGINT ends it as Ctrl-C does, the files are whole, the status is 0."""
    out = card.guest.check(f"cd /tmp; rm -f c.csv; gpulens -g {card.index} record --every 1ms -o c.csv >c.out & "
                           "sleep 2; kill -INT $!; wait $!; echo status $?; cat /tmp/c.csv | head -n 2", timeout=60)
    assert "status 0\nstart_ns," in out


# -- steering


def test_disable_for_a_while_puts_the_channel_back(card: Card) -> None:
    """It is off meanwhile and on afterwards, and both writes are told."""
    ref = card.chip.ref(40, 1)
    out = card.guest.check(f"gpulens -g {card.index} disable {ref} --for 3s >/tmp/out & sleep 1.5; "
                           f"gpulens -g {card.index} channels --json; wait; cat /tmp/out", timeout=60)
    parsed, end = json.JSONDecoder().raw_decode(out)
    off = [one["id"] for one in parsed["gpus"][0]["channels"] if not one["state"]["enabled"]]
    assert off == [40]
    assert out[end:].split("\n")[1:3] == [
        f"{card.path(name)} < {ref}" for name in ("disable_channel", "enable_channel")]


def test_a_channel_that_was_off_before_stays_off(card: Card) -> None:
    """disable --for of a disabled channel changes nothing, so that there is nothing to put back."""
    ref = card.chip.ref(40, 1)
    assert run(card, f"disable {ref}").status == 0
    said = run(card, f"disable {ref} --for 100ms")
    assert said.out == f"{card.path('disable_channel')} < {ref}\n" and said.status == 0


def test_a_time_slice_for_a_while_is_the_old_one_again(card: Card) -> None:
    """tsg_timeslice twice: the wish, and what the runlist had before, 244 << 3 units."""
    ref = card.chip.ref(21, 1)
    said = run(card, f"timeslice {ref} 500 --for 100ms")
    assert said.out == f"{card.path('tsg_timeslice')} < {ref} 500\n{card.path('tsg_timeslice')} < {ref} 1999\n"
    assert "| Scale: 3            |\n| Timeout: 244        |" in card.read("runlist1")


def test_switching_for_a_while_enables_the_others_again(card: Card) -> None:
    """switch_to_tsg disables the channels of all others of its runlist; they are on afterwards."""
    ref = card.chip.ref(21, 1)
    said = run(card, f"switch-to {ref} --for 100ms")
    other = card.chip.ref(41, 1)
    assert said.out == f"{card.path('switch_to_tsg')} < {ref}\n{card.path('enable_channel')} < {other}\n"


def test_a_dry_run_writes_nothing(card: Card) -> None:
    """It says the file and the text; no file that steers was written, by the module's own count."""
    before = [line for line in card.read("stats").splitlines() if line.startswith("write_")]
    said = run(card, f"disable {card.chip.ref(40, 1)} --dry-run")
    assert said.out == f"would write {card.chip.ref(40, 1)} to {card.path('disable_channel')}\n"
    assert [line for line in card.read("stats").splitlines() if line.startswith("write_")] == before


# -- several channels at once, and ids that could mean several


def two_channels(second: str = "") -> "dict[str, Any]":
    """TSG 21 with channels 40 and 43, which are off, on runlist 1; on runlist 0 the same ids where they may repeat."""
    off = [{"id": 40, "enabled": False}, {"id": 43, "enabled": False, "busy": False}]
    tsg = {"id": 21, "runlist": 1, "channels": off}
    other = {"id": 21, "runlist": 0, "channels": [{"id": 40}]}
    return {"processes": [{"name": "one", "tsgs": [tsg, other] if second else [tsg]}]}


def test_all_channels_of_a_tsg_for_a_while(card: Card) -> None:
    """enable --tsg writes both, and puts both back."""
    card.emu.cmd({"cmd": "scenario", "data": two_channels()})
    said = run(card, f"enable --tsg {card.chip.ref(21, 1)} --for 100ms")
    refs = [card.chip.ref(number, 1) for number in (40, 43)]
    assert said.out.splitlines() == [f"{card.path('enable_channel')} < {ref}" for ref in refs] + [
        f"{card.path('disable_channel')} < {ref}" for ref in reversed(refs)]
    assert (said.status, said.err) == (0, "")
    assert [one["enabled"] for one in card.emu.cmd({"cmd": "state"})["channels"]] == [False, False]


def test_all_channels_of_a_tsg_or_none(card: Card) -> None:
    """The second channel is listed, and no instance block is bound to it: ENOENT. The first is off again as before, and
    the status is 4. Seen failing without put_back(): channel 40 stayed enabled."""
    if card.chip.per_runlist:
        pytest.skip("no channel that is on a list is refused there")
    card.emu.cmd({"cmd": "scenario", "data": two_channels()})
    card.emu.cmd({"cmd": "reg-poke", "off": 0x800000 + 8 * 43, "value": 0})
    said = run(card, f"enable --tsg {card.chip.ref(21, 1)}")
    assert said.status == 4
    assert said.out == f"{card.path('enable_channel')} < 40\n{card.path('disable_channel')} < 40\n"
    assert said.err == f"gpulens: {card.path('enable_channel')}: ENOENT: no such file or object\n"
    assert [one["enabled"] for one in card.emu.cmd({"cmd": "state"})["channels"]] == [False, False]


def test_an_id_that_several_runlists_hold_is_shown_with_all_of_them(card: Card) -> None:
    """By the tool, and by the kernel log; one that a single runlist lists is taken."""
    if not card.chip.per_runlist:
        pytest.skip("ids are of the whole GPU")
    card.emu.cmd({"cmd": "scenario", "data": two_channels("on runlist 0 too")})
    said = run(card, "disable 40")
    assert (said.status, said.out) == (4, "")
    assert said.err.splitlines()[1:] == [
        "gpulens: channel 40 is on more than one runlist; name one of these:",
        "  0:40       GR0 GRCE0/LCE0 GRCE1/LCE1", "  1:40       LCE2"]
    assert (f"gpu{card.index} disable_channel: 40 is on more than one runlist: 0 1; write RUNLIST:ID"
            in card.guest.check("dmesg"))
    said = run(card, "disable 77")
    assert said.status == 4 and said.err.splitlines()[1:] == ["gpulens: channel 77 is on no runlist"]
    assert run(card, "enable 43") == Said(0, f"{card.path('enable_channel')} < 43\n", "")


# -- export


def test_export_counts_the_time_of_each_tsg(card: Card) -> None:
    """For two seconds, TSGs 21 and 22 on runlist 1 with slices of 2 ms and 1 ms: nearly all of it, two thirds and one;
    promtool has no complaint."""
    said = run(card, "export --prometheus --for 2s --every 500us")
    assert (said.status, said.err) == (0, "")
    done = subprocess.run(["promtool", "check", "metrics"], input=said.out, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    series = dict(line.rsplit(" ", 1) for line in said.out.splitlines() if not line.startswith("#"))
    assert series[f'gpulens_sampler_up{{gpu="{card.index}"}}'] == "1"
    times = [(name, float(value)) for name, value in series.items() if name.startswith("gpulens_tsg_engine_seconds")]
    seconds = {tsg: sum(value for name, value in times if f'tsg="{tsg}"' in name) for tsg in (21, 22)}
    assert 1.4 < seconds[21] / seconds[22] < 3 and 1.4 < seconds[21] + seconds[22] < 2.5 * SLOW, seconds


# -- who may not, and what is not there


def test_an_error_names_the_file_and_what_to_do(card: Card) -> None:
    """As another user: the file, the errno, what it means here, and sudo. Of an id that is not there: ENOENT."""
    said = run(card, f"disable {card.chip.ref(40, 1)}", "-u 1000")
    assert said.status == 4 and said.out == ""
    assert said.err.startswith(f"gpulens: {card.path('disable_channel')}: EACCES: permission denied; be root")
    said = run(card, "record -o /tmp/d.csv --for 1s", "-u 1000")
    assert said.status == 3 and said.err.startswith(
        f"gpulens: {card.path('snapshot')}: EACCES: permission denied; reading runlists requires CAP_PERFMON or CAP_SYS_ADMIN")
    said = run(card, f"preempt {card.chip.ref(99, 1)}")
    assert said.status == 4 and said.err == f"gpulens: {card.path('preempt_tsg')}: ENOENT: no such file or object\n"


def test_another_user_sees_topology_and_is_told_what_runlists_take(card: Card) -> None:
    """The GPCs and engines are those that root sees; of runlists there is one sentence and status 1."""
    assert "unknown" in run(card, "engines", "-u 1000").out  # what is on each is not for everybody
    for command in ("gpcs", "copy", "chip"):
        mine, roots = run(card, command, "-u 1000"), run(card, command)
        assert (mine.status, mine.err) == (0, "")
        assert mine.out == roots.out.replace("/snapshot", "/topology")
    said = run(card, "runlists 1", "-u 1000")
    assert said.status == 1 and "TSG" not in said.out and "empty" not in said.out
    assert said.err.startswith(
        f"gpulens: gpu{card.index}: runlists: reading runlists requires CAP_PERFMON or CAP_SYS_ADMIN")
    assert said.err.count("\n") == 1


def test_cap_perfmon_alone_shows_runlists(card: Card) -> None:
    """As after setcap, for root as much as for a user of the group; nothing is disabled with it."""
    said = run(card, "runlists 1", "-p")
    assert (said.status, said.err) == (0, "")
    assert "TSG 21: timeslice 1.999 ms" in said.out and " at 0x" in said.out
    assert run(card, f"disable {card.chip.ref(40, 1)}", "-p").status == 4


def test_a_gpu_that_is_not_there_is_named(machine: Guest) -> None:
    """-g 7: which there are."""
    status, out = machine.run("gpulens -g 7 2>&1")
    assert (status, out) == (3, "gpulens: there is no GPU 7; there is 0, 1\n")
