// SPDX-License-Identifier: GPL-2.0
// Plays a plan: simulates the jobs of each partition, one at a time, by the rule of the plan's test. All tasks release
// their first job at once and then one each period. Exact times in nanoseconds.
#pragma once
#include "gpulens/plan/plan.hpp"
#include "gpulens/plan/samples.hpp"

#include <optional>
#include <vector>

namespace tool::plan {

struct PlayedSpan {
	u32 task; // index
	u64 from_ns, to_ns;
};

struct PlayedJob {
	u32 task;
	u64 release_ns, deadline_ns; // both from the beginning
	u64 end_ns;                  // NEVER: not before the end of the play

	// Returns whether its deadline passed before its end, and before the play's.
	bool is_missed(u64 now_ns) const { return deadline_ns < (end_ns == NEVER ? now_ns : end_ns); }
};

struct PlayedTask {
	u64 jobs = 0, missed = 0;       // jobs: that ended
	u64 total_ns = 0, worst_ns = 0; // response times of those
};

struct Play {
	u64 end_ns = 0;
	bool measured = false;         // times are drawn from measured ones; otherwise each job takes its planned time
	std::vector<PlayedTask> tasks; // by task of the plan
	std::vector<PlayedSpan> spans; // by their ends, partition after partition
	std::vector<PlayedJob> jobs;   // likewise

	u64 missed() const;
};

constexpr u64 MAX_PLAYED_JOBS = 1000000;

// plan: that fits. measured: of sweep, or none; a job of a task that has times alone takes the planned time by one of
// these, drawn at random (the same each time), divided by the longest of them, on as many TPCs as its partition has or
// the next smaller size. Throws Error (Input) for a task without times, or more than MAX_PLAYED_JOBS jobs.
Play play_plan(const Plan &plan, const std::vector<Samples> &measured, u64 end_ns);

std::string play_text(const Plan &plan, const Play &play, const Style &style);
nlohmann::ordered_json play_json(const Plan &plan, const Play &play);
// Returns an SVG file of a plan that fits: the TPCs of each GPC with the partitions that have them, where they are placed; and
// of a play a row for each task, partition after partition, with what ran when, deadlines and misses, of the first two of
// the longest period.
std::string plan_svg(const Plan &plan, const std::optional<Play> &play);

} // namespace tool::plan
