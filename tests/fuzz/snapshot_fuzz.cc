// SPDX-License-Identifier: GPL-2.0
// A snapshot of any bytes after a valid header, so that the records are reached.
#include "gpulens/out/gpu_json.hpp"
#include "gpulens/out/text.hpp"
#include "lib/base/errors.hpp"
#include "lib/model/isolation.hpp"
#include "lib/source/snapshot/snapshot.hpp"
#include "room.hpp"
#include "uapi/gpulens.h"

#include <cstring>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	gpulens_header h{.magic = GPULENS_MAGIC,
			 .version = GPULENS_VERSION,
			 .record_bytes = GPULENS_RECORD_BYTES,
			 .records = static_cast<uint32_t>(size / GPULENS_RECORD_BYTES),
			 .gpu = 0,
			 .time_ns = 0,
			 .took_ns = 0,
			 .reserved = {}};
	std::string bytes(reinterpret_cast<const char *>(&h), sizeof(h));

	// With an odd length the input replaces the header's first 8 bytes, too.
	if (size % 2 && size >= 8)
		std::memcpy(bytes.data(), data, 8);
	bytes.append(reinterpret_cast<const char *>(data), size);
	try {
		tool::Gpu gpu = tool::from_snapshot(bytes, "x");
		std::string text = tool::overview_text(gpu, {}) + tool::channels_text(gpu, {}) +
				   tool::isolation_text(gpu, tool::isolation_of(gpu), {});
		FUZZ_CHECK(text.find('\0') == text.npos);
		FUZZ_CHECK(!tool::gpu_json(gpu).dump().empty());
	} catch (const tool::Error &e) {
		FUZZ_CHECK(e.code == tool::Error::Source);
	}
	return 0;
}
