// SPDX-License-Identifier: GPL-2.0
// Reads registers and memory from an Image.
#include "lib/source/image/replay.hpp"

namespace tool {

Replay::Replay(const Image &image) : image_(image)
{
	static const lens_io_ops ops = {
		.rd32 = rd32,
		.wr32 = wr32,
		.rd64 = rd64,
		.copy = copy,
		.store32 = store32,
		.exclusive = exclusive,
		.stop_state = nullptr,
		.exclusive_at = nullptr,
		.atomic = exclusive,
		.wait_us = wait_us,
	};

	shell_.io.ops = &ops;
	shell_.self = this;
}

std::vector<Missing> Replay::take_missing()
{
	std::vector<Missing> m;

	m.swap(missing_);
	known_missing_.clear();
	return m;
}

void Replay::add_missing(char kind, uint64_t addr)
{
	if (known_missing_.insert({kind, addr}).second)
		missing_.push_back({kind, addr});
}

// Missing registers read as all ones: the core treats that as a failed read, and checks BOOT_0.
u32 Replay::rd32(lens_io *io, u32 off)
{
	Replay *r = self(io);
	std::optional<uint32_t> val = r->image_.regs.find(off);

	io->cost.rd32++;
	if (!val)
		r->add_missing('r', off);
	return val.value_or(0xffffffff);
}

void Replay::wr32(lens_io *io, u32, u32)
{
	io->cost.wr32++;
	self(io)->writes_++;
}

// The PRAMIN window is not needed: copy() below reads memory directly.
u64 Replay::rd64(lens_io *, u32)
{
	return ~u64{0};
}

int Replay::copy(lens_io *io, lens_aperture ap, u64 addr, u64 *dst, u32 words)
{
	Replay *r = self(io);
	const WordSpace &space = ap == LENS_VID ? r->image_.vid : r->image_.sys;

	// As on a live GPU: the address is corrupt, not missing.
	if (addr & 7)
		return -EIO;
	for (u32 i = 0; i < words; i++) {
		u64 val = 0;
		for (u32 half = 0; half < 2; half++) {
			u64 word_addr = addr + u64{i} * 8 + u64{half} * 4;
			std::optional<uint32_t> w = space.find(word_addr);
			if (!w) {
				r->add_missing(ap == LENS_VID ? 'v' : 's', word_addr);
				return -EIO;
			}
			val |= u64{*w} << (32 * half);
		}
		dst[i] = val;
		io->cost.rd64++;
	}
	return 0;
}

int Replay::store32(lens_io *io, lens_aperture, u64, u32)
{
	self(io)->writes_++;
	return -EACCES;
}

int Replay::exclusive(lens_io *, int (*fn)(void *arg), void *arg)
{
	return fn(arg);
}

int Replay::wait_us(lens_io *, u32)
{
	return 0;
}

} // namespace tool
