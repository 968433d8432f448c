// SPDX-License-Identifier: GPL-2.0
// Page table walk for V2 and V3 tables; levels and sources in mmu.hpp.
#include "model/mmu.hpp"

#include "model/bits.hpp"

namespace emu {

namespace {

// PDE aperture: 0 invalid, 1 video, 2 coherent, 3 non-coherent. PTE aperture: 0 video, 1 peer, 2, 3.
std::optional<Aperture> pde_aperture(uint64_t field)
{
	switch (field) {
	case 1: return Aperture::Vid;
	case 2: return Aperture::SysCoherent;
	case 3: return Aperture::SysNoncoherent;
	default: return std::nullopt;
	}
}

struct Level {
	unsigned hi, lo, entry_bytes;
};

constexpr Level V2_LEVELS[] = {{48, 47, 8}, {46, 38, 8}, {37, 29, 8}};
constexpr Level V3_LEVELS[] = {{56, 56, 8}, {55, 47, 8}, {46, 38, 8}, {37, 29, 8}};

uint64_t pde_address(PteVersion v, uint64_t e, Aperture ap)
{
	if (v == PteVersion::V3)
		return e & mask(51, 12);
	return get(e, is_sysmem(ap) ? 53 : 32, 8) << 12;
}

// The big half of a dual PD0 entry counts in units of 256 bytes.
uint64_t dual_big_address(PteVersion v, uint64_t e, Aperture ap)
{
	if (v == PteVersion::V3)
		return e & mask(51, 8);
	return get(e, is_sysmem(ap) ? 53 : 32, 4) << 8;
}

std::optional<Phys> leaf(PteVersion v, uint64_t pte, uint64_t va, unsigned page_shift)
{
	if (!bit(pte, 0))
		return std::nullopt;
	uint64_t ap = get(pte, 2, 1);
	if (ap == 1) // another GPU's memory: there is none
		return std::nullopt;
	Phys p;
	p.ap = ap == 0 ? Aperture::Vid : ap == 2 ? Aperture::SysCoherent : Aperture::SysNoncoherent;
	uint64_t base = v == PteVersion::V3 ? pte & mask(51, 12) : get(pte, is_sysmem(p.ap) ? 53 : 32, 8) << 12;
	p.addr = (base & ~mask(page_shift - 1, 0)) | (va & mask(page_shift - 1, 0));
	return p;
}

} // namespace

std::optional<Phys> page_dir_base(const Memories &mem, Phys inst)
{
	uint32_t lo = mem.rd32({inst.ap, inst.addr + 128 * 4}), hi = mem.rd32({inst.ap, inst.addr + 129 * 4});
	unsigned target = get(lo, 1, 0);
	if (target == 1 || (lo == FB_ACK_TIMEOUT && hi == FB_ACK_TIMEOUT))
		return std::nullopt;
	return Phys{Aperture(target), uint64_t(hi) << 32 | (lo & mask(31, 12))};
}

std::optional<Phys> translate(const Memories &mem, PteVersion v, Phys pdb, uint64_t va)
{
	Phys table = pdb;
	const Level *levels = v == PteVersion::V3 ? V3_LEVELS : V2_LEVELS;
	unsigned depth = v == PteVersion::V3 ? 4 : 3;
	if (va >> (v == PteVersion::V3 ? 57 : 49))
		return std::nullopt;

	for (unsigned i = 0; i < depth; i++) {
		const Level &l = levels[i];
		uint64_t e = mem.rd64({table.ap, table.addr + get(va, l.hi, l.lo) * l.entry_bytes});
		if (bit(e, 0)) { // 512 MiB page at PD1 exists from ga100 on, that is on V3 and on Ada's V2 too
			if (l.hi != 37)
				return std::nullopt;
			return leaf(v, e, va, 29);
		}
		auto ap = pde_aperture(get(e, 2, 1));
		if (!ap)
			return std::nullopt;
		table = {*ap, pde_address(v, e, *ap)};
	}

	Phys pd0{table.ap, table.addr + get(va, 28, 21) * 16};
	uint64_t big = mem.rd64(pd0), small = mem.rd64({pd0.ap, pd0.addr + 8});
	if (bit(big, 0))
		return leaf(v, big, va, 21);
	if (auto ap = pde_aperture(get(big, 2, 1))) {
		Phys pt{*ap, dual_big_address(v, big, *ap) + get(va, 20, 16) * 8};
		if (auto p = leaf(v, mem.rd64(pt), va, 16))
			return p;
	}
	if (auto ap = pde_aperture(get(small, 2, 1))) {
		Phys pt{*ap, pde_address(v, small, *ap) + get(va, 20, 12) * 8};
		return leaf(v, mem.rd64(pt), va, 12);
	}
	return std::nullopt;
}

} // namespace emu
