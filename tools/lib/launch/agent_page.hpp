// SPDX-License-Identifier: GPL-2.0
// What a coordinator and the agent inside a scheduled program (preload/agent.cc) tell each other, in a file that both map:
// FOLDER/agent-PID, which the agent makes. Only the agent sends requests to the driver, about its own program's TSGs. The
// program announces its jobs there, too (gpulens_schedule_begin()). It can write anything into its page: a coordinator checks
// what it reads.
#pragma once
#include "gpulens/types.h"

#include <atomic>
#include <cstdlib>
#include <cstring>

namespace gpulens {

// What the agent is to do with the program's TSGs on graphics engines. Which of these have an effect depends on driver and
// GPU; NV_OK does not say it.
enum class AgentVerb : u32 {
	None = 0,
	SetSlice = 1,       // argument: us
	Disable = 2,        // a hold by FIFO_DISABLE_CHANNELS, which also preempts
	DisablePreempt = 3, // a hold by FIFO_DISABLE_CHANNELS for scheduling only, then PREEMPT
	Unlist = 4,         // a hold by GPFIFO_SCHEDULE, which removes TSGs from the runlist
	Release = 5,        // ends any hold
	Preempt = 6,        // argument: us to wait
	Count = 7,          // only counts context switches
	Gate = 8,           // a hold of launches alone: they wait in the program (preload/launch_gate.cc)
};

constexpr bool is_hold(AgentVerb verb)
{
	return verb == AgentVerb::Disable || verb == AgentVerb::DisablePreempt || verb == AgentVerb::Unlist ||
	       verb == AgentVerb::Gate;
}

constexpr u64 AGENT_MAX_HOLD_NS = 900000000;   // after which the agent releases, however long the lease is
constexpr u64 AGENT_LAST_HOLD_NS = 1000000000; // after which a thread of its own does

constexpr char AGENT_PAGE_PREFIX[] = "agent-"; // of the file's name, before the process id

struct AgentPage {
	static constexpr u64 MAGIC = 0x35304547414c5047; // "GPLAGE05"
	static constexpr u32 NOT_TRIED = ~0U;            // a status: there was nothing to ask about
	static constexpr u32 SETTING_UP = ~1U;           // likewise: the program made or changed a TSG just now
	static constexpr u32 MAX_TASK = 64;              // bytes of a task's name, with the 0 that ends it

	u64 magic;
	std::atomic<u32> pid;

	// The coordinator's: raises `request` and wakes it (futex) when the rest is written. It waits for `answered` to be equal.
	std::atomic<u32> request;
	std::atomic<u32> verb; // AgentVerb
	std::atomic<u64> argument;
	std::atomic<u64> lease_end; // CLOCK_MONOTONIC, ns: holds end then

	// The agent's.
	std::atomic<u32> answered;
	std::atomic<u32> status; // the first one that is not NV_OK
	std::atomic<u64> took_ns;
	std::atomic<u32> groups, channels; // that the verb was about
	std::atomic<u64> held_since;       // CLOCK_MONOTONIC, ns; 0: nothing is held
	std::atomic<u32> expired;          // holds that ended by time
	std::atomic<u32> reasserted;       // holds repeated, since the program changed a TSG meanwhile
	std::atomic<u32> set_slices;       // time slices of the driver's library that were replaced
	std::atomic<u32> saves, restores, wfi_saves, cta_saves, cilp_saves; // of the first TSG, since it was made
	std::atomic<u32> devices; // a bit for each of the driver's device instances on which the program has TSGs
	char task[MAX_TASK];      // that the user named it; empty: none
	u64 start_time;           // of the process, in clock ticks since boot (proc_pid_stat(5), field 22); 0: unknown

	// The program's jobs. A job runs while more have begun than ended. Times are of CLOCK_MONOTONIC, in ns.
	std::atomic<u32> jobs_begun, jobs_ended;
	std::atomic<u64> job_began, job_deadline; // of the last one that began; deadline 0: none
	std::atomic<u64> job_ended;               // when the last one ended
	std::atomic<u32> jobs_missed;             // that ended after the deadline that the program gave

	// The agent's, of a program with a budget (GPULENS_SCHEDULE_BUDGET).
	std::atomic<u64> budget_ns, period_ns;         // period 0: it has none
	std::atomic<u32> budget_holds, budget_refused; // by the driver; after that, the budget is not enforced

	// Launches wait while `gate` is 1 (futex), and neither lease nor AGENT_MAX_HOLD_NS is over.
	std::atomic<u32> gate;
	std::atomic<u32> gated;      // 1: the process has a gate
	std::atomic<u32> gate_waits; // launches that waited

	// The time slice of its TSGs on graphics engines, as the driver granted it; 0: it was set for not all, or they differ.
	std::atomic<u32> slice_us;

	std::atomic<u64> ioctls; // of the program since the page was made: the only calls that pass through the library

	std::atomic<u32> busy_poll; // the coordinator's: 1: the agent does not sleep while the program is held
};

// stat: /proc/PID/stat. Returns field 22, AgentPage::start_time.
inline u64 start_time_of(const char *stat)
{
	const char *at = strrchr(stat, ')'); // the name before it may have blanks

	for (int field = 2; at && field < 22; field++)
		at = strchr(at + 1, ' ');
	return at ? strtoull(at + 1, nullptr, 10) : 0;
}

static_assert(std::atomic<u64>::is_always_lock_free && std::atomic<u32>::is_always_lock_free);

} // namespace gpulens
