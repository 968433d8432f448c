// SPDX-License-Identifier: GPL-2.0
// A short runlist of a chip, with the buffers that reading it needs. Byte 0 of the input selects the chip, byte 1 the
// id of the runlist, bytes 2 to 5 are its length.
#pragma once
#include "hw/fifo.h"
#include "hw/runlist.h"
#include "stream.hpp"

namespace fuzz {

class Lists {
public:
	static constexpr u32 LONGEST = 64;

	// Returns false if the chip has no readable runlists. Long lists find little and take long: they are made rare.
	bool start(Gpu &g, u32 usual_length = 7)
	{
		g.identify();
		if (!lens_gpu_has_host(&g.gpu))
			return false;
		lens_topology &topo = g.gpu.topo;
		topo.n_runlists = 1;
		rl = &topo.runlists[0];
		u32 ids = g.gpu.chip->runlists ? g.gpu.chip->runlists : 1;
		topo.runlists[0] = {};
		topo.runlists[0].id = static_cast<u16>(g.stream.take<uint8_t>() % ids);
		topo.runlists[0].channels = 2048;
		topo.runlists[0].base = 0xc00000;
		topo.runlists[0].chram = 0xb00000;
		// The length is in bits 15:0 of each of the three registers.
		u32 length = g.stream.take<u32>();
		length &= length >> 24 == 0xff ? ~(0xffffU - (LONGEST - 1)) : ~(0xffffU - usual_length);
		g.set_register(NV_PFIFO_ENG_RUNLIST(rl->id), length);
		g.set_register(NV_PFIFO_RUNLIST_SUBMIT(rl->id), length);
		g.set_register(rl->base + NV_RUNLIST_SUBMIT, length);
		return true;
	}

	// Reads the list as the module does, with room for the length that was read first, and its contexts if asked.
	int collect(lens_gpu &gpu, bool contexts)
	{
		snap = {};
		snap.rl = rl;
		int err = lens_runlist_begin(&gpu, &snap);
		if (err || snap.regs.length > LONGEST)
			return err ? err : -E2BIG;
		u32 cap = snap.regs.length;
		snap.cap = cap;
		snap.entries = reinterpret_cast<u32 *>(entries_.get(size_t{cap} * gpu.chip->entry_words / 2));
		snap.state = state_.get(size_t{cap} * 2);
		snap.err = errs_.get(cap);
		err = lens_runlist_collect(&gpu, &snap);
		if (err || !contexts)
			return err;
		if (cache_.used)
			cache_ = {};
		snap.cache = &cache_;
		snap.context = context_.get(cap);
		return lens_contexts_collect(&gpu, &snap);
	}

	const lens_runlist *rl = nullptr;
	lens_runlist_snap snap{};

private:
	Room<u64, LONGEST * 2> entries_;
	Room<u32, LONGEST * 2> state_;
	Room<s16, LONGEST> errs_;
	Room<lens_context, LONGEST> context_;
	lens_walk_cache cache_{};
};

} // namespace fuzz
