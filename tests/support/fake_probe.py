#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Replaces gpulens-probe-kernels where there is no GPU. It speaks the same line format and implements the rules A to D
by brute force: every rule is evaluated again at each moment, from the list of blocks that ran. The environment sets its
properties: FAKE_SMS, FAKE_THREADS, and FAKE_BREAK for an invalid answer, or for blocks outside the limit. Blocks stay
on the TPCs of the limit that gpulens run has set."""

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
LATE = 7000  # ns: the delay of each start of a block and of each return of a launch


class Kernel:
    """A kernel of the input, and its blocks."""

    def __init__(self, words: typing.List[str]) -> None:
        self.stream, self.work, _, self.blocks, self.threads, _, self.release = map(int, words[1:])
        self.placed: typing.List[typing.Tuple[int, int, int]] = []

    def has_started_all(self) -> bool:
        """Whether all of its blocks have started."""
        return len(self.placed) == self.blocks

    def has_ended(self, now: int) -> bool:
        """Rule D."""
        return self.has_started_all() and all(end <= now for _, end, _ in self.placed)


def free_threads(kernels: typing.List[Kernel], now: int) -> typing.List[int]:
    """The free threads of each SM."""
    left = [THREADS if sm in ALLOWED else 0 for sm in range(SMS)]
    for k in kernels:
        for _, end, where in k.placed:
            left[where] -= k.threads if end > now else 0
    return left


def place_blocks(k: Kernel, left: typing.List[int], now: int) -> None:
    """Starts as many blocks as fit, each on the SM with most free threads."""
    while not k.has_started_all():
        where = left.index(max(left))
        if left[where] < k.threads:
            return
        k.placed.append((now, now + k.work, where))
        left[where] -= k.threads


def simulate_kernels(kernels: typing.List[Kernel]) -> None:
    """Runs all kernels. The primary queue is computed at each moment: the heads of streams that still have blocks to
    start, ordered by when they became heads."""
    came: typing.Dict[int, typing.Tuple[int, int]] = {}
    now = 0
    while not all(k.has_started_all() for k in kernels):
        for number, k in enumerate(kernels):
            ahead = [o for o in kernels[:number] if o.stream == k.stream]
            if number not in came and k.release <= now and all(o.has_ended(now) for o in ahead):
                came[number] = (now, number)
        left = free_threads(kernels, now)
        for number in sorted(came, key=lambda kernel: came[kernel]):
            place_blocks(kernels[number], left, now)
            if not kernels[number].has_started_all():
                break
        times = [k.release for k in kernels] + [end for k in kernels for _, end, _ in k.placed]
        now = min((time for time in times if time > now), default=now)


def print_machine(channels: int) -> None:
    """Prints the output of info, except for its last line."""
    print("gpulens-probe 2" if BREAK == "version" else "gpulens-probe 1")
    print(f"name Fake GPU\nsms {SMS}\nthreads_per_sm {THREADS}\nblocks_per_sm 32")
    print(f"shared_per_block 49152\nchannels {channels}")


def run_neighbour(kind: str) -> int:
    """Runs until standard input ends. Meanwhile a file of that name in the folder FAKE_LOADS lists the SMs it uses."""
    file = pathlib.Path(os.environ.get("FAKE_LOADS", "/nowhere")) / kind
    print_machine(8)
    if BREAK == f"load-{kind}":
        print("fake: no memory", file=sys.stderr)
        return 1
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
    lines = [line.split() for line in sys.stdin]
    assert lines[0] == ["gpulens-probe", "1"] and lines[-1] == ["end"], lines
    kernels = [Kernel(words[1:]) for words in lines if words[0] == "kernel"]
    assert all(k.stream < len([1 for words in lines if words[0] == "stream"]) for k in kernels)
    simulate_kernels(kernels)
    print("clock 1500 32")
    for k in kernels:
        end = max(end for _, end, _ in k.placed)
        print(f"kernel {k.release} {k.release + LATE} {end + 2 * LATE} {THREADS // k.threads}")
        for start, stop, where in k.placed:
            print(f"block {start + LATE} {stop + LATE} {SMS if BREAK == 'sm' else where}")
            if BREAK == "short":
                return 0
    print("end")
    return 0


if __name__ == "__main__":
    sys.exit(main())
