// SPDX-License-Identifier: GPL-2.0
// Ids of channels may count per runlist: claims are compared by engine and id, and the driver's list of allocated channels
// is used only if it has no second one for runlist 1.
#include "lib/rm/claims.hpp"

#include <map>
#include <set>
#include <string>
#include <utility>

namespace tool::rm {

namespace {

// Where ids count per runlist, those of runlist 0 say nothing of other runlists.
bool knows_allocated(Client &client, const Subdevice &subdevice, AllocatedChannels &allocated)
{
	AllocatedChannels other{.runlist = 1};

	return client.query(subdevice, allocated) == NV_OK && client.query(subdevice, other) != NV_OK;
}

} // namespace

std::vector<RunTsg> find_claims(Client &client, const Subdevice &subdevice, const Attached &gpu,
				const std::vector<Process> &processes, const std::vector<RunTsg> &more)
{
	AllocatedChannels allocated;
	// By engine and channel, as ids may count per runlist: process and TSG.
	std::map<std::pair<std::string, u32>, std::set<std::pair<u32, u32>>> claims;
	std::vector<RunTsg> all = more;

	for (const Process &process : processes) {
		std::vector<RunTsg> own = claimed_tsgs(process.pid);
		if (!own.empty()) // of which `more` may have a copy
			std::erase_if(all, [&](const RunTsg &tsg) { return tsg.pid == process.pid; });
		all.insert(all.end(), own.begin(), own.end());
	}
	std::erase_if(all, [&](const RunTsg &tsg) { return tsg.device != gpu.device; });
	if (all.empty())
		return all;
	bool known = knows_allocated(client, subdevice, allocated);
	for (const RunTsg &tsg : all)
		for (u32 channel : tsg.channels)
			claims[{tsg.engine, channel}].emplace(tsg.pid, tsg.tsg);
	for (RunTsg &tsg : all)
		std::erase_if(tsg.channels, [&](u32 channel) {
			return claims[{tsg.engine, channel}].size() > 1 ||
			       (known && !(allocated.mask[channel / 32] >> channel % 32 & 1));
		});
	std::erase_if(all, [](const RunTsg &tsg) { return tsg.channels.empty(); });
	return all;
}

} // namespace tool::rm
