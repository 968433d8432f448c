# SPDX-License-Identifier: GPL-2.0
"""Threads and processes take turns by libgpulens-partition: the jobs of a plan, and slots."""

import os
import pathlib
import shutil
import stat
import statistics
import subprocess
import typing

import pytest
from support.program import build_program
from support.turns import SECONDS, run_turns, time_turns, write_plan

TWO = (("one", 50000, 10 * SECONDS), ("two", 50000, 10 * SECONDS))
WHO = ("threads", "processes")


@pytest.fixture(scope="module", name="program")
def build_turns(tmp_path_factory: pytest.TempPathFactory) -> str:
    """tests/partition/turns_program.c."""
    return build_program("turns_program", tmp_path_factory.mktemp("turns"), partition=True)


@pytest.fixture(scope="module", name="killed")
def build_killed(tmp_path_factory: pytest.TempPathFactory) -> str:
    """tests/partition/killed_turns_program.c."""
    return build_program("killed_turns_program", tmp_path_factory.mktemp("killed"), partition=True)


ORDERS = {
    # Deadlines of 10 s for "long" and 1 s for "short", both from the release: 10.9, 1.5, 10.7 and 11.6 s.
    "np-edf": ["short:500000", "long:700000", "long:900000", "short:10600000"],
    "lp-edf": ["short:500000", "long:700000", "long:900000", "short:10600000"],
    "np-dm": ["short:500000", "short:10600000", "long:900000", "long:700000"],
    "fifo": ["long:900000", "short:500000", "long:700000", "short:10600000"]}


@pytest.mark.parametrize("who", WHO)
@pytest.mark.parametrize("test", ORDERS)
def test_jobs_run_in_the_order_of_the_plan(program: str, tmp_path: pathlib.Path, test: str, who: str) -> None:
    """Five threads or processes on one partition: the first runs a job while the others begin one after another. Seen
    failing when the last one to wait came first."""
    plan = write_plan(tmp_path, test, (("long", 50000, 10 * SECONDS), ("short", 50000, SECONDS)))
    assert run_turns(program, tmp_path, "order", who, plan, "long:0", "long:900000", "short:500000", "long:700000",
                     "short:10600000") == ORDERS[test]


def test_the_first_task_of_the_file_is_first_among_equals(program: str, tmp_path: pathlib.Path) -> None:
    """As the schedulability tests take it: of two jobs with one deadline, "one" runs first, though it came last. Seen
    failing without the comparison of tasks."""
    plan = write_plan(tmp_path, "np-edf", TWO)
    assert run_turns(program, tmp_path, "order", "threads", plan, "one:0", "two:5", "one:5") == ["one:5", "two:5"]


def test_jobs_of_other_partitions_do_not_wait(program: str, tmp_path: pathlib.Path) -> None:
    """A job runs in its partition while another process runs one in another partition. Seen failing with one queue for
    all partitions."""
    plan = write_plan(tmp_path, "edf", TWO[:1], TWO[1:])
    with subprocess.Popen([program, "stay", plan, "one"], stdout=subprocess.PIPE, text=True,
                          env={**os.environ, "GPULENS_RUNTIME_DIR": str(tmp_path / "run")}) as process:
        assert process.stdout and process.stdout.readline() == "runs\n"
        try:
            assert run_turns(program, tmp_path, "counts", plan, "two")[0].startswith("good jobs 1 waits 0")
        finally:
            process.kill()


@pytest.mark.parametrize("who", WHO)
@pytest.mark.parametrize("slots,holders", ((1, 2), (3, 4), (2, 12)))
def test_at_most_k_hold_a_slot(program: str, tmp_path: pathlib.Path, who: str, slots: int, holders: int) -> None:
    """k + 1 and more threads or processes, each 200 times: never more than k, and no slot twice. Seen failing with a
    limit of k + 1."""
    assert run_turns(program, tmp_path, "crowd", who, str(slots), str(holders)) == [
        f"most {slots} faults 0 jobs {200 * holders} waited 1 deaths 0"]


