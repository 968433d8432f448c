// SPDX-License-Identifier: GPL-2.0
// The commands `gpulens-lab probe-kernels` and `gpulens-lab blocks`, which docs/blocks.md describes: files, messages and exit
// status.
#pragma once
#include "lab/blocks/check.hpp"
#include "gpulens/blocks/program.hpp"
#include "lab/blocks/timeline_svg.hpp"
#include "gpulens/out/output.hpp"

namespace tool::blocks {

struct ProbeOptions {
	std::string scenario; // a file, or the name of a built-in scenario
	bool list = false, print = false, simulate = false;
	// Of the simulated GPU; nothing: as the figure's GPU, or a Jetson TX2.
	std::optional<u32> sms{}, threads_per_sm{}, sms_per_tpc{}, grids{}, copy_engines{};
	std::optional<double> copy_rate{}; // GB/s
	std::vector<u32> channel_order{};  // streams, from 1, that get a channel before others; simulated
	ProgramOptions program;
	std::string file;   // the log is written to; empty: none
	std::string folder; // a log for each stream is written to; empty: none
};

struct BlocksOptions {
	std::vector<std::string> logs;
	std::string file; // .svg to write; empty: none
	std::string cdf;  // .csv or .svg to write; empty: none
	bool check = false;
	std::string within; // a mask of check_within(); empty: none
	u64 tolerance_ns = DEFAULT_TOLERANCE_NS;
	std::optional<u32> channels{}; // instead of the log's
	Colours by = Colours::Stream;
	std::string trace; // .json of trace events to write; empty: none
	bool cpu = false;  // draw rows of the CPU's calls and waits, and of copies
	bool used = false; // draw only SMs that ran a block
};

// Return the exit status: EXIT_DONE; EXIT_PART if output failed or --check or --within found a violation; EXIT_USAGE for a bad
// file. Throw Error (Source).
int probe_command(const Options &options, const ProbeOptions &probe_options);
int blocks_command(const Options &options, const BlocksOptions &blocks_options);

} // namespace tool::blocks
