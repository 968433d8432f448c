// SPDX-License-Identifier: GPL-2.0
// Writes the records of user space.
#include "lib/model/recording.hpp"

#include <algorithm>
#include <cstring>
#include <endian.h>

namespace tool {

void append_record(std::string &bytes, u64 time_ns, const void *record)
{
	gpulens_sample remark{};

	remark.time_ns = htole64(time_ns);
	remark.engine = GPULENS_SAMPLE_ALL;
	remark.kind = SAMPLE_RECORD;
	bytes.append(reinterpret_cast<const char *>(&remark), sizeof(remark));
	bytes.append(static_cast<const char *>(record), GPULENS_RECORD_BYTES);
}

void append_text(std::string &bytes, u64 time_ns, RecordedText about, std::string_view text)
{
	do {
		TextRecord record{};
		size_t part = std::min(text.size(), sizeof(record.text));

		record.type = htole16(RECORD_TEXT);
		record.about = static_cast<u8>(about);
		record.flags = part < text.size() ? TEXT_CONTINUES : 0;
		std::memcpy(record.text, text.data(), part);
		append_record(bytes, time_ns, &record);
		text.remove_prefix(part);
	} while (!text.empty());
}

} // namespace tool
