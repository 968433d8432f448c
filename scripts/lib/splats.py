# SPDX-License-Identifier: GPL-2.0
"""Finds messages of a kernel's detectors in its console: KASAN, KCSAN, UBSAN, lockdep, RCU, hung tasks, warnings and
oopses. scripts/lib/guest.py checks the console of every guest with it. Leaks are not among them: kmemleak writes them
to a file of its own."""

import re
from collections.abc import Collection

LONGEST = 120  # lines of a message

# The first words of a message. "BUG kmalloc-64 (...)" is from the slab allocator, "BUG: " from other code.
FIRST = re.compile(r"^(?:\[ *\d+\.\d+\] ?)?(?:rcu: |watchdog: )?"
                   r"(?:BUG\b|WARNING:|UBSAN:|INFO: (?:task|rcu|lockdep|possible)|ODEBUG:|kmemleak: .*leak|Oops|"
                   r"general protection fault|list_\w+ corruption|refcount_t: |pagealloc: |Kernel panic)")
LINE = re.compile(r"^(?:\[ *\d+\.\d+\] ?)?={20,}$")


ACCESS = re.compile(r" of \d+ bytes by (?:task|interrupt) ")  # above each of the two call chains of a KCSAN report
INTERRUPTED = re.compile(r"\basm_\w+\+0x")  # the chain below is that of the interrupted code


def _is_raced(text: str, names: "re.Pattern[str]") -> bool:
    """Whether one of these modules is in a call chain of one of the accesses."""
    inside = False
    for line in text.splitlines():
        if ACCESS.search(line):
            inside = True
        elif INTERRUPTED.search(line):
            inside = False
        elif inside and names.search(line):
            return True
    return False


def find_splats(console: str, modules: Collection[str]) -> list[str]:
    """The text of each message. The kernel tolerates races in its own code, so that a race that KCSAN reports
    counts only if one of these modules takes part in it."""
    found: list[list[str]] = []
    inside = False
    for line in console.splitlines():
        if FIRST.match(line):
            inside = True
            found.append([])
        elif LINE.match(line):
            inside = False
        if inside and len(found[-1]) < LONGEST:
            found[-1].append(line)
    names = re.compile(r"\[(?:" + "|".join(map(re.escape, modules)) + r")\]")
    texts = ["\n".join(lines) for lines in found]
    return [text for text in texts if " KCSAN: " not in text.split("\n", 1)[0] or _is_raced(text, names)]
