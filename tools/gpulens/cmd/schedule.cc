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
#include "lib/source/image/from_image.hpp"
#include "lib/source/module/proc.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>
#include <optional>
#include <set>
#include <unistd.h>

namespace tool {

namespace {

using namespace schedule;
using json = nlohmann::ordered_json;

// Of each task its TSGs, as find_tsg() returns them.
using TaskTsgs = std::vector<std::vector<u64>>;

// Throws Error, which names the task.
TaskTsgs find_tsgs(const Gpu &gpu, const PolicyFile &policy)
{
	std::map<u64, std::string> named;
	TaskTsgs tsgs;

	for (const PolicyTask &t : policy.tasks) {
		if (t.tsgs.empty())
			throw Error(Error::Input, t.where + ": has no tsg; without one, a task can be simulated only");
		tsgs.emplace_back();
		for (const std::string &text : t.tsgs) {
			u64 tsg = find_tsg(gpu, text, t.where);
			if (auto [other, added] = named.insert({tsg, t.task.name}); !added)
				throw Error(Error::Input,
					    fmt::format("{}: task {} has the same TSG", t.where, other->second));
			tsgs.back().push_back(tsg);
		}
	}
	return tsgs;
}

using AddressSpaces = std::set<std::pair<u32, u64>>;

AddressSpaces spaces_of(const Tsg &tsg)
{
	AddressSpaces spaces;

	for (const Channel &c : tsg.channels)
		if (auto space = c.address_space())
			spaces.insert(*space);
	return spaces;
}

// Returns what a hold of the task leaves running: TSGs of its address space that no task names. image: of the GPU, whose
// snapshot has no page directories.
json left_out_json(const Gpu &image, const TaskTsgs &tsgs, size_t task)
{
	AddressSpaces spaces;
	std::set<u64> named;
	json left = json::array();

	for (const std::vector<u64> &list : tsgs)
		named.insert(list.begin(), list.end());
	for (u64 tsg : tsgs[task])
		if (const Tsg *t = tsg_of(image, tsg))
			spaces.merge(spaces_of(*t));
	auto shares = [&](const Tsg &t) {
		AddressSpaces its = spaces_of(t);
		return std::any_of(its.begin(), its.end(), [&](const auto &one) { return spaces.contains(one); });
	};
	for (const Runlist &rl : image.runlists)
		for (const Tsg &t : rl.tsgs)
			if (!named.contains(u64{rl.id} << 32 | t.id) && shares(t))
				left.push_back({{"tsg", qualified(image, rl.id, t.id)},
						{"runlist", rl.id},
						{"engines", image.engine_names(rl.id)}});
	return left;
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
json tsg_json(const Gpu &gpu, u64 tsg)
{
	u32 runlist = static_cast<u32>(tsg >> 32);
	json channels = json::array();

	for (const Channel &c : tsg_of(gpu, tsg)->channels)
		channels.push_back(qualified(gpu, runlist, c.id));
	return {{"tsg", qualified(gpu, runlist, static_cast<u32>(tsg))},
		{"runlist", runlist},
		{"engines", gpu.engine_names(runlist)},
		{"channels", channels}};
}

json plan_json(const Gpu &gpu, const PolicyFile &policy, const TaskTsgs &tsgs, const std::optional<Gpu> &image)
{
	json tasks = json::array();

	for (size_t i = 0; i < tsgs.size(); i++) {
		u32 slice = policy.tasks[i].slice_us;
		json task = {{"name", policy.tasks[i].task.name},
			     {"parameters", describe_task(policy.policy, policy.tasks[i].task)},
			     {"slice_us", slice ? json(slice) : json(nullptr)}};
		task.update(tsg_json(gpu, tsgs[i][0]));
		task["also"] = json::array();
		for (size_t n = 1; n < tsgs[i].size(); n++)
			task["also"].push_back(tsg_json(gpu, tsgs[i][n]));
		task["left_out"] = image ? left_out_json(*image, tsgs, i) : json(nullptr);
		tasks.push_back(task);
	}
	return {{"version", 1}, {"policy", name_policy(policy.policy)}, {"gpu", gpu.index}, {"tasks", tasks}};
}

// Returns "TSG 0:3 on runlist 0 (GR0), TSG 5:40 on runlist 5 (LCE2)".
std::string tsgs_text(const std::vector<json> &tsgs)
{
	std::string text;

	for (const json &t : tsgs)
		text += fmt::format("{}TSG {} on runlist {} ({})", text.empty() ? "" : ", ",
				    t["tsg"].get<std::string>(), t["runlist"].get<u32>(),
				    fmt::join(t["engines"].get<std::vector<std::string>>(), " "));
	return text;
}

// Returns the GPU with the page directories of its channels; nothing: it cannot be read so.
std::optional<Gpu> read_image(const std::string &folder)
{
	try {
		return from_bytes(read_proc(folder + "image"), folder + "image");
	} catch (const Error &) {
		return std::nullopt;
	}
}

// The same as text, with what would be written.
std::string plan_text(const json &plan, const std::string &folder)
{
	std::string text = fmt::format("policy {} on GPU {}, {} tasks\n", plan["policy"].get<std::string>(),
				       plan["gpu"].get<int>(), plan["tasks"].size());

	for (const json &t : plan["tasks"]) {
		std::vector<json> tsgs = {t};
		tsgs.insert(tsgs.end(), t["also"].begin(), t["also"].end());
		text += fmt::format("task {}: {}; {}\n", t["name"].get<std::string>(), tsgs_text(tsgs),
				    t["parameters"].get<std::string>());
		if (!t["slice_us"].is_null())
			text += fmt::format("  would write {} {} to {}tsg_timeslice, and undo it at the end\n",
					    t["tsg"].get<std::string>(), t["slice_us"].get<u32>(), folder);
		std::vector<std::string> ids, channels;
		for (const json &one : tsgs) {
			ids.push_back(one["tsg"]);
			channels.insert(channels.end(), one["channels"].begin(), one["channels"].end());
		}
		text += fmt::format("  to hold it, would write {} to {}hold_channel and {} to {}preempt_tsg\n",
				    fmt::join(channels, ", "), folder, fmt::join(ids, ", "), folder);
		text += fmt::format("  to release it, would write {} to {}enable_channel\n", fmt::join(channels, ", "),
				    folder);
		if (t["left_out"].is_null())
			text += "  whether other TSGs have its address space is unknown: that takes the GPU's image\n";
		else if (!t["left_out"].empty())
			text += fmt::format("  not held with it, though in its address space: {}\n",
					    tsgs_text(t["left_out"]));
	}
	return text;
}

// Time slices that are set while the policy is carried out.
class Slices {
public:
	Slices(Backend &backend, const PolicyFile &policy, const TaskTsgs &tsgs, const Gpu &before) : backend_(backend)
	{
		for (size_t i = 0; i < tsgs.size(); i++) {
			const Tsg *t = tsg_of(before, tsgs[i][0]);
			if (!policy.tasks[i].slice_us || !t->timeslice_ns)
				continue;
			Answer answer = backend_.set_slice(i, policy.tasks[i].slice_us);
			if (answer.outcome != Outcome::Done)
				std::fprintf(stderr, "gpulens: task %s: its time slice stays: %s\n",
					     policy.tasks[i].task.name.c_str(), answer.reason.c_str());
			else
				set_.emplace_back(i, static_cast<u32>((t->timeslice_ns + 500) / 1000));
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

PolicyFile read_policy(const std::string &path)
{
	PolicyFile policy = parse_policy(read_json_file(path), path);

	if (std::string note = policy.starvation(); !note.empty())
		std::fprintf(stderr, "gpulens: %s\n", note.c_str());
	return policy;
}

int run_schedule(const Options &options, const ScheduleOptions &schedule)
{
	if (options.sources.source && options.sources.source->name == std::string("rm"))
		return schedule_programs(options, schedule);
	if (schedule.experimental || schedule.gates || schedule.busy_poll || !schedule.probed.empty())
		throw Error(Error::Input, "--experimental, --gates, --busy-poll and --probed go with --source rm");

	unsigned index = only_gpu(options.sources.proc, options.sources.gpus);
	std::string folder = fmt::format("{}/gpu{}/", options.sources.proc, index);
	ModulePort gpu(options.sources.proc, index);
	PolicyFile policy = read_policy(schedule.file);
	Gpu before = gpu.read_gpu();
	TaskTsgs tsgs = find_tsgs(before, policy);
	if (policy.policy == Policy::Interleaved)
		return schedule_interleaved(options, schedule, policy, before, tsgs);
	if (schedule.dry_run) {
		json plan = plan_json(before, policy, tsgs, read_image(folder));
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
