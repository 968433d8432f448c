// SPDX-License-Identifier: GPL-2.0
// `gpulens fit`: from measured times per TPC count to the planner's model, C(m) = a / m + b, and the class of a task.
//
// Singh's thesis, section 3.3: least squares over 1 / m give a and b (equation 3.1), two curves for alone and in
// conflict; a task is memory-intensive when beyond some number of TPCs more of them do not help (Definition 1). What
// that means in numbers is decided here: the knee is the smallest measured size from which all larger ones together
// gain less than
// 5 %; a knee at or below three quarters of the largest measured size makes memory, else compute. The thesis' kernels
// have theirs at 40 of 68 SMs (Figure 3.2) or at half of them, and at none.
//
// Of times with the same size the longest counts: C is a worst-case time. Least squares leave half of the points above
// their curve, so that b is raised until none is; a and b below 0 are not looked for.
#pragma once
#include "gpulens/plan/task_file.hpp"

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace tool::plan {

constexpr double KNEE_GAIN = 0.05, KNEE_SHARE = 0.75;

struct Curve {
	double a_us = 0, b_us = 0; // no measured time is above a / m + b
	double raised_us = 0;      // how much of b least squares did not ask for
	double residual = 0; // the largest distance from that curve of least squares, as a share of the time there
};

struct Fit {
	std::string name;
	Class kind = Class::Compute;
	u32 knee = 0, largest = 0; // TPCs
	Curve alone;
	std::optional<Curve> conflict;
	std::optional<double> factor;   // the most that conflict makes it longer, at least 1
	std::optional<u32> slower_from; // a larger size that took longer than this one, by more than the gain of a knee
};

// CSV with a line of titles: task, tpcs, time_us and, if wanted, conflict (0 or 1), in any order. By first appearance.
// Throws BadInput, which names file, line and item.
std::vector<Fit> fit_samples(const std::string &csv, const std::string &name);

std::string fit_text(const std::vector<Fit> &fits);
nlohmann::ordered_json fit_json(const std::vector<Fit> &fits);

} // namespace tool::plan
