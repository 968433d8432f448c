// SPDX-License-Identifier: GPL-2.0
// TPCs that a file of tasks reserves.
#pragma once
#include "gpulens/plan/task_file.hpp"
#include "lib/tpc/gpc_map.hpp"

#include <string>
#include <vector>

namespace tool::plan {

// What is reserved of the GPU. Throws BadInput: a GPC or a TPC that there is none of, one TPC reserved twice; file is
// the name of the file that reserves.
TpcMask reserved_tpcs(const std::vector<Reserved> &reserved, const GpcMap &map, const std::string &file);

} // namespace tool::plan
