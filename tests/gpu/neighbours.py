# SPDX-License-Identifier: GPL-2.0
"""What a neighbour costs that wants memory or L2 cache: PyTorch's kernels in two halves of the GPU, each as a stream of
libgpulens-partition's, against two streams without. As JSON, in milliseconds of the GPU's:

    neighbours.py LIBRARY masks|green
"""

import ctypes
import json
import sys
from typing import Any, Callable

import torch  # pylint: disable=import-error

LIB = ctypes.CDLL(sys.argv[1])
LIB.gpulens_error.restype = ctypes.c_char_p
LIB.gpulens_partition_stream.restype = ctypes.c_void_p
WAY = {"masks": 0, "green": 1}[sys.argv[2]]  # enum gpulens_way
REPEATS = 40
FLOATS_PER_MIB = 1 << 18


def checked(err: int) -> None:
    """Status 4: not on this GPU."""
    if err:
        print(LIB.gpulens_error().decode(), file=sys.stderr)
        sys.exit(4)


def stream_of(layout: ctypes.c_void_p, tpcs: str) -> torch.cuda.ExternalStream:
    """Of a partition, which stays as long as the process."""
    mask, partition = (ctypes.c_uint64 * 4)(), ctypes.c_void_p()
    checked(LIB.gpulens_mask_parse(layout, tpcs.encode(), mask))
    checked(LIB.gpulens_partition_open(layout, WAY, mask, ctypes.byref(partition)))
    return torch.cuda.ExternalStream(LIB.gpulens_partition_stream(partition))


class Job:
    """Something to do, and how often so that it takes a while; two of a kind share no memory."""

    def __init__(self, work: Callable[[], Any], times: int, as_neighbour: int) -> None:
        self.work, self.times, self.as_neighbour = work, times, as_neighbour

    def repeat(self, times: int) -> None:
        """In the current stream."""
        for _ in range(times):
            self.work()


def product() -> Callable[[], Any]:
    """4096 x 4096, of single precision: counts are what it wants."""
    factor, result = (torch.rand(4096, 4096, device="cuda") for _ in range(2))
    return lambda: torch.mm(factor, factor, out=result)


def addition(mib: int) -> Callable[[], Any]:
    """Reads so much and writes as much."""
    term, result = (torch.zeros(mib * FLOATS_PER_MIB, device="cuda") for _ in range(2))
    return lambda: torch.add(term, 1.0, out=result)


def jobs() -> dict[str, Job]:
    """An H100's L2 cache has 50 MiB."""
    return {"product": Job(product(), 1, 400), "sum of 1 GiB": Job(addition(1024), 1, 900),
            "20 sums of 8 MiB": Job(addition(8), 20, 18000)}


def median_ms(job: Job, stream: Any) -> float:
    """Of its runs in a stream."""
    times = []
    with torch.cuda.stream(stream):
        for _ in range(REPEATS):
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            begin.record(stream)
            job.repeat(job.times)
            end.record(stream)
            end.synchronize()
            times.append(begin.elapsed_time(end))
    return sorted(times)[REPEATS // 2]


def beside(job: Job, stream: Any, neighbour: Job, its: Any) -> "float | None":
    """None: the neighbour had ended before."""
    with torch.cuda.stream(its):
        neighbour.repeat(neighbour.as_neighbour)
        done = torch.cuda.Event()
        done.record(its)
    took = median_ms(job, stream)
    busy = not done.query()
    torch.cuda.synchronize()
    return took if busy else None


def main() -> None:
    """The table."""
    torch.zeros(1, device="cuda")
    layout = ctypes.c_void_p()
    checked(LIB.gpulens_layout_open_cuda(ctypes.byref(layout)))
    half, other_half = stream_of(layout, "half:a"), stream_of(layout, "half:b")
    whole, other = torch.cuda.Stream(), torch.cuda.Stream()
    mine, its = jobs(), jobs()
    for job in mine.values():
        median_ms(job, half)
    print(json.dumps([{"job": name, "beside": "nothing", "whole": median_ms(job, whole), "half": median_ms(job, half)}
                      for name, job in mine.items()] +
                     [{"job": name, "beside": of, "whole": beside(job, whole, neighbour, other),
                       "half": beside(job, half, neighbour, other_half)}
                      for name, job in mine.items() for of, neighbour in its.items()]))


main()
