// SPDX-License-Identifier: GPL-2.0
// The policy interleaved of gpulens schedule: shows the lists that NVIDIA's driver for Tegra would build of the TSGs on the runlists
// of the tasks, by interleaving level (lib/schedule/interleaved.hpp). It is not carried out: docs/internals.md, "Lists of the module", says why.
#pragma once
#include "gpulens/cmd/schedule.hpp"
#include "lib/schedule/policy_file.hpp"

#include <vector>

namespace tool {

// Returns the exit status. tsgs: of each task, runlist << 32 | id. Throws Error: also without a dry run.
int schedule_interleaved(const Options &options, const ScheduleOptions &schedule, const schedule::PolicyFile &policy,
			 const Gpu &gpu, const std::vector<std::vector<u64>> &tsgs);

} // namespace tool
