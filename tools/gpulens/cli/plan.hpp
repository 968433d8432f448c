// SPDX-License-Identifier: GPL-2.0
// The options that gpulens plan has in common with the evaluation of random task sets (gpulens-lab evaluate).
#pragma once
#include "gpulens/plan/commands.hpp"

#include <CLI/CLI.hpp>
#include <string>

namespace tool {

// Sizes of partitions, and how they are merged. tpcs: what --tpcs is for.
void add_sizes(CLI::App &parser, plan::PlanOptions &options, const char *tpcs);
// The schedulability test. usual: the name of the default.
void add_test(CLI::App &parser, plan::PlanOptions &options, const std::string &usual);

} // namespace tool
