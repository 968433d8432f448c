// SPDX-License-Identifier: GPL-2.0
// Random jobs for tests of schedulability, each by a simulator of its own.
#pragma once
#include "gpulens/plan/schedulability.hpp"

#include <numeric>
#include <random>
#include <vector>

namespace plan_tests {

using tool::plan::Job;

// A job of 1 to 3 units with a period of 4 to 12, whose hyperperiod with others is at most 120 units.
inline Job draw_job(std::mt19937 &random, u64 unit)
{
	const u64 periods[] = {4, 5, 6, 8, 10, 12};
	Job j;

	j.t = periods[random() % 6] * unit;
	j.c = (1 + random() % 3) * unit;
	j.d = j.c + random() % ((j.t - j.c) / unit + 1) * unit;
	return j;
}

inline u64 find_hyperperiod(const std::vector<Job> &jobs)
{
	return std::accumulate(jobs.begin(), jobs.end(), u64{1}, [](u64 l, const Job &j) { return std::lcm(l, j.t); });
}

} // namespace plan_tests
