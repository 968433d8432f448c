// SPDX-License-Identifier: GPL-2.0
// Checks each rule in one pass over the kernels, or over the starts and ends of blocks on an SM, sorted by time.
#include "lab/blocks/check.hpp"

#include "lab/blocks/copies.hpp"
#include "lab/blocks/limits.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <numeric>
#include <optional>
#include <set>

namespace tool::blocks {

namespace {

constexpr double ROUNDING_ERROR = 1e-9; // of a sum of fractions that should be 1

// Indices and times of the blocks of a kernel that start first, start last and end last; of several, the first.
struct Bounds {
	size_t first = 0, last = 0, last_ended = 0;
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
				last_ended = i, last_end = b.end;
		}
	}
};

// Keeps the largest value that was added, and the largest value of any other group; of equals, the lower index.
class TopTwo {
public:
	void add(s64 value, size_t index, size_t group)
	{
		Entry added{value, index, group, true};

		if (best_.any && best_.group == group) {
			best_ = added.is_above(best_) ? added : best_;
		} else if (added.is_above(best_)) {
			other_ = best_;
			best_ = added;
		} else if (added.is_above(other_)) {
			other_ = added;
		}
	}

	// Returns the index of the largest value of other groups than this one; nothing if there is none.
	std::optional<size_t> find_outside(size_t group) const
	{
		const Entry &best = best_.any && best_.group == group ? other_ : best_;

		return best.any ? std::optional(best.index) : std::nullopt;
	}

private:
	struct Entry {
		s64 value = 0;
		size_t index = 0, group = 0;
		bool any = false;

		bool is_above(const Entry &o) const
		{
			return !o.any || value > o.value || (value == o.value && index < o.index);
		}
	};
	Entry best_, other_; // of different groups
};

class Checker {
public:
	// log: of one process. others: when other processes have work.
	Checker(const Log &log, u64 tolerance_ns, const std::vector<bool> &allowed, const std::vector<Span> &others,
		const std::vector<Head> &heads)
		: log_(log), tolerance_(static_cast<s64>(tolerance_ns)), allowed_(allowed), others_(others),
		  heads_(heads)
	{
		size_t count = log.kernels.size();

		verdict_.tolerance_ns = tolerance_ns;
		previous_.assign(count, NO_KERNEL);
		std::vector<size_t> last(log.streams.size(), NO_KERNEL);
		for (size_t i = 0; i < count; i++) {
			const Ran &k = log.kernels[i];
			previous_[i] = last[k.stream];
			last[k.stream] = i;
			bounds_.emplace_back(k);
			auto known = std::find(masks_.begin(), masks_.end(), k.tpcs);
			mask_of_.push_back(static_cast<size_t>(known - masks_.begin()));
			if (known == masks_.end())
				masks_.push_back(k.tpcs);
		}
	}

	Verdict run()
	{
		decide_checks();
		std::vector<size_t> worst = verdict_.order_checked ? find_worst_earlier() : std::vector<size_t>();
		std::vector<IdleTime> gaps = find_idle_times();
		for (size_t i = 0; i < log_.kernels.size(); i++) {
			check_launch(i);
			check_stream(i);
			if (verdict_.order_checked && worst[i] != NO_KERNEL)
				report_order(i, worst[i]);
			if (gaps[i].to - gaps[i].from > IDLE_NS)
				report_idle(i, gaps[i]);
		}
		check_resources();
		check_channels();
		check_grids();
		return std::move(verdict_);
	}

private:
	static constexpr size_t NO_KERNEL = ~size_t{0};
	void report(const char *rule, const Ran &k, size_t block, const std::string &text)
	{
		const Block &b = k.blocks[block];

		verdict_.violations.push_back({rule, k.name, static_cast<u32>(block), b.sm, b.start, text});
	}

	bool is_null(u32 stream) const { return log_.streams[stream].kind == StreamKind::Null; }

	u32 count_streams() const
	{
		std::set<u32> used;

		for (const Ran &k : log_.kernels)
			used.insert(is_null(k.stream) ? static_cast<u32>(log_.streams.size()) : k.stream);
		return static_cast<u32>(used.size());
	}

