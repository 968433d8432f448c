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

// The input of the heuristics: tasks, sizes and a schedulability test. The tasks' curves must have at least sizes.tpcs
// elements. Tasks are given as indices.
class Problem {
public:
	Problem(std::span<const Task> tasks, Sizes sizes, Criterion test);

	std::span<const Task> tasks() const { return tasks_; }
	const Sizes &sizes() const { return sizes_; }
	Criterion test() const { return test_; }

	// Returns whether the tasks meet their deadlines in a partition of that size.
	bool fits(std::span<const u32> tasks, u32 tpcs) const;
	// Returns the smallest allowed size, from `from` to `to`, that the tasks fit into; 0 if there is none. Uses
	// bisection if all curves are monotone, as the thesis proposes (section 3.5.2), otherwise tries each size.
	u32 smallest(std::span<const u32> tasks, u32 from, u32 to) const;
	// Returns the utilization, the sum of C_i(tasks, tpcs) / T_i: Definition 4 of the thesis, with the division by
	// T that is missing there.
	double load(std::span<const u32> tasks, u32 tpcs) const;

	// Returns a lower bound of the TPCs that all tasks need (Lemma 1). The thesis prints the sum of C(1) / T, which
	// is wrong for super-linear speed-ups. This is the sum of the smallest m * C(m) / T, which is the same without
	// such speed-ups.
	double least_tpcs() const;
	// Returns the smallest size for this task alone, 0 if it fits no size (Lemma 2).
	u32 initial_size(u32 task) const;

private:
	std::span<const Task> tasks_;
	Sizes sizes_;
	Criterion test_;
	bool monotone_;
};

} // namespace tool::plan
