# SPDX-License-Identifier: GPL-2.0
"""gpulens run --slot with a faked driver: a program runs while it has a slot, and a program that comes first takes the
slot back, by a hold. What is left when one of them, its agent or gpulens run is killed or stopped."""

import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
from typing import Iterator

import pytest

from support.fakeclock import CLOCK, run_by_clock
from support.program import ROOT
from support.scheduled import BIN, EXPIRED, HELD_SINCE, Program, make_environment, wait_for, write_results

PROGRAMS: "list[SlotProgram]" = []  # of the present test


class SlotProgram(Program):
    """fake-load under gpulens run --slot. words: options of run."""

    def __init__(self, root: pathlib.Path, *words: str, slot: str = "gpu", verbs: str = "",
                 forks: bool = False) -> None:
        folder = root / f"program-{len(PROGRAMS)}"
        folder.mkdir()
        env = {**make_environment(folder, verbs), "GPULENS_RUNTIME_DIR": str(root / "run"),
               "GPULENS_FAKE_RM_SHARED": str(root / "shared"), **({"GPULENS_LOAD_FORKS": "1"} if forks else {})}
        super().__init__(folder)
        self.folder = folder
        self.log = (folder / "stderr").open("w+", encoding="utf-8")
        # pylint: disable-next=consider-using-with
        self.process = subprocess.Popen([BIN / "gpulens", "run", "-o", "/dev/null", "--slot", slot, *words, "--",
                                         BIN / "fake-load", "victim", folder / "progress", "20"], env=env,
                                        stderr=self.log)
        PROGRAMS.append(self)
        self.run = root / "run"

    def text(self) -> str:
        """Standard error so far."""
        return pathlib.Path(self.log.name).read_text(encoding="utf-8")

    def started(self) -> "SlotProgram":
        """Waits until the program runs and its agent is there."""
        wait_for(self.runs)
        self.map_page(self.run / f"agent-{self.word(3)}")
        return self

    def started_without_agent(self) -> "SlotProgram":
        """Waits until the program runs; it has no agent."""
        wait_for(self.runs)
        assert not list(self.run.glob("agent-*"))
        return self

    def held(self) -> int:
        """Since when it is held, in ns; 0: it is not."""
        return self.get(HELD_SINCE)

    def runs(self) -> bool:
        """Whether the program has begun."""
        return self.word(4) != 0

    def lives(self) -> bool:
        """Whether the program is there, and no zombie. A process of another test may have its pid by now."""
        try:
            return os.fsencode(self.folder) in pathlib.Path(f"/proc/{self.word(3)}/cmdline").read_bytes()
        except (FileNotFoundError, ProcessLookupError):
            return False

    def end(self, number: int = signal.SIGTERM) -> int:
        """Ends the program by a signal to gpulens run; its status."""
        self.process.send_signal(number)
        return CLOCK.wait(self.process)


@pytest.fixture(autouse=True, name="programs")
def fixture_programs() -> Iterator[None]:
    """Ends the programs of a test."""
    yield
    for program in PROGRAMS:
        program.process.send_signal(signal.SIGCONT)
        program.process.kill()
        program.process.wait()
        if program.lives():
            os.kill(program.word(3), signal.SIGKILL)
        program.log.close()
    PROGRAMS.clear()


def test_one_program_at_a_time(tmp_path: pathlib.Path) -> None:
    """The second one waits, says for whom, and begins when the first one has ended; its status is the program's. With
    two slots, both run at once. Seen failing with a keeper that does not wait for its slot."""
    first = SlotProgram(tmp_path, "--experimental").started()
    second = SlotProgram(tmp_path, "--experimental")
    wait_for(lambda: "waits" in second.text())
    CLOCK.run(0.3)
    assert not second.runs() and not first.stands_still()
    assert second.text() == f"gpulens: waits for slot gpu: process {first.process.pid} has it\n"
    assert first.end() == 0
    second.started()
    assert not second.stands_still()
    pair = [SlotProgram(tmp_path, "--experimental", slot="two:2").started() for _ in range(2)]
    assert not any(program.stands_still() for program in pair)


