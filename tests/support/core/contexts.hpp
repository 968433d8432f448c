// SPDX-License-Identifier: GPL-2.0
// Channels of a TSG with an instance block each, page tables, a per-VEID header and a main context image, as literal
// words in a map of memory. Bit numbers: contexts_test.cc, mmu_test.cc. The virtual addresses have the indices 0, 0,
// 0x91, 0xa2, and 0x167 to 0x169 in the table of small pages.
#pragma once
#include "support/core/fake.hpp"
#include "format.h"

#include <string>

namespace test {

// Channels on a runlist, with an instance block each from 0x100000 on; a test writes the words of GPU memory.
struct Contexts : Fake {
	explicit Contexts(const lens_chip &chip, u32 channels = 1) : Fake(chip), pccsr(chip.channels != 0)
	{
		u32 words = chip.entry_words;
		entries.resize((channels + 1) * words);
		state.resize((channels + 1) * 2);
		err.resize(channels + 1);
		context.resize(channels + 1);
		entries[0] = words == 2 ? 0x0000e005 | channels << 26 | 128 << 18 : 0x80030001; // TSG 5
		if (words == 4) {
			entries[1] = channels;
			entries[2] = 5;
		}
		for (u32 i = 1; i <= channels; i++) {
			entries[i * words + (words == 2 ? 0 : 2)] = 15 + i; // channels 16, 17, ...
			set_instance_address(i, 0, block(i));
		}
		snap.n = snap.cap = channels + 1;
		snap.entries = entries.data();
		snap.state = state.data();
		snap.err = err.data();
		snap.context = context.data();
		snap.cache = cache.get();
		write_page_tables();
	}
	static u64 block(u32 i) { return 0x100000 + 0x1000 * i; }

	// Sets the address of channel i's instance block: in PCCSR (BIND 31, TARGET 29:28, PTR 27:0) or in the entry.
	void set_instance_address(u32 i, u32 target, u64 inst)
	{
		if (pccsr) {
			state[2 * i] = inst ? 0x80000000 | target << 28 | u32(inst >> 12) : 0;
		} else {
			entries[i * 4] = target << 4;
			entries[i * 4 + 2] = (entries[i * 4 + 2] & 0xfff) | u32(inst);
			entries[i * 4 + 3] = u32(inst >> 32);
		}
	}
	// 0x1234567000 -> 0x800000, 0x1234568000 -> 0x810000, 0x1234569000 -> 0x900000; 0x123456a000 is not mapped.
	void write_page_tables()
	{
		if (std::string(gpu->chip->mmu(0x400)->name) == "v3") {
			vid[0x10000] = 0x11012; // one level more: PD4 at 0x10000, PD3 at 0x11000
			vid[0x11000] = 0x20012;
			vid[0x20000] = 0x30012;
			vid[0x30488] = 0x40012;
			vid[0x40a28] = 0x50012;
			vid[0x50b38] = 0x800001;
			vid[0x50b40] = 0x810001;
			vid[0x50b48] = 0x900001;
			return;
		}
		vid[0x10000] = 0x2002;
		vid[0x20000] = 0x3002;
		vid[0x30488] = 0x4002;
		vid[0x40a28] = 0x5002;
		vid[0x50b38] = 0x80001;
		vid[0x50b40] = 0x81001;
		vid[0x50b48] = 0x90001;
	}
	// Page directory at 0x10000, version 2; words132: words 132 and 133, the address of the context.
	void write_instance_block(u64 at, u64 words132)
	{
		vid[at + 0x200] = 0x0000000000010400;
		vid[at + 0x210] = words132;
	}
	// A per-VEID header, and a main context image whose words all differ.
	void write_header(u64 at)
	{
		vid[at + 0x08] = 0xcafe002100000000;
		vid[at + 0x78] = 0x3456900000000012;
	}
	void write_context_image(u64 at)
	{
		vid[at + 0x80] = 0x0000000200000001;
		vid[at + 0xd0] = 0x0000000c0000000b;
		vid[at + 0xd8] = 0x0000000e0000000d;
		vid[at + 0xf0] = 0x0000001000000077;
		vid[at + 0xf8] = 0x600dc0de0000000f;
	}
	int collect()
	{
		copies = copied_words = 0;
		*cache = {};
		return lens_contexts_collect(gpu.get(), &snap);
	}
	std::string text()
	{
		lens_text t{};
		lens_format_runlist(&t, gpu.get(), &snap);
		std::string out = t.buf ? std::string(t.buf, t.len) : "";
		lens_text_free(&t);
		return out;
	}

	bool pccsr;
	std::vector<u32> entries, state;
	std::vector<s16> err;
	std::vector<lens_context> context;
	std::unique_ptr<lens_walk_cache> cache = std::make_unique<lens_walk_cache>();
	lens_runlist_snap snap{};
};

inline constexpr u64 AT_67 = 0x0000001234567004, AT_68 = 0x0000001234568004, AT_69 = 0x0000001234569004,
		     AT_6A = 0x000000123456a004; // words 132 and 133: MODE virtual
inline constexpr u64 HEADER = 0x800000, MAIN = 0x900000;

struct OneOfTuring : Contexts {
	explicit OneOfTuring(const lens_chip &chip = lens_chip_tu10x, u32 channels = 1) : Contexts(chip, channels)
	{
		for (u32 i = 1; i <= channels; i++)
			write_instance_block(block(i), AT_67);
		write_header(HEADER);
		write_context_image(MAIN);
	}
	lens_context &c() { return context[1]; }
};

} // namespace test
