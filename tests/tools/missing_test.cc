// SPDX-License-Identifier: GPL-2.0
// Images that lack words: the item that needs one is reported with its address, everything else is decoded as ever.
#include "json.hpp"
#include "recorded.hpp"

using namespace tool_test;

namespace {

std::string hand()
{
	return fixture("ga100-by-hand.image");
}

TEST(Missing, ARunlistsRegisterIsNamedAndTheOtherRunlistIsShown)
{
	tool::Image image = parse(without(hand(), "r 0x00c04080"));

	EXPECT_EQ(failures(run(image, "runlist3")), "runlist 3: not recorded: r 0x00c04080\n");
	EXPECT_EQ(run(image, "runlist3").text, "");
	EXPECT_EQ(failures(run(image, "runlist0")), "");
	tool::Gpu gpu = tool::from_image(image, "x");
	EXPECT_EQ(failures(gpu.runlist_failures), "runlist 3: not recorded: r 0x00c04080\n");
	ASSERT_NE(gpu.runlist(0), nullptr);
	EXPECT_EQ(gpu.runlist(0)->tsgs.at(0).channels.at(0).id, 7U);
	ASSERT_NE(gpu.runlist(3), nullptr);
	EXPECT_EQ(gpu.runlist(3)->err, -EIO);
}

TEST(Missing, ARunlistsEntriesAreNamed)
{
	tool::Image image = parse(without(hand(), "v 0x0001f0010"));
	tool::ProcText out = run(image, "runlist0");

	EXPECT_EQ(failures(out), "runlist 0: not recorded: v 0x0001f0010\n");
	EXPECT_EQ(out.text, "");
}

TEST(Missing, AnEntryCutInHalfIsNotReadAsZeros)
{
	std::string text = hand();
	std::string whole = "v 0x0001f0020 00000020 00000000 00301009 00000000\n";
	size_t at = text.find(whole);
	ASSERT_NE(at, std::string::npos);
	text.replace(at, whole.size(), "v 0x0001f0020 00000020 00000000 00301009\n");

	EXPECT_EQ(failures(run(parse(text), "runlist0")), "runlist 0: not recorded: v 0x0001f002c\n");
}

TEST(Missing, AChannelsStateLeavesTheOtherChannel)
{
	tool::Image image = parse(without(hand(), "r 0x00b0001c"));
	tool::ProcText out = run(image, "runlist0");

	EXPECT_EQ(failures(out), "runlist 0: not recorded: r 0x00b0001c\n");
	EXPECT_NE(out.text.find("  +- Channel Info 7    -+\n  | state unreadable    |\n"), std::string::npos)
		<< out.text;
	EXPECT_NE(out.text.find("+- Channel Info 9    -+\n| Enabled:           0|\n"), std::string::npos) << out.text;
	tool::Gpu gpu = tool::from_image(image, "x");
	std::vector<const tool::Channel *> channels = gpu.runlist(0)->channels();
	ASSERT_EQ(channels.size(), 2U);
	EXPECT_EQ(channels[0]->status(), "unreadable");
	EXPECT_EQ(channels[1]->status(), "idle");
}

TEST(Missing, AnInstanceBlockInSystemMemoryIsNamedBySpace)
{
	tool::ProcText out = run(parse(without(hand(), "s 0x000301200")), "runlist0");

	EXPECT_EQ(failures(out), "runlist 0: not recorded: s 0x000301200\n");
	EXPECT_NE(out.text.find("+- Channel Info 9 "), std::string::npos);
	EXPECT_NE(out.text.find("|           unreadable|\n"), std::string::npos);
}

TEST(Missing, ManyAddressesAreCounted)
{
	Live live("gp106", "bench-64");
	std::string text = without(live.image_text(), "r 0x0080"); // all of PCCSR up to channel 511
	tool::ProcText out = run(parse(text), "runlist0");

	// Each of 64 channels lacks its instance register; the second one is not asked for then.
	ASSERT_EQ(out.failures.size(), 1U);
	EXPECT_EQ(out.failures[0].missing.size(), 64U);
	EXPECT_NE(failures(out).find(" and 60 more\n"), std::string::npos) << failures(out);
}

TEST(Missing, AFuseLeavesEnginesAndCopyEngines)
{
	tool::Image image = parse(without(hand(), "r 0x00820c38"));
	tool::ProcText gpcs = run(image, "tpc_map");

	EXPECT_EQ(failures(gpcs), "gpcs: not recorded: r 0x00820c38\n");
	EXPECT_EQ(gpcs.text, "");
	tool::Gpu gpu = tool::from_image(image, "x");
	EXPECT_EQ(gpu.num_gpcs, 2U);
	EXPECT_FALSE(gpu.has_gpcs);
	EXPECT_TRUE(gpu.gpcs.empty());
	EXPECT_EQ(failures(run(image, "device_info")), "");
	EXPECT_EQ(failures(run(image, "copy_topology")), "");
	EXPECT_EQ(failures(tool::from_image(image, "x").runlist_failures), "");
}

TEST(Missing, ACopyEngineMapLeavesGpcs)
{
	tool::Image image = parse(without(hand(), "r 0x00104108"));

	EXPECT_EQ(failures(run(image, "copy_topology")), "copy: not recorded: r 0x00104108\n");
	EXPECT_EQ(run(image, "copy_topology").text, "");
	EXPECT_EQ(failures(run(image, "tpc_map")), "");
}

TEST(Missing, ADeviceTablesRowIsNamedByAllThatNeedsIt)
{
	tool::Image image = parse(without(hand(), "r 0x00022810"));

	EXPECT_EQ(failures(run(image, "device_info")), "engines: not recorded: r 0x00022810\n");
	EXPECT_EQ(failures(run(image, "runlist0")), "engines: not recorded: r 0x00022810\n");
	EXPECT_EQ(failures(tool::from_image(image, "x").runlist_failures), "engines: not recorded: r 0x00022810\n");
	EXPECT_EQ(failures(run(image, "chip")), "");
}

TEST(Missing, OnlyAChipLineStillGivesTheChip)
{
	tool::Image image = parse("gpulens-image 1\nchip boot0=0x162000a1\n");

	EXPECT_EQ(failures(run(image, "chip")), "");
	EXPECT_EQ(run(image, "chip").text.substr(0, 56), "Chip:         TU102 (0x162)\nArchitecture: Turing\nDevice:");
	EXPECT_EQ(failures(run(image, "device_info")),
		  "engines: not recorded: r 0x00022700, r 0x00022704, r 0x00022708, r 0x0002270c and 60 more\n");
}

TEST(Missing, AChipThatNobodyKnowsIsSaidToBe)
{
	tool::Image image = parse("gpulens-image 1\nchip boot0=0x1ff000a1\n");

	EXPECT_EQ(failures(run(image, "chip")), "chip: no chip that is known\n");
}

TEST(Missing, ARecordedErrorCodeIsNotCalledMissing)
{
	std::string text = hand() + "r 0x00c04080 0xbadf5040\n";

	EXPECT_EQ(failures(run(parse(text), "runlist3")),
		  "runlist 3: the words read are codes of failed reads or make no sense\n");
}

TEST(Missing, ARunlistThatTheChipHasNot)
{
	EXPECT_EQ(failures(run(parse(hand()), "runlist1")), "runlist 1: there is none\n");
}

TEST(Missing, JsonNamesItemErrorAndAddresses)
{
	tool::Gpu gpu = tool::from_image(parse(without(hand(), "r 0x00c04080")), "x");
	nlohmann::json errors = tool::errors_json(gpu.runlist_failures);
	nlohmann::json runlists = tool::runlists_json(gpu, 3);

	EXPECT_EQ(runlists[0]["error"], "EIO");
	EXPECT_EQ(errors.size(), 1U);
	EXPECT_EQ(errors[0]["item"], "runlist 3");
	EXPECT_EQ(errors[0]["error"], "EIO");
	EXPECT_EQ(errors[0]["missing"], nlohmann::json({"r 0x00c04080"}));
}

} // namespace
