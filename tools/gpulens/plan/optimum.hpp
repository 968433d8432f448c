// SPDX-License-Identifier: GPL-2.0
// Finds the division of n tasks into partitions that needs the fewest TPCs, by trying all divisions. It is the
// reference for the heuristics, and can plan small sets of tasks: it tests 2^n sets of tasks and compares 3^n
// divisions.
#pragma once
#include "gpulens/plan/allocate.hpp"

namespace tool::plan {

constexpr u32 MAX_EXACT_TASKS = 14; // 16384 sets, 4.8 million divisions: under a second

// As allocate(), but merges is the number of sets that were tested. There must be at most MAX_EXACT_TASKS tasks.
Allocation find_optimum(const Problem &problem);

} // namespace tool::plan
