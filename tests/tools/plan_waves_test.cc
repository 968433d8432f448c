// SPDX-License-Identifier: GPL-2.0
// Plans made of measured times, played through with the true times: kernels whose blocks come in waves, measured with some
// sizes, through gpulens fit's JSON and plan's file of tasks. The true times are those of a simulated dispatcher of blocks.
#include "gpulens/plan/fit.hpp"
#include "gpulens/plan/plan.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <queue>
#include <random>

namespace {

using tool::plan::Class;
using tool::plan::Criterion;
using tool::plan::GpcMap;
using tool::plan::Model;
using tool::plan::Partition;
using tool::plan::Plan;

constexpr u32 TPCS = 12;
constexpr u64 MS = 1000000; // ns

struct Kernel {
	u32 per_sm; // blocks on an SM at a time
	std::vector<u64> block_ns;
};

struct TrueTask {
	std::vector<u64> alone_ns;       // by TPCs - 1
	double conflict = 1, beside = 1; // true factors
	u64 deadline_ns = 0, period_ns = 0;

	u64 time_ns(u32 tpcs, bool in_conflict, bool beside_memory) const
	{
		double factor = (in_conflict ? conflict : 1) * (beside_memory ? beside : 1);
		return static_cast<u64>(double(alone_ns[tpcs - 1]) * factor);
	}
};

// Each block, in their order, goes to the place that is free first; a TPC has two SMs.
u64 run_kernel(const Kernel &k, u32 tpcs)
{
	size_t places = size_t{tpcs} * 2 * k.per_sm;

	if (std::equal(k.block_ns.begin() + 1, k.block_ns.end(), k.block_ns.begin()))
		return (k.block_ns.size() + places - 1) / places * k.block_ns[0];
	std::priority_queue<u64, std::vector<u64>, std::greater<>> free;
	u64 end = 0;

	for (size_t i = 0; i < k.block_ns.size(); i++) {
		u64 start = 0;
		if (i >= places) {
			start = free.top();
			free.pop();
		}
		free.push(start + k.block_ns[i]);
		end = std::max(end, start + k.block_ns[i]);
	}
	return end;
}

Kernel draw_kernel(std::mt19937 &random)
{
	Kernel k{1 + static_cast<u32>(random() % 2), std::vector<u64>(1 + random() % 60)};
	u64 time = (1 + random() % 50) * 10000;
	bool uneven = random() % 2;

	for (u64 &ns : k.block_ns)
		ns = uneven ? time + random() % 50 * 10000 : time;
	return k;
}

// A job of one to four kernels. Its deadline is a little after its time with some size.
TrueTask draw_task(std::mt19937 &random, u32 &kernels)
{
	const u64 periods[] = {2, 4, 5, 8, 10, 20, 40};
	TrueTask t{std::vector<u64>(TPCS)};
	std::vector<Kernel> job;

	for (u32 n = 1 + random() % 4; n; n--)
		job.push_back(draw_kernel(random));
	kernels += static_cast<u32>(job.size());
	for (u32 m = 1; m <= TPCS; m++)
		for (const Kernel &k : job)
			t.alone_ns[m - 1] += run_kernel(k, m);
	t.conflict = 1 + double(random() % 10) / 10;
	t.beside = 1 + double(random() % 8) / 10;
	u64 wanted = t.alone_ns[random() % TPCS] * (10 + random() % 30) / 10;
	for (u64 period : periods)
		if (!t.period_ns && period * MS >= wanted)
			t.period_ns = period * MS;
	t.period_ns = t.period_ns ? t.period_ns : 40 * MS;
	t.deadline_ns = std::min(wanted, t.period_ns);
	return t;
}

std::string us_text(u64 ns)
{
	return fmt::format("{}.{:03}", ns / 1000, ns % 1000);
}

// Measured with three to six sizes, in conflict with at least two of these, beside a memory task with all.
std::string measure_times(std::mt19937 &random, const std::vector<TrueTask> &tasks)
{
	std::string csv = "task,tpcs,time_us,conflict,beside\n";

	for (size_t i = 0; i < tasks.size(); i++) {
		std::vector<u32> sizes;
		for (u32 n = 3 + random() % 4; n; n--)
			sizes.push_back(1 + random() % TPCS);
		if (i)
			sizes.push_back(1);
		sizes.push_back(TPCS);
		for (size_t k = 0; k < sizes.size(); k++) {
			csv += fmt::format("t{},{},{},0,none\n", i, sizes[k],
					   us_text(tasks[i].time_ns(sizes[k], false, false)));
			csv += fmt::format("t{},{},{},0,memory\n", i, sizes[k],
					   us_text(tasks[i].time_ns(sizes[k], false, true)));
			if (k % 2 || k + 1 == sizes.size())
				csv += fmt::format("t{},{},{},1,none\n", i, sizes[k],
						   us_text(tasks[i].time_ns(sizes[k], true, false)));
		}
	}
	return csv;
}

Plan plan_tasks(const std::string &csv, const std::vector<TrueTask> &tasks, Model model, bool keep_spare)
{
	nlohmann::ordered_json file, fitted = fit_json(tool::plan::fit_samples(csv, "t.csv"), model);

	for (size_t i = 0; i < tasks.size(); i++) {
		nlohmann::ordered_json task = fitted["tasks"][i]["task"];
		task["period_us"] = double(tasks[i].period_ns) / 1000;
		task["deadline_us"] = double(tasks[i].deadline_ns) / 1000;
		file["tasks"].push_back(task);
	}
	return tool::plan::make_plan(file.dump(), "t.json", GpcMap{.tpcs = TPCS, .gpcs{}},
				     {.test = Criterion::Edf, .keep_spare = keep_spare});
}

// Plays a hyperperiod of a partition through by preemptive EDF, all tasks released together, which is the worst case. Returns
// whether a deadline is missed.
bool misses_deadline(const std::vector<TrueTask> &tasks, const std::vector<u32> &members, const std::vector<u64> &time)
{
	struct Live {
		u64 deadline, left;
	};
	std::vector<Live> live;
	std::vector<u64> next(members.size());

	for (u64 now = 0; now < 40 * MS;) {
		for (size_t i = 0; i < members.size(); i++)
			if (next[i] <= now) {
				live.push_back({next[i] + tasks[members[i]].deadline_ns, time[i]});
				next[i] += tasks[members[i]].period_ns;
			}
		u64 coming = *std::min_element(next.begin(), next.end());
		if (live.empty()) {
			now = coming;
			continue;
		}
		auto run = std::min_element(live.begin(), live.end(),
					    [](const Live &a, const Live &b) { return a.deadline < b.deadline; });
		u64 ran = std::min(run->left, coming - now);
		now += ran;
		run->left -= ran;
		if (now > run->deadline || (run->left && now == run->deadline))
			return true;
		if (!run->left)
			live.erase(run);
	}
	return false;
}

// The number of partitions with a missed deadline.
u32 count_missing(const Plan &plan, const std::vector<TrueTask> &tasks)
{
	auto kind = [&](u32 i) { return plan.file.tasks[i].kind; };
	u32 memory = 0, missing = 0;

	for (u32 i = 0; i < tasks.size(); i++)
		memory += kind(i) == Class::Memory;
	for (const Partition &p : plan.allocation().partitions) {
		u32 inside = 0;
		for (u32 i : p.tasks)
			inside += kind(i) == Class::Memory;
		std::vector<u64> time;
		for (u32 i : p.tasks) {
			u32 alike = kind(i) == Class::Memory ? inside : static_cast<u32>(p.tasks.size()) - inside;
			time.push_back(tasks[i].time_ns(p.tpcs, alike > 1, inside < memory));
		}
		missing += misses_deadline(tasks, p.tasks, time);
	}
	return missing;
}

// At least 10,000 kernels in jobs of sets of three. With times no plan misses a deadline; with a and b of the same
// measurements some do, which shows that the sets are hard. Seen failing with a time between two sizes that is 10 % below
// that of the smaller one, and without the factor beside memory tasks.
TEST(PlanWaves, NoPlanOfFittedTimesMissesADeadline)
{
	std::mt19937 random(4);
	u32 kernels = 0, planned = 0, merged = 0, missing = 0, missing_curves = 0;

	while (kernels < 10000) {
		std::vector<TrueTask> tasks;
		for (u32 i = 0; i < 3; i++)
			tasks.push_back(draw_task(random, kernels));
		std::string csv = measure_times(random, tasks);
		Plan plan = plan_tasks(csv, tasks, Model::Times, planned % 2);
		if (plan.allocation().fits) {
			planned++;
			merged += plan.allocation().partitions.size() < tasks.size();
			missing += count_missing(plan, tasks);
		}
		if (kernels % 4)
			continue;
		Plan curves = plan_tasks(csv, tasks, Model::Curve, true);
		if (curves.allocation().fits)
			missing_curves += count_missing(curves, tasks);
	}
	EXPECT_EQ(missing, 0u);
	EXPECT_GT(planned, 500u);
	EXPECT_GT(merged, 100u);
	EXPECT_GT(missing_curves, 10u);
}

// 132 blocks of 1 ms, one on an SM at a time: 6, 3, 2 and 1 waves with 11, 22, 33 and 66 TPCs, and 2 with 40. Expected are
// the numbers of the case itself: a and b allow 40 TPCs, which take 2000 us.
TEST(PlanWaves, SizeBetweenMeasuredOnesIsNotPromised)
{
	const std::string csv = "task,tpcs,time_us\nk,11,6000\nk,22,3000\nk,33,2000\nk,66,1000\n";
	for (auto [model, tpcs, ns] : {std::tuple(Model::Times, 66u, 1000000u), {Model::Curve, 40u, 1650000u}}) {
		nlohmann::ordered_json task =
			fit_json(tool::plan::fit_samples(csv, "t.csv"), model)["tasks"][0]["task"];
		task["period_us"] = 1700;
		task["deadline_us"] = 1650;
		nlohmann::ordered_json file{{"tasks", {task}}};
		Plan plan =
			tool::plan::make_plan(file.dump(), "t.json", GpcMap{.tpcs = 66, .gpcs{}}, {.keep_spare = true});
		ASSERT_EQ(plan.allocation().partitions.size(), 1u);
		EXPECT_EQ(plan.allocation().partitions[0].tpcs, tpcs);
		EXPECT_EQ(plan.file.tasks[0].alone_ns[tpcs - 1], ns);
		bool noted = std::any_of(plan.notes.begin(), plan.notes.end(), [](const std::string &note) {
			return note.starts_with("task \"k\": given by a_us and b_us; blocks come in waves");
		});
		EXPECT_EQ(noted, model == Model::Curve);
	}
	Kernel k{1, std::vector<u64>(132, MS)};
	EXPECT_EQ(run_kernel(k, 40), 2 * MS);
}

} // namespace
