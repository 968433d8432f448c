// SPDX-License-Identifier: GPL-2.0
// The driver's and the module's names of engines differ (NVJPEG3, NVJPG3), so engines are compared by the driver's; a name
// that several engines of the GPU have leads to no runlist, and so to no owner.
#include "lib/source/joined/join.hpp"

#include "lib/rm/engine_type.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace tool {

namespace {

// The name that gpulens run, which asks the driver, has for an engine: "GR0", "COPY2", "NVJPEG3"; the module's, "NVJPG3",
// where the driver's is unknown.
std::string driver_name(const Engine &e)
{
	u32 nv2080 = rm::nv2080_of(static_cast<u16>(e.type), static_cast<u16>(e.inst));

	if (nv2080)
		return rm::engine_name(nv2080);
	return e.is_copy() ? fmt::format("COPY{}", e.inst) : e.short_name();
}

int runlist_of(const Gpu &gpu, const std::string &name)
{
	int found = LENS_NONE;

	for (const Engine &e : gpu.engines) {
		if (driver_name(e) != name)
			continue;
		if (found != LENS_NONE)
			return LENS_NONE;
		found = e.runlist;
	}
	return found;
}

bool has_all_channels(const RunTsg &claim, const Tsg &tsg)
{
	return !tsg.channels.empty() && std::all_of(tsg.channels.begin(), tsg.channels.end(), [&](const Channel &c) {
		return std::find(claim.channels.begin(), claim.channels.end(), c.id) != claim.channels.end();
	});
}

void set_owner(Tsg &tsg, const Owner &owner)
{
	tsg.owner = std::make_shared<const Owner>(owner);
	for (Channel &c : tsg.channels)
		c.owner = tsg.owner;
}

} // namespace

void join_claims(Gpu &gpu, const std::vector<RunTsg> &claims)
{
	std::map<TaskId, std::set<u32>> pids; // that claim this TSG, rightly or not
	std::map<TaskId, const RunTsg *> claim_of;

	for (const RunTsg &claim : claims) {
		TaskId id{runlist_of(gpu, claim.engine), false, static_cast<int>(claim.tsg)};
		pids[id].insert(claim.pid);
		claim_of[id] = &claim;
	}
	for (Runlist &rl : gpu.runlists)
		for (Tsg &tsg : rl.tsgs) {
			TaskId id = rl.task(tsg);
			auto claim = claim_of.find(id);
			if (claim != claim_of.end() && pids[id].size() == 1 && has_all_channels(*claim->second, tsg))
				set_owner(tsg, make_owner(claim->second->pid, Evidence::Reported));
		}
}

Identities identities_of(const Gpu &gpu)
{
	Identities all;

	for (const Runlist &rl : gpu.runlists) {
		int runlist = static_cast<int>(rl.id);
		for (const Tsg &tsg : rl.tsgs)
			for (const Channel &c : tsg.channels)
				all[{runlist, false, static_cast<int>(tsg.id)}].insert({c.id, c.inst});
		for (const Channel &c : rl.outside)
			all[{runlist, true, static_cast<int>(c.id)}].insert({c.id, c.inst});
	}
	return all;
}

bool share_channel(const ChannelSet &a, const ChannelSet &b)
{
	return std::any_of(a.begin(), a.end(), [&](const auto &channel) { return b.count(channel) != 0; });
}

std::vector<TaskId> find_replaced(const Identities &before, const Identities &now)
{
	std::vector<TaskId> replaced;

	for (const auto &[id, channels] : now) {
		auto was = before.find(id);
		if (was != before.end() && !share_channel(was->second, channels))
			replaced.push_back(id);
	}
	return replaced;
}

} // namespace tool
