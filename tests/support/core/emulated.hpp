// SPDX-License-Identifier: GPL-2.0
// The core's table of functions over an emulated GPU in the same process, and the GPU that it identifies. Only tests
// use it: the core and the emulator do not depend on each other.
#pragma once
#include "gpulens/gpu.h"
#include "gpulens/mmu.h"
#include "control/emulated_gpu.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

namespace test {

inline nlohmann::json load_json(const std::string &relative)
{
	std::ifstream in(std::string(GPULENS_DATA) + "/" + relative);
	return nlohmann::json::parse(in);
}

// The names of all emulated chips in order, except those of the argument.
inline std::vector<std::string> profiles_but(const std::set<std::string> &without)
{
	std::vector<std::string> names;

	for (const auto &file : std::filesystem::directory_iterator(GPULENS_DATA "/profiles"))
		if (file.path().extension() == ".json" && !without.count(file.path().stem()))
			names.push_back(file.path().stem());
	std::sort(names.begin(), names.end());
	return names;
}

class Emulated {
public:
	explicit Emulated(const std::string &profile)
		: emu(emu::EmulatedGpu::from_file(GPULENS_DATA "/profiles/" + profile + ".json"))
	{
		static const lens_io_ops ops = {
			.rd32 =
				[](lens_io *io, u32 off) {
			io->cost.rd32++;
			return static_cast<u32>(self(io)->emu->read(0, off, 4));
			},
			.wr32 =
				[](lens_io *io, u32 off, u32 val) {
			io->cost.wr32++;
			self(io)->emu->write(0, off, 4, val);
			},
			.rd64 =
				[](lens_io *io, u32 off) {
			io->cost.rd64++;
			return static_cast<u64>(self(io)->emu->read(0, off, 8));
			},
			.copy = copy,
			.store32 =
				[](lens_io *io, lens_aperture ap, u64 addr, u32 val) {
			if (ap != LENS_VID) {
				uint8_t *at = self(io)->system(addr, 4);
				if (at)
					memcpy(at, &val, 4);
				return at ? 0 : self(io)->no_system();
			}
			int err = lens_window_check(io, addr, 4);
			return err ? err : lens_window_store32(io, addr, val);
			},
			.exclusive =
				[](lens_io *io, int (*fn)(void *), void *arg) {
			self(io)->stops++;
			// A Tegra has no memory behind the window.
			return self(io)->gpu->id->soc ? fn(arg) : lens_window_run(io, fn, arg);
			},
			.stop_state = nullptr, .exclusive_at = nullptr,
			.atomic =
				[](lens_io *io, int (*fn)(void *), void *arg) {
			self(io)->atomics++;
			return fn(arg);
			},
			.wait_us =
				[](lens_io *io, u32 us) {
			self(io)->emu->advance(u64{us} * 1000);
			return 0;
			},
			};
		io_.self = this;
		io_.io.ops = &ops;
		if (emu->profile().pfifo())
			emu->poke_register(0x200, ~0u); // PMC_ENABLE, as a driver leaves it
	}

	// Reserves 16 MiB of the machine's memory at 0x70000000 for the GPU. Without it system memory is -EOPNOTSUPP.
	void give_system_memory()
	{
		ram_ = std::make_unique<emu::RamAt>(0x70000000, 0x1000000);
		emu->set_sysmem(ram_.get());
		emu->control({{"cmd", "sysmem"}, {"base", ram_->base()}, {"bytes", ram_->size()}});
	}
	// A word of either memory, read from the emulator and not through the core.
	u32 word(lens_aperture ap, u64 addr)
	{
		emu::Aperture a = ap == LENS_VID ? emu::Aperture::Vid : emu::Aperture::SysCoherent;
		return emu->memories().rd32({a, addr});
	}

	// Identifies the GPU and reads its topology, as the module does at load.
	int attach()
	{
		int err = lens_gpu_identify(gpu.get(), &io_.io);
		return err ? err : lens_gpu_read_topology(gpu.get());
	}

	lens_io *io() { return &io_.io; }
	const lens_topology &topo() const { return gpu->topo; }

	std::unique_ptr<emu::EmulatedGpu> emu;
	std::unique_ptr<lens_gpu> gpu = std::make_unique<lens_gpu>();
	unsigned stops = 0;   // of the machine: calls of exclusive()
	unsigned atomics = 0; // of atomic(), which stops it as well

private:
	struct Io {
		lens_io io{};
		Emulated *self;
	} io_;

	std::unique_ptr<emu::RamAt> ram_;

	uint8_t *system(u64 addr, u64 bytes) { return ram_ ? ram_->at(addr, bytes) : nullptr; }
	int no_system() const { return ram_ ? -EIO : -EOPNOTSUPP; }
	static Emulated *self(lens_io *io) { return reinterpret_cast<Io *>(io)->self; }

	static int copy(lens_io *io, lens_aperture ap, u64 addr, u64 *dst, u32 words)
	{
		// Like the module: an address is not translated while the machine is stopped.
		if (ap != LENS_VID && io->held)
			return -EAGAIN;
		if (ap != LENS_VID) {
			const uint8_t *at = self(io)->system(addr, u64{words} * 8);
			if (at)
				memcpy(dst, at, size_t{words} * 8);
			return at ? 0 : self(io)->no_system();
		}
		int err = lens_window_check(io, addr, u64{words} * 8);
		while (!err && words) {
			u32 n = words < LENS_WINDOW_PIECE / 8 ? words : LENS_WINDOW_PIECE / 8;
			err = std::min(lens_window_copy(io, addr, dst, n), 0);
			addr += u64{n} * 8;
			dst += n;
			words -= n;
		}
		return err;
	}
};

// A collected runlist with its buffers.
class Snap {
public:
	Snap(Emulated &e, u32 id, bool contexts = false) : rl_(lens_gpu_find_runlist(e.gpu.get(), id))
	{
		snap.rl = rl_;
		err = rl_ ? lens_runlist_begin(e.gpu.get(), &snap) : -ENOENT;
		do {
			if (err && err != -EAGAIN)
				break;
			u32 cap = snap.regs.length;
			entries_.assign(size_t{cap} * e.gpu->chip->entry_words / 2 + 1, 0);
			state_.assign(size_t{cap} * 2 + 1, 0);
			errs_.assign(cap + 1, 0);
			snap.cap = cap;
			snap.entries = reinterpret_cast<u32 *>(entries_.data());
			snap.state = state_.data();
			snap.err = errs_.data();
			err = lens_runlist_collect(e.gpu.get(), &snap);
			if (!err && contexts) {
				context_.assign(cap + 1, lens_context{});
				snap.context = context_.data();
				snap.cache = cache_.get();
				err = lens_contexts_collect(e.gpu.get(), &snap);
			}
		} while (err == -EAGAIN);
	}

	lens_runlist_snap snap{};
	int err;

private:
	const lens_runlist *rl_;
	std::vector<u64> entries_;
	std::vector<u32> state_;
	std::vector<s16> errs_;
	std::vector<lens_context> context_;
	std::unique_ptr<lens_walk_cache> cache_ = std::make_unique<lens_walk_cache>();
};

} // namespace test
