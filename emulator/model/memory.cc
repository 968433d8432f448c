// SPDX-License-Identifier: GPL-2.0
// Sparse video memory and the door to the machine's memory; see memory.hpp.
#include "model/memory.hpp"

#include <algorithm>

namespace emu {

Memory::Memory(uint64_t size) : size_(size), blocks_((size + (1ull << BLOCK_SHIFT) - 1) >> BLOCK_SHIFT)
{
}

bool Memory::read(uint64_t addr, void *out, uint64_t len) const
{
	if (addr >= size_ || len > size_ - addr)
		return false;
	auto *to = static_cast<uint8_t *>(out);
	while (len) {
		uint64_t in_page = addr & (PAGE - 1), n = std::min(len, PAGE - in_page);
		const auto &block = blocks_[addr >> BLOCK_SHIFT];
		const Page *page = block ? block->pages[(addr >> PAGE_SHIFT) & 511].get() : nullptr;
		if (page)
			std::memcpy(to, page->data() + in_page, n);
		else
			std::memset(to, 0, n);
		to += n, addr += n, len -= n;
	}
	return true;
}

bool Memory::write(uint64_t addr, const void *in, uint64_t len)
{
	if (addr >= size_ || len > size_ - addr)
		return false;
	auto *from = static_cast<const uint8_t *>(in);
	while (len) {
		uint64_t in_page = addr & (PAGE - 1), n = std::min(len, PAGE - in_page);
		auto &block = blocks_[addr >> BLOCK_SHIFT];
		if (!block)
			block = std::make_unique<Block>();
		auto &page = block->pages[(addr >> PAGE_SHIFT) & 511];
		if (!page)
			page = std::make_unique<Page>(); // zeroed
		std::memcpy(page->data() + in_page, from, n);
		block->stamp = ++writes_;
		from += n, addr += n, len -= n;
	}
	return true;
}

bool Memory::fill(uint64_t addr, uint8_t byte, uint64_t len)
{
	if (addr >= size_ || len > size_ - addr)
		return false;
	Page bytes;
	bytes.fill(byte);
	while (len) {
		uint64_t n = std::min<uint64_t>(len, PAGE - (addr & (PAGE - 1)));
		const auto &block = blocks_[addr >> BLOCK_SHIFT];
		bool absent = !block || !block->pages[(addr >> PAGE_SHIFT) & 511];
		if (byte != 0 || !absent)
			write(addr, bytes.data(), n);
		addr += n, len -= n;
	}
	return true;
}

uint32_t Memory::rd32(uint64_t addr) const
{
	uint32_t v;
	return read(addr, &v, sizeof(v)) ? v : FB_ACK_TIMEOUT;
}

uint64_t Memory::rd64(uint64_t addr) const
{
	uint64_t v;
	return read(addr, &v, sizeof(v)) ? v : (uint64_t(FB_ACK_TIMEOUT) << 32 | FB_ACK_TIMEOUT);
}

uint64_t Memory::stamp(uint64_t addr, uint64_t len) const
{
	if (addr >= size_ || len > size_ - addr || !len)
		return 0;
	uint64_t newest = 0;
	for (uint64_t b = addr >> BLOCK_SHIFT; b <= (addr + len - 1) >> BLOCK_SHIFT; b++)
		if (blocks_[b])
			newest = std::max(newest, blocks_[b]->stamp);
	return newest;
}

uint8_t *Memories::sys_at(uint64_t addr, uint64_t len) const
{
	if (!sys)
		return nullptr;
	const Window &w = window;
	if (w.bytes && addr >= w.bus && addr - w.bus < w.bytes && len <= w.bytes - (addr - w.bus))
		return sys->at(addr - w.bus + w.base, len);
	return w.bus == w.base ? sys->at(addr, len) : nullptr;
}

bool Memories::read(Phys p, void *out, uint64_t len) const
{
	if (!in_system(p.ap))
		return vid.read(p.addr, out, len);
	uint8_t *from = sys_at(p.addr, len);
	if (from)
		std::memcpy(out, from, len);
	return from != nullptr;
}

bool Memories::write(Phys p, const void *in, uint64_t len)
{
	if (!in_system(p.ap))
		return vid.write(p.addr, in, len);
	uint8_t *to = sys_at(p.addr, len);
	if (to)
		std::memcpy(to, in, len);
	return to != nullptr;
}

bool Memories::clear(Phys p, uint64_t len)
{
	if (!in_system(p.ap))
		return vid.fill(p.addr, 0, len);
	uint8_t *to = sys_at(p.addr, len);
	if (to)
		std::memset(to, 0, len);
	return to != nullptr;
}

uint32_t Memories::rd32(Phys p) const
{
	uint32_t v;
	return read(p, &v, sizeof(v)) ? v : FB_ACK_TIMEOUT;
}

uint64_t Memories::rd64(Phys p) const
{
	uint64_t v;
	return read(p, &v, sizeof(v)) ? v : (uint64_t(FB_ACK_TIMEOUT) << 32 | FB_ACK_TIMEOUT);
}

} // namespace emu
