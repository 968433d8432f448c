# SPDX-License-Identifier: GPL-2.0
"""order_runlist: the TSGs of a runlist are scheduled in another order while a file is open. The emulator says which
list the GPU has, and how often each TSG had a turn, without asking the module."""

import contextlib
import json
import time
from collections.abc import Iterator
from typing import Any

import pytest

from lib import paths
from lib.guest import Gpu, Guest, pci_address, pci_folder
from support.vm.cards import Card, scenario, wait_until
from support.vm.chips import GP106
from support.vm.formats import parse_runlist, shape

TENANTS = [(3, [8, 9]), (5, [16]), (9, [24, 25])]  # runlist 0 of the scenario tenants
GPUS = ("gp106", "gv100", "tu102", "ad102")


@pytest.fixture(name="machine", scope="module")
def boot_guest() -> Iterator[Guest]:
    """Entries of 8 bytes, of 16, and two generations without order_runlist; each with a driver, which lets them read
    memory."""
    gpus = [Gpu(name, scenario("tenants-per-runlist" if name == "ad102" else "tenants")) for name in GPUS]
    with Guest(gpus, mem=512, programs=[paths.tool()]) as guest:
        guest.load("sysram", f"devices={','.join(pci_address(i) for i in range(len(GPUS)))} blocks=1 master=1")
        guest.load("gpulens", "control=1")
        yield guest


@pytest.fixture(name="card", params=(0, 1), ids=GPUS[:2])
def take_card(request: pytest.FixtureRequest, machine: Guest) -> Iterator[Card]:
    """A GPU with the driver's list. Only the path, the emulator and TSGs of the whole GPU are used of it as a GP106."""
    card = Card(machine, GP106, request.param)
    card.emu.cmd({"cmd": "scenario", "file": scenario("tenants")})
    yield card
    wait_until(lambda: listed_tsgs(card) == [3, 5, 9], "the driver's list is not back")


def runlist_of(card: Card, number: int = 0) -> "dict[str, Any]":
    """A runlist, by the emulator."""
    return next(r for r in card.emu.cmd({"cmd": "state"})["runlists"] if r["id"] == number)


def listed_tsgs(card: Card) -> "list[int]":
    """The TSGs of the list that the emulated GPU has committed, in their order."""
    return [tsg["id"] for tsg in runlist_of(card)["tsgs"]]


@contextlib.contextmanager
def order_tsgs(card: Card, *texts: str) -> Iterator[int]:
    """A process that writes these orders to an open file, and its process group."""
    writes = " && ".join(f"printf \"{text}\" >&3" for text in texts)
    pid = int(card.guest.check(f"rm -f /tmp/ordered; setsid sh -c 'exec 3>{card.path('order_runlist')}; {writes} && "
                               "touch /tmp/ordered; sleep 1000' >/dev/null 2>&1 </dev/null & echo $!"))
    try:
        wait_until(lambda: card.guest.run("[ -e /tmp/ordered ]")[0] == 0, "nothing is ordered")
        yield pid
    finally:
        card.guest.run(f"kill -9 -{pid} 2>/dev/null")


def test_a_tsg_that_stands_there_twice_has_twice_as_many_turns(card: Card) -> None:
    """The emulated GPU has the list in this order, from system memory (TARGET 2: coherent), with the same channels, and
    runlist0 shows it. The driver's list is back, at its address, after the process was killed.
    Seen failing without lens_orders_end_owner() in order_release()."""
    before = runlist_of(card)
    with order_tsgs(card, "0 5 3 5 9"):
        now = runlist_of(card)
        assert listed_tsgs(card) == [5, 3, 5, 9] and now["base_target"] == 2 and not now["pending"]
        assert {tsg["id"]: tsg["channels"] for tsg in now["tsgs"]} == dict(TENANTS)
        assert shape(card.read("runlist0")) == [(5, [16]), (3, [8, 9]), (5, [16]), (9, [24, 25])]
        slices = count_slices(card)
    assert slices[3] > 50 and 1.9 < slices[5] / slices[3] < 2.1, slices  # TSG 9 has no work
    wait_until(lambda: listed_tsgs(card) == [3, 5, 9], "the driver's list is not back")
    after = runlist_of(card)
    assert [after[key] for key in ("base", "base_target", "length")] == [
        before[key] for key in ("base", "base_target", "length")]


