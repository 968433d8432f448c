// SPDX-License-Identifier: GPL-2.0
// The list, the waits, the command line and the text of `gpulens simulate`; the algorithm is told in simulate.hpp.
#include "gpulens/cmd/simulate.hpp"

#include "lib/base/errors.hpp"

#include <algorithm>
#include <array>
#include <cinttypes>
#include <cstdio>

namespace tool {

using json = nlohmann::ordered_json;

namespace {

constexpr std::array<const char *, 3> LEVELS = {"low", "medium", "high"}; // as enum Level counts

/* -- the list -- */

// For each of this level what the levels above make, then that one; on top of all, each once.
class Builder {
public:
	explicit Builder(const std::vector<SimulatedTsg> &tsgs)
	{
		for (size_t i = 0; i < tsgs.size(); i++)
			of(tsgs[i].level).push_back(i);
	}

	void append(std::vector<size_t> &turns, Level level) const
	{
		const std::vector<size_t> &own = of(level);

		if (level == Level::High) {
			turns.insert(turns.end(), own.begin(), own.end());
			return;
		}
		for (size_t tsg : own) {
			append(turns, level == Level::Low ? Level::Medium : Level::High);
			if (level == Level::Low)
				append(turns, Level::High);
			turns.push_back(tsg);
		}
	}
	// The lowest level that has any is the list; above it, empty levels add nothing.
	Level lowest() const
	{
		return !of(Level::Low).empty() ? Level::Low : !of(Level::Medium).empty() ? Level::Medium : Level::High;
	}
	// How often each TSG of a level comes, by counting and not by building: a list may be too long to be built.
	u64 turns_of(Level level) const
	{
		u64 low = std::max<u64>(of(Level::Low).size(), 1), medium = of(Level::Medium).size();

		if (level == Level::Low)
			return 1;
		if (level == Level::Medium)
			return low;
		if (of(Level::Low).empty())
			return std::max<u64>(medium, 1);
		return low * (medium + 1);
	}

private:
	std::vector<size_t> &of(Level level) { return of_level_[size_t(level)]; }
	const std::vector<size_t> &of(Level level) const { return of_level_[size_t(level)]; }

