// SPDX-License-Identifier: GPL-2.0
// All checks come before the lock and the first hold. A task whose programs name no device in their pages fits the GPU of
// every other task.
#include "gpulens/cmd/schedule.hpp"

#include "gpulens/cmd/schedule_loop.hpp"
#include "gpulens/cmd/schedule_status.hpp"
#include "gpulens/cmd/schedule_support.hpp"
#include "lib/base/errors.hpp"
#include "lib/base/format.hpp"
#include "lib/schedule/live/program_backend.hpp"
#include "lib/turns/turn_file.hpp"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sched.h>
#include <set>

namespace tool {

namespace {

using namespace schedule;
using json = nlohmann::ordered_json;

// A hold and a release take 0.8 ms together on an H100 (docs/results/2026-11-26-h100-schedule.md).
constexpr u64 MIN_QUANTUM_NS = 5000000, MIN_PERIOD_NS = 5000000, MIN_BUDGET_NS = 1000000;

// Throws Error, which names the task, where a policy asks for what this back end does not do.
void check_policy(const PolicyFile &policy)
{
	if (policy.quantum_ns < MIN_QUANTUM_NS)
		throw Error(Error::Input, policy.name + ": quantum_ms is below 5, the least through NVIDIA's driver");
	for (const PolicyTask &t : policy.tasks) {
		auto refuse = [&t](const char *reason) { throw Error(Error::Input, t.where + ": " + reason); };
		if (!t.tsgs.empty() || t.page_directory)
			refuse("has TSGs, which only the module knows; through NVIDIA's driver, a task is found by "
			       "its name");
		if (t.slice_us)
			refuse("has slice_us, which only the module sets; through NVIDIA's driver, start the program "
			       "with gpulens run --schedule task=NAME,slice=TIME");
		if (t.task.budget_ns && (t.task.budget_ns < MIN_BUDGET_NS || t.task.period_ns < MIN_PERIOD_NS))
			refuse("has a budget below 1 ms, or a period below 5 ms, the least through NVIDIA's driver");
		if (t.task.name.size() >= AgentPage::MAX_TASK)
			refuse("has a name of more than 63 characters, which no program can have");
	}
}

std::vector<ProgramTask> list_tasks(const PolicyFile &policy)
{
	std::vector<ProgramTask> tasks;

	// Without announced jobs, a deadline has no meaning.
	for (const PolicyTask &t : policy.tasks)
		tasks.push_back(
			{.name = t.task.name, .only_jobs = policy.policy == Policy::Edf && t.task.deadline_ns != 0});
	return tasks;
}

std::string list_devices(u32 devices)
{
	std::vector<unsigned> list;

	for (unsigned i = 0; i < 32; i++)
		if (devices >> i & 1)
			list.push_back(i);
	return fmt::format("{}", fmt::join(list, ", "));
}

// Throws Error where a task has no program, or two tasks do not share a GPU.
void check_programs(const PolicyFile &policy, const std::vector<ProgramBackend::Found> &programs,
		    const std::string &folder, bool gates)
{
	u32 devices = ~0U;

	for (const ProgramBackend::Found &p : programs)
		if (gates && !p.gated)
			throw Error(
				Error::Input,
				fmt::format("{}: process {} has no gate for its launches; start it with gpulens run "
					    "--schedule task={},gate -- PROGRAM",
					    policy.tasks[p.task].where, p.pid, policy.tasks[p.task].task.name));

	for (size_t i = 0; i < policy.tasks.size(); i++) {
		const PolicyTask &t = policy.tasks[i];
		u32 mine = 0;
		for (const ProgramBackend::Found &p : programs)
			mine |= p.task == i ? p.devices : 0;
		if (std::none_of(programs.begin(), programs.end(), [i](auto &p) { return p.task == i; }))
			throw Error(
				Error::Absent,
				fmt::format("{}: no program of this user runs as this task with a TSG ({}); start it "
					    "with gpulens run --schedule task={} -- PROGRAM",
					    t.where, folder, t.task.name));
		if (mine && !(devices & mine))
			throw Error(Error::Input,
				    fmt::format("{}: runs on the driver's device {}, the tasks before it on "
						"{}; a policy is for one GPU",
						t.where, list_devices(mine), list_devices(devices)));
		devices &= mine ? mine : ~0U;
	}
}

// A program waits for its kernels with one busy processor, its agent with another one while it is held.
void warn_few_processors(size_t programs)
{
	cpu_set_t allowed;
	int processors = sched_getaffinity(0, sizeof(allowed), &allowed) ? 0 : CPU_COUNT(&allowed);
	size_t wanted = 2 * programs + 1;

	if (processors && static_cast<size_t>(processors) < wanted)
		std::fprintf(
			stderr,
			"gpulens: --busy-poll with %zu programs can keep %zu processors busy, and there are %d: jobs "
			"may become later by it\n",
			programs, wanted, processors);
}

json plan_json(const PolicyFile &policy, const std::vector<ProgramBackend::Found> &programs)
{
	json tasks = json::array();

	for (size_t i = 0; i < policy.tasks.size(); i++) {
		std::vector<u32> pids;
		bool announces = false;
		std::set<u32> slices;
		for (const ProgramBackend::Found &p : programs)
			if (p.task == i) {
				pids.push_back(p.pid);
				announces |= p.announces;
				slices.insert(p.slice_us);
			}
		slices.erase(0);
		std::sort(pids.begin(), pids.end());
		tasks.push_back({{"name", policy.tasks[i].task.name},
				 {"processes", pids},
				 {"parameters", describe_task(policy.policy, policy.tasks[i].task)},
				 {"jobs", announces ? "announced" : "unknown"},
				 {"slices_us", slices}});
	}
	return {{"version", 1}, {"policy", name_policy(policy.policy)}, {"tasks", tasks}};
}

std::string plan_text(const json &plan, bool gates)
{
	std::string text = fmt::format("policy {} through NVIDIA's driver, {} tasks\n",
				       plan["policy"].get<std::string>(), plan["tasks"].size());

	for (const json &t : plan["tasks"]) {
		std::string jobs = t["jobs"] == "announced" ? "announces its jobs" : "announces no jobs so far";
		std::vector<std::string> slices;
		for (const json &us : t["slices_us"])
			slices.push_back(format_duration(us.get<u64>() * 1000));
		text += fmt::format("task {}: process {}; {}; {}; time slice {}\n", t["name"].get<std::string>(),
				    fmt::join(t["processes"].get<std::vector<u32>>(), ", "),
				    t["parameters"].get<std::string>(), jobs,
				    slices.empty() ? "unknown" : fmt::format("{}", fmt::join(slices, ", ")));
	}
	if (gates)
		return text + "to hold a task, would have the launches of each process wait\n";
	return text + "to hold a task, would have the agent of each process disable the process' own channels "
		      "(FIFO_DISABLE_CHANNELS), and enable them to release it\n";
}

} // namespace

int schedule_programs(const Options &options, const ScheduleOptions &schedule)
{
	PolicyFile policy = read_policy(schedule.file);
	if (policy.policy == Policy::Interleaved)
		throw Error(Error::Input,
			    policy.name + ": the policy interleaved needs the module; --source rm has no runlists");
	check_policy(policy);
	std::string folder = schedule.dry_run ? turns::runtime_folder() : turns::make_runtime_folder();
	ProgramBackend backend(folder, list_tasks(policy), schedule.lease_ns,
			       schedule.gates ? AgentVerb::Gate : AgentVerb::Disable);
	backend.find_programs(false);
	check_programs(policy, backend.programs(), folder, schedule.gates);
	if (schedule.dry_run) {
		json plan = plan_json(policy, backend.programs());
		return print_text(options.json ? json_text(plan) : plan_text(plan, schedule.gates)) ? EXIT_DONE
												    : EXIT_PART;
	}
	if (!schedule.experimental && !schedule.gates)
		try {
			require_verb(options.sources.gpus, schedule.probed, VERB_HOLD);
		} catch (const Error &e) {
			throw Error(e.code, std::string(e.what()) + "; or hold back launches alone with --gates");
		}
	if (schedule.busy_poll) {
		warn_few_processors(backend.programs().size());
		backend.poll_busily();
	}
	CoordinatorLock lock(folder + "/schedule-coordinator", fmt::format("the programs of {} have", folder));
	backend.hear_jobs();
	for (const std::string &task : backend.unknown_tasks())
		std::fprintf(stderr, "gpulens: task %s runs and is not in %s: it is left alone\n",
			     replace_controls(task).c_str(), policy.name.c_str());

	Coordinator coordinator(backend, policy.policy, policy.plain_tasks(), policy.quantum_ns);
	ScheduleStatus status(folder);
	u64 devices = 0;
	for (const ProgramBackend::Found &p : backend.programs())
		devices |= p.devices;
	if (devices)
		backend.charge_by_turns(static_cast<unsigned>(std::countr_zero(devices)));
	ScheduleSteps steps(programs_step_path(folder), policy.policy, devices, backend.now());
	run_coordinator(coordinator, backend, schedule, steps,
			[&] { status.update(coordinator, policy.policy, backend.now()); });
	Answer released = backend.release_all();
	return show_summary(options, coordinator, policy.policy,
			    released.outcome == Outcome::Done ? ""
							      : "a hold could not be released yet: " + released.reason);
}

} // namespace tool
