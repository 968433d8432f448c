// SPDX-License-Identifier: GPL-2.0
// Masks of AMD's CUs. Bits: the examples of the comment in the kernel's kfd_mqd_manager.c. Slowdowns: N. Otterness'
// dissertation, Tables 4.1 and 4.2 and Figure 4.9, of a GPU with 4 SEs of 15 CUs; times of 1024 blocks in ms, alone 3.20:
// 31 CUs packed 62 to 73, 15 CUs 12.8, 31 CUs distributed 7.29.
#include "gpulens/cmd/cu_masks.hpp"
#include "support/tools/thrown.hpp"

#include <gtest/gtest.h>

namespace {

using namespace tool;
using plan::Placing;

// "SE.array.CU" of the first bits.
std::vector<std::string> first_bits(const std::string &layout, size_t n)
{
	std::vector<std::string> names;

	for (const Cu &cu : list_cus(parse_cu_layout(layout)))
		if (names.size() < n)
			names.push_back(std::to_string(cu.se) + "." + std::to_string(cu.array) + "." +
					std::to_string(cu.number));
	return names;
}

using Names = std::vector<std::string>;

// Seen failing with arrays before SEs.
TEST(CuMasks, BitsAreThoseOfTheDriversComment)
{
	EXPECT_EQ(first_bits("15,15,15,15", 5), (Names{"0.0.0", "1.0.0", "2.0.0", "3.0.0", "0.0.1"}));
	EXPECT_EQ(first_bits("8+8,8+8,8+8,8+8", 9),
		  (Names{"0.0.0", "1.0.0", "2.0.0", "3.0.0", "0.1.0", "1.1.0", "2.1.0", "3.1.0", "0.0.1"}));
}

// An array with fewer CUs is left out when it has no more. Seen failing with a bit for each CU that is not there.
TEST(CuMasks, FusedOffCusHaveNoBit)
{
	EXPECT_EQ(first_bits("2,1", 9), (Names{"0.0.0", "1.0.0", "0.0.1"}));
	EXPECT_EQ(first_bits("1+2,2+1", 9), (Names{"0.0.0", "1.0.0", "0.1.0", "1.1.0", "1.0.1", "0.1.1"}));
}

double slowdown_of(u32 cus, Placing placing)
{
	CuLayout layout = parse_cu_layout("15,15,15,15");

	return cost_of(layout, make_cu_masks(layout, {cus}, placing)[0]).slowdown;
}

// Seen failing with the last SE in place of the one with the fewest CUs.
TEST(CuMasks, TheSeWithTheFewestCusDecides)
{
	EXPECT_DOUBLE_EQ(slowdown_of(60, Placing::Packed), 1);
	EXPECT_DOUBLE_EQ(slowdown_of(15, Placing::Packed), 4); // 12.8 ms
	EXPECT_DOUBLE_EQ(slowdown_of(30, Placing::Packed), 2);
	EXPECT_DOUBLE_EQ(slowdown_of(31, Placing::Packed), 20);           // 64 ms
	EXPECT_DOUBLE_EQ(slowdown_of(46, Placing::Packed), 15);           // 48 ms
	EXPECT_NEAR(slowdown_of(31, Placing::Distributed), 2.143, 0.001); // 6.86 ms
	CuLayout two = parse_cu_layout("15,15");
	EXPECT_DOUBLE_EQ(cost_of(two, parse_cu_mask(two, "0xb")).slowdown, 15); // a CU of SE 0, two of SE 1
}

// The fourth part of the GPU, packed, as the thesis' Figure 6.1: each fourth bit. Seen failing with packed and distributed
// exchanged.
TEST(CuMasks, PackedMasksHaveWholeSes)
{
	CuLayout layout = parse_cu_layout("15,15,15,15");
	std::vector<CuMask> masks = make_cu_masks(layout, {15, 15, 30}, Placing::Packed);

	EXPECT_EQ(cu_words(masks[0]), "0x11111111,0x1111111");
	EXPECT_EQ(cu_words(masks[1]), "0x22222222,0x2222222");
	EXPECT_EQ(cu_words(masks[2]), "0xcccccccc,0xccccccc");
	EXPECT_EQ(cu_words(make_cu_masks(layout, {20}, Placing::Distributed)[0]), "0xfffff,0x0");
	EXPECT_EQ(parse_cu_mask(layout, "0xccccccccccccccc"), masks[2]);
	EXPECT_EQ(parse_cu_mask(layout, "0xcccccccc,0xccccccc"), masks[2]);
}

constexpr char NODE[] = "cpu_cores_count 0\nsimd_count 240\narray_count 4\nsimd_arrays_per_engine 1\n"
			"cu_per_simd_array 15\nsimd_per_cu 4\n";

TEST(CuMasks, TheTopologyOfTheKernelIsRead)
{
	EXPECT_EQ(read_cu_layout(NODE, "p").cus, (std::vector<std::vector<u32>>{{15}, {15}, {15}, {15}}));
	auto code = [](std::string text) { return code_of([&] { read_cu_layout(text, "p"); }); };
	EXPECT_EQ(code("simd_count 240\n"), Error::Input);
	EXPECT_EQ(code(std::string(NODE) + "gfx_target_version 90006\n"), std::nullopt);
	EXPECT_EQ(code(std::string(NODE) + "gfx_target_version 100300\n"), Error::Absent);
	EXPECT_EQ(code(std::string(NODE) + "num_xcc 8\n"), Error::Absent);
	EXPECT_EQ(code(std::string(NODE) + "simd_count 236\n"),
		  Error::Absent); // a CU is fused off, of an unknown array
	EXPECT_EQ(code(std::string(NODE) + "simd_count 0\n"), Error::Absent);
	EXPECT_EQ(code(std::string(NODE) + "simd_arrays_per_engine 3\n"), Error::Input);
	EXPECT_EQ(code("simd_count 3\narray_count 0\nsimd_arrays_per_engine 1\ncu_per_simd_array 1\nsimd_per_cu 4\n"),
		  Error::Input); // seen reading in front of an empty vector
}

TEST(CuMasks, BadInputIsRefused)
{
	CuLayout layout = parse_cu_layout("2,2");

	for (const char *text : {"", "0", "17", "x", "1,", "1+1+1", "1+1,1", "0,0"})
		EXPECT_EQ(code_of([&] { parse_cu_layout(text); }), Error::Input) << text;
	for (const char *text : {"", "0x", "3", "0x0", "0x10", "0x1,0x1", "0xg"})
		EXPECT_EQ(code_of([&] { parse_cu_mask(layout, text); }), Error::Input) << text;
	for (const std::vector<u32> &sizes : {std::vector<u32>{5}, {0}, {3, 2}})
		EXPECT_EQ(code_of([&] { make_cu_masks(layout, sizes, Placing::Packed); }), Error::Input);
}

} // namespace
