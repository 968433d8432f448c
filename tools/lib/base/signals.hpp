// SPDX-License-Identifier: GPL-2.0
// Polls for SIGINT, SIGTERM and SIGHUP, so that a command can end in order. Ignores SIGPIPE: writing to a closed pipe returns
// an error instead.
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
		struct sigaction action {};

		came_ = 0;
		action.sa_handler = [](int) { came_ = 1; };
		for (size_t i = 0; i < std::size(SIGNALS); i++) {
			if (SIGNALS[i] == SIGPIPE)
				action.sa_handler = SIG_IGN;
			sigaction(SIGNALS[i], &action, &before_[i]);
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
	// Sleeps until this time or a signal, in short steps, because another thread may receive the signal.
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
