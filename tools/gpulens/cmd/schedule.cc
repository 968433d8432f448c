// SPDX-License-Identifier: GPL-2.0
// Page directories are in the GPU's image only, which is read after the snapshot: a TSG of the image that the snapshot lacks
// is left out. Tasks whose engines need the same lock are one group; where engines are unknown, all tasks are.
#include "gpulens/cmd/schedule.hpp"

#include "gpulens/cmd/control.hpp"
#include "gpulens/cmd/schedule_loop.hpp"
#include "lib/base/file.hpp"
#include "lib/base/format.hpp"
#include "lib/base/sets.hpp"
#include "lib/model/isolation.hpp"
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

using AddressSpaces = std::set<std::pair<u32, u64>>; // target and page directory

AddressSpaces spaces_of(const Tsg &tsg)
{
	AddressSpaces spaces;

	for (const Channel &c : tsg.channels)
		if (auto space = c.address_space())
			spaces.insert(*space);
	return spaces;
}

// Returns the TSGs that have an address space for which the condition holds, once each.
template <typename Condition> std::vector<u64> find_sharing(const Gpu &image, Condition condition)
{
	std::vector<u64> found;

	for (const Runlist &rl : image.runlists)
		for (const Tsg &t : rl.tsgs)
			if (u64 tsg = u64{rl.id} << 32 | t.id;
			    std::ranges::any_of(spaces_of(t), condition) && !std::ranges::count(found, tsg))
				found.push_back(tsg);
	return found;
}

// Throws Error, which names the task. image: of the GPU, whose snapshot has no page directories.
std::vector<u64> find_tsgs(const Gpu &gpu, const std::optional<Gpu> &image, const PolicyTask &task)
{
	std::vector<u64> tsgs;

	for (const std::string &text : task.tsgs)
		tsgs.push_back(find_tsg(gpu, text, task.where));
	if (task.page_directory && !image)
		throw Error(Error::Failed,
			    task.where + ": page directories take the GPU's image, which cannot be read");
	if (task.page_directory)
		tsgs = find_sharing(*image, [&](const auto &space) { return space.second == *task.page_directory; });
	std::erase_if(tsgs, [&](u64 tsg) { return !tsg_of(gpu, tsg); }); // it ended between the two
	if (tsgs.empty() && task.page_directory)
		throw Error(Error::Input,
			    fmt::format("{}: no TSG has the page directory {:#x}", task.where, *task.page_directory));
	if (tsgs.empty())
		throw Error(Error::Input, task.where + ": has no tsg; without one, a task can be simulated only");
	return tsgs;
}

// The same of all tasks. Throws Error where two have one.
TaskTsgs find_all_tsgs(const Gpu &gpu, const std::optional<Gpu> &image, const PolicyFile &policy)
{
	std::map<u64, std::string> named;
	TaskTsgs tsgs;

	for (const PolicyTask &t : policy.tasks) {
		tsgs.push_back(find_tsgs(gpu, image, t));
		for (u64 tsg : tsgs.back())
			if (auto [other, added] = named.insert({tsg, t.task.name}); !added)
				throw Error(Error::Input,
					    fmt::format("{}: task {} has the same TSG", t.where, other->second));
	}
	return tsgs;
}

// Returns what a hold of the task leaves running: TSGs of its address space that no task names.
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
	for (u64 tsg : find_sharing(image, [&](const auto &space) { return spaces.contains(space); })) {
		u32 runlist = static_cast<u32>(tsg >> 32);
		if (!named.contains(tsg))
			left.push_back({{"tsg", qualified(image, runlist, static_cast<u32>(tsg))},
					{"runlist", runlist},
					{"engines", image.engine_names(runlist)}});
	}
	return left;
}

