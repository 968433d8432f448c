// SPDX-License-Identifier: GPL-2.0
// A copy engine as a channel uses it: lines between two addresses, a semaphore after them. Methods: DOC
// classes/dma-copy/ cla0b5.h to clc5b5.h, which agree in all that is modelled. Block-linear copies and remapping are
// not.
#pragma once
#include "model/mmu.hpp"

namespace emu {

// Memory as the address space of an instance block shows it. The functions return false, and where, at the first
// address that no page maps.
struct VirtualMemory {
	Memories &mem;
	std::optional<SpaceRef> space;

	bool read(u64 va, void *out, u64 len, u64 *where) const;
	bool write(u64 va, const void *in, u64 len, u64 *where) const;
	std::optional<Phys> at(u64 va) const { return space ? translate(mem, *space, va) : std::nullopt; }
};

class CopyEngine {
public:
	static bool is_class(u32 number) { return (number & 0xff) == 0xb5; }

	struct Result {
		bool known = true, launched = false;
		u64 bytes = 0;
		std::optional<std::pair<u64, bool>> fault = std::nullopt; // address, whether it was written
	};
	Result method(u32 method, u32 data, const VirtualMemory &space, u64 now);

private:
	Result launch(u32 command, const VirtualMemory &space, u64 now);

	u64 source_ = 0, target_ = 0, semaphore_ = 0;
	u32 pitch_in_ = 0, pitch_out_ = 0, line_length_ = 0, line_count_ = 0, payload_ = 0;
	u32 source_mode_ = 0, target_mode_ = 0; // SET_SRC_PHYS_MODE, SET_DST_PHYS_MODE
};

} // namespace emu
