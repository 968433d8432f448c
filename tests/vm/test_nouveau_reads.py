# SPDX-License-Identifier: GPL-2.0
"""Files are read many times while programs use nouveau on an emulated GK104: each program makes a channel and an
address space, copies through them, has nouveau move a buffer, reads GPU memory through BAR1, sums up what came back,
and ends. Neither disturbs the other. make test-drivers runs this test. docs/drivers.md."""

import os
import pathlib
import re
import time
from collections import Counter

import pytest

from lib import nouveau
from lib.guest import Guest
from support.vm.driven import UP_TO_GM107, count_work, list_files, load_nouveau, make_guest, read_log

pytestmark = pytest.mark.skipif("GPULENS_DRIVERS" not in os.environ,
                                reason="make test-drivers runs the longer tests with nouveau")
READS = int(os.environ.get("GPULENS_PROGRAM_READS", "10000"))  # of each file
# These read page tables of both BARs word by word, each word a message to the emulator: a second a read.
SLOW_FILES, SLOW_READS = ("bars", "image"), READS // 400
ROUNDS, SUM = 3, "sum 0x4625d6d5"  # of a program; worked out in Python from the description of the pattern in copies.c
PROGRAMS, PAUSE = 2, 2  # at a time; seconds from the end of one to the start of the next
FILES = 18  # of a GK104, without samples, and without four that it lacks
LIMIT = 1800  # seconds


def start_programs(guest: Guest) -> None:
    """Runs programs one after another, PROGRAMS at a time, until end_programs()."""
    for number in range(PROGRAMS):
        guest.check(f"(while [ ! -e /tmp/stop ]; do {nouveau.COPIES} /dev/dri/renderD128 {ROUNDS} 0; "
                    f"sleep {PAUSE}; done) "
                    f"</dev/null >/tmp/programs{number} 2>&1 &")


def end_programs(guest: Guest) -> Counter[str]:
    """How often each line was printed by a program, without channels and rounds."""
    guest.check("touch /tmp/stop; while pidof copies; do sleep 0.1; done", timeout=300)
    lines = guest.check("cat /tmp/programs*").splitlines()
    return Counter(line for line in lines if not re.fullmatch(r"channel \d+|round \d+", line))


def read_files(guest: Guest, files: list[str], count: int) -> None:
    """Reads each file so often, all in turn. No read fails; what is read may differ."""
    began = time.monotonic()
    said = guest.run(f"readloop 1 {count * len(files)} {' '.join(files)} 2>&1 | tail -n 1", timeout=LIMIT)[1]
    assert re.match(rf"reads {count * len(files)} different \d+ failed 0 ", said), said
    print(f"{count} reads of {len(files)} files in {time.monotonic() - began:.0f} s: {said.strip()}")


def test_reads_do_not_disturb_programs() -> None:
    """10,000 reads of each file, but for two. Each program ends with the right sum, nouveau says nothing, and no access
    faults. The kernel is preemptible, so that a stop of the machine begins soon. Seen failing where too few programs
    ran."""
    card = UP_TO_GM107[0]
    with make_guest([card], True, 2 * LIMIT, "preempt=full") as guest:
        load_nouveau(guest)
        guest.load()
        files = list_files(guest)
        assert len(files) == FILES
        start_programs(guest)
        read_files(guest, [name for name in files if pathlib.PurePath(name).name not in SLOW_FILES], READS)
        read_files(guest, [f"/proc/gpu0/{name}" for name in SLOW_FILES], SLOW_READS)
        lines = end_programs(guest)
        print(f"{lines[SUM]} programs")
        assert set(lines) == {SUM} and lines[SUM] >= 10
        assert read_log(guest, card) == card.expect_log()
        work = count_work(guest, card)
        assert (work["faults"], work["ignored"], work["refused_writes"]) == (0, [], 0)
        guest.check("rmmod nouveau", timeout=300)
