// SPDX-License-Identifier: GPL-2.0
// Tasks for tests of the planner, from a table of times in abstract units of a nanosecond each.
#pragma once
#include "gpulens/plan/allocate.hpp"

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

namespace plan_tests {

using tool::plan::Class;
using tool::plan::Task;

// alone: times with 1, 2, ... TPCs; the last holds for all further numbers up to 16. conflict: by default as alone.
inline Task task(const char *name, u64 period, u64 deadline, Class kind, std::vector<u64> alone,
		 std::vector<u64> conflict = {})
{
	Task t;

	t.name = name;
	t.period_ns = period;
	t.deadline_ns = deadline;
	t.kind = kind;
	t.conflict_ns = conflict.empty() ? alone : std::move(conflict);
	t.alone_ns = std::move(alone);
	t.alone_ns.resize(16, t.alone_ns.back());
	t.conflict_ns.resize(16, t.conflict_ns.back());
	return t;
}

// "0+2:2 1:1": tasks of each partition, and its size, in the order of first tasks.
inline std::string write_layout(tool::plan::Allocation a)
{
	std::string text;

	std::sort(a.partitions.begin(), a.partitions.end(),
		  [](const auto &x, const auto &y) { return x.tasks < y.tasks; });
	for (const tool::plan::Partition &p : a.partitions) {
		text += text.empty() ? "" : " ";
		for (size_t i = 0; i < p.tasks.size(); i++)
			text += (i ? "+" : "") + std::to_string(p.tasks[i]);
		text += ":" + std::to_string(p.tpcs);
	}
	return text;
}

// Returns the fewest TPCs of all divisions of n tasks into partitions; 1000 or more: no division has room on tpcs TPCs.
// meets: do these tasks meet their deadlines on m TPCs?
inline u32 count_fewest(size_t n, u32 tpcs, const std::function<bool(const std::vector<u32> &in, u32 m)> &meets)
{
	std::vector<std::vector<u32>> parts;
	u32 best = 1000;
	std::function<void(u32)> put = [&](u32 i) {
		if (i == n) {
			u32 sum = 0;
			for (const std::vector<u32> &in : parts) {
				u32 m = 1;
				while (m <= tpcs && !meets(in, m))
					m++;
				sum += m <= tpcs ? m : 1000;
			}
			best = std::min(best, sum);
			return;
		}
		for (size_t p = 0; p < parts.size(); p++) {
			parts[p].push_back(i);
			put(i + 1);
			parts[p].pop_back();
		}
		parts.push_back({i});
		put(i + 1);
		parts.pop_back();
	};
	put(0);
	return best;
}

} // namespace plan_tests
