# SPDX-License-Identifier: GPL-2.0
"""Experiments with what NVIDIA's driver lets a program do to its own TSGs: time slices, holds, preemption, policies.
Two ordinary CUDA programs (tests/support/loads.py); each effect is judged by the programs' progress, not by the
driver's status. Prints a line of JSON for each finding:

    PYTHONPATH=tests schedule.py LOAD LIBRARY [NAME...]

LOAD is the compiled program, LIBRARY is libgpulens-run.so. NAME: of the experiments, all when none is named; those that
judge a goal ("misses", "shares", "alone"), and "host", which says what part of the misses is the host's, are in
schedule_goals.py. A hold lasts for a second at most: the agent ends it.
Policies want GPULENS_TOOL, the command gpulens, and libgpulens-partition.so in the folder of LIBRARY.
"""

import contextlib
import os
import signal
import sys
import time
from typing import Callable

from schedule_goals import judge_lone_programs, judge_misses, judge_shares, measure_host
from support.loads import (COUNT, DISABLE, DISABLE_PREEMPT, PREEMPT, RELEASE, SET_SLICE, UNLIST, Program,
                           print_finding, rates_of, run_policy, run_victim, share_of, sum_up, time_urgent, use_programs)


def measure_baseline() -> None:
    """Experiment 0: response times and throughput, alone and beside each other,
    with the driver's slices and others."""
    print_finding("baseline", case="urgent alone, 0 ms", us=time_urgent(0))
    print_finding("baseline", case="urgent alone, 4 ms", us=time_urgent(4, period=10))
    with run_victim(plain=True) as first:
        alone = first.rate(2)
    print_finding("baseline", case="victim alone without the library", rounds_a_second=round(alone))
    with run_victim() as first:
        print_finding("baseline", case="victim alone", rounds_a_second=round(first.rate(2)),
                      groups=first.page.ask(COUNT))
    for mine, its in ((0, 0), (500000, 250), (500000, 100), (500000, 1000), (500000, 50), (0, 250)):
        with run_victim(slice_us=its) as first:
            before, start = first.field(0), time.monotonic()
            short = time_urgent(0, slice_us=mine)
            share = (first.field(0) - before) / (time.monotonic() - start) / alone
            before, start = first.field(0), time.monotonic()
            long = time_urgent(4, period=10, slice_us=mine)
            print_finding("baseline", case="beside each other", urgent_slice_us=mine, victim_slice_us=its,
                          us_0_ms=short, us_4_ms=long,
                          victim_share_0_ms=round(share, 3),
                          victim_share_4_ms=round((first.field(0) - before) / (time.monotonic() - start) / alone, 3),
                          replaced=first.page.set_slices)
    for its in (50, 250):
        with run_victim(slice_us=its) as first:
            print_finding("baseline", case="victim alone", victim_slice_us=its, share=round(first.rate(2) / alone, 4))


def measure_preemption(user: int = 0) -> None:
    """Experiment 1: PREEMPT of an endless kernel."""
    with run_victim(user=user) as first:
        before = first.page.counts()
        one = first.page.ask(PREEMPT, 100000)
        print_finding("preempt", user=user, answer=one, before=before, after=first.page.counts())
        took = []
        for _ in range(100):
            took.append(first.page.ask(PREEMPT, 100000)["took_us"])
            time.sleep(0.01)
        print_finding("preempt", user=user, case="100 in a second", us=sum_up(took), after=first.page.counts())
        other = Program("urgent", 0, 5, 2)
        before = first.page.counts()
        while other.process.poll() is None:
            first.page.ask(PREEMPT, 100000)
            time.sleep(0.002)
        print_finding("preempt", user=user, case="each 2 ms beside the urgent program", us=sum_up(other.times()),
                      before=before, after=first.page.counts())


