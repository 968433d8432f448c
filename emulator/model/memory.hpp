// SPDX-License-Identifier: GPL-2.0
// The memories a GPU reaches: its own video memory (sparse, 4 KiB pages made at the first write) and, when a
// server hands one over, the machine's memory. Knows addresses and bytes only; translation is mmu.hpp's.
// Video memory beyond its size and machine memory nobody provides answer with the code of an FB ack timeout
// (0xbad0b0xx: open-gpu-kernel-modules maxwell/gm107/dev_pri_ringstation_sys.h, "Host: FB ack timeout").
#pragma once
#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

namespace emu {

inline constexpr uint32_t FB_ACK_TIMEOUT = 0xbad0b000;

// Target encodings of instance, runlist and window pointers (not of page table entries).
enum class Aperture : uint8_t { Vid = 0, VidNvlink = 1, SysCoherent = 2, SysNoncoherent = 3 };

constexpr bool is_sysmem(Aperture a)
{
	return a == Aperture::SysCoherent || a == Aperture::SysNoncoherent;
}

struct Phys {
	Aperture ap = Aperture::Vid;
	uint64_t addr = 0;
};

// The machine's memory, by bus address. at() returns null where there is no memory.
class SysMem {
public:
	virtual ~SysMem() = default;
	virtual uint8_t *at(uint64_t addr, uint64_t len) = 0;
};

// A piece of machine memory at a bus address, for use without a machine (tests).
class RamAt : public SysMem {
public:
	RamAt(uint64_t base, uint64_t bytes) : base_(base), bytes_(bytes) {}
	uint8_t *at(uint64_t addr, uint64_t len) override
	{
		bool in = addr >= base_ && addr - base_ < bytes_.size() && len <= bytes_.size() - (addr - base_);
		return in ? &bytes_[addr - base_] : nullptr;
	}
	uint64_t base() const { return base_; }
	uint64_t size() const { return bytes_.size(); }

private:
	uint64_t base_;
	std::vector<uint8_t> bytes_;
};

class Memory {
public:
	explicit Memory(uint64_t size);

	uint64_t size() const { return size_; }
	// Both return false, and read gives nothing, when the range is not inside the memory.
	bool read(uint64_t addr, void *out, uint64_t len) const;
	bool write(uint64_t addr, const void *in, uint64_t len);
	bool fill(uint64_t addr, uint8_t byte, uint64_t len);

	uint32_t rd32(uint64_t addr) const;
	uint64_t rd64(uint64_t addr) const;
	void wr32(uint64_t addr, uint32_t v) { write(addr, &v, sizeof(v)); }
	void wr64(uint64_t addr, uint64_t v) { write(addr, &v, sizeof(v)); }

	// A number that grows with every write into the 2 MiB blocks that hold the range.
	uint64_t stamp(uint64_t addr, uint64_t len) const;

private:
	static constexpr unsigned PAGE_SHIFT = 12, BLOCK_SHIFT = 21;
	static constexpr uint64_t PAGE = 1ull << PAGE_SHIFT;
	using Page = std::array<uint8_t, PAGE>;
	struct Block {
		std::array<std::unique_ptr<Page>, 512> pages;
		uint64_t stamp = 0;
	};
	uint64_t size_;
	uint64_t writes_ = 0;
	std::vector<std::unique_ptr<Block>> blocks_;
};

// Both memories behind one pair of accessors, as the GPU's own units see them. On a SoC ("unified") there is only the
// machine's memory, whatever aperture a pointer names.
class Memories {
public:
	explicit Memories(uint64_t vid_size, bool unified = false) : vid(unified ? 0 : vid_size), unified_(unified) {}

	bool read(Phys p, void *out, uint64_t len) const;
	bool write(Phys p, const void *in, uint64_t len);
	bool clear(Phys p, uint64_t len);
	uint32_t rd32(Phys p) const;
	uint64_t rd64(Phys p) const;
	void wr32(Phys p, uint32_t v) { write(p, &v, sizeof(v)); }
	void wr64(Phys p, uint64_t v) { write(p, &v, sizeof(v)); }
	bool in_system(Aperture a) const { return unified_ || is_sysmem(a); }
	bool unified() const { return unified_; }

	// The part of the machine's memory that is set aside for this GPU. Bus addresses from `bus` on reach the
	// machine's memory from `base` on; where the two differ (an IOMMU), nothing else can be reached.
	struct Window {
		uint64_t bus = 0, base = 0, bytes = 0;
	};

	Memory vid;
	SysMem *sys = nullptr;
	Window window;

private:
	uint8_t *sys_at(uint64_t addr, uint64_t len) const;

	bool unified_;
};

} // namespace emu
