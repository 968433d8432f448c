// SPDX-License-Identifier: GPL-2.0
// Dynamic programming over sets of tasks, which are bit masks: of all tasks, or again and again of those of a few
// partitions.
#include "gpulens/plan/allocate.hpp"

#include <algorithm>
#include <numeric>
#include <random>

namespace tool::plan {

namespace {

constexpr size_t MAX_CHANGED_TASKS = 10; // in a step of a search: 1024 sets, 30,000 divisions
constexpr u64 SEED = 1;

// Returns the division of these tasks, at most MAX_EXACT_TASKS, that needs the fewest TPCs; an empty one if there is none.
// The order of the tasks decides between equal ones.
std::vector<Partition> divide_tasks(const Problem &problem, const std::vector<u32> &tasks)
{
	constexpr u32 INFEASIBLE = ~0U >> 1; // the sum of two does not overflow
	u32 all = (1U << tasks.size()) - 1;
	// By set: its size as one partition, its size if divided best, and the first part of that division.
	std::vector<u32> own(all + 1), least(all + 1), part(all + 1);
	std::vector<Partition> partitions;
	auto members_of = [&](u32 set) {
		std::vector<u32> members;
		for (u32 i = 0; set >> i; i++)
			if (set >> i & 1)
				members.push_back(tasks[i]);
		std::sort(members.begin(), members.end());
		return members;
	};

	for (u32 set = 1; set <= all; set++) {
		u32 m = problem.smallest(members_of(set), 1, problem.sizes().tpcs);
		own[set] = m ? m : INFEASIBLE;
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
	if (least[all] < INFEASIBLE)
		for (u32 rest = all; rest; rest ^= part[rest])
			partitions.push_back({members_of(part[rest]), own[part[rest]]});
	return partitions;
}

// Not std::shuffle, whose results differ between standard libraries.
template <typename T> void shuffle_list(std::vector<T> &list, std::mt19937_64 &random)
{
	for (size_t i = list.size(); i > 1; i--)
		std::swap(list[i - 1], list[random() % i]);
}

// Divides the tasks of some of the partitions anew, unless that needs more TPCs.
void change_division(const Problem &problem, std::vector<Partition> &partitions, std::mt19937_64 &random)
{
	std::vector<Partition> kept;
	std::vector<u32> tasks;
	u32 before = 0, after = 0;

	shuffle_list(partitions, random);
	for (Partition &p : partitions)
		if (tasks.size() + p.tasks.size() <= MAX_CHANGED_TASKS) {
			tasks.insert(tasks.end(), p.tasks.begin(), p.tasks.end());
			before += p.tpcs;
		} else {
			kept.push_back(p);
		}
	shuffle_list(tasks, random);
	std::vector<Partition> changed = divide_tasks(problem, tasks);
	for (const Partition &p : changed)
		after += p.tpcs;
	if (changed.empty() || after > before)
		return;
	kept.insert(kept.end(), changed.begin(), changed.end());
	partitions = std::move(kept);
}

} // namespace

Allocation find_optimum(const Problem &problem)
{
	std::vector<u32> all(problem.tasks().size());
	u64 gave_up = problem.gave_up();
	Allocation a;

	std::iota(all.begin(), all.end(), 0U);
	a.impossible = problem.impossible();
	a.least_tpcs = problem.least_tpcs();
	if (!a.impossible.empty())
		return a;
	a.partitions = divide_tasks(problem, all);
	a.merges = (u64{1} << all.size()) - 1;
	a.gave_up = problem.gave_up() - gave_up;
	a.fits = !a.partitions.empty() && a.tpcs() <= problem.sizes().tpcs;
	return a;
}

Allocation search_divisions(const Problem &problem, const std::vector<Partition> &start, u64 steps)
{
	std::mt19937_64 random(SEED);
	u64 gave_up = problem.gave_up();
	Allocation a;

	a.least_tpcs = problem.least_tpcs();
	a.partitions = start;
	for (u32 i = 0; start.empty() && i < problem.tasks().size(); i++) {
		u32 m = problem.initial_size(i);
		a.partitions.push_back({{i}, m ? m : problem.sizes().tpcs + 1});
	}
	for (; a.merges < steps && a.tpcs() > problem.sizes().tpcs; a.merges++)
		change_division(problem, a.partitions, random);
	a.fits = a.tpcs() <= problem.sizes().tpcs;
	if (std::any_of(a.partitions.begin(), a.partitions.end(),
			[&](const Partition &p) { return p.tpcs > problem.sizes().tpcs; }))
		a.partitions.clear(); // of a task that fits no size beside the others
	a.gave_up = problem.gave_up() - gave_up;
	return a;
}

} // namespace tool::plan
