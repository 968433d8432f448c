// SPDX-License-Identifier: GPL-2.0
// gpulens run --tpcs, --gpcs and --half: the program and its children stay on these TPCs.
#pragma once
#include "run.hpp"
#include "show.hpp"

#include <string>

namespace tool {

// Has masks verified on the GPU, adds to run what the program needs, and says on standard error what it has, and what
// other processes' partitions share with it. where: as gpulens_mask_parse() takes it. Returns an exit status: EXIT_DONE, or what
// is the matter after a message. Throws SourceError.
int confine(const Options &options, const std::string &where, RunOptions &run);

} // namespace tool
