// SPDX-License-Identifier: GPL-2.0
// Computes sizes and utilizations of partitions.
#include "gpulens/plan/partition.hpp"

#include <algorithm>

namespace tool::plan {

u32 Sizes::round_up(u32 m) const
{
	m = std::max(m, least);
	return (m + quantum - 1) / quantum * quantum;
}

u32 Sizes::largest() const
{
	u32 most = tpcs / quantum * quantum;

	return most >= least ? most : 0;
}

Problem::Problem(std::span<const Task> tasks, Sizes sizes, Criterion test)
	: tasks_(tasks), sizes_(sizes), test_(test),
	  monotone_(std::all_of(tasks.begin(), tasks.end(), [](const Task &t) { return t.is_monotone(); }))
{
}

bool Problem::fits(std::span<const u32> tasks, u32 tpcs) const
{
	Conflicts conflicts(tasks_, tasks);
	std::vector<Job> jobs;

	jobs.reserve(tasks.size());
	for (u32 i : tasks) {
		const Task &t = tasks_[i];
		u64 c = t.time_ns(tpcs, conflicts.has(t));
		if (c > t.deadline_ns)
			return false;
		jobs.push_back({c, t.deadline_ns, t.period_ns});
	}
	return schedulable(test_, jobs);
}

u32 Problem::smallest(std::span<const u32> tasks, u32 from, u32 to) const
{
	u32 q = sizes_.quantum, low = sizes_.round_up(from);

	to = std::min(to / q * q, sizes_.largest());
	if (low > to)
		return 0;
	if (!monotone_) {
		for (u32 m = low; m <= to; m += q)
			if (fits(tasks, m))
				return m;
		return 0;
	}
	if (!fits(tasks, to))
		return 0;
	// Invariant: the tasks fit size `to`, and no tested size below `low`.
	while (low < to) {
		u32 middle = low + (to - low) / q / 2 * q;
		if (fits(tasks, middle))
			to = middle;
		else
			low = middle + q;
	}
	return to;
}

double Problem::load(std::span<const u32> tasks, u32 tpcs) const
{
	Conflicts conflicts(tasks_, tasks);
	double sum = 0;

	for (u32 i : tasks)
		sum += double(tasks_[i].time_ns(tpcs, conflicts.has(tasks_[i]))) / double(tasks_[i].period_ns);
	return sum;
}

double Problem::least_tpcs() const
{
	double sum = 0;

	for (const Task &t : tasks_) {
		double least = -1;
		for (u32 m = sizes_.round_up(1); m <= sizes_.tpcs; m += sizes_.quantum) {
			double area = m * double(t.time_ns(m, false)) / double(t.period_ns);
			if (t.time_ns(m, false) != NEVER && (least < 0 || area < least))
				least = area;
		}
		sum += std::max(least, 0.0);
	}
	return sum;
}

u32 Problem::initial_size(u32 task) const
{
	return smallest(std::span(&task, 1), 1, sizes_.tpcs);
}

} // namespace tool::plan