	// Sets what can be checked, and notes why not.
	void decide_checks()
	{
		bool all = std::all_of(log_.kernels.begin(), log_.kernels.end(),
				       [](const Ran &k) { return k.launched.has_value(); });

		std::set<int> priorities;
		for (size_t i = 0; i < log_.kernels.size(); i++)
			priorities.insert(priority(i));
		priorities_ = priorities.size();
		can_fill_ = can_fill(log_, heads_);
		too_few_channels_ = count_streams() > log_.machine.channels;
		verdict_.order_checked = all && !too_few_channels_ && !has_too_many_ordered(log_);
		if (too_few_channels_)
			verdict_.notes.push_back(fmt::format(
				"R2: {} streams and {} channels{}: A, B and C do not hold beyond, and order in the "
				"primary queue was not checked",
				count_streams(), log_.machine.channels,
				log_.channels_known ? "" : " (CUDA's default; the log does not state it)"));
		if (!all)
			verdict_.notes.emplace_back("not every kernel has cuda_launch_times: order in the primary "
						    "queue was not checked");
		for (const std::string &note : copy_notes(log_))
			verdict_.notes.push_back(note);
		if (has_too_many_ordered(log_))
			verdict_.notes.emplace_back("too many kernels to compare: N1 and N2 were not checked");
		if (!log_.machine.threads_per_sm)
			verdict_.notes.emplace_back(
				"the log has no limits of SMs: B2, waiting blocks and SM numbers were not checked");
	}

	// Rule A: a kernel enters the queue when it is launched, not before.
	void check_launch(size_t i)
	{
		const Ran &k = log_.kernels[i];
		size_t first = bounds_[i].first;

		if (k.launched &&
		    k.blocks[first].start < (*k.launched)[0] - static_cast<s64>(log_.uncertainty_ns) - tolerance_)
			report("A", k, first,
			       fmt::format("{}, before {} is launched at {}", start_text(k, first), k.name,
					   time_text((*k.launched)[0])));
	}

	// Rules A and D: a kernel starts after the previous kernel of its stream has ended.
	void check_stream(size_t i)
	{
		if (previous_[i] == NO_KERNEL)
			return;
		const Ran &k = log_.kernels[i], &earlier = log_.kernels[previous_[i]];
		size_t first = bounds_[i].first, end = bounds_[previous_[i]].last_ended,
		       start = bounds_[previous_[i]].last;
		const Block &b = k.blocks[first];

		if (b.start < earlier.blocks[start].start - tolerance_)
			report("A", k, first,
			       fmt::format("{}, though {} before it in its stream still has blocks to start: {}",
					   start_text(k, first), earlier.name, start_text(earlier, start)));
		else if (earlier.copy_out &&
			 b.start < earlier.copy_out->end - static_cast<s64>(log_.uncertainty_ns) - tolerance_)
			report("C4", k, first,
			       fmt::format("{}, though {} before it in its stream is copied out until {}",
					   start_text(k, first), earlier.name, time_text(earlier.copy_out->end)));
		else if (b.start < earlier.blocks[end].end - tolerance_)
			report("D", k, first,
			       fmt::format("{}, though {} before it in its stream has not ended: {}:{} on SM {} ends "
					   "at {}",
					   start_text(k, first), earlier.name, earlier.name, end,
					   earlier.blocks[end].sm, time_text(earlier.blocks[end].end)));
	}

	int priority(size_t i) const { return priority_of(log_, log_.kernels[i]); }

	// Returns the indices of all kernels, sorted by one bound of Head.
	std::vector<size_t> sort_by(s64 Head::*end) const
	{
		std::vector<size_t> list(heads_.size());

		std::iota(list.begin(), list.end(), size_t{0});
		std::sort(list.begin(), list.end(),
			  [this, end](size_t a, size_t b) { return heads_[a].*end < heads_[b].*end; });
		return list;
	}

	// A mask and a priority. Kernels of one class follow B and C among each other.
	using Class = std::pair<int, size_t>;
	using Lasts = std::map<Class, TopTwo>; // last starts, by stream

	Class class_of(size_t i) const { return {priority(i), mask_of_[i]}; }

