// SPDX-License-Identifier: GPL-2.0
// What gpulens schedule does with every back end: its loop, and the summary at its end.
#pragma once
#include "gpulens/cmd/schedule.hpp"
#include "gpulens/cmd/schedule_steps.hpp"
#include "lib/schedule/coordinator.hpp"

#include <functional>
#include <nlohmann/json.hpp>
#include <string>

namespace tool {

// A line for each task whose present job is after its deadline. tasks: an array of objects with name and late_now_ns.
std::string late_text(const nlohmann::ordered_json &tasks);

// Returns "5.000 ms of each 10.000 ms, soft server".
std::string describe_task(schedule::Policy policy, const schedule::Task &task);
// Returns what was done, $defs/summary of docs/schedule-schema.json.
nlohmann::ordered_json summary_json(const schedule::Coordinator &coordinator, schedule::Policy policy);
// Looks, decides and acts until a signal or the end of its time. steps: get what was done. check: called before each look; it
// and this throw Error.
void run_coordinator(schedule::Coordinator &coordinator, schedule::Backend &backend, const ScheduleOptions &options,
		     ScheduleSteps &steps, const std::function<void()> &check);
// Prints what was done, and the failure unless it is empty. Returns the exit status.
int show_summary(const Options &options, const schedule::Coordinator &coordinator, schedule::Policy policy,
		 const std::string &failure);

} // namespace tool
