// SPDX-License-Identifier: GPL-2.0
// The fewest TPCs that any division of the tasks into partitions needs, by trying all of them: what the heuristics are
// held against, and what small sets can be planned with. 2^n sets of tasks are tested and 3^n divisions compared.
#pragma once
#include "gpulens/plan/allocate.hpp"

namespace tool::plan {

constexpr u32 MAX_EXACT_TASKS = 14; // 16384 sets, 4.8 million divisions: under a second

// As allocate(); merges counts the sets that were tested. There must be no more tasks than MAX_EXACT_TASKS.
Allocation optimum(const Problem &problem);

} // namespace tool::plan
