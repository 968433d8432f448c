// SPDX-License-Identifier: GPL-2.0
// `gpulens probe-kernels` and `gpulens blocks`: files read and written, messages and exit status. docs/blocks.md is for
// users.
#pragma once
#include "gpulens/blocks/check.hpp"
#include "gpulens/blocks/program.hpp"
#include "gpulens/blocks/timeline_svg.hpp"
#include "gpulens/out/output.hpp"

namespace tool::blocks {

struct ProbeOptions {
	std::string scenario; // a file, or the name of one that comes with the tool
	bool list = false, print = false, simulate = false;
	Machine simulated{.name = "", .sms = 2, .threads_per_sm = 2048, .blocks_per_sm = 32}; // a Jetson TX2's
	ProgramOptions program;
	std::string file, folder; // empty: none
};

struct BlocksOptions {
	std::vector<std::string> logs;
	std::string file; // .svg
	bool check = false;
	u64 tolerance_ns = DEFAULT_TOLERANCE_NS;
	std::optional<u32> channels{};
	Colours by = Colours::Stream;
	bool used = false; // only SMs that a block ran on
};

// Exit status: 0 done, 1 --check found a violation, 2 a file that makes no sense. They throw SourceError.
int probe_command(const Options &options, const ProbeOptions &what);
int blocks_command(const Options &options, const BlocksOptions &what);

} // namespace tool::blocks
