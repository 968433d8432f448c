// SPDX-License-Identifier: GPL-2.0
// gpulens run --schedule: how the program shares the GPU in time, by controls that the agent of the preloaded library sends about
// the program's own TSGs (preload/agent.hpp).
#pragma once
#include "gpulens/cmd/run.hpp"
#include "gpulens/cmd/schedule_support.hpp"

#include <string>

namespace tool {

struct RunSchedule {
	// "urgent", "best-effort", "share=N", "slice=TIME", "budget=TIME/TIME", "task=NAME" or a task with a slice, a gate for its
	// launches or both, "task=NAME,urgent,gate"; empty: none
	std::string what;
	std::string probed;        // a file of probe results; empty: the user's, or root's
	bool experimental = false; // also where it is unknown whether it has an effect
	MeasureSupport measure;    // for what was not measured yet
};

// Returns why the text is no schedule; empty: it is one.
std::string check_schedule(const std::string &what);
// Adds variables to the program's environment. Throws Error where it is not known that the driver carries it out.
void schedule_program(const Options &options, const RunSchedule &schedule, RunOptions &run);

} // namespace tool
