// SPDX-License-Identifier: GPL-2.0
// Samples to intervals. See timeline.hpp.
#include "lib/timeline/timeline.hpp"

#include "lib/base/errors.hpp"
#include "lib/base/format.hpp"
#include "lib/source/snapshot/snapshot.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <endian.h>
#include <fmt/format.h>

namespace tool {

namespace {

// 64 runlists of 4096 channels in a TSG each are half of it.
constexpr size_t LARGEST_SNAPSHOT = size_t{64} << 20;

// What a sample says of its engine; nothing: it is idle.
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

bool same(const Interval &a, const Interval &b)
{
	return a.phase == b.phase && a.tsg == b.tsg && a.channel == b.channel && a.bare == b.bare;
}

u64 percentile(const std::map<u64, u64> &counts, u64 total, double part)
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
	if (count_ <= EXACT) {
		first_.push_back(ns);
		return;
	}
	if (octaves_.empty())
		for (u64 one : first_)
			count_in_share(one);
	count_in_share(ns);
}

void Lengths::count_in_share(u64 ns)
{
	unsigned octave = static_cast<unsigned>(std::bit_width(ns | 1)) - 1;
	u64 above = ns - (u64{1} << octave); // 0 is its own octave's, too
	u64 share = octave >= 10 ? above >> (octave - 10) : above;
	Share &s = octaves_[octave][share % SHARES];

	s.count++;
	s.sum += ns;
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
	for (const auto &[octave, shares] : octaves_)
		for (const Share &s : shares) {
			seen += s.count;
			if (seen > count_ / 2)
				return s.sum / s.count;
		}
	return most_;
}

std::string Timeline::name() const
{
	if (!gpu)
		return index == LENS_NONE ? "a GPU" : fmt::format("gpu{}", index);
	return gpu->title();
}

std::string Owner::text() const
{
	return name.empty() ? fmt::format("pid {}", pid) : fmt::format("{} {}", pid, name);
}

std::optional<Owner> Timeline::owner(const Interval &i) const
{
	auto at = owners.find(i.bare ? i.tsg : i.channel);

	return at == owners.end() ? std::nullopt : std::optional(at->second);
}

namespace {

// A track's intervals to turns: of those on the engine that follow each other without a hole; channels may change.
class TurnCounter {
public:
	TurnCounter(const Timeline &t, size_t track) : t_(t), holes_(t.holes_of(track)) { next_hole(); }

	void take(const Interval &i)
	{
		if (first_ && i.phase == Phase::On && i.tsg == first_->tsg && i.bare == first_->bare &&
		    i.start_ns == end_ns_) {
			end_ns_ = i.end_ns;
			goes_on_ = i.goes_on;
			return;
		}
		finish();
		if (i.phase != Phase::On)
			return;
		first_ = i;
		end_ns_ = i.end_ns;
		goes_on_ = i.goes_on;
	}

	// The turn that is under way ends.
	void finish()
	{
		if (!first_)
			return;
		u64 start = first_->start_ns;
		Turns &to = by_tsg[{first_->bare, first_->tsg}];
		to.tsg = first_->tsg;
		to.bare = first_->bare;
		to.owner = to.owner ? to.owner : t_.owner(*first_);
		to.on_ns += end_ns_ - start;
		// At a hole, as at the recording's ends, nobody knows how long it had been or went on.
		while (hole_ && (hole_->to_ns < start || !too_long(*hole_)))
			next_hole();
		bool cut = start <= t_.start_ns || goes_on_ || (hole_ && hole_->from_ns <= end_ns_);
		if (!cut)
			to.lengths_ns.add(end_ns_ - start);
		first_.reset();
	}

	std::map<std::pair<bool, int>, Turns> by_tsg;

private:
	bool too_long(const Hole &h) const { return h.blind || h.to_ns - h.from_ns > t_.longest_step_ns(); }

	void next_hole()
	{
		const Hole *h = holes_.next();

		hole_ = h ? std::optional(*h) : std::nullopt;
	}

