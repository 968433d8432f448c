// SPDX-License-Identifier: GPL-2.0
// PCCSR registers; see pccsr.hpp.
#include "model/pccsr.hpp"

#include "model/status.hpp"

#include <algorithm>

namespace emu {

namespace {

// STATUS 27:24: 0 idle, 1 pending, 2 pending+reload, 3 pending acquire, 4 the same+reload, 5 on PBDMA,
// 6 on PBDMA and engine, 7 on engine, 10 on PBDMA+reload, 11 on both+reload, 12 on engine+reload.
unsigned status_code(const Channel &c, Place p)
{
	if (p.on_pbdma && p.on_eng)
		return c.ctx_reload ? 11 : 6;
	if (p.on_pbdma)
		return c.ctx_reload ? 10 : 5;
	if (p.on_eng)
		return c.ctx_reload ? 12 : 7;
	if (!c.is_pending())
		return 0;
	if (c.acquire_fail)
		return c.ctx_reload ? 4 : 3;
	return c.ctx_reload ? 2 : 1;
}

} // namespace

bool Pccsr::is_loaded(u32 chid) const
{
	return std::ranges::any_of(host_.runlists(), [&](const Runlist &rl) {
		Place p = find_place(rl, chid);
		return p.on_pbdma || p.on_eng;
	});
}

u32 Pccsr::state_word(u32 chid) const
{
	const Channel &c = host_.pccsr_channels()[chid];
	Place where;
	for (const auto &rl : host_.runlists()) {
		Place p = find_place(rl, chid);
		if (p.on_pbdma || p.on_eng)
			where = p;
	}
	u32 v = put_bits(0, 0, c.enabled) | put_bits(1, 1, c.next) | put_bits(27, 24, status_code(c, where)) |
		put_bits(28, 28, c.is_pending());
	if (profile_.traits.pccsr_runlist)
		v |= put_bits(19, 16, c.runlist);
	if (profile_.traits.host_volta)
		v |= put_bits(22, 22, c.pbdma_faulted) | put_bits(23, 23, c.eng_faulted);
	return v;
}

bool Pccsr::read(u32 off, u32 &v)
{
	u32 chid = (off - 0x800000) / 8;
	if (chid >= host_.pccsr_channels().size())
		return false;
	const Channel &c = host_.pccsr_channels()[chid];
	v = off & 4 ? state_word(chid)
		    : put_bits(27, 0, c.inst.addr >> 12) | put_bits(29, 28, unsigned(c.inst.ap)) |
			      put_bits(31, 31, c.bound);
	return true;
}

bool Pccsr::write(u32 off, u32 v)
{
	u32 chid = (off - 0x800000) / 8;
	if (chid >= host_.pccsr_channels().size())
		return false;
	Channel &c = host_.pccsr_channels()[chid];
	if (!(off & 4)) {
		c.inst = {Aperture(get_bits(v, 29, 28)), get_bits(v, 27, 0) << 12};
		c.bound = c.fresh = get_bit(v, 31);
		if (host_.work().enabled) {
			c.pbdma_faulted = c.eng_faulted = false;
			host_.work().forget(chid);
		}
		return true;
	}
	c.next = get_bit(v, 1); // plain read-write: a bare command word clears it
	if (get_bit(v, 8))
		c.ctx_reload = true;
	if (get_bit(v, 10))
		host_.enable(c, true, is_loaded(chid));
	if (get_bit(v, 11))
		host_.enable(c, false, is_loaded(chid));
	if (profile_.traits.pccsr_runlist) // as plain
		c.runlist = u8(get_bits(v, 19, 16));
	if (profile_.traits.host_volta) {
		if (get_bit(v, 20))
			c.pbdma_faulted = true;
		if (get_bit(v, 21))
			c.eng_faulted = true;
		if (get_bit(v, 22))
			c.pbdma_faulted = false;
		if (get_bit(v, 23))
			c.eng_faulted = false;
	}
	host_.channel_changed();
	return true;
}

} // namespace emu
