// SPDX-License-Identifier: GPL-2.0
// The coordinator and its back end on an emulated GPU of each kind, in this process: the core writes the registers, the
// jobs are the emulator's, and time is the GPU's own, so that every run is the same.
#include "lib/schedule/coordinator.hpp"
#include "support/core/emulated_port.hpp"

#include <gtest/gtest.h>

namespace {

using namespace tool::schedule;
using nlohmann::json;
using test::EmulatedPort;
using test::make_scenario;
using test::MS;
using test::Program;
using test::US;

constexpr u64 LEASE = 50 * MS;

// A policy on such a GPU.
struct Live {
	Live(const std::string &chip, const std::vector<Program> &p, Policy policy, const std::vector<Task> &tasks)
		: programs(p), port(chip, p), backend(port, port.per_runlist, LEASE, list_tsgs(p)),
		  coordinator(backend, policy, tasks, 20 * MS)
	{
	}

	static std::vector<std::vector<u64>> list_tsgs(const std::vector<Program> &programs)
	{
		std::vector<std::vector<u64>> list;
		list.reserve(programs.size());
		for (const Program &p : programs)
			list.push_back({p.tsg});
		return list;
	}

	void run_until(u64 end)
	{
		while (port.now() < port.start() + end) {
			u64 wake = coordinator.run_once();
			port.advance_to(std::min({wake, port.now() + 100 * US, port.start() + end}));
		}
	}

