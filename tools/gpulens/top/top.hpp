// SPDX-License-Identifier: GPL-2.0
// gpulens top: a GPU's last seconds on a terminal, or as text again and again.
#pragma once
#include "gpulens/out/output.hpp"

namespace tool {

struct TopOptions {
	u64 every_ns = 1000000; // between samples
	u64 delay_ns = 500000000;
	u64 window_ns = 5000000000;
	std::vector<u32> runlists; // empty: all
	u32 batch = 0;             // so many screens as text; 0: on the terminal
};

int top(const Options &options, const TopOptions &how);

} // namespace tool
