// SPDX-License-Identifier: GPL-2.0
// What the thesis leaves open, and what it compares with: ties of SMS, both ends of the list, best fit, the baselines of
// section 3.2, and spare TPCs. Expected divisions are computed by hand, or by a plain form of the algorithms that keeps no
// sums and remembers nothing.
#include "gpulens/plan/allocate.hpp"
#include "lab/evaluate/generate.hpp"
#include "support/tools/plan_tasks.hpp"

#include <gtest/gtest.h>
#include <numeric>

namespace {

using plan_tests::task;
using plan_tests::write_layout;
using tool::plan::Allocation;
using tool::plan::Baseline;
using tool::plan::Class;
using tool::plan::Criterion;
using tool::plan::Heuristic;
using tool::plan::Order;
using tool::plan::Partition;
using tool::plan::Problem;
using tool::plan::Start;
using tool::plan::Task;
using tool::plan::Ties;

using Curve = std::vector<u64>;

Task make_flat_task(const char *name, u64 time, Class kind = Class::Compute)
{
	return task(name, 100, 100, kind, {time});
}

/* -- ties -- */

// a can be merged with each of b, c and d on one TPC: the list is a, c, d, b by utilization 0.5, 0.3, 0.2, 0.1, where c is
// memory and d is not, so that in conflict d takes 0.45 and a 0.5: the fullest is a with d. Seen failing with the load of the
// partner alone, and with the first for all.
TEST(PlanTies, SmsTakesTheFirstTheLastOrTheFullest)
{
	std::vector<Task> tasks{make_flat_task("a", 50), make_flat_task("b", 10),
				make_flat_task("c", 30, Class::Memory),
				task("d", 100, 100, Class::Compute, {20}, {45})};
	Problem problem(tasks, {.tpcs = 3}, Criterion::Edf);
	auto with = [&](Ties ties, Start start = Start::Largest) {
		return write_layout(allocate(problem, {.order = Order::Sms, .start = start, .ties = ties}));
	};
	EXPECT_EQ(with(Ties::First), "0+2:1 1:1 3:1");
	EXPECT_EQ(with(Ties::Last), "0+1:1 2:1 3:1");
	EXPECT_EQ(with(Ties::Fullest), "0+3:1 1:1 2:1");
	EXPECT_EQ(with(Ties::First, Start::Smallest), "0:1 1+3:1 2:1");
}

// With a, c gives 0.9 and b 0.6: best fit is the fullest. Seen failing with Definition 4's ascending order.
TEST(PlanBestFit, IsTheFullest)
{
	std::vector<Task> tasks{make_flat_task("a", 50), make_flat_task("b", 10), make_flat_task("c", 40)};
	EXPECT_EQ(write_layout(allocate(Problem(tasks, {.tpcs = 2}, Criterion::Edf), {Order::BestFit, false})),
		  "0+2:1 1:1");
}

/* -- baselines -- */

Allocation divide_tpcs(const std::vector<Task> &tasks, u32 tpcs, Baseline baseline, u32 quantum = 1)
{
	return allocate(Problem(tasks, {.tpcs = tpcs, .quantum = quantum}, Criterion::Edf), {.baseline = baseline});
}

// 90 / m by 30, by 45 and by 90: 3, 2 and 1 TPC.
TEST(PlanStgm, GivesEachTheLeastThatMeetsItsDeadline)
{
	Curve c{90, 45, 30, 23, 18, 15};
	std::vector<Task> tasks{task("a", 100, 30, Class::Compute, c), task("b", 100, 45, Class::Compute, c),
				task("c", 100, 90, Class::Memory, c)};
	EXPECT_EQ(write_layout(divide_tpcs(tasks, 6, Baseline::Stgm)), "0:3 1:2 2:1");
	EXPECT_TRUE(divide_tpcs(tasks, 6, Baseline::Stgm).fits);
	EXPECT_FALSE(divide_tpcs(tasks, 5, Baseline::Stgm).fits);
}

// Of 7 TPCs 2 for each, and one is left; a needs three. With a quantum of two, 2 of 6.
TEST(PlanEven, GivesEachTheSame)
{
	Curve c{90, 45, 30, 23, 18, 15};
	std::vector<Task> tasks{task("a", 100, 45, Class::Compute, c), task("b", 100, 45, Class::Compute, c),
				task("c", 100, 90, Class::Memory, c)};
	EXPECT_EQ(write_layout(divide_tpcs(tasks, 7, Baseline::Even)), "0:2 1:2 2:2");
	EXPECT_TRUE(divide_tpcs(tasks, 7, Baseline::Even).fits);
	EXPECT_EQ(write_layout(divide_tpcs(tasks, 7, Baseline::Even, 2)), "0:2 1:2 2:2");
	tasks[0].deadline_ns = 30;
	EXPECT_FALSE(divide_tpcs(tasks, 7, Baseline::Even).fits);
	EXPECT_FALSE(divide_tpcs(tasks, 2, Baseline::Even).fits);
}

// c gets no faster beyond one TPC: of 7, it takes 1, and the others 3 each. Seen failing with what c does not
// take left over, with STGM and with even for all.
TEST(PlanSmartEven, GivesNoTpcThatMakesATaskNoFaster)
{
	Curve c{90, 45, 30, 23, 18, 15};
	std::vector<Task> tasks{task("a", 100, 30, Class::Compute, c), task("b", 100, 45, Class::Compute, c),
				task("c", 100, 90, Class::Memory, {50})};
	EXPECT_EQ(write_layout(divide_tpcs(tasks, 7, Baseline::SmartEven)), "0:3 1:3 2:1");
	EXPECT_TRUE(divide_tpcs(tasks, 7, Baseline::SmartEven).fits);
	EXPECT_FALSE(divide_tpcs(tasks, 7, Baseline::Even).fits);
}

/* -- spare TPCs -- */

// a has no slack on one TPC, b a factor of 2. Of the two that are left, a gets the first (50 of 100: a factor of 2, as b,
// and a comes first) and the second (33: 3). Seen failing with the first partition instead of the tightest.
TEST(PlanSpare, GoesToTheLeastSlack)
{
	std::vector<Task> tasks{task("b", 100, 100, Class::Memory, {50, 25, 17}),
				task("a", 100, 100, Class::Compute, {100, 50, 33, 25})};
	Problem problem(tasks, {.tpcs = 4}, Criterion::Edf);
	Allocation a = allocate(problem, {Order::Sms, false});
	ASSERT_EQ(write_layout(a), "0:1 1:1");
	EXPECT_DOUBLE_EQ(problem.slack(a.partitions[0].tasks, 1) + problem.slack(a.partitions[1].tasks, 1), 1);
	assign_spare(problem, a.partitions);
	EXPECT_EQ(write_layout(a), "0:1 1:3");
	Problem three(tasks, {.tpcs = 3}, Criterion::Edf);
	Allocation less = allocate(three, {Order::Sms, false});
	assign_spare(three, less.partitions);
	EXPECT_EQ(write_layout(less), "0:1 1:2");
}

// Known with 1 and 4 TPCs: one more gains nothing, three more do. With more it gets no faster, so the rest stays free. Seen failing
// with one step at a time.
TEST(PlanSpare, GoesAsFarAsItGains)
{
	std::vector<Task> tasks{task("a", 100, 100, Class::Compute, {90, 90, 90, 30})};
	Problem problem(tasks, {.tpcs = 8}, Criterion::Edf), few(tasks, {.tpcs = 3}, Criterion::Edf);
	std::vector<Partition> partitions{{{0}, 1}};
	assign_spare(problem, partitions);
	EXPECT_EQ(partitions[0].tpcs, 4u);
	partitions[0].tpcs = 1;
	assign_spare(few, partitions);
	EXPECT_EQ(partitions[0].tpcs, 1u);
	EXPECT_NEAR(problem.slack(partitions[0].tasks, 1), 0.111, 1e-9); // 100 / 90, in thousandths
	EXPECT_NEAR(problem.slack(partitions[0].tasks, 4), 2.333, 1e-9);
}

/* -- later partners -- */

// e and f fit neither with a nor with b on two TPCs (59 + 50 and 55 + 50 by 100); a and b need three (20 + 20 by 50), where
// both fit. e is first in the list, and takes them; they would take f, the last. Seen failing with a partition that is given
// up once it has no partner.
TEST(PlanReadings, PartitionWithoutAPartnerTakesALaterOne)
{
	std::vector<Task> tasks{task("e", 100, 100, Class::Compute, {60, 59, 10}),
				task("a", 100, 50, Class::Memory, {100, 50, 20}),
				task("b", 100, 50, Class::Memory, {100, 50, 20}), make_flat_task("f", 55)};
	Problem problem(tasks, {.tpcs = 4}, Criterion::Edf);
	EXPECT_EQ(write_layout(allocate(problem, {.order = Order::Sms, .ties = Ties::Last})), "0+1+2:3 3:1");
}

/* -- the plain form -- */

struct Plain {
	const Problem &problem;
	Heuristic how;
	std::vector<Partition> list{};

