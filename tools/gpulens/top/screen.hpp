// SPDX-License-Identifier: GPL-2.0
// gpulens top on a terminal: drawing and keys.
#pragma once
#include "gpulens/out/output.hpp"
#include "gpulens/top/feed.hpp"
#include "gpulens/top/top.hpp"

namespace tool {

// Runs until q or a signal, and returns the exit status. feeds: of the GPUs that are shown at first, all on one screen.
// Restores the terminal, also if it throws.
int run_screen(const Options &options, const TopOptions &top_options, const std::shared_ptr<const Source> &source,
	       TopFeeds feeds);

} // namespace tool
