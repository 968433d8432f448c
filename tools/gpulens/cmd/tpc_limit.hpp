// SPDX-License-Identifier: GPL-2.0
// TPC limits of programs: gpulens run --tpcs, --gpcs and --half, and gpulens partitions --ways.
#pragma once
#include "gpulens/cmd/run.hpp"
#include "gpulens/out/output.hpp"

#include <string>

namespace tool {

// Verifies the limit (text of gpulens_mask_parse()) on the GPU, and adds to run what the program needs to keep it. Prints the
// limit, and other processes' partitions that overlap it, on standard error. Returns EXIT_DONE, or after a message another
// exit status. Throws Error (Source).
int limit_program(const Options &options, const std::string &limit, RunOptions &run);
// Prints which ways to partition the GPU work, as text or JSON. Returns an exit status. Throws Error (Source).
int show_ways(const Options &options);

} // namespace tool
