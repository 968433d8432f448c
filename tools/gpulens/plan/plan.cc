// SPDX-License-Identifier: GPL-2.0
// Runs the heuristics on a task file and places the partitions.
#include "gpulens/plan/plan.hpp"

#include "gpulens/plan/optimum.hpp"
#include "gpulens/plan/reserve.hpp"
#include "lib/base/errors.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace tool::plan {

namespace {

std::vector<std::string> notes_on(const std::vector<Task> &tasks)
{
	std::vector<std::string> notes;
	auto assumed = std::count_if(tasks.begin(), tasks.end(), [](const Task &t) { return t.assumed_conflict; });

	for (const Task &t : tasks) {
		if (!t.is_monotone())
			notes.push_back(fmt::format(
				"task \"{}\" takes longer with more TPCs: sizes are tried one by one", t.name));
		if (t.is_superlinear())
			notes.push_back(
				fmt::format("task \"{}\" speeds up more than its TPCs grow: Lemma 1 goes by the "
					    "size that suits it best",
					    t.name));
	}
	if (assumed)
		notes.push_back(
			fmt::format("of {} task{} the time in conflict is not given: {} (compute) and {} (memory) "
				    "times the one alone, as measured on an RTX 2080 Ti",
				    assumed, assumed == 1 ? "" : "s", COMPUTE_CONFLICT, MEMORY_CONFLICT));
	return notes;
}

std::vector<Attempt> try_heuristics(const Problem &problem, const PlanOptions &options)
{
	std::vector<Attempt> tried;

	if (options.exact)
		return {{"exact", find_optimum(problem)}};
	for (Heuristic h : all_heuristics()) {
		if (options.heuristic != "auto" && options.heuristic != h.name())
			continue;
		h.start = options.start;
		tried.push_back({h.name(), allocate(problem, h)});
		const Allocation &a = tried.back().allocation;
		if (a.fits || a.too_much || !a.impossible.empty())
			break;
	}
	return tried;
}

} // namespace

Plan make_plan(const std::string &text, const std::string &name, const GpcMap &map, const PlanOptions &options)
{
	Plan plan;

	plan.map = map;
	plan.file = parse_tasks(text, name, map.tpcs);
	TpcMask taken = find_reserved(plan.file.reserved, map, name);
	plan.sizes = {map.tpcs - taken.count(), options.quantum, options.least};
	plan.test = options.test;
	plan.placing = options.placing;
	plan.notes = notes_on(plan.file.tasks);
	if (!plan.sizes.largest())
		throw Error(Error::Input,
			    fmt::format("{}: only {} of {} TPCs are not reserved, fewer than the smallest partition",
					name, plan.sizes.tpcs, map.tpcs));
	if (options.exact && plan.file.tasks.size() > MAX_EXACT_TASKS)
		throw Error(Error::Input, fmt::format("{}: {} tasks, but --exact supports at most {}", name,
						      plan.file.tasks.size(), MAX_EXACT_TASKS));
	plan.tried = try_heuristics(Problem(plan.file.tasks, plan.sizes, plan.test), options);
	std::vector<Partition> &partitions = plan.tried.back().allocation.partitions;
	std::sort(partitions.begin(), partitions.end(),
		  [](const Partition &a, const Partition &b) { return a.tasks < b.tasks; });
	if (plan.allocation().fits && !map.gpcs.empty()) {
		std::vector<u32> sizes;
		sizes.reserve(partitions.size());
		for (const Partition &p : partitions)
			sizes.push_back(p.tpcs);
		plan.masks = place_partitions(map, taken, sizes, options.placing);
	}
	return plan;
}

} // namespace tool::plan
