// SPDX-License-Identifier: GPL-2.0
// Checks masks, priorities, task slots and the turns of processes.
#include "lab/blocks/limits.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace tool::blocks {

namespace {

constexpr size_t MAX_COMPARED = 8192; // kernels that are compared with each other

bool has_null_stream(const Log &log)
{
	return std::any_of(log.streams.begin(), log.streams.end(),
			   [](const Stream &s) { return s.kind == StreamKind::Null; });
}

// Whether a kernel was certainly launched before another one. A simulation launches several at the same time.
bool is_launched_before(const Ran &k, const Ran &other)
{
	return k.calls()[1] <= other.calls()[0] && k.calls()[0] < other.calls()[0];
}

} // namespace

bool has_too_many_ordered(const Log &log)
{
	return has_null_stream(log) && log.kernels.size() > MAX_COMPARED;
}

const Ran *find_kernel_of_unknown_size(const Log &log)
{
	auto found = std::find_if(log.kernels.begin(), log.kernels.end(), [](const Ran &k) { return !k.per_sm; });
	return found == log.kernels.end() ? nullptr : &*found;
}

std::vector<Head> find_heads(const Log &log)
{
	std::vector<s64> ended(log.streams.size(), INT64_MIN);
	std::vector<Head> heads;
	s64 u = static_cast<s64>(log.uncertainty_ns);
	bool ordered = has_null_stream(log) && !has_too_many_ordered(log);

	for (const Ran &k : log.kernels) {
		s64 from = k.launched ? (*k.launched)[0] - u : INT64_MIN;
		s64 to = k.launched ? (*k.launched)[1] + u : INT64_MIN;
		s64 copied = k.copy_in ? k.copy_in->end : INT64_MIN;
		heads.push_back({std::max({from, ended[k.stream], k.copy_in ? copied - u : copied}),
				 std::max({to, ended[k.stream], k.copy_in ? copied + u : copied})});
		ended[k.stream] = std::max(ended[k.stream], k.end());
	}
	for (size_t i = 0; ordered && i < log.kernels.size(); i++)
		for (const Ran &other : log.kernels) {
			const Ran &k = log.kernels[i];
			if (!k.launched || !other.launched || !log.are_ordered(k.stream, other.stream))
				continue;
			if (is_launched_before(other, k))
				heads[i].from = std::max(heads[i].from, other.end());
			if (other.calls()[0] <= (*k.launched)[1])
				heads[i].to = std::max(heads[i].to, other.end());
		}
	return heads;
}

std::vector<Violation> check_null_stream(const Log &log, s64 tolerance)
{
	std::vector<Violation> found;

	if (!has_null_stream(log) || has_too_many_ordered(log))
		return found;
	for (const Ran &k : log.kernels) {
		const Ran *last = nullptr; // of the kernels that it waits for
		for (const Ran &other : log.kernels)
			if (k.launched && other.launched && log.are_ordered(k.stream, other.stream) &&
			    is_launched_before(other, k) && (!last || other.end() > last->end()))
				last = &other;
		if (!last || k.begin() >= last->end() - tolerance)
			continue;
		bool null = log.streams[k.stream].kind == StreamKind::Null;
		bool both = null && log.streams[last->stream].kind == StreamKind::Null;
		auto first = std::min_element(k.blocks.begin(), k.blocks.end(),
					      [](const Block &a, const Block &b) { return a.start < b.start; });
		size_t i = static_cast<size_t>(first - k.blocks.begin());
		found.push_back(
			{both   ? "D"
			 : null ? "N1"
				: "N2",
			 k.name, k.copy_in ? std::nullopt : std::optional(static_cast<u32>(i)),
			 k.copy_in ? std::nullopt : std::optional(first->sm), k.begin(),
			 fmt::format("{}{}, though {}, launched earlier in {}, ends at {}",
				     k.copy_in ? fmt::format("{}'s copy in starts at {}", k.name, time_text(k.begin()))
					       : start_text(k, i),
				     null ? " in the NULL stream" : "", last->name,
				     both   ? "the same stream"
				     : null ? "a blocking stream"
					    : "the NULL stream",
				     time_text(last->end()))});
	}
	return found;
}

bool overlap(const std::optional<TpcSet> &a, const std::optional<TpcSet> &b)
{
	return !a || !b || (*a & *b).any();
}

