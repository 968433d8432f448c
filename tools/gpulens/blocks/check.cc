// SPDX-License-Identifier: GPL-2.0
// See check.hpp.
#include "gpulens/blocks/check.hpp"

#include "gpulens/out/text.hpp"
#include "lib/base/format.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <numeric>
#include <optional>
#include <set>

namespace tool::blocks {

using json = nlohmann::ordered_json;

namespace {

constexpr u32 WARP = 32;
constexpr double NEARLY = 1e-9; // of a sum of fractions that makes 1
constexpr size_t SHOWN = 100;   // violations as text

std::string time_of(s64 ns)
{
	return fmt::format("{:.6f} s", static_cast<double>(ns) / 1e9);
}

// The blocks of a kernel that start first and last, and that ends last, and when. Of several, the first.
struct Bounds {
	size_t first = 0, last = 0, ended = 0;
	s64 first_start, last_start, last_end;

	explicit Bounds(const Ran &k)
		: first_start(k.blocks[0].start), last_start(k.blocks[0].start), last_end(k.blocks[0].end)
	{
		for (size_t i = 1; i < k.blocks.size(); i++) {
			const Block &b = k.blocks[i];
			if (b.start < first_start)
				first = i, first_start = b.start;
			if (b.start > last_start)
				last = i, last_start = b.start;
			if (b.end > last_end)
				ended = i, last_end = b.end;
		}
	}
};

// The largest of what was added, and the largest among those of another group; of equals, the lower index.
class TopTwo {
public:
	void add(s64 value, size_t index, size_t group)
	{
		One one{value, index, group, true};

		if (best_.any && best_.group == group) {
			best_ = one.above(best_) ? one : best_;
		} else if (one.above(best_)) {
			other_ = best_;
			best_ = one;
		} else if (one.above(other_)) {
			other_ = one;
		}
	}

	// The index of the largest that is not of this group; nothing: there is none.
	std::optional<size_t> not_of(size_t group) const
	{
		const One &one = best_.any && best_.group == group ? other_ : best_;

		return one.any ? std::optional(one.index) : std::nullopt;
	}

private:
	struct One {
		s64 value = 0;
		size_t index = 0, group = 0;
		bool any = false;

		bool above(const One &o) const
		{
			return !o.any || value > o.value || (value == o.value && index < o.index);
		}
	};
	One best_, other_; // of two groups
};

// "K2:0 starts on SM 3 at 0.250000 s"
std::string starts(const Ran &k, size_t block)
{
	const Block &b = k.blocks[block];

	return fmt::format("{}:{} starts on SM {} at {}", k.name, block, b.sm, time_of(b.start));
}

class Checker {
public:
	Checker(const Log &log, u64 tolerance_ns) : log_(log), tolerance_(static_cast<s64>(tolerance_ns))
	{
		size_t count = log.kernels.size();
		std::vector<s64> ended(log.streams.size(), INT64_MIN);

		verdict_.tolerance_ns = tolerance_ns;
		before_.assign(count, NONE);
		std::vector<size_t> last(log.streams.size(), NONE);
		for (size_t i = 0; i < count; i++) {
			const Ran &k = log.kernels[i];
			s64 u = static_cast<s64>(log.uncertainty_ns);
			before_[i] = last[k.stream];
			last[k.stream] = i;
			s64 from = k.launched ? (*k.launched)[0] - u : INT64_MIN;
			s64 to = k.launched ? (*k.launched)[1] + u : INT64_MIN;
			heads_.push_back({std::max(from, ended[k.stream]), std::max(to, ended[k.stream])});
			bounds_.emplace_back(k);
			ended[k.stream] = std::max(ended[k.stream], bounds_[i].last_end);
		}
	}

