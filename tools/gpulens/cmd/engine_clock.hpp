// SPDX-License-Identifier: GPL-2.0
// How long each TSG has been on each engine, counted from samples by a thread, for as long as somebody wants to know.
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

	void add_to(Metrics &to, const std::string &label) const;
	bool up() const;

private:
	// Engine, its runlist, its TSG: "5"; "none" are channels in no TSG, "other" TSGs beyond MAX_TSGS.
	struct Key {
		std::string engine;
		int runlist;
		std::string tsg;

		auto operator<=>(const Key &) const = default; // NOLINT(modernize-use-nullptr): means the 0 in <=>
	};

	void run();
	void count(TimelineBuilder &builder);
	void add(const Engine &engine, const Interval &interval);
	void say(bool up, const std::string &why);
	bool stopping_after(std::chrono::milliseconds time);

	const std::shared_ptr<const Source> source_;
	const unsigned gpu_;
	const u32 period_us_;
	mutable std::mutex mutex_; // of all that follows
	std::condition_variable wake_;
	bool stop_ = false, up_ = false;
	std::string said_;
	std::map<Key, u64> on_ns_;
	std::map<std::string, size_t> tsgs_; // of each engine, that have a key
	std::map<std::string, u64> switch_ns_;
	std::thread thread_; // last: it uses the others
};

} // namespace tool
