// SPDX-License-Identifier: GPL-2.0
// Counts the time of each TSG on each engine from samples, in a thread of its own.
#pragma once
#include "gpulens/out/metrics.hpp"
#include "lib/source/source.hpp"
#include "lib/timeline/timeline.hpp"

#include <chrono>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

namespace tool {

class EngineClock {
public:
	EngineClock(std::shared_ptr<const Source> source, unsigned gpu, u32 period_us);
	EngineClock(const EngineClock &) = delete;
	EngineClock &operator=(const EngineClock &) = delete;
	~EngineClock(); // ends the thread

	// Adds the metrics. label: of the GPU.
	void add_to(Metrics &metrics, const std::string &label) const;
	// Returns whether sampling works now.
	bool up() const;

private:
	// tsg: "5"; "none" for channels in no TSG, "other" for TSGs beyond MAX_TSGS.
	struct Key {
		std::string engine;
		int runlist;
		std::string tsg;

		auto operator<=>(const Key &) const = default; // NOLINT(modernize-use-nullptr): means the 0 in <=>
	};

	void run();
	void count_intervals(TimelineBuilder &builder);
	void add_interval(const Engine &engine, const Interval &interval);
	void set_state(bool up, const std::string &error);
	bool stopping_after(std::chrono::milliseconds time);

	const std::shared_ptr<const Source> source_;
	const unsigned gpu_;
	const u32 period_us_;
	mutable std::mutex mutex_; // protects the following members
	std::condition_variable wake_;
	bool stop_ = false, up_ = false;
	std::string last_error_;
	std::map<Key, u64> on_ns_;
	std::map<std::string, size_t> tsgs_; // number of TSGs with a key, by engine
	std::map<std::string, u64> switch_ns_;
	std::thread thread_; // last: it uses the others
};

} // namespace tool
