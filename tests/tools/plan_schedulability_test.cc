// SPDX-License-Identifier: GPL-2.0
// Schedulability tests: task sets of textbooks and papers with the verdicts given there or computed by hand, and random
// sets compared with independently simulated schedules.
#include "gpulens/plan/schedulability.hpp"
#include "support/tools/plan_jobs.hpp"

#include <algorithm>
#include <gtest/gtest.h>
#include <random>
#include <utility>

namespace {

using plan_tests::draw_job;
using plan_tests::find_hyperperiod;
using tool::plan::Criterion;
using tool::plan::Job;
using tool::plan::schedulable;

using Jobs = std::vector<Job>; // {C, D, T}

/* -- textbooks -- */

// G. Buttazzo, Hard Real-Time Computing Systems, section 4.6.1, on the processor demand of EDF: C = 2, 2, 3, D = 4, 5,
// 7, T = 6, 8, 9. Demand 2, 4, 7, 9, 11, 16, 18, 20 at 4, 5, 7, 10, 13, 16, 21, 22: met everywhere, without slack at 7
// and 16.
TEST(PlanEdf, ButtazzosSetIsSchedulableAndOneUnitMoreIsNot)
{
	EXPECT_TRUE(schedulable(Criterion::Edf, Jobs{{2, 4, 6}, {2, 5, 8}, {3, 7, 9}}));
	EXPECT_FALSE(schedulable(Criterion::Edf, Jobs{{2, 4, 6}, {2, 5, 8}, {4, 7, 9}}));
	// a tenth of a unit more by 16 is too much there, and nowhere else
	EXPECT_FALSE(schedulable(Criterion::Edf, Jobs{{20, 40, 60}, {20, 50, 80}, {30, 70, 90}, {1, 160, 900}}));
	EXPECT_TRUE(schedulable(Criterion::Edf, Jobs{{20, 40, 60}, {20, 50, 80}, {30, 70, 90}, {1, 161, 900}}));
}

// Deadline-monotonic priorities cannot schedule the same set: the response time of the third task is 3 + 2 + 2 = 7, then,
// with the first task's second job, 9, and its deadline is 7. And 2/4 + 2/5 + 3/7 is more than 1.
TEST(PlanEdf, ExactTestAcceptsWhatOthersRefuse)
{
	Jobs jobs{{2, 4, 6}, {2, 5, 8}, {3, 7, 9}};
	EXPECT_FALSE(schedulable(Criterion::Dm, jobs));
	EXPECT_FALSE(schedulable(Criterion::Density, jobs));
	EXPECT_FALSE(schedulable(Criterion::NpEdf, jobs)); // 2 + 3 > 4
}

// Buttazzo, section 4.5.2: C = 1, 1, 2, 1, D = 3, 4, 5, 10, T = 4, 5, 6, 11. The last one's response goes 5, 6, 7, 9,
// 10.
TEST(PlanDm, ButtazzosSetAnswersJustInTime)
{
	EXPECT_TRUE(schedulable(Criterion::Dm, Jobs{{1, 3, 4}, {1, 4, 5}, {2, 5, 6}, {1, 10, 11}}));
	EXPECT_FALSE(schedulable(Criterion::Dm, Jobs{{1, 3, 4}, {1, 4, 5}, {2, 5, 6}, {1, 9, 11}}));
	// the order of tasks is not their priority
	EXPECT_TRUE(schedulable(Criterion::Dm, Jobs{{1, 10, 11}, {2, 5, 6}, {1, 4, 5}, {1, 3, 4}}));
}

// C. Liu and J. Layland, 1973: EDF uses all of a processor, priorities do not.
TEST(PlanEdf, FullUtilizationIsSchedulableAndMoreIsNot)
{
	EXPECT_TRUE(schedulable(Criterion::Edf, Jobs{{1, 2, 2}, {1, 3, 3}, {1, 6, 6}}));
	EXPECT_TRUE(schedulable(Criterion::Density, Jobs{{1, 2, 2}, {1, 3, 3}, {1, 6, 6}}));
	EXPECT_FALSE(schedulable(Criterion::Edf, Jobs{{1, 2, 2}, {1, 3, 3}, {1, 6, 6}, {1, 1000000, 1000000}}));
	EXPECT_TRUE(schedulable(Criterion::Edf, Jobs{{2, 5, 5}, {4, 7, 7}})); // 34/35
	EXPECT_FALSE(schedulable(Criterion::Dm, Jobs{{2, 5, 5}, {4, 7, 7}})); // the second answers after 8
}

// U = 1 and D < T: demand is 1, 2, 3, 4, 5, 6 at 1 .. 6 with D = 6, all of the time; with D = 4 it is 6 at 5.
TEST(PlanEdf, FullUtilizationWithShortDeadlinesIsDecided)
{
	EXPECT_TRUE(schedulable(Criterion::Edf, Jobs{{1, 1, 2}, {1, 2, 3}, {1, 6, 6}}));
	EXPECT_FALSE(schedulable(Criterion::Edf, Jobs{{1, 1, 2}, {1, 2, 3}, {1, 4, 6}}));
}

TEST(PlanSchedulability, TimeAboveTheDeadlineIsRefusedByAll)
{
	for (Criterion test : {Criterion::Edf, Criterion::Dm, Criterion::Density, Criterion::NpEdf}) {
		EXPECT_TRUE(schedulable(test, Jobs{{5, 5, 9}})) << tool::plan::criterion_name(test);
		EXPECT_FALSE(schedulable(test, Jobs{{6, 5, 9}})) << tool::plan::criterion_name(test);
	}
}

// 1/4 + 3/6 + 2/8 is 1.
TEST(PlanDensity, SumsTimesOverDeadlines)
{
	EXPECT_TRUE(schedulable(Criterion::Density, Jobs{{1, 4, 90}, {3, 6, 90}, {2, 8, 90}}));
	EXPECT_FALSE(schedulable(Criterion::Density, Jobs{{1, 4, 90}, {3, 6, 90}, {2, 7, 90}}));
}

// K. Jeffay et al., RTSS 1991: a kernel of 3 has just started when one of 1 with a deadline of 4 is released: 3 + 1. A
// kernel of 2 would miss it, although the set is schedulable with preemption.
TEST(PlanNpEdf, LongestKernelWithALaterDeadlineBlocks)
{
	EXPECT_TRUE(schedulable(Criterion::NpEdf, Jobs{{1, 4, 4}, {3, 10, 10}}));
	EXPECT_FALSE(schedulable(Criterion::NpEdf, Jobs{{2, 4, 4}, {3, 10, 10}}));
	EXPECT_TRUE(schedulable(Criterion::Edf, Jobs{{2, 4, 4}, {3, 10, 10}}));
}

// By the paper's discrete time, (1, 3) is schedulable beside (3, 10): 3 - 1 + 1 = 3. Here the blocking kernel may have
// begun a moment before, not a unit, and counts in full: a decision of this project.
TEST(PlanNpEdf, BlockingCountsInFull)
{
	EXPECT_FALSE(schedulable(Criterion::NpEdf, Jobs{{1, 3, 3}, {3, 10, 10}}));
	EXPECT_TRUE(schedulable(Criterion::NpEdf, Jobs{{1000, 3000, 3000}, {2000, 10000, 10000}}));
	EXPECT_FALSE(schedulable(Criterion::NpEdf, Jobs{{1000, 3000, 3000}, {2001, 10000, 10000}}));
}

// Two of one deadline do not block each other, and the longest deadline is blocked by none.
TEST(PlanNpEdf, OnlyLaterDeadlinesBlock)
{
	EXPECT_TRUE(schedulable(Criterion::NpEdf, Jobs{{3, 6, 6}, {3, 6, 6}}));
	// at 4 .. 5: 1 + 3; at 6: 3 + 1; at 8: 2 + 3
	EXPECT_TRUE(schedulable(Criterion::NpEdf, Jobs{{1, 4, 4}, {3, 6, 12}}));
	// the third blocks both: 2 + 4 at 6, 2 + 2 + 4 or 2 + 3 + 4 at 8
	EXPECT_TRUE(schedulable(Criterion::NpEdf, Jobs{{2, 6, 6}, {2, 8, 20}, {4, 30, 30}}));
	EXPECT_FALSE(schedulable(Criterion::NpEdf, Jobs{{2, 6, 6}, {3, 8, 20}, {4, 30, 30}}));
}

/* -- first come, first served -- */

// A job waits for one job of each other task: 2 + 3 by 5, whatever the other deadline is, and not 3 + 3.
TEST(PlanFifo, AllJobsEndWithinTheShortestDeadline)
{
	EXPECT_TRUE(schedulable(Criterion::Fifo, Jobs{{2, 5, 5}, {3, 100, 100}}));
	EXPECT_FALSE(schedulable(Criterion::Fifo, Jobs{{3, 5, 5}, {3, 100, 100}}));
	EXPECT_TRUE(schedulable(Criterion::Fifo, Jobs{{5, 5, 5}}));
	EXPECT_FALSE(schedulable(Criterion::Fifo, Jobs{{6, 5, 9}}));
}

/* -- limits -- */

// Periods of 11 days that have no common multiple within 64 bits.
TEST(PlanSchedulability, LongPeriodsDoNotOverflow)
{
	u64 day = 86400ULL * 1000000000;
	Jobs jobs{{day, 10 * day, 11 * day}, {3 * day, 10 * day + 7, 11 * day + 1}, {1, 3, 1000003}};
	for (Criterion test : {Criterion::Edf, Criterion::Dm, Criterion::Density})
		EXPECT_TRUE(schedulable(test, jobs)) << tool::plan::criterion_name(test);
	EXPECT_FALSE(schedulable(Criterion::NpEdf, jobs));
	jobs[1].c = 10 * day;
	for (Criterion test : {Criterion::Edf, Criterion::Dm, Criterion::Density})
		EXPECT_FALSE(schedulable(test, jobs)) << tool::plan::criterion_name(test);
}

/* -- simulated schedules -- */

enum class Rule { Edf, Dm, NpEdf, Fifo };

// Returns whether every deadline until then is met. Job i is first released at offset[i].
bool simulate_schedule(const Jobs &jobs, Rule rule, const std::vector<u64> &offset, u64 until)
{
	struct Live {
		size_t task;
		u64 left, deadline;
	};
	std::vector<Live> live;
	std::vector<u64> next = offset;
	u64 work = 0;

	// More work than time: a deadline is missed eventually.
	for (const Job &j : jobs)
		work += until / j.t * j.c;
	if (work > until)
		return false;
	for (u64 now = 0; now < until;) {
		for (size_t i = 0; i < jobs.size(); i++)
			while (next[i] <= now) {
				live.push_back({i, jobs[i].c, next[i] + jobs[i].d});
				next[i] += jobs[i].t;
			}
		u64 coming = *std::min_element(next.begin(), next.end());
		if (live.empty()) {
			now = coming;
			continue;
		}
		auto run = std::min_element(live.begin(), live.end(), [&](const Live &a, const Live &b) {
			if (rule == Rule::Fifo)
				return a.deadline - jobs[a.task].d < b.deadline - jobs[b.task].d;
			if (rule == Rule::Dm)
				return std::pair(jobs[a.task].d, a.task) < std::pair(jobs[b.task].d, b.task);
			return a.deadline < b.deadline;
		});
		u64 for_time =
			rule == Rule::NpEdf || rule == Rule::Fifo ? run->left : std::min(run->left, coming - now);
		now += for_time;
		run->left -= for_time;
		// A job may have been released while the kernel ran; it was not late before its release.
		if (now > run->deadline)
			return false;
		if (!run->left)
			live.erase(run);
		if (std::any_of(live.begin(), live.end(), [now](const Live &l) { return l.deadline <= now; }))
			return false;
	}
	return true;
}

Jobs draw_jobs(std::mt19937 &random, u64 unit)
{
	Jobs jobs(2 + random() % 3);

	for (Job &j : jobs)
		j = draw_job(random, unit);
	return jobs;
}

// Simultaneous release is the worst case of both, so that the schedule of two hyperperiods decides.
TEST(PlanSchedulability, PreemptiveTestsAgreeWithSimulatedSchedules)
{
	std::mt19937 random(7);
	u32 yes = 0, no = 0;

	for (u32 n = 0; n < 4000; n++) {
		Jobs jobs = draw_jobs(random, 1);
		std::vector<u64> together(jobs.size());
		bool edf = simulate_schedule(jobs, Rule::Edf, together, 2 * find_hyperperiod(jobs));
		EXPECT_EQ(schedulable(Criterion::Edf, jobs), edf) << n;
		EXPECT_EQ(schedulable(Criterion::Dm, jobs),
			  simulate_schedule(jobs, Rule::Dm, together, 2 * find_hyperperiod(jobs)))
			<< n;
		if (schedulable(Criterion::Density, jobs))
			EXPECT_TRUE(edf) << n;
		(edf ? yes : no)++;
	}
	EXPECT_GT(yes, 500u);
	EXPECT_GT(no, 500u);
}

// Whether all deadlines are met when each job in turn is released at one time and all others at another.
bool meets_with_one_apart(const Jobs &jobs, Rule rule, u64 one, u64 others)
{
	for (size_t i = 0; i < jobs.size(); i++) {
		std::vector<u64> offset(jobs.size(), others);
		offset[i] = one;
		if (!simulate_schedule(jobs, rule, offset, 2 * find_hyperperiod(jobs)))
			return false;
	}
	return true;
}

// The worst cases: all together, or each alone a hundredth of a unit before all others.
TEST(PlanSchedulability, NonPreemptiveTestAgreesWithSimulatedSchedules)
{
	std::mt19937 random(8);
	u32 yes = 0, no = 0;

	for (u32 n = 0; n < 4000; n++) {
		Jobs jobs = draw_jobs(random, 100);
		bool met = simulate_schedule(jobs, Rule::NpEdf, std::vector<u64>(jobs.size()),
					     2 * find_hyperperiod(jobs)) &&
			   meets_with_one_apart(jobs, Rule::NpEdf, 0, 1);
		EXPECT_EQ(schedulable(Criterion::NpEdf, jobs), met) << n;
		(met ? yes : no)++;
	}
	EXPECT_GT(yes, 500u);
	EXPECT_GT(no, 500u);
}

// The worst cases: each is released a hundredth of a unit after all others. Seen failing with the largest
// deadline in place of the least.
TEST(PlanSchedulability, FirstComeFirstServedAgreesWithSimulatedSchedules)
{
	std::mt19937 random(9);
	u32 yes = 0, no = 0;

	for (u32 n = 0; n < 4000; n++) {
		Jobs jobs = draw_jobs(random, 100);
		bool met = meets_with_one_apart(jobs, Rule::Fifo, 1, 0);
		EXPECT_EQ(schedulable(Criterion::Fifo, jobs), met) << n;
		(met ? yes : no)++;
	}
	EXPECT_GT(yes, 300u);
	EXPECT_GT(no, 500u);
}

/* -- with the costs of control and of switches -- */

using tool::plan::Costs;

// One task: it waits for a decision and for a switch in progress (10 + 3), and then needs its own switch and time; the test also
// counts the switch back and the idle time after it: 13 + 20 + 2 * 3 + 10.
TEST(PlanCosts, OfOneTask)
{
	EXPECT_TRUE(schedulable(Criterion::Edf, Jobs{{20, 49, 100}}, {10, 3}));
	EXPECT_FALSE(schedulable(Criterion::Edf, Jobs{{20, 48, 100}}, {10, 3}));
	EXPECT_TRUE(schedulable(Criterion::Dm, Jobs{{20, 49, 100}}, {10, 3}));
	EXPECT_FALSE(schedulable(Criterion::Dm, Jobs{{20, 48, 100}}, {10, 3}));
	// without a preemption: 20 + 3 + 10
	for (Criterion test : {Criterion::NpEdf, Criterion::NpDm, Criterion::Fifo}) {
		EXPECT_TRUE(schedulable(test, Jobs{{20, 33, 100}}, {10, 3})) << tool::plan::criterion_name(test);
		EXPECT_FALSE(schedulable(test, Jobs{{20, 32, 100}}, {10, 3})) << tool::plan::criterion_name(test);
	}
}

// Two jobs of the first, of 20 + 2 * 3 + 10, and one of the second, of 50 + 16, after 13: 151; the third of the first arrives at
// 200. One job of the first only would be 115.
TEST(PlanCosts, ResponseTimesHaveThemPerPreemption)
{
	EXPECT_TRUE(schedulable(Criterion::Dm, Jobs{{20, 100, 100}, {50, 151, 400}}, {10, 3}));
	EXPECT_FALSE(schedulable(Criterion::Dm, Jobs{{20, 100, 100}, {50, 150, 400}}, {10, 3}));
	EXPECT_FALSE(schedulable(Criterion::Dm, Jobs{{20, 48, 100}, {50, 151, 400}}, {10, 3}));
	// By EDF, the second job of the first has the later deadline: 36 + 66 + 13.
	EXPECT_TRUE(schedulable(Criterion::Edf, Jobs{{20, 100, 100}, {50, 115, 400}}, {10, 3}));
	EXPECT_FALSE(schedulable(Criterion::Edf, Jobs{{20, 100, 100}, {50, 114, 400}}, {10, 3}));
}

// The load of 0.5 + 0.5 leaves nothing for them. Seen failing with costs that are ignored, both or where the other is 0.
TEST(PlanCosts, FullLoadDoesNotFit)
{
	Jobs jobs{{50, 100, 100}, {100, 200, 200}};
	EXPECT_TRUE(schedulable(Criterion::Edf, jobs));
	EXPECT_FALSE(schedulable(Criterion::Edf, jobs, {1, 0}));
	EXPECT_FALSE(schedulable(Criterion::Edf, jobs, {0, 1}));
}

// A GPU whose scheduler decides at each arrival and end by what it knows then, and has its effect costs.control later; each switch
// takes costs.switching, and is not preempted. Until a switch begins, the job before it goes on.
bool simulate_with_costs(const Jobs &jobs, Rule rule, const Costs &costs, const std::vector<u64> &offset, u64 until)
{
	struct Live {
		size_t task;
		u64 left, deadline, number;
	};
	struct Decision {
		u64 effect, number; // of the chosen job
	};
	std::vector<Live> live;
	std::vector<Decision> decisions;
	std::vector<u64> next = offset;
	u64 numbers = 0, current = 0, target = 0, switch_end = 0; // target: that the GPU switches to, until switch_end
	bool preemptive = rule != Rule::NpEdf;

	auto find = [&](u64 number) {
		return std::find_if(live.begin(), live.end(), [&](const Live &l) { return l.number == number; });
	};
	auto decide = [&](u64 now) {
		auto best = std::min_element(live.begin(), live.end(), [&](const Live &a, const Live &b) {
			return rule == Rule::Dm ? std::pair(jobs[a.task].d, a.task) < std::pair(jobs[b.task].d, b.task)
						: a.deadline < b.deadline;
		});
		if (best != live.end())
			decisions.push_back({now + costs.control, best->number});
	};
	for (u64 now = 0; now < until; now++) {
		bool decided = false;
		for (size_t i = 0; i < jobs.size(); i++)
			while (next[i] <= now) {
				live.push_back({i, jobs[i].c, next[i] + jobs[i].d, ++numbers});
				next[i] += jobs[i].t;
				decided = true;
			}
		if (auto done = find(current); current && done->left == 0) {
			live.erase(done);
			current = 0;
			decided = true;
		}
		bool busy = current || target;
		if (decided && (preemptive || (!busy && decisions.empty())))
			decide(now);
		if (target && now >= switch_end) {
			current = target;
			target = 0;
		}
		// The last decision that has its effect.
		while (!target && !decisions.empty() && decisions.front().effect <= now) {
			u64 chosen = decisions.front().number;
			bool last = decisions.size() == 1 || decisions[1].effect > now;
			decisions.erase(decisions.begin());
			if (!last || chosen == current || find(chosen) == live.end())
				continue;
			current = 0;
			target = chosen;
			switch_end = now + costs.switching;
			if (!costs.switching)
				current = std::exchange(target, 0);
		}
		if (current)
			find(current)->left--;
		if (std::any_of(live.begin(), live.end(), [&](const Live &l) { return now + 1 > l.deadline; }))
			return false;
	}
	return true;
}

// What a test accepts meets its deadlines in simulated schedules with random offsets. Seen failing with the times of jobs without
// costs.
TEST(PlanCosts, WhatIsAcceptedMeetsItsDeadlinesInSimulatedSchedules)
{
	std::mt19937 random(10);
	u32 yes = 0;

	for (u32 n = 0; n < 800; n++) {
		Jobs jobs = draw_jobs(random, 20);
		Costs costs{.control = random() % 6, .switching = random() % 6};
		for (Job &j : jobs)
			j.d = j.t - random() % (1 + (j.t - j.d) / 2);
		for (auto [test, rule] : {std::pair(Criterion::Edf, Rule::Edf), std::pair(Criterion::Dm, Rule::Dm),
					  std::pair(Criterion::NpEdf, Rule::NpEdf)}) {
			if (!schedulable(test, jobs, costs))
				continue;
			yes++;
			for (u32 k = 0; k < 3; k++) {
				std::vector<u64> offset(jobs.size());
				for (u64 &o : offset)
					o = k ? random() % 30 : 0;
				EXPECT_TRUE(simulate_with_costs(jobs, rule, costs, offset, 2 * find_hyperperiod(jobs)))
					<< n << " " << tool::plan::criterion_name(test);
			}
		}
	}
	EXPECT_GT(yes, 300u);
}

} // namespace
