// SPDX-License-Identifier: GPL-2.0
// The runlist of interleaved TSGs. Expected lists and waits are computed by hand from the algorithm that
// lib/schedule/interleaved.hpp states with its sources; none was taken from the program.
#include "lab/interleave.hpp"
#include "lib/base/errors.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace {

using nlohmann::ordered_json;
using tool::Level;
using tool::SimulatedTsg;
using tool::Simulation;

Simulation simulate_words(const std::vector<std::string> &words, u32 max_entries = 65535)
{
	return tool::interleave_tsgs(tool::parse_tsgs(words), max_entries);
}

// "H1 H2 B": the names of all slots.
std::string slot_names(const Simulation &s)
{
	std::string text;
	for (size_t i : s.slots)
		text += (text.empty() ? "" : " ") + s.tsgs[i].name;
	return text;
}

std::vector<u64> list_waits(const Simulation &s)
{
	std::vector<u64> all;
	for (const tool::Share &share : s.shares)
		all.push_back(share.longest_wait_us);
	return all;
}

/* -- lists -- */

// Capodieci et al., EMSOFT 2018, Figure 1: "three high priority applications and one best effort (medium or low
// priority), each consisting of one channel". By the rule of the text, the list has all TSGs of the higher level, then one
// slot of the lower. H2 waits for H3, the best effort one and H1.
TEST(Simulate, PapersExampleIsThreeHighOnesThenTheBestEffortOne)
{
	for (const char *best_effort : {"B:medium:2000", "B:low:2000"}) {
		Simulation s = simulate_words({"H1:high:1000", "H2:high:1500", "H3:high:3000", best_effort});
		EXPECT_EQ(slot_names(s), "H1 H2 H3 B") << best_effort;
		EXPECT_EQ(s.entries, 8u);
		EXPECT_EQ(s.round_us, 7500u);
		EXPECT_EQ(list_waits(s), (std::vector<u64>{6500, 6000, 4500, 5500}));
	}
}

// A single level, whichever it is, is listed once.
TEST(Simulate, OneLevelAloneIsListedOnce)
{
	for (const char *level : {"low", "medium", "high"}) {
		Simulation s = simulate_words(
			{std::string("a:") + level, std::string("b:") + level, std::string("c:") + level});
		EXPECT_EQ(slot_names(s), "a b c") << level;
		EXPECT_EQ(list_waits(s), (std::vector<u64>{2048, 2048, 2048})) << level;
	}
	Simulation alone = simulate_words({"a:medium:5000"});
	EXPECT_EQ(slot_names(alone), "a");
	EXPECT_EQ(alone.round_us, 5000u);
	EXPECT_EQ(list_waits(alone), (std::vector<u64>{0}));
}

// The medium list is high, M1, high, M2; that list and the high TSGs once more precede each low one.
TEST(Simulate, EachLowerSlotFollowsAllHigherLevels)
{
	EXPECT_EQ(slot_names(simulate_words({"a:high", "b:medium", "c:medium"})), "a b a c");
	EXPECT_EQ(slot_names(simulate_words({"a:high", "d:low", "e:low"})), "a d a e");
	EXPECT_EQ(slot_names(simulate_words({"b:medium", "c:medium", "d:low", "e:low"})), "b c d b c e");
	EXPECT_EQ(slot_names(simulate_words({"a:high", "b:medium", "d:low"})), "a b a d");
	EXPECT_EQ(slot_names(simulate_words({"a:high", "b:medium", "c:medium", "d:low", "e:low"})),
		  "a b a c a d a b a c a e");
	EXPECT_EQ(slot_names(simulate_words({"a:high", "f:high", "b:medium", "d:low"})), "a f b a f d");
}

TEST(Simulate, OrderWithinALevelIsTheOneGiven)
{
	EXPECT_EQ(slot_names(simulate_words({"z:low", "m:high", "y:medium", "a:high"})), "m a y m a z");
}

/* -- waits -- */

