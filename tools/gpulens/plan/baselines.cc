// SPDX-License-Identifier: GPL-2.0
// Divisions with a partition for each task, and the TPCs that are left.
#include "gpulens/plan/allocate.hpp"

#include <algorithm>

namespace tool::plan {

namespace {

constexpr double GAIN = 0.0005; // of slack, half of what Problem::slack() tells apart

// Returns the smallest allowed size with the least time of the task.
u32 find_saturation(const Problem &problem, u32 task)
{
	const Sizes &sizes = problem.sizes();
	Situation situation = problem.situation_of(std::span(&task, 1));
	u32 best = sizes.round_up(1);

	for (u32 m = best; m <= sizes.largest(); m += sizes.quantum)
		if (time_in(problem.tasks()[task], m, situation) < time_in(problem.tasks()[task], best, situation))
			best = m;
	return best;
}

// Returns an equal part of the GPU for each task, in allowed sizes, but no more than `most` (by task): what a task does
// not take is divided among the others.
std::vector<u32> divide_evenly(const Sizes &sizes, const std::vector<u32> &most)
{
	std::vector<u32> parts(most.size(), sizes.round_up(1));
	u64 left = u64{parts.size()} * sizes.round_up(1);

	if (left > sizes.largest())
		return {};
	left = sizes.largest() - left;
	// A round gives each the same, and the last round has less than a quantum for each.
	for (bool given = true; given;) {
		given = false;
		u64 wanting = static_cast<u64>(std::count_if(parts.begin(), parts.end(), [&](const u32 &p) {
			return p < most[static_cast<size_t>(&p - parts.data())];
		}));
		if (wanting * sizes.quantum > left)
			break;
		for (size_t i = 0; i < parts.size(); i++)
			if (parts[i] < most[i]) {
				parts[i] += sizes.quantum;
				left -= sizes.quantum;
				given = true;
			}
	}
	return parts;
}

std::vector<u32> sizes_of(const Problem &problem, Baseline baseline)
{
	u32 n = static_cast<u32>(problem.tasks().size());
	std::vector<u32> parts;

	if (baseline == Baseline::Stgm) {
		for (u32 i = 0; i < n; i++)
			parts.push_back(problem.initial_size(i));
		return parts;
	}
	if (baseline == Baseline::Even)
		return divide_evenly(problem.sizes(), std::vector<u32>(n, problem.sizes().largest()));
	std::vector<u32> most;
	for (u32 i = 0; i < n; i++)
		most.push_back(find_saturation(problem, i));
	return divide_evenly(problem.sizes(), most);
}

} // namespace

Allocation allocate_baseline(const Problem &problem, Baseline baseline)
{
	std::vector<u32> parts = sizes_of(problem, baseline);
	Allocation a;

	for (u32 i = 0; i < parts.size(); i++) {
		if (!parts[i] || !problem.fits(std::span(&i, 1), parts[i]))
			return {};
		a.partitions.push_back({{i}, parts[i]});
	}
	a.fits = !parts.empty() && a.tpcs() <= problem.sizes().tpcs;
	return a;
}

void assign_spare(const Problem &problem, std::vector<Partition> &partitions)
{
	u32 q = problem.sizes().quantum, spare = problem.sizes().tpcs;
	std::vector<double> slack;
	std::vector<size_t> open;

	for (size_t i = 0; i < partitions.size(); i++) {
		spare -= partitions[i].tpcs;
		slack.push_back(problem.slack(partitions[i].tasks, partitions[i].tpcs));
		open.push_back(i);
	}
	while (spare >= q && !open.empty()) {
		auto tightest = std::min_element(open.begin(), open.end(),
						 [&](size_t a, size_t b) { return slack[a] < slack[b]; });
		Partition &p = partitions[*tightest];
		u32 more = q;
		double better = 0;
		// With measured times, one TPC more may gain nothing, and several do.
		while (more <= spare && (better = problem.slack(p.tasks, p.tpcs + more)) < slack[*tightest] + GAIN)
			more += q;
		if (more > spare) {
			open.erase(tightest);
			continue;
		}
		p.tpcs += more;
		spare -= more;
		slack[*tightest] = better;
	}
}

} // namespace tool::plan
