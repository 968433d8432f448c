// SPDX-License-Identifier: GPL-2.0
// Page tables as a driver would write them: one address space per process, V1, V2 or V3, with small, big and huge
// pages. Where the tables lie is the allocator's choice. The walker that reads them is model/mmu.hpp; formats and
// sources there.
#pragma once
#include "model/mmu.hpp"

#include <functional>
#include <map>

namespace emu {

class AddressSpace {
public:
	using Allocate = std::function<Phys(u64 bytes, u64 align)>;

	AddressSpace(Memories &mem, PageFormat format, Allocate allocate);

	Phys pdb() const { return pdb_; }
	const PageFormat &format() const { return format_; }
	// Whether pages of this size exist: 12; 16 or 17; 21, 29, 38 where the format has them.
	bool has_page(unsigned shift) const;
	// Maps one page. va and target must be aligned to it; refused otherwise.
	void map(u64 va, Phys target, unsigned page_shift);

private:
	Phys find_table(u64 entry, u64 bytes, u64 align);
	u64 make_pde(Phys table) const;
	u64 make_pte(Phys target) const;
	void map_v1(u64 va, Phys target, unsigned page_shift);

	Memories &mem_;
	PageFormat format_;
	Allocate allocate_;
	Phys pdb_;
	std::map<u64, Phys> below_; // address of an entry (V1: half) -> table it points to
};

} // namespace emu
