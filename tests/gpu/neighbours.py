# SPDX-License-Identifier: GPL-2.0
"""The cost of a neighbour that uses memory or L2 cache: PyTorch's kernels in two halves of the GPU, each in a stream of
libgpulens-partition, compared with two streams without partitions. As JSON, in milliseconds of the GPU:

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


def check_error(err: int) -> None:
    """Exits with status 4 if this GPU is refused."""
    if err:
        print(LIB.gpulens_error().decode(), file=sys.stderr)
        sys.exit(4)


def stream_of(layout: ctypes.c_void_p, tpcs: str) -> torch.cuda.ExternalStream:
    """A stream of a partition, which exists as long as the process."""
    mask, partition = (ctypes.c_uint64 * 4)(), ctypes.c_void_p()
    check_error(LIB.gpulens_mask_parse(layout, tpcs.encode(), mask))
    check_error(LIB.gpulens_partition_open(layout, WAY, mask, ctypes.byref(partition)))
    return torch.cuda.ExternalStream(LIB.gpulens_partition_stream(partition))


class Job:
    """A function to time, and how often to repeat it; two jobs of a kind share no memory."""

    def __init__(self, work: Callable[[], Any], times: int, as_neighbour: int) -> None:
        self.work, self.times, self.as_neighbour = work, times, as_neighbour

    def repeat(self, times: int) -> None:
        """Runs the function in the current stream."""
        for _ in range(times):
            self.work()


def make_product() -> Callable[[], Any]:
    """4096 x 4096, single precision: limited by arithmetic."""
    factor, result = (torch.rand(4096, 4096, device="cuda") for _ in range(2))
    return lambda: torch.mm(factor, factor, out=result)


def make_addition(mib: int) -> Callable[[], Any]:
    """Reads and writes that many MiB."""
    term, result = (torch.zeros(mib * FLOATS_PER_MIB, device="cuda") for _ in range(2))
    return lambda: torch.add(term, 1.0, out=result)


def make_jobs() -> dict[str, Job]:
    """The jobs by name. An H100's L2 cache has 50 MiB."""
    return {"product": Job(make_product(), 1, 400), "sum of 1 GiB": Job(make_addition(1024), 1, 900),
            "20 sums of 8 MiB": Job(make_addition(8), 20, 18000)}


def median_ms(job: Job, stream: Any) -> float:
    """The median time of the job's runs in a stream."""
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


def time_beside(job: Job, stream: Any, neighbour: Job, its: Any) -> "float | None":
    """The time of the job beside a neighbour; None if the neighbour had ended before."""
    with torch.cuda.stream(its):
        neighbour.repeat(neighbour.as_neighbour)
        done = torch.cuda.Event()
        done.record(its)
    took = median_ms(job, stream)
    busy = not done.query()
    torch.cuda.synchronize()
    return took if busy else None


def main() -> None:
    """Prints the table."""
    torch.zeros(1, device="cuda")
    layout = ctypes.c_void_p()
    check_error(LIB.gpulens_layout_open_cuda(ctypes.byref(layout)))
    half, other_half = stream_of(layout, "half:a"), stream_of(layout, "half:b")
    whole, other = torch.cuda.Stream(), torch.cuda.Stream()
    mine, its = make_jobs(), make_jobs()
    for job in mine.values():
        median_ms(job, half)
    print(json.dumps([{"job": name, "beside": "nothing", "whole": median_ms(job, whole), "half": median_ms(job, half)}
                      for name, job in mine.items()] +
                     [{"job": name, "beside": of, "whole": time_beside(job, whole, neighbour, other),
                       "half": time_beside(job, half, neighbour, other_half)}
                      for name, job in mine.items() for of, neighbour in its.items()]))


main()