	std::vector<Program> programs;
	EmulatedPort port;
	ChannelBackend backend;
	Coordinator coordinator;
};

// How many jobs of a task took longer than this, and how many there were.
std::pair<size_t, size_t> count_late(const std::vector<FinishedJob> &jobs, size_t task, u64 deadline)
{
	size_t late = 0, all = 0;

	for (const FinishedJob &j : jobs)
		if (j.task == task) {
			all++;
			late += j.end - j.arrival > deadline;
		}
	return {late, all};
}

class ScheduleLive : public testing::TestWithParam<const char *> {};
class ScheduleVerbs : public testing::TestWithParam<const char *> {};

// A job of 2 ms each 10 ms beside endless work with slices of 8 ms: without control, it waits for the rest of a slice.
TEST_P(ScheduleLive, TheUrgentOneMeetsDeadlinesThatTimeSlicesMiss)
{
	std::vector<Program> programs = {{1, {{"length_us", 2000}, {"every_us", 10000}}}, {2, nullptr, 8000}};
	EmulatedPort alone(GetParam(), programs);
	alone.advance_to(alone.start() + 200 * MS);
	auto [late, all] = count_late(alone.finished(programs), 0, 4 * MS);
	EXPECT_GE(all, 10u);
	EXPECT_GE(late, 9u);

	Live live(GetParam(), programs, Policy::FixedPriority, {{.name = "U", .priority = 0}, {.name = "B"}});
	live.run_until(200 * MS);
	std::tie(late, all) = count_late(live.port.finished(programs), 0, 4 * MS);
	EXPECT_EQ(all, 20u);
	EXPECT_EQ(late, 0u);
	EXPECT_EQ(live.coordinator.counts(1).refused, 0u);
	// the rest is B's: 200 - 20 * 2, less switches and looks
	u64 ran = live.port.ran_ns(2);
	EXPECT_GT(ran, 140 * MS);
}

// U = 2/5 + 4/7: what is late by priorities is not by EDF (times ten).
TEST_P(ScheduleLive, EdfMeetsDeadlinesThatPrioritiesMiss)
{
	std::vector<Program> programs = {{1, {{"length_us", 19500}, {"every_us", 50000}}},
					 {2, {{"length_us", 39000}, {"every_us", 70000}}}};
	std::vector<Task> tasks = {{.name = "A", .priority = 0, .deadline_ns = 50 * MS},
				   {.name = "B", .priority = 1, .deadline_ns = 70 * MS}};

	for (Policy policy : {Policy::FixedPriority, Policy::Edf}) {
		Live live(GetParam(), programs, policy, tasks);
		live.run_until(352 * MS);
		auto jobs = live.port.finished(programs);
		size_t late = count_late(jobs, 0, 50 * MS).first + count_late(jobs, 1, 70 * MS).first;
		EXPECT_EQ(jobs.size(), 12u);
		EXPECT_EQ(late > 0, policy == Policy::FixedPriority);
	}
}

// B asks for everything and has 3 ms of 10. A is never late.
TEST_P(ScheduleLive, AServersBudgetIsKept)
{
	std::vector<Program> programs = {{1, {{"length_us", 6000}, {"every_us", 10000}}}, {2, nullptr}};
	Live live(GetParam(), programs, Policy::Edf,
		  {{.name = "A", .deadline_ns = 10 * MS},
		   {.name = "B", .period_ns = 10 * MS, .budget_ns = 3 * MS, .server = Server::Hard}});

	live.run_until(400 * MS);
	auto [late, all] = count_late(live.port.finished(programs), 0, 10 * MS);
	EXPECT_EQ(all, 40u);
	EXPECT_EQ(late, 0u);
	u64 ran = live.port.ran_ns(2);
	EXPECT_NEAR(double(ran) / 1e6, 120, 12);
}

TEST_P(ScheduleLive, SharesFollowTheWeights)
{
	std::vector<Program> programs = {{1, nullptr}, {2, nullptr}};
	Live live(GetParam(), programs, Policy::Share, {{.name = "X", .weight = 3}, {.name = "Y"}});

	live.run_until(400 * MS);
	double x = double(live.port.ran_ns(1)), y = double(live.port.ran_ns(2));
	EXPECT_NEAR(x / y, 3, 0.09); // within 3 %
	EXPECT_GT(x + y, 0.98 * 400 * MS);
}

// A program alone: nothing is written.
TEST_P(ScheduleVerbs, ALoneProgramIsLeftAlone)
{
	std::vector<Program> programs = {{1, {{"length_us", 2000}, {"every_us", 10000}}}, {2, json::object()}};
	Live live(GetParam(), programs, Policy::FixedPriority, {{.name = "U", .priority = 0}, {.name = "B"}});

	live.run_until(100 * MS);
	EXPECT_EQ(live.port.writes, std::vector<std::string>{});
	EXPECT_EQ(live.coordinator.counts(0).jobs, 10u);
}

// Each job of the live run ends within a time slice, 1.048 ms, of the simulated one.
TEST_P(ScheduleLive, TheSimulationAgreesWithinATimeSlice)
{
	std::vector<Program> programs = {{1, {{"length_us", 5000}, {"every_us", 20000}, {"first_us", 1000}}},
					 {2, {{"length_us", 9000}, {"every_us", 33000}, {"first_us", 4500}}},
					 {3, nullptr}};
	std::vector<Task> tasks = {
		{.name = "A", .deadline_ns = 20 * MS}, {.name = "B", .deadline_ns = 33 * MS}, {.name = "C"}};
	std::vector<Load> loads = {{.first_ns = MS, .period_ns = 20 * MS, .length_ns = 5 * MS},
				   {.first_ns = 4500 * US, .period_ns = 33 * MS, .length_ns = 9 * MS},
				   {.endless = true}};
	Live live(GetParam(), programs, Policy::Edf, tasks);

	live.run_until(500 * MS);
	std::vector<FinishedJob> real = live.port.finished(programs);
	std::vector<FinishedJob> simulated = simulate_policy(Policy::Edf, tasks, loads, 20 * MS, 500 * MS).finished;
	ASSERT_EQ(real.size(), simulated.size());
	EXPECT_GE(real.size(), 38u);
	for (size_t i = 0; i < real.size(); i++) {
		EXPECT_EQ(real[i].task, simulated[i].task);
		EXPECT_EQ(real[i].arrival, simulated[i].arrival);
		EXPECT_NEAR(double(real[i].end) / 1e6, double(simulated[i].end) / 1e6, 1.048) << i;
	}
}

struct Responses {
	u64 jobs = 0, worst_ns = 0, total_ns = 0;
};

Responses sum_responses(const std::vector<FinishedJob> &jobs, size_t task)
{
	Responses r;

	for (const FinishedJob &j : jobs)
		if (j.task == task) {
			r.jobs++;
			r.worst_ns = std::max(r.worst_ns, j.end - j.arrival);
			r.total_ns += j.end - j.arrival;
		}
	return r;
}

// The same for time slices of a list in which A, of a higher level, stands before each other one, and of one with each once:
// worst and mean response times, within a time slice. Seen failing with the other list submitted: A's were 13.0 and 15.6 ms,
// not 9.3 and 10.4.
TEST(ScheduleInterleaved, TheSimulationOfTimeSlicesAgrees)
{
	constexpr double SLICE_MS = 1.048;
	constexpr u64 SWITCH = 20 * US; // timing of the profiles: request, save by CILP, load
	std::vector<Program> programs = {{1, {{"length_us", 5000}, {"every_us", 20000}, {"first_us", 1000}}},
					 {2, {{"length_us", 9000}, {"every_us", 33000}, {"first_us", 4500}}},
					 {3, nullptr}};
	std::vector<Task> tasks = {{.name = "A"}, {.name = "B"}, {.name = "C"}};
	std::vector<Load> loads = {{.first_ns = MS, .period_ns = 20 * MS, .length_ns = 5 * MS},
				   {.first_ns = 4500 * US, .period_ns = 33 * MS, .length_ns = 9 * MS},
				   {.endless = true}};
	for (const char *chip : {"gp106", "gv100"}) {
		double mean_of_a = 1e9;
		for (const std::vector<u32> &tsgs : {std::vector<u32>{1, 2, 3}, {1, 2, 1, 3}}) {
			EmulatedPort port(chip, programs);
			std::vector<Slot> slots;
			slots.reserve(tsgs.size());
			for (u32 tsg : tsgs)
				slots.push_back({tsg - 1, 1048576});
			ASSERT_EQ(port.order_tsgs(tsgs), 0);
			port.advance_to(port.start() + 2000 * MS);
			std::vector<FinishedJob> real = port.finished(programs);
			SimulatedRun run = simulate_slices(slots, tasks, loads, 2000 * MS, {.switch_ns = SWITCH});
			for (size_t task : {0, 1}) {
				Responses live = sum_responses(real, task);
				const TaskResult &r = run.tasks[task];
				EXPECT_GE(live.jobs, 59u);
				EXPECT_NEAR(double(live.jobs), double(r.jobs), 1);
				EXPECT_NEAR(double(live.worst_ns) / 1e6, double(r.worst_ns) / 1e6, SLICE_MS);
				double mean = double(live.total_ns) / double(live.jobs) / 1e6;
				EXPECT_NEAR(mean, double(r.total_ns) / double(r.jobs) / 1e6, SLICE_MS);
				if (task)
					continue;
				EXPECT_LT(mean, mean_of_a * 0.8); // more turns than with each once
				mean_of_a = mean;
			}
		}
	}
}

// The four classes of Capodieci et al. (EMSOFT 2018), Table 1, as docs/schedule-table1.json has them, on the emulated GPU, both
// ways: an inference, graphics with 30 and 60 frames a second, and endless work. Jobs that end after their period are late: some of both graphics by
// the interleaved list, none by EDF. Each way agrees with its simulation within a time slice. Seen failing with the EDF of the one
// way compared with the other's simulation, and with the order 1 2 3 4.
TEST(ScheduleInterleaved, TableOneOfEmsoft2018)
{
	constexpr double SLICE_MS = 1.999; // 2000 us as a runlist entry has them: 244 << 3 units of 1.024 us
	constexpr u64 LONG = 10000 * MS, SLICE = 1998848, PERIODS[] = {50 * MS, 33333 * US, 16667 * US};
	std::vector<Program> programs = {{1, {{"length_us", 15500}, {"every_us", 50000}}, 2000},
					 {2, {{"length_us", 10500}, {"every_us", 33333}, {"first_us", 3000}}, 2000},
					 {3, {{"length_us", 3000}, {"every_us", 16667}, {"first_us", 1000}}, 2000},
					 {4, nullptr, 2000}};
	std::vector<Task> tasks = {{.name = "dnn", .period_ns = PERIODS[0], .budget_ns = 16 * MS},
				   {.name = "graphics-30", .period_ns = PERIODS[1], .budget_ns = 11 * MS},
				   {.name = "graphics-60", .period_ns = PERIODS[2], .budget_ns = 3200 * US},
				   {.name = "unbounded"}};
	std::vector<Load> loads = {{.period_ns = PERIODS[0], .length_ns = 15500 * US},
				   {.first_ns = 3 * MS, .period_ns = PERIODS[1], .length_ns = 10500 * US},
				   {.first_ns = MS, .period_ns = PERIODS[2], .length_ns = 3 * MS},
				   {.endless = true}};
	std::vector<Slot> slots = {{0, SLICE}, {1, SLICE}, {2, SLICE}, {0, SLICE}, {1, SLICE}, {3, SLICE}};

	for (const char *chip : {"gp106", "gv100"}) {
		EmulatedPort interleaved(chip, programs);
		ASSERT_EQ(interleaved.order_tsgs({1, 2, 3, 1, 2, 4}), 0);
		interleaved.advance_to(interleaved.start() + LONG);
		Live live(chip, programs, Policy::Edf, tasks);
		live.run_until(LONG);
		SimulatedRun simulated[] = {
			simulate_slices(slots, tasks, loads, LONG, {.switch_ns = 20 * US}),
			simulate_policy(Policy::Edf, tasks, loads, 20 * MS, LONG, {.switch_ns = 20 * US})};
		for (size_t way : {0, 1}) {
			std::vector<FinishedJob> jobs = (way ? live.port : interleaved).finished(programs);
			for (size_t task : {0, 1, 2}) {
				Responses r = sum_responses(jobs, task);
				auto [late, all] = count_late(jobs, task, PERIODS[task]);
				const TaskResult &s = simulated[way].tasks[task];
				EXPECT_NEAR(double(all), double(s.jobs), 1);
				EXPECT_NEAR(double(late), double(s.missed), 3);
				EXPECT_EQ(late > 0, way == 0 && task != 0) << late;
				EXPECT_NEAR(double(r.worst_ns) / 1e6, double(s.worst_ns) / 1e6, SLICE_MS);
			}
		}
	}
}

/* -- verbs -- */

// A verb that answers 0 and does nothing is found out, and the task runs on.
TEST_P(ScheduleVerbs, AHoldWithoutEffectIsNotTakenForOne)
{
	std::vector<Program> programs = {{1, json::object()}, {2, nullptr}};
	Live live(GetParam(), programs, Policy::FixedPriority, {{.name = "U", .priority = 0}, {.name = "B"}});

	live.backend.extend_lease();
	live.backend.account();
	live.port.inert = true;
	EXPECT_EQ(live.backend.hold(1).outcome, Outcome::NoEffect);
	live.port.inert = false;
	EXPECT_EQ(live.backend.hold(1).outcome, Outcome::Done);
	EXPECT_TRUE(live.backend.account()[1].held);
	EXPECT_FALSE(live.backend.account()[1].running);
	EXPECT_TRUE(live.backend.account()[1].ready); // what it has queued stays
	EXPECT_EQ(live.backend.release(1).outcome, Outcome::Done);
	EXPECT_FALSE(live.backend.account()[1].held);
	live.port.refuse = EPERM;
	Answer answer = live.backend.hold(1);
	EXPECT_EQ(answer.outcome, Outcome::Refused);
	EXPECT_EQ(answer.reason, "Operation not permitted");
	live.port.refuse = 0;
	EXPECT_FALSE(live.backend.account()[1].held);
}

// The driver enables a channel that is held: the hold is asserted once more.
TEST_P(ScheduleVerbs, AStrayEnableDoesNotEndAHold)
{
	std::vector<Program> programs = {{1, {{"length_us", 50000}}}, {2, nullptr}};
	Live live(GetParam(), programs, Policy::FixedPriority, {{.name = "U", .priority = 0}, {.name = "B"}});
	std::string id = live.port.per_runlist ? "0:12" : "12";

	live.run_until(10 * MS);
	EXPECT_TRUE(live.backend.account()[1].held);
	EXPECT_EQ(live.port.write_file("enable_channel", id), 0);
	EXPECT_FALSE(live.backend.account()[1].held);
	live.coordinator.run_once();
	EXPECT_TRUE(live.backend.account()[1].held);
}

// A channel that somebody else has disabled is not enabled by the end of a hold.
TEST_P(ScheduleVerbs, AChannelThatIsDisabledStaysDisabled)
{
	std::vector<Program> programs = {{1, json::object()}, {2, nullptr}};
	Live live(GetParam(), programs, Policy::FixedPriority, {{.name = "U", .priority = 0}, {.name = "B"}});

	EXPECT_EQ(live.port.write_file("disable_channel", live.port.per_runlist ? "0:12" : "12"), 0);
	live.backend.extend_lease();
	live.backend.account();
	EXPECT_EQ(live.backend.hold(1).outcome, Outcome::Done);
	EXPECT_EQ(live.backend.release(1).outcome, Outcome::Done);
	EXPECT_EQ(live.backend.release_all().outcome, Outcome::Done);
	EXPECT_TRUE(live.backend.account()[1].held);
}

// A program with two TSGs beside another one: it is held on both, and both run again. Seen failing with the first one only.
TEST_P(ScheduleVerbs, ATaskIsHeldOnAllOfItsTsgs)
{
	EmulatedPort port(GetParam(), {{1, nullptr}, {2, nullptr}, {3, nullptr}});
	ChannelBackend backend(port, port.per_runlist, LEASE, {{1, 2}, {3}});
	auto run_for = [&](u64 ns) {
		u64 before[] = {port.ran_ns(1), port.ran_ns(2), port.ran_ns(3)};
		port.advance_to(port.now() + ns);
		return std::vector<u64>{port.ran_ns(1) - before[0], port.ran_ns(2) - before[1],
					port.ran_ns(3) - before[2]};
	};

	backend.extend_lease();
	backend.account();
	ASSERT_EQ(backend.hold(0).outcome, Outcome::Done);
	EXPECT_TRUE(backend.account()[0].held);
	EXPECT_FALSE(backend.account()[0].running);
	std::vector<u64> ran = run_for(20 * MS);
	EXPECT_EQ(ran[0], 0u);
	EXPECT_EQ(ran[1], 0u);
	EXPECT_GT(ran[2], 19 * MS);
	ASSERT_EQ(backend.release(0).outcome, Outcome::Done);
	ran = run_for(20 * MS);
	EXPECT_GT(ran[0], 5 * MS);
	EXPECT_GT(ran[1], 5 * MS);
}

// The module ends what is not renewed: a coordinator that slept for longer than its lease finds everything running, and says
// so once. Seen failing where each look renews whatever it finds.
TEST_P(ScheduleVerbs, ALeaseThatIsOverIsLostOnce)
{
	std::vector<Program> programs = {{1, json::object()}, {2, nullptr}};
	Live live(GetParam(), programs, Policy::FixedPriority, {{.name = "U", .priority = 0}, {.name = "B"}});
	auto held = [&live] { return live.backend.account()[1].held; };

	EXPECT_TRUE(live.backend.extend_lease());
	live.backend.account();
	EXPECT_EQ(live.backend.hold(1).outcome, Outcome::Done);
	for (int i = 0; i < 10; i++) {
		live.port.advance_to(live.port.now() + LEASE / 2);
		EXPECT_TRUE(live.backend.extend_lease());
		EXPECT_TRUE(held());
	}
	live.port.advance_to(live.port.now() + LEASE + MS);
	EXPECT_FALSE(held());
	EXPECT_EQ(live.backend.hold(1).reason, "Timer expired");
	EXPECT_FALSE(live.backend.extend_lease());
	EXPECT_TRUE(live.backend.extend_lease());
	EXPECT_EQ(live.backend.hold(1).outcome, Outcome::Done);
	EXPECT_TRUE(held());
}

// The program of a task has ended, and the driver gives its TSG's id to another one. Seen failing: the stranger was held.
TEST_P(ScheduleVerbs, AnotherProgramsTsgOfTheSameIdIsLeftAlone)
{
	std::vector<Program> programs = {{1, json::object()}, {2, nullptr}};
	Live live(GetParam(), programs, Policy::FixedPriority, {{.name = "U", .priority = 0}, {.name = "B"}});

	live.backend.extend_lease();
	EXPECT_TRUE(live.backend.account()[1].present);
	live.port.command({{"cmd", "scenario"}, {"data", make_scenario({{2, nullptr}, {1, json::object()}})}});
	EXPECT_FALSE(live.backend.account()[1].present);
	live.port.writes.clear();
	EXPECT_EQ(live.backend.hold(1).outcome, Outcome::Refused);
	EXPECT_EQ(live.port.writes, std::vector<std::string>{});
}

// An urgent job that takes 3 s: the other is released for a quantum before a hold has lasted for a second.
TEST_P(ScheduleLive, NoHoldLastsForASecond)
{
	std::vector<Program> programs = {{1, {{"length_us", 3000000}}}, {2, nullptr}};
	Live live(GetParam(), programs, Policy::FixedPriority, {{.name = "U", .priority = 0}, {.name = "B"}});
	u64 held_since = 0;

	while (live.port.now() < 2500 * MS) {
		live.coordinator.run_once();
		live.port.advance_to(live.port.now() + 10 * MS);
		bool held = live.backend.account()[1].held;
		held_since = held ? held_since ? held_since : live.port.now() : 0;
		ASSERT_LT(held ? live.port.now() - held_since : 0, 950 * MS);
	}
	EXPECT_EQ(live.coordinator.counts(1).forced, 2u);
}

INSTANTIATE_TEST_SUITE_P(Chips, ScheduleLive, testing::Values("gp106", "ad102"));
INSTANTIATE_TEST_SUITE_P(Chips, ScheduleVerbs,
			 testing::Values("gk110", "gp106", "gv100", "tu102", "ga100", "ad102", "gh100", "gb100"));

} // namespace
