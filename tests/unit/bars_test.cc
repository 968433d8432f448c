// SPDX-License-Identifier: GPL-2.0
// Where BAR1 and BAR2 show a page of memory: on every version of page tables, with the map that
// emulator/scenarios/bars.json sets up (its numbers are repeated here), and on tables written by hand.
#include "support/core/emulated.hpp"
#include "support/core/fake.hpp"
#include "format.h"
#include "gpulens/bar.h"

#include <gtest/gtest.h>

namespace {

using test::Emulated;
using test::Fake;

constexpr u32 PLENTY = 1 << 20;

struct Bars : testing::TestWithParam<std::string> {
	Emulated e{GetParam()};
	std::unique_ptr<lens_mmu_scan> room = std::make_unique<lens_mmu_scan>();

	void SetUp() override
	{
		e.give_system_memory();
		ASSERT_EQ(e.attach(), 0);
		e.emu->load_scenario(test::load_json("scenarios/bars.json"));
	}
	// The offset, or ~0 where the BAR does not show it.
	u64 find(u32 bar, lens_aperture ap, u64 addr, u32 words = PLENTY, int want = 0)
	{
		lens_bar b;
		lens_bar_find f{ap, addr, false, 0};
		EXPECT_EQ(lens_bar_read(e.gpu.get(), bar, &b), 0);
		EXPECT_EQ(b.err, 0);
		EXPECT_TRUE(b.is_virtual);
		room->words_left = words;
		EXPECT_EQ(lens_bar_lookup(e.gpu.get(), &b, room.get(), &f, 1), want);
		return f.found ? f.offset : ~0ull;
	}
};

TEST_P(Bars, ShowPagesOfEachSize)
{
	EXPECT_EQ(find(1, LENS_VID, 0x10203000), 0x0u);
	EXPECT_EQ(find(1, LENS_VID, 0x10206ffc), 0x3ffcu);
	EXPECT_EQ(find(1, LENS_VID, 0x11240020), 0x40020u); // big pages: 64 or 128 KiB, two of them
	EXPECT_EQ(find(1, LENS_VID, 0x1124ffff), 0x4ffffu);
	EXPECT_EQ(find(2, LENS_VID, 0x13000000), 0x10000u);
	EXPECT_EQ(find(2, LENS_VID, 0x1300f010), 0x1f010u);
}

TEST_P(Bars, TheLowestOfTwoOffsetsIsFound)
{
	EXPECT_EQ(find(1, LENS_VID, 0x10204000), 0x1000u); // also at 0x7ff000
}

TEST_P(Bars, SystemMemoryIsNotGpuMemory)
{
	EXPECT_EQ(find(1, LENS_SYS, 0x40000123), 0x800123u);
	EXPECT_EQ(find(1, LENS_VID, 0x40000123), ~0ull);
	EXPECT_EQ(find(1, LENS_SYS, 0x10203000), ~0ull);
}

TEST_P(Bars, WhatIsNotMappedIsNotFound)
{
	EXPECT_EQ(find(1, LENS_VID, 0x10202fff), ~0ull);
	EXPECT_EQ(find(1, LENS_VID, 0x10207000), ~0ull);
	EXPECT_EQ(find(2, LENS_VID, 0x10203000), ~0ull);
	EXPECT_EQ(find(1, LENS_VID, 0x13000000), ~0ull);
}

TEST_P(Bars, ASearchEndsAtItsLimit)
{
	EXPECT_EQ(find(1, LENS_VID, 0x99999000, 100, -E2BIG), ~0ull);
}

// The forward walk translates the found offset to the address that was searched.
TEST_P(Bars, SearchAndTranslationAgree)
{
	lens_bar b;
	lens_mapping m;
	ASSERT_EQ(lens_bar_read(e.gpu.get(), 1, &b), 0);
	ASSERT_EQ(
		lens_mmu_translate(e.gpu.get(), b.mmu, b.pdb_target ? LENS_SYS : LENS_VID, b.pdb, 0x3ffc, &m, nullptr),
		0);
	EXPECT_EQ(m.addr, 0x10206ffcu);
}

// Tegras have no BAR2, and what a GB202 has is not published.
INSTANTIATE_TEST_SUITE_P(Chips, Bars,
			 testing::ValuesIn(test::profiles_but({"gm20b", "gp10b", "gv11b", "ga10b", "gb202"})),
			 [](const auto &i) { return i.param; });

// 2 MiB pages exist from version 2 on (kern_gmmu_fmt_gp10x.c).
TEST(BarsOfPascal, ShowPagesOfTwoMebibytes)
{
	Emulated e("gp106");
	ASSERT_EQ(e.attach(), 0);
	e.emu->load_scenario(test::load_json("scenarios/bars.json"));
	auto room = std::make_unique<lens_mmu_scan>();
	lens_bar b;
	lens_bar_find f{LENS_VID, 0x125fffff, false, 0};
	ASSERT_EQ(lens_bar_read(e.gpu.get(), 1, &b), 0);
	room->words_left = PLENTY;
	ASSERT_EQ(lens_bar_lookup(e.gpu.get(), &b, room.get(), &f, 1), 0);
	EXPECT_TRUE(f.found);
	EXPECT_EQ(f.offset, 0x3fffffu);
}

// NV_PBUS_BAR1_BLOCK 0x1704: MODE 31 physical 0, PTR 27:0 << 12, TARGET 29:28 (maxwell/gm107/dev_bus.h).
TEST(BarBlock, PhysicalModeShowsGpuMemoryAsItIs)
{
	Fake f(lens_chip_gp10x);
	lens_bar b;
	f.regs[0x1704] = 0x20012345;
	ASSERT_EQ(lens_bar_read(f.gpu.get(), 1, &b), 0);
	EXPECT_EQ(b.err, 0);
	EXPECT_FALSE(b.is_virtual);
	EXPECT_EQ(b.target, 2);
	EXPECT_EQ(b.inst, 0x12345000u);
	auto room = std::make_unique<lens_mmu_scan>();
	lens_bar_find find[] = {{LENS_VID, 0x1234, false, 0}, {LENS_SYS, 0x1234, true, 0}};
	ASSERT_EQ(lens_bar_lookup(f.gpu.get(), &b, room.get(), find, 2), 0);
	EXPECT_TRUE(find[0].found);
	EXPECT_EQ(find[0].offset, 0x1234u);
	EXPECT_FALSE(find[1].found);
	EXPECT_EQ(f.copies, 0u);
}

// FUNC_BAR2_BLOCK_LOW_ADDR 0xb80f70: MODE 9, TARGET 11:10, PTR 31:12; HIGH_ADDR 0xb80f74 (hopper/gh100/dev_vm.h).
TEST(BarBlock, HopperHasTwoRegisters)
{
	Fake f(lens_chip_gh100);
	lens_bar b;
	f.regs[0xb80f70] = 0x12345200;
	f.regs[0xb80f74] = 0x7;
	f.vid[0x712345200] = 0x0000000900008000; // words 128, 129: page directory 0x9_00008000 in GPU memory
	ASSERT_EQ(lens_bar_read(f.gpu.get(), 2, &b), 0);
	EXPECT_EQ(b.err, 0);
	EXPECT_TRUE(b.is_virtual);
	EXPECT_EQ(b.target, 0);
	EXPECT_EQ(b.inst, 0x712345000u);
	EXPECT_EQ(b.pdb, 0x900008000u);
	EXPECT_EQ(b.mmu, &lens_mmu_v3);
}

TEST(BarBlock, InvalidBlockIsAnErrorOfThatBarOnly)
{
	Fake f(lens_chip_tu10x);
	lens_bar b;
	f.regs[0xb80f40] = 0x90000001; // TARGET 1 is invalid
	EXPECT_EQ(lens_bar_read(f.gpu.get(), 1, &b), 0);
	EXPECT_EQ(b.err, -EIO);
	f.regs[0xb80f48] = 0xbadf5040;
	EXPECT_EQ(lens_bar_read(f.gpu.get(), 2, &b), 0);
	EXPECT_EQ(b.err, -EIO);
	f.regs[0] = 0xffffffff;
	f.regs[0xb80f48] = 0xffffffff;
	EXPECT_EQ(lens_bar_read(f.gpu.get(), 2, &b), -ENODEV);
}

// A directory whose every entry names itself: PDE ADDRESS 53:8 = 0x10000 >> 12, APERTURE 2:1 video (pascal dev_mmu.h).
TEST(BarSearch, LoopsEnd)
{
	Fake f(lens_chip_gp10x);
	f.regs[0x1704] = 0x80000001;
	f.vid[0x1200] = 0x10400; // words 128, 129: directory at 0x10000, USE_VER2
	f.memory = [](lens_aperture, u64 addr) { return addr == 0x1200 ? 0x10400ull : 0x1002ull; };
	auto room = std::make_unique<lens_mmu_scan>();
	lens_bar b;
	lens_bar_find find{LENS_VID, 0x5000000000, false, 0};
	ASSERT_EQ(lens_bar_read(f.gpu.get(), 1, &b), 0);
	room->words_left = 50000;
	EXPECT_EQ(lens_bar_lookup(f.gpu.get(), &b, room.get(), &find, 1), -E2BIG);
	EXPECT_LE(f.copied_words, 50001u);
	EXPECT_GE(f.copied_words, 49000u);
}

// A table beyond the end of memory: the search continues and ends with the error. Seen failing when lens_mmu_for_each()
// returned 0: the text said "in no BAR" for pages that the unread table may map.
TEST(BarSearch, ATableThatCannotBeReadIsReported)
{
	Fake f(lens_chip_gp10x);
	f.regs[0x1704] = 0x80000001;
	f.vid[0x1200] = 0x10400;     // words 128, 129: directory at 0x10000, USE_VER2
	f.vid[0x10000] = 0x20000002; // PDE ADDRESS 53:8 = 0x200000000 >> 12, APERTURE 2:1 video
	f.vid_bytes = 1ull << 32;
	auto room = std::make_unique<lens_mmu_scan>();
	lens_bar b;
	lens_bar_find find{LENS_VID, 0x5000000000, false, 0};
	ASSERT_EQ(lens_bar_read(f.gpu.get(), 1, &b), 0);
	room->words_left = PLENTY;
	EXPECT_EQ(lens_bar_lookup(f.gpu.get(), &b, room.get(), &find, 1), -EIO);
	EXPECT_FALSE(find.found);
}

TEST(BarsText, NamesTheOffsetsOfEachRunlist)
{
	lens_bars bars{};
	bars.bar[0].is_virtual = true;
	bars.bar[0].pdb = 0x12345000;
	bars.bar[0].mmu = &lens_mmu_v2;
	bars.n = 2;
	bars.runlist[1] = 12;
	bars.target[1] = 2;
	bars.find[0][0] = {LENS_VID, 0x80000000, true, 0x4000};
	bars.find[1][0] = {LENS_VID, 0x80000000, true, 0x80000000};
	bars.find[0][1] = {LENS_SYS, 0x7000, false, 0};
	bars.find[1][1] = {LENS_SYS, 0x7000, false, 0};
	lens_text t{};
	lens_format_bars(&t, &bars);
	EXPECT_EQ(std::string(t.buf, t.len), "BAR1:       virtual, page directory 0x000012345000 (vid), pages v2\n"
					     "BAR2:       physical\n"
					     "runlist 0  0x000080000000 (vid): BAR1+0x00004000 BAR2+0x80000000\n"
					     "runlist 12 0x000000007000 (sys coh): in no BAR\n");
	t.len = 0;
	bars.err[0] = -E2BIG;
	bars.err[1] = -EOPNOTSUPP;
	lens_format_bars(&t, &bars);
	EXPECT_EQ(std::string(t.buf, t.len),
		  "BAR1:       virtual, page directory 0x000012345000 (vid), pages v2, too many to look at all\n"
		  "BAR2:       none, or not published\n"
		  "runlist 0  0x000080000000 (vid): BAR1+0x00004000 BAR2+0x80000000\n"
		  "runlist 12 0x000000007000 (sys coh): not found, not all was read\n");
	t.len = 0;
	bars.err[0] = -EIO;
	lens_format_bars(&t, &bars);
	EXPECT_EQ(std::string(t.buf, t.len),
		  "BAR1:       virtual, page directory 0x000012345000 (vid), pages v2, some page tables not readable\n"
		  "BAR2:       none, or not published\n"
		  "runlist 0  0x000080000000 (vid): BAR1+0x00004000 BAR2+0x80000000\n"
		  "runlist 12 0x000000007000 (sys coh): not found, not all was read\n");
	lens_text_free(&t);
}

} // namespace
