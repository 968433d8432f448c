// SPDX-License-Identifier: GPL-2.0
// Queries processes and utilisation samples, and matches samples with resident channels.
#include "lib/rm/processes.hpp"

#include "lib/base/errors.hpp"
#include "lib/base/format.hpp"
#include "lib/base/outside.hpp"
#include "lib/base/process_info.hpp"
#include "lib/launch/environment.hpp"
#include "lib/rm/engine_type.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <iterator>
#include <memory>
#include <set>
#include <sys/stat.h>
#include <unistd.h>

namespace tool::rm {

namespace {

constexpr int64_t OFFSET_STEP_NS = 125000;
// Offsets with this share of the best agreement count as good: on H100s, an offset wrong by one slot reached 0.87.
constexpr double NEARLY_BEST = 0.9;
constexpr u32 MIN_SAMPLES = 8; // with six, of two processes on an H100, a wrong offset agreed as well at times
constexpr u64 HISTORY_NS = 21000000000;
constexpr off_t MAX_RUN_FILE = 1 << 20; // bytes
// A process may name any of its memory as its environment (PR_SET_MM_MAP).

std::vector<u32> list_classes(Client &client, const Subdevice &gpu, u32 nv2080, const OnRefusal &on_refusal)
{
	ClassList count{.type = nv2080};
	std::vector<u32> list;

	u32 status = client.query(gpu, count);
	if (status == NV_OK) {
		list.resize(std::min<u32>(count.count, 256));
		ClassList all{.type = nv2080,
			      .count = static_cast<u32>(list.size()),
			      .classes = reinterpret_cast<uintptr_t>(list.data())};
		status = list.empty() ? u32{NV_OK} : client.query(gpu, all);
	}
	if (status != NV_OK) {
		on_refusal(ClassList::NAME, status);
		list.clear();
	}
	return list;
}

// Returns the pid with the most samples.
std::map<u32, u32>::const_iterator most_frequent(const std::map<u32, u32> &by_pid)
{
	return std::max_element(by_pid.begin(), by_pid.end(),
				[](const auto &a, const auto &b) { return a.second < b.second; });
}

// Returns the value of a variable in the initial environment of a process; empty: not set.
std::string environment_variable(u32 pid, const std::string &name)
{
	std::string text = '\0' + read_process_file(pid, "environ");
	size_t at = text.find('\0' + name + '=');
	return at == text.npos ? "" : text.substr(at + name.size() + 2).c_str();
}

void query_memory(Client &client, const Subdevice &gpu, std::vector<Process> &processes, const OnRefusal &on_refusal)
{
	std::unique_ptr<PidInfo> info = std::make_unique<PidInfo>();

	for (size_t from = 0; from < processes.size(); from += PidInfo::MAX) {
		info->count = static_cast<u32>(std::min<size_t>(processes.size() - from, PidInfo::MAX));
		for (u32 i = 0; i < info->count; i++)
			info->list[i] = {.pid = processes[from + i].pid};
		u32 status = client.query(gpu, *info);
		if (status != NV_OK)
			return on_refusal(PidInfo::NAME, status);
		for (u32 i = 0; i < info->count; i++)
			if (const PidInfo::Entry &entry = info->list[i]; entry.result == NV_OK) {
				processes[from + i].memory_bytes = entry.own + entry.shared;
				if (entry.gpu_instance != PidInfo::NO_INSTANCE)
					processes[from + i].mig = {entry.gpu_instance, entry.compute_instance};
			}
	}
}

} // namespace

std::vector<UsedClass> list_used_classes(Client &client, const Subdevice &gpu, const OnRefusal &on_refusal)
{
	std::vector<UsedClass> list;

	// The low byte of NVIDIA's class numbers is the kind: 0xc0 compute, 0xb5 copy.
	for (u16 type : {NV_PTOP_DEVICE_INFO_TYPE_ENUM_GRAPHICS, NV_PTOP_DEVICE_INFO_TYPE_ENUM_LCE})
		for (u32 cls : list_classes(client, gpu, nv2080_of(type, 0), on_refusal))
			if ((cls & 0xff) == 0xc0 || (cls & 0xff) == 0xb5)
				list.push_back({cls, (cls & 0xff) == 0xc0 ? "compute" : "copy"});
	list.push_back({MPS_COMPUTE, "MPS"});
	list.push_back({0x83de, "debugger"}); // class/cl83de.h, GT200_DEBUGGER
	return list;
}

std::vector<u32> list_users(Client &client, const Subdevice &gpu, u32 cls, const OnRefusal &on_refusal)
{
	std::unique_ptr<Pids> pids = std::make_unique<Pids>();

	pids->id = cls;
	u32 status = client.query(gpu, *pids);
	if (status == NV_OK)
		return {pids->pids, pids->pids + std::min(pids->count, Pids::MAX)};
	on_refusal(Pids::NAME, status);
	return {};
}

std::vector<Process> list_processes(Client &client, const Subdevice &gpu, const std::vector<UsedClass> &classes,
				    const OnRefusal &on_refusal)
{
	std::map<u32, std::vector<std::string>> uses;
	std::vector<Process> list;

	for (const UsedClass &cls : classes)
		for (u32 pid : list_users(client, gpu, cls.number, on_refusal))
			uses[pid].emplace_back(cls.use);
	list.reserve(uses.size());
	for (auto &[pid, process_uses] : uses)
		list.push_back({.pid = pid, .name = process_name(pid), .uses = std::move(process_uses)});
	query_memory(client, gpu, list, on_refusal);
	return list;
}

std::vector<Process> list_processes(Client &client, const Subdevice &gpu)
{
	OnRefusal ignore = [](const char *, u32) {};

	return list_processes(client, gpu, list_used_classes(client, gpu, ignore), ignore);
}

std::vector<RunTsg> claimed_tsgs(u32 pid)
{
	std::string folder = fmt::format("/proc/{}", pid);
	std::string path = environment_variable(pid, gpulens::environment::RUN_FILE);
	struct stat process {
	}, is{};
	std::vector<RunTsg> list;

	if (path.empty() || stat(folder.c_str(), &process))
		return {};
	OutsideFile file = file_of_process(folder.c_str(), path.c_str());
	if (!file.is_regular(is) || is.st_uid != process.st_uid || is.st_size > MAX_RUN_FILE || !file.open_to_read())
		return {};
	std::string text(static_cast<size_t>(is.st_size), '\0');
	ssize_t got = read(file.fd(), text.data(), text.size());
	try {
		list = parse_run_lines(std::string_view(text).substr(0, got < 0 ? 0 : static_cast<size_t>(got)), path);
	} catch (const Error &) {
		// Not a file of gpulens run: the process has no claims.
	}
	std::erase_if(list, [&](const RunTsg &tsg) { return tsg.pid != pid; });
	return list;
}

std::vector<UtilSample> util_samples(Client &client, const Subdevice &gpu)
{
	std::unique_ptr<UtilSamples> ring = std::make_unique<UtilSamples>();
	std::vector<UtilSample> list;

	if (client.query(gpu, *ring) != NV_OK)
		return list;
	for (const UtilSamples::Sample &sample : ring->samples)
		if (sample.time_ns && sample.time_ns < uint64_t{1} << 62)
			list.push_back({.time_ns = sample.time_ns, .pid = sample.gr.pid});
	std::sort(list.begin(), list.end(), [](const auto &a, const auto &b) { return a.time_ns < b.time_ns; });
	return list;
}

void ChannelOwners::add_resident(u64 time_ns, std::optional<u32> channel)
{
	resident_.emplace_back(time_ns, channel);
}

std::optional<u32> ChannelOwners::resident_at(int64_t time_ns) const
{
	auto after = std::upper_bound(resident_.begin(), resident_.end(), time_ns, [](int64_t t, const auto &answer) {
		return t < static_cast<int64_t>(answer.first);
	});

	if (after == resident_.begin() || after == resident_.end())
		return std::nullopt;
	auto before = std::prev(after);
	if (before->second != after->second || after->first - before->first >= max_gap_ns_)
		return std::nullopt;
	return before->second;
}

bool ChannelOwners::contradict(UtilClock::Offset offset, const std::function<u32(u32 channel)> &pid_of)
{
	bool contradicted = false;

	for (const UtilSample &sample : samples_) {
		std::set<u32> pids;
		if (sample.pid == UtilSamples::NO_PID || sample.time_ns <= compared_ns_)
			continue;
		for (int64_t offset_ns = offset.min; offset_ns <= offset.max; offset_ns += OFFSET_STEP_NS)
			if (auto channel = resident_at(static_cast<int64_t>(sample.time_ns) - offset_ns))
				pids.insert(pid_of(*channel));
		contradicted |= !pids.empty() && !pids.contains(sample.pid) && !pids.contains(0);
	}
	if (!samples_.empty())
		compared_ns_ = samples_.back().time_ns;
	return contradicted;
}

void ChannelOwners::forget(u32 channel)
{
	for (auto &[time_ns, resident] : resident_)
		if (resident == channel)
			resident.reset();
}

void ChannelOwners::add_samples(const std::vector<UtilSample> &samples)
{
	u64 last = samples_.empty() ? 0 : samples_.back().time_ns;

	for (const UtilSample &sample : samples)
		if (sample.time_ns > last)
			samples_.push_back(sample);
	last = samples_.empty() ? 0 : samples_.back().time_ns;
	std::erase_if(samples_, [last](const UtilSample &sample) { return sample.time_ns + HISTORY_NS < last; });
	while (!resident_.empty() && resident_.front().first + HISTORY_NS < resident_.back().first)
		resident_.pop_front();
}

ChannelOwners::Votes ChannelOwners::count_votes(int64_t offset_ns) const
{
	Votes votes;

	for (const UtilSample &sample : samples_)
		if (sample.pid != UtilSamples::NO_PID)
			if (auto channel = resident_at(static_cast<int64_t>(sample.time_ns) - offset_ns)) {
				votes.by_channel[*channel][sample.pid]++;
				votes.all++;
			}
	for (const auto &[channel, by_pid] : votes.by_channel)
		votes.agreeing += most_frequent(by_pid)->second;
	return votes;
}

std::map<u32, u32> ChannelOwners::find_pids(UtilClock::Offset offset) const
{
	std::vector<Votes> all;
	std::map<u32, u32> list;

	for (int64_t offset_ns = offset.min; offset_ns <= offset.max; offset_ns += OFFSET_STEP_NS)
		all.push_back(count_votes(offset_ns));
	// Few votes agree easily: an offset needs half as many as another one has.
	u32 enough = 0;
	for (const Votes &votes : all)
		enough = std::max(enough, votes.all / 2);
	std::erase_if(all, [&](const Votes &votes) { return !votes.all || votes.all < enough; });
	auto best = std::max_element(all.begin(), all.end(),
				     [](const Votes &a, const Votes &b) { return a.agreement() < b.agreement(); });
	if (best == all.end() || best->all < MIN_SAMPLES)
		return list;
	for (const auto &[channel, by_pid] : best->by_channel) {
		u32 sum = 0;
		auto [pid, n] = *most_frequent(by_pid);
		for (const auto &[other, m] : by_pid)
			sum += m;
		if (n >= 3 && 5 * n >= 4 * sum)
			list[channel] = pid;
	}
	for (const Votes &votes : all)
		if (votes.agreement() >= NEARLY_BEST * best->agreement())
			std::erase_if(list, [&](const auto &owner) {
				auto row = votes.by_channel.find(owner.first);
				return row == votes.by_channel.end() ||
				       most_frequent(row->second)->first != owner.second;
			});
	return list;
}

} // namespace tool::rm
