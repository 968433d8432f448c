# SPDX-License-Identifier: GPL-2.0
"""/proc/gpuX/samples: which TSG is on each engine over time; how reading it waits and ends, and that no tick is lost
without being counted. Who may have it: test_privilege.py."""

import time
from collections.abc import Iterator
from typing import NamedTuple

import pytest

from lib.guest import SLOW, Gpu, Guest, pci_folder
from support.vm import sampled
from support.vm.cards import Card, accesses, scenario, taking_turns, until
from support.vm.chips import AD102, GP106, chips_for
from support.vm.sampled import Recording

# pylint: disable=redefined-outer-name

CHIPS = chips_for("pair")
PATH = "/proc/gpu0/samples"
OUT = "/tmp/samples"


@pytest.fixture(scope="module")
def machine() -> Iterator[Guest]:
    """A GPU with PCCSR, one with channel RAM, and one of which no scheduling register is published."""
    with taking_turns(CHIPS, Gpu("gb202")) as guest:
        yield guest


@pytest.fixture(params=range(len(CHIPS)), ids=[chip.name for chip in CHIPS])
def card(request: pytest.FixtureRequest, machine: Guest) -> Iterator[Card]:
    """Each of the first two in turn, as it was."""
    one = Card(machine, CHIPS[request.param], request.param)
    yield one
    one.emu.cmd({"cmd": "fault", "kind": "none"})
    one.emu.cmd({"cmd": "scenario", "file": scenario("slices-two")})


@pytest.fixture
def first(machine: Guest) -> Card:
    """The first, where both answer alike."""
    return Card(machine, CHIPS[0], 0)


class Ended(NamedTuple):
    """The line that helpers/sample.c prints."""
    total: int
    largest: int
    how: str


def ended(line: str) -> Ended:
    """From its text."""
    total, largest, how = line.split(maxsplit=2)
    return Ended(int(total), int(largest), how.strip())


def sample(guest: Guest, options: str = "", path: str = PATH, who: str = "") -> Ended:
    """helpers/sample.c, by default for a second, into OUT."""
    become = f"become {who} -- " if who else ""
    return ended(guest.check(f"{become}sample -o {OUT} {options} {path}", timeout=60))


def recorded(guest: Guest, path: str = OUT) -> Recording:
    """What it left there."""
    return sampled.decode(guest.read(path).encode(errors="surrogateescape"))


def record(card: Card, text: str, for_ms: int = 1000, more: str = "") -> Recording:
    """So long, of what the text says."""
    done = sample(card.guest, f"-c '{text}' -s {for_ms} {more}", card.path("samples"))
    assert done.how == "time", done
    return recorded(card.guest)


# -- what is in it


def test_it_begins_with_who_is_sampled_and_how(card: Card) -> None:
    """Asked for a period only: every engine that is on a runlist, in the order of device_info."""
    recording = record(card, "100")
    names = [(name, runlist) for name, runlist in card.chip.engines if runlist is not None]
    assert [(one.name, one.runlist) for one in recording.engines] == [(name[:38], runlist) for name, runlist in names]
    assert [one.grce for one in recording.engines] == ["GRCE" in name for name, _ in names]
    assert (recording.gpu, recording.period_us, recording.room) == (card.index, 100, 65536)
    assert sampled.whole_ticks(recording) > 10 / SLOW


def test_only_the_runlists_asked_for_are_read(card: Card) -> None:
    """1: one engine, one register or two each tick, and no other access to BAR0 but one look whether it is there for
    each batch."""
    card.emu.cmd({"cmd": "log", "on": True})
    try:
        recording = record(card, "1000 1\n")
    finally:
        log = card.emu.cmd({"cmd": "log-read"})["accesses"]
        card.emu.cmd({"cmd": "log", "on": False})
    assert [one.runlist for one in recording.engines] == [1] and recording.period_us == 1000
    # NV_PFIFO_ENGINE_STATUS(3), GP106's NVDEC; NV_RUNLIST_ENGINE_STATUS0(0) and _CHANNEL(0, 0) at AD102's 0xc00400
    registers = {GP106: {0x2640 + 8 * recording.engines[0].engine_id}, AD102: {0xC00600, 0xC00608}}[card.chip]
    assert {one["off"] for one in log if one["bar"] == 0} - {0} == registers  # 0: BOOT_0, once a batch
    assert all(one["op"] == "r" and one["size"] == 4 for one in log)