def test_counts(program: str, tmp_path: pathlib.Path) -> None:
    """An overrun is a job longer than the plan's time of 50 ms, a miss one that ends 10 s after its release or later.
    Seen failing when an overrun counted as a miss."""
    assert run_turns(program, tmp_path, "counts", write_plan(tmp_path, "np-edf", TWO), "one") == [
        "good jobs 1 waits 0 overruns 0 misses 0 deaths 0", "long jobs 2 waits 0 overruns 1 misses 0 deaths 0",
        "late jobs 3 waits 0 overruns 1 misses 1 deaths 0", "longest run 1"]


def test_a_child_opens_the_plan_again(program: str, tmp_path: pathlib.Path) -> None:
    """After fork() a child is refused what its parent opened (EPERM), leaves the parent's job alone, also at its own
    end, and waits for it. Seen failing without the check: the child ended the parent's job."""
    lines = run_turns(program, tmp_path, "fork", write_plan(tmp_path, "np-edf", TWO), "one")
    assert lines[:2] == ["child end -1 begin -1 task -1", "child runs nothing -1"]
    assert sorted(lines[2:4]) == ["child runs", "parent ends 0"]  # the parent prints after the end of its job
    assert lines[4:] == ["all jobs 2 waits 1 overruns 0 misses 0 deaths 0"]


def test_k_changes_when_no_slot_is_held(program: str, tmp_path: pathlib.Path) -> None:
    """From 2 to 3 while a slot is held: nobody gets the free one until that is released, then three are used. Other
    numbers are refused while the lock is open. Seen failing when k changed at once."""
    lines = run_turns(program, tmp_path, "drain")
    assert lines[:2] == ["slot 0", "drained"]
    assert sorted(lines[2:5]) == [f"later slot {i}" for i in range(3)]
    assert lines[5:] == ["open with 2: -16", "lock drain is open with 3 slots", "set 1: 0", "set 33: 0", "set 65: -22"]


def test_a_job_yields_between_kernels(program: str, tmp_path: pathlib.Path) -> None:
    """To a job with an earlier deadline, if the plan's test allows it. Seen failing when yield() returned at once."""
    tasks = (("long", 50000, 10 * SECONDS), ("short", 50000, SECONDS))
    assert run_turns(program, tmp_path, "yield", write_plan(tmp_path, "lp-edf", tasks)) == [
        "long runs", "short runs", "long goes on"]
    assert run_turns(program, tmp_path, "yield", write_plan(tmp_path, "np-edf", tasks)) == [
        "long runs", "long goes on", "short runs"]


def test_a_thread_may_end_within_its_job(program: str, tmp_path: pathlib.Path) -> None:
    """Its partition is free again, while the process lives. Seen failing with mutexes that are not robust: another job
    waits for ever."""
    assert run_turns(program, tmp_path, "exit", write_plan(tmp_path, "np-edf", TWO), "one") == [
        "after jobs 1 waits 0 overruns 0 misses 0 deaths 1"]


def test_a_plan_may_be_opened_twice(program: str, tmp_path: pathlib.Path) -> None:
    """A job is of the handle that began it, and its thread is refused another one by the second handle. Both can be
    closed in any order: no file stays locked. Seen failing without the comparison of files (the thread waits for
    itself), and where each handle kept the file open for the jobs of all (another plan: -16)."""
    plan, other = write_plan(tmp_path, "np-edf", TWO), write_plan(tmp_path, "np-dm", TWO)
    assert run_turns(program, tmp_path, "handles", plan, "one", other) == [
        "begin by the second -35", "end by the second -1", "another plan 0"]


