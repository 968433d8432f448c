// SPDX-License-Identifier: GPL-2.0
// gpulens record and gpulens report: a timeline of what is on each engine, to files.
#pragma once
#include "gpulens/out/output.hpp"
#include "lib/timeline/timeline.hpp"

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

int record(const Options &options, const RecordOptions &how);
// From a recording that record wrote. No files: a page beside it, NAME.html.
int report(const Options &options, const std::string &recording, std::vector<std::string> files);

} // namespace tool
