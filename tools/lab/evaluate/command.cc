// SPDX-License-Identifier: GPL-2.0
// Prints evaluations, and writes their curves.
#include "lab/evaluate/command.hpp"

#include "gpulens/out/progress.hpp"
#include "lab/evaluate/evaluate.hpp"
#include "lib/base/file.hpp"

#include <algorithm>
#include <cstdio>

namespace tool::plan {

int evaluate_command(const Options &options, const PlanOptions &plan_options, const EvaluateOptions &evaluate_options)
{
	Evaluation e = evaluate_options.evaluation;

	e.test = plan_options.test.value_or(Criterion::Edf);
	e.sharing = plan_options.sharing;
	e.start = plan_options.start.value_or(Start::Largest);
	e.ties = plan_options.ties.value_or(Ties::First);
	e.quantum = plan_options.quantum;
	e.least = plan_options.least;
	e.tpcs = plan_options.tpcs.value_or(e.tpcs);
	const std::vector<std::string> &ways = e.ways;
	std::vector<double> &periods = e.generator.periods;
	if (std::find(ways.begin(), ways.end(), "exact") != ways.end() &&
	    *std::max_element(e.tasks.begin(), e.tasks.end()) > MAX_EXACT_TASKS) {
		std::fprintf(stderr, "gpulens-lab: --heuristics exact takes sets of at most %u tasks (--tasks)\n",
			     MAX_EXACT_TASKS);
		return EXIT_USAGE;
	}
	std::sort(periods.begin(), periods.end());
	if (!Sizes{e.tpcs, e.quantum, e.least}.largest() || e.utilizations().empty()) {
		std::fprintf(stderr, "gpulens-lab: %s\n",
			     e.utilizations().empty()
				     ? "--from is above --to"
				     : "--least and --quantum allow no partition on that number of TPCs");
		return EXIT_USAGE;
	}
	Results results;
	{
		ProgressBar bar;
		results = evaluate(e, [&](u64 done, u64 all) { bar.show(done, all); });
	}
	for (const std::string &file : evaluate_options.files)
		write_file(file,
			   file.ends_with(".csv") ? results_csv(results, evaluate_options.times) : curves_svg(results));
	return print_text(options.json ? json_text(results_json(results)) : results_text(results)) ? EXIT_DONE
												   : EXIT_PART;
}

} // namespace tool::plan
