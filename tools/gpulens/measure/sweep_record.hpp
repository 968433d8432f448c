// SPDX-License-Identifier: GPL-2.0
// The file that a sweep writes while it runs, so that it can be continued: a line of JSON that says what is measured, and
// one for each run.
#pragma once
#include "gpulens/gpu.h"

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

namespace tool::measure {

struct Run {
	u32 tpcs = 0, number = 0;                         // number: from 1
	std::string beside;                               // kind of neighbour, or none
	std::vector<std::pair<std::string, double>> us{}; // tasks and their times
};

class SweepRecord {
public:
	// file: empty: nothing is written. what: what is measured. Reads the runs of a file that is there if resume is set, and
	// begins a new one if there is none. Throws Error: Input if the file is of another sweep, or is there without
	// resume; Source.
	SweepRecord(std::string file, const nlohmann::ordered_json &what, bool resume);

	const std::vector<Run> &earlier() const { return earlier_; }
	// Throws Error (Source).
	void add(const Run &run);
	// Removes the file, when the sweep is complete.
	void remove() const;
	// Removes the file if it has no run.
	void remove_if_empty() const;

private:
	void append(const nlohmann::ordered_json &line) const;

	std::string file_;
	std::vector<Run> earlier_;
	bool empty_ = true;
};

} // namespace tool::measure
