// SPDX-License-Identifier: GPL-2.0
// The rows of run and partitions.
#include "gpulens/cmd/run.hpp"

#include "gpulens/cli/commands.hpp"
#include "gpulens/cli/limit.hpp"
#include "gpulens/cli/options.hpp"
#include "gpulens/cmd/partitions.hpp"
#include "gpulens/cmd/pitfalls.hpp"
#include "gpulens/cmd/run_schedule.hpp"
#include "gpulens/cmd/run_slot.hpp"
#include "gpulens/cmd/tpc_limit.hpp"
#include "gpulens/limit/own_mps.hpp"
#include "gpulens/measure/schedule_probe.hpp"
#include "lib/base/errors.hpp"
#include "lib/launch/environment.hpp"

#include <cstdio>
#include <memory>

namespace tool {

namespace {

// Says why not.
bool is_preloadable(const RunOptions &run)
{
	try {
		check_preloadable(run);
		return true;
	} catch (const Error &e) {
		std::fprintf(stderr, "gpulens: %s\n", e.what());
		return false;
	}
}

int start_program(const Options &options, const std::optional<std::string> &limit, RunOptions &run)
{
	if ((limit || run.limits) && !is_preloadable(run))
		return EXIT_REFUSED;
	if (run.mps && !limit)
		gpulens::require_mps();
	int status = limit ? limit_program(options, *limit, run) : EXIT_DONE;

	if (status != EXIT_DONE)
		return status;
	return run.pitfalls ? run_for_pitfalls(run) : run_program(run);
}

void add_quiet(CLI::App &parser, bool &quiet)
{
	parser.add_flag("-q,--quiet", quiet, "do not print what a partition does not separate: time, L2 cache, memory");
}

void add_partitions(CLI::App &parser, CommandLine &line)
{
	auto show = std::make_shared<bool>(false);
	auto quiet = std::make_shared<bool>(false);
	auto pid = std::make_shared<u32>(0);

	CLI::Option *methods =
		parser.add_flag("--methods", *show, "try each method of partitioning on this GPU, and show which work");
	auto word = std::make_shared<std::string>();
	CLI::Option *set =
		parser.add_option("set", *word,
				  "with PID: limit a process, which gpulens run limits, to other TPCs, from its "
				  "next launch on")
			->type_name("")
			->check(one_of({"set"}))
			->excludes(methods);
	CLI::Option *process = parser.add_option("PID", *pid, "the process of set")
				       ->type_name("")
				       ->check(in_range(1U, u32{INT32_MAX}))
				       ->needs(set);
	LimitOptions limit(parser, "the process of set");
	add_quiet(parser, *quiet);
	set->needs(process);
	parser.callback([word, show, quiet, pid, process, limit, &line] {
		refuse_files(line.options, "partitions");
		std::optional<Limit> given = limit.limit();
		if (given.has_value() == process->empty())
			throw Error(Error::Input, "set goes with --tpcs, --gpcs, --half or --plan");
		line.status = given   ? set_partition(line.options, *pid, *given, *quiet)
			      : *show ? show_methods(line.options)
				      : show_partitions(line.options, *quiet);
	});
}

} // namespace

void add_run(CLI::App &parser, CommandLine &line, const StartProgram &start)
{
	auto run = std::make_shared<RunOptions>();
	LimitOptions limit(parser, "the program's kernels");
	add_quiet(parser, run->quiet);

	parser.add_option(
		      "-o,--output", run->file,
		      "write TSGs as JSON lines while the program runs, for gpulens record --tsgs (default: print a "
		      "table when it ends)")
		->type_name("FILE")
		->check(not_an_option());
	parser.add_option("PROGRAM", run->program, "program and its arguments, after --")->type_name("")->required();
	begin_group(parser, "Share the GPU in time");
	auto schedule = std::make_shared<RunSchedule>();
	schedule->measure = [](unsigned gpu) { measure::measure_schedule({gpu}, {}); };
	parser.add_option(
		      "--schedule", schedule->what,
		      "how the program shares the GPU in time: urgent, best-effort, share=1 to share=100, "
		      "slice=500us, or budget=2ms/10ms: it is held for the rest of each 10 ms; task=NAME: as "
		      "gpulens schedule --source rm decides by a policy; task=NAME,gate: its launches can be held back")
		->type_name("HOW")
		->check(check_that(check_schedule));
	auto slot = std::make_shared<RunSlot>();
	CLI::Option *lock = parser.add_option("--slot", slot->lock,
					      "wait for one of K slots of this name (default: 1 slot), and give it "
					      "back when the program ends, or earlier, to a program of higher "
					      "priority; this one is paused until the slot is returned")
				    ->type_name("NAME[:K]")
				    ->check(check_that(check_slot));
	CLI::Option *priority =
		parser.add_option("--priority", slot->priority,
				  "of --slot: 0 to 99, 0 comes first (default: after all that have one)")
			->type_name("N")
			->check(in_range(0U, RunSlot::MAX_PRIORITY))
			->needs(lock);
	add_duration(parser, "--deadline", slot->deadline_ns, 1000,
		     "of --slot: when the program is to have ended, from now; the earliest comes first")
		->needs(lock)
		->excludes(priority);
	parser.add_flag("--experimental", schedule->experimental,
			"also where gpulens schedule --probe has not shown that the driver carries it out");
	parser.add_option("--probed", schedule->probed, "results of gpulens schedule --probe --results FILE")
		->type_name("FILE");
	begin_group(parser, "Limit to TPCs");
	parser.add_flag("--fixed", run->fixed,
			"gpulens partitions set cannot change the limit while the program runs, as with --plan");
	parser.add_flag("--mps", run->mps,
			"under MPS, with a daemon of this user's own that the programs of run --mps share: on TPCs of "
			"their own, they run at the same time");
	begin_group(parser);
	CLI::Option *find = parser.add_flag("--pitfalls", run->pitfalls,
					    "print which calls of CUDA's driver were in progress while calls of other "
					    "threads waited, and from where the program called them");
	parser.add_option("--pitfalls-json", run->pitfalls_json, "write that as JSON, too")
		->type_name("FILE")
		->check(not_an_option())
		->needs(find);
	parser.callback([run, limit, schedule, slot, start, &line] {
		refuse_files(line.options, "run");
		if (run->mps && !(schedule->what.empty() && slot->lock.empty()))
			throw Error(Error::Input,
				    "--mps goes with neither --schedule nor --slot: programs under MPS share a "
				    "context, which is held as a whole");
		if (!schedule->what.empty() || !slot->lock.empty())
			refuse_under_mps();
		std::optional<OwnMps> daemon;
		if (run->mps)
			daemon.emplace();
		if ((schedule->experimental || !schedule->probed.empty()) && schedule->what.empty() &&
		    slot->lock.empty())
			throw Error(Error::Input, "--experimental and --probed go with --schedule or --slot");
		if (!schedule->what.empty())
			schedule_program(line.options, *schedule, *run);
		std::optional<std::string> tpcs;
		if (std::optional<Limit> given = limit.limit()) {
			tpcs = given->tpcs;
			run->planned = given->planned;
		}
		if (run->fixed && !tpcs)
			throw Error(Error::Input, "--fixed goes with a limit");
		if (tpcs && run->environment.contains(gpulens::environment::SCHEDULE_GATE))
			throw Error(Error::Input, "a limit and --schedule gate do not go together: the driver has one "
						  "callback before a launch");
		std::optional<SlotKeeper> keeper;
		if (!slot->lock.empty()) {
			slot->probed = schedule->probed;
			slot->experimental = schedule->experimental;
			if (run->environment.contains(gpulens::environment::SCHEDULE_BUDGET) ||
			    run->environment.contains(gpulens::environment::SCHEDULE_TASK))
				throw Error(Error::Input,
					    "--slot goes with a time slice only, not with --schedule budget= or task=");
			if (!is_preloadable(*run)) { // before it waits
				line.status = EXIT_REFUSED;
				return;
			}
			keeper.emplace(line.options, *slot, *run);
		}
		line.status = start(line.options, tpcs, *run);
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
		  "gpulens run --mps --tpcs 0-32 -- ./serve      at the same time as others of --mps",
		  "gpulens run --plan plan.json --task camera -- ./camera",
		  "gpulens run --schedule urgent -- ./detector",
		  "gpulens run --pitfalls -- ./detector          calls of CUDA beside which others waited",
		  "gpulens run --schedule budget=2ms/10ms -- python3 train.py    2 ms of each 10 ms",
		  "gpulens run --schedule task=training -- python3 train.py    as a policy decides",
		  "gpulens run --slot gpu --priority 0 -- ./detector    alone among programs of slot gpu"},
		 [](CLI::App &parser, CommandLine &line) { add_run(parser, line, start_program); },
		 "-o FILE gets a line of JSON for each TSG"},
		{"partitions",
		 "list processes that gpulens run or libgpulens-partition limits to TPCs, and what they share; change "
		 "one",
		 {"gpulens partitions", "sudo gpulens partitions --json    processes of all users",
		  "gpulens -g 0 partitions --methods    what GPU 0 and its driver support",
		  "gpulens partitions set 1234 --tpcs 0-9    another partition for a process of gpulens run"},
		 add_partitions},
	};
}

} // namespace tool
