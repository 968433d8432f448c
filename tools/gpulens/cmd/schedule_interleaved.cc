// SPDX-License-Identifier: GPL-2.0
// A runlist may have a TSG several times, so ids are made unique before its new order is computed. A level and a time slice
// apply to the first TSG of a task only.
#include "gpulens/cmd/schedule.hpp"

#include "lib/base/errors.hpp"
#include "lib/base/format.hpp"
#include "lib/schedule/interleaved.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>
#include <set>
#include <vector>

namespace tool {

namespace {

using namespace schedule;
using json = nlohmann::ordered_json;

// The order of a runlist's TSGs. TSGs that no task names have the level low.
struct RunlistOrder {
	u32 runlist = 0;
	std::vector<u32> tsgs{};        // by id, as often as each is listed
	std::map<u32, u32> slices_us{}; // by TSG: its time slice in this list
};

std::vector<u32> listed_tsgs(const Gpu &gpu, u32 runlist)
{
	std::vector<u32> ids;

	if (const Runlist *rl = gpu.runlist(runlist))
		for (const Tsg &t : rl->tsgs)
			ids.push_back(t.id);
	return ids;
}

std::vector<RunlistOrder> build_orders(const Gpu &gpu, const PolicyFile &policy,
				       const std::vector<std::vector<u64>> &tsgs)
{
	std::vector<RunlistOrder> orders;
	std::set<u32> runlists;

	for (const std::vector<u64> &task : tsgs)
		runlists.insert(static_cast<u32>(task[0] >> 32));
	for (u32 runlist : runlists) {
		std::vector<u32> ids = listed_tsgs(gpu, runlist);
		std::vector<SimulatedTsg> levels;
		RunlistOrder order{.runlist = runlist};
		std::sort(ids.begin(), ids.end());
		ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
		for (u32 id : ids) {
			SimulatedTsg t{.name = std::to_string(id)};
			for (size_t i = 0; i < tsgs.size(); i++)
				if (tsgs[i][0] == (u64{runlist} << 32 | id)) {
					t.level = find_level(policy.tasks[i].level);
					if (policy.tasks[i].slice_us)
						order.slices_us[id] = policy.tasks[i].slice_us;
				}
			levels.push_back(t);
		}
		Simulation s = interleave_tsgs(levels);
		if (s.overflows)
			throw Error(Error::Input, fmt::format("{}: runlist {} would have {} entries; a list has {}",
							      policy.name, runlist, s.entries, s.max_entries));
		for (size_t slot : s.slots)
			order.tsgs.push_back(ids[slot]);
		orders.push_back(order);
	}
	return orders;
}

int show_plan(const Options &options, const Gpu &gpu, const std::vector<RunlistOrder> &orders)
{
	json runlists = json::array();
	std::string text = fmt::format("policy interleaved on GPU {}\n", gpu.index);

	for (const RunlistOrder &o : orders) {
		json slices = json::object();
		text += fmt::format("runlist {} ({}): TSGs {}\n", o.runlist,
				    fmt::join(gpu.engine_names(o.runlist), " "), fmt::join(o.tsgs, " "));
		for (auto &[tsg, us] : o.slices_us) {
			slices[std::to_string(tsg)] = us;
			text += fmt::format("  TSG {} with a time slice of {} us\n", tsg, us);
		}
		runlists.push_back({{"runlist", o.runlist}, {"order", o.tsgs}, {"slices_us", slices}});
	}
	json plan = {{"version", 1}, {"policy", "interleaved"}, {"gpu", gpu.index}, {"runlists", runlists}};
	return print_text(options.json ? json_text(plan) : text) ? EXIT_DONE : EXIT_PART;
}

} // namespace

int schedule_interleaved(const Options &options, const ScheduleOptions &schedule, const PolicyFile &policy,
			 const Gpu &gpu, const std::vector<std::vector<u64>> &tsgs)
{
	if (!schedule.dry_run)
		throw Error(Error::Unsupported,
			    "the policy interleaved is shown only (--dry-run, or --simulate): the module submits "
			    "no list of its own; use fixed-priority, edf or share");
	return show_plan(options, gpu, build_orders(gpu, policy, tsgs));
}

} // namespace tool
