// SPDX-License-Identifier: GPL-2.0
// The TPCs that a task file reserves.
#pragma once
#include "gpulens/plan/task_file.hpp"
#include "lib/tpc/gpc_map.hpp"

#include <string>
#include <vector>

namespace tool::plan {

// Returns the reserved TPCs. file: name of the task file, for messages. Throws Error (Input) if a GPC or TPC does not
// exist, or a TPC is reserved twice.
TpcMask find_reserved(const std::vector<Reserved> &reserved, const GpcMap &map, const std::string &file);

} // namespace tool::plan
