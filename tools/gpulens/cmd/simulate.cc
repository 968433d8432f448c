// SPDX-License-Identifier: GPL-2.0
// Builds the runlist, computes waits, and parses and formats for gpulens-lab interleave. simulate.hpp describes the algorithm.
#include "gpulens/cmd/simulate.hpp"

#include "lib/base/errors.hpp"
#include "lib/base/format.hpp"

#include <algorithm>
#include <array>
#include <cinttypes>
#include <cstdio>

namespace tool {

using json = nlohmann::ordered_json;

namespace {

constexpr std::array<const char *, 3> LEVELS = {"low", "medium", "high"}; // as enum Level counts

/* -- the runlist -- */

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

/* -- the command line -- */

[[noreturn]] void refuse_word(const std::string &word, const std::string &why)
{
	throw Error(Error::Input, word + ": " + why);
}

u32 parse_number(const std::string &word, const std::string &text, const char *item, u32 max)
{
	bool digits = !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
	std::string range = "a number from 1 to " + std::to_string(max);

	if (!digits)
		refuse_word(word, std::string(item) + " is \"" + text + "\", not " + range);
	// More than ten digits may not fit into u64; leading zeros count as digits.
	u64 v = text.size() > 10 ? ~0ULL : std::stoull(text);
	if (v < 1 || v > max)
		refuse_word(word, std::string(item) + " is " + text + ", not " + range);
	return static_cast<u32>(v);
}

Level parse_level(const std::string &word, const std::string &text)
{
	for (size_t i = 0; i < LEVELS.size(); i++)
		if (text == LEVELS[i])
			return static_cast<Level>(i);
	refuse_word(word, "the level is \"" + text + "\", not low, medium or high");
}

SimulatedTsg parse_tsg(const std::string &word)
{
	std::vector<std::string> parts = split_text(word, ':');
	SimulatedTsg t;

	if (parts.size() < 2 || parts.size() > 4)
		refuse_word(word, "not of the form NAME:LEVEL[:SLICE_US[:CHANNELS]]");
	t.name = parts[0];
	// It is printed in columns, on a terminal.
	if (!is_plain_word(t.name))
		refuse_word(word, "the name must be printable ASCII without blanks, and not empty");
	t.level = parse_level(word, parts[1]);
	if (parts.size() > 2)
		t.slice_us = parse_number(word, parts[2], "the time slice", LENS_TIMESLICE_MAX_US);
	if (parts.size() > 3)
		t.channels = parse_number(word, parts[3], "the number of channels", MAX_TSG_CHANNELS);
	return t;
}

/* -- printing -- */

template <typename... Args> void append_entries(std::string &text, const char *format, Args... args)
{
	char buf[256];
	int n = std::snprintf(buf, sizeof(buf), format, args...);

	text.append(buf, std::min<size_t>(size_t(n), sizeof(buf) - 1));
}

// A name may be of any length.
std::string pad_name(const std::string &name, size_t width)
{
	return name + std::string(width - name.size(), ' ');
}

void append_list(std::string &text, const Simulation &s, size_t width)
{
	u64 entry = 0;

	text += "Entry " + pad_name("TSG", width) + " Level  Channels Slice us\n";
	for (size_t i : s.slots) {
		const SimulatedTsg &t = s.tsgs[i];
		append_entries(text, "%5" PRIu64 " ", entry);
		text += pad_name(t.name, width);
		append_entries(text, " %-6s %8u %8u\n", LEVELS[size_t(t.level)], t.channels, t.slice_us);
		entry += 1 + t.channels;
	}
}

void append_shares(std::string &text, const Simulation &s, size_t width)
{
	text += pad_name("TSG", width) + " Level  Slots Longest wait us\n";
	for (size_t i = 0; i < s.tsgs.size(); i++) {
		text += pad_name(s.tsgs[i].name, width);
		append_entries(text, " %-6s %5" PRIu64 " %15" PRIu64 "\n", LEVELS[size_t(s.tsgs[i].level)],
			       s.shares[i].slots, s.shares[i].longest_wait_us);
	}
}

} // namespace

Simulation simulate(std::vector<SimulatedTsg> tsgs, u32 max_entries)
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

std::vector<SimulatedTsg> parse_tsgs(const std::vector<std::string> &words)
{
	std::vector<SimulatedTsg> tsgs;

	if (words.empty())
		throw Error(Error::Input, "no TSG given; each is NAME:LEVEL[:SLICE_US[:CHANNELS]]");
	for (const std::string &word : words) {
		SimulatedTsg t = parse_tsg(word);
		for (const SimulatedTsg &other : tsgs)
			if (other.name == t.name)
				refuse_word(word, "another TSG has this name");
		tsgs.push_back(std::move(t));
	}
	return tsgs;
}

std::string simulate_text(const Simulation &s)
{
	std::string text;
	size_t width = 3; // "TSG"

	if (s.overflows) {
		append_entries(text, "No runlist: it would have %" PRIu64 " entries, more than the maximum of %u.\n",
			       s.entries, s.max_entries);
		return text;
	}
	for (const SimulatedTsg &t : s.tsgs)
		width = std::max(width, t.name.size());
	append_list(text, s, width);
	append_entries(text,
		       "\n%" PRIu64 " of at most %u entries; a round takes %" PRIu64
		       " us if every TSG uses its whole time slices.\n\n",
		       s.entries, s.max_entries, s.round_us);
	append_shares(text, s, width);
	return text;
}

json simulate_json(const Simulation &s)
{
	json j, list = json::array(), tsgs = json::array();

	for (size_t i : s.slots)
		list.push_back({{"tsg", s.tsgs[i].name}, {"channels", s.tsgs[i].channels}});
	for (size_t i = 0; i < s.tsgs.size(); i++) {
		const SimulatedTsg &t = s.tsgs[i];
		json tsg = {{"name", t.name},
			    {"level", LEVELS[size_t(t.level)]},
			    {"slice_us", t.slice_us},
			    {"channels", t.channels}};
		tsg["turns"] = s.overflows ? json(nullptr) : json(s.shares[i].slots);
		tsg["longest_wait_us"] = s.overflows ? json(nullptr) : json(s.shares[i].longest_wait_us);
		tsgs.push_back(std::move(tsg));
	}
	j["version"] = 1;
	j["entries"] = s.entries;
	j["max_entries"] = s.max_entries;
	j["overflows"] = s.overflows;
	j["round_us"] = s.overflows ? json(nullptr) : json(s.round_us);
	j["list"] = s.overflows ? json(nullptr) : list;
	j["tsgs"] = tsgs;
	return j;
}

} // namespace tool
