// SPDX-License-Identifier: GPL-2.0
// Carries out a policy on a back end. Looks at the tasks, tells the scheduler what arrived and finished, and holds the ready
// tasks that it did not choose, unless their time slices are short beside that of the chosen one. Idle tasks are never held:
// where one program alone has work, nothing is written. In each group of tasks (Task::group) one is chosen.
#pragma once
#include "lib/schedule/backend.hpp"
#include "lib/schedule/scheduler.hpp"

#include <deque>

namespace tool::schedule {

// What a request cost: from the decision until it was answered, and of that Answer::driver_ns. The rest is the wait of this
// process and of the programs' agents for a processor.
struct Cost {
	u64 took_ns = 0, driver_ns = 0;
};

struct TaskCounts {
	u64 jobs = 0;   // that ended: times that it became idle, or announced jobs
	u64 missed = 0; // jobs that ended after their deadline
	u64 worst_ns = 0;
	u64 holds = 0, releases = 0, refused = 0;
	u64 forced = 0;     // releases because it was held for the longest time allowed
	u64 overran_ns = 0; // on the engine while another task was chosen, as far as the back end tells turns
	Cost longest_hold, longest_release;
};

class Coordinator {
public:
	// A task that was held for so long is released for a quantum, whatever the policy says; below a second, at which the
	// module does it.
	static constexpr u64 LONGEST_HOLD_NS = 900000000;
	// A chosen real-time task whose time slice is so many times as long as that of another loses 1 % to it at most, and waits
	// for one slice of it when it begins: less than a hold and a release take through NVIDIA's driver. CUDA's is 2,048 us.
	static constexpr u64 YIELD_RATIO = 100, LONGEST_YIELD_US = 2048;

	Coordinator(Backend &backend, Policy policy, const std::vector<Task> &tasks, u64 quantum_ns);

	// By what time is charged (Backend::charging()).
	std::string charging() const { return backend_.charging(); }
	// Looks, decides and acts. Returns when the scheduler wants to decide again, NEVER: when something arrives or finishes.
	// Throws Error if the GPU cannot be read.
	u64 run_once();
	const std::vector<Task> &tasks() const { return schedulers_[0].tasks(); }
	u32 groups() const { return static_cast<u32>(schedulers_.size()); }
	int chosen(u32 group = 0) const { return chosen_[group]; }
	bool is_chosen(size_t task) const { return chosen(tasks()[task].group) == static_cast<int>(task); }
	// That decides for the task.
	const Scheduler &scheduler(size_t task) const { return schedulers_[tasks()[task].group]; }
	const TaskCounts &counts(size_t task) const { return states_[task].counts; }
	bool held(size_t task) const { return states_[task].held; }
	// Of the present job; NEVER: it has none.
	u64 deadline(size_t task) const { return states_[task].deadline; }
	// By how much the present job is late at the last look; 0: there is none, or it is not.
	u64 late_ns(size_t task) const
	{
		const State &s = states_[task];
		return s.ready && last_look_ > s.deadline ? last_look_ - s.deadline : 0;
	}
	u64 lost_leases() const { return lost_leases_; }
	// When the last lease that was lost ended, and with it all holds.
	u64 lost_at() const { return lost_at_; }
	// When the last decision was made.
	u64 decided_at() const { return last_look_; }
	// When the present job began, when the last one ended, and when the last hold or release had had its effect.
	u64 job_began(size_t task) const { return states_[task].arrival; }
	u64 job_ended(size_t task) const { return states_[task].ended; }
	u64 held_changed(size_t task) const { return states_[task].held_changed; }

private:
	static constexpr int NOBODY = -2;

	// A time in which a task had work and was neither chosen nor held. What it had of the engine then, it had in place of the
	// chosen one; at other times an idle task may be resident.
	struct Exposure {
		int chosen;
		u64 begin, end;
	};

	struct State {
		bool ready = false, held = false;
		u64 job = 0; // TaskState::job
		u64 arrival = 0, ended = 0, deadline = NEVER, held_since = 0, held_changed = 0, free_until = 0;
		TaskCounts counts{};
		std::deque<Exposure> exposures{}; // the last KEPT_NS of them; the present one ends NEVER
	};

	Scheduler &scheduler_of(size_t task) { return schedulers_[tasks()[task].group]; }
	void note_begin(size_t task, const TaskState &seen, u64 now);
	void note_end(size_t task, const TaskState &seen, u64 now);
	void note_events(const std::vector<TaskState> &seen, u64 now);
	void note_exposure(size_t task, u64 time);
	void correct_charges(u64 now);
	bool yields_by_slice(const std::vector<TaskState> &seen, size_t task) const;
	void hold_task(size_t task, u64 now);
	void release_task(size_t task);
	// Returns the answer to a request, of which the longest one is kept.
	template <typename Request> Answer time_request(Cost &longest, Request request);

	Backend &backend_;
	std::vector<Scheduler> schedulers_; // by group, each with all tasks
	u64 quantum_ns_;
	std::vector<State> states_;
	std::vector<int> chosen_; // by group
	u64 lost_leases_ = 0, lost_at_ = 0;
	u64 extended_ = 0; // when the lease was extended last
	u64 last_look_ = 0;
};

} // namespace tool::schedule
