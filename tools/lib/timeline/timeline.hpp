// SPDX-License-Identifier: GPL-2.0
// What ran on each engine over time: intervals, slots and the quality of the sampling, computed from the samples of
// /proc/gpuX/samples (include/uapi/gpulens.h). All times are nanoseconds of CLOCK_MONOTONIC. A slot (scheduling
// slot) is the uninterrupted time of a TSG on an engine.
#pragma once
#include "lib/model/model.hpp"
#include "lib/model/recording.hpp"
#include "lib/timeline/clocks.hpp"
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
	Switching, // a TSG is being loaded, saved or preempted
	Error,     // the status could not be read
};

// The owner of a TSG or channel until a time; the next one's time begins there. Ids are used again.
struct OwnerSpan {
	u64 until_ns = ~u64{0};
	Owner owner;
};

// Consecutive samples with the same state of an engine. Ends at the first sample with another state. There are no
// intervals for idle engines.
struct Interval {
	u64 start_ns = 0, end_ns = 0;
	Phase phase = Phase::On;
	int tsg = LENS_NONE;       // TSG id; the channel's id if bare
	int channel = LENS_NONE;   // LENS_NONE if the hardware does not report it
	bool bare = false;         // a channel that is in no TSG
	bool continues = false;    // the end is unknown: it is the last sample of the recording
	u32 samples = 0, busy = 0; // number of samples; of those, samples in which the engine had work
};

// Time between two samples of an engine that is longer than two periods, or in which samples were lost.
struct SampleGap {
	u64 from_ns = 0, to_ns = 0;
	bool lost = false; // ticks in it have no samples; otherwise the sampler was only late
};

// Ticks of the sampler that have no samples.
struct DroppedTicks {
	u64 time_ns = 0;
	u32 ticks = 0; // how many
	int kind = 0;  // why: GPULENS_SAMPLE_FULL, GPULENS_SAMPLE_LATE or GPULENS_SAMPLE_ASLEEP
};

// What ran on one engine.
struct Track {
	Engine engine;
	std::vector<Interval> intervals;
	std::vector<SampleGap> sample_gaps;
	// Earlier items of a long recording, in the timeline's store.
	std::vector<StoreBlock> stored_intervals{}, stored_sample_gaps{};
};

// Reads the items of a track, or the dropped ticks, in order. Holds one block of them in memory.
template <typename T> class TimelineReader {
public:
	TimelineReader(const TimelineStore *store, const std::vector<StoreBlock> &blocks, const std::vector<T> &rest)
		: store_(store), blocks_(blocks), rest_(rest)
	{
	}

	// Returns the next item, valid until the next call; null at the end.
	const T *next()
	{
		while (block_ < blocks_.size() && read_at_ == read_.size()) {
			store_->get(blocks_[block_++], read_);
			read_at_ = 0;
		}
		if (read_at_ < read_.size())
			return &read_[read_at_++];
		return rest_at_ < rest_.size() ? &rest_[rest_at_++] : nullptr;
	}

private:
	const TimelineStore *store_;
	const std::vector<StoreBlock> &blocks_;
	const std::vector<T> &rest_;
	std::vector<T> read_;
	size_t block_ = 0, read_at_ = 0, rest_at_ = 0;
};

// Statistics of lengths, ns. The first EXACT_COUNT lengths are kept; beyond, only a histogram with bins of 0.1 % width.
class Lengths {
public:
	static constexpr size_t EXACT_COUNT = 1024;

	void add(u64 ns);
	u64 count() const { return count_; }
	u64 sum() const { return sum_; }
	u64 least() const { return least_; }
	u64 most() const { return most_; }
	u64 median() const; // 0 if there are no lengths
	// The first EXACT_COUNT lengths, in the order of add().
	const std::vector<u64> &first() const { return first_; }

private:
	static constexpr unsigned BINS = 1024; // per octave
	struct Bin {
		u64 count = 0, sum = 0;
	};