def measure_holds(user: int = 0) -> None:
    """Experiment 2: the three holds."""
    for name, verb in (("DISABLE_CHANNELS", DISABLE), ("DISABLE_CHANNELS for scheduling, PREEMPT", DISABLE_PREEMPT),
                       ("GPFIFO_SCHEDULE off", UNLIST)):
        with run_victim(10, user=user) as first:
            alone, counts = first.rate(0.5), first.page.counts()
            answer = first.page.ask(verb)
            time.sleep(0.05)
            kernels, held = first.field(1), first.rate(0.5)
            released = first.page.ask(RELEASE)
            time.sleep(0.05)
            print_finding("hold", user=user, by=name, answer=answer, released=released, rate_before=round(alone),
                          rate_held=round(held), kernels_held=first.field(1) - kernels,
                          rate_after=round(first.rate(0.5)),
                          before=counts, after=first.page.counts(), expired=first.page.expired,
                          reasserted=first.page.reasserted)
        with run_victim(100, user=user) as first:
            other = Program("urgent", 0, 5, 3)
            time.sleep(0.5)
            before = first.field(0)
            answers = []
            for _ in range(3):
                first.page.ask(verb)
                begin = first.field(0)
                time.sleep(0.4)
                answers.append(first.field(0) - begin)
                first.page.ask(RELEASE)
                time.sleep(0.1)
            print_finding("hold", user=user, by=name, case="an urgent program beside it, held for 400 ms of 500",
                          us=sum_up(other.times()), rounds_while_held=answers, rounds=first.field(0) - before)


def measure_hold_times() -> None:
    """Experiment 5 in part: how long a hold and a release take, and when they have their effect."""
    for name, verb in (("DISABLE_CHANNELS", DISABLE), ("DISABLE_CHANNELS for scheduling, PREEMPT", DISABLE_PREEMPT)):
        with run_victim(100) as first:
            holds, releases, effect, again = [], [], [], []
            for _ in range(200):
                start = time.monotonic()
                holds.append(first.page.ask(verb)["took_us"])
                last, seen = first.field(0), time.monotonic()
                while time.monotonic() - seen < 0.001:  # until it stands still for a millisecond
                    if first.field(0) != last:
                        last, seen = first.field(0), time.monotonic()
                    if time.monotonic() - start > 0.2:
                        break
                effect.append((seen - start) * 1e6)
                start = time.monotonic()
                releases.append(first.page.ask(RELEASE)["took_us"])
                while first.field(0) == last and time.monotonic() - start < 0.2:
                    pass
                again.append((time.monotonic() - start) * 1e6)
                time.sleep(0.005)
            print_finding("hold times", by=name, hold_us=sum_up(holds), release_us=sum_up(releases),
                          stands_still_us=sum_up(effect), goes_on_us=sum_up(again))


def measure_slices() -> None:
    """Experiment 3: time slices of running programs."""
    with run_victim() as first, run_victim() as second:
        print_finding("slices", case="as the driver sets them", shares=share_of(first, second))
        for mine, its in ((8000, 500), (2048, 2048), (6000, 2000)):
            answers = [first.page.ask(SET_SLICE, mine), second.page.ask(SET_SLICE, its)]
            alone = share_of(first, second)
            preempted = [first.page.ask(PREEMPT, 100000)["status"], second.page.ask(PREEMPT, 100000)["status"]]
            print_finding("slices", us=[mine, its], answers=answers, shares=alone, preempted=preempted,
                          shares_then=share_of(first, second))
    # XSched (platforms/cuda/hal/src/level3/tsg.cpp, 1.2.0) holds a context on older GPUs by a slice of 0.
    for verb in (SET_SLICE, PREEMPT):
        with run_victim() as first, run_victim() as second:
            before = rates_of(first, second)
            answers = [first.page.ask(SET_SLICE, 0)] + [first.page.ask(PREEMPT, 100000)] * (verb == PREEMPT)
            held = rates_of(first, second)
            answers.append(first.page.ask(SET_SLICE, 2000))
            print_finding("slices", case="a slice of 0", preempted=verb == PREEMPT, answers=answers, before=before,
                          rates=held, after=rates_of(first, second))
    with run_victim() as first:
        before, answers = first.rate(1), [first.page.ask(SET_SLICE, 0)]
        held = first.rate(1)
        answers.append(first.page.ask(SET_SLICE, 2000))
        print_finding("slices", case="a slice of 0, alone", answers=answers, before=before, rate=held,
                      after=first.rate(1))
    for mine, its in ((6000, 2000), (8000, 500), (1000, 1000), (250, 250), (4000, 4000)):
        with run_victim(slice_us=mine) as first, run_victim(slice_us=its) as second:
            before = first.page.counts(), second.page.counts()
            rates = first.rate(2), second.field(0)
            print_finding("slices", case="from the beginning", us=[mine, its], shares=share_of(first, second),
                          total=round(sum(rates_of(first, second))),
                          saves=[first.page.counts()["saves"] - before[0]["saves"],
                          second.page.counts()["saves"] - before[1]["saves"]],
                          rate=round(rates[0]))


