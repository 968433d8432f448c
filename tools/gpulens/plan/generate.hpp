// SPDX-License-Identifier: GPL-2.0
// Random sets of tasks, as Singh's thesis draws them for its evaluation (section 3.6.1):
//   utilizations  UUniFast-Discard (P. Emberson, R. Stafford, R. Davis, WATERS 2010) for n tasks and a total U
//   periods       of a list from 50 to 4000, longer ones where the time would be too short; D = 0.75 T
//   times         k (a / m + b) with a = u T; b = 0.02 a, k = 1.2 in conflict (compute); b = 0.1 a, k = 2.3 (memory)
//   class         memory with a probability of prm = 0.5
//
// What is done otherwise, because the text is wrong or silent:
//   - b is divided by the number of TPCs. As printed, a task's part that no TPC helps with would be so long that the
//     whole GPU for all is lost from U = 6.5 on; the thesis' figure 3.4 has it at 35, and with b / M it is U = 36.2.
//     literal leaves b as printed.
//   - UUniFast-Discard discards u > 1, because its tasks run on one processor. These run on several, and with n = 50
//     and U > 50 nothing would be left (slip 6). cap is a choice, and by default none.
//   - The list of periods is not printed: divisors of 4000 here. "Reasonable" is a time of at least 1 unit with one
//     TPC; a unit is 1 ms here, far from what rounding to nanoseconds touches.
#pragma once
#include "gpulens/plan/task.hpp"

#include <random>

namespace tool::plan {

struct Generator {
	u32 tasks = 50;
	double utilization = 2; // of all tasks together, in TPCs
	u32 tpcs = 68;
	double memory = 0.5;  // probability of that class
	double cap = 0;       // most utilization of a task; 0: none
	bool literal = false; // b as printed
};

// n numbers that sum up to total, uniformly of all such with none above cap (0: any). Throws BadInput where
// n * cap cannot make total, or where 200,000 drawings brought none.
std::vector<double> uunifast_discard(std::mt19937_64 &random, u32 n, double total, double cap);

std::vector<Task> generate(std::mt19937_64 &random, const Generator &what);

} // namespace tool::plan
