// SPDX-License-Identifier: GPL-2.0
// Masks of compute units (CUs) of AMD's GPUs: which CU a bit stands for, masks for partitions, and masks that make every
// kernel slow. Never seen on a GPU.
//
// Sources: bits, as the kernel's driver spreads them, torvalds/linux drivers/gpu/drm/amd/amdkfd/kfd_mqd_manager.c,
// mqd_symmetrically_map_cu_mask(): bits go to shader engines (SEs) first, then to the shader arrays of each, then to the next
// CU, and arrays with fewer CUs are left out; fused-off CUs count from the end of an array. That is so up to GFX9 (GCN, CDNA
// with one die); from GFX10 on the driver enables CUs in pairs, and GPUs of several dies split a mask among these: both
// are refused where the topology tells. Topology: kfd_topology.c, node_show().
//
// The cost of a mask: N. Otterness, dissertation, University of North Carolina, 2022, section 4.2: the blocks of a
// kernel are dealt to all SEs with an enabled CU in turn, whatever these have. So the SE with the fewest CUs decides.
#pragma once
#include "gpulens/gpu.h"
#include "lib/tpc/place.hpp"

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace tool {

constexpr u32 MAX_SES = 32, MAX_ARRAYS = 2, MAX_CUS = 16; // of a GPU, of an SE, of an array: the bits of se_mask

// The CUs of each array of each SE.
struct CuLayout {
	std::vector<std::vector<u32>> cus; // by SE and array
	std::string source;                // for the user

	u32 count() const;
};

// What a bit of a mask stands for.
struct Cu {
	u32 se, array, number;
};

// Parses "15,15,15,15" (CUs of each SE) or "8+8,8+7" (of each array). Throws Error (Input).
CuLayout parse_cu_layout(const std::string &text);
// Reads /sys/class/kfd/kfd/topology/nodes/N/properties. text, name: its contents and name. Throws Error: Input for another file;
// Absent if the node is no GPU, has fused-off CUs, whose arrays the file does not tell, CUs in pairs, or several dies.
CuLayout read_cu_layout(const std::string &text, const std::string &name);
// Returns the CU of each bit.
std::vector<Cu> list_cus(const CuLayout &layout);

using CuMask = std::vector<bool>; // by bit

// Makes disjoint masks. Packed: an SE is filled before the next one; distributed: one CU of each SE in turn. Throws Error
// (Input) if there are too few CUs.
std::vector<CuMask> make_cu_masks(const CuLayout &layout, const std::vector<u32> &sizes, plan::Placing placing);
// Parses 0x and digits, or 32-bit words with commas as HIP takes them, lowest first. Throws Error (Input).
CuMask parse_cu_mask(const CuLayout &layout, const std::string &text);

struct CuMaskCost {
	std::vector<u32> by_se; // enabled CUs
	u32 cus = 0;
	double slowdown = 1; // time of a kernel of many blocks, against all CUs
	double best = 1;     // the same if all SEs with an enabled CU had as many
};
CuMaskCost cost_of(const CuLayout &layout, const CuMask &mask);

// "0x3,0x0": words as HIP takes them.
std::string cu_words(const CuMask &mask);
std::string cu_masks_text(const CuLayout &layout, const std::vector<CuMask> &masks);
nlohmann::ordered_json cu_masks_json(const CuLayout &layout, const std::vector<CuMask> &masks);

} // namespace tool
