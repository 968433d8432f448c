// SPDX-License-Identifier: GPL-2.0
// `gpulens plan` and `gpulens fit`: files read and written, messages and exit status. docs/plan.md is for users.
#pragma once
#include "gpulens/out/output.hpp"
#include "gpulens/plan/evaluate.hpp"
#include "gpulens/plan/plan.hpp"

#include <string>
#include <vector>

namespace tool::plan {

struct EvaluateOptions {
	Evaluation evaluation;          // its test, start, quantum, least and tpcs come from PlanOptions
	std::vector<std::string> files; // .csv or .svg
	bool times = false;
};

// Exit status of all: 0 done, 2 a file or an option that makes no sense. They throw SourceError.
int plan_command(const Options &options, const PlanOptions &what); // 1: a plan that does not fit
int evaluate_command(const Options &options, const PlanOptions &what, const EvaluateOptions &more);
int fit_command(const Options &options, const std::string &file);

// Is it a name that results can be written to?
bool is_results_file(const std::string &name);

} // namespace tool::plan
