// SPDX-License-Identifier: GPL-2.0
// The text of all files, made from what the decoders read of any answers. The input's first byte selects the files.
// Seen failing with a lens_text_add() that allocates a byte too few.
#include "format.h"
#include "gpulens/bar.h"
#include "lists.hpp"

namespace {

fuzz::Gpu gpu;
fuzz::Lists lists;
lens_mmu_scan room;
lens_bars bars;
lens_text text;

// A map of all TPCs that the registers can name is a thousand times as long as that of a real chip: one run in 32 has it.
constexpr u32 MOST_TPCS = 64;

void format_topology(bool large)
{
	const lens_topology &topo = gpu.gpu.topo;
	lens_tpc_places places;
	lens_readable r;

	gpu.identify();
	if (lens_gpu_read_topology(&gpu.gpu))
		return;
	bool known = lens_gpu_has_host(&gpu.gpu) && !lens_check_readable(&gpu.gpu, &r);
	lens_format_chip(&text, &gpu.gpu, "0000:01:00.0", known ? &r : nullptr);
	lens_format_device_info(&text, &gpu.gpu);
	lens_format_copy_topology(&text, &gpu.gpu, &gpu.gpu.topo.ce);
	if (!lens_gpc_read_counts(&gpu.gpu, &places))
		lens_format_tpc_map(&text, &gpu.gpu, &places);
	if (large || topo.num_gpcs * topo.num_tpc_per_gpc <= MOST_TPCS)
		lens_format_tpc_map(&text, &gpu.gpu, lens_cwd_read_places(&gpu.gpu, &places) ? nullptr : &places);
}

void format_runlist(bool contexts)
{
	if (lists.start(gpu) && !lists.collect(gpu.gpu, contexts))
		lens_format_runlist(&text, &gpu.gpu, &lists.snap);
}

void bars_and_stats()
{
	if (lists.start(gpu) && !lens_bars_collect(&gpu.gpu, &bars, &room, 64))
		lens_format_bars(&text, &bars);
	lens_format_cost(&text, &gpu.io()->cost);
	lens_format_calls(&text, gpu.stream.take<uint8_t>() & 1, "gpc%u_tpc_mask", gpu.stream.take<u64>(),
			  gpu.stream.take<u64>());
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	gpu.start(data, size);
	uint8_t which = gpu.stream.take<uint8_t>();
	// The buffer is kept, so that most runs allocate nothing.
	if (which >= 0xf0)
		lens_text_free(&text);
	text.len = 0;
	switch (which % 4) {
	case 0: format_topology(which / 8 == 0); break;
	case 1: format_runlist(false); break;
	case 2: format_runlist(true); break;
	case 3: bars_and_stats(); break;
	}
	FUZZ_CHECK(!text.err);
	FUZZ_CHECK(!text.len || (text.buf[text.len - 1] == '\n' && !std::memchr(text.buf, 0, text.len)));
	return 0;
}
