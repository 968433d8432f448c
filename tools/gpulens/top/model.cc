// SPDX-License-Identifier: GPL-2.0
// Computes shares, slots and states of channels.
#include "gpulens/top/model.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tool {

namespace {

// Limit for each of: intervals of an engine, marks, snapshots. If it is reached, the window is shorter than requested,
// as Picture::window_ns shows.
constexpr size_t MAX_ITEMS = 20000;

void count_channel(TopTsg &row, const Channel &c)
{
	Activity activity = c.activity();

	if (std::find(row.channels.begin(), row.channels.end(), c.id) != row.channels.end())
		return; // a TSG may be on its runlist several times
	row.channels.push_back(c.id);
	if (c.err)
		return; // its state is unknown
	row.running += c.on_engine();
	row.waiting += activity == Activity::Waits || activity == Activity::OnPbdma;
	row.off += !c.state.enable;
	row.faulted += c.faulted();
}

// Returns "GR0 LCE2", or "GR0 +2" where the column of engines is too narrow for all.
std::string join_engines(const std::vector<std::string> &names)
{
	constexpr size_t COLUMNS = 10;
	std::string all = fmt::format("{}", fmt::join(names, " "));

	return names.size() > 1 && all.size() > COLUMNS ? fmt::format("{} +{}", names[0], names.size() - 1) : all;
}

std::string state_text(const std::optional<Interval> &i)
{
	if (!i)
		return "idle";
	if (i->phase == Phase::Error)
		return "unreadable";
	return name_task(i->bare, i->tsg) + (i->phase == Phase::Switching ? " (switching)" : "");
}

double ratio_of(u64 part, u64 whole)
{
	return whole ? static_cast<double>(part) / static_cast<double>(whole) : 0;
}

std::string to_lower(std::string s)
{
	for (char &c : s)
		if (c >= 'A' && c <= 'Z')
			c = static_cast<char>(c - 'A' + 'a');
	return s;
}

bool matches_filter(const TopTsg &t, const std::string &filter)
{
	std::string wanted = to_lower(filter);
	bool found = std::to_string(t.id).find(filter) != std::string::npos;
	auto look_at = [&](const std::string &text) { found |= to_lower(text).find(wanted) != std::string::npos; };

	for (const std::string &e : t.engines)
		look_at(e);
	if (t.owner) {
		look_at(t.owner->text());
		look_at(t.owner->user);
	}
	return found;
}

// Returns the observed time of a track, without gaps in which samples were lost.
u64 observed_ns(const Timeline &t, const Track &track)
{
	u64 all = t.end_ns - std::min(t.start_ns, t.end_ns);

	for (const SampleGap &g : track.sample_gaps)
		if (g.lost)
			all -= std::min(all, g.to_ns - g.from_ns);
	return all;
}

// Computes the rate from the lengths of the measured slots: at gaps, slots are not measured, but count for the share.
std::optional<double> slots_per_s(const Slots &slots, double share)
{
	u64 sum = slots.lengths_ns.sum();

	return sum ? std::optional(1e9 * share * ratio_of(slots.lengths_ns.count(), sum)) : std::nullopt;
}

// NVIDIA's driver is queried seldom: slots shorter than three sampling periods run together or are missed.
void limit_precision(TopTsg &row, const Slots &slots, const Timeline &t)
{
	if (row.slot_ns.value_or(0) < 3 * t.step_median_ns)
		row.slot_ns = std::nullopt, row.slots_per_s = std::nullopt;
	if (!row.slice_ns)
		row.slice_ns = slots.slice_ns;
}

} // namespace

std::vector<TopTsg> arrange(const std::vector<TopTsg> &tsgs, TopSort sort, const std::string &filter)
{
	std::vector<TopTsg> list;

	std::copy_if(tsgs.begin(), tsgs.end(), std::back_inserter(list),
		     [&](const TopTsg &t) { return matches_filter(t, filter); });
	std::sort(list.begin(), list.end(), [sort](const TopTsg &a, const TopTsg &b) {
		switch (sort) {
		case TopSort::Share: return a.share != b.share ? a.share > b.share : a.key() < b.key();
		case TopSort::Waiting: return a.waiting != b.waiting ? a.waiting > b.waiting : a.key() < b.key();
		case TopSort::Tsg: return std::tuple(a.id, a.key()) < std::tuple(b.id, b.key());
		case TopSort::Runlist: break;
		}
		return a.key() < b.key();
	});
	return list;
}