// a b a c a d a b a c a e: a waits for at most one lower time slice; between two slots of b are a c a d a, or a c a e a;
// between two of c a d a b a, or a e a b a; d waits for all others, 6 * 100 + 2 * 1000 + 2 * 3000 + 50.
TEST(Simulate, WaitsAreTheTimeSlicesOfTheOthersBetweenTwoSlots)
{
	Simulation s = simulate_words({"a:high:100", "b:medium:1000", "c:medium:3000", "d:low:20000", "e:low:50"});
	EXPECT_EQ(s.round_us, 28650u);
	EXPECT_EQ(list_waits(s), (std::vector<u64>{20000, 23300, 21300, 8650, 28600}));
	std::vector<u64> slots;
	for (const tool::Share &share : s.shares)
		slots.push_back(share.slots);
	EXPECT_EQ(slots, (std::vector<u64>{6, 2, 2, 1, 1}));
}

// a d a e: the gap over the end of the list, e, is the longest of a. Seen failing with one round only.
TEST(Simulate, TheWaitAcrossTheEndOfTheListCounts)
{
	EXPECT_EQ(list_waits(simulate_words({"a:high:10", "d:low:500", "e:low:7000"})),
		  (std::vector<u64>{7000, 7020, 520}));
}

// Capodieci et al., section 2: a job arrives right after a slot of its TSG, and all others always have work. H2 of Figure 1 waits
// 6000 us before each slot of 1500. a of the list above has waits of 1000, 3000, 20000, 1000, 3000 and 50 us between its slots of
// 100: the worst two are 3000 and 20000, three 24000, six 28050, seven these and 20000. A switch before each other slot and
// before its own: 4 * 10 us for each of H2's slots. Seen failing with the longest wait before each slot.
TEST(Simulate, AResponseIsBoundByTheWorstWaitsInARow)
{
	Simulation paper = simulate_words({"H1:high:1000", "H2:high:1500", "H3:high:3000", "B:low:2000"});
	auto bound = [](const Simulation &s, size_t tsg, u64 us, u64 switch_us = 0) {
		return tool::bound_response_ns(s, tsg, us * 1000, switch_us * 1000) / 1000;
	};

	EXPECT_EQ(bound(paper, 1, 1000), 7000u);
	EXPECT_EQ(bound(paper, 1, 1500), 7500u);
	EXPECT_EQ(bound(paper, 1, 1501), 13501u);
	EXPECT_EQ(bound(paper, 1, 4000), 22000u);
	EXPECT_EQ(bound(paper, 1, 4000, 10), 22120u);
	Simulation s = simulate_words({"a:high:100", "b:medium:1000", "c:medium:3000", "d:low:20000", "e:low:50"});
	EXPECT_EQ(bound(s, 0, 100), 20100u);
	EXPECT_EQ(bound(s, 0, 200), 23200u);
	EXPECT_EQ(bound(s, 0, 300), 24300u);
	EXPECT_EQ(bound(s, 0, 600), 28650u);
	EXPECT_EQ(bound(s, 0, 700), 48750u);
	EXPECT_EQ(bound(simulate_words({"a:low:100"}), 0, 5000, 10), 5000u);
}

// A TSG's channels share its time slice, and are entries of the list each time.
TEST(Simulate, ChannelsAreEntriesAndShareTheSlice)
{
	Simulation s = simulate_words({"a:high:1000:3", "d:low:2000:4", "e:low:2000"});
	EXPECT_EQ(slot_names(s), "a d a e");
	EXPECT_EQ(s.entries, 4u + 5 + 4 + 2);
	EXPECT_EQ(s.round_us, 6000u);
}

