// SPDX-License-Identifier: GPL-2.0
// A GPU whose answers are the input: each register takes the next 32 bits of the input at its first read, each word of
// memory takes the next 64. Registers keep their value. After the end of the input registers are zero and memory begins
// again with the input's start.
//
// Targets run 10^8 times: nothing here allocates or clears more than a run has used, and the functions that are called
// most often are not instrumented by the sanitizers. The tested code never gets a pointer to their memory.
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

	// Words of 64 bits. The input is repeated without end; its last word may be incomplete. An empty input gives zeros.
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

// The values that registers returned. Starting a run costs nothing: slots of earlier runs count as empty.
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
		// No target reads as many registers. A table that is never full needs no check in slot().
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

	// Neighbours have adjacent slots, because they are read one after the other.
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

// A GPU of every chip of the table, identified, and one whose chip is not in the table but whose family is known.
inline std::vector<std::unique_ptr<lens_gpu>> identify_all_chips(lens_io *io, void (*set_boot0)(lens_io *, u32))
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

// One object for all runs of a target; start() begins a run.
class Gpu {
public:
	Gpu()
	{
		static const lens_io_ops ops = {
			.rd32 = rd32,
			.wr32 =
				[](lens_io *io, u32 off, u32) {
			FUZZ_CHECK(self(io)->on_write);
			self(io)->on_write(off);
			},
			.rd64 = [](lens_io *, u32) { return u64{0}; },
			.copy = copy,
			.store32 =
				[](lens_io *io, lens_aperture, u64 addr, u32) {
			FUZZ_CHECK(self(io)->on_write);
			self(io)->stores++;
			if (self(io)->on_store)
				self(io)->on_store(addr);
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

	// Takes the identity of the chip that the input's next byte selects. All else stays as the last run left it.
	void identify()
	{
		static const std::vector<std::unique_ptr<lens_gpu>> all =
			identify_all_chips(io(), [](lens_io *io, u32 boot0) { self(io)->set_register(0, boot0); });
		const lens_gpu &as = *all[stream.take<uint8_t>() % all.size()];

		set_register(0, as.boot0);
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
	void set_register(u32 off, u32 value) { regs_.set(off, value); }

	Stream stream;
	lens_gpu gpu{};
	u64 copies = 0, words = 0; // of memory, asked for
	bool moves = false;        // registers do not keep their value
	u64 stores = 0, waited_us = 0;
	void (*on_store)(u64 addr) = nullptr;
	void (*on_write)(u32 off) =
		nullptr; // called for each write to a register, which has no effect; NULL: a write is a finding

private:
	struct Shell {
		lens_io io;
		Gpu *self;
	};

	// Longer copies would take time and find nothing more.
	static constexpr u32 LONGEST_COPY = 1024;

	static Gpu *self(lens_io *io) { return reinterpret_cast<Shell *>(io)->self; }

	__attribute__((no_sanitize("address", "undefined"))) static u32 rd32(lens_io *io, u32 off)
	{
		Gpu *g = self(io);

		// The identity does not change.
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
