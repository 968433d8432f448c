// SPDX-License-Identifier: GPL-2.0
// Builds intervals and slots from samples.
#include "lib/timeline/timeline.hpp"

#include "lib/base/errors.hpp"
#include "lib/base/format.hpp"
#include "lib/model/recording.hpp"
#include "lib/source/snapshot/snapshot.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <endian.h>
#include <fmt/format.h>

namespace tool {

namespace {

// Twice the size of 64 runlists with 4096 channels each, every one in a TSG of its own.
constexpr size_t LARGEST_SNAPSHOT = size_t{64} << 20;
// Kept of one TSG, the last: more processes than any recording shows with the same ids.
constexpr size_t MAX_OWNERS = 1024;

template <size_t N> std::string text_of(const char (&field)[N])
{
	return replace_controls({field, strnlen(field, N)});
}

// Returns the state of the engine at a sample; nothing if the engine is idle.
std::optional<Interval> interval_of(const gpulens_sample &s)
{
	Interval i;

	switch (s.kind) {
	case GPULENS_SAMPLE_ON: i.phase = Phase::On; break;
	case GPULENS_SAMPLE_LOAD:
	case GPULENS_SAMPLE_SAVE:
	case GPULENS_SAMPLE_SWITCH: i.phase = Phase::Switching; break;
	case GPULENS_SAMPLE_ERROR: i.phase = Phase::Error; return i;
	default: return std::nullopt;
	}
	i.tsg = id_of_record(s.at.id);
	i.channel = id_of_record(s.at.channel);
	i.bare = s.flags & GPULENS_SAMPLE_BARE_CHANNEL;
	return i;
}

bool is_same_state(const Interval &a, const Interval &b)
{
	return a.phase == b.phase && a.tsg == b.tsg && a.channel == b.channel && a.bare == b.bare;
}

// counts: how often each value occurred, total times in all; part: 0.5 for the median.
u64 find_percentile(const std::map<u64, u64> &counts, u64 total, double part)
{
	u64 want = static_cast<u64>(static_cast<double>(total) * part), seen = 0;

	for (const auto &[value, n] : counts) {
		seen += n;
		if (seen > want)
			return value;
	}
	return counts.empty() ? 0 : counts.rbegin()->first;
}

} // namespace

void Lengths::add(u64 ns)
{
	count_++;
	sum_ += ns;
	least_ = std::min(least_, ns);
	most_ = std::max(most_, ns);
	if (count_ <= EXACT_COUNT) {
		first_.push_back(ns);
		return;
	}
	if (octaves_.empty())
		for (u64 length : first_)
			count_in_bin(length);
	count_in_bin(ns);
}

void Lengths::count_in_bin(u64 ns)
{
	unsigned octave = static_cast<unsigned>(std::bit_width(ns | 1)) - 1;
	u64 above = ns - (u64{1} << octave); // wraps for 0, which shares the octave of 1
	u64 bin = octave >= 10 ? above >> (octave - 10) : above;
	Bin &b = octaves_[octave][bin % BINS];

	b.count++;
	b.sum += ns;
}

u64 Lengths::median() const
{
	u64 seen = 0;

	if (octaves_.empty()) {
		std::vector<u64> sorted = first_;
		if (sorted.empty())
			return 0;
		std::nth_element(sorted.begin(), sorted.begin() + static_cast<ptrdiff_t>(sorted.size() / 2),
				 sorted.end());
		return sorted[sorted.size() / 2];
	}
	for (const auto &[octave, bins] : octaves_)
		for (const Bin &b : bins) {
			seen += b.count;
			if (seen > count_ / 2)
				return b.sum / b.count;
		}
	return most_;
}

std::string Timeline::name() const
{
	std::string begin = label.empty() ? "" : label + ": ";

	if (!gpu)
		return begin + (index == LENS_NONE ? "a GPU" : fmt::format("gpu{}", index));
	return begin + gpu->title();
}

std::optional<u64> Timeline::unix_ns(u64 monotonic_ns) const
{
	if (!clocks)
		return std::nullopt;
	return clocks->realtime_ns + (monotonic_ns - clocks->monotonic_ns); // wraps as needed
}

std::optional<Owner> Timeline::owner(int runlist, const Interval &i) const
{
	for (const TaskId &id : {TaskId{runlist, i.bare, i.tsg}, TaskId{LENS_NONE, true, i.bare ? i.tsg : i.channel}}) {
		auto at = owners.find(id);
		if (at == owners.end())
			continue;
		for (const OwnerSpan &span : at->second)
			if (i.start_ns < span.until_ns)
				return span.owner;
	}
	return std::nullopt;
}

namespace {

// Joins a track's intervals to slots: intervals of the same TSG that follow each other directly, whatever their
// channels.
class SlotCounter {
public:
	SlotCounter(const Timeline &t, size_t track)
		: t_(t), runlist_(t.tracks[track].engine.runlist), gaps_(t, track), gap_(gaps_.next())
	{
	}

