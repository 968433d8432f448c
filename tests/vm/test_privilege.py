# SPDX-License-Identifier: GPL-2.0
"""Permissions (docs/proc.md). Control needs CAP_SYS_ADMIN in the initial user namespace. Runlists, addresses, samples
and images need that or CAP_PERFMON, of the process that opened the file and of the one that uses it, in any namespace.
With a locked-down kernel, control and images are refused to everybody. Topology is open to everybody.

One guest with a GPU of each kind of channel state, PCCSR and channel RAM. helpers/sweep.c tries every way to open a
file and every call on it, helpers/become.c sets user, capabilities and namespaces. That nothing got through is checked
in the results, in the emulators' logs of accesses, and in the state of files and channels afterwards."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator

import pytest

from lib.guest import Guest
from support.vm.cards import Card, healthy
from support.vm.formats import shape
from support.vm.privileges import (CHIPS, CONTROL, OBSERVE, SUID, House, Tried, expect_untouched, find_addresses,
                                   find_shown, read_collected, read_printed, set_scene, sweep_files, text_for)
from support.vm.shared import PAIR, SharedGuests

pytestmark = pytest.mark.guest("pair")


@pytest.fixture(scope="module")
def house(guests: SharedGuests) -> Iterator[House]:
    """The guest, which ends with the module: its kernel is locked down then."""
    with guests.take(PAIR) as guest:
        guest.check(f"cp /bin/sweep {SUID}; chmod 4755 {SUID}; mkdir /tmp/fresh")
        found = House(guest)
        for card in found.cards:
            set_scene(card)
        found.load()
        yield found
        found.unloaded()
        healthy(guest)
        guests.end()


@pytest.fixture(params=range(len(CHIPS)), ids=[chip.name for chip in CHIPS])
def either(request: pytest.FixtureRequest, house: House) -> Card:
    """Each of the two GPUs, with the module's default permissions."""
    house.load()
    return house.cards[request.param]


@pytest.fixture
def first(house: House) -> Card:
    """The GPU with PCCSR, for what does not depend on the chip."""
    house.load()
    return house.cards[0]


@pytest.fixture
def careless(house: House) -> Card:
    """The same, with file modes that let everybody open everything: only the module's own checks are left."""
    house.load(careless=True)
    return house.cards[0]


@pytest.fixture
def grouped(house: House) -> Card:
    """The same, with files for group 2000."""
    house.load("gid=2000")
    return house.cards[0]


# -- any user


def test_another_user_changes_nothing_and_sees_only_topology(either: Card) -> None:
    """uid 1000, on every file, with every way to open it and every call. Seen failing with mode 0222 instead of 0200,
    and with 0444 instead of 0400 without the check at open."""
    guest = either.guest
    addrs = set().union(*find_addresses(either).values())
    closed = len(CONTROL) + len(OBSERVE) + 3 + int(guest.check(f"ls /proc/gpu{either.index} | grep -c 'runlist[1-9]'"))
    with expect_untouched(either, by_reading=True):
        tried = sweep_files(guest, "-u 1000",
                            f"-t {either.chip.ref(16)} -d /tmp/read $(find /proc/gpu{either.index} -type f)")
    tried.nothing_got_through()
    tried.nothing_opened_to_write()
    readable = int(guest.check(f"find /proc/gpu{either.index} -type f -perm 0444 | wc -l"))
    assert tried.lines["open", "open", "O_RDONLY", "OK"] == readable
    assert tried.lines["open", "open", "O_RDONLY", "EACCES"] == closed  # image, samples and ctxsw_timeout are the 3
    assert readable + closed == int(guest.check(f"find /proc/gpu{either.index} -type f | wc -l"))
    data = read_collected(guest, "/tmp/read")
    assert not find_shown(data, addrs) and not any(read_printed(data.decode("latin-1")))
    assert b"TSG Entry" not in data and b"Channel Info" not in data


