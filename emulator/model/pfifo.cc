// SPDX-License-Identifier: GPL-2.0
// PFIFO registers; the list with sources is in pfifo.hpp and in README.md.
#include "model/pfifo.hpp"

#include "model/status.hpp"

namespace emu {

namespace {

// DOC turing/tu104/dev_fifo.ref.txt NV_PFIFO_INTR_0
constexpr u32 INTR_0_SCHED_ERROR = 1u << 8, INTR_0_TSG_PREEMPT_COMPLETE = 1u << 28, INTR_0_RUNLIST_EVENT = 1u << 30,
	      INTR_0_CHANNEL_INTR = 1u << 31;
constexpr u32 INTR_0_MMU_FAULT = 1u << 28; // up to Pascal: nouveau engine/fifo/gk104.c

} // namespace

void Pfifo::reset()
{
	runlist_base_ = runlist_ = preempt_ = 0;
	intr_runlist_ = intr_0_ = intr_en_0_ = intr_mask_ = 0;
}

void Pfifo::reset_interrupts()
{
	intr_0(); // takes what the runlists and channels have to report
	host_.mmu_faults = 0;
	intr_runlist_ = intr_0_ = intr_en_0_ = intr_mask_ = 0;
}

const Runlist *Pfifo::runlist_of_engine(unsigned engine_id, unsigned *slot) const
{
	for (const auto &e : profile_.engines)
		if (e.engine_id == int(engine_id) && e.runlist >= 0) {
			*slot = e.rleng;
			return host_.runlist(e.runlist);
		}
	return nullptr;
}

// A PBDMA may serve several runlists (Pascal); then the first one that has a channel on it is shown.
const Runlist *Pfifo::runlist_of_pbdma(unsigned pbdma, unsigned *queue) const
{
	const Runlist *found = nullptr;
	for (const auto &rl : host_.runlists())
		for (unsigned q = 0; q < rl.info.pbdmas.size(); q++) {
			if (rl.info.pbdmas[q] != pbdma)
				continue;
			bool active = pbdma_occupancy(rl, q, false).busy;
			if (!found || active)
				found = &rl, *queue = q;
			if (active)
				return found;
		}
	return found;
}

u32 Pfifo::engine_word(unsigned engine_id) const
{
	unsigned slot;
	const Runlist *rl = runlist_of_engine(engine_id, &slot);
	return rl ? engine_status_word(*rl, slot, engine_occupancy(*rl, slot, false), false) : 0;
}

u32 Pfifo::pbdma_word(unsigned pbdma) const
{
	unsigned q;
	const Runlist *rl = runlist_of_pbdma(pbdma, &q);
	if (!rl)
		return 0;
	// no busy bit: 31 is not a field of PBDMA_STATUS
	return pbdma_status_word(*rl, q, pbdma_occupancy(*rl, q, false), false) & ~(1u << 31);
}

namespace {

// PTR 27:0 = address >> 12, TARGET 29:28, VALID 31
u32 inst_word(Phys inst, bool valid)
{
	return valid ? put_bits(27, 0, inst.addr >> 12) | put_bits(29, 28, unsigned(inst.ap)) | 1u << 31 : 0;
}

} // namespace

u32 Pfifo::engine_inst(unsigned engine_id, bool next) const
{
	unsigned slot;
	const Runlist *rl = runlist_of_engine(engine_id, &slot);
	if (!rl)
		return 0;
	Occupancy o = engine_occupancy(*rl, slot, false);
	const Timeslice &t = next ? rl->next : rl->now;
	return inst_word(t.inst_of_engine(slot), next ? o.nxt : o.cur);
}

u32 Pfifo::pbdma_inst(unsigned pbdma) const
{
	unsigned q;
	const Runlist *rl = runlist_of_pbdma(pbdma, &q);
	return rl ? inst_word(rl->now.inst[q], pbdma_occupancy(*rl, q, false).cur) : 0;
}

// Events of the runlists become bits of PFIFO's interrupt words.
u32 Pfifo::intr_0()
{
	for (auto &rl : host_.runlists()) {
		if (rl.intr & INTR_BAD_TSG)
			intr_0_ |= INTR_0_SCHED_ERROR;
		if (rl.intr & INTR_TSG_PREEMPT_COMPLETE && !profile_.traits.runlist_readback)
			intr_0_ |= INTR_0_TSG_PREEMPT_COMPLETE;
		if (rl.submits && !rl.submit_pending)
			intr_runlist_ |= 1u << rl.info.id, rl.submits = 0;
		rl.intr = 0;
	}
	if (host_.channel_interrupt)
		intr_0_ |= INTR_0_CHANNEL_INTR;
	host_.channel_interrupt = false;
	bool faulted = host_.mmu_faults && !profile_.traits.host_volta;
	u32 hidden = INTR_0_TSG_PREEMPT_COMPLETE & ~intr_mask_;
	return (intr_0_ & ~hidden) | (faulted ? INTR_0_MMU_FAULT : 0) | (intr_runlist_ ? INTR_0_RUNLIST_EVENT : 0);
}

bool Pfifo::read(u32 off, u32 &v)
{
	auto in = [&](u32 base, u32 stride, u32 n) {
		return off >= base && off < base + stride * n && (off - base) % stride == 0;
	};
	v = 0;
	switch (off) {
	case 0x2004:
		v = put_bits(7, 0, profile_.num_pbdma) | put_bits(23, 16, profile_.pbdma_fault_id);
		return profile_.traits.host_cfg;
	case 0x2008: v = profile_.channels; return profile_.traits.host_cfg;
	case 0x200c: v = profile_.host_class; return profile_.traits.host_volta;
	case 0x2100: v = intr_0(); return true;
	case 0x2140: v = intr_en_0_; return true;
	case 0x2180: // NV_PFIFO_INTR_0_MASK_SET, MASK_CLEAR: Turing's. That INTR_0 keeps and hides what is not set is assumed
	case 0x21c0: v = intr_mask_; return !profile_.traits.runlist_readback;
	case 0x254c: // NV_PFIFO_INTR_SCHED_ERROR: CODE 7:0
		for (const auto &rl : host_.runlists())
			if (rl.list.error)
				v = 0x20; // BAD_TSG
		return true;
	case 0x2630:
		for (const auto &rl : host_.runlists())
			v |= u32(rl.sched_disabled) << rl.info.id;
		return true;
	case 0x2634: {
		bool pending = false;
		for (const auto &rl : host_.runlists())
			pending |= rl.tsg_preempt_pending;
		v = preempt_ | put_bits(20, 20, pending);
		return true;
	}
	case 0x2638: // gv100 and Turing only; bits of finished runlists go away
		for (const auto &rl : host_.runlists())
			v |= u32(rl.runlist_preempt_pending) << rl.info.id;
		return profile_.traits.host_volta;
	case 0x263c: // SCHED_STATUS: CHSW 1, RUNLIST_FETCH 2
		for (const auto &rl : host_.runlists()) {
			bool chsw = rl.phase != Phase::Invalid && rl.phase != Phase::Valid;
			v |= put_bits(1, 1, chsw) | put_bits(2, 2, rl.submit_pending);
		}
		return true;
	case 0x2a00:
		intr_0();
		v = intr_runlist_;
		return true;
	case 0x2a0c: v = eng_timeout_; return true;
	case 0x2270: v = runlist_base_; return profile_.traits.runlist_readback;
	case 0x2274: v = runlist_; return profile_.traits.runlist_readback;
	}
	if (profile_.traits.runlist_readback &&
	    in(0x2280, 4, 2 * profile_.max_runlists)) { // ENG_RUNLIST_BASE(i), ENG_RUNLIST(i)
		const Runlist *rl = host_.runlist((off - 0x2280) / 8);
		if (!rl)
			return true;
		if (off & 4)
			v = put_bits(15, 0, rl->submit_length) | put_bits(20, 20, rl->submit_pending);
		else
			v = put_bits(27, 0, rl->submit_base.addr >> 12) |
			    put_bits(29, 28, unsigned(rl->submit_base.ap));
		return true;
	}
	if (in(0x2390, 4, profile_.num_pbdma)) { // PBDMA_MAP(i)
		for (const auto &rl : host_.runlists())
			for (unsigned pbdma : rl.info.pbdmas)
				if (pbdma == (off - 0x2390) / 4)
					v |= 1u << rl.info.id;
		return true;
	}
	if (in(0x2640, 4, 2 * profile_.max_engines)) { // ENGINE_STATUS(i), ENGINE_STATUS_DEBUG(i)
		v = off & 4 ? 1 : engine_word((off - 0x2640) / 8);
		return true;
	}
	if (in(0x3080, 4, profile_.num_pbdma)) {
		v = pbdma_word((off - 0x3080) / 4);
		return true;
	}
	if (!profile_.traits.host_volta)
		return false;
	if (in(0x2790, 4, profile_.num_pbdma)) {
		v = pbdma_inst((off - 0x2790) / 4);
		return true;
	}
	if (in(0x3000, 4, profile_.max_engines) || in(0x3100, 4, profile_.max_engines)) {
		bool next = off < 0x3100;
		v = engine_inst((off - (next ? 0x3000 : 0x3100)) / 4, next);
		return true;
	}
	if (profile_.traits.runlist_info &&
	    in(0x3400, 4, profile_.max_runlists)) { // RUNLIST_INFO(i): ENG_IDLE 8, RUNLIST_IDLE 9
		const Runlist *rl = host_.runlist((off - 0x3400) / 4);
		bool idle = !rl || rl->phase == Phase::Invalid;
		v = put_bits(8, 8, idle) | put_bits(9, 9, idle);
		return true;
	}
	return false;
}

bool Pfifo::write(u32 off, u32 v)
{
	switch (off) {
	case 0x2270: runlist_base_ = v & 0x3fffffff; return profile_.traits.runlist_readback;
	case 0x2274: {
		if (!profile_.traits.runlist_readback)
			return false;
		runlist_ = v & 0x00f0ffff;
		if (Runlist *rl = host_.runlist(int(get_bits(v, 23, 20))))
			host_.submit(*rl,
				     {Aperture(get_bits(runlist_base_, 29, 28)), get_bits(runlist_base_, 27, 0) << 12},
				     get_bits(v, 15, 0), 0);
		return true;
	}
	case 0x2100:
		intr_0();
		intr_0_ &= ~v;
		return true;
	case 0x2140: intr_en_0_ = v; return true;
	case 0x2180:
	case 0x21c0:
		if (profile_.traits.runlist_readback)
			return false;
		v &= INTR_0_TSG_PREEMPT_COMPLETE;
		intr_mask_ = off == 0x2180 ? intr_mask_ | v : intr_mask_ & ~v;
		return true;
	case 0x2a00:
		intr_0();
		intr_runlist_ &= ~v;
		return true;
	case 0x2a0c: eng_timeout_ = v; return true;
	case 0x262c: return true; // fault recovery done: nothing to recover here
	case 0x2630:
		for (auto &rl : host_.runlists())
			host_.set_sched_disabled(rl, get_bit(v, rl.info.id));
		return true;
	case 0x2634: {
		for (const auto &rl : host_.runlists())
			if (rl.tsg_preempt_pending) {
				host_.preempts_over_pending++;
				break;
			}
		preempt_ = v & 0x03000fff;
		bool bare = get_bits(v, 25, 24) == 0;
		if (bare && !profile_.channel_preempt)
			return true;
		u32 id = get_bits(v, 11, 0);
		if (Runlist *rl = host_.find_tsg(id, bare)) {
			host_.preempt_tsg(*rl, id, bare);
		} else if (bare) { // a channel of a TSG takes the TSG with it: assumed
			if (Runlist *holder = host_.find_channel(id, &id))
				host_.preempt_tsg(*holder, id, false);
		}
		return true;
	}
	case 0x2638:
		if (!profile_.traits.host_volta)
			return false;
		// A zero bit has no effect on a preempt already requested, so read-modify-write is safe.
		for (auto &rl : host_.runlists())
			if (get_bit(v, rl.info.id) && !rl.runlist_preempt_pending)
				host_.preempt_runlist(rl);
		return true;
	}
	u32 v_read;
	return read(off, v_read); // known, but read only: ignored
}

} // namespace emu
