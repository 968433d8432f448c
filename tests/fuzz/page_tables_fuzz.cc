// SPDX-License-Identifier: GPL-2.0
// The walk from a virtual address to a page: any page tables, in every format, from any root, with and without the
// cache of table words. Bytes 0 to 17: format, aperture and which walks use the cache, root, virtual address.
// Seen failing with a lens_mmu_translate() that leaves the offset in the page out of the address.
#include "stream.hpp"

namespace {

fuzz::Gpu gpu;
lens_walk_cache cache;

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const lens_mmu_format *const formats[] = {&lens_mmu_v1_64k, &lens_mmu_v1_128k, &lens_mmu_v2,
							 &lens_mmu_v3, &lens_mmu_v3_256g};
	bool known;

	gpu.start(data, size);
	if (cache.used)
		cache = {};
	const lens_mmu_format *fmt = formats[gpu.stream.take<uint8_t>() % 5];
	uint8_t flags = gpu.stream.take<uint8_t>();
	lens_aperture ap = flags & 1 ? LENS_SYS : LENS_VID;
	u64 root = gpu.stream.take<u64>(), first = gpu.stream.take<u64>();
	// Any chip will do: the walker reads only whether its video memory is system memory.
	gpu.gpu.io = gpu.io();
	gpu.gpu.chip = lens_chip_find(0x136, &gpu.gpu.id, &known);
	for (int i = 0; i < 4; i++) {
		u64 va = first + (u64{0x1000} << (9 * i));
		lens_mapping m;
		gpu.copies = 0;
		int err = lens_mmu_translate(&gpu.gpu, fmt, ap, root, va, &m, flags >> i & 2 ? &cache : nullptr);
		// One word for each level of the format, and two tables at the last.
		FUZZ_CHECK(gpu.copies <= fmt->levels + 2U);
		FUZZ_CHECK(cache.used <= LENS_CACHE_WORDS);
		FUZZ_CHECK(!err || err == -EFAULT || err == -EIO);
		if (!err) {
			FUZZ_CHECK(m.page_bytes >= 4096 && !(m.page_bytes & (m.page_bytes - 1)));
			FUZZ_CHECK(((m.addr ^ va) & (m.page_bytes - 1)) == 0);
		}
	}
	return 0;
}
