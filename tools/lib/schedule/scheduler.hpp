// SPDX-License-Identifier: GPL-2.0
// Which of several programs has a GPU: fixed priority, EDF, constant bandwidth servers and weighted shares. Pure code: it
// learns of three events, the A, B and C of Capodieci et al. (EMSOFT 2018, section 3), and says who runs. No clock, no
// system call; each call takes O(log n) in the number of tasks.
//
// A task is real-time or best effort. The most urgent ready real-time task runs; without one, a best-effort task:
//   fixed priority   real-time tasks have a priority, 0 is the most urgent
//   EDF              real-time tasks have a relative deadline; the earliest absolute deadline runs
//   CBS              a task of EDF with a budget: its deadline is that of its server (Abeni and Buttazzo, RTSS 1998)
//   shares           all tasks are best effort
// Equal tasks run in the order of arrival, then of their index. Best-effort tasks belong to tenants. The tenant that has
// received the least time for its weight runs, for a quantum; its ready tasks take turns.
#pragma once
#include "gpulens/types.h"

#include <cstdint>
#include <deque>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

namespace tool::schedule {

constexpr u64 NEVER = ~0ULL;
constexpr int NO_TASK = -1;

// Interleaved: the GPU decides, by a runlist with an order of its own; a Scheduler does not have this policy.
enum class Policy { FixedPriority, Edf, Share, Interleaved };

// What a server does when its budget is used up. Soft: it gets a new one at once and a deadline that is a period later
// (the original rule; it conserves work). Hard: its task waits until the server's deadline.
enum class Server { Soft, Hard };

struct Task {
	std::string name;
	std::optional<u32> priority{}; // of fixed priority; nothing: best effort
	u64 deadline_ns = 0;           // of EDF, relative to arrival; 0: none
	u64 period_ns = 0;             // between jobs, or of the server
	u64 budget_ns = 0;             // of the server in each period; 0: no server
	Server server = Server::Soft;
	std::string tenant{}; // empty: a tenant of its own
	u32 weight = 1;       // of the tenant
	u32 group = 0;        // of the hardware that it needs; a Coordinator decides each group by itself

	// Returns when a job is late, counted from its arrival; 0: never.
	u64 relative_deadline() const { return deadline_ns ? deadline_ns : budget_ns ? period_ns : 0; }
};

// Returns whether the policy runs this task before best-effort ones.
bool is_real_time(Policy policy, const Task &task);

struct Decision {
	int task = NO_TASK; // that has the GPU
	u64 wake = NEVER;   // event C: when choose() is due although nothing arrived or finished
};

class Scheduler {
public:
	Scheduler(Policy policy, std::vector<Task> tasks, u64 quantum_ns);

	// Event A: a job of the task arrived. Times of all calls ascend. deadline: that the program asks for, absolute; 0: none.
	// Only one that is later than the task's own counts, and of a task without one none: no program raises itself.
	void add_job(size_t task, u64 now, u64 deadline = 0);
	// Event B: the first of the task's jobs is finished.
	void end_job(size_t task, u64 now);
	// Decides. Until the next call, the chosen task is taken to run.
	Decision choose(u64 now);
	// The GPU ran a task while another one (NO_TASK: none) was taken to run: it is charged for that time, not the other one.
	void move_charge(int from, size_t to, u64 ns);

	const std::vector<Task> &tasks() const { return tasks_; }
	bool ready(size_t task) const { return !states_[task].jobs.empty(); }
	// Returns the absolute deadline of the task's first job or of its server; NEVER without one.
	u64 deadline_of(size_t task) const;
	bool real_time(size_t task) const { return states_[task].real_time; }
	// Returns whether a hard server has used up its budget.
	bool throttled(size_t task) const { return states_[task].throttled; }
	u64 ran_ns(size_t task) const { return states_[task].ran_ns; }
	u64 exhaustions(size_t task) const { return states_[task].exhaustions; }

private:
	// A key of a real-time task: priority or deadline, arrival of the first job, index.
	using Key = std::tuple<u64, u64, size_t>;

	struct Job {
		u64 arrival, deadline; // NEVER: none
	};

	struct State {
		bool real_time = false, throttled = false, queued = false;
		std::deque<Job> jobs{};
		Key key{};          // while queued
		u64 deadline = 0;   // of the server
		int64_t budget = 0; // left of the server; below 0: what ran too long
		size_t tenant = 0;
		u64 turn = 0; // order among the tenant's tasks
		u64 ran_ns = 0, exhaustions = 0;
	};

	struct Tenant {
		u32 weight = 1;
		u64 time = 0;                             // received, divided by the weight
		std::set<std::pair<u64, size_t>> ready{}; // by turn
	};

	void charge_current(u64 now);
	void charge(size_t task, int64_t ran);
	void enter(size_t task);
	void leave(size_t task);
	void wake_server(State &s, const Task &task, u64 now);
	void refill_server(size_t task);
	void end_throttling(u64 now);
	void choose_best_effort();

	Policy policy_;
	std::vector<Task> tasks_;
	u64 quantum_ns_;
	std::vector<State> states_;
	std::vector<Tenant> tenants_;
	std::set<Key> urgent_;                           // ready real-time tasks
	std::set<std::pair<u64, size_t>> throttled_;     // by the end of it
	std::set<std::pair<u64, size_t>> ready_tenants_; // by received time
	u64 floor_ = 0, served_ = 0; // received time below which no tenant wakes up; the greatest received time
	u64 turns_ = 0;
	int best_ = NO_TASK; // best-effort task whose quantum is not over
	u64 used_ns_ = 0;    // of that quantum
	int current_ = NO_TASK;
	u64 since_ = 0;
};

} // namespace tool::schedule