	Verdict run()
	{
		decide();
		std::vector<size_t> worst = verdict_.order_checked ? worst_earlier() : std::vector<size_t>();
		std::vector<Gap> gaps = idle_gaps();
		for (size_t i = 0; i < log_.kernels.size(); i++) {
			launch(i);
			stream(i);
			if (verdict_.order_checked && worst[i] != NONE)
				order(i, worst[i]);
			if (gaps[i].to - gaps[i].from > IDLE_NS)
				idle(i, gaps[i]);
		}
		resources();
		channels();
		return std::move(verdict_);
	}

private:
	static constexpr size_t NONE = ~size_t{0};
	// When a kernel came to the head of its stream, and so to the primary queue: not before, not after.
	struct Head {
		s64 from, to;
	};

	void violate(const char *rule, const Ran &k, size_t block, const std::string &text)
	{
		const Block &b = k.blocks[block];

		verdict_.violations.push_back({rule, k.name, static_cast<u32>(block), b.sm, b.start, text});
	}

	u32 streams_used() const
	{
		std::set<u32> used;

		for (const Ran &k : log_.kernels)
			used.insert(k.stream);
		return static_cast<u32>(used.size());
	}

	void decide()
	{
		bool all = std::all_of(log_.kernels.begin(), log_.kernels.end(),
				       [](const Ran &k) { return k.launched.has_value(); });
		bool same = std::all_of(log_.kernels.begin(), log_.kernels.end(), [this](const Ran &k) {
			return log_.streams[k.stream].priority == log_.streams[log_.kernels[0].stream].priority;
		});

		short_ = streams_used() > log_.machine.channels;
		verdict_.order_checked = all && !short_;
		if (short_)
			verdict_.notes.push_back(fmt::format(
				"R2: {} streams and {} channels{}: A, B and C do not hold beyond, and order in the "
				"primary queue was not checked",
				streams_used(), log_.machine.channels,
				log_.channels_told ? "" : " (CUDA's default; the log does not say)"));
		if (!all)
			verdict_.notes.emplace_back("not every kernel has cuda_launch_times: order in the primary "
						    "queue was not checked");
		one_priority_ = same;
		if (!same)
			verdict_.notes.emplace_back("streams of different priority were not compared: the rules have "
						    "no priorities");
		if (!log_.machine.threads_per_sm)
			verdict_.notes.emplace_back("the log does not tell what an SM holds: B2 was not checked");
	}

	// A, of a kernel that was launched: not in the queue before.
	void launch(size_t i)
	{
		const Ran &k = log_.kernels[i];
		size_t first = bounds_[i].first;

		if (k.launched &&
		    k.blocks[first].start < (*k.launched)[0] - static_cast<s64>(log_.uncertainty_ns) - tolerance_)
			violate("A", k, first,
				fmt::format("{}, before {} is launched at {}", starts(k, first), k.name,
					    time_of((*k.launched)[0])));
	}

	// A and D: a kernel waits until the one before it in its stream has ended.
	void stream(size_t i)
	{
		if (before_[i] == NONE)
			return;
		const Ran &k = log_.kernels[i], &earlier = log_.kernels[before_[i]];
		size_t first = bounds_[i].first, end = bounds_[before_[i]].ended, start = bounds_[before_[i]].last;
		const Block &b = k.blocks[first];

		if (b.start < earlier.blocks[start].start - tolerance_)
			violate("A", k, first,
				fmt::format("{}, though {} before it in its stream still has blocks to start: {}",
					    starts(k, first), earlier.name, starts(earlier, start)));
		else if (b.start < earlier.blocks[end].end - tolerance_)
			violate("D", k, first,
				fmt::format("{}, though {} before it in its stream has not ended: {}:{} on SM {} ends "
					    "at {}",
					    starts(k, first), earlier.name, earlier.name, end, earlier.blocks[end].sm,
					    time_of(earlier.blocks[end].end)));
	}

	int priority(size_t i) const { return log_.streams[log_.kernels[i].stream].priority; }

