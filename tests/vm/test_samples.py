# SPDX-License-Identifier: GPL-2.0
"""/proc/gpuX/samples: the TSG on each engine over time, how a read blocks and ends, and that every tick without a
sample is counted. Permissions: test_privilege.py. A recording ends after a number of ticks, however long they take."""

import contextlib
import itertools
from collections.abc import Iterator
from typing import NamedTuple

import pytest

from lib.guest import Guest, pci_folder
from support.vm import sampled
from support.vm.cards import Card, count_accesses, load_scenario, scenario, wait_until
from support.vm.chips import AD102, GP106, chips_for
from support.vm.sampled import Recording
from support.vm.shared import PAIR, SharedGuests

pytestmark = pytest.mark.guest("pair")

# pylint: disable=redefined-outer-name

CHIPS = chips_for("pair")
PATH = "/proc/gpu0/samples"
OUT = "/tmp/samples"
FOR_LONG = "-s 300000"  # what ends earlier does so for another reason than time


@pytest.fixture(scope="module")
def machine(guests: SharedGuests) -> Iterator[Guest]:
    """A GPU with PCCSR, one with channel RAM, and one of which no scheduling register is published."""
    with guests.take(PAIR, scenario("slices-two")) as guest:
        guest.load("gpulens", "control=1")
        yield guest


@pytest.fixture(params=range(len(CHIPS)), ids=[chip.name for chip in CHIPS])
def card(request: pytest.FixtureRequest, machine: Guest) -> Iterator[Card]:
    """Each of the first two GPUs; its scenario is loaded again afterwards."""
    found = Card(machine, CHIPS[request.param], request.param)
    yield found
    found.emu.cmd({"cmd": "fault", "kind": "none"})
    load_scenario(found.emu, scenario("slices-two"))


@pytest.fixture
def first(machine: Guest) -> Card:
    """The first GPU, for what does not depend on the chip."""
    return Card(machine, CHIPS[0], 0)


class Ended(NamedTuple):
    """The line that helpers/sample.c prints: bytes, the largest read, how it ended."""
    total: int
    largest: int
    how: str


def parse_end(line: str) -> Ended:
    """From the text of the line."""
    total, largest, how = line.split(maxsplit=2)
    return Ended(int(total), int(largest), how.strip())


def run_sample(guest: Guest, options: str = "", path: str = PATH, who: str = "") -> Ended:
    """Runs helpers/sample.c, by default for a second, with its output in OUT."""
    become = f"become {who} -- " if who else ""
    return parse_end(guest.check(f"{become}sample -o {OUT} {options} {path}", timeout=400))


def read_recording(guest: Guest, path: str = OUT) -> Recording:
    """The recording in OUT."""
    return sampled.decode_recording(guest.read(path).encode(errors="surrogateescape"))


def record_card(card: Card, text: str, ticks: int = 100, more: str = "") -> Recording:
    """Samples with that configuration until so many ticks have samples."""
    done = run_sample(card.guest, f"-c '{text}' -n {ticks} {more}", card.path("samples"))
    assert done.how == "enough", done
    return read_recording(card.guest)


def read_counters(card: Card) -> dict[str, int]:
    """The numbers of stats by name."""
    return {name: int(value) for name, value in (line.split() for line in card.read("stats").splitlines())}


# -- contents


def test_the_header_names_the_sampled_engines_and_the_period(card: Card) -> None:
    """Without runlists in the configuration: every engine that has a runlist, in the order of device_info."""
    recording = record_card(card, "100", 20)
    names = [(name, runlist) for name, runlist in card.chip.engines if runlist is not None]
    assert [(engine.name, engine.runlist) for engine in recording.engines] == [
        (name[:38], runlist) for name, runlist in names]
    assert [engine.grce for engine in recording.engines] == ["GRCE" in name for name, _ in names]
    assert (recording.gpu, recording.period_us, recording.room) == (card.index, 100, 65536)
    assert sampled.whole_ticks(recording) >= 20


