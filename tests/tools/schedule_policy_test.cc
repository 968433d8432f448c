// SPDX-License-Identifier: GPL-2.0
// Policies against schedules worked out by hand, and against a second implementation that looks at every task at each
// unit of time. Times are in ms in the tables; no expected value was taken from the program.
#include "lib/schedule/simulation.hpp"

#include <algorithm>
#include <ctime>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <random>

namespace {

using namespace tool::schedule;

constexpr u64 MS = 1000000;

// "A0-2 B2-4": who runs from when to when, in units of time.
std::string list_segments(const SimulatedRun &run, const std::vector<Task> &tasks, u64 unit = MS)
{
	std::string text;

	for (const Segment &s : run.segments)
		text += fmt::format("{}{}{}-{}", text.empty() ? "" : " ", tasks[s.task].name, s.from / unit,
				    s.to / unit);
	return text;
}

std::string simulate_text(Policy policy, const std::vector<Task> &tasks, const std::vector<Load> &loads, u64 end,
			  u64 quantum = 1)
{
	return list_segments(simulate_policy(policy, tasks, loads, quantum * MS, end * MS), tasks);
}

Load repeat_job(u64 length, u64 period)
{
	return {.period_ns = period * MS, .length_ns = length * MS};
}

/* -- fixed priority and EDF -- */

TEST(SchedulePolicy, FixedPriorityPreemptsTheLessUrgent)
{
	std::vector<Task> tasks = {
		{.name = "A", .priority = 0}, {.name = "B", .priority = 1}, {.name = "C", .priority = 2}};

	EXPECT_EQ(simulate_text(Policy::FixedPriority, tasks, {repeat_job(1, 4), repeat_job(2, 6), repeat_job(3, 12)},
				12),
		  "A0-1 B1-3 C3-4 A4-5 C5-6 B6-8 A8-9 C9-10");
}

// 2/5 + 4/7 = 0.97: by rate-monotonic priorities B's first job ends at 8, a unit after its deadline; by EDF none is late.
// At 30 both have the deadline 35, and B arrived earlier.
TEST(SchedulePolicy, EdfMeetsDeadlinesThatPrioritiesMiss)
{
	std::vector<Task> tasks = {{.name = "A", .priority = 0, .deadline_ns = 5 * MS},
				   {.name = "B", .priority = 1, .deadline_ns = 7 * MS}};
	std::vector<Load> loads = {repeat_job(2, 5), repeat_job(4, 7)};

	EXPECT_EQ(simulate_text(Policy::Edf, tasks, loads, 35),
		  "A0-2 B2-6 A6-8 B8-12 A12-14 B14-15 A15-17 B17-20 A20-22 B22-26 A26-28 B28-32 A32-34");
	SimulatedRun fixed = simulate_policy(Policy::FixedPriority, tasks, loads, MS, 8 * MS);
	EXPECT_EQ(fixed.finished[2], (FinishedJob{1, 0, 8 * MS}));
	EXPECT_EQ(fixed.tasks[1].missed, 1u);
	EXPECT_EQ(simulate_policy(Policy::Edf, tasks, loads, MS, 35 * MS).tasks[1].missed, 0u);
}

TEST(SchedulePolicy, BestEffortTasksRunWhenNoRealTimeTaskDoes)
{
	std::vector<Task> tasks = {{.name = "x"}, {.name = "U", .priority = 3}, {.name = "y"}};

	EXPECT_EQ(simulate_text(Policy::FixedPriority, tasks, {{.endless = true}, repeat_job(2, 5), {.endless = true}},
				12, 2),
		  "U0-2 x2-4 y4-5 U5-7 y7-8 x8-10 U10-12");
}

/* -- servers -- */

// A: 2 every 5. B: a job of 4 at 1 and one of 1 at 9, budget 2 in a period of 6.
// Soft: B's deadline is 7, at 4 the budget is used up (event C) and the deadline becomes 13, so that B goes on while A has
// nothing to do; at 5 A's deadline 10 is earlier. At 9 budget 2 until 19 is within the bandwidth, and is kept.
// Hard: B waits until 7, and again until 13.
TEST(SchedulePolicy, AServerThatIsUsedUpGetsALaterDeadlineOrWaits)
{
	std::vector<Task> tasks = {{.name = "A", .deadline_ns = 5 * MS},
				   {.name = "B", .period_ns = 6 * MS, .budget_ns = 2 * MS}};

	for (Server server : {Server::Soft, Server::Hard}) {
		tasks[1].server = server;
		Scheduler s(Policy::Edf, tasks, MS);
		s.add_job(0, 0);
		EXPECT_EQ(s.choose(0).task, 0);
		s.add_job(1, 1 * MS);
		EXPECT_EQ(s.choose(1 * MS).task, 0);
		EXPECT_EQ(s.deadline_of(1), 7 * MS);
		s.end_job(0, 2 * MS);
		Decision d = s.choose(2 * MS);
		EXPECT_EQ(d.task, 1);
		EXPECT_EQ(d.wake, 4 * MS);
		d = s.choose(4 * MS);
		EXPECT_EQ(s.exhaustions(1), 1u);
		EXPECT_EQ(d.task, server == Server::Soft ? 1 : NO_TASK);
		EXPECT_EQ(d.wake, server == Server::Soft ? 6 * MS : 7 * MS);
		EXPECT_EQ(s.deadline_of(1), server == Server::Soft ? 13 * MS : 7 * MS);
		s.add_job(0, 5 * MS);
		EXPECT_EQ(s.choose(5 * MS).task, 0);
		s.end_job(0, 7 * MS);
		EXPECT_EQ(s.choose(7 * MS).task, 1);
		u64 end = server == Server::Soft ? 8 * MS : 9 * MS;
		s.end_job(1, end);
		EXPECT_EQ(s.choose(end).task, NO_TASK);
		s.add_job(1, 9 * MS);
		d = s.choose(9 * MS);
		EXPECT_EQ(d.task, server == Server::Soft ? 1 : NO_TASK);
		EXPECT_EQ(d.wake, server == Server::Soft ? 11 * MS : 13 * MS);
		EXPECT_EQ(s.deadline_of(1), server == Server::Soft ? 19 * MS : 13 * MS);
	}
}

// B asks for all of the GPU, and has 3 of 10. A needs 7 of 10 and is never late.
TEST(SchedulePolicy, AServerKeepsOthersFromATaskThatNeverEnds)
{
	std::vector<Task> tasks = {{.name = "A", .deadline_ns = 10 * MS},
				   {.name = "B", .period_ns = 10 * MS, .budget_ns = 3 * MS}};
	std::vector<Load> loads = {repeat_job(7, 10), {.endless = true}};

	for (Server server : {Server::Soft, Server::Hard}) {
		tasks[1].server = server;
		SimulatedRun run = simulate_policy(Policy::Edf, tasks, loads, MS, 1000 * MS);
		EXPECT_EQ(run.tasks[0].jobs, 100u);
		EXPECT_EQ(run.tasks[0].missed, 0u);
		EXPECT_EQ(run.tasks[1].ran_ns, 300 * MS);
	}
	tasks[1] = {.name = "B", .deadline_ns = 10 * MS}; // without a server
	EXPECT_EQ(simulate_policy(Policy::Edf, tasks, loads, MS, 1000 * MS).tasks[0].missed, 99u);
}

// What a live task ran beyond its budget is taken from the next one.
TEST(SchedulePolicy, AServerThatRanTooLongGetsLess)
{
	Scheduler s(Policy::Edf, {{.name = "B", .period_ns = 10 * MS, .budget_ns = 3 * MS, .server = Server::Hard}},
		    MS);

	s.add_job(0, 0);
	EXPECT_EQ(s.choose(0).wake, 3 * MS);
	EXPECT_EQ(s.choose(5 * MS).task, NO_TASK); // 2 too many
	Decision d = s.choose(10 * MS);
	EXPECT_EQ(d.task, 0);
	EXPECT_EQ(d.wake, 11 * MS);
}

/* -- shares -- */

TEST(SchedulePolicy, TenantsGetTimeByWeightAndNotByTheirNumberOfTasks)
{
	std::vector<Task> tasks = {{.name = "X", .weight = 3}, {.name = "Y", .weight = 1}};
	std::vector<Load> endless(5, {.endless = true});

	EXPECT_EQ(simulate_text(Policy::Share, tasks, {endless[0], endless[1]}, 10), "X0-1 Y1-2 X2-5 Y5-6 X6-9 Y9-10");
	tasks = {{.name = "a", .tenant = "many"},
		 {.name = "b", .tenant = "many"},
		 {.name = "c", .tenant = "many"},
		 {.name = "d", .tenant = "many"},
		 {.name = "e"}};
	SimulatedRun run = simulate_policy(Policy::Share, tasks, endless, MS, 80 * MS);
	EXPECT_EQ(list_segments(run, tasks).substr(0, 35), "a0-1 e1-2 b2-3 e3-4 c4-5 e5-6 d6-7 ");
	EXPECT_EQ(run.tasks[4].ran_ns, 40 * MS);
	EXPECT_EQ(run.tasks[2].ran_ns, 10 * MS);
}

// Y comes at 6. It does not get the 6 that it did not ask for; and the GPU is never idle before.
TEST(SchedulePolicy, ATenantThatSleptGetsNothingInArrears)
{
	std::vector<Task> tasks = {{.name = "X"}, {.name = "Y"}};

	EXPECT_EQ(simulate_text(Policy::Share, tasks, {{.endless = true}, {.first_ns = 6 * MS, .endless = true}}, 10),
		  "X0-7 Y7-8 X8-9 Y9-10");
}

// The events A, B and C of Capodieci et al., section 3: jobs of 3 arrive at 0 and 10 and end at 3 and 13; the budget of 2 is used
// up at 2 and 12. Seen failing with jobs that are planned counted as arrived.
TEST(SchedulePolicy, EventsAreCounted)
{
	std::vector<Task> tasks = {{.name = "S", .period_ns = 5 * MS, .budget_ns = 2 * MS}};
	SimulatedRun run =
		simulate_policy(Policy::Edf, tasks, {{.period_ns = 10 * MS, .length_ns = 3 * MS}}, MS, 20 * MS);

	EXPECT_EQ(run.tasks[0].arrived, 2u);
	EXPECT_EQ(run.tasks[0].jobs, 2u);
	EXPECT_EQ(run.tasks[0].exhausted, 2u);
}

/* -- time slices -- */

// A B C in turn, 2 each. B has nothing to do but for a job of 3 at 3: its slots are skipped.
TEST(ScheduleSlices, IdleSlotsAreSkippedAndAResponseCountsFromTheArrival)
{
	std::vector<Task> tasks = {{.name = "A"}, {.name = "B", .deadline_ns = 5 * MS}, {.name = "C"}};
	std::vector<Slot> slots = {{0, 2 * MS}, {1, 2 * MS}, {2, 2 * MS}};
	SimulatedRun run = simulate_slices(
		slots, tasks, {{.endless = true}, {.first_ns = 3 * MS, .length_ns = 3 * MS}, {.endless = true}},
		14 * MS);

	EXPECT_EQ(list_segments(run, tasks), "A0-2 C2-4 A4-6 B6-8 C8-10 A10-12 B12-13 C13-14");
	EXPECT_EQ(run.finished, (std::vector<FinishedJob>{{1, 3 * MS, 13 * MS}}));
	EXPECT_EQ(run.tasks[1].missed, 1u);
	EXPECT_EQ(run.tasks[1].worst_ns, 10 * MS);
	EXPECT_EQ(run.skipped, 1u);
}

// A's next job of 4 arrives when the last one ends. By slices of 2 in turn with B, the first job has the slices at 0 and 4, the
// next ones, which arrive at 6 and 14, those at 8 and 12, 16 and 20. By a policy in which A comes first, each takes 4. Seen
// failing with a period.
TEST(ScheduleSlices, AJobOfAClosedLoopArrivesWhenTheLastOneEnds)
{
	std::vector<Task> tasks = {{.name = "A", .priority = 0}, {.name = "B"}};
	std::vector<Load> loads = {{.length_ns = 4 * MS, .count = 3, .closed = true}, {.endless = true}};
	SimulatedRun slices = simulate_slices({{0, 2 * MS}, {1, 2 * MS}}, tasks, loads, 30 * MS);
	SimulatedRun policy = simulate_policy(Policy::FixedPriority, tasks, loads, MS, 30 * MS);

	EXPECT_EQ(slices.finished,
		  (std::vector<FinishedJob>{{0, 0, 6 * MS}, {0, 6 * MS, 14 * MS}, {0, 14 * MS, 22 * MS}}));
	EXPECT_EQ(policy.finished,
		  (std::vector<FinishedJob>{{0, 0, 4 * MS}, {0, 4 * MS, 8 * MS}, {0, 8 * MS, 12 * MS}}));
}

TEST(ScheduleSlices, ASwitchTakesTimeFromNobodysSlice)
{
	std::vector<Task> tasks = {{.name = "A"}, {.name = "B"}};
	SimulatedRun run = simulate_slices({{0, 2 * MS}, {1, 2 * MS}}, tasks, {{.endless = true}, {.endless = true}},
					   9 * MS, {.switch_ns = MS});

	EXPECT_EQ(list_segments(run, tasks), "A0-2 B3-5 A6-8");
	EXPECT_EQ(run.switches, 3u);
}

/* -- the second implementation -- */

// Looks at every task at each unit of time.
class Brute {
public:
	Brute(Policy policy, const std::vector<Task> &tasks, const std::vector<Load> &loads, u64 quantum)
		: policy_(policy), tasks_(tasks), loads_(loads), quantum_(quantum), states_(tasks.size())
	{
		for (const Task &t : tasks) {
			size_t tenant = 0;
			while (tenant < names_.size() && (t.tenant.empty() || names_[tenant] != t.tenant))
				tenant++;
			if (tenant == names_.size()) {
				names_.push_back(t.tenant);
				received_.push_back(0);
			}
			states_[size_t(&t - tasks.data())].tenant = tenant;
		}
	}