@pytest.mark.parametrize("first, second", [((), ("--priority", "5")), (("--priority", "6"), ("--priority", "5")),
                                           ((), ("--deadline", "1m")), (("--deadline", "2m"), ("--deadline", "1m")),
                                           (("--deadline", "1ms"), ("--priority", "99"))])
def test_the_slot_is_taken_back(tmp_path: pathlib.Path, first: "tuple[str, ...]", second: "tuple[str, ...]") -> None:
    """The first program stands still while the second one has the slot, and goes on when that has ended. Seen failing
    without hold_program(): both ran."""
    holder = SlotProgram(tmp_path, "--experimental", *first).started()
    urgent = SlotProgram(tmp_path, "--experimental", *second).started()
    assert holder.held() and holder.stands_still() and not urgent.stands_still()
    assert f"process {holder.process.pid} has it, and it is taken back\n" in urgent.text()
    assert urgent.end() == 0
    wait_for(lambda: not holder.held())
    assert not holder.stands_still()
    assert holder.end() == 0
    assert re.search(r"^gpulens: slot gpu was taken back 1 times, for \d+\.\d+ m?s$", holder.text(), re.M)


@pytest.mark.parametrize("first, second", [(("--priority", "5"), ("--priority", "5")), (("--priority", "5"), ()),
                                           (("--priority", "99"), ("--deadline", "1ms")),
                                           (("--deadline", "1ms"), ("--deadline", "1m"))])
def test_it_is_not_taken_back(tmp_path: pathlib.Path, first: "tuple[str, ...]", second: "tuple[str, ...]") -> None:
    """For one that does not come first. Seen failing without the order in is_claimed() and give_turn_away()."""
    holder = SlotProgram(tmp_path, "--experimental", *first).started()
    other = SlotProgram(tmp_path, "--experimental", *second)
    wait_for(lambda: "waits" in other.text())
    CLOCK.run(0.3)
    assert not other.runs() and not holder.held() and not holder.stands_still()


def test_the_least_urgent_of_several_gives_its_slot(tmp_path: pathlib.Path) -> None:
    """Of two slots. Seen failing without the comparison with other holders."""
    middle = SlotProgram(tmp_path, "--experimental", "--priority", "5", slot="gpu:2").started()
    least = SlotProgram(tmp_path, "--experimental", "--priority", "6", slot="gpu:2").started()
    SlotProgram(tmp_path, "--experimental", "--priority", "4", slot="gpu:2").started()
    assert least.held() and not middle.held() and not middle.stands_still()


def test_a_removed_folder_is_said(tmp_path: pathlib.Path) -> None:
    """As systemd-logind removes it after the last logout: programs that come later do not wait for this one. Seen
    failing: nothing was said."""
    holder = SlotProgram(tmp_path, "--experimental").started()
    shutil.rmtree(tmp_path / "run")
    wait_for(lambda: "slots-gpu was removed, as after a logout" in holder.text())
    CLOCK.run(1)
    assert holder.text().count("was removed") == 1 and not holder.stands_still()


def test_a_forked_child_is_held(tmp_path: pathlib.Path) -> None:
    """It has a TSG of its own, and its parent has an agent. Seen failing with a child that got no agent: both ran."""
    holder = SlotProgram(tmp_path, "--experimental", forks=True).started()
    assert len(list((tmp_path / "run").glob("agent-*"))) == 2
    SlotProgram(tmp_path, "--experimental", "--priority", "0").started()
    wait_for(holder.held)
    assert holder.stands_still()


