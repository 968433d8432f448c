// SPDX-License-Identifier: GPL-2.0
// Operations of semaphores; see semaphore.hpp.
#include "model/semaphore.hpp"

#include <iterator>

namespace emu {

namespace {

// By signedness and size. INC and DEC: unsigned 32 bits only; ADD: no signed 64 bits.
bool is_supported(const SemaphoreOperation &op)
{
	switch (op.reduction) {
	case Reduction::Inc:
	case Reduction::Dec: return !op.wide && !op.is_signed;
	case Reduction::Add: return !op.wide || !op.is_signed;
	default: return true;
	}
}

std::optional<SemaphoreOperation> make_reduction(u32 number, bool is_signed, bool wide, bool timestamp)
{
	if (number > u32(Reduction::Dec))
		return std::nullopt;
	SemaphoreOperation op{SemaphoreKind::Reduction, wide, timestamp, Reduction(number), is_signed};
	return is_supported(op) ? std::optional(op) : std::nullopt;
}

} // namespace

// OPERATION 2:0, PAYLOAD_SIZE 24 (1: 64 bits), RELEASE_TIMESTAMP 25, REDUCTION 30:27, REDUCTION_FORMAT 31 (0: signed)
std::optional<SemaphoreOperation> decode_sem_execute(u32 data)
{
	static constexpr SemaphoreKind KINDS[] = {
		SemaphoreKind::Acquire,          SemaphoreKind::Release,
		SemaphoreKind::AcquireStrictGeq, SemaphoreKind::AcquireCircularGeq,
		SemaphoreKind::AcquireAnd,       SemaphoreKind::AcquireNor,
	};
	bool wide = get_bit(data, 24), timestamp = get_bit(data, 25);
	u32 operation = get_bits(data, 2, 0);
	if (operation == 6)
		return make_reduction(get_bits(data, 30, 27), !get_bit(data, 31), wide, timestamp);
	if (operation >= std::size(KINDS))
		return std::nullopt;
	return SemaphoreOperation{.kind = KINDS[operation], .wide = wide, .timestamp = timestamp};
}

// OPERATION 4:0, RELEASE_SIZE 24 (0: 16 bytes), REDUCTION 30:27, FORMAT 31 (0: signed). That ACQ_GEQ is the circular
// comparison and that a reduction writes no time is assumed.
std::optional<SemaphoreOperation> decode_semaphored(u32 data)
{
	switch (get_bits(data, 4, 0)) {
	case 0x1: return SemaphoreOperation{.kind = SemaphoreKind::Acquire};
	case 0x2: return SemaphoreOperation{.kind = SemaphoreKind::Release, .timestamp = !get_bit(data, 24)};
	case 0x4: return SemaphoreOperation{.kind = SemaphoreKind::AcquireCircularGeq};
	case 0x8: return SemaphoreOperation{.kind = SemaphoreKind::AcquireAnd};
	case 0x10: return make_reduction(get_bits(data, 30, 27), !get_bit(data, 31), false, false);
	}
	return std::nullopt;
}

std::optional<SemaphoreOperation> decode_copy_reduction(u32 launch_dma)
{
	return make_reduction(get_bits(launch_dma, 17, 14), !get_bit(launch_dma, 18), false, false);
}

bool is_acquired(const SemaphoreOperation &op, u64 value, u64 payload)
{
	u64 mask = op.wide ? ~0ull : 0xffffffff;
	value &= mask, payload &= mask;
	switch (op.kind) {
	case SemaphoreKind::AcquireStrictGeq: return value >= payload;
	case SemaphoreKind::AcquireCircularGeq: return !get_bit((value - payload) & mask, op.wide ? 63 : 31);
	case SemaphoreKind::AcquireAnd: return (value & payload) != 0;
	case SemaphoreKind::AcquireNor: return (~(value | payload) & mask) != 0;
	default: return value == payload;
	}
}

u64 reduce(const SemaphoreOperation &op, u64 value, u64 payload)
{
	u64 mask = op.wide ? ~0ull : 0xffffffff;
	value &= mask, payload &= mask;
	// With its sign bit inverted, a signed number is ordered as an unsigned one.
	u64 sign = op.is_signed ? 1ull << (op.wide ? 63 : 31) : 0;
	bool below = (value ^ sign) < (payload ^ sign);
	switch (op.reduction) {
	case Reduction::Min: return below ? value : payload;
	case Reduction::Max: return below ? payload : value;
	case Reduction::Xor: return value ^ payload;
	case Reduction::And: return value & payload;
	case Reduction::Or: return value | payload;
	case Reduction::Add: return (value + payload) & mask;
	case Reduction::Inc: return value >= payload ? 0 : value + 1;
	case Reduction::Dec: return value == 0 || value > payload ? payload : value - 1;
	}
	return value;
}

// With a time, a release of 32 bits has zeros above them. A reduction leaves them alone: assumed.
std::optional<MemoryFault> release_semaphore(const VirtualMemory &space, u64 va, const SemaphoreOperation &op,
					     u64 payload, u64 now)
{
	u64 bytes = op.wide ? 8 : 4, value = 0;
	if (op.timestamp)
		if (auto fault = space.write(va + 8, &now, sizeof(now)))
			return fault;
	if (op.kind == SemaphoreKind::Reduction) {
		if (auto fault = space.read(va, &value, bytes))
			return fault;
		value = reduce(op, value, payload);
	} else {
		value = op.wide ? payload : u32(payload);
		if (op.timestamp)
			bytes = 8;
	}
	return space.write(va, &value, bytes);
}

} // namespace emu