	std::vector<Segment> run_until(u64 end)
	{
		std::vector<Segment> out;

		for (u64 now = 0; now < end; now++) {
			bring_jobs(now);
			int task = choose_task();
			if (task < 0)
				continue;
			size_t i = size_t(task);
			if (!out.empty() && out.back().task == i && out.back().to == now)
				out.back().to++;
			else
				out.push_back({i, now, now + 1});
			run_unit(i);
		}
		return out;
	}

private:
	struct State {
		std::vector<std::pair<u64, u64>> jobs; // arrival, units left
		size_t tenant = 0;
		u64 deadline = 0, budget = 0, queued = 0;
		bool waits = false;
	};

	bool urgent(size_t i) const
	{
		return policy_ == Policy::FixedPriority ? tasks_[i].priority.has_value()
		       : policy_ == Policy::Edf         ? tasks_[i].deadline_ns || tasks_[i].budget_ns
							: false;
	}
	bool served(size_t i) const { return policy_ == Policy::Edf && tasks_[i].budget_ns; }

	void use_up(State &s, const Task &t)
	{
		if (t.server == Server::Hard) {
			s.waits = true;
		} else {
			s.budget = t.budget_ns;
			s.deadline += t.period_ns;
		}
	}

	void bring_jobs(u64 now)
	{
		for (size_t i = 0; i < tasks_.size(); i++) {
			const Load &l = loads_[i];
			State &s = states_[i];
			if (s.waits && now >= s.deadline) {
				s.waits = false;
				s.budget = tasks_[i].budget_ns;
				s.deadline += tasks_[i].period_ns;
			}
			u64 n = l.period_ns && now >= l.first_ns ? (now - l.first_ns) / l.period_ns : 0;
			bool due =
				now >= l.first_ns && (l.period_ns ? (now - l.first_ns) % l.period_ns == 0 && n < l.count
								  : now == l.first_ns);
			if (!due)
				continue;
			bool idle = s.jobs.empty();
			s.jobs.emplace_back(now, l.endless ? ~0ULL : l.length_ns);
			if (!idle)
				continue;
			if (served(i) && !s.waits &&
			    (s.deadline <= now || double(s.budget) / double(s.deadline - now) >=
							  double(tasks_[i].budget_ns) / double(tasks_[i].period_ns))) {
				s.budget = tasks_[i].budget_ns;
				s.deadline = now + tasks_[i].period_ns;
			}
			if (!urgent(i))
				wake_tenant(i);
		}
	}

