// SPDX-License-Identifier: GPL-2.0
// The interface of every hardware unit: BAR0 ranges with 32-bit registers. For an offset that a unit does not model,
// Gpu gives the code of an address that no client decodes.
#pragma once
#include "model/bits.hpp"

#include <vector>

namespace emu {

// FECS: no client decodes the address (linux-nvgpu hal/priv_ring/priv_ring_ga10b_fusa.c, cause 0xbadf11).
inline constexpr u32 NO_CLIENT = 0xbadf1100;

// Client error, privilege level (the same table, cause 0xbadf51): what a CPU gets for a register it may not read.
inline constexpr u32 LEVEL_MASKED = 0xbadf5100;

// FECS: the client is in reset (open-gpu-kernel-modules maxwell/gm107/dev_pri_ringstation_sys.h, cause 0xbadf12).
inline constexpr u32 IN_RESET = 0xbadf1200;

struct Range {
	u32 base, size;
};

class Unit {
public:
	virtual ~Unit() = default;
	virtual std::vector<Range> ranges() const = 0;
	// False: no such register here.
	virtual bool read(u32 offset, u32 &value) = 0;
	virtual bool write(u32 offset, u32 value) = 0;
	virtual void reset() {} // as after power-up, where a driver starts anew
};

} // namespace emu
