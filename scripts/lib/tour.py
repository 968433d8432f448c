# SPDX-License-Identifier: GPL-2.0
"""The demo: one virtual machine with a GPU of each chip, the module loaded, and a short tour of what it shows; then
another one, in which the kernel's driver nouveau has a GPU and programs use it. Every command is shown as a user types
it and really run in the guest. A part with a step that does not do what it says has failed: the demo says so, goes on
with the next part and ends with status 1. Only these effects are checked here; tests/vm compares the contents with
literal values."""

import io
import re
import sys
import textwrap
import time
from collections.abc import Callable

from . import nouveau, paths
from .chips import Chip, chips_of
from .guest import Gpu, Guest, LostVM

RUNLIST_LINES = 34  # a TSG and a channel; the rest is counted
COMMAND_LIMIT = 300  # seconds; nouveau is loaded in a dozen, on a machine that does nothing else
GUEST_LIMIT = 1200
PROGRAMS = ("camera", "planner")  # names under which scripts/guest/copies.c runs
ROUNDS, PAUSE = 40, 250  # of each: copies there and back, milliseconds after each
AHEAD = 3  # rounds that one program does while the other is stopped
SUM = "sum 0xd6de6d45"  # worked out in Python from the description of the pattern in copies.c
COPIES = 4  # the runlist of GK104's first copy engine, on which nouveau puts the programs' channels


class Failed(Exception):
    """A step did not have the effect that the tour describes."""


