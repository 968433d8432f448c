// SPDX-License-Identifier: GPL-2.0
// Jobs that programs announce, with times and deadlines of their own, against values worked out by hand. Times in ms.
#include "gpulens/cmd/schedule_steps.hpp"
#include "lib/schedule/coordinator.hpp"
#include "lib/schedule/live/step_log.hpp"

#include <array>
#include <atomic>
#include <cstdlib>
#include <fcntl.h>
#include <fstream>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>
#include <utility>

namespace {

using namespace tool::schedule;

constexpr u64 MS = 1000000;

// Tasks whose state the test sets.
class ScriptedBackend : public Backend {
public:
	explicit ScriptedBackend(size_t tasks) : states(tasks) {}

	Answer set_slice(size_t, u32) override { return {}; }
	Answer hold(size_t task) override
	{
		time += verb_ns;
		states[task].held = true;
		return {.driver_ns = driver_ns};
	}
	Answer release(size_t task) override
	{
		time += verb_ns;
		states[task].held = false;
		return {.driver_ns = driver_ns};
	}
	Answer release_all() override { return {}; }
	std::vector<TaskState> account() override { return states; }
	std::vector<TaskTurn> take_turns() override { return std::exchange(turns, {}); }
	bool extend_lease() override { return !std::exchange(lost, false); }
	u64 lease_ns() const override { return 50 * MS; }
	u64 now() override { return time; }

	void begin(size_t task, u64 job, u64 began, u64 deadline = 0)
	{
		states[task] = {.present = true,
				.ready = true,
				.held = states[task].held,
				.least_slice_us = states[task].least_slice_us,
				.most_slice_us = states[task].most_slice_us,
				.job = job,
				.began = began,
				.ended = states[task].ended,
				.deadline = deadline};
	}
	void end(size_t task, u64 ended)
	{
		states[task].ready = false;
		states[task].ended = ended;
	}

