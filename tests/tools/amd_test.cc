// SPDX-License-Identifier: GPL-2.0
// Parsers of the files of the kernel's driver for AMD GPUs. The texts are in the formats of torvalds/linux,
// drivers/gpu/drm/amd/amdkfd (see the headers of tools/lib/amd); tests/cli/test_amd.py has whole files.
#include "lib/amd/hqds.hpp"
#include "lib/amd/kfd_text.hpp"
#include "lib/amd/mqd.hpp"
#include "lib/amd/mqds.hpp"
#include "lib/amd/runlist.hpp"

#include <gtest/gtest.h>

namespace {

using namespace tool;
using namespace tool::amd;

template <typename F> std::string refusal_of(F f)
{
	try {
		f();
	} catch (const Error &e) {
		return e.what();
	}
	return "";
}

// A text of the driver's: 40 bytes at offset 0.
const char *const DUMP = "  00000000: c0310800 00000001 00000002 00000003 00000004 00000005 00000006 00000007\n"
			 "  00000020: 00000008 ffffffff\n";

// Seen failing with any characters as the indent.
TEST(KfdText, ADumpIsWordsInOrder)
{
	KfdText text("f", std::string(DUMP) + DUMP + "end\n");

	EXPECT_EQ(text.take_dump(4), std::vector<u32>());
	EXPECT_EQ(KfdText("f", "xx00000000: 00000001\n").take_dump(2), std::vector<u32>());
	EXPECT_EQ(text.take_dump(2), (std::vector<u32>{0xc0310800, 1, 2, 3, 4, 5, 6, 7, 8, 0xffffffff}));
	EXPECT_EQ(text.number(), 3);
	EXPECT_EQ(text.take_dump(2).size(), 10);
	EXPECT_EQ(text.line(), "end");
	EXPECT_EQ(refusal_of([&] { text.refuse("why"); }), "f:5: why");
}

// Seen failing with 7 digits accepted.
TEST(KfdText, AWordHasEightDigits)
{
	for (const char *words : {" 0000001", " 000000011", "  00000001", " 0000000g", " 00000001 "})
		EXPECT_EQ(refusal_of([&] { KfdText("f", std::string("  00000000:") + words + "\n").take_dump(2); }),
			  "f:1: expected up to 8 words of 8 hexadecimal digits; the line may be cut off")
			<< words;
	EXPECT_EQ(refusal_of([] { KfdText("f", "a\nb"); }), "f:2: the line has no end; the file was cut off");
}

// seq_reg_dump() begins a row wherever an address does not follow. Seen failing with the gap refused.
TEST(KfdText, RegistersMayHaveGaps)
{
	KfdText text("f", "    0000b85c: 00000001 00000002\n    0000b868: 00000003\n");
	std::vector<WordRow> rows = text.take_registers(4);

	ASSERT_EQ(rows.size(), 2);
	EXPECT_EQ(rows[0].first, 0xb85c);
	EXPECT_EQ(rows[1].words, (std::vector<u32>{3}));
	EXPECT_TRUE(text.at_end());
}

// Seen failing with text after the last number accepted.
TEST(KfdText, APatternIsTheWholeLine)
{
	u32 node = 0, gpu = 0;

	EXPECT_TRUE(scan_line("Node 12, gpu_id 8f1c:", "Node %d, gpu_id %x:", {&node, &gpu}));
	EXPECT_EQ(node, 12);
	EXPECT_EQ(gpu, 0x8f1c);
	for (const char *line : {"Node 12, gpu_id 8f1c", "Node 12, gpu_id 8f1c: ", "Node -1, gpu_id 1:",
				 "Node , gpu_id 1:", "Node 4294967296, gpu_id 1:", "Node 1, gpu_id 100000000:", ""})
		EXPECT_FALSE(scan_line(line, "Node %d, gpu_id %x:", {&node, &gpu})) << line;
}

// The first version that has a layout, and the one before it. Seen failing with >.
TEST(Mqd, GenerationsHaveLayoutsUpToGfx12)
{
	for (u32 known : {80000, 80300, 90000, 90402, 90500, 100100, 110003, 120001})
		EXPECT_TRUE(find_layout(known)) << known;
	for (u32 unknown : {0, 70001, 79999, 120100, 120500, 130000})
		EXPECT_FALSE(find_layout(unknown)) << unknown;
	EXPECT_FALSE(find_layout(std::nullopt));
}

// v11_structs.h: masks of SE0 to SE7 are words 23, 24, 26, 27 and 44 to 47; the write pointer's are 182 and 183. vi_structs.h
// has one word, 144. Seen failing with words 39 to 42 as on GFX9.
TEST(Mqd, WordsOfOtherGenerations)
{
	std::vector<u32> words(512);

	for (u32 i = 0; i < 512; i++)
		words[i] = i;
	ComputeMqd v11 = decode_compute_mqd(*find_layout(110000), words, 6, 1, "f:1");
	EXPECT_EQ(v11.cu_mask, (std::vector<u32>{23, 24, 26, 27, 44, 45}));
	EXPECT_EQ(v11.state.write_pointer, (u64{183} << 32) + 182);
	ComputeMqd v10 = decode_compute_mqd(*find_layout(100000), words, 6, 1, "f:1");
	EXPECT_EQ(v10.cu_mask.size(), 4); // the positions of more SEs are not known
	ComputeMqd vi = decode_compute_mqd(*find_layout(80000), words, 4, 1, "f:1");
	EXPECT_EQ(vi.state.write_pointer, 144);
	EXPECT_EQ(vi.state.ring, ((u64{137} << 32) + 136) << 8);
	EXPECT_EQ(vi.state.ring_bytes, u64{8} << (145 & 0x3f));
}

// GFX8 dumps 4 registers before CP_MQD_BASE_ADDR. Seen failing with them taken for it.
TEST(Mqd, AnHqdOfGfx8BeginsAtItsFifthRegister)
{
	std::vector<WordRow> rows{{0xb858, {1, 2, 3, 4}}, {0xc914, {}}};

	for (u32 i = 0; i < 54; i++)
		rows[1].words.push_back(100 + i);
	QueueState state = decode_hqd(*find_layout(80000), rows, "f:1");
	EXPECT_EQ(state.mqd, (u64{101} << 32) + 100);
	EXPECT_EQ(state.vmid, 7); // bits 3:0 of 103
	EXPECT_EQ(state.write_pointer, 116);
}

// SDMA0_RLC0_DOORBELL_OFFSET is the 23rd register, RB_ENABLE bit 0 of the first. Seen failing with 42 registers only.
TEST(Mqd, SdmaSlotsOfGfx9)
{
	for (u32 registers : {42, 44}) {
		WordRow row{.first = 0x5000, .words = std::vector<u32>(registers)};
		row.words[0] = 1;
		row.words[22] = 0x4010;
		SdmaHqd hqd = decode_sdma_hqd({row}, "f:1");
		EXPECT_TRUE(hqd.active);
		EXPECT_EQ(hqd.doorbell, 0x1004);
	}
	EXPECT_EQ(refusal_of([] {
			  decode_sdma_hqd({{0x5000, std::vector<u32>(43)}}, "f:1");
		  }),
		  "f:1: the SDMA queue has 43 words, not 42 or 44; the file was cut off, or is of a kernel that is not "
		  "known");
}

std::vector<KfdGpu> gpu_of(u32 gfx)
{
	return {{.node = 1, .gpu_id = 0xa, .name = "x", .gfx = gfx}};
}

// kfd_pm4_headers_vi.h: 6 bits of num_gws, no bit for GWS of a queue, engine 3 is SDMA 1. Seen failing with the fields of GFX9.
TEST(Runlist, PacketsOfGfx8)
{
	std::string text = "Node 1, gpu_id a:\n"
			   "  00000000: c00ea100 14000007 00000000 00000000 00000000 00000000 00000000 00000000\n"
			   "  00000020: 00000000 00000000 00000000 00000000 00000000 004000ff 00000000 00000000\n"
			   "  00000040: c005a200 2c001010 ff000008 00001000 00000080 00002008 00007f00\n";
	std::vector<Runlist> lists = parse_runlists(text, "f", gpu_of(80300));

	ASSERT_EQ(lists.size(), 1);
	const MappedProcess &process = lists[0].processes.at(0);
	EXPECT_EQ(process.pasid, 7);
	EXPECT_EQ(process.quantum, 10);
	EXPECT_EQ(process.gws, 0x3f);
	EXPECT_EQ(process.queues_declared, 1);
	EXPECT_EQ(process.queues.at(0).sdma_engine, 1);
	EXPECT_EQ(process.queues.at(0).gws, std::nullopt);
	EXPECT_EQ(process.queues.at(0).doorbell, 2);
	EXPECT_EQ(process.queues.at(0).mqd, 0x8000001000);
}

// extended_engine_sel 2: SDMA 8 to 15. Seen failing with 0 to 7.
TEST(Runlist, EnginesBeyondSeven)
{
	std::string text = "Node 1, gpu_id a:\n"
			   "  00000000: c00ea100 00000001 00000000 00000000 00000000 00000000 00000000 00000000\n"
			   "  00000020: 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000\n"
			   "  00000040: c005a200 24000018 00000008 00000000 00000000 00000000 00000000\n";

	EXPECT_EQ(parse_runlists(text, "f", gpu_of(90402))[0].processes.at(0).queues.at(0).sdma_engine, 9);
	text.replace(text.find("24000018"), 8, "2400001c");
	EXPECT_EQ(refusal_of([&] { parse_runlists(text, "f", gpu_of(90402)); }),
		  "f:4: word 16 of the runlist: MAP_QUEUES with engine 1, which is not known");
}

} // namespace
