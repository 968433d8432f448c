// SPDX-License-Identifier: GPL-2.0
// Page tables as a driver would write them: one address space per process, V2 or V3, with 4 KiB, 64 KiB or 2 MiB
// pages. Tables are in video memory. The walker that reads them is model/mmu.hpp; formats and sources there.
#pragma once
#include "model/mmu.hpp"

#include <functional>
#include <map>

namespace emu {

class AddressSpace {
public:
	using Allocate = std::function<uint64_t(uint64_t bytes, uint64_t align)>;

	AddressSpace(Memories &mem, PteVersion version, Allocate allocate);

	uint64_t pdb() const { return pdb_; }
	// Maps one page; page_shift 12, 16 or 21. va and target must be aligned to it.
	void map(uint64_t va, Phys target, unsigned page_shift);

private:
	uint64_t table_below(uint64_t entry, uint64_t bytes, uint64_t align);
	uint64_t pde(uint64_t table) const;
	uint64_t pte(Phys target) const;

	Memories &mem_;
	PteVersion version_;
	Allocate allocate_;
	uint64_t pdb_;
	std::map<uint64_t, uint64_t> below_; // address of an entry -> table it points to
};

} // namespace emu
