// SPDX-License-Identifier: GPL-2.0
// Tests whether the tasks of one partition meet their deadlines. A partition is a uniprocessor, because each task uses
// all of its TPCs. Singh's thesis does not name a scheduler (section 3.5.5); the complexity that it gives suggests edf.
//
//   edf      EDF, preemptive: processor demand (S. Baruah, L. Rosier, R. Howell, 1990) by QPA (F. Zhang and A. Burns,
//            IEEE TC 58(9), 2009). Exact for sporadic tasks.
//   dm       deadline-monotonic priorities, preemptive: response times (M. Joseph and P. Pandya, 1986; N. Audsley et
//            al., 1993). Exact for sporadic tasks with D <= T.
//   density  sum C / D <= 1: sufficient for EDF.
//   np-edf   non-preemptive EDF: processor demand, and blocking by the longest kernel with a later deadline (K.
//            Jeffay, D. Stanat, C. Martel, RTSS 1991; L. George, N. Rivierre, M. Spuri, 1996). Exact for sporadic
//            tasks.
//
// No test counts the time of context switches. Decision of this project: time is continuous, so the blocking kernel
// counts in full. In the papers time is discrete, and they subtract 1.
#pragma once
#include "gpulens/gpu.h"

#include <span>
#include <string>
#include <vector>

namespace tool::plan {

enum class Criterion { Edf, Dm, Density, NpEdf };

struct Job {
	u64 c, d, t; // execution time, deadline and period, ns; 0 < d <= t <= MAX_TIME_NS
};

// Returns true only if all deadlines are met. Returns false also if the test needs too many steps, which happens only
// for sets with a utilization of almost exactly 1.
bool schedulable(Criterion test, std::span<const Job> jobs);

// Returns the sum of C / T.
double utilization(std::span<const Job> jobs);

const char *criterion_name(Criterion test);

} // namespace tool::plan
