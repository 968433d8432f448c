// SPDX-License-Identifier: GPL-2.0
// Ctrl-C, SIGTERM and SIGHUP as a question, so that what is going on is ended in order.
#pragma once
#include <algorithm>
#include <chrono>
#include <csignal>
#include <thread>

namespace tool {

class StopSignals {
public:
	StopSignals()
	{
		struct sigaction how {};

		came_ = 0;
		how.sa_handler = [](int) { came_ = 1; };
		for (int i = 0; i < 3; i++)
			sigaction(SIGNALS[i], &how, &before_[i]);
	}
	StopSignals(const StopSignals &) = delete;
	StopSignals &operator=(const StopSignals &) = delete;
	~StopSignals()
	{
		for (int i = 0; i < 3; i++)
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
	static constexpr int SIGNALS[] = {SIGINT, SIGTERM, SIGHUP};
	static inline volatile sig_atomic_t came_ = 0;
	struct sigaction before_[3];
};

} // namespace tool
