// SPDX-License-Identifier: GPL-2.0
// Memory as the address space of an instance block shows it, to Host and to the engines.
#pragma once
#include "model/mmu.hpp"

namespace emu {

// The first address that no page maps, or whose memory is not there, and whether it was written.
struct MemoryFault {
	u64 va = 0;
	bool write = false;
};

struct VirtualMemory {
	Memories &mem;
	std::optional<SpaceRef> space;

	// These end at a fault, and what is before it was read or written.
	std::optional<MemoryFault> read(u64 va, void *out, u64 len) const;
	std::optional<MemoryFault> write(u64 va, const void *in, u64 len) const;
	std::optional<Phys> at(u64 va) const { return space ? translate(mem, *space, va) : std::nullopt; }
};

} // namespace emu
