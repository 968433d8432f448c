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
#include "model.hpp"
#include "plan/task_file.hpp"
#include "plan/tpc_mask.hpp"

#include <vector>

namespace tool::plan {

struct GpcTpcs {
	u32 gpc = 0;           // physical, where the source tells it, else the driver's number
	std::vector<u32> tpcs; // logical numbers, ascending

	bool operator==(const GpcTpcs &) const = default;
};

struct GpcMap {
	u32 tpcs = 0; // enabled, of all GPCs
	std::vector<GpcTpcs> gpcs;

	const GpcTpcs *find(u32 gpc) const; // nullptr: there is no such GPC
	std::vector<u32> numbers() const;   // of the GPCs, in order
	bool operator==(const GpcMap &) const = default;
};

enum class Placing { Packed, Distributed };

// Logical numbers are those of tpc_map (docs/proc.md) where the source tells them; of NVIDIA's driver they are the
// order of TPCs by their first SM's %smid, which is assumed. Throws SourceError where the GPU's GPCs are not known.
GpcMap gpc_map(const Gpu &gpu);

// What is reserved of the GPU. Throws BadInput: a GPC or a TPC that there is none of, one TPC reserved twice; file is
// the name of the file that reserves.
TpcMask reserved_tpcs(const std::vector<Reserved> &reserved, const GpcMap &map, const std::string &file);

// A mask of each size, in the order of sizes; disjoint, and apart from taken. There must be that many TPCs.
std::vector<TpcMask> place(const GpcMap &map, const TpcMask &taken, const std::vector<u32> &sizes, Placing how);

// The GPCs that a mask has TPCs of.
std::vector<u32> gpcs_of(const GpcMap &map, const TpcMask &mask);

const char *placing_name(Placing how);

} // namespace tool::plan
