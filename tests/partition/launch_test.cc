// SPDX-License-Identifier: GPL-2.0
// Bits of a launch's mask against those that were probed on an H200: docs/results/2026-11-22-h200-masks.md.
#include "gpulens-partition.h"
#include "layout.hpp"

#include <cerrno>
#include <gtest/gtest.h>

namespace {

// TPC n has SMs 2n and 2n + 1: its GPC by the driver's number, its number there, its virtual GPC, and the bit that took
// its SMs away.
constexpr struct {
	unsigned gpc, tpc, virtual_gpc, bit;
} PROBED[66] = {
	{1, 0, 0, 0},   {2, 0, 1, 9},   {3, 0, 2, 18},  {4, 0, 3, 27}, {5, 0, 4, 36}, {0, 0, 5, 45}, {6, 0, 6, 54},
	{7, 0, 7, 63},  {1, 3, 0, 1},   {2, 3, 1, 10},  {3, 3, 2, 19}, {4, 3, 3, 28}, {5, 3, 4, 37}, {0, 3, 5, 46},
	{6, 3, 6, 55},  {7, 3, 7, 64},  {1, 6, 0, 2},   {2, 6, 1, 11}, {3, 6, 2, 20}, {4, 6, 3, 29}, {5, 6, 4, 38},
	{0, 6, 5, 47},  {6, 6, 6, 56},  {7, 6, 7, 65},  {1, 1, 0, 3},  {2, 1, 1, 12}, {3, 1, 2, 21}, {4, 1, 3, 30},
	{5, 1, 4, 39},  {0, 1, 5, 48},  {6, 1, 6, 57},  {7, 1, 7, 66}, {2, 4, 1, 13}, {3, 4, 2, 22}, {4, 4, 3, 31},
	{5, 4, 4, 40},  {0, 4, 5, 49},  {6, 4, 6, 58},  {7, 4, 7, 67}, {2, 7, 1, 14}, {3, 7, 2, 23}, {4, 7, 3, 32},
	{5, 7, 4, 41},  {0, 7, 5, 50},  {6, 7, 6, 59},  {7, 7, 7, 68}, {2, 2, 1, 15}, {3, 2, 2, 24}, {4, 2, 3, 33},
	{5, 2, 4, 42},  {0, 2, 5, 51},  {6, 2, 6, 60},  {7, 2, 7, 69}, {2, 5, 1, 16}, {3, 5, 2, 25}, {4, 5, 3, 34},
	{5, 5, 4, 43},  {0, 5, 5, 52},  {6, 5, 6, 61},  {7, 5, 7, 70}, {6, 8, 6, 62}, {7, 8, 7, 71}, {1, 4, 11, 75},
	{0, 8, 14, 78}, {1, 2, 17, 81}, {1, 5, 19, 83},
};

tool::Gpu h200()
{
	tool::Gpu gpu;

	gpu.num_gpcs = 8;
	gpu.num_tpc_per_gpc = 9;
	for (unsigned i = 0; i < 132; i++) {
		tool::Sm sm{.id = i, .gpc = PROBED[i / 2].gpc, .tpc = PROBED[i / 2].tpc, .sm = i % 2};
		sm.virtual_gpc = PROBED[i / 2].virtual_gpc;
		gpu.sms.push_back(sm);
	}
	return gpu;
}

gpulens::TpcMask one(unsigned tpc)
{
	gpulens::TpcMask mask(66);

	mask.add(tpc);
	return mask;
}

TEST(Launch, EachTpcHasTheBitThatWasProbed)
{
	gpulens::Layout layout = gpulens::layout_of_gpu(h200());

	ASSERT_EQ(layout.launch_bits.size(), 66U);
	for (unsigned tpc = 0; tpc < 66; tpc++) {
		std::array<uint64_t, 2> expected = {~uint64_t{0}, ~uint64_t{0}};
		expected[PROBED[tpc].bit / 64] ^= uint64_t{1} << PROBED[tpc].bit % 64;
		EXPECT_EQ(layout.launch_mask(one(tpc)), expected) << tpc;
	}
	gpulens::TpcMask two = one(0);
	two.add(65); // bits 0 and 83
	EXPECT_EQ(layout.launch_mask(two), (std::array<uint64_t, 2>{0xfffffffffffffffe, 0xfffffffffff7ffff}));
}

TEST(Launch, WhatIsNotToldIsNotGuessed)
{
	tool::Gpu gpu = h200();
	auto why = [](const gpulens::Layout &layout, const gpulens::TpcMask &mask) -> std::pair<int, std::string> {
		try {
			layout.launch_mask(mask);
		} catch (const gpulens::Error &e) {
			return {e.err, e.what()};
		}
		return {0, ""};
	};
	std::pair<int, std::string> untold = {
		ENODATA, "virtual GPCs, which the mask of a launch counts, only NVIDIA's driver tells"};

	EXPECT_EQ(why(gpulens::layout_of_gpu(gpu), gpulens::TpcMask(66)),
		  (std::pair<int, std::string>{EINVAL, "the mask is empty"}));
	gpu.sms[131].virtual_gpc = 70;
	EXPECT_EQ(why(gpulens::layout_of_gpu(gpu), one(65)), (std::pair<int, std::string>{0, ""})); // its first SM's
	gpu.sms[130].virtual_gpc = 64;                                                              // 72 + 56
	EXPECT_EQ(why(gpulens::layout_of_gpu(gpu), one(65)),
		  (std::pair<int, std::string>{ERANGE, "TPC 65 would be bit 128 of 128"}));
	gpu.num_tpc_per_gpc = 0; // the driver refused to tell
	EXPECT_EQ(why(gpulens::layout_of_gpu(gpu), one(65)), untold);
	gpu.num_tpc_per_gpc = 9;
	gpu.num_gpcs = 0;
	EXPECT_EQ(why(gpulens::layout_of_gpu(gpu), one(65)), untold);
	EXPECT_EQ(why(gpulens::layout_of({9}), gpulens::TpcMask(9)).first, EINVAL);

	gpulens_layout *made = nullptr;
	unsigned tpcs = 9;
	uint64_t mask = 1, disable[2] = {5, 6};
	ASSERT_EQ(gpulens_layout_make(&tpcs, 1, &made), 0);
	EXPECT_EQ(gpulens_mask_launch(made, &mask, disable), -ENODATA);
	EXPECT_EQ(gpulens_error(), untold.second);
	EXPECT_EQ(gpulens_mask_launch(made, &mask, nullptr), -EINVAL);
	EXPECT_EQ(disable[0], 5U);
	gpulens_layout_close(made);
}

} // namespace