bool is_within(const std::optional<TpcSet> &mask, const std::optional<TpcSet> &other)
{
	return !other || (mask && (*mask & ~*other).none());
}

int priority_of(const Log &log, const Ran &kernel)
{
	return log.streams[kernel.stream].priority;
}

std::string time_text(s64 ns)
{
	return fmt::format("{:.6f} s", static_cast<double>(ns) / 1e9);
}

std::string start_text(const Ran &k, size_t block)
{
	const Block &b = k.blocks[block];

	return fmt::format("{}:{} starts on SM {} at {}", k.name, block, b.sm, time_text(b.start));
}

std::vector<Span> subtract(Span span, std::vector<Span> others)
{
	std::vector<Span> left;

	std::sort(others.begin(), others.end(), [](const Span &a, const Span &b) { return a.from < b.from; });
	for (const Span &o : others) {
		if (o.to <= span.from || o.from >= span.to)
			continue;
		if (o.from > span.from)
			left.push_back({span.from, o.from});
		span.from = o.to;
	}
	if (span.from < span.to)
		left.push_back(span);
	return left;
}

bool can_fill(const Log &log, const std::vector<Head> &heads)
{
	std::vector<std::pair<s64, int>> edges;
	u32 held = 0;

	if (!log.machine.grids || log.kernels.size() <= log.machine.grids || log.kernels.size() > MAX_COMPARED)
		return false;
	for (size_t i = 0; i < heads.size(); i++) {
		edges.emplace_back(heads[i].from, 1);
		edges.emplace_back(log.kernels[i].last_end() + IDLE_NS, -1);
	}
	std::sort(edges.begin(), edges.end());
	return std::any_of(edges.begin(), edges.end(), [&](const auto &edge) {
		held += static_cast<u32>(edge.second);
		return held > log.machine.grids;
	});
}

std::vector<Span> find_full(const Log &log, const std::vector<Head> &heads, size_t kernel, bool certain, s64 tolerance)
{
	struct Edge {
		s64 at;
		int sign;
	};
	std::vector<Edge> edges;
	std::vector<Span> full;
	u32 held = 0;

	for (size_t j = 0; j < log.kernels.size(); j++) {
		const Ran &k = log.kernels[j];
		int own = priority_of(log, log.kernels[kernel]), its = priority_of(log, k);
		bool earlier = certain ? heads[j].to + tolerance < heads[kernel].from
				       : heads[j].from <= heads[kernel].to + tolerance;
		if (j == kernel || its > own || (its == own && !earlier))
			continue;
		// A kernel that runs has a slot for certain; one that has arrived, or whose end is not yet noticed, may have.
		s64 from = certain ? std::max(k.first_start(), heads[j].to) + tolerance : heads[j].from;
		s64 to = certain ? k.last_end() - tolerance : k.last_end() + IDLE_NS;
		if (from < to) {
			edges.push_back({from, 1});
			edges.push_back({to, -1});
		}
	}
	std::sort(edges.begin(), edges.end(),
		  [](const Edge &a, const Edge &b) { return std::tie(a.at, a.sign) < std::tie(b.at, b.sign); });
	for (const Edge &e : edges) {
		bool was = held >= log.machine.grids;
		held += static_cast<u32>(e.sign);
		if (!was && held >= log.machine.grids)
			full.push_back({e.at, e.at});
		else if (was && held < log.machine.grids)
			full.back().to = e.at;
	}
	return full;
}

std::vector<Span> busy_spans(const Log &log, u32 process)
{
	std::vector<Span> spans, merged;

	for (const Ran &k : log.kernels)
		if (log.streams[k.stream].process != process)
			spans.push_back({(k.launched ? (*k.launched)[0] : k.first_start()) -
						 static_cast<s64>(log.uncertainty_ns),
					 k.last_end() + IDLE_NS});
	std::sort(spans.begin(), spans.end(), [](const Span &a, const Span &b) { return a.from < b.from; });
	for (const Span &s : spans)
		if (merged.empty() || s.from > merged.back().to)
			merged.push_back(s);
		else
			merged.back().to = std::max(merged.back().to, s.to);
	return merged;
}

