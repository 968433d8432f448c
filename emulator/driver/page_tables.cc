// SPDX-License-Identifier: GPL-2.0
// Writes V1, V2 and V3 page tables; see page_tables.hpp and model/mmu.hpp.
#include "driver/page_tables.hpp"

#include "model/bits.hpp"

#include <stdexcept>

namespace emu {

namespace {

u64 directory_bytes(const PageFormat &f)
{
	return f.version == PteVersion::V1 ? 8ull << (40 - (f.big_shift + 10)) : 4096;
}

} // namespace

AddressSpace::AddressSpace(Memories &mem, PageFormat format, Allocate allocate)
	: mem_(mem), format_(format), allocate_(std::move(allocate)), pdb_(allocate_(directory_bytes(format), 4096))
{
}

bool AddressSpace::has_page(unsigned shift) const
{
	if (shift == 12 || shift == format_.big_shift)
		return true;
	if (format_.version == PteVersion::V1)
		return false;
	return shift == 21 || (shift == 29 && format_.leaf_512m) || (shift == 38 && format_.leaf_256g);
}

namespace {

// APERTURE of a directory entry: 1 video, 2 coherent, 3 non-coherent.
u64 pde_aperture(Aperture ap)
{
	return is_sysmem(ap) ? unsigned(ap) : 1;
}

u64 pte_aperture(Aperture ap)
{
	return is_sysmem(ap) ? unsigned(ap) : 0;
}

} // namespace

// V2: APERTURE 2:1, ADDRESS 32:8 (53:8 for system memory) = address >> 12.
// V3: APERTURE 2:1, PCF 5:3 = 2 (cached, no ATS), ADDRESS 51:12 in place.
u64 AddressSpace::make_pde(Phys table) const
{
	u64 ap = pde_aperture(table.ap);
	if (format_.version == PteVersion::V3)
		return put_bits(2, 1, ap) | put_bits(5, 3, 2) | (table.addr & bit_mask(51, 12));
	return put_bits(2, 1, ap) | put_bits(is_sysmem(table.ap) ? 53 : 32, 8, table.addr >> 12);
}

// V2: VALID 0, APERTURE 2:1, PRIVILEGE 5, ADDRESS 32:8 (53:8 for system memory). V3: PCF 7:3 = 0x12 (privileged,
// access counting off), ADDRESS 51:12 in place.
u64 AddressSpace::make_pte(Phys target) const
{
	u64 ap = pte_aperture(target.ap);
	if (format_.version == PteVersion::V3)
		return 1 | put_bits(2, 1, ap) | put_bits(7, 3, 0x12) | (target.addr & bit_mask(51, 12));
	return 1 | put_bits(2, 1, ap) | put_bits(5, 5, 1) |
	       put_bits(is_sysmem(target.ap) ? 53 : 32, 8, target.addr >> 12);
}

Phys AddressSpace::find_table(u64 entry, u64 bytes, u64 align)
{
	auto it = below_.find(entry);
	if (it != below_.end())
		return it->second;
	return below_[entry] = allocate_(bytes, align);
}

// V1. PDE: w0 APERTURE_BIG 1:0, SIZE 3:2 (0: full), ADDRESS_BIG 31:4; w1 APERTURE_SMALL 1:0, ADDRESS_SMALL 31:4.
// PTE: w0 VALID 0, PRIVILEGE 1, ADDRESS 31:4; w1 APERTURE 2:1. All addresses >> 12; video memory has 25 bits of them.
void AddressSpace::map_v1(u64 va, Phys target, unsigned page_shift)
{
	unsigned pd = format_.big_shift + 10;
	u64 entry = pdb_.addr + get_bits(va, 39, pd) * 8;
	bool big = page_shift != 12;
	Phys half{pdb_.ap, entry + (big ? 0 : 4)};
	Phys pt = find_table(half.addr, 8ull << (pd - page_shift), 4096);
	auto address = [](Phys p) { return u32(put_bits(is_sysmem(p.ap) ? 31 : 28, 4, p.addr >> 12)); };
	mem_.wr32(half, u32(pde_aperture(pt.ap)) | address(pt));
	u64 pte = 1 | put_bits(1, 1, 1) | address(target) | put_bits(34, 33, pte_aperture(target.ap));
	mem_.wr64({pt.ap, pt.addr + get_bits(va, pd - 1, page_shift) * 8}, pte);
}

void AddressSpace::map(u64 va, Phys target, unsigned page_shift)
{
	if (!has_page(page_shift))
		throw std::invalid_argument("these page tables have no pages of 2^" + std::to_string(page_shift) +
					    " bytes");
	if ((va | target.addr) & bit_mask(page_shift - 1, 0))
		throw std::invalid_argument("a page of 2^" + std::to_string(page_shift) +
					    " bytes must be aligned to its size");
	if (format_.version == PteVersion::V1)
		return map_v1(va, target, page_shift);

	struct Level {
		unsigned hi, lo;
	};
	static const Level v2[] = {{48, 47}, {46, 38}, {37, 29}};
	static const Level v3[] = {{56, 56}, {55, 47}, {46, 38}, {37, 29}};
	const Level *levels = format_.version == PteVersion::V3 ? v3 : v2;
	unsigned depth = format_.version == PteVersion::V3 ? 4 : 3;

	Phys table = pdb_;
	for (unsigned i = 0; i < depth; i++) {
		Phys entry{table.ap, table.addr + get_bits(va, levels[i].hi, levels[i].lo) * 8};
		if (levels[i].lo == page_shift) {
			mem_.wr64(entry, make_pte(target));
			return;
		}
		table = find_table(entry.addr, 4096, 4096);
		mem_.wr64(entry, make_pde(table));
	}

	Phys pd0{table.ap, table.addr + get_bits(va, 28, 21) * 16}, pd0_small{pd0.ap, pd0.addr + 8};
	if (page_shift == 21) {
		mem_.wr64(pd0, make_pte(target));
		return;
	}
	if (page_shift == 16) { // the big half counts in 256 bytes; its table is 32 entries of 8 bytes
		Phys pt = find_table(pd0.addr, 256, 256);
		u64 ap = pde_aperture(pt.ap);
		u64 big = format_.version == PteVersion::V3
				  ? put_bits(2, 1, ap) | put_bits(5, 3, 2) | (pt.addr & bit_mask(51, 8))
				  : put_bits(2, 1, ap) | put_bits(is_sysmem(pt.ap) ? 53 : 32, 4, pt.addr >> 8);
		mem_.wr64(pd0, big);
		mem_.wr64({pt.ap, pt.addr + get_bits(va, 20, 16) * 8}, make_pte(target));
		return;
	}
	Phys pt = find_table(pd0_small.addr, 4096, 4096);
	mem_.wr64(pd0_small, make_pde(pt));
	mem_.wr64({pt.ap, pt.addr + get_bits(va, 20, 12) * 8}, make_pte(target));
}

} // namespace emu
