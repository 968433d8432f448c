// SPDX-License-Identifier: GPL-2.0
// Writes V2 and V3 page tables; see page_tables.hpp and model/mmu.hpp.
#include "driver/page_tables.hpp"

#include "model/bits.hpp"

namespace emu {

AddressSpace::AddressSpace(Memories &mem, PteVersion version, Allocate allocate)
	: mem_(mem), version_(version), allocate_(std::move(allocate)), pdb_(allocate_(4096, 4096))
{
}

// A page directory entry for a table in video memory: APERTURE 2:1 = 1.
// V2: ADDRESS 32:8 = address >> 12. V3: ADDRESS 51:12 in place, PCF 5:3 = 2 (cached, no ATS).
uint64_t AddressSpace::pde(uint64_t table) const
{
	if (version_ == PteVersion::V3)
		return put(2, 1, 1) | put(5, 3, 2) | (table & mask(51, 12));
	return put(2, 1, 1) | put(32, 8, table >> 12);
}

// V2: VALID 0, APERTURE 2:1, PRIVILEGE 5, ADDRESS 32:8 (53:8 for system memory). V3: PCF 7:3 = 0x12 (privileged,
// access counting off), ADDRESS 51:12 in place.
uint64_t AddressSpace::pte(Phys target) const
{
	uint64_t ap = is_sysmem(target.ap) ? unsigned(target.ap) : 0;
	if (version_ == PteVersion::V3)
		return 1 | put(2, 1, ap) | put(7, 3, 0x12) | (target.addr & mask(51, 12));
	return 1 | put(2, 1, ap) | put(5, 5, 1) | put(ap ? 53 : 32, 8, target.addr >> 12);
}

uint64_t AddressSpace::table_below(uint64_t entry, uint64_t bytes, uint64_t align)
{
	auto it = below_.find(entry);
	if (it != below_.end())
		return it->second;
	return below_[entry] = allocate_(bytes, align);
}

void AddressSpace::map(uint64_t va, Phys target, unsigned page_shift)
{
	struct Level {
		unsigned hi, lo;
	};
	static const Level v2[] = {{48, 47}, {46, 38}, {37, 29}};
	static const Level v3[] = {{56, 56}, {55, 47}, {46, 38}, {37, 29}};
	const Level *levels = version_ == PteVersion::V3 ? v3 : v2;
	unsigned depth = version_ == PteVersion::V3 ? 4 : 3;

	uint64_t table = pdb_;
	for (unsigned i = 0; i < depth; i++) {
		uint64_t entry = table + get(va, levels[i].hi, levels[i].lo) * 8;
		table = table_below(entry, 4096, 4096);
		mem_.vid.wr64(entry, pde(table));
	}

	uint64_t pd0 = table + get(va, 28, 21) * 16;
	if (page_shift == 21) {
		mem_.vid.wr64(pd0, pte(target));
		return;
	}
	if (page_shift == 16) { // the big half counts in 256 bytes; its table is 32 entries of 8 bytes
		uint64_t pt = table_below(pd0, 256, 256);
		uint64_t big = version_ == PteVersion::V3 ? put(2, 1, 1) | put(5, 3, 2) | (pt & mask(51, 8))
							  : put(2, 1, 1) | put(32, 4, pt >> 8);
		mem_.vid.wr64(pd0, big);
		mem_.vid.wr64(pt + get(va, 20, 16) * 8, pte(target));
		return;
	}
	uint64_t pt = table_below(pd0 + 8, 4096, 4096);
	mem_.vid.wr64(pd0 + 8, pde(pt));
	mem_.vid.wr64(pt + get(va, 20, 12) * 8, pte(target));
}

} // namespace emu