@pytest.mark.parametrize("name,expected", (
    ("slices-two", {21: 1998.848, 22: 999.424}), ("slices-three", {21: 1998.848, 22: 999.424, 23: 1998.848})))
def test_time_slices_measure_as_they_were_set(card: Card, name: str, expected: dict[int, float]) -> None:
    """Of two and of three TSGs with slices of 244 << 3 and 122 << 3 units of 1024 ns: the median of what was measured
    is within the step of the samples that was reached; no TSG misses its turn. Not of those during which the thread
    came so late that it may have missed one."""
    card.emu.cmd({"cmd": "scenario", "file": scenario(name)})
    found: dict[int, list[float]] = {tsg: [] for tsg in expected}
    step = 200.0
    for _ in range(8):  # a busy machine leaves few of a recording
        samples = record(card, "200 1", 3000).of_engine(0)
        step = max(step, sampled.step_us(samples))
        for tsg, length in sampled.slices(samples, longest_us=900):
            found[tsg].append(length)
        if min(len(some) for some in found.values()) > 20:
            break
    for tsg, length in expected.items():
        assert len(found[tsg]) > 20, (tsg, len(found[tsg]))
        assert abs(sampled.median(found[tsg]) - length) <= step, (tsg, sampled.median(found[tsg]), step)


def test_a_sample_says_the_tsg_and_its_channel_where_a_register_does(card: Card) -> None:
    """Channel RAM chips have a register for it, PCCSR chips none. While it is on the engine, that has work."""
    running = [one for one in record(card, "500 1").of_engine(0) if one.kind == sampled.ON]
    where = {21: 40, 22: 41} if card.chip is AD102 else {21: -1, 22: -1}
    agree = [one for one in running if one.channel == where[one.id]]
    assert {one.id for one in agree} == {21, 22} and all(one.flags == sampled.BUSY for one in running)
    # read one after the other, so that a switch may come in between
    assert len(agree) > 0.8 * len(running)
    assert {one.channel for one in running} <= {*where.values(), -1}


def test_an_idle_engine_is_idle(card: Card) -> None:
    """No id, no channel, no flag."""
    card.emu.cmd({"cmd": "scenario", "file": scenario("slices-three")})
    samples = record(card, "1000 0").of_engine(0)
    assert {one[2:6] for one in samples} == {(sampled.IDLE, 0, -1, -1)}


def test_what_cannot_be_read_is_said_with_the_word(card: Card) -> None:
    """A bad-read code instead of a status is an error of that engine, and none of the others; also one whose bits 15:13
    would say that the context is VALID."""
    off = 0x2640 if card.chip is GP106 else 0xC00200
    card.emu.cmd({"cmd": "fault", "kind": "bad-read", "off": off, "value": 0xBADF2040})
    recording = record(card, "1000 0 1")
    assert {one[2:4] + one[6:] for one in recording.of_engine(0)} == {(sampled.ERROR, 0, 0xBADF2040)}
    assert sampled.ERROR not in {one.kind for one in recording.of_engine(len(recording.engines) - 1)}


# -- no tick is lost in silence


