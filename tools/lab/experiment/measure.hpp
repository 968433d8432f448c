// SPDX-License-Identifier: GPL-2.0
// Runs the experiments of RTAS'24 on CUDA's device 0, each task in a process of its own.
#pragma once
#include "lab/experiment/trace.hpp"
#include "gpulens/out/output.hpp"

namespace tool::experiment {

struct Measurement {
	std::string experiment; // name of one of kinds()
	u32 processes = 2;      // fig6, fig7
	u64 run_ns = 0;         // time in which all tasks run; of r1 and fig6 to fig9
};

// Throws Error: no driver, no GPU, CUDA failed.
Trace measure(const Options &options, const Measurement &measurement);

} // namespace tool::experiment
