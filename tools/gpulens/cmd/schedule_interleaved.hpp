// SPDX-License-Identifier: GPL-2.0
// The policy interleaved of gpulens schedule: the runlists of the tasks get the order that NVIDIA's driver for Tegra builds by
// interleaving level (simulate.hpp), through the module's order_runlist (docs/proc.md), until a signal or the end of its time.
#pragma once
#include "gpulens/cmd/schedule.hpp"
#include "lib/schedule/policy_file.hpp"

#include <map>
#include <vector>

namespace tool {

// The order of a runlist's TSGs. TSGs that no task names have the level low.
struct RunlistOrder {
	u32 runlist = 0;
	std::vector<u32> tsgs{};        // by id, as often as each is listed
	std::map<u32, u32> slices_us{}; // by TSG: to be set in this list
};

// Returns the orders for the runlists of the tasks, by what is on the runlists. tsgs: of each task, runlist << 32 | id; one that is
// not there any more is left out. Throws Error if an order has more TSGs than the module takes.
std::vector<RunlistOrder> build_orders(const Gpu &gpu, const schedule::PolicyFile &policy,
				       const std::vector<u64> &tsgs);

// Returns the exit status. tsgs: as for build_orders(). Throws Error.
int schedule_interleaved(const Options &options, const ScheduleOptions &schedule, const schedule::PolicyFile &policy,
			 const Gpu &gpu, const std::vector<u64> &tsgs);

} // namespace tool