void TopModel::add_snapshot(const Gpu &gpu)
{
	Seen seen{gpu.time_ns, {}};

	for (const Runlist &rl : gpu.runlists) {
		for (const Tsg &t : rl.tsgs)
			if (t.running())
				seen.running.insert({static_cast<int>(rl.id), false, static_cast<int>(t.id)});
		for (const Channel &c : rl.outside)
			if (c.on_engine())
				seen.running.insert({static_cast<int>(rl.id), true, static_cast<int>(c.id)});
	}
	gpu_ = gpu;
	if (!only_.empty())
		std::erase_if(gpu_->runlists, [this](const Runlist &rl) { return !only_.count(rl.id); });
	seen_.push_back(std::move(seen));
	while (seen_.size() > MAX_ITEMS || seen_.front().time_ns + window_ns_ < gpu.time_ns)
		seen_.pop_front();
}

void TopModel::add_samples(std::string_view bytes)
{
	builder_.feed(bytes);
	const Timeline &t = builder_.closed();
	if (!t.ticks || (!marks_.empty() && t.ticks == marks_.back().ticks))
		return;
	marks_.push_back({t.end_ns, t.ticks});
	// Only when the window is exceeded by an eighth, because forget() moves all items.
	if (t.end_ns > t.start_ns + window_ns_ + window_ns_ / 8)
		forget();
}

void TopModel::restart_samples()
{
	builder_ = {};
	marks_.clear();
}

void TopModel::forget()
{
	u64 end = builder_.closed().end_ns;

	builder_.forget(end - std::min(end, window_ns_), MAX_ITEMS);
	// Keep a mark from before the window, from which ticks are counted.
	while (marks_.size() > MAX_ITEMS || (marks_.size() > 2 && marks_[1].time_ns <= builder_.closed().start_ns))
		marks_.pop_front();
}

TopModel::Rows TopModel::rows_of_gpu() const
{
	Rows rows;

	for (const Runlist &rl : gpu_ ? gpu_->runlists : std::vector<Runlist>()) {
		int runlist = static_cast<int>(rl.id);
		auto row = [&](bool bare, u32 id) -> TopTsg & {
			TopTsg &r = rows[{runlist, bare, static_cast<int>(id)}];
			r.bare = bare;
			return r;
		};
		for (const Tsg &t : rl.tsgs) {
			TopTsg &r = row(false, t.id);
			r.slice_ns = t.timeslice_ns;
			if (t.owner)
				r.owner = *t.owner;
			for (const Channel &c : t.channels)
				count_channel(r, c);
		}
		for (const Channel &c : rl.outside) {
			count_channel(row(true, c.id), c);
			if (c.owner)
				row(true, c.id).owner = *c.owner;
		}
	}
	return rows;
}

// Sets the quality of the sampling.
void TopModel::measure(Picture &p, const Timeline &t) const
{
	p.sampled = true;
	p.period_ns = u64{t.period_us} * 1000;
	p.step_ns = t.step_median_ns;
	p.window_ns = t.end_ns - std::min(t.start_ns, t.end_ns);
	for (const DroppedTicks &g : t.dropped)
		p.lost += g.ticks;
	if (!marks_.empty())
		p.ticks = marks_.back().ticks - (marks_.size() > 1 ? marks_.front().ticks : 0);
}

