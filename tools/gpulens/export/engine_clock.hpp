// SPDX-License-Identifier: GPL-2.0
// Counts the time of each TSG on each engine from samples, in a thread of its own.
#pragma once
#include "gpulens/export/engine_times.hpp"
#include "gpulens/export/owner_times.hpp"
#include "lib/source/source.hpp"
#include "lib/timeline/timeline.hpp"

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

namespace tool {

class EngineClock {
public:
	EngineClock(std::shared_ptr<const Source> source, unsigned gpu, const SampleOptions &options,
		    std::chrono::nanoseconds keep_ended = std::chrono::minutes(5));
	EngineClock(const EngineClock &) = delete;
	EngineClock &operator=(const EngineClock &) = delete;
	~EngineClock(); // ends the thread

	// Ends the series of TSGs that are not in the snapshot, and counts the time of processes that it gives TSGs to; see
	// EngineTimes and OwnerTimes.
	void add_snapshot(const Gpu &snapshot);
	// Adds the metrics. label: of the GPU.
	void add_to(Metrics &metrics, const std::string &label) const;
	// Returns whether sampling works now.
	bool up() const;

private:
	void run();
	void count_intervals(TimelineBuilder &builder);
	void set_state(bool up, const std::string &error);
	bool stopping_after(std::chrono::milliseconds time);

	const std::shared_ptr<const Source> source_;
	const unsigned gpu_;
	const SampleOptions options_;
	const std::chrono::milliseconds read_period_;
	mutable std::mutex mutex_; // protects the following members
	std::condition_variable wake_;
	bool stop_ = false, up_ = false;
	std::string last_error_;
	EngineTimes times_;
	OwnerTimes owner_times_;
	OwnerTimes::Clock::time_point processes_checked_{};
	std::thread thread_; // last: it uses the others
};

} // namespace tool
