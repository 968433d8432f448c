# SPDX-License-Identifier: GPL-2.0
"""What delayed a job: from the five times of each kernel that gpulens-schedule-load prints with GPULENS_LOAD_STAMPS=1,
of which two are by the GPU's clock."""

from typing import NamedTuple

NEAR = 25  # jobs before and after a job by which the clocks are compared: they drift apart
LONG_US = 500  # a delay of a program that runs beside that is worth naming


class Job(NamedTuple):
    """Times in us: by CLOCK_MONOTONIC when it began; after that when its launch returned, its kernel began and ended on
    the GPU, and the program noticed it."""
    at: float
    launched: float
    began: float
    ended: float
    noticed: float

    def delays(self) -> "dict[str, int]":
        """Where its time went, in us: a program without a processor launches or notices late, and in between its kernel
        waits for the GPU, or is interrupted on it."""
        return {"launch": round(self.launched), "wait": round(self.began - self.launched),
                "gpu": round(self.ended - self.began), "notice": round(self.noticed - self.ended)}


def read_jobs(stamps: "list[list[float]]") -> "list[Job]":
    """A kernel begins after its job, and ends before that is noticed. So each job says between what the clocks'
    difference is; that of a job is in the middle of what the jobs near it say."""
    least = [start - began for start, _, began, _, _ in stamps]
    most = [noticed - ended for _, _, _, ended, noticed in stamps]
    jobs = []
    for i, (start, launched, began, ended, noticed) in enumerate(stamps):
        near = slice(max(0, i - NEAR), i + NEAR + 1)
        ahead = (max(least[near]) + min(most[near])) / 2 - start
        jobs.append(Job(start, launched - start, began + ahead, ended + ahead, noticed - start))
    return jobs


def explain_misses(jobs: "list[list[Job]]", periods_us: "tuple[float, ...]") -> "list[dict[str, object]]":
    """Each job that ended after its period: by how much, where its time went, and what delayed the programs of jobs at
    the same time, as the coordinator takes a job that is not noticed for one that runs."""
    found: "list[dict[str, object]]" = []
    for task, (mine, period) in enumerate(zip(jobs, periods_us)):
        for job in mine:
            if job.noticed <= period:
                continue
            beside = [other.delays() for others in jobs if others is not mine for other in others
                      if other.at < job.at + job.noticed and job.at < other.at + other.noticed]
            found.append({"task": task, "late": round(job.noticed - period), "on_gpu": job.ended > period,
                          **job.delays(),
                          "beside": [{"launch": other["launch"], "notice": other["notice"]} for other in beside
                                     if max(other["launch"], other["notice"]) > LONG_US]})
    return found
