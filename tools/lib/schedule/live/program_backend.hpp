// SPDX-License-Identifier: GPL-2.0
// The back end for programs that gpulens run --schedule task=NAME has started, through NVIDIA's driver. A task is all processes
// of one name. The agent in each process (lib/launch/agent_page.hpp) holds and releases its own TSGs; it releases them, too,
// when this process no longer extends the lease. So nothing is left held after the end of this process, however it ends.
//
// The driver tells no ordinary user whether a program has work. Where a process of a task announces its jobs
// (gpulens_schedule_begin()), the task has work during these; otherwise it is taken to have work as long as it lives.
#pragma once
#include "lib/rm/engine_turns.hpp"
#include "lib/schedule/backend.hpp"
#include "lib/schedule/live/agent_link.hpp"
#include "lib/schedule/live/job_bell.hpp"

#include <memory>
#include <set>
#include <string>
#include <vector>

namespace tool::schedule {

struct ProgramTask {
	std::string name;
	bool only_jobs = false; // has work only during announced jobs
};

class ProgramBackend : public Backend {
public:
	// How long a look waits for an agent. One that takes longer is asked again when it has answered.
	static constexpr u64 ANSWER_NS = 10000000;

	// folder: of the agents' pages. hold: the verb of hold(), Disable or Gate.
	ProgramBackend(std::string folder, std::vector<ProgramTask> tasks, u64 lease_ns,
		       AgentVerb hold = AgentVerb::Disable);
	~ProgramBackend() override;

	struct Found {
		u32 pid;
		size_t task;
		u32 devices;    // a bit for each of the driver's device instances
		bool announces; // its jobs
		bool stopped;   // by a signal
		bool gated;     // its launches can be held back
		u32 slice_us;   // of its TSGs; 0: unknown
	};
	// From now on, a job that begins or ends ends sleep_until(). Throws Error.
	void hear_jobs();
	// From now on, take_turns() tells what the driver's records of a GPU do; charging() says why where there are none.
	void charge_by_turns(unsigned gpu);
	// From now on, neither this process nor the agents of held programs sleep.
	void poll_busily() { busy_poll_ = true; }
	// Looks for processes that have begun or ended; account() does it each SCAN_NS. tidy: remove the pages of those that ended.
	void find_programs(bool tidy);
	std::vector<Found> programs() const;
	// Names of tasks that are running and not among those of this back end.
	const std::set<std::string> &unknown_tasks() const { return unknown_; }

	Answer set_slice(size_t task, u32 us) override;
	Answer hold(size_t task) override;
	Answer release(size_t task) override;
	Answer release_all() override;
	std::vector<TaskState> account() override;
	std::vector<TaskTurn> take_turns() override;
	std::string charging() const override;
	bool extend_lease() override;
	u64 lease_ns() const override { return lease_ns_; }
	u64 now() override;
	void sleep_until(u64 time) override;

private:
	static constexpr u64 SCAN_NS = 100000000;

	struct Program {
		std::string file; // name in the folder
		u32 pid = 0;
		int pidfd = -1;
		size_t task = 0;
		bool held = false;    // by this process, which extends the lease
		bool stopped = false; // by a signal
		std::unique_ptr<AgentLink> link{};
	};

	void add_program(const std::string &file, bool tidy);
	void drop_program(size_t index);
	void drop_ended();
	void let_go(Program &program);
	std::vector<Program *> running(size_t task);
	void renew_lease(u64 now);
	Answer ask(const std::vector<Program *> &programs, AgentVerb verb, u64 argument = 0);
	void account_work(size_t task, TaskState &state);

	std::string folder_;
	std::vector<ProgramTask> tasks_;
	AgentVerb hold_;
	u64 lease_ns_, lease_end_ = 0, next_scan_ = 0;
	std::vector<Program> programs_;
	std::set<std::string> unknown_;
	std::unique_ptr<JobBell> bell_;
	std::unique_ptr<rm::EngineTurns> turns_;
	std::string why_no_turns_; // empty: none were asked for, or they are there
	bool busy_poll_ = false;
	u32 heard_ = 0; // the bell's count at the last look
};

// The lock that one coordinator of a GPU, or of a folder's programs, has at a time. It ends with the process.
class CoordinatorLock {
public:
	// who: "GPU 0 has", for the error. Creates the file and its folder. Throws Error: Taken, which names the process that has it.
	CoordinatorLock(const std::string &path, const std::string &who);
	CoordinatorLock(const CoordinatorLock &) = delete;
	CoordinatorLock &operator=(const CoordinatorLock &) = delete;
	~CoordinatorLock();

private:
	int fd_ = -1;
};

} // namespace tool::schedule
