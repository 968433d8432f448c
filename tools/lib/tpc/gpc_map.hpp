// SPDX-License-Identifier: GPL-2.0
// Which logical TPC is in which GPC.
#pragma once
#include "lib/model/model.hpp"
#include "lib/tpc/tpc_mask.hpp"

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

// Logical numbers are those of tpc_map (docs/proc.md) where the source tells them; of NVIDIA's driver they are the
// order of TPCs by their first SM's %smid, which is assumed. Throws SourceError where the GPU's GPCs are not known.
GpcMap gpc_map(const Gpu &gpu);

// The GPCs that a mask has TPCs of.
std::vector<u32> gpcs_of(const GpcMap &map, const TpcMask &mask);

} // namespace tool::plan