def test_topology_is_open_to_everybody_and_has_no_runlists(either: Card) -> None:
    """uid 1000 reads the files that partitioning programs read, and snapshot: root's records (type in the first 2
    bytes) without a TSG (4), a channel (5) or what is on an engine (10), and with EPERM (1, at byte 6) for each
    runlist (3).
    Seen failing with root's runlists."""
    for name in ("chip", "device_info", "num_gpcs", "gpc_mask", "tpc_map", "copy_topology", "stats", "snapshot"):
        assert either.guest.run(f"become -u 1000 -- tryop read {either.path(name)}")[1].startswith("OK"), name
    whole, part = (either.guest.check(f"{way} od -An -v -tx1 -w64 {either.path('snapshot')}").splitlines()
                   for way in ("", "become -u 1000 --"))
    records, open_to_all = ([bytes.fromhex(line) for line in lines[1:]] for lines in (whole, part))
    kinds = Counter(record[0] for record in records)
    assert kinds[4] and kinds[5]
    assert Counter(record[0] for record in open_to_all) == Counter(
        {kind: count for kind, count in kinds.items() if kind not in (4, 5, 10)})
    assert [record for record in open_to_all if record[0] != 3] == [
        record for record in records if record[0] not in (3, 4, 5, 10)]
    for record in open_to_all:
        if record[0] == 3:
            assert record[4:8] == b"\0\0\1\0" and record[24:32] == bytes(8)  # no entries, EPERM; no base


def test_random_calls_of_another_user_write_nothing(either: Card) -> None:
    """A few thousand random calls (helpers/storm.c) as uid 1000. Seen failing with mode 0222 and without the check of
    the capability, both at once."""
    with expect_untouched(either, by_reading=True):
        report = either.guest.check(f"become -u 1000 -- storm -s 1 -n 4000 -w $(find /proc/gpu{either.index} -type f)",
                                    timeout=120)
    answers = {tuple(line.split()[:2]) for line in report.splitlines()}
    assert ("read", "OK") in answers and ("open", "EACCES") in answers
    assert not {("write", "OK"), ("pwrite", "OK"), ("writev", "OK"), ("mmap", "OK")} & answers


# -- capabilities of the process that opened the file and of the one that uses it

# steps of helpers/become.c in order; both capabilities are missing at the open, at the use, or at both
LENT = {
    "root_passes_an_open_file_to_a_user": "{open} -u 1000",
    "root_without_the_capabilities": "-C {open}",
    "opened_without_the_capabilities_and_used_with_them": "-c {open}",
    "root_in_a_user_namespace": "-n {open}",
    "root_enters_a_user_namespace_with_an_open_file": "{open} -n",
    "user": "-u 1000 {open}",
    "setuid_program_with_a_users_file": "-u 1000 {open}",
    "root_of_a_users_own_namespace": "-u 1000 -n {open}",
    "root_of_a_users_own_namespace_and_proc": "-u 1000 -n -m /tmp/fresh {open_fresh}",
    "root_passes_an_open_file_to_root_without_any_capability": "{open} -a",
}
OPENED_BY_ROOT = {way for way, steps in LENT.items() if steps.startswith("{open}")}
# processes that may observe and not control
PERFMON = {
    "root_with_cap_perfmon_alone": "-p {open}",
    "root_without_cap_sys_admin": "-s {open}",
    "opened_by_root_and_used_with_cap_perfmon_alone": "{open} -p",
    "root_passes_an_open_file_to_a_user_with_cap_perfmon": "-k {open} -u 1000 -p",
}
WRITES = ("write", "write_nothing", "write_much", "pwrite", "pwrite_beyond", "writev", "pwritev")  # reach the module


