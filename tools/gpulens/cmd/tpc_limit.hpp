// SPDX-License-Identifier: GPL-2.0
// TPC limits of programs: gpulens run --tpcs, --gpcs, --half and --plan, and gpulens partitions --ways.
#pragma once
#include "gpulens/cmd/run.hpp"
#include "gpulens/out/output.hpp"

#include <string>

namespace tool {

// Verifies the limit (text of gpulens_mask_parse()) on the GPU, and adds the library and variables that enforce it to
// run. Prints the limit, partitions of other processes that overlap it, and what it does not separate, on standard
// error. Returns EXIT_DONE, or after a message another exit status. Throws Error: Source; Input if the limit is from a
// plan (run.planned) of another GPU.
int limit_program(const Options &options, const std::string &limit, RunOptions &run);
// Prints the methods of partitioning that work on the GPU, as text or JSON. Returns an exit status. Throws Error (Source).
int show_methods(const Options &options);

} // namespace tool