def test_wrong_calls_are_refused(program: str, tmp_path: pathlib.Path) -> None:
    """Each with its errno and a message. Seen failing without the check of a second job: the thread waits for
    itself."""
    assert run_turns(program, tmp_path, "errors", write_plan(tmp_path, "np-edf", TWO), "one") == [
        'unknown -2: there is no task "nobody"; there are one, two', "number -22: there is no task 99",
        "null -22 -22 -22", "none -1: this thread has not begun a job, or holds no slot",
        "twice -35: this thread runs a job, or holds a slot, already", "another thread -1", "names -22 -22 -22",
        "k -22 -22", "ninth -87: this thread holds 8 slots already", "slot -1: this thread does not hold slot 1"]


# What had happened, in the order of instructions at which the process was killed, and how the program ends.
KILLED = {
    "pair": (["nothing", "died", "done"], "finished"),
    "wait": (["nothing", "died"], "cut"),
    "hand-over": (["died", "done"], "finished"),
    "yield": (["died"], "finished"),
    "set": (["nothing", "done"], "finished"),
    "open": (["done"], "finished")}


@pytest.mark.parametrize("what", KILLED)
def test_a_process_may_be_killed_anywhere(killed: str, tmp_path: pathlib.Path, what: str) -> None:
    """SIGKILL after each 13th to 89th instruction of a call, without GPULENS_SOAK after half of these (for open: at
    each system call): the next job runs, and each job is counted once, as ended or as dead. Early in the call nothing
    has happened, and late in it all.
    Seen failing with changes that are not in the journal, and with a guard that is not robust."""
    long = (("two", 1e9, 2e9), ("one", 1e9, 1e9))
    stride = {"open": 1, "wait": 89, "yield": 89, "hand-over": 41}.get(what, 13)
    if what != "open" and "GPULENS_SOAK" not in os.environ:
        stride *= 2
    lines = time_turns(killed, tmp_path, what, write_plan(tmp_path, "lp-edf", long), str(stride))
    order, end = KILLED[what]
    assert lines[-1].split()[0] == end, lines
    seen = [name for name, times in map(str.split, lines[:-1]) for _ in range(int(times))]
    assert len(seen) >= 25 and set(seen) == set(order), lines
    # a tick of the clock makes a call longer now and then
    middles = [statistics.median(place for place, name in enumerate(seen) if name == which) for which in order]
    assert middles == sorted(middles) and (seen[0], seen[-1]) == (order[0], order[-1]), lines


def test_an_uncontended_job_makes_no_system_call(program: str, tmp_path: pathlib.Path) -> None:
    """1000 times begin and end, between two calls of getppid(). Seen failing when begin asked for the thread's id."""
    if not shutil.which("strace"):
        pytest.skip("no strace")
    trace = tmp_path / "trace"
    plan = write_plan(tmp_path, "np-edf", TWO)
    subprocess.run(["strace", "-o", str(trace), program, "pairs", plan, "one", "1000"], check=True, timeout=600,
                   env={**os.environ, "GPULENS_RUNTIME_DIR": str(tmp_path / "run")}, stdout=subprocess.DEVNULL)
    calls = [line.split("(")[0] for line in trace.read_text().splitlines()]
    first = calls.index("getppid")
    assert calls[first:first + 2] == ["getppid", "getppid"] and calls.count("gettid") > 1000


def test_files_are_the_users_own(program: str, tmp_path: pathlib.Path) -> None:
    """Mode 0600 in a folder of mode 0700, and refused if others could use them, or if the name is a link. Seen failing
    without the checks."""
    plan = write_plan(tmp_path, "np-edf", TWO)
    old = os.umask(0)
    try:
        run_turns(program, tmp_path, "counts", plan, "one")
    finally:
        os.umask(old)
    folder, file = tmp_path / "run", tmp_path / "run/plan-any"
    assert (stat.S_IMODE(folder.stat().st_mode), stat.S_IMODE(file.stat().st_mode)) == (0o700, 0o600)

    def refusal() -> str:
        done = subprocess.run([program, "counts", plan, "one"], check=False, capture_output=True, text=True,
                              timeout=600, env={**os.environ, "GPULENS_RUNTIME_DIR": str(folder)})
        assert done.returncode == 1, done.stdout
        return done.stdout
    file.chmod(0o660)
    assert refusal() == (f"plan_open: -19 {file}: other users may use it; remove their rights (chmod go-rwx)\n")
    file.unlink()
    file.symlink_to(tmp_path / "elsewhere")
    assert refusal().startswith(f"plan_open: -19 {file}: ")
    file.unlink()
    folder.chmod(0o770)
    assert refusal() == (f"plan_open: -19 {folder}: other users may use it; remove their rights (chmod go-rwx)\n")