	const Timeline &t_;
	TimelineReader<Hole> holes_;
	std::optional<Hole> hole_;
	std::optional<Interval> first_; // of the turn that is under way
	u64 end_ns_ = 0;
	bool goes_on_ = false;
};

} // namespace

std::vector<Turns> Timeline::turns(size_t track) const
{
	TurnCounter counter(*this, track);
	TimelineReader<Interval> intervals = intervals_of(track);

	while (const Interval *i = intervals.next())
		counter.take(*i);
	counter.finish();
	std::vector<Turns> list;
	int id = tracks[track].engine.runlist;
	const Runlist *rl = gpu && id >= 0 ? gpu->runlist(static_cast<u32>(id)) : nullptr;
	std::map<int, u64> slices;
	for (const Tsg &tsg : rl ? rl->tsgs : std::vector<Tsg>())
		slices[static_cast<int>(tsg.id)] = tsg.timeslice_ns;
	for (auto &[key, turns] : counter.by_tsg) {
		auto slice = slices.find(turns.tsg);
		if (!turns.bare && slice != slices.end())
			turns.slice_ns = slice->second;
		list.push_back(std::move(turns));
	}
	return list;
}

// The snapshot, if one comes first, then header and engine records. False: more bytes are needed.
bool TimelineBuilder::take_head()
{
	gpulens_samples_header h;
	gpulens_header snap;

	if (pending_.size() >= sizeof(snap) && std::memcmp(pending_.data(), "GPLS", 4) == 0) {
		std::memcpy(&snap, pending_.data(), sizeof(snap));
		size_t bytes = GPULENS_RECORD_BYTES * (size_t{le32toh(snap.records)} + 1);
		if (bytes > LARGEST_SNAPSHOT)
			throw SourceError("its snapshot is larger than any GPU's");
		if (pending_.size() < bytes)
			return false;
		timeline_.gpu = from_snapshot(std::string_view(pending_).substr(0, bytes), "recording");
		pending_.erase(0, bytes);
	}
	if (pending_.size() < sizeof(h))
		return false;
	std::memcpy(&h, pending_.data(), sizeof(h));
	if (le32toh(h.magic) != GPULENS_SAMPLES_MAGIC)
		throw SourceError("not a recording: samples begin with GPLT");
	if (le16toh(h.sample_bytes) != sizeof(gpulens_sample) || le32toh(h.engines) >= GPULENS_SAMPLE_ALL)
		throw SourceError("a recording of a newer layout");
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

void TimelineBuilder::close(size_t track, u64 at)
{
	Open &o = open_[track];

	if (!o.any)
		return;
	o.interval.end_ns = at;
	timeline_.tracks[track].intervals.push_back(o.interval);
	put_if_many(timeline_.tracks[track].intervals, timeline_.tracks[track].stored_intervals);
	o.any = false;
}

template <typename T> void TimelineBuilder::put_if_many(std::vector<T> &items, std::vector<StoreBlock> &blocks)
{
	if (!store_ || items.size() < store_->block())
		return;
	blocks.push_back(store_->put(items));
	items.clear();
}

void TimelineBuilder::remark(const gpulens_sample &s)
{
	timeline_.gaps.push_back({le64toh(s.time_ns), le32toh(s.ticks), s.kind});
	put_if_many(timeline_.gaps, timeline_.stored_gaps);
	timeline_.lost += le32toh(s.ticks);
	// Late ticks make the next step a long one. Where nobody looked, what was on an engine is not known.
	if (s.kind == GPULENS_SAMPLE_LATE)
		return;
	for (size_t i = 0; i < open_.size(); i++) {
		close(i, open_[i].last_ns);
		open_[i].blind = true;
	}
	blind_ = true;
}

void TimelineBuilder::tick(u64 time_ns)
{
	if (timeline_.ticks && !blind_ && time_ns > last_tick_ns_)
		steps_[(time_ns - last_tick_ns_) / 1000]++;
	if (!timeline_.ticks)
		timeline_.start_ns = time_ns;
	timeline_.ticks++;
	last_tick_ns_ = time_ns;
	blind_ = false;
}

void TimelineBuilder::take(const gpulens_sample &s)
{
	u64 time_ns = le64toh(s.time_ns);

	if (s.engine == GPULENS_SAMPLE_ALL)
		return remark(s);
	if (s.engine >= open_.size())
		throw SourceError(
			fmt::format("a sample is of engine {}, of which there are {}", s.engine, open_.size()));
	if (!s.engine)
		tick(time_ns);
	timeline_.end_ns = std::max(timeline_.end_ns, time_ns);
	Open &o = open_[s.engine];
	if (o.last_ns && (o.blind || time_ns > o.last_ns + u64{2000} * timeline_.period_us)) {
		Track &t = timeline_.tracks[s.engine];
		t.holes.push_back({o.last_ns, time_ns, o.blind});
		put_if_many(t.holes, t.stored_holes);
	}
	o.blind = false;
	std::optional<Interval> i = interval_of(s);
	if (o.any && !(i && same(o.interval, *i)))
		close(s.engine, time_ns);
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

// Of types that are not known here there is nothing to say.
void TimelineBuilder::take_record(std::string_view bytes)
{
	gpulens_process p;

	std::memcpy(&p, bytes.data(), sizeof(p));
	if (le16toh(p.type) == GPULENS_RECORD_PROCESS)
		timeline_.owners[le16toh(p.channel)] = {le32toh(p.pid),
							printable({p.name, strnlen(p.name, sizeof(p.name))})};
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
		if (s.engine != GPULENS_SAMPLE_ALL || s.kind != GPULENS_SAMPLE_RECORD) {
			take(s);
			continue;
		}
		if (pending_.size() - at < sizeof(s) + GPULENS_RECORD_BYTES)
			break;
		take_record(std::string_view(pending_).substr(at + sizeof(s), GPULENS_RECORD_BYTES));
		at += GPULENS_RECORD_BYTES;
	}
	pending_.erase(0, at);
}

void TimelineBuilder::measure_steps(Timeline &t) const
{
	u64 n = 0;

	for (const auto &[us, count] : steps_)
		n += count;
	t.step_median_ns = 1000 * percentile(steps_, n, 0.5);
	t.step_p99_ns = 1000 * percentile(steps_, n, 0.99);
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
		t.tracks[i].intervals.back().goes_on = true;
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
		if (t.holes.size() > most)
			before_ns = std::max(before_ns, t.holes[t.holes.size() - most].from_ns);
	}
	if (timeline_.gaps.size() > most)
		before_ns = std::max(before_ns, timeline_.gaps[timeline_.gaps.size() - most].time_ns);
	if (before_ns <= timeline_.start_ns)
		return;
	for (Track &t : timeline_.tracks) {
		std::erase_if(t.intervals, [&](const Interval &i) { return i.end_ns <= before_ns; });
		std::erase_if(t.holes, [&](const Hole &h) { return h.to_ns <= before_ns; });
		// What goes over the edge begins there, so that its turn is not measured.
		for (Interval &i : t.intervals)
			i.start_ns = std::max(i.start_ns, before_ns);
		for (Hole &h : t.holes)
			h.from_ns = std::max(h.from_ns, before_ns);
	}
	std::erase_if(timeline_.gaps, [&](const Gap &g) { return g.time_ns < before_ns; });
	timeline_.start_ns = before_ns;
	if (before_ns < faded_ns_ + (timeline_.end_ns - std::min(before_ns, timeline_.end_ns)))
		return;
	faded_ns_ = before_ns;
	for (auto &[us, count] : steps_)
		count /= 2;
	std::erase_if(steps_, [](const auto &step) { return !step.second; });
}

std::vector<Track> TimelineBuilder::drain()
{
	std::vector<Track> tracks;

	for (size_t i = 0; i < open_.size(); i++) {
		Open rest = open_[i];
		close(i, rest.last_ns);
		Track &t = timeline_.tracks[i];
		tracks.push_back({t.engine, std::move(t.intervals), std::move(t.holes), {}, {}});
		t.intervals.clear();
		t.holes.clear();
		open_[i].any = rest.any;
		open_[i].interval.start_ns = rest.last_ns;
		open_[i].interval.samples = open_[i].interval.busy = 0;
	}
	timeline_.gaps.clear();
	steps_.clear();
	return tracks;
}

Timeline TimelineBuilder::finish()
{
	if (!begun_)
		throw SourceError("the recording is cut short: it ends before its first sample");
	for (size_t i = 0; i < open_.size(); i++) {
		open_[i].interval.goes_on = true;
		close(i, open_[i].last_ns);
	}
	measure_steps(timeline_);
	timeline_.store = store_;
	return std::move(timeline_);
}

Timeline timeline_of(std::string_view bytes, const std::string &source)
{
	TimelineBuilder b;

	try {
		b.feed(bytes);
		return b.finish();
	} catch (const SourceError &e) {
		throw SourceError(source + ": " + e.what());
	}
}

} // namespace tool
