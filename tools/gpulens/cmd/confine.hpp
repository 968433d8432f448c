// SPDX-License-Identifier: GPL-2.0
// gpulens run --tpcs, --gpcs and --half: the program and its children stay on these TPCs. gpulens partitions --ways.
#pragma once
#include "gpulens/cmd/run.hpp"
#include "gpulens/out/output.hpp"

#include <string>

namespace tool {

// Has masks verified on the GPU, adds to run what the program needs, and says on standard error what it has, and what
// other processes' partitions share with it. where: as gpulens_mask_parse() takes it. Returns an exit status: EXIT_DONE, or what
// is the matter after a message. Throws SourceError.
int confine(const Options &options, const std::string &where, RunOptions &run);
// What ways there are on the GPU, as text or JSON. Returns an exit status. Throws SourceError.
int show_ways(const Options &options);

} // namespace tool
