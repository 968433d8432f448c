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

// The driver's samples of processes are of 0.25 ms later than they say.
TEST(Owners, AProcessHasTheChannelThatIsResidentAQuarterOfAMillisecondLater)
{
	tool::rm::Owners owners = by_turns();

	owners.active({{1900 * US, 5}, {5900 * US, 5}, {3800 * US, 6}, {7800 * US, 6}});
	EXPECT_EQ(owners.pids(), (Pids{{10, 6}, {11, 5}}));
}

TEST(Owners, OneSampleIsNotEnoughAndFourInFiveAre)
{
	tool::rm::Owners owners = by_turns();

	owners.active({{500 * US, 5}});
	EXPECT_EQ(owners.pids(), Pids{});
	owners.active({{500 * US, 5}}); // the same one
	EXPECT_EQ(owners.pids(), Pids{});
	owners.active({{500 * US, 5}, {900 * US, 6}});
	EXPECT_EQ(owners.pids(), Pids{});
	owners.active({{4500 * US, 5}, {4600 * US, 5}, {4700 * US, 5}});
	EXPECT_EQ(owners.pids(), (Pids{{10, 5}}));
	owners.active({{4800 * US, 6}});
	EXPECT_EQ(owners.pids(), Pids{});
}

TEST(Owners, WhatIsBetweenTwoTurnsOrInAHoleSaysNothing)
{
	tool::rm::Owners owners = by_turns();

	// Of 1.76 and 1.99 ms: residence was asked at 1.75 and at 2 ms, and was another one there.
	owners.active({{1510 * US, 5}, {1740 * US, 5}});
	EXPECT_EQ(owners.pids(), Pids{});
	owners.resident(2 * S, 20);
	owners.resident(2 * S + 1000 * US, 20);
	owners.resident(2 * S + 1900 * US, 20);
	owners.active({{2 * S, 7}, {2 * S + 100 * US, 7}, {2 * S + 200 * US, 7}});
	EXPECT_EQ(owners.pids(), Pids{});
	owners.active({{2 * S + 1000 * US, 7}, {2 * S + 1100 * US, 7}});
	EXPECT_EQ(owners.pids(), (Pids{{20, 7}}));
}

TEST(Owners, ASampleWaitsUntilItsResidenceIsKnown)
{
	tool::rm::Owners owners;

	owners.resident(0, 10);
	owners.resident(250 * US, 10);
	owners.active({{100 * US, 5}, {120 * US, 5}});
	EXPECT_EQ(owners.pids(), Pids{});
	owners.resident(500 * US, 10);
	owners.active({{100 * US, 5}, {120 * US, 5}});
	EXPECT_EQ(owners.pids(), (Pids{{10, 5}}));
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