def all_accounted(recording: Recording) -> None:
    """From the start on, each tick has samples or is counted: none is before it was due, and none is counted that was
    not. How long a sample took shows in its time, so that it may be of the tick before."""
    behind, ticks = [], 0
    for one in recording.samples:
        if one.engine == sampled.ALL:
            ticks += one.word
        elif one.engine == 0:
            behind.append((one.time_ns - recording.start_ns) // (recording.period_us * 1000) - ticks)
            ticks += 1
    assert min(behind) >= 0 and min(behind[-20:]) <= 1, (min(behind), behind[-20:])


def test_ticks_that_come_too_fast_are_counted_as_late(card: Card) -> None:
    """Every 10 us is more than the emulated bus can do: the rest is counted."""
    recording = record(card, "10")
    assert recording.missed() > sampled.whole_ticks(recording)
    assert not recording.remarks(sampled.FULL)
    all_accounted(recording)


def test_ticks_without_room_are_counted_once_somebody_reads(card: Card) -> None:
    """Nobody reads for longer than the room lasts: what was kept is there, then how many were not, then it goes on."""
    room = "/sys/module/gpulens/parameters/sample_room"
    card.guest.check(f"echo 2000 >{room}")
    try:
        recording = record(card, "100 0 1", 5000, "-p 3000")
    finally:
        card.guest.check(f"echo 65536 >{room}")
    assert recording.room == 2048  # the power of two that is not less
    full = recording.remarks(sampled.FULL)
    assert len(full) == 1 and full[0].word > 0
    before = recording.samples.index(full[0])
    # whole ticks and late remarks until there is no room for one more
    assert recording.room - 2 * len(recording.engines) - 6 <= before <= recording.room
    assert len(recording.samples) > before + 100 / SLOW
    all_accounted(recording)


def test_time_goes_on(card: Card) -> None:
    """Samples are in order and within the time that it took; ticks are where they were due, not where the last was."""
    recording = record(card, "500 1", 2000)
    times = [one.time_ns for one in recording.of_engine(0)]
    assert times == sorted(times) and times[0] >= recording.start_ns
    assert times[-1] - times[0] < 2.5e9 * SLOW
    all_accounted(recording)
    # the least offset from when they were due does not grow, however late the thread mostly comes on this machine
    offsets = [(time - recording.start_ns) % 500_000 for time in times]
    assert abs(min(offsets[-300:]) - min(offsets[:300])) < 100_000, (min(offsets[:300]), min(offsets[-300:]))


def test_stats_count_samples_and_their_accesses(card: Card) -> None:
    """A beginning, its ticks and its registers, as the emulator counts them; opening is none of that."""
    def stats() -> dict[str, int]:
        return {name: int(value) for name, value in (line.split() for line in card.read("stats").splitlines())}
    card.guest.check(f"tryop open {card.path('samples')} r")
    before = stats()
    card.emu.cmd({"cmd": "reset-counts"})
    recording = record(card, "1000 1", 500)
    now = stats()
    ticks = now["sample_ticks"] - before["sample_ticks"]
    assert ticks >= sampled.whole_ticks(recording)
    assert now["sample_ticks_lost"] - before["sample_ticks_lost"] >= recording.missed()
    assert now["read_samples"] - before["read_samples"] == 1
    assert now["read_samples_failed"] == before["read_samples_failed"]
    reads = now["bar0_read32"] - before["bar0_read32"]
    assert reads == card.emu.cmd({"cmd": "counts"})["reads_by_region"]["bar0"]
    # one look at BOOT_0 for each batch of ticks; the last tick may have been broken off
    assert 0 <= reads - ticks * (1 if card.chip is GP106 else 2) <= ticks + 2


# -- asking, and reading


@pytest.mark.parametrize("text,error", (
    ("100", "OK"), ("100 1\n", "OK"), ("", "EINVAL"), ("100,1", "EINVAL"), ("100 1 1", "EINVAL"), ("0x64", "EINVAL"),
    ("9", "ERANGE"), ("1000001", "ERANGE"), ("100 4", "ENOENT"), ("100 1 99999", "ENOENT"), ("1" * 600, "EINVAL")))
def test_what_is_written_is_checked(first: Card, text: str, error: str) -> None:
    """What docs/proc.md says of the text; GP106 has no runlist 4. What was refused changes nothing."""
    done = sample(first.guest, f"-s 100 -c '{text}'")
    assert done.how == ("time" if error == "OK" else f"write {error}")
    if error != "OK":
        text = first.guest.check(f"""exec 3<>{PATH}; busybox printf '500 1' >&3; busybox printf '{text}' >&3 2>/dev/null
            dd bs=65536 count=1 <&3 2>/dev/null >{OUT}""")
        head = recorded(first.guest)
        assert head.period_us == 500 and [one.runlist for one in head.engines] == [1]


@pytest.mark.parametrize("way,end", (("read", "read EINVAL"), ("nonblock", "read EINVAL"), ("poll", "poll ERR")))
def test_who_asked_for_nothing_gets_nothing(first: Card, way: str, end: str) -> None:
    """No period was written: nothing is sampled, however it is waited for."""
    first.emu.cmd({"cmd": "reset-counts"})
    assert sample(first.guest, f"-w {way}") == Ended(0, 0, end)
    assert accesses(first.emu) == 0


def test_showing_all_files_ends(first: Card) -> None:
    """cat /proc/gpu0/* as root, as people and programs that collect everything do; what failed a read can then be asked
    for samples."""
    first.guest.run("cat /proc/gpu0/* >/dev/null 2>&1", timeout=60)
    text = first.guest.check(f"""exec 3<>{PATH}; cat <&3 2>&1; echo 100 >&3
        dd bs=64 count=1 <&3 2>/dev/null | wc -c""")
    assert "Invalid argument" in text and text.split()[-1] == "64"


def test_once_begun_it_cannot_be_changed(first: Card) -> None:
    """EBUSY, and it goes on as it was."""
    text = first.guest.check(f"""exec 3<>{PATH}; echo 100 >&3; dd bs=64 count=1 <&3 2>/dev/null | wc -c
        echo '200 1' | dd bs=64 2>&1 >&3; dd bs=64 count=1 <&3 2>/dev/null | wc -c""")
    assert "resource busy" in text and text.split()[0] == text.split()[-1] == "64"


@pytest.mark.parametrize("size,largest", ((15, 0), (63, 0), (64, 64), (100, 96), (127, 112)))
def test_a_read_gives_whole_records_and_no_more_than_asked(card: Card, size: int, largest: int) -> None:
    """64 bytes of the head each, then 16 of a sample each; EINVAL where not one fits."""
    done = sample(card.guest, f"-b {size} -s 300 -c '1000 1'", card.path("samples"))
    if not largest:
        assert done == Ended(0, 0, "read EINVAL")
        return
    assert done.how == "time" and done.largest <= largest
    sampled.whole_ticks(recorded(card.guest))


@pytest.mark.parametrize("way", ("nonblock", "poll", "epoll"))
def test_it_can_be_waited_for_in_other_ways(card: Card, way: str) -> None:
    """EAGAIN until there is something, poll() and epoll: everything comes as with a read that waits."""
    recording = record(card, "500 1", 1000, f"-w {way}")
    assert sampled.whole_ticks(recording) > 100 / SLOW
    all_accounted(recording)


def test_who_does_not_wait_is_told_to_come_again(first: Card) -> None:
    """EAGAIN after the head and the first sample, with a second to the next one."""
    begun = time.monotonic()
    assert sample(first.guest, "-c '1000000 1' -w try -s 20000").how == "read EAGAIN"
    assert time.monotonic() - begun < 10 * SLOW


def test_a_signal_ends_a_read_that_waits(first: Card) -> None:
    """With a second from one sample to the next, 300 ms come first."""
    text = first.guest.check(f"""up() {{ cut -d' ' -f1 /proc/uptime; }}
        up; sample -c '1000000 1' -s 300 {PATH}; up""").splitlines()
    assert ended(text[1]).how == "time" and float(text[2]) - float(text[0]) < 0.9 * SLOW


def test_each_open_file_samples_for_itself(card: Card) -> None:
    """Two at once, of different runlists at different periods; a runlist is read meanwhile."""
    path = card.path("samples")
    lines = card.guest.check(f"""sample -c '1000 1' -o /tmp/one {path} & sample -c '2000 0' -o /tmp/two {path} &
        cat {card.path("runlist0")} >/dev/null; wait""", timeout=60).splitlines()
    assert [ended(line).how for line in lines] == ["time", "time"]
    one, two = recorded(card.guest, "/tmp/one"), recorded(card.guest, "/tmp/two")
    assert {engine.runlist for engine in one.engines} == {1} and {engine.runlist for engine in two.engines} == {0}
    assert {each.id for each in one.samples if each.kind == sampled.ON} == {21, 22}
    assert {each.id for each in two.samples if each.kind == sampled.ON} == {31, 32}
    all_accounted(one)
    all_accounted(two)


def test_no_more_than_four_sample_a_gpu_at_once(first: Card) -> None:
    """The fifth is EBUSY until one is closed; opening alone is none."""
    text = first.guest.check(f"""for fd in 3 4 5 6 7; do eval "exec $fd<>{PATH}"; echo 100 >&$fd; done
        for fd in 3 4 5 6 7; do dd bs=64 count=1 2>&1 >/dev/null <&$fd | grep -o busy || echo OK; done
        exec 4<&-; dd bs=64 count=1 2>&1 >/dev/null <&7 | grep -o busy || echo OK""")
    assert text.split() == ["OK"] * 4 + ["busy", "OK"]


def test_a_chip_without_published_registers_has_no_samples(machine: Guest) -> None:
    """GB202: EOPNOTSUPP, however it is waited for."""
    assert sample(machine, "-c 100", "/proc/gpu2/samples") == Ended(0, 0, "read EOPNOTSUPP")
    assert sample(machine, "-c 100 -w poll", "/proc/gpu2/samples") == Ended(0, 0, "poll ERR")


# -- the GPU, or the module, goes


def meanwhile(guest: Guest, what: str, *waiting: str) -> list[Ended]:
    """How these helpers end when that is done after 300 ms; it must be done, and they must end, long before they would
    by themselves."""
    shell = "".join(f"sample -s 40000 {options} >/tmp/ended.{number} &" for number, options in enumerate(waiting))
    text = guest.check(f"""{shell} sleep 0.3; cut -d' ' -f1 /proc/uptime; {what}; wait; cut -d' ' -f1 /proc/uptime""",
                       timeout=60)
    before, after = text.split()
    assert float(after) - float(before) < 8 * SLOW
    return [ended(guest.read(f"/tmp/ended.{number}")) for number in range(len(waiting))]


WAYS = ("read", "poll", "epoll", "nonblock")


def test_removal_ends_sampling_after_what_there_is(card: Card) -> None:
    """Whoever waits, in whatever way, with a long time to the next sample or a short one: ENODEV, and what came before
    can be read. When it comes back there are samples again."""
    path = card.path("samples")
    try:
        done = meanwhile(card.guest, f"echo 1 >{pci_folder(card.index)}/remove",
                         *(f"-c '{period} 1' -w {way} {path}" for way in WAYS[:2] for period in (1000000, 200)))
        assert [one.how for one in done] == ["read ENODEV"] * 4
        assert all(one.total >= 64 for one in done)
        assert sample(card.guest, "-c 100", path) == Ended(0, 0, "read ENODEV")
    finally:
        card.guest.check("echo 1 >/sys/bus/pci/rescan")
        back = f"tryop read {card.path('num_gpcs')}"
        until(lambda: card.guest.run(back)[1].startswith("OK"), "it does not come back")
    card.emu.cmd({"cmd": "scenario", "file": scenario("slices-two")})
    assert sampled.whole_ticks(record(card, "1000 1"))


@pytest.mark.parametrize("way", WAYS)
def test_unloading_does_not_wait_for_who_waits(machine: Guest, way: str) -> None:
    """The module goes though files are open and waited for; whoever waits is told. epoll keeps a file's queue for as
    long as the file is open."""
    try:
        done = meanwhile(machine, "rmmod gpulens", *(
            f"-c '{period} 1' -w {way} {path}" for period in (1000000, 200) for path in (PATH, "/proc/gpu1/samples")))
    finally:
        machine.run("rmmod gpulens")
        machine.load("gpulens", "control=1")
    # from then on, the file's calls are answered by procfs: EIO
    assert {one.how for one in done} <= {"read ENODEV", "read EIO"}, done
    assert all(one.total >= 64 for one in done)


@pytest.mark.parametrize("options,limit", (("-w read", 0.5), ("-w epoll -p 5000 -s 6000", 2)))
def test_unloading_takes_no_longer_than_it_must(machine: Guest, options: str, limit: float) -> None:
    """Neither until the next sample of a reader, which is a second away, nor until who holds an epoll file looks at it:
    the shortest of three times."""
    took = []
    for _ in range(3):
        text = machine.check(f"""sample -c '1000000 1' {options} {PATH} >/dev/null & sleep 0.2
            cut -d' ' -f1 /proc/uptime; rmmod gpulens; cut -d' ' -f1 /proc/uptime; wait""", timeout=60)
        machine.load("gpulens", "control=1")
        before, after = text.split()
        took.append(float(after) - float(before))
    assert min(took) < limit * SLOW, took


def test_a_gpu_that_answers_all_ones_has_gone(first: Card) -> None:
    """What was read until then, errors of a batch at most, then ENODEV."""
    first.guest.check(f"rm -f /tmp/ended.0 {OUT}; setsid sample -s 40000 -c '1000 1' -o {OUT} {PATH} >/tmp/ended.0 &")
    until(lambda: int(first.guest.check(f"stat -c %s {OUT} || echo 0").split()[-1]) > 1024, "no samples come")
    first.emu.cmd({"cmd": "fault", "kind": "all-ones"})
    try:
        until(lambda: first.guest.run("test -s /tmp/ended.0")[0] == 0, "it goes on")
    finally:
        first.emu.cmd({"cmd": "fault", "kind": "none"})
    assert ended(first.guest.read("/tmp/ended.0")).how == "read ENODEV"
    recording = recorded(first.guest)
    errors = [one.word for one in recording.samples if one.kind == sampled.ERROR]
    # none where the batch ended just before
    assert len(errors) <= 12 and set(errors) <= {0xFFFFFFFF} and sampled.whole_ticks(recording) > len(errors)


# -- power


@pytest.fixture
def sleeper(machine: Guest) -> Iterator[Guest]:
    """Under a driver that lets a GPU sleep as soon as nobody uses it."""
    machine.load("sleeper")
    status = f"cat {pci_folder(0)}/power/runtime_status"
    until(lambda: machine.check(status).strip() == "suspended", "it does not go to sleep")
    machine.emu[0].cmd({"cmd": "reset-counts"})
    yield machine
    machine.unload("sleeper")
    machine.emu[0].cmd({"cmd": "scenario", "file": scenario("slices-two")})


def test_a_gpu_that_sleeps_is_neither_touched_nor_woken(sleeper: Guest) -> None:
    """Its ticks are counted as such, and said soon; a read does not wait until it wakes up."""
    resumes = "/sys/module/sleeper/parameters/resumes"
    before = sleeper.read(resumes)
    assert sample(sleeper, "-c '1000 1' -s 500").how == "time"
    recording = recorded(sleeper)
    assert {one.kind for one in recording.samples} == {sampled.ASLEEP}
    assert 100 / SLOW < recording.missed() <= 510 * SLOW
    assert len(recording.samples) <= recording.missed()
    assert sleeper.read(resumes) == before and accesses(sleeper.emu[0]) == 0


def test_one_that_wakes_up_is_sampled_and_may_sleep_again(sleeper: Guest) -> None:
    """Held awake by somebody else for a while, samples come; then it sleeps, and it is counted again."""
    sleeper.check(f"""sample -c '1000 1' -s 3000 -o {OUT} {PATH} & sleep 0.5
        echo on >{pci_folder(0)}/power/control; sleep 1; echo auto >{pci_folder(0)}/power/control; wait""", timeout=60)
    recording = recorded(sleeper)
    kinds = [one.kind == sampled.ASLEEP for one in recording.samples]
    awake = kinds.index(False)
    assert awake and True in kinds[awake:]
    assert sampled.whole_ticks(recording) > 100 / SLOW
    all_accounted(recording)
