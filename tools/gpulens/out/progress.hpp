// SPDX-License-Identifier: GPL-2.0
// A progress bar on standard error, if that is a terminal. The destructor removes it.
#pragma once
#include "gpulens/gpu.h"

#include <cstdio>
#include <string>
#include <unistd.h>

namespace tool {

class ProgressBar {
public:
	ProgressBar() : terminal_(isatty(STDERR_FILENO)) {}
	ProgressBar(const ProgressBar &) = delete;
	ProgressBar &operator=(const ProgressBar &) = delete;
	~ProgressBar()
	{
		if (terminal_)
			std::fprintf(stderr, "\r\033[K");
	}

	bool is_shown() const { return terminal_; }
	// text: behind the bar; empty: nothing.
	void show(u64 done, u64 all, const std::string &text = "") const
	{
		int filled = all ? static_cast<int>(done * COLUMNS / all) : 0;
		if (terminal_)
			std::fprintf(stderr, "\r[%s%s] %3.0f %%%s%s\033[K", std::string(size_t(filled), '#').c_str(),
				     std::string(size_t(COLUMNS - filled), '.').c_str(),
				     all ? 100.0 * double(done) / double(all) : 0, text.empty() ? "" : " ",
				     text.c_str());
	}

private:
	static constexpr int COLUMNS = 40;

	bool terminal_;
};

} // namespace tool
