// SPDX-License-Identifier: GPL-2.0
// Windows into memory, page tables and injected faults. Words of page tables by hand from open-gpu-kernel-modules
// pascal/gp100/dev_mmu.h (V2) and hopper/gh100/dev_mmu.h (V3).
#include "common.hpp"

#include "model/bus.hpp"
#include "model/mmu.hpp"

using namespace emu_test;

TEST(Pramin, window_moves_in_64_kib_steps)
{
	auto gpu = make_gpu("gp106");
	gpu->vidmem().wr32(0x12340010, 0xcafe0001);
	wr32(*gpu, 0x1700, 0x00001234);
	EXPECT_EQ(rd32(*gpu, 0x700010), 0xcafe0001u);
	EXPECT_EQ(rd32(*gpu, 0x1700), 0x00001234u);
	gpu->write(0, 0x700018, 8, 0x1122334455667788ull);
	EXPECT_EQ(gpu->vidmem().rd64(0x12340018), 0x1122334455667788ull);
	auto gh = make_gpu("gh100");
	gh->vidmem().wr32(0x2012340010ull, 0xcafe0002);
	wr32(*gh, 0x10fd40, 0x00201234);
	EXPECT_EQ(rd32(*gh, 0x700010), 0xcafe0002u);
	EXPECT_EQ(rd32(*gh, 0x1700), 0xbadf1100u);
}

TEST(Pramin, an_access_beyond_the_memory_is_an_fb_timeout)
{
	auto gpu = make_gpu("gp106");
	wr32(*gpu, 0x1700, 0x0000c000); // 3 GiB
	EXPECT_EQ(rd32(*gpu, 0x700000), 0xbad0b000u);
	wr32(*gpu, 0x1700, 0x02000000); // system memory, of which there is none
	EXPECT_EQ(rd32(*gpu, 0x700000), 0xbad0b000u);
}

static uint64_t inst_block(emu::Gpu &gpu, uint64_t pdb, bool v3)
{
	gpu.vidmem().wr32(0x200000 + 0x200, uint32_t(pdb) | (v3 ? 0x804 : 0xc04));
	gpu.vidmem().wr32(0x200000 + 0x204, uint32_t(pdb >> 32));
	return 0x200000;
}

TEST(Bar1, v2_tables_written_by_hand)
{
	auto gpu = make_gpu("gp106");
	emu::Memory &m = gpu->vidmem();
	uint64_t inst = inst_block(*gpu, 0x300000, false);
	m.wr64(0x300000, 0x0000000000030102ull); // PD3[0] -> 0x301000: aperture 1 at 2:1, address >> 12 at 32:8
	m.wr64(0x301000, 0x0000000000030202ull);
	m.wr64(0x302000, 0x0000000000030302ull); // PD1[0] -> PD0 at 0x303000
	// PD0[0]: big table at 0x305100 (256-byte aligned, address >> 8 at 32:4), small table at 0x304000
	m.wr64(0x303000, 0x0000000000030512ull);
	m.wr64(0x303008, 0x0000000000030402ull);
	m.wr64(0x304000 + 8 * 0x21, 0x0600000000012341ull | 0x10000ull << 8); // 4K page 0x21, KIND 6
	m.wr64(0x305100 + 8 * 0x1, 0x0000000000070001ull);                    // 64K page 1 -> 0x700000
	m.wr64(0x303010, 0x0000000000080001ull);                              // PD0[1]: 2 MiB page -> 0x800000
	wr32(*gpu, 0x1704, uint32_t(inst >> 12) | 0x80000000u);
	EXPECT_EQ(rd32(*gpu, 0x1704), 0x80000200u);
	m.wr32(0x10123004, 0x11111111);
	m.wr32(0x701238, 0x22222222);
	m.wr32(0x812344, 0x33333333);
	EXPECT_EQ(gpu->read(1, 0x21004, 4), 0x11111111u);
	EXPECT_EQ(gpu->read(1, 0x11238, 4), 0x22222222u);
	EXPECT_EQ(gpu->read(1, 0x212344, 4), 0x33333333u);
	EXPECT_EQ(gpu->read(1, 0x50000, 4), 0xbad0b000u) << "not mapped";
	gpu->write(1, 0x21004, 4, 0x44444444);
	EXPECT_EQ(m.rd32(0x10123004), 0x44444444u);
}

