// SPDX-License-Identifier: GPL-2.0
// The program with the kernels, tools/probe/probe-kernels.cu: it is CUDA's, and this tool starts it only where it is asked to.
// What both say to each other is lines of words, which that file describes.
#pragma once
#include "gpulens/blocks/log.hpp"

namespace tool::blocks {

struct ProgramOptions {
	std::string path;                 // empty: the one that was installed, or built, with this tool
	u32 device = 0;                   // as CUDA numbers them
	std::optional<u32> connections{}; // CUDA_DEVICE_MAX_CONNECTIONS for it; else as it is set here
};

// The GPU, as CUDA describes it. Both throw SourceError: no program, no GPU, an answer that makes no sense.
Machine probe_machine(const ProgramOptions &how);
Log probe_run(const ProgramOptions &how, const Scenario &scenario);

} // namespace tool::blocks
