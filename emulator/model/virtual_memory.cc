// SPDX-License-Identifier: GPL-2.0
// Accesses through page tables; see virtual_memory.hpp.
#include "model/virtual_memory.hpp"

#include <algorithm>

namespace emu {

namespace {

constexpr u64 PAGE = 4096; // no page is smaller

// One piece of memory inside a page at a time: use(phys, offset in the range, bytes). Returns the address of the first
// piece that failed.
std::optional<u64> walk_pages(const VirtualMemory &space, u64 va, u64 len, auto use)
{
	for (u64 done = 0; done < len;) {
		u64 n = std::min(len - done, PAGE - ((va + done) & (PAGE - 1)));
		std::optional<Phys> p = space.at(va + done);
		if (!p || !use(*p, done, n))
			return va + done;
		done += n;
	}
	return std::nullopt;
}

std::optional<MemoryFault> make_fault(std::optional<u64> va, bool write)
{
	return va ? std::optional(MemoryFault{*va, write}) : std::nullopt;
}

} // namespace

std::optional<MemoryFault> VirtualMemory::read(u64 va, void *out, u64 len) const
{
	auto use = [&](Phys p, u64 at, u64 n) { return mem.read(p, static_cast<u8 *>(out) + at, n); };
	return make_fault(walk_pages(*this, va, len, use), false);
}

std::optional<MemoryFault> VirtualMemory::write(u64 va, const void *in, u64 len) const
{
	auto use = [&](Phys p, u64 at, u64 n) { return mem.write(p, static_cast<const u8 *>(in) + at, n); };
	return make_fault(walk_pages(*this, va, len, use), true);
}

} // namespace emu
