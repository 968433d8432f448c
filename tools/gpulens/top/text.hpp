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

// Which columns a row has beside those of one GPU.
struct TopColumns {
	bool gpu = false;    // there are several
	bool owner = false;  // process, user, evidence and container
	bool narrow = false; // 80 columns for all: fewer of the others

	// For rows of these pictures in a terminal of that width; 0: no limit.
	static TopColumns of(const std::vector<const Picture *> &pictures, size_t width);
};

// A GPU and why it lacks samples, or could not be read at all; empty: neither.
struct TopPart {
	const Picture *picture;
	std::string no_samples, error;
};

// "sampled every 1.010 ms (1.000 ms requested), 2 of 4952 ticks lost, in 5.0 s". delay_ns: time between snapshots;
// no_samples: why there are no samples.
std::string top_sampling(const Picture &p, u64 delay_ns, const std::string &no_samples);
// The same of several GPUs, in one line.
std::string top_sampling(const std::vector<TopPart> &parts, u64 delay_ns);
std::string top_engine_titles();
std::string top_engine_line(const TopEngine &e);
std::string top_tsg_titles(const TopColumns &columns = {});
std::string top_tsg_line(const TopTsg &t, const TopColumns &columns = {});
// The line above the table: "2 of 7 TSGs by utilisation, filter "lce"". rows: all of them.
std::string top_view_line(const TopView &view, size_t shown, const std::vector<TopTsg> &rows);
// All rows of these GPUs.
std::vector<TopTsg> top_rows(const std::vector<const Picture *> &pictures);
// All lines of the GPUs' pictures, each with a newline.
std::string top_batch_text(const std::vector<TopPart> &parts, const TopView &view, u64 delay_ns);
const std::vector<std::string> &top_help();

} // namespace tool
