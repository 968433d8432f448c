// SPDX-License-Identifier: GPL-2.0
// Tests for schedulers that do not preempt kernels: np-dm, lp-edf and lp-dm. Sets of papers and sets computed by hand, and
// random sets compared with schedules of a simulator of its own, with the worst releases and kernels, and with random ones.
#include "gpulens/plan/schedulability.hpp"
#include "support/tools/plan_jobs.hpp"

#include <algorithm>
#include <gtest/gtest.h>
#include <random>

namespace {

using plan_tests::draw_job;
using plan_tests::find_hyperperiod;
using tool::plan::Criterion;
using tool::plan::Job;
using tool::plan::schedulable;
using tool::plan::Verdict;
using tool::plan::WHOLE_JOB;

using Jobs = std::vector<Job>; // {C, D, T, longest kernel}

/* -- sets by hand -- */

// R. Davis, A. Burns, R. Bril, J. Lukkien, "Controller Area Network (CAN) schedulability analysis", section 3.1: three
// tasks with C = 1 and T = 2.5, 3.5, 3.5 (here times 100). The first job of the third answers after 3, the second after 3.5.
TEST(PlanNpDm, LaterJobOfABusyPeriodIsTheWorst)
{
	EXPECT_TRUE(schedulable(Criterion::NpDm, Jobs{{100, 250, 250}, {100, 325, 350}, {100, 350, 350}}));
	EXPECT_FALSE(schedulable(Criterion::NpDm, Jobs{{100, 250, 250}, {100, 325, 350}, {100, 349, 350}}));
	EXPECT_FALSE(schedulable(Criterion::NpDm, Jobs{{100, 250, 250}, {100, 325, 350}, {100, 325, 350}}));
}

// A job of 3 with a later deadline blocks in full: 3 + 1. A kernel of 1 of that job blocks for 1.
TEST(PlanNpDm, LongestLaterDeadlineBlocks)
{
	EXPECT_TRUE(schedulable(Criterion::NpDm, Jobs{{1, 4, 4}, {3, 10, 10}}));
	EXPECT_FALSE(schedulable(Criterion::NpDm, Jobs{{2, 4, 4}, {3, 10, 10}}));
	EXPECT_FALSE(schedulable(Criterion::LpDm, Jobs{{2, 4, 4}, {3, 10, 10}}));
	EXPECT_TRUE(schedulable(Criterion::LpDm, Jobs{{2, 4, 4}, {3, 10, 10, 2}}));
	EXPECT_TRUE(schedulable(Criterion::LpEdf, Jobs{{2, 4, 4}, {3, 10, 10, 2}}));
	EXPECT_FALSE(schedulable(Criterion::LpEdf, Jobs{{2, 4, 4}, {3, 10, 10, 3}}));
	// of its own deadline nothing blocks, and the order of tasks decides
	EXPECT_TRUE(schedulable(Criterion::NpDm, Jobs{{3, 6, 6}, {3, 6, 6}}));
	EXPECT_FALSE(schedulable(Criterion::NpDm, Jobs{{3, 3, 6}, {1, 6, 9}}));
}

// The third starts at 100 + 150 and ends at 450, although the first is released again at 400; in kernels of 100 it would be
// interrupted, and end at 550.
TEST(PlanLpDm, JobOfOneKernelIsNotInterrupted)
{
	EXPECT_TRUE(schedulable(Criterion::LpDm, Jobs{{100, 400, 400}, {150, 450, 1200}, {200, 460, 1200}}));
	EXPECT_FALSE(schedulable(Criterion::LpDm, Jobs{{100, 400, 400}, {150, 450, 1200}, {200, 460, 1200, 100}}));
	EXPECT_TRUE(schedulable(Criterion::LpDm, Jobs{{100, 400, 400}, {150, 450, 1200}, {200, 550, 1200, 100}}));
	EXPECT_FALSE(schedulable(Criterion::LpDm, Jobs{{100, 400, 400}, {150, 450, 1200}, {200, 549, 1200, 100}}));
}

// The periods have no common multiple below 2^60, and the utilization is exactly 1: the test does not decide, and is not
// wrong either.
TEST(PlanVerdict, GivingUpIsNotAMissedDeadline)
{
	Jobs jobs{{333333335, 1000000005, 1000000005},
		  {333333345, 1000000035, 1000000035},
		  {333333351, 1000000053, 1000000053}};
	for (Criterion test : {Criterion::Edf, Criterion::Density, Criterion::NpEdf})
		EXPECT_EQ(judge(test, jobs), Verdict::GaveUp) << tool::plan::criterion_name(test);
	jobs[0].c += 10;
	EXPECT_EQ(judge(Criterion::Edf, jobs), Verdict::Misses);
	jobs[0].c -= 20;
	EXPECT_EQ(judge(Criterion::Edf, jobs), Verdict::Meets);
}

/* -- simulated schedules -- */

// How the jobs of a task are divided into kernels: the first one is `first` long, the others as `draw` says.
struct Schedule {
	bool edf;
	std::vector<u64> offset;        // of the first release, by task
	std::vector<bool> long_first;   // by task: the first kernel of a job is its longest
	std::mt19937 *random = nullptr; // draws further kernels; without it they are as short as can be
	bool sporadic = false;          // random gaps between releases
};

struct Live {
	size_t task;
	u64 left, kernel, deadline; // kernel: what is left of the one that runs
	bool begun;
};

// Returns the length of the next kernel; 0: so short that the job can be preempted at any time.
u64 next_kernel(const Jobs &jobs, const Schedule &s, const Live &l)
{
	const Job &j = jobs[l.task];

	if (j.longest >= j.c)
		return l.left;
	if (!l.begun && s.long_first[l.task])
		return std::min(j.longest, l.left);
	return s.random ? std::min<u64>(1 + (*s.random)() % j.longest, l.left) : 0;
}

// Returns whether every deadline until then is met.
bool simulate_kernels(const Jobs &jobs, const Schedule &s, u64 until)
{
	std::vector<Live> live;
	std::vector<u64> next = s.offset;

	for (u64 now = 0; now < until;) {
		for (size_t i = 0; i < jobs.size(); i++)
			while (next[i] <= now) {
				live.push_back({i, jobs[i].c, 0, next[i] + jobs[i].d, false});
				next[i] += jobs[i].t + (s.sporadic ? (*s.random)() % (jobs[i].t / 2) : 0);
			}
		u64 coming = *std::min_element(next.begin(), next.end());
		if (live.empty()) {
			now = coming;
			continue;
		}
		auto run = std::find_if(live.begin(), live.end(), [](const Live &l) { return l.kernel > 0; });
		if (run == live.end())
			run = std::min_element(live.begin(), live.end(), [&](const Live &a, const Live &b) {
				return s.edf ? a.deadline < b.deadline
					     : std::pair(jobs[a.task].d, a.task) < std::pair(jobs[b.task].d, b.task);
			});
		if (!run->kernel)
			run->kernel = next_kernel(jobs, s, *run);
		u64 time = run->kernel ? run->kernel : std::min(run->left, coming - now);
		run->begun = true;
		run->left -= time;
		run->kernel = 0;
		now += time;
		if (now > run->deadline)
			return false;
		if (!run->left)
			live.erase(run);
		if (std::any_of(live.begin(), live.end(), [now](const Live &l) { return l.deadline <= now; }))
			return false;
	}
	return true;
}

// The worst cases: all together with short kernels, or each alone a hundredth of a unit before the others, with its longest
// kernel first.
bool meets_worst_cases(const Jobs &jobs, bool edf)
{
	Schedule s{edf, std::vector<u64>(jobs.size()), std::vector<bool>(jobs.size())};
	u64 until = 2 * find_hyperperiod(jobs), work = 0;

	// More work than time: a deadline is missed eventually.
	for (const Job &j : jobs)
		work += until / j.t * j.c;
	bool met = work <= until && simulate_kernels(jobs, s, until);
	for (size_t first = 0; met && first < jobs.size(); first++) {
		s.offset.assign(jobs.size(), 1);
		s.long_first.assign(jobs.size(), false);
		s.offset[first] = 0;
		s.long_first[first] = true;
		met = simulate_kernels(jobs, s, until);
	}
	return met;
}

constexpr u64 UNIT = 100;

// whole: each job is one kernel.
Jobs draw_jobs(std::mt19937 &random, bool whole)
{
	Jobs jobs(2 + random() % 3);

	for (Job &j : jobs) {
		j = draw_job(random, UNIT);
		j.longest = whole || random() % 4 == 0 ? WHOLE_JOB : (1 + random() % (j.c / UNIT * 2)) * UNIT / 2;
	}
	return jobs;
}

struct Agreement {
	Criterion test;
	bool edf, whole;
};

class PlanKernels : public testing::TestWithParam<Agreement> {};

// 10,000 sets: what is accepted meets all deadlines, what is refused misses one. Seen failing without blocking, with the
// shortest kernel instead of the longest, with half of it, and with a job of one kernel judged as if it could be preempted.
TEST_P(PlanKernels, AgreesWithSimulatedSchedules)
{
	auto [test, edf, whole] = GetParam();
	std::mt19937 random(21);
	u32 yes = 0, no = 0;

	for (u32 n = 0; n < 10000; n++) {
		Jobs jobs = draw_jobs(random, whole);
		bool met = meets_worst_cases(jobs, edf);
		EXPECT_EQ(schedulable(test, jobs), met) << n;
		(met ? yes : no)++;
	}
	EXPECT_GT(yes, 300u);
	EXPECT_GT(no, 500u);
}

// Accepted sets, with random releases, gaps and kernels. Seen failing without blocking.
TEST_P(PlanKernels, AcceptedSetsMeetDeadlinesOfRandomSchedules)
{
	auto [test, edf, whole] = GetParam();
	std::mt19937 random(22);
	u32 played = 0;

	for (u32 n = 0; n < 10000; n++) {
		Jobs jobs = draw_jobs(random, whole);
		if (!schedulable(test, jobs))
			continue;
		Schedule s{edf, {}, {}, &random, n % 2 == 0};
		for (const Job &j : jobs) {
			s.offset.push_back(random() % j.t);
			s.long_first.push_back(random() % 2);
		}
		EXPECT_TRUE(simulate_kernels(jobs, s, 4000 * UNIT / 20)) << n;
		played++;
	}
	EXPECT_GT(played, 500u);
}

INSTANTIATE_TEST_SUITE_P(Tests, PlanKernels,
			 testing::Values(Agreement{Criterion::NpDm, false, true},
					 Agreement{Criterion::NpEdf, true, true},
					 Agreement{Criterion::LpDm, false, false},
					 Agreement{Criterion::LpEdf, true, false}),
			 [](const testing::TestParamInfo<Agreement> &info) {
	std::string name = tool::plan::criterion_name(info.param.test);
	std::erase(name, '-');
	return name;
});

} // namespace
