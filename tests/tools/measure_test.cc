// SPDX-License-Identifier: GPL-2.0
// How gpulens sweep reads sizes and times.
#include "gpulens/measure/sweep.hpp"
#include "lib/base/errors.hpp"

#include <gtest/gtest.h>

namespace {

using namespace tool::measure;
using tool::Error;
using Numbers = std::vector<unsigned>;

// Seen failing without the whole GPU among the sizes.
TEST(Sweep, SizesAreSortedAndWithinTheGpu)
{
	EXPECT_EQ(parse_sizes("", 66), (Numbers{1, 2, 4, 8, 16, 32, 64, 66}));
	EXPECT_EQ(parse_sizes("", 64), (Numbers{1, 2, 4, 8, 16, 32, 64}));
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
