# SPDX-License-Identifier: GPL-2.0
"""The module's TSGs with the processes of the scenario: a fake of NVIDIA's driver in the guest answers for them
(scripts/lib/fake_driver.py). Names, runlists, TSGs and channels are those of slices-two.json."""

import json
import re
from collections.abc import Iterator
from typing import NamedTuple

import pytest

from lib import fake_driver
from lib.guest import Guest
from support.vm.cards import scenario
from support.vm.chips import chips_for
from support.vm.shared import PAIR, SharedGuests

pytestmark = pytest.mark.guest("pair")

# pylint: disable=redefined-outer-name

CHIPS = chips_for("pair")
TSGS = {(0, 31): "long", (0, 32): "short", (1, 21): "long", (1, 22): "short"}  # of each GPU


class Machine(NamedTuple):
    """The guest, and what to write before a command that is to meet the driver."""
    guest: Guest
    driver: str

    def owners(self) -> dict[tuple[int, int, int], tuple[int, str, str, str] | None]:
        """By GPU, runlist and TSG: pid, name, user and evidence; None: unknown."""
        document = json.loads(self.guest.check(f"{self.driver}gpulens -g 0 -g 1 --json runlists"))
        return {(gpu["gpu"], runlist["id"], tsg["id"]): tsg["owner"] and tuple(
                    tsg["owner"][key] for key in ("pid", "name", "user", "evidence"))
                for gpu in document["gpus"] for runlist in gpu["runlists"] for tsg in runlist["tsgs"]}

    def pid_of(self, gpu: int, name: str) -> int:
        """The pid of the program of that process, as the guest's ps shows it."""
        text = self.guest.run(f"grep -l '^{name}$' /proc/[0-9]*/comm; grep -l 'GPULENS_RUN_FILE={fake_driver.FOLDER}/"
                              f"gpu{gpu}-' /proc/[0-9]*/environ")[1]
        found = [*{*re.findall(r"^/proc/(\d+)/comm$", text, re.M)} & {*re.findall(r"(\d+)/environ$", text, re.M)}]
        assert len(found) == 1, text
        return int(found[0])


@pytest.fixture(scope="module")
def machine(guests: SharedGuests) -> Iterator[Machine]:
    """Two GPUs, on each of which two processes take turns on two runlists."""
    with guests.take(PAIR, scenario("slices-two")) as guest:
        guest.load()
        gpus = [gpu._replace(scenario=scenario("slices-two")) for gpu in PAIR.gpus[:2]]
        yield Machine(guest, fake_driver.install_files(guest, gpus))
        guest.run("killall sleep long short; true")


def test_each_tsg_has_the_process_of_the_scenario(machine: Machine) -> None:
    """Of both GPUs, which have the same ids: each has its own two programs.
    Seen failing with both GPUs at one address, and with the lines of one GPU's programs for both."""
    assert {key: found for key, found in machine.owners().items() if key[0] < 2} == {
        (gpu, *key): (machine.pid_of(gpu, name), name, "root", "reported")
        for gpu in range(2) for key, name in TSGS.items()}


def test_without_the_driver_the_process_is_unknown(machine: Machine) -> None:
    """The module alone knows no process."""
    alone = Machine(machine.guest, "")
    assert {found for key, found in alone.owners().items() if key[0] < 2} == {None}


def test_top_and_record_name_the_processes(machine: Machine) -> None:
    """top's row of each TSG, and each interval of a recording."""
    text = machine.guest.check(f"{machine.driver}gpulens -g 0 -g 1 top --batch 1 --delay 1s", timeout=60)
    rows = {(int(gpu), int(tsg)): (int(pid), name) for gpu, tsg, pid, name in re.findall(
        r"^ +(\d) +(\d+) .* (\d+) root +(\w+) +reported -$", text, re.M)}
    assert rows == {(gpu, tsg): (machine.pid_of(gpu, name), name)
                    for gpu in range(2) for (_, tsg), name in TSGS.items()}, text
    machine.guest.check(f"{machine.driver}gpulens -g 1 record --runlist 1 --every 1ms --for 1s -o /tmp/p.csv",
                        timeout=60)
    lines = machine.guest.read("/tmp/p.csv").splitlines()
    column = {name: number for number, name in enumerate(lines[0].split(","))}
    rows_of = [line.split(",") for line in lines[1:]]
    assert {(row[column["tsg"]], row[column["pid"]], row[column["evidence"]]) for row in rows_of
            if row[column["tsg"]]} == {("21", str(machine.pid_of(1, "long")), "reported"),
                                       ("22", str(machine.pid_of(1, "short")), "reported")}


def test_export_counts_the_time_of_the_processes(machine: Machine) -> None:
    """The metric has each process of each engine that the scenario's TSGs share, with the evidence, and they have most
    of the time. Seen failing without the snapshots' owners: all of it was unknown."""
    text = machine.guest.check(f"{machine.driver}gpulens -g 1 export --prometheus --for 3s", timeout=60)
    seconds = {(engine, pid, name, evidence): float(value) for engine, pid, name, evidence, value in re.findall(
        r'^gpulens_process_engine_seconds_total\{gpu="1",engine="([^"]*)",pid="(\d*)",process="(\w*)",.*'
        r'evidence="(\w+)"\} ([\d.e-]+)$', text, re.M)}
    named = {key for key in seconds if key[1]}
    assert {key[1:] for key in named} == {(str(machine.pid_of(1, name)), name, "reported")
                                          for name in ("long", "short")}, text
    assert {"GR0"} <= {key[0] for key in named}, text
    assert sum(seconds[key] for key in named) > 0.9 * sum(seconds.values()), text


def test_a_program_that_ended_owns_nothing(machine: Machine) -> None:
    """The driver still lists its pid: its TSGs are unknown, the others keep their process."""
    pid = machine.pid_of(1, "long")
    machine.guest.check(f"kill {pid}; while [ -e /proc/{pid}/exe ]; do usleep 10000; done")
    found = machine.owners()
    assert found[(1, 0, 31)] is None and found[(1, 1, 21)] is None
    assert found[(1, 0, 32)] is not None and found[(0, 0, 31)] is not None and found[(0, 1, 21)] is not None