def sweep_in_way(card: Card, way: str, name: str, open_as: str) -> Tried:
    """The sweep of one file that is opened and used in a way of LENT or PERFMON; what it read is in /tmp/read."""
    steps = {**LENT, **PERFMON}[way].format(open=f"{open_as} {card.path(name)}",
                                            open_fresh=f"{open_as} {card.path(name).replace('/proc', '/tmp/fresh')}")
    card.guest.check("rm -f /tmp/read; : >/tmp/read; chmod 666 /tmp/read")
    return sweep_files(card.guest, steps, f"-3 -k -t {text_for(card, name)} -d /tmp/read",
                       SUID if way.startswith("setuid") else "sweep")


def check_refused(tried: Tried, way: str, calls: Iterable[str] = ("read", "readv", "pread")) -> None:
    """EPERM at each call where the file was opened by a process that may, otherwise at the open."""
    tried.nothing_got_through()
    assert "OK" not in tried.results("read")
    if way in OPENED_BY_ROOT:
        assert {tried.lines["read", call, "any", "EPERM"] for call in calls} == {2}
    else:
        assert dict(tried.lines) == {("open", "become", "O_RDONLY", "EPERM"): 1}


def test_root_controls_and_sees_addresses(either: Card) -> None:
    """The sweep detects writes and addresses where they are allowed, as the tests below rely on."""
    for name in CONTROL:
        tried = sweep_files(either.guest, f"-w /proc/gpu{either.index}/{name}", f"-3 -k -t {text_for(either, name)}")
        works = either.chip.preempts_runlists or name != "preempt_runlist"
        assert (tried.lines["write", "write", "passed", "OK"] == 1) == works
        assert "EPERM" not in tried.results("write")
    set_scene(either)
    addrs = find_addresses(either)
    texts = [either.read(name) for name in ("runlist0", "runlist1")]
    in_runlists = addrs["instance block"] | addrs["page directory"] | addrs["context image"]
    assert find_shown("".join(texts).encode(), in_runlists) == in_runlists
    assert find_shown(either.read("bars").encode(), addrs["runlist"]) == addrs["runlist"]
    assert all(read_printed(either.read("bars"))) and all(read_printed("".join(texts)))
    snapshot = read_collected(either.guest, either.path("snapshot"))
    assert find_shown(snapshot, addrs["runlist"]) == addrs["runlist"]
    assert find_shown(snapshot, addrs["instance block"])
    assert find_shown(either.read("image").encode(), addrs["runlist"])


@pytest.mark.parametrize("way", PERFMON)
def test_cap_perfmon_alone_observes_everything_and_controls_nothing(first: Card, way: str) -> None:
    """Runlists with addresses, samples and the image; every write gives EPERM.
    Seen failing with CAP_SYS_ADMIN required in lens_may_observe() (EPERM at the open), and with CAP_PERFMON sufficient
    in lens_may_control()."""
    addrs = find_addresses(first)
    for name in (*OBSERVE, "image"):
        tried = sweep_in_way(first, way, name, "-r")
        tried.nothing_got_through()
        assert tried.lines["read", "read", "any", "OK"] == 2
        data = read_collected(first.guest, "/tmp/read")
        assert find_shown(data, addrs["instance block"] if name == "runlist0" else addrs["runlist"])
    tried = sweep_in_way(first, way, "samples", "-r")
    assert tried.results("read") >= {"EINVAL"} and not tried.results("read") & {"EPERM", "EACCES"}
    with expect_untouched(first):
        for name in CONTROL:
            tried = sweep_in_way(first, way, name, "-w")
            tried.nothing_got_through()
            assert {line[3] for line in tried.lines if line[1] in WRITES} == {"EPERM"}


@pytest.mark.parametrize("way", LENT)
def test_control_needs_the_capability_of_opener_and_writer(careless: Card, way: str) -> None:
    """EPERM where either lacks CAP_SYS_ADMIN in the initial user namespace, even if the file's mode permits the access.
    Seen failing, each for the ways that it permits: without file_ns_capable(), without capable(), with the caller's
    user namespace instead of the initial one."""
    with expect_untouched(careless):
        for name in ("disable_channel", "preempt_tsg", "resubmit_runlist"):
            tried = sweep_in_way(careless, way, name, "-w")
            tried.nothing_got_through()
            assert {line[3] for line in tried.lines if line[1] in WRITES} == {"EPERM"}