// Many mixtures: every TSG is listed, as often as the sources' rule requires. Between two slots of a high TSG there are
// each other high one once and at most one lower slot; between two of a medium one at most one low slot. The number of
// entries, which is computed in advance, is that of the list.
TEST(Simulate, EveryMixtureKeepsTheRule)
{
	for (size_t h = 0; h <= 4; h++)
		for (size_t m = 0; m <= 4; m++)
			for (size_t l = 0; l <= 4; l++) {
				std::vector<SimulatedTsg> tsgs;
				auto put = [&](size_t n, Level level) {
					for (size_t i = 0; i < n; i++)
						tsgs.push_back({std::to_string(tsgs.size()), level, 10,
								u32(1 + tsgs.size() % 3)});
				};
				put(h, Level::High);
				put(m, Level::Medium);
				put(l, Level::Low);
				Simulation s = tool::interleave_tsgs(tsgs);
				size_t n = s.slots.size();
				u64 entries = 0;
				for (size_t i = 0; i < n; i++) {
					size_t own = s.slots[i], lower = 0, same = 0;
					entries += 1 + s.tsgs[own].channels;
					for (size_t k = (i + 1) % n; s.slots[k] != own; k = (k + 1) % n) {
						lower += s.tsgs[s.slots[k]].level < s.tsgs[own].level;
						same += s.tsgs[s.slots[k]].level == s.tsgs[own].level;
					}
					size_t peers[] = {l, m, h};
					EXPECT_LE(lower, 1u);
					EXPECT_EQ(same, peers[size_t(s.tsgs[own].level)] - 1);
				}
				EXPECT_EQ(entries, s.entries);
				for (const tool::Share &share : s.shares)
					EXPECT_GE(share.slots, 1u) << h << m << l;
			}
}

/* -- lists that are too long -- */

// a b a d and a b a e: 8 turns of 2 entries.
TEST(Simulate, ListOfAsManyEntriesAsFitIsBuiltAndOneMoreIsNot)
{
	std::vector<std::string> words = {"a:high", "b:medium", "d:low", "e:low"};
	Simulation fits = simulate_words(words, 16);
	EXPECT_FALSE(fits.overflows);
	EXPECT_EQ(fits.slots.size(), 8u);
	Simulation over = simulate_words(words, 15);
	EXPECT_TRUE(over.overflows);
	EXPECT_EQ(over.entries, 16u);
	EXPECT_TRUE(over.slots.empty());
	EXPECT_EQ(simulate_text(over), "No runlist: it would have 16 entries, more than the maximum of 15.\n");
}

// 1000 low * (1000 medium + 1) * 1000 high * 129 entries, 1000 * 1000 medium, 1000 low: far too long to be built.
TEST(Simulate, EntriesOfAListThatIsTooLongAreCounted)
{
	std::vector<SimulatedTsg> tsgs;
	for (u32 i = 0; i < 3000; i++)
		tsgs.push_back({std::to_string(i), static_cast<Level>(i % 3), 1, 128});
	Simulation s = tool::interleave_tsgs(tsgs);
	EXPECT_TRUE(s.overflows);
	EXPECT_EQ(s.entries, 129u * (1000ull * 1001 * 1000 + 1000ull * 1000 + 1000));
}

/* -- the command line -- */

TEST(SimulateParse, TakesNameLevelSliceAndChannels)
{
	std::vector<SimulatedTsg> t =
		tool::parse_tsgs({"camera:high:1000", "planner:medium", "7:low:8556380:128", "x:low:00001"});
	ASSERT_EQ(t.size(), 4u);
	EXPECT_EQ(t[0].name, "camera");
	EXPECT_EQ(t[0].level, Level::High);
	EXPECT_EQ(t[0].slice_us, 1000u);
	EXPECT_EQ(t[0].channels, 1u);
	EXPECT_EQ(t[1].level, Level::Medium);
	EXPECT_EQ(t[1].slice_us, 1024u); // nvgpu's default, 128 << 3
	EXPECT_EQ(t[2].name, "7");
	EXPECT_EQ(t[2].level, Level::Low);
	EXPECT_EQ(t[2].slice_us, 8556380u);
	EXPECT_EQ(t[2].channels, 128u);
	EXPECT_EQ(t[3].slice_us, 1u);
}

std::string refusal_of(const std::vector<std::string> &words)
{
	try {
		tool::parse_tsgs(words);
	} catch (const tool::Error &e) {
		EXPECT_EQ(e.code, tool::Error::Input);
		return e.what();
	}
	return "accepted";
}

