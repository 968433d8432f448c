// SPDX-License-Identifier: GPL-2.0
// The rows of verify, sweep and load.
#include "gpulens/cli/commands.hpp"
#include "gpulens/cli/limit.hpp"
#include "gpulens/cli/options.hpp"
#include "gpulens/measure/neighbour.hpp"
#include "gpulens/measure/sweep.hpp"
#include "gpulens/measure/verify.hpp"

#include <algorithm>
#include <memory>

namespace tool {

namespace {

const std::string NO_NEIGHBOUR = "none";
constexpr u32 MAX_RUNS_WITHIN = 100;

void add_probe(CLI::App &parser, std::string &path)
{
	parser.add_option("--probe", path, "program with the kernels of gpulens (default: the installed one)")
		->type_name("FILE")
		->check(not_an_option());
}

std::vector<std::string> neighbour_names()
{
	std::vector<std::string> names;

	names.reserve(std::size(measure::NEIGHBOURS));
	for (const measure::NeighbourKind &kind : measure::NEIGHBOURS)
		names.emplace_back(kind.name);
	return names;
}

// Parses "compute,memory" or "none", which some_of() has checked. Throws CLI::ValidationError.
std::vector<std::string> parse_neighbours(const std::string &text)
{
	std::vector<std::string> list;

	for (const std::string &name : CLI::detail::split(text, ',')) {
		if (name == NO_NEIGHBOUR && text != NO_NEIGHBOUR)
			throw CLI::ValidationError("--neighbours", text + ": none and a neighbour exclude each other");
		if (name != NO_NEIGHBOUR && !std::count(list.begin(), list.end(), name))
			list.push_back(name);
	}
	return list;
}

void add_verify(CLI::App &parser, CommandLine &line)
{
	auto options = std::make_shared<measure::VerifyOptions>();
	LimitOptions limit(parser, "the program's kernels");

	std::vector<std::string> neighbours = neighbour_names();
	options->neighbours = neighbours;
	neighbours.push_back(NO_NEIGHBOUR);
	CLI::Option *program = parser.add_option("PROGRAM", options->program,
						 "program and its arguments, after --; it is run several times")
				       ->type_name("");
	CLI::Option *pid =
		parser.add_option("--pid", options->pid,
				  "verify this process, which is limited already, instead of running a program")
			->type_name("PID")
			->check(in_range(1U, u32{INT32_MAX}))
			->excludes(program);
	limit.exclude(pid);
	parser.add_option_function<std::string>(
		      "--neighbours",
		      [options](const std::string &text) { options->neighbours = parse_neighbours(text); },
		      "neighbours to measure beside: some of compute,memory,copies, or none (default: all)")
		->type_name("NEIGHBOURS")
		->check(some_of(neighbours));
	parser.add_option("--repeat", options->repeat, "timed runs alone, and beside each neighbour (default: 3)")
		->type_name("N")
		->check(in_range(1U, 1000U));
	parser.add_option("--max-slowdown", options->max_slowdown,
			  "times as long as alone that a neighbour may make it take (default: 1.1)")
		->type_name("FACTOR")
		->check(in_range(1.0, 1000.0));
	parser.add_flag("--mps", options->mps,
			"under MPS, with a daemon as of gpulens run --mps: neighbours run at the same time");
	add_probe(parser, options->probe);
	parser.add_option("-o,--output", options->file, "draw the verdict, SMs and times to FILE.svg")
		->type_name("FILE")
		->check(file_of({".svg"}));
	parser.callback([options, limit, pid, &line] {
		refuse_files(line.options, "verify");
		if (options->program.empty() == !*pid)
			throw CLI::ValidationError("verify", "either PROGRAM or --pid is wanted");
		if (!*pid && !limit.is_given())
			throw CLI::ValidationError("verify", "a limit is wanted: --tpcs, --gpcs, --half or --plan");
		if (std::optional<Limit> given = limit.limit())
			options->limit = *given;
		line.status = measure::verify_command(line.options, *options);
	});
}

void add_sweep(CLI::App &parser, CommandLine &line)
{
	auto options = std::make_shared<measure::SweepOptions>();
	add_no_cooperative(parser);

	CLI::Option *program = parser.add_option("PROGRAM", options->program,
						 "program and its arguments, after --; it is run for each size")
				       ->type_name("");
	CLI::Option *scenario =
		parser.add_option(
			      "--scenario", options->scenario,
			      "measure kernels of gpulens instead: matrix-copy (a matrix product and a "
			      "copy), a name from gpulens-lab probe-kernels --list, or a file, as in docs/blocks.md")
			->type_name("SCENARIO")
			->excludes(program);
	parser.add_option("--sizes", options->sizes,
			  "numbers of TPCs: 1-8,16, or all (default: powers of two, three quarters, and the whole GPU)")
		->type_name("LIST")
		->check(check_that([](const std::string &text) { return text.empty() ? "an empty list" : ""; }));
	add_choice<plan::Placing>(
		parser, "--place", options->placing,
		{{"packed", plan::Placing::Packed}, {"distributed", plan::Placing::Distributed}}, "PLACING",
		"packed (whole GPCs first) or distributed (over as many GPCs as possible) (default: packed)");
	CLI::Option *repeat = parser.add_option("--repeat", options->repeat,
						"runs of each size; with --within at most (default: 3, and 100 with "
						"--within)")
				      ->type_name("N")
				      ->check(in_range(1U, 10000U));
	CLI::Option *within = parser.add_option("--within", options->within,
						"run each size until the 95 % confidence interval of the mean time is "
						"within so many percent of it")
				      ->type_name("PERCENT")
				      ->check(in_range(0.01, 100.0));
	add_choice<bool>(parser, "--on", options->on_mps, {{"masks", false}, {"mps", true}}, "PLACE",
			 "masks, or mps: the same, under MPS with a daemon as of gpulens run --mps (default: masks)");
	parser.add_option_function<std::string>(
		      "--beside", [options](const std::string &text) { options->beside = parse_neighbours(text); },
		      "measure also beside these neighbours on all other TPCs, with --on mps: some of compute,memory")
		->type_name("NEIGHBOURS")
		->check(some_of({"compute", "memory"}));
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
	CLI::Option *output =
		parser.add_option("-o,--output", options->file,
				  "write CSV to FILE, and runs to FILE.partial until then (default: standard output)")
			->type_name("FILE")
			->check(not_an_option());
	parser.add_flag("--resume", options->resume, "go on with the runs of FILE.partial, if it is there")
		->needs(output);
	parser.callback([options, repeat, within, &line] {
		refuse_files(line.options, "sweep");
		if (options->program.empty() == options->scenario.empty())
			throw CLI::ValidationError("sweep", "either PROGRAM or --scenario is wanted");
		if (!options->beside.empty() && !options->on_mps)
			throw CLI::ValidationError(
				"--beside",
				"it needs --on mps: processes on one runlist take turns (RTAS'24, rule R4), "
				"so a neighbour would not run beside the program");
		if (*within) {
			options->within /= 100;
			options->repeat = *repeat ? options->repeat : MAX_RUNS_WITHIN;
		}
		line.status = measure::sweep_command(line.options, *options);
	});
}

void add_neighbour(CLI::App &parser, CommandLine &line)
{
	auto options = std::make_shared<measure::NeighbourOptions>();
	LimitOptions limit(parser, "the neighbour");

	parser.add_option(
		      "KIND", options->kind,
		      "compute (matrix products), memory (copies by kernels, beyond the L2 cache) or copies (between "
		      "the CPU's memory and the GPU's, by copy engines)")
		->type_name("")
		->required()
		->check(one_of(neighbour_names()));
	add_duration(parser, "--for", options->for_ns, 1000000000, "end after this time (default: on Ctrl-C)");
	add_probe(parser, options->probe);
	parser.callback([options, limit, &line] {
		refuse_files(line.options, "load");
		options->limit = limit.limit();
		line.status = measure::neighbour_command(line.options, *options);
	});
}

} // namespace

Commands measure_commands()
{
	return {
		{"verify",
		 "collect evidence that a program stays on its TPCs, and measure how much neighbours slow it down",
		 {"gpulens verify --tpcs 0-9 -- ./kernels        exit status 0 held, 1 violated, 5 unknown",
		  "gpulens verify --half a --neighbours memory -o verify.svg -- ./kernels",
		  "gpulens verify --pid 1234                      a process that gpulens run has limited"},
		 add_verify},
		{"sweep",
		 "measure times by the number of TPCs, as CSV for gpulens fit",
		 {"gpulens sweep --scenario matrix-copy -o times.csv",
		  "gpulens sweep --sizes 8,16,32 -o times.csv -- ./infer        time from start to end",
		  "gpulens sweep --time 'took ([0-9.]+) ms' --unit ms -- ./infer    times that the program prints"},
		 add_sweep},
		{"load",
		 "load a GPU, or some of its TPCs, as a worst neighbour of other programs",
		 {"gpulens load memory --half b --for 10s", "gpulens load copies"},
		 add_neighbour},
	};
}

} // namespace tool