def count_slices(card: Card) -> "dict[int, int]":
    """Turns of each TSG of runlist 0 while the GPU's time goes on by a second, by the emulator."""
    def count() -> "dict[int, int]":
        return {t["id"]: t["slices"] for t in card.emu.cmd({"cmd": "runtime"})["tsgs"] if t["runlist"] == 0}

    card.emu.cmd({"cmd": "time", "mode": "virtual"})
    first = count()
    card.emu.cmd({"cmd": "time", "advance_ns": 1000000000})
    last = count()
    card.emu.cmd({"cmd": "time", "mode": "real", "access_ns": 1000})
    return {tsg: last[tsg] - first[tsg] for tsg in last}


def test_a_file_may_change_its_order(card: Card) -> None:
    """The second order replaces the first; its end brings the driver's list, not the first order.
    Seen failing with o->before = snap->regs for every order."""
    base = runlist_of(card)["base"]
    with order_tsgs(card, "0 5 3 5 9", "0 9 9 9 5 3"):
        assert listed_tsgs(card) == [9, 9, 9, 5, 3]
    wait_until(lambda: runlist_of(card)["base"] == base, "the driver's list is not back")


def test_another_file_is_refused(card: Card) -> None:
    """EBUSY, and nothing changes."""
    with order_tsgs(card, "0 5 3 5 9"):
        assert card.write("order_runlist", "0 3 5 9") == "write EBUSY"
        assert listed_tsgs(card) == [5, 3, 5, 9]


def count_drivers_lists(card: Card) -> int:
    """How often a list was submitted that is not in system memory, where the module's are."""
    return sum(one["times"] for one in runlist_of(card)["submitted"] if one["target"] != 2)


def test_the_list_of_the_driver_stays(card: Card) -> None:
    """The driver submits another list meanwhile: the GPU has that one, also once the order has ended, so that another
    file may order.
    Seen failing without the comparison in orders_restore()."""
    with order_tsgs(card, "0 5 3 5 9"):
        card.emu.cmd({"cmd": "scenario", "file": scenario("tenants"), "with": {}})
        assert listed_tsgs(card) == [3, 5, 9]
        again = count_drivers_lists(card)
    wait_until(lambda: card.write("order_runlist", "0 5 3 5 9") != "write EBUSY", "it does not end")
    wait_until(lambda: listed_tsgs(card) == [3, 5, 9], "the driver's list is not back")
    assert count_drivers_lists(card) == again + 1  # after the second order, and not after the first


REFUSED = {"0 5 3": "EINVAL", "0 3 5 9 4": "ENOENT", "0": "EINVAL", "": "EINVAL", "0  3 5 9": "EINVAL",
           "0 3 5 9 x": "EINVAL", "0:3 5 9": "EINVAL", "0 3 5 65545": "ERANGE", "4 3 5 9": "ENOENT",
           "99 3 5 9": "ERANGE", "0 3 5 9 99999999999": "ERANGE", "0" + " 3" * 1025: "EINVAL"}


def test_refused_orders_change_nothing(card: Card) -> None:
    """Of each, the errno, and the list is the driver's."""
    submitted = runlist_of(card)["submitted"]
    seen = {text: card.write("order_runlist", text) for text in REFUSED if text}
    assert seen == {text: f"write {error}" for text, error in REFUSED.items() if text}
    assert runlist_of(card)["submitted"] == submitted


def test_a_time_slice_of_an_ordered_list(card: Card) -> None:
    """tsg_timeslice writes each entry of the TSG in the list that the GPU has."""
    with order_tsgs(card, "0 5 3 5 9"):
        assert card.write("tsg_timeslice", "5 2000").startswith("OK")
        assert [tsg.fields["Slice"].split("us")[0].strip() for tsg in parse_runlist(card.read("runlist0"))
                if tsg.id == 5] == ["1998.848"] * 2  # 244 << 3 units of 1.024 us


def test_from_turing_on_it_is_refused(machine: Guest) -> None:
    """No register shows which list was submitted: EOPNOTSUPP."""
    for index in (2, 3):
        assert Card(machine, GP106, index).write("order_runlist", "0 3 5 9") == "write EOPNOTSUPP"


def set_command(card: Card, value: int) -> None:
    """The low byte of the PCI command register."""
    card.guest.check(f"printf '\\x{value:02x}' | dd of={pci_folder(card.index)}/config bs=1 seek=4 conv=notrunc 2>&1")


