# SPDX-License-Identifier: GPL-2.0
"""Finds in a kernel's console what its detectors wrote: KASAN, KCSAN, UBSAN, lockdep, RCU, hung tasks, warnings and
oopses. Knows nothing of guests; scripts/lib/guest.py asks it, so that no test passes over one. Leaks are another:
kmemleak writes them to a file of its own, when it is asked."""

import re
from collections.abc import Collection

LONGEST = 120  # lines; what comes after them is something else

# The first words of a message. "BUG kmalloc-64 (...)" is the slab allocator's, "BUG: " everybody else's.
FIRST = re.compile(r"^(?:\[ *\d+\.\d+\] ?)?(?:rcu: |watchdog: )?"
                   r"(?:BUG\b|WARNING:|UBSAN:|INFO: (?:task|rcu|lockdep|possible)|ODEBUG:|kmemleak: .*leak|Oops|"
                   r"general protection fault|list_\w+ corruption|refcount_t: |pagealloc: |Kernel panic)")
LINE = re.compile(r"^(?:\[ *\d+\.\d+\] ?)?={20,}$")


ACCESS = re.compile(r" of \d+ bytes by (?:task|interrupt) ")  # above each of the two call chains of KCSAN's
INTERRUPTED = re.compile(r"\basm_\w+\+0x")  # from here on the chain says only what the processor had been doing


def _raced(text: str, names: "re.Pattern[str]") -> bool:
    """Whether one of these modules is in a call chain that led to one of the accesses."""
    inside = False
    for line in text.splitlines():
        if ACCESS.search(line):
            inside = True
        elif INTERRUPTED.search(line):
            inside = False
        elif inside and names.search(line):
            return True
    return False


def find(console: str, modules: Collection[str]) -> list[str]:
    """The text of each. The kernel's own code has races that it lives with: one that KCSAN reports counts only where
    one of these modules took part in it."""
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
    return [text for text in texts if " KCSAN: " not in text.split("\n", 1)[0] or _raced(text, names)]
