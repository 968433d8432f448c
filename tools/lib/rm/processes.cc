// SPDX-License-Identifier: GPL-2.0
// See processes.hpp.
#include "lib/rm/processes.hpp"

#include "lib/base/errors.hpp"
#include "lib/base/format.hpp"
#include "lib/base/outside.hpp"
#include "lib/launch/environment.hpp"
#include "lib/rm/engine_type.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fstream>
#include <iterator>
#include <memory>
#include <sys/stat.h>
#include <unistd.h>

namespace tool::rm {

namespace {

constexpr int64_t APART_NS = 125000; // offsets that are tried
constexpr double NEARLY = 0.9;       // as good: of recordings on H100s, 0.87 and less for a turn too early or late
constexpr u32 LEAST = 8;             // with six of two processes on an H100 a turn too early agreed as well at times
constexpr size_t NOTES = 100;        // 20 s
constexpr u64 KEPT_NS = 21000000000;
constexpr off_t MAX_RUN_FILE = 1 << 20; // bytes
// Residence is asked every 0.25 to 0.36 ms; samples on both sides closer than this say what was there in between.
constexpr u64 CLOSE_NS = 1000000;

std::vector<u32> classes(Client &client, const Subdevice &of, u32 nv2080, const Refused &refused)
{
	ClassList first{.type = nv2080};
	std::vector<u32> list;

	u32 status = client.ask(of, first);
	if (status == NV_OK) {
		list.resize(std::min<u32>(first.count, 256));
		ClassList all{.type = nv2080,
			      .count = static_cast<u32>(list.size()),
			      .classes = reinterpret_cast<uintptr_t>(list.data())};
		status = list.empty() ? u32{NV_OK} : client.ask(of, all);
	}
	if (status != NV_OK) {
		refused(ClassList::NAME, status);
		list.clear();
	}
	return list;
}

std::map<u32, u32>::const_iterator most(const std::map<u32, u32> &by_pid)
{
	return std::max_element(by_pid.begin(), by_pid.end(),
				[](const auto &a, const auto &b) { return a.second < b.second; });
}

// The value of a variable that the process had when it began; empty: none.
std::string variable_of(u32 pid, const std::string &name)
{
	std::ifstream file(fmt::format("/proc/{}/environ", pid));
	std::string one;

	while (std::getline(file, one, '\0'))
		if (one.compare(0, name.size() + 1, name + '=') == 0)
			return one.substr(name.size() + 1);
	return "";
}

} // namespace

std::vector<Process> processes(Client &client, const Subdevice &of, const Refused &refused)
{
	std::map<u32, std::vector<std::string>> uses;
	std::vector<Process> list;

	auto add = [&](u32 cls, const char *what) {
		std::unique_ptr<Pids> pids = std::make_unique<Pids>();
		pids->id = cls;
		u32 status = client.ask(of, *pids);
		if (status != NV_OK)
			return refused(Pids::NAME, status);
		for (u32 i = 0; i < std::min(pids->count, Pids::MAX); i++)
			uses[pids->pids[i]].emplace_back(what);
	};
	// NVIDIA's classes of one kind end alike.
	for (u16 type : {NV_PTOP_DEVICE_INFO_TYPE_ENUM_GRAPHICS, NV_PTOP_DEVICE_INFO_TYPE_ENUM_LCE})
		for (u32 cls : classes(client, of, nv2080_of(type, 0), refused))
			if ((cls & 0xff) == 0xc0 || (cls & 0xff) == 0xb5)
				add(cls, (cls & 0xff) == 0xc0 ? "compute" : "copy");
	add(0x900e, "MPS");      // class/cl900e.h, MPS_COMPUTE
	add(0x83de, "debugger"); // class/cl83de.h, GT200_DEBUGGER
	list.reserve(uses.size());
	for (auto &[pid, what] : uses)
		list.push_back({.pid = pid, .name = process_name(pid), .uses = std::move(what)});
	return list;
}

std::string process_name(u32 pid)
{
	std::string name;
	std::ifstream file(fmt::format("/proc/{}/comm", pid));

	std::getline(file, name);
	return printable(name);
}

std::vector<RunTsg> tsgs_of(u32 pid)
{
	std::string folder = fmt::format("/proc/{}", pid), path = variable_of(pid, gpulens::environment::RUN_FILE);
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
		list = run_lines(std::string_view(text).substr(0, got < 0 ? 0 : static_cast<size_t>(got)), path);
	} catch (const Error &) {
		// Something else's file: what it holds is nobody's business.
	}
	std::erase_if(list, [&](const RunTsg &one) { return one.pid != pid; });
	return list;
}