TEST(SimulateParse, MessagesNameTheError)
{
	const char *form = "not of the form NAME:LEVEL[:SLICE_US[:CHANNELS]]";
	const char *name = "the name must be printable ASCII without blanks, and not empty";
	const std::pair<std::string, std::string> rows[] = {
		{"", form},
		{"camera", form},
		{"a:high:1:2:3", form},
		{":high", name},
		{"my camera:high", name},
		{"a\tb:high", name},
		{"a\x1b:high", name},
		{"\xc3\xa4:high", name},
		{"a:", "the level is \"\", not low, medium or high"},
		{"a:HIGH", "the level is \"HIGH\", not low, medium or high"},
		{"a:hi", "the level is \"hi\", not low, medium or high"},
		{"a:high:", "the time slice is \"\", not a number from 1 to 8556380"},
		{"a:high:1ms", "the time slice is \"1ms\", not a number from 1 to 8556380"},
		{"a:high:-1", "the time slice is \"-1\", not a number from 1 to 8556380"},
		{"a:high: 1", "the time slice is \" 1\", not a number from 1 to 8556380"},
		{"a:high:0", "the time slice is 0, not a number from 1 to 8556380"},
		{"a:high:8556381", "the time slice is 8556381, not a number from 1 to 8556380"},
		{"a:high:4294967297", "the time slice is 4294967297, not a number from 1 to 8556380"},
		{"a:high:99999999999999999999999",
		 "the time slice is 99999999999999999999999, not a number from 1 to 8556380"},
		{"a:high:1:", "the number of channels is \"\", not a number from 1 to 128"},
		{"a:high:1:0", "the number of channels is 0, not a number from 1 to 128"},
		{"a:high:1:129", "the number of channels is 129, not a number from 1 to 128"},
		{"ok:low", "another TSG has this name"},
	};
	for (const auto &[word, why] : rows)
		EXPECT_EQ(refusal_of({"ok:high", word}), fmt::format("{}: {}", word, why));
	EXPECT_EQ(refusal_of({}), "no TSG given; each is NAME:LEVEL[:SLICE_US[:CHANNELS]]");
}

/* -- what is printed -- */

TEST(SimulatePrint, Text)
{
	EXPECT_EQ(simulate_text(simulate_words({"camera:high:1000", "planner:medium", "logger:low:2000:4"})),
		  "Entry TSG     Level  Channels Slice us\n"
		  "    0 camera  high          1     1000\n"
		  "    2 planner medium        1     1024\n"
		  "    4 camera  high          1     1000\n"
		  "    6 logger  low           4     2000\n"
		  "\n"
		  "11 of at most 65535 entries; a round takes 5024 us if every TSG uses its whole time slices.\n"
		  "\n"
		  "TSG     Level  Slots Longest wait us\n"
		  "camera  high       2            2000\n"
		  "planner medium     1            4000\n"
		  "logger  low        1            3024\n");
}

TEST(SimulatePrint, NameOfAnyLengthIsPrintedWhole)
{
	std::string name(5000, 'n');
	EXPECT_NE(simulate_text(simulate_words({name + ":high"})).find("    0 " + name + " high "), std::string::npos);
}

TEST(SimulatePrint, Json)
{
	EXPECT_EQ(
		simulate_json(simulate_words({"a:high:1000", "b:low:2000:4"})).dump(),
		R"({"version":1,"entries":7,"max_entries":65535,"overflows":false,"round_us":3000,)"
		R"("list":[{"tsg":"a","channels":1},{"tsg":"b","channels":4}],)"
		R"("tsgs":[{"name":"a","level":"high","slice_us":1000,"channels":1,"turns":1,"longest_wait_us":2000},)"
		R"({"name":"b","level":"low","slice_us":2000,"channels":4,"turns":1,"longest_wait_us":1000}]})");
	EXPECT_EQ(
		simulate_json(simulate_words({"a:high:1000"}, 1)).dump(),
		R"({"version":1,"entries":2,"max_entries":1,"overflows":true,"round_us":null,"list":null,)"
		R"("tsgs":[{"name":"a","level":"high","slice_us":1000,"channels":1,"turns":null,"longest_wait_us":null}]})");
}

} // namespace
