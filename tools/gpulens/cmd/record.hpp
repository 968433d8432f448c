// SPDX-License-Identifier: GPL-2.0
// The commands gpulens record and gpulens report: write timelines of engines to files.
#pragma once
#include "gpulens/out/output.hpp"
#include "gpulens/out/timeline_out.hpp"

#include <optional>
#include <string>
#include <vector>

namespace tool {

// What is written of timelines.
struct TimelineOutput {
	std::vector<std::string> files; // the end of a name selects the format
	std::string dataset;            // folder of a dataset (out/timeline_dataset.hpp); empty: none
	std::string machine;            // its name; empty: that of the recording, or of this machine
	std::optional<TraceClock>
		clock{}; // of Perfetto's format; nothing: BOOTTIME, or REALTIME for several recordings
};

struct RecordOptions {
	TimelineOutput output;
	u64 for_ns = 0; // recording time; 0: until a signal
	u32 period_us = 100;
	std::vector<u32> runlists; // empty: all
	std::string tsgs;          // for the source rm: file of gpulens run -o with the owners of channels; empty: none
};

// Both return the exit status and throw Error.
int record_samples(const Options &options, const RecordOptions &record_options);
// Converts recordings of gpulens record, of one or more machines. Without an output, writes a page beside the recording,
// NAME.html; several recordings need an output.
int write_report(const Options &options, const std::vector<std::string> &recordings, TimelineOutput output);

} // namespace tool
