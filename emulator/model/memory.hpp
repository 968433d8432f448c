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

// Both memories behind one pair of accessors, as the GPU's own units see them.
class Memories {
public:
	explicit Memories(uint64_t vid_size) : vid(vid_size) {}

	bool read(Phys p, void *out, uint64_t len) const;
	bool write(Phys p, const void *in, uint64_t len);
	uint32_t rd32(Phys p) const;
	uint64_t rd64(Phys p) const;

	Memory vid;
	SysMem *sys = nullptr;
};

} // namespace emu
