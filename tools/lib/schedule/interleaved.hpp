// SPDX-License-Identifier: GPL-2.0
// Builds the runlist that NVIDIA's driver for Tegra makes of TSGs with interleaving levels, and computes the longest wait of
// each TSG. Needs no GPU.
//
// The algorithm (linux-nvgpu drivers/gpu/nvgpu/common/fifo/runlist.c, nvgpu_runlist_construct_locked() with interleaving
// on, the default; Capodieci et al., EMSOFT 2018, section 2): each TSG of a level is preceded by all TSGs of the levels
// above, so the list of
//   high    is all TSGs of this level, once
//   medium  is for each TSG of this level: high, then the TSG
//   low     is for each TSG of this level: medium, high, then the TSG
// If a level is empty, the list is that of the next level. TSGs of a level are in the order of their ids in the driver, and
// of the command line here. Each slot of a TSG is a header and its channels.
//
// The waits have the assumptions of the paper's bound: a TSG gets work just when its slot has ended, every other TSG always
// has work and uses its whole time slice, context switches take no time, and all TSGs are on one runlist.
#pragma once
#include "gpulens/gpu.h"

#include <string>
#include <vector>

namespace tool {

enum class Level { Low, Medium, High };

// Returns the level that a policy names; empty: low.
inline Level find_level(const std::string &text)
{
	return text == "high" ? Level::High : text == "medium" ? Level::Medium : Level::Low;
}

constexpr u32 DEFAULT_SLICE_US = 1024; // linux-nvgpu include/nvgpu/tsg.h NVGPU_TSG_TIMESLICE_DEFAULT_US
constexpr u32 MAX_TSG_CHANNELS = 128;  // NV_RAMRL_ENTRY_TSG_LENGTH_MAX; 32 up to Pascal
constexpr u32 DEFAULT_MAX_ENTRIES = LENS_MAX_ENTRIES;

struct SimulatedTsg {
	std::string name;
	Level level = Level::Low;
	u32 slice_us = DEFAULT_SLICE_US;
	u32 channels = 1;
};

// The share of a TSG. All 0 if there is no list.
struct Share {
	u64 slots = 0;           // number of slots on the list
	u64 longest_wait_us = 0; // from the end of a slot to the next one, across the end of the list
};

struct Simulation {
	std::vector<SimulatedTsg> tsgs;
	std::vector<Share> shares; // by index of tsgs
	u64 entries = 0;           // headers and channels of the list
	u32 max_entries = 0;
	bool overflows = false;    // there is no list, because it would have more entries
	std::vector<size_t> slots; // the list, by index of tsgs
	u64 round_us = 0;          // sum of the time slices of all slots
};

Simulation interleave_tsgs(std::vector<SimulatedTsg> tsgs, u32 max_entries = DEFAULT_MAX_ENTRIES);
// Returns the bound R of the paper's section 2 on the response time of a job of a TSG that needs the GPU for length_ns (C) and
// finds the earlier ones ended: it arrives right after a slot of its TSG, and all others always have work. switch_ns: of a context
// switch. The list must not overflow.
u64 bound_response_ns(const Simulation &s, size_t tsg, u64 length_ns, u64 switch_ns);

} // namespace tool
