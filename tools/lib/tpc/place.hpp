// SPDX-License-Identifier: GPL-2.0
// Sizes of partitions onto the TPCs of a real GPU: the half that Singh's thesis leaves out, which stops at counts.
//
// TPCs of one GPC share its port to L2 and memory (RTAS'23, Fig. 5 and section VI-D), so that who is in one GPC with
// whom matters:
//   packed       a partition that fits into one GPC goes where the least is left over; a larger one takes whole GPCs
//                first, and so on with its rest: few GPCs with two partitions in them, so that partitions disturb each
//                other least
//   distributed  a partition takes TPCs from as many GPCs as it can, evenly: most ports for each
// Larger partitions come first. Both are heuristics of this project; there is no optimum behind them.
#pragma once
#include "lib/tpc/gpc_map.hpp"
#include "lib/tpc/tpc_mask.hpp"

#include <vector>

namespace tool::plan {

enum class Placing { Packed, Distributed };

// A mask of each size, in the order of sizes; disjoint, and apart from taken. There must be that many TPCs.
std::vector<TpcMask> place(const GpcMap &map, const TpcMask &taken, const std::vector<u32> &sizes, Placing how);

const char *placing_name(Placing how);

} // namespace tool::plan
