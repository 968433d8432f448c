#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Stands for gpulens-probe-kernels where there is no GPU: the same words on lines, and the rules A to D by brute force,
with nothing kept from one moment to the next but which blocks ran: every rule is tried anew whenever something can have
changed. What it is to be is in the environment: FAKE_SMS, FAKE_THREADS, and FAKE_BREAK for an answer that is broken in
some way."""

import os
import sys
import typing

SMS = int(os.environ.get("FAKE_SMS", "2"))
THREADS = int(os.environ.get("FAKE_THREADS", "2048"))
BREAK = os.environ.get("FAKE_BREAK", "")
LATE = 7000  # ns that a block starts and a launch returns later than it could


class Kernel:
    """One line of the input, and what came of it."""

    def __init__(self, words: typing.List[str]) -> None:
        self.stream, self.work, _, self.blocks, self.threads, _, self.release = map(int, words[1:])
        self.placed: typing.List[typing.Tuple[int, int, int]] = []

    def all_started(self) -> bool:
        """Does it have no block to start?"""
        return len(self.placed) == self.blocks

    def ended(self, now: int) -> bool:
        """Rule D."""
        return self.all_started() and all(end <= now for _, end, _ in self.placed)


def free(kernels: typing.List[Kernel], now: int) -> typing.List[int]:
    """Threads of each SM which no block has."""
    left = [THREADS] * SMS
    for k in kernels:
        for _, end, where in k.placed:
            left[where] -= k.threads if end > now else 0
    return left


def place(k: Kernel, left: typing.List[int], now: int) -> None:
    """As many blocks as fit, each where most is free."""
    while not k.all_started():
        where = left.index(max(left))
        if left[where] < k.threads:
            return
        k.placed.append((now, now + k.work, where))
        left[where] -= k.threads


def simulate(kernels: typing.List[Kernel]) -> None:
    """Gives each kernel its blocks. The primary queue is asked for at each moment anew: heads of streams that still
    have blocks to start, by when they came to be heads."""
    came: typing.Dict[int, typing.Tuple[int, int]] = {}
    now = 0
    while not all(k.all_started() for k in kernels):
        for number, k in enumerate(kernels):
            ahead = [o for o in kernels[:number] if o.stream == k.stream]
            if number not in came and k.release <= now and all(o.ended(now) for o in ahead):
                came[number] = (now, number)
        left = free(kernels, now)
        for number in sorted(came, key=lambda one: came[one]):
            place(kernels[number], left, now)
            if not kernels[number].all_started():
                break
        times = [k.release for k in kernels] + [end for k in kernels for _, end, _ in k.placed]
        now = min((time for time in times if time > now), default=now)


def print_machine(channels: int) -> None:
    """What info prints, up to its end."""
    print("gpulens-probe 2" if BREAK == "version" else "gpulens-probe 1")
    print(f"name Fake GPU\nsms {SMS}\nthreads_per_sm {THREADS}\nblocks_per_sm 32")
    print(f"shared_per_block 49152\nchannels {channels}")


def main() -> int:
    """As the program is called."""
    channels = int(os.environ.get("CUDA_DEVICE_MAX_CONNECTIONS", "8"))
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
    simulate(kernels)
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
