// SPDX-License-Identifier: GPL-2.0
// Copies; see copy_engine.hpp.
#include "model/copy_engine.hpp"

#include <algorithm>

namespace emu {

namespace {

constexpr u64 PAGE = 4096;      // no page is smaller
constexpr u64 MOST = 64u << 20; // bytes of one copy; a larger one is not what nouveau makes

// One piece of memory inside a page at a time: use(phys, offset in the range, bytes).
bool walk_pages(const VirtualMemory &space, u64 va, u64 len, u64 *where, auto use)
{
	for (u64 done = 0; done < len;) {
		u64 n = std::min(len - done, PAGE - ((va + done) & (PAGE - 1)));
		std::optional<Phys> p = space.at(va + done);
		if (!p || !use(*p, done, n)) {
			*where = va + done;
			return false;
		}
		done += n;
	}
	return true;
}

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

bool VirtualMemory::read(u64 va, void *out, u64 len, u64 *where) const
{
	return walk_pages(*this, va, len, where,
			  [&](Phys p, u64 at, u64 n) { return mem.read(p, static_cast<u8 *>(out) + at, n); });
}

bool VirtualMemory::write(u64 va, const void *in, u64 len, u64 *where) const
{
	return walk_pages(*this, va, len, where,
			  [&](Phys p, u64 at, u64 n) { return mem.write(p, static_cast<const u8 *>(in) + at, n); });
}

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
	case 0x300: return launch(data, space, now);
	case 0x400: high(source_); break;
	case 0x404: low(source_); break;
	case 0x408: high(target_); break;
	case 0x40c: low(target_); break;
	case 0x410: pitch_in_ = data; break;
	case 0x414: pitch_out_ = data; break;
	case 0x418: line_length_ = data; break;
	case 0x41c: line_count_ = data; break;
	default: return {.known = false};
	}
	return {};
}

// LAUNCH_DMA: DATA_TRANSFER_TYPE 1:0 (0 none), SEMAPHORE_TYPE 4:3 (1 one word, 2 four), MULTI_LINE_ENABLE 9, SRC_TYPE
// 12, DST_TYPE 13 (1 physical), layouts 7 and 8 (1 pitch), REMAP_ENABLE 10, SEMAPHORE_REDUCTION_ENABLE 19.
CopyEngine::Result CopyEngine::launch(u32 command, const VirtualMemory &space, u64 now)
{
	Result r{.launched = true};
	bool physical_in = get_bit(command, 12), physical_out = get_bit(command, 13);
	u64 lines = get_bit(command, 9) ? line_count_ : 1;
	bool pitch = get_bit(command, 7) && get_bit(command, 8), remaps = get_bit(command, 10);
	if (get_bits(command, 1, 0)) {
		if (!pitch || remaps || u64(line_length_) * lines > MOST)
			return {.known = false};
		std::vector<u8> line(line_length_);
		for (u64 i = 0; i < lines; i++) {
			u64 from = source_ + i * pitch_in_, to = target_ + i * pitch_out_, where = from;
			bool ok = physical_in ? space.mem.read({physical_target(source_mode_), from}, line.data(),
							       line.size())
					      : space.read(from, line.data(), line.size(), &where);
			if (!ok) {
				r.fault = {where, false};
				return r;
			}
			where = to;
			ok = physical_out
				     ? space.mem.write({physical_target(target_mode_), to}, line.data(), line.size())
				     : space.write(to, line.data(), line.size(), &where);
			if (!ok) {
				r.fault = {where, true};
				return r;
			}
			r.bytes += line.size();
		}
	}
	unsigned type = get_bits(command, 4, 3);
	if (type && get_bit(command, 19))
		return {.known = false};
	if (type) { // four words: payload, 0, time
		u32 words[4] = {payload_, 0, u32(now), u32(now >> 32)};
		u64 where;
		if (!space.write(semaphore_, words, type == 2 ? 16 : 4, &where))
			r.fault = {where, true};
	}
	return r;
}

} // namespace emu
