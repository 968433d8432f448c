// SPDX-License-Identifier: GPL-2.0
// The rows of disable, enable, preempt, preemption-mode, switch-to, resubmit and timeslice.
#include "gpulens/cmd/control.hpp"
#include "gpulens/cmd/schedule.hpp"
#include "gpulens/cmd/simulate_policy.hpp"
#include "gpulens/measure/schedule_probe.hpp"

#include "gpulens/cli/commands.hpp"
#include "gpulens/cli/options.hpp"
#include "lib/base/format.hpp"
#include "lib/source/table/sources.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <memory>
#include <optional>

namespace tool {

namespace {

const char NO_JSON[] = "gpulens channels --json shows what it changed";

// Adds --tsg and --pid, which name several channels instead of one.
void add_several(CLI::App &parser, ControlOptions &options, bool can_undo, CLI::Option *channel,
		 const CLI::Validator &check)
{
	CLI::Option *tsg =
		parser.add_option(
			      "--tsg", options.tsg,
			      can_undo ? "all channels of this TSG; when a write is refused, earlier writes are undone"
				       : "all channels of this TSG, until a write is refused")
			->type_name("[RUNLIST:]ID")
			->check(check)
			->excludes(channel);

	CLI::Option *pid =
		parser.add_option("--pid", options.pid,
				  "all channels of the TSGs that this process reports, a program of gpulens run")
			->type_name("PID")
			->excludes(channel)
			->excludes(tsg);
	parser.add_flag("--yes", options.yes, "with --pid: although the process alone says that they are its own")
		->needs(pid);
}

void add_slice(CLI::App &parser, u32 &slice_us)
{
	auto store = [&slice_us](const std::string &text) {
		std::optional<u64> ns = parse_duration(text, 1000);
		if (!ns || *ns % 1000 || *ns < 1000 || *ns > MAX_SLICE_US * 1000)
			throw CLI::ValidationError("US",
						   fmt::format("{} is not a time of 1us to {}us, in whole microseconds",
							       text, MAX_SLICE_US));
		slice_us = static_cast<u32>(*ns / 1000);
	};

	parser.add_option_function<std::string>(
		      "US", store,
		      fmt::format("time slice in microseconds, or with a unit (2ms); 1 to {} us", MAX_SLICE_US))
		->type_name("")
		->required();
}

const Control &find_control(const std::string &command)
{
	return *std::find_if(CONTROLS, CONTROLS + CONTROL_COUNT,
			     [&](const Control &c) { return c.command == command; });
}

void add_control(CLI::App &parser, CommandLine &line)
{
	auto options = std::make_shared<ControlOptions>();
	const Control &control = find_control(parser.get_name());
	bool runlist = std::string(control.target) == "RUNLIST", whole = parser.get_name() == "preempt";
	CLI::Validator check = check_that(
		[runlist](const std::string &text) { return is_id(text, runlist) ? "" : "not an id: " + text; });

	if (parser.get_name() == "preemption-mode")
		parser.add_option("MODE", options->mode,
				  "wfi: compute and graphics preempt when idle only; cta: compute between thread "
				  "blocks; cil: "
				  "compute between instructions. With wfi and cta, a driver kills kernels and blocks "
				  "that run for longer than its context switch timeout")
			->type_name("")
			->required()
			->check(one_of({"wfi", "cta", "cil"}));
	CLI::Option *id = parser.add_option(control.target, options->id,
					    runlist ? "runlist number" : "ID; RUNLIST:ID where IDs count per runlist")
				  ->type_name("")
				  ->required(!control.of_several && !whole)
				  ->check(check);
	if (whole)
		parser.add_option("--runlist", options->runlist,
				  "whatever of this runlist is on an engine, instead of a TSG (Volta and later)")
			->type_name("Y")
			->check(check_that(
				[](const std::string &text) { return is_id(text, true) ? "" : "not an id: " + text; }))
			->excludes(id);
	if (control.of_several)
		add_several(parser, *options, control.can_undo, id, check);
	if (parser.get_name() == "timeslice")
		add_slice(parser, options->slice_us);
	parser.add_flag("--dry-run", options->dry_run, "print what would be written, and write nothing");
	if (control.can_undo)
		add_duration(parser, "--for", options->for_ns, 1000000000, "undo it after this time, or on Ctrl-C");
	parser.callback([options, &control, &line] {
		if (options->id.empty() && options->tsg.empty() && !options->pid && options->runlist.empty())
			throw CLI::RequiredError(std::string(control.target) +
						 (control.of_several ? ", --tsg or --pid" : " or --runlist"));
		refuse_files(line.options, control.command);
		if (const SourceRow *source = line.options.sources.source; source && source->name == std::string("rm"))
			throw CLI::ValidationError(
				"--source",
				fmt::format("{} writes to the files of the module; through NVIDIA's driver, "
					    "gpulens run --schedule changes the TSGs of its own program",
					    control.command));
		if (options->runlist.empty()) {
			line.status = run_control(line.options, control, *options);
			return;
		}
		options->id = options->runlist;
		line.status = run_control(line.options, find_control("preempt --runlist"), *options);
	});
}

constexpr u64 SIMULATED_NS = 10000000000, MAX_SIMULATED_NS = 600000000000;

int simulate_tasks(const ScheduleOptions &schedule, u64 switch_ns, const Options &options)
{
	PolicySimulation s = simulate_policy_file(read_policy(schedule.file),
						  schedule.for_ns ? schedule.for_ns : SIMULATED_NS, switch_ns);

	return print_text(options.json ? json_text(policy_simulation_json(s)) : policy_simulation_text(s)) ? EXIT_DONE
													   : EXIT_PART;
}

struct Simulated {
	bool asked = false;
	u64 switch_ns = 0; // of a switch between tasks
};

// The options of schedule that simulate, which exclude those that are there already.
void add_simulation(CLI::App &parser, CLI::Option *file, Simulated &simulated)
{
	std::vector<CLI::Option *> others = parser.get_options();
	CLI::Option *simulate = parser.add_flag("--simulate", simulated.asked,
						"response times and missed deadlines of the policy's tasks, by time "
						"slices and by the policy, without a GPU");

	simulate->needs(file);
	for (CLI::Option *other : others)
		if (other != parser.get_help_ptr() && other->nonpositional() && other->get_single_name() != "for")
			other->excludes(simulate);
	add_duration(parser, "--switch", simulated.switch_ns, 1000,
		     "with --simulate, the time of a switch between tasks (default: none)")
		->needs(simulate);
}

void add_schedule(CLI::App &parser, CommandLine &line)
{
	auto options = std::make_shared<ScheduleOptions>();
	auto simulated = std::make_shared<Simulated>();
	CLI::Option *file = parser.add_option("FILE", options->file,
					      "the policy, as docs/schedule.md describes it; - is standard input")
				    ->type_name("");

	parser.add_flag("--dry-run", options->dry_run,
			"check the policy, print what would be written, and write nothing")
		->needs(file);
	add_duration(parser, "--for", options->for_ns, 1000000000,
		     "end after this time (default: on Ctrl-C; of --simulate: 10s)");
	add_duration(parser, "--every", options->every_ns, 1000, "look at the GPU that often (default: 1ms)")
		->check(check_that([](const std::string &text) {
			std::optional<u64> ns = parse_duration(text, 1000);
			return ns && *ns >= 100000 && *ns <= 20000000 ? "" : "not a time of 100us to 20ms: " + text;
		}));
	add_duration(parser, "--lease", options->lease_ns, 1000000,
		     "release all tasks when this process did not run for so long (default: 50ms)")
		->check(check_that([](const std::string &text) {
			std::optional<u64> ns = parse_duration(text, 1000000);
			return ns && *ns >= 20000000 && *ns <= 1000000000 ? "" : "not a time of 20ms to 1s: " + text;
		}));
	parser.add_option("--state", options->state, "folder of the tables of holds (default: /run/gpulens)")
		->type_name("DIR");
	parser.add_flag("--experimental", options->experimental,
			"with --source rm: also where --probe has not shown that the driver carries out holds")
		->needs(file);
	parser.add_flag("--gates", options->gates,
			"with --source rm: hold back the launches of programs of gpulens run --schedule "
			"task=NAME,gate, where "
			"the driver does not carry out holds; what the GPU runs already goes on")
		->needs(file);
	parser.add_flag("--busy-poll", options->busy_poll,
			"with --source rm: wait without sleeping, where processors wake up late, as in virtual "
			"machines; keeps one busy, and another one for each program that is held")
		->needs(file);
	parser.add_option("--probed", options->probed, "with --source rm: results of --probe --results FILE")
		->type_name("FILE")
		->needs(file);
	auto probe = std::make_shared<measure::ScheduleProbeOptions>();
	auto probes = std::make_shared<bool>(false);
	CLI::Option *flag =
		parser.add_flag("--probe", *probes,
				"measure with two programs which controls of NVIDIA's driver have an effect on "
				"a running program, and store it for gpulens run --schedule")
			->excludes(file);
	parser.add_option("--program", probe->program, "program of --probe (default: gpulens-schedule-load)")
		->type_name("FILE")
		->needs(flag);
	parser.add_option("--results", probe->file,
			  "file of --probe's results (default: below XDG_STATE_HOME, or /var/lib/gpulens for root)")
		->type_name("FILE")
		->needs(flag);
	add_simulation(parser, file, *simulated);
	parser.callback([options, probe, probes, simulated, &line] {
		if (options->file.empty() && !*probes)
			throw CLI::RequiredError("FILE or --probe");
		if (simulated->asked) {
			refuse_gpus(line.options, "schedule --simulate");
			if (options->for_ns > MAX_SIMULATED_NS)
				throw CLI::ValidationError("--for", "more than ten minutes");
			line.status = simulate_tasks(*options, simulated->switch_ns, line.options);
			return;
		}
		refuse_files(line.options, "schedule");
		if (*probes) {
			line.status = measure::probe_schedule(line.options, *probe);
			return;
		}
		line.status = run_schedule(line.options, *options);
	});
}

} // namespace

Commands control_commands()
{
	return {
		{"disable",
		 "disable a channel: the scheduler skips it until it is enabled again",
		 {"sudo gpulens -g 0 disable 0:8 --for 2s    enables it again after 2 s",
		  "gpulens -g 0 disable 0:8 --dry-run        only prints what it would write",
		  "sudo gpulens -g 0 disable --tsg 0:3 --for 2s    all channels of a TSG"},
		 add_control,
		 NO_JSON},
		{"enable",
		 "enable a channel, so that the scheduler schedules it again",
		 {"sudo gpulens -g 0 enable 0:8"},
		 add_control,
		 NO_JSON},
		{"preempt",
		 "preempt a TSG: save its context and take it off its engine",
		 {"sudo gpulens -g 0 preempt 0:3", "sudo gpulens -g 0 preempt --runlist 0"},
		 add_control,
		 NO_JSON},
		{"preemption-mode",
		 "set how the context of a channel is preempted: when idle, between thread blocks or between "
		 "instructions",
		 {"sudo gpulens -g 0 preemption-mode cil 0:8       compute preempts between instructions",
		  "sudo gpulens -g 0 preemption-mode wfi --tsg 0:3"},
		 add_control,
		 NO_JSON},
		{"switch-to",
		 "run only this TSG of its runlist: enable its channels, disable and preempt the others",
		 {"sudo gpulens -g 0 switch-to 0:3 --for 500ms"},
		 add_control,
		 NO_JSON},
		{"resubmit",
		 "submit a runlist once more, so that the GPU reads it again",
		 {"sudo gpulens -g 0 resubmit 0"},
		 add_control,
		 NO_JSON},
		{"timeslice",
		 "set the time slice of a TSG",
		 {"sudo gpulens -g 0 timeslice 0:3 2000       2 ms, as 2ms",
		  "sudo gpulens -g 0 timeslice 0:3 500 --for 10s"},
		 add_control,
		 NO_JSON},
		{"schedule",
		 "decide which TSGs of a GPU run: by priority, EDF with servers, or shares",
		 {"gpulens -g 0 schedule docs/schedule-example.json --dry-run    only says what it would write",
		  "sudo gpulens -g 0 schedule docs/schedule-example.json --for 1m",
		  "gpulens schedule docs/schedule-table1.json --simulate --for 1m",
		  ("gpulens --source rm schedule docs/schedule-programs.json    programs of gpulens run --schedule "
		   "task=NAME"),
		  "gpulens schedule --probe                    what NVIDIA's driver lets a program do"},
		 add_schedule},
	};
}

} // namespace tool
