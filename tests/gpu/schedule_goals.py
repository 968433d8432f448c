# SPDX-License-Identifier: GPL-2.0
"""Experiments of schedule.py that judge a goal: jobs under EDF with a utilisation of 0.85, shares, the throughput of a
program that is alone. Each prints lines with "goal" and "verdict", and takes some three minutes at most.
GPULENS_GOALS_SHORT=1: with less of everything, for tests."""

import contextlib
import os
import pathlib
import statistics
import threading
import time
from typing import Callable, ContextManager, Iterator

from support.loads import (DISABLE, LENGTH_NS, RELEASE, SET_SLICE, Page, Program, print_finding, print_verdict,
                           rates_of, run_policy, run_victim, sum_up)
from support.stamps import Job, explain_misses

SHORT = bool(os.environ.get("GPULENS_GOALS_SHORT"))
SECONDS = 1 if SHORT else 30  # of a set of jobs
PAIRS = 6 if SHORT else 12  # of measurements with and without
WINDOW = 0.1 if SHORT else 0.4  # of one of them, in seconds
# Lengths and periods in ms of two tasks; U is 0.85.
SETS = (((3, 10), (11, 20)), ((4, 10), (9, 20)), ((8, 20), (18, 40)))
MISSES_SHOWN = 20
CUDA_SLICE_US = 2048  # as CUDA's library sets it on an H100 and an H200


def measure_host() -> None:
    """How much longer than its kernel each job takes of a program that has the GPU to itself, without gpulens: what the
    host delays, which no policy gives back. Beside it a thread sleeps for 1 ms at a time; its sleeps are late where the
    host stalls it. The slack of a job of SETS is 1.5 ms or more."""
    for length, period in sorted({job for jobs in SETS[:2] for job in jobs}):
        program = Program("urgent", length, period, SECONDS, plain=True, more={"GPULENS_LOAD_WAIT": "1"})
        kernel_us = program.field(LENGTH_NS) / 1000
        with watch_sleeps() as late_us:
            program.begin()
            longer_us = [took - kernel_us for took in program.times()]
        print_finding("host", jobs_ms_of_ms=[length, period], length_ms=round(kernel_us / 1000, 3),
                      jobs=count_later(longer_us), sleeps_of_1_ms=count_later(late_us))


def count_later(times_us: "list[float]") -> "dict[str, object]":
    """How many there are, how many are above some limits in ms, and the largest."""
    return {"n": len(times_us), **{f"over_{ms}_ms": sum(us > ms * 1000 for us in times_us) for ms in (0.5, 1, 1.5, 3)},
            "max_us": round(max(times_us, default=0))}


@contextlib.contextmanager
def watch_sleeps() -> "Iterator[list[float]]":
    """By how much sleeps of 1 ms are late, in us, in a thread of this process until the end."""
    late_us: "list[float]" = []
    ended = threading.Event()

    def watch() -> None:
        while not ended.is_set():
            start = time.monotonic()
            time.sleep(0.001)
            late_us.append((time.monotonic() - start) * 1e6 - 1000)

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield late_us
    finally:
        ended.set()
        thread.join()


def judge_misses() -> None:
    """Two programs with a job in each period, whose deadline is the period's end, beside a saturating one: with CUDA's
    time slices, with those by which the first one and the saturating one need fewer holds, and with these and no thread
    of the coordinator and of the agents that sleeps."""
    slices = (500000, 0, 250)
    for jobs in SETS:
        judge_jobs("CUDA's time slices", (0, 0, 0), jobs)
        judge_jobs("500 ms, CUDA's, 250 us", slices, jobs)
        if not SHORT or jobs is SETS[0]:
            judge_jobs("the same with --busy-poll", slices, jobs, "--busy-poll")


