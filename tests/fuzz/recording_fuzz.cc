// SPDX-License-Identifier: GPL-2.0
// Recordings in pieces: any bytes, or any samples after a valid header, and every report that is made of them. Data
// that was stored on disk is read back unchanged.
#include "gpulens/out/timeline_out.hpp"
#include "lib/base/errors.hpp"
#include "lib/timeline/recording_reader.hpp"
#include "room.hpp"
#include "uapi/gpulens.h"

#include <cstring>

namespace {

std::string make_header(unsigned engines)
{
	gpulens_samples_header h{};
	std::string s;

	h.magic = GPULENS_SAMPLES_MAGIC;
	h.version = GPULENS_SAMPLES_VERSION;
	h.sample_bytes = sizeof(gpulens_sample);
	h.engines = engines;
	h.period_us = 100;
	s.append(reinterpret_cast<const char *>(&h), sizeof(h));
	for (unsigned i = 0; i < engines; i++) {
		gpulens_engine e{};
		e.type = GPULENS_RECORD_ENGINE;
		e.engine_type = 19;
		e.inst = static_cast<uint16_t>(i);
		std::strcpy(e.name, "Copy Engine (<b>)");
		s.append(reinterpret_cast<const char *>(&e), sizeof(e));
	}
	return s;
}

std::string write_reports(tool::TimelineBuilder b, std::string_view bytes, size_t piece, std::string *others)
{
	std::string out;
	tool::Sink sink = [&out](std::string_view s) { out += s; };

	for (size_t at = 0; at < bytes.size(); at += piece)
		b.feed(bytes.substr(at, piece));
	tool::Timeline t = b.finish();
	tool::write_csv(t, sink);
	if (others) {
		tool::Sink other = [others](std::string_view s) { *others += s; };
		tool::write_html(t, other);
		FUZZ_CHECK(others->find("<b>") == others->npos);
		*others += tool::timeline_text(t);
		tool::write_perfetto(t, other);
	}
	return out;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 2)
		return 0;
	std::string bytes = data[0] & 1 ? make_header(1 + (data[0] >> 1 & 3)) : "", others;
	bytes.append(reinterpret_cast<const char *>(data) + 2, size - 2);
	try {
		std::string whole = write_reports(tool::TimelineBuilder(), bytes, 1 + data[1], &others);
		if (data[0] < 16)
			FUZZ_CHECK(whole == write_reports(tool::TimelineBuilder(
								  std::make_shared<tool::TimelineStore>("/dev/shm", 2)),
							  bytes, bytes.size(), nullptr));
	} catch (const tool::Error &e) {
		FUZZ_CHECK(e.code == tool::Error::Source);
	}
	// The same bytes as the first GPU's piece of a recording of two GPUs, and as a whole recording.
	std::string two = tool::recording_head(2) + tool::piece_head(2, 0, static_cast<u32>(bytes.size())) + bytes;
	for (const std::string &recording : {two, bytes})
		try {
			tool::RecordingReader reader([] { return nullptr; });
			for (size_t at = 0; at < recording.size(); at += 1 + data[1])
				reader.feed(std::string_view(recording).substr(at, 1 + data[1]));
			std::vector<tool::Timeline> all = reader.finish();
			FUZZ_CHECK(!all.empty());
			tool::write_csv(all, [](std::string_view) {});
		} catch (const tool::Error &e) {
			FUZZ_CHECK(e.code == tool::Error::Source);
		}
	return 0;
}
