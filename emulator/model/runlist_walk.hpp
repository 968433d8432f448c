// SPDX-License-Identifier: GPL-2.0
// A runlist in GPU memory as Host fetches it: raw entries -> TSGs and channels. Stops at the first entry that
// hardware would refuse and says why; schedules nothing.
//
//   8-byte entries (Kepler .. Pascal), linux-nvgpu hw_ram_gk20a.h / hw_ram_gp106.h ram_rl_entry_*:
//     word 0  ID 11:0, TYPE_TSG 13, TSG: SCALE 17:14, TIMEOUT 25:18, LENGTH 31:26; channel: runqueue 14
//   16-byte entries (Volta ..), DOC turing/tu104 and ampere/ga100 dev_ram.ref.txt NV_RAMRL_ENTRY_*:
//     TSG      w0 TYPE 0 = 1, SCALE 19:16, TIMEOUT 31:24; w1 LENGTH 7:0; w2 TSGID 11:0
//     channel  w0 TYPE 0 = 0, RUNQUEUE 1, INST_TARGET 5:4; w2 CHID 11:0, INST_PTR_LO 31:12; w3 INST_PTR_HI
#pragma once
#include "model/memory.hpp"

#include <string>

namespace emu {

struct ListChannel {
	u32 id = 0;
	unsigned runqueue = 0;
	Phys inst; // 16-byte entries only
};

struct ListTsg {
	u32 id = 0;
	bool bare = false; // a channel outside any TSG (8-byte format only)
	u32 timeout = 0, scale = 0;
	u32 entry = 0; // index of the header on the list
	std::vector<ListChannel> channels;

	// (TIMEOUT << SCALE) * 1024 ns; zero counts as one (DOC ga100 dev_ram.ref.txt, TSG text).
	u64 timeslice_ns() const
	{
		u64 t = u64(timeout) << scale;
		return (t ? t : 1) * 1024;
	}
};

struct WalkedList {
	std::vector<ListTsg> tsgs;
	unsigned error = 0; // NV_RUNLIST_INTR_BAD_TSG_CODE values, 0: none
};

WalkedList walk_runlist(const Memories &mem, Phys base, u32 length, unsigned entry_bytes, u32 id_mask);

} // namespace emu
