// SPDX-License-Identifier: GPL-2.0
// A copy engine as a channel uses it: lines between two addresses, a semaphore after them. Methods: DOC
// classes/dma-copy/ cla0b5.h to clc5b5.h, which agree in all that is modelled. Block-linear copies, remapping and
// interrupts are not.
#pragma once
#include "model/semaphore.hpp"

namespace emu {

class CopyEngine {
public:
	static bool is_class(u32 number) { return (number & 0xff) == 0xb5; }

	struct Result {
		bool ignored = false;     // the method, or a part of it, is not modelled
		u64 bytes = 0, lines = 0; // copied; a part of a line counts as one
		std::optional<MemoryFault> fault = std::nullopt;
	};
	Result method(u32 method, u32 data, const VirtualMemory &space, u64 now);

	// LAUNCH_DMA begins a copy, and each of these does a piece of it: at most PIECE bytes and PIECE_LINES lines. The last
	// one writes the semaphore.
	static constexpr u64 PIECE = 64 << 10, PIECE_LINES = 256;
	bool is_busy() const { return busy_; }
	Result go_on(const VirtualMemory &space, u64 now);

private:
	bool launch(u32 command);
	std::optional<MemoryFault> copy_piece(const VirtualMemory &space, Result &done);
	std::optional<MemoryFault> write_semaphore(const VirtualMemory &space, u64 now) const;

	u64 source_ = 0, target_ = 0, semaphore_ = 0;
	u32 pitch_in_ = 0, pitch_out_ = 0, line_length_ = 0, line_count_ = 0, payload_ = 0;
	u32 source_mode_ = 0, target_mode_ = 0; // SET_SRC_PHYS_MODE, SET_DST_PHYS_MODE
	// The copy under way: LAUNCH_DMA's data, lines in all and done, and bytes that are done of the next line. No method is
	// executed before its end, so that the registers above stay.
	bool busy_ = false;
	u32 command_ = 0;
	u64 lines_ = 0, line_ = 0, done_ = 0;
};

} // namespace emu
