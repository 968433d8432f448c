// SPDX-License-Identifier: GPL-2.0
// Reads a plan, the output of gpulens plan --json: the TPCs of a task, or all that is needed to carry the plan out.
#pragma once
#include "gpulens/gpu.h"
#include "lib/turns/turn_file.hpp"

#include <optional>
#include <string>
#include <vector>

namespace tool::plan {

constexpr u32 MAX_TASKS = 10000; // of a plan
constexpr u32 MAX_TPCS = 1024;   // of a GPU; no chip has a fifth of that

// What a schedulability test of gpulens plan, by its name, takes for granted; nothing for another word.
struct TestRule {
	bool preempts; // a job at any time, which no program can do to its own
	turns::Order order;
};
std::optional<TestRule> rule_of_test(const std::string &test);

// Where a plan places a task.
struct PlannedTask {
	std::string device;          // PCI address of the GPU
	std::vector<u32> tpcs, gpcs; // ascending; TPCs in the order of %smid, GPCs by physical number
	bool on_mps = false;         // programs are to run at the same time, under MPS
};

// text, name: contents and name of the plan. Throws Error: Input for another file, a plan that does not fit, is for no
// GPU, or numbers TPCs in another way than gpulens run; Absent for an unknown task, with the names of all tasks.
PlannedTask find_planned_task(const std::string &text, const std::string &name, const std::string &task);

// A plan to be carried out.
struct PlanFile {
	std::string device;                  // empty: of no GPU in particular
	std::vector<PlannedTask> partitions; // TPCs are empty unless `placed` was asked for
	turns::Rules rules;                  // a queue for each partition; tasks in the plan's order
	bool kernels = false;                // jobs may be preempted between kernels
	// Name of the file by which processes take turns: one for each GPU.
	std::string turns_name() const;
};

// placed: TPCs are wanted, in the order of %smid. Throws Error (Input) as find_planned_task(), and for a plan by a test
// that takes jobs to be preempted at any time, if two tasks share a partition.
PlanFile read_plan(const std::string &text, const std::string &name, bool placed);

} // namespace tool::plan
