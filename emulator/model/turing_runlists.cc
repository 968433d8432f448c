// SPDX-License-Identifier: GPL-2.0
// Turing's runlist submit block; see turing_runlists.hpp.
#include "model/turing_runlists.hpp"

#include "model/bits.hpp"

namespace emu {

u32 submit_info_word(const Runlist &rl)
{
	return put_bits(15, 15, rl.submit_pending) |
	       (rl.preempted_valid
			? put_bits(13, 0, rl.preempted_tsg) | 1u << 14 | put_bits(31, 16, rl.preempted_offset)
			: 0);
}

bool TuringRunlists::read(u32 off, u32 &v)
{
	unsigned i = (off - 0x2b00) / 16;
	if (i >= regs_.size())
		return false;
	const Regs &r = regs_[i];
	switch ((off - 0x2b00) % 16) {
	case 0x0: v = r.base_lo; return true;
	case 0x4: v = r.base_hi; return true;
	case 0x8: v = r.submit; return true;
	case 0xc:
		if (const Runlist *rl = host_.runlist(int(i)))
			v = submit_info_word(*rl);
		else
			v = 0;
		return true;
	}
	return false;
}

bool TuringRunlists::write(u32 off, u32 v)
{
	unsigned i = (off - 0x2b00) / 16;
	if (i >= regs_.size())
		return false;
	Regs &r = regs_[i];
	switch ((off - 0x2b00) % 16) {
	case 0x0: r.base_lo = v & 0xfffff003; return true;
	case 0x4: r.base_hi = v & 0xff; return true;
	case 0x8:
		r.submit = v;
		if (Runlist *rl = host_.runlist(int(i)))
			host_.submit(*rl,
				     {Aperture(get_bits(r.base_lo, 1, 0)),
				      u64(r.base_hi) << 32 | (r.base_lo & bit_mask(31, 12))},
				     get_bits(v, 15, 0), get_bits(v, 31, 16));
		return true;
	case 0xc: return true; // read only
	}
	return false;
}

} // namespace emu