	// Rules B1 and C: no block of a kernel starts while an earlier kernel of the primary queue has blocks to start, if
	// that one's mask has all TPCs of the kernel's.
	// Returns for each kernel, of the earlier kernels in other streams, the one whose last block starts last, if
	// that is after the kernel's first block starts; otherwise NO_KERNEL.
	std::vector<size_t> find_worst_earlier() const
	{
		std::vector<size_t> worst(heads_.size(), NO_KERNEL), earlier = sort_by(&Head::to);
		Lasts last; // of earlier kernels
		size_t next = 0;

		for (size_t i : sort_by(&Head::from)) {
			for (; next < earlier.size() && heads_[earlier[next]].to + tolerance_ < heads_[i].from;
			     next++) {
				size_t j = earlier[next];
				last[class_of(j)].add(bounds_[j].last_start, j, log_.kernels[j].stream);
			}
			s64 latest = bounds_[i].first_start + tolerance_;
			for (const auto &[of, top] : last) {
				if (of.first != priority(i) || !is_within(log_.kernels[i].tpcs, masks_[of.second]))
					continue;
				std::optional<size_t> j = top.find_outside(log_.kernels[i].stream);
				if (j && bounds_[*j].last_start > latest) {
					worst[i] = *j;
					latest = bounds_[*j].last_start;
				}
			}
		}
		return worst;
	}

	void report_order(size_t i, size_t before)
	{
		const Ran &k = log_.kernels[i], &earlier = log_.kernels[before];
		bool begun = bounds_[before].first_start < bounds_[i].first_start;

		report(begun ? "C" : "B", k, bounds_[i].first,
		       fmt::format("{}, though {} is before it in the primary queue and {}: {}",
				   start_text(k, bounds_[i].first), earlier.name,
				   begun ? "still has blocks to start" : "has not begun",
				   start_text(earlier, bounds_[before].last)));
	}

	// A time in which a block fits on an SM, but is not started.
	struct IdleTime {
		s64 from = 0, to = 0;
		u32 sm = 0;
	};
	// The time from when a kernel heads the primary queue until its last block starts.
	struct Window {
		size_t kernel;
		s64 from, until;
	};

	// Rule B also requires that a kernel at the head of the primary queue starts its blocks when they fit. Returns
	// for each kernel the longest time in which it does not, on one SM. Kernels with a common TPC and a higher priority
	// are before it, and so are all that may have come before it.
	std::vector<IdleTime> find_idle_times()
	{
		std::vector<IdleTime> gaps(heads_.size());
		std::vector<size_t> others = sort_by(&Head::from);
		std::vector<Window> windows;
		Lasts last;
		size_t next = 0;

		if (!log_.machine.threads_per_sm)
			return gaps;
		for (size_t i : sort_by(&Head::to)) {
			s64 from = heads_[i].to + tolerance_, until = bounds_[i].last_start;
			for (; next < others.size() && heads_[others[next]].from <= from; next++)
				last[class_of(others[next])].add(bounds_[others[next]].last_start, others[next],
								 others[next]);
			for (const auto &[of, top] : last) {
				if (of.first > priority(i) || !overlap(log_.kernels[i].tpcs, masks_[of.second]))
					continue;
				if (std::optional<size_t> j = top.find_outside(i))
					from = std::max(from, bounds_[*j].last_start);
			}
			for (size_t j = 0; priorities_ > 1 && j < heads_.size(); j++)
				if (priority(j) < priority(i) && heads_[j].from <= until &&
				    overlap(log_.kernels[i].tpcs, log_.kernels[j].tpcs))
					from = std::max(from, bounds_[j].last_start);
			if (!log_.kernels[i].launched || until - from <= IDLE_NS)
				continue;
			for (const Span &left : subtract({from, until}, excuses(i)))
				windows.push_back({i, left.from, left.to});
		}
		find_longest(windows, gaps);
		return gaps;
	}

	// Returns when a kernel may have to wait though a block of it fits: other processes have work, or all task slots are
	// taken.
	std::vector<Span> excuses(size_t i) const
	{
		std::vector<Span> spans = others_;

		if (can_fill_) {
			std::vector<Span> full = find_full(log_, heads_, i, false, tolerance_);
			spans.insert(spans.end(), full.begin(), full.end());
		}
		return spans;
	}

	void report_idle(size_t i, const IdleTime &best)
	{
		const Ran &k = log_.kernels[i];
		size_t next = bounds_[i].last;
		std::string text =
			fmt::format("{} heads the primary queue and a block of it fits on SM {} from {} to {}, but {}",
				    k.name, best.sm, time_text(best.from), time_text(best.to), start_text(k, next));

		if (too_few_channels_)
			verdict_.notes.push_back("R2: a false dependency: " + text);
		else if (unknown_size_)
			verdict_.notes.push_back("B: not known to fit, as blocks_per_sm of " + unknown_size_->name +
						 " is not logged: " + text);
		else
			verdict_.violations.push_back({"B", k.name, static_cast<u32>(next), best.sm, best.from, text});
	}

