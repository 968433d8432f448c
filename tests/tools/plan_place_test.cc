// SPDX-License-Identifier: GPL-2.0
// Masks of TPCs, and partitions on GPCs: fewer and more than 64 TPCs, floorswept GPCs, and TPCs numbered by a driver.

#include "gpulens/plan/task_file.hpp"
#include "lib/base/errors.hpp"
#include "lib/tpc/gpc_map.hpp"
#include "lib/tpc/place.hpp"

#include <gtest/gtest.h>
#include <numeric>

namespace {

using tool::plan::find_reserved;
using tool::plan::gpc_map;
using tool::plan::GpcMap;
using tool::plan::gpcs_of;
using tool::plan::parse_mask;
using tool::plan::place_partitions;
using tool::plan::Placing;
using tool::plan::Reserved;
using tool::plan::TpcMask;

using Numbers = std::vector<u32>;

/* -- masks -- */

TEST(PlanMask, IsAsWideAsTheGpu)
{
	TpcMask m(66);
	for (u32 t : {0, 5, 63, 64, 65})
		m.add(t);
	EXPECT_EQ(m.hex(), "0x38000000000000021");
	EXPECT_EQ(m.disable_hex(), "0x07fffffffffffffde");
	EXPECT_EQ(m.count(), 5u);
	EXPECT_EQ(m.tpcs(), (Numbers{0, 5, 63, 64, 65}));
	EXPECT_FALSE(m.has(1000));
	TpcMask wide(130);
	wide.add(129);
	EXPECT_EQ(wide.hex(), "0x200000000000000000000000000000000");
	EXPECT_EQ(TpcMask(5).disable_hex(), "0x1f");
}

TEST(PlanMask, IsParsedAtAnyWidth)
{
	EXPECT_EQ(parse_mask("0x38000000000000021"), (Numbers{0, 5, 63, 64, 65}));
	EXPECT_EQ(parse_mask("0xF0"), (Numbers{4, 5, 6, 7}));
	EXPECT_EQ(parse_mask("0X00000000000000000000000000000000000001"), (Numbers{0}));
	EXPECT_EQ(parse_mask("0x0"), (Numbers{}));
	for (const char *wrong : {"", "0x", "12", "x1", "0x1g", "-0x1", "0x 1"})
		EXPECT_FALSE(parse_mask(wrong)) << wrong;
}

/* -- maps -- */

tool::Gpu gpu_of(const Numbers &tpcs_by_gpc)
{
	tool::Gpu gpu;
	u32 first = 0;

	gpu.source = "test";
	for (u32 i = 0; i < tpcs_by_gpc.size(); i++) {
		if (tpcs_by_gpc[i])
			gpu.gpcs.push_back({.id = i, .tpcs = tpcs_by_gpc[i], .first_tpc = first});
		first += tpcs_by_gpc[i];
	}
	return gpu;
}

GpcMap map_of(const Numbers &tpcs_by_gpc)
{
	return gpc_map(gpu_of(tpcs_by_gpc));
}

// GPC 1 is disabled.
TEST(PlanMap, HasEnabledGpcsWithTheirLogicalTpcs)
{
	GpcMap map = map_of({4, 0, 3});
	EXPECT_EQ(map.tpcs, 7u);
	ASSERT_EQ(map.gpcs.size(), 2u);
	EXPECT_EQ(map.gpcs[1].gpc, 2u);
	EXPECT_EQ(map.gpcs[1].tpcs, (Numbers{4, 5, 6}));
}

// The driver of an H200 numbers SMs round-robin over the GPCs, two per TPC; its GPC 0 is physical GPC 3.
TEST(PlanMap, ADriversTpcNumberFollowsItsFirstSm)
{
	tool::Gpu gpu;
	gpu.gpcs = {{.id = 1, .tpcs = 1, .logical = 1}, {.id = 3, .tpcs = 2, .logical = 0}};
	for (u32 id = 0; const auto &[gpc, tpc] : {std::pair(0U, 0U), {1U, 0U}, {0U, 1U}})
		for (u32 sm = 0; sm < 2; sm++)
			gpu.sms.push_back({.id = id++, .gpc = gpc, .tpc = tpc, .sm = sm});
	GpcMap map = gpc_map(gpu);
	EXPECT_EQ(map.tpcs, 3u);
	ASSERT_EQ(map.gpcs.size(), 2u);
	EXPECT_EQ(map.gpcs[0].gpc, 1u);
	EXPECT_EQ(map.gpcs[0].tpcs, (Numbers{1}));
	EXPECT_EQ(map.gpcs[1].gpc, 3u);
	EXPECT_EQ(map.gpcs[1].tpcs, (Numbers{0, 2}));
}

TEST(PlanMap, UnknownGpcsAreAnError)
{
	tool::Gpu gpu;
	gpu.source = "some.image";
	try {
		gpc_map(gpu);
		FAIL();
	} catch (const tool::Error &e) {
		EXPECT_EQ(e.code, tool::Error::Source);
		EXPECT_STREQ(e.what(), "some.image: its GPCs and TPCs are unknown; use --tpcs to plan without them");
	}
}

/* -- placing -- */

// GPCs with 4, 3, 2 and 4 TPCs: a partition of 6 gets GPC 0 and GPC 2 whole; 3 gets GPC 1 whole; 2 gets part of GPC 3,
// the remaining one.
TEST(PlanPlace, PackedTakesWholeGpcsFirst)
{
	GpcMap map = map_of({4, 3, 2, 4});
	std::vector<TpcMask> masks = place_partitions(map, TpcMask(13), {2, 6, 3}, Placing::Packed);
	EXPECT_EQ(masks[1].tpcs(), (Numbers{0, 1, 2, 3, 7, 8}));
	EXPECT_EQ(masks[2].tpcs(), (Numbers{4, 5, 6}));
	EXPECT_EQ(masks[0].tpcs(), (Numbers{9, 10}));
	EXPECT_EQ(gpcs_of(map, masks[1]), (Numbers{0, 2}));
	EXPECT_EQ(masks[1].hex(), "0x018f");
}

// A remainder goes to the GPC with the fewest TPCs left: 5 = GPC 0 and one TPC of GPC 2, which has 2, not of GPC 1, which
// has 3. 4 is then GPC 1 and the rest of GPC 2.
TEST(PlanPlace, PackedPutsARestWhereItFitsBest)
{
	GpcMap map = map_of({4, 3, 2});
	std::vector<TpcMask> masks = place_partitions(map, TpcMask(9), {5, 4}, Placing::Packed);
	EXPECT_EQ(masks[0].tpcs(), (Numbers{0, 1, 2, 3, 7}));
	EXPECT_EQ(masks[1].tpcs(), (Numbers{4, 5, 6, 8}));
}

// 4 of GPCs with 3 and 5 TPCs is in one of them.
TEST(PlanPlace, PackedDoesNotSplitWhatFitsIntoOneGpc)
{
	EXPECT_EQ(place_partitions(map_of({3, 5}), TpcMask(8), {4}, Placing::Packed)[0].tpcs(), (Numbers{3, 4, 5, 6}));
}

// 6 of 5, 3 and 3 TPCs: the first GPC has one reserved TPC and still most free ones; the other two are whole.
TEST(PlanPlace, PackedTakesWholeGpcsBeforeLargerRests)
{
	TpcMask taken(11);
	taken.add(0);
	EXPECT_EQ(place_partitions(map_of({5, 3, 3}), taken, {6}, Placing::Packed)[0].tpcs(),
		  (Numbers{5, 6, 7, 8, 9, 10}));
}

// 5 TPCs of three GPCs: 2, 2, 1, beginning with the GPC with most free TPCs; then 3: one of each.
TEST(PlanPlace, DistributedUsesAllGpcsEvenly)
{
	GpcMap map = map_of({3, 4, 2});
	std::vector<TpcMask> masks = place_partitions(map, TpcMask(9), {3, 5}, Placing::Distributed);
	EXPECT_EQ(masks[1].tpcs(), (Numbers{0, 1, 3, 4, 7}));
	EXPECT_EQ(masks[0].tpcs(), (Numbers{2, 5, 8}));
}

TEST(PlanPlace, ReservedTpcsStayFree)
{
	GpcMap map = map_of({4, 4});
	TpcMask taken(8);
	taken.add(1);
	// GPC 1 is whole, GPC 0 is not
	std::vector<TpcMask> masks = place_partitions(map, taken, {4, 3}, Placing::Packed);
	EXPECT_EQ(masks[0].tpcs(), (Numbers{4, 5, 6, 7}));
	EXPECT_EQ(masks[1].tpcs(), (Numbers{0, 2, 3}));
	// no GPC is whole, and none has 4: all of the one that has most, and the rest
	taken.add(4);
	taken.add(5);
	EXPECT_EQ(place_partitions(map, taken, {4}, Placing::Packed)[0].tpcs(), (Numbers{0, 2, 3, 6}));
}

// Many divisions of 17 and 71 TPCs: masks have their sizes, no TPC is used twice, and all exist.
TEST(PlanPlace, MasksAreDisjointAndComplete)
{
	for (const Numbers &gpcs : {Numbers{5, 0, 4, 5, 3}, Numbers{6, 6, 6, 6, 6, 6, 6, 5, 6, 6, 6, 6}}) {
		GpcMap map = map_of(gpcs);
		u32 total = std::accumulate(gpcs.begin(), gpcs.end(), 0U);
		ASSERT_EQ(map.tpcs, total);
		for (u32 part = 1; part < total; part++)
			for (Placing how : {Placing::Packed, Placing::Distributed}) {
				Numbers sizes, all;
				for (u32 left = total, n = part; left; left -= n, n = n / 2 + 1) {
					n = std::min(n, left);
					sizes.push_back(n);
				}
				std::vector<TpcMask> masks = place_partitions(map, TpcMask(total), sizes, how);
				for (size_t i = 0; i < masks.size(); i++) {
					EXPECT_EQ(masks[i].count(), sizes[i]);
					Numbers tpcs = masks[i].tpcs();
					all.insert(all.end(), tpcs.begin(), tpcs.end());
				}
				std::sort(all.begin(), all.end());
				Numbers wanted(total);
				std::iota(wanted.begin(), wanted.end(), 0U);
				EXPECT_EQ(all, wanted) << part;
			}
	}
}

/* -- what is reserved -- */

std::string refusal_of(const std::vector<Reserved> &reserved, const GpcMap &map)
{
	try {
		return find_reserved(reserved, map, "t.json").hex();
	} catch (const tool::Error &e) {
		EXPECT_EQ(e.code, tool::Error::Input);
		return e.what();
	}
}

TEST(PlanReserved, IsByTpcsOrByGpcs)
{
	EXPECT_EQ(refusal_of({{"display", {0, 6}, {}}, {"other", {}, {2}}}, map_of({4, 0, 2, 1})), "0x71");
}

TEST(PlanReserved, ImpossibleReservationsAreNamed)
{
	GpcMap map = map_of({4, 0, 3});
	EXPECT_EQ(refusal_of({{"display", {}, {1}}}, map),
		  "t.json: reserved \"display\": there is no GPC 1; there are 0, 2");
	EXPECT_EQ(refusal_of({{"display", {7}, {}}}, map),
		  "t.json: reserved \"display\": there is no TPC 7; there are 0 to 6");
	EXPECT_EQ(refusal_of({{"display", {3, 4}, {}}, {"other", {}, {0}}}, map),
		  "t.json: reserved \"other\": TPC 3 is reserved for \"display\" already");
	EXPECT_EQ(refusal_of({{"display", {}, {0}}}, {.tpcs = 7, .gpcs = {}}),
		  "t.json: reserved \"display\": GPC 0: with --tpcs the TPCs of GPCs are not known");
}

} // namespace
