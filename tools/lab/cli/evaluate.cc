// SPDX-License-Identifier: GPL-2.0
// The row of evaluate.
#include "lab/evaluate/command.hpp"

#include "gpulens/cli/options.hpp"
#include "gpulens/cli/plan.hpp"
#include "lab/cli/commands.hpp"

#include <algorithm>
#include <memory>

namespace tool {

namespace {

struct EvaluateArguments {
	plan::PlanOptions plan;
	plan::EvaluateOptions evaluation;
};

CLI::Validator is_utilization()
{
	return check_that([](const std::string &text) {
		double u = 0;
		return CLI::detail::lexical_cast(text, u) && u >= 0.01 && u <= plan::MAX_TPCS
			       ? ""
			       : "not a utilization: " + text;
	});
}

void add_evaluate(CLI::App &parser, CommandLine &line)
{
	auto arguments = std::make_shared<EvaluateArguments>();
	plan::Evaluation &e = arguments->evaluation.evaluation;
	auto add_utilization = [&](const char *name, double &value, const char *about) {
		parser.add_option(name, value, about)->type_name("U")->check(is_utilization());
	};

	add_list(parser, "--tasks", e.tasks, "N", "tasks per set (default: 50 and 200)")
		->check(in_range(1U, plan::MAX_TASKS));
	parser.add_option("--sets", e.sets, "task sets per utilization (default: 100)")
		->type_name("N")
		->check(in_range(1U, 1000000U));
	parser.add_option("--seed", e.seed, "seed of the random task sets (default: 1)")->type_name("N");
	add_utilization("--from", e.from, "smallest total utilization (default: 2)");
	add_utilization("--to", e.to, "largest total utilization (default: the number of TPCs)");
	add_utilization("--step", e.step, "step between total utilizations (default: 2)");
	add_utilization("--cap", e.cap, "largest utilization of a task (default: no limit)");
	parser.add_flag("--literal", e.literal, "serial part of tasks as printed in the thesis; see docs/evaluate.md");
	parser.add_flag("--no-serial-part", e.no_serial, "tasks without a serial part; see docs/evaluate.md")

		->excludes("--literal");
	add_list(parser, "-o,--output", arguments->evaluation.files, "FILE", "write curves to FILE.csv or FILE.svg")
		->check(check_that([](const std::string &name) {
			return plan::is_results_file(name) ? "" : "neither .csv nor .svg: " + name;
		}));
	parser.add_flag("--times", arguments->evaluation.times, "add the mean time of an analysis to FILE.csv");
	add_sizes(parser, arguments->plan, "number of TPCs (default: 68)");
	add_test(parser, arguments->plan, "edf");
	parser.callback([arguments, &line] {
		const std::vector<std::string> &files = arguments->evaluation.files;
		refuse_gpus(line.options, "evaluate");
		if (arguments->evaluation.times &&
		    std::none_of(files.begin(), files.end(), [](const std::string &f) { return f.ends_with(".csv"); }))
			throw CLI::ValidationError("--times", "no FILE.csv is named with --output");
		line.status = plan::evaluate_command(line.options, arguments->plan, arguments->evaluation);
	});
}

} // namespace

Commands evaluate_commands()
{
	return {
		{"evaluate",
		 "count the random task sets that each heuristic of gpulens plan fits, by utilization",
		 {"gpulens-lab evaluate --sets 20 -o curves.svg -o curves.csv",
		  "gpulens-lab evaluate --tpcs 66 --test np-edf --tasks 20"},
		 add_evaluate},
	};
}

} // namespace tool
