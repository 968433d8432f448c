// SPDX-License-Identifier: GPL-2.0
// What was on each engine over time: from the samples that /proc/gpuX/samples gives (include/uapi/gpulens.h) to
// intervals, turns and how good the sampling was. Times are nanoseconds of CLOCK_MONOTONIC.
#pragma once
#include "lib/model/model.hpp"
#include "lib/timeline/timeline_store.hpp"
#include "uapi/gpulens.h"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tool {

enum class Phase {
	On,        // a TSG is on the engine
	Switching, // being loaded, saved, or asked to make room
	Error,     // the status could not be read
};

// Who has a channel.
struct Owner {
	u32 pid = 0;
	std::string name; // empty: not told

	std::string text() const; // "473 python3"
	bool operator==(const Owner &) const = default;
};

// Samples in a row that say the same of an engine; idle ones make none. Ends at the first sample that says otherwise.
struct Interval {
	u64 start_ns = 0, end_ns = 0;
	Phase phase = Phase::On;
	int tsg = LENS_NONE;     // or a channel that is in none: bare
	int channel = LENS_NONE; // where hardware says it
	bool bare = false;
	bool goes_on = false;      // beyond its last sample
	u32 samples = 0, busy = 0; // busy: of them, those in which the engine had work
};

// From one sample of an engine to the next where that took long.
struct Hole {
	u64 from_ns = 0, to_ns = 0;
	bool blind = false; // there were ticks, and their samples are lost
};

// Ticks without samples.
struct Gap {
	u64 time_ns = 0;
	u32 ticks = 0;
	int kind = 0; // GPULENS_SAMPLE_FULL, LATE, ASLEEP
};

struct Track {
	Engine engine;
	std::vector<Interval> intervals;
	std::vector<Hole> holes;
	// Of a long recording, those before: in the timeline's store.
	std::vector<StoreBlock> stored_intervals{}, stored_holes{};
};

// The items of a track, or the gaps, in order, without holding more of them than a block.
template <typename T> class TimelineReader {
public:
	TimelineReader(const TimelineStore *store, const std::vector<StoreBlock> &blocks, const std::vector<T> &rest)
		: store_(store), blocks_(blocks), rest_(rest)
	{
	}

	// Valid until the next call; null: there are no more.
	const T *next()
	{
		while (block_ < blocks_.size() && at_ == read_.size()) {
			store_->get(blocks_[block_++], read_);
			at_ = 0;
		}
		if (at_ < read_.size())
			return &read_[at_++];
		return rest_at_ < rest_.size() ? &rest_[rest_at_++] : nullptr;
	}

private:
	const TimelineStore *store_;
	const std::vector<StoreBlock> &blocks_;
	const std::vector<T> &rest_;
	std::vector<T> read_;
	size_t block_ = 0, at_ = 0, rest_at_ = 0;
};

// How long turns were. Of more than EXACT, only how many there were within each 0.1 % of length.
class Lengths {
public:
	static constexpr size_t EXACT = 1024;

	void add(u64 ns);
	u64 count() const { return count_; }
	u64 sum() const { return sum_; }
	u64 least() const { return least_; }
	u64 most() const { return most_; }
	u64 median() const; // 0: there are none
	// The first EXACT, in order.
	const std::vector<u64> &first() const { return first_; }

private:
	static constexpr unsigned SHARES = 1024; // of an octave
	struct Share {
		u64 count = 0, sum = 0;
	};

	void count_in_share(u64 ns);

	u64 count_ = 0, sum_ = 0, least_ = ~u64{0}, most_ = 0;
	std::vector<u64> first_;
	std::map<unsigned, std::array<Share, SHARES>> octaves_;
};

// What one TSG had of an engine. Turns that the recording or a hole of more than three steps cut off are not measured.
struct Turns {
	int tsg = LENS_NONE;
	bool bare = false;
	std::optional<Owner> owner{}; // where it is told
	u64 on_ns = 0;                // all of its time on the engine
	Lengths lengths_ns;           // of whole turns
	std::optional<u64> slice_ns;  // as configured, where a snapshot tells it
};

