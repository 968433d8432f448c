// SPDX-License-Identifier: GPL-2.0
// Counters of time on engines, from intervals of samples: of each TSG, of each engine with work, of context switches.
// Bounded: the series of a TSG ends a while after its TSG, or when there are too many.
#pragma once
#include "gpulens/out/metrics.hpp"
#include "lib/timeline/timeline.hpp"

#include <chrono>
#include <list>
#include <map>
#include <string>
#include <tuple>

namespace tool {

class EngineTimes {
public:
	using Clock = std::chrono::steady_clock;

	// Series of TSGs of a GPU. Beyond, the one that has not been on its engine for the longest time ends.
	static constexpr size_t MAX_SERIES = 4096;

	// keep_ended: how long the series of a TSG stay after its end, so that each Prometheus server reads the last value.
	explicit EngineTimes(Clock::duration keep_ended, size_t max_series = MAX_SERIES)
		: keep_ended_(keep_ended), max_series_(max_series)
	{
	}

	// Counts from zero, whether or not there are intervals.
	void add_engine(const Engine &engine);
	void add(const Engine &engine, const Interval &interval);
	// Ends the TSGs that are on no runlist of this snapshot. Its runlists that could not be read, or that changed while
	// they were read, end no TSG, and neither does a snapshot without a time.
	void end_absent(const Gpu &snapshot, Clock::time_point now);
	// with_work: the samples tell when an engine has work and when it switches contexts. Otherwise these metrics are left
	// out, because zero would be a claim.
	void add_to(Metrics &metrics, const std::string &gpu, bool with_work) const;
	size_t series() const { return series_.size(); }

private:
	struct Key {
		int runlist; // LENS_NONE: of an engine without one
		int tsg;     // LENS_NONE: channels in no TSG
		std::string engine;

		auto operator<=>(const Key &) const = default; // NOLINT(modernize-use-nullptr): means the 0 in <=>
	};
	struct Series {
		Key key;
		u64 on_ns = 0, last_ns = 0; // last_ns: end of the last interval
		bool ended = false;
		u64 end_ns = 0;          // of the snapshot that the TSG was not in, CLOCK_MONOTONIC
		Clock::time_point end{}; // when that was seen
	};
	struct EngineTime {
		double busy_ns = 0;
		double busy_share = 0; // of the last samples
		u64 switch_ns = 0;
	};
	using Order = std::list<Series>; // the one that was on its engine last comes first

	void drop(Order::iterator series);
	void add_work_to(Metrics &metrics, const std::string &gpu) const;

	const Clock::duration keep_ended_;
	const size_t max_series_;
	Order series_;
	std::map<Key, Order::iterator> by_key_;
	std::map<std::string, EngineTime> engines_;
	u64 evicted_ = 0;
};

} // namespace tool