std::vector<Violation> check_masks(const Log &log)
{
	std::vector<Violation> found;

	for (const Ran &k : log.kernels)
		for (size_t i = 0; i < k.blocks.size(); i++) {
			if (log.may_use(k, k.blocks[i].sm))
				continue;
			found.push_back({"M", k.name, static_cast<u32>(i), k.blocks[i].sm, k.blocks[i].start,
					 fmt::format("{}, but its mask {} does not have TPC {}", start_text(k, i),
						     sm_mask_text(*k.tpcs), k.blocks[i].sm / log.machine.sms_per_tpc)});
			break; // one of each kernel
		}
	return found;
}

std::vector<Violation> check_priorities(const Log &log, const std::vector<Head> &heads, s64 tolerance)
{
	std::vector<Violation> found;
	int least = log.kernels.empty() ? 0 : priority_of(log, log.kernels[0]);
	std::vector<const Ran *> high; // kernels of a higher priority than another one

	for (const Ran &k : log.kernels)
		least = std::max(least, priority_of(log, k));
	std::vector<Span> waiting; // by kernel of high: from when it is in the queue for certain, to its last start
	for (size_t i = 0; i < heads.size(); i++) {
		const Ran &k = log.kernels[i];
		if (!k.launched || priority_of(log, k) == least || heads[i].to >= k.last_start() - 2 * tolerance)
			continue;
		high.push_back(&k);
		waiting.push_back({heads[i].to + tolerance, k.last_start() - tolerance});
	}
	if (high.size() > MAX_COMPARED)
		high.resize(MAX_COMPARED);
	for (const Ran &k : log.kernels)
		for (size_t h = 0; h < high.size(); h++) {
			if (priority_of(log, *high[h]) >= priority_of(log, k) || !is_within(k.tpcs, high[h]->tpcs))
				continue;
			auto early = std::find_if(k.blocks.begin(), k.blocks.end(), [&](const Block &b) {
				return b.start > waiting[h].from && b.start < waiting[h].to;
			});
			if (early == k.blocks.end())
				continue;
			size_t i = static_cast<size_t>(early - k.blocks.begin());
			auto last = std::max_element(high[h]->blocks.begin(), high[h]->blocks.end(),
						     [](const Block &a, const Block &b) { return a.start < b.start; });
			found.push_back(
				{"P", k.name, static_cast<u32>(i), early->sm, early->start,
				 fmt::format(
					 "{}, though {} of a higher priority is in the queue and still has blocks "
					 "to start: {}",
					 start_text(k, i), high[h]->name,
					 start_text(*high[h], static_cast<size_t>(last - high[h]->blocks.begin())))});
			break; // one of each kernel
		}
	return found;
}

std::vector<Violation> check_turns(const Log &log, s64 tolerance)
{
	struct Event {
		s64 at;
		const Ran *kernel;
		size_t block;
		int sign;
	};
	std::vector<Event> events;
	std::vector<s64> changes;                     // times of events after one of another process
	std::vector<int> running(log.processes(), 0); // blocks
	u32 last = 0;                                 // process of the previous event

	for (const Ran &k : log.kernels)
		for (size_t i = 0; i < k.blocks.size(); i++) {
			events.push_back({k.blocks[i].start, &k, i, 1});
			events.push_back({k.blocks[i].end, &k, i, -1});
		}
	std::stable_sort(events.begin(), events.end(), [](const Event &a, const Event &b) { return a.at < b.at; });
	for (size_t i = 0; i < events.size(); i++) {
		const Event &e = events[i];
		u32 process = log.streams[e.kernel->stream].process;
		if (i && process != last) {
			changes.push_back(e.at);
			if (size_t n = changes.size(); n > 2 && running[last] > 0 && e.at - changes[n - 3] <= tolerance)
				return {{"R4", e.kernel->name, static_cast<u32>(e.block), e.kernel->blocks[e.block].sm,
					 e.at,
					 fmt::format(
						 "{}:{} {} at {}, while process {} has blocks that run and had its "
						 "turn "
						 "only since {} at most: processes run at the same time, as with MPS",
						 e.kernel->name, e.block, e.sign > 0 ? "starts" : "ends",
						 time_text(e.at), last + 1, time_text(changes[n - 3]))}};
		}
		running[process] += e.sign;
		last = process;
	}
	return {};
}

} // namespace tool::blocks
