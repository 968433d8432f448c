// SPDX-License-Identifier: GPL-2.0
// Formats the Picture of gpulens top as lines of ASCII, for the screen and for --batch.
#pragma once
#include "gpulens/top/model.hpp"

#include <string>
#include <vector>

namespace tool {

// The user's choices.
struct TopView {
	TopSort sort = TopSort::Share;
	std::string filter;
	bool paused = false;
};

// "sampled every 1.010 ms (1.000 ms requested), 2 of 4952 ticks lost, in 5.0 s". delay_ns: time between snapshots;
// no_samples: why there are no samples.
std::string top_sampling(const Picture &p, u64 delay_ns, const std::string &no_samples);
std::string top_engine_titles();
std::string top_engine_line(const TopEngine &e);
std::string top_tsg_titles();
std::string top_tsg_line(const TopTsg &t);
// The line above the table: "2 of 7 TSGs by utilisation, filter "lce"".
std::string top_view_line(const TopView &view, size_t shown, size_t all);
// All lines of a picture, each with a newline.
std::string top_batch_text(const Picture &p, const TopView &view, u64 delay_ns, const std::string &no_samples);
const std::vector<std::string> &top_help();

} // namespace tool
