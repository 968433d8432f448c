// SPDX-License-Identifier: GPL-2.0
// A channel that executes its pushbuffer (--execute), for tests: page tables, instance block, runlist and words written
// one by one, as a driver writes them.
#pragma once
#include "common.hpp"

#include "model/host.hpp"

namespace emu_test {

constexpr uint64_t PDB = 0x100000, INST = 0x110000, USERD = 0x120000, LIST = 0x130000;
constexpr uint64_t PHYS = 0x200000; // virtual address 0 and on, 2 MiB less the last page
constexpr uint32_t CHANNEL = 7, TSG = 5;
constexpr uint64_t GPFIFO = 0x1000, PUSHBUFFER = 0x2000, UNMAPPED = 0x1ff000;
constexpr uint32_t GP_ENTRIES = 16;
constexpr uint32_t RUNLIST = 0xc00400, CHRAM = 0xc22000; // of ga102's runlist 1

// On gp106 a channel of runlist 5, on gv100 of runlist 6, on ga102 of runlist 1: those of a copy engine.
struct Driven {
	explicit Driven(const std::string &chip = "gp106", unsigned channels = 1)
		: Driven(make_gpu(chip), chip != "gp106", channels)
	{
	}
	Driven(std::unique_ptr<emu::EmulatedGpu> of, bool wide_entries, unsigned channels)
		: gpu(std::move(of)), wide(wide_entries), chram(!gpu->profile().pfifo()), runlist(wide ? 6 : 5)
	{
		gpu->set_access_ns(0);
		if (!chram)
			wr32(*gpu, 0x200, 0xffffffff);
		gpu->host().enable_work();
		auto &vid = gpu->vidmem();
		for (int level = 0; level < 4; level++) { // PD3 to PD0; the small half of PD0 is its second word
			uint64_t table = PDB + 0x1000 * level, next = table + 0x1000;
			vid.wr64(table + (level == 3 ? 8 : 0), next >> 12 << 8 | 1 << 1);
		}
		for (uint64_t page = 0; page < 511; page++)
			vid.wr64(PDB + 0x4000 + 8 * page, (PHYS + 0x1000 * page) >> 12 << 8 | 1);
		wr32(*gpu, 0x2140, 0xffffffff);
		wr32(*gpu, 0x160, 0x100);
		for (unsigned i = 0; i < channels; i++)
			bind(i);
		write_list(1, channels);
	}

