// SPDX-License-Identifier: GPL-2.0
// Warp schedulers. Figure 4.1's numbers are those of J. Singh's thesis, section 4.4.3: means 25, 21.5 and 22.5, K1 first by GTO,
// K2 first by RT-PAWS, which has the least maximum. Others are by hand.
#include "lab/warps.hpp"
#include "support/tools/thrown.hpp"

#include <gtest/gtest.h>

namespace {

using tool::Budget;
using tool::WarpPolicy;
using tool::WarpRun;

WarpRun run_figure(WarpPolicy policy, Budget budget = Budget::EveryStall)
{
	return simulate_warps(tool::default_warp_kernels(), tool::default_latencies(), policy, budget);
}

// Seen failing with each of the three readings of warps.hpp changed: 25/21, 29/18 and 29/18.
TEST(Warps, Figure41HasItsMeans)
{
	EXPECT_EQ(run_figure(WarpPolicy::Lrr).finished, (std::vector<u64>{24, 26}));
	EXPECT_EQ(run_figure(WarpPolicy::Gto).finished, (std::vector<u64>{16, 27}));
	EXPECT_EQ(run_figure(WarpPolicy::RtPaws).finished, (std::vector<u64>{25, 20}));
	EXPECT_EQ(run_figure(WarpPolicy::RtPaws, Budget::Printed).finished, (std::vector<u64>{29, 18}));
}

using Issued = std::vector<std::optional<u32>>;

// Two warps of three instructions with latency 2: round robin fills each cycle. Warp 0 ends in cycle 4, warp 1 in 5.
TEST(Warps, RoundRobinGoesOn)
{
	WarpRun run = simulate_warps({{"a", 2, 1, 0}}, {2, 2, 2}, WarpPolicy::Lrr);

	EXPECT_EQ(run.issued, (Issued{0, 1, 0, 1, 0, 1}));
	EXPECT_EQ(run.finished, (std::vector<u64>{5}));
}

// Latency 1: a greedy warp runs to its end; where the greedy warp stalls, the oldest that is ready runs, and goes on.
TEST(Warps, GreedyThenOldest)
{
	EXPECT_EQ(simulate_warps({{"a", 2, 1, 0}}, {1, 1}, WarpPolicy::Gto).issued, (Issued{0, 0, 1, 1}));
	EXPECT_EQ(simulate_warps({{"a", 3, 1, 0}}, {2, 1}, WarpPolicy::Gto).issued, (Issued{0, 1, 0, 1, 2, {}, 2}));
}

// Warps of a kernel that starts later are younger, whatever their numbers.
TEST(Warps, TheOldestIsTheOneThatStartedFirst)
{
	WarpRun run = simulate_warps({{"late", 1, 1, 1}, {"early", 2, 1, 0}}, {3, 1}, WarpPolicy::Gto);

	EXPECT_EQ(run.issued, (Issued{1, 2, 0, 1, 2, 0}));
}

// With one group it is GTO.
TEST(Warps, RtPawsOfOnePriorityIsGto)
{
	std::vector<tool::WarpKernel> kernels{{"a", 2, 3, 0}, {"b", 2, 3, 1}};

	EXPECT_EQ(simulate_warps(kernels, {3, 1, 1, 7}, WarpPolicy::RtPaws).issued,
		  simulate_warps(kernels, {3, 1, 1, 7}, WarpPolicy::Gto).issued);
}

TEST(Warps, BadWordsAreRefused)
{
	for (const char *word :
	     {"", "a", "a:1", "a:0:1", "a:65:1", "a:1:1001", "a:1:1:x", "a:1:1:1:1", ":1:1", "a:1:-1"})
		EXPECT_EQ(code_of([&] { tool::parse_warp_kernels({word}); }), tool::Error::Input) << word;
	EXPECT_EQ(code_of([] { tool::parse_warp_kernels({"a:1:1", "b:1:2", "c:1:3"}); }), tool::Error::Input);
	EXPECT_EQ(code_of([] { tool::parse_warp_kernels({"a:64:1", "b:1:1"}); }), tool::Error::Input);
	for (const char *text : {"", "0", "1,", "1,x", "1001"})
		EXPECT_EQ(code_of([&] { tool::parse_latencies(text); }), tool::Error::Input) << text;
	EXPECT_EQ(tool::parse_latencies("3,1"), (std::vector<u32>{3, 1}));
}

} // namespace
