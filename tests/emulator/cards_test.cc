// SPDX-License-Identifier: GPL-2.0
// Profiles of chips whose registers were read on a card: the emulated chip returns the words of that card. And every
// profile states the source of each of its numbers: a card, a manual, or invented.
#include "common.hpp"

#include <filesystem>

using namespace emu_test;

namespace {

json profile_of(const std::string &chip)
{
	std::ifstream in(EMU_DATA_DIR "/profiles/" + chip + ".json");
	EXPECT_TRUE(in.good()) << chip;
	return json::parse(in);
}

// The message that refuses a profile; empty if it is accepted.
std::string profile_error(const json &profile)
{
	try {
		emu::Gpu gpu(profile);
	} catch (const std::invalid_argument &e) {
		return e.what();
	}
	return "";
}

// A Titan V after its VBIOS ran, without a driver: syntheticChemistry/hotSpring data/target_vfio_d0_warm.txt (0x120074:
// data/titanv/reagent-captures).
TEST(TitanV, device_table_has_the_words_of_the_card)
{
	const uint32_t words[64] = {
		0x8006183e, 0x80000003, 0x00400205, 0xb4028c3e, 0x8000004f, 0x0010407d, 0xb8030e3e, 0x8000004f,
		0x04104085, 0x98c3aa3e, 0x8000004f, 0x0810408d, 0x84289e3e, 0x80000043, 0x00084055, 0,
		0,          0,          0x8c679c3e, 0x80000037, 0x00087075, 0x8848243e, 0x8000003b, 0x001c805d,
		0x9080a63e, 0x8000003b, 0x041cc065, 0x9ce52c3e, 0x8000004f, 0x0c104095, 0xa105ae3e, 0x8000004f,
		0x1010409d, 0xa521303e, 0x8000004f, 0x141040a5, 0x94a2083e, 0x8000003b, 0x081d006d, 0x800b320e,
		0x8000004b, 0x00a00001, 0xa947123e, 0x8000004f, 0x181040ad, 0xad60143e, 0x8000004f, 0x1c1040b5,
		0xb181963e, 0x8000004f, 0x201040bd, 0x800d800a, 0x80000053, 0x00110015,
	};
	auto gpu = make_gpu("gv100");
	for (unsigned i = 0; i < 64; i++)
		EXPECT_EQ(rd32(*gpu, 0x22700 + 4 * i), words[i]) << "row " << i;
}

TEST(TitanV, units_and_fuses_have_the_words_of_the_card)
{
	auto gpu = make_gpu("gv100");
	const struct {
		uint32_t off, word;
	} words[] = {{0x0, 0x140000a1}, {0xa00, 0x140a1000}, {0x22430, 6}, {0x22434, 7},      {0x22438, 8},
		     {0x2243c, 16},     {0x22444, 9},        {0x22450, 2}, {0x22454, 16},     {0x2245c, 4},
		     {0x22460, 3},      {0x21c1c, 0},        {0x21c38, 0}, {0x21c3c, 0},      {0x21c40, 0},
		     {0x21c44, 1},      {0x21c48, 0},        {0x21c4c, 1}, {0x21c14, 0xf000}, {0x21d38, 0xc0},
		     {0x21d84, 0},      {0x21d88, 3},        {0x21d8c, 3}, {0x120074, 6},     {0x100c80, 0x00208001}};
	for (const auto &w : words)
		EXPECT_EQ(rd32(*gpu, w.off), w.word) << std::hex << w.off;
}

// Under NVIDIA 535: data/titanv/nvidia535-vm-captures/artifacts/warm_bar0.json. PBDMA_MAP: what nouveau read,
// data/nouveau_gv100_mmiotrace.txt (0x2390, and 14 PBDMAs), and 0x23c4 of the former.
TEST(TitanV, registers_under_a_driver_have_the_words_of_the_card)
{
	auto gpu = make_gpu("gv100");
	EXPECT_EQ(rd32(*gpu, 0x100ce0), 0x308u);
	EXPECT_EQ(rd32(*gpu, 0x2004), 0x0020000eu);
	EXPECT_EQ(rd32(*gpu, 0x2008), 0x1000u);
	EXPECT_EQ(rd32(*gpu, 0x200c), 0xc36fu);
	EXPECT_EQ(rd32(*gpu, 0x104028), 0x1ffu);
	for (unsigned pce = 0; pce < 9; pce++)
		EXPECT_EQ(rd32(*gpu, 0x104040 + 4 * pce), pce);
	EXPECT_EQ(rd32(*gpu, 0x104064) >> 16, 0xbadfu); // the card: 0xbadf5040
	EXPECT_EQ(rd32(*gpu, 0x104034), 0u);
	EXPECT_EQ(rd32(*gpu, 0x104038), 0u);
	const uint32_t maps[14] = {1, 1, 2, 4, 8, 0x10, 0x20, 0x40, 0x80, 0x100, 0x200, 0x400, 0x800, 0x1000};
	for (unsigned pbdma = 0; pbdma < 14; pbdma++)
		EXPECT_EQ(rd32(*gpu, 0x2390 + 4 * pbdma), maps[pbdma]) << pbdma;
}

// A GTX 1660 Ti: MrNev1s/TuringDarwin, canonical project state, sections 7, 13 and 14: 10 DATA, 10 ENUM and 10
// ENGINE_TYPE words, 34 empty ones.
TEST(Gtx1660Ti, registers_have_the_words_of_the_card)
{
	auto gpu = make_gpu("tu116");
	EXPECT_EQ(rd32(*gpu, 0x0), 0x168000a1u);
	EXPECT_EQ(rd32(*gpu, 0x100ce0), 0x307u);
	unsigned kinds[4] = {};
	for (unsigned i = 0; i < 64; i++)
		kinds[rd32(*gpu, 0x22700 + 4 * i) & 3]++;
	EXPECT_EQ(kinds[0], 34u);
	EXPECT_EQ(kinds[1], 10u);
	EXPECT_EQ(kinds[2], 10u);
	EXPECT_EQ(kinds[3], 10u);
	const struct {
		const char *name;
		uint32_t base;
		int engine, runlist, intr, reset, fault;
	} devices[] = {{"GR0", 0x400000, 0, 0, 12, 12, 64},    {"LCE0", 0x104000, 11, 0, 5, 6, 15},
		       {"LCE1", 0x104000, 12, 0, 6, 7, 16},    {"LCE2", 0x104000, 8, 8, 7, 21, 17},
		       {"LCE3", 0x104000, 9, 9, 10, 22, 18},   {"LCE4", 0x104000, 10, 10, 11, 23, 19},
		       {"NVDEC0", 0x830000, 1, 1, 17, 15, 10}, {"SEC", 0x87000, 3, 3, 15, 14, 14},
		       {"NVENC0", 0x1c8000, 2, 2, 16, 18, 11}, {"GSP", 0x110000, -1, -1, 27, -1, 2}};
	for (const auto &d : devices) {
		const emu::EngineInfo *e = gpu->profile().find_engine(d.name);
		ASSERT_TRUE(e) << d.name;
		EXPECT_EQ(e->pri_base, d.base) << d.name;
		EXPECT_EQ(e->engine_id, d.engine) << d.name;
		EXPECT_EQ(e->runlist, d.runlist) << d.name;
		EXPECT_EQ(e->intr, d.intr) << d.name;
		EXPECT_EQ(e->reset, d.reset) << d.name;
		EXPECT_EQ(e->fault, d.fault) << d.name;
	}
}

// Kernel logs of a GTX 750 Ti and of an RTX 30 card, as nouveau prints them.
TEST(OtherCards, gm107_and_ga102_agree_with_kernel_logs)
{
	auto gm107 = make_gpu("gm107"), ga102 = make_gpu("ga102");
	const struct {
		const char *name;
		int intr;
	} interrupts[] = {{"COPY0", 5}, {"COPY2", 7}, {"NVDEC0", 17}, {"NVENC0", 16}};
	for (const auto &i : interrupts) {
		ASSERT_TRUE(gm107->profile().find_engine(i.name)) << i.name;
		EXPECT_EQ(gm107->profile().find_engine(i.name)->intr, i.intr) << i.name;
	}
	const struct {
		const char *name;
		uint32_t runlist;
	} runlists[] = {{"GR0", 0xc00000},  {"LCE0", 0xc00000}, {"LCE1", 0xc00000},   {"LCE2", 0xc00400},
			{"LCE3", 0xc00800}, {"LCE4", 0xc00c00}, {"NVDEC0", 0xc01000}, {"NVENC0", 0xc01800},
			{"OFA0", 0xc01c00}, {"SEC", 0xc02000}};
	for (const auto &r : runlists) {
		const emu::EngineInfo *e = ga102->profile().find_engine(r.name);
		ASSERT_TRUE(e) << r.name;
		for (const auto &list : ga102->profile().runlists)
			if (list.id == e->runlist)
				EXPECT_EQ(list.pri_base, r.runlist) << r.name;
	}
	EXPECT_EQ(rd32(*ga102, 0xc00004), 0x00c2000bu) << "CHRAM at 0xc20000, 2^11 channels";
}

TEST(Sources, every_profile_states_the_source_of_each_number)
{
	unsigned n = 0;
	for (const auto &entry : std::filesystem::directory_iterator(EMU_DATA_DIR "/profiles")) {
		EXPECT_EQ(profile_error(profile_of(entry.path().stem().string())), "") << entry.path();
		n++;
	}
	EXPECT_EQ(n, 23u);
}

TEST(Sources, a_number_without_a_source_is_refused)
{
	json p = profile_of("gv100");
	p["scal"]["rops"] = 4; // the source of scal is stated as a whole
	EXPECT_EQ(profile_error(p), "");
	p["host"]["rops"] = 4; // the sources of host are stated by number
	EXPECT_EQ(profile_error(p), "profile: sources: must say where host.rops comes from");
	p = profile_of("gv100");
	p["engines"]["list"][3]["weight"] = 1;
	EXPECT_EQ(profile_error(p), "profile: sources: must say where engines.weight comes from");
	p = profile_of("gv100");
	p["revision"] = 1;
	EXPECT_EQ(profile_error(p), "profile: sources: must say where revision comes from");
}

TEST(Sources, sources_of_absent_numbers_and_repeated_names_are_refused)
{
	json p = profile_of("gv100");
	p["sources"]["card"].push_back("host.rops");
	EXPECT_EQ(profile_error(p), "profile: sources: names host.rops, which this profile does not have");
	p = profile_of("gv100");
	p["sources"]["invented"].push_back("boot0");
	EXPECT_EQ(profile_error(p), "profile: sources.invented[9]: boot0 is named twice");
	p = profile_of("gv100");
	p["sources"].erase("invented");
	EXPECT_EQ(profile_error(p), "profile: sources.invented: missing");
	p = profile_of("gv100");
	p["sources"]["guessed"] = json::array();
	EXPECT_EQ(profile_error(p), "profile: sources: must have card, manual and invented, and nothing else");
	p = profile_of("gv100");
	p.erase("sources");
	EXPECT_EQ(profile_error(p), "profile: sources: missing");
	p = profile_of("gv100");
	p["scal"].erase("source");
	EXPECT_EQ(profile_error(p), "profile: scal.source: missing");
}

TEST(Sources, row_order_names_each_row_once)
{
	json p = profile_of("gv100");
	p["ptop"]["row_order"] = "enum type";
	EXPECT_EQ(profile_error(p), "profile: ptop.row_order: must name data, enum and type, once each");
	p["ptop"]["row_order"] = "enum type enum";
	EXPECT_EQ(profile_error(p), "profile: ptop.row_order: must name data, enum and type, once each");
}

} // namespace
