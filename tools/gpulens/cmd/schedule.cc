// SPDX-License-Identifier: GPL-2.0
// See schedule.hpp.
#include "gpulens/cmd/schedule.hpp"

#include "gpulens/cmd/control.hpp"
#include "gpulens/cmd/schedule_interleaved.hpp"
#include "gpulens/cmd/schedule_loop.hpp"
#include "gpulens/cmd/schedule_programs.hpp"
#include "lib/base/file.hpp"
#include "lib/base/format.hpp"
#include "lib/schedule/coordinator.hpp"
#include "lib/schedule/live/channel_backend.hpp"
#include "lib/schedule/live/program_backend.hpp"
#include "lib/schedule/policy_file.hpp"
#include "lib/source/module/proc.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

namespace tool {

namespace {

using namespace schedule;
using json = nlohmann::ordered_json;

// Returns the TSG of each task. Throws Error, which names the task.
std::vector<u64> find_tsgs(const Gpu &gpu, const PolicyFile &policy)
{
	std::vector<u64> tsgs;

	for (const PolicyTask &t : policy.tasks) {
		if (t.tsg.empty())
			throw Error(Error::Input, t.where + ": has no tsg; without one, a task can be simulated only");
		u64 tsg = find_tsg(gpu, t.tsg, t.where);
		auto same = std::find(tsgs.begin(), tsgs.end(), tsg);
		if (same != tsgs.end())
			throw Error(Error::Input,
				    fmt::format("{}: task {} has the same TSG", t.where,
						policy.tasks[static_cast<size_t>(same - tsgs.begin())].task.name));
		tsgs.push_back(tsg);
	}
	return tsgs;
}

// Throws Error where a control file cannot be opened for writing.
void check_right(const std::string &folder)
{
	for (const char *file : {"hold_channel", "enable_channel", "preempt_tsg"}) {
		std::string path = folder + file;
		int fd = open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NONBLOCK);
		if (fd < 0)
			throw Error(Error::Failed, "no right to schedule: " + explain(errno, path, true));
		close(fd);
	}
}

// What is known of the tasks before anything is written.
json plan_json(const Gpu &gpu, const PolicyFile &policy, const std::vector<u64> &tsgs)
{
	json tasks = json::array();

	for (size_t i = 0; i < tsgs.size(); i++) {
		u32 runlist = static_cast<u32>(tsgs[i] >> 32), id = static_cast<u32>(tsgs[i]);
		json channels = json::array();
		for (const Tsg &t : gpu.runlist(runlist)->tsgs)
			if (t.id == id && channels.empty())
				for (const Channel &c : t.channels)
					channels.push_back(qualified(gpu, runlist, c.id));
		u32 slice = policy.tasks[i].slice_us;
		tasks.push_back({{"name", policy.tasks[i].task.name},
				 {"tsg", qualified(gpu, runlist, id)},
				 {"runlist", runlist},
				 {"engines", gpu.engine_names(runlist)},
				 {"parameters", describe_task(policy.policy, policy.tasks[i].task)},
				 {"channels", channels},
				 {"slice_us", slice ? json(slice) : json(nullptr)}});
	}
	return {{"version", 1}, {"policy", name_policy(policy.policy)}, {"gpu", gpu.index}, {"tasks", tasks}};
}

// The same as text, with what would be written.
std::string plan_text(const json &plan, const std::string &folder)
{
	std::string text = fmt::format("policy {} on GPU {}, {} tasks\n", plan["policy"].get<std::string>(),
				       plan["gpu"].get<int>(), plan["tasks"].size());

	for (const json &t : plan["tasks"]) {
		std::string tsg = t["tsg"], name = t["name"], parameters = t["parameters"];
		std::string channels =
			fmt::format("{}", fmt::join(t["channels"].get<std::vector<std::string>>(), ", "));
		text += fmt::format("task {}: TSG {} on runlist {} ({}); {}\n", name, tsg, t["runlist"].get<u32>(),
				    fmt::join(t["engines"].get<std::vector<std::string>>(), " "), parameters);
		if (!t["slice_us"].is_null())
			text += fmt::format("  would write {} {} to {}tsg_timeslice, and undo it at the end\n", tsg,
					    t["slice_us"].get<u32>(), folder);
		text += fmt::format("  to hold it, would write {} to {}hold_channel and {} to {}preempt_tsg\n",
				    channels, folder, tsg, folder);
		text += fmt::format("  to release it, would write {} to {}enable_channel\n", channels, folder);
	}
	return text;
}

// Time slices that are set while the policy is carried out.
class Slices {
public:
	Slices(Backend &backend, const PolicyFile &policy, const std::vector<u64> &tsgs, const Gpu &before)
		: backend_(backend)
	{
		for (size_t i = 0; i < tsgs.size(); i++) {
			if (!policy.tasks[i].slice_us)
				continue;
			for (const Tsg &t : before.runlist(static_cast<u32>(tsgs[i] >> 32))->tsgs)
				if (t.id == static_cast<u32>(tsgs[i]) && t.timeslice_ns) {
					Answer answer = backend_.set_slice(i, policy.tasks[i].slice_us);
					if (answer.outcome != Outcome::Done)
						std::fprintf(stderr, "gpulens: task %s: its time slice stays: %s\n",
							     policy.tasks[i].task.name.c_str(), answer.reason.c_str());
					else
						set_.emplace_back(i, static_cast<u32>((t.timeslice_ns + 500) / 1000));
					break;
				}
		}
	}
	Slices(const Slices &) = delete;
	Slices &operator=(const Slices &) = delete;
	~Slices()
	{
		for (auto &[task, us] : set_)
			backend_.set_slice(task, us);
	}

private:
	Backend &backend_;
	std::vector<std::pair<size_t, u32>> set_;
};

} // namespace

