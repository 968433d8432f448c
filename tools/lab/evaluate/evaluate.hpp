// SPDX-License-Identifier: GPL-2.0
// Counts the random sets of tasks that each heuristic finds a plan for, by total utilization U and number of tasks n.
// This is the evaluation of Singh's thesis, section 3.6.2, Figures 3.4 (n = 50), 3.5 (n = 200) and 3.6 (time of the
// analysis).
//
// A set depends only on the seed, n, U and its index, not on other points or on the number of threads.
#pragma once
#include "gpulens/plan/allocate.hpp"
#include "lab/evaluate/generate.hpp"

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace tool::plan {

// What may be evaluated: the heuristics of all_heuristics(), auto (as gpulens plan finds a plan by default), exact (of at most
// MAX_EXACT_TASKS tasks), and bound: whether Lemmas 1 and 2 allow a plan, which none of the others exceeds.
std::vector<std::string> all_ways();
std::vector<std::string> heuristic_names();

struct Evaluation {
	std::vector<std::string> ways = heuristic_names(); // of all_ways()
	std::vector<u32> tasks{50, 200};                   // n of each experiment
	double from = 2, to = 0, step = 2;                 // range of U; to = 0: up to tpcs
	u32 sets = 100;                                    // sets per point
	u64 seed = 1;
	u32 tpcs = 68;              // the thesis uses an RTX 2080 Ti with 68 SMs
	u32 quantum = 1, least = 1; // of Sizes
	Criterion test = Criterion::Edf;
	Start start = Start::Largest;
	Generator generator{}; // tasks, utilization and tpcs are set for each set
	Ties ties = Ties::First;
	Sharing sharing{};

	std::vector<double> utilizations() const; // from, from + step, ...
};

// The results of one heuristic at one U.
struct Outcome {
	u32 fits = 0;    // number of sets with a plan
	u64 time_ns = 0; // analysis time of all sets together
};

struct Experiment {
	u32 tasks = 0;
	std::vector<std::vector<Outcome>> points; // by U, then by the evaluation's ways
};

// Returns the ends of the 95 % confidence interval of the share of sets that fit (E. Wilson, JASA 22(158), 1927).
std::pair<double, double> confidence_of(u32 fits, u32 sets);

struct Results {
	Evaluation evaluation;
	std::vector<Experiment> experiments;
};

// Runs an evaluation on all processors. Calls progress(done, all), in sets of tasks, about every 20 ms from the calling
// thread. Throws Error (Input) if no set with these properties exists.
Results evaluate(const Evaluation &evaluation, const std::function<void(u64 done, u64 all)> &progress);

// A line for each n and U. times: with the mean analysis time in us, which differs from run to run.
std::string results_csv(const Results &results, bool times);
std::string results_text(const Results &results);
nlohmann::ordered_json results_json(const Results &results);
// Draws Figures 3.4 and 3.5: a panel for each number of tasks, and in it, for each way, a curve of the share of sets that fit
// over the utilization, in a band of confidence_of(). Returns a complete SVG file.
std::string curves_svg(const Results &results);

} // namespace tool::plan