	// Indices of all kernels, by one end of when they came to the head.
	std::vector<size_t> sorted_by(s64 Head::*end) const
	{
		std::vector<size_t> list(heads_.size());

		std::iota(list.begin(), list.end(), size_t{0});
		std::sort(list.begin(), list.end(),
			  [this, end](size_t a, size_t b) { return heads_[a].*end < heads_[b].*end; });
		return list;
	}

	// B1 and C: while an earlier kernel of the queue has blocks to start, no block of this one does. By kernel: of all
	// earlier ones in other streams, the one whose last block starts last, where that is after its first.
	std::vector<size_t> worst_earlier() const
	{
		std::vector<size_t> worst(heads_.size(), NONE), earlier = sorted_by(&Head::to);
		std::map<int, TopTwo> last; // by priority: the last starts of those before, by stream
		size_t next = 0;

		for (size_t i : sorted_by(&Head::from)) {
			for (; next < earlier.size() && heads_[earlier[next]].to + tolerance_ < heads_[i].from;
			     next++) {
				size_t j = earlier[next];
				last[priority(j)].add(bounds_[j].last_start, j, log_.kernels[j].stream);
			}
			std::optional<size_t> j = last[priority(i)].not_of(log_.kernels[i].stream);
			if (j && bounds_[i].first_start < bounds_[*j].last_start - tolerance_)
				worst[i] = *j;
		}
		return worst;
	}

	void order(size_t i, size_t before)
	{
		const Ran &k = log_.kernels[i], &earlier = log_.kernels[before];
		bool begun = bounds_[before].first_start < bounds_[i].first_start;

		violate(begun ? "C" : "B", k, bounds_[i].first,
			fmt::format("{}, though {} is before it in the primary queue and {}: {}",
				    starts(k, bounds_[i].first), earlier.name,
				    begun ? "still has blocks to start" : "has not begun",
				    starts(earlier, bounds_[before].last)));
	}

	struct Gap {
		s64 from = 0, to = 0;
		u32 sm = 0;
	};
	// From when on a kernel heads the primary queue, to the start of its last block.
	struct Window {
		size_t kernel;
		s64 from, until;
	};

	// B, the other way about: a kernel that heads the primary queue, and a block of it fits. By kernel: the longest
	// such time on an SM.
	std::vector<Gap> idle_gaps()
	{
		std::vector<Gap> gaps(heads_.size());
		std::vector<size_t> others = sorted_by(&Head::from);
		std::vector<Window> windows;
		TopTwo last;
		size_t next = 0;

		if (!log_.machine.threads_per_sm || !one_priority_)
			return gaps;
		for (size_t i : sorted_by(&Head::to)) {
			s64 from = heads_[i].to + tolerance_;
			for (; next < others.size() && heads_[others[next]].from <= from; next++)
				last.add(bounds_[others[next]].last_start, others[next], others[next]);
			if (std::optional<size_t> j = last.not_of(i))
				from = std::max(from, bounds_[*j].last_start);
			if (log_.kernels[i].launched && bounds_[i].last_start - from > IDLE_NS)
				windows.push_back({i, from, bounds_[i].last_start});
		}
		longest_gaps(windows, gaps);
		return gaps;
	}

	void idle(size_t i, const Gap &best)
	{
		const Ran &k = log_.kernels[i];
		size_t next = bounds_[i].last;
		std::string text =
			fmt::format("{} heads the primary queue and a block of it fits on SM {} from {} to {}, but {}",
				    k.name, best.sm, time_of(best.from), time_of(best.to), starts(k, next));

		if (short_)
			verdict_.notes.push_back("R2: a false dependency: " + text);
		else
			verdict_.violations.push_back({"B", k.name, static_cast<u32>(next), best.sm, best.from, text});
	}

	// What a block takes of an SM: at most that much of whatever runs out first.
	struct Share {
		double most;
		u32 threads;
	};

