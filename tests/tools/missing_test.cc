// SPDX-License-Identifier: GPL-2.0
// Images that lack words: an item that needs such a word is reported with its address, everything else is decoded.
#include "gpulens/out/gpu_json.hpp"
#include "gpulens/out/text.hpp"
#include "lib/source/image/from_image.hpp"
#include "lib/source/snapshot/snapshot.hpp"
#include "support/tools/recorded.hpp"
#include "support/tools/thrown.hpp"
#include "uapi/gpulens.h"

#include <cstring>

using namespace tool_test;

namespace {

std::string image_by_hand()
{
	return read_fixture("ga100-by-hand.image");
}

TEST(Missing, ARunlistsRegisterIsNamedAndTheOtherRunlistIsShown)
{
	tool::Image image = parse_valid(drop_lines(image_by_hand(), "r 0x00c04080"));

	EXPECT_EQ(list_failures(decode_file(image, "runlist3")), "runlist 3: not recorded: r 0x00c04080\n");
	EXPECT_EQ(decode_file(image, "runlist3").text, "");
	EXPECT_EQ(list_failures(decode_file(image, "runlist0")), "");
	tool::Gpu gpu = tool::from_image(image, "x");
	EXPECT_EQ(list_failures(gpu.runlist_failures), "runlist 3: not recorded: r 0x00c04080\n");
	ASSERT_NE(gpu.runlist(0), nullptr);
	EXPECT_EQ(gpu.runlist(0)->tsgs.at(0).channels.at(0).id, 7U);
	ASSERT_NE(gpu.runlist(3), nullptr);
	EXPECT_EQ(gpu.runlist(3)->err, -EIO);
	for (const char *unread : {"base", "target", "length", "pending"})
		EXPECT_EQ(tool::runlists_json(gpu, 3)[0][unread], nullptr) << unread;
}

TEST(Missing, ARunlistsEntriesAreNamed)
{
	tool::Image image = parse_valid(drop_lines(image_by_hand(), "v 0x0001f0010"));
	tool::ProcText out = decode_file(image, "runlist0");

	EXPECT_EQ(list_failures(out), "runlist 0: not recorded: v 0x0001f0010\n");
	EXPECT_EQ(out.text, "List: base 0x0000001f0000, target vid, entries 3, pending 0\n! entries not readable\n");
	tool::Gpu gpu = tool::from_image(image, "x");
	ASSERT_NE(gpu.runlist(0), nullptr);
	EXPECT_EQ(gpu.runlist(0)->err, -EIO);
	EXPECT_EQ(gpu.runlist(0)->length, 3U);
	EXPECT_EQ(gpu.runlist(0)->tsgs.size(), 0U);
	EXPECT_EQ(tool::runlists_json(gpu, 0)[0]["base"], "0x1f0000");
	EXPECT_EQ(tool::runlists_json(gpu, 0)[0]["target"], "vid");
	EXPECT_EQ(tool::runlists_json(gpu, 0)[0]["length"], 3);
	EXPECT_EQ(tool::runlists_json(gpu, 0)[0]["pending"], false);
	EXPECT_EQ(tool::runlists_json(gpu, 0)[0]["error"], "EIO");
}

TEST(Missing, AnEntryCutInHalfIsNotReadAsZeros)
{
	std::string text = image_by_hand();
	std::string whole = "v 0x0001f0020 00000020 00000000 00301009 00000000\n";
	size_t at = text.find(whole);
	ASSERT_NE(at, std::string::npos);
	text.replace(at, whole.size(), "v 0x0001f0020 00000020 00000000 00301009\n");

	EXPECT_EQ(list_failures(decode_file(parse_valid(text), "runlist0")),
		  "runlist 0: not recorded: v 0x0001f002c\n");
}

TEST(Missing, AChannelWithoutStateDoesNotAffectTheOther)
{
	tool::Image image = parse_valid(drop_lines(image_by_hand(), "r 0x00b0001c"));
	tool::ProcText out = decode_file(image, "runlist0");

	EXPECT_EQ(list_failures(out), "runlist 0: not recorded: r 0x00b0001c\n");
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
	tool::ProcText out = decode_file(parse_valid(drop_lines(image_by_hand(), "s 0x000301200")), "runlist0");

	EXPECT_EQ(list_failures(out), "runlist 0: not recorded: s 0x000301200\n");
	EXPECT_NE(out.text.find("+- Channel Info 9 "), std::string::npos);
	EXPECT_NE(out.text.find("|           unreadable|\n"), std::string::npos);
}

TEST(Missing, ManyAddressesAreCounted)
{
	Live live("gp106", "bench-64");
	std::string text = drop_lines(live.image_text(), "r 0x0080"); // all of PCCSR up to channel 511
	tool::ProcText out = decode_file(parse_valid(text), "runlist0");

	// Each of 64 channels lacks its instance register; its second register is not read then.
	ASSERT_EQ(out.failures.size(), 1U);
	EXPECT_EQ(out.failures[0].missing.size(), 64U);
	EXPECT_NE(list_failures(out).find(" and 60 more\n"), std::string::npos) << list_failures(out);
}

TEST(Missing, AMissingFuseDoesNotAffectEngines)
{
	tool::Image image = parse_valid(drop_lines(image_by_hand(), "r 0x00820c38"));
	tool::ProcText gpcs = decode_file(image, "tpc_map");

	EXPECT_EQ(list_failures(gpcs), "gpcs: not recorded: r 0x00820c38\n");
	EXPECT_EQ(gpcs.text, "");
	tool::Gpu gpu = tool::from_image(image, "x");
	EXPECT_EQ(gpu.num_gpcs, 2U);
	EXPECT_FALSE(gpu.has_gpcs);
	EXPECT_TRUE(gpu.gpcs.empty());
	EXPECT_EQ(list_failures(decode_file(image, "device_info")), "");
	EXPECT_EQ(list_failures(decode_file(image, "copy_topology")), "");
	EXPECT_EQ(list_failures(tool::from_image(image, "x").runlist_failures), "");
}

TEST(Missing, AMissingCopyEngineMapDoesNotAffectGpcs)
{
	tool::Image image = parse_valid(drop_lines(image_by_hand(), "r 0x00104108"));

	EXPECT_EQ(list_failures(decode_file(image, "copy_topology")), "copy: not recorded: r 0x00104108\n");
	EXPECT_EQ(decode_file(image, "copy_topology").text, "");
	EXPECT_EQ(list_failures(decode_file(image, "tpc_map")), "");
}

TEST(Missing, EveryItemThatNeedsADeviceTablesRowNamesIt)
{
	tool::Image image = parse_valid(drop_lines(image_by_hand(), "r 0x00022810"));

	EXPECT_EQ(list_failures(decode_file(image, "device_info")), "engines: not recorded: r 0x00022810\n");
	EXPECT_EQ(list_failures(decode_file(image, "runlist0")), "engines: not recorded: r 0x00022810\n");
	EXPECT_EQ(list_failures(tool::from_image(image, "x").runlist_failures),
		  "engines: not recorded: r 0x00022810\n");
	EXPECT_EQ(list_failures(decode_file(image, "chip")), "");
}

TEST(Missing, OnlyAChipLineStillGivesTheChip)
{
	tool::Image image = parse_valid("gpulens-image 1\nchip boot0=0x162000a1\n");

	EXPECT_EQ(list_failures(decode_file(image, "chip")), "");
	EXPECT_EQ(decode_file(image, "chip").text.substr(0, 56),
		  "Chip:         TU102 (0x162)\nArchitecture: Turing\nDevice:");
	EXPECT_EQ(list_failures(decode_file(image, "device_info")),
		  "engines: not recorded: r 0x00022700, r 0x00022704, r 0x00022708, r 0x0002270c and 60 more\n");
}

TEST(Missing, AnUnknownChipIsReported)
{
	tool::Image image = parse_valid("gpulens-image 1\nchip boot0=0x1ff000a1\n");

	EXPECT_EQ(list_failures(decode_file(image, "chip")), "chip: unknown chip\n");
}

TEST(Missing, ARecordedErrorCodeIsNotReportedAsMissing)
{
	std::string text = image_by_hand() + "r 0x00c04080 0xbadf5040\n";

	EXPECT_EQ(list_failures(decode_file(parse_valid(text), "runlist3")),
		  "runlist 3: the words read are error codes of failed reads, or inconsistent\n");
}

// Images of modules that recorded neither the state of engines nor bars.
TEST(Missing, AnOlderImageLeavesEnginesUnknownAndBarsNotRecorded)
{
	tool::Gpu gpu = tool::from_image(parse_valid(image_by_hand()), "x");

	ASSERT_FALSE(gpu.engines.empty());
	for (const tool::Engine &e : gpu.engines)
		EXPECT_TRUE(e.runlist == LENS_NONE ? e.now->text() == "-" : !e.now) << e.name;
	EXPECT_NE(tool::engines_text(gpu, {}).find("  unknown\n"), std::string::npos);
	EXPECT_EQ(tool::engines_json(gpu)[0]["now"], nullptr);
	EXPECT_EQ(list_failures(gpu.engine_failures), "");
	tool::ProcText bars = decode_file(parse_valid(image_by_hand()), "bars");
	EXPECT_EQ(bars.text, "");
	EXPECT_EQ(list_failures(bars), "bars: not recorded: r 0x00b80f40, r 0x00b80f48\n");
}

// One of two status registers: the TSG is known, the channel is not.
TEST(Missing, AnEnginesMissingSecondRegisterIsNotZero)
{
	Live live("ga100", "demo-ga100");
	std::string text = live.image_text();
	tool::Gpu whole = tool::from_image(parse_valid(text), "x");
	ASSERT_TRUE(whole.engines[0].now);
	EXPECT_EQ(whole.engines[0].now->state, LENS_ENGINE_ON);
	u32 reg[2];
	ASSERT_EQ(lens_engine_get_regs(live.chip.gpu.get(), &live.chip.topo().engines[0], reg), 2u);
	char line[16];
	std::snprintf(line, sizeof(line), "r 0x%08x", reg[1]);
	EXPECT_FALSE(tool::from_image(parse_valid(drop_lines(text, line)), "x").engines[0].now);
	// With an error word in the second one, the TSG is known and the channel is not.
	tool::Gpu half = tool::from_image(parse_valid(text + line + " 0xbadf5040\n"), "x");
	ASSERT_TRUE(half.engines[0].now);
	EXPECT_EQ(half.engines[0].now->text(), whole.engines[0].now->text());
	EXPECT_EQ(half.engines[0].now->channel, LENS_NONE);
	std::snprintf(line, sizeof(line), "r 0x%08x", reg[0]);
	tool::Gpu none = tool::from_image(parse_valid(text + line + " 0xbadf5040\n"), "x");
	ASSERT_TRUE(none.engines[0].now);
	EXPECT_EQ(none.engines[0].now->text(), "unreadable");
	EXPECT_EQ(tool::engines_json(none)[0]["now"]["error"], "EIO");
}

template <class Record> void append_record(std::string &bytes, const Record &r)
{
	static_assert(sizeof(r) == GPULENS_RECORD_BYTES);
	bytes.append(reinterpret_cast<const char *>(&r), sizeof(r));
}

// include/uapi/gpulens.h: the state of engines came with version 2, and ENGINE_NOW names its engine by number.
TEST(Missing, ASnapshotHasTheStateOfEnginesFromVersion2On)
{
	auto bytes = [](bool with_now, u16 engine) {
		std::string b;
		append_record(b, gpulens_header{.magic = GPULENS_MAGIC,
						.version = u16(with_now ? 2 : 1),
						.record_bytes = GPULENS_RECORD_BYTES,
						.records = with_now ? 3u : 2u});
		gpulens_chip chip{.type = GPULENS_RECORD_CHIP, .chip_id = 0x164};
		std::strcpy(chip.name, "TU104");
		append_record(b, chip);
		append_record(b, gpulens_engine{.type = GPULENS_RECORD_ENGINE, .runlist = 0});
		if (with_now)
			append_record(b, gpulens_engine_now{.type = GPULENS_RECORD_ENGINE_NOW,
							    .engine = engine,
							    .kind = GPULENS_SAMPLE_SWITCH,
							    .flags = GPULENS_SAMPLE_BUSY | GPULENS_SAMPLE_BARE_CHANNEL,
							    .id = 12,
							    .channel = 12});
		return b;
	};

	EXPECT_FALSE(tool::from_snapshot(bytes(false, 0), "x").engines.at(0).now);
	tool::Gpu gpu = tool::from_snapshot(bytes(true, 0), "x");
	ASSERT_TRUE(gpu.engines.at(0).now);
	EXPECT_EQ(gpu.engines[0].now->text(), "channel 12 (switching)");
	EXPECT_TRUE(gpu.engines[0].now->busy);
	EXPECT_EQ(tool::engines_json(gpu)[0]["now"]["tsg"], nullptr);
	EXPECT_EQ(tool::engines_json(gpu)[0]["now"]["channel"], 12);
	EXPECT_EQ(code_of([&] { tool::from_snapshot(bytes(true, 1), "x"); }), tool::Error::Source);
}

TEST(Missing, FilesThatImagesLackHaveAReason)
{
	for (const char *name : {"snapshot", "stats", "samples", "disable_channel", "enable_channel", "hold_channel",
				 "preempt_tsg", "switch_to_tsg", "tsg_timeslice", "preempt_runlist", "resubmit_runlist",
				 "wfi_preempt_channel", "cta_preempt_channel", "cil_preempt_channel"}) {
		EXPECT_TRUE(tool::is_proc_file(name)) << name;
		tool::ProcText out = decode_file(parse_valid(image_by_hand()), name);
		EXPECT_EQ(out.text, "") << name;
		ASSERT_EQ(out.failures.size(), 1U) << name;
		EXPECT_FALSE(out.failures[0].reason.empty()) << name;
	}
	EXPECT_EQ(list_failures(decode_file(parse_valid(image_by_hand()), "preempt_tsg")),
		  "preempt_tsg: it is for writing to a GPU, and an image is read-only\n");
	for (const char *name :
	     {"gpc_tpc_mask", "gpcx_tpc_mask", "gpc1_tpc_maskx", "lce_for_pce", "runlist", "images", ""})
		EXPECT_FALSE(tool::is_proc_file(name)) << name;
	EXPECT_EQ(list_failures(decode_file(parse_valid(image_by_hand()), "gpc31_tpc_mask")),
		  "gpc31_tpc_mask: it does not exist\n");
	EXPECT_EQ(list_failures(decode_file(parse_valid(image_by_hand()), "lce_for_pce31")),
		  "lce_for_pce31: it does not exist\n");
	EXPECT_EQ(list_failures(decode_file(parse_valid(image_by_hand()), "shared_lce_for_grce9")),
		  "shared_lce_for_grce9: it does not exist\n");
}

TEST(Missing, ARunlistThatTheChipLacks)
{
	EXPECT_EQ(list_failures(decode_file(parse_valid(image_by_hand()), "runlist1")),
		  "runlist 1: it does not exist\n");
}

TEST(Missing, JsonNamesItemErrorAndAddresses)
{
	tool::Gpu gpu = tool::from_image(parse_valid(drop_lines(image_by_hand(), "r 0x00c04080")), "x");
	nlohmann::json errors = tool::errors_json(gpu.runlist_failures);
	nlohmann::json runlists = tool::runlists_json(gpu, 3);

	EXPECT_EQ(runlists[0]["error"], "EIO");
	EXPECT_EQ(errors.size(), 1U);
	EXPECT_EQ(errors[0]["item"], "runlist 3");
	EXPECT_EQ(errors[0]["error"], "EIO");
	EXPECT_EQ(errors[0]["missing"], nlohmann::json({"r 0x00c04080"}));
}

} // namespace
