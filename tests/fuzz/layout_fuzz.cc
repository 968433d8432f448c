// SPDX-License-Identifier: GPL-2.0
// Layouts of any GPCs, and any text that names TPCs of them: a parsed mask is within the GPU; it is written into words
// and read from them again.
#include "partition/layout.hpp"
#include "room.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!size || size < size_t{1} + data[0] % 12)
		return 0;
	std::vector<unsigned> gpcs(data + 1, data + 1 + data[0] % 12);
	std::string text(reinterpret_cast<const char *>(data) + 1 + gpcs.size(), size - 1 - gpcs.size());
	try {
		gpulens::Layout l = gpulens::layout_of(gpcs);
		gpulens::TpcMask half = l.first_half(), mask = l.parse_mask(text);
		std::vector<uint64_t> words(l.word_count());
		l.write_words(mask, words.data());
		FUZZ_CHECK(l.read_words(words.data()).tpcs() == mask.tpcs());
		FUZZ_CHECK(l.complement(l.complement(mask)).tpcs() == mask.tpcs());
		l.check_masks({mask, half});
		l.make_masks({1, 2}, gpulens::Placing::Packed, mask);
	} catch (const gpulens::Error &e) {
		FUZZ_CHECK(e.code > 0 && *e.what());
	}
	return 0;
}
