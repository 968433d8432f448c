// SPDX-License-Identifier: GPL-2.0
// gpulens top on a terminal: drawing and keys.
#pragma once
#include "gpulens/out/output.hpp"
#include "gpulens/top/top.hpp"

namespace tool {

// Runs until q or a signal, and returns the exit status. gpu: X of /proc/gpuX. Restores the terminal, also if it
// throws.
int run_screen(const Options &options, const TopOptions &top_options, unsigned gpu);

} // namespace tool
