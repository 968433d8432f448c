// SPDX-License-Identifier: GPL-2.0
// Any page tables, in every format, from any root. Bytes 0 .. 17: format, apertures, root, virtual address.
#include "stream.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const lens_mmu_format *const formats[] = {&lens_mmu_v1_64k, &lens_mmu_v1_128k, &lens_mmu_v2,
							 &lens_mmu_v3, &lens_mmu_v3_256g};
	fuzz::Stream stream(data, size);
	fuzz::Gpu gpu(stream);
	std::unique_ptr<lens_walk_cache> cache = std::make_unique<lens_walk_cache>();
	const lens_chip_id *row;
	bool known;

	const lens_mmu_format *fmt = formats[stream.take(1) % 5];
	lens_aperture ap = stream.take(1) & 1 ? LENS_SYS : LENS_VID;
	u64 root = stream.take(8), va = stream.take(8);
	// Any chip does: the walker asks it only whether its video memory is the system's.
	gpu.gpu()->io = gpu.io();
	gpu.gpu()->chip = lens_chip_find(0x136, &row, &known);
	gpu.gpu()->id = row;
	for (int i = 0; i < 4; i++) {
		lens_mapping m;
		gpu.copies = 0;
		int err = lens_mmu_translate(gpu.gpu(), fmt, ap, root, va + (u64{0x1000} << (9 * i)), &m,
					     i & 1 ? cache.get() : nullptr);
		// As deep as the format and two tables at its end.
		FUZZ_CHECK(gpu.copies <= fmt->levels + 2U);
		FUZZ_CHECK(cache->used <= LENS_CACHE_WORDS);
		if (!err) {
			FUZZ_CHECK(m.page_bytes >= 4096 && !(m.page_bytes & (m.page_bytes - 1)));
			FUZZ_CHECK(((m.addr ^ (va + (u64{0x1000} << (9 * i)))) & (m.page_bytes - 1)) == 0);
		}
	}
	return 0;
}
