// SPDX-License-Identifier: GPL-2.0
// The decoders of instance blocks and context images, for any content of the channels of a short runlist, their page
// tables and the pages that these map. Contexts are read by both kinds of channel words and by entries.
// Seen failing with a same_context() that reads the entry before the first.
#include "lists.hpp"

namespace {

fuzz::Gpu gpu;
fuzz::Lists lists;

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	lens_entry e;

	gpu.start(data, size);
	if (!lists.start(gpu, 3))
		return 0;
	int err = lists.collect(gpu.gpu, true);
	if (err)
		return 0;
	// An instance block and a context image for each channel, two walks of six levels and a header.
	FUZZ_CHECK(gpu.copies <= 1 + u64{lists.snap.n} * 32);
	for (u32 i = 0; i < lists.snap.n; i++) {
		const lens_context &c = lists.snap.context[i];
		gpu.gpu.chip->host->decode_entry(&lists.snap.entries[i * gpu.gpu.chip->entry_words], &e);
		if (e.is_tsg || lists.snap.err[i])
			continue;
		FUZZ_CHECK(c.err == 0 || c.err == -EIO || c.err == -ENOENT);
		FUZZ_CHECK(c.err || (c.mmu && c.target < 4 && c.pdb % 4096 == 0 && c.wfi_va % 4096 == 0));
		FUZZ_CHECK(c.image_err == 0 || c.image_err == -EIO || c.image_err == -ENOENT ||
			   c.image_err == -EOPNOTSUPP);
		FUZZ_CHECK(c.err || c.image_err || (c.graphics < 4 && c.compute < 4));
	}
	return 0;
}