	void count_in_bin(u64 ns);

	u64 count_ = 0, sum_ = 0, least_ = ~u64{0}, most_ = 0;
	std::vector<u64> first_;
	std::map<unsigned, std::array<Bin, BINS>> octaves_;
};

// The slots of one TSG on an engine. A slot is not measured if the recording's ends or one of UnseenGaps cut it.
struct Slots {
	int tsg = LENS_NONE;
	bool bare = false;
	std::optional<Owner> owner{}; // nothing: unknown
	u64 on_ns = 0;                // total time on the engine, with slots that are not measured
	Lengths lengths_ns;           // of the measured slots
	std::optional<u64> slice_ns;  // configured time slice; nothing: the snapshot does not have it
};

// What a coordinator of gpulens schedule saw or did.
struct ScheduleEvent {
	u64 time_ns = 0;
	ScheduleStep step = ScheduleStep::Policy;
	u32 task = 0; // number in the policy
	u64 value = 0;
	std::string name{}; // of the task or policy
};

struct Timeline {
	static constexpr size_t MAX_SCHEDULE = 1000000; // events that are kept

	std::optional<Gpu> gpu; // snapshot at the beginning of the recording
	int index = LENS_NONE;  // X of /proc/gpuX
	u32 period_us = 0;      // requested sampling period
	u64 start_ns = 0, end_ns = 0;
	std::vector<Track> tracks;
	std::vector<DroppedTicks> dropped;
	std::vector<StoreBlock> stored_dropped;       // earlier ones, in the store
	std::shared_ptr<const TimelineStore> store{}; // null if everything is in memory
	// Known owners. Where ids of channels count over the GPU and no TSG is known: {LENS_NONE, true, CHANNEL}.
	std::map<TaskId, std::vector<OwnerSpan>> owners;
	std::optional<Clocks> clocks{};        // nothing: an older version, or the recording was cut
	std::vector<ScheduleEvent> schedule{}; // in the order of their times; the first MAX_SCHEDULE ones
	u64 schedule_missing = 0;              // events that are not there
	std::string machine{};     // name of the machine; empty: unknown, as in an older version's recording
	std::string gpu_uuid{};    // "GPU-..."; empty: unknown, as without NVIDIA's driver
	std::string clock_error{}; // by which times of context switches may be wrong; empty: not known
	std::string why_sampled{}; // and not recorded by the driver's records of context switches; empty: not said
	std::string label{};       // name() begins with it, where timelines of several recordings are shown
	u64 ticks = 0, lost = 0;   // ticks with samples, ticks without
	// Measured time between ticks, without intervals in which samples were lost. Lengths are known to within one
	// step.
	u64 step_median_ns = 0, step_p99_ns = 0, step_max_ns = 0;

	double seconds() const { return static_cast<double>(end_ns - start_ns) / 1e9; }
	std::vector<Slots> slots(size_t track) const; // one element per TSG
	TimelineReader<Interval> intervals_of(size_t track) const
	{
		return {store.get(), tracks[track].stored_intervals, tracks[track].intervals};
	}
	TimelineReader<SampleGap> sample_gaps_of(size_t track) const
	{
		return {store.get(), tracks[track].stored_sample_gaps, tracks[track].sample_gaps};
	}
	TimelineReader<DroppedTicks> all_dropped() const { return {store.get(), stored_dropped, dropped}; }
	// The process whose TSG or channel was on the engine; nothing: unknown. runlist: of that engine.
	std::optional<Owner> owner(int runlist, const Interval &i) const;
	std::string name() const; // "gpu0: AD102 (Ada), 0000:01:00.0"
	// Nanoseconds since 1970, UTC, of a time of CLOCK_MONOTONIC, by the last clocks of the recording; nothing: unknown.
	std::optional<u64> unix_ns(u64 monotonic_ns) const;
};

