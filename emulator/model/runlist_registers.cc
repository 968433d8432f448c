// SPDX-License-Identifier: GPL-2.0
// NV_RUNLIST and NV_CHRAM of one runlist; see runlist_registers.hpp.
#include "model/runlist_registers.hpp"

#include "model/status.hpp"
#include "model/turing_runlists.hpp"

namespace emu {

namespace {

// PBDMA register block of ga100 and later: 0x40000 + 0x800 * id (DOC ga100 dev_pbdma.ref.txt).
u32 pbdma_offset(unsigned id)
{
	return 0x40000 + 0x800 * id;
}

} // namespace

const EngineInfo *RunlistRegisters::engine_at(unsigned slot) const
{
	for (const auto &e : profile_.engines)
		if (e.runlist == rl_.info.id && e.rleng == slot)
			return &e;
	return nullptr;
}

bool RunlistRegisters::read_engine(unsigned slot, unsigned reg, u32 &v) const
{
	Occupancy o = engine_occupancy(rl_, slot, true);
	const Timeslice &now = rl_.now, &next = rl_.next;
	auto inst = [slot](const Timeslice &t) { return t.inst_of_engine(slot); };
	auto inst_lo = [&](const Timeslice &t, bool valid) -> u32 {
		return valid ? put_bits(1, 0, unsigned(inst(t).ap)) | 1u << 11 | (inst(t).addr & bit_mask(31, 12)) : 0;
	};
	v = 0;
	switch (reg) {
	case 0x00: v = engine_status_word(rl_, slot, o, true); return true;
	case 0x04: // ENGINE_STATUS1: INTR_ID 20:16; no virtual functions
		if (const EngineInfo *e = engine_at(slot); e && e->intr >= 0)
			v = put_bits(20, 16, e->intr);
		return true;
	case 0x08:
	case 0x0c: { // ENGINE_STATUS_CHANNEL(j): CHID 11:0, VALID 15, NEXT_CHID 27:16, NEXT_VALID 31
		unsigned q = (reg - 0x08) / 4;
		if (o.cur && now.chid[q] >= 0 && now.on_pbdma(q) == now.on_engine(slot))
			v |= put_bits(11, 0, now.chid[q]) | 1u << 15;
		if (o.nxt && next.chid[q] >= 0 && next.on_pbdma(q) == next.on_engine(slot))
			v |= put_bits(27, 16, next.chid[q]) | 1u << 31;
		return true;
	}
	case 0x10: v = inst_lo(now, o.cur); return true;
	case 0x14: v = o.cur ? inst(now).addr >> 32 : 0; return true;
	case 0x18: v = inst_lo(next, o.nxt); return true;
	case 0x1c: v = o.nxt ? inst(next).addr >> 32 : 0; return true;
	case 0x20: v = ctxsw_timeout_[slot]; return true;
	case 0x24: return true;
	case 0x28: // ENGINE_STATUS_DEBUG: IF_EN 0; engine id 29:24 as linux-nvgpu hw_runlist_ga10b.h has it
		v = 1;
		if (const EngineInfo *e = engine_at(slot); e && e->engine_id >= 0)
			v |= put_bits(29, 24, e->engine_id);
		return true;
	}
	return false;
}

bool RunlistRegisters::read(u32 abs, u32 &v)
{
	u32 off = abs - rl_.info.pri_base;
	v = 0;
	if (off >= 0x200 && off < 0x2c0)
		return read_engine((off - 0x200) / 64, (off - 0x200) % 64, v);
	if (off >= 0x300) {
		v = channel_cfg_[(off - 0x300) / 4];
		return true;
	}
	switch (off) {
	case 0x000: v = config_; return true;
	case 0x004: { // CHANNEL_CONFIG: NUM_CHANNELS_LOG2 3:0, CHRAM_BAR0_OFFSET 31:4 in place
		unsigned log2 = 0;
		while ((1u << log2) < rl_.info.channels)
			log2++;
		v = log2 | (rl_.info.chram_base & ~0xfu);
		return true;
	}
	case 0x008: v = put_bits(31, 16, rl_.info.id); return true;
	case 0x00c: return true;
	case 0x010:
	case 0x014: // PBDMA_CONFIG(i): PBDMA_BAR0_OFFSET 25:10 in place, VALID 31
		if (size_t i = (off - 0x10) / 4; i < rl_.info.pbdmas.size())
			v = (pbdma_offset(rl_.info.pbdmas[i]) & 0x03fffc00) | 1u << 31;
		return true;
	case 0x020: v = acq_pretest_; return true;
	case 0x024: v = idle_filter_; return true;
	case 0x080: v = base_lo_; return true;
	case 0x084: v = base_hi_; return true;
	case 0x088: v = submit_; return true;
	case 0x08c: v = submit_info_word(rl_); return true;
	case 0x094: v = rl_.sched_disabled; return true;
	case 0x098:
		v = preempt_ | put_bits(20, 20, rl_.tsg_preempt_pending) |
		    put_bits(21, 21, rl_.runlist_preempt_pending);
		return true;
	case 0x100: v = rl_.intr; return true;
	case 0x108: { // INFO: ENG_IDLE 8, RUNLIST_IDLE 9, FETCH_STATUS 10
		bool idle = rl_.phase == Phase::Invalid;
		v = put_bits(8, 8, idle) | put_bits(9, 9, idle) | put_bits(10, 10, rl_.submit_pending);
		return true;
	}
	case 0x110:
	case 0x118: v = intr_mask_; return true;
	case 0x120: // INTR_0_EN_SET_TREE(i), INTR_0_EN_CLEAR_TREE(i)
	case 0x140: v = rl_.intr_enabled; return true;
	case 0x128:
	case 0x148: v = intr_tree1_; return true;
	case 0x160: // INTR_VECTORID(i): VECTOR 11:0, CPU 31
	case 0x164: v = event_vector(off == 0x164) | 1u << 31; return true;
	case 0x174: v = rl_.list.error; return true;
	case 0x180:
	case 0x184: return true; // INTR_RETRIGGER(i): write only
	}
	return false;
}

// "Runlist tree0" and "Runlist_tree1": DOC ampere/host/ampere_interrupt_map.csv; that runlist i has the i-th: assumed.
u32 RunlistRegisters::event_vector(unsigned tree) const
{
	return (tree ? 224 : 160) + u32(rl_.info.id);
}

bool RunlistRegisters::write(u32 abs, u32 v)
{
	u32 off = abs - rl_.info.pri_base;
	if (off >= 0x300) {
		channel_cfg_[(off - 0x300) / 4] = v & 0x87ff07ff;
		return true;
	}
	if (off >= 0x200 && off < 0x2c0 && (off - 0x200) % 64 == 0x20) {
		ctxsw_timeout_[(off - 0x200) / 64] = v;
		return true;
	}
	switch (off) {
	case 0x000: config_ = v & 0x711; return true;
	case 0x020: acq_pretest_ = v; return true;
	case 0x024: idle_filter_ = v & 0xff; return true;
	case 0x080: // PTR_LO 31:12 on ga100, 31:10 from ga102 on
		base_lo_ = v & (bit_mask(31, profile_.traits.submit_shift) | 3);
		return true;
	case 0x084: base_hi_ = v & 0xff; return true;
	case 0x088:
		submit_ = v;
		host_.submit(rl_,
			     {Aperture(get_bits(base_lo_, 1, 0)),
			      u64(base_hi_) << 32 | (base_lo_ & bit_mask(31, profile_.traits.submit_shift))},
			     get_bits(v, 15, 0), get_bits(v, 31, 16));
		return true;
	case 0x090: { // INTERNAL_DOORBELL: CHID 10:0
		if (Channel *c = host_.channel(rl_, get_bits(v, 10, 0))) {
			if (!host_.work().enabled) // otherwise USERD says it
				c->ring_doorbell();
			host_.channel_changed();
		}
		return true;
	}
	case 0x094: host_.set_sched_disabled(rl_, get_bit(v, 0)); return true;
	case 0x098: // PREEMPT: ID 10:0, TYPE 25:24: 0 RUNLIST, 1 TSG
		host_.preempts_over_pending += rl_.tsg_preempt_pending || rl_.runlist_preempt_pending;
		preempt_ = v & 0x030007ff;
		if (get_bits(v, 25, 24) == 1)
			host_.preempt_tsg(rl_, get_bits(v, 10, 0), false);
		else if (get_bits(v, 25, 24) == 0)
			host_.preempt_runlist(rl_);
		return true;
	case 0x100: rl_.intr &= ~v; return true; // W1C
	case 0x110: intr_mask_ |= v; return true;
	case 0x118: intr_mask_ &= ~v; return true;
	case 0x120: rl_.intr_enabled |= v; return true;
	case 0x128: intr_tree1_ |= v; return true;
	case 0x140: rl_.intr_enabled &= ~v; return true;
	case 0x148: intr_tree1_ &= ~v; return true;
	case 0x180: rl_.event_message |= get_bit(v, 0) && rl_.raised(); return true;
	}
	u32 ignored;
	return read(abs, ignored);
}

// NV_CHRAM word: WRITE_CONTROL 0, ENABLE 1, NEXT 2, BUSY 3, PBDMA_FAULTED 4, ENG_FAULTED 5, ON_PBDMA 6, ON_ENG 7,
// PENDING 8, CTX_RELOAD 9, PBDMA_BUSY 10, ENG_BUSY 11, ACQUIRE_FAIL 12.
bool ChannelRam::read(u32 abs, u32 &v)
{
	u32 chid = (abs - rl_.info.chram_base) / 4;
	const Channel &c = rl_.channels[chid];
	Place p = find_place(rl_, chid);
	bool pending = c.is_pending() && !p.on_pbdma;
	v = put_bits(1, 1, c.enabled) | put_bits(2, 2, c.next) | put_bits(3, 3, pending || p.on_pbdma || p.on_eng) |
	    put_bits(4, 4, c.pbdma_faulted) | put_bits(5, 5, c.eng_faulted) | put_bits(6, 6, p.on_pbdma) |
	    put_bits(7, 7, p.on_eng) | put_bits(8, 8, pending) | put_bits(9, 9, c.ctx_reload) |
	    put_bits(10, 10, p.on_pbdma) | put_bits(11, 11, p.on_eng) | put_bits(12, 12, c.acquire_fail);
	return true;
}

bool ChannelRam::write(u32 abs, u32 v)
{
	Channel &c = rl_.channels[(abs - rl_.info.chram_base) / 4];
	Place p = find_place(rl_, (abs - rl_.info.chram_base) / 4);
	bool to = !get_bit(v, 0); // WRITE_CONTROL 0: ones set, 1: ones clear; zeros do nothing
	if (get_bit(v, 1))
		host_.enable(c, to, p.on_pbdma || p.on_eng);
	if (get_bit(v, 2))
		c.next = to;
	if (get_bit(v, 4))
		c.pbdma_faulted = to;
	if (get_bit(v, 5))
		c.eng_faulted = to;
	if (get_bit(v, 8) && !c.jobs)
		c.work = to;
	if (get_bit(v, 9))
		c.ctx_reload = to;
	if (get_bit(v, 12))
		c.acquire_fail = to;
	if (v == ~0u && host_.work().enabled) // UPDATE_CLEAR_CHANNEL
		host_.unbind(rl_, (abs - rl_.info.chram_base) / 4);
	host_.channel_changed();
	return true;
}

} // namespace emu
