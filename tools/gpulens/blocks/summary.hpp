// SPDX-License-Identifier: GPL-2.0
// A log in short: a line for each kernel; and the list of scenarios that come with the tool.
#pragma once
#include "gpulens/blocks/check.hpp"
#include "gpulens/out/table.hpp"

namespace tool::blocks {

std::string summary_text(const Log &log, const Style &style);
nlohmann::ordered_json summary_json(const Log &log, const std::optional<Verdict> &verdict);
std::string builtins_text(const Style &style);
nlohmann::ordered_json builtins_json();

} // namespace tool::blocks