std::vector<ActiveProcess> active_processes(Client &client, const Subdevice &of)
{
	std::unique_ptr<UtilSamples> all = std::make_unique<UtilSamples>();
	std::vector<ActiveProcess> list;

	if (client.ask(of, *all) != NV_OK)
		return list;
	for (const UtilSamples::Sample &one : all->samples)
		if (one.time_ns && one.time_ns < uint64_t{1} << 62)
			list.push_back({.time_ns = one.time_ns, .pid = one.gr.pid});
	std::sort(list.begin(), list.end(), [](const auto &a, const auto &b) { return a.time_ns < b.time_ns; });
	return list;
}

void Owners::resident(u64 time_ns, std::optional<u32> channel)
{
	resident_.emplace_back(time_ns, channel);
}

std::optional<u32> Owners::at(int64_t time_ns) const
{
	auto after = std::upper_bound(resident_.begin(), resident_.end(), time_ns,
				      [](int64_t t, const auto &one) { return t < static_cast<int64_t>(one.first); });

	if (after == resident_.begin() || after == resident_.end())
		return std::nullopt;
	auto before = std::prev(after);
	if (before->second != after->second || after->first - before->first >= CLOSE_NS)
		return std::nullopt;
	return before->second;
}

void Owners::active(const std::vector<ActiveProcess> &notes)
{
	u64 last = notes_.empty() ? 0 : notes_.back().time_ns;

	for (const ActiveProcess &one : notes)
		if (one.time_ns > last)
			notes_.push_back(one);
	if (notes_.size() > NOTES)
		notes_.erase(notes_.begin(), notes_.end() - NOTES);
	while (!resident_.empty() && resident_.front().first + KEPT_NS < resident_.back().first)
		resident_.pop_front();
}

Owners::Votes Owners::votes(int64_t offset_ns) const
{
	Votes votes;

	for (const ActiveProcess &one : notes_)
		if (one.pid != UtilSamples::NO_PID)
			if (auto channel = at(static_cast<int64_t>(one.time_ns) - offset_ns)) {
				votes.of[*channel][one.pid]++;
				votes.all++;
			}
	for (const auto &[channel, by_pid] : votes.of)
		votes.agree += most(by_pid)->second;
	return votes;
}

std::map<u32, u32> Owners::pids(NoteClock::Offset offset) const
{
	std::vector<Votes> all;
	std::map<u32, u32> list;

	for (int64_t one = offset.least; one <= offset.most; one += APART_NS)
		all.push_back(votes(one));
	// One with which few notes are of a known time agrees easily.
	u32 enough = 0;
	for (const Votes &one : all)
		enough = std::max(enough, one.all / 2);
	std::erase_if(all, [&](const Votes &one) { return !one.all || one.all < enough; });
	auto taken = std::max_element(all.begin(), all.end(),
				      [](const Votes &a, const Votes &b) { return a.share() < b.share(); });
	if (taken == all.end() || taken->all < LEAST)
		return list;
	for (const auto &[channel, by_pid] : taken->of) {
		u32 sum = 0;
		auto [pid, n] = *most(by_pid);
		for (const auto &[other, m] : by_pid)
			sum += m;
		if (n >= 3 && 5 * n >= 4 * sum)
			list[channel] = pid;
	}
	for (const Votes &one : all)
		if (one.share() >= NEARLY * taken->share())
			std::erase_if(list, [&](const auto &named) {
				auto there = one.of.find(named.first);
				return there == one.of.end() || most(there->second)->first != named.second;
			});
	return list;
}

} // namespace tool::rm