def measure_deaths() -> None:
    """Experiment 6: ends while held."""
    with run_victim(plain=True) as other:
        alone = other.rate(1)
        for how in ("SIGKILL", "SIGTERM", "lease", "stopped"):
            first = Program("victim", 20)
            time.sleep(0.3)
            answer = first.page.ask(DISABLE, lease=0.05 if how in ("lease", "stopped") else 3.0)
            start = time.monotonic()
            if how == "SIGKILL":
                first.process.kill()
                print_finding("deaths", how=how, answer=answer, status=first.process.wait(),
                              took_s=round(time.monotonic() - start, 3))
            elif how == "SIGTERM":
                print_finding("deaths", how=how, answer=answer, end=first.stop(),
                              took_s=round(time.monotonic() - start, 3))
            elif how == "lease":
                last = first.field(0)
                time.sleep(0.02)
                last = first.field(0)
                while first.field(0) == last and time.monotonic() - start < 2:
                    pass
                print_finding("deaths", how=how, goes_on_ms=round((time.monotonic() - start) * 1000, 1),
                              expired=first.page.expired,
                              end=first.stop())
            else:
                first.process.send_signal(signal.SIGSTOP)
                time.sleep(0.5)
                first.process.send_signal(signal.SIGCONT)
                time.sleep(0.1)
                print_finding("deaths", how=how, rate=round(first.rate(0.5)), expired=first.page.expired,
                              end=first.stop())
        print_finding("deaths", case="the program beside them", rate_alone=round(alone),
                      rate_after=round(other.rate(1)))


def measure_end_to_end() -> None:
    """A best-effort program that is held while an urgent one of 4 ms has work, by a loop of this program's."""
    for length_ms, period in ((4, 10), (1, 4)):
        with run_victim(plain=True) as first:
            alone = first.rate(1)
        print_finding("end to end", case="alone", ms=length_ms, us=time_urgent(length_ms, period=period,
                                                                               slice_us=500000))
        for best_effort in (0, 250):
            with run_victim(slice_us=best_effort) as first:
                before, start = first.field(0), time.monotonic()
                times = time_urgent(length_ms, period=period, slice_us=500000, seconds=3)
                print_finding("end to end", case="slices", ms=length_ms, period=period, victim_slice_us=best_effort,
                              us=times,
                              share=round((first.field(0) - before) / (time.monotonic() - start) / alone, 3))


def time_coordinators_death(held: Program) -> float:
    """How long a program that is held stands still after the coordinator was killed, in us."""
    with run_policy("fixed-priority", {"name": "a", "priority": 0}, {"name": "b"}) as process:
        end = time.monotonic() + 5
        while not held.page.held_since and time.monotonic() < end:
            time.sleep(0.001)
        process.kill()
        start, last = time.monotonic(), held.field(0)
        while held.field(0) == last and time.monotonic() - start < 2:
            pass
        return (time.monotonic() - start) * 1e6