def judge_jobs(case: str, slices: "tuple[int, int, int]", jobs: "tuple[tuple[int, int], ...]", *options: str) -> None:
    """Each program is calibrated while nothing else runs, so that its jobs have the full length. slices: in us, 0: as
    CUDA's library sets it. A missed job is shown with where its time went, in us (support/stamps.py); those whose
    kernel had not ended on the GPU by then are counted, as the others were late by their program's host alone. options:
    of the coordinator."""
    programs = [Program("urgent", *job, SECONDS, task=name, jobs=True, slice_us=slice_us,
                        more={"GPULENS_LOAD_WAIT": "1", "GPULENS_LOAD_STAMPS": "1"})
                for name, job, slice_us in zip("ab", jobs, slices)]
    lengths = [program.field(LENGTH_NS) / 1e6 for program in programs]
    used = round(sum(length / period for length, (_, period) in zip(lengths, jobs)), 3)
    done, found = time_jobs(programs, slices[2], jobs, options)
    used_by_jobs = round(sum(length * len(some) for length, some in zip(lengths, done)) / (SECONDS * 1000), 3)
    missed = explain_misses(done, tuple(period * 1000 for _, period in jobs))
    # Longer jobs than those of the goal may miss, and shorter or fewer ones show nothing by missing none.
    full, fits = min(used, used_by_jobs) >= 0.83, used <= 0.86
    reached = (False if fits else None) if missed else (True if full else None)
    print_verdict("misses", "0 misses under EDF at U <= 0.85 with periods of 10 ms and more", reached, case=case,
                  jobs_ms_of_ms=jobs, lengths_ms=[round(length, 3) for length in lengths], u=used,
                  u_of_jobs=used_by_jobs, misses=len(missed),
                  misses_on_gpu=sum(bool(miss["on_gpu"]) for miss in missed),
                  us=[sum_up([job.noticed for job in some]) for some in done], missed=missed[:MISSES_SHOWN], **found)


def time_jobs(programs: "list[Program]", slice_us: int, jobs: "tuple[tuple[int, int], ...]",
              options: "tuple[str, ...]") -> "tuple[list[list[Job]], dict[str, object]]":
    """Each program's jobs under EDF, and what else was seen. slice_us: of the third one. options: of the
    coordinator."""
    summary: "dict[str, object]" = {}
    tasks = [{"name": name, "deadline_ms": job[1]} for name, job in zip("ab", jobs)]
    with run_victim(task="c", slice_us=slice_us) as victim:
        granted_us = [program.page.slice_us for program in (*programs, victim)]
        with run_policy("edf", *tasks, {"name": "c"}, summary=summary, options=options):
            before, start = victim.field(0), time.monotonic()
            for program in programs:
                program.begin()
            done = [program.jobs() for program in programs]
            rate = (victim.field(0) - before) / (time.monotonic() - start)
    return done, {"slices_us": granted_us, "rounds_a_second_beside": round(rate), "summary": summary}


def judge_shares() -> None:
    """Two programs, of which the first one is to have three times as much: by their time slices, and by the policy
    share. Each one's progress is by that alone, as equal processes differ by up to an eighth. Over a second, the
    policy's quantum alone is several percent."""
    def judge(case: str, slices_us: "tuple[int, int]", policy: Callable[[], ContextManager[object]]) -> None:
        with (run_victim(task="a", slice_us=slices_us[0]) as first,
              run_victim(task="b", slice_us=slices_us[1]) as second):
            alone = (measure_alone(first, second), measure_alone(second, first))
            with policy():
                time.sleep(0.5)
                rates = rates_of(first, second, SECONDS / 2)
        parts = [round(rate / most, 4) for rate, most in zip(rates, alone)]
        shares = round(parts[0] / parts[1], 3) if parts[1] else 0
        print_verdict("shares", "3:1 shares within 3%", abs(shares / 3 - 1) <= 0.03, case=case, shares=shares,
                      parts=parts, alone_by_the_other=round(alone[0] / alone[1], 3))

    weighted: "tuple[dict[str, object], ...]" = ({"name": "a", "weight": 3}, {"name": "b"})
    judge("time slices of 6 ms and 2 ms", (6000, 2000), contextlib.nullcontext)
    judge("policy share, weights 3 and 1", (0, 0), lambda: run_policy("share", *weighted, summary={}))