struct Timeline {
	std::optional<Gpu> gpu; // as it was when the recording began
	int index = LENS_NONE;
	u32 period_us = 0; // as asked for
	u64 start_ns = 0, end_ns = 0;
	std::vector<Track> tracks;
	std::vector<Gap> gaps;
	std::vector<StoreBlock> stored_gaps;          // those before
	std::shared_ptr<const TimelineStore> store{}; // of a long recording
	std::map<int, Owner> owners;                  // by channel, as it was told last
	u64 ticks = 0, lost = 0;
	// Distances of ticks as they came, ns, without those between which samples were lost: what is measured is known
	// to within one of them.
	u64 step_median_ns = 0, step_p99_ns = 0, step_max_ns = 0;

	// Longer distances are holes.
	u64 longest_step_ns() const { return 3 * std::max<u64>(step_median_ns, u64{period_us} * 1000); }
	double seconds() const { return static_cast<double>(end_ns - start_ns) / 1e9; }
	std::vector<Turns> turns(size_t track) const; // by TSG
	TimelineReader<Interval> intervals_of(size_t track) const
	{
		return {store.get(), tracks[track].stored_intervals, tracks[track].intervals};
	}
	TimelineReader<Hole> holes_of(size_t track) const
	{
		return {store.get(), tracks[track].stored_holes, tracks[track].holes};
	}
	TimelineReader<Gap> all_gaps() const { return {store.get(), stored_gaps, gaps}; }
	std::optional<Owner> owner(const Interval &i) const;
	std::string name() const; // "gpu0: AD102 (Ada), 0000:01:00.0"
};

// Takes a stream as it comes, in pieces of any size; keeps what is needed and no sample.
class TimelineBuilder {
public:
	TimelineBuilder() = default;
	// Intervals, holes and gaps go to the store when there are many; then only feed() and finish() are to be used.
	explicit TimelineBuilder(std::shared_ptr<TimelineStore> store) : store_(std::move(store)) {}

	// A recording may have a snapshot before the samples; both come through feed().
	void feed(std::string_view bytes);
	// Nothing more comes. Throws SourceError: there was no sound header, or it was cut in it.
	Timeline finish();
	// So far; intervals that go on end at the last sample.
	Timeline now() const;
	// As now(), without copying and without the intervals that go on.
	const Timeline &closed() const { return timeline_; }
	// The interval that goes on; nothing: the engine is idle, or nobody knows.
	std::optional<Interval> current(size_t track) const;
	// What ended before is dropped, and more where anything of a track is there more often than that: now() begins
	// there. Counts of ticks stay; their distances count half as much after each such length of time.
	void forget(u64 before_ns, size_t most);
	// The engines with their intervals since the last call, for who counts for days and keeps nothing. One that goes
	// on is cut in two at its last sample. Nothing before the first header.
	std::vector<Track> drain();

private:
	struct Open {
		bool any = false;
		Interval interval;
		u64 last_ns = 0; // of its last sample, 0: none yet
		bool blind = false;
	};

	bool take_head();
	void take(const gpulens_sample &s);
	void close(size_t track, u64 at);
	void measure_steps(Timeline &t) const;
	void remark(const gpulens_sample &s);
	void take_record(std::string_view bytes);
	void tick(u64 time_ns);
	template <typename T> void put_if_many(std::vector<T> &items, std::vector<StoreBlock> &blocks);

	std::shared_ptr<TimelineStore> store_; // null: all is kept in memory
	Timeline timeline_;
	std::string pending_;
	bool begun_ = false;
	std::vector<Open> open_;
	u64 last_tick_ns_ = 0, faded_ns_ = 0;
	bool blind_ = false;       // samples were lost since the last tick
	std::map<u64, u64> steps_; // distance of ticks in us: how often
};

// Throws SourceError.
Timeline timeline_of(std::string_view bytes, const std::string &source);

} // namespace tool