	// What a block uses of an SM.
	struct Share {
		double fraction; // upper bound of its share of the scarcest resource
		u32 threads;     // whole warps
	};

	Share share_of(const Ran &k) const
	{
		u32 threads = round_up_to_warps(k.threads);
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

	// Returns the starts and ends of blocks by SM, sorted by time; ends are before starts.
	const std::vector<std::vector<Event>> &sorted_events()
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
		for (std::vector<Event> &of_sm : events_)
			std::sort(of_sm.begin(), of_sm.end());
		return events_;
	}

	// Finds for each kernel the longest time within its window in which its block fits on one SM throughout.
	// Windows of kernels with a common SM are disjoint: each begins after the last start, and so the window, of every
	// such kernel that headed the queue before. Each SM's events are therefore passed only once.
	void find_longest(std::vector<Window> &windows, std::vector<IdleTime> &gaps)
	{
		std::vector<double> fraction; // by kernel

		if (windows.empty())
			return;
		std::sort(windows.begin(), windows.end(),
			  [](const Window &a, const Window &b) { return a.from < b.from; });
		for (const Ran &k : log_.kernels)
			fraction.push_back(share_of(k).fraction);
		for (u32 sm = 0; sm < log_.machine.sms; sm++) {
			if (!allowed_.empty() && !allowed_.at(sm))
				continue;
			const std::vector<Event> &all = sorted_events()[sm];
			double used = 0;
			size_t at = 0;
			for (const Window &w : windows) {
				if (!log_.may_use(log_.kernels[w.kernel], sm))
					continue;
				for (; at < all.size() && all[at].at < w.from; at++)
					used += all[at].sign * fraction[all[at].kernel];
				IdleTime &best = gaps[w.kernel];
				s64 since = w.from;
				auto fits = [&] { return used + fraction[w.kernel] <= 1 + ROUNDING_ERROR; };
				auto close = [&](s64 end) {
					if (fits() && end - since > best.to - best.from)
						best = {since, end, sm};
				};
				for (; at < all.size() && all[at].at < w.until; at++) {
					double then = used + all[at].sign * fraction[all[at].kernel];
					bool fitted = fits();
					if (fitted && !(then + fraction[w.kernel] <= 1 + ROUNDING_ERROR))
						close(all[at].at);
					used = then;
					if (!fitted && fits())
						since = all[at].at;
				}
				close(w.until);
			}
		}
	}

	// Rule B2: an SM never runs more threads or blocks than fit. One that ends within the tolerance does not count.
	void check_resources()
	{
		const Machine &m = log_.machine;

		if (!m.threads_per_sm)
			return;
		for (u32 sm = 0; sm < m.sms; sm++) {
			std::vector<Event> sorted = sorted_events()[sm];
			u32 threads = 0, blocks = 0;
			for (Event &e : sorted) {
				const Block &b = log_.kernels[e.kernel].blocks[e.block];
				if (e.sign < 0) // but not before its start
					e.at = std::max(b.start, b.end - tolerance_);
			}
			std::sort(sorted.begin(), sorted.end());
			for (const Event &e : sorted) {
				const Ran &k = log_.kernels[e.kernel];
				u32 own = share_of(k).threads;
				threads += e.sign > 0 ? own : 0 - own;
				blocks += static_cast<u32>(e.sign);
				if (e.sign < 0 || static_cast<int32_t>(threads) < 0 ||
				    (threads <= m.threads_per_sm && blocks <= m.blocks_per_sm))
					continue;
				report("B2", k, e.block,
				       fmt::format("{}, and then {} threads in {} blocks are there: it holds {} in {}",
						   start_text(k, e.block), threads, blocks, m.threads_per_sm,
						   m.blocks_per_sm));
				break; // further violations on this SM would be consequences
			}
		}
	}

