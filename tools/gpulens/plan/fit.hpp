// SPDX-License-Identifier: GPL-2.0
// `gpulens fit`: makes a task for the planner of measured times, and finds its class.
//
// Times are a staircase: with a size that was not measured a job takes as long as with the next smaller measured size, or
// less. That holds for waves of blocks, which take ceil(blocks / slots) times as long as one, whatever the blocks' times: a
// slot more lets no block start later. A smaller size never has a shorter time than a larger one.
//
// On request the model of Singh's thesis, section 3.3: least squares over 1 / m give a and b of C(m) = a / m + b
// (equation 3.1), for a curve alone and a curve in conflict. Between measured sizes, waves take longer than this curve: 132
// blocks of 1 ms on SMs that hold one each, measured with 11, 22, 33 and 66 TPCs of two SMs, give a = 66 ms and b = 0, and
// 1.65 ms with 40 TPCs, where they take 2 ms.
//
// A task is memory-intensive if it does not get faster beyond some number of TPCs (Definition 1). This
// project decides: the knee is the smallest measured size beyond which all larger sizes together gain less than 5 %.
// The class is memory if the knee is at most three quarters of the largest measured size, otherwise compute. The
// thesis' kernels have their knees at 40 of 68 SMs (Figure 3.2), at half of the SMs, or have none. A knee between
// two measured sizes is found at the larger one: where it may lie below three quarters all the same, and where a job gains
// less than a third of what the TPCs grow, from about half of them on, the class is unknown, and counts as memory, which is
// safe for the others. This project decides that, too: a copy on an H200 gains 1.17 times from 32 to 64 of 66 TPCs, and 1.18
// from 64 to 66.
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

constexpr double KNEE_GAIN = 0.05, KNEE_SHARE = 0.75, FLAT_SHARE = 1.0 / 3;

struct Curve {
	double a_us = 0, b_us = 0; // no measured time is above a / m + b
	double raised_us = 0;      // the part of b_us that was added to the result of least squares
	double residual = 0;       // largest distance of a time from the curve of least squares, as a share of the time
};

enum class Model { Times, Curve }; // of the task for plan

struct Fit {
	std::string name;
	Class kind = Class::Compute;
	bool kind_known = true;    // false: it counts as memory
	u32 knee = 0, largest = 0; // TPCs
	Curve alone;
	std::optional<Curve> conflict;
	std::optional<double> factor;   // largest ratio of a time in conflict to the time alone, at least 1
	std::map<u32, double> times_us; // staircase alone, by TPCs
	// Staircase in conflict, at no size below the one alone; empty if conflict was measured with fewer than two sizes.
	std::map<u32, double> conflict_us;
	std::optional<double> task_factor; // ratio of conflict to the staircase alone, if there is no conflict_us
	std::optional<double> beside_memory, beside_compute; // largest ratio of a time beside such a task in another
							     // partition to the staircase alone, at least 1
	std::vector<std::string> notes;
	std::optional<u32> slower_from; // a larger size takes longer than this one, by more than KNEE_GAIN
};

// Fits each task of a CSV file, in the order of their first lines. The first line has the titles task, tpcs, time_us
// and, optionally, conflict (0 or 1) and beside (none, memory or compute: what runs in the other partitions), in any
// order. Cells may be in quotes, and a byte order mark may come first, as spreadsheets write them. name: of the file, for messages. Throws Error (Input) with file, line
// and item.
std::vector<Fit> fit_samples(const std::string &csv, const std::string &name);

// Times by name of the task; "" is the one of all others.
using TaskTimes = std::map<std::string, double>;
// Returns the file that plan reads. Throws Error (Input): a task without a period, or a name that no task has.
nlohmann::ordered_json tasks_json(const std::vector<Fit> &fits, Model model, const TaskTimes &periods_us,
				  const TaskTimes &deadlines_us);

std::string fit_text(const std::vector<Fit> &fits, Model model);
nlohmann::ordered_json fit_json(const std::vector<Fit> &fits, Model model);
// Returns an SVG file: the speed-up of each task by the number of TPCs, compared with its smallest measured size, as in
// Figure 3.2 of the thesis.
std::string fit_svg(const std::vector<Fit> &fits);

} // namespace tool::plan
