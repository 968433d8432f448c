// SPDX-License-Identifier: GPL-2.0
// `gpulens fit`: fits the planner's model of a task, C(m) = a / m + b for m TPCs, to measured times, and finds the
// class of the task.
//
// By Singh's thesis, section 3.3, least squares over 1 / m give a and b (equation 3.1), for a curve alone and a curve
// in conflict. A task is memory-intensive if it does not get faster beyond some number of TPCs (Definition 1). This
// project decides: the knee is the smallest measured size beyond which all larger sizes together gain less than 5 %.
// The class is memory if the knee is at most three quarters of the largest measured size, otherwise compute. The
// thesis' kernels have their knees at 40 of 68 SMs (Figure 3.2), at half of the SMs, or have none.
//
// C is a worst-case time: of several times with the same size the longest counts, and b is raised until no time is
// above the curve, because least squares leave half of the points above it. a and b are never negative.
#pragma once
#include "gpulens/plan/task_file.hpp"

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace tool::plan {

constexpr double KNEE_GAIN = 0.05, KNEE_SHARE = 0.75;

struct Curve {
	double a_us = 0, b_us = 0; // no measured time is above a / m + b
	double raised_us = 0;      // the part of b_us that was added to the result of least squares
	double residual = 0;       // largest distance of a time from the curve of least squares, as a share of the time
};

struct Fit {
	std::string name;
	Class kind = Class::Compute;
	u32 knee = 0, largest = 0; // TPCs
	Curve alone;
	std::optional<Curve> conflict;
	std::optional<double> factor;   // largest ratio of a time in conflict to the time alone, at least 1
	std::map<u32, double> times_us; // longest measured times alone, by TPCs
	std::optional<u32> slower_from; // a larger size takes longer than this one, by more than KNEE_GAIN
};

// Fits each task of a CSV file, in the order of their first lines. The first line has the titles task, tpcs, time_us
// and, optionally, conflict (0 or 1), in any order. name: of the file, for messages. Throws Error (Input) with file, line
// and item.
std::vector<Fit> fit_samples(const std::string &csv, const std::string &name);

std::string fit_text(const std::vector<Fit> &fits);
nlohmann::ordered_json fit_json(const std::vector<Fit> &fits);

} // namespace tool::plan