	void take(const Interval &i)
	{
		if (first_ && i.phase == Phase::On && i.tsg == first_->tsg && i.bare == first_->bare &&
		    i.start_ns == end_ns_) {
			end_ns_ = i.end_ns;
			continues_ = i.continues;
			return;
		}
		finish();
		if (i.phase != Phase::On)
			return;
		first_ = i;
		end_ns_ = i.end_ns;
		continues_ = i.continues;
	}

	// Ends the current slot.
	void finish()
	{
		if (!first_)
			return;
		u64 start = first_->start_ns;
		std::optional<Owner> owner = t_.owner(runlist_, *first_);
		Slots &slots = by_tsg[{first_->bare, first_->tsg, owner ? owner->pid : 0}];
		slots.tsg = first_->tsg;
		slots.bare = first_->bare;
		slots.owner = owner;
		slots.on_ns += end_ns_ - start;
		// Next to a gap, and at the recording's ends, the real start or end of the slot is unknown.
		while (gap_ && gap_->to_ns < start)
			gap_ = gaps_.next();
		bool cut = start <= t_.start_ns || continues_ || (gap_ && gap_->from_ns <= end_ns_);
		if (!cut)
			slots.lengths_ns.add(end_ns_ - start);
		first_.reset();
	}

	std::map<std::tuple<bool, int, u32>, Slots> by_tsg; // by (bare, tsg, pid)

private:
	const Timeline &t_;
	int runlist_;
	UnseenGaps gaps_;
	const SampleGap *gap_;
	std::optional<Interval> first_; // first interval of the current slot
	u64 end_ns_ = 0;
	bool continues_ = false;
};

} // namespace

std::vector<Slots> Timeline::slots(size_t track) const
{
	SlotCounter counter(*this, track);
	TimelineReader<Interval> intervals = intervals_of(track);

	while (const Interval *i = intervals.next())
		counter.take(*i);
	counter.finish();
	std::vector<Slots> list;
	int id = tracks[track].engine.runlist;
	const Runlist *rl = gpu && id >= 0 ? gpu->runlist(static_cast<u32>(id)) : nullptr;
	std::map<int, u64> slices;
	for (const Tsg &tsg : rl ? rl->tsgs : std::vector<Tsg>())
		slices[static_cast<int>(tsg.id)] = tsg.timeslice_ns;
	for (auto &[key, slots] : counter.by_tsg) {
		auto slice = slices.find(slots.tsg);
		if (!slots.bare && slice != slices.end())
			slots.slice_ns = slice->second;
		list.push_back(std::move(slots));
	}
	return list;
}

// Parses the optional snapshot, the header and the engine records. Returns false if more bytes are needed.
bool TimelineBuilder::take_head()
{
	gpulens_samples_header h;
	gpulens_header snap;

	if (pending_.size() >= sizeof(snap) && std::memcmp(pending_.data(), "GPLS", 4) == 0) {
		std::memcpy(&snap, pending_.data(), sizeof(snap));
		size_t bytes = GPULENS_RECORD_BYTES * (size_t{le32toh(snap.records)} + 1);
		if (bytes > LARGEST_SNAPSHOT)
			throw Error(Error::Source, "its snapshot is larger than any GPU's");
		if (pending_.size() < bytes)
			return false;
		timeline_.gpu = from_snapshot(std::string_view(pending_).substr(0, bytes), "recording");
		pending_.erase(0, bytes);
	}
	if (pending_.size() < sizeof(h))
		return false;
	std::memcpy(&h, pending_.data(), sizeof(h));
	if (le32toh(h.magic) != GPULENS_SAMPLES_MAGIC)
		throw Error(Error::Source, "not a recording: samples begin with GPLT");
	if (le16toh(h.sample_bytes) != sizeof(gpulens_sample) || le32toh(h.engines) >= GPULENS_SAMPLE_ALL)
		throw Error(Error::Source, "a recording of a newer layout");
	size_t bytes = sizeof(h) + size_t{le32toh(h.engines)} * GPULENS_RECORD_BYTES;
	if (pending_.size() < bytes)
		return false;
	for (size_t at = sizeof(h); at < bytes; at += GPULENS_RECORD_BYTES) {
		gpulens_engine e;
		std::memcpy(&e, pending_.data() + at, sizeof(e));
		timeline_.tracks.push_back({engine_from_record(e, le16toh(h.version)), {}, {}, {}, {}});
	}
	timeline_.index = static_cast<int>(le32toh(h.gpu));
	timeline_.period_us = le32toh(h.period_us);
	open_.resize(timeline_.tracks.size());
	pending_.erase(0, bytes);
	return true;
}

void TimelineBuilder::close_interval(size_t track, u64 end_ns)
{
	OpenInterval &o = open_[track];

	if (!o.any)
		return;
	o.interval.end_ns = end_ns;
	timeline_.tracks[track].intervals.push_back(o.interval);
	store_if_many(timeline_.tracks[track].intervals, timeline_.tracks[track].stored_intervals);
	o.any = false;
}

template <typename T> void TimelineBuilder::store_if_many(std::vector<T> &items, std::vector<StoreBlock> &blocks)
{
	if (!store_ || items.size() < store_->block_items())
		return;
	blocks.push_back(store_->put(items));
	items.clear();
}

void TimelineBuilder::take_dropped(const gpulens_sample &s)
{
	timeline_.dropped.push_back({le64toh(s.time_ns), le32toh(s.ticks), s.kind});
	store_if_many(timeline_.dropped, timeline_.stored_dropped);
	timeline_.lost += le32toh(s.ticks);
	// A late tick only makes the next step longer. Otherwise the state of the engines at the dropped ticks is
	// unknown.
	if (s.kind == GPULENS_SAMPLE_LATE)
		return;
	for (size_t i = 0; i < open_.size(); i++) {
		close_interval(i, open_[i].last_ns);
		open_[i].lost = true;
	}
	lost_ = true;
}

void TimelineBuilder::count_tick(u64 time_ns)
{
	if (timeline_.ticks && !lost_ && time_ns > last_tick_ns_ && timeline_.period_us)
		steps_[(time_ns - last_tick_ns_) / 1000]++;
	if (!timeline_.ticks)
		timeline_.start_ns = time_ns;
	timeline_.ticks++;
	last_tick_ns_ = time_ns;
	lost_ = false;
}

void TimelineBuilder::take_sample(const gpulens_sample &s)
{
	u64 time_ns = le64toh(s.time_ns);

	if (s.engine == GPULENS_SAMPLE_ALL)
		return take_dropped(s);
	if (s.engine >= open_.size())
		throw Error(Error::Source,
			    fmt::format("a sample is of engine {}, of which there are {}", s.engine, open_.size()));
	if (!s.engine)
		count_tick(time_ns);
	timeline_.end_ns = std::max(timeline_.end_ns, time_ns);
	OpenInterval &o = open_[s.engine];
	bool late = timeline_.period_us && time_ns > o.last_ns + u64{2000} * timeline_.period_us;
	if (o.last_ns && (o.lost || late)) {
		Track &t = timeline_.tracks[s.engine];
		t.sample_gaps.push_back({o.last_ns, time_ns, o.lost});
		store_if_many(t.sample_gaps, t.stored_sample_gaps);
	}
	o.lost = false;
	std::optional<Interval> i = interval_of(s);
	if (o.any && !(i && is_same_state(o.interval, *i)))
		close_interval(s.engine, time_ns);
	if (i && !o.any) {
		o.any = true;
		o.interval = *i;
		o.interval.start_ns = time_ns;
	}
	if (o.any) {
		o.interval.samples++;
		o.interval.busy += s.flags & GPULENS_SAMPLE_BUSY ? 1 : 0;
	}
	o.last_ns = time_ns;
}

// Ignores records of unknown types, for recordings of newer versions.
void TimelineBuilder::take_record(u64 time_ns, std::string_view bytes)
{
	__le16 type;

	std::memcpy(&type, bytes.data(), sizeof(type));
	if (le16toh(type) == RECORD_PROCESS)
		take_process(time_ns, bytes);
	else if (le16toh(type) == RECORD_TEXT)
		take_text(bytes);
	else if (le16toh(type) == RECORD_SCHEDULE)
		take_schedule(bytes);
	else if (std::optional<Clocks> clocks = parse_clocks(bytes))
		timeline_.clocks = clocks;
}

void TimelineBuilder::take_schedule(std::string_view bytes)
{
	ScheduleRecord r;

	std::memcpy(&r, bytes.data(), sizeof(r));
	if (r.step == u8(ScheduleStep::Missing))
		timeline_.schedule_missing += le64toh(r.value);
	else if (timeline_.schedule.size() >= Timeline::MAX_SCHEDULE)
		timeline_.schedule_missing++;
	else if (r.step >= u8(ScheduleStep::Policy) && r.step <= u8(ScheduleStep::End))
		timeline_.schedule.push_back(
			{.time_ns = le64toh(r.time_ns),
			 .step = static_cast<ScheduleStep>(r.step),
			 .task = le32toh(r.task),
			 .value = le64toh(r.value),
			 .name = replace_controls(std::string(r.name, strnlen(r.name, sizeof(r.name))))});
}

void TimelineBuilder::take_process(u64 time_ns, std::string_view bytes)
{
	ProcessRecord p;

	std::memcpy(&p, bytes.data(), sizeof(p));
	bool has_tsg = p.flags & PROCESS_TSG;
	TaskId id{has_tsg ? id_of_record(p.runlist) : LENS_NONE, !has_tsg || (p.flags & PROCESS_BARE),
		  has_tsg ? id_of_record(p.tsg) : le16toh(p.channel)};
	std::vector<OwnerSpan> &spans = timeline_.owners[id];
	bool open = !spans.empty() && spans.back().until_ns == ~u64{0};
	last_owned_.reset();
	if (!p.pid) {
		if (open)
			spans.back().until_ns = time_ns;
		return;
	}
	last_owned_ = id;
	if (!open)
		spans.emplace_back();
	if (spans.size() > MAX_OWNERS)
		spans.erase(spans.begin());
	spans.back().owner = {le32toh(p.pid),
			      text_of(p.name),
			      text_of(p.user),
			      text_of(p.container),
			      "",
			      p.evidence <= static_cast<u8>(Evidence::Switched) ? static_cast<Evidence>(p.evidence)
										: Evidence::Unknown};
}

void TimelineBuilder::take_text(std::string_view bytes)
{
	TextRecord record;

	std::memcpy(&record, bytes.data(), sizeof(record));
	if (text_.size() < MAX_TEXT)
		text_.append(record.text, strnlen(record.text, sizeof(record.text)));
	if (record.flags & TEXT_CONTINUES)
		return;
	std::string text = replace_controls(text_);
	Owner nobody, &owner = last_owned_ ? timeline_.owners[*last_owned_].back().owner : nobody;
	text_.clear();
	switch (static_cast<RecordedText>(record.about)) {
	case RecordedText::Machine: timeline_.machine = text; break;
	case RecordedText::GpuUuid: timeline_.gpu_uuid = text; break;
	case RecordedText::Sampled: timeline_.why_sampled = text; break;
	case RecordedText::Clock: timeline_.clock_error = text; break;
	case RecordedText::Container: owner.container = text; break;
	case RecordedText::Pod: owner.pod = text; break;
	case RecordedText::User: owner.user = text; break;
	default: break;
	}
}

void TimelineBuilder::feed(std::string_view bytes)
{
	pending_.append(bytes);
	if (!begun_ && !(begun_ = take_head()))
		return;
	size_t at = 0;
	for (; at + sizeof(gpulens_sample) <= pending_.size(); at += sizeof(gpulens_sample)) {
		gpulens_sample s;
		std::memcpy(&s, pending_.data() + at, sizeof(s));
		if (s.engine != GPULENS_SAMPLE_ALL || s.kind != SAMPLE_RECORD) {
			take_sample(s);
			continue;
		}
		if (pending_.size() - at < sizeof(s) + GPULENS_RECORD_BYTES)
			break;
		take_record(le64toh(s.time_ns),
			    std::string_view(pending_).substr(at + sizeof(s), GPULENS_RECORD_BYTES));
		at += GPULENS_RECORD_BYTES;
	}
	pending_.erase(0, at);
}

void TimelineBuilder::measure_steps(Timeline &t) const
{
	u64 n = 0;

	for (const auto &[us, count] : steps_)
		n += count;
	t.step_median_ns = 1000 * find_percentile(steps_, n, 0.5);
	t.step_p99_ns = 1000 * find_percentile(steps_, n, 0.99);
	t.step_max_ns = steps_.empty() ? 0 : 1000 * steps_.rbegin()->first;
}

Timeline TimelineBuilder::now() const
{
	Timeline t = timeline_;

	for (size_t i = 0; i < open_.size(); i++) {
		if (!open_[i].any || open_[i].last_ns <= t.start_ns)
			continue;
		t.tracks[i].intervals.push_back(open_[i].interval);
		t.tracks[i].intervals.back().start_ns = std::max(open_[i].interval.start_ns, t.start_ns);
		t.tracks[i].intervals.back().end_ns = open_[i].last_ns;
		t.tracks[i].intervals.back().continues = true;
	}
	measure_steps(t);
	return t;
}

std::optional<Interval> TimelineBuilder::current(size_t track) const
{
	return open_[track].any ? std::optional(open_[track].interval) : std::nullopt;
}

void TimelineBuilder::forget(u64 before_ns, size_t most)
{
	for (const Track &t : timeline_.tracks) {
		if (t.intervals.size() > most)
			before_ns = std::max(before_ns, t.intervals[t.intervals.size() - most].start_ns);
		if (t.sample_gaps.size() > most)
			before_ns = std::max(before_ns, t.sample_gaps[t.sample_gaps.size() - most].from_ns);
	}
	if (timeline_.dropped.size() > most)
		before_ns = std::max(before_ns, timeline_.dropped[timeline_.dropped.size() - most].time_ns);
	if (before_ns <= timeline_.start_ns)
		return;
	forget_owners(before_ns);
	for (Track &t : timeline_.tracks) {
		std::erase_if(t.intervals, [&](const Interval &i) { return i.end_ns <= before_ns; });
		std::erase_if(t.sample_gaps, [&](const SampleGap &g) { return g.to_ns <= before_ns; });
		// Items that cross the edge now begin there; slots at the timeline's start are not measured.
		for (Interval &i : t.intervals)
			i.start_ns = std::max(i.start_ns, before_ns);
		for (SampleGap &g : t.sample_gaps)
			g.from_ns = std::max(g.from_ns, before_ns);
	}
	std::erase_if(timeline_.dropped, [&](const DroppedTicks &g) { return g.time_ns < before_ns; });
	timeline_.start_ns = before_ns;
	if (before_ns < halved_ns_ + (timeline_.end_ns - std::min(before_ns, timeline_.end_ns)))
		return;
	halved_ns_ = before_ns;
	for (auto &[us, count] : steps_)
		count /= 2;
	std::erase_if(steps_, [](const auto &step) { return !step.second; });
}

void TimelineBuilder::forget_owners(u64 before_ns)
{
	for (auto at = timeline_.owners.begin(); at != timeline_.owners.end();) {
		std::erase_if(at->second, [&](const OwnerSpan &span) { return span.until_ns <= before_ns; });
		at = at->second.empty() ? timeline_.owners.erase(at) : std::next(at);
	}
}

std::vector<Track> TimelineBuilder::drain()
{
	std::vector<Track> tracks;
	u64 first = timeline_.end_ns;

	// The caller asks for the owners of what is returned.
	for (size_t i = 0; i < open_.size(); i++)
		if (!timeline_.tracks[i].intervals.empty())
			first = std::min(first, timeline_.tracks[i].intervals.front().start_ns);
		else if (open_[i].any)
			first = std::min(first, open_[i].interval.start_ns);
	forget_owners(first);
	for (size_t i = 0; i < open_.size(); i++) {
		OpenInterval rest = open_[i];
		close_interval(i, rest.last_ns);
		Track &t = timeline_.tracks[i];
		tracks.push_back({t.engine, std::move(t.intervals), std::move(t.sample_gaps), {}, {}});
		t.intervals.clear();
		t.sample_gaps.clear();
		open_[i].any = rest.any;
		open_[i].interval.start_ns = rest.last_ns;
		open_[i].interval.samples = open_[i].interval.busy = 0;
	}
	timeline_.dropped.clear();
	steps_.clear();
	return tracks;
}

Timeline TimelineBuilder::finish()
{
	if (!begun_)
		throw Error(Error::Source, "it is no recording of gpulens, or ends before its first sample");
	for (size_t i = 0; i < open_.size(); i++) {
		open_[i].interval.continues = true;
		close_interval(i, open_[i].last_ns);
	}
	measure_steps(timeline_);
	timeline_.store = store_;
	return std::move(timeline_);
}

} // namespace tool
