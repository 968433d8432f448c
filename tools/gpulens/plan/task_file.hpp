// SPDX-License-Identifier: GPL-2.0
// TASKS.json, as docs/plan.md describes it: tasks, and TPCs that somebody else has.
#pragma once
#include "gpulens/plan/task.hpp"

#include <string>
#include <vector>

namespace tool::plan {

// TPCs that partitions stay away from, by one of the three.
struct Reserved {
	std::string name;
	std::vector<u32> tpcs; // of a mask or a list
	std::vector<u32> gpcs; // physical numbers
};

struct TaskFile {
	std::vector<Task> tasks; // never empty; curves up to the tpcs that were asked for
	std::vector<Reserved> reserved;
};

// From the file's text; name: of the file, for messages. Throws BadInput.
TaskFile parse_tasks(const std::string &text, const std::string &name, u32 tpcs);

} // namespace tool::plan
