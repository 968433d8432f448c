// SPDX-License-Identifier: GPL-2.0
// Prints the verdict of an experiment as text and JSON.
#pragma once
#include "gpulens/experiment/judge.hpp"
#include "gpulens/out/table.hpp"

namespace tool::experiment {

std::string verdict_text(const Trace &trace, const Verdict &verdict, const Style &style);
// An element of "results", docs/measure-schema.json.
nlohmann::ordered_json verdict_json(const Trace &trace, const Verdict &verdict);

} // namespace tool::experiment
