// SPDX-License-Identifier: GPL-2.0
// The interface of every hardware unit: BAR0 ranges with 32-bit registers. For an offset that a unit does not model,
// Gpu gives the code of an address that no client decodes.
#pragma once
#include <cstdint>
#include <vector>

namespace emu {

// FECS: no client decodes the address (linux-nvgpu hal/priv_ring/priv_ring_ga10b_fusa.c, cause 0xbadf11).
inline constexpr uint32_t NO_CLIENT = 0xbadf1100;

// Client error, privilege level (the same table, cause 0xbadf51): what a CPU gets for a register it may not read.
inline constexpr uint32_t LEVEL_MASKED = 0xbadf5100;

struct Range {
	uint32_t base, size;
};

class Unit {
public:
	virtual ~Unit() = default;
	virtual std::vector<Range> ranges() const = 0;
	// False: no such register here.
	virtual bool read(uint32_t offset, uint32_t &value) = 0;
	virtual bool write(uint32_t offset, uint32_t value) = 0;
	virtual void reset() {} // as after power-up, where a driver starts anew
};

} // namespace emu
