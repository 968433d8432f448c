// SPDX-License-Identifier: GPL-2.0
// Runs the experiments of RTAS'24 on CUDA's device 0, each task in a process of its own.
#pragma once
#include "gpulens/out/output.hpp"
#include "lab/experiment/trace.hpp"

namespace tool::experiment {

struct Measurement {
	std::string experiment;       // name of one of kinds()
	u32 processes = 2;            // fig6, fig7
	u64 run_ns = 0;               // time in which all tasks run; of r1 and fig6 to fig9
	u64 chunk_bytes = COPY_CHUNK; // fig7 to fig9
};

// Throws Error: no driver, no GPU, CUDA failed.
Trace measure(const Options &options, const Measurement &measurement);
// The part for R1 (RTAS'24, VI-B): disables all channels of a task through the module while the task runs.
// Fills trace.tracks with the task's calls, and trace.held. Without the module, or where it is not known which TSGs are the
// task's, trace.missing says so and nothing is disabled. Throws Error.
void measure_disabled(const Options &options, u64 run_ns, Trace &trace);

} // namespace tool::experiment
