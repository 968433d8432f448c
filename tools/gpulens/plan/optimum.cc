// SPDX-License-Identifier: GPL-2.0
// See optimum.hpp.
#include "gpulens/plan/optimum.hpp"

namespace tool::plan {

namespace {

std::vector<u32> members(u32 set)
{
	std::vector<u32> list;

	for (u32 i = 0; set >> i; i++)
		if (set >> i & 1)
			list.push_back(i);
	return list;
}

} // namespace

Allocation optimum(const Problem &problem)
{
	constexpr u32 NO = ~0U >> 1;
	u32 n = static_cast<u32>(problem.tasks().size()), all = (1U << n) - 1;
	std::vector<u32> own(all + 1), least(all + 1),
		part(all + 1); // by set: as one partition, divided, its first part
	Allocation a;

	for (u32 i = 0; i < n; i++)
		if (!problem.initial_size(i))
			a.impossible.push_back(i);
	a.least_tpcs = problem.least_tpcs();
	if (!a.impossible.empty())
		return a;
	for (u32 set = 1; set <= all; set++) {
		u32 m = problem.smallest(members(set), 1, problem.sizes().tpcs);
		own[set] = m ? m : NO;
		a.merges++;
	}
	for (u32 set = 1; set <= all; set++) {
		u32 first = set & -set;
		least[set] = NO;
		// Whichever part holds the first task; the rest is divided already.
		for (u32 sub = set; sub; sub = (sub - 1) & set)
			if (sub & first && own[sub] != NO && own[sub] + least[set ^ sub] < least[set]) {
				least[set] = own[sub] + least[set ^ sub];
				part[set] = sub;
			}
	}
	for (u32 rest = all; rest; rest ^= part[rest])
		a.partitions.push_back({members(part[rest]), own[part[rest]]});
	a.fits = least[all] <= problem.sizes().tpcs;
	return a;
}

} // namespace tool::plan