// Sets the groups of the tasks, from 0 up: those that need the same lock (Isolation::locks) are decided together.
void set_groups(std::vector<Task> &tasks, const Gpu &gpu, const TaskTsgs &tsgs)
{
	Isolation known = isolation_of(gpu);
	Sets sets(tasks.size());
	std::map<std::string, size_t> first{{"", 0}}; // task that needs a lock, by an engine of it; "": unknown
	std::map<size_t, u32> groups;                 // by the first task

	for (const Hazard &h : known.unknown)
		if (h.name == "unknown-engines" || h.name == "unknown-copy-engines")
			return;           // they may be shared
	auto lock_of = [&](u32 runlist) { // its engines have one
		std::vector<const Engine *> engines = gpu.engines_of(runlist);
		for (const std::vector<std::string> &lock : known.locks)
			if (!engines.empty() && std::ranges::count(lock, engines[0]->short_name()))
				return lock[0];
		return std::string();
	};
	for (size_t i = 0; i < tasks.size(); i++)
		for (u64 tsg : tsgs[i])
			sets.join(first.try_emplace(lock_of(static_cast<u32>(tsg >> 32)), i).first->second, i);
	for (size_t i = 0; i < tasks.size(); i++)
		tasks[i].group = groups.try_emplace(sets.root(i), static_cast<u32>(groups.size())).first->second;
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

// What is known of the tasks before anything is written, and why it could not be.
json plan_json(const Gpu &gpu, const std::string &folder, const PolicyFile &policy, const std::vector<Task> &grouped,
	       const TaskTsgs &tsgs, const std::optional<Gpu> &image)
{
	json tasks = json::array(), refused;

	for (size_t i = 0; i < tsgs.size(); i++) {
		u32 slice = policy.tasks[i].slice_us;
		json task = {{"name", policy.tasks[i].task.name},
			     {"parameters", describe_task(policy.policy, policy.tasks[i].task)},
			     {"group", grouped[i].group},
			     {"slice_us", slice ? json(slice) : json(nullptr)}};
		task.update(tsg_json(gpu, tsgs[i][0]));
		task["also"] = json::array();
		for (size_t n = 1; n < tsgs[i].size(); n++)
			task["also"].push_back(tsg_json(gpu, tsgs[i][n]));
		task["left_out"] = image ? left_out_json(*image, tsgs, i) : json(nullptr);
		tasks.push_back(task);
	}
	try {
		check_right(folder);
	} catch (const Error &e) {
		refused = e.what();
	}
	return {{"version", 1},
		{"policy", name_policy(policy.policy)},
		{"gpu", gpu.index},
		{"refused", refused},
		{"tasks", tasks}};
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

// plan: of plan_json(). With what would be written.
std::string plan_text(const json &plan, const std::string &folder)
{
	std::string text = fmt::format("policy {} on GPU {}, {} tasks\n", plan["policy"].get<std::string>(),
				       plan["gpu"].get<int>(), plan["tasks"].size());
	std::map<u32, std::vector<std::string>> groups;

	for (const json &t : plan["tasks"])
		groups[t["group"].get<u32>()].push_back(t["name"]);
	for (const auto &[group, names] : groups)
		if (groups.size() > 1)
			text += fmt::format("decided by {}, with no runlist and no copy engine of the others: {}\n",
					    names.size() > 1 ? "themselves" : "itself", fmt::join(names, ", "));
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
	if (!plan["refused"].is_null())
		text += fmt::format("as it is, the command would end: {}\n", plan["refused"].get<std::string>());
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

	PolicyFile policy = read_policy(schedule.file);
	unsigned index = only_gpu(options.sources.proc, options.sources.gpus);
	std::string folder = fmt::format("{}/gpu{}/", options.sources.proc, index);
	ModulePort gpu(options.sources.proc, index);
	Gpu before = gpu.read_gpu();
	bool by_space = std::ranges::any_of(policy.tasks, [](const PolicyTask &t) { return bool(t.page_directory); });
	std::optional<Gpu> image = by_space || schedule.dry_run ? read_image(folder) : std::nullopt;
	TaskTsgs tsgs = find_all_tsgs(before, image, policy);
	if (policy.policy == Policy::Interleaved)
		return schedule_interleaved(options, schedule, policy, before, tsgs);
	std::vector<Task> tasks = policy.plain_tasks();
	set_groups(tasks, before, tsgs);
	if (schedule.dry_run) {
		json plan = plan_json(before, folder, policy, tasks, tsgs, image);
		return print_text(options.json ? json_text(plan) : plan_text(plan, folder)) ? EXIT_DONE : EXIT_PART;
	}
	check_right(folder);
	CoordinatorLock lock(fmt::format("{}/schedule-gpu{}", schedule.state, index), fmt::format("GPU {} has", index));
	ChannelBackend backend(gpu, before.chip.ids_per_runlist, schedule.lease_ns, tsgs);
	Coordinator coordinator(backend, policy.policy, tasks, policy.quantum_ns);
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
