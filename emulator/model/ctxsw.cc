// SPDX-License-Identifier: GPL-2.0
// Finding and updating context images; see ctxsw.hpp.
#include "model/ctxsw.hpp"

#include "model/bits.hpp"

namespace emu {

// RAMIN words 132/133: TARGET 1:0, MODE 2 (1 virtual), PTR_LO 31:12; PTR_HI 7:0.
// DOC ampere/ga100/dev_ram.ref.txt NV_RAMIN_ENGINE_WFI_*.
std::optional<Phys> ContextImages::find_context_image(Phys inst) const
{
	u32 lo = mem_.rd32({inst.ap, inst.addr + 132 * 4}), hi = mem_.rd32({inst.ap, inst.addr + 133 * 4});
	u64 ptr = get_bits(hi, 7, 0) << 32 | (lo & bit_mask(31, 12));
	if (!ptr)
		return std::nullopt;
	if (!get_bit(lo, 2))
		return Phys{Aperture(get_bits(lo, 1, 0)), ptr};

	auto space = address_space(mem_, profile_.traits.pages, inst);
	if (!space)
		return std::nullopt;
	auto header = translate(mem_, *space, ptr);
	if (!header || profile_.traits.context_image != ContextImageKind::PerVeid)
		return header;
	u64 main_hi = get_bits(mem_.rd32({header->ap, header->addr + 0x78}), 16, 0);
	u64 main_lo = mem_.rd32({header->ap, header->addr + 0x7c});
	return translate(mem_, *space, main_hi << 32 | main_lo);
}

std::optional<ContextImages::Modes> ContextImages::read_modes(Phys inst) const
{
	auto h = find_context_image(inst);
	if (!h || profile_.traits.context_image == ContextImageKind::Unpublished)
		return std::nullopt;
	if (profile_.traits.context_image == ContextImageKind::Gm20b)
		return Modes{0, mem_.rd32({h->ap, h->addr + 0x60}) & 1};
	return Modes{mem_.rd32({h->ap, h->addr + 0x80}), mem_.rd32({h->ap, h->addr + 0x84})};
}

SaveKind ContextImages::save_kind(Phys inst) const
{
	auto m = read_modes(inst);
	if (!m)
		return SaveKind::Wfi;
	if (get_bits(m->compute, 1, 0) == 1)
		return SaveKind::Cta;
	if (get_bits(m->compute, 1, 0) == 2)
		return SaveKind::Cilp;
	return get_bits(m->graphics, 1, 0) == 1 ? SaveKind::Gfxp : SaveKind::Wfi;
}

void ContextImages::add_to_word(Phys header, unsigned offset, u32 n)
{
	Phys p{header.ap, header.addr + offset};
	u32 v = mem_.rd32(p) + n;
	mem_.write(p, &v, sizeof(v));
}

void ContextImages::count_saves(Phys inst, u32 n)
{
	auto h = find_context_image(inst);
	if (!h || profile_.traits.context_image == ContextImageKind::Unpublished)
		return;
	add_to_word(*h, 0xf4, n);
	if (profile_.traits.context_image == ContextImageKind::Gm20b)
		return; // no counters by kind
	switch (save_kind(inst)) {
	case SaveKind::Wfi: add_to_word(*h, 0xd0, n); break;
	case SaveKind::Cta: add_to_word(*h, 0xd4, n); break;
	case SaveKind::Gfxp: add_to_word(*h, 0xd8, n); break;
	case SaveKind::Cilp: add_to_word(*h, 0xdc, n); break;
	}
}

void ContextImages::count_restores(Phys inst, u32 n)
{
	if (profile_.traits.context_image == ContextImageKind::Unpublished)
		return;
	if (auto h = find_context_image(inst))
		add_to_word(*h, 0xf8, n);
}

} // namespace emu
