// SPDX-License-Identifier: GPL-2.0
// A GPU that answers with whatever the fuzzer says: each register read for the first time takes the next 32 bits of
// the input, each word of memory the next 64. Registers keep their value; past the end of the input registers read
// as zero and memory as the input from its start.
#pragma once
#include "gpulens/gpu.h"
#include "gpulens/mmu.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <unordered_map>

namespace fuzz {

// A finding, where the sanitizers see none.
#define FUZZ_CHECK(what)                                                                                               \
	do {                                                                                                           \
		if (!(what)) {                                                                                         \
			std::fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #what);                 \
			std::abort();                                                                                  \
		}                                                                                                      \
	} while (0)

class Stream {
public:
	Stream(const uint8_t *data, size_t size) : data_(data), size_(size) {}

	bool empty() const { return at_ >= size_; }

	uint64_t take(size_t bytes)
	{
		uint64_t v = 0;
		size_t n = size_ - at_ < bytes ? size_ - at_ : bytes;

		std::memcpy(&v, data_ + at_, n);
		at_ += n;
		return v;
	}

	// Never ends, unless there is nothing at all.
	uint64_t take_around()
	{
		if (empty())
			at_ = 0;
		return take(8);
	}

private:
	const uint8_t *data_;
	size_t size_, at_ = 0;
};

class Gpu {
public:
	explicit Gpu(Stream &stream) : stream_(stream)
	{
		static const lens_io_ops ops = {
			.rd32 = rd32,
			.wr32 = [](lens_io *, u32, u32) { FUZZ_CHECK(!"reading writes a register"); },
			.rd64 = [](lens_io *, u32) { return u64{0}; },
			.copy = copy,
			.store32 =
				[](lens_io *, lens_aperture, u64, u32) {
			FUZZ_CHECK(!"reading writes memory");
			return -EIO;
			},
			.exclusive = [](lens_io *, int (*fn)(void *), void *arg) { return fn(arg); },
			.wait_us = [](lens_io *, u32) { return 0; },
		};
		shell_.io.ops = &ops;
		shell_.self = this;
	}

	lens_io *io() { return &shell_.io; }
	// Of the chip that the input's first byte chooses, as identification would find it.
	bool identify();
	// A register with a fixed value.
	void fix(u32 off, u32 value) { regs_[off] = value; }

	lens_gpu *gpu() { return gpu_.get(); }
	u64 copies = 0;

private:
	struct Shell {
		lens_io io;
		Gpu *self;
	};

	// No list that the fuzzer makes is worth more time.
	static constexpr u32 LONGEST_COPY = 1024;

	static Gpu *self(lens_io *io) { return reinterpret_cast<Shell *>(io)->self; }

	static u32 rd32(lens_io *io, u32 off)
	{
		Gpu *g = self(io);
		std::unordered_map<u32, u32>::iterator known = g->regs_.find(off);

		if (known != g->regs_.end())
			return known->second;
		u32 v = static_cast<u32>(g->stream_.take(4));
		g->regs_[off] = v;
		return v;
	}

	static int copy(lens_io *io, lens_aperture ap, u64 addr, u64 *dst, u32 words)
	{
		Gpu *g = self(io);

		FUZZ_CHECK(ap == LENS_VID || ap == LENS_SYS);
		g->copies++;
		if (addr & 7 || words > LONGEST_COPY)
			return -EIO;
		for (u32 i = 0; i < words; i++)
			dst[i] = g->stream_.take_around();
		return 0;
	}

	Stream &stream_;
	Shell shell_{};
	std::unordered_map<u32, u32> regs_;
	std::unique_ptr<lens_gpu> gpu_ = std::make_unique<lens_gpu>();
};

inline const lens_chip *const CHIPS[] = {
	&lens_chip_gk10x, &lens_chip_gm10x, &lens_chip_gm20x, &lens_chip_gp100, &lens_chip_gp10x,
	&lens_chip_gv10x, &lens_chip_tu10x, &lens_chip_ga100, &lens_chip_ga10x, &lens_chip_gh100,
	&lens_chip_ad10x, &lens_chip_gb10x, &lens_chip_gb20x,
};

// PMC_BOOT_0 of a chip id, revision A1.
inline u32 boot0_of(u32 id)
{
	return (id >> 4 & 0x1f) << 24 | (id & 0xf) << 20 | (id >> 9 & 1) << 8 | 0xa1;
}

inline bool Gpu::identify()
{
	u32 n = static_cast<u32>(stream_.take(1)), count = 0;

	for (const lens_chip *c : CHIPS)
		for (const lens_chip_id *id = c->ids; id->id; id++)
			count++;
	// One more than there are: an id that nobody knows.
	n %= count + 1;
	u32 boot0 = boot0_of(0x1ff);
	for (const lens_chip *c : CHIPS)
		for (const lens_chip_id *id = c->ids; id->id; id++)
			if (n-- == 0)
				boot0 = boot0_of(id->id);
	fix(0, boot0);
	return lens_gpu_identify(gpu_.get(), io()) == 0;
}

} // namespace fuzz