	void wake_tenant(size_t i)
	{
		double least = -1;
		bool only = true;

		for (size_t k = 0; k < tasks_.size(); k++)
			if (k != i && !urgent(k) && !states_[k].jobs.empty()) {
				if (states_[k].tenant == states_[i].tenant)
					only = false;
				double r = received_[states_[k].tenant];
				least = least < 0 ? r : std::min(least, r);
			}
		if (only) {
			floor_ = std::max(floor_, least < 0 ? most_ : least);
			received_[states_[i].tenant] = std::max(received_[states_[i].tenant], floor_);
		}
		states_[i].queued = ++queued_;
	}

	int choose_task()
	{
		int best = -1;
		auto urgency = [&](size_t i) {
			return std::tuple(policy_ == Policy::FixedPriority ? u64(*tasks_[i].priority)
					  : served(i)                      ? states_[i].deadline
						      : states_[i].jobs[0].first + tasks_[i].deadline_ns,
					  states_[i].jobs[0].first, i);
		};

		for (size_t i = 0; i < tasks_.size(); i++)
			if (urgent(i) && !states_[i].jobs.empty() && !states_[i].waits &&
			    (best < 0 || urgency(i) < urgency(size_t(best))))
				best = int(i);
		return best >= 0 ? best : choose_best_effort();
	}

