// SPDX-License-Identifier: GPL-2.0
// BAR1, BAR2 and the search for pages that a BAR maps: any register block, instance block and page tables of any
// format, read up to a bound. Byte 0 selects the chip, byte 1 the bound, byte 2 how many runlists are searched for.
// Seen failing with a read_words() that does not check the bound.
#include "gpulens/bar.h"
#include "stream.hpp"

namespace {

fuzz::Gpu gpu;
lens_mmu_scan room;
lens_bars bars;

// All tables of version 3: 2 words, four pages of 512, a table of big pages, one of small pages.
constexpr u32 ENOUGH = 2 + 4 * 512 + 32 + 512;

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	gpu.start(data, size);
	gpu.identify();
	u32 words = 1U << gpu.stream.take<uint8_t>() % 13;
	if (words > ENOUGH)
		words = ENOUGH;
	u32 runlists = gpu.stream.take<uint8_t>() % 4;
	lens_topology &topo = gpu.gpu.topo;
	for (u32 i = 0; i < runlists; i++) {
		topo.runlists[i] = {};
		topo.runlists[i].id = static_cast<u16>(i);
		topo.runlists[i].base = 0xc00000 + 0x400 * i;
	}
	topo.n_runlists = static_cast<u16>(runlists);
	int err = lens_bars_collect(&gpu.gpu, &bars, &room, words);
	FUZZ_CHECK(err == 0 || err == -ENODEV);
	FUZZ_CHECK(gpu.words <= 2 * (words + 1));
	if (err)
		return 0;
	FUZZ_CHECK(bars.n <= runlists);
	for (u32 bar = 0; bar < LENS_BARS; bar++) {
		FUZZ_CHECK(bars.err[bar] == 0 || bars.err[bar] == -EIO || bars.err[bar] == -E2BIG ||
			   bars.err[bar] == -EOPNOTSUPP);
		for (u32 i = 0; i < bars.n; i++)
			FUZZ_CHECK(bars.find[bar][i].addr);
	}
	return 0;
}
