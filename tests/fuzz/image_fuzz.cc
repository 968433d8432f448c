// SPDX-License-Identifier: GPL-2.0
// The parser and the writer of images: any file. What was read is written, and that read and written again.
// Seen to fail with RegisterSpace::finish() looking at the register after the last.
#include "lib/source/image/image.hpp"
#include "room.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	tool::ImageResult r = tool::parse_image({reinterpret_cast<const char *>(data), size});

	if (!r.image) {
		FUZZ_CHECK(!r.error.text.empty());
		return 0;
	}
	std::string text = tool::write_image(*r.image);
	tool::ImageResult again = tool::parse_image(text);
	FUZZ_CHECK(again.image);
	FUZZ_CHECK(tool::write_image(*again.image) == text);
	return 0;
}