	u32 smallest(const std::vector<u32> &tasks, u32 from, u32 to) const
	{
		for (u32 m = from; m <= to; m++)
			if (problem.fits(tasks, m))
				return m;
		return 0;
	}
	static std::vector<u32> join(const Partition &a, const Partition &b)
	{
		std::vector<u32> all = a.tasks;
		all.insert(all.end(), b.tasks.begin(), b.tasks.end());
		std::sort(all.begin(), all.end());
		return all;
	}
	u32 merged(const Partition &a, const Partition &b) const
	{
		return smallest(join(a, b), std::max(a.tpcs, b.tpcs),
				std::min(a.tpcs + b.tpcs - 1, problem.sizes().tpcs));
	}
	double load(const Partition &p) const { return problem.load(p.tasks, p.tpcs); }
	bool is_before(const Partition &a, const Partition &b) const
	{
		return how.start == Start::Largest ? load(a) > load(b) : load(a) < load(b);
	}

	// The partner of the first, or the size of the list.
	size_t find_partner(size_t first) const
	{
		size_t best = list.size();
		u32 least = ~0U;
		double most = -1;
		for (size_t i = 0; i < list.size(); i++) {
			u32 m = i == first ? 0 : merged(list[first], list[i]);
			if (!m)
				continue;
			std::vector<u32> all = join(list[first], list[i]);
			double u = how.order == Order::BestFit
					   ? problem.load(all, std::max(list[first].tpcs, list[i].tpcs))
					   : problem.load(all, m);
			bool better = how.order == Order::BestFit ? u > most
				      : m != least                ? m < least
				      : how.ties == Ties::Last    ? true
				      : how.ties == Ties::Fullest ? u > most
								  : false;
			if (better) {
				best = i;
				least = m;
				most = u;
			}
		}
		return best;
	}

