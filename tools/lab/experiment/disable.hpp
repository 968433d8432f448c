// SPDX-License-Identifier: GPL-2.0
// R1 (RTAS'24, VI-B): disables all channels of a task through the module while the task runs.
#pragma once
#include "lab/experiment/trace.hpp"
#include "gpulens/out/output.hpp"

namespace tool::experiment {

// Fills trace.tracks with the task's calls, and trace.held. Without the module, or where it is not known which TSGs are the
// task's, trace.missing says so and nothing is disabled. Throws Error.
void measure_disabled(const Options &options, u64 run_ns, Trace &trace);

} // namespace tool::experiment
