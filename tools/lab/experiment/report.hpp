// SPDX-License-Identifier: GPL-2.0
// Shows the verdict of an experiment: text, JSON, and a drawing.
#pragma once
#include "gpulens/out/table.hpp"
#include "lab/experiment/judge.hpp"

namespace tool::experiment {

// What all results begin with, of a Trace or a TimeTable.
template <typename Result> nlohmann::ordered_json result_head(const Result &result, const Verdict &verdict)
{
	return {{"experiment", result.experiment},
		{"rule", verdict.rule},
		{"gpu", result.gpu},
		{"simulated", result.simulated},
		{"without",
		 result.without.empty() ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(result.without)},
		{"verdict", finding_name(verdict.finding)},
		{"sentence", verdict.sentence},
		{"numbers", verdict.numbers}};
}

std::string verdict_text(const Trace &trace, const Verdict &verdict, const Style &style);
// An element of "results", docs/measure-schema.json.
nlohmann::ordered_json verdict_json(const Trace &trace, const Verdict &verdict);
// Draws a trace as the figure of RTAS'24 that it repeats, with the verdict as its title. Returns a complete SVG file.
std::string trace_svg(const Trace &trace, const Verdict &verdict);

} // namespace tool::experiment
