// SPDX-License-Identifier: GPL-2.0
// The core's topology of the emulated chips equals what was published about the real ones. Expected values are copied
// from the sources that each test names, not from the profiles:
//   Tables II, IV  RTAS'24 (Bakita & Anderson), "Engines on GTX 1060 3GB", "Engines on RTX 6000 Ada"
//   H200           resource manager of an H200, driver 580: engines, runlists, floorsweeping, copy engine wiring
#include "support/core/emulated.hpp"
#include "format.h"

#include <gtest/gtest.h>

namespace {

using test::Emulated;

struct Row {
	const char *name;
	int runlist;
};

std::vector<std::pair<std::string, int>> engines_with_runlist(const Emulated &e)
{
	std::vector<std::pair<std::string, int>> out;
	for (u32 i = 0; i < e.topo().n_engines; i++) {
		char name[LENS_ENGINE_NAME];
		if (e.topo().engines[i].runlist == LENS_NONE)
			continue;
		lens_engine_format_name(e.gpu.get(), &e.topo().engines[i], name);
		out.emplace_back(name, e.topo().engines[i].runlist);
	}
	return out;
}

std::vector<u32> runlist_ids(const Emulated &e)
{
	std::vector<u32> out;
	for (u32 i = 0; i < e.topo().n_runlists; i++)
		out.push_back(e.topo().runlists[i].id);
	return out;
}

void expect_table(const Emulated &e, const std::vector<Row> &table)
{
	auto got = engines_with_runlist(e);
	ASSERT_EQ(got.size(), table.size());
	for (size_t i = 0; i < table.size(); i++) {
		EXPECT_EQ(got[i].first, table[i].name) << i;
		EXPECT_EQ(got[i].second, table[i].runlist) << table[i].name;
	}
}

TEST(Gp106, IsTableTwoOfRtas24)
{
	Emulated e("gp106");
	ASSERT_EQ(e.attach(), 0);
	expect_table(e, {
				{"Graphics/Compute 0", 0},
				{"[Graphics] Copy Engine 0 (GRCE0/LCE0)", 0},
				{"[Graphics] Copy Engine 1 (GRCE1/LCE1)", 0},
				{"Video Decoder 0 (NVDEC0)", 1},
				{"Video Encoder 0 (NVENC0)", 2},
				{"Sequencer", 3},
				{"Copy Engine 2 (LCE2)", 5},
				{"Copy Engine 3 (LCE3)", 6},
			});
	EXPECT_EQ(e.topo().n_engines, 8);
	EXPECT_EQ(runlist_ids(e), (std::vector<u32>{0, 1, 2, 3, 5, 6}));
	EXPECT_EQ(lens_gpu_find_runlist(e.gpu.get(), 4), nullptr); // "N/A  Runlist 4"
	EXPECT_STREQ(e.gpu->name, "GP106");
	EXPECT_EQ(e.gpu->chip_id, 0x136u);
}

TEST(Ad102, IsTableFourOfRtas24)
{
	Emulated e("ad102");
	ASSERT_EQ(e.attach(), 0);
	expect_table(e, {
				{"Graphics/Compute 0", 0},
				{"[Graphics] Copy Engine 0 (GRCE0/LCE0)", 0},
				{"[Graphics] Copy Engine 1 (GRCE1/LCE1)", 0},
				{"Copy Engine 2 (LCE2)", 1},
				{"Copy Engine 3 (LCE3)", 2},
				{"Copy Engine 4 (LCE4)", 3},
				{"Video Decoder 0 (NVDEC0)", 4},
				{"Video Decoder 1 (NVDEC1)", 5},
				{"Video Decoder 2 (NVDEC2)", 6},
				{"Video Encoder 0 (NVENC0)", 8},
				{"Video Encoder 1 (NVENC1)", 9},
				{"Video Encoder 2 (NVENC2)", 10},
				{"JPEG Decoder 0 (NVJPG0)", 11},
				{"JPEG Decoder 1 (NVJPG1)", 12},
				{"JPEG Decoder 2 (NVJPG2)", 13},
				{"JPEG Decoder 3 (NVJPG3)", 14},
				{"Optical Flow Accelerator", 15},
				{"Sequencer", 16},
			});
	EXPECT_EQ(runlist_ids(e), (std::vector<u32>{0, 1, 2, 3, 4, 5, 6, 8, 9, 10, 11, 12, 13, 14, 15, 16}));
	EXPECT_EQ(lens_gpu_find_runlist(e.gpu.get(), 7), nullptr); // "N/A  Runlist 7"
	EXPECT_STREQ(e.gpu->name, "AD102");
	EXPECT_EQ(e.gpu->chip_id, 0x192u);
}

// Resource manager of an H200, driver 580: GPU_GET_ENGINES_V2, _ENGINE_RUNLIST_PRI_BASE, _HW_ENGINE_ID,
// _ENGINE_FAULT_INFO. COPYn is LCEn, NVJPEGn is NVJPGn, SEC2 is the Sequencer of the tables.
TEST(Gh100, EnginesAreThoseOfTheResourceManager)
{
	struct {
		const char *name;
		int runlist;
		u32 runlist_base;
		int engine_id, fault;
	} const rows[] = {
		{"Graphics/Compute 0", 0, 0xc00000, 0, 0x180},
		{"[Graphics] Copy Engine 0 (GRCE0/LCE0)", 0, 0xc00000, 1, 0x2b},
		{"[Graphics] Copy Engine 1 (GRCE1/LCE1)", 0, 0xc00000, 2, 0x2c},
		{"Copy Engine 2 (LCE2)", 1, 0xc00400, 3, 0x2d},
		{"Copy Engine 3 (LCE3)", 3, 0xc00800, 5, 0x2e},
		{"JPEG Decoder 0 (NVJPG0)", 5, 0xc06000, 7, 0x1b},
		{"Video Decoder 1 (NVDEC1)", 6, 0xc04400, 8, 0x14},
		{"Optical Flow Accelerator", 8, 0xc08000, 10, 0x35},
		{"Copy Engine 4 (LCE4)", 10, 0xc00c00, 12, 0x2f},
		{"Video Decoder 2 (NVDEC2)", 13, 0xc04800, 15, 0x15},
		{"JPEG Decoder 2 (NVJPG2)", 14, 0xc06800, 16, 0x1d},
		{"Video Decoder 3 (NVDEC3)", 15, 0xc04c00, 17, 0x16},
		{"JPEG Decoder 3 (NVJPG3)", 16, 0xc06c00, 18, 0x1e},
		{"Video Decoder 4 (NVDEC4)", 21, 0xc05000, 23, 0x17},
		{"JPEG Decoder 4 (NVJPG4)", 22, 0xc07000, 24, 0x1f},
		{"Video Decoder 5 (NVDEC5)", 23, 0xc05400, 25, 0x18},
		{"JPEG Decoder 5 (NVJPG5)", 24, 0xc07400, 26, 0x20},
		{"Sequencer", 25, 0xc08400, 27, 0x6},
		{"Video Decoder 6 (NVDEC6)", 30, 0xc05800, 32, 0x19},
		{"JPEG Decoder 6 (NVJPG6)", 31, 0xc07800, 33, 0x21},
		{"Video Decoder 7 (NVDEC7)", 32, 0xc05c00, 34, 0x1a},
		{"JPEG Decoder 7 (NVJPG7)", 33, 0xc07c00, 35, 0x22},
	};
	Emulated e("gh100");
	ASSERT_EQ(e.attach(), 0);
	ASSERT_GE(e.topo().n_engines, std::size(rows));
	for (size_t i = 0; i < std::size(rows); i++) {
		const lens_engine &g = e.topo().engines[i];
		char name[LENS_ENGINE_NAME];
		lens_engine_format_name(e.gpu.get(), &g, name);
		EXPECT_STREQ(name, rows[i].name);
		EXPECT_EQ(g.runlist, rows[i].runlist) << name;
		EXPECT_EQ(g.runlist_base, rows[i].runlist_base) << name;
		EXPECT_EQ(g.engine_id, rows[i].engine_id) << name;
		EXPECT_EQ(g.fault, rows[i].fault) << name;
		const lens_runlist *rl = lens_gpu_find_runlist(e.gpu.get(), u32(rows[i].runlist));
		ASSERT_NE(rl, nullptr) << name;
		EXPECT_EQ(rl->base, rows[i].runlist_base) << name;
	}
	EXPECT_EQ(engines_with_runlist(e).size(), std::size(rows)); // and no other engine has a runlist
	EXPECT_EQ(e.topo().n_runlists, 20);
	EXPECT_STREQ(e.gpu->name, "GH100");
	EXPECT_EQ(e.gpu->chip_id, 0x180u);
}

// Same source, run 1: GR_GET_GPC_MASK 0xff; GR_GET_TPC_MASK by physical GPC 0x1ff, 0x1fb, 0x1bf, 0x1bf, 0x1bf, 0x1ff,
// 0x1bf, 0x1bf (enabled); LITTER_NUM_GPCS 8, LITTER_NUM_TPC_PER_GPC 9. The core's masks show what is disabled.
TEST(Gh100, FloorsweepingIsThatOfRunOne)
{
	Emulated e("gh100");
	ASSERT_EQ(e.attach(), 0);
	EXPECT_EQ(e.topo().num_gpcs, 8);
	EXPECT_EQ(e.topo().num_tpc_per_gpc, 9);
	EXPECT_EQ(e.topo().gpc_mask, 0u);
	const u32 disabled[] = {0x000, 0x004, 0x040, 0x040, 0x040, 0x000, 0x040, 0x040};
	u32 tpcs = 0;
	for (u32 i = 0; i < 8; i++) {
		u32 first;
		EXPECT_EQ(e.topo().tpc_mask[i], disabled[i]) << i;
		tpcs += lens_gpc_count_tpcs(&e.topo(), i, &first);
	}
	EXPECT_EQ(tpcs, 66u); // 132 SMs
}

// Same source: CE_GET_CE_PCE_MASK LCE0 0x5000, LCE1 0xa000, LCE2 0x5000, LCE3 0xa000, LCE4 0xfff; caps GRCE and SHARED
// on LCE0 and LCE1, SHARED on LCE2 and LCE3.
TEST(Gh100, CopyEnginesAreWiredAsTheResourceManagerSays)
{
	Emulated e("gh100");
	ASSERT_EQ(e.attach(), 0);
	EXPECT_EQ(e.topo().ce.pce_map, 0xffffu);
	EXPECT_EQ(lens_lce_find_pces(e.gpu.get(), &e.gpu->topo.ce, 2), 0x5000u);
	EXPECT_EQ(lens_lce_find_pces(e.gpu.get(), &e.gpu->topo.ce, 3), 0xa000u);
	EXPECT_EQ(lens_lce_find_pces(e.gpu.get(), &e.gpu->topo.ce, 4), 0x0fffu);
	// The GRCEs have no PCE of their own; those they share are the ones above.
	EXPECT_EQ(lens_lce_find_pces(e.gpu.get(), &e.gpu->topo.ce, 0), 0u);
	EXPECT_EQ(lens_lce_find_pces(e.gpu.get(), &e.gpu->topo.ce, 1), 0u);
	EXPECT_EQ(e.topo().ce.n_grces, 2);
	EXPECT_EQ(e.topo().ce.shared_lce[0], 2);
	EXPECT_EQ(e.topo().ce.shared_lce[1], 3);
}

// fb_total_ram_kib 147221504 of the same source; 3 GiB and 48 GiB by product name.
TEST(Memory, SizeIsThatOfTheCard)
{
	const struct {
		const char *chip;
		u64 bytes;
	} rows[] = {{"gp106", 3221225472}, {"tu102", 11811160064}, {"ad102", 51539607552}, {"gh100", 150754820096}};
	for (const auto &r : rows) {
		Emulated e(r.chip);
		ASSERT_EQ(e.attach(), 0);
		EXPECT_EQ(e.topo().memory_bytes, r.bytes) << r.chip;
	}
}

// open-gpu-doc turing/tu104/dev_ce.ref.txt: reset values PCE 0..3 -> LCE 1, 4, 2, 3; GRCE 0 shares LCE 1, GRCE 1 none.
TEST(Tu102, CopyEnginesAreWiredAsTheManualsResetValues)
{
	Emulated e("tu102");
	ASSERT_EQ(e.attach(), 0);
	EXPECT_EQ(e.topo().ce.lce_for_pce[0], 1);
	EXPECT_EQ(e.topo().ce.lce_for_pce[1], 4);
	EXPECT_EQ(e.topo().ce.lce_for_pce[2], 2);
	EXPECT_EQ(e.topo().ce.lce_for_pce[3], 3);
	EXPECT_EQ(e.topo().ce.shared_lce[0], 1);
	EXPECT_EQ(e.topo().ce.shared_lce[1], 0xf);
}

} // namespace
