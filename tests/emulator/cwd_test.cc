// SPDX-License-Identifier: GPL-2.0
// The compute work distributor's table of TPCs. Layout of its words: linux-nvgpu hal/gr/init/gr_init_gm20b.c and
// gr_init_gv11b_fusa.c; addresses and numbers of words: hw_gr_gm20b.h, hw_gr_gp106.h, and of Ada nvdebug_entry.c (2025).
#include "common.hpp"

using namespace emu_test;

namespace {

// The emulated GTX 1060 3GB has five TPCs in GPC 0 and four in GPC 1, numbered GPC by GPC.
TEST(Cwd, of_pascal_counts_tpcs_gpc_by_gpc)
{
	auto gpu = make_gpu("gp106", two_tsgs());
	gpu->advance(100'000);
	const uint32_t order[] = {0x03020100, 0x12111004, 0x00000013, 0}, sms[] = {0x03020100, 0x08070605, 4, 0};
	for (unsigned i = 0; i < 4; i++) {
		EXPECT_EQ(rd32(*gpu, 0x405b60 + 4 * i), order[i]) << i;
		EXPECT_EQ(rd32(*gpu, 0x405ba0 + 4 * i), sms[i]) << i;
	}
}

// By turns, as Jetson Thor and GB10 do. GPC 7 of 12 has five TPCs, so the last turn leaves it out. Seen failing with TPCs
// numbered GPC by GPC.
TEST(Cwd, of_ada_counts_tpcs_by_turns)
{
	auto gpu = make_gpu("ad102", two_tsgs());
	gpu->advance(100'000);
	EXPECT_EQ(rd32(*gpu, 0x405000), 0x30201000u);
	EXPECT_EQ(rd32(*gpu, 0x40500c), 0x31211101u);
	EXPECT_EQ(rd32(*gpu, 0x40503c), 0x35251505u); // TPCs 60 to 63
	EXPECT_EQ(rd32(*gpu, 0x405040), 0x85655545u); // TPCs 64 to 67
	EXPECT_EQ(rd32(*gpu, 0x405044), 0x00b5a595u); // TPCs 68 to 70
	EXPECT_EQ(rd32(*gpu, 0x405100), 0x24180c00u); // TPCs 0 to 3 of GPC 0
	EXPECT_EQ(rd32(*gpu, 0x405130), 0x00003c30u); // TPCs 4 and 5 of GPC 0
}

// Seen failing with a table that can always be read.
TEST(Cwd, needs_a_context_on_the_graphics_engine)
{
	auto pascal = make_gpu("gp106"), ada = make_gpu("ad102");
	EXPECT_EQ(rd32(*pascal, 0x405b60), 0u);
	EXPECT_EQ(rd32(*ada, 0x405000), 0xbadf1201u);
	EXPECT_EQ(rd32(*ada, 0x405100), 0xbadf1201u);
}

TEST(Cwd, has_as_many_words_as_the_sources_say)
{
	auto maxwell = make_gpu("gm204", two_tsgs()), pascal = make_gpu("gp106", two_tsgs()),
	     ada = make_gpu("ad102", two_tsgs()), kepler = make_gpu("gk104", two_tsgs());
	for (auto *gpu : {maxwell.get(), pascal.get(), ada.get(), kepler.get()})
		gpu->advance(100'000);
	const uint32_t absent = 0xbadf1100; // no client decodes the address
	EXPECT_EQ(rd32(*maxwell, 0x405b74), 0u);
	EXPECT_EQ(rd32(*maxwell, 0x405b78), absent);
	EXPECT_EQ(rd32(*pascal, 0x405b9c), 0u);
	EXPECT_EQ(rd32(*pascal, 0x405be0), absent);
	EXPECT_EQ(rd32(*ada, 0x40505c), 0u);
	EXPECT_EQ(rd32(*ada, 0x405060), absent);
	EXPECT_EQ(rd32(*ada, 0x405b60), absent);
	EXPECT_EQ(rd32(*kepler, 0x405b60), absent);
}

} // namespace
