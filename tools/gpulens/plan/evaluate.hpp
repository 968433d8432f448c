// SPDX-License-Identifier: GPL-2.0
// How many random sets of tasks each heuristic finds a plan for, by total utilization: the evaluation of Singh's
// thesis, section 3.6.2, Figures 3.4 (n = 50), 3.5 (n = 200) and 3.6 (time of the analysis).
//
// A set depends on seed, n, U and its number alone, so that neither other points nor the number of threads change it.
#pragma once
#include "gpulens/plan/allocate.hpp"

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace tool::plan {

struct Evaluation {
	std::vector<u32> tasks{50, 200};   // n of each experiment
	double from = 2, to = 0, step = 2; // U; to 0: up to tpcs
	u32 sets = 100;                    // per point
	u64 seed = 1;
	u32 tpcs = 68; // of an RTX 2080 Ti, whose SMs the thesis counts
	u32 quantum = 1, least = 1;
	Criterion test = Criterion::Edf;
	Start start = Start::Largest;
	double cap = 0;
	bool literal = false;

	std::vector<double> utilizations() const;
};

// One heuristic at one U.
struct Outcome {
	u32 fits = 0;
	u64 time_ns = 0; // of all sets together
};

struct Experiment {
	u32 tasks = 0;
	std::vector<std::vector<Outcome>> points; // by U, by heuristic as all_heuristics() has them
};

struct Results {
	Evaluation of;
	std::vector<Experiment> experiments;
};

// progress(done, all) is called now and then, from this thread, in sets of tasks. Throws BadInput: no set has
// these properties.
Results evaluate(const Evaluation &what, const std::function<void(u64 done, u64 all)> &progress);

// A line for each n and U; times: with the mean time of an analysis, which no two runs have in common.
std::string results_csv(const Results &results, bool times);
std::string results_text(const Results &results);
nlohmann::ordered_json results_json(const Results &results);

} // namespace tool::plan
