// SPDX-License-Identifier: GPL-2.0
// A GPU that answers with whatever the fuzzer says: each register read for the first time takes the next 32 bits of
// the input, each word of memory the next 64. Registers keep their value; past the end of the input registers read
// as zero and memory as the input from its start.
//
// Targets run 10^8 times, so that nothing here allocates or clears more than a run has used, and what is read most
// often is not itself watched by the sanitizers: what is fuzzed never sees its memory.
#pragma once
#include "gpulens/gpu.h"
#include "gpulens/mmu.h"
#include "room.hpp"
#include "support/core/chips.hpp"

#include <array>
#include <vector>

namespace fuzz {

#define FUZZ_FAST __attribute__((no_sanitize("address", "undefined"), always_inline))

class Stream {
public:
	void start(const uint8_t *data, size_t size)
	{
		data_ = data;
		size_ = size;
		at_ = 0;
	}

	size_t left() const { return size_ - at_; }

	template <typename T> FUZZ_FAST T take()
	{
		T v = 0;

		if (left() >= sizeof(T)) {
			std::memcpy(&v, data_ + at_, sizeof(T));
			at_ += sizeof(T);
			return v;
		}
		for (size_t i = 0; at_ < size_; i += 8)
			v = static_cast<T>(v | T{data_[at_++]} << i);
		return v;
	}

	// Words of 64 bits. Never ends, unless there is nothing at all; the last word of the input may be a part of one.
	void fill(u64 *to, u32 words)
	{
		while (words) {
			if (at_ == size_)
				at_ = 0;
			u32 n = static_cast<u32>(left() / 8);
			if (n > words)
				n = words;
			if (n)
				std::memcpy(to, data_ + at_, size_t{n} * 8);
			else
				*to = take<u64>();
			at_ += size_t{n} * 8;
			to += n ? n : 1;
			words -= n ? n : 1;
		}
	}

private:
	const uint8_t *data_ = nullptr;
	size_t size_ = 0, at_ = 0;
};

// What registers said. Starting anew costs nothing: slots of earlier runs count as empty.
class Registers {
public:
	void start()
	{
		run_++;
		used_ = 0;
	}

	void set(u32 off, u32 value)
	{
		Slot &s = slot(off);

		used_ += s.run != run_;
		s = {run_, off, value};
	}

	template <typename Make> FUZZ_FAST u32 get(u32 off, Make make)
	{
		Slot &s = slot(off);

		if (s.run == run_)
			return s.value;
		// No reading is so long, and a table that is never full needs no check in slot().
		if (used_ == SLOTS / 2)
			return 0;
		used_++;
		s = {run_, off, make()};
		return s.value;
	}

private:
	static constexpr u32 SLOTS = 8192, TOGETHER = 16;

	struct Slot {
		u32 run, off, value;
	};

	// Neighbours stay together, for they are read one after the other.
	FUZZ_FAST Slot &slot(u32 off)
	{
		u32 i = ((off / 4 / TOGETHER * 0x9e3779b1U >> 16) * TOGETHER + off / 4 % TOGETHER) % SLOTS;

		// 17 and 8192 have no common factor: every slot is tried.
		while (slots_[i].run == run_ && slots_[i].off != off)
			i = (i + TOGETHER + 1) % SLOTS;
		return slots_[i];
	}

