// SPDX-License-Identifier: GPL-2.0
// Semaphores of Host and of the copy engines: 32 or 64 bits of memory that an acquire compares and a release or a
// reduction changes, and a time of 64 bits 8 bytes after them. Sources: DOC volta/gv100/dev_pbdma.ref.txt, "Host
// Semaphore Methods"; DOC classes/host/cl{c06f,c36f,c46f}.h, classes/dma-copy/cla0b5.h (the same reductions).
#pragma once
#include "model/virtual_memory.hpp"

namespace emu {

enum class SemaphoreKind : u8 {
	Acquire,
	AcquireStrictGeq,
	AcquireCircularGeq,
	AcquireAnd,
	AcquireNor,
	Release,
	Reduction
};

// SEM_EXECUTE_REDUCTION 30:27
enum class Reduction : u8 { Min, Max, Xor, And, Or, Add, Inc, Dec };

struct SemaphoreOperation {
	SemaphoreKind kind = SemaphoreKind::Acquire;
	bool wide = false;      // 64 bits
	bool timestamp = false; // the time is written, too
	Reduction reduction = Reduction::Min;
	bool is_signed = false; // of the reduction

	bool acquires() const { return kind != SemaphoreKind::Release && kind != SemaphoreKind::Reduction; }
	// As SEM_EXECUTE wants its address.
	bool is_aligned(u64 va) const { return va % (timestamp && !acquires() ? 16 : wide ? 8 : 4) == 0; }
};

// The operation of a method's data. None: the manual says that it is invalid, or does not know it.
std::optional<SemaphoreOperation> decode_sem_execute(u32 data);
std::optional<SemaphoreOperation> decode_semaphored(u32 data); // that of classes without SEM_EXECUTE
// A reduction of a copy engine: REDUCTION 17:14, SIGN 18 of LAUNCH_DMA. None: FADD, and numbers without a name.
std::optional<SemaphoreOperation> decode_copy_reduction(u32 launch_dma);

// Whether the acquire succeeds. Values of 32 bits: the lower halves.
bool is_acquired(const SemaphoreOperation &op, u64 value, u64 payload);

// What the reduction leaves in memory.
u64 reduce(const SemaphoreOperation &op, u64 value, u64 payload);

// Does the release or the reduction, the time first.
std::optional<MemoryFault> release_semaphore(const VirtualMemory &space, u64 va, const SemaphoreOperation &op,
					     u64 payload, u64 now);

} // namespace emu
