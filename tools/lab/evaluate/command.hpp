// SPDX-License-Identifier: GPL-2.0
// The command `gpulens-lab evaluate`, which docs/evaluate.md describes: files, messages and exit status.
#pragma once
#include "gpulens/out/output.hpp"
#include "gpulens/plan/plan.hpp"
#include "lab/evaluate/evaluate.hpp"

#include <string>
#include <vector>

namespace tool::plan {

struct EvaluateOptions {
	Evaluation evaluation; // test, start, ties, sharing, quantum, least and tpcs are overwritten from PlanOptions
	std::vector<std::string> files; // .csv or .svg
	bool times = false;             // write mean analysis times into .csv files
};

// Returns EXIT_DONE; EXIT_PART if output failed; EXIT_USAGE for a bad option. Throws Error.
int evaluate_command(const Options &options, const PlanOptions &plan_options, const EvaluateOptions &evaluate_options);

} // namespace tool::plan
