// SPDX-License-Identifier: GPL-2.0
// What gpulens verify concludes, and how gpulens sweep reads sizes and times, and intervals.
#include "gpulens/measure/interval.hpp"
#include "gpulens/measure/sweep.hpp"
#include "gpulens/measure/verify.hpp"

#include <gtest/gtest.h>

namespace {

using tool::measure::interval_of;

// By hand: deviations of 1, 2, 4 are -4/3, -1/3, 5/3, their squares' sum 14/3; s = sqrt(7/3), 4.303 * s / sqrt(3) = 3.795.
TEST(Intervals, AreThoseOfStudentsT)
{
	EXPECT_FALSE(interval_of({1, 2}).half_width);
	EXPECT_NEAR(interval_of({1, 2, 4}).mean, 2.3333, 1e-4);
	EXPECT_NEAR(*interval_of({1, 2, 4}).half_width, 3.795, 1e-3);
	EXPECT_EQ(*interval_of({5, 5, 5}).half_width, 0);
	EXPECT_TRUE(interval_of({5, 5, 5}).is_within(0.01));
	EXPECT_FALSE(interval_of({1, 2, 4}).is_within(1.6));
	EXPECT_TRUE(interval_of({1, 2, 4}).is_within(1.7));
}

using namespace tool::measure;
using tool::Error;
using tool::PublishedPartition;
using Numbers = std::vector<unsigned>;

gpulens::VerifiedLimit limit_of(const Numbers &tpcs)
{
	return {.pci = "0000:01:00.0", .tpcs = tpcs, .gpcs = {0}, .mps{}, .environment{}};
}

PublishedPartition make_page(const Numbers &tpcs, std::optional<u64> launches, const char *gpu = "0000:01:00.0")
{
	PublishedPartition published{
		{.gpu = gpu, .method = "mask", .scope = "program", .tpcs = tpcs, .gpcs = {0}}, 7, "x"};

	published.launches = launches;
	return published;
}

// Seen failing with TPCs outside of the limit ignored.
TEST(Verify, AcknowledgedAreLaunchesWithTheMask)
{
	gpulens::VerifiedLimit limit = limit_of({1, 2, 3});

	EXPECT_EQ(judge_acknowledgement({make_page({1, 2, 3}, 5)}, limit).finding, Finding::Held);
	EXPECT_EQ(judge_acknowledgement({make_page({1, 2, 3}, 0), make_page({2}, 1)}, limit).finding, Finding::Held);
	EXPECT_EQ(judge_acknowledgement({make_page({1, 2, 3}, 0)}, limit).finding, Finding::Unknown);
	EXPECT_EQ(judge_acknowledgement({make_page({1, 2, 3}, std::nullopt)}, limit).finding, Finding::Unknown);
	EXPECT_EQ(judge_acknowledgement({}, limit).finding, Finding::Unknown);
	// One process with other TPCs, or on another GPU, whatever the others say.
	EXPECT_EQ(judge_acknowledgement({make_page({1, 2, 3}, 5), make_page({3, 4}, 0)}, limit).finding,
		  Finding::Violated);
	EXPECT_EQ(judge_acknowledgement({make_page({1, 2, 3}, 5, "0000:02:00.0")}, limit).finding, Finding::Violated);
}

Report report_of(std::vector<Evidence> evidence, std::vector<Slowdown> slowdowns)
{
	Report report;

	report.subject = "x";
	report.limit = limit_of({0});
	report.evidence = std::move(evidence);
	report.slowdowns = std::move(slowdowns);
	report.max_slowdown = 1.1;
	conclude(report);
	return report;
}

// Seen failing with the verdict from the best neighbour.
TEST(Verify, TheVerdictIsTheWorstOfWhatWasSeen)
{
	Evidence held{"mask", Finding::Held, "a"}, unknown{"probe", Finding::Unknown, "b"},
		violated{"others", Finding::Violated, "c"};
	Slowdown alone{.neighbour = ""}, fine{.neighbour = "compute", .times_us{}, .factor = 1.1},
		slow{.neighbour = "memory", .times_us{}, .factor = 1.11},
		missing{.neighbour = "copies", .times_us{}, .factor{}, .unknown = "d"};

	EXPECT_EQ(report_of({held}, {alone, fine}).verdict, Finding::Held);
	EXPECT_EQ(report_of({held}, {alone}).verdict, Finding::Held);
	EXPECT_EQ(report_of({held, unknown}, {alone, fine}).verdict, Finding::Unknown);
	EXPECT_EQ(report_of({held}, {alone, fine, missing}).verdict, Finding::Unknown);
	EXPECT_EQ(report_of({held}, {alone, fine, slow}).verdict, Finding::Violated);
	EXPECT_EQ(report_of({violated, unknown}, {alone, missing}).verdict, Finding::Violated);
	EXPECT_EQ(report_of({violated, unknown}, {alone, missing}).sentence, "c");
	EXPECT_EQ(report_of({unknown}, {alone, missing}).sentence, "b; neighbour copies: d");
	EXPECT_EQ(report_of({held}, {alone, fine, slow}).sentence,
		  "the neighbour memory on the other TPCs makes it take 1.11 times as long, more than 1.10");
	EXPECT_EQ(report_of({held}, {alone}).sentence,
		  "no evidence against the limit of x to TPCs 0; neighbours were not measured");
}

// Seen failing without the whole GPU among the sizes.
TEST(Sweep, SizesAreSortedAndWithinTheGpu)
{
	EXPECT_EQ(parse_sizes("", 66), (Numbers{1, 2, 4, 8, 16, 32, 49, 64, 66}));
	EXPECT_EQ(parse_sizes("", 64), (Numbers{1, 2, 4, 8, 16, 32, 48, 64}));
	EXPECT_EQ(parse_sizes("", 1), (Numbers{1}));
	EXPECT_EQ(parse_sizes("all", 3), (Numbers{1, 2, 3}));
	EXPECT_EQ(parse_sizes("5,1-3,2", 5), (Numbers{1, 2, 3, 5}));
	for (const char *text : {"0", "1,", ",1", "a", "1-", "3-1", "-1", " 1", "1;2", "99999"})
		EXPECT_THROW(parse_sizes(text, 66), Error) << text;
	EXPECT_THROW(parse_sizes("67", 66), Error);
}

// Seen failing with ^ and $ of the whole output.
TEST(Sweep, EachMatchIsATime)
{
	using Times = std::vector<double>;

	EXPECT_EQ(find_times("t=5 t=7\nt=1.5e1", "t=([0-9.e]+)", 1), (Times{5, 7, 15}));
	EXPECT_EQ(find_times("2 s", "^([0-9]+) s$", 1e6), (Times{2e6}));
	// ^ and $ are of each line
	EXPECT_EQ(find_times("a\n3\nb\n4\n", "^([0-9]+)$", 1000), (Times{3000, 4000}));
	for (const char *output : {"", "t=", "t=0", "t=-1", "t=nan", "t=inf", "t=1e999", "t=1x"})
		EXPECT_THROW(find_times(output, "t=([^ ]*)", 1), Error) << output;
	for (const char *pattern : {"t=.*", "(t)=(.)", "t=(", "[", "*("})
		EXPECT_THROW(find_times("t=1", pattern, 1), Error) << pattern;
	// an empty match ends, too
	EXPECT_THROW(find_times("aaa", "(x*)", 1), Error);
}

// Seen failing with a comma accepted.
TEST(Sweep, NamesAreThoseThatFitTakes)
{
	EXPECT_TRUE(is_task_name("resize-2.x"));
	for (const char *name : {"", "a b", "a,b", "a\n", "\xc3\xa4"})
		EXPECT_FALSE(is_task_name(name)) << name;
}

} // namespace
