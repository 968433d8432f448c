// SPDX-License-Identifier: GPL-2.0
// Whose a channel is, from what was resident and which process was active. Times are written down in microseconds.
#include "lib/rm/processes.hpp"

#include <gtest/gtest.h>

namespace {

using tool::rm::UtilSample;
using Pids = std::map<u32, u32>;

constexpr int64_t US = 1000, S = 1000000000;

// A note of this process at this time of the notes' clock, and a clock that is known to be within a millisecond.
UtilSample note(int64_t us, u32 pid)
{
	return {.time_ns = static_cast<u64>(us * US), .pid = pid};
}

tool::rm::UtilClock::Offset about(int64_t us)
{
	return {.min = (us - 1000) * US, .max = (us + 1000) * US};
}

// So many, 10 us apart.
std::vector<UtilSample> notes_of(int64_t count, int64_t first_us, u32 pid)
{
	std::vector<UtilSample> notes;

	for (int64_t i = 0; i < count; i++)
		notes.push_back(note(first_us + 10 * i, pid));
	return notes;
}

// Channels 10 and 11 by turns of 2.5 ms, seen every 0.25 ms, for a second from time 0 on.
tool::rm::ChannelOwners by_turns()
{
	tool::rm::ChannelOwners owners;

	for (uint64_t us = 0; us < 1000000; us += 250)
		owners.add_resident(us * US, us / 2500 % 2 ? 11 : 10);
	return owners;
}

// Channel 10 until 500 ms, then 11 until 1 s.
tool::rm::ChannelOwners two_halves()
{
	tool::rm::ChannelOwners owners;

	for (uint64_t us = 0; us < 1000000; us += 250)
		owners.add_resident(us * US, us < 500000 ? 10 : 11);
	return owners;
}

// Process 6 has channel 10 and 5 has 11; the notes' clock is ahead by so much, or behind, and known to a millisecond.
TEST(ChannelOwners, AProcessHasTheChannelThatIsResidentWhereverTheNotesClockIs)
{
	for (int64_t base_us : {int64_t{0}, int64_t{1795396826} * 1000000}) // a day in 2026
		for (int64_t ahead_us : {-900, -500, 0, 250, 900}) {
			tool::rm::ChannelOwners owners = by_turns();
			std::vector<UtilSample> notes;
			for (int64_t us = 3000; us < 990000; us += 13070)
				notes.push_back(note(base_us + us + ahead_us, us / 2500 % 2 ? 5 : 6));
			owners.add_samples(notes);
			EXPECT_EQ(owners.find_pids(about(base_us)), (Pids{{10, 6}, {11, 5}}))
				<< base_us << ' ' << ahead_us;
		}
}

// With even turns of 2.5 ms, 0.5 ms ahead and 3 ms ahead look alike, with the names the other way round.
TEST(ChannelOwners, NobodyIsNamedWhereTwoOffsetsAgreeAndNameOthers)
{
	tool::rm::ChannelOwners owners = by_turns();
	std::vector<UtilSample> notes;

	for (int64_t us = 3000; us < 990000; us += 13070)
		notes.push_back(note(us + 500, us / 2500 % 2 ? 5 : 6));
	owners.add_samples(notes);
	EXPECT_EQ(owners.find_pids({-1500 * US, 1500 * US}), (Pids{{10, 6}, {11, 5}}));
	EXPECT_EQ(owners.find_pids({-1500 * US, 3500 * US}), Pids{});
	EXPECT_EQ(owners.find_pids({1500 * US, 3500 * US}), (Pids{{10, 5}, {11, 6}})); // who trusts a wrong clock
}

// Of one process alone every offset agrees, whatever channel it makes of it.
TEST(ChannelOwners, AChannelThatEveryOtherOffsetDoesNotNameIsNobodys)
{
	tool::rm::ChannelOwners owners = by_turns();
	std::vector<UtilSample> notes;

	for (int64_t us = 3000; us < 990000; us += 70100) // 0.5 to 1.8 ms after the beginning of a turn of 11's
		notes.push_back(note(us, 5));
	owners.add_samples(notes);
	EXPECT_EQ(owners.find_pids({0, 0}), (Pids{{11, 5}}));
	EXPECT_EQ(owners.find_pids({-2500 * US, 0}), Pids{});
}

// 11 at 1 ms before three of nine notes, and 10 at all of them, of which one speaks of another process.
TEST(ChannelOwners, FewNotesThatAgreeAreNotTakenForMoreThatHardlyDo)
{
	tool::rm::ChannelOwners owners;
	std::vector<UtilSample> notes;

	for (uint64_t ms = 10; ms < 100; ms += 10) {
		for (uint64_t us : {ms * 1000 - 1100, ms * 1000 - 900})
			if (ms < 40)
				owners.add_resident(us * US, 11);
		for (uint64_t us : {ms * 1000 - 100, ms * 1000 + 100})
			owners.add_resident(us * US, 10);
		notes.push_back(note(static_cast<int64_t>(ms) * 1000, ms == 70 ? 6 : 5));
	}
	owners.add_samples(notes);
	EXPECT_EQ(owners.find_pids({0, 1000 * US}), (Pids{{10, 5}}));
}

TEST(ChannelOwners, SevenNotesAreNotEnough)
{
	tool::rm::ChannelOwners owners = two_halves();

	owners.add_samples(notes_of(7, 5000, 5));
	EXPECT_EQ(owners.find_pids(about(0)), Pids{});
	owners.add_samples({note(6000, 5)});
	EXPECT_EQ(owners.find_pids(about(0)), (Pids{{10, 5}}));
}

TEST(ChannelOwners, TwoNotesOfAChannelAreNotEnoughAndFourInFiveAre)
{
	tool::rm::ChannelOwners owners = two_halves();
	std::vector<UtilSample> notes = notes_of(8, 5000, 6);

	notes.insert(notes.end(), {note(600000, 5), note(610000, 5)});
	owners.add_samples(notes);
	EXPECT_EQ(owners.find_pids(about(0)), (Pids{{10, 6}}));
	owners.add_samples(notes); // the same ones
	EXPECT_EQ(owners.find_pids(about(0)), (Pids{{10, 6}}));
	owners.add_samples({note(620000, 6)});
	EXPECT_EQ(owners.find_pids(about(0)), (Pids{{10, 6}}));
	owners.add_samples({note(630000, 5), note(640000, 5)});
	EXPECT_EQ(owners.find_pids(about(0)), (Pids{{10, 6}, {11, 5}}));
	owners.add_samples({note(650000, 6)});
	EXPECT_EQ(owners.find_pids(about(0)), (Pids{{10, 6}}));
}

TEST(ChannelOwners, WhatWasAskedTooSeldomSaysNothing)
{
	tool::rm::ChannelOwners owners;

	for (uint64_t us = 0; us < 10000; us += 1000)
		owners.add_resident(us * US, 10);
	owners.add_samples(notes_of(8, 4000, 7));
	EXPECT_EQ(owners.find_pids({0, 0}), Pids{});
	for (uint64_t us = 10000; us < 20000; us += 999)
		owners.add_resident(us * US, 10);
	owners.add_samples(notes_of(8, 12000, 7));
	EXPECT_EQ(owners.find_pids({0, 0}), (Pids{{10, 7}}));
}

// The last of 10 and the first of 11 are a quarter of a millisecond apart, in which either may have been there.
TEST(ChannelOwners, WhatIsBetweenTwoTurnsSaysNothing)
{
	tool::rm::ChannelOwners owners;

	for (uint64_t us = 0; us < 20000; us += 250)
		owners.add_resident(us * US, 10 + us / 250 % 2);
	owners.add_samples(notes_of(20, 4000, 7));
	EXPECT_EQ(owners.find_pids(about(0)), Pids{});
}

TEST(ChannelOwners, ANoteWaitsUntilItsResidenceIsKnown)
{
	tool::rm::ChannelOwners owners;
	std::vector<UtilSample> notes = notes_of(7, 500, 5);

	for (uint64_t us = 0; us <= 1200; us += 200)
		owners.add_resident(us * US, 10);
	notes.push_back(note(1250, 5));
	owners.add_samples(notes);
	EXPECT_EQ(owners.find_pids({0, 0}), Pids{});
	owners.add_resident(1400 * US, 10);
	EXPECT_EQ(owners.find_pids({0, 0}), (Pids{{10, 5}}));
}

// A hundred notes are twenty seconds: a channel that was given to another process becomes that one's.
TEST(ChannelOwners, OldNotesAreForgotten)
{
	tool::rm::ChannelOwners owners = two_halves();
	std::vector<UtilSample> notes;

	for (int64_t i = 0; i < 120; i++)
		notes.push_back(note(10000 + i * 1000, 5));
	owners.add_samples(notes);
	EXPECT_EQ(owners.find_pids(about(0)), (Pids{{10, 5}}));
	notes.clear();
	for (int64_t i = 0; i < 79; i++)
		notes.push_back(note(200000 + i * 1000, 6));
	owners.add_samples(notes);
	EXPECT_EQ(owners.find_pids(about(0)), Pids{});
	owners.add_samples({note(300000, 6)});
	EXPECT_EQ(owners.find_pids(about(0)), (Pids{{10, 6}}));
}

TEST(ChannelOwners, OldResidenceIsForgotten)
{
	tool::rm::ChannelOwners owners = two_halves();

	owners.add_samples(notes_of(8, 5000, 5));
	EXPECT_EQ(owners.find_pids(about(0)), (Pids{{10, 5}}));
	owners.add_resident(22 * S, 11);
	owners.add_samples({});
	EXPECT_EQ(owners.find_pids(about(0)), Pids{});
}

TEST(ChannelOwners, NothingResidentAndNobodyActiveSayNothing)
{
	tool::rm::ChannelOwners owners;

	for (uint64_t us = 0; us < 4000; us += 250)
		owners.add_resident(us * US, std::nullopt);
	owners.add_samples(notes_of(8, 1200, 5));
	EXPECT_EQ(owners.find_pids(about(0)), Pids{});
	owners = two_halves();
	owners.add_samples(notes_of(8, 5000, 0xffffffff));
	EXPECT_EQ(owners.find_pids(about(0)), Pids{});
}

} // namespace
