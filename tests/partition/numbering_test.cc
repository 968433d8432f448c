// SPDX-License-Identifier: GPL-2.0
// The two numberings of TPCs: each layout has one, masks are converted with evidence only, and no mask of the wrong
// numbering takes effect.
#include "gpulens-partition.h"
#include "partition/layout.hpp"
#include "support/cuda/probed.hpp"

#include <cerrno>
#include <cstring>
#include <gtest/gtest.h>
#include <string>
#include <utility>
#include <vector>

namespace {

using gpulens::Layout;
using gpulens::TpcMask;

// Two GPCs as the module reports them: GPC 1 with TPCs 0 and 1, GPC 3 with TPCs 2 to 4.
tool::Gpu make_gpu()
{
	tool::Gpu gpu;

	gpu.chip.device = "0000:01:00.0";
	gpu.has_gpcs = true;
	gpu.gpcs = {{.id = 1, .tpcs = 2, .first_tpc = 0}, {.id = 3, .tpcs = 3, .first_tpc = 2}};
	return gpu;
}

// The same, with the SMs that the driver reports: its GPC 0 is physical GPC 3. TPCs by turns, two SMs each.
tool::Gpu make_gpu_with_sms()
{
	tool::Gpu gpu = make_gpu();
	u32 id = 0;

	gpu.gpcs[0].logical = 1;
	gpu.gpcs[1].logical = 0;
	for (auto [gpc, tpc] : {std::pair(0U, 0U), {1U, 1U}, {0U, 2U}, {1U, 0U}, {0U, 1U}})
		for (u32 sm = 0; sm < 2; sm++)
			gpu.sms.push_back({.id = id++, .gpc = gpc, .tpc = tpc, .sm = sm});
	return gpu;
}

tool::Gpu make_gpu_with_table()
{
	tool::Gpu gpu = make_gpu();

	gpu.hardware_gpcs = {{.logical = 0, .tpcs = {0, 2, 4}}, {.logical = 1, .tpcs = {1, 3}}};
	return gpu;
}

// Calls f. Returns the message of the error that it throws; empty if it throws none.
template <typename F> std::string message_of(F f)
{
	try {
		f();
	} catch (const gpulens::Error &e) {
		return e.what();
	}
	return "";
}

TpcMask mask_of(const Layout &layout, const std::vector<u32> &tpcs)
{
	TpcMask mask(layout.map.tpcs);

	for (u32 tpc : tpcs)
		mask.add(tpc);
	return mask;
}

// TPC 0 of physical GPC 1 has %smid 6 and 7, its TPC 1 has 2 and 3; TPCs 0 to 2 of GPC 3 have 0, 8 and 4. Seen failing with
// the k-th TPC by %smid taken for TPC k of a GPC.
TEST(Numbering, TheDriversTableOfSmsConverts)
{
	Layout by_gpc = gpulens::layout_of_gpu(make_gpu()), by_smid = gpulens::layout_of_gpu(make_gpu_with_sms());
	const u32 smid_of[] = {3, 1, 0, 4, 2};

	EXPECT_EQ(by_gpc.map.numbering, tool::plan::TpcNumbering::ByGpc);
	EXPECT_EQ(by_smid.map.numbering, tool::plan::TpcNumbering::BySmid);
	for (u32 tpc = 0; tpc < 5; tpc++) {
		TpcMask there = convert_mask(by_gpc, by_smid, mask_of(by_gpc, {tpc}));
		EXPECT_EQ(there.tpcs(), std::vector<u32>{smid_of[tpc]}) << tpc;
		EXPECT_EQ(convert_mask(by_smid, by_gpc, there).tpcs(), std::vector<u32>{tpc});
	}
	EXPECT_EQ(convert_mask(by_gpc, by_gpc, mask_of(by_gpc, {1, 4})).tpcs(), (std::vector<u32>{1, 4}));
}

// An H200, of which the driver's table was recorded: TPC 0 of its logical GPC 1 is the first by %smid.
TEST(Numbering, OfAnH200AreTheRecordedOnes)
{
	tool::Gpu gpu;

	gpu.has_gpcs = true;
	for (u32 i = 0; i < 132; i++)
		gpu.sms.push_back({.id = i, .gpc = PROBED[i / 2].gpc, .tpc = PROBED[i / 2].tpc, .sm = i % 2});
	Layout without = gpulens::layout_of_gpu(gpu);
	EXPECT_TRUE(without.places.empty()); // without the driver's map of GPCs
	for (u32 i = 0; i < 8; i++)
		gpu.gpcs.push_back({.id = i, .logical = static_cast<int>(i)});
	Layout layout = gpulens::layout_of_gpu(gpu);
	ASSERT_EQ(layout.places.size(), 66U);
	EXPECT_EQ(layout.places[0].gpc, PROBED[0].gpc);
	EXPECT_EQ(layout.places[65].tpc, PROBED[65].tpc);
}

TEST(Numbering, WithoutEvidenceThereIsNoConversion)
{
	Layout by_gpc = gpulens::layout_of_gpu(make_gpu()), table = gpulens::layout_of_gpu(make_gpu_with_table());
	tool::Gpu unmapped = make_gpu_with_sms(), other = make_gpu_with_sms(), swept = make_gpu_with_sms();

	EXPECT_EQ(table.map.numbering, tool::plan::TpcNumbering::BySmid);
	EXPECT_EQ(table.map.gpcs[0].tpcs, (std::vector<u32>{0, 2, 4}));
	EXPECT_EQ(table.map.gpcs[0].gpc, 0U); // the driver's number
	EXPECT_EQ(message_of([&] { convert_mask(by_gpc, table, mask_of(by_gpc, {0})); }),
		  "the numbers of TPCs cannot be converted: the layout to which (the hardware's table CWD_GPC_TPC_ID, "
		  "whose GPCs have the driver's numbers) does not tell which physical GPC has which TPC; take it from "
		  "NVIDIA's driver");
	unmapped.gpcs[0].logical = LENS_NONE;
	EXPECT_EQ(message_of([&] {
			  Layout from = gpulens::layout_of_gpu(unmapped);
			  convert_mask(from, by_gpc, mask_of(from, {0}));
		  }).substr(0, 72),
		  "the numbers of TPCs cannot be converted: the layout from which (the driv");
	other.chip.device = "0000:02:00.0";
	EXPECT_EQ(message_of([&] { convert_mask(by_gpc, gpulens::layout_of_gpu(other), mask_of(by_gpc, {0})); }),
		  "the layouts are not of the same GPU");
	swept.gpcs[0].id = 2;
	EXPECT_EQ(message_of([&] { convert_mask(by_gpc, gpulens::layout_of_gpu(swept), mask_of(by_gpc, {0})); }),
		  "the layouts are not of the same GPU: TPC 0 of GPC 1 is in one of them");
}

TEST(Numbering, OnlyNumbersOfMasksAreApplied)
{
	EXPECT_EQ(message_of([] { gpulens::layout_of_gpu(make_gpu()).require_mask_numbers(); }),
		  "0000:01:00.0: TPCs of this layout are numbered GPC by GPC, and masks number them in the order of "
		  "%smid; take the layout from NVIDIA's driver, or from the module while a CUDA context is active, or "
		  "convert the mask (gpulens_mask_convert)");
	EXPECT_EQ(message_of([] { gpulens::layout_of_gpu(make_gpu_with_sms()).require_mask_numbers(); }), "");
	EXPECT_EQ(message_of([] { gpulens::layout_of_gpu(make_gpu_with_table()).require_mask_numbers(); }), "");
}

TEST(Numbering, TheInterfaceInCTellsAndConverts)
{
	gpulens_layout *made = nullptr, *wide = nullptr;
	unsigned tpcs[] = {3, 2}, more[] = {3, 3};
	const char *evidence = nullptr;
	uint64_t mask = 0x11, converted = 7;

	ASSERT_EQ(gpulens_layout_make(tpcs, 2, &made), 0);
	ASSERT_EQ(gpulens_layout_make(more, 2, &wide), 0);
	EXPECT_EQ(gpulens_layout_numbering(made, &evidence), GPULENS_BY_GPC);
	EXPECT_STREQ(evidence, "an imaginary GPU");
	EXPECT_EQ(gpulens_layout_numbering(made, nullptr), GPULENS_BY_GPC);
	EXPECT_EQ(gpulens_mask_convert(made, wide, &mask, &converted), -EINVAL);
	EXPECT_STREQ(gpulens_error(), "the layouts are not of the same GPU");
	EXPECT_EQ(gpulens_mask_convert(made, made, nullptr, &converted), -EINVAL);
	EXPECT_EQ(converted, 7U);
	EXPECT_EQ(gpulens_mask_convert(made, made, &mask, &converted), 0);
	EXPECT_EQ(converted, 0x11U);
	mask = 0x20;
	EXPECT_EQ(gpulens_mask_convert(made, made, &mask, &converted), -ENOENT);
	gpulens_layout_close(made);
	gpulens_layout_close(wide);
}

} // namespace
