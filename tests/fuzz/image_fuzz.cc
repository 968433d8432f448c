// SPDX-License-Identifier: GPL-2.0
// The parser and the writer of register images: any file. A parsed image is written, parsed and written again.
// Seen failing with a RegisterSpace::finish() that reads the register after the last.
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