@pytest.mark.parametrize("way", LENT)
def test_observing_needs_a_capability_of_opener_and_reader(careless: Card, way: str) -> None:
    """EPERM at the open or at each read where either lacks both capabilities in the initial user namespace, even if the
    file's mode permits the access, without an access to the GPU. Seen failing without the check at the open, without
    the one at each read, and with the caller's user namespace instead of the initial one."""
    with expect_untouched(careless):
        for name in (*OBSERVE, "image"):
            check_refused(sweep_in_way(careless, way, name, "-r"), way)
            assert not read_collected(careless.guest, "/tmp/read")


@pytest.mark.parametrize("way", LENT)
def test_sampling_needs_a_capability_of_opener_and_caller(careless: Card, way: str) -> None:
    """EPERM for opening, reading and configuring where either lacks both capabilities in the initial user namespace,
    without an access to the GPU."""
    with expect_untouched(careless):
        check_refused(sweep_in_way(careless, way, "samples", "-r"), way, ("read", "readv"))
        if way in OPENED_BY_ROOT:
            tried = sweep_in_way(careless, way, "samples", "-w")
            tried.nothing_got_through()
            assert {line[3] for line in tried.lines if line[1] in ("write", "write_much", "writev")} == {"EPERM"}


@pytest.mark.parametrize("name", [*OBSERVE, "image"])
def test_a_user_cannot_continue_a_read_of_root(first: Card, name: str) -> None:
    """An open file keeps its text, and each read of it checks the capability. Seen failing before it did."""
    first.guest.check("rm -f /tmp/read")
    tried = sweep_files(first.guest, f"-r {first.path(name)} -1 -u 1000", "-3 -k -d /tmp/read")
    check_refused(tried, "root_passes_an_open_file_to_a_user")
    assert not read_collected(first.guest, "/tmp/read")


def test_a_user_who_continues_a_read_of_root_sees_no_runlist(first: Card) -> None:
    """snapshot is collected anew for the reader, without runlists."""
    addrs = set().union(*find_addresses(first).values())
    for way in ("", "-1 "):
        first.guest.check("rm -f /tmp/read")
        sweep_files(first.guest, f"-r {first.path('snapshot')} {way}-u 1000", "-3 -k -d /tmp/read")
        assert not find_shown(read_collected(first.guest, "/tmp/read"), addrs)


def test_file_modes_alone_give_no_permission(careless: Card) -> None:
    """uid 1000 can open control files in every way, and each write gives EPERM; files that observe cannot be opened.
    Seen failing without the check of the capability."""
    with expect_untouched(careless):
        for name in CONTROL:
            tried = sweep_files(careless.guest, "-u 1000", f"-k -t {text_for(careless, name)} {careless.path(name)}")
            tried.nothing_got_through()
            assert tried.lines["open", "open", "O_RDWR", "OK"] == 1
            assert tried.lines["write", "write", "O_RDWR|O_APPEND", "EPERM"] == 1
            assert "OK" not in tried.results("read")
        for name in (*OBSERVE, "image", "samples"):
            tried = sweep_files(careless.guest, "-u 1000", f"-k -t 0 {careless.path(name)}")
            tried.nothing_got_through()
            assert {line[3] for line in tried.lines if line[:3] == ("open", "open", "O_RDONLY")} == {"EPERM"}
            assert not [line for line in tried.lines if line[:2] == ("open", "open") and line[3] == "OK" and
                        not line[2].startswith("O_PATH")]
            assert "OK" not in tried.results("read")


