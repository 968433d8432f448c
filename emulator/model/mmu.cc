// SPDX-License-Identifier: GPL-2.0
// Page table walk for V1, V2 and V3 tables; levels and sources in mmu.hpp.
#include "model/mmu.hpp"

#include "model/bits.hpp"

namespace emu {

namespace {

// PDE aperture: 0 invalid, 1 video, 2 coherent, 3 non-coherent.
std::optional<Aperture> pde_aperture(uint64_t field)
{
	switch (field) {
	case 1: return Aperture::Vid;
	case 2: return Aperture::SysCoherent;
	case 3: return Aperture::SysNoncoherent;
	default: return std::nullopt;
	}
}

// PTE aperture: 0 video, 1 peer (another GPU's memory: there is none), 2, 3.
std::optional<Aperture> pte_aperture(uint64_t field)
{
	return field == 0 ? std::optional(Aperture::Vid) : pde_aperture(field == 1 ? 0 : field);
}

Phys page(Aperture ap, uint64_t base, uint64_t va, unsigned shift)
{
	return {ap, (base & ~mask(shift - 1, 0)) | (va & mask(shift - 1, 0))};
}

struct Level {
	unsigned hi, lo;
	unsigned leaf_shift; // of a page that ends here, where the chip has it
};

constexpr Level V2_LEVELS[] = {{48, 47, 0}, {46, 38, 38}, {37, 29, 29}};
constexpr Level V3_LEVELS[] = {{56, 56, 0}, {55, 47, 0}, {46, 38, 38}, {37, 29, 29}};

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
	auto ap = bit(pte, 0) ? pte_aperture(get(pte, 2, 1)) : std::nullopt;
	if (!ap)
		return std::nullopt;
	uint64_t base = v == PteVersion::V3 ? pte & mask(51, 12) : get(pte, is_sysmem(*ap) ? 53 : 32, 8) << 12;
	return page(*ap, base, va, page_shift);
}

// An invalid entry for a big page that also forbids the small pages below it.
bool hides_small(PteVersion v, uint64_t pte)
{
	if (bit(pte, 0))
		return false;
	switch (v) {
	case PteVersion::V1: return bit(pte, 1);         // PRIVILEGE
	case PteVersion::V2: return bit(pte, 5);         // PRIVILEGE
	case PteVersion::V3: return get(pte, 7, 3) == 3; // PCF "no valid 4 KiB page"
	}
	return false;
}

// V1. PDE: w0 APERTURE_BIG 1:0, SIZE 3:2, ADDRESS_BIG 31:4 (28:4 video); w1 APERTURE_SMALL 1:0, ADDRESS_SMALL 31:4.
// PTE: w0 VALID 0, PRIVILEGE 1, ADDRESS 31:4 (28:4 video); w1 APERTURE 2:1. Addresses count in 4 KiB.
uint64_t v1_address(uint32_t word, Aperture ap)
{
	return get(word, is_sysmem(ap) ? 31 : 28, 4) << 12;
}

std::optional<Phys> v1_leaf(uint64_t pte, uint64_t va, unsigned shift)
{
	auto ap = bit(pte, 0) ? pte_aperture(get(pte, 34, 33)) : std::nullopt;
	return ap ? std::optional(page(*ap, v1_address(uint32_t(pte), *ap), va, shift)) : std::nullopt;
}

std::optional<Phys> translate_v1(const Memories &mem, const SpaceRef &space, uint64_t va)
{
	unsigned big = space.format.big_shift, pd = big + 10;
	if (va >> 40)
		return std::nullopt;
	uint64_t pde = mem.rd64({space.pdb.ap, space.pdb.addr + get(va, 39, pd) * 8});
	uint32_t w0 = uint32_t(pde), w1 = uint32_t(pde >> 32);
	// SIZE: tables that cover only a half, a quarter or an eighth of the range
	if (get(va, pd - 1, 0) >> (pd - get(w0, 3, 2)))
		return std::nullopt;
	if (auto ap = pde_aperture(get(w0, 1, 0))) {
		uint64_t pte = mem.rd64({*ap, v1_address(w0, *ap) + get(va, pd - 1, big) * 8});
		auto p = v1_leaf(pte, va, big);
		if (p || hides_small(PteVersion::V1, pte))
			return p;
	}
	if (auto ap = pde_aperture(get(w1, 1, 0)))
		return v1_leaf(mem.rd64({*ap, v1_address(w1, *ap) + get(va, pd - 1, 12) * 8}), va, 12);
	return std::nullopt;
}

} // namespace