def test_another_plan_waits_until_the_first_is_closed(program: str, tmp_path: pathlib.Path) -> None:
    """One plan at a time is carried out on a GPU: another one is refused (EBUSY) while a process has the first open,
    and replaces its file afterwards. Seen failing without the lock on the file."""
    first = write_plan(tmp_path, "np-edf", TWO)
    second = write_plan(tmp_path, "np-dm", TWO)
    env = {**os.environ, "GPULENS_RUNTIME_DIR": str(tmp_path / "run")}
    with subprocess.Popen([program, "hold", first], env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          text=True) as holder:
        assert holder.stdout and holder.stdout.readline() == "open\n"
        done = subprocess.run([program, "counts", second, "one"], env=env, check=False, capture_output=True, text=True,
                              timeout=600)
        assert done.stdout == (
            f"plan_open: -16 {tmp_path}/run/plan-any: other processes use it by another plan, or in another namespace "
            "of process ids (a container's)\n")
        holder.communicate("")
    assert run_turns(program, tmp_path, "counts", second, "one")[0].startswith("good jobs 1 ")


@pytest.mark.parametrize("test", ("edf", "dm", "density"))
def test_a_plan_that_needs_preemption_is_refused(program: str, tmp_path: pathlib.Path, test: str) -> None:
    """If tasks share a partition; the message names the tests that can be kept. Seen failing without the check."""
    env = {**os.environ, "GPULENS_RUNTIME_DIR": str(tmp_path / "run")}
    plan = write_plan(tmp_path, test, TWO)
    done = subprocess.run([program, "counts", plan, "one"], env=env, check=False, capture_output=True, text=True,
                          timeout=600)
    assert done.stdout == (
        f"plan_open: -22 {plan}: test {test} takes jobs to be preempted at any time, and partition 0 has several "
        "tasks; plan again with --test np-edf, np-dm, lp-edf, lp-dm or fifo\n")


BAD: "typing.Dict[str, typing.Tuple[typing.Dict[str, typing.Any], str]]" = {
    "test": ({"test": "rm"}, 'test "rm" is unknown'),
    "partition": ({"partitions": []}, 'task "one": there is no partition 0'),
    "twice": ({"tasks": [{"name": "one", "partition": 0, "time_us": 1, "deadline_us": 2}] * 2},
              'task "one": another task has the same name'),
    "time": ({"tasks": [{"name": "one", "partition": 0, "time_us": -1, "deadline_us": 2}]}, "time_us"),
    "fits": ({"fits": False}, "the tasks do not fit")}


@pytest.mark.parametrize("what", BAD)
def test_a_bad_plan_is_refused(program: str, tmp_path: pathlib.Path, what: str) -> None:
    """The message names file, item and reason. Seen failing without read_tasks()'s checks."""
    changes, why = BAD[what]
    plan = write_plan(tmp_path, "np-edf", TWO, **changes)
    done = subprocess.run([program, "counts", plan, "one"], check=False, capture_output=True, text=True, timeout=600,
                          env={**os.environ, "GPULENS_RUNTIME_DIR": str(tmp_path / "run")})
    assert done.stdout.startswith(f"plan_open: -22 {plan}: ") and why in done.stdout
