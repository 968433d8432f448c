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

// The parameters of random tasks that the thesis leaves to its reader.
void add_generator(CLI::App &parser, plan::Generator &g)
{
	auto add = [&](const char *name, std::vector<double> &values, const char *type, double least, double most,
		       const std::string &about) {
		return parser.add_option(name, values, about)
			->type_name(type)
			->delimiter(',')
			->check(in_range(least, most));
	};

	parser.add_option("--memory-tasks", g.memory, "probability that a task is of class memory (default: 0.5)")
		->type_name("P")
		->check(in_range(0.0, 1.0));
	parser.add_option("--deadline", g.deadline, "deadlines, as a share of periods (default: 0.75)")
		->type_name("SHARE")
		->check(in_range(0.001, 1.0));
	add("--periods", g.periods, "LIST", 1, 1000000,
	    "periods to draw from, ascending (default: 50,80,100,125,160,200,250,400,500,800,1000,2000,4000)");
	add("--conflict", g.conflict, "K,K", 1, 1000,
	    "times in conflict by those alone, of compute and of memory tasks (default: 1.2,2.3)")
		->expected(2);
	add("--serial-part", g.serial, "B,B", 0, 100,
	    "serial part of tasks, by what runs in parallel, of compute and of memory tasks (default: 0.02,0.1)")
		->expected(2);
	parser.add_flag("--literal", g.literal, "serial part of tasks as printed in the thesis; see docs/evaluate.md");
	parser.add_flag("--no-serial-part", g.no_serial, "tasks without a serial part; see docs/evaluate.md")
		->excludes("--literal")
		->excludes("--serial-part");
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
	add_utilization("--cap", e.generator.cap, "largest utilization of a task (default: no limit)");
	add_generator(parser, e.generator);
	parser.add_option("--heuristics", e.ways,
			  "which to count, with commas between: those of gpulens plan --heuristic, exact (of up to 14 "
			  "tasks), and "
			  "bound: sets that Lemmas 1 and 2 do not exclude (default: all but auto, exact and bound)")
		->type_name("LIST")
		->delimiter(',')
		->check(one_of(plan::all_ways()));
	add_list(parser, "-o,--output", arguments->evaluation.files, "FILE", "write curves to FILE.csv or FILE.svg")
		->check(file_of({".csv", ".svg"}));
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
