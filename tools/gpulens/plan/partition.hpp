// SPDX-License-Identifier: GPL-2.0
// A partition, and what fits into one of which size.
#pragma once
#include "gpulens/plan/schedulability.hpp"
#include "gpulens/plan/task.hpp"

namespace tool::plan {

// What sizes partitions may have: multiples of quantum from least to tpcs. Green contexts have such rules (CUDA driver
// API, "Green Contexts": at least 8 SMs and a multiple of 8 on compute capability 9.0 and later, at least 4 and a
// multiple of 2 on 8.x); masks of TPCs have none.
struct Sizes {
	u32 tpcs = 0; // of the whole GPU, as far as it may be used
	u32 quantum = 1, least = 1;

	// The smallest allowed size that is no less than m; more than tpcs where there is none.
	u32 up(u32 m) const;
	u32 largest() const; // 0: none is allowed
};

struct Partition {
	std::vector<u32> tasks; // indices, ascending
	u32 tpcs = 0;

	friend bool operator==(const Partition &, const Partition &) = default;
};

// A set of tasks, the GPU and the test: what all heuristics ask. Tasks' curves are of at least sizes.tpcs.
class Problem {
public:
	Problem(std::span<const Task> tasks, Sizes sizes, Criterion test);

	std::span<const Task> tasks() const { return tasks_; }
	const Sizes &sizes() const { return sizes_; }
	Criterion test() const { return test_; }

	bool fits(std::span<const u32> in, u32 tpcs) const;
	// The smallest size from `from` to `to` that they fit into; 0: none. By bisection where all curves are
	// monotone, as the thesis proposes (section 3.5.2), else one by one.
	u32 smallest(std::span<const u32> in, u32 from, u32 to) const;
	// Sum of C_i(in, tpcs) / T_i: Definition 4 of the thesis, with the division by T that is missing in it.
	double load(std::span<const u32> in, u32 tpcs) const;

	// Lemma 1: what of the GPU the tasks need at least, in TPCs; more than there are is infeasible. Printed as the
	// sum of C(1) / T, which is wrong for super-linear speed-ups; this is the sum of the least m * C(m) / T, which
	// equals it where there are none.
	double least_tpcs() const;
	// Lemma 2: the size for this task alone; 0: it fits nowhere.
	u32 initial_size(u32 task) const;

private:
	std::span<const Task> tasks_;
	Sizes sizes_;
	Criterion test_;
	bool monotone_;
};

} // namespace tool::plan
