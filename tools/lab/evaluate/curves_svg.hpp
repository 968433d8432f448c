// SPDX-License-Identifier: GPL-2.0
// Draws the results of an evaluation, as Figures 3.4 and 3.5 of Singh's thesis: a panel for each number of tasks, and
// in it, for each heuristic, a curve of the share of sets that fit over the utilization.
#pragma once
#include "lab/evaluate/evaluate.hpp"

#include <string>

namespace tool::plan {

// Returns a complete SVG file.
std::string curves_svg(const Results &results);

} // namespace tool::plan
