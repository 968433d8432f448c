// SPDX-License-Identifier: GPL-2.0
// What became of a plan that programs carry out by libgpulens-partition: gpulens plan status.
#pragma once
#include "gpulens/gpu.h"
#include "gpulens/out/table.hpp"

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace tool::plan {

struct TaskStatus {
	std::string name;
	u64 partition = 0;
	u64 time_ns = 0, deadline_ns = 0; // of the plan
	u64 jobs = 0, waits = 0, overruns = 0, misses = 0, deaths = 0, longest_wait_ns = 0, longest_run_ns = 0;
	std::vector<u64> running, waiting; // processes
};

// text, name: contents and name of the plan. Reads what processes have shared meanwhile. Throws Error: Input as
// read_plan(); Source if no process has carried out the plan.
std::vector<TaskStatus> read_status(const std::string &text, const std::string &name);
std::string status_text(const std::vector<TaskStatus> &tasks, const Style &style);
nlohmann::ordered_json status_json(const std::vector<TaskStatus> &tasks);

} // namespace tool::plan