def measure_alone(program: Program, other: Program) -> float:
    """The program's rate while the other one is held, which lasts for a second at most."""
    rates = []
    for _ in range(3):
        other.page.ask(DISABLE)
        time.sleep(0.05)
        rates.append(program.rate(0.2 if SHORT else 0.7))
        other.page.ask(RELEASE)
    return statistics.median(rates)


def compare_rates(case: str, changed: Callable[[], ContextManager[object]], measure: Callable[[bool], float],
                  goal: float) -> None:
    """Throughput with a change by that without, in pairs whose order alternates. The verdict is by the interval that
    has the median of 12 such pairs with a probability of 96 %: the third to the tenth."""
    ratios = []
    for i in range(PAIRS):
        rates = {}
        for with_change in (i % 2 == 0, i % 2 == 1):
            with changed() if with_change else contextlib.nullcontext():
                rates[with_change] = measure(with_change)
        ratios.append(rates[True] / rates[False] if rates[False] else 0)
    ratios.sort()
    low, high = ratios[2], ratios[-3]
    print_verdict("alone", f"a lone program keeps {goal:.1%} of its throughput",
                  True if low >= goal else False if high < goal else None, case=case,
                  median=round(statistics.median(ratios), 4), interval=[round(low, 4), round(high, 4)])


@contextlib.contextmanager
def set_slice(page: Page, slice_us: int) -> Iterator[None]:
    """Another time slice for a while."""
    page.ask(SET_SLICE, slice_us)
    yield
    page.ask(SET_SLICE, CUDA_SLICE_US)


def judge_lone_programs() -> None:
    """What is lost by a time slice and by a policy with one program, in one process whose slice or policy changes; the
    first line compares equals. And what the library does."""
    with run_victim(20, task="a") as program:
        def measure(_: bool) -> float:
            time.sleep(0.05)
            return program.rate(WINDOW)

        compare_rates("nothing is changed", contextlib.nullcontext, measure, 0.995)
        for slice_us in (250, 6000, 500000):
            compare_rates(f"time slice of {slice_us} us", lambda us=slice_us: set_slice(program.page, us), measure,
                          0.995)
        for policy, task in (("fixed-priority", {"name": "a", "priority": 0}), ("share", {"name": "a"})):
            compare_rates(f"the only task of policy {policy}",
                          lambda policy=policy, task=task: run_policy(policy, task, summary={}), measure, 0.995)
    judge_library()


def judge_library() -> None:
    """The library by counts, as equal processes differ by more than a percent: what a program's ioctls and its threads
    that wake up cost is nothing where there are none, while it launches kernels."""
    with run_victim(0.05, task="a") as program:
        time.sleep(1.5)  # calibration, and the longest wait of the library's threads
        before = count_calls(program)
        time.sleep(SECONDS / 3)
        calls = {name: after - before[name] for name, after in count_calls(program).items()}
    kernels = calls.pop("kernels")
    print_verdict("alone", "a lone program keeps 99.5% of its throughput",
                  True if kernels and not any(calls.values()) else None, case="libgpulens-run.so with its agent",
                  kernels=kernels, **calls)


def count_calls(program: Program) -> "dict[str, int]":
    """Kernels that the program has had, its ioctls, which the library sees, and context switches of the library's
    threads."""
    switches = 0
    for thread in pathlib.Path(f"/proc/{program.process.pid}/task").iterdir():
        if (thread / "comm").read_text().strip() in ("gpulens-agent", "gpulens-guard"):
            switches += sum(int(line.split()[1]) for line in (thread / "status").read_text().splitlines()
                            if "ctxt_switches" in line)
    return {"kernels": program.field(1), "ioctls": program.page.ioctls, "context_switches": switches}
