// SPDX-License-Identifier: GPL-2.0
// What each chip reports of itself, as literal register words that were worked out by hand from the manuals' field
// lists (DOC turing/tu104/dev_top.ref.txt; linux-nvgpu hw_top_ga100.h; dev_fb.h; hw_fuse_*.h; dev_ce.ref.txt).
#include "common.hpp"

#include <map>

using namespace emu_test;

TEST(Identity, boot_words_name_the_four_chips)
{
	const struct {
		const char *chip;
		uint32_t boot0, boot42;
	} want[] = {{"gp106", 0x136000a1, 0x136a1000},
		    {"tu102", 0x162000a1, 0x162a1000},
		    {"ad102", 0x192000a1, 0x192a1000},
		    {"gh100", 0x180000a1, 0x180a1000}};
	for (const auto &w : want) {
		auto gpu = make_gpu(w.chip);
		EXPECT_EQ(rd32(*gpu, 0x0), w.boot0) << w.chip;
		EXPECT_EQ(rd32(*gpu, 0xa00), w.boot42) << w.chip;
	}
}

TEST(Topology, version_1_rows_of_the_graphics_engine)
{
	auto gpu = make_gpu("gp106");
	EXPECT_EQ(rd32(*gpu, 0x22700), 0x00000000u); // the first row is empty
	EXPECT_EQ(rd32(*gpu, 0x22704), 0x80400005u); // DATA: PRI_BASE 0x400000, FAULT_ID 0 valid, CHAIN
	EXPECT_EQ(rd32(*gpu, 0x22708), 0x8006183eu); // ENUM: engine 0, runlist 0, intr 12, reset 12, CHAIN
	EXPECT_EQ(rd32(*gpu, 0x2270c), 0x00000003u); // ENGINE_TYPE 0, end of the device
	EXPECT_EQ(rd32(*gpu, 0x22718), 0x881040bdu) << "LCE2: instance 2, fault 0x17";
}

TEST(Topology, version_2_rows_and_configuration)
{
	auto gpu = make_gpu("ad102");
	EXPECT_EQ(rd32(*gpu, 0x224fc), 0x06030132u); // 96 rows, 3 per device, 19 devices, version 2
	EXPECT_EQ(rd32(*gpu, 0x22810), 0x80000040u); // GR0: FAULT_ID 0x40, CHAIN
	EXPECT_EQ(rd32(*gpu, 0x22814), 0xc040000cu); // RESET 12, PRI_BASE 0x400000, IS_ENGINE, CHAIN
	EXPECT_EQ(rd32(*gpu, 0x22818), 0x00c00000u); // RLENG 0, runlist at 0xc00000
	// GSP ends after its second row: 0x110000 with reset 25 and IS_ENGINE 0
	bool found = false;
	for (uint32_t i = 0; i < 96; i++)
		found |= rd32(*gpu, 0x22800 + 4 * i) == 0x00110019u;
	EXPECT_TRUE(found);
}

TEST(Topology, runlist_ids_of_version_2_come_from_the_doorbell_configuration)
{
	auto gpu = make_gpu("gh100");
	EXPECT_EQ(rd32(*gpu, 0xc00008), 0x00000000u);
	EXPECT_EQ(rd32(*gpu, 0xc00808), 0x00030000u); // LCE3's runlist is number 3
	EXPECT_EQ(rd32(*gpu, 0xc05c08), 0x00200000u); // NVDEC7's is 32
	EXPECT_EQ(rd32(*gpu, 0xc05c04) & 0xf, 11u);   // 2048 channels
}

TEST(Topology, interrupt_ids_of_version_2_follow_the_engine_status)
{
	auto gpu = make_gpu("ad102");
	EXPECT_EQ(rd32(*gpu, 0xc00204), 0x001f0000u); // GR0, first on its runlist: INTR_ID 20:16 = 31
	EXPECT_EQ(rd32(*gpu, 0xc00244), 0x001e0000u); // LCE0, second
	EXPECT_EQ(rd32(*gpu, 0xc00284), 0x001d0000u); // LCE1, third
	EXPECT_EQ(rd32(*gpu, 0xc00604), 0x001c0000u); // LCE2, on the next
	EXPECT_EQ(rd32(*gpu, 0xc00644), 0x00000000u); // no engine
}

TEST(Memory, size_registers)
{
	EXPECT_EQ(rd32(*make_gpu("gp106"), 0x100ce0), 0x00000306u); // 48 << (6 + 20) = 3 GiB
	EXPECT_EQ(rd32(*make_gpu("tu102"), 0x100ce0), 0x000002c8u); // 44 << (8 + 20) = 11 GiB
	EXPECT_EQ(rd32(*make_gpu("ad102"), 0x1183a4), 0x0000c000u); // 49152 MiB
	EXPECT_EQ(rd32(*make_gpu("gh100"), 0x1183a4), 0x0002319bu); // 143771 MiB
}

