// SPDX-License-Identifier: GPL-2.0
// See check.hpp.
#include "blocks/check.hpp"

#include "text.hpp"

#include <algorithm>
#include <fmt/format.h>
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

// The blocks that start first and last, and that ends last.
size_t first_started(const Ran &k)
{
	return static_cast<size_t>(std::min_element(k.blocks.begin(), k.blocks.end(),
						    [](const Block &a, const Block &b) { return a.start < b.start; }) -
				   k.blocks.begin());
}

size_t last_started(const Ran &k)
{
	return static_cast<size_t>(std::max_element(k.blocks.begin(), k.blocks.end(),
						    [](const Block &a, const Block &b) { return a.start < b.start; }) -
				   k.blocks.begin());
}

size_t last_ended(const Ran &k)
{
	return static_cast<size_t>(std::max_element(k.blocks.begin(), k.blocks.end(),
						    [](const Block &a, const Block &b) { return a.end < b.end; }) -
				   k.blocks.begin());
}

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
			ended[k.stream] = std::max(ended[k.stream], k.last_end());
		}
	}

	Verdict run()
	{
		decide();
		for (size_t i = 0; i < log_.kernels.size(); i++) {
			launch(i);
			stream(i);
			if (verdict_.order_checked)
				order(i);
			idle(i);
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
		size_t first = first_started(k);

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
		size_t first = first_started(k), end = last_ended(earlier), start = last_started(earlier);
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

	bool is_before(size_t one, size_t other) const { return heads_[one].to + tolerance_ < heads_[other].from; }

	bool comparable(size_t one, size_t other) const
	{
		return log_.streams[log_.kernels[one].stream].priority ==
		       log_.streams[log_.kernels[other].stream].priority;
	}

	// B1 and C: while an earlier kernel of the queue has blocks to start, no block of this one does. Of all earlier
	// ones, the one whose last block starts last is named.
	void order(size_t i)
	{
		const Ran &k = log_.kernels[i];
		size_t first = first_started(k), worst = NONE;

		for (size_t j = 0; j < log_.kernels.size(); j++)
			if (j != i && log_.kernels[j].stream != k.stream && comparable(j, i) && is_before(j, i) &&
			    k.blocks[first].start < log_.kernels[j].last_start() - tolerance_ &&
			    (worst == NONE || log_.kernels[j].last_start() > log_.kernels[worst].last_start()))
				worst = j;
		if (worst == NONE)
			return;
		const Ran &earlier = log_.kernels[worst];
		bool begun = earlier.first_start() < k.blocks[first].start;
		size_t start = last_started(earlier);
		violate(begun ? "C" : "B", k, first,
			fmt::format("{}, though {} is before it in the primary queue and {}: {}", starts(k, first),
				    earlier.name, begun ? "still has blocks to start" : "has not begun",
				    starts(earlier, start)));
	}

	// B, the other way about: a kernel that heads the primary queue, and a block of it fits.
	void idle(size_t i)
	{
		const Ran &k = log_.kernels[i];
		s64 from = heads_[i].to + tolerance_, until = k.last_start();

		if (!k.launched || !log_.machine.threads_per_sm)
			return;
		for (size_t j = 0; j < log_.kernels.size(); j++)
			if (!comparable(j, i))
				return;
			else if (j != i && !(heads_[i].to + tolerance_ < heads_[j].from))
				from = std::max(from, log_.kernels[j].last_start());
		Gap best = longest_gap(k, from, until);
		if (best.to - best.from <= IDLE_NS)
			return;
		size_t next = last_started(k);
		std::string text =
			fmt::format("{} heads the primary queue and a block of it fits on SM {} from {} to {}, but {}",
				    k.name, best.sm, time_of(best.from), time_of(best.to), starts(k, next));
		if (short_)
			verdict_.notes.push_back("R2: a false dependency: " + text);
		else
			verdict_.violations.push_back({"B", k.name, static_cast<u32>(next), best.sm, best.from, text});
	}

	struct Gap {
		s64 from = 0, to = 0;
		u32 sm = 0;
	};
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

	// The longest time within the two on one SM in which a block of this kernel fits all the while.
	Gap longest_gap(const Ran &k, s64 from, s64 until)
	{
		double mine = share_of(k).most;
		Gap best;

		if (until - from <= IDLE_NS)
			return best;
		for (u32 sm = 0; sm < log_.machine.sms; sm++) {
			double used = 0;
			s64 since = from;
			auto fits = [&] { return used + mine <= 1 + NEARLY; };
			auto close = [&](s64 at) {
				if (fits() && std::min(at, until) - since > best.to - best.from)
					best = {since, std::min(at, until), sm};
			};
			for (const Event &e : events()[sm]) {
				bool before = fits();
				double then = used + e.sign * share_of(log_.kernels[e.kernel]).most;
				if (before && !(then + mine <= 1 + NEARLY))
					close(e.at);
				used = then;
				if (!before && fits())
					since = std::max(e.at, from);
			}
			close(until);
		}
		return best;
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
			s64 from = log_.kernels[first[s]].first_start() + tolerance_;
			s64 to = log_.kernels[last[s]].first_start() - tolerance_;
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
			violate("R2", k, first_started(k),
				fmt::format(
					"{} as the first of its stream, and {} streams then have begun and not come "
					"to their last kernel: there are {} channels{}",
					starts(k, first_started(k)), held, log_.machine.channels,
					log_.channels_told ? "" : " by default"));
			break; // streams that follow are of the same
		}
	}

	const Log &log_;
	s64 tolerance_;
	bool short_ = false;         // of channels
	std::vector<size_t> before_; // by kernel: the one before it in its stream
	std::vector<Head> heads_;
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