def measure_policies() -> None:
    """Several programs under a policy: shares, a budget, jobs with deadlines beside a saturating program, and the
    coordinator's death."""
    with run_victim(task="a") as first, run_victim(task="b") as second:
        with run_policy("share", {"name": "a", "weight": 3}, {"name": "b"}):
            print_finding("policy", case="shares 3:1", shares=share_of(first, second))
        with run_policy("edf", {"name": "a", "budget_ms": 5, "period_ms": 20, "server": "hard"}, {"name": "b"}):
            first_rate, second_rate = rates_of(first, second)
            print_finding("policy", case="a hard server of 5 ms in 20 ms",
                          share=round(first_rate / (first_rate + second_rate), 3))
        print_finding("policy", case="the coordinator is killed; the other program goes on after",
                      us=sum_up([time_coordinators_death(second) for _ in range(20)]))
    print_finding("policy", case="4 ms each 10 ms alone", us=time_urgent(4, period=10))
    with run_victim(task="b") as first:
        alone = first.rate(1)
        for deadline in ({}, {"deadline_ms": 9}):
            urgent = Program("urgent", 4, 10, 5, task="a", jobs=True)
            policy = run_policy("edf", {"name": "a", **deadline}, {"name": "b"})
            with policy if deadline else contextlib.nullcontext():
                before, start = first.field(0), time.monotonic()
                times = urgent.times()[100:]  # the first ones were without the policy
                share = (first.field(0) - before) / (time.monotonic() - start) / alone
            print_finding("policy", case="4 ms each 10 ms beside the victim", **deadline, us=sum_up(times),
                          victim_share=round(share, 3))


def measure_slots() -> None:
    """A program that calls nothing has a slot; one with a priority takes it back, and gives it back when it ends."""
    run = (*os.environ["GPULENS_TOOL"].split(), "run", "-q", "-o", "/dev/null", "--slot", "gpu", "--experimental")
    print_finding("slots", case="4 ms each 10 ms alone", us=time_urgent(4, period=10))
    victim = Program("victim", 20, before=(*run, "--"))
    alone = victim.rate(1)
    for _ in range(3):
        urgent = Program("urgent", 4, 10, 2, before=(*run, "--priority", "0", "--"))
        before, start = victim.field(0), time.monotonic()
        times = urgent.times()
        last, end = victim.field(0), time.monotonic()
        while victim.field(0) == last and time.monotonic() - end < 2:
            pass
        print_finding("slots", case="4 ms each 10 ms with the slot taken back", us=sum_up(times),
                      victim_share=round((last - before) / (end - start) / alone, 4),
                      victim_goes_on_after_us=round((time.monotonic() - end) * 1e6))
    print_finding("slots", case="the victim's end", **victim.stop())


def measure_as_user() -> None:
    """Experiment 4 in part: the same as an ordinary user."""
    measure_preemption(65534)
    measure_holds(65534)


EXPERIMENTS: dict[str, Callable[[], None]] = {
    "baseline": measure_baseline, "preempt": measure_preemption, "hold": measure_holds, "times": measure_hold_times,
    "slices": measure_slices, "deaths": measure_deaths, "end": measure_end_to_end, "user": measure_as_user,
    "policy": measure_policies, "slots": measure_slots, "host": measure_host, "misses": judge_misses,
    "shares": judge_shares, "alone": judge_lone_programs}


def main() -> None:
    """Carries out the experiments that are named."""
    use_programs(*sys.argv[1:3])
    for name in sys.argv[3:] or EXPERIMENTS:
        start = time.monotonic()
        try:
            EXPERIMENTS[name]()
        except Exception as error:  # pylint: disable=broad-exception-caught
            print_finding(name, failed=repr(error))
        print_finding(name, seconds=round(time.monotonic() - start, 1))


if __name__ == "__main__":
    main()
