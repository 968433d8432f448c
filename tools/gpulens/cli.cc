// SPDX-License-Identifier: GPL-2.0
// The command line, and nothing else. See cli.hpp.
#include "gpulens/cli.hpp"

#include "gpulens/cli_options.hpp"
#include "gpulens/cmd/partitions.hpp"
#include "gpulens/cmd/tpc_limit.hpp"
#include "gpulens/out/output.hpp"
#include "lib/base/format.hpp"
#include "lib/source/image/proc_text.hpp"
#include "lib/tpc/place.hpp"

namespace tool {

const std::vector<ExitStatus> EXIT_STATUS = {
	{"0", "all was shown or done"},
	{"1",
	 "something could not be read or decoded (named on standard error), --check found a hazard or a violated rule, "
	 "or a plan does not fit"},
	{"2", "wrong usage, or a file of tasks, a scenario or a log that makes no sense"},
	{"3", "no GPU to show: no module, no such file, not an image"},
	{"4", "a request was refused or failed; run: the program was not begun, or was killed, because the limit that "
	      "was asked "
	      "for would not hold"},
};

namespace {

const std::map<std::string, std::vector<std::string>> EXAMPLES = {
	{"",
	 {"gpulens                          every GPU of this machine on a screen each",
	  "gpulens -g 0 runlists 0          what is on runlist 0 of GPU 0",
	  "gpulens -i gpu.image engines     the same of a recorded GPU; several -i are shown in turn",
	  "gpulens isolation --check        exit status 1 where tasks can disturb each other",
	  "gpulens channels --json | jq '.gpus[0].channels[] | select(.state.running)'"}},
	{"chip", {"gpulens chip", "gpulens -i gpu.image chip       of a recorded GPU"}},
	{"engines", {"gpulens engines", "gpulens engines --json | jq '.gpus[0].engines[] | select(.runlist == 0)'"}},
	{"runlists",
	 {"gpulens runlists                 all that are not empty",
	  "gpulens -g 0 runlists 0          runlist 0 of GPU 0"}},
	{"channels", {"gpulens channels", "watch gpulens -g 0 channels      as they come and go"}},
	{"copy", {"gpulens copy"}},
	{"gpcs", {"gpulens gpcs"}},
	{"isolation",
	 {"gpulens isolation", "gpulens isolation --check        exit status 1 where tasks can disturb each other"}},
	{"proc", {"gpulens -i gpu.image proc runlist0", "gpulens -i gpu.image proc bars"}},
	{"top",
	 {"sudo gpulens top", "sudo gpulens -g 0 top --every 100us --runlist 0",
	  "sudo gpulens -g 0 top --batch 1 --delay 2s    one screen as text"}},
	{"record",
	 {"sudo gpulens record --for 2s -o timeline.html",
	  "sudo gpulens record --every 50us --runlist 0 -o run.rec -o run.csv"}},
	{"report",
	 {"gpulens report run.rec           writes run.rec.html", "gpulens report run.rec -o run.perfetto-trace"}},
	{"disable",
	 {"sudo gpulens -g 0 disable 0:8 --for 2s    and puts it back",
	  "gpulens -g 0 disable 0:8 --dry-run        only says what it would write",
	  "sudo gpulens -g 0 disable --tsg 0:3 --for 2s    all channels of a TSG"}},
	{"enable", {"sudo gpulens -g 0 enable 0:8"}},
	{"preempt", {"sudo gpulens -g 0 preempt 0:3"}},
	{"switch-to", {"sudo gpulens -g 0 switch-to 0:3 --for 500ms"}},
	{"resubmit", {"sudo gpulens -g 0 resubmit 0"}},
	{"timeslice",
	 {"sudo gpulens -g 0 timeslice 0:3 2000       2 ms", "sudo gpulens -g 0 timeslice 0:3 500 --for 10s"}},
	{"export",
	 {"gpulens export --prometheus -o /var/lib/prometheus/node-exporter/gpulens.prom",
	  "sudo gpulens export --prometheus --for 1s    with the time of TSGs on engines",
	  "sudo gpulens export --prometheus --listen 127.0.0.1:9835"}},
	{"run",
	 {"gpulens run -- python3 train.py", "gpulens run -o tsgs.jsonl -- ./kernels",
	  "gpulens -g 0 run --gpcs 2,3 -- ./kernels      on the TPCs of these GPCs alone"}},
	{"partitions",
	 {"gpulens partitions", "sudo gpulens partitions --json    those of all users",
	  "gpulens -g 0 partitions --ways    what GPU 0 and its driver can do"}},
	{"simulate",
	 {"gpulens simulate render:high batch:low",
	  "gpulens simulate render:high:2000 batch:low:1000:4 --max-entries 64"}},
	{"plan",
	 {"gpulens -g 0 plan tasks.json                  which task gets which TPCs of GPU 0",
	  "gpulens plan tasks.json --tpcs 66 --quantum 4 --least 4    sizes for green contexts of an H200",
	  "gpulens plan --evaluate --sets 20 -o curves.svg -o curves.csv"}},
	{"fit", {"gpulens fit times.csv", "gpulens fit times.csv --json | jq '.tasks[] | {name, class, alone}'"}},
	{"probe-kernels",
	 {"gpulens probe-kernels --list",
	  "gpulens probe-kernels fig3.9 -o fig3.9.json    launches kernels on this machine's GPU",
	  "gpulens probe-kernels scenario.json --simulate --sms 132 -o log.json"}},
	{"blocks",
	 {"gpulens blocks fig3.9.json                     when each kernel ran",
	  "gpulens blocks fig3.9.json -o fig3.9.svg",
	  "gpulens blocks --check fig3.9.json             exit status 1 where a rule is violated"}},
};

// So that an option is not taken for the file of the one before it: run -o --tpcs=0-9 would have no limit.
CLI::Validator no_option()
{
	return CLI::Validator(
		[](std::string &name) {
		return name.size() > 1 && name[0] == '-' ? "it looks like an option; write ./" + name : "";
		},
		"");
}

void add_sources(CLI::App &app, Arguments &a)
{
	app.add_option("-i,--image", a.options.sources.files,
		       "a recorded GPU: /proc/gpuX/image or /proc/gpuX/snapshot saved to a file; - is standard input")
		->type_name("FILE")
		->check(no_option())
		->allow_extra_args(false);
	app.add_option("-g,--gpu", a.options.sources.gpus, "the X of /proc/gpuX; all of them when none is named")
		->type_name("X")
		->allow_extra_args(false);
	app.add_option("--source", a.options.sources.from,
		       "module (/proc/gpuX), rm (NVIDIA's driver) or auto: the driver where the module is not loaded")
		->type_name("SOURCE")
		->transform(CLI::CheckedTransformer(
			std::map<std::string, From>{{"auto", From::Auto}, {"module", From::Module}, {"rm", From::Rm}}));
	app.add_option("--proc", a.options.sources.proc,
		       "where /proc is, for a container that has its host's elsewhere")
		->type_name("DIR")
		->check(no_option());
	app.add_flag("--json", a.options.json, "JSON instead of text; docs/json-schema.json");
	app.add_option("--color", a.options.colour, "auto (a terminal, and no NO_COLOR set), always or never")
		->type_name("WHEN")
		->transform(CLI::CheckedTransformer(std::map<std::string, When>{{"auto", When::Auto},
										{"always", When::Always},
										{"never", When::Never}})
				    .description(""));
}

CLI::App *add_show(CLI::App &app, Arguments &a, int &status, const char *name, const char *about, Show what)
{
	CLI::App *sub = app.add_subcommand(name, about);

	sub->callback([&a, &status, what] { status = show(what, a.options, a.runlist, a.check); });
	return sub;
}

void add_commands(CLI::App &app, Arguments &a, int &status)
{
	add_show(app, a, status, "chip", "which chip it is", Show::Chip);
	add_show(app, a, status, "engines", "engines and their runlists", Show::Engines);
	add_show(app, a, status, "runlists", "TSGs and channels, by runlist", Show::Runlists)
		->add_option("Y", a.runlist, "only this runlist");
	add_show(app, a, status, "channels", "all channels of all runlists, a line each", Show::Channels);
	add_show(app, a, status, "copy", "which physical copy engines serve which logical one", Show::Copy);
	add_show(app, a, status, "gpcs", "GPCs, and the TPCs in each", Show::Gpcs);
	add_show(app, a, status, "isolation", "what can disturb what: the rules R1-R8 of RTAS'24 applied to this GPU",
		 Show::Isolation)
		->add_flag("--check", a.check, "exit status 1 when a hazard was found");
	CLI::App *proc = app.add_subcommand("proc", "a file of /proc/gpuX as it would read, from an image");
	proc->add_option("NAME", a.proc_file,
			 "as in /proc/gpuX: chip, device_info, runlistY, bars, tpc_map, copy_topology, ...")
		->required()
		->check(CLI::Validator(
			[](std::string &name) { return is_proc_file(name) ? "" : "not a file of /proc/gpuX: " + name; },
			""));
	proc->callback([&a, &status] { status = show_proc(a.proc_file, a.options); });
}

CLI::Option *add_period(CLI::App *sub, u32 &us, const char *about)
{
	return sub
		->add_option_function<std::string>(
			"--every",
			[&us](const std::string &text) {
		std::optional<u64> ns = parse_duration(text, 1000);
		if (!ns || *ns < 10000 || *ns > 1000000000)
			throw CLI::ValidationError("--every", "not a time from 10us to 1s: " + text);
		us = static_cast<u32>(*ns / 1000);
			},
			about)
		->type_name("TIME");
}

void add_record(CLI::App &app, Arguments &a, int &status)
{
	CLI::App *sub = app.add_subcommand("record", "what is on each engine over time, sampled by the module");

	sub->add_option(
		   "-o,--output", a.record.files,
		   "FILE.perfetto-trace (ui.perfetto.dev), FILE.csv, FILE.html, or any other name: a recording for "
		   "report; several are written at once")
		->type_name("FILE")
		->required()
		->allow_extra_args(false);
	add_duration(sub, "--for", a.record.for_ns, 1000000000, "how long; until Ctrl-C when not given");
	add_period(sub, a.record.period_us, "time between samples, 100us when not given");
	sub->add_option("--runlist", a.record.runlists, "only engines of this runlist; may be given again")
		->type_name("Y")
		->allow_extra_args(false);
	sub->add_option("--tsgs", a.record.tsgs,
			"through the driver: what gpulens run -o wrote, to name TSGs instead of channels")
		->type_name("FILE");
	sub->callback([&a, &status] { status = record(a.options, a.record); });

	CLI::App *report = app.add_subcommand("report", "a page with timeline and time slices from a recording");
	report->add_option("FILE", a.recording, "what record wrote")->required();
	report->add_option("-o,--output", a.outputs,
			   "FILE.html, FILE.csv or FILE.perfetto-trace; FILE with .html behind it "
			   "when not given")
		->type_name("FILE")
		->allow_extra_args(false);
	report->callback([&a, &status] { status = tool::report(a.options, a.recording, a.outputs); });
}

void add_run(CLI::App &app, Arguments &a, int &status)
{
	CLI::App *sub = app.add_subcommand(
		"run", "a program, and the TSGs and channels that NVIDIA's driver gives it; on some TPCs alone, too");
	// An empty one is not "no limit".
	auto limit = [&a](const char *option, const char *kind, const std::string &text) {
		if (text.empty())
			throw CLI::ValidationError(option, "it is empty, and the program would run on the whole GPU");
		a.where = kind + text;
	};
	CLI::Option *tpcs = sub->add_option_function<std::string>(
				       "--tpcs", [limit](const std::string &text) { limit("--tpcs", "", text); },
				       "its kernels stay on these TPCs: 0-9,12 or 0x3ff")
				    ->type_name("TPCS");
	CLI::Option *gpcs = sub->add_option_function<std::string>(
				       "--gpcs", [limit](const std::string &text) { limit("--gpcs", "gpc:", text); },
				       "its kernels stay on the TPCs of these GPCs: 2,3")
				    ->type_name("GPCS")
				    ->excludes(tpcs);

	sub->add_option_function<std::string>(
		   "--half", [limit](const std::string &text) { limit("--half", "half:", text); },
		   "a or b: its kernels stay on that half of the GPCs")
		->type_name("HALF")
		->check(CLI::IsMember({"a", "b"}).description(""))
		->excludes(tpcs)
		->excludes(gpcs);
	sub->add_option("-o,--output", a.run.file,
			"JSON lines as they come, for record --tsgs; a table at the end otherwise")
		->type_name("FILE")
		->check(no_option());
	sub->add_option("PROGRAM", a.run.program, "and its arguments, behind --")->required();
	sub->callback([&a, &status] { status = a.start ? a.start(a) : start_program(a); });

	CLI::App *partitions = app.add_subcommand(
		"partitions",
		"which processes have which TPCs by gpulens run or libgpulens-partition, and what they share");
	partitions->add_flag("--ways", a.check, "instead what ways to partition there are on this GPU, by trying them");
	partitions->callback([&a, &status] { status = a.check ? show_ways(a.options) : show_partitions(a.options); });
}

// In place of one channel.
void add_several(CLI::App *sub, Arguments &a, CLI::Option *one, const std::function<std::string(std::string &)> &is_id)
{
	CLI::Option *tsg = sub->add_option("--tsg", a.control.tsg,
					   "every channel of this TSG, or none: when one write is refused, "
					   "those before it are put back")
				   ->type_name("[RUNLIST:]ID")
				   ->check(CLI::Validator(is_id, ""))
				   ->excludes(one);

	sub->add_option("--pid", a.control.pid, "every channel of this process, where it is known which they are")
		->type_name("PID")
		->excludes(one)
		->excludes(tsg);
}

void add_control(CLI::App &app, Arguments &a, int &status)
{
	for (size_t i = 0; i < STEERING_COUNT; i++) {
		const Steering &s = STEERING[i];
		CLI::App *sub = app.add_subcommand(s.command, s.about);
		bool runlist = std::string(s.what) == "RUNLIST";
		auto id = [runlist](std::string &text) { return is_id(text, runlist) ? "" : "not an id: " + text; };
		CLI::Option *one =
			sub->add_option(s.what, a.control.id,
					runlist ? "its number" : "its id; RUNLIST:ID where ids count per runlist")
				->required(!s.of_several)
				->check(CLI::Validator(id, ""));
		if (s.of_several)
			add_several(sub, a, one, id);
		if (std::string(s.command) == "timeslice")
			sub->add_option("US", a.control.slice_us, "microseconds")
				->required()
				->check(CLI::Range(1U, 0xffffffffU));
		sub->add_flag("--dry-run", a.control.dry_run, "only say what would be written");
		if (s.can_undo)
			add_duration(sub, "--for", a.control.for_ns, 1000000000,
				     "put it back after that time, or on Ctrl-C");
		sub->callback([&a, &status, &s] {
			if (a.control.id.empty() && a.control.tsg.empty() && !a.control.pid)
				throw CLI::RequiredError(std::string(s.what) +
							 (s.of_several ? ", --tsg or --pid" : ""));
			status = control(a.options, s, a.control);
		});
	}
}

void add_export(CLI::App &app, Arguments &a, int &status)
{
	CLI::App *sub = app.add_subcommand("export", "metrics: TSGs, channels by state, hazards, what reading costs");

	sub->add_flag("--prometheus", a.exported.prometheus, "in Prometheus' text format; there is no other yet")
		->required();
	CLI::Option *output = sub->add_option("-o,--output", a.exported.file,
					      "a file, replaced at once: for node_exporter's textfile collector")
				      ->type_name("FILE");
	CLI::Option *time = add_duration(sub, "--for", a.exported.for_ns, 1000000000,
					 "samples so long first, for the time of TSGs on engines");
	CLI::Option *listen = sub->add_option_function<std::string>(
					 "--listen",
					 [&a](const std::string &text) {
		a.exported.listen = parse_listen(text);
		if (!a.exported.listen)
			throw CLI::ValidationError("--listen", "not ADDRESS:PORT, [ADDRESS]:PORT or PORT: " + text);
					 },
					 "serves /metrics until Ctrl-C, on 127.0.0.1 where only a PORT is given; "
					 "samples all the while")
		->type_name("ADDRESS:PORT")
		->excludes(output)
		->excludes(time);
	add_period(sub, a.exported.period_us, "time between samples, 1ms when not given");
	sub->add_flag("--no-sample", a.exported.no_sample, "no samples: without the time of TSGs on engines")
		->needs(listen);
	sub->callback([&a, &status] { status = export_metrics(a.options, a.exported); });
}

void add_top(CLI::App &app, Arguments &a, int &status)
{
	CLI::App *sub = app.add_subcommand(
		"top", "live: engines and the TSGs on them, turns against time slices; keys to steer, ? names them");
	auto within = [](const char *name, const u64 &ns, u64 least, u64 most, const char *range) {
		if (ns < least || ns > most)
			throw CLI::ValidationError(name, range);
	};
	add_duration(sub, "--every", a.top.every_ns, 1000, "time between samples, 1ms when not given");
	add_duration(sub, "--delay", a.top.delay_ns, 1000000000, "time between screens, 500ms when not given");
	add_duration(sub, "--window", a.top.window_ns, 1000000000, "what a screen is about, 5s when not given");
	sub->add_option("--runlist", a.top.runlists, "only this runlist; may be given again")
		->type_name("Y")
		->allow_extra_args(false);
	sub->add_option("--batch", a.top.batch, "no terminal: that many screens as text, then it ends")
		->type_name("N")
		->check(CLI::Range(1U, 0xffffffffU));
	sub->callback([&a, &status, within] {
		within("--every", a.top.every_ns, 10000, 1000000000, "from 10us to 1s");
		within("--delay", a.top.delay_ns, 50000000, 3600000000000, "from 50ms to 1h");
		within("--window", a.top.window_ns, 100000000, 3600000000000, "from 100ms to 1h");
		status = top(a.options, a.top);
	});
}

void add_simulate(CLI::App &app, Arguments &a, int &status)
{
	CLI::App *sub = app.add_subcommand(
		"simulate",
		"the runlist that NVIDIA's driver for Tegra interleaves of these TSGs, and their waits in it");

	sub->add_option("TSG", a.tsgs, "NAME:LEVEL[:SLICE_US[:CHANNELS]]; LEVEL is low, medium or high")->required();
	sub->add_option("--max-entries", a.max_entries, "longest list")->type_name("N");
	sub->callback([&a, &status] {
		try {
			Simulation s = simulate(parse_tsgs(a.tsgs), a.max_entries);
			bool shown = print(a.options.json ? json_text(simulate_json(s)) : simulate_text(s));
			status = shown && !s.overflows ? EXIT_DONE : EXIT_PART;
		} catch (const std::invalid_argument &e) {
			throw CLI::ValidationError("TSG", e.what());
		}
	});
}

// What --evaluate takes.
void add_evaluation(CLI::App *sub, Arguments &a)
{
	plan::Evaluation &e = a.evaluation.evaluation;
	CLI::Option *evaluate = sub->add_flag(
		"--evaluate", a.evaluate, "no FILE: how many random sets of tasks each heuristic fits, by utilization");
	auto positive = [](const char *about) {
		return CLI::Validator(
			[about](std::string &text) {
			double v = 0;
			return CLI::detail::lexical_cast(text, v) && v >= 0.01 && v <= plan::MAX_TPCS ? ""
												      : about + text;
			},
			"");
	};

	sub->add_option("--tasks", e.tasks, "tasks of a set, 50 and 200 when not given; may be given again")
		->type_name("N")
		->check(CLI::Range(1U, plan::MAX_TASKS))
		->allow_extra_args(false)
		->needs(evaluate);
	sub->add_option("--sets", e.sets, "sets of each utilization, 100 when not given")
		->type_name("N")
		->check(CLI::Range(1U, 1000000U))
		->needs(evaluate);
	sub->add_option("--seed", e.seed, "other sets; 1 when not given")->type_name("N")->needs(evaluate);
	sub->add_option("--from", e.from, "least total utilization, 2 when not given")
		->type_name("U")
		->check(positive("not a utilization: "))
		->needs(evaluate);
	sub->add_option("--to", e.to, "greatest, as many as there are TPCs when not given")
		->type_name("U")
		->check(positive("not a utilization: "))
		->needs(evaluate);
	sub->add_option("--step", e.step, "2 when not given")
		->type_name("U")
		->check(positive("not a utilization: "))
		->needs(evaluate);
	sub->add_option("--cap", e.cap, "greatest utilization of one task; any when not given")
		->type_name("U")
		->check(positive("not a utilization: "))
		->needs(evaluate);
	sub->add_flag("--literal", e.literal, "the serial part of tasks as the thesis prints it, docs/plan.md")
		->needs(evaluate);
	sub->add_option("-o,--output", a.evaluation.files, "FILE.csv or FILE.svg, curves; several are written at once")
		->type_name("FILE")
		->check(CLI::Validator(
			[](std::string &name) {
		return plan::is_results_file(name) ? "" : "neither .csv nor .svg: " + name;
			},
			""))
		->allow_extra_args(false)
		->needs(evaluate);
	sub->add_flag("--times", a.evaluation.times, "in FILE.csv also the mean time of an analysis")->needs(evaluate);
}

void add_plan(CLI::App &app, Arguments &a, int &status)
{
	CLI::App *sub = app.add_subcommand("plan", "partitions of TPCs in which all tasks meet their deadlines");
	plan::PlanOptions &to = a.plan;

	sub->add_option("FILE", to.file, "tasks as JSON, docs/plan.md; - is standard input");
	sub->add_option("--tpcs", to.tpcs,
			"so many TPCs of no GPU in particular: sizes only; 68 for --evaluate when not given")
		->type_name("N")
		->check(CLI::Range(1U, plan::MAX_TPCS));
	sub->add_option("--heuristic", to.heuristic,
			"sms-ina, sms-act, bf-ina, bf-act, 1g (the whole GPU for all), or auto: these in turn until "
			"one fits")
		->type_name("HEURISTIC")
		->check(CLI::IsMember({"auto", "sms-ina", "sms-act", "bf-ina", "bf-act", "1g"}).description(""));
	sub->add_flag("--exact", to.exact, "the fewest TPCs of all divisions, for few tasks");
	add_choice<plan::Criterion>(
		sub, "--test", to.test,
		{{"edf", plan::Criterion::Edf},
		 {"dm", plan::Criterion::Dm},
		 {"density", plan::Criterion::Density},
		 {"np-edf", plan::Criterion::NpEdf}},
		"TEST",
		"schedulability within a partition: edf (preemptive, by demand), dm (deadline-monotonic), "
		"density, or np-edf (kernels are not stopped)");
	add_choice<plan::Start>(sub, "--start", to.start,
				{{"largest", plan::Start::Largest}, {"smallest", plan::Start::Smallest}}, "END",
				"merging starts with the partition of largest or smallest utilization");
	sub->add_option("--quantum", to.quantum, "sizes are multiples of so many TPCs")
		->type_name("N")
		->check(CLI::Range(1U, plan::MAX_TPCS));
	sub->add_option("--least", to.least, "no partition has fewer TPCs")
		->type_name("N")
		->check(CLI::Range(1U, plan::MAX_TPCS));
	add_choice<plan::Placing>(sub, "--place", to.placing,
				  {{"packed", plan::Placing::Packed}, {"distributed", plan::Placing::Distributed}},
				  "HOW", "packed: whole GPCs first; distributed: of as many GPCs as there are");
	add_evaluation(sub, a);
	sub->callback([&a, &status] {
		bool gpu = !a.options.sources.files.empty() || !a.options.sources.gpus.empty();
		if (a.evaluate == !a.plan.file.empty())
			throw CLI::ValidationError("plan", "either FILE or --evaluate is wanted");
		if (gpu && (a.plan.tpcs || a.evaluate))
			throw CLI::ValidationError(a.evaluate ? "--evaluate" : "--tpcs", "a GPU is named as well");
		status = a.evaluate ? plan::evaluate_command(a.options, a.plan, a.evaluation)
				    : plan::plan_command(a.options, a.plan);
	});
}

void add_fit(CLI::App &app, Arguments &a, int &status)
{
	CLI::App *sub = app.add_subcommand("fit", "plan's model of a task from measured times: a, b and class");

	sub->add_option("FILE", a.samples, "CSV with task, tpcs, time_us and perhaps conflict; - is standard input")
		->required();
	sub->callback([&a, &status] { status = plan::fit_command(a.options, a.samples); });
}

std::string footer_of(const std::string &command)
{
	std::string text = "Examples:\n";

	for (const std::string &line : examples_of(command))
		text += "  " + line + '\n';
	if (!command.empty())
		return text;
	text += "\nExit status:\n";
	for (const ExitStatus &e : EXIT_STATUS)
		text += std::string("  ") + e.code + "  " + e.meaning + '\n';
	return text;
}

} // namespace

int start_program(Arguments &a)
{
	int status = a.where ? limit_program(a.options, *a.where, a.run) : EXIT_DONE;

	return status == EXIT_DONE ? tool::run(a.run) : status;
}

CLI::Option *add_duration(CLI::App *sub, const char *name, u64 &ns, u64 unit, const char *about)
{
	return sub
		->add_option_function<std::string>(
			name,
			[&ns, unit, name](const std::string &text) {
		std::optional<u64> got = parse_duration(text, unit);
		if (!got || !*got)
			throw CLI::ValidationError(name, "not a time such as 10s, 500ms or 100us: " + text);
		ns = *got;
			},
			about)
		->type_name("TIME");
}

std::vector<std::string> examples_of(const std::string &command)
{
	auto at = EXAMPLES.find(command);

	return at == EXAMPLES.end() ? std::vector<std::string>() : at->second;
}

std::unique_ptr<CLI::App> build_cli(Arguments &a, int &status)
{
	auto app = std::make_unique<CLI::App>("Shows and steers how NVIDIA GPUs schedule work.", "gpulens");

	app->fallthrough();
	app->require_subcommand(0, 1);
	add_sources(*app, a);
	add_commands(*app, a, status);
	add_record(*app, a, status);
	add_run(*app, a, status);
	add_control(*app, a, status);
	add_top(*app, a, status);
	add_simulate(*app, a, status);
	add_plan(*app, a, status);
	add_fit(*app, a, status);
	add_blocks(*app, a, status);
	add_export(*app, a, status);
	app->set_version_flag("--version", "gpulens " GPULENS_RELEASE, "which gpulens this is");
	app->set_help_all_flag("--help-all", "this, with every command's own options");
	app->footer(footer_of(""));
	for (CLI::App *sub : app->get_subcommands({}))
		sub->footer(footer_of(sub->get_name()));
	return app;
}

} // namespace tool