def test_a_long_grant_has_holds_of_a_second_at_most(tmp_path: pathlib.Path) -> None:
    """The held program runs for some ms of each second; the agent's own limit ends none of its holds."""
    holder = SlotProgram(tmp_path, "--experimental").started()
    SlotProgram(tmp_path, "--experimental", "--priority", "0").started()
    wait_for(holder.held)
    before, since = holder.word(0), {holder.held()}
    end = CLOCK.now() + 2.5
    while CLOCK.now() < end:
        since.add(holder.held())
        CLOCK.run(0.001)
    assert 3 <= len(since - {0}) <= 5 and holder.get(EXPIRED) == 0
    assert 0 < holder.word(0) - before < 300_000  # of 2,500,000 us


def test_holds_that_were_not_seen_working_take_nothing_back(tmp_path: pathlib.Path) -> None:
    """The program starts and says so; one that comes first says so, too, and waits. With a result of the probe, the
    slot is taken back."""
    holder = SlotProgram(tmp_path).started_without_agent()
    assert holder.text() == (
        "gpulens: slot gpu cannot be taken back from this program: it is unknown whether driver 580.159.04 on NVIDIA "
        "H200 carries it out; run gpulens schedule --probe, which measures it in ten seconds, or accept that it may "
        "have no effect with --experimental\n")
    probed = ("--probed", str(write_results(tmp_path, hold="works")))
    urgent = SlotProgram(tmp_path, "--priority", "0", *probed)
    wait_for(lambda: f"process {holder.process.pid} has it, and it cannot be taken back\n" in urgent.text())
    CLOCK.run(0.3)
    assert not urgent.runs() and not holder.stands_still()
    assert holder.end() == 0
    urgent.started()
    assert urgent.end() == 0
    holder = SlotProgram(tmp_path, *probed).started()
    SlotProgram(tmp_path, "--priority", "0", *probed).started()
    assert holder.stands_still()


def test_a_hold_that_the_driver_refuses(tmp_path: pathlib.Path) -> None:
    """Nobody gets the slot, the program goes on, and the command says it once. Seen failing with a slot that is given
    away all the same."""
    holder = SlotProgram(tmp_path, "--experimental", verbs="disable=refused").started()
    CLOCK.run(0.11)  # until it is set up
    urgent = SlotProgram(tmp_path, "--experimental", "--priority", "0")
    message = f"gpulens: slot gpu cannot be taken back: the driver refused it (0x40) to process {holder.word(3)}\n"
    wait_for(lambda: message in holder.text())
    CLOCK.run(0.5)
    assert not urgent.runs() and not holder.stands_still() and holder.text().count("\n") == 1


def test_a_stopped_program_keeps_its_slot(tmp_path: pathlib.Path) -> None:
    """Its agent cannot hold it. When it goes on, the slot is taken back."""
    holder = SlotProgram(tmp_path, "--experimental").started()
    os.kill(holder.word(3), signal.SIGSTOP)
    urgent = SlotProgram(tmp_path, "--experimental", "--priority", "0")
    wait_for(lambda: f"process {holder.word(3)} is stopped, and its agent with it\n" in holder.text())
    assert not urgent.runs()
    os.kill(holder.word(3), signal.SIGCONT)
    urgent.started()
    assert holder.stands_still()


def start_pair(root: pathlib.Path) -> "tuple[SlotProgram, SlotProgram]":
    """A program whose slot was taken back, and the one that has it."""
    holder = SlotProgram(root, "--experimental").started()
    urgent = SlotProgram(root, "--experimental", "--priority", "0").started()
    wait_for(holder.held)
    return holder, urgent


def test_the_one_with_the_slot_is_killed(tmp_path: pathlib.Path) -> None:
    """gpulens run of it: the slot goes back, and its program gets SIGTERM."""
    holder, urgent = start_pair(tmp_path)
    urgent.process.kill()
    wait_for(lambda: not holder.held(), 2)
    assert not holder.stands_still()


