// SPDX-License-Identifier: GPL-2.0
// What a scheduler can do to tasks on a GPU. Each verb says whether it had its effect. That of a hold is judged by what the GPU
// shows afterwards, the others by the status of the request.
#pragma once
#include "gpulens/types.h"

#include <string>
#include <unistd.h>
#include <vector>

namespace tool::schedule {

enum class Outcome { Done, Refused, NoEffect };

struct Answer {
	Outcome outcome = Outcome::Done;
	std::string reason{}; // unless done
	u64 driver_ns = 0;    // that the driver took for it; 0: not known, or there is none
};

struct TaskState {
	bool present = false; // the GPU has this task
	bool ready = false;   // it has work, whether or not it is held
	bool running = false; // it is on an engine
	bool held = false;    // all its channels are disabled
	// The shortest and the longest time slice of its TSGs; 0: not known, or a hold costs less than waiting for one.
	u32 least_slice_us = 0, most_slice_us = 0;

	// Where the program announces its jobs. Times are those of Backend::now(); 0: not known.
	u64 job = 0;              // number of the present job; 0: a job is a time of being ready
	u64 began = 0, ended = 0; // when the present job began, and the last one ended
	u64 deadline = 0;         // that the program asks for, for the present job
};

// A time in which a task was on the engine. Of Backend::now().
struct TaskTurn {
	size_t task;
	u64 begin, end;
};

// task: index in the policy.
class Backend {
public:
	Backend() = default;
	Backend(const Backend &) = delete;
	Backend &operator=(const Backend &) = delete;
	virtual ~Backend() = default;

	virtual Answer set_slice(size_t task, u32 us) = 0;
	// The task does not run until it is released, and what it has queued stays. Holding a held task asserts it once more.
	virtual Answer hold(size_t task) = 0;
	virtual Answer release(size_t task) = 0;
	virtual Answer release_all() = 0;
	// Returns the state of each task. Throws Error if the GPU cannot be read.
	virtual std::vector<TaskState> account() = 0;
	// Returns the turns since the last call, in order, as far as they are known.
	virtual std::vector<TaskTurn> take_turns() { return {}; }
	// Returns by what time is charged, "context switches"; empty: by decisions alone.
	virtual std::string charging() const { return ""; }
	// Called before each decision. Returns false if holds were lost, because the process was stopped too long.
	virtual bool extend_lease() = 0;
	virtual u64 lease_ns() const = 0; // how long a lease is
	virtual u64 now() = 0;            // ns
	// Sleeps until then, by now(), or until the back end hears that work arrived or is finished.
	virtual void sleep_until(u64 time)
	{
		if (u64 present = now(); time > present)
			usleep(static_cast<useconds_t>((time - present) / 1000));
	}
};

} // namespace tool::schedule
