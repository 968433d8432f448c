// SPDX-License-Identifier: GPL-2.0
// PCCSR registers; see pccsr.hpp.
#include "model/pccsr.hpp"

#include "model/status.hpp"

namespace emu {

// STATUS 27:24: 0 idle, 1 pending, 2 pending+reload, 3 pending acquire, 4 the same+reload, 5 on PBDMA,
// 6 on PBDMA and engine, 7 on engine, 10 on PBDMA+reload, 11 on both+reload, 12 on engine+reload.
static unsigned status_code(const Channel &c, Place p)
{
	if (p.on_pbdma && p.on_eng)
		return c.ctx_reload ? 11 : 6;
	if (p.on_pbdma)
		return c.ctx_reload ? 10 : 5;
	if (p.on_eng)
		return c.ctx_reload ? 12 : 7;
	if (!c.work)
		return 0;
	if (c.acquire_fail)
		return c.ctx_reload ? 4 : 3;
	return c.ctx_reload ? 2 : 1;
}

uint32_t Pccsr::state_word(uint32_t chid) const
{
	const Channel &c = host_.pccsr_channels()[chid];
	Place where;
	for (const auto &rl : host_.runlists()) {
		Place p = place(rl, chid);
		if (p.on_pbdma || p.on_eng)
			where = p;
	}
	uint32_t v =
		put(0, 0, c.enabled) | put(1, 1, c.next) | put(27, 24, status_code(c, where)) | put(28, 28, c.work);
	if (profile_.is.pccsr_runlist)
		v |= put(19, 16, c.runlist);
	if (profile_.is.host_volta)
		v |= put(22, 22, c.pbdma_faulted) | put(23, 23, c.eng_faulted);
	return v;
}

bool Pccsr::read(uint32_t off, uint32_t &v)
{
	uint32_t chid = (off - 0x800000) / 8;
	if (chid >= host_.pccsr_channels().size())
		return false;
	const Channel &c = host_.pccsr_channels()[chid];
	v = off & 4 ? state_word(chid)
		    : put(27, 0, c.inst.addr >> 12) | put(29, 28, unsigned(c.inst.ap)) | put(31, 31, c.bound);
	return true;
}

bool Pccsr::write(uint32_t off, uint32_t v)
{
	uint32_t chid = (off - 0x800000) / 8;
	if (chid >= host_.pccsr_channels().size())
		return false;
	Channel &c = host_.pccsr_channels()[chid];
	if (!(off & 4)) {
		c.inst = {Aperture(get(v, 29, 28)), get(v, 27, 0) << 12};
		c.bound = bit(v, 31);
		return true;
	}
	c.next = bit(v, 1); // plain read-write: a bare command word clears it
	if (bit(v, 8))
		c.ctx_reload = true;
	if (bit(v, 10))
		c.enabled = true;
	if (bit(v, 11))
		c.enabled = false;
	if (profile_.is.pccsr_runlist) // as plain
		c.runlist = uint8_t(get(v, 19, 16));
	if (profile_.is.host_volta) {
		if (bit(v, 20))
			c.pbdma_faulted = true;
		if (bit(v, 21))
			c.eng_faulted = true;
		if (bit(v, 22))
			c.pbdma_faulted = false;
		if (bit(v, 23))
			c.eng_faulted = false;
	}
	host_.channel_changed();
	return true;
}

} // namespace emu
