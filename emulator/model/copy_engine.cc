// SPDX-License-Identifier: GPL-2.0
// Copies; see copy_engine.hpp.
#include "model/copy_engine.hpp"

#include <algorithm>

namespace emu {

namespace {

// SET_SRC_PHYS_MODE TARGET 1:0
Aperture physical_target(u32 mode)
{
	switch (mode & 3) {
	case 0: return Aperture::Vid;
	case 1: return Aperture::SysCoherent;
	default: return Aperture::SysNoncoherent;
	}
}

} // namespace

CopyEngine::Result CopyEngine::method(u32 method, u32 data, const VirtualMemory &space, u64 now)
{
	auto high = [data](u64 &v) { v = (v & 0xffffffff) | u64(data & 0x1ffff) << 32; };
	auto low = [data](u64 &v) { v = (v & ~u64{0xffffffff}) | data; };
	switch (method) {
	case 0x100: break; // NOP
	case 0x240: high(semaphore_); break;
	case 0x244: low(semaphore_); break;
	case 0x248: payload_ = data; break;
	case 0x260: source_mode_ = data; break;
	case 0x264: target_mode_ = data; break;
	case 0x300: {
		bool all = launch(data);
		Result r = busy_ ? go_on(space, now) : Result{};
		r.ignored = !all;
		return r;
	}
	case 0x400: high(source_); break;
	case 0x404: low(source_); break;
	case 0x408: high(target_); break;
	case 0x40c: low(target_); break;
	case 0x410: pitch_in_ = data; break;
	case 0x414: pitch_out_ = data; break;
	case 0x418: line_length_ = data; break;
	case 0x41c: line_count_ = data; break;
	default: return {.ignored = true};
	}
	return {};
}

// LAUNCH_DMA: DATA_TRANSFER_TYPE 1:0 (0 none), SEMAPHORE_TYPE 4:3 (1 one word, 2 four; 3, on Turing, is an interrupt under a
// condition), INTERRUPT_TYPE 6:5, layouts 7 and 8 (1 pitch), MULTI_LINE_ENABLE 9, REMAP_ENABLE 10, SRC_TYPE 12,
// DST_TYPE 13 (1 physical), SEMAPHORE_REDUCTION 17:14, SIGN 18, ENABLE 19. Returns whether all of it is modelled. What is
// not is not begun, except that a copy goes without its interrupt.
bool CopyEngine::launch(u32 command)
{
	bool copies = get_bits(command, 1, 0), pitch = get_bit(command, 7) && get_bit(command, 8);
	unsigned type = get_bits(command, 4, 3);
	if ((copies && (!pitch || get_bit(command, 10))) || type == 3 ||
	    (type && get_bit(command, 19) && !decode_copy_reduction(command)))
		return false;
	busy_ = true;
	command_ = command;
	lines_ = !copies || !line_length_ ? 0 : get_bit(command, 9) ? line_count_ : 1;
	line_ = done_ = 0;
	return get_bits(command, 6, 5) == 0;
}

CopyEngine::Result CopyEngine::go_on(const VirtualMemory &space, u64 now)
{
	Result r;
	while (line_ < lines_ && r.bytes < PIECE && r.lines < PIECE_LINES && !r.fault)
		r.fault = copy_piece(space, r);
	busy_ = line_ < lines_ && !r.fault;
	if (!busy_ && !r.fault)
		r.fault = write_semaphore(space, now);
	return r;
}

// The rest of a line, or as much of it as the piece may still have.
std::optional<MemoryFault> CopyEngine::copy_piece(const VirtualMemory &space, Result &done)
{
	auto ok = [](bool moved, u64 address, bool write) {
		return moved ? std::nullopt : std::optional(MemoryFault{address, write});
	};
	u8 bytes[PIECE];
	u64 n = std::min(line_length_ - done_, PIECE - done.bytes);
	u64 from = source_ + line_ * pitch_in_ + done_, to = target_ + line_ * pitch_out_ + done_;
	auto fault = get_bit(command_, 12)
			     ? ok(space.mem.read({physical_target(source_mode_), from}, bytes, n), from, false)
			     : space.read(from, bytes, n);
	if (!fault)
		fault = get_bit(command_, 13)
				? ok(space.mem.write({physical_target(target_mode_), to}, bytes, n), to, true)
				: space.write(to, bytes, n);
	if (fault)
		return fault;
	done.bytes += n, done.lines++, done_ += n;
	if (done_ == line_length_)
		line_++, done_ = 0;
	return std::nullopt;
}

std::optional<MemoryFault> CopyEngine::write_semaphore(const VirtualMemory &space, u64 now) const
{
	unsigned type = get_bits(command_, 4, 3);
	if (!type)
		return std::nullopt;
	SemaphoreOperation op{.kind = SemaphoreKind::Release};
	if (get_bit(command_, 19))
		op = *decode_copy_reduction(command_);
	op.timestamp = type == 2;
	return release_semaphore(space, semaphore_, op, payload_, now);
}

} // namespace emu