TEST(Bar2, v3_tables_written_by_hand)
{
	auto gpu = make_gpu("gh100");
	emu::Memory &m = gpu->vidmem();
	uint64_t inst = inst_block(*gpu, 0x300000, true);
	m.wr64(0x300000, 0x0000000000301012ull); // PD4[0]: aperture 1, PCF 2, address in place
	m.wr64(0x301000, 0x0000000000302012ull);
	m.wr64(0x302000, 0x0000000000303012ull);
	m.wr64(0x303000, 0x0000000000304012ull);
	m.wr64(0x304000, 0x0000000000306112ull); // PD0[0] big at 0x306100
	m.wr64(0x304008, 0x0000000000305012ull);
	m.wr64(0x305000 + 8 * 2, 0x0000002012345095ull);           // 4K page 2 -> 0x2012345000, PCF 0x12
	m.wr64(0x306100 + 8 * 3, 0x0000000000700095ull & ~0x4ull); // 64K page 3 -> 0x700000
	wr32(*gpu, 0xb80f70, uint32_t(inst) | 0x200);
	wr32(*gpu, 0xb80f74, 0);
	m.wr32(0x2012345008ull, 0x55555555);
	m.wr32(0x70abcc, 0x66666666);
	EXPECT_EQ(gpu->read(2, 0x2008, 4), 0xbad0b000u) << "aperture 2 is coherent system memory";
	m.wr64(0x305000 + 8 * 2, 0x0000002012345091ull);
	EXPECT_EQ(gpu->read(2, 0x2008, 4), 0x55555555u);
	EXPECT_EQ(gpu->read(2, 0x3abcc, 4), 0x66666666u);
}

TEST(Bar2, scenario_maps_instance_blocks_from_offset_zero)
{
	for (const char *chip : {"gp106", "tu102", "ad102", "gh100"}) {
		auto gpu = make_gpu(chip, two_tsgs());
		json state = send_command(*gpu, {{"cmd", "state"}});
		uint64_t inst = state["channels"][0]["inst"];
		uint64_t first = (gpu->profile().memory_bytes / 2) & ~0x1fffffull;
		EXPECT_EQ(gpu->read(2, inst - first + 16, 4), 0x0000faceu) << chip << ": RAMFC SIGNATURE";
		EXPECT_EQ(gpu->read(1, 0, 4), 0xbad0b000u) << chip << ": BAR1 maps nothing";
	}
}

TEST(Context, two_processes_have_their_own_page_tables)
{
	for (const char *chip : {"gp106", "tu102", "ad102", "gh100"}) {
		auto gpu = make_gpu(chip, two_tsgs());
		json state = send_command(*gpu, {{"cmd", "state"}});
		uint64_t a = state["channels"][0]["context"], b = state["channels"][2]["context"];
		EXPECT_NE(a, b);
		uint64_t ia = state["channels"][0]["inst"], ib = state["channels"][2]["inst"];
		EXPECT_NE(gpu->vidmem().rd32(ia + 0x200), gpu->vidmem().rd32(ib + 0x200)) << chip << ": PDB";
		EXPECT_EQ(gpu->vidmem().rd32(ia + 0x210) & 0xfff, 0x4u) << chip << ": MODE virtual";
		if (std::string(chip) != "gp106") {
			EXPECT_EQ(gpu->vidmem().rd32(a + 0xc), 0xcafe0020u) << chip;
			EXPECT_EQ(gpu->vidmem().rd32(ia + 4 * 166), 1u) << chip;
		}
	}
}