def test_only_the_configured_runlists_are_read(card: Card) -> None:
    """Runlist 1: one engine, one or two registers per tick, and no other access to BAR0 except one read of BOOT_0 per
    batch."""
    card.emu.cmd({"cmd": "log", "on": True})
    try:
        recording = record_card(card, "1000 1\n")
    finally:
        log = card.emu.cmd({"cmd": "log-read"})["accesses"]
        card.emu.cmd({"cmd": "log", "on": False})
    assert [engine.runlist for engine in recording.engines] == [1] and recording.period_us == 1000
    registers = {0, *list_registers(card, recording)}  # 0: BOOT_0
    assert {access["off"] for access in log if access["bar"] == 0} == registers
    assert all(access["op"] == "r" and access["size"] == 4 for access in log)


def list_registers(card: Card, recording: Recording) -> list[int]:
    """Those of the state of the first engine that is recorded, of runlist 1: NV_PFIFO_ENGINE_STATUS of GP106's NVDEC;
    NV_RUNLIST_ENGINE_STATUS0(0) and _CHANNEL(0, 0) at AD102's 0xc00400."""
    return {GP106: [0x2640 + 8 * recording.engines[0].engine_id], AD102: [0xC00600, 0xC00608]}[card.chip]


@contextlib.contextmanager
def clock_of_accesses(card: Card, access_ns: int) -> Iterator[None]:
    """The GPU's clock only goes on with accesses, by so much each, and they are logged."""
    card.emu.cmd({"cmd": "time", "mode": "virtual", "access_ns": access_ns})
    card.emu.cmd({"cmd": "log", "on": True})
    yield
    card.emu.cmd({"cmd": "log", "on": False})
    card.emu.cmd({"cmd": "time", "mode": "real", "access_ns": 1000})


@pytest.mark.parametrize("name,expected", (
    ("slices-two", {21: 1998.848, 22: 999.424}), ("slices-three", {21: 1998.848, 22: 999.424, 23: 1998.848})))
def test_time_slices_measure_as_they_were_set(card: Card, name: str, expected: dict[int, float]) -> None:
    """Two and three TSGs with slices of 244 << 3 and 122 << 3 units of 1024 ns. Each access takes 25 us of the GPU's
    time, and nothing else does: by the accesses, each slice is as long as it was set, but for those between two
    samples of the engine, three at most. By the guest's clock: test_tool.py.
    Seen failing with the samples of every second tick left out."""
    access_us = 25
    card.emu.cmd({"cmd": "scenario", "file": scenario(name)})
    with clock_of_accesses(card, 1000 * access_us):
        card.emu.cmd({"cmd": "log-read"})
        recording = record_card(card, "200 1", 2000)
        log = card.emu.cmd({"cmd": "log-read"})["accesses"]
    samples, register = recording.of_engine(0), list_registers(card, recording)[0]
    reads = [number for number, access in enumerate(log) if access["off"] == register]
    # The last ones may not have been read.
    timed = [sample._replace(time_ns=1000 * access_us * number) for sample, number in zip(samples, reads)]
    assert len(timed) == len(samples) <= len(reads) <= len(samples) + 100
    found = list(sampled.measure_slices(timed))
    assert {tsg for tsg, _ in found} == set(expected) and len(found) >= 24
    assert [(tsg, us) for tsg, us in found if abs(us - expected[tsg]) > 3 * access_us] == []


def test_a_sample_has_the_tsg_and_its_channel_where_a_register_does(card: Card) -> None:
    """Chips with channel RAM have a register for the channel, PCCSR chips do not. The engine of a running TSG is busy.
    The two registers are read one after the other, and a context switch may occur in between: with a clock of accesses
    of 10 us each, in one of a hundred."""
    where = {21: 40, 22: 41} if card.chip is AD102 else {21: -1, 22: -1}
    with clock_of_accesses(card, 10_000):
        running = [found for found in record_card(card, "500 1", 1000).of_engine(0) if found.kind == sampled.ON]
    agree = [found for found in running if found.channel == where[found.id]]
    assert {found.id for found in agree} == {21, 22} and all(found.flags == sampled.BUSY for found in running)
    assert {found.channel for found in running} <= {*where.values(), -1}
    assert len(agree) > 0.95 * len(running)


