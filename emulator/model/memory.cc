// SPDX-License-Identifier: GPL-2.0
// Sparse video memory and the door to the machine's memory; see memory.hpp.
#include "model/memory.hpp"

#include <algorithm>

namespace emu {

Memory::Memory(u64 size) : size_(size), blocks_((size + (1ull << BLOCK_SHIFT) - 1) >> BLOCK_SHIFT)
{
}

bool Memory::read(u64 addr, void *out, u64 len) const
{
	if (addr >= size_ || len > size_ - addr)
		return false;
	auto *to = static_cast<u8 *>(out);
	while (len) {
		u64 in_page = addr & (PAGE - 1), n = std::min(len, PAGE - in_page);
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

bool Memory::write(u64 addr, const void *in, u64 len)
{
	if (addr >= size_ || len > size_ - addr)
		return false;
	auto *from = static_cast<const u8 *>(in);
	while (len) {
		u64 in_page = addr & (PAGE - 1), n = std::min(len, PAGE - in_page);
		auto &block = blocks_[addr >> BLOCK_SHIFT];
		if (!block)
			block = std::make_unique<Block>();
		auto &page = block->pages[(addr >> PAGE_SHIFT) & 511];
		if (!page) {
			if (!pages_left_) {
				refused_++;
				return false;
			}
			pages_left_--;
			page = std::make_unique<Page>(); // zeroed
		}
		std::memcpy(page->data() + in_page, from, n);
		block->stamp = ++writes_;
		from += n, addr += n, len -= n;
	}
	return true;
}

bool Memory::fill(u64 addr, u8 byte, u64 len)
{
	if (addr >= size_ || len > size_ - addr)
		return false;
	Page bytes;
	bytes.fill(byte);
	while (len) {
		u64 n = std::min<u64>(len, PAGE - (addr & (PAGE - 1)));
		const auto &block = blocks_[addr >> BLOCK_SHIFT];
		bool absent = !block || !block->pages[(addr >> PAGE_SHIFT) & 511];
		if (byte != 0 || !absent)
			write(addr, bytes.data(), n);
		addr += n, len -= n;
	}
	return true;
}

u32 Memory::rd32(u64 addr) const
{
	u32 v;
	return read(addr, &v, sizeof(v)) ? v : FB_ACK_TIMEOUT;
}

u64 Memory::rd64(u64 addr) const
{
	u64 v;
	return read(addr, &v, sizeof(v)) ? v : (u64(FB_ACK_TIMEOUT) << 32 | FB_ACK_TIMEOUT);
}

u64 Memory::stamp(u64 addr, u64 len) const
{
	if (addr >= size_ || len > size_ - addr || !len)
		return 0;
	u64 newest = 0;
	for (u64 b = addr >> BLOCK_SHIFT; b <= (addr + len - 1) >> BLOCK_SHIFT; b++)
		if (blocks_[b])
			newest = std::max(newest, blocks_[b]->stamp);
	return newest;
}

u8 *Memories::sys_at(u64 addr, u64 len) const
{
	if (!sys)
		return nullptr;
	const Window &w = window;
	if (w.bytes && addr >= w.bus && addr - w.bus < w.bytes && len <= w.bytes - (addr - w.bus))
		return sys->at(addr - w.bus + w.base, len);
	return w.bus == w.base ? sys->at(addr, len) : nullptr;
}

bool Memories::read(Phys p, void *out, u64 len) const
{
	if (!in_system(p.ap))
		return vid.read(p.addr, out, len);
	u8 *from = sys_at(p.addr, len);
	if (from)
		std::memcpy(out, from, len);
	return from != nullptr;
}

bool Memories::write(Phys p, const void *in, u64 len)
{
	if (!in_system(p.ap))
		return vid.write(p.addr, in, len);
	u8 *to = sys_at(p.addr, len);
	if (to)
		std::memcpy(to, in, len);
	return to != nullptr;
}

bool Memories::clear(Phys p, u64 len)
{
	if (!in_system(p.ap))
		return vid.fill(p.addr, 0, len);
	u8 *to = sys_at(p.addr, len);
	if (to)
		std::memset(to, 0, len);
	return to != nullptr;
}

u32 Memories::rd32(Phys p) const
{
	u32 v;
	return read(p, &v, sizeof(v)) ? v : FB_ACK_TIMEOUT;
}

u64 Memories::rd64(Phys p) const
{
	u64 v;
	return read(p, &v, sizeof(v)) ? v : (u64(FB_ACK_TIMEOUT) << 32 | FB_ACK_TIMEOUT);
}

} // namespace emu