class Parts:
    """The parts of the demo, each run whether or not another one failed."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.failed: list[str] = []

    def run(self, name: str, part: Callable[[], object]) -> None:
        """Runs one. A failure is printed; a lost guest is one as well."""
        self.names.append(name)
        try:
            part()
        except (Failed, ValueError, AssertionError, OSError, LostVM) as failure:
            self.failed.append(name)
            print(f"\ndemo: FAILED: {name}: {failure}", file=sys.stderr, flush=True)


def print_heading(text: str) -> None:
    """Prints a heading."""
    print(f"\n== {text} {'=' * max(4, 96 - len(text))}")


def print_text(text: str) -> None:
    """Prints a sentence or two about the next step."""
    print()
    for line in textwrap.wrap(text, 100):
        print(line)


def in_columns(lines: list[str]) -> list[str]:
    """The lines in two columns; remarks, which begin with "!", stay above."""
    remarks = [line for line in lines if line.startswith("!")]
    rest = [line for line in lines if not line.startswith("!")]
    width = max((len(line) for line in rest), default=0) + 3
    half = (len(rest) + 1) // 2
    return remarks + [left.ljust(width) + right
                      for left, right in zip(rest[:half], rest[half:] + [""] * (2 * half - len(rest)))]


class Tour:
    """One walk over one guest."""

    def __init__(self, guest: Guest) -> None:
        self.guest = guest

    def show(self, command: str, lines: int = 0, columns: bool = False) -> str:
        """Runs a command in the guest and prints it with its output, at most so many lines."""
        print(f"# {command}")
        status, output = self.guest.run(command, timeout=COMMAND_LIMIT)
        shown = output.rstrip("\n").splitlines()
        rest = len(shown) - lines if lines and len(shown) > lines else 0
        if rest:
            shown = shown[:lines]
        if columns:
            shown = in_columns(shown)
        for line in shown:
            print(f"  {line.rstrip()}")
        if rest:
            print(f"  ... and {rest} more lines")
        if status != 0:
            raise Failed(f"'{command}' ended with status {status}")
        return output

    def expect(self, condition: bool, failure: str) -> None:
        """Ends the tour unless the condition is met."""
        if not condition:
            raise Failed(failure)

    def refuse(self, folder: str) -> None:
        """An ordinary user reads topology, and no runlist."""
        print_text("That is for CAP_PERFMON or CAP_SYS_ADMIN: it shows what others run, and reading it stops all "
                   "processors for a moment. An ordinary user reads topology; the tour goes on as root.")
        text = self.show(f"su user -c 'cat {folder}/num_gpcs; cat {folder}/runlist0' || true")
        self.expect("0x" in text and "Permission denied" in text and "TSG" not in text,
                    "an ordinary user does not read topology alone")

    def channel(self, gpu: int, number: int) -> str:
        """The box of one channel in runlist0."""
        text = self.guest.read(f"/proc/gpu{gpu}/runlist0")
        found = re.search(rf"^ *\+- Channel Info {number} .*?(?=^ *\+-(?:---| Channel))", text, re.M | re.S)
        if found is None:
            raise Failed(f"channel {number} is not in /proc/gpu{gpu}/runlist0")
        return found[0]

    def enabled(self, gpu: int, number: int) -> bool:
        """The Enabled bit of one channel in runlist0."""
        return re.search(r"Enabled: +1", self.channel(gpu, number)) is not None

    def slices(self, gpu: int, number: int) -> int:
        """How often the emulated GPU has put that channel on its engine so far."""
        for channel in self.guest.emu[gpu].cmd({"cmd": "runtime"})["channels"]:
            if channel["runlist"] == 0 and channel["id"] == number:
                return int(channel["slices"])
        raise Failed(f"the emulator knows no channel {number}")

    def control(self, gpu: int) -> None:
        """Disables one channel of runlist 0, and enables it again."""
        state = self.guest.emu[gpu].cmd({"cmd": "state"})
        busy = [channel["id"] for channel in state["channels"]
                if channel["runlist"] == 0 and channel["busy"] and channel["enabled"]]
        number = busy[0]
        name = f"0:{number}" if "RUNLIST:ID" in self.guest.read(f"/proc/gpu{gpu}/chip") else str(number)
        grep = f"grep -A1 'Channel Info {number} ' /proc/gpu{gpu}/runlist0"
        print_text(f"Channel {number} of runlist 0 is taken off: a disabled channel keeps its place on the runlist, "
                   "and the GPU passes over it.")
        self.show(f"echo {name} > /proc/gpu{gpu}/disable_channel")
        self.show(grep)
        self.expect(not self.enabled(gpu, number), f"channel {number} of gpu{gpu} was disabled and reads as enabled")
        time.sleep(0.1)
        before = self.slices(gpu, number)
        time.sleep(0.3)
        ran = self.slices(gpu, number) - before
        self.expect(ran == 0, f"channel {number} of gpu{gpu} is disabled and was scheduled {ran} times")
        self.show(f"echo {name} > /proc/gpu{gpu}/enable_channel")
        self.show(grep)
        self.expect(self.enabled(gpu, number), f"channel {number} of gpu{gpu} was enabled and reads as disabled")
        before = self.slices(gpu, number)
        limit = time.monotonic() + COMMAND_LIMIT
        while (after := self.slices(gpu, number)) == before and time.monotonic() < limit:
            time.sleep(0.1)
        self.expect(after > before, f"channel {number} of gpu{gpu} is enabled and was not scheduled")
        print("(The emulated GPU did not schedule it while it was disabled, and schedules it again.)")

    def visit(self, gpu: int, chip: Chip) -> None:
        """All steps on one GPU."""
        name = chip.name.upper()
        print_heading(f"gpu{gpu}: {name} ({chip.board}, {chip.generation})")
        print_text("Which chip it is, where it sits, and how its channels are named.")
        text = self.show(f"cat /proc/gpu{gpu}/chip")
        self.expect(name in text, f"gpu{gpu} is not a {name}")
        print_text("Its engines, and the runlist that feeds each. Engines with the same runlist share it: work for "
                   "them is scheduled together.")
        text = self.show(f"cat /proc/gpu{gpu}/device_info")
        self.expect("Graphics/Compute 0" in text, "device_info names no graphics engine")
        print_text("What is on runlist 0 now: time-slice groups (TSGs) with the length of their turn, and in each its "
                   "channels with their state.")
        if gpu == 0:
            self.refuse(f"/proc/gpu{gpu}")
        text = self.show(f"cat /proc/gpu{gpu}/runlist0", lines=RUNLIST_LINES)
        self.expect("TSG Entry" in text and "Channel Info" in text, "runlist0 shows no TSG with a channel")
        print(f"  (in all {text.count('TSG Entry')} TSGs with {text.count('Channel Info')} channels)")
        self.control(gpu)
        print_text("Which units this very die has. A set bit is a unit that is switched off; tpc_map says which of the "
                   "TPCs that programs see sit in which GPC, for partitioning.")
        self.show(f"cd /proc/gpu{gpu}; grep . num_gpcs num_tpc_per_gpc gpc_mask gpc*_tpc_mask", columns=True)
        self.show(f"cat /proc/gpu{gpu}/tpc_map", columns=True)
        print_text("Which physical copy engines (PCEs) stand behind each logical one (LCE): copies on two LCEs or "
                   "GRCEs that end in the same PCE slow each other down.")
        text = self.show(f"cat /proc/gpu{gpu}/copy_topology")
        self.expect("GRCE0" in text, "copy_topology shows no GRCE0")


class Programs(Tour):
    """What two programs do on a GK104 that nouveau drives: both copy, one is stopped and let go."""

    def start(self) -> dict[str, int]:
        """Starts them; returns their channels."""
        self.guest.check(f"for name in {' '.join(PROGRAMS)}; do ln -s {nouveau.COPIES} /bin/$name; done")
        for name in PROGRAMS:
            command = f"{name} /dev/dri/renderD128 {ROUNDS} {PAUSE}"
            print(f"# {command} >/tmp/{name} &")
            self.guest.check(f"{command} </dev/null >/tmp/{name} 2>&1 &")
        for name in PROGRAMS:
            self.guest.check(f"until grep -q round /tmp/{name}; do sleep 0.1; done", timeout=COMMAND_LIMIT)
        print_text("nouveau's own list of who has the GPU open, and the channel that it gave to each, as the program "
                   "prints it.")
        text = self.show("cut -c1-26 /sys/kernel/debug/dri/0/clients")
        for name in PROGRAMS:
            self.expect(name in text, f"{name} does not have the GPU open")
        text = self.show(f"cd /tmp; grep channel {' '.join(PROGRAMS)}")
        return {name: int(number) for name, number in re.findall(r"^(\w+):channel (\d+)$", text, re.M)}

    def last_lines(self) -> dict[str, str]:
        """Shows the last line of each program."""
        text = self.show(f"cd /tmp; for name in {' '.join(PROGRAMS)}; do echo $name: $(tail -n 1 $name); done")
        return dict(line.split(": ") for line in text.splitlines())

    def wait_for_rounds(self, name: str) -> None:
        """Waits until that program has done some more rounds, or has ended."""
        count = f"$(grep -c -e round -e sum /tmp/{name})"
        self.guest.check(f"n={count}; until [ {count} -ge $((n + {AHEAD})) ] || grep -q sum /tmp/{name}; do sleep 0.1; "
                         "done", timeout=COMMAND_LIMIT)

    def visit_programs(self) -> None:
        """All steps."""
        channels = self.start()
        runlist = f"/proc/gpu0/runlist{COPIES}"
        print_text("The runlist that nouveau wrote, as gpulens reads it: the two channels, and channel 1, with which "
                   "nouveau itself moves buffers.")
        text = self.show(f"grep -E 'Channel Info|Enabled:' {runlist}")
        self.expect(set(re.findall(r"Info (\d+)", text)) == {"1", *map(str, channels.values())},
                    f"{runlist} does not have the channels of the programs and of nouveau")
        stopped, other = PROGRAMS
        print_text(f"{stopped} is stopped: its channel is disabled. {other} goes on.")
        self.show(f"echo {channels[stopped]} > /proc/gpu0/disable_channel")
        self.wait_for_rounds(other)  # it ends the round that it had begun
        first = self.last_lines()
        self.wait_for_rounds(other)
        second = self.last_lines()
        self.expect(first[stopped] == second[stopped], f"{stopped} was stopped and went on")
        self.expect(first[other] != second[other], f"{other} was not stopped and did not go on")
        print_text(f"{stopped} is let go. Both end, and the sum of what came back from the GPU is right.")
        self.show(f"echo {channels[stopped]} > /proc/gpu0/enable_channel")
        for name in PROGRAMS:
            self.guest.check(f"until grep -q sum /tmp/{name}; do sleep 0.1; done", timeout=COMMAND_LIMIT)
        sums = self.last_lines()
        self.expect(set(sums.values()) == {SUM}, f"the sums of both should be {SUM}")


def show_programs() -> None:
    """The part with nouveau, or why it is left out."""
    print_heading("gpu0: GK104 (Kepler), which a driver uses")
    obstacle = nouveau.find_obstacle()
    if obstacle is None:
        try:
            archive = nouveau.make_archive([Gpu("gk104")])
        except FileNotFoundError as missing:
            obstacle = str(missing)
    if obstacle is not None:
        print_text(f"Left out: {obstacle}.")
        return
    print_text("Another virtual machine boots, with nouveau, the kernel's own driver, on an emulated GK104. Two "
               "programs copy a pattern to the GPU and back, through channels of their own.")
    with Guest([Gpu("gk104")], mem=nouveau.MEMORY, archive=archive, driven=True,
               limit=GUEST_LIMIT, modules={"gpulens": paths.module("gpulens")}) as guest:
        tour = Programs(guest)
        tour.show("load-nouveau && insmod /modules/gpulens.ko")
        tour.visit_programs()


def list_gpus() -> list[Gpu]:
    """The emulated GPUs of the demo's first machine."""
    return [Gpu(chip.name, f"demo-{chip.name}") for chip in chips_of("demo")]


