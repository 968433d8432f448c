// SPDX-License-Identifier: GPL-2.0
// Finding and updating context images; see ctxsw.hpp.
#include "model/ctxsw.hpp"

#include "model/bits.hpp"

namespace emu {

// RAMIN words 132/133: TARGET 1:0, MODE 2 (1 virtual), PTR_LO 31:12; PTR_HI 7:0.
// DOC ampere/ga100/dev_ram.ref.txt NV_RAMIN_ENGINE_WFI_*.
std::optional<Phys> ContextImages::locate(Phys inst) const
{
	uint32_t lo = mem_.rd32({inst.ap, inst.addr + 132 * 4}), hi = mem_.rd32({inst.ap, inst.addr + 133 * 4});
	uint64_t ptr = get(hi, 7, 0) << 32 | (lo & mask(31, 12));
	if (!ptr)
		return std::nullopt;
	if (!bit(lo, 2))
		return Phys{Aperture(get(lo, 1, 0)), ptr};

	auto space = address_space(mem_, profile_.is.pages, inst);
	if (!space)
		return std::nullopt;
	auto header = translate(mem_, *space, ptr);
	if (!header || profile_.is.image != ImageKind::PerVeid)
		return header;
	uint64_t main_hi = get(mem_.rd32({header->ap, header->addr + 0x78}), 16, 0);
	uint64_t main_lo = mem_.rd32({header->ap, header->addr + 0x7c});
	return translate(mem_, *space, main_hi << 32 | main_lo);
}

std::optional<ContextImages::Modes> ContextImages::modes(Phys inst) const
{
	auto h = locate(inst);
	if (!h || profile_.is.image == ImageKind::Unpublished)
		return std::nullopt;
	if (profile_.is.image == ImageKind::Gm20b)
		return Modes{0, mem_.rd32({h->ap, h->addr + 0x60}) & 1};
	return Modes{mem_.rd32({h->ap, h->addr + 0x80}), mem_.rd32({h->ap, h->addr + 0x84})};
}

SaveKind ContextImages::save_kind(Phys inst) const
{
	auto m = modes(inst);
	if (!m)
		return SaveKind::Wfi;
	if (get(m->compute, 1, 0) == 1)
		return SaveKind::Cta;
	if (get(m->compute, 1, 0) == 2)
		return SaveKind::Cilp;
	return get(m->graphics, 1, 0) == 1 ? SaveKind::Gfxp : SaveKind::Wfi;
}

void ContextImages::add(Phys header, unsigned offset, uint32_t n)
{
	Phys p{header.ap, header.addr + offset};
	uint32_t v = mem_.rd32(p) + n;
	mem_.write(p, &v, sizeof(v));
}

void ContextImages::count_saves(Phys inst, uint32_t n)
{
	auto h = locate(inst);
	if (!h || profile_.is.image == ImageKind::Unpublished)
		return;
	add(*h, 0xf4, n);
	if (profile_.is.image == ImageKind::Gm20b)
		return; // no counters by kind
	switch (save_kind(inst)) {
	case SaveKind::Wfi: add(*h, 0xd0, n); break;
	case SaveKind::Cta: add(*h, 0xd4, n); break;
	case SaveKind::Gfxp: add(*h, 0xd8, n); break;
	case SaveKind::Cilp: add(*h, 0xdc, n); break;
	}
}

void ContextImages::count_restores(Phys inst, uint32_t n)
{
	if (profile_.is.image == ImageKind::Unpublished)
		return;
	if (auto h = locate(inst))
		add(*h, 0xf8, n);
}

} // namespace emu