	// Channel CHANNEL + i has its own instance block, USERD, GPFIFO and pushbuffer.
	static uint64_t inst(unsigned i) { return INST + 0x1000 * i; }
	static uint64_t userd(unsigned i) { return USERD + 0x200 * i; }
	void bind(unsigned i)
	{
		auto &vid = gpu->vidmem();
		vid.wr32(inst(i) + 4 * 128, uint32_t(PDB) | 0xc00);
		if (!chram)
			vid.wr32(inst(i) + 4 * 2, uint32_t(userd(i)));
		vid.wr32(inst(i) + 4 * 18, uint32_t(GPFIFO + 0x100 * i));
		vid.wr32(inst(i) + 4 * 19, 4 << 16); // 16 entries
		if (!chram)
			wr32(*gpu, 0x800000 + 8 * (CHANNEL + i), 0x80000000 | uint32_t(inst(i) >> 12));
	}
	// `tsgs` TSGs from TSG on with `channels` channels in all; each has the same number of them.
	void write_list(unsigned tsgs, unsigned channels)
	{
		auto &vid = gpu->vidmem();
		uint64_t at = LIST, size = wide ? 16 : 8;
		for (unsigned t = 0, c = 0; t < tsgs; t++) {
			unsigned end = (t + 1) * channels / tsgs, n = end - c;
			if (wide) {
				vid.wr32(at, 1 | 3 << 16 | 128u << 24);
				vid.wr32(at + 4, n);
				vid.wr32(at + 8, TSG + t);
			} else {
				vid.wr32(at, (TSG + t) | 1 << 13 | 3 << 14 | 128 << 18 | n << 26);
			}
			for (at += size; c < end; c++, at += size) {
				vid.wr32(at, chram ? uint32_t(userd(c)) : wide ? 0 : CHANNEL + c);
				vid.wr32(at + 4, wide ? 0 : uint32_t(inst(c) >> 12));
				if (wide)
					vid.wr32(at + 8, uint32_t(inst(c)) | (CHANNEL + c));
			}
		}
		if (chram) {
			wr32(*gpu, RUNLIST + 0x80, uint32_t(LIST)); // SUBMIT_BASE_LO, SUBMIT
			wr32(*gpu, RUNLIST + 0x88, tsgs + channels);
			gpu->advance(100'000);
			return;
		}
		wr32(*gpu, 0x2270, uint32_t(LIST >> 12));
		wr32(*gpu, 0x2274, runlist << 20 | (tsgs + channels));
		gpu->advance(100'000);
	}

	void method(uint32_t subchannel, uint32_t method, std::vector<uint32_t> data)
	{
		words.push_back(1u << 29 | uint32_t(data.size()) << 16 | subchannel << 13 | method >> 2);
		words.insert(words.end(), data.begin(), data.end());
	}
	// A copy: OFFSET_IN to LINE_COUNT, then LAUNCH_DMA. 0x182: pitch, not pipelined; 0x382: of many lines
	void copy(uint32_t from, uint32_t to, uint32_t bytes, uint32_t lines, uint32_t pitch_in, uint32_t pitch_out,
		  uint32_t launch = 0x382)
	{
		method(4, 0, {0xc1b5});
		method(4, 0x400, {0, from, 0, to, pitch_in, pitch_out, bytes, lines});
		method(4, 0x300, {launch});
	}
	void release(uint32_t va, uint32_t payload) { method(0, 0x10, {0, va, payload, 0x2, 0}); } // and an interrupt
	// One more entry with all words; GP_PUT through memory, as through BAR1
	void kick(unsigned channel = 0)
	{
		auto &vid = gpu->vidmem();
		uint64_t at = PUSHBUFFER + 0x400 * pushed;
		for (size_t i = 0; i < words.size(); i++)
			vid.wr32(PHYS + at + 4 * i, words[i]);
		pushed += unsigned(words.size() + 255) / 256;
		push(at, uint32_t(words.size()), channel);
		words.clear();
	}
	void push(uint64_t va, uint32_t words_of_it, unsigned channel = 0)
	{
		auto &vid = gpu->vidmem();
		uint64_t entry = PHYS + GPFIFO + 0x100 * channel + 8 * (put[channel] % GP_ENTRIES);
		vid.wr32(entry, uint32_t(va));
		vid.wr32(entry + 4, words_of_it << 10);
		vid.wr32(userd(channel) + 0x8c, ++put[channel] % GP_ENTRIES);
	}
	void run(uint64_t ns = 1'000'000)
	{
		for (int i = 0; i < 10; i++)
			gpu->advance(ns / 10);
	}
	uint32_t at(uint32_t va) { return gpu->vidmem().rd32(PHYS + va); }
	void set(uint32_t va, uint32_t value) { gpu->vidmem().wr32(PHYS + va, value); }
	uint32_t place(unsigned channel) const // of its word in PCCSR or NV_CHRAM
	{
		return chram ? CHRAM + 4 * (CHANNEL + channel) : 0x800004 + 8 * (CHANNEL + channel);
	}
	uint32_t state(unsigned channel = 0) { return rd32(*gpu, place(channel)); }
	void enable(unsigned channel = 0) { wr32(*gpu, place(channel), chram ? 0x2 : 0x400); }
	void disable(unsigned channel = 0) { wr32(*gpu, place(channel), chram ? 0x3 : 0x800); }
	json work() { return gpu->control({{"cmd", "work"}}); }
	json ignored(uint32_t number, uint32_t method, unsigned times = 1)
	{
		return {{{"class", number}, {"method", method}, {"times", times}}};
	}

	std::unique_ptr<emu::EmulatedGpu> gpu;
	bool wide;  // entries of 16 bytes
	bool chram; // NV_RUNLIST and NV_CHRAM instead of PFIFO and PCCSR
	uint32_t runlist;
	std::vector<uint32_t> words;
	unsigned pushed = 0; // KiB of pushbuffers
	std::map<unsigned, uint32_t> put;
};

} // namespace emu_test
