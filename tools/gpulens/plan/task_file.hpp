// SPDX-License-Identifier: GPL-2.0
// Parses TASKS.json (docs/plan.md): tasks, and reserved TPCs.
#pragma once
#include "gpulens/plan/task.hpp"
#include "lib/tpc/gpc_map.hpp"

#include <string>
#include <vector>

namespace tool::plan {

// TPCs that no partition may have, given as a mask, as TPCs or as GPCs.
struct Reserved {
	std::string name;
	std::vector<u32> tpcs; // from a mask or a list
	std::vector<u32> gpcs; // physical numbers; instead of tpcs
};

struct TaskFile {
	std::vector<Task> tasks; // never empty
	std::vector<Reserved> reserved;
};

// text, name: contents and name of the file. tpcs: length of the curves. Throws Error (Input).
TaskFile parse_tasks(const std::string &text, const std::string &name, u32 tpcs);
// Returns the reserved TPCs. file: name of the task file, for messages. Throws Error (Input) if a GPC or TPC does not
// exist, or a TPC is reserved twice.
TpcMask find_reserved(const std::vector<Reserved> &reserved, const GpcMap &map, const std::string &file);

} // namespace tool::plan
