// SPDX-License-Identifier: GPL-2.0
// Runs the heuristics on a task file and places the partitions.
#include "gpulens/plan/plan.hpp"

#include "gpulens/plan/allocate.hpp"
#include "gpulens/plan/task_file.hpp"
#include "lib/base/errors.hpp"
#include "lib/base/file.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace tool::plan {

namespace {

// The number of tasks above which auto tries no heuristic whose time grows with the square of it.
constexpr size_t MANY_TASKS = 1000;
constexpr Heuristic NO_HEURISTIC{.baseline = Baseline::Stgm}; // merges nothing

// Returns the heuristics that differ from h in what the thesis leaves open: those with the words that the user gave, or all,
// the default first.
std::vector<Heuristic> readings_of(const Heuristic &h, const PlanOptions &options)
{
	std::vector<Heuristic> readings;

	if (!h.merges())
		return {h};
	for (Ties ties : {Ties::First, Ties::Fullest, Ties::Last})
		for (Start start : {Start::Largest, Start::Smallest}) {
			Heuristic reading = h;
			reading.ties = ties;
			reading.start = start;
			bool other_ties = options.ties ? ties != *options.ties
						       : ties != Ties::First &&
								 (options.heuristic != "auto" || h.order != Order::Sms);
			bool other_start = options.start ? start != *options.start
							 : start != Start::Largest && options.heuristic != "auto";
			if (!other_ties && !other_start)
				readings.push_back(reading);
		}
	return readings;
}

// Returns the heuristics to try: the default readings of all, then the others, then those again with memory tasks together.
std::vector<Heuristic> list_heuristics(const Problem &problem, const PlanOptions &options)
{
	bool every = options.heuristic == "auto", many = problem.tasks().size() > MANY_TASKS;
	std::vector<Heuristic> first, others;

	for (const Heuristic &h : all_heuristics()) {
		if (every ? h.baseline != Baseline::None : options.heuristic != h.name())
			continue;
		std::vector<Heuristic> readings = readings_of(h, options);
		std::erase_if(readings, [&](const Heuristic &r) {
			return every && many && (r.act || (r.ties == Ties::Fullest && !options.ties));
		});
		for (size_t i = 0; i < readings.size(); i++)
			(i ? others : first).push_back(readings[i]);
	}
	first.insert(first.end(), others.begin(), others.end());
	if (!problem.has_neighbours())
		return first;
	std::vector<Heuristic> all = first;
	for (Heuristic h : first)
		if (h.merges()) {
			h.together = true;
			all.push_back(h);
		}
	return all;
}

// Returns the division that comes closest to fitting.
const Allocation &smallest_of(const std::vector<Attempt> &tried)
{
	return std::min_element(
		       tried.begin(), tried.end(),
		       [](const Attempt &a, const Attempt &b) {
		return std::pair(a.allocation.partitions.empty(), a.allocation.tpcs()) <
		       std::pair(b.allocation.partitions.empty(), b.allocation.tpcs());
		       })
		->allocation;
}

// Refuses what has no meaning on MIG, and plans for its instances.
void plan_on_mig(Plan &plan, const PlanOptions &options, const std::string &name)
{
	const MigGpu *known = find_mig_gpu(options.chip, plan.map.tpcs);
	if (!options.mig_file.empty())
		plan.mig = std::make_shared<MigGpu>(
			parse_mig_profiles(read_file(options.mig_file), name_of_file(options.mig_file)));
	else if (known)
		plan.mig = std::make_shared<MigGpu>(*known);
	else
		throw Error(
			Error::Input,
			fmt::format("--on mig: the profiles of this GPU, with {} TPCs, are not known; those of {} are. "
				    "--mig-profiles takes what nvidia-smi mig -lgip and -lgipp print of it",
				    plan.map.tpcs, mig_gpu_names()));
	if (plan.sizes.tpcs != plan.map.tpcs)
		throw Error(Error::Input, name + ": reserved TPCs cannot be kept from MIG instances");
	plan.sizes = {largest_instance(*plan.mig)};
	plan.sharing.separate_memory = true;
	plan.tried = {{"mig", NO_HEURISTIC, allocate_on_mig(plan.problem(), *plan.mig, plan.instances)}};
}

void add_spare(Plan &plan, bool keep)
{
	std::vector<Partition> &partitions = plan.tried.back().allocation.partitions;
	Problem problem = plan.problem();

	for (const Partition &p : partitions)
		plan.needed.push_back(p.tpcs);
	if (!keep)
		assign_spare(problem, partitions);
	for (const Partition &p : partitions)
		plan.slack.push_back(problem.slack(p.tasks, p.tpcs));
}

} // namespace