	Share share_of(const Ran &k) const
	{
		u32 threads = (k.threads + WARP - 1) / WARP * WARP;
		u32 per_sm = std::min(log_.machine.threads_per_sm / threads, log_.machine.blocks_per_sm);

		if (k.per_sm)
			per_sm = std::min(per_sm, k.per_sm);
		return {1.0 / std::max(per_sm, 1U), threads};
	}

	struct Event {
		s64 at;
		int sign;
		size_t kernel, block;
		bool operator<(const Event &o) const { return std::tie(at, sign) < std::tie(o.at, o.sign); }
	};

	// Starts and ends of blocks by SM, in order of time; ends go first.
	const std::vector<std::vector<Event>> &events()
	{
		if (!events_.empty())
			return events_;
		events_.resize(log_.machine.sms);
		for (size_t i = 0; i < log_.kernels.size(); i++)
			for (size_t j = 0; j < log_.kernels[i].blocks.size(); j++) {
				const Block &b = log_.kernels[i].blocks[j];
				events_[b.sm].push_back({b.start, 1, i, j});
				events_[b.sm].push_back({b.end, -1, i, j});
			}
		for (std::vector<Event> &one : events_)
			std::sort(one.begin(), one.end());
		return events_;
	}

	// By kernel: the longest time within its window, on one SM, in which a block of it fits all the while. A window
	// begins no earlier than the last start, which ends the other's, of each kernel that came to the head before: so
	// windows are disjoint, and each SM's events are passed once.
	void longest_gaps(std::vector<Window> &windows, std::vector<Gap> &gaps)
	{
		std::vector<double> most;

		if (windows.empty())
			return;
		std::sort(windows.begin(), windows.end(),
			  [](const Window &a, const Window &b) { return a.from < b.from; });
		for (const Ran &k : log_.kernels)
			most.push_back(share_of(k).most);
		for (u32 sm = 0; sm < log_.machine.sms; sm++) {
			const std::vector<Event> &all = events()[sm];
			double used = 0;
			size_t at = 0;
			for (const Window &w : windows) {
				for (; at < all.size() && all[at].at < w.from; at++)
					used += all[at].sign * most[all[at].kernel];
				Gap &best = gaps[w.kernel];
				s64 since = w.from;
				auto fits = [&] { return used + most[w.kernel] <= 1 + NEARLY; };
				auto close = [&](s64 end) {
					if (fits() && end - since > best.to - best.from)
						best = {since, end, sm};
				};
				for (; at < all.size() && all[at].at < w.until; at++) {
					double then = used + all[at].sign * most[all[at].kernel];
					bool fitted = fits();
					if (fitted && !(then + most[w.kernel] <= 1 + NEARLY))
						close(all[at].at);
					used = then;
					if (!fitted && fits())
						since = all[at].at;
				}
				close(w.until);
			}
		}
	}

	// B2: no SM holds more threads or blocks than it can. A block that ends within the tolerance is not counted.
	void resources()
	{
		const Machine &m = log_.machine;

		if (!m.threads_per_sm)
			return;
		for (u32 sm = 0; sm < m.sms; sm++) {
			std::vector<Event> sorted = events()[sm];
			u32 threads = 0, blocks = 0;
			for (Event &e : sorted) {
				const Block &b = log_.kernels[e.kernel].blocks[e.block];
				if (e.sign < 0) // never before its start
					e.at = std::max(b.start, b.end - tolerance_);
			}
			std::sort(sorted.begin(), sorted.end());
			for (const Event &e : sorted) {
				const Ran &k = log_.kernels[e.kernel];
				u32 mine = share_of(k).threads;
				threads += e.sign > 0 ? mine : 0 - mine;
				blocks += static_cast<u32>(e.sign);
				if (e.sign < 0 || static_cast<int32_t>(threads) < 0 ||
				    (threads <= m.threads_per_sm && blocks <= m.blocks_per_sm))
					continue;
				violate("B2", k, e.block,
					fmt::format("{}, and then {} threads in {} blocks are there: it holds {} in {}",
						    starts(k, e.block), threads, blocks, m.threads_per_sm,
						    m.blocks_per_sm));
				break; // all that follows on this SM is of the same
			}
		}
	}

