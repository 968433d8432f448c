// SPDX-License-Identifier: GPL-2.0
// The commands `gpulens plan` and `gpulens fit`, which docs/plan.md and docs/measure.md describe: files, messages and exit status.
#pragma once
#include "gpulens/out/output.hpp"
#include "gpulens/plan/fit.hpp"
#include "gpulens/plan/plan.hpp"

#include <string>

namespace tool::plan {

// Return the exit status: EXIT_DONE; EXIT_PART if output failed, or if a plan does not fit; EXIT_UNKNOWN if a test gave up,
// so that this is not known; EXIT_USAGE for a bad file or option. Throw Error (Source).
int plan_command(const Options &options, const PlanOptions &plan_options);
// file: of a plan that programs carry out. Prints what became of it.
int status_command(const Options &options, const std::string &file);

struct FitOptions {
	std::string file;
	Model model = Model::Times;
	TaskTimes periods_us{}, deadlines_us{};
	std::string output{};  // file for plan's tasks; empty: none
	std::string picture{}; // SVG file with speed-ups; empty: none
};
int fit_command(const Options &options, const FitOptions &fit);

} // namespace tool::plan
