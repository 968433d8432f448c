// SPDX-License-Identifier: GPL-2.0
// PBDMA: which channel each one holds. Fields and sources: emulator/README.md, "PBDMA".
#include "model/chip_units.hpp"

#include "model/status.hpp"

namespace emu {

bool Pbdma::read(u32 abs, u32 &v)
{
	unsigned id = (abs - 0x40000) / stride();
	u32 off = (abs - 0x40000) % stride();
	bool ampere = !profile_.pfifo();
	const Runlist *rl = nullptr;
	unsigned q = 0;
	for (const auto &r : host_.runlists())
		for (unsigned i = 0; i < r.info.pbdmas.size(); i++)
			if (r.info.pbdmas[i] == id && (!rl || pbdma_occupancy(r, i, ampere).busy))
				rl = &r, q = i;
	Occupancy o = rl ? pbdma_occupancy(*rl, q, ampere) : Occupancy{};
	v = 0;
	if (off == 0x120) {
		if (o.cur)
			v = put_bits(11, 0, rl->now.chid[q]) | 1u << 13;
		return true;
	}
	if (!ampere)
		return false;
	switch (off) {
	case 0x124:
		if (o.nxt)
			v = put_bits(11, 0, rl->next.chid[q]) | 1u << 13;
		return true;
	case 0x15c: v = rl ? pbdma_status_word(*rl, q, o, true) & ~(1u << 31) : 0; return true;
	case 0x160:
		if (o.cur)
			v = put_bits(1, 0, unsigned(rl->now.inst[q].ap)) | 1u << 11 |
			    (rl->now.inst[q].addr & bit_mask(31, 12));
		return true;
	case 0x164: v = o.cur ? rl->now.inst[q].addr >> 32 : 0; return true;
	}
	return false;
}

bool Pbdma::write(u32 abs, u32)
{
	u32 v;
	return read(abs, v); // none of the modelled registers can be written
}

} // namespace emu