int run_schedule(const Options &options, const ScheduleOptions &schedule)
{
	if (options.sources.source && options.sources.source->name == std::string("rm"))
		return schedule_programs(options, schedule);
	if (schedule.experimental || schedule.gates || schedule.busy_poll || !schedule.probed.empty())
		throw Error(Error::Input, "--experimental, --gates, --busy-poll and --probed go with --source rm");

	unsigned index = only_gpu(options.sources.proc, options.sources.gpus);
	std::string folder = fmt::format("{}/gpu{}/", options.sources.proc, index);
	ModulePort gpu(options.sources.proc, index);
	PolicyFile policy = parse_policy(read_json_file(schedule.file), schedule.file);
	Gpu before = gpu.read_gpu();
	std::vector<u64> tsgs = find_tsgs(before, policy);
	if (policy.policy == Policy::Interleaved)
		return schedule_interleaved(options, schedule, policy, before, tsgs);
	if (schedule.dry_run) {
		json plan = plan_json(before, policy, tsgs);
		return print_text(options.json ? json_text(plan) : plan_text(plan, folder)) ? EXIT_DONE : EXIT_PART;
	}
	check_right(folder);
	CoordinatorLock lock(fmt::format("{}/schedule-gpu{}", schedule.state, index), fmt::format("GPU {} has", index));
	ChannelBackend backend(gpu, before.chip.ids_per_runlist, schedule.lease_ns, tsgs);
	Coordinator coordinator(backend, policy.policy, policy.plain_tasks(), policy.quantum_ns);
	ScheduleSteps steps(gpu_step_path(schedule.state, index), policy.policy, 0, backend.now());
	std::string failure;
	{
		Slices slices(backend, policy, tsgs, before);
		try {
			run_coordinator(coordinator, backend, schedule, steps, [] {});
		} catch (const Error &e) {
			failure = e.what();
		}
		// The module goes on trying.
		if (backend.release_all().outcome != Outcome::Done)
			failure += (failure.empty() ? "" : "; ") + std::string("a hold could not be released yet");
	}
	return show_summary(options, coordinator, policy.policy, failure);
}

} // namespace tool
