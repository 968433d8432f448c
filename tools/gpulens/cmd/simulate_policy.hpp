// SPDX-License-Identifier: GPL-2.0
// gpulens schedule --simulate: the jobs of a policy's tasks, by the time slices of the runlist that NVIDIA's driver for Tegra
// would build of them (lib/schedule/interleaved.hpp), and by the policy.
#pragma once
#include "lib/schedule/policy_file.hpp"

#include <nlohmann/json.hpp>

namespace tool {

struct PolicySimulation {
	schedule::PolicyFile policy;
	u64 end_ns = 0, switch_ns = 0;
	schedule::SimulatedRun slices, scheduled;
	std::vector<u64> bounds_ns{}; // by task: bound_response_ns() by the time slices; 0: an endless load
};

// Throws Error for a task without a load, or a runlist that is too long.
PolicySimulation simulate_policy_file(schedule::PolicyFile policy, u64 end_ns, u64 switch_ns);
std::string policy_simulation_text(const PolicySimulation &s);
nlohmann::ordered_json policy_simulation_json(const PolicySimulation &s);

} // namespace tool