void TopModel::from_samples(Picture &p, Rows &rows)
{
	forget();
	Timeline t = builder_.now();
	measure(p, t);
	for (size_t i = 0; i < t.tracks.size(); i++) {
		const Track &track = t.tracks[i];
		TopEngine e{track.engine.short_name(),
			    track.engine.runlist,
			    state_text(builder_.current(i)),
			    !builder_.current(i),
			    {},
			    {}};
		u64 seen = observed_ns(t, track), on = 0;
		for (auto &[key, row] : rows)
			if (seen && std::get<0>(key) == track.engine.runlist && !row.share)
				row.share = 0;
		double busy = 0;
		for (const Interval &x : track.intervals)
			if (x.phase != Phase::Error)
				busy += static_cast<double>(x.end_ns - x.start_ns) * ratio_of(x.busy, x.samples);
		for (const Slots &slots : t.slots(i)) {
			TopTsg &row = rows[{track.engine.runlist, slots.bare, slots.tsg}];
			row.bare = slots.bare;
			on += slots.on_ns;
			if (!row.engine.empty() && ratio_of(slots.on_ns, seen) <= row.share.value_or(0))
				continue;
			row.engine = e.name;
			row.share = ratio_of(slots.on_ns, seen);
			row.slot_ns =
				slots.lengths_ns.count() ? std::optional(slots.lengths_ns.median()) : std::nullopt;
			row.slots_per_s = slots_per_s(slots, *row.share);
			if (slots.owner)
				row.owner = slots.owner;
			if (!p.has_runlists)
				limit_precision(row, slots, t);
		}
		if (seen) {
			e.on = ratio_of(on, seen);
			if (p.has_runlists)
				e.busy = busy / static_cast<double>(seen);
		}
		p.engines.push_back(std::move(e));
	}
}

void TopModel::from_snapshots(Picture &p, Rows &rows) const
{
	if (seen_.empty() || !gpu_)
		return;
	p.window_ns = seen_.back().time_ns - std::min(seen_.front().time_ns, seen_.back().time_ns);
	for (auto &[key, row] : rows)
		row.share = ratio_of(static_cast<u64>(std::count_if(
					     seen_.begin(), seen_.end(),
					     [&key = key](const Seen &s) { return s.running.count(key) != 0; })),
				     seen_.size());
	for (const Runlist &rl : gpu_->runlists) {
		int runlist = static_cast<int>(rl.id);
		auto here = [&](const Key &k) { return std::get<0>(k) == runlist; };
		std::vector<std::string> now, names = gpu_->engine_names(static_cast<u32>(runlist));
		for (const auto &[of, bare, id] : seen_.back().running)
			if (of == runlist)
				now.push_back(name_task(bare, id));
		u64 on = static_cast<u64>(std::count_if(seen_.begin(), seen_.end(), [&](const Seen &s) {
			return std::any_of(s.running.begin(), s.running.end(), here);
		}));
		if (!names.empty())
			p.engines.push_back({join_engines(names),
					     runlist,
					     rl.err        ? "unreadable"
					     : now.empty() ? "idle"
							   : fmt::format("{}", fmt::join(now, ", ")),
					     !rl.err && now.empty(),
					     ratio_of(on, seen_.size()),
					     {}});
	}
}

void TopModel::describe_source(Picture &p) const
{
	std::vector<std::string> users;

	p.title = gpu_->title();
	p.short_title = fmt::format("{} {}", gpu_->name(), gpu_->chip.name);
	p.index = gpu_->index;
	p.has_runlists = gpu_->reports_runlists;
	p.has_owners = gpu_->processes.has_value();
	if (!p.has_runlists)
		p.notes.push_back(
			fmt::format("{}: unknown through NVIDIA's driver: what is on other engines, time slices, "
				    "what waits",
				    gpu_->name()));
	if (!gpu_->processes)
		return;
	for (const Process &process : *gpu_->processes)
		users.push_back(process.text());
	p.notes.push_back(fmt::format("{}: processes that use it: {}", gpu_->name(),
				      users.empty() ? "none" : fmt::format("{}", fmt::join(users, ", "))));
}

Picture TopModel::make_picture()
{
	Rows rows = rows_of_gpu();
	Picture p;

	if (gpu_)
		describe_source(p);
	p.snapshots = seen_.size();
	if (builder_.closed().ticks)
		from_samples(p, rows);
	else
		from_snapshots(p, rows);
	for (TopEngine &e : p.engines)
		e.observations = p.sampled ? p.ticks : p.snapshots;
	for (auto &[key, row] : rows) {
		row.observations = p.sampled ? p.ticks : p.snapshots;
		row.step_ns = p.step_ns;
		std::tie(row.runlist, row.bare, row.id) = key;
		row.gpu = gpu_ ? gpu_->index : LENS_NONE;
		row.counted = p.has_runlists;
		if (gpu_ && row.runlist >= 0)
			row.engines = gpu_->engine_names(static_cast<u32>(row.runlist));
		if (row.engine.empty())
			row.engine = join_engines(row.engines);
		p.tsgs.push_back(row);
	}
	return p;
}

} // namespace tool