// Reads the gaps of a track of which nothing is known: samples were lost, or it is longer than three steps.
class UnseenGaps {
public:
	UnseenGaps(const Timeline &t, size_t track)
		: gaps_(t.sample_gaps_of(track)),
		  longest_ns_(3 * std::max<u64>(t.step_median_ns, u64{t.period_us} * 1000))
	{
	}

	// As TimelineReader's.
	const SampleGap *next()
	{
		const SampleGap *gap = gaps_.next();

		while (gap && !gap->lost && gap->to_ns - gap->from_ns <= longest_ns_)
			gap = gaps_.next();
		return gap;
	}

private:
	TimelineReader<SampleGap> gaps_;
	u64 longest_ns_;
};

// Builds a Timeline from a stream of samples, in pieces of any size. Keeps intervals, not samples.
class TimelineBuilder {
public:
	TimelineBuilder() = default;
	// Moves intervals, sample gaps and dropped ticks to the store when there are many. Only feed() and finish() may
	// then be called.
	explicit TimelineBuilder(std::shared_ptr<TimelineStore> store) : store_(std::move(store)) {}

	// Takes the next bytes of a recording: an optional snapshot, then the samples. Throws Error (Source) for a bad
	// recording.
	void feed(std::string_view bytes);
	// Returns the timeline at the end of the recording. Throws Error (Source) if the recording ends within its header.
	Timeline finish();
	// Returns a copy of the timeline so far. Open intervals end at the last sample.
	Timeline now() const;
	// The timeline so far without open intervals, not copied.
	const Timeline &closed() const { return timeline_; }
	// Returns the open interval of a track; nothing if the engine is idle or its state is unknown.
	std::optional<Interval> current(size_t track) const;
	// Drops what ended before before_ns, and more, so that at most `most` items of each kind remain per track. The
	// timeline then begins there. Counts of ticks stay; older steps count half each time the timeline's length has
	// passed.
	void forget(u64 before_ns, size_t most);
	// Returns and removes the intervals since the last call, for programs that run for days (gpulens export). An
	// open interval is split at its last sample. Empty before the first header.
	std::vector<Track> drain();
	// Returns whether the header is complete.
	bool begun() const { return begun_; }
	// Returns whether the header and all samples so far are complete, so that a record may follow.
	bool takes_record() const { return begun_ && pending_.empty(); }

private:
	struct OpenInterval {
		bool any = false; // false: the engine is idle, or unknown
		Interval interval;
		u64 last_ns = 0;   // time of the engine's last sample, 0: none yet
		bool lost = false; // samples were lost since then
	};

	bool take_head();
	void take_sample(const gpulens_sample &s);
	void close_interval(size_t track, u64 end_ns);
	void measure_steps(Timeline &t) const;
	void take_dropped(const gpulens_sample &s);
	void take_record(u64 time_ns, std::string_view bytes);
	void take_text(std::string_view bytes);
	void take_process(u64 time_ns, std::string_view bytes);
	void take_schedule(std::string_view bytes);
	void count_tick(u64 time_ns);
	void forget_owners(u64 before_ns); // whose time ended by then
	template <typename T> void store_if_many(std::vector<T> &items, std::vector<StoreBlock> &blocks);

	std::shared_ptr<TimelineStore> store_; // null: everything stays in memory
	Timeline timeline_;
	std::string pending_;                  // bytes of an incomplete header or sample
	std::string text_;                     // of the TextRecords of which more follow
	std::optional<TaskId> last_owned_;     // the task of the last ProcessRecord with a process
	bool begun_ = false;                   // the header is complete
	std::vector<OpenInterval> open_;       // by track
	u64 last_tick_ns_ = 0, halved_ns_ = 0; // halved_ns_: when forget() last halved the counts of steps_
	bool lost_ = false;                    // samples were lost since the last tick
	std::map<u64, u64> steps_;             // by time between ticks, us: how often
};

} // namespace tool
