// SPDX-License-Identifier: GPL-2.0
// The logical TPCs of each GPC.
#pragma once
#include "lib/model/model.hpp"
#include "lib/tpc/tpc_mask.hpp"

#include <vector>

namespace tool::plan {

struct GpcTpcs {
	u32 gpc = 0;           // physical number, or the driver's logical one if the source does not report it
	std::vector<u32> tpcs; // logical numbers, ascending

	bool operator==(const GpcTpcs &) const = default;
};

// How TPCs are numbered. On a chip that does not number TPCs GPC by GPC, as GH100, the two differ.
enum class TpcNumbering {
	ByGpc,  // GPC by GPC, as tpc_map has them (docs/proc.md)
	BySmid, // in the order of the %smid of their first SM, as masks (gpulens-partition.h) and gpulens run take them
};
// "gpc", "smid"
const char *numbering_name(TpcNumbering numbering);

struct GpcMap {
	u32 tpcs = 0; // enabled TPCs of the GPU
	std::vector<GpcTpcs> gpcs;
	TpcNumbering numbering = TpcNumbering::ByGpc;

	// Returns nullptr if there is no such GPC.
	const GpcTpcs *find(u32 gpc) const;
	// Returns the numbers of all GPCs, in the order of gpcs.
	std::vector<u32> gpc_numbers() const;
	bool operator==(const GpcMap &) const = default;
};

// Returns the map of a GPU. TPCs are numbered in the order of the %smid of their first SM if the driver reports the SMs, or
// the hardware's table of TPCs could be read; otherwise GPC by GPC. GPCs of the hardware's table have the driver's numbers.
// Throws Error (Source) if the GPU's GPCs are not known, or TPCs are only counted (counted_gpcs).
GpcMap gpc_map(const Gpu &gpu);

// Returns the numbers of the GPCs that have a TPC in the mask, in the order of the map.
std::vector<u32> gpcs_of(const GpcMap &map, const TpcMask &mask);

} // namespace tool::plan
