// SPDX-License-Identifier: GPL-2.0
// Valid images: their content, lines that override others, and the decoded content of one written by hand.
#include "gpulens/out/gpu_json.hpp"
#include "gpulens/out/text.hpp"
#include "lib/source/image/from_image.hpp"
#include "support/tools/recorded.hpp"

using namespace tool_test;

namespace {

const char HEAD[] = "gpulens-image 1\nchip boot0=0x136000a1\n";

TEST(Image, HoldsEveryKindOfLine)
{
	tool::Image i = parse_valid("gpulens-image 1\n"
				    "chip boot0=0x136000a1 boot42=0x13600000 # GP106\n"
				    "pci 0000:01:00.0 0x10de:0x1c02\n"
				    "\n"
				    "# a comment\n"
				    "r 0x00022700 0x4000007f\n"
				    "v 0x0001f0000 00000f01 80020000\n"
				    "s 0x7f3c01000 00000F02 0x3\n"
				    "b1 0x00200000 00000f04\n"
				    "\tb2 0x00200004\t00000f05 # words\n");

	EXPECT_EQ(i.boot0, 0x136000a1U);
	EXPECT_EQ(i.boot42, 0x13600000U);
	EXPECT_EQ(i.pci_address, "0000:01:00.0");
	EXPECT_EQ(i.pci_vendor, 0x10deU);
	EXPECT_EQ(i.pci_device, 0x1c02U);
	EXPECT_EQ(i.regs.find(0x22700), 0x4000007fU);
	EXPECT_EQ(i.vid.find(0x1f0000), 0xf01U);
	EXPECT_EQ(i.vid.find(0x1f0004), 0x80020000U);
	EXPECT_EQ(i.sys.find(0x7f3c01000), 0xf02U);
	EXPECT_EQ(i.sys.find(0x7f3c01004), 3U);
	EXPECT_EQ(i.bar1.find(0x200000), 0xf04U);
	EXPECT_EQ(i.bar2.find(0x200004), 0xf05U);
}

TEST(Image, AnAbsentWordIsNotZero)
{
	tool::Image i = parse_valid(std::string(HEAD) + "r 0x00000100 0x00000000\nv 0x1000 00000000\n");

	EXPECT_EQ(i.regs.find(0x100), 0U);
	EXPECT_EQ(i.regs.find(0x104), std::nullopt);
	EXPECT_EQ(i.regs.find(0xfc), std::nullopt);
	EXPECT_EQ(i.vid.find(0x1000), 0U);
	EXPECT_EQ(i.vid.find(0x1004), std::nullopt);
	EXPECT_EQ(i.vid.find(0xffc), std::nullopt);
	EXPECT_EQ(i.sys.find(0x1000), std::nullopt);
}

TEST(Image, TheLastLineOfAnAddressApplies)
{
	tool::Image i = parse_valid(std::string(HEAD) +
				    "r 0x00000100 0x00000001\nr 0x00000104 0x00000009\nr 0x00000100 0x00000002\n"
				    "v 0x1000 00000001 00000002 00000003 00000004\n"
				    "v 0x1004 0000000a 0000000b\n"
				    "v 0x0ffc 00000000 00000007\n");

	EXPECT_EQ(i.regs.find(0x100), 2U);
	EXPECT_EQ(i.regs.find(0x104), 9U);
	EXPECT_EQ(i.regs.size(), 3U); // with BOOT_0
	EXPECT_EQ(i.vid.find(0xffc), 0U);
	EXPECT_EQ(i.vid.find(0x1000), 7U);
	EXPECT_EQ(i.vid.find(0x1004), 0xaU);
	EXPECT_EQ(i.vid.find(0x1008), 0xbU);
	EXPECT_EQ(i.vid.find(0x100c), 4U);
	EXPECT_EQ(i.vid.size(), 5U);
}

TEST(Image, TheLastAddressIsNotFollowedByTheFirst)
{
	tool::Image i = parse_valid(std::string(HEAD) + "v 0xfffffffffffffffc 00000001\nv 0x0 00000002\n");

	EXPECT_EQ(i.vid.find(~uint64_t{3}), 1U);
	EXPECT_EQ(i.vid.find(0), 2U);
}

TEST(Image, AChipLineReplacesTheRegister)
{
	EXPECT_EQ(parse_valid(HEAD).regs.find(0), 0x136000a1U);
	EXPECT_EQ(parse_valid("gpulens-image 1\nr 0x00000000 0x136000a1\n").regs.find(0), 0x136000a1U);
}

TEST(Image, ReadsWindowsLineEnds)
{
	EXPECT_EQ(
		parse_valid("gpulens-image 1\r\nchip boot0=0x136000a1\r\nr 0x00000100 0x00000005\r\n").regs.find(0x100),
		5U);
}

TEST(Image, IsWrittenSortedAndEightWordsToALine)
{
	tool::Image i = parse_valid(
		"gpulens-image 1\n"
		"v 0x2000 00000001 00000002 00000003 00000004 00000005 00000006 00000007 00000008 00000009\n"
		"r 0x00000104 0x00000002\nr 0x00000100 0x00000001\n"
		"pci 0000:01:00.0 0x10de:0x1c02\nchip boot0=0x136000a1\n");

	EXPECT_EQ(tool::write_image(i),
		  "gpulens-image 1\n"
		  "chip boot0=0x136000a1\n"
		  "pci 0000:01:00.0 0x10de:0x1c02\n"
		  "r 0x00000000 0x136000a1\n"
		  "r 0x00000100 0x00000001\n"
		  "r 0x00000104 0x00000002\n"
		  "v 0x000002000 00000001 00000002 00000003 00000004 00000005 00000006 00000007 00000008\n"
		  "v 0x000002020 00000009\n");
}

tool::Gpu by_hand()
{
	return tool::from_image(parse_valid(read_fixture("ga100-by-hand.image")), "by-hand");
}

TEST(ByHand, ChipIsGA100)
{
	tool::ProcText out = decode_file(parse_valid(read_fixture("ga100-by-hand.image")), "chip");

	EXPECT_EQ(list_failures(out), "");
	EXPECT_EQ(out.text.substr(0, out.text.find("Ids:")), "Chip:         GA100 (0x170)\n"
							     "Architecture: Ampere\n"
							     "Device:       0000:41:00.0\n"
							     "BOOT_0:       0x170000a1\n"
							     "Revision:     A1\n");
}

TEST(ByHand, EnginesAreTheThreeOfTheTable)
{
	tool::ProcText out = decode_file(parse_valid(read_fixture("ga100-by-hand.image")), "device_info");

	EXPECT_EQ(list_failures(out), "");
	EXPECT_EQ(
		out.text,
		"Engine                                        Type Inst Runlist Engine Intr Reset Fault  Registers "
		"Runlist at\n"
		"Graphics/Compute 0                            0x00    0       0      0    -    12    64   0x400000   "
		"0xc00000\n"
		"[Graphics] Copy Engine 1 (GRCE1/LCE1)         0x13    1       0      1    -     6    34   0x104000   "
		"0xc00000\n"
		"Copy Engine 2 (LCE2)                          0x13    2       3      5    -     6    33   0x104000   "
		"0xc04000\n");
}

TEST(ByHand, CopyEnginesShareTheirPces)
{
	tool::ProcText out = decode_file(parse_valid(read_fixture("ga100-by-hand.image")), "copy_topology");

	EXPECT_EQ(list_failures(out), "");
	EXPECT_EQ(out.text, "GRCE1 -> LCE02 (PCE00 PCE02)\nLCE02 -> PCE00 PCE02\n");
}

TEST(ByHand, GpcsHaveSevenTpcs)
{
	tool::ProcText out = decode_file(parse_valid(read_fixture("ga100-by-hand.image")), "tpc_map");
	tool::Gpu gpu = by_hand();

	EXPECT_EQ(list_failures(out), "");
	EXPECT_EQ(out.text, "! assumed: GPC by GPC, which no manual publishes for this chip\n"
			    "gpc 0: 0x07\ngpc 1: 0x78\n");
	EXPECT_EQ(gpu.num_gpcs, 2U);
	EXPECT_EQ(gpu.num_tpc_per_gpc, 4U);
	EXPECT_EQ(gpu.gpc_mask, 0U);
	ASSERT_EQ(gpu.gpcs.size(), 2U);
	EXPECT_EQ(gpu.gpcs[0].tpc_mask, 2U);
	EXPECT_EQ(gpu.gpcs[0].tpcs, 3U);
	EXPECT_EQ(gpu.gpcs[1].first_tpc, 3U);
}

TEST(ByHand, OneChannelIsInATsgAndOneOutside)
{
	tool::Gpu gpu = by_hand();

	EXPECT_EQ(list_failures(gpu.runlist_failures), "");
	EXPECT_EQ(tool::channels_text(gpu, {}),
		  "GA100 (Ampere), 0000:41:00.0, from by-hand\n"
		  "Runlist  TSG  Channel  State  Status        Enabled  Busy  Runqueue  Instance  Aperture  Flags\n"
		  "      0    5        7  runs   on pbdma+eng  yes      yes          1  0x201000  vid       -\n"
		  "      0    -        9  off    idle          -        -            0  0x301000  sys coh   -\n");
}

// The fixture was written before the core read ENGINE_STATUS1 (0x204 of a runlist's registers).
TEST(ByHand, InterruptIdsThatAnOlderImageLacksAreUnknown)
{
	tool::Gpu gpu = by_hand();
	tool::Gpu with =
		tool::from_image(parse_valid(read_fixture("ga100-by-hand.image") + "r 0x00c00204 0x00070000\n"), "x");

	EXPECT_EQ(list_failures(gpu.engine_failures), "");
	EXPECT_EQ(gpu.engines.at(0).intr, -1);
	EXPECT_EQ(with.engines.at(0).intr, 7);
	EXPECT_EQ(with.engines.at(1).intr, -1);
}

TEST(ByHand, RunlistThreeIsEmpty)
{
	EXPECT_EQ(decode_file(parse_valid(read_fixture("ga100-by-hand.image")), "runlist3").text,
		  "List: base 0x000000000000, target vid, entries 0, pending 0\n! empty\n");
}

TEST(ByHand, RunlistZeroAsJson)
{
	tool::Gpu gpu = by_hand();
	nlohmann::json g = tool::gpu_json(gpu), j = {{"runlist", tool::runlists_json(gpu, 0).at(0)}};

	EXPECT_EQ(g["chip"]["name"], "GA100");
	EXPECT_EQ(g["chip"]["memory_bytes"], nullptr);
	EXPECT_EQ(g["gpu"], nullptr);
	EXPECT_EQ(g["device"], "0000:41:00.0");
	EXPECT_EQ(j["runlist"]["base"], "0x1f0000");
	EXPECT_EQ(j["runlist"]["length"], 3);
	EXPECT_EQ(j["runlist"]["tsgs"].size(), 1U);
	EXPECT_EQ(j["runlist"]["tsgs"][0]["id"], 5);
	EXPECT_EQ(j["runlist"]["tsgs"][0]["timeslice_ns"], 1048576);
	const nlohmann::json &c = j["runlist"]["tsgs"][0]["channels"][0];
	EXPECT_EQ(c["id"], 7);
	EXPECT_EQ(c["runqueue"], 1);
	EXPECT_EQ(c["instance"], "0x201000");
	EXPECT_EQ(c["state"]["enabled"], true);
	EXPECT_EQ(c["state"]["status_name"], "on pbdma+eng");
	EXPECT_EQ(c["context"]["page_directory"], "0x500000");
	EXPECT_EQ(c["context"]["veid"], 3);
	EXPECT_EQ(c["context"]["compute_preemption"], 1);
	EXPECT_EQ(c["context"]["saves_wfi"], 4);
	const nlohmann::json &outside = j["runlist"]["channels_outside"][0];
	EXPECT_EQ(outside["id"], 9);
	EXPECT_EQ(outside["tsg"], nullptr);
	EXPECT_EQ(outside["instance_target"], "sys coh");
	EXPECT_EQ(outside["context"]["image_error"], "ENOENT");
}

TEST(ByHand, EnginesAndCopyAsJson)
{
	tool::Gpu gpu = by_hand();
	nlohmann::json e = {{"engines", tool::engines_json(gpu)}}, c = {{"copy", tool::copy_json(gpu)}},
		       g = {{"gpcs", tool::gpcs_json(gpu)}};

	ASSERT_EQ(e["engines"].size(), 3U);
	EXPECT_EQ(e["engines"][1]["name"], "[Graphics] Copy Engine 1 (GRCE1/LCE1)");
	EXPECT_EQ(e["engines"][1]["interrupt"], nullptr);
	EXPECT_EQ(e["engines"][2]["runlist"], 3);
	EXPECT_EQ(e["engines"][2]["registers"], "0x104000");
	EXPECT_EQ(c["copy"]["engines"][0]["shares_lce"], 2);
	EXPECT_EQ(c["copy"]["engines"][0]["pces"], nlohmann::json({0, 2}));
	EXPECT_EQ(g["gpcs"]["gpcs"][0]["tpc_mask"], "0x2");
	EXPECT_EQ(g["gpcs"]["gpcs"][1]["first_tpc"], 3);
}

// ampere/ga100/dev_runlist.ref.txt: ENGINE_STATUS0(i) 0x200 + 64 i: TSGID 11:0, CTX_STATUS 15:13 (1 VALID, 5 SAVE, 6 LOAD),
// NEXT_TSGID 27:16, ENG_RELOAD 29, ENGINE 31; ENGINE_STATUS_CHANNEL(i, 0) 0x208 + 64 i: CHID 11:0, VALID 15, NEXT_CHID
// 27:16, NEXT_VALID 31. Graphics and GRCE1 are engines 0 and 1 of runlist 0, LCE2 is engine 0 of runlist 3.
TEST(ByHand, EnginesShowTheTsgsOfTheirRegisters)
{
	tool::Gpu gpu = tool::from_image(parse_valid(read_fixture("ga100-by-hand.image") + "r 0x00c00200 0x80002005\n"
											   "r 0x00c00208 0x00008007\n"
											   "r 0x00c00240 0x0000a005\n"
											   "r 0x00c00248 0x00000000\n"
											   "r 0x00c04200 0x2009c000\n"
											   "r 0x00c04208 0x80040000\n"),
					 "by-hand");
	nlohmann::json e = tool::engines_json(gpu);

	ASSERT_EQ(gpu.engines.size(), 3U);
	EXPECT_EQ(gpu.engines[0].now->text(), "TSG 5");
	EXPECT_EQ(gpu.engines[1].now->text(), "TSG 5 (saving)");
	EXPECT_EQ(gpu.engines[2].now->text(), "TSG 9 (loading)");
	EXPECT_EQ(e[0]["now"], nlohmann::json({{"error", nullptr},
					       {"state", "on"},
					       {"tsg", 5},
					       {"channel", 7},
					       {"busy", true},
					       {"faulted", false},
					       {"reload", false}}));
	EXPECT_EQ(e[1]["now"]["channel"], nullptr);
	EXPECT_EQ(e[1]["now"]["busy"], false);
	EXPECT_EQ(e[2]["now"]["state"], "loading");
	EXPECT_EQ(e[2]["now"]["tsg"], 9);
	EXPECT_EQ(e[2]["now"]["channel"], 4);
	EXPECT_EQ(e[2]["now"]["reload"], true);
	EXPECT_NE(tool::overview_text(gpu, {}).find("runlist 0  GR0 [TSG 5], GRCE1/LCE1 [TSG 5 (saving)]\n"),
		  std::string::npos);
	EXPECT_NE(tool::engines_text(gpu, {}).find("  TSG 9 (loading)\n"), std::string::npos);
}

} // namespace
