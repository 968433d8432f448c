// SPDX-License-Identifier: GPL-2.0
// The CSV file of measured times that gpulens fit reads.
#pragma once
#include "gpulens/gpu.h"

#include <map>
#include <string>
#include <vector>

namespace tool::plan {

using Times = std::map<u32, double>; // longest time in us, by size in TPCs

// The times of a task: alone, and with others on the GPU.
struct Samples {
	std::string task;
	Times alone, conflict, beside_memory, beside_compute;
	std::map<u32, std::vector<double>> alone_each{}; // all times alone in us, by size in TPCs
};

// Returns the tasks in the order of their first lines. fit.hpp describes the columns. name: of the file, for messages.
// Throws Error (Input) with file, line and item.
std::vector<Samples> parse_samples(const std::string &csv, const std::string &name);

} // namespace tool::plan
