// SPDX-License-Identifier: GPL-2.0
// Ctrl-C, SIGTERM and SIGHUP as a question, so that what is going on is ended in order. A pipe that nobody reads any
// more is an error of writing to it meanwhile, and no signal.
#pragma once
#include <algorithm>
#include <chrono>
#include <csignal>
#include <iterator>
#include <thread>

namespace tool {

class StopSignals {
public:
	StopSignals()
	{
		struct sigaction how {};

		came_ = 0;
		how.sa_handler = [](int) { came_ = 1; };
		for (size_t i = 0; i < std::size(SIGNALS); i++) {
			if (SIGNALS[i] == SIGPIPE)
				how.sa_handler = SIG_IGN;
			sigaction(SIGNALS[i], &how, &before_[i]);
		}
	}
	StopSignals(const StopSignals &) = delete;
	StopSignals &operator=(const StopSignals &) = delete;
	~StopSignals()
	{
		for (size_t i = 0; i < std::size(SIGNALS); i++)
			sigaction(SIGNALS[i], &before_[i], nullptr);
	}

	bool came() const { return came_; }
	// Until then, or a signal. In short steps: a signal ends no sleep of another thread's.
	void wait_until(std::chrono::steady_clock::time_point end) const
	{
		using clock = std::chrono::steady_clock;

		while (!came() && clock::now() < end)
			std::this_thread::sleep_until(std::min(end, clock::now() + std::chrono::milliseconds(20)));
	}

private:
	static constexpr int SIGNALS[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE};
	static inline volatile sig_atomic_t came_ = 0;
	struct sigaction before_[std::size(SIGNALS)];
};

} // namespace tool
