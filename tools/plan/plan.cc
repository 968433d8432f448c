// SPDX-License-Identifier: GPL-2.0
// See plan.hpp.
#include "plan/plan.hpp"

#include "plan/optimum.hpp"

#include <algorithm>
#include <cstdio>
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

std::vector<Attempt> attempts(const Problem &problem, const PlanOptions &options)
{
	std::vector<Attempt> tried;

	if (options.exact)
		return {{"exact", optimum(problem)}};
	for (Heuristic h : all_heuristics()) {
		if (options.heuristic != "auto" && options.heuristic != h.name())
			continue;
		h.start = options.start;
		tried.push_back({h.name(), allocate(problem, h)});
		if (tried.back().allocation.fits || !tried.back().allocation.impossible.empty())
			break;
	}
	return tried;
}

GpcMap map_for(const Options &options, const PlanOptions &what, std::string &title)
{
	if (what.tpcs)
		return {*what.tpcs, {}};
	std::vector<Gpu> gpus = load_gpus(options.sources);
	if (gpus.size() != 1)
		throw SourceError("a plan is for one GPU: say -g X, or -i once");
	title = gpus[0].title();
	return gpc_map(gpus[0]);
}

} // namespace

Plan make_plan(const std::string &text, const std::string &name, const GpcMap &map, const PlanOptions &options)
{
	Plan plan;

	plan.map = map;
	plan.file = parse_tasks(text, name, map.tpcs);
	TpcMask taken = reserved_tpcs(plan.file.reserved, map, name);
	plan.sizes = {map.tpcs - taken.count(), options.quantum, options.least};
	plan.test = options.test;
	plan.placing = options.placing;
	plan.notes = notes_on(plan.file.tasks);
	if (!plan.sizes.largest())
		throw BadInput(fmt::format("{}: {} TPCs are left of {}, fewer than a partition may have", name,
					   plan.sizes.tpcs, map.tpcs));
	if (options.exact && plan.file.tasks.size() > MAX_EXACT_TASKS)
		throw BadInput(fmt::format("{}: {} tasks, and --exact takes {} at most", name, plan.file.tasks.size(),
					   MAX_EXACT_TASKS));
	plan.tried = attempts(Problem(plan.file.tasks, plan.sizes, plan.test), options);
	std::vector<Partition> &partitions = plan.tried.back().allocation.partitions;
	std::sort(partitions.begin(), partitions.end(),
		  [](const Partition &a, const Partition &b) { return a.tasks < b.tasks; });
	if (plan.allocation().fits && !map.gpcs.empty()) {
		std::vector<u32> sizes;
		for (const Partition &p : partitions)
			sizes.push_back(p.tpcs);
		plan.masks = place(map, taken, sizes, options.placing);
	}
	return plan;
}

int plan_command(const Options &options, const PlanOptions &what)
{
	try {
		std::string title, name = what.file == "-" ? "standard input" : what.file;
		GpcMap map = map_for(options, what, title);
		Plan plan = make_plan(read_whole(what.file, false), name, map, what);
		plan.gpu = title;
		bool shown = print(options.json ? plan_json(plan).dump(1, '\t') + '\n'
						: plan_text(plan, style_of_output(options.colour)));
		for (const std::string &text : impossible_texts(plan))
			std::fprintf(stderr, "gpulens: %s: %s\n", name.c_str(), text.c_str());
		return shown && plan.allocation().fits ? EXIT_DONE : EXIT_PART;
	} catch (const BadInput &e) {
		std::fprintf(stderr, "gpulens: %s\n", e.what());
		return EXIT_USAGE;
	}
}

} // namespace tool::plan