	std::array<Slot, SLOTS> slots_{};
	u32 run_ = 0, used_ = 0;
};

// PMC_BOOT_0 of a chip id, revision A1.
inline u32 boot0_of(u32 id)
{
	return (id >> 4 & 0x1f) << 24 | (id & 0xf) << 20 | (id >> 9 & 1) << 8 | 0xa1;
}

// A GPU of every chip there is, identified, and one that nobody knows but whose family is known.
inline std::vector<std::unique_ptr<lens_gpu>> all_gpus(lens_io *io, void (*set_boot0)(lens_io *, u32))
{
	std::vector<std::unique_ptr<lens_gpu>> all;
	std::vector<u32> ids;

	for (const lens_chip *c : test::all_chips())
		for (const lens_chip_id *id = c->ids; id->id; id++)
			ids.push_back(id->id);
	ids.push_back(0x17f);
	for (u32 id : ids) {
		set_boot0(io, boot0_of(id));
		all.push_back(std::make_unique<lens_gpu>());
		FUZZ_CHECK(lens_gpu_identify(all.back().get(), io) == 0);
	}
	return all;
}

// Lives as long as its target; start() begins a run.
class Gpu {
public:
	Gpu()
	{
		static const lens_io_ops ops = {
			.rd32 = rd32,
			.wr32 =
				[](lens_io *io, u32 off, u32) {
			FUZZ_CHECK(self(io)->wrote);
			self(io)->wrote(off);
			},
			.rd64 = [](lens_io *, u32) { return u64{0}; },
			.copy = copy,
			.store32 =
				[](lens_io *io, lens_aperture, u64 addr, u32) {
			FUZZ_CHECK(self(io)->wrote);
			self(io)->stores++;
			if (self(io)->stored)
				self(io)->stored(addr);
			return 0;
			},
			.exclusive = [](lens_io *, int (*fn)(void *), void *arg) { return fn(arg); },
			.stop_state = nullptr, .exclusive_at = nullptr,
			.atomic = [](lens_io *, int (*fn)(void *), void *arg) { return fn(arg); },
			.wait_us =
				[](lens_io *io, u32 us) {
			self(io)->waited_us += us;
			return 0;
			},
			};
		shell_.io.ops = &ops;
		shell_.self = this;
	}
	Gpu(const Gpu &) = delete;
	Gpu &operator=(const Gpu &) = delete;

	void start(const uint8_t *data, size_t size)
	{
		stream.start(data, size);
		regs_.start();
		copies = words = stores = waited_us = 0;
		moves = false;
	}

	// As the chip that the input's next byte chooses. What is not its identity stays as the last run left it.
	void identify()
	{
		static const std::vector<std::unique_ptr<lens_gpu>> all =
			all_gpus(io(), [](lens_io *io, u32 boot0) { self(io)->fix(0, boot0); });
		const lens_gpu &as = *all[stream.take<uint8_t>() % all.size()];

		fix(0, as.boot0);
		gpu.io = as.io;
		gpu.chip = as.chip;
		gpu.id = as.id;
		gpu.name = as.name;
		gpu.known = as.known;
		gpu.boot0 = as.boot0;
		gpu.chip_id = as.chip_id;
		io()->window = &as.chip->window;
	}
	lens_io *io() { return &shell_.io; }
	// A register with a fixed value.
	void fix(u32 off, u32 value) { regs_.set(off, value); }

	Stream stream;
	lens_gpu gpu{};
	u64 copies = 0, words = 0; // of memory, asked for
	bool moves = false;        // registers do not keep their value
	u64 stores = 0, waited_us = 0;
	void (*stored)(u64 addr) = nullptr;
	void (*wrote)(u32 off) = nullptr; // told of each write to a register, which has no effect; NULL: none is legal

private:
	struct Shell {
		lens_io io;
		Gpu *self;
	};

	// No list that the fuzzer makes is worth more time.
	static constexpr u32 LONGEST_COPY = 1024;

	static Gpu *self(lens_io *io) { return reinterpret_cast<Shell *>(io)->self; }

	__attribute__((no_sanitize("address", "undefined"))) static u32 rd32(lens_io *io, u32 off)
	{
		Gpu *g = self(io);

		// Identification stands: the GPU does not become another one.
		if (g->moves && off)
			return g->stream.take<u32>();
		return g->regs_.get(off, [g] { return g->stream.take<u32>(); });
	}

	static int copy(lens_io *io, lens_aperture ap, u64 addr, u64 *dst, u32 words)
	{
		Gpu *g = self(io);

		FUZZ_CHECK(ap == LENS_VID || ap == LENS_SYS);
		g->copies++;
		g->words += words;
		if (addr & 7 || words > LONGEST_COPY)
			return -EIO;
		g->stream.fill(dst, words);
		return 0;
	}

	Shell shell_{};
	Registers regs_;
};

} // namespace fuzz
