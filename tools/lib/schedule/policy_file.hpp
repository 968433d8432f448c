// SPDX-License-Identifier: GPL-2.0
// The file of gpulens schedule and of gpulens schedule --simulate (docs/schedule-schema.json).
#pragma once
#include "lib/schedule/simulation.hpp"

namespace tool::schedule {

constexpr u64 MAX_TASKS = 10000;

struct PolicyTask {
	Task task{};
	std::vector<std::string>
		tsgs{}; // [RUNLIST:]ID of each of the program's; empty, without a page directory: for simulation only
	std::optional<u64> page_directory{}; // of the address space whose TSGs they are, in place of a list
	u32 slice_us = 0;                    // to set for the first TSG; 0: as it is
	std::string level{}; // "low", "medium", "high": of the policy interleaved, and for simulation; empty: low
	Load load{};         // for simulation
	std::string where{}; // "policy.json: task camera", for messages
};

struct PolicyFile {
	std::string name;
	Policy policy = Policy::FixedPriority;
	u64 quantum_ns = 20000000;
	std::vector<PolicyTask> tasks{};

	std::vector<Task> plain_tasks() const;
	// Returns a sentence about tasks of EDF that can keep servers from their budgets; empty: there are none.
	std::string starvation() const;
};

// Throws Error, which names the file, the item and the reason.
PolicyFile parse_policy(const std::string &text, const std::string &name);
// Returns "edf", ...
const char *name_policy(Policy policy);

} // namespace tool::schedule
