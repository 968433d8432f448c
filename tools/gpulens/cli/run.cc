// SPDX-License-Identifier: GPL-2.0
// The rows of run and partitions.
#include "gpulens/cmd/run.hpp"

#include "gpulens/cli/commands.hpp"
#include "gpulens/cli/options.hpp"
#include "gpulens/cmd/partitions.hpp"
#include "gpulens/cmd/tpc_limit.hpp"

#include <memory>

namespace tool {

namespace {

int start_program(const Options &options, const std::optional<std::string> &limit, RunOptions &run)
{
	int status = limit ? limit_program(options, *limit, run) : EXIT_DONE;

	return status == EXIT_DONE ? run_program(run) : status;
}

void add_partitions(CLI::App &parser, CommandLine &line)
{
	auto methods = std::make_shared<bool>(false);

	parser.add_flag("--ways", *methods, "try each method of partitioning on this GPU, and show which work");
	parser.callback([methods, &line] {
		refuse_files(line.options, "partitions");
		line.status = *methods ? show_methods(line.options) : show_partitions(line.options);
	});
}

} // namespace

void add_run(CLI::App &parser, CommandLine &line, const StartProgram &start)
{
	struct Arguments {
		RunOptions run;
		std::string tpcs, gpcs, half;
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

	parser.add_option(
		      "-o,--output", arguments->run.file,
		      "write TSGs as JSON lines while the program runs, for gpulens record --tsgs (default: print a "
		      "table when it ends)")
		->type_name("FILE")
		->check(not_an_option());
	parser.add_option("PROGRAM", arguments->run.program, "program and its arguments, after --")
		->type_name("")
		->required();
	parser.callback([arguments, tpcs, gpcs, half, start, &line] {
		refuse_files(line.options, "run");
		std::optional<std::string> limit;
		if (*tpcs)
			limit = arguments->tpcs;
		else if (*gpcs)
			limit = "gpc:" + arguments->gpcs;
		else if (*half)
			limit = "half:" + arguments->half;
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
		  "gpulens -g 0 run --gpcs 2,3 -- ./kernels      only on the TPCs of GPCs 2 and 3"},
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
