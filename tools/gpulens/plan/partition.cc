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

Problem::Problem(std::span<const Task> tasks, Sizes sizes, Criterion test, Sharing sharing)
	: tasks_(tasks), sizes_(sizes), test_(test), sharing_(sharing),
	  memory_tasks_(static_cast<u32>(
		  std::count_if(tasks.begin(), tasks.end(), [](const Task &t) { return t.kind == Class::Memory; }))),
	  monotone_(std::all_of(tasks.begin(), tasks.end(), [](const Task &t) { return t.is_monotone(); })),
	  has_neighbours_(!sharing.separate_memory && std::any_of(tasks.begin(), tasks.end(), [](const Task &t) {
		  return t.beside_compute.value_or(1) > 1 || t.beside_memory.value_or(1) > 1;
	  }))
{
}

Situation Problem::situation_of(std::span<const u32> tasks) const
{
	Situation s;
	u32 memory = static_cast<u32>(
		std::count_if(tasks.begin(), tasks.end(), [&](u32 i) { return tasks_[i].kind == Class::Memory; }));
	u32 compute = static_cast<u32>(tasks.size()) - memory;

	if (!sharing_.serial)
		s = {.compute_conflict = compute > 1, .memory_conflict = memory > 1};
	if (has_neighbours_) {
		s.beside_memory = memory < memory_tasks_;
		s.beside_compute = compute < tasks_.size() - memory_tasks_;
	}
	return s;
}

// Returns an empty list if a task takes longer than its deadline.
std::vector<Job> Problem::jobs_in(std::span<const u32> tasks, u32 tpcs, const Situation &situation) const
{
	std::vector<Job> jobs;

	jobs.reserve(tasks.size());
	for (u32 i : tasks) {
		const Task &t = tasks_[i];
		u64 c = time_in(t, tpcs, situation);
		if (c > t.deadline_ns)
			return {};
		jobs.push_back({c, t.deadline_ns, t.period_ns,
				has_kernels(test_) ? longest_kernel_in(t, tpcs, situation) : WHOLE_JOB});
	}
	return jobs;
}

bool Problem::fits(std::span<const u32> tasks, u32 tpcs) const
{
	std::vector<Job> jobs = jobs_in(tasks, tpcs, situation_of(tasks));
	Verdict verdict = jobs.empty() ? Verdict::Misses : judge(test_, jobs, sharing_.costs);

	gave_up_ += verdict == Verdict::GaveUp;
	return verdict == Verdict::Meets;
}

double Problem::slack(std::span<const u32> tasks, u32 tpcs) const
{
	constexpr u64 WHOLE = 1000;
	std::vector<Job> jobs = jobs_in(tasks, tpcs, situation_of(tasks)), longer;
	u64 low = WHOLE, high = ~0ULL; // invariant: times * low / WHOLE fit, times * high / WHOLE do not

	if (jobs.empty() || !schedulable(test_, jobs, sharing_.costs))
		return 0;
	for (const Job &j : jobs)
		high = std::min(high, j.d * WHOLE / j.c + 1);
	while (low + 1 < high) {
		u64 middle = low + (high - low) / 2;
		longer = jobs;
		for (Job &j : longer) {
			j.c = j.c * middle / WHOLE;
			if (j.longest != WHOLE_JOB)
				j.longest = j.longest * middle / WHOLE;
		}
		(schedulable(test_, longer, sharing_.costs) ? low : high) = middle;
	}
	return double(low) / WHOLE - 1;
}

double Problem::load(std::span<const u32> tasks, u32 tpcs) const
{
	Situation situation = situation_of(tasks);
	double sum = 0;

	for (u32 i : tasks)
		sum += double(time_in(tasks_[i], tpcs, situation)) / double(tasks_[i].period_ns);
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

std::vector<u32> Problem::impossible() const
{
	std::vector<u32> list;

	for (u32 i = 0; i < tasks_.size(); i++)
		if (!find_smallest(1, sizes_.tpcs, [&](u32 m) {
			    std::vector<Job> job = jobs_in(std::span(&i, 1), m, {});
			    return !job.empty() && schedulable(test_, job, sharing_.costs);
		    }))
			list.push_back(i);
	return list;
}

} // namespace tool::plan
