// SPDX-License-Identifier: GPL-2.0
// gpulens record and gpulens report: a timeline of what is on each engine, to files.
#pragma once
#include "show.hpp"
#include "timeline.hpp"

#include <functional>
#include <string>
#include <vector>

namespace tool {

struct RecordOptions {
	std::vector<std::string> files; // what to write; the name's end says how, see write_timeline()
	u64 for_ns = 0;                 // 0: until a signal
	u32 period_us = 100;
	std::vector<u32> runlists; // empty: all
	std::string tsgs;          // through the driver: whose channels are whose, from gpulens run -o; empty: not told
};

// /proc/gpuX/samples, opened and told what to sample; read as it comes.
class SampleStream {
public:
	// Throws SourceError.
	SampleStream(const std::string &proc, unsigned gpu, u32 period_us, const std::vector<u32> &runlists);
	SampleStream(const SampleStream &) = delete;
	SampleStream &operator=(const SampleStream &) = delete;
	~SampleStream();

	int fd() const { return fd_; } // to poll
	// What has come, at most what fits; empty: nothing now. Throws SourceError, also when the GPU has gone.
	std::string_view read();

private:
	std::string path_;
	int fd_;
	std::string buffer_;
};

int record(const Options &options, const RecordOptions &how);
// From a recording that record wrote. No files: a page beside it, NAME.html.
int report(const Options &options, const std::string &recording, std::vector<std::string> files);

// "10s", "500ms", "100us", "2m"; a bare number counts in unit_ns. Nothing: not a time.
std::optional<u64> parse_duration(const std::string &text, u64 unit_ns);

} // namespace tool
