// SPDX-License-Identifier: GPL-2.0
// Curves of an evaluation as a drawing of its own, which needs nothing beside it: a panel for each number of tasks, the
// share of sets that fit by utilization, a line and a marker for each heuristic, as Figures 3.4 and 3.5 of Singh's
// thesis.
#pragma once
#include "gpulens/plan/evaluate.hpp"

#include <string>

namespace tool::plan {

std::string curves_svg(const Results &results);

} // namespace tool::plan
