// SPDX-License-Identifier: GPL-2.0
// Columns are as wide as their longest name or number.
#include "lab/interleave.hpp"

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

/* -- the command line -- */

[[noreturn]] void refuse_word(const std::string &word, const std::string &why)
{
	throw Error(Error::Input, word + ": " + why);
}

u32 parse_count(const std::string &word, const std::string &text, const char *item, u32 max)
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
		t.slice_us = parse_count(word, parts[2], "the time slice", LENS_TIMESLICE_MAX_US);
	if (parts.size() > 3)
		t.channels = parse_count(word, parts[3], "the number of channels", MAX_TSG_CHANNELS);
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