def test_samples_of_an_idle_engine(card: Card) -> None:
    """No id, no channel, no flag."""
    card.emu.cmd({"cmd": "scenario", "file": scenario("slices-three")})
    samples = record_card(card, "1000 0").of_engine(0)
    assert {found[2:6] for found in samples} == {(sampled.IDLE, 0, -1, -1)}


def test_an_unreadable_status_is_an_error_with_the_word(card: Card) -> None:
    """A code of a failed read instead of a status is an error of that engine only, also a code whose bits 15:13 mean
    that the context is VALID."""
    off = 0x2640 if card.chip is GP106 else 0xC00200
    card.emu.cmd({"cmd": "fault", "kind": "bad-read", "off": off, "value": 0xBADF2040})
    recording = record_card(card, "1000 0 1")
    assert {found[2:4] + found[6:] for found in recording.of_engine(0)} == {(sampled.ERROR, 0, 0xBADF2040)}
    assert sampled.ERROR not in {found.kind for found in recording.of_engine(len(recording.engines) - 1)}


# -- every lost tick is counted


def group_remarks(samples: list[sampled.Sample]) -> Iterator[list[sampled.Sample]]:
    """The samples in order: each alone, and remarks that follow each other together."""
    for is_remark, some in itertools.groupby(samples, lambda sample: sample.engine == sampled.ALL):
        if is_remark:
            yield list(some)
        else:
            yield from ([sample] for sample in some)


