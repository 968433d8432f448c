// SPDX-License-Identifier: GPL-2.0
// Simulates the experiments by the rules of RTAS'24, or by all but one of them, so that the judge has something to refuse.
#pragma once
#include "lab/experiment/trace.hpp"

namespace tool::experiment {

struct Simulation {
	std::string experiment;       // name of one of kinds()
	std::string without{};        // "R4": the rule that does not hold; empty: all hold
	u32 processes = 2;            // fig6, fig7
	u64 chunk_bytes = COPY_CHUNK; // fig7 to fig9
};

// The kernels of Fig. 5: nine streams with four kernels each.
blocks::Scenario channels_scenario(const blocks::Machine &machine);
// Returns the rules without which an experiment can be simulated.
std::vector<std::string> breakable_rules(const std::string &experiment);
// Throws Error (Input) for a rule that the experiment does not depend on.
Trace simulate(const Simulation &simulation);

} // namespace tool::experiment