std::vector<Attempt> find_allocation(const Problem &problem, const PlanOptions &options)
{
	std::vector<Attempt> tried;

	if (options.exact)
		return {{"exact", NO_HEURISTIC, find_optimum(problem)}};
	for (const Heuristic &h : list_heuristics(problem, options)) {
		tried.push_back({h.name(), h, allocate(problem, h)});
		const Allocation &a = tried.back().allocation;
		if (a.fits || a.too_much || !a.impossible.empty())
			return tried;
	}
	if (options.heuristic != "auto")
		return tried;
	if (problem.tasks().size() <= MAX_EXACT_TASKS)
		tried.push_back({"exact", NO_HEURISTIC, find_optimum(problem)});
	else if (u64 steps = options.search.value_or(problem.tasks().size() > MANY_TASKS ? 0 : DEFAULT_SEARCH))
		tried.push_back(
			{"search", NO_HEURISTIC, search_divisions(problem, smallest_of(tried).partitions, steps)});
	return tried;
}

bool Plan::gave_up() const
{
	return !allocation().fits && !is_refuted() &&
	       std::any_of(tried.begin(), tried.end(), [](const Attempt &a) { return a.allocation.gave_up > 0; });
}

bool Plan::is_refuted() const
{
	const Allocation &a = allocation();

	return a.too_much || !a.impossible.empty() || (tried.back().name == "exact" && !a.fits && !a.gave_up);
}

Plan make_plan(const std::string &text, const std::string &name, const GpcMap &map, const PlanOptions &options)
{
	Plan plan;

	plan.map = map;
	plan.file = parse_tasks(text, name, map.tpcs);
	TpcMask taken = find_reserved(plan.file.reserved, map, name);
	plan.sizes = {map.tpcs - taken.count(), options.quantum, options.least};
	plan.reserved = taken.count();
	plan.test = options.test.value_or(DEFAULT_TEST);
	plan.sharing = options.sharing;
	plan.placing = options.placing;
	if (!plan.sizes.largest())
		throw Error(Error::Input,
			    fmt::format("{}: only {} of {} TPCs are not reserved, fewer than the smallest partition",
					name, plan.sizes.tpcs, map.tpcs));
	if (options.exact && plan.file.tasks.size() > MAX_EXACT_TASKS)
		throw Error(Error::Input, fmt::format("{}: {} tasks, but --exact supports at most {}", name,
						      plan.file.tasks.size(), MAX_EXACT_TASKS));
	plan.on = options.on;
	if (plan.on == Place::Mig)
		plan_on_mig(plan, options, name);
	else
		plan.tried = find_allocation(plan.problem(), options);
	std::vector<Partition> &partitions = plan.tried.back().allocation.partitions;
	bool on_mig = plan.on == Place::Mig;
	if (!on_mig) // instances have the order of their partitions
		std::sort(partitions.begin(), partitions.end(),
			  [](const Partition &a, const Partition &b) { return a.tasks < b.tasks; });
	if (plan.allocation().fits)
		add_spare(plan, options.keep_spare || on_mig);
	plan.notes = notes_on_tasks(plan);
	if (plan.allocation().fits && !map.gpcs.empty() && !on_mig) {
		std::vector<u32> sizes;
		sizes.reserve(partitions.size());
		for (const Partition &p : partitions)
			sizes.push_back(p.tpcs);
		plan.masks = place_partitions(map, taken, sizes, options.placing);
	}
	for (const std::string &note : notes_on_place(plan))
		plan.notes.push_back(note);
	return plan;
}

} // namespace tool::plan
