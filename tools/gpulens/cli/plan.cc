// SPDX-License-Identifier: GPL-2.0
// plan and fit. See commands.hpp.
#include "gpulens/cli/plan.hpp"

#include "gpulens/cli/commands.hpp"
#include "gpulens/cli/options.hpp"
#include "lib/base/format.hpp"
#include "lib/tpc/place.hpp"

#include <algorithm>
#include <memory>
#include <stdexcept>

namespace tool {

namespace {

struct PlanArguments {
	plan::PlanOptions plan;
	std::string status; // file of a plan that is carried out; empty: plan one
};

std::string check_cost(const std::string &text)
{
	std::optional<u64> ns = parse_duration(text, 1000);

	return ns && *ns <= 1000000000 ? "" : "not a time of up to 1s: " + text;
}

// The options that say how tasks are divided into partitions.
void add_division(CLI::App &parser, plan::PlanOptions &options)
{
	begin_group(parser, "Partitions");
	add_sizes(parser, options, "plan for N TPCs of no particular GPU: sizes, not masks");
	parser.add_option(
		      "--heuristic", options.heuristic,
		      "sms-ina, sms-act, bf-ina, bf-act, 1g (one partition, the whole GPU), stgm, even, smart-even (a "
		      "partition for each task), or auto: the first of the first five that fits, by all readings, or "
		      "what --exact or --search finds (default: auto)")
		->type_name("HEURISTIC")
		->check(one_of({"auto", "sms-ina", "sms-act", "bf-ina", "bf-act", "1g", "stgm", "even", "smart-even"}));
	parser.add_flag("--exact", options.exact, "search all divisions for the fewest TPCs; for few tasks")
		->excludes("--heuristic");
	parser.add_option(
		      "--search", options.search,
		      "where auto finds no plan for more than 14 tasks: divide the tasks of some partitions anew as "
		      "often as this, until all fit (default: 200, and 0 for more than 1000 tasks)")
		->type_name("STEPS")
		->check(in_range(u64{0}, u64{1000000000}))
		->excludes("--exact");
	for (const char *merges : {"--start", "--ties"})
		parser.get_option(merges)->excludes("--exact");
	add_choice<bool>(parser, "--spare", options.keep_spare, {{"assign", false}, {"keep", true}}, "SPARE",
			 "TPCs that no partition needs: assign them to those with the least slack, or keep them free "
			 "(default: assign)");
	add_choice<plan::Placing>(
		parser, "--place", options.placing,
		{{"packed", plan::Placing::Packed}, {"distributed", plan::Placing::Distributed}}, "PLACING",
		"packed (whole GPCs first) or distributed (over as many GPCs as possible) (default: packed)")
		->excludes("--tpcs");
	add_choice<std::optional<plan::Place>>(parser, "--on", options.on,
					       {{"masks", plan::Place::Masks},
						{"green", plan::Place::Green},
						{"mig", plan::Place::Mig},
						{"mps", plan::Place::Mps}},
					       "PLACE",
					       "what partitions are made with: masks, mps (masks of programs that run "
					       "at the same time, under MPS) or green (green contexts), which gpulens "
					       "carries out; mig, whose sizes the plan keeps to and whose commands it "
					       "prints (default: masks)");
	parser.add_option(
		      "--mig-profiles", options.mig_file,
		      "with --on mig: what nvidia-smi mig -lgip prints of this GPU, and -lgipp where it has not seven "
		      "slices; - is standard input")
		->type_name("FILE")
		->check(not_an_option());
	begin_group(parser, "Schedulability test");
	add_test(parser, options, "np-edf");
	add_duration(parser, "--control", options.sharing.costs.control, 1000,
		     "add the reaction time of an external scheduler: from the arrival or the end of a job until its "
		     "decision has an effect (default: none)")
		->check(check_that(check_cost));
	add_duration(parser, "--switch", options.sharing.costs.switching, 1000,
		     "likewise, the time of a switch of the GPU between two jobs (default: none)")
		->check(check_that(check_cost));
	add_choice<bool>(
		parser, "--memory", options.sharing.separate_memory, {{"shared", false}, {"separate", true}}, "MEMORY",
		"shared by partitions, so that the factors `beside` count, or separate: each is a MIG instance "
		"(default: shared)");
}

void add_play(CLI::App &parser, plan::PlanOptions &options)
{
	begin_group(parser, "Simulation and picture");
	CLI::Option *play = add_duration(parser, "--play", options.play_ns, 1000000,
					 "simulate the plan for that long: misses and response times of each task");
	parser.add_option("--times", options.times,
			  "with --play: jobs take times of this file of gpulens sweep, drawn at random (default: each "
			  "job as long as planned)")
		->type_name("FILE.csv")
		->check(not_an_option())
		->needs(play);
	parser.add_option("-o,--output", options.picture,
			  "draw to FILE.svg which TPCs of which GPC a partition has, and with --play what runs when")
		->type_name("FILE.svg")
		->check(file_of({".svg"}));
}

// Refuses options that the other options leave without an effect.
void refuse_ignored(const CLI::App &parser, const PlanArguments &arguments)
{
	const std::string &heuristic = arguments.plan.heuristic;
	bool merges = heuristic == "auto" || heuristic.starts_with("sms") || heuristic.starts_with("bf");

	if (arguments.plan.on == plan::Place::Mig) {
		for (const char *unused : {"--heuristic", "--exact", "--search", "--start", "--ties", "--quantum",
					   "--least", "--spare", "--place", "--memory"})
			if (parser.count(unused))
				throw CLI::ValidationError(unused, "it has no effect with --on mig");
	} else if (parser.count("--mig-profiles")) {
		throw CLI::ValidationError("--mig-profiles", "it goes with --on mig");
	}
	plan::Criterion test = arguments.plan.test.value_or(plan::DEFAULT_TEST);
	for (const char *cost : {"--control", "--switch"})
		if (parser.count(cost) && !plan::counts_costs(test))
			throw CLI::ValidationError(cost, std::string("test ") + plan::criterion_name(test) +
								 " has no form that counts it");
	if (parser.count("--search") && heuristic != "auto")
		throw CLI::ValidationError("--search", "it goes with --heuristic auto");
	if (parser.count("--start") && !merges)
		throw CLI::ValidationError("--start", heuristic + " merges no partitions");
	if (parser.count("--ties") && heuristic != "auto" && !heuristic.starts_with("sms"))
		throw CLI::ValidationError("--ties", heuristic + " is not sms");
}

void add_plan(CLI::App &parser, CommandLine &line)
{
	auto arguments = std::make_shared<PlanArguments>();

	parser.add_option("FILE", arguments->plan.file,
			  "tasks in JSON, as in docs/plan.md; - is standard input; or status, with PLAN")
		->type_name("")
		->required();
	CLI::Option *status =
		parser.add_option("PLAN", arguments->status,
				  "output of --json: what became of the jobs of programs that carry it out by "
				  "libgpulens-partition: jobs, waits, overruns, misses")
			->type_name("");
	parser.add_flag("-q,--quiet", arguments->plan.quiet, "print no notes");
	add_division(parser, arguments->plan);
	add_play(parser, arguments->plan);
	for (CLI::Option *other : parser.get_options())
		if (other->nonpositional() && other != parser.get_help_ptr())
			other->excludes(status);
	parser.callback([arguments, status, &parser, &line] {
		const PlanArguments &given = *arguments;
		if ((given.plan.file == "status") == status->empty())
			throw CLI::ValidationError("plan", "status goes with PLAN, and with nothing else");
		if (!status->empty()) {
			refuse_gpus(line.options, "plan status");
			line.status = plan::status_command(line.options, given.status);
			return;
		}
		refuse_ignored(parser, *arguments);
		const SourceOptions &sources = line.options.sources;
		bool gpu = !sources.files.empty() || !sources.gpus.empty();
		if (gpu && given.plan.tpcs)
			throw CLI::ValidationError("--tpcs", "a GPU is named as well");
		line.status = plan::plan_command(line.options, given.plan);
	});
}

// An option with times of tasks: NAME=TIME, or TIME for all others.
CLI::Option *add_task_times(CLI::App &parser, const char *name, plan::TaskTimes &times, const char *about)
{
	auto store = [name, &times](const std::vector<std::string> &texts) {
		for (const std::string &text : texts) {
			size_t equals = text.rfind('=');
			std::optional<u64> ns = parse_duration(text.substr(equals + 1), 1000); // npos + 1 is 0
			if (!ns || !*ns)
				throw CLI::ValidationError(name, "not NAME=TIME or TIME: " + text);
			times[equals == text.npos ? "" : text.substr(0, equals)] = static_cast<double>(*ns) / 1000;
		}
	};

	return parser.add_option_function<std::vector<std::string>>(name, store, about)
		->type_name("[NAME=]TIME")
		->allow_extra_args(false);
}

void add_fit(CLI::App &parser, CommandLine &line)
{
	auto options = std::make_shared<plan::FitOptions>();
	auto curve = std::make_shared<bool>(false);

	parser.add_option("FILE", options->file,
			  "CSV with the columns task, tpcs, time_us and optionally conflict and beside; - is standard "
			  "input")
		->type_name("")
		->required();
	parser.add_flag(
		"--curve", *curve,
		"a and b of a / TPCs + b instead of times; blocks in waves take longer than that between measured "
		"sizes");
	CLI::Option *output = parser.add_option("-o,--output", options->output,
						"write the file of tasks that plan reads; - prints it")
				      ->type_name("FILE")
				      ->check(not_an_option());
	CLI::Option *period = add_task_times(parser, "--period", options->periods_us,
					     "time between jobs of a task, or of all others: camera=33ms, 100ms");
	add_task_times(parser, "--deadline", options->deadlines_us,
		       "likewise, until a job has to end; without it, the period")
		->needs(output);
	output->needs(period);
	period->needs(output);
	parser.add_option("--svg", options->picture, "draw the speed-up of each task by the number of TPCs to FILE.svg")
		->type_name("FILE.svg")
		->check(file_of({".svg"}));
	parser.callback([options, curve, &line] {
		refuse_gpus(line.options, "fit");
		options->model = *curve ? plan::Model::Curve : plan::Model::Times;
		line.status = plan::fit_command(line.options, *options);
	});
}

} // namespace

void add_sizes(CLI::App &parser, plan::PlanOptions &options, const char *tpcs)
{
	parser.add_option("--tpcs", options.tpcs, tpcs)->type_name("N")->check(in_range(1U, plan::MAX_TPCS));
	add_choice<std::optional<plan::Start>>(
		parser, "--start", options.start,
		{{"largest", plan::Start::Largest}, {"smallest", plan::Start::Smallest}}, "END",
		"utilization of the partition to merge first: largest or smallest (default: largest; auto tries both)");
	add_choice<std::optional<plan::Ties>>(
		parser, "--ties", options.ties,
		{{"first", plan::Ties::First}, {"last", plan::Ties::Last}, {"fullest", plan::Ties::Fullest}}, "TIES",
		"which of equally small merges sms takes: first or last in the list, or the fullest (default: first; "
		"auto tries all)");
	parser.add_option("--quantum", options.quantum, "partition sizes are multiples of N TPCs (default: 1)")
		->type_name("N")
		->check(in_range(1U, plan::MAX_TPCS));
	parser.add_option("--least", options.least, "minimum TPCs of a partition (default: 1)")
		->type_name("N")
		->check(in_range(1U, plan::MAX_TPCS));
}

void add_test(CLI::App &parser, plan::PlanOptions &options, const std::string &usual)
{
	add_choice<std::optional<plan::Criterion>>(
		parser, "--test", options.test,
		{{"edf", plan::Criterion::Edf},
		 {"dm", plan::Criterion::Dm},
		 {"density", plan::Criterion::Density},
		 {"np-edf", plan::Criterion::NpEdf},
		 {"np-dm", plan::Criterion::NpDm},
		 {"lp-edf", plan::Criterion::LpEdf},
		 {"lp-dm", plan::Criterion::LpDm},
		 {"fifo", plan::Criterion::Fifo}},
		"TEST",
		"schedulability test of a partition: edf (preemptive, demand bound), dm "
		"(deadline-monotonic), density, np-edf or np-dm (a job is not preempted), lp-edf or lp-dm "
		"(preempted between kernels, see longest_kernel_us), fifo (first come, first served) (default: " +
			usual + ")");
	parser.add_flag("--serial", options.sharing.serial,
			"a partition runs one job at a time, so that its tasks are never in conflict");
}

Commands plan_commands()
{
	return {
		{"plan",
		 "plan partitions of TPCs in which all tasks meet their deadlines",
		 {"gpulens -g 0 plan tasks.json                  assign TPCs of GPU 0 to tasks",
		  "gpulens --source rm plan tasks.json --json >plan.json    for gpulens run --plan",
		  "gpulens plan tasks.json --tpcs 66 --quantum 4 --least 4    sizes for green contexts of an H200",
		  "gpulens -g 0 plan tasks.json --on mig          MIG instances, and the commands that make them",
		  "gpulens plan tasks.json --tpcs 66 --test edf --control 500us --switch 150us    preempted by holds",
		  "gpulens plan status plan.json                  what became of the jobs of a plan"},
		 add_plan},
		{"fit",
		 "make tasks for plan of measured times: times by size, and class",
		 {"gpulens fit times.csv                          times from gpulens sweep",
		  "gpulens fit times.csv --period 1s -o - | gpulens plan - --tpcs 66"},
		 add_fit},
	};
}

} // namespace tool