def test_random_calls_of_another_user_write_nothing_with_any_file_mode(careless: Card) -> None:
    """A few thousand more. Seen failing without the check of the capability."""
    paths = " ".join(careless.path(name) for name in CONTROL)
    with expect_untouched(careless):
        report = careless.guest.check(f"become -u 1000 -- storm -s 2 -n 4000 -w {paths}", timeout=120)
    answers = {tuple(line.split()[:2]) for line in report.splitlines()}
    assert {("open", "OK"), ("write", "EPERM"), ("pwrite", "EPERM"), ("writev", "EPERM")} <= answers
    assert not {("write", "OK"), ("pwrite", "OK"), ("writev", "OK"), ("mmap", "OK")} & answers


# -- other places


def test_log_trace_and_parameters_show_no_address(first: Card) -> None:
    """The module's messages in the kernel log, its trace event and its files in sysfs, for every reader. Seen failing
    with the number of an instance block's page in the log."""
    guest = first.guest
    addrs = set().union(*find_addresses(first).values())
    event = "/sys/kernel/tracing/events/gpulens/gpulens_control/enable"
    guest.check(f"echo 1 >{event}")
    first.write("enable_channel", text_for(first, "enable_channel"))
    text = guest.check(f"cat /sys/kernel/tracing/trace; dmesg | grep gpulens; echo 0 >{event}")
    assert "action=enable_channel" in text and "is /proc/gpu" in text
    text += guest.check("find /sys/module/gpulens -type f -perm -004 | while read -r file; do cat $file; done")
    assert "Y" in text
    assert not find_shown(text.encode(errors="surrogateescape"), addrs)
    status, text = guest.run("become -u 1000 -- cat /sys/kernel/tracing/trace")
    assert status != 0 and "Permission denied" in text


# -- user namespaces

FEW = ("chip", "snapshot", "runlist0", "bars", "image", "enable_channel")


def name_few_files(card: Card, proc: str = "/proc") -> str:
    """Files of each kind."""
    return " ".join(f"{proc}/gpu{card.index}/{name}" for name in FEW)


def test_a_new_user_namespace_gives_no_permission(first: Card) -> None:
    """All capabilities in a new user namespace, with its own mounts, processes and proc: nothing is written, changed or
    shown. Seen failing with the caller's namespace checked instead of the initial one, and with modes 0222 and 0444."""
    addrs = set().union(*find_addresses(first).values())
    text = text_for(first, "enable_channel")
    with expect_untouched(first, by_reading=True):
        tried = sweep_files(first.guest, "-u 1000 -n -m /tmp/fresh",
                            f"-t {text} -d /tmp/read {name_few_files(first, '/tmp/fresh')}")
    tried.nothing_got_through()
    tried.nothing_opened_to_write()
    assert tried.lines["open", "open", "O_RDONLY", "OK"] == 2  # chip and snapshot
    assert tried.lines["open", "open", "O_RDONLY", "EACCES"] == 4
    assert not find_shown(read_collected(first.guest, "/tmp/read"), addrs)


# -- gid=


@pytest.mark.parametrize("who", ["-u 1000:2000", "-g 2000 -u 1000", "-g 2001 -g 2000 -u 1000"])
def test_gid_alone_gives_no_permission(grouped: Card, who: str) -> None:
    """The user's group, or one of several, passes the file's mode and not the check of the capability: EPERM at the
    open.
    Seen failing without the check."""
    with expect_untouched(grouped, by_reading=True):
        tried = sweep_files(grouped.guest, who,
                            f"-t {text_for(grouped, 'enable_channel')} -d /tmp/read {name_few_files(grouped)}")
    tried.nothing_got_through()
    tried.nothing_opened_to_write()
    assert tried.lines["open", "open", "O_RDONLY", "OK"] == 2  # chip and snapshot
    assert tried.lines["open", "open", "O_RDONLY", "EPERM"] == 3  # runlist0, bars, image
    assert tried.lines["open", "open", "O_RDONLY", "EACCES"] == 1
    assert not find_shown(read_collected(grouped.guest, "/tmp/read"), set().union(*find_addresses(grouped).values()))


