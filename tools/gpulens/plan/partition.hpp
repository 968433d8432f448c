// SPDX-License-Identifier: GPL-2.0
// A partition, the sizes it may have, and the question whether tasks fit into one.
#pragma once
#include "gpulens/plan/schedulability.hpp"
#include "gpulens/plan/task.hpp"

namespace tool::plan {

// The allowed sizes of partitions: multiples of quantum from least to tpcs. Green contexts have such rules (CUDA driver
// API, "Green Contexts": on compute capability 9.0 and later at least 8 SMs and a multiple of 8, on 8.x at least 4 SMs
// and a multiple of 2); masks of TPCs have none.
struct Sizes {
	u32 tpcs = 0; // of the GPU, without reserved TPCs
	u32 quantum = 1, least = 1;

	// Returns the smallest allowed size that is at least m, or a number above tpcs if there is none.
	u32 round_up(u32 m) const;
	// Returns the largest allowed size, 0 if no size is allowed.
	u32 largest() const;
};

struct Partition {
	std::vector<u32> tasks; // indices, ascending
	u32 tpcs = 0;

	friend bool operator==(const Partition &, const Partition &) = default;
};

// What tasks share besides the TPCs of a partition.
struct Sharing {
	bool serial = false;          // a partition runs one job at a time: no conflict in it
	bool separate_memory = false; // each partition is a MIG instance: no factor `beside` counts
	Costs costs{};                // of preemption in a partition
};

// The input of the heuristics: tasks, sizes, a schedulability test, and what is shared. The tasks' curves must have at
// least sizes.tpcs elements. Tasks are given as indices.
//
// The situation of a partition depends on its tasks alone, because all others are in other partitions.
class Problem {
public:
	Problem(std::span<const Task> tasks, Sizes sizes, Criterion test, Sharing sharing = {});

	std::span<const Task> tasks() const { return tasks_; }
	const Sizes &sizes() const { return sizes_; }
	Criterion test() const { return test_; }
	const Sharing &sharing() const { return sharing_; }
	// Returns whether a task has a factor above 1 beside tasks of other partitions. If none has, a partition of more
	// tasks never needs fewer TPCs.
	bool has_neighbours() const { return has_neighbours_; }

	Situation situation_of(std::span<const u32> tasks) const;
	// Returns whether the tasks meet their deadlines in a partition of that size.
	bool fits(std::span<const u32> tasks, u32 tpcs) const;
	// Returns by what share all times of the tasks may grow so that they still fit, to 0.1 %; 0 if they do not fit.
	double slack(std::span<const u32> tasks, u32 tpcs) const;
	// Returns the smallest allowed size, from `from` to `to`, that the tasks fit into; 0 if there is none.
	u32 smallest(std::span<const u32> tasks, u32 from, u32 to) const
	{
		return find_smallest(from, to, [&](u32 m) { return fits(tasks, m); });
	}
	// Likewise with any test. Uses bisection if all curves are monotone, as the thesis proposes (section 3.5.2),
	// otherwise tries each size.
	template <typename Test> u32 find_smallest(u32 from, u32 to, Test test) const;
	// Returns the utilization, the sum of C_i(tasks, tpcs) / T_i: Definition 4 of the thesis, with the division by
	// T that is missing there.
	double load(std::span<const u32> tasks, u32 tpcs) const;

	// Returns a lower bound of the TPCs that all tasks need (Lemma 1). The thesis prints the sum of C(1) / T, which
	// is wrong for super-linear speed-ups. This is the sum of the smallest m * C(m) / T, which is the same without
	// such speed-ups.
	double least_tpcs() const;
	// Returns the smallest size for a partition of this task, 0 if it fits no size (Lemma 2).
	u32 initial_size(u32 task) const;
	// Returns the tasks that fit no size even if nothing else uses the GPU.
	std::vector<u32> impossible() const;
	// Returns how many tests gave up, since the problem was made.
	u64 gave_up() const { return gave_up_; }

private:
	std::vector<Job> jobs_in(std::span<const u32> tasks, u32 tpcs, const Situation &situation) const;

	std::span<const Task> tasks_;
	Sizes sizes_;
	Criterion test_;
	Sharing sharing_;
	u32 memory_tasks_;
	bool monotone_, has_neighbours_;
	mutable u64 gave_up_ = 0;
};

template <typename Test> u32 Problem::find_smallest(u32 from, u32 to, Test test) const
{
	u32 q = sizes_.quantum, low = sizes_.round_up(from);

	to = std::min(to / q * q, sizes_.largest());
	if (low > to)
		return 0;
	if (!monotone_) {
		for (u32 m = low; m <= to; m += q)
			if (test(m))
				return m;
		return 0;
	}
	if (!test(to))
		return 0;
	// Invariant: the tasks fit size `to`, and no tested size below `low`.
	while (low < to) {
		u32 middle = low + (to - low) / q / 2 * q;
		if (test(middle))
			to = middle;
		else
			low = middle + q;
	}
	return to;
}

} // namespace tool::plan
