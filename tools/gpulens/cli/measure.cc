// SPDX-License-Identifier: GPL-2.0
// The row of sweep.
#include "gpulens/cli/commands.hpp"
#include "gpulens/cli/options.hpp"
#include "gpulens/measure/sweep.hpp"

#include <memory>

namespace tool {

namespace {

void add_probe(CLI::App &parser, std::string &path)
{
	parser.add_option("--probe", path, "program with the kernels of gpulens (default: the installed one)")
		->type_name("FILE")
		->check(not_an_option());
}

void add_sweep(CLI::App &parser, CommandLine &line)
{
	auto options = std::make_shared<measure::SweepOptions>();

	CLI::Option *program = parser.add_option("PROGRAM", options->program,
						 "program and its arguments, after --; it is run for each size")
				       ->type_name("");
	CLI::Option *scenario =
		parser.add_option("--scenario", options->scenario,
				  "measure kernels of gpulens instead: matrix-copy (a matrix product and a "
				  "copy), a name from probe-kernels --list, or a file, as in docs/blocks.md")
			->type_name("SCENARIO")
			->excludes(program);
	parser.add_option("--sizes", options->sizes,
			  "numbers of TPCs: 1-8,16, or all (default: powers of two, and the whole GPU)")
		->type_name("LIST")
		->check(check_that([](const std::string &text) { return text.empty() ? "an empty list" : ""; }));
	add_choice<plan::Placing>(
		parser, "--place", options->placing,
		{{"packed", plan::Placing::Packed}, {"distributed", plan::Placing::Distributed}}, "PLACING",
		"packed (whole GPCs first) or distributed (over as many GPCs as possible) (default: packed)");
	parser.add_option("--repeat", options->repeat, "runs of each size (default: 3)")
		->type_name("N")
		->check(in_range(1U, 10000U));
	CLI::Option *time = parser.add_option("--time", options->pattern,
					      "extended regular expression; its group in parentheses is a time in the "
					      "program's output, and "
					      "each match one sample (default: the program's time from start to end)")
				    ->type_name("REGEX")
				    ->excludes(scenario);
	add_choice<double>(parser, "--unit", options->unit_us, {{"us", 1}, {"ms", 1e3}, {"s", 1e6}}, "UNIT",
			   "unit of times in the output: us, ms or s (default: us)")
		->needs(time);
	parser.add_option("--name", options->name, "name of the task (default: the program's file name)")
		->type_name("TASK")
		->excludes(scenario)
		->check(check_that([](const std::string &name) {
			return measure::is_task_name(name) ? "" : "not printable ASCII without blanks and commas";
		}));
	add_probe(parser, options->probe);
	parser.add_option("-o,--output", options->file, "write CSV to FILE (default: standard output)")
		->type_name("FILE")
		->check(not_an_option());
	parser.callback([options, &line] {
		refuse_files(line.options, "sweep");
		if (options->program.empty() == options->scenario.empty())
			throw CLI::ValidationError("sweep", "either PROGRAM or --scenario is wanted");
		line.status = measure::sweep_command(line.options, *options);
	});
}

} // namespace

Commands measure_commands()
{
	return {
		{"sweep",
		 "measure times by the number of TPCs, as CSV for gpulens fit",
		 {"gpulens sweep --scenario matrix-copy -o times.csv",
		  "gpulens sweep --sizes 8,16,32 -o times.csv -- ./infer        time from start to end",
		  "gpulens sweep --time 'took ([0-9.]+) ms' --unit ms -- ./infer    times that the program prints"},
		 add_sweep},
	};
}

} // namespace tool
