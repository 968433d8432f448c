// SPDX-License-Identifier: GPL-2.0
// A GPU that is a map of registers and two maps of memory words, to give the core literal words. It has no behaviour of
// its own, unlike test::Emulated, and refuses only memory beyond its end.
#pragma once
#include "gpulens/gpu.h"
#include "gpulens/mmu.h"

#include <functional>
#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

namespace test {

class Fake {
public:
	explicit Fake(const lens_chip &chip)
	{
		static const lens_io_ops ops = {
			.rd32 =
				[](lens_io *io, u32 off) {
			Fake *f = self(io);
			f->reads.push_back(off);
			f->order.push_back({'r', off, f->stop});
			if (f->answer)
				return f->answer(off);
			auto it = f->regs.find(off);
			return it == f->regs.end() ? f->default_value : it->second;
			},
			.wr32 =
				[](lens_io *io, u32 off, u32 val) {
			self(io)->writes.emplace_back(off, val);
			self(io)->order.push_back({'w', off, self(io)->stop});
			},
			.rd64 = [](lens_io *, u32) { return u64{0}; }, .copy = copy,
			.store32 =
				[](lens_io *io, lens_aperture, u64 addr, u32 val) {
			self(io)->stores.emplace_back(addr, val);
			return 0;
			},
			.exclusive = [](lens_io *, int (*fn)(void *), void *arg) { return fn(arg); },
			.stop_state = nullptr, .exclusive_at = nullptr,
			.atomic =
				[](lens_io *io, int (*fn)(void *), void *arg) {
			Fake *f = self(io);
			f->stop = ++f->stops;
			int err = fn(arg);
			f->stop = 0;
			return err;
			},
			.wait_us =
				[](lens_io *io, u32 us) {
			self(io)->waited_us += us;
			return self(io)->lost_after_us <= self(io)->waited_us ? -ENODEV : 0;
			},
			};
		io_.self = this;
		io_.io.ops = &ops;
		regs[0x200] = 0x100; // NV_PMC_ENABLE: PFIFO is enabled
		gpu->io = &io_.io;
		gpu->chip = &chip;
		gpu->id = &chip.ids[0];
		gpu->known = true;
		gpu->name = chip.ids[0].name;
	}

	// Sets consecutive registers, four bytes apart.
	void set_rows(u32 base, const std::vector<u32> &words)
	{
		for (size_t i = 0; i < words.size(); i++)
			regs[base + u32(4 * i)] = words[i];
	}
	size_t times_read(u32 off) const
	{
		size_t n = 0;
		for (u32 r : reads)
			n += r == off;
		return n;
	}
	lens_io *io() { return &io_.io; }

	std::unordered_map<u32, u32> regs;
	u32 default_value = 0;
	std::function<u32(u32)> answer; // used instead of the map
	std::function<u64(lens_aperture, u64)> memory;
	std::unordered_map<u64, u64> vid, sys; // by address of the 8-byte word; absent: 0
	u64 vid_bytes = 1ull << 40;

	std::vector<u32> reads;
	std::vector<std::pair<u32, u32>> writes;
	std::vector<std::pair<u64, u32>> stores;
	// Register accesses in their order, each with the number of the stop of the machine in which it was made; 0: outside.
	struct Access {
		char kind; // 'r', 'w'
		u32 off;
		int stop;
		bool operator==(const Access &) const = default;
	};
	std::vector<Access> order;
	int stops = 0, stop = 0;
	size_t copies = 0, copied_words = 0;
	u64 waited_us = 0, lost_after_us = ~0ull; // after this wait the GPU is removed
	std::unique_ptr<lens_gpu> gpu = std::make_unique<lens_gpu>();

private:
	struct Io {
		lens_io io{};
		Fake *self;
	} io_;

	static Fake *self(lens_io *io) { return reinterpret_cast<Io *>(io)->self; }

	static int copy(lens_io *io, lens_aperture ap, u64 addr, u64 *dst, u32 words)
	{
		Fake *f = self(io);
		f->copies++;
		f->copied_words += words;
		if (addr & 7)
			return -EINVAL;
		if (ap == LENS_VID && (addr >= f->vid_bytes || words * 8ull > f->vid_bytes - addr))
			return -EIO;
		auto &mem = ap == LENS_VID ? f->vid : f->sys;
		for (u32 i = 0; i < words; i++) {
			if (f->memory) {
				dst[i] = f->memory(ap, addr + 8ull * i);
				continue;
			}
			auto it = mem.find(addr + 8ull * i);
			dst[i] = it == mem.end() ? 0 : it->second;
		}
		return 0;
	}
};

} // namespace test
