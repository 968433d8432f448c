// SPDX-License-Identifier: GPL-2.0
// Whose a channel is, from what was resident and which process was active. Times are written down in microseconds.
#include "rm/processes.hpp"

#include <gtest/gtest.h>

namespace {

using Pids = std::map<u32, u32>;

constexpr uint64_t US = 1000, S = 1000000000;

// Channels 10 and 11 by turns of 2 ms, seen every 0.25 ms, for a second from time 0 on.
tool::rm::Owners by_turns()
{
	tool::rm::Owners owners;

	for (uint64_t us = 0; us < 1000000; us += 250)
		owners.resident(us * US, us / 2000 % 2 ? 11 : 10);
	return owners;
}

// Channel 10 until 500 ms, then 11 until 1 s.
tool::rm::Owners two_halves()
{
	tool::rm::Owners owners;

	for (uint64_t us = 0; us < 1000000; us += 250)
		owners.resident(us * US, us < 500000 ? 10 : 11);
	return owners;
}

// Process 6 has channel 10 and 5 has 11; the driver's clock is late by so much, or early.
TEST(Owners, AProcessHasTheChannelThatIsResidentWhateverTheDriversClockSays)
{
	for (int64_t late_us : {-900, -500, 0, 250, 900}) {
		tool::rm::Owners owners = by_turns();
		std::vector<std::pair<uint64_t, uint32_t>> samples;
		for (uint64_t us = 3000; us < 990000; us += 70100)
			samples.push_back({(us + late_us) * US, us / 2000 % 2 ? 5 : 6});
		owners.active(samples);
		EXPECT_EQ(owners.pids(), (Pids{{10, 6}, {11, 5}})) << late_us;
	}
}

// At 1.5 ms off, half of these are of the other channel.
TEST(Owners, AClockThatIsFartherOffIsNotBelieved)
{
	tool::rm::Owners owners = by_turns();

	for (uint64_t us = 3000; us < 990000; us += 70100)
		owners.active({{(us + 2000) * US, us / 2000 % 2 ? 5 : 6}});
	EXPECT_NE(owners.pids(), (Pids{{10, 6}, {11, 5}}));
}

TEST(Owners, OneSampleIsNotEnoughAndFourInFiveAre)
{
	tool::rm::Owners owners = two_halves();

	owners.active({{5000 * US, 5}});
	EXPECT_EQ(owners.pids(), Pids{});
	owners.active({{5000 * US, 5}}); // the same one
	EXPECT_EQ(owners.pids(), Pids{});
	owners.active({{5000 * US, 5}, {6000 * US, 6}});
	EXPECT_EQ(owners.pids(), Pids{});
	owners.active({{7000 * US, 5}, {8000 * US, 5}, {9000 * US, 5}});
	EXPECT_EQ(owners.pids(), (Pids{{10, 5}}));
	owners.active({{10000 * US, 6}});
	EXPECT_EQ(owners.pids(), Pids{});
	owners.active({{700000 * US, 6}, {800000 * US, 6}});
	EXPECT_EQ(owners.pids(), (Pids{{11, 6}}));
}

TEST(Owners, WhatWasAskedTooSeldomSaysNothing)
{
	tool::rm::Owners owners;

	for (uint64_t us = 0; us < 10000; us += 1000)
		owners.resident(us * US, 10);
	owners.active({{4000 * US, 7}, {5000 * US, 7}, {6000 * US, 7}});
	EXPECT_EQ(owners.pids(), Pids{});
	for (uint64_t us = 10000; us < 20000; us += 999)
		owners.resident(us * US, 10);
	owners.active({{12000 * US, 7}, {13000 * US, 7}});
	EXPECT_EQ(owners.pids(), (Pids{{10, 7}}));
}

// The last of 10 and the first of 11 are a quarter of a millisecond apart, in which either may have been there.
TEST(Owners, WhatIsBetweenTwoTurnsSaysNothing)
{
	tool::rm::Owners owners;

	for (uint64_t us = 0; us < 20000; us += 250)
		owners.resident(us * US, 10 + us / 250 % 2);
	owners.active({{4000 * US, 7}, {5100 * US, 7}, {6200 * US, 7}});
	EXPECT_EQ(owners.pids(), Pids{});
}

TEST(Owners, ASampleWaitsUntilItsResidenceIsKnown)
{
	tool::rm::Owners owners;

	for (uint64_t us = 0; us <= 2000; us += 250)
		owners.resident(us * US, 10);
	owners.active({{1100 * US, 5}, {1200 * US, 5}});
	EXPECT_EQ(owners.pids(), Pids{});
	owners.resident(2250 * US, 10);
	owners.active({{1100 * US, 5}, {1200 * US, 5}});
	EXPECT_EQ(owners.pids(), (Pids{{10, 5}}));
}

// A hundred samples are twenty seconds: a channel that was given to another process becomes that one's.
TEST(Owners, OldSamplesAreForgotten)
{
	tool::rm::Owners owners = two_halves();
	std::vector<std::pair<uint64_t, uint32_t>> samples;

	for (uint64_t i = 0; i < 120; i++)
		samples.push_back({(10000 + i * 1000) * US, 5});
	owners.active(samples);
	EXPECT_EQ(owners.pids(), (Pids{{10, 5}}));
	samples.clear();
	for (uint64_t i = 0; i < 79; i++)
		samples.push_back({(200000 + i * 1000) * US, 6});
	owners.active(samples);
	EXPECT_EQ(owners.pids(), Pids{});
	owners.active({{300000 * US, 6}});
	EXPECT_EQ(owners.pids(), (Pids{{10, 6}}));
}

TEST(Owners, NothingResidentIsNobodys)
{
	tool::rm::Owners owners;

	for (uint64_t us = 0; us < 4000; us += 250)
		owners.resident(us * US, std::nullopt);
	owners.active({{100 * US, 5}, {500 * US, 5}, {900 * US, 5}});
	EXPECT_EQ(owners.pids(), Pids{});
}

} // namespace
