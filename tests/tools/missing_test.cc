// SPDX-License-Identifier: GPL-2.0
// Images that lack words: the item that needs one is reported with its address, everything else is decoded as ever.
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

	EXPECT_EQ(failures(run(image, tool::What::Runlist, 3)), "runlist 3: not recorded: r 0x00c04080\n");
	EXPECT_EQ(run(image, tool::What::Runlist, 3).text, "");
	EXPECT_EQ(failures(run(image, tool::What::Runlist, 0)), "");
	tool::Output channels = run(image, tool::What::Channels);
	EXPECT_EQ(failures(channels), "runlist 3: not recorded: r 0x00c04080\n");
	EXPECT_NE(channels.text.find("      0    5    7       1"), std::string::npos);
}

TEST(Missing, ARunlistsEntriesAreNamed)
{
	tool::Image image = parse(without(hand(), "v 0x0001f0010"));
	tool::Output out = run(image, tool::What::Runlist, 0);

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

	EXPECT_EQ(failures(run(parse(text), tool::What::Runlist, 0)), "runlist 0: not recorded: v 0x0001f002c\n");
}

TEST(Missing, AChannelsStateLeavesTheOtherChannel)
{
	tool::Image image = parse(without(hand(), "r 0x00b0001c"));
	tool::Output out = run(image, tool::What::Runlist, 0);

	EXPECT_EQ(failures(out), "runlist 0: not recorded: r 0x00b0001c\n");
	EXPECT_NE(out.text.find("  +- Channel Info 7    -+\n  | state unreadable    |\n"), std::string::npos)
		<< out.text;
	EXPECT_NE(out.text.find("+- Channel Info 9    -+\n| Enabled:           0|\n"), std::string::npos) << out.text;
	EXPECT_EQ(run(image, tool::What::Channels).text,
		  "Runlist  TSG   Id Enabled Runqueue Instance       Target   Status\n"
		  "      0    5    7       -        1 0x000000201000 vid      unreadable\n"
		  "      0    -    9       0        0 0x000000301000 sys coh  idle\n");
}

TEST(Missing, AnInstanceBlockInSystemMemoryIsNamedBySpace)
{
	tool::Output out = run(parse(without(hand(), "s 0x000301200")), tool::What::Runlist, 0);

	EXPECT_EQ(failures(out), "runlist 0: not recorded: s 0x000301200\n");
	EXPECT_NE(out.text.find("+- Channel Info 9 "), std::string::npos);
	EXPECT_NE(out.text.find("|           unreadable|\n"), std::string::npos);
}

TEST(Missing, ManyAddressesAreCounted)
{
	Live live("gp106", "bench-64");
	std::string text = without(live.image_text(), "r 0x0080"); // all of PCCSR up to channel 511
	tool::Output out = run(parse(text), tool::What::Runlist, 0);

	// Each of 64 channels lacks its instance register; the second one is not asked for then.
	ASSERT_EQ(out.failures.size(), 1U);
	EXPECT_EQ(out.failures[0].missing.size(), 64U);
	EXPECT_NE(failures(out).find(" and 60 more\n"), std::string::npos) << failures(out);
}

TEST(Missing, AFuseLeavesEnginesAndCopyEngines)
{
	tool::Image image = parse(without(hand(), "r 0x00820c38"));
	tool::Output gpcs = run(image, tool::What::Gpcs);

	EXPECT_EQ(failures(gpcs), "gpcs: not recorded: r 0x00820c38\n");
	EXPECT_EQ(gpcs.text, "num_gpcs: 0x2\nnum_tpc_per_gpc: 0x4\n");
	EXPECT_EQ(failures(run(image, tool::What::Engines)), "");
	EXPECT_EQ(failures(run(image, tool::What::Copy)), "");
	EXPECT_EQ(failures(run(image, tool::What::Channels)), "");
}

TEST(Missing, ACopyEngineMapLeavesGpcs)
{
	tool::Image image = parse(without(hand(), "r 0x00104108"));

	EXPECT_EQ(failures(run(image, tool::What::Copy)), "copy: not recorded: r 0x00104108\n");
	EXPECT_EQ(run(image, tool::What::Copy).text, "");
	EXPECT_EQ(failures(run(image, tool::What::Gpcs)), "");
}

TEST(Missing, ADeviceTablesRowIsNamedByAllThatNeedsIt)
{
	tool::Image image = parse(without(hand(), "r 0x00022810"));

	EXPECT_EQ(failures(run(image, tool::What::Engines)), "engines: not recorded: r 0x00022810\n");
	EXPECT_EQ(failures(run(image, tool::What::Runlist, 0)), "engines: not recorded: r 0x00022810\n");
	EXPECT_EQ(failures(run(image, tool::What::Channels)), "engines: not recorded: r 0x00022810\n");
	EXPECT_EQ(failures(run(image, tool::What::Chip)), "");
}

TEST(Missing, OnlyAChipLineStillGivesTheChip)
{
	tool::Image image = parse("gpulens-image 1\nchip boot0=0x162000a1\n");

	EXPECT_EQ(failures(run(image, tool::What::Chip)), "");
	EXPECT_EQ(run(image, tool::What::Chip).text.substr(0, 56),
		  "Chip:         TU102 (0x162)\nArchitecture: Turing\nDevice:");
	EXPECT_EQ(failures(run(image, tool::What::Engines)),
		  "engines: not recorded: r 0x00022700, r 0x00022704, r 0x00022708, r 0x0002270c and 60 more\n");
}

TEST(Missing, AChipThatNobodyKnowsIsSaidToBe)
{
	tool::Image image = parse("gpulens-image 1\nchip boot0=0x1ff000a1\n");

	EXPECT_EQ(failures(run(image, tool::What::Chip)), "chip: no chip that is known\n");
}

TEST(Missing, ARecordedErrorCodeIsNotCalledMissing)
{
	std::string text = hand() + "r 0x00c04080 0xbadf5040\n";

	EXPECT_EQ(failures(run(parse(text), tool::What::Runlist, 3)),
		  "runlist 3: the recorded words are codes of failed reads or make no sense\n");
}

TEST(Missing, ARunlistThatTheChipHasNot)
{
	EXPECT_EQ(failures(run(parse(hand()), tool::What::Runlist, 1)), "runlist 1: there is none\n");
}

TEST(Missing, JsonNamesItemErrorAndAddresses)
{
	tool::Image image = parse(without(hand(), "r 0x00c04080"));
	tool::Decoder d(image);
	nlohmann::json j = nlohmann::json::parse(tool::json_output(d, {tool::What::Runlist, 3}).text);

	EXPECT_EQ(j["runlist"], nullptr);
	EXPECT_EQ(j["errors"].size(), 1U);
	EXPECT_EQ(j["errors"][0]["item"], "runlist 3");
	EXPECT_EQ(j["errors"][0]["error"], "EIO");
	EXPECT_EQ(j["errors"][0]["missing"], nlohmann::json({"r 0x00c04080"}));
}

} // namespace
