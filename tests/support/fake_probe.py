#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Replaces gpulens-probe-kernels where there is no GPU. It speaks the same line format and implements the rules A to D
by brute force: every rule is evaluated again at each moment, from the list of blocks that ran. The environment sets its
properties: FAKE_SMS, FAKE_THREADS, FAKE_CAPABILITY, FAKE_COPY_ENGINES, and FAKE_BREAK for an invalid answer, or for
blocks outside the limit; FAKE_CUDA_MPS numbers SMs as under MPS, from 0 among those of the limit. A load of this
program (FAKE_LOADS) on some of the same SMs makes kernels take twice as long. Masks, priorities, task slots, iterations
and turns of processes, copies and the NULL stream follow docs/blocks.md. Blocks stay on the TPCs of the limit that
gpulens run has set."""

import json
import os
import pathlib
import sys
import typing

SMS = int(os.environ.get("FAKE_SMS", "2"))
THREADS = int(os.environ.get("FAKE_THREADS", "2048"))
BREAK = os.environ.get("FAKE_BREAK", "")
LIMIT = json.loads(os.environ.get("GPULENS_PARTITION", "null"))
ALLOWED = [sm for sm in range(SMS) if not LIMIT or BREAK == "outside" or sm // 2 in LIMIT[0]["tpcs"]]
CAPABILITY = int(os.environ.get("FAKE_CAPABILITY", "0"))
SMS_PER_TPC = 1 if CAPABILITY in (52, 61) else 2
GRIDS = 32 if CAPABILITY in (52, 61) else 128
COPY_ENGINES = int(os.environ.get("FAKE_COPY_ENGINES", "1"))
COPY_RATE = 10  # bytes per ns, as --simulate assumes
SLICE = 2000000  # ns
LATE = 7000  # ns: the delay of each start of a block and of each return of a launch


class Stream:
    """A stream of the input: its process and how often its kernels are launched."""

    def __init__(self, priority: int, process: int, mask: int) -> None:
        self.priority, self.process, self.mask = priority, process, mask
        self.repeat = (1, 0)  # iterations, limit in ns
        self.kind = ""  # "null" or "blocking"
        self.kernels: typing.List["Kernel"] = []
        self.iteration = 0

    def has_ended(self) -> bool:
        """Whether its last iteration has."""
        return self.iteration >= self.repeat[0]


def shares_sms() -> bool:
    """Whether a load that computes has one of these SMs."""
    file = pathlib.Path(os.environ.get("FAKE_LOADS", "/nowhere")) / "compute"
    return file.exists() and not set(map(int, file.read_text(encoding="ascii").split())).isdisjoint(ALLOWED)


FACTOR = 2 if shares_sms() else 1


class Kernel:
    """A kernel of the input."""

    def __init__(self, words: typing.List[str], streams: typing.List[Stream]) -> None:
        number, work, _, self.blocks, self.threads, _, self.release = map(int, words[1:])
        self.work = work * FACTOR
        self.stream = streams[number]
        self.mask = self.stream.mask
        self.copies = [0, 0]  # bytes, in and out


class Copy:
    """A copy of a run: when it came to the head of its stream, when it began, when it goes on and what is left."""

    def __init__(self, process: int, engine: int, size: int) -> None:
        self.process, self.engine, self.left = process, engine % COPY_ENGINES, -(-size // COPY_RATE)
        self.came: typing.Optional[typing.Tuple[int, int, int]] = None
        self.start: typing.Optional[int] = None
        self.since: typing.Optional[int] = None  # None: the engine is another process's
        self.end: typing.Optional[int] = None

    def due(self) -> typing.Optional[int]:
        """When it ends, if it has the engine."""
        return None if self.since is None or self.end is not None else self.since + self.left

    def pause(self, now: int) -> None:
        """Takes the engine from it."""
        if self.since is not None:
            self.left -= now - self.since
        self.since = None


class Run:
    """A launch of a kernel with its copies, and its blocks: start, end, SM; the end is None until the block ends."""

    def __init__(self, kernel: Kernel, release: int) -> None:
        self.kernel, self.release = kernel, release
        self.placed: typing.List[typing.List[typing.Any]] = []
        self.copies = [Copy(kernel.stream.process, i, size) if size else None for i, size in enumerate(kernel.copies)]

    def has_started_all(self) -> bool:
        """Whether all of its blocks have started."""
        return len(self.placed) == self.kernel.blocks

    def has_run(self) -> bool:
        """Whether all of its blocks have ended."""
        return self.has_started_all() and all(end is not None for _, end, _ in self.placed)

    def has_ended(self) -> bool:
        """Rules D and C4."""
        return self.has_run() and (not self.copies[1] or self.copies[1].end is not None)

    def wants_sms(self) -> bool:
        """Whether it has no copy to wait for, and has not run."""
        return (not self.copies[0] or self.copies[0].end is not None) and not self.has_run()

    def all_copies(self) -> typing.List[Copy]:
        """In and out, as far as it has them."""
        return [c for c in self.copies if c]

    def end(self) -> int:
        """When blocks and copies had ended."""
        return max([end for _, end, _ in self.placed] + [c.end or 0 for c in self.all_copies()])

    def sms(self) -> typing.List[int]:
        """The SMs of its mask."""
        return [sm for sm in ALLOWED if not self.kernel.mask >> sm // SMS_PER_TPC & 1]


def free_threads(runs: typing.List[Run]) -> typing.List[int]:
    """The free threads of each SM."""
    left = [THREADS] * SMS
    for run in runs:
        for _, end, where in run.placed:
            left[where] -= run.kernel.threads if end is None else 0
    return left


def place_blocks(run: Run, left: typing.List[int], now: int) -> None:
    """Starts as many blocks as fit, each on the SM with most free threads."""
    while not run.has_started_all():
        where = max(run.sms(), key=lambda sm: (left[sm], -sm))
        if left[where] < run.kernel.threads:
            return
        run.placed.append([now, None, where])
        left[where] -= run.kernel.threads


def is_ahead(other: Run, run: Run) -> bool:
    """Whether a launch before the run is in its stream, or the NULL stream orders both."""
    streams = other.kernel.stream, run.kernel.stream
    kinds = [s.kind for s in streams]
    return streams[0] is streams[1] or (streams[0].process == streams[1].process and
                                        "null" in kinds and "" not in kinds)


def find_heads(runs: typing.List[Run], came: typing.Dict[Run, typing.Tuple[int, int, int]], now: int) -> None:
    """Lets kernels and copies enter their queues whose turn in their stream it is."""
    for number, run in enumerate(runs):
        if run.release > now or run.has_ended():
            continue
        ahead = [o for n, o in enumerate(runs) if (o.release, n) < (run.release, number) and is_ahead(o, run)]
        if not all(o.has_ended() for o in ahead):
            continue
        if run.wants_sms():
            came.setdefault(run, (now, run.release, number))
        for copy, due in zip(run.copies, (True, run.has_run())):
            if copy and due and copy.came is None:
                copy.came = (now, run.release, number)


class Turn:
    """Whose turn it is on the SMs or a copy engine, and until when others wait."""

    def __init__(self) -> None:
        self.process, self.end, self.wanted = 0, 0, False

    def give(self, wanting: typing.Set[int], count: int, now: int) -> None:
        """R4: gives it to the next process that wants it when the slice or the work has ended."""
        self.wanted = len(wanting) > 1
        if wanting and (self.process not in wanting or now >= self.end):
            self.process = min(wanting, key=lambda p: (p - self.process - 1) % count)
            self.end = now + SLICE


def is_first(run: Run, runs: typing.List[Run]) -> bool:
    """Whether all before it in its stream has ended."""
    number = runs.index(run)
    return all(o.has_ended() for n, o in enumerate(runs)
               if o.kernel.stream is run.kernel.stream and (o.release, n) < (run.release, number))


def run_copies(runs: typing.List[Run], turns: typing.List[Turn], count: int, now: int) -> None:
    """An engine has one copy at a time, of the process whose turn it is (R4, whatever the SMs do: R5), in the order in
    which they came."""
    for engine, turn in enumerate(turns):
        left = [c for run in runs for c in run.all_copies() if c.came and c.end is None and c.engine == engine]
        turn.give({c.process for c in left}, count, now)
        for copy in left:
            if copy.process != turn.process:
                copy.pause(now)
        own = [c for c in left if c.process == turn.process]
        if own and all(c.since is None for c in own):
            first = min(own, key=lambda c: (c.start is None, c.came))
            first.since = now
            first.start = now if first.start is None else first.start


def run_process(every: typing.List[Run], process: int, came: typing.Dict[Run, typing.Tuple[int, int, int]],
                now: int) -> None:
    """What a process does at a moment in which it has the SMs. every: runs of all processes. The queue is computed
    anew: the heads of streams, by priority and when they became heads; the first ones have task slots."""
    runs = [run for run in every if run.kernel.stream.process == process]
    for run in runs:
        for block in run.placed:
            if block[1] is None and block[0] + run.kernel.work <= now:
                block[1] = now
    find_heads(every, came, now)
    queue = sorted((run for run in runs if run in came and not run.has_run()),
                   key=lambda run: (run.kernel.stream.priority, came[run]))
    left, waiting = free_threads(runs), set()
    for run in queue[:GRIDS]:
        if not waiting & set(run.sms()):
            place_blocks(run, left, now)
        if not run.has_started_all():
            waiting |= set(run.sms())


def begin_iterations(streams: typing.List[Stream], runs: typing.List[Run], barrier: bool, now: int) -> bool:
    """Launches the kernels of streams again whose kernels have ended. Whether there were any."""
    count = len(runs)
    done = {s: all(run.has_ended() for run in runs if run.kernel.stream is s) for s in streams}
    slowest = min((s.iteration + done[s] for s in streams if not s.has_ended()), default=0)
    for stream in streams:
        if stream.has_ended() or not done[stream]:
            continue
        first = stream.kernels[0].release
        iterations, limit = stream.repeat
        if stream.iteration + 1 == iterations or limit and now - first >= limit:
            stream.iteration = iterations
        elif not barrier or stream.iteration < slowest:
            stream.iteration += 1
            add_runs(stream, runs, now - first)
    return len(runs) > count


def add_runs(stream: Stream, runs: typing.List[Run], base: int) -> None:
    """Adds a launch of each kernel of a stream."""
    for kernel in stream.kernels:
        runs.append(Run(kernel, base + kernel.release))


def simulate_kernels(streams: typing.List[Stream], kernels: typing.List[Kernel], barrier: bool) -> typing.List[Run]:
    """Runs all kernels, and returns their launches. One process at a time has the GPU, for 2 ms or until it has no
    work."""
    came: typing.Dict[Run, typing.Tuple[int, int, int]] = {}
    runs: typing.List[Run] = []
    for kernel in kernels:  # in the order of launches
        runs.append(Run(kernel, kernel.release))
    count = 1 + max(s.process for s in streams)
    sms, engines, now = Turn(), [Turn() for _ in range(COPY_ENGINES)], 0
    while not all(s.has_ended() for s in streams):
        for copy in (c for run in runs for c in run.all_copies()):
            due = copy.due()
            copy.end = due if due is not None and due <= now else copy.end
        find_heads(runs, came, now)
        for _ in range(count + 1):
            wanting = [r for r in runs if r.release <= now and r.wants_sms() and is_first(r, runs)]
            sms.give({r.kernel.stream.process for r in wanting}, count, now)
            run_process(runs, sms.process, came, now)
        find_heads(runs, came, now)
        run_copies(runs, engines, count, now)
        if begin_iterations(streams, runs, barrier, now):
            continue
        times = [r.release for r in runs if r.release > now]
        times += [block[0] + r.kernel.work for r in runs for block in r.placed
                  if block[1] is None and r.kernel.stream.process == sms.process]
        times += [c.due() or 0 for r in runs for c in r.all_copies()]
        times += [turn.end for turn in (sms, *engines) if turn.wanted]
        now = min((time for time in times if time > now), default=now)
    return runs


def read_scenario() -> typing.Tuple[typing.List[Stream], typing.List[Kernel], bool]:
    """Standard input."""
    lines = [line.split() for line in sys.stdin]
    assert lines[0] == ["gpulens-probe", "1"] and lines[-1] == ["end"], lines
    streams: typing.List[Stream] = []
    kernels: typing.List[Kernel] = []
    process, common, barrier = 0, 0, False
    for word, *words in lines[1:-1]:
        if word == "all":
            common = int(words[0] + words[1], 16)
        elif word == "threads":
            pass  # launches take no time here
        elif word == "barrier":
            barrier = True
        elif word == "process":
            process += 1
        elif word == "stream":
            streams.append(Stream(int(words[0]), process, common))
        elif word in ("null", "blocking"):
            streams[-1].kind = word
        elif word == "iterations":
            streams[-1].repeat = (int(words[0]), int(words[1]))
        elif word in ("zero_copy", "managed"):
            pass  # all memory is alike here
        elif word == "copies":
            kernels[-1].copies = [int(words[0]), int(words[1])]
        elif word == "mask":
            (kernels[-1] if kernels else streams[-1]).mask = int(words[0] + words[1], 16)
        else:
            assert word == "kernel", word
            kernels.append(Kernel(words, streams))
            kernels[-1].stream.kernels.append(kernels[-1])
    return streams, kernels, barrier


def print_machine(channels: int) -> None:
    """Prints the output of info, except for its last line."""
    print("gpulens-probe 2" if BREAK == "version" else "gpulens-probe 1")
    print(f"name Fake GPU\nsms {SMS}\nthreads_per_sm {THREADS}\nblocks_per_sm 32")
    print(f"shared_per_block 49152\nchannels {channels}\ncopy_engines {COPY_ENGINES}")
    if CAPABILITY:
        print(f"capability {CAPABILITY}")


def run_neighbour(kind: str) -> int:
    """Runs until standard input ends. Meanwhile a file of that name in the folder FAKE_LOADS lists the SMs it uses."""
    file = pathlib.Path(os.environ.get("FAKE_LOADS", "/nowhere")) / kind
    print_machine(8)
    if BREAK == f"load-{kind}":
        print("fake: no memory", file=sys.stderr)
        return 1
    if "FAKE_PIDS" in os.environ:
        (pathlib.Path(os.environ["FAKE_PIDS"]) / kind).write_text(str(os.getpid()), encoding="ascii")
    if file.parent.is_dir():
        file.write_text(" ".join(map(str, ALLOWED)), encoding="ascii")
    print("ready", flush=True)
    if BREAK != f"ends-{kind}":
        sys.stdin.read()
    if file.exists():
        file.unlink()
    print("launches 0\nend" if BREAK == f"idle-{kind}" else "launches 12\nend")
    return 0


def main() -> int:
    """Implements the command line of the program."""
    channels = int(os.environ.get("CUDA_DEVICE_MAX_CONNECTIONS", "8"))
    if len(sys.argv) == 4 and sys.argv[1] == "load":
        return run_neighbour(sys.argv[3])
    if BREAK == "status" or len(sys.argv) != 3:
        print("fake: no CUDA-capable device is detected", file=sys.stderr)
        return 1
    print_machine(channels)
    if sys.argv[1] == "info":
        print("end")
        return 0
    streams, kernels, barrier = read_scenario()
    runs = simulate_kernels(streams, kernels, barrier)
    print("clock 1500 32")
    for k in kernels:
        own = [run for run in runs if run.kernel is k]
        if k.stream.repeat[0] > 1:
            print(f"ran {k.stream.repeat[0] + 1 if BREAK == 'ran' else len(own)}")
        for run in own:
            print(f"kernel {run.release} {run.release + LATE} {run.end() + 2 * LATE} {THREADS // k.threads}")
            for copy in run.all_copies():
                late = LATE * (1 if BREAK != "copy" else -10000000)
                print(f"copy {run.release} {run.release + LATE} {(copy.start or 0) + LATE} {(copy.end or 0) + late}")
            for start, stop, where in run.placed:
                number = ALLOWED.index(where) if "FAKE_CUDA_MPS" in os.environ else where
                print(f"block {start + LATE} {stop + LATE} {SMS if BREAK == 'sm' else number}")
                if BREAK == "short":
                    return 0
    print("end")
    return 0


if __name__ == "__main__":
    sys.exit(main())