	// Rule R2: a stream holds a channel at least from its first block to the first block of its last kernel.
	void check_channels()
	{
		struct Edge {
			s64 at;
			int sign;
			u32 stream;
			bool operator<(const Edge &o) const { return std::tie(at, sign) < std::tie(o.at, o.sign); }
		};
		std::vector<Edge> edges;
		std::vector<size_t> first(log_.streams.size(), NO_KERNEL), last(log_.streams.size(), NO_KERNEL);

		for (size_t i = 0; i < log_.kernels.size(); i++) {
			u32 s = log_.kernels[i].stream;
			first[s] = first[s] == NO_KERNEL ? i : first[s];
			last[s] = i;
		}
		for (u32 s = 0; s < log_.streams.size(); s++) {
			// Benchmarks in the NULL stream may be one stream; leaving them out never counts too many.
			if (first[s] == NO_KERNEL || first[s] == last[s] || is_null(s))
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
			report("R2", k, block,
			       fmt::format("{} as the first of its stream, and {} streams then have begun and not come "
					   "to their last kernel: there are {} channels{}",
					   start_text(k, block), held, log_.machine.channels,
					   log_.channels_known ? "" : " by default"));
			break; // further violations would be consequences
		}
	}

	// Rule S: kernels that run hold the task slots.
	void check_grids()
	{
		for (size_t i = 0; can_fill_ && i < heads_.size(); i++) {
			std::vector<Span> full = find_full(log_, heads_, i, true, tolerance_);
			const Ran &k = log_.kernels[i];
			for (size_t b = 0; b < k.blocks.size(); b++) {
				auto in = std::find_if(full.begin(), full.end(), [&](const Span &s) {
					return k.blocks[b].start > s.from && k.blocks[b].start < s.to;
				});
				if (in == full.end())
					continue;
				report("S", k, b,
				       fmt::format("{}, though {} kernels before it hold all task slots from {} to {}",
						   start_text(k, b), log_.machine.grids, time_text(in->from),
						   time_text(in->to)));
				break;
			}
		}
	}

	const Log &log_;
	s64 tolerance_;
	const std::vector<bool> &allowed_;
	const std::vector<Span> &others_;
	const Ran *unknown_size_ = find_kernel_of_unknown_size(log_);
	bool too_few_channels_ = false; // fewer than streams
	bool can_fill_ = false;         // the task slots
	size_t priorities_ = 1;         // number of different ones
	std::vector<std::optional<TpcSet>> masks_;
	std::vector<size_t> mask_of_;  // by kernel: index of masks_
	std::vector<size_t> previous_; // by kernel: the previous kernel of its stream
	const std::vector<Head> &heads_;
	std::vector<Bounds> bounds_;             // by kernel
	std::vector<std::vector<Event>> events_; // by SM
	Verdict verdict_;
};

// Returns the log with the kernels of one process only.
Log log_of(const Log &log, u32 process)
{
	Log own = log;

	std::erase_if(own.kernels, [&](const Ran &k) { return log.streams[k.stream].process != process; });
	return own;
}

} // namespace

Verdict check(const Log &log, u64 tolerance_ns, const std::vector<bool> &allowed)
{
	Verdict all;
	u32 processes = log.processes();

	all.tolerance_ns = tolerance_ns;
	for (u32 process = 0; process < processes; process++) {
		Log own = processes > 1 ? log_of(log, process) : Log();
		const Log &one = processes > 1 ? own : log;
		if (one.kernels.empty())
			continue;
		std::vector<Head> heads = find_heads(one);
		s64 tolerance = static_cast<s64>(tolerance_ns);
		Verdict v = Checker(one, tolerance_ns, allowed, busy_spans(log, process), heads).run();
		all.order_checked &= v.order_checked;
		for (std::vector<Violation> more :
		     {std::move(v.violations), check_masks(one), check_priorities(one, heads, tolerance),
		      check_null_stream(one, tolerance), check_copies(one, tolerance)})
			all.violations.insert(all.violations.end(), more.begin(), more.end());
		for (const std::string &note : v.notes) {
			std::string text = processes > 1 ? fmt::format("process {}: {}", process + 1, note) : note;
			all.notes.push_back(text);
		}
	}
	if (processes > 1) {
		std::vector<Violation> more = check_turns(log, static_cast<s64>(tolerance_ns));
		all.violations.insert(all.violations.end(), more.begin(), more.end());
		all.notes.push_back(fmt::format("{} processes: A to D were checked for each by itself, and waits only "
						"while no other one had work",
						processes));
	}
	return all;
}

} // namespace tool::blocks