def test_an_order_ends_before_the_driver_is_unbound(card: Card) -> None:
    """The driver's list is back when unbinding has ended, while the file is still open; without a driver, and with one
    that does not let the GPU read memory, an order is refused (ENXIO).
    Seen failing without BUS_NOTIFY_UNBIND_DRIVER."""
    driver = "/sys/bus/pci/drivers/sysram"
    with order_tsgs(card, "0 5 3 5 9"):
        card.guest.check(f"echo {pci_address(card.index)} >{driver}/unbind")
        assert listed_tsgs(card) == [3, 5, 9]
    assert card.write("order_runlist", "0 5 3 5 9") == "write ENXIO"
    card.guest.check(f"echo {pci_address(card.index)} >{driver}/bind")
    set_command(card, 2)  # memory decoding only; 4: bus mastering
    assert card.write("order_runlist", "0 5 3 5 9") == "write ENXIO"
    set_command(card, 6)
    with order_tsgs(card, "0 5 3 5 9"):
        assert listed_tsgs(card) == [5, 3, 5, 9]


def test_an_order_ends_before_the_module_is_unloaded(card: Card) -> None:
    """With the file open. Seen failing without lens_orders_end_all() in lens_detach_devices(): the GPU kept a list
    whose memory was left to it, with a message."""
    with order_tsgs(card, "0 5 3 5 9"):
        card.guest.check("rmmod gpulens")
        assert listed_tsgs(card) == [3, 5, 9]
    card.guest.load("gpulens", "control=1")
    assert "stay allocated" not in card.guest.check("dmesg")


# -- gpulens schedule

POLICY = {"version": 1, "policy": "interleaved", "tasks": [
    {"name": "detector", "tsg": "3", "level": "high", "slice_us": 2000}, {"name": "training", "tsg": "5"}]}


@contextlib.contextmanager
def schedule_interleaved(card: Card) -> Iterator[int]:
    """gpulens schedule of POLICY, once the GPU has a list of the module, and its process id."""
    card.guest.push(json.dumps(POLICY).encode(), "/tmp/policy.json")
    pid = int(card.guest.check(f"setsid gpulens -g {card.index} --json schedule /tmp/policy.json "
                               ">/tmp/schedule.out 2>/tmp/schedule.err </dev/null & echo $!"))
    try:
        wait_until(lambda: runlist_of(card)["base_target"] == 2, "nothing is ordered")
        yield pid
    finally:
        card.guest.run(f"kill -9 {pid} 2>/dev/null")


def test_an_interleaved_policy(card: Card) -> None:
    """The list is that of linux-nvgpu (nvgpu_runlist_construct_locked): for each TSG of the level low, those of the
    level high, then the TSG. A TSG that no task names (9) is low. The urgent TSG has its time slice in this list only;
    a list of the driver is replaced; and the driver's is back at the end.
    Seen failing with the level low as default and as high, and without another look at the runlists."""
    with schedule_interleaved(card) as pid:
        assert listed_tsgs(card) == [3, 5, 3, 9]
        wait_until(lambda: [t["timeslice_ns"] for t in runlist_of(card)["tsgs"] if t["id"] == 3] == [1998848] * 2,
                   "the time slice was not set")
        slices = count_slices(card)
        assert slices[5] > 50 and 1.9 < slices[3] / slices[5] < 2.1, slices
        card.emu.cmd({"cmd": "scenario", "file": scenario("tenants")})
        assert listed_tsgs(card) == [3, 5, 9]
        wait_until(lambda: listed_tsgs(card) == [3, 5, 3, 9], "the driver's list stayed")
        time.sleep(0.5)  # five looks, which write nothing
        card.guest.check(f"kill -INT {pid}")
        wait_until(lambda: card.guest.run(f"kill -0 {pid}")[0] != 0, "it does not end")
    summary = json.loads(card.guest.read("/tmp/schedule.out"))
    assert summary == {"version": 1, "policy": "interleaved", "runlists": [
        {"runlist": 0, "order": [3, 5, 3, 9], "slices_us": {"3": 2000}, "submitted": 2}]}
    assert card.guest.read("/tmp/schedule.err") == ""


def test_a_killed_policy_leaves_the_list_of_the_driver(card: Card) -> None:
    """The kernel closes the file. The time slice is the driver's again, too."""
    before = runlist_of(card)
    with schedule_interleaved(card) as pid:
        card.guest.check(f"kill -9 {pid}")
        wait_until(lambda: runlist_of(card)["base"] == before["base"], "the driver's list is not back")
    assert runlist_of(card)["tsgs"] == before["tsgs"]


def test_the_command_says_where_it_cannot_be_had(machine: Guest) -> None:
    """From Turing on, also for a dry run."""
    machine.push(json.dumps(POLICY).encode(), "/tmp/policy.json")
    for words in ("--for 1s", "--dry-run"):
        assert machine.run(f"gpulens -g 2 schedule /tmp/policy.json {words} 2>&1") == (
            4, "gpulens: the policy interleaved needs order_runlist, which the module does not have on TU102: it "
            "orders runlists up to Volta (docs/proc.md)\n")