def test_gid_and_cap_perfmon_observe_and_do_not_control(grouped: Card) -> None:
    """uid 1000 of the group with CAP_PERFMON, as after setcap, reads everything, with addresses, and samples; control
    is refused. Seen failing with files of root's group and with modes 0222 and 0400."""
    who = "-k -u 1000:2000 -p"
    addrs = find_addresses(grouped)
    tried = sweep_files(grouped.guest, who,
                        f"-t {text_for(grouped, 'enable_channel')} -d /tmp/read {name_few_files(grouped)}")
    tried.nothing_got_through()
    tried.nothing_opened_to_write()
    assert tried.lines["open", "open", "O_RDONLY", "OK"] == 5
    assert tried.lines["open", "open", "O_RDONLY", "EACCES"] == 1
    data = read_collected(grouped.guest, "/tmp/read")
    assert b"Channel Info" in data and find_shown(data, addrs["runlist"]) and find_shown(data, addrs["instance block"])
    got = grouped.guest.check(f"become {who} -- sh -c 'exec 3<>{grouped.path('samples')}; printf 1000 >&3; "
                              f"dd bs=64 count=1 <&3 2>/dev/null | wc -c'")
    assert got.strip() == "64"


@pytest.mark.parametrize("who", ["-u 1000", "-u 2000:1000", "-g 2001 -u 1000", "-u 1000 -n", "-k -u 1000 -p"])
def test_gid_lets_only_its_group_observe(grouped: Card, who: str) -> None:
    """EACCES for every file that observes or controls and every mode except O_PATH, which cannot read; also with
    CAP_PERFMON, which does not override file modes. Seen failing with 0444 instead of 0440."""
    names = " ".join(grouped.path(name) for name in (*OBSERVE, "image", "samples", "enable_channel"))
    with expect_untouched(grouped):
        tried = sweep_files(grouped.guest, who, names)
    tried.nothing_got_through()
    assert not [line for line in tried.lines if line[0] == "open" and line[3] == "OK" and
                (line[1] != "open" or not line[2].startswith("O_PATH"))]
    assert "OK" not in tried.results("read")
    for mode in ("O_RDONLY", "O_WRONLY", "O_RDWR"):
        assert {line[3] for line in tried.lines if line[:3] == ("open", "open", mode)} == {"EACCES"}


def test_gid_does_not_affect_root_or_topology(grouped: Card) -> None:
    """Root needs no group, and topology is open to everybody."""
    assert grouped.read("num_gpcs").startswith("0x") and any(read_printed(grouped.read("runlist0")))
    assert grouped.guest.check(f"become -u 1000 -- cat {grouped.path('num_gpcs')}").startswith("0x")
    modes = grouped.guest.check(f"cd /proc/gpu0 && stat -c '%n %a %g' {' '.join(OBSERVE)} image samples chip snapshot")
    assert modes.split("\n")[:-1] == [*(f"{name} 440 2000" for name in (*OBSERVE, "image")), "samples 660 2000",
                                      "chip 444 0", "snapshot 444 0"]


@pytest.mark.parametrize("params", ["gid=-2", "gid=-2147483648", "vram=maybe", "vram="])
def test_invalid_parameters_are_refused(house: House, params: str) -> None:
    """insmod fails with EINVAL. Seen failing with gid=-2 before it was checked: -r--r--r--."""
    guest = house.unloaded()
    status, text = guest.run(f"insmod /modules/gpulens.ko {params}")
    assert status != 0 and "nvalid" in text, text
    assert guest.run("ls -d /proc/gpu*")[0] != 0


# -- lockdown, last: it cannot be undone

LOCKDOWN = "/sys/kernel/security/lockdown"


def lock_down(guest: Guest, mode: str) -> None:
    """Sets the kernel's lockdown mode."""
    guest.run("mount -t securityfs securityfs /sys/kernel/security")
    if guest.run(f"grep -F '[{mode}]' {LOCKDOWN}")[0] != 0 and guest.run(f"echo {mode} >{LOCKDOWN}")[0] != 0:
        pytest.skip("this kernel has no lockdown")