	int choose_best_effort()
	{
		if (best_ >= 0 && states_[size_t(best_)].jobs.empty())
			best_ = -1;
		if (best_ >= 0 && used_ < quantum_)
			return best_;
		if (best_ >= 0)
			states_[size_t(best_)].queued = ++queued_;
		best_ = -1;
		used_ = 0;
		auto order = [&](size_t i) {
			return std::tuple(received_[states_[i].tenant], states_[i].tenant, states_[i].queued);
		};
		for (size_t i = 0; i < tasks_.size(); i++)
			if (!urgent(i) && !states_[i].jobs.empty() && (best_ < 0 || order(i) < order(size_t(best_))))
				best_ = int(i);
		return best_;
	}

	void run_unit(size_t i)
	{
		State &s = states_[i];

		if (!urgent(i)) {
			received_[s.tenant] += 1.0 / tasks_[i].weight;
			most_ = std::max(most_, received_[s.tenant]);
			used_++;
		} else if (served(i) && --s.budget == 0) {
			use_up(s, tasks_[i]);
		}
		if (--s.jobs[0].second == 0)
			s.jobs.erase(s.jobs.begin());
		if (s.jobs.empty() && best_ == int(i))
			best_ = -1;
	}

	Policy policy_;
	const std::vector<Task> &tasks_;
	const std::vector<Load> &loads_;
	u64 quantum_;
	std::vector<State> states_;
	std::vector<std::string> names_;
	std::vector<double> received_;
	double floor_ = 0, most_ = 0;
	u64 queued_ = 0, used_ = 0;
	int best_ = -1;
};

class RandomSets : public testing::TestWithParam<Policy> {};

TEST_P(RandomSets, BothImplementationsRunTheSameTasks)
{
	std::mt19937 random(static_cast<unsigned>(GetParam()) + 1);
	auto number = [&](u64 least, u64 greatest) { return least + random() % (greatest - least + 1); };
	size_t preemptions = 0, exhausted = 0;

	for (int set = 0; set < 3000; set++) {
		std::vector<Task> tasks(number(1, 6));
		std::vector<Load> loads(tasks.size());
		for (size_t i = 0; i < tasks.size(); i++) {
			u64 period = number(3, 30), kind = number(0, 3);
			bool urgent = number(0, 2) > 0;
			tasks[i].name = std::string(1, char('A' + i));
			// tenants of one name have one weight; powers of two, so that both count exactly
			u64 tenant = number(0, 3);
			tasks[i].tenant = tenant ? std::string(1, char('p' + tenant)) : "";
			tasks[i].weight = tenant ? 1u << tenant : 1u << number(0, 3);
			if (urgent && GetParam() == Policy::FixedPriority)
				tasks[i].priority = u32(number(0, 3));
			else if (urgent && kind < 2)
				tasks[i].deadline_ns = number(2, 30);
			else if (urgent) {
				tasks[i].period_ns = number(4, 20);
				tasks[i].budget_ns = number(1, tasks[i].period_ns);
				tasks[i].server = kind == 2 ? Server::Soft : Server::Hard;
			}
			loads[i] = {.first_ns = number(0, 20), .period_ns = period, .length_ns = number(1, 8)};
			if (number(0, 4) == 0)
				loads[i] = {.first_ns = number(0, 20), .endless = true};
			if (number(0, 3) == 0)
				loads[i].count = number(1, 4);
		}
		u64 quantum = number(1, 6);
		SimulatedRun run = simulate_policy(GetParam(), tasks, loads, quantum, 200);
		std::vector<Segment> expected = Brute(GetParam(), tasks, loads, quantum).run_until(200);
		SimulatedRun second{.segments = expected, .finished = {}, .tasks = {}};
		ASSERT_EQ(list_segments(run, tasks, 1), list_segments(second, tasks, 1)) << "set " << set;
		preemptions += run.segments.size();
		exhausted += expected.size() > 1;
	}
	EXPECT_GT(preemptions, 20000u);
	EXPECT_GT(exhausted, 2000u);
}

INSTANTIATE_TEST_SUITE_P(Schedule, RandomSets, testing::Values(Policy::FixedPriority, Policy::Edf, Policy::Share));

/* -- cost -- */

u64 read_thread_clock()
{
	timespec t{};

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return u64(t.tv_sec) * 1000000000 + u64(t.tv_nsec);
}

// A decision among n tasks takes no more than a few times as long for 10,000 as for 100. Comparisons of a set cannot be
// counted from outside, so the processor's times of this thread are compared, the least of some, with a wide margin.
TEST(SchedulePolicy, ADecisionDoesNotLookAtEveryTask)
{
	auto decide = [](size_t n) {
		std::vector<Task> tasks(n);
		for (size_t i = 0; i < n; i++)
			tasks[i] = {.name = std::to_string(i), .deadline_ns = 1000 + 7919 * i % n};
		Scheduler s(Policy::Edf, tasks, MS);
		for (size_t i = 0; i < n; i++)
			s.add_job(i, 0);
		u64 start = read_thread_clock();
		for (u64 k = 0; k < 5000; k++) {
			size_t task = size_t(s.choose(k).task);
			s.end_job(task, k);
			s.add_job(task, k);
		}
		return double(read_thread_clock() - start);
	};
	auto least = [&](size_t n) { return std::min({decide(n), decide(n), decide(n)}); };

	double few = least(100), many = least(10000);
	EXPECT_LT(many, 30 * few); // 100 if each were looked at
}

} // namespace
