// SPDX-License-Identifier: GPL-2.0
// gpulens schedule: carries out a policy, until a signal or the end of its time: on a GPU with the module, or on the programs
// that gpulens run --schedule task=NAME has started (schedule_programs.cc).
#pragma once
#include "gpulens/out/output.hpp"
#include "lib/schedule/policy_file.hpp"

#include <vector>

namespace tool {

struct ScheduleOptions {
	std::string file;                   // the policy
	std::string state = "/run/gpulens"; // folder of the locks
	bool dry_run = false;
	u64 for_ns = 0;         // 0: until a signal
	u64 every_ns = 1000000; // between two looks at the GPU
	u64 lease_ns = 50000000;
	std::string probed;        // --source rm: a file of probe results; empty: the user's, or root's
	bool gates = false;        // --source rm: hold launches back instead of channels
	bool busy_poll = false;    // --source rm: neither this process nor the agents of held programs sleep
	bool experimental = false; // --source rm: also where it is unknown whether a hold has an effect
};

// Reads a policy, and says on standard error which of its tasks can keep others from their budgets. Throws Error.
schedule::PolicyFile read_policy(const std::string &path);

// Returns the exit status. Throws Error.
int run_schedule(const Options &options, const ScheduleOptions &schedule);
// The part with --source rm: on programs, through NVIDIA's driver.
int schedule_programs(const Options &options, const ScheduleOptions &schedule);
// The policy interleaved: shows the lists that NVIDIA's driver for Tegra would build of the TSGs on the runlists of the tasks
// (lib/schedule/interleaved.hpp). It is not carried out: docs/internals.md, "Lists of the module", says why. tsgs: of each task,
// runlist << 32 | id. Throws Error: also without a dry run.
int schedule_interleaved(const Options &options, const ScheduleOptions &schedule, const schedule::PolicyFile &policy,
			 const Gpu &gpu, const std::vector<std::vector<u64>> &tsgs);

} // namespace tool