	std::vector<TaskState> states;
	std::vector<TaskTurn> turns;              // until the next look
	u64 time = 0, verb_ns = 0, driver_ns = 0; // the last two: of a hold or a release
	bool lost = false;                        // the lease, before the next look
};

int look_at(ScriptedBackend &backend, Coordinator &coordinator, u64 time)
{
	backend.time = time;
	coordinator.run_once();
	return coordinator.chosen();
}

// The job begins at 10.2 and is seen at 11; it ends at 14.5 and is seen at 15: 4.3 long. Its deadline is 14.4, so it is late; that
// of the policy would be 20.2.
TEST(ScheduleJobs, TimesAreThoseThatTheProgramSays)
{
	ScriptedBackend backend(1);
	Coordinator coordinator(backend, Policy::Edf, {{.name = "A", .deadline_ns = 10 * MS}}, 20 * MS);

	look_at(backend, coordinator, 10 * MS);
	backend.begin(0, 1, 10200000, 14400000);
	EXPECT_EQ(look_at(backend, coordinator, 11 * MS), 0);
	backend.end(0, 14500000);
	EXPECT_EQ(look_at(backend, coordinator, 15 * MS), NO_TASK);
	EXPECT_EQ(coordinator.counts(0).jobs, 1u);
	EXPECT_EQ(coordinator.counts(0).missed, 1u);
	EXPECT_EQ(coordinator.counts(0).worst_ns, 4300000u);
}

// RTAS'24, R5: runlists that share no hardware do not disturb each other, so that neither B waits for A, nor A for C.
TEST(ScheduleJobs, EachGroupIsDecidedByItself)
{
	ScriptedBackend backend(3);
	Coordinator coordinator(backend, Policy::Edf,
				{{.name = "A", .deadline_ns = 10 * MS},
				 {.name = "B", .deadline_ns = 20 * MS, .group = 1},
				 {.name = "C", .deadline_ns = 5 * MS, .group = 1}},
				20 * MS);

	backend.begin(0, 1, 10 * MS);
	backend.begin(1, 1, 10 * MS);
	look_at(backend, coordinator, 10 * MS);
	EXPECT_TRUE(coordinator.is_chosen(0) && coordinator.is_chosen(1));
	backend.begin(2, 1, 11 * MS);
	look_at(backend, coordinator, 11 * MS);
	EXPECT_EQ(coordinator.chosen(0), 0);
	EXPECT_EQ(coordinator.chosen(1), 2);
	EXPECT_FALSE(coordinator.held(0));
	EXPECT_TRUE(coordinator.held(1));
	backend.end(2, 13 * MS);
	look_at(backend, coordinator, 13 * MS);
	EXPECT_TRUE(coordinator.is_chosen(1) && !coordinator.held(1));
	EXPECT_EQ(coordinator.scheduler(0).ran_ns(0), 3 * MS);
	EXPECT_EQ(coordinator.scheduler(1).ran_ns(1), 1 * MS);
	EXPECT_EQ(coordinator.scheduler(2).ran_ns(2), 2 * MS);
}

// A has 4 of each 10, and its hold at 4 comes into effect at 4.6: these 0.6 are its own, not B's, and it has 3.4 from 10 on. Then B
// has the GPU for 0.2 more, which A gets back. After its job, A stays resident without work, and is not charged. Seen failing with
// charges by decisions alone: 14.
TEST(ScheduleJobs, TimeOnTheEngineIsChargedToWhoHadIt)
{
	ScriptedBackend backend(2);
	Coordinator coordinator(
		backend, Policy::Edf,
		{{.name = "A", .period_ns = 10 * MS, .budget_ns = 4 * MS, .server = Server::Hard}, {.name = "B"}},
		20 * MS);
	auto look = [&](u64 us, std::vector<TaskTurn> turns) {
		for (TaskTurn &turn : turns)
			turn = {turn.task, turn.begin * 1000, turn.end * 1000};
		backend.turns = std::move(turns);
		backend.time = us * 1000;
		return coordinator.run_once();
	};

	backend.begin(0, 0, 0);
	backend.begin(1, 0, 0);
	EXPECT_EQ(look(0, {}), 4 * MS);
	backend.verb_ns = 700000; // a hold takes so long
	look(4000, {});
	EXPECT_EQ(coordinator.chosen(), 1);
	look(6000, {{0, 100, 4600}, {1, 4700, 5900}});
	EXPECT_EQ(coordinator.scheduler(0).ran_ns(0), 4600000u);
	EXPECT_EQ(coordinator.scheduler(0).ran_ns(1), 1400000u);
	EXPECT_EQ(coordinator.counts(0).overran_ns, 600000u);
	EXPECT_EQ(look(10000, {{1, 5900, 9900}}), 13400000u);
	EXPECT_EQ(look(12000, {{1, 9900, 10200}}), 13600000u);
	EXPECT_EQ(coordinator.chosen(), 0);
	EXPECT_EQ(coordinator.counts(1).overran_ns, 200000u);
	backend.end(0, 12500000);
	look(13000, {{0, 10200, 12900}});
	look(15000, {{0, 12900, 14900}});
	EXPECT_EQ(coordinator.scheduler(0).ran_ns(0), 7400000u);
}

// A job that never ends is late from its deadline on. Seen failing: "missed 0", and nothing else.
TEST(ScheduleJobs, AJobThatDoesNotEndIsLateNow)
{
	ScriptedBackend backend(1);
	Coordinator coordinator(backend, Policy::Edf, {{.name = "A", .deadline_ns = 10 * MS}}, 20 * MS);

	look_at(backend, coordinator, 10 * MS);
	backend.begin(0, 1, 10 * MS);
	look_at(backend, coordinator, 20 * MS);
	EXPECT_EQ(coordinator.late_ns(0), 0u);
	look_at(backend, coordinator, 3980 * MS);
	EXPECT_EQ(coordinator.late_ns(0), 3960 * MS);
	EXPECT_EQ(coordinator.counts(0).missed, 0u);
	backend.end(0, 3985 * MS);
	look_at(backend, coordinator, 3990 * MS);
	EXPECT_EQ(coordinator.late_ns(0), 0u);
	EXPECT_EQ(coordinator.counts(0).missed, 1u);
}

// A program that says a time before the last look, or after the present one, gets these two.
TEST(ScheduleJobs, TimesOutsideTheLooksAreNotTaken)
{
	ScriptedBackend backend(1);
	Coordinator coordinator(backend, Policy::Share, {{.name = "A"}}, 20 * MS);

	look_at(backend, coordinator, 10 * MS);
	backend.begin(0, 1, 2 * MS);
	look_at(backend, coordinator, 11 * MS);
	backend.end(0, 99 * MS);
	look_at(backend, coordinator, 15 * MS);
	EXPECT_EQ(coordinator.counts(0).worst_ns, 5 * MS);
}

// Job 1 ends and job 2 begins between two looks: the task stays ready, and has done one job.
TEST(ScheduleJobs, AJobThatFollowsAtOnceIsAnotherOne)
{
	ScriptedBackend backend(1);
	Coordinator coordinator(backend, Policy::Edf, {{.name = "A", .deadline_ns = 8 * MS}}, 20 * MS);

	backend.begin(0, 1, 0);
	look_at(backend, coordinator, 1 * MS);
	backend.states[0].ended = 5 * MS;
	backend.begin(0, 2, 5500000);
	EXPECT_EQ(look_at(backend, coordinator, 6 * MS), 0);
	EXPECT_EQ(coordinator.counts(0).jobs, 1u);
	EXPECT_EQ(coordinator.counts(0).worst_ns, 4 * MS); // seen at 1, ended at 5
	EXPECT_EQ(coordinator.scheduler(0).deadline_of(0), 14 * MS);
	EXPECT_EQ(look_at(backend, coordinator, 7 * MS), 0);
	EXPECT_EQ(coordinator.counts(0).jobs, 1u);
}

// By the policy, A's deadline is 10 and B's 12. A asks for 15, so B is first; B cannot ask for 5 and be first where A asks for 11.
TEST(ScheduleJobs, AProgramCanOnlyAskForALaterDeadline)
{
	std::vector<Task> tasks = {{.name = "A", .deadline_ns = 10 * MS}, {.name = "B", .deadline_ns = 12 * MS}};

	for (auto [a, b, first] : {std::tuple{0, 0, 0}, {15, 0, 1}, {11, 5, 0}}) {
		ScriptedBackend backend(2);
		Coordinator coordinator(backend, Policy::Edf, tasks, 20 * MS);
		backend.begin(0, 1, 0, static_cast<u64>(a) * MS);
		backend.begin(1, 1, 0, static_cast<u64>(b) * MS);
		EXPECT_EQ(look_at(backend, coordinator, 0), first) << a << " " << b;
		EXPECT_TRUE(backend.states[static_cast<size_t>(1 - first)].held);
	}
}

// A best-effort task does not become a real-time one by a deadline.
TEST(ScheduleJobs, ABestEffortTaskGetsNoDeadline)
{
	ScriptedBackend backend(2);
	Coordinator coordinator(backend, Policy::Edf, {{.name = "A", .deadline_ns = 10 * MS}, {.name = "B"}}, 20 * MS);

	backend.begin(0, 1, 0);
	backend.begin(1, 1, 0, 1);
	EXPECT_EQ(look_at(backend, coordinator, 0), 0);
	EXPECT_EQ(coordinator.scheduler(1).deadline_of(1), NEVER);
}

/* -- what holds and releases cost -- */

// b is held for each of three jobs of a. The longest hold and release count, with what the driver took for those.
TEST(ScheduleJobs, TheLongestHoldAndReleaseAreKept)
{
	ScriptedBackend backend(2);
	Coordinator coordinator(backend, Policy::Edf, {{.name = "a", .deadline_ns = 10 * MS}, {.name = "b"}}, 20 * MS);
	u64 job = 0;

	backend.begin(1, 0, 0);
	for (auto [hold, hold_driver, release, release_driver] :
	     {std::tuple{500, 450, 400, 300}, {900, 100, 300, 290}, {600, 590, 1400, 310}}) {
		backend.verb_ns = static_cast<u64>(hold) * 1000;
		backend.driver_ns = static_cast<u64>(hold_driver) * 1000;
		job++;
		backend.begin(0, job, job * 10 * MS);
		EXPECT_EQ(look_at(backend, coordinator, job * 10 * MS), 0);
		backend.verb_ns = static_cast<u64>(release) * 1000;
		backend.driver_ns = static_cast<u64>(release_driver) * 1000;
		backend.end(0, job * 10 * MS + 4 * MS);
		EXPECT_EQ(look_at(backend, coordinator, job * 10 * MS + 4 * MS), 1);
	}
	const TaskCounts &b = coordinator.counts(1);
	EXPECT_EQ(b.longest_hold.took_ns, 900000u);
	EXPECT_EQ(b.longest_hold.driver_ns, 100000u);
	EXPECT_EQ(b.longest_release.took_ns, 1400000u);
	EXPECT_EQ(b.longest_release.driver_ns, 310000u);
	EXPECT_EQ(coordinator.counts(0).longest_hold.took_ns, 0u);
}

/* -- time slices beside holds -- */

void set_slices(ScriptedBackend &backend, const std::vector<u32> &us)
{
	for (size_t i = 0; i < us.size(); i++)
		backend.states[i].least_slice_us = backend.states[i].most_slice_us = us[i];
}

// Which tasks are held after a look, such as "ac".
std::string list_held(const ScriptedBackend &backend)
{
	std::string list;

	for (size_t i = 0; i < backend.states.size(); i++)
		if (backend.states[i].held)
			list += static_cast<char>('a' + i);
	return list;
}

// 500 ms is more than 100 times CUDA's slice of 2,048 us, which is not 100 times 250 us: while a job of a runs, b need not be
// held, and while one of b runs, c must be. c stays held from one job to the next.
TEST(ScheduleJobs, ATaskWithAShortTimeSliceIsNotHeld)
{
	std::vector<Task> tasks = {
		{.name = "a", .deadline_ns = 10 * MS}, {.name = "b", .deadline_ns = 20 * MS}, {.name = "c"}};
	ScriptedBackend backend(3);
	Coordinator coordinator(backend, Policy::Edf, tasks, 20 * MS);
	auto look = [&](u64 time) {
		int chosen = look_at(backend, coordinator, time * MS);
		return std::string(1, static_cast<char>('a' + chosen)) + ":" + list_held(backend);
	};

	set_slices(backend, {500000, 2048, 250});
	backend.begin(2, 0, 0);
	EXPECT_EQ(look(1), "c:");
	backend.begin(1, 1, 2 * MS);
	EXPECT_EQ(look(2), "b:c");
	backend.begin(0, 1, 5 * MS);
	EXPECT_EQ(look(5), "a:c"); // until 15, and b until 22
	backend.end(0, 8 * MS);
	EXPECT_EQ(look(8), "b:c");
	backend.begin(0, 2, 13 * MS); // until 23
	EXPECT_EQ(look(13), "b:ac");
	backend.end(1, 14 * MS);
	EXPECT_EQ(look(14), "a:c");
	backend.end(0, 16 * MS);
	EXPECT_EQ(look(16), "c:");
	EXPECT_EQ(coordinator.counts(0).holds, 1u);
	EXPECT_EQ(coordinator.counts(1).holds, 0u);
	EXPECT_EQ(coordinator.counts(2).holds, 1u);
}

// The slices of the chosen task and of another one, and whether the other one is held.
TEST(ScheduleJobs, OnlyKnownAndShortTimeSlicesReplaceAHold)
{
	struct Row {
		u32 chosen_us, other_us;
		bool held;
	};

	for (const Row &row : {Row{25000, 250, false}, Row{24999, 250, true}, Row{500000, 0, true}, Row{0, 250, true},
			       Row{0, 0, true}, Row{204800, 2048, false}, Row{1000000, 2049, true}}) {
		ScriptedBackend backend(2);
		Coordinator coordinator(backend, Policy::FixedPriority, {{.name = "a", .priority = 0}, {.name = "b"}},
					20 * MS);
		set_slices(backend, {row.chosen_us, row.other_us});
		backend.begin(0, 0, 0);
		backend.begin(1, 0, 0);
		EXPECT_EQ(look_at(backend, coordinator, 1 * MS), 0);
		EXPECT_EQ(list_held(backend), row.held ? "b" : "") << row.chosen_us << " " << row.other_us;
	}
}

// Of several processes, the chosen task's shortest slice counts and the other's longest.
TEST(ScheduleJobs, TheWorstTimeSliceOfSeveralProcessesCounts)
{
	for (bool chosen : {true, false}) {
		ScriptedBackend backend(2);
		Coordinator coordinator(backend, Policy::FixedPriority, {{.name = "a", .priority = 0}, {.name = "b"}},
					20 * MS);
		set_slices(backend, {100000, 1000});
		(chosen ? backend.states[0].least_slice_us : backend.states[1].most_slice_us) = 2000;
		backend.begin(0, 0, 0);
		backend.begin(1, 0, 0);
		look_at(backend, coordinator, 1 * MS);
		EXPECT_EQ(list_held(backend), "b");
	}
}

// Time is a share of best effort, and a hard server that has used up its budget gets none, whatever the slices are.
TEST(ScheduleJobs, SharesAndUsedUpBudgetsAreHeld)
{
	ScriptedBackend shares(2), server(2);
	Coordinator share(shares, Policy::Share, {{.name = "a"}, {.name = "b"}}, 20 * MS);
	Coordinator edf(server, Policy::Edf,
			{{.name = "a", .deadline_ns = 100 * MS},
			 {.name = "b", .period_ns = 50 * MS, .budget_ns = 10 * MS, .server = Server::Hard}},
			20 * MS);

	set_slices(shares, {500000, 250});
	set_slices(server, {500000, 250});
	for (ScriptedBackend *backend : {&shares, &server}) {
		backend->begin(0, 0, 0);
		backend->begin(1, 0, 0);
	}
	EXPECT_EQ(look_at(shares, share, 1 * MS), 0);
	EXPECT_EQ(list_held(shares), "b");
	EXPECT_EQ(look_at(server, edf, 1 * MS), 1);
	EXPECT_EQ(look_at(server, edf, 12 * MS), 0);
	EXPECT_EQ(list_held(server), "b");
}

// A recording has each step at the time of its effect: a hold when it was seen to work, the end of holds when a lease ended,
// which this process notices later.
TEST(ScheduleJobs, StepsAreRecordedAtTheTimeOfTheirEffect)
{
	std::string path = testing::TempDir() + "steps-" + std::to_string(getpid());
	ScriptedBackend backend(2);
	Coordinator coordinator(backend, Policy::FixedPriority, {{.name = "a", .priority = 0}, {.name = "b"}}, 20 * MS);
	tool::ScheduleSteps steps(path, Policy::FixedPriority, 0, 1 * MS);
	StepReader reader(path);
	std::vector<std::string> lines;

	backend.verb_ns = MS / 2;
	auto look = [&](u64 time) {
		look_at(backend, coordinator, time);
		steps.note(coordinator);
	};
	backend.begin(1, 0, 0);
	look(10 * MS);
	backend.begin(0, 0, 0);
	look(12 * MS);
	backend.lost = true;
	look(200 * MS);
	backend.end(0, 0);
	look(300 * MS);
	for (const tool::ScheduleRecord &r : reader.read())
		lines.push_back(std::string(r.name) + " " + std::to_string(r.step) + " " +
				std::to_string(r.time_ns / (MS / 10)));
	// number of the step, tenths of a millisecond
	EXPECT_EQ(lines, (std::vector<std::string>{"fixed-priority 1 10", "b 6 100", "b 2 100", "a 6 120", "a 2 120",
						   "b 4 125", " 10 620", "b 5 620", "b 4 2005", "a 7 3000", "b 2 3000",
						   "b 5 3005"}));
}

// gpulens record has begun before the first coordinator, which makes the folder. Seen failing: /schedule-steps was read.
TEST(ScheduleJobs, StepsAreFoundInAFolderThatIsMadeMeanwhile)
{
	std::string folder = testing::TempDir() + "run-" + std::to_string(getpid());

	setenv("GPULENS_RUNTIME_DIR", folder.c_str(), 1);
	tool::RecordedSteps recorded({0}, false);
	EXPECT_TRUE(recorded.read().empty());
	mkdir(folder.c_str(), 0700);
	{
		StepLog log(tool::programs_step_path(folder));
		log.add(tool::ScheduleStep::Policy, 1 * MS, 0, 0, "edf");
		auto steps = recorded.read();
		ASSERT_EQ(steps.size(), 1u);
		ASSERT_EQ(steps[0].records.size(), 1u);
		EXPECT_STREQ(steps[0].records[0].name, "edf");
	}
	rmdir(folder.c_str());
	unsetenv("GPULENS_RUNTIME_DIR");
}

// The ring is another process' memory. Seen failing (the reader crashed): its count was read twice.
TEST(ScheduleJobs, ARingMaySayAnything)
{
	using tool::schedule::StepRing;
	std::string path = testing::TempDir() + "ring-" + std::to_string(getpid());
	auto *ring = new StepRing{};
	std::atomic<bool> stop{false};

	ring->magic = StepRing::MAGIC;
	std::ofstream(path, std::ios::binary).write(reinterpret_cast<const char *>(ring), sizeof(*ring));
	delete ring;
	int fd = open(path.c_str(), O_RDWR | O_CLOEXEC);
	void *at = mmap(nullptr, sizeof(StepRing), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	ASSERT_NE(at, MAP_FAILED);
	std::thread writer([&] {
		for (u64 n = 0; !stop; n++)
			static_cast<StepRing *>(at)->written = std::array{0UL, 10000000000000UL, 20000UL}[n % 3];
	});
	StepReader reader(path);
	for (int i = 0; i < 200; i++)
		EXPECT_LE(reader.read().size(), 2 * StepRing::STEPS + 2);
	stop = true;
	writer.join();
	munmap(at, sizeof(StepRing));
	unlink(path.c_str());
}

} // namespace
