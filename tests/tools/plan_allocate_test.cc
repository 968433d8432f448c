// SPDX-License-Identifier: GPL-2.0
// The task model, the lemmas of Singh's thesis, the heuristics and the exhaustive optimum. plan_slips_test.cc has the
// slips of the printed algorithms. Expected sizes are computed by hand; results of the heuristics for random sets are
// compared with an independent search of all divisions.
#include "gpulens/plan/allocate.hpp"
#include "support/tools/plan_tasks.hpp"

#include <gtest/gtest.h>
#include <numeric>
#include <random>

namespace {

using plan_tests::count_fewest;
using plan_tests::task;
using plan_tests::write_layout;
using tool::plan::Allocation;
using tool::plan::Class;
using tool::plan::Conflicts;
using tool::plan::Criterion;
using tool::plan::Heuristic;
using tool::plan::NEVER;
using tool::plan::Order;
using tool::plan::Problem;
using tool::plan::Sizes;
using tool::plan::Task;

using Curve = std::vector<u64>;

/* -- the model -- */

// Section 3.4.2: "10 kernels, 9 of which are compute intensive. The one remaining memory intensive kernel will not
// experience any contention".
TEST(PlanModel, NineComputeTasksAreInConflictAndOneMemoryTaskIsNot)
{
	std::vector<Task> tasks(9, task("c", 10, 10, Class::Compute, {1}));
	std::vector<u32> all(10);
	std::iota(all.begin(), all.end(), 0U);
	tasks.push_back(task("m", 10, 10, Class::Memory, {1}));
	Conflicts ten(tasks, all);
	EXPECT_TRUE(ten.has(tasks[0]));
	EXPECT_FALSE(ten.has(tasks[9]));
	Conflicts two(tasks, std::vector<u32>{0, 9});
	EXPECT_FALSE(two.has(tasks[0]));
	EXPECT_FALSE(two.has(tasks[9]));
}

// 1000 / m + 30, with 1.2 in conflict: 1030, 530, 363.33, 280 and 1236, 636, 436, 336.
TEST(PlanModel, AmdahlsCurveIsRoundedUp)
{
	EXPECT_EQ(tool::plan::amdahl_curve(1000, 30, 1, 4), (Curve{1030, 530, 364, 280}));
	EXPECT_EQ(tool::plan::amdahl_curve(1000, 30, 1.2, 4), (Curve{1236, 636, 436, 336}));
	EXPECT_EQ(tool::plan::amdahl_curve(0, 0.5, 1, 2), (Curve{1, 1}));
}

TEST(PlanModel, MeasuredCurveKeepsTheTimeOfTheNextSmallerSize)
{
	EXPECT_EQ(tool::plan::measured_curve({{2, 50}, {4, 30}, {9, 1}}, 6), (Curve{NEVER, 50, 50, 30, 30, 30}));
}

TEST(PlanModel, AnomaliesAndSuperlinearSpeedupsAreNoticed)
{
	auto of = [](const Curve &c) { return task("t", 1000, 1000, Class::Compute, c); };
	EXPECT_TRUE(of({90, 50, 50, 40}).is_monotone());
	EXPECT_FALSE(of({90, 50, 51, 40}).is_monotone());
	EXPECT_FALSE(task("t", 9, 9, Class::Compute, {9, 8}, {9, 10}).is_monotone());
	EXPECT_TRUE(of({NEVER, 50, 50, 40}).is_monotone());
	// 90, 100, 150, 160; steps of one size alone: 100 with 2, 120 with 4
	EXPECT_FALSE(of({90, 50, 50, 40}).is_superlinear());
	EXPECT_FALSE(of({NEVER, 50, 50, 30}).is_superlinear());
	// 90, 80
	EXPECT_TRUE(of({90, 40, 40, 40}).is_superlinear());
	EXPECT_TRUE(of({NEVER, 50, 50, 20}).is_superlinear());
}

/* -- sizes -- */

TEST(PlanSizes, AreMultiplesFromTheLeast)
{
	Sizes green{.tpcs = 66, .quantum = 4, .least = 4}; // an H200's: 8 SMs
	EXPECT_EQ(green.round_up(1), 4u);
	EXPECT_EQ(green.round_up(4), 4u);
	EXPECT_EQ(green.round_up(5), 8u);
	EXPECT_EQ(green.largest(), 64u);
	Sizes ampere{.tpcs = 54, .quantum = 1, .least = 2};
	EXPECT_EQ(ampere.round_up(1), 2u);
	EXPECT_EQ(ampere.round_up(3), 3u);
	EXPECT_EQ((Sizes{.tpcs = 3, .quantum = 4}.largest()), 0u);
	EXPECT_EQ((Sizes{.tpcs = 5, .quantum = 1, .least = 6}.largest()), 0u);
}

// a and b need 3 TPCs each, c one; 4 by the quantum.
TEST(PlanSizes, QuantumHoldsForTasksAloneAndMerged)
{
	Curve c(16);
	for (u64 m = 1; m <= 16; m++)
		c[m - 1] = 240 / m;
	std::vector<Task> tasks{task("a", 100, 100, Class::Compute, c), task("b", 100, 100, Class::Memory, c),
				task("c", 400, 400, Class::Memory, c)};
	Problem free(tasks, {.tpcs = 6}, Criterion::Edf), green(tasks, {.tpcs = 8, .quantum = 4}, Criterion::Edf);
	EXPECT_EQ(free.initial_size(0), 3u);
	EXPECT_EQ(green.initial_size(0), 4u);
	EXPECT_EQ(green.initial_size(2), 4u);
	// a and c: 0.6 + 0.15 with 4; b stays alone
	Allocation a = allocate(green, {Order::Sms, false});
	EXPECT_TRUE(a.fits);
	EXPECT_EQ(write_layout(a), "0+2:4 1:4");
}

// It takes longer with 3 TPCs than with 2: bisection would miss 2.
TEST(PlanSizes, AnomalousCurvesAreSearchedOneByOne)
{
	std::vector<Task> tasks{task("a", 100, 100, Class::Compute, {200, 90, 150, 150, 150, 150, 150, 80})};
	EXPECT_EQ(Problem(tasks, {.tpcs = 8}, Criterion::Edf).initial_size(0), 2u);
	EXPECT_EQ(Problem(tasks, {.tpcs = 6}, Criterion::Edf).initial_size(0), 2u);
}

/* -- lemmas -- */

// 1.5 + 0.75 + 0.5 TPCs.
TEST(PlanLemma1, MoreWorkThanTpcsIsRefusedWithoutMerging)
{
	std::vector<Task> tasks{task("a", 100, 100, Class::Compute, {150, 75, 50}),
				task("b", 40, 40, Class::Memory, {30, 15, 10}),
				task("c", 10, 10, Class::Memory, {5, 5, 5})};
	EXPECT_DOUBLE_EQ(Problem(tasks, {.tpcs = 3}, Criterion::Edf).least_tpcs(), 2.75);
	for (const Heuristic &how : tool::plan::all_heuristics()) {
		Allocation two = allocate(Problem(tasks, {.tpcs = 2}, Criterion::Edf), how);
		EXPECT_TRUE(two.too_much);
		EXPECT_FALSE(two.fits);
		EXPECT_EQ(two.merges, 0u);
		EXPECT_FALSE(allocate(Problem(tasks, {.tpcs = 3}, Criterion::Edf), how).too_much);
	}
}

// C(1) / T is 2 for each, 4 together; but with two TPCs each takes 40 of 100, and both fit onto 2.
TEST(PlanLemma1, SuperlinearTasksAreNotRefused)
{
	std::vector<Task> tasks{task("a", 100, 100, Class::Compute, {200, 40}),
				task("b", 100, 100, Class::Memory, {200, 40})};
	Problem problem(tasks, {.tpcs = 2}, Criterion::Edf);
	EXPECT_DOUBLE_EQ(problem.least_tpcs(), 1.6);
	EXPECT_EQ(write_layout(allocate(problem, {Order::Sms, false})), "0+1:2");
}

// min { m : C(m) <= D }.
TEST(PlanLemma2, SmallestSizeByTheDeadline)
{
	std::vector<Task> tasks{task("a", 100, 60, Class::Compute, {200, 100, 61, 60, 50}),
				task("b", 100, 49, Class::Compute, {200, 100, 61, 60, 50})};
	Problem problem(tasks, {.tpcs = 5}, Criterion::Edf);
	EXPECT_EQ(problem.initial_size(0), 4u);
	EXPECT_EQ(problem.initial_size(1), 0u);
	for (const Heuristic &how : tool::plan::all_heuristics()) {
		Allocation a = allocate(problem, how);
		EXPECT_FALSE(a.fits);
		EXPECT_EQ(a.impossible, (std::vector<u32>{1}));
	}
	EXPECT_EQ(find_optimum(problem).impossible, (std::vector<u32>{1}));
}

// 2 + 3 of 5 TPCs: nothing is merged, although it would be possible; with 4 TPCs merging is necessary.
TEST(PlanLemma3, EndsAsSoonAsAllFit)
{
	std::vector<Task> tasks{task("a", 100, 50, Class::Compute, {90, 50, 30, 25, 20}),
				task("b", 100, 40, Class::Memory, {90, 50, 40, 20, 20})};
	EXPECT_EQ(write_layout(allocate(Problem(tasks, {.tpcs = 5}, Criterion::Edf), {Order::Sms, false})), "0:2 1:3");
	// with 4, 20 by 40 and 25 more by 50
	EXPECT_EQ(write_layout(allocate(Problem(tasks, {.tpcs = 4}, Criterion::Edf), {Order::Sms, false})), "0+1:4");
}

/* -- merging -- */

// Definition 2. In conflict a and b need 2 TPCs together, as many as both have alone: no merge, although c needs one. With
// different classes they need 1.
TEST(PlanMerge, SavesTpcsOrIsNone)
{
	std::vector<Task> tasks{task("a", 100, 100, Class::Compute, {45, 30}, {60, 40}),
				task("b", 100, 100, Class::Compute, {45, 30}, {60, 40}),
				task("c", 100, 100, Class::Memory, {100})};
	EXPECT_EQ(write_layout(allocate(Problem(tasks, {.tpcs = 2}, Criterion::Edf), {Order::Sms, false})),
		  "0:1 1:1 2:1");
	tasks[1].kind = Class::Memory;
	EXPECT_EQ(write_layout(allocate(Problem(tasks, {.tpcs = 2}, Criterion::Edf), {Order::Sms, false})),
		  "0+1:1 2:1");
}

// a needs 2. With b it needs 3 of 2 + 2, with c 2 of 2 + 1: SMS takes c, which becomes smallest, BF b, with which the
// utilization on two TPCs is highest (0.5 + 0.4, and 0.5 + 0.3 with c).
TEST(PlanMerge, SmsTakesTheSmallestAndBestFitTheMostUtilized)
{
	std::vector<Task> tasks{task("a", 100, 50, Class::Compute, {100, 50, 20, 20}),
				task("b", 100, 40, Class::Memory, {90, 40, 20, 20}),
				task("c", 100, 100, Class::Memory, {30, 30, 30, 30})};
	Allocation sms = allocate(Problem(tasks, {.tpcs = 4}, Criterion::Edf), {Order::Sms, false});
	Allocation bf = allocate(Problem(tasks, {.tpcs = 4}, Criterion::Edf), {Order::BestFit, false});
	EXPECT_EQ(write_layout(sms), "0+2:2 1:2");
	EXPECT_EQ(write_layout(bf), "0+1:3 2:1");
}

TEST(PlanBaseline, IsOnePartitionOfAllTpcs)
{
	std::vector<Task> tasks{task("a", 100, 100, Class::Compute, {90, 45, 30, 25}),
				task("b", 100, 100, Class::Compute, {90, 45, 30, 25}, {180, 90, 70, 50})};
	EXPECT_EQ(write_layout(allocate(Problem(tasks, {.tpcs = 4}, Criterion::Edf), {.whole = true})), "0+1:4");
	EXPECT_TRUE(allocate(Problem(tasks, {.tpcs = 3}, Criterion::Edf), {.whole = true}).fits);
	EXPECT_FALSE(allocate(Problem(tasks, {.tpcs = 2}, Criterion::Edf), {.whole = true}).fits);
}

TEST(PlanHeuristics, HaveTheThesisNames)
{
	std::vector<std::string> names;
	for (const Heuristic &how : tool::plan::all_heuristics())
		names.emplace_back(how.name());
	EXPECT_EQ(names, (std::vector<std::string>{"sms-ina", "sms-act", "bf-ina", "bf-act", "1g", "stgm", "even",
						   "smart-even"}));
}

/* -- against all divisions -- */

// EDF at every moment of two hyperperiods (all periods below divide 24).
bool meets_deadlines(const std::vector<Task> &tasks, const std::vector<u32> &in, u32 m)
{
	double load = 0;
	std::vector<u64> c;
	for (u32 i : in) {
		bool conflict = false;
		for (u32 k : in)
			conflict |= k != i && tasks[k].kind == tasks[i].kind;
		c.push_back((conflict ? tasks[i].conflict_ns : tasks[i].alone_ns)[m - 1]);
		load += double(c.back()) / double(tasks[i].period_ns);
	}
	for (u64 t = 1; t <= 48; t++) {
		u64 demand = 0;
		for (size_t k = 0; k < in.size(); k++)
			for (u64 deadline = tasks[in[k]].deadline_ns; deadline <= t; deadline += tasks[in[k]].period_ns)
				demand += c[k];
		if (demand > t)
			return false;
	}
	return load <= 1 + 1e-9;
}

std::vector<Task> draw_tasks(std::mt19937 &random, u32 tpcs)
{
	const u64 periods[] = {4, 6, 8, 12, 24};
	std::vector<Task> tasks;

	for (u32 n = 2 + random() % 4, i = 0; i < n; i++) {
		u64 period = periods[random() % 5], work = 1 + random() % (2 * period);
		Curve alone, conflict;
		for (u64 m = 1; m <= tpcs; m++) {
			alone.push_back((work + m - 1) / m);
			conflict.push_back((3 * work + 2 * m - 1) / (2 * m));
		}
		tasks.push_back(task("t", period, period - random() % (period / 2 + 1),
				     random() % 2 ? Class::Memory : Class::Compute, alone, conflict));
	}
	return tasks;
}

// 600 sets of 2 to 5 tasks on 1 to 8 TPCs. No heuristic needs fewer TPCs than the best division. If it reports success,
// each task is in one partition, all deadlines are met, and all partitions fit on the GPU; merging never needs more TPCs
// than before. find_optimum() finds the best division.
TEST(PlanOptimum, IsTheFewestAndNoHeuristicIsBetter)
{
	std::mt19937 random(11);
	u32 fitting = 0, found = 0, unfit = 0, merged = 0;

	for (u32 n = 0; n < 600; n++) {
		u32 tpcs = 1 + random() % 8;
		std::vector<Task> tasks = draw_tasks(random, tpcs);
		Problem problem(tasks, {.tpcs = tpcs}, Criterion::Edf);
		u32 alone = 0, best = count_fewest(tasks.size(), tpcs, [&](const std::vector<u32> &in, u32 m) {
				       return meets_deadlines(tasks, in, m);
			       });
		Allocation exact = find_optimum(problem);
		EXPECT_EQ(exact.fits, best <= tpcs) << n;
		if (best < 1000)
			EXPECT_EQ(exact.tpcs(), best) << n;
		for (u32 i = 0; i < tasks.size(); i++)
			alone += problem.initial_size(i);
		(best <= tpcs ? fitting : unfit)++;
		Allocation searched = tool::plan::search_divisions(problem, {}, 50);
		EXPECT_EQ(searched.fits, best <= tpcs) << n;
		std::vector<bool> seen_once(tasks.size());
		for (const tool::plan::Partition &p : searched.partitions) {
			EXPECT_TRUE(meets_deadlines(tasks, p.tasks, p.tpcs)) << n;
			for (u32 i : p.tasks) {
				EXPECT_FALSE(seen_once[i]) << n;
				seen_once[i] = true;
			}
		}
		if (searched.fits)
			EXPECT_EQ(std::count(seen_once.begin(), seen_once.end(), false), 0) << n;
		for (const Heuristic &how : tool::plan::all_heuristics()) {
			Allocation a = allocate(problem, how);
			std::vector<u32> seen;
			for (const tool::plan::Partition &p : a.partitions) {
				EXPECT_TRUE(meets_deadlines(tasks, p.tasks, p.tpcs)) << n << how.name();
				seen.insert(seen.end(), p.tasks.begin(), p.tasks.end());
			}
			if (a.fits) {
				EXPECT_GE(a.tpcs(), best) << n << how.name();
				EXPECT_LE(a.tpcs(), tpcs) << n << how.name();
				std::sort(seen.begin(), seen.end());
				EXPECT_EQ(seen.size(), tasks.size()) << n << how.name();
				EXPECT_TRUE(std::adjacent_find(seen.begin(), seen.end()) == seen.end()) << n;
				found++;
			}
			// Lemma 1 is necessary
			if (a.too_much)
				EXPECT_GT(best, tpcs) << n;
			if (!how.whole && a.partitions.size() < tasks.size() && !a.partitions.empty()) {
				EXPECT_LE(a.tpcs() + tasks.size() - a.partitions.size(), alone) << n << how.name();
				merged++;
			}
		}
	}
	EXPECT_GT(fitting, 100u);
	EXPECT_GT(unfit, 100u);
	EXPECT_GT(found, 500u);
	EXPECT_GT(merged, 100u);
}

} // namespace
