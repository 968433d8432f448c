// SPDX-License-Identifier: GPL-2.0
// PFIFO registers; the list with sources is in pfifo.hpp and in README.md.
#include "model/pfifo.hpp"

#include "model/status.hpp"

#include <algorithm>

namespace emu {

namespace {

// DOC turing/tu104/dev_fifo.ref.txt NV_PFIFO_INTR_0
constexpr u32 INTR_0_SCHED_ERROR = 1u << 8, INTR_0_TSG_PREEMPT_COMPLETE = 1u << 28, INTR_0_CHANNEL_INTR = 1u << 31;
constexpr u32 INTR_0_MMU_FAULT = 1u << 28; // up to Pascal: nouveau engine/fifo/gk104.c

// Interrupts that exist: DOC turing/tu104, volta/gv100 dev_fifo.ref.txt NV_PFIFO_INTR_EN_0; before, linux-nvgpu
// hw_fifo_gk20a.h fifo_intr_0_*. A Titan V to which 0x7fffffff was written reads 0x61810101.
u32 interrupts_of(const Traits &t)
{
	return !t.runlist_readback ? 0xf18101f3 : t.host_volta ? 0xe1810101 : 0xf9810111;
}

} // namespace

bool Pfifo::read(u32 off, u32 &v)
{
	const Traits &t = profile_.traits;
	v = on_ ? 0 : OFF;
	if (!on_)
		return true;
	switch (off) {
	case 0x2004:
		v = put_bits(7, 0, profile_.num_pbdma) | put_bits(23, 16, profile_.pbdma_fault_id);
		return t.host_cfg;
	case 0x2008: v = profile_.channels; return t.host_cfg;
	case 0x200c: v = profile_.host_class; return t.host_volta;
	case 0x2100: v = intr_0(); return true;
	case 0x2140: v = intr_en_[0]; return true;
	case 0x2180: // NV_PFIFO_INTR_0_MASK_SET, MASK_CLEAR: Turing's. That INTR_0 keeps and hides what is not set is assumed
	case 0x21c0: v = intr_mask_; return !t.runlist_readback;
	case 0x2270: v = runlist_base_; return t.runlist_readback;
	case 0x2274: v = runlist_; return t.runlist_readback;
	case 0x2528: v = intr_en_[1]; return true;
	case 0x254c: // NV_PFIFO_INTR_SCHED_ERROR: CODE 7:0
		for (const auto &rl : host_.runlists())
			if (rl.list.error)
				v = 0x20; // BAD_TSG
		return true;
	case 0x2630: v = runlists_with(&Runlist::sched_disabled); return true;
	case 0x2634: v = preempt_ | put_bits(20, 20, runlists_with(&Runlist::tsg_preempt_pending) != 0); return true;
	case 0x2638: // gv100 and Turing only; bits of finished runlists go away
		v = runlists_with(&Runlist::runlist_preempt_pending);
		return t.host_volta;
	case 0x263c: // SCHED_STATUS: CHSW 1, RUNLIST_FETCH 2
		for (const auto &rl : host_.runlists()) {
			bool chsw = rl.phase != Phase::Invalid && rl.phase != Phase::Valid;
			v |= put_bits(1, 1, chsw) | put_bits(2, 2, rl.submit_pending);
		}
		return true;
	// INTR_RUNLIST. No source says what raises an event: a Titan V raised none at nouveau's submits and preempts
	// (syntheticChemistry/hotSpring data/titanv/reagent-captures), so none is raised here; on other chips assumed
	case 0x2a00: return true;
	case 0x2a0c: v = eng_timeout_; return true;
	}
	return read_array(off, v);
}

bool Pfifo::read_array(u32 off, u32 &v) const
{
	const Traits &t = profile_.traits;
	u32 i = 0;
	auto in = [&](u32 base, u32 count, u32 stride = 4) {
		i = (off - base) / stride;
		return off >= base && i < count && (off - base) % stride == 0;
	};
	const u32 pbdmas = profile_.num_pbdma, engines = profile_.max_engines, lists = profile_.max_runlists;
	if (in(0x2390, pbdmas)) {
		v = pbdma_map(i);
	} else if (in(0x2640, 2 * engines)) { // ENGINE_STATUS(i), ENGINE_STATUS_DEBUG(i)
		v = i % 2 ? 1 : engine_word(i / 2);
	} else if (in(0x3080, pbdmas)) {
		v = pbdma_word(i);
	} else if (t.host_volta && in(0x2790, pbdmas)) {
		v = pbdma_inst(i);
	} else if (t.host_volta && in(0x3000, engines)) {
		v = engine_inst(i, true);
	} else if (t.host_volta && in(0x3100, engines)) {
		v = engine_inst(i, false);
	} else if (t.runlist_readback && in(0x2280, 2 * lists)) { // ENG_RUNLIST_BASE(i), ENG_RUNLIST(i)
		if (const Runlist *rl = host_.runlist(int(i / 2)))
			v = i % 2 ? put_bits(15, 0, rl->submit_length) | put_bits(20, 20, rl->submit_pending)
				  : put_bits(27, 0, rl->submit_base.addr >> 12) |
					    put_bits(29, 28, unsigned(rl->submit_base.ap));
	} else if (t.runlist_info && in(0x3400, lists)) { // RUNLIST_INFO(i): ENG_IDLE 8, RUNLIST_IDLE 9
		const Runlist *rl = host_.runlist(int(i));
		bool idle = !rl || rl->phase == Phase::Invalid;
		v = put_bits(8, 8, idle) | put_bits(9, 9, idle);
	} else {
		return false;
	}
	return true;
}

bool Pfifo::write(u32 off, u32 v)
{
	const Traits &t = profile_.traits;
	if (!on_)
		return true; // dropped
	switch (off) {
	case 0x2100:
		intr_0();
		intr_0_ &= ~v;
		return true;
	case 0x2140: intr_en_[0] = v & interrupts_of(t); return true;
	case 0x2180:
	case 0x21c0:
		if (t.runlist_readback)
			return false;
		v &= INTR_0_TSG_PREEMPT_COMPLETE;
		intr_mask_ = off == 0x2180 ? intr_mask_ | v : intr_mask_ & ~v;
		return true;
	case 0x2270: runlist_base_ = v & 0x3fffffff; return t.runlist_readback;
	case 0x2274:
		if (t.runlist_readback)
			submit(v);
		return t.runlist_readback;
	case 0x2528: intr_en_[1] = v & interrupts_of(t); return true;
	case 0x262c: return true; // fault recovery done: nothing to recover here
	case 0x2630:
		for (auto &rl : host_.runlists())
			host_.set_sched_disabled(rl, get_bit(v, rl.info.id));
		return true;
	case 0x2634: preempt(v); return true;
	case 0x2638: // a zero bit has no effect on a preempt already requested, so read-modify-write is safe
		for (auto &rl : host_.runlists())
			if (t.host_volta && get_bit(v, rl.info.id) && !rl.runlist_preempt_pending)
				host_.preempt_runlist(rl);
		return t.host_volta;
	case 0x2a0c: eng_timeout_ = v; return true;
	}
	u32 v_read;
	return read(off, v_read); // known, but read only: ignored
}

// ENG_TIMEOUT: DETECTION 31 and PERIOD 0x3fffff at reset (DOC volta/gv100/dev_fifo.ref.txt, turing/tu104
// ENG_CTXSW_TIMEOUT; a Titan V and a K80 read so).
void Pfifo::reset()
{
	runlist_base_ = runlist_ = preempt_ = 0;
	eng_timeout_ = 0x803fffff;
	intr_0_ = intr_en_[0] = intr_en_[1] = intr_mask_ = 0;
}

void Pfifo::set_on(bool on)
{
	on_ = on;
	if (on)
		return;
	intr_0(); // takes what the runlists and channels have to report
	host_.mmu_faults = 0;
	intr_0_ = intr_en_[0] = intr_en_[1] = intr_mask_ = 0;
}

u32 Pfifo::runlists_with(bool Runlist::*flag) const
{
	u32 v = 0;
	for (const auto &rl : host_.runlists())
		v |= u32(rl.*flag) << rl.info.id;
	return v;
}

u32 Pfifo::pbdma_map(unsigned pbdma) const
{
	u32 v = 0;
	for (const auto &rl : host_.runlists())
		if (std::ranges::find(rl.info.pbdmas, pbdma) != rl.info.pbdmas.end())
			v |= 1u << rl.info.id;
	return v;
}

void Pfifo::submit(u32 v)
{
	runlist_ = v & 0x00f0ffff;
	if (Runlist *rl = host_.runlist(int(get_bits(v, 23, 20))))
		host_.submit(*rl, {Aperture(get_bits(runlist_base_, 29, 28)), get_bits(runlist_base_, 27, 0) << 12},
			     get_bits(v, 15, 0), 0);
}

void Pfifo::preempt(u32 v)
{
	host_.preempts_over_pending += runlists_with(&Runlist::tsg_preempt_pending) != 0;
	preempt_ = v & 0x03000fff;
	bool bare = get_bits(v, 25, 24) == 0;
	if (bare && !profile_.channel_preempt)
		return;
	u32 id = get_bits(v, 11, 0);
	if (Runlist *rl = host_.find_tsg(id, bare))
		host_.preempt_tsg(*rl, id, bare);
	else if (bare) // a channel of a TSG takes the TSG with it: assumed
		if (Runlist *holder = host_.find_channel(id, &id))
			host_.preempt_tsg(*holder, id, false);
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
		rl.intr = 0;
	}
	if (host_.channel_interrupt)
		intr_0_ |= INTR_0_CHANNEL_INTR;
	host_.channel_interrupt = false;
	bool faulted = host_.mmu_faults && !profile_.traits.host_volta;
	u32 hidden = INTR_0_TSG_PREEMPT_COMPLETE & ~intr_mask_;
	return (intr_0_ & ~hidden) | (faulted ? INTR_0_MMU_FAULT : 0);
}

} // namespace emu
