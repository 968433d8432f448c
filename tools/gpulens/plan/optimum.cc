// SPDX-License-Identifier: GPL-2.0
// Dynamic programming over sets of tasks, which are bit masks.
#include "gpulens/plan/allocate.hpp"

namespace tool::plan {

namespace {

std::vector<u32> members_of(u32 set)
{
	std::vector<u32> list;

	for (u32 i = 0; set >> i; i++)
		if (set >> i & 1)
			list.push_back(i);
	return list;
}

} // namespace

Allocation find_optimum(const Problem &problem)
{
	constexpr u32 INFEASIBLE = ~0U >> 1; // the sum of two does not overflow
	u32 n = static_cast<u32>(problem.tasks().size()), all = (1U << n) - 1;
	// By set: its size as one partition, its size if divided best, and the first part of that division.
	std::vector<u32> own(all + 1), least(all + 1), part(all + 1);
	Allocation a;

	u64 gave_up = problem.gave_up();
	a.impossible = problem.impossible();
	a.least_tpcs = problem.least_tpcs();
	if (!a.impossible.empty())
		return a;
	for (u32 set = 1; set <= all; set++) {
		u32 m = problem.smallest(members_of(set), 1, problem.sizes().tpcs);
		own[set] = m ? m : INFEASIBLE;
		a.merges++;
	}
	for (u32 set = 1; set <= all; set++) {
		u32 first = set & -set;
		least[set] = INFEASIBLE;
		// Try all parts that contain the first task. The best division of the rest is already known.
		for (u32 sub = set; sub; sub = (sub - 1) & set)
			if (sub & first && own[sub] != INFEASIBLE && own[sub] + least[set ^ sub] < least[set]) {
				least[set] = own[sub] + least[set ^ sub];
				part[set] = sub;
			}
	}
	a.gave_up = problem.gave_up() - gave_up;
	if (least[all] >= INFEASIBLE)
		return a;
	for (u32 rest = all; rest; rest ^= part[rest])
		a.partitions.push_back({members_of(part[rest]), own[part[rest]]});
	a.fits = least[all] <= problem.sizes().tpcs;
	return a;
}

} // namespace tool::plan