TEST(Fuses, set_bits_are_disabled_units)
{
	auto gp = make_gpu("gp106");
	EXPECT_EQ(rd32(*gp, 0x21c1c), 0x0u);
	EXPECT_EQ(rd32(*gp, 0x21c38), 0x00u);
	EXPECT_EQ(rd32(*gp, 0x21c3c), 0x10u);
	auto gh = make_gpu("gh100"); // enabled masks of run 1: 1ff 1fb 1bf 1bf 1bf 1ff 1bf 1bf
	const uint32_t disabled[8] = {0x000, 0x004, 0x040, 0x040, 0x040, 0x000, 0x040, 0x040};
	for (unsigned i = 0; i < 8; i++)
		EXPECT_EQ(rd32(*gh, 0x820c38 + 4 * i), disabled[i]) << i;
	EXPECT_EQ(rd32(*gh, 0x22430), 8u);
	EXPECT_EQ(rd32(*gh, 0x22434), 9u);
}

TEST(CopyEngines, wiring)
{
	auto tu = make_gpu("tu102"); // reset values of NV_CE_PCE2LCE_CONFIG and NV_CE_GRCE_CONFIG
	EXPECT_EQ(rd32(*tu, 0x104040), 1u);
	EXPECT_EQ(rd32(*tu, 0x104044), 4u);
	EXPECT_EQ(rd32(*tu, 0x104048), 2u);
	EXPECT_EQ(rd32(*tu, 0x10404c), 3u);
	EXPECT_EQ(rd32(*tu, 0x104034), 0x40000001u);
	EXPECT_EQ(rd32(*tu, 0x104038), 0x0000000fu);
	auto gh = make_gpu("gh100");
	EXPECT_EQ(rd32(*gh, 0x104028), 0xffffu);
	EXPECT_EQ(rd32(*gh, 0x104100 + 4 * 11), 4u);
	EXPECT_EQ(rd32(*gh, 0x104100 + 4 * 12), 2u);
	EXPECT_EQ(rd32(*gh, 0x104100 + 4 * 13), 3u);
	EXPECT_EQ(rd32(*gh, 0x1041c0), 0x40000002u);
	EXPECT_EQ(rd32(*gh, 0x1041c4), 0x40000003u);
	EXPECT_EQ(rd32(*make_gpu("gp106"), 0x10402c), 0x77773210u); // four bits per PCE; 7: none
}

TEST(Access, unknown_register_reads_as_an_undecoded_address)
{
	auto gpu = make_gpu("ad102");
	EXPECT_EQ(rd32(*gpu, 0x00345678), 0xbadf1100u);
	EXPECT_EQ(rd32(*gpu, 0x002634), 0xbadf1100u) << "PFIFO is gone on Ada";
	EXPECT_EQ(rd32(*gpu, 0x100ce0), 0xbadf1100u);
	EXPECT_EQ(gpu->counts().unknown_reads, 3u);
	wr32(*gpu, 0x345678, 1);
	EXPECT_EQ(gpu->counts().unknown_writes, 1u);
}

TEST(Access, wide_register_read_has_zeros_above)
{
	auto gpu = make_gpu("gp106");
	EXPECT_EQ(gpu->read(0, 0, 8), 0x00000000136000a1ull);
	EXPECT_EQ(gpu->counts().wide_register_accesses, 1u);
	EXPECT_EQ(gpu->counts().reads[3], 1u);
}

TEST(Access, every_profile_has_the_engines_of_its_source)
{
	auto names = [](const char *chip) {
		std::map<int, std::string> out;
		for (const auto &r : make_gpu(chip)->running())
			out[r.runlist] += r.engine + " ";
		return out;
	};
	std::map<int, std::string> gp106 = {{0, "GR0 LCE0 LCE1 "}, {1, "NVDEC0 "}, {2, "NVENC0 "},
					    {3, "SEC "},           {5, "LCE2 "},   {6, "LCE3 "}};
	EXPECT_EQ(names("gp106"), gp106); // RTAS'24 Table II
	std::map<int, std::string> ad102 = {{0, "GR0 LCE0 LCE1 "}, {1, "LCE2 "},    {2, "LCE3 "},    {3, "LCE4 "},
					    {4, "NVDEC0 "},        {5, "NVDEC1 "},  {6, "NVDEC2 "},  {8, "NVENC0 "},
					    {9, "NVENC1 "},        {10, "NVENC2 "}, {11, "NVJPG0 "}, {12, "NVJPG1 "},
					    {13, "NVJPG2 "},       {14, "NVJPG3 "}, {15, "OFA0 "},   {16, "SEC "}};
	EXPECT_EQ(names("ad102"), ad102); // RTAS'24 Table IV
}
