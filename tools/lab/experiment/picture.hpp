// SPDX-License-Identifier: GPL-2.0
// Draws a trace as the figure of RTAS'24 that it repeats, with the verdict as its title.
#pragma once
#include "lab/experiment/judge.hpp"

namespace tool::experiment {

// Returns a complete SVG file.
std::string trace_svg(const Trace &trace, const Verdict &verdict);

} // namespace tool::experiment
