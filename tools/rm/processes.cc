// SPDX-License-Identifier: GPL-2.0
// See processes.hpp.
#include "rm/processes.hpp"

#include "rm/engine_type.hpp"
#include "sources.hpp"
#include "text.hpp"

#include <algorithm>
#include <ctime>
#include <fcntl.h>
#include <fmt/format.h>
#include <fstream>
#include <iterator>
#include <memory>
#include <sys/stat.h>
#include <unistd.h>

namespace tool::rm {

namespace {

constexpr u64 WITHIN_NS = 1000000, APART_NS = 125000; // offsets that are tried
constexpr size_t NOTES = 100;
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

u64 clock_ns(clockid_t clock)
{
	timespec t{};

	clock_gettime(clock, &t);
	return static_cast<u64>(t.tv_sec) * 1000000000 + static_cast<u64>(t.tv_nsec);
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
	std::string file = variable_of(pid, "GPULENS_RUN_FILE");
	struct stat process {
	}, is{};

	if (file.empty() || stat(fmt::format("/proc/{}", pid).c_str(), &process))
		return {};
	int fd = open(file.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return {};
	bool sound = !fstat(fd, &is) && S_ISREG(is.st_mode) && is.st_uid == process.st_uid && is.st_size < 1 << 24;
	std::vector<RunTsg> list;
	try {
		if (sound)
			list = run_tsgs(fmt::format("/proc/self/fd/{}", fd));
	} catch (const SourceError &) {
		// Something else's file: what it holds is nobody's business.
	}
	close(fd);
	std::erase_if(list, [&](const RunTsg &one) { return one.pid != pid; });
	return list;
}

void Owners::resident(u64 time_ns, std::optional<u32> channel)
{
	resident_.emplace_back(time_ns, channel);
}

std::optional<u32> Owners::at(u64 time_ns) const
{
	auto after = std::upper_bound(resident_.begin(), resident_.end(), time_ns,
				      [](u64 t, const auto &one) { return t < one.first; });

	if (after == resident_.begin() || after == resident_.end())
		return std::nullopt;
	auto before = std::prev(after);
	if (before->second != after->second || after->first - before->first >= CLOSE_NS)
		return std::nullopt;
	return before->second;
}

void Owners::active(std::vector<std::pair<u64, u32>> samples)
{
	u64 last_ns = resident_.empty() ? 0 : resident_.back().first;

	std::sort(samples.begin(), samples.end());
	for (const auto &[time_ns, pid] : samples) {
		if (time_ns <= seen_ns_ || time_ns + WITHIN_NS > last_ns)
			continue;
		seen_ns_ = time_ns;
		Note one{.pid = pid, .channels{}};
		for (size_t i = 0; i < OFFSETS; i++)
			one.channels[i] = at(time_ns + i * APART_NS - WITHIN_NS);
		notes_.push_back(one);
	}
	if (notes_.size() > NOTES)
		notes_.erase(notes_.begin(), notes_.end() - NOTES);
	// Later samples of processes are of what is resident from now on; two seconds for those that come late.
	std::erase_if(resident_, [&](const auto &one) { return one.first + 2000000000 < last_ns; });
}

Owners::Votes Owners::votes(size_t offset) const
{
	Votes votes;

	for (const Note &one : notes_)
		if (one.channels[offset])
			votes[*one.channels[offset]][one.pid]++;
	return votes;
}

std::map<u32, u32> Owners::pids() const
{
	std::map<u32, u32> list;
	auto less = [](const auto &a, const auto &b) { return a.second < b.second; };
	auto agreeing = [&](const Votes &votes) {
		u32 n = 0;
		for (const auto &[channel, by_pid] : votes)
			n += std::max_element(by_pid.begin(), by_pid.end(), less)->second;
		return n;
	};
	Votes best;

	// From the middle outwards: of those that are as good, the least.
	for (size_t i = 0; i < OFFSETS; i++)
		if (Votes one = votes(OFFSETS / 2 + (i % 2 ? (i + 1) / 2 : -(i / 2))); agreeing(one) > agreeing(best))
			best = std::move(one);
	for (const auto &[channel, by_pid] : best) {
		u32 all = 0;
		auto most = std::max_element(by_pid.begin(), by_pid.end(), less);
		for (const auto &[pid, n] : by_pid)
			all += n;
		if (most->second >= 2 && 5 * most->second >= 4 * all)
			list[channel] = most->first;
	}
	return list;
}

std::vector<std::pair<u64, u32>> active_processes(Client &client, const Subdevice &of)
{
	std::unique_ptr<UtilSamples> all = std::make_unique<UtilSamples>();
	std::vector<std::pair<u64, u32>> list;
	// Its times are of CLOCK_REALTIME; nothing where the clock was set meanwhile.
	u64 behind = clock_ns(CLOCK_REALTIME) - clock_ns(CLOCK_MONOTONIC);

	if (client.ask(of, *all) != NV_OK)
		return list;
	for (const UtilSamples::Sample &one : all->samples)
		if (one.time_ns > behind && one.gr.pid != UtilSamples::NO_PID)
			list.emplace_back(one.time_ns - behind, one.gr.pid);
	return list;
}

} // namespace tool::rm
