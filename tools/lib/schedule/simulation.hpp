// SPDX-License-Identifier: GPL-2.0
// Simulates jobs on one GPU: under a policy of scheduler.hpp, and by time slices of an interleaved runlist, as the GPU
// schedules without it. Exact times in nanoseconds, no random numbers.
#pragma once
#include "lib/schedule/scheduler.hpp"

namespace tool::schedule {

// The jobs of a task.
struct Load {
	u64 first_ns = 0;     // arrival of the first job
	u64 period_ns = 0;    // between arrivals; 0: one job
	u64 length_ns = 0;    // C, of each job; 0: no job arrives
	u64 count = NEVER;    // number of jobs
	bool closed = false;  // the next job arrives when the last one ends
	bool endless = false; // one job that never ends
};

struct Slot {
	size_t task;
	u64 slice_ns;
};

struct Costs {
	u64 switch_ns = 0; // that the GPU needs from one task to another
};

// Task `task` runs from one time to another. Pieces of the same task that adjoin are one.
struct Segment {
	size_t task;
	u64 from, to;
	bool operator==(const Segment &) const = default;
};

struct FinishedJob {
	size_t task;
	u64 arrival, end;
	bool operator==(const FinishedJob &) const = default;
};

struct TaskResult {
	u64 arrived = 0;   // jobs: event A of Capodieci et al. (scheduler.hpp)
	u64 jobs = 0;      // finished: event B
	u64 exhausted = 0; // budgets: event C
	u64 missed = 0;    // their deadline; those too that are not finished although their deadline is over
	u64 worst_ns = 0, total_ns = 0; // response times of finished jobs
	u64 late_ns = 0;                // at the end, of the job that is not finished and most late
	u64 ran_ns = 0;
};

struct SimulatedRun {
	std::vector<Segment> segments;
	std::vector<FinishedJob> finished; // in this order
	std::vector<TaskResult> tasks;
	u64 switches = 0;
	u64 skipped = 0; // entries of the list without work, before one with work
};

// Both simulate from 0 to the end. At one instant, jobs first end, then arrive, in the order of tasks. Deadlines are those of
// the tasks (Task::deadline_ns; with a server and without a deadline, its period).
SimulatedRun simulate_policy(Policy policy, const std::vector<Task> &tasks, const std::vector<Load> &loads,
			     u64 quantum_ns, u64 end_ns, Costs costs = {});
// Slots whose task has no work are skipped. A task that follows itself goes on without a switch.
SimulatedRun simulate_slices(const std::vector<Slot> &slots, const std::vector<Task> &tasks,
			     const std::vector<Load> &loads, u64 end_ns, Costs costs = {});

} // namespace tool::schedule
