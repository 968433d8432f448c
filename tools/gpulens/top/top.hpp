// SPDX-License-Identifier: GPL-2.0
// The command `gpulens top`: shows the last seconds of GPUs on a terminal, or prints them repeatedly as text.
#pragma once
#include "gpulens/out/output.hpp"

#include <chrono>

namespace tool {

struct TopOptions {
	u64 every_ns = 0;                          // sampling period; 0: the source's modest_period_us()
	u64 delay_ns = 500000000;                  // time between screens
	u64 window_ns = 5000000000;                // time that a screen covers
	std::vector<u32> runlists;                 // empty: all
	u32 batch = 0;                             // number of screens to print as text; 0: use the terminal
	std::chrono::milliseconds read_period{20}; // Source::read_period()
};

// Returns the exit status. Throws Error (Source).
int run_top(const Options &options, const TopOptions &top_options);

} // namespace tool
