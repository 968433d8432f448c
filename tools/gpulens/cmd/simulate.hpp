// SPDX-License-Identifier: GPL-2.0
// The runlist that NVIDIA's driver for Tegra builds of TSGs with interleaving levels, without any GPU, and how long each
// of them waits in it at worst.
//
// The algorithm (linux-nvgpu drivers/gpu/nvgpu/common/fifo/runlist.c, nvgpu_runlist_construct_locked() with interleaving
// on, as it is by default; Capodieci et al., EMSOFT 2018, section 2): before each TSG of a level stand all TSGs of the
// levels above, so that
//   high    all TSGs of this level, once
//   medium  for each of this level: high, then that TSG
//   low     for each of this level: medium, high, then that TSG
// and where a level is empty the list is that of the next one. Within a level TSGs keep their order, which is the
// one of their ids there and the one of the command line here. A TSG is a header and its channels on the list, each time.
//
// The waits assume what the paper's bound does: a TSG gets work just when its turn has ended, and every other one always
// has work and uses up its slice. Changing over takes no time, nothing is preempted late, and all are on one runlist.
#pragma once
#include "gpulens/gpu.h"

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace tool {

enum class Level { Low, Medium, High };

constexpr u32 DEFAULT_SLICE_US = 1024; // linux-nvgpu include/nvgpu/tsg.h NVGPU_TSG_TIMESLICE_DEFAULT_US
constexpr u32 MAX_TSG_CHANNELS = 128;  // NV_RAMRL_ENTRY_TSG_LENGTH_MAX; 32 up to Pascal
constexpr u32 DEFAULT_MAX_ENTRIES = LENS_MAX_ENTRIES;

struct SimulatedTsg {
	std::string name;
	Level level = Level::Low;
	u32 slice_us = DEFAULT_SLICE_US;
	u32 channels = 1;
};

// What one of them has of the list. All 0 where there is no list.
struct Share {
	u64 turns = 0;           // how often it is on the list
	u64 longest_wait_us = 0; // from the end of a turn to its next one, going round
};

struct Simulation {
	std::vector<SimulatedTsg> tsgs;
	std::vector<Share> shares; // of each of tsgs
	u64 entries = 0;           // headers and channels of the whole list
	u32 max_entries = 0;
	bool overflows = false;    // there is no list: it would have more entries than that
	std::vector<size_t> turns; // the list: whose header and channels come, as index of tsgs
	u64 round_us = 0;          // all slices of the list
};

Simulation simulate(std::vector<SimulatedTsg> tsgs, u32 max_entries = DEFAULT_MAX_ENTRIES);

// NAME:LEVEL[:SLICE_US[:CHANNELS]] a word. Throws Error, which says which word is wrong and why.
std::vector<SimulatedTsg> parse_tsgs(const std::vector<std::string> &words);

std::string simulate_text(const Simulation &s);
nlohmann::ordered_json simulate_json(const Simulation &s);

} // namespace tool
