// SPDX-License-Identifier: GPL-2.0
// The length of the list is computed before it is built, because it may be too long.
#include "lib/schedule/interleaved.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

namespace tool {

namespace {

// For each TSG of a level: the list of the levels above, then the TSG. The top level: each TSG once.
class Builder {
public:
	explicit Builder(const std::vector<SimulatedTsg> &tsgs)
	{
		for (size_t i = 0; i < tsgs.size(); i++)
			tsgs_of(tsgs[i].level).push_back(i);
	}

	void append_level(std::vector<size_t> &slots, Level level) const
	{
		const std::vector<size_t> &own = tsgs_of(level);

		if (level == Level::High) {
			slots.insert(slots.end(), own.begin(), own.end());
			return;
		}
		for (size_t tsg : own) {
			append_level(slots, level == Level::Low ? Level::Medium : Level::High);
			if (level == Level::Low)
				append_level(slots, Level::High);
			slots.push_back(tsg);
		}
	}
	// Returns the lowest level with a TSG: its list is the whole list.
	Level lowest() const
	{
		return !tsgs_of(Level::Low).empty()      ? Level::Low
		       : !tsgs_of(Level::Medium).empty() ? Level::Medium
							 : Level::High;
	}
	// Returns the number of slots of each TSG of a level, without building the list, which may be too long.
	u64 slots_of(Level level) const
	{
		u64 low = std::max<u64>(tsgs_of(Level::Low).size(), 1), medium = tsgs_of(Level::Medium).size();

		if (level == Level::Low)
			return 1;
		if (level == Level::Medium)
			return low;
		if (tsgs_of(Level::Low).empty())
			return std::max<u64>(medium, 1);
		return low * (medium + 1);
	}

private:
	std::vector<size_t> &tsgs_of(Level level) { return by_level_[size_t(level)]; }
	const std::vector<size_t> &tsgs_of(Level level) const { return by_level_[size_t(level)]; }

	std::array<std::vector<size_t>, 3> by_level_;
};

// Goes through the list twice, to include the wait across its end.
void find_waits(Simulation &s)
{
	constexpr u64 NEVER = ~0ULL;
	std::vector<u64> ended(s.tsgs.size(), NEVER);
	u64 now = 0;

	for (size_t i = 0; i < 2 * s.slots.size(); i++) {
		size_t tsg = s.slots[i % s.slots.size()];
		u64 &longest = s.shares[tsg].longest_wait_us;
		if (ended[tsg] != NEVER)
			longest = std::max(longest, now - ended[tsg]);
		now += s.tsgs[tsg].slice_us;
		ended[tsg] = now;
	}
	s.round_us = now / 2;
}

} // namespace

Simulation interleave_tsgs(std::vector<SimulatedTsg> tsgs, u32 max_entries)
{
	Simulation s;
	Builder builder(tsgs);

	s.max_entries = max_entries;
	s.tsgs = std::move(tsgs);
	s.shares.resize(s.tsgs.size());
	for (const SimulatedTsg &t : s.tsgs)
		s.entries += builder.slots_of(t.level) * (1 + t.channels);
	s.overflows = s.entries > max_entries;
	if (s.overflows)
		return s;
	builder.append_level(s.slots, builder.lowest());
	for (size_t tsg : s.slots)
		s.shares[tsg].slots++;
	find_waits(s);
	return s;
}

u64 bound_response_ns(const Simulation &s, size_t tsg, u64 length_ns, u64 switch_ns)
{
	auto slice_ns = [&s](size_t of) { return u64{s.tsgs[of].slice_us} * 1000; };
	size_t entries = s.slots.size(),
	       first = size_t(std::find(s.slots.begin(), s.slots.end(), tsg) - s.slots.begin());
	u64 wait = 0, round = 0;
	std::vector<u64> waits; // from each slot of the TSG to the next one

	for (size_t i = 1; i <= entries; i++) {
		size_t slot = s.slots[(first + i) % entries];
		if (slot != tsg) {
			wait += slice_ns(slot) + switch_ns;
			continue;
		}
		waits.push_back(wait + (wait ? switch_ns : 0));
		round += waits.back();
		wait = 0;
	}
	u64 slots = (length_ns + slice_ns(tsg) - 1) / slice_ns(tsg), longest = 0;
	size_t rest = slots % waits.size();
	u64 sum = std::accumulate(waits.begin(), waits.begin() + long(rest), u64{0});
	for (size_t i = 0; i < waits.size(); i++) {
		longest = std::max(longest, sum);
		sum += waits[(i + rest) % waits.size()] - waits[i];
	}
	return slots / waits.size() * round + longest + length_ns;
}

} // namespace tool
