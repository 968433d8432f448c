// SPDX-License-Identifier: GPL-2.0
// Distributions of the times in a log, as cuda_scheduling_examiner's scripts draw them.
#pragma once
#include "gpulens/blocks/log.hpp"

namespace tool::blocks {

// Returns lines "what,process,stream,label,seconds,fraction", a header first: of each stream the times of its jobs (an
// iteration, from its first launch until the CPU found the stream idle), of its kernels (from the first block's start to the
// last one's end) and of its blocks, ascending. fraction: of the times, how many are not longer. Kernels without launch times
// are in no job.
std::string cdf_csv(const Log &log);

} // namespace tool::blocks