	// R2: a stream has its channel at least from its first block to the first block of its last kernel.
	void channels()
	{
		struct Edge {
			s64 at;
			int sign;
			u32 stream;
			bool operator<(const Edge &o) const { return std::tie(at, sign) < std::tie(o.at, o.sign); }
		};
		std::vector<Edge> edges;
		std::vector<size_t> first(log_.streams.size(), NONE), last(log_.streams.size(), NONE);

		for (size_t i = 0; i < log_.kernels.size(); i++) {
			u32 s = log_.kernels[i].stream;
			first[s] = first[s] == NONE ? i : first[s];
			last[s] = i;
		}
		for (u32 s = 0; s < log_.streams.size(); s++) {
			if (first[s] == NONE || first[s] == last[s])
				continue;
			s64 from = bounds_[first[s]].first_start + tolerance_;
			s64 to = bounds_[last[s]].first_start - tolerance_;
			if (from < to) {
				edges.push_back({from, 1, s});
				edges.push_back({to, -1, s});
			}
		}
		std::sort(edges.begin(), edges.end());
		u32 held = 0;
		for (const Edge &e : edges) {
			held += static_cast<u32>(e.sign);
			if (e.sign < 0 || held <= log_.machine.channels)
				continue;
			const Ran &k = log_.kernels[first[e.stream]];
			size_t block = bounds_[first[e.stream]].first;
			violate("R2", k, block,
				fmt::format(
					"{} as the first of its stream, and {} streams then have begun and not come "
					"to their last kernel: there are {} channels{}",
					starts(k, block), held, log_.machine.channels,
					log_.channels_told ? "" : " by default"));
			break; // streams that follow are of the same
		}
	}

	const Log &log_;
	s64 tolerance_;
	bool short_ = false; // of channels
	bool one_priority_ = true;
	std::vector<size_t> before_; // by kernel: the one before it in its stream
	std::vector<Head> heads_;
	std::vector<Bounds> bounds_;             // by kernel
	std::vector<std::vector<Event>> events_; // by SM
	Verdict verdict_;
};

} // namespace

Verdict check(const Log &log, u64 tolerance_ns)
{
	return Checker(log, tolerance_ns).run();
}

std::string verdict_text(const Log &log, const Verdict &v)
{
	std::string out;

	for (size_t i = 0; i < std::min(v.violations.size(), SHOWN); i++)
		out += fmt::format("Rule {}: {}\n", v.violations[i].rule, v.violations[i].text);
	if (v.violations.size() > SHOWN)
		out += fmt::format("... and {} more\n", v.violations.size() - SHOWN);
	for (const std::string &note : v.notes)
		out += "Note: " + note + '\n';
	return out + fmt::format("{} kernel{} in {} stream{}, tolerance {}: {}\n", log.kernels.size(),
				 log.kernels.size() == 1 ? "" : "s", log.streams.size(),
				 log.streams.size() == 1 ? "" : "s", duration(v.tolerance_ns),
				 v.violations.empty() ? "no rule is violated"
						      : fmt::format("{} violation{}", v.violations.size(),
								    v.violations.size() == 1 ? "" : "s"));
}

json verdict_json(const Verdict &v)
{
	json list = json::array();

	for (const Violation &one : v.violations)
		list.push_back({{"rule", one.rule},
				{"kernel", one.kernel},
				{"block", one.block ? json(*one.block) : json(nullptr)},
				{"sm", one.sm ? json(*one.sm) : json(nullptr)},
				{"at", static_cast<double>(one.at) / 1e9},
				{"text", one.text}});
	return {{"tolerance_ns", v.tolerance_ns},
		{"order_checked", v.order_checked},
		{"violations", list},
		{"notes", v.notes}};
}

} // namespace tool::blocks
