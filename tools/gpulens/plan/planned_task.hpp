// SPDX-License-Identifier: GPL-2.0
// Reads the TPCs of a task from a plan, the output of gpulens plan --json.
#pragma once
#include "gpulens/gpu.h"

#include <string>
#include <vector>

namespace tool::plan {

// Where a plan places a task.
struct PlannedTask {
	std::string device;          // PCI address of the GPU
	std::vector<u32> tpcs, gpcs; // ascending; TPCs in the order of %smid, GPCs by physical number
};

// text, name: contents and name of the plan. Throws Error: Input for another file, a plan that does not fit, is for no
// GPU, or numbers TPCs in another way than gpulens run; Absent for an unknown task, with the names of all tasks.
PlannedTask find_planned_task(const std::string &text, const std::string &name, const std::string &task);

} // namespace tool::plan
