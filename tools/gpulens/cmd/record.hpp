// SPDX-License-Identifier: GPL-2.0
// The commands gpulens record and gpulens report: write timelines of engines to files.
#pragma once
#include "gpulens/out/output.hpp"
#include "lib/timeline/timeline.hpp"

#include <functional>
#include <string>
#include <vector>

namespace tool {

struct RecordOptions {
	std::vector<std::string> files; // output files; the end of the name selects the format, see write_timeline()
	u64 for_ns = 0;                 // recording time; 0: until a signal
	u32 period_us = 100;
	std::vector<u32> runlists; // empty: all
	std::string tsgs;          // for the source rm: file of gpulens run -o with the owners of channels; empty: none
};

// Both return the exit status and throw Error.
int record_samples(const Options &options, const RecordOptions &record_options);
// Converts a recording of gpulens record. Without files, writes a page beside it, NAME.html.
int write_report(const std::string &recording, std::vector<std::string> files);

} // namespace tool
