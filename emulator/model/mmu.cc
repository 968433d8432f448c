// SPDX-License-Identifier: GPL-2.0
// Page table walk for V1, V2 and V3 tables; levels and sources in mmu.hpp.
#include "model/mmu.hpp"

#include "model/bits.hpp"

namespace emu {

namespace {

// PDE aperture: 0 invalid, 1 video, 2 coherent, 3 non-coherent.
std::optional<Aperture> pde_aperture(u64 field)
{
	switch (field) {
	case 1: return Aperture::Vid;
	case 2: return Aperture::SysCoherent;
	case 3: return Aperture::SysNoncoherent;
	default: return std::nullopt;
	}
}

// PTE aperture: 0 video, 1 peer (another GPU's memory: there is none), 2, 3.
std::optional<Aperture> pte_aperture(u64 field)
{
	return field == 0 ? std::optional(Aperture::Vid) : pde_aperture(field == 1 ? 0 : field);
}

Phys page_address(Aperture ap, u64 base, u64 va, unsigned shift)
{
	return {ap, (base & ~bit_mask(shift - 1, 0)) | (va & bit_mask(shift - 1, 0))};
}

struct Level {
	unsigned hi, lo;
	unsigned leaf_shift; // of a page that ends here, where the chip has it
};

constexpr Level V2_LEVELS[] = {{48, 47, 0}, {46, 38, 38}, {37, 29, 29}};
constexpr Level V3_LEVELS[] = {{56, 56, 0}, {55, 47, 0}, {46, 38, 38}, {37, 29, 29}};

u64 pde_address(PteVersion v, u64 e, Aperture ap)
{
	if (v == PteVersion::V3)
		return e & bit_mask(51, 12);
	return get_bits(e, is_sysmem(ap) ? 53 : 32, 8) << 12;
}

// The big half of a dual PD0 entry counts in units of 256 bytes.
u64 dual_big_address(PteVersion v, u64 e, Aperture ap)
{
	if (v == PteVersion::V3)
		return e & bit_mask(51, 8);
	return get_bits(e, is_sysmem(ap) ? 53 : 32, 4) << 8;
}

std::optional<Phys> read_leaf(PteVersion v, u64 pte, u64 va, unsigned page_shift)
{
	auto ap = get_bit(pte, 0) ? pte_aperture(get_bits(pte, 2, 1)) : std::nullopt;
	if (!ap)
		return std::nullopt;
	u64 base = v == PteVersion::V3 ? pte & bit_mask(51, 12) : get_bits(pte, is_sysmem(*ap) ? 53 : 32, 8) << 12;
	return page_address(*ap, base, va, page_shift);
}

// An invalid entry for a big page that also forbids the small pages below it.
bool hides_small(PteVersion v, u64 pte)
{
	if (get_bit(pte, 0))
		return false;
	switch (v) {
	case PteVersion::V1: return get_bit(pte, 1);          // PRIVILEGE
	case PteVersion::V2: return get_bit(pte, 5);          // PRIVILEGE
	case PteVersion::V3: return get_bits(pte, 7, 3) == 3; // PCF "no valid 4 KiB page"
	}
	return false;
}

// V1. PDE: w0 APERTURE_BIG 1:0, SIZE 3:2, ADDRESS_BIG 31:4 (28:4 video); w1 APERTURE_SMALL 1:0, ADDRESS_SMALL 31:4.
// PTE: w0 VALID 0, PRIVILEGE 1, ADDRESS 31:4 (28:4 video); w1 APERTURE 2:1. Addresses count in 4 KiB.
u64 v1_address(u32 word, Aperture ap)
{
	return get_bits(word, is_sysmem(ap) ? 31 : 28, 4) << 12;
}

std::optional<Phys> read_v1_leaf(u64 pte, u64 va, unsigned shift)
{
	auto ap = get_bit(pte, 0) ? pte_aperture(get_bits(pte, 34, 33)) : std::nullopt;
	return ap ? std::optional(page_address(*ap, v1_address(u32(pte), *ap), va, shift)) : std::nullopt;
}

std::optional<Phys> translate_v1(const Memories &mem, const SpaceRef &space, u64 va)
{
	unsigned big = space.format.big_shift, pd = big + 10;
	if (va >> 40)
		return std::nullopt;
	u64 pde = mem.rd64({space.pdb.ap, space.pdb.addr + get_bits(va, 39, pd) * 8});
	u32 w0 = u32(pde), w1 = u32(pde >> 32);
	// SIZE: tables that cover only a half, a quarter or an eighth of the range
	if (get_bits(va, pd - 1, 0) >> (pd - get_bits(w0, 3, 2)))
		return std::nullopt;
	if (auto ap = pde_aperture(get_bits(w0, 1, 0))) {
		u64 pte = mem.rd64({*ap, v1_address(w0, *ap) + get_bits(va, pd - 1, big) * 8});
		auto p = read_v1_leaf(pte, va, big);
		if (p || hides_small(PteVersion::V1, pte))
			return p;
	}
	if (auto ap = pde_aperture(get_bits(w1, 1, 0)))
		return read_v1_leaf(mem.rd64({*ap, v1_address(w1, *ap) + get_bits(va, pd - 1, 12) * 8}), va, 12);
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
	u32 lo = mem.rd32({inst.ap, inst.addr + 128 * 4}), hi = mem.rd32({inst.ap, inst.addr + 129 * 4});
	unsigned target = get_bits(lo, 1, 0);
	if (target == 1 || (lo == FB_ACK_TIMEOUT && hi == FB_ACK_TIMEOUT))
		return std::nullopt;
	SpaceRef ref{{Aperture(target), u64(hi) << 32 | (lo & bit_mask(31, 12))}, usual_format(pages)};
	if (pages == PageTables::V1 || (pages == PageTables::V1orV2 && !get_bit(lo, 10)))
		ref.format = *v1_format(pages, get_bit(lo, 11) ? 16 : 17);
	return ref;
}

std::optional<Phys> translate(const Memories &mem, const SpaceRef &space, u64 va)
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
		u64 e = mem.rd64({table.ap, table.addr + get_bits(va, l.hi, l.lo) * 8});
		if (get_bit(e, 0)) {
			bool has = (l.leaf_shift == 29 && space.format.leaf_512m) ||
				   (l.leaf_shift == 38 && space.format.leaf_256g);
			return has ? read_leaf(v, e, va, l.leaf_shift) : std::nullopt;
		}
		auto ap = pde_aperture(get_bits(e, 2, 1));
		if (!ap)
			return std::nullopt;
		table = {*ap, pde_address(v, e, *ap)};
	}

	Phys pd0{table.ap, table.addr + get_bits(va, 28, 21) * 16};
	u64 big = mem.rd64(pd0), small = mem.rd64({pd0.ap, pd0.addr + 8});
	if (get_bit(big, 0))
		return read_leaf(v, big, va, 21);
	if (auto ap = pde_aperture(get_bits(big, 2, 1))) {
		u64 pte = mem.rd64({*ap, dual_big_address(v, big, *ap) + get_bits(va, 20, 16) * 8});
		auto p = read_leaf(v, pte, va, 16);
		if (p || hides_small(v, pte))
			return p;
	}
	if (auto ap = pde_aperture(get_bits(small, 2, 1))) {
		Phys pt{*ap, pde_address(v, small, *ap) + get_bits(va, 20, 12) * 8};
		return read_leaf(v, mem.rd64(pt), va, 12);
	}
	return std::nullopt;
}

} // namespace emu
