// SPDX-License-Identifier: GPL-2.0
// Which GPU instances of MIG can be there at the same time. The examples are those of NVIDIA's Multi-Instance GPU User
// Guide, r580, "Getting Started with MIG" and "Supported MIG Profiles"; profiles have the numbers of nvidia-smi.
#include "gpulens/plan/mig.hpp"

#include <algorithm>
#include <map>
#include <gtest/gtest.h>

namespace {

using namespace tool::plan;
using Ids = std::vector<u32>;

const MigGpu &a100()
{
	return *find_mig_gpu(0x170, 54);
}

// Whether a set of these profiles is in the list; ids ascending.
bool is_listed(const Ids &ids)
{
	for (const std::vector<MigInstance> &layout : list_mig_layouts(a100())) {
		Ids found;
		for (const MigInstance &i : layout)
			found.push_back(i.profile->id);
		std::sort(found.begin(), found.end());
		if (found == ids)
			return true;
	}
	return false;
}

// Seen failing without the slices of memory that an instance takes, and with instances that may begin anywhere.
TEST(MigLayouts, ThoseOfTheGuideAreThere)
{
	for (const Ids &there :
	     {Ids{9, 9}, Ids{9, 14, 19, 19}, Ids{14, 19, 19, 19, 19, 19}, Ids{19, 19, 19, 19, 19, 19, 19}, Ids{5, 9},
	      Ids{14, 14, 14}, Ids{15, 15, 15, 15}, Ids{0}, Ids{14, 14, 14, 15}})
		EXPECT_TRUE(is_listed(there)) << testing::PrintToString(there);
	for (const Ids &not_there :
	     {Ids{19, 19, 19, 19, 19, 19, 19, 19}, Ids{9, 9, 19}, Ids{5, 5}, Ids{0, 19}, Ids{14, 14, 14, 14},
	      Ids{15, 15, 15, 15, 15}, Ids{9, 9, 9}, Ids{5, 14, 14, 14}, Ids{14, 14, 14, 15, 19}})
		EXPECT_FALSE(is_listed(not_there)) << testing::PrintToString(not_there);
}

// Seen failing with instances that may begin anywhere.
TEST(MigLayouts, InstancesBeginWhereTheirProfilesAllowAndDoNotOverlap)
{
	const std::map<u32, Ids> starts{
		{19, {0, 1, 2, 3, 4, 5, 6}}, {15, {0, 2, 4, 6}}, {14, {0, 2, 4}}, {9, {0, 4}}, {5, {0}}, {0, {0}}};
	size_t layouts = 0;

	for (const std::vector<MigInstance> &layout : list_mig_layouts(a100())) {
		u32 end = 0, sm_slices = 0;
		for (const MigInstance &i : layout) {
			const Ids &allowed = starts.at(i.profile->id);
			EXPECT_NE(std::find(allowed.begin(), allowed.end(), i.start), allowed.end());
			EXPECT_GE(i.start, end);
			end = i.start + i.profile->memory_slices;
			sm_slices += i.profile->sm_slices;
		}
		EXPECT_LE(end, 8U);
		EXPECT_LE(sm_slices, 7U);
		layouts++;
	}
	EXPECT_GT(layouts, 18U); // the guide draws 18, without those that leave slices free
}

TEST(MigLayouts, TheSmallestComeFirst)
{
	std::vector<std::vector<MigInstance>> layouts = list_mig_layouts(a100());

	ASSERT_EQ(layouts.front().size(), 1U);
	EXPECT_EQ(layouts.front()[0].profile->id, 19U);
	EXPECT_EQ(layouts.front()[0].tpcs(), 7U);
}

// A B200's die has another number; TPCs tell the products of one die apart.
TEST(MigLayouts, GpusAreFoundByDieAndTpcs)
{
	EXPECT_EQ(find_mig_gpu(std::nullopt, 66)->name, "H100 SXM5 or H200");
	EXPECT_EQ(find_mig_gpu(0x180, 57)->name, "H100 PCIe");
	EXPECT_EQ(find_mig_gpu(0x170, 66), nullptr);
	EXPECT_EQ(find_mig_gpu(std::nullopt, 68), nullptr);
	EXPECT_EQ(largest_instance(*find_mig_gpu(0x1a0, 74)), 63U);
	// 30 SMs of profile 15, as nvidia-smi mig -lgip of a B200 prints.
	EXPECT_EQ(find_mig_gpu(0x1a0, 74)->profiles[1].sms, 30U);
}

} // namespace