TEST(Faults, all_ones_and_bad_reads)
{
	auto gpu = make_gpu("tu102", two_tsgs());
	send_command(*gpu, {{"cmd", "fault"}, {"kind", "bad-read"}, {"off", 0x2640}, {"value", "0xbadf5040"}});
	EXPECT_EQ(rd32(*gpu, 0x2640), 0xbadf5040u);
	EXPECT_EQ(rd32(*gpu, 0x0), 0x162000a1u);
	send_command(*gpu, {{"cmd", "fault"}, {"kind", "all-ones"}});
	EXPECT_EQ(rd32(*gpu, 0x0), 0xffffffffu);
	EXPECT_EQ(gpu->read(2, 0, 8), ~0ull);
	send_command(*gpu, {{"cmd", "fault"}, {"kind", "none"}});
	EXPECT_EQ(rd32(*gpu, 0x0), 0x162000a1u);
	EXPECT_EQ(rd32(*gpu, 0x2640), 0x80003001u);
}

TEST(Faults, torn_runlist_moves_while_it_is_read)
{
	for (const char *chip : {"gp106", "tu102", "ad102", "gh100"}) {
		auto gpu = make_gpu(chip, two_tsgs());
		uint64_t before = send_command(*gpu, {{"cmd", "state"}})["runlists"][0]["base"];
		send_command(*gpu, {{"cmd", "fault"}, {"kind", "torn"}, {"runlist", 0}, {"every", 3}});
		bool hopper = std::string(chip) == "gh100";
		wr32(*gpu, hopper ? 0x10fd40 : 0x1700, uint32_t(before >> 16));
		uint32_t at = 0x700000 + uint32_t(before & 0xffff);
		uint32_t first = rd32(*gpu, at);
		rd32(*gpu, at);
		EXPECT_EQ(first, rd32(*gpu, at) == 0x5a5a5a5a ? first : 0)
			<< chip << ": the third read returns the overwritten list";
		gpu->advance(100'000);
		uint64_t after = send_command(*gpu, {{"cmd", "state"}})["runlists"][0]["base"];
		EXPECT_NE(before, after) << chip;
		EXPECT_EQ(gpu->vidmem().rd32(after + (std::string(chip) == "gp106" ? 0 : 8)) & 0xfff, 2u)
			<< chip << ": TSG 2 comes first now";
	}
}

TEST(Log, accesses_are_counted_and_logged)
{
	auto gpu = make_gpu("ad102", two_tsgs());
	gpu->reset_counts();
	send_command(*gpu, {{"cmd", "log"}, {"on", true}});
	rd32(*gpu, 0xc40008);
	wr32(*gpu, 0xc40008, 3);
	gpu->read(0, 0x700000, 8);
	json log = send_command(*gpu, {{"cmd", "log-read"}})["accesses"];
	ASSERT_EQ(log.size(), 3u);
	EXPECT_EQ(log[1], json({{"op", "w"}, {"bar", 0}, {"off", 0xc40008}, {"size", 4}, {"value", 3}}));
	json counts = send_command(*gpu, {{"cmd", "counts"}});
	EXPECT_EQ(counts["reads"]["4"], 1);
	EXPECT_EQ(counts["reads"]["8"], 1);
	EXPECT_EQ(counts["writes"]["4"], 1);
	EXPECT_EQ(counts["by_region"]["pramin"], 1);
	EXPECT_EQ(counts["by_region"]["bar0"], 2);
}

TEST(Control, invalid_commands_are_refused)
{
	auto gpu = make_gpu("gp106");
	EXPECT_EQ(gpu->control({{"cmd", "fly"}})["ok"], false);
	EXPECT_EQ(gpu->control({{"cmd", "scenario"},
				{"data", {{"processes", {{{"tsgs", {{{"id", 1}, {"runlist", 4}}}}}}}}}})["ok"],
		  false);
	EXPECT_EQ(gpu->control(json::array())["ok"], false);
}
