// SPDX-License-Identifier: GPL-2.0
// The commands `gpulens plan` and `gpulens fit`, which docs/plan.md describes: files, messages and exit status.
#pragma once
#include "gpulens/out/output.hpp"
#include "gpulens/plan/evaluate.hpp"
#include "gpulens/plan/fit.hpp"
#include "gpulens/plan/plan.hpp"

#include <string>
#include <vector>

namespace tool::plan {

struct EvaluateOptions {
	Evaluation evaluation; // test, start, ties, sharing, quantum, least and tpcs are overwritten from PlanOptions
	std::vector<std::string> files; // .csv or .svg
	bool times = false;             // write mean analysis times into .csv files
};

// Return the exit status: EXIT_DONE; EXIT_PART if output failed, or if a plan does not fit; EXIT_UNKNOWN if a test gave up,
// so that this is not known; EXIT_USAGE for a bad file or option. Throw Error (Source).
int plan_command(const Options &options, const PlanOptions &plan_options);
int evaluate_command(const Options &options, const PlanOptions &plan_options, const EvaluateOptions &evaluate_options);
// file: of a plan that programs carry out. Prints what became of it.
int status_command(const Options &options, const std::string &file);
int fit_command(const Options &options, const std::string &file, Model model);

// Returns whether the name ends with .csv or .svg.
bool is_results_file(const std::string &name);

} // namespace tool::plan