def pci_results(card: Card) -> tuple[str, str, str]:
    """The kernel's results of a read and a write of this GPU's PCI registers, and of mapping its BAR0."""
    found = re.search(r"[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.0", card.read("chip"))
    assert found
    device = f"/sys/bus/pci/devices/{found[0]}"
    tried = sweep_files(card.guest, "", f"-k {device}/resource0")
    mapped = [line[3] for line in tried.lines if line[:3] == ("write", "mmap_shared", "O_RDWR")]
    return (card.guest.run(f"tryop read {device}/config")[1].strip(),
            card.guest.run(f"tryop write {device}/config x")[1].strip(), mapped[0])


def test_files_opened_before_lockdown_are_refused_afterwards(first: Card) -> None:
    """EPERM for a control file and for the rest of an image whose first byte was read. Seen failing without the check
    of lockdown in either, and for the image with the check at the first read only."""
    guest = first.guest
    guest.complain(guest.leaks())  # debugfs cannot be read afterwards
    assert pci_results(first) == ("OK 256", "OK 1", "OK")
    guest.run("mount -t securityfs securityfs /sys/kernel/security")
    status, text = guest.run(f"""exec 3>/proc/gpu0/enable_channel 4</proc/gpu0/image
        printf 16 >&3 && dd bs=1 count=1 <&4 >/dev/null 2>&1 || exit 8
        echo integrity >{LOCKDOWN} || exit 9
        printf 16 >&3; echo "wrote: $?"; cat <&4 | wc -c""")
    if status == 9:
        pytest.skip("this kernel has no lockdown")
    assert "wrote: 1" in text and "cat: read error: Operation not permitted" in text
    assert text.endswith("\n0\n")


@pytest.fixture(scope="module", params=["integrity", "confidentiality"])
def locked(request: pytest.FixtureRequest, house: House) -> None:
    """The kernel is locked down in that mode; no module can be loaded any more."""
    house.load()
    lock_down(house.cards[0].guest, request.param)


@pytest.mark.usefixtures("locked")
def test_lockdown_refuses_control_and_images(either: Card) -> None:
    """EPERM for root with all capabilities, without an access to the GPU. Seen failing without the check of lockdown,
    in control and in images separately."""
    with expect_untouched(either):
        for name in CONTROL:
            tried = sweep_files(either.guest, f"-w {either.path(name)}", f"-3 -k -t {text_for(either, name)}")
            tried.nothing_got_through()
            assert {line[3] for line in tried.lines if line[1] in WRITES} == {"EPERM"}
        for who in ("", "-p ", "-s "):
            tried = sweep_files(either.guest, f"{who}-r {either.path('image')}", "-3 -k")
            assert dict(tried.lines) == {("open", "become", "O_RDONLY", "EPERM"): 1}


@pytest.mark.usefixtures("locked")
def test_lockdown_permits_reads_as_the_kernel_does_for_pci(either: Card) -> None:
    """A locked-down kernel lets root read a device's PCI registers, and neither write them nor map its BARs. Likewise,
    topology can be read by everybody, and runlists with addresses by root and with CAP_PERFMON. Seen failing with reads
    refused under lockdown."""
    assert pci_results(either) == ("OK 256", "write EPERM", "EPERM")
    assert "Graphics/Compute 0" in either.read("device_info")
    for who in ("", "become -p -- "):
        text = either.guest.check(f"{who}cat {either.path('runlist0')}")
        assert shape(text) == [(3, [8, 9]), (5, [16]), (9, [24, 25])]
        assert all(read_printed(text)) and all(read_printed(either.guest.check(f"{who}cat {either.path('bars')}")))
    with expect_untouched(either, by_reading=True):
        tried = sweep_files(either.guest, "-u 1000", f"-d /tmp/read {name_few_files(either)}")
    tried.nothing_got_through()
    data = read_collected(either.guest, "/tmp/read")
    assert b"Device:" in data and not find_shown(data, set().union(*find_addresses(either).values()))
