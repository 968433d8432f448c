# SPDX-License-Identifier: GPL-2.0
"""Reports of random system calls (helpers/storm.c), and their documented results, for test_hostile and test_storm."""

import os
import random
import re
from collections import Counter

from lib.guest import Guest

SOAK = int(os.environ.get("GPULENS_SOAK", "1"))
SEED = int(os.environ.get("GPULENS_SEED", str(random.randrange(1 << 30))))

# docs/proc.md
OURS = {"OK", "EINVAL", "ERANGE", "ENOENT", "EPERM", "EACCES", "EOPNOTSUPP", "ENODATA", "EIO", "ETIMEDOUT", "ENODEV",
        "ENXIO", "EBUSY", "EALREADY"}
VFS = {"EBADF", "EINVAL"}  # of the system call itself: not open, or not for this access
ERRNOS = {
    # of samples: it is a stream, it was started when it is written to, or the GPU has too many samplers
    **dict.fromkeys(("read", "pread", "readv", "write", "pwrite", "writev"), OURS | VFS | {"EBUSY", "ESPIPE"}),
    "open": {"OK", "EACCES", "EPERM", "EEXIST", "EINVAL"},
    "lseek": VFS | {"OK", "ENXIO", "EOVERFLOW", "ESPIPE"},
    # FIONREAD is answered by the VFS for any regular file
    "ioctl": VFS | {"OK", "ENOTTY"},
    "mmap": VFS | {"EIO", "EACCES", "ENODEV"},
    **dict.fromkeys(("splice_from", "splice_to", "sendfile"), OURS | VFS | {"EAGAIN", "EOVERFLOW"}),
    **dict.fromkeys(("poll", "dup", "fstat", "close"), {"OK", "EBADF"}),
}


class Storm:
    """The results of all random callers."""

    def __init__(self) -> None:
        self.seen: Counter[tuple[int, str, str]] = Counter()
        self.longest = (0.0, "")

    def take(self, gpu: int, text: str) -> int:
        """Adds the reports of one caller, each of which must be complete. Returns their number."""
        assert text.count("seed ") == text.count("done "), text
        for line in text.splitlines():
            words = line.split()
            if words[0] == "done":
                self.longest = max(self.longest, (int(words[4]) / 1e6, " ".join(words[6:])))
            elif words[0] != "seed":
                self.seen[gpu, words[0], words[1]] += int(words[2])
        return text.count("done ")

    def reads(self, gpu: int) -> int:
        """The number of reads of one GPU that gave data or an errno of the module."""
        return sum(count for (at, call, result), count in self.seen.items()
                   if at == gpu and call in ("read", "pread", "readv") and result != "EBADF")


def read_memory(guest: Guest) -> int:
    """Bytes of kernel memory that cannot be reclaimed."""
    text = guest.check("sync; echo 3 >/proc/sys/vm/drop_caches; cat /proc/meminfo")
    fields = dict(re.findall(r"^(\w+): +(\d+)", text, re.MULTILINE))
    return (int(fields["SUnreclaim"]) + int(fields["VmallocUsed"])) * 1024