	bool merge()
	{
		for (size_t first = 0; first < list.size(); first++) {
			size_t second = find_partner(first);
			if (second == list.size())
				continue;
			Partition p{join(list[first], list[second]), merged(list[first], list[second])};
			list.erase(list.begin() + static_cast<long>(std::max(first, second)));
			list.erase(list.begin() + static_cast<long>(std::min(first, second)));
			auto at = std::upper_bound(list.begin(), list.end(), p,
						   [this](const Partition &a, const Partition &b) {
				return is_before(a, b);
			});
			list.insert(at, p);
			return true;
		}
		return false;
	}

	Allocation run()
	{
		auto total = [this] {
			return std::accumulate(list.begin(), list.end(), 0U,
					       [](u32 sum, const Partition &p) { return sum + p.tpcs; });
		};
		for (u32 i = 0; i < problem.tasks().size(); i++)
			list.push_back({{i}, smallest({i}, 1, problem.sizes().tpcs)});
		std::stable_sort(list.begin(), list.end(),
				 [this](const Partition &a, const Partition &b) { return is_before(a, b); });
		while (total() > problem.sizes().tpcs && merge())
			;
		return {.fits = total() <= problem.sizes().tpcs, .partitions = list, .impossible{}};
	}
};

// 40 random sets of the thesis' generator on 12 TPCs, by every order, end and tie: the same division. Seen failing with failed
// merges that a merged partition inherits, with BF in ascending order, and with ties to the fullest partner.
TEST(PlanReadings, AgreeWithThePlainForm)
{
	u32 fits = 0, fails = 0;
	for (u32 seed = 0; seed < 40; seed++) {
		std::mt19937_64 random(seed);
		std::vector<Task> tasks = tool::plan::generate(
			random, {.tasks = 14 + seed % 6, .utilization = 5.0 + seed % 5, .tpcs = 12});
		Problem problem(tasks, {.tpcs = 12}, Criterion::Edf);
		for (Order order : {Order::Sms, Order::BestFit})
			for (Start start : {Start::Largest, Start::Smallest})
				for (Ties ties : {Ties::First, Ties::Last, Ties::Fullest}) {
					Heuristic how{.order = order, .start = start, .ties = ties};
					Allocation a = allocate(problem, how), plain = Plain{problem, how}.run();
					if (a.too_much || !a.impossible.empty())
						continue;
					EXPECT_EQ(write_layout(a), write_layout(plain)) << seed << how.name();
					(a.fits ? fits : fails)++;
				}
	}
	EXPECT_GT(fits, 100u);
	EXPECT_GT(fails, 30u);
}

} // namespace
