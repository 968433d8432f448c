// SPDX-License-Identifier: GPL-2.0
// A runlist in GPU memory as Host fetches it: raw entries -> TSGs and channels, up to the first entry that hardware
// would refuse. Fields and sources: emulator/README.md, "Runlist entries".
#pragma once
#include "model/memory.hpp"

#include <string>

namespace emu {

struct ListChannel {
	u32 id = 0;
	unsigned runqueue = 0;
	Phys inst, userd; // 16-byte entries only
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
