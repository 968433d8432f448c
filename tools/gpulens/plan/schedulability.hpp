// SPDX-License-Identifier: GPL-2.0
// Tests whether the tasks of one partition meet their deadlines. A partition is a uniprocessor, because each task uses
// all of its TPCs. Singh's thesis does not name a scheduler (section 3.5.5); the complexity that it gives suggests edf.
//
//   edf      EDF, preemptive: processor demand (S. Baruah, L. Rosier, R. Howell, 1990) by QPA (F. Zhang and A. Burns,
//            IEEE TC 58(9), 2009). Exact for sporadic tasks.
//   dm       deadline-monotonic priorities, preemptive: response times (M. Joseph and P. Pandya, 1986; N. Audsley et
//            al., 1993). Exact for sporadic tasks with D <= T.
//   density  sum C / D <= 1: sufficient for EDF.
//   np-edf   EDF, a job is not preempted: processor demand, and blocking by the longest job with a later deadline (K.
//            Jeffay, D. Stanat, C. Martel, RTSS 1991; L. George, N. Rivierre, M. Spuri, 1996). Exact for sporadic
//            tasks.
//   np-dm    deadline-monotonic priorities, a job is not preempted: response times of all jobs of a busy period, because
//            the first need not be the worst (R. Davis, A. Burns, R. Bril, J. Lukkien, Real-Time Systems 35, 2007).
//            Exact for sporadic tasks.
//   fifo     first come, first served, a job is not preempted: the sum of all C is at most the least D (L. George and P.
//            Minet, ICDCS 1997, with D <= T). As long as each deadline is met, a task has one job at a time, so a job waits
//            for one job of each other task at most, and does so if all are released just before it. Exact for sporadic
//            tasks.
//   lp-edf   EDF, preemptive between the kernels of a job: as np-edf, but a kernel blocks (S. Baruah, ECRTS 2005).
//   lp-dm    deadline-monotonic priorities, likewise: response times, and blocking by a kernel of a lower priority (G.
//            Yao, G. Buttazzo, M. Bertogna, RTCSA 2009, floating regions); a job of one kernel is judged as by np-dm.
//
// lp-edf and lp-dm know the longest kernel of a task, and not the others. Both are exact for the worst kernels: the first
// of the blocking job is the longest, and all others are as short as can be.
//
// Costs: where an external scheduler holds and releases them (gpulens schedule, gpulens run --slot), a decision has its effect
// `control` after its event, the arrival or the end of a job; until then the job before it goes on, or the
// partition is idle. Then the GPU needs `switching` to begin or to continue a job, which is not preempted. So a job costs
// its own switch, that back to the job which it preempted, and the idle time after its end. It may find a switch in
// progress that was decided upon just before it arrived, and waits for `control` and `switching`. With C' for C:
//   edf, dm             C' = C + 2 switching + control, and blocking by switching + control
//   np-edf, np-dm, fifo C' = C + switching + control
// as in GCAPS (Y. Wang et al., ECRTS 2024, section 6), whose tasks have no idle time at their end. Sufficient, not exact: the
// tests without costs are exact. density, lp-edf and lp-dm have no form with costs.
//
// Without Costs, no test counts the time of context switches. Decisions of this project: time is continuous, so the blocking kernel
// counts in full (in the papers time is discrete, and they subtract 1); of equal deadlines, the task that comes first
// has the higher priority.
#pragma once
#include "gpulens/gpu.h"

#include <span>
#include <string>
#include <vector>

namespace tool::plan {

enum class Criterion { Edf, Dm, Density, NpEdf, NpDm, LpEdf, LpDm, Fifo };

constexpr u64 WHOLE_JOB = ~0ULL; // a kernel: the only one of its job

struct Job {
	u64 c, d, t;             // execution time, deadline and period, ns; 0 < d <= t <= MAX_TIME_NS
	u64 longest = WHOLE_JOB; // longest kernel, ns; for lp-edf and lp-dm
};

enum class Verdict {
	Meets,  // all deadlines are met
	Misses, // the test fails: all but density have found a deadline that can be missed
	GaveUp  // too many steps, which happens only for sets with a utilization of almost exactly 1
};

struct Costs {
	u64 control = 0, switching = 0; // ns

	bool any() const { return control || switching; }
};

// costs: none where the test has no form with them (counts_costs()).
Verdict judge(Criterion test, std::span<const Job> jobs, const Costs &costs = {});

inline bool schedulable(Criterion test, std::span<const Job> jobs, const Costs &costs = {})
{
	return judge(test, jobs, costs) == Verdict::Meets;
}

// Returns the sum of C / T.
double utilization(std::span<const Job> jobs);

// Returns whether the test takes a job to be preempted at any time.
bool is_preemptive(Criterion test);
// Returns whether the test counts Job::longest.
bool has_kernels(Criterion test);
// Returns whether the test has a form with costs.
bool counts_costs(Criterion test);
const char *criterion_name(Criterion test);

} // namespace tool::plan
