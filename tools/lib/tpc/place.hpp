// SPDX-License-Identifier: GPL-2.0
// Chooses the TPCs of partitions whose sizes are given. Singh's thesis stops at the sizes.
//
// The TPCs of a GPC share its port to L2 and memory (RTAS'23, Fig. 5 and section VI-D), so partitions in the same GPC
// disturb each other. There are two strategies:
//   packed       If a partition fits into one GPC, it goes where the fewest TPCs are left over. A larger partition
//                takes whole GPCs first, and its rest is placed in the same way. Few GPCs have two partitions, so
//                partitions disturb each other least.
//   distributed  A partition takes TPCs evenly from as many GPCs as possible, so it uses the most ports.
// The largest partition is placed first. Both strategies are heuristics of this project, not optimal.
#pragma once
#include "lib/tpc/gpc_map.hpp"
#include "lib/tpc/tpc_mask.hpp"

#include <vector>

namespace tool::plan {

enum class Placing { Packed, Distributed };

// Returns a mask for each size, in the order of sizes. The masks are disjoint and have no taken TPC. The sum of the
// sizes must not exceed the number of free TPCs.
std::vector<TpcMask> place_partitions(const GpcMap &map, const TpcMask &taken, const std::vector<u32> &sizes,
				      Placing placing);

const char *placing_name(Placing placing);

} // namespace tool::plan