def test_the_held_program_ends(tmp_path: pathlib.Path) -> None:
    """Or is killed, or its gpulens run is: the other one keeps the slot, and nobody waits for it any more."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        holder, urgent = start_pair(tmp_path)
        holder.end(number)
        CLOCK.run(0.2)
        assert urgent.process.poll() is None and not urgent.stands_still()
        assert urgent.end() == 0
    holder, urgent = start_pair(tmp_path)
    os.kill(holder.word(3), signal.SIGKILL)
    assert CLOCK.wait(holder.process) == 128 + signal.SIGKILL
    assert urgent.end() == 0


def test_a_waiting_command_is_killed(tmp_path: pathlib.Path) -> None:
    """It waits for a slot that it does not get; the next one does not wait for it. Seen failing where entries of dead
    processes stay."""
    holder = SlotProgram(tmp_path, "--experimental", "--priority", "0").started()
    waiting = SlotProgram(tmp_path, "--experimental", "--priority", "1")
    wait_for(lambda: "waits" in waiting.text())
    assert waiting.end(signal.SIGINT) == -signal.SIGINT
    assert holder.end() == 0
    SlotProgram(tmp_path, "--experimental").started()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
def test_nothing_stays_held_without_gpulens_run(tmp_path: pathlib.Path, number: int) -> None:
    """The agent ends the hold with the lease of 50 ms; a program whose gpulens run is killed gets SIGTERM."""
    holder, _ = start_pair(tmp_path)
    start = CLOCK.now()
    holder.process.send_signal(number)
    wait_for(lambda: not holder.held() or not holder.lives(), 2)
    assert CLOCK.now() - start < 0.06
    if number == signal.SIGSTOP:
        holder.process.send_signal(signal.SIGCONT)
        wait_for(holder.held)


def test_random_deaths(tmp_path: pathlib.Path) -> None:
    """Of the programs and of gpulens run of both: what is left runs. GPULENS_DEATHS: how often. Seen failing where the
    slot of a dead process stays taken."""
    chance = random.Random(25)
    for _ in range(int(os.environ.get("GPULENS_DEATHS", "8"))):
        holder = SlotProgram(tmp_path, "--experimental").started()
        urgent = SlotProgram(tmp_path, "--experimental", "--priority", "0")
        CLOCK.run(chance.uniform(0, 0.4))
        victim, rest = chance.choice([(holder, urgent), (urgent, holder)])
        if chance.random() < 0.5 or not victim.runs():
            victim.process.kill()
        else:
            os.kill(victim.word(3), signal.SIGKILL)
        rest.started()
        wait_for(lambda rest=rest: not rest.held(), 2)
        assert not rest.stands_still()
        rest.end()
        CLOCK.wait(victim.process)


def ask_tool(root: pathlib.Path, *words: str) -> str:
    """What gpulens prints, of the faked driver."""
    env = {**make_environment(root), "GPULENS_RUNTIME_DIR": str(root / "run")}
    done = run_by_clock([BIN / "gpulens", "--source", "rm", *words], env)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_slots_are_shown(tmp_path: pathlib.Path) -> None:
    """In top and export: who has a slot, whose was taken back, who waits, and how often. Not those of the dead, and no
    lock that nobody uses. Seen failing without the count in give_turn_away(), and with dead processes."""
    holder = SlotProgram(tmp_path, "--experimental").started()
    for _ in range(2):
        urgent = SlotProgram(tmp_path, "--experimental", "--priority", "3").started()
        urgent.end()
        wait_for(lambda: not holder.held())
    urgent = SlotProgram(tmp_path, "--experimental", "--priority", "3").started()
    waiting = SlotProgram(tmp_path, "--experimental", "--deadline", "1h")
    wait_for(lambda: "waits" in waiting.text())
    SlotProgram(tmp_path, "--experimental", slot="another:2").started()
    (tmp_path / "run/slots-x").write_text("no lock")
    screen = ask_tool(tmp_path, "top", "--batch", "1", "--delay", "100ms")
    page = ask_tool(tmp_path, "export", "--prometheus")
    rows = [re.split(r"  +", row) for row in screen[screen.index("Slot "):].splitlines()]
    pids = [str(program.process.pid) for program in (urgent, waiting, holder, PROGRAMS[-1])]
    assert rows[0] == ["Slot", "Slots", "Process", "State", "Order", "Taken back"]
    assert rows[1] == ["another", "2", pids[3], "has a slot", "-", "0"]
    assert rows[2] == ["gpu", "1", pids[0], "has a slot", "priority 3", "3"]
    assert rows[3][:4] == ["gpu", "1", pids[1], "waits"] and rows[3][4].startswith("deadline in 359")
    assert rows[4] == ["gpu", "1", pids[2], "taken back", "-", "3"] and len(rows) == 5
    assert 'gpulens_slot_slots{slot="another"} 2\n' in page and 'gpulens_slot_taken_back_total{slot="gpu"} 3\n' in page
    states = re.findall(r'^gpulens_slot_process{slot="gpu",pid="(\d+)",thread="\d+",state="(\w+)"} 1$', page, re.M)
    assert states == [(pids[0], "holds"), (pids[1], "waits"), (pids[2], "lent")]
    document = (ROOT / "docs/export.md").read_text(encoding="utf-8").split("\n## Slots\n")[1]
    listed = dict(re.findall(r"^\| `(gpulens_slot_\w+)` \| (\w+) \|", document, re.M))
    assert dict(re.findall(r"^# TYPE (gpulens_slot_\w+) (\w+)$", page, re.M)) == listed and len(listed) == 3
    for program in PROGRAMS:
        program.process.kill()
        program.process.wait()
    assert "gpulens_slot" not in ask_tool(tmp_path, "export", "--prometheus")
    assert "Taken back" not in ask_tool(tmp_path, "top", "--batch", "1", "--delay", "100ms")


@pytest.mark.parametrize("words, reason", [
    (("--slot", "a b"), "a lock's name has up to 64 letters"), (("--slot", ""), "a lock's name has up to 64 letters"),
    (("--slot", "gpu:0"), "0 slots are not 1 to 64 slots"), (("--slot", "gpu:65"), "65 slots are not 1 to 64 slots"),
    (("--slot", "gpu:x"), "not a number of slots: x"), (("--slot", "gpu:"), "not a number of slots: "),
    (("--priority", "1"), "--priority requires --slot"), (("--deadline", "1s"), "--deadline requires --slot"),
    (("--slot", "gpu", "--priority", "100"), "100 is not a number from 0 to 99"),
    (("--slot", "gpu", "--priority", "1", "--deadline", "1s"), "excludes"),
    (("--experimental",), "--experimental and --probed go with --schedule or --slot"),
    (("--slot", "gpu", "--experimental", "--schedule", "budget=2ms/10ms"),
     "--slot goes with a time slice only, not with --schedule budget= or task="),
    (("--slot", "gpu", "--experimental", "--schedule", "task=a"), "--slot goes with a time slice only")])
def test_wrong_words_are_refused(tmp_path: pathlib.Path, words: "tuple[str, ...]", reason: str) -> None:
    """Status 2, and the program is not started."""
    env = {**make_environment(tmp_path), "GPULENS_RUNTIME_DIR": str(tmp_path / "run")}
    done = run_by_clock([BIN / "gpulens", "run", *words, "--", "echo", "ran"], env)
    assert (done.returncode, done.stdout) == (2, "") and reason in done.stderr


def test_another_number_of_slots_is_refused(tmp_path: pathlib.Path) -> None:
    """While a program has the lock; status 4. Seen failing without the comparison in open_slots()."""
    SlotProgram(tmp_path, "--experimental", slot="gpu:2").started()
    other = SlotProgram(tmp_path, "--experimental", slot="gpu")
    assert CLOCK.wait(other.process) == 4 and other.text() == "gpulens: lock gpu is open with 2 slots\n"
