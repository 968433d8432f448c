// SPDX-License-Identifier: GPL-2.0
// The memories a GPU reaches: its own video memory (sparse, 4 KiB pages made at the first write) and the machine's.
// Reads of memory that is not there give the code of an FB ack timeout (0xbad0b0xx: open-gpu-kernel-modules
// maxwell/gm107/dev_pri_ringstation_sys.h, "Host: FB ack timeout"). Translation is in mmu.hpp.
#pragma once
#include "model/bits.hpp"

#include <array>
#include <cstring>
#include <memory>
#include <vector>

namespace emu {

inline constexpr u32 FB_ACK_TIMEOUT = 0xbad0b000;

// Target encodings of instance, runlist and window pointers (not of page table entries).
enum class Aperture : u8 { Vid = 0, VidNvlink = 1, SysCoherent = 2, SysNoncoherent = 3 };

constexpr bool is_sysmem(Aperture a)
{
	return a == Aperture::SysCoherent || a == Aperture::SysNoncoherent;
}

struct Phys {
	Aperture ap = Aperture::Vid;
	u64 addr = 0;

	bool operator==(const Phys &) const = default;
};

// The machine's memory, by bus address. at() returns null where there is no memory.
class SysMem {
public:
	virtual ~SysMem() = default;
	virtual u8 *at(u64 addr, u64 len) = 0;
};

// A piece of machine memory at a bus address, for use without a machine (tests).
class RamAt : public SysMem {
public:
	RamAt(u64 base, u64 bytes) : base_(base), bytes_(bytes) {}
	u8 *at(u64 addr, u64 len) override
	{
		bool in = addr >= base_ && addr - base_ < bytes_.size() && len <= bytes_.size() - (addr - base_);
		return in ? &bytes_[addr - base_] : nullptr;
	}
	u64 base() const { return base_; }
	u64 size() const { return bytes_.size(); }

private:
	u64 base_;
	std::vector<u8> bytes_;
};

class Memory {
public:
	explicit Memory(u64 size);

	u64 size() const { return size_; }
	// At most so many bytes of pages that were written are kept. A write that wants another page fails.
	void set_limit(u64 bytes) { pages_left_ = bytes >> PAGE_SHIFT; }
	u64 refused() const { return refused_; } // writes that failed so

	// These return false when the range is not inside the memory, and then do nothing.
	bool read(u64 addr, void *out, u64 len) const;
	bool write(u64 addr, const void *in, u64 len);
	bool fill(u64 addr, u8 byte, u64 len);

	u32 rd32(u64 addr) const;
	u64 rd64(u64 addr) const;
	void wr32(u64 addr, u32 v) { write(addr, &v, sizeof(v)); }
	void wr64(u64 addr, u64 v) { write(addr, &v, sizeof(v)); }

	// A number that grows with every write into the 2 MiB blocks that hold the range.
	u64 stamp(u64 addr, u64 len) const;

private:
	static constexpr unsigned PAGE_SHIFT = 12, BLOCK_SHIFT = 21;
	static constexpr u64 PAGE = 1ull << PAGE_SHIFT;
	using Page = std::array<u8, PAGE>;
	struct Block {
		std::array<std::unique_ptr<Page>, 512> pages;
		u64 stamp = 0;
	};
	u64 size_;
	u64 writes_ = 0, refused_ = 0;
	u64 pages_left_ = ~0ull;
	std::vector<std::unique_ptr<Block>> blocks_;
};

// Both memories behind one pair of accessors, as the GPU's own units see them. On a SoC ("unified") there is only the
// machine's memory, whatever aperture a pointer names.
class Memories {
public:
	explicit Memories(u64 vid_size, bool unified = false) : vid(unified ? 0 : vid_size), unified_(unified) {}

	bool read(Phys p, void *out, u64 len) const;
	bool write(Phys p, const void *in, u64 len);
	bool clear(Phys p, u64 len);
	u32 rd32(Phys p) const;
	u64 rd64(Phys p) const;
	void wr32(Phys p, u32 v) { write(p, &v, sizeof(v)); }
	void wr64(Phys p, u64 v) { write(p, &v, sizeof(v)); }
	bool in_system(Aperture a) const { return unified_ || is_sysmem(a); }
	bool unified() const { return unified_; }

	// The part of the machine's memory that is set aside for this GPU. Bus addresses from `bus` on reach the
	// machine's memory from `base` on; where the two differ (an IOMMU), nothing else can be reached.
	struct Window {
		u64 bus = 0, base = 0, bytes = 0;
	};

	Memory vid;
	SysMem *sys = nullptr;
	Window window;

private:
	u8 *sys_at(u64 addr, u64 len) const;

	bool unified_;
};

} // namespace emu
