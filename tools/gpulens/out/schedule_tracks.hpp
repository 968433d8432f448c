// SPDX-License-Identifier: GPL-2.0
// What a policy did to each task, as intervals: of the events of a recording.
#pragma once
#include "lib/timeline/timeline.hpp"

#include <optional>
#include <string>
#include <vector>

namespace tool {

struct ScheduleSpan {
	u64 start_ns, end_ns;
	enum { Chosen, Held, Job } kind;
	u64 deadline_ns = 0; // of a job; 0: none
	bool missed = false;
	bool open = false; // it had not ended when the recording did
};

struct ScheduleMark {
	u64 time_ns;
	const char *name;
};

struct TaskTrack {
	std::string name;
	std::vector<ScheduleSpan> states{}, jobs{}; // states: chosen or held, one at a time; by their ends
	std::vector<ScheduleMark> marks;            // deadlines, misses, used-up budgets, refusals
	u64 chosen_ns = 0, held_ns = 0;
	u32 holds = 0, ended = 0, missed = 0, budgets = 0, refused = 0; // within the recording
};

struct ScheduleTracks {
	std::vector<TaskTrack> tasks;    // in the order in which they appeared
	std::vector<ScheduleMark> marks; // of the policy: begins, ends, lost leases
	std::string policy;              // the last one's name; empty: none
};

// Times are cut to those of the recording.
ScheduleTracks schedule_tracks(const Timeline &t);
// Returns a table of the tasks; empty: there was no policy.
std::string schedule_tracks_text(const Timeline &t);

} // namespace tool