def check_every_tick(recording: Recording) -> None:
    """From the start on, each tick has samples or is counted as lost, none is earlier than due, and no tick is counted
    twice: a tick is due at a multiple of the period from the start, and the first of those that a remark counts at its
    time. A sample's time is that of its register read, which may be later, but not for each of twenty by more than a
    tick, or 100 us where ticks are shorter: instrumented kernels take some 20 us."""
    behind, ticks, period = [], 0, recording.period_us * 1000
    for some in group_remarks(recording.samples):
        if some[0].engine == sampled.ALL:
            assert min(remark.time_ns for remark in some) == recording.start_ns + ticks * period
            ticks += sum(remark.word for remark in some)
        elif some[0].engine == 0:
            behind.append((some[0].time_ns - recording.start_ns) // period - ticks)
            ticks += 1
    if behind:
        assert min(behind) >= 0 and min(behind[-20:]) <= max(1, 100 // recording.period_us), (min(behind), behind[-20:])


def test_ticks_beyond_the_possible_rate_are_counted_as_late(card: Card) -> None:
    """Registers that take 100 us, and a period of 10 us."""
    card.emu.cmd({"cmd": "fault", "kind": "slow", "ns": 100_000})
    recording = record_card(card, "10", 50)
    assert recording.missed() > 9 * (sampled.whole_ticks(recording) - 1)
    assert not recording.remarks(sampled.FULL)
    check_every_tick(recording)


def wait_for_a_full_ring(card: Card) -> None:
    """Until ticks are lost, twice, while none has samples any more."""
    def count() -> tuple[int, int]:
        stats = read_counters(card)
        return stats["sample_ticks"], stats["sample_ticks_lost"]

    def is_full() -> bool:
        seen.append(count())
        done, lost = zip(*seen[-3:])
        return len(done) == 3 and len(set(done)) == 1 and lost[0] < lost[1] < lost[2]
    seen: list[tuple[int, int]] = []
    wait_until(is_full, "the ring does not fill")


def test_ticks_that_do_not_fit_into_the_ring_are_counted(card: Card) -> None:
    """Without a read, the ring fills: a later read gets the samples that fitted, then the number of lost ticks, then
    new samples."""
    room = "/sys/module/gpulens/parameters/sample_room"
    card.guest.check(f"""echo 2000 >{room}; rm -f /tmp/go /tmp/ended; mkfifo /tmp/go
        setsid sh -c "sample -c '100 0 1' -p -n 1200 -o {OUT} {card.path("samples")} <>/tmp/go >/tmp/ended" 2>&1 &""")
    try:
        wait_until(lambda: card.guest.run(f"[ -s {OUT} ]")[0] == 0, "nothing is sampled")
        wait_for_a_full_ring(card)
        card.guest.check("echo >/tmp/go")
        wait_until(lambda: card.guest.run("[ -s /tmp/ended ]")[0] == 0, "no samples come")
    finally:
        card.guest.check(f"echo 65536 >{room}; rm /tmp/go")
    recording = read_recording(card.guest)
    assert recording.room == 2048  # the next power of two
    full = recording.remarks(sampled.FULL)
    assert full and full[0].word > 0
    before = recording.samples.index(full[0])
    # Whole ticks and remarks about late ones until no further one fits, after those of the first read.
    assert before >= recording.room - 2 * len(recording.engines) - 6
    assert len(recording.samples) > before + 100
    check_every_tick(recording)


def test_ticks_do_not_drift(card: Card) -> None:
    """Samples are in order; a tick is due at a multiple of the period from the start, not a period after the last tick.
    Seen failing with the latter."""
    recording = record_card(card, "500 1", 2000)
    times = [found.time_ns for found in recording.of_engine(0)]
    assert times == sorted(times) and times[0] >= recording.start_ns
    check_every_tick(recording)


def test_stats_count_samples_and_their_accesses(card: Card) -> None:
    """Starts, ticks and register reads are counted as by the emulator; opening the file counts as nothing."""
    card.guest.check(f"tryop open {card.path('samples')} r")
    before = read_counters(card)
    card.emu.cmd({"cmd": "reset-counts"})
    recording = record_card(card, "1000 1", 200)
    now = read_counters(card)
    ticks = now["sample_ticks"] - before["sample_ticks"]
    assert ticks >= sampled.whole_ticks(recording)
    assert now["sample_ticks_lost"] - before["sample_ticks_lost"] >= recording.missed()
    assert now["read_samples"] - before["read_samples"] == 1
    assert now["read_samples_failed"] == before["read_samples_failed"]
    reads = now["bar0_read32"] - before["bar0_read32"]
    assert reads == card.emu.cmd({"cmd": "counts"})["reads_by_region"]["bar0"]
    # one read of BOOT_0 for each batch of ticks; the last tick may be incomplete
    assert 0 <= reads - ticks * (1 if card.chip is GP106 else 2) <= ticks + 2


# -- configuration and reads


@pytest.mark.parametrize("text,error", (
    ("100", "OK"), ("100 1\n", "OK"), ("", "EINVAL"), ("100,1", "EINVAL"), ("100 1 1", "EINVAL"), ("0x64", "EINVAL"),
    ("9", "ERANGE"), ("1000001", "ERANGE"), ("100 4", "ENOENT"), ("100 1 99999", "ENOENT"), ("1" * 600, "EINVAL")))
def test_the_configuration_is_checked(first: Card, text: str, error: str) -> None:
    """The syntax of docs/proc.md; GP106 has no runlist 4. A refused text changes nothing."""
    done = run_sample(first.guest, f"-n 1 -c '{text}'")
    assert done.how == ("enough" if error == "OK" else f"write {error}")
    if error != "OK":
        text = first.guest.check(f"""exec 3<>{PATH}; busybox printf '500 1' >&3; busybox printf '{text}' >&3 2>/dev/null
            dd bs=65536 count=1 <&3 2>/dev/null >{OUT}""")
        head = read_recording(first.guest)
        assert head.period_us == 500 and [engine.runlist for engine in head.engines] == [1]


@pytest.mark.parametrize("way,end", (("read", "read EINVAL"), ("nonblock", "read EINVAL"), ("poll", "poll ERR")))
def test_without_a_configuration_nothing_is_sampled(first: Card, way: str, end: str) -> None:
    """EINVAL, and no access to the GPU, with every way to wait."""
    first.emu.cmd({"cmd": "reset-counts"})
    assert run_sample(first.guest, f"-w {way}") == Ended(0, 0, end)
    assert count_accesses(first.emu) == 0


def test_reading_all_files_ends(first: Card) -> None:
    """cat /proc/gpu0/* as root ends; a file whose read failed can be configured afterwards."""
    first.guest.run("cat /proc/gpu0/* >/dev/null 2>&1", timeout=60)
    text = first.guest.check(f"""exec 3<>{PATH}; cat <&3 2>&1; echo 100 >&3
        dd bs=64 count=1 <&3 2>/dev/null | wc -c""")
    assert "Invalid argument" in text and text.split()[-1] == "64"


def test_a_running_sampler_cannot_be_reconfigured(first: Card) -> None:
    """EBUSY, and sampling continues."""
    text = first.guest.check(f"""exec 3<>{PATH}; echo 100 >&3; dd bs=64 count=1 <&3 2>/dev/null | wc -c
        echo '200 1' | dd bs=64 2>&1 >&3; dd bs=64 count=1 <&3 2>/dev/null | wc -c""")
    assert "resource busy" in text and text.split()[0] == text.split()[-1] == "64"


@pytest.mark.parametrize("size,largest", ((15, 0), (63, 0), (64, 64), (100, 96), (127, 112)))
def test_a_read_returns_whole_records(card: Card, size: int, largest: int) -> None:
    """Header records of 64 bytes, then samples of 16 bytes; EINVAL where not one fits."""
    done = run_sample(card.guest, f"-b {size} -n 100 -c '1000 1'", card.path("samples"))
    if not largest:
        assert done == Ended(0, 0, "read EINVAL")
        return
    assert done.how == "enough" and done.largest <= largest
    sampled.whole_ticks(read_recording(card.guest))


@pytest.mark.parametrize("way", ("nonblock", "poll", "epoll"))
def test_nonblocking_reads_poll_and_epoll_get_all_samples(card: Card, way: str) -> None:
    """As a blocking read does; a nonblocking read gives EAGAIN until there is a sample."""
    recording = record_card(card, "500 1", 200, f"-w {way}")
    assert sampled.whole_ticks(recording) >= 200
    check_every_tick(recording)


def test_a_nonblocking_read_gives_eagain(first: Card) -> None:
    """After the header and the first sample, with a second until the next one."""
    assert run_sample(first.guest, f"-c '1000000 1' -w try {FOR_LONG}").how == "read EAGAIN"


def test_a_signal_ends_a_blocking_read(first: Card) -> None:
    """A timer of 20 ms ends it, with a second from one sample to the next: no second one comes.
    Seen failing with fatal_signal_pending() in samples_wait_once()."""
    assert run_sample(first.guest, "-c '1000000 1' -s 20").how == "time"
    assert len(read_recording(first.guest).samples) <= 1


def test_each_open_file_has_a_sampler_of_its_own(card: Card) -> None:
    """Two at once, of different runlists with different periods; a runlist is read meanwhile."""
    path = card.path("samples")
    lines = card.guest.check(f"""sample -c '1000 1' -n 100 -o /tmp/one {path} &
        sample -c '2000 0' -n 100 -o /tmp/two {path} &
        cat {card.path("runlist0")} >/dev/null; wait""", timeout=400).splitlines()
    assert [parse_end(line).how for line in lines] == ["enough", "enough"]
    for path, runlist, tsgs in (("/tmp/one", 1, {21, 22}), ("/tmp/two", 0, {31, 32})):
        recording = read_recording(card.guest, path)
        assert {engine.runlist for engine in recording.engines} == {runlist}
        assert {found.id for found in recording.samples if found.kind == sampled.ON} == tsgs
        check_every_tick(recording)


def test_a_gpu_has_at_most_four_samplers(first: Card) -> None:
    """The fifth gives EBUSY until one is closed; an open file without a read is none."""
    text = first.guest.check(f"""for fd in 3 4 5 6 7; do eval "exec $fd<>{PATH}"; echo 100 >&$fd; done
        for fd in 3 4 5 6 7; do dd bs=64 count=1 2>&1 >/dev/null <&$fd | grep -o busy || echo OK; done
        exec 4<&-; dd bs=64 count=1 2>&1 >/dev/null <&7 | grep -o busy || echo OK""")
    assert text.split() == ["OK"] * 4 + ["busy", "OK"]


def test_a_chip_without_published_registers_has_no_samples(machine: Guest) -> None:
    """GB202: EOPNOTSUPP, with every way to wait."""
    assert run_sample(machine, "-c 100", "/proc/gpu2/samples") == Ended(0, 0, "read EOPNOTSUPP")
    assert run_sample(machine, "-c 100 -w poll", "/proc/gpu2/samples") == Ended(0, 0, "poll ERR")


# -- removal of the GPU or the module


def run_beside_readers(guest: Guest, command: str, *waiting: str) -> list[Ended]:
    """How these helpers end when the command runs after each has read something; none may end by itself."""
    numbers = range(len(waiting))
    shell = "".join(f"rm -f /tmp/read.{number}\n"
                    f"sample {FOR_LONG} -o /tmp/read.{number} {options} >/tmp/ended.{number} &\n"
                    for number, options in enumerate(waiting))
    begun = "".join(f"until [ -s /tmp/read.{number} ]; do usleep 10000; done\n" for number in numbers)
    guest.check(f"{shell}{begun}{command}; wait", timeout=400)
    return [parse_end(guest.read(f"/tmp/ended.{number}")) for number in numbers]


WAYS = ("read", "poll", "epoll", "nonblock")


def test_removal_ends_reads_after_the_last_sample(card: Card) -> None:
    """ENODEV for each way to wait, with a long or a short period, after the samples until then. When the GPU is
    attached again, it can be sampled again."""
    path = card.path("samples")
    try:
        waiting = [f"-c '{period} 1' -w {way} {path}" for way in WAYS[:2] for period in (1000000, 200)]
        done = run_beside_readers(card.guest, f"echo 1 >{pci_folder(card.index)}/remove", *waiting)
        assert [end.how for end in done] == ["read ENODEV"] * 4
        assert all(end.total >= 64 for end in done)
        assert run_sample(card.guest, "-c 100", path) == Ended(0, 0, "read ENODEV")
    finally:
        card.guest.check("echo 1 >/sys/bus/pci/rescan")
        back = f"tryop read {card.path('num_gpcs')}"
        wait_until(lambda: card.guest.run(back)[1].startswith("OK"), "it is not attached again")
    card.emu.cmd({"cmd": "scenario", "file": scenario("slices-two")})
    assert sampled.whole_ticks(record_card(card, "1000 1", 1))


@pytest.mark.parametrize("way", WAYS)
def test_unloading_ends_waiting_readers(machine: Guest, way: str) -> None:
    """The module can be unloaded while files are open and waited for; readers get an error. epoll keeps a file's wait
    queue for as long as the file is open."""
    try:
        done = run_beside_readers(machine, "rmmod gpulens", *(
            f"-c '{period} 1' -w {way} {path}" for period in (1000000, 200) for path in (PATH, "/proc/gpu1/samples")))
    finally:
        machine.run("rmmod gpulens")
        machine.load("gpulens", "control=1")
    # after the removal, procfs answers calls on the file: EIO
    assert {end.how for end in done} <= {"read ENODEV", "read EIO"}, done
    assert all(end.total >= 64 for end in done)


def test_unloading_does_not_wait_for_the_owner_of_an_epoll_file(machine: Guest) -> None:
    """Until it reads the file, as it does only after the module has gone."""
    machine.check(f"""rm -f /tmp/go {OUT} /tmp/ended.0; mkfifo /tmp/go
        sample -c '1000000 1' -w epoll -p -n 100 {FOR_LONG} -o {OUT} {PATH} <>/tmp/go >/tmp/ended.0 &
        until [ -s {OUT} ]; do usleep 10000; done
        rmmod gpulens; [ -s /tmp/ended.0 ] && exit 1; echo >/tmp/go; wait; rm /tmp/go""", timeout=120)
    machine.load("gpulens", "control=1")
    assert parse_end(machine.read("/tmp/ended.0")).how in ("read ENODEV", "read EIO", "epoll ERR", "poll ERR")


@pytest.mark.timed
def test_unloading_does_not_wait_for_samples(machine: Guest) -> None:
    """Unloading takes less than half a second where the next sample comes a second later."""
    text = machine.check(f"""sample -c '1000000 1' {PATH} >/dev/null & sleep 0.2
        cut -d' ' -f1 /proc/uptime; rmmod gpulens; cut -d' ' -f1 /proc/uptime; wait""", timeout=60)
    machine.load("gpulens", "control=1")
    before, after = text.split()
    assert float(after) - float(before) < 0.5


def test_all_ones_end_sampling_with_enodev(first: Card) -> None:
    """After the samples until then and errors of at most one batch."""
    first.guest.check(f"rm -f /tmp/ended.0 {OUT}; setsid sample {FOR_LONG} -c '1000 1' -o {OUT} {PATH} >/tmp/ended.0 &")
    wait_until(lambda: int(first.guest.check(f"stat -c %s {OUT} || echo 0").split()[-1]) > 1024, "no samples come")
    first.emu.cmd({"cmd": "fault", "kind": "all-ones"})
    try:
        wait_until(lambda: first.guest.run("test -s /tmp/ended.0")[0] == 0, "it goes on")
    finally:
        first.emu.cmd({"cmd": "fault", "kind": "none"})
    assert parse_end(first.guest.read("/tmp/ended.0")).how == "read ENODEV"
    recording = read_recording(first.guest)
    errors = [found.word for found in recording.samples if found.kind == sampled.ERROR]
    # none where the batch ended just before the fault
    assert len(errors) <= 12 and set(errors) <= {0xFFFFFFFF} and sampled.whole_ticks(recording) > len(errors)


# -- power


@pytest.fixture
def sleeper(machine: Guest) -> Iterator[Guest]:
    """A guest whose GPUs are suspended as soon as they are unused."""
    machine.load("sleeper")
    status = f"cat {pci_folder(0)}/power/runtime_status"
    wait_until(lambda: machine.check(status).strip() == "suspended", "it is not suspended")
    machine.emu[0].cmd({"cmd": "reset-counts"})
    yield machine
    machine.unload("sleeper")
    machine.emu[0].cmd({"cmd": "scenario", "file": scenario("slices-two")})


def test_sampling_does_not_access_or_resume_a_suspended_gpu(sleeper: Guest) -> None:
    """Its ticks are counted as asleep; a read returns them without waiting until the GPU is awake."""
    resumes = "/sys/module/sleeper/parameters/resumes"
    before = sleeper.read(resumes)
    assert run_sample(sleeper, "-c '1000 1' -n 30").how == "enough"
    recording = read_recording(sleeper)
    assert {found.kind for found in recording.samples} == {sampled.ASLEEP}
    assert recording.missed() >= 30 * 10  # a remark each ten ticks
    check_every_tick(recording)
    assert sleeper.read(resumes) == before and count_accesses(sleeper.emu[0]) == 0


def test_a_resumed_gpu_is_sampled_until_it_is_suspended_again(sleeper: Guest) -> None:
    """Kept awake through sysfs, it is sampled; ticks before and after are counted as asleep."""
    control, card = f"{pci_folder(0)}/power/control", Card(sleeper, CHIPS[0], 0)

    def size() -> int:
        return int(sleeper.check(f"stat -c %s {OUT} || echo 0").split()[-1])
    sleeper.check(f"rm -f {OUT} /tmp/ended.0; setsid sample {FOR_LONG} -c '1000 1' -o {OUT} {PATH} >/tmp/ended.0 &")
    wait_until(lambda: size() > 512, "no ticks are counted")
    sleeper.check(f"echo on >{control}")
    before = read_counters(card)["sample_ticks"]
    wait_until(lambda: read_counters(card)["sample_ticks"] > before + 100, "it is not sampled")
    sleeper.check(f"echo auto >{control}")
    wait_until(lambda: sleeper.read(f"{pci_folder(0)}/power/runtime_status").strip() == "suspended", "it stays awake")
    seen = size()
    wait_until(lambda: size() > seen + 512, "no ticks are counted any more")
    sleeper.check("killall -ALRM sample; until [ -s /tmp/ended.0 ]; do usleep 10000; done")
    recording = read_recording(sleeper)
    kinds = [found.kind == sampled.ASLEEP for found in recording.samples]
    awake = kinds.index(False)
    assert awake and True in kinds[awake:]
    assert sampled.whole_ticks(recording) > 100
    check_every_tick(recording)