def show_gpus(parts: Parts) -> None:
    """The machine with four GPUs, a part for each of them."""
    with Guest(list_gpus(), limit=GUEST_LIMIT) as guest:
        tour = Tour(guest)
        print_text(f"Booted in {guest.boot_seconds:.0f} s. The module needs no settings; it finds all GPUs and "
                   "makes a folder for each, in PCI order.")
        print("# insmod gpulens.ko")
        guest.load()
        tour.show("ls -d /proc/gpu*")
        for gpu, chip in enumerate(chips_of("demo")):
            parts.run(f"gpu{gpu} ({chip.name.upper()})", lambda gpu=gpu, chip=chip: tour.visit(gpu, chip))
        print_text("The module leaves nothing behind.")
        tour.show("rmmod gpulens && ! ls -d /proc/gpu* 2>/dev/null && echo gone")


def run_demo() -> int:
    """The whole demo: 0 when every step did what it says."""
    began = time.monotonic()
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(line_buffering=True)
    print_heading("gpulens: how NVIDIA GPUs schedule their work, shown and controlled")
    print_text("A virtual machine with a stock Debian kernel boots now. Its four GPUs are emulated, each by a process "
               "that models the chip's scheduler, and each runs several processes with channels on several runlists. "
               "What you see below comes through the same kernel module that runs on real cards.")
    parts = Parts()
    parts.run("the machine with four GPUs", lambda: show_gpus(parts))
    parts.run("the machine with a driver", show_programs)
    if parts.failed:
        print(f"\ndemo: FAILED: {len(parts.failed)} of {len(parts.names)} parts: {'; '.join(parts.failed)}",
              file=sys.stderr)
        return 1
    print(f"\nEvery step did what it should, in {time.monotonic() - began:.0f} s. "
          "Look around yourself with: scripts/vm shell")
    return 0