	std::array<std::vector<size_t>, 3> of_level_;
};

// Twice around, so that the wait over the list's end is one like the others.
void find_waits(Simulation &s)
{
	constexpr u64 NEVER = ~0ULL;
	std::vector<u64> ended(s.tsgs.size(), NEVER);
	u64 now = 0;

	for (size_t i = 0; i < 2 * s.turns.size(); i++) {
		size_t tsg = s.turns[i % s.turns.size()];
		u64 &longest = s.shares[tsg].longest_wait_us;
		if (ended[tsg] != NEVER)
			longest = std::max(longest, now - ended[tsg]);
		now += s.tsgs[tsg].slice_us;
		ended[tsg] = now;
	}
	s.round_us = now / 2;
}

/* -- the command line -- */

[[noreturn]] void refuse(const std::string &word, const std::string &why)
{
	throw Error(Error::Input, word + ": " + why);
}

std::vector<std::string> split(const std::string &word)
{
	std::vector<std::string> parts(1);

	for (char c : word)
		if (c == ':')
			parts.emplace_back();
		else
			parts.back() += c;
	return parts;
}

u32 number(const std::string &word, const std::string &text, const char *what, u32 max)
{
	bool digits = !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
	std::string range = "a number from 1 to " + std::to_string(max);

	if (!digits)
		refuse(word, std::string(what) + " is \"" + text + "\", not " + range);
	// More digits than any u32 has would not fit; zeros in front count as digits.
	u64 v = text.size() > 10 ? ~0ULL : std::stoull(text);
	if (v < 1 || v > max)
		refuse(word, std::string(what) + " is " + text + ", not " + range);
	return static_cast<u32>(v);
}

Level level(const std::string &word, const std::string &text)
{
	for (size_t i = 0; i < LEVELS.size(); i++)
		if (text == LEVELS[i])
			return static_cast<Level>(i);
	refuse(word, "the level is \"" + text + "\", not low, medium or high");
}

SimulatedTsg parse_tsg(const std::string &word)
{
	std::vector<std::string> parts = split(word);
	SimulatedTsg t;

	if (parts.size() < 2 || parts.size() > 4)
		refuse(word, "not of the form NAME:LEVEL[:SLICE_US[:CHANNELS]]");
	t.name = parts[0];
	// It is printed in columns, on a terminal.
	if (t.name.empty() || std::any_of(t.name.begin(), t.name.end(), [](char c) { return c <= ' ' || c > '~'; }))
		refuse(word, "the name is empty, or not of printable ASCII without blanks");
	t.level = level(word, parts[1]);
	if (parts.size() > 2)
		t.slice_us = number(word, parts[2], "the time slice", LENS_TIMESLICE_MAX_US);
	if (parts.size() > 3)
		t.channels = number(word, parts[3], "the number of channels", MAX_TSG_CHANNELS);
	return t;
}

/* -- printing -- */

template <typename... Args> void add(std::string &text, const char *format, Args... args)
{
	char buf[256];
	int n = std::snprintf(buf, sizeof(buf), format, args...);

	text.append(buf, std::min<size_t>(size_t(n), sizeof(buf) - 1));
}

// A name may be of any length.
std::string padded(const std::string &name, size_t width)
{
	return name + std::string(width - name.size(), ' ');
}

void list_text(std::string &text, const Simulation &s, size_t width)
{
	u64 entry = 0;

	text += "Entry " + padded("TSG", width) + " Level  Channels Slice us\n";
	for (size_t i : s.turns) {
		const SimulatedTsg &t = s.tsgs[i];
		add(text, "%5" PRIu64 " ", entry);
		text += padded(t.name, width);
		add(text, " %-6s %8u %8u\n", LEVELS[size_t(t.level)], t.channels, t.slice_us);
		entry += 1 + t.channels;
	}
}

void shares_text(std::string &text, const Simulation &s, size_t width)
{
	text += padded("TSG", width) + " Level  Turns Longest wait us\n";
	for (size_t i = 0; i < s.tsgs.size(); i++) {
		text += padded(s.tsgs[i].name, width);
		add(text, " %-6s %5" PRIu64 " %15" PRIu64 "\n", LEVELS[size_t(s.tsgs[i].level)], s.shares[i].turns,
		    s.shares[i].longest_wait_us);
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
		s.entries += builder.turns_of(t.level) * (1 + t.channels);
	s.overflows = s.entries > max_entries;
	if (s.overflows)
		return s;
	builder.append(s.turns, builder.lowest());
	for (size_t tsg : s.turns)
		s.shares[tsg].turns++;
	find_waits(s);
	return s;
}

std::vector<SimulatedTsg> parse_tsgs(const std::vector<std::string> &words)
{
	std::vector<SimulatedTsg> tsgs;

	if (words.empty())
		throw Error(Error::Input, "no TSG: NAME:LEVEL[:SLICE_US[:CHANNELS]] for each is wanted");
	for (const std::string &word : words) {
		SimulatedTsg t = parse_tsg(word);
		for (const SimulatedTsg &other : tsgs)
			if (other.name == t.name)
				refuse(word, "there is another TSG of that name");
		tsgs.push_back(std::move(t));
	}
	return tsgs;
}

std::string simulate_text(const Simulation &s)
{
	std::string text;
	size_t width = 3; // "TSG"

	if (s.overflows) {
		add(text, "No list: it would have %" PRIu64 " entries, and the most is %u.\n", s.entries,
		    s.max_entries);
		return text;
	}
	for (const SimulatedTsg &t : s.tsgs)
		width = std::max(width, t.name.size());
	list_text(text, s, width);
	add(text,
	    "\n%" PRIu64 " entries of at most %u; a round takes %" PRIu64 " us when every TSG uses up its slices.\n\n",
	    s.entries, s.max_entries, s.round_us);
	shares_text(text, s, width);
	return text;
}

json simulate_json(const Simulation &s)
{
	json j, list = json::array(), tsgs = json::array();

	for (size_t i : s.turns)
		list.push_back({{"tsg", s.tsgs[i].name}, {"channels", s.tsgs[i].channels}});
	for (size_t i = 0; i < s.tsgs.size(); i++) {
		const SimulatedTsg &t = s.tsgs[i];
		json one = {{"name", t.name},
			    {"level", LEVELS[size_t(t.level)]},
			    {"slice_us", t.slice_us},
			    {"channels", t.channels}};
		one["turns"] = s.overflows ? json(nullptr) : json(s.shares[i].turns);
		one["longest_wait_us"] = s.overflows ? json(nullptr) : json(s.shares[i].longest_wait_us);
		tsgs.push_back(std::move(one));
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
