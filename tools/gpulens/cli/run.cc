// SPDX-License-Identifier: GPL-2.0
// The rows of run and partitions.
#include "gpulens/cmd/run.hpp"

#include "gpulens/cli/commands.hpp"
#include "gpulens/cli/options.hpp"
#include "gpulens/cmd/partitions.hpp"
#include "gpulens/cmd/tpc_limit.hpp"
#include "gpulens/plan/planned_task.hpp"
#include "lib/base/file.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <memory>

namespace tool {

namespace {

int start_program(const Options &options, const std::optional<std::string> &limit, RunOptions &run)
{
	int status = limit ? limit_program(options, *limit, run) : EXIT_DONE;

	return status == EXIT_DONE ? run_program(run) : status;
}

void add_quiet(CLI::App &parser, bool &quiet)
{
	parser.add_flag("-q,--quiet", quiet, "do not print what a partition does not separate: time, L2 cache, memory");
}

// Returns the limit of a task of a plan, and stores in run where the plan places it.
std::string limit_of_task(const std::string &file, const std::string &task, RunOptions &run)
{
	plan::PlannedTask found = plan::find_planned_task(read_file(file), file, task);

	run.planned = {.file = file, .device = found.device, .gpcs = found.gpcs};
	return fmt::format("{}", fmt::join(found.tpcs, ","));
}

void add_partitions(CLI::App &parser, CommandLine &line)
{
	auto methods = std::make_shared<bool>(false);
	auto quiet = std::make_shared<bool>(false);

	parser.add_flag("--ways", *methods, "try each method of partitioning on this GPU, and show which work");
	add_quiet(parser, *quiet);
	parser.callback([methods, quiet, &line] {
		refuse_files(line.options, "partitions");
		line.status = *methods ? show_methods(line.options) : show_partitions(line.options, *quiet);
	});
}

} // namespace

void add_run(CLI::App &parser, CommandLine &line, const StartProgram &start)
{
	struct Arguments {
		RunOptions run;
		std::string tpcs, gpcs, half, plan, task;
	};
	auto arguments = std::make_shared<Arguments>();
	// An empty value must not mean "no limit".
	CLI::Validator not_empty = check_that([](const std::string &text) {
		return text.empty() ? "an empty limit would let the program run on the whole GPU" : "";
	});
	CLI::Option *tpcs = parser.add_option("--tpcs", arguments->tpcs,
					      "limit the program's kernels to these TPCs: 0-9,12 or 0x3ff")
				    ->type_name("TPCS")
				    ->check(not_empty);
	CLI::Option *gpcs = parser.add_option("--gpcs", arguments->gpcs,
					      "limit the program's kernels to the TPCs of these GPCs: 2,3")
				    ->type_name("GPCS")
				    ->check(not_empty)
				    ->excludes(tpcs);
	CLI::Option *half = parser.add_option("--half", arguments->half,
					      "limit the program's kernels to one half of the GPCs: a or b")
				    ->type_name("HALF")
				    ->check(one_of({"a", "b"}))
				    ->excludes(tpcs)
				    ->excludes(gpcs);
	CLI::Option *plan =
		parser.add_option("--plan", arguments->plan,
				  "limit the program's kernels to the TPCs that this plan (output of gpulens plan "
				  "--json) gives to --task")
			->type_name("FILE")
			->check(not_empty)
			->check(not_an_option())
			->check(check_that([](const std::string &name) {
				return name == "-" ? "standard input is the program's" : "";
			}))
			->excludes(tpcs)
			->excludes(gpcs)
			->excludes(half);
	CLI::Option *task = parser.add_option("--task", arguments->task, "name of the task in the plan")
				    ->type_name("TASK")
				    ->check(not_empty)
				    ->needs(plan);
	plan->needs(task);
	add_quiet(parser, arguments->run.quiet);

	parser.add_option(
		      "-o,--output", arguments->run.file,
		      "write TSGs as JSON lines while the program runs, for gpulens record --tsgs (default: print a "
		      "table when it ends)")
		->type_name("FILE")
		->check(not_an_option());
	parser.add_option("PROGRAM", arguments->run.program, "program and its arguments, after --")
		->type_name("")
		->required();
	parser.callback([arguments, tpcs, gpcs, half, plan, start, &line] {
		refuse_files(line.options, "run");
		std::optional<std::string> limit;
		if (*tpcs)
			limit = arguments->tpcs;
		else if (*gpcs)
			limit = "gpc:" + arguments->gpcs;
		else if (*half)
			limit = "half:" + arguments->half;
		else if (*plan)
			limit = limit_of_task(arguments->plan, arguments->task, arguments->run);
		line.status = start(line.options, limit, arguments->run);
	});
}

Commands run_commands()
{
	return {
		{"run",
		 "run a program and list the TSGs and channels that NVIDIA's driver gives it; optionally limit it to "
		 "some TPCs",
		 {"gpulens run -- python3 train.py", "gpulens run -o tsgs.jsonl -- ./kernels",
		  "gpulens -g 0 run --gpcs 2,3 -- ./kernels      only on the TPCs of GPCs 2 and 3",
		  "gpulens run --plan plan.json --task camera -- ./camera"},
		 [](CLI::App &parser, CommandLine &line) { add_run(parser, line, start_program); },
		 "-o FILE gets a line of JSON for each TSG"},
		{"partitions",
		 "list processes that gpulens run or libgpulens-partition limits to TPCs, and what they share",
		 {"gpulens partitions", "sudo gpulens partitions --json    processes of all users",
		  "gpulens -g 0 partitions --ways    what GPU 0 and its driver support"},
		 add_partitions},
	};
}

} // namespace tool
