// SPDX-License-Identifier: GPL-2.0
// The utilization of a partition at every size, kept as sums, so that whether two partitions are too much for one is known
// without a look at their tasks.
#pragma once
#include "gpulens/plan/partition.hpp"

namespace tool::plan {

class Loads {
public:
	Loads() = default;
	Loads(const Problem &problem, std::span<const u32> tasks);
	void add(const Loads &other);

private:
	// By class and size: the sums of C / T.
	struct Sums {
		std::vector<double> alone, conflict;
		u32 tasks = 0;
	};
	Sums compute_, memory_;
	bool serial_ = false;

	friend double least_load(const Loads &a, const Loads &b, u32 tpcs);
};

// Returns the utilization of a partition of both; without neighbours: with them it is at least that.
double least_load(const Loads &a, const Loads &b, u32 tpcs);

} // namespace tool::plan