PageFormat usual_format(PageTables pages)
{
	switch (pages) {
	case PageTables::V1Big128: return {PteVersion::V1, 17, false, false};
	case PageTables::V1: return {PteVersion::V1, 16, false, false};
	case PageTables::V1orV2:
	case PageTables::V2: return {PteVersion::V2, 16, false, false};
	case PageTables::V2Leaf512: return {PteVersion::V2, 16, true, false};
	case PageTables::V3: return {PteVersion::V3, 16, true, false};
	case PageTables::V3Leaf256G: return {PteVersion::V3, 16, true, true};
	}
	return {};
}

std::optional<PageFormat> v1_format(PageTables pages, unsigned big_shift)
{
	bool choice = pages == PageTables::V1 || pages == PageTables::V1orV2;
	if (!(choice && (big_shift == 16 || big_shift == 17)) && !(pages == PageTables::V1Big128 && big_shift == 17))
		return std::nullopt;
	return PageFormat{PteVersion::V1, big_shift, false, false};
}

std::optional<SpaceRef> address_space(const Memories &mem, PageTables pages, Phys inst)
{
	uint32_t lo = mem.rd32({inst.ap, inst.addr + 128 * 4}), hi = mem.rd32({inst.ap, inst.addr + 129 * 4});
	unsigned target = get(lo, 1, 0);
	if (target == 1 || (lo == FB_ACK_TIMEOUT && hi == FB_ACK_TIMEOUT))
		return std::nullopt;
	SpaceRef ref{{Aperture(target), uint64_t(hi) << 32 | (lo & mask(31, 12))}, usual_format(pages)};
	if (pages == PageTables::V1 || (pages == PageTables::V1orV2 && !bit(lo, 10)))
		ref.format = *v1_format(pages, bit(lo, 11) ? 16 : 17);
	return ref;
}

std::optional<Phys> translate(const Memories &mem, const SpaceRef &space, uint64_t va)
{
	PteVersion v = space.format.version;
	if (v == PteVersion::V1)
		return translate_v1(mem, space, va);
	Phys table = space.pdb;
	const Level *levels = v == PteVersion::V3 ? V3_LEVELS : V2_LEVELS;
	unsigned depth = v == PteVersion::V3 ? 4 : 3;
	if (va >> (v == PteVersion::V3 ? 57 : 49))
		return std::nullopt;

	for (unsigned i = 0; i < depth; i++) {
		const Level &l = levels[i];
		uint64_t e = mem.rd64({table.ap, table.addr + get(va, l.hi, l.lo) * 8});
		if (bit(e, 0)) {
			bool has = (l.leaf_shift == 29 && space.format.leaf_512m) ||
				   (l.leaf_shift == 38 && space.format.leaf_256g);
			return has ? leaf(v, e, va, l.leaf_shift) : std::nullopt;
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
		uint64_t pte = mem.rd64({*ap, dual_big_address(v, big, *ap) + get(va, 20, 16) * 8});
		auto p = leaf(v, pte, va, 16);
		if (p || hides_small(v, pte))
			return p;
	}
	if (auto ap = pde_aperture(get(small, 2, 1))) {
		Phys pt{*ap, pde_address(v, small, *ap) + get(va, 20, 12) * 8};
		return leaf(v, mem.rd64(pt), va, 12);
	}
	return std::nullopt;
}

} // namespace emu
