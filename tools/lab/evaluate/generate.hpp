// SPDX-License-Identifier: GPL-2.0
// Generates random sets of tasks, as the evaluation of Singh's thesis does (section 3.6.1):
//   utilizations  UUniFast-Discard (P. Emberson, R. Stafford, R. Davis, WATERS 2010) for n tasks and a total U
//   periods       from a list from 50 to 4000; a longer one if the time would be too short; D = 0.75 T
//   times         k (a / m + b) with a = u T; compute: b = 0.02 a, and k = 1.2 in conflict; memory: b = 0.1 a, k = 2.3
//   class         memory with a probability of prm = 0.5
//
// Differences, because the text is wrong or incomplete:
//   - b is divided by the number of TPCs, M. As printed, a task's serial part would be so long that the baseline 1G
//     fails from U = 6.5 on. In the thesis' figure 3.4 it fails at 35; with b / M it fails at U = 36.2, and with b = 0
//     at 38.9. literal keeps b as printed, no_serial omits it.
//   - UUniFast-Discard discards sets with u > 1, because its tasks run on one processor. These tasks run on several,
//     and no set with n = 50 and U > 50 would remain (slip 6). cap sets such a limit; by default there is none.
//   - The list of periods is not printed; by default it has divisors of 4000. A "reasonable" time is at least 1 unit with one
//     TPC. A unit is 1 ms here, so that rounding to nanoseconds does not matter.
#pragma once
#include "gpulens/plan/task.hpp"

#include <random>

namespace tool::plan {

struct Generator {
	u32 tasks = 50;
	double utilization = 2; // total, in TPCs
	u32 tpcs = 68;
	double cap = 0;         // largest utilization of a task; 0: no limit
	bool literal = false;   // b as printed
	bool no_serial = false; // b = 0
	double memory = 0.5;    // probability of class memory: prm
	double deadline = 0.75; // D / T
	std::vector<double> periods{50,  80,  100, 125,  160,  200, 250,
				    400, 500, 800, 1000, 2000, 4000}; // units, ascending
	// By class, compute first: k in conflict, and b / a.
	std::vector<double> conflict{COMPUTE_CONFLICT, MEMORY_CONFLICT}, serial{0.02, 0.1};
};

// Returns n numbers with the sum total, uniformly distributed over all such vectors with no number above cap (0: no
// limit). Throws Error (Input) if n * cap is less than total, or if 200,000 attempts failed.
std::vector<double> uunifast_discard(std::mt19937_64 &random, u32 n, double total, double cap);

std::vector<Task> generate(std::mt19937_64 &random, const Generator &generator);

} // namespace tool::plan
