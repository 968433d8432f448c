// SPDX-License-Identifier: GPL-2.0
// Prints a log as a table of its kernels, and the list of built-in scenarios.
#pragma once
#include "lab/blocks/check.hpp"
#include "gpulens/blocks/within.hpp"
#include "gpulens/out/table.hpp"

namespace tool::blocks {

// A line for each kernel.
std::string summary_text(const Log &log, const Style &style);
// verdict, within: the results of --check and --within.
nlohmann::ordered_json summary_json(const Log &log, const std::optional<Verdict> &verdict,
				    const std::optional<Within> &within);
std::string builtins_text(const Style &style);
nlohmann::ordered_json builtins_json();

} // namespace tool::blocks
