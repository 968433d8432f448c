// SPDX-License-Identifier: GPL-2.0
// The rows of experiment and tenants.
#include "gpulens/cli/limit.hpp"
#include "gpulens/cli/options.hpp"
#include "lab/cli/commands.hpp"
#include "lab/experiment/command.hpp"
#include "lab/tenants.hpp"

#include <memory>

namespace tool {

namespace {

void add_experiment(CLI::App &parser, CommandLine &line)
{
	auto options = std::make_shared<experiment::ExperimentOptions>();

	CLI::Option *names = parser.add_option("NAME", options->names, "experiments, names from --list")
				     ->type_name("")
				     ->check(one_of(experiment::experiment_names()));
	CLI::Option *all =
		parser.add_flag("--all", options->all, "all experiments, one after another")->excludes(names);
	CLI::Option *list = parser.add_flag("--list", options->list, "list the experiments")->excludes(names, all);
	CLI::Option *simulate = parser.add_flag("--simulate", options->simulate,
						"simulate a GPU by the rules instead of measuring this machine's");
	add_choice<std::string>(parser, "--without", options->without,
				{{"R1", "R1"},
				 {"R2", "R2"},
				 {"R4", "R4"},
				 {"R5", "R5"},
				 {"R8", "R8"},
				 {"masks", "masks"},
				 {"slices", "slices"},
				 {"P3.4", "P3.4"}},
				"RULE",
				"simulate a GPU that does not keep to this rule: the verdict must not be \"seen\"")
		->needs(simulate);
	parser.add_option("--processes", options->processes,
			  "processes of fig6 and fig7; 1: two streams of one process (default: 2)")
		->type_name("N")
		->check(in_range(1U, 2U));
	add_duration(parser, "--run", options->run_ns, 1000000000,
		     "time in which all tasks of r1 and fig6 to fig9 run at once, and of each round of sharing "
		     "(default: 500ms, of sharing 6s)");
	parser.add_option("--chunk", options->chunk_bytes,
			  "bytes of each copy of fig7 to fig9, 4k to 64M; the time of one is the error of lengths "
			  "(default: 1M)")
		->type_name("SIZE")
		->transform(CLI::AsSizeValue(false).description(""))
		->check(in_range(u64{4} << 10, u64{64} << 20));
	parser.add_option_function<double>(
		      "--within", [options](double percent) { options->table.within = percent / 100; },
		      "repeat jobs of table3, fig13 and fig14 until the 95 % confidence interval of each mean is "
		      "within so "
		      "many percent of it (default: 2)")
		->type_name("PERCENT")
		->check(in_range(0.01, 100.0));
	add_duration(parser, "--for", options->table.for_ns, 1000000000,
		     "or until this time is over, for each of them (default: 30s)");
	parser.add_option("--sizes", options->table.sizes,
			  "numbers of TPCs of fig13: 1-8,16, or all (default: powers of two, and the whole GPU)")
		->type_name("LIST");
	CLI::Option *job =
		add_choice<experiment::Job>(
			parser, "--job", options->table.job,
			{{"product", experiment::Job::Product},
			 {"net", experiment::Job::Net},
			 {"eager", experiment::Job::Eager}},
			"JOB",
			"job of table3, fig13 and fig14: product (of matrices) or net (a convolution net in PyTorch); "
			"of sharing: kernels or, with net, a transformer in PyTorch as a CUDA graph, or eager: without "
			"one (default: product)")
			->excludes(simulate);
	parser.add_option_function<std::string>(
		      "--program",
		      [options](const std::string &command) {
		options->table.program = {"sh", "-c", command};
		      },
		      "run this command of the shell in table3, fig13 and fig14, in place of matrix products; its time "
		      "is that "
		      "from start to end")
		->type_name("COMMAND")
		->excludes(simulate, job);
	parser.add_option("-o,--output", options->folder,
			  "folder for NAME.json, NAME.svg and NAME.csv of each experiment; it is made if missing")
		->type_name("DIR")
		->check(not_an_option());
	parser.callback([options, list, simulate, &line] {
		refuse_files(line.options, "experiment");
		if (*simulate || *list)
			refuse_gpus(line.options, *list ? "experiment --list" : "experiment --simulate");
		if (!options->all && !*list && options->names.empty())
			throw CLI::ValidationError("experiment", "NAME, --all or --list is wanted");
		line.status = experiment::experiment_command(line.options, *options);
	});
}

void add_tenants(CLI::App &parser, CommandLine &line)
{
	auto options = std::make_shared<measure::TenantsOptions>();
	add_no_cooperative(parser);

	parser.add_option("EXPERIMENT", options->experiment,
			  "cases (a task beside a neighbour that launches without end, with and without halves), sizes "
			  "(time by the number of TPCs), launches (cost of a launch) or neighbours (jobs beside each "
			  "other)")
		->type_name("")
		->required()
		->check(one_of({"cases", "sizes", "launches", "neighbours"}));
	add_choice<std::string>(parser, "--way", options->way, {{"masks", "0"}, {"green", "1"}}, "METHOD",
				"masks or green (green contexts) (default: masks)");
	parser.add_option("--program", options->program,
			  "program that launches the kernels (default: the installed one)")
		->type_name("FILE")
		->check(not_an_option());
	parser.callback([options, &line] {
		refuse_files(line.options, "tenants");
		line.status = measure::tenants_command(line.options, *options);
	});
}

} // namespace

Commands experiment_commands()
{
	return {
		{"experiment",
		 "repeat the experiments of RTAS'24, RTAS'23 and Otterness' thesis, and say which rule was seen",
		 {"gpulens-lab experiment --list",
		  "gpulens-lab experiment fig6 -o results       measure this machine's GPU",
		  "gpulens-lab experiment pitfalls            which calls of CUDA hold up whom with this driver",
		  "gpulens-lab experiment sharing             how two programs may share this GPU, with the numbers",
		  "gpulens-lab experiment --all --simulate    what the rules predict, without a GPU"},
		 add_experiment},
		{"tenants",
		 "measure what partitions of one process do to times, by the experiments of RTAS'23",
		 {"gpulens-lab tenants cases", "gpulens-lab tenants neighbours --way green --json"},
		 add_tenants},
	};
}

} // namespace tool
