// SPDX-License-Identifier: GPL-2.0
// The slips in the printed algorithms of Singh's thesis, each by a set of tasks that the printed form gets wrong, as
// tools/gpulens/plan/allocate.hpp and generate.hpp number them. All merges are counted by hand.
#include "lab/evaluate/generate.hpp"
#include "gpulens/plan/task_file.hpp"
#include "lib/base/errors.hpp"
#include "support/tools/plan_tasks.hpp"

#include <cmath>
#include <gtest/gtest.h>
#include <numeric>

namespace {

using plan_tests::task;
using plan_tests::write_layout;
using tool::plan::Allocation;
using tool::plan::Class;
using tool::plan::Criterion;
using tool::plan::Heuristic;
using tool::plan::Order;
using tool::plan::Problem;
using tool::plan::Start;
using tool::plan::Task;

const Heuristic SMS_INA{Order::Sms, false}, SMS_ACT{Order::Sms, true}, BF_INA{Order::BestFit, false};

Allocation allocate_on(u32 tpcs, const std::vector<Task> &tasks, const Heuristic &how)
{
	return allocate(Problem(tasks, {.tpcs = tpcs}, Criterion::Edf), how);
}

// A task that is not faster with more TPCs.
Task make_flat_task(const char *name, u64 time)
{
	return task(name, 100, 100, Class::Compute, {time, time, time, time, time, time});
}

/* -- 1: Algorithm 3 -- */

// Line 10 leaves P among its own partners; a partition that merges with itself "saves" half of its TPCs. a and b need two
// TPCs each, so that 3 do not suffice, and the only merge to try is that of a and b.
TEST(PlanSlip1, PartitionIsNoPartnerOfItsOwn)
{
	std::vector<Task> tasks{task("a", 100, 100, Class::Compute, {150, 100, 100}),
				task("b", 100, 100, Class::Compute, {150, 100, 100})};
	for (const Heuristic &how : {SMS_INA, BF_INA}) {
		Allocation a = allocate_on(3, tasks, how);
		EXPECT_FALSE(a.fits);
		EXPECT_EQ(a.tpcs(), 4u);
		EXPECT_EQ(a.merges, 1u);
	}
}

// The loop runs "until pars = {}", which never becomes true. Here the first candidate, a, which cannot be merged with any
// other, is given up, and b is tried; if nothing can be merged, the search ends.
TEST(PlanSlip1, NextCandidateIsTriedAndThenItEnds)
{
	std::vector<Task> tasks{make_flat_task("a", 100), make_flat_task("b", 40), make_flat_task("c", 40)};
	for (const Heuristic &how : {SMS_INA, BF_INA}) {
		Allocation two = allocate_on(2, tasks, how);
		EXPECT_TRUE(two.fits);
		EXPECT_EQ(write_layout(two), "0:1 1+2:1");
		Allocation one = allocate_on(
			1, {task("a", 100, 40, Class::Compute, {30}), task("b", 100, 40, Class::Compute, {30})}, how);
		EXPECT_FALSE(one.fits);
		EXPECT_EQ(write_layout(one), "0:1 1:1");
	}
}

/* -- 2: Algorithm 1, lines 14 to 24 -- */

// a cannot be merged. It is selected first each time, and every pair is tried once: a with b, c and d, b with c; a with
// b+c, which is new; b+c with d.
TEST(PlanSlip2, FailedPairIsNotTriedAgain)
{
	std::vector<Task> tasks{make_flat_task("a", 100), make_flat_task("b", 30), make_flat_task("c", 30),
				make_flat_task("d", 30)};
	for (const Heuristic &how : {SMS_INA, BF_INA}) {
		Allocation a = allocate_on(2, tasks, how);
		EXPECT_EQ(write_layout(a), "0:1 1+2+3:1");
		EXPECT_EQ(a.merges, 6u);
	}
}

/* -- 3: Definition 4 -- */

// With a, b gives 0.5 + 0.1, c gives 0.5 + 0.4; the times alone are 50 + 400 and 50 + 20, which would select b first.
TEST(PlanSlip3, BestFitGoesByUtilizationAndNotByTime)
{
	std::vector<Task> tasks{task("a", 100, 100, Class::Compute, {50, 50}),
				task("b", 4000, 4000, Class::Memory, {400, 400}),
				task("c", 50, 50, Class::Memory, {20, 20})};
	EXPECT_EQ(write_layout(allocate_on(2, tasks, BF_INA)), "0+2:1 1:1");
	EXPECT_DOUBLE_EQ(Problem(tasks, {.tpcs = 2}, Criterion::Edf).load(std::vector<u32>{0, 1}, 1), 0.6);
}

/* -- 4 and 5: what is forbidden -- */

// a and b need 0.6 of a TPC each, and can be merged only together with c, whose deadline needs two TPCs.
std::vector<Task> make_three_tasks()
{
	return {task("a", 100, 100, Class::Compute, {60, 30, 30}), task("b", 100, 100, Class::Compute, {60, 30, 30}),
		task("c", 100, 50, Class::Compute, {60, 30, 30})};
}

// Section 3.5.3 states that all pairs are tried if ACT is off. In fact ACT tries them: a and b are a forbidden pair then,
// and stay separate; without ACT, a is merged with c, and then with b.
TEST(PlanSlip4, AllPairsAreTriedByActAndNotByIna)
{
	Allocation ina = allocate_on(2, make_three_tasks(), SMS_INA), act = allocate_on(2, make_three_tasks(), SMS_ACT);
	EXPECT_EQ(ina.forbidden_pairs, 0u);
	EXPECT_TRUE(ina.fits);
	EXPECT_EQ(write_layout(ina), "0+1+2:2");
	EXPECT_EQ(act.forbidden_pairs, 1u);
	EXPECT_FALSE(act.fits);
	EXPECT_EQ(act.tpcs(), 3u);
	// pairs are tried even where nothing has to be merged
	EXPECT_EQ(allocate_on(4, make_three_tasks(), SMS_ACT).merges, 3u);
	EXPECT_EQ(allocate_on(4, make_three_tasks(), SMS_INA).merges, 0u);
}

// A failed pair of partitions does not forbid their tasks: a and b failed (first merge), a and c did not (second), and b
// joins the two (third).
TEST(PlanSlip5, FailedPartitionsDoNotForbidTheirTasks)
{
	Allocation ina = allocate_on(2, make_three_tasks(), SMS_INA);
	EXPECT_TRUE(ina.fits);
	EXPECT_EQ(ina.merges, 3u);
}

// A pair of tasks that ACT forbids also applies to the partitions that contain them: c, the smallest, is merged with a,
// and the pair a and b excludes b.
TEST(PlanSlip5, ForbiddenTasksForbidTheirPartitions)
{
	for (Start start : {Start::Largest, Start::Smallest}) {
		Allocation act = allocate_on(2, make_three_tasks(), {Order::Sms, true, false, start});
		EXPECT_FALSE(act.fits);
		EXPECT_EQ(act.partitions.size(), 2u);
		EXPECT_TRUE(allocate_on(2, make_three_tasks(), {Order::Sms, false, false, start}).fits);
	}
}

/* -- 6: the generator's discarding -- */

TEST(PlanSlip6, UtilizationsAboveOneAreKept)
{
	std::mt19937_64 random(1);
	std::vector<double> u = tool::plan::uunifast_discard(random, 50, 60, 0);
	EXPECT_EQ(u.size(), 50u);
	EXPECT_NEAR(std::accumulate(u.begin(), u.end(), 0.0), 60, 1e-9);
	EXPECT_GT(*std::max_element(u.begin(), u.end()), 1);
	EXPECT_GT(*std::min_element(u.begin(), u.end()), 0);
}

TEST(PlanSlip6, CapIsAChoice)
{
	std::mt19937_64 random(1);
	for (u32 i = 0; i < 100; i++) {
		std::vector<double> u = tool::plan::uunifast_discard(random, 10, 3, 0.8);
		EXPECT_NEAR(std::accumulate(u.begin(), u.end(), 0.0), 3, 1e-9);
		EXPECT_LE(*std::max_element(u.begin(), u.end()), 0.8);
	}
}

// With the usual cap of 1 there is no set of 50 tasks with U = 51: refused, while the printed algorithm never ends.
TEST(PlanSlip6, CapThatNothingMeetsIsRefused)
{
	std::mt19937_64 random(1);
	auto refusal = [&](u32 n, double total, double cap) -> std::string {
		try {
			tool::plan::uunifast_discard(random, n, total, cap);
		} catch (const tool::Error &e) {
			EXPECT_EQ(e.code, tool::Error::Input);
			return e.what();
		}
		return "none";
	};
	EXPECT_EQ(refusal(50, 51, 1), "50 tasks with a utilization of at most 1 cannot have a total utilization of 51");
	EXPECT_EQ(refusal(50, 49.9, 1),
		  "50 tasks with a utilization of at most 1 hardly ever have a total utilization of 49.9");
}

/* -- section 2.7 of the notes on the thesis: b -- */

// C(1) = a + b and C(68) = a / 68 + b give b / a: 0.02 and 0.1, of M TPCs where it is not literal.
TEST(PlanSlipB, SerialPartIsDividedByTheTpcs)
{
	for (bool literal : {false, true}) {
		std::mt19937_64 random(3);
		bool seen[2] = {};
		for (const Task &t :
		     tool::plan::generate(random, {.tasks = 40, .utilization = 20, .literal = literal})) {
			double first = double(t.alone_ns[0]), last = double(t.alone_ns[67]);
			double a = (first - last) / (1 - 1.0 / 68), b = first - a;
			double wanted = t.kind == Class::Memory ? 0.1 : 0.02;
			EXPECT_NEAR(b / a * (literal ? 1 : 68), wanted, 1e-3);
			EXPECT_NEAR(double(t.conflict_ns[0]) / first, t.kind == Class::Memory ? 2.3 : 1.2, 1e-5);
			seen[t.kind == Class::Memory] = true;
		}
		EXPECT_TRUE(seen[0] && seen[1]);
	}
}

} // namespace
