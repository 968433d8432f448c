// SPDX-License-Identifier: GPL-2.0
// How ENGINE_STATUS, PBDMA_STATUS and ga100's registers show a runlist's phase. From ga100 on the codes of LOAD and
// SAVE are swapped: DOC turing/tu104/dev_fifo.ref.txt NV_PFIFO_ENGINE_STATUS, ampere/ga100/dev_runlist.ref.txt
// ENGINE_STATUS0.
#pragma once
#include "model/bits.hpp"
#include "model/host.hpp"

namespace emu {

struct Occupancy {
	bool cur = false, nxt = false; // this engine (or PBDMA) belongs to rl.now, rl.next
	unsigned ctx_status = 0;
	bool busy = false;
};

// cur, nxt: whether the unit looked at is used by rl.now, rl.next.
inline Occupancy find_occupancy(const Runlist &rl, bool cur, bool nxt, bool ampere)
{
	const unsigned VALID = 1, LOAD = ampere ? 6 : 5, SAVE = ampere ? 5 : 6, SWITCH = 7;
	Occupancy o;
	switch (rl.phase) {
	case Phase::Invalid: break;
	case Phase::Valid:
		o.cur = cur;
		o.ctx_status = cur ? VALID : 0;
		break;
	case Phase::Switch:
		o.cur = cur, o.nxt = nxt;
		o.ctx_status = cur && nxt ? SWITCH : cur ? SAVE : 0;
		break;
	case Phase::Save:
		o.cur = cur, o.nxt = nxt && cur;
		o.ctx_status = cur ? SAVE : 0;
		break;
	case Phase::Load:
		o.nxt = nxt;
		o.ctx_status = nxt ? LOAD : 0;
		break;
	}
	o.busy = o.ctx_status != 0;
	return o;
}

inline Occupancy engine_occupancy(const Runlist &rl, unsigned slot, bool ampere)
{
	return find_occupancy(rl, rl.now.set && get_bit(rl.now.slots, slot),
			      rl.next.set && get_bit(rl.next.slots, slot), ampere);
}

inline Occupancy pbdma_occupancy(const Runlist &rl, unsigned q, bool ampere)
{
	return find_occupancy(rl, rl.now.set && rl.now.chid[q] >= 0, rl.next.set && rl.next.chid[q] >= 0, ampere);
}

// ID 11:0, ID_TYPE 12, CTX_STATUS 15:13, NEXT_ID 27:16, NEXT_ID_TYPE 28, ENGINE 31. From ga100 on the two type
// bits are not there: everything is a TSG.
inline u32 status_word(const Tenant &now, const Tenant &next, const Occupancy &o, bool ampere)
{
	u32 w = put_bits(15, 13, o.ctx_status) | put_bits(31, 31, o.busy);
	if (o.cur)
		w |= put_bits(11, 0, now.id) | (ampere ? 0 : put_bits(12, 12, !now.bare));
	if (o.nxt)
		w |= put_bits(27, 16, next.id) | (ampere ? 0 : put_bits(28, 28, !next.bare));
	return w;
}

inline u32 engine_status_word(const Runlist &rl, unsigned slot, const Occupancy &o, bool ampere)
{
	return status_word(rl.now.on_engine(slot), rl.next.on_engine(slot), o, ampere);
}

inline u32 pbdma_status_word(const Runlist &rl, unsigned q, const Occupancy &o, bool ampere)
{
	return status_word(rl.now.on_pbdma(q), rl.next.on_pbdma(q), o, ampere);
}

// Where channel chid of this runlist is.
struct Place {
	bool on_pbdma = false, on_eng = false;
};

inline Place find_place(const Runlist &rl, u32 chid)
{
	auto in = [&](const Timeslice &t) { return t.set && (t.chid[0] == int(chid) || t.chid[1] == int(chid)); };
	switch (rl.phase) {
	case Phase::Valid: return {in(rl.now), in(rl.now)};
	case Phase::Switch: return {in(rl.now), in(rl.now)};
	case Phase::Save: return {false, in(rl.now)};
	case Phase::Load: return {in(rl.next), false};
	default: return {};
	}
}

} // namespace emu
