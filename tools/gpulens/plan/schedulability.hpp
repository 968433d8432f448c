// SPDX-License-Identifier: GPL-2.0
// Do the tasks of one partition meet their deadlines? A partition is a uniprocessor: each task uses all of its TPCs.
// Singh's thesis names no scheduler (section 3.5.5); its complexity hints at the first of these.
//
//   edf      EDF, preemptive: processor demand (S. Baruah, L. Rosier, R. Howell, 1990) by QPA (F. Zhang and A. Burns,
//            IEEE TC 58(9), 2009). Exact for sporadic tasks.
//   dm       deadline-monotonic priorities, preemptive: response times (M. Joseph and P. Pandya, 1986; N. Audsley et
//            al., 1993). Exact for sporadic tasks with D <= T.
//   density  sum C / D <= 1: sufficient for EDF.
//   np-edf   EDF where a kernel that runs is not stopped: demand and the longest kernel with a later deadline (K.
//            Jeffay, D. Stanat, C. Martel, RTSS 1991; L. George, N. Rivierre, M. Spuri, 1996). Exact for sporadic
//            tasks.
//
// None counts the time that switching takes. Decision of this project: time is continuous, so that the kernel that
// blocks counts in full; the papers, whose time is discrete, take 1 off.
#pragma once
#include "gpulens/gpu.h"

#include <span>
#include <string>
#include <vector>

namespace tool::plan {

enum class Criterion { Edf, Dm, Density, NpEdf };

struct Job {
	u64 c, d, t; // ns; 0 < d <= t <= MAX_TIME_NS
};

// True is always right. False may mean that it could not be told within a bound on steps, which only sets that use
// almost exactly all of the time reach.
bool schedulable(Criterion test, std::span<const Job> jobs);

// Sum of C / T.
double utilization(std::span<const Job> jobs);

const char *criterion_name(Criterion test);

} // namespace tool::plan
