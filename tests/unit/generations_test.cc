// SPDX-License-Identifier: GPL-2.0
// Every chip by its id, and the limits of every chip. Sources:
//   PMC_BOOT_0 0x0: implementation 23:20, architecture 28:24 and its bit 5 in bit 8: open-gpu-kernel-modules nv_ref.h
//   ids: nv_arch.h GPU_IMPLEMENTATION_*; Kepler: nouveau engine/device/base.c; Tegra: linux-nvgpu gk20a.h *_GPUID_*
//   channels: nouveau engine/fifo/gk104.c, gm107.c, gm200.c; linux-nvgpu hw_ccsr_*.h; open-gpu-doc NV_PCCSR_CHANNEL__SIZE_1;
//     since Ampere NUM_CHANNELS_LOG2 of each runlist, ampere/ga100/dev_runlist.ref.txt
//   runlists: envytools gf100_pfifo.xml (7), linux-nvgpu hw_fifo_*.h, open-gpu-doc NV_PFIFO_ENG_RUNLIST__SIZE_1, tu104
//     NV_PFIFO_RUNLIST_BASE_LO__SIZE_1; since Ampere RUNLIST_ID 22:16 of NV_VIRTUAL_FUNCTION_DOORBELL. Not published for
//     GM10x, GM20x and GP100: there the four bits of the device table's RUNLIST_ENUM are all that limits them.
//   entries: hw_ram_gp106.h, gm107/dev_ram.h (8 bytes, 32 channels); dev_ram.ref.txt (16 bytes, 128 channels)
#include "support/core/chips.hpp"
#include "support/core/emulated.hpp"
#include "support/core/fake.hpp"

#include <gtest/gtest.h>

namespace {

using test::Emulated;
using test::Fake;

// RTAS'23, Fig. 5, up to Turing; nothing is published about later chips, and H200s use another order
// (docs/results/2026-11-22-h200-masks.md). The file chip also states assumptions in words.
TEST(Generations, LogicalTpcOrderIsPublishedAssumedOrKnownToBeWrong)
{
	for (const lens_chip *chip :
	     {&lens_chip_gm20x, &lens_chip_gp100, &lens_chip_gp10x, &lens_chip_gv10x, &lens_chip_tu10x}) {
		EXPECT_EQ(chip->tpc_order, LENS_TPC_ORDER_PUBLISHED) << chip->name;
	}
	for (const lens_chip *chip : {&lens_chip_ga100, &lens_chip_ga10x, &lens_chip_ad10x}) {
		EXPECT_EQ(chip->tpc_order, LENS_TPC_ORDER_ASSUMED) << chip->name;
		EXPECT_NE(std::string(chip->assumed).find("logical TPC order"), std::string::npos) << chip->name;
	}
	EXPECT_EQ(lens_chip_gh100.tpc_order, LENS_TPC_ORDER_WRONG);
	EXPECT_EQ(std::string(lens_chip_gh100.assumed).find("logical TPC order"), std::string::npos);
}

// src/core.h holds the same of the numbers that rows use.
TEST(Generations, NoRowHasMoreEnginesThanTheArray)
{
	u32 most = 0;

	for (const lens_chip *chip : test::all_chips()) {
		EXPECT_GE(chip->engines, 64) << chip->name;
		EXPECT_LE(chip->engines, LENS_MAX_ENGINES) << chip->name;
		most = std::max<u32>(most, chip->engines);
	}
	EXPECT_EQ(most, 306u);
}

// Seven generations with PFIFO, five with runlist registers, and GB20x, of whose Host only PREEMPT is published.
TEST(Generations, EachHasItsHost)
{
	EXPECT_EQ(test::all_chips().size(), 13u);
	EXPECT_EQ(test::pfifo_chips().size(), 7u);
	EXPECT_EQ(test::chram_chips().size(), 5u);
	EXPECT_EQ(lens_chip_gb20x.host, nullptr);
}

// Seen failing with an id added to src/chip/ad10x.c.
TEST(Generations, EveryPublishedIdHasItsNameAndGeneration)
{
	const struct {
		u32 boot0;
		const char *name, *generation, *arch;
	} rows[] = {
		{0x0e4000a1, "GK104", "GK10x", "Kepler"},    {0x0e6000a1, "GK106", "GK10x", "Kepler"},
		{0x0e7000a1, "GK107", "GK10x", "Kepler"},    {0x0ea000a1, "GK20A", "GK10x", "Kepler"},
		{0x0f0000a1, "GK110", "GK10x", "Kepler"},    {0x0f1000a1, "GK110B", "GK10x", "Kepler"},
		{0x0f2000a1, "GK210", "GK10x", "Kepler"},    {0x106000a1, "GK208B", "GK10x", "Kepler"},
		{0x108000a1, "GK208", "GK10x", "Kepler"},    {0x117000a1, "GM107", "GM10x", "Maxwell"},
		{0x118000a1, "GM108", "GM10x", "Maxwell"},   {0x120000a1, "GM200", "GM20x", "Maxwell"},
		{0x124000a1, "GM204", "GM20x", "Maxwell"},   {0x126000a1, "GM206", "GM20x", "Maxwell"},
		{0x12b000a1, "GM20B", "GM20x", "Maxwell"},   {0x12e000a1, "GM20B", "GM20x", "Maxwell"},
		{0x130000a1, "GP100", "GP100", "Pascal"},    {0x132000a1, "GP102", "GP10x", "Pascal"},
		{0x134000a1, "GP104", "GP10x", "Pascal"},    {0x136000a1, "GP106", "GP10x", "Pascal"},
		{0x137000a1, "GP107", "GP10x", "Pascal"},    {0x138000a1, "GP108", "GP10x", "Pascal"},
		{0x13b000a1, "GP10B", "GP10x", "Pascal"},    {0x140000a1, "GV100", "GV10x", "Volta"},
		{0x15b000a1, "GV11B", "GV10x", "Volta"},     {0x162000a1, "TU102", "TU10x", "Turing"},
		{0x164000a1, "TU104", "TU10x", "Turing"},    {0x166000a1, "TU106", "TU10x", "Turing"},
		{0x167000a1, "TU117", "TU10x", "Turing"},    {0x168000a1, "TU116", "TU10x", "Turing"},
		{0x170000a1, "GA100", "GA100", "Ampere"},    {0x172000a1, "GA102", "GA10x", "Ampere"},
		{0x173000a1, "GA103", "GA10x", "Ampere"},    {0x174000a1, "GA104", "GA10x", "Ampere"},
		{0x176000a1, "GA106", "GA10x", "Ampere"},    {0x177000a1, "GA107", "GA10x", "Ampere"},
		{0x17b000a1, "GA10B", "GA10x", "Ampere"},    {0x17f000a1, "GA102F", "GA10x", "Ampere"},
		{0x180000a1, "GH100", "GH100", "Hopper"},    {0x192000a1, "AD102", "AD10x", "Ada"},
		{0x193000a1, "AD103", "AD10x", "Ada"},       {0x194000a1, "AD104", "AD10x", "Ada"},
		{0x196000a1, "AD106", "AD10x", "Ada"},       {0x197000a1, "AD107", "AD10x", "Ada"},
		{0x1a0000a1, "GB100", "GB10x", "Blackwell"}, {0x1a2000a1, "GB102", "GB10x", "Blackwell"},
		{0x1a3000a1, "GB110", "GB10x", "Blackwell"}, {0x1a4000a1, "GB112", "GB10x", "Blackwell"},
		{0x1ab000a1, "GB10B", "GB10x", "Blackwell"}, {0x1b2000a1, "GB202", "GB20x", "Blackwell"},
		{0x1b3000a1, "GB203", "GB20x", "Blackwell"}, {0x1b5000a1, "GB205", "GB20x", "Blackwell"},
		{0x1b6000a1, "GB206", "GB20x", "Blackwell"}, {0x1b7000a1, "GB207", "GB20x", "Blackwell"},
		{0x1bb000a1, "GB20B", "GB20x", "Blackwell"}, {0x1bc000a1, "GB20C", "GB20x", "Blackwell"},
	};
	for (const auto &r : rows) {
		Fake f(lens_chip_gp10x);
		f.regs[0] = r.boot0;
		ASSERT_EQ(lens_gpu_identify(f.gpu.get(), f.io()), 0) << r.name;
		EXPECT_STREQ(f.gpu->name, r.name);
		EXPECT_STREQ(f.gpu->chip->name, r.generation) << r.name;
		EXPECT_STREQ(f.gpu->chip->arch, r.arch) << r.name;
		EXPECT_EQ(f.gpu->chip_id, r.boot0 >> 20) << r.name;
		EXPECT_TRUE(f.gpu->known) << r.name;
	}
	size_t ids = 0;
	for (const lens_chip *chip : test::all_chips())
		for (const lens_chip_id *id = chip->ids; id->id; id++)
			ids++;
	EXPECT_EQ(ids, std::size(rows)); // none is left out
}

// A Tesla K80 read with its own driver: BOOT_0 0x0f22d0a1; 0x2280 to 0x22b4 answer and 0x22b8 is an error word, so
// seven runlists; 0x2390, 0x2394, 0x2398 are 0x1, 0x6e, 0x10 and 0x239c is an error word, so three PBDMAs
// (syntheticChemistry/hotSpring data/k80/nvidia470-captures/warm_bar0.json).
TEST(Generations, TeslaK80IsAKeplerWithSevenRunlistsAndThreePbdmas)
{
	Fake f(lens_chip_gp10x);
	f.regs[0] = 0x0f22d0a1;
	ASSERT_EQ(lens_gpu_identify(f.gpu.get(), f.io()), 0);
	EXPECT_TRUE(f.gpu->known);
	EXPECT_STREQ(f.gpu->name, "GK210");
	EXPECT_EQ(f.gpu->chip->runlists, 7u);
	EXPECT_EQ(f.gpu->chip->pbdmas, 3u);
	EXPECT_EQ(f.gpu->id->runlists, 0u); // no limits of its own
	EXPECT_EQ(f.gpu->id->pbdmas, 0u);
}

// The window that GPU memory is read through: NV_PBUS_BAR0_WINDOW 0x1700, BASE 23:0 (gm107/dev_bus.h);
// NV_XAL_EP_ZB_BAR0_WINDOW 0x10fd40, BASE 21:0 (hopper/gh100/dev_nv_xal_ep_zb.h), 22:0 (blackwell/gb100).
TEST(Generations, WindowMovedFromPbusToXal)
{
	const struct {
		u32 boot0, reg, mask;
	} rows[] = {
		{0x0e4000a1, 0x1700, 0xffffff},   {0x140000a1, 0x1700, 0xffffff},   {0x194000a1, 0x1700, 0xffffff},
		{0x180000a1, 0x10fd40, 0x3fffff}, {0x1a0000a1, 0x10fd40, 0x7fffff}, {0x1b2000a1, 0x10fd40, 0x7fffff},
	};
	for (const auto &r : rows) {
		Fake f(lens_chip_gp10x);
		f.regs[0] = r.boot0;
		ASSERT_EQ(lens_gpu_identify(f.gpu.get(), f.io()), 0);
		EXPECT_EQ(f.io()->window->reg, r.reg) << std::hex << r.boot0;
		EXPECT_EQ(f.io()->window->base_mask, r.mask) << std::hex << r.boot0;
	}
}

// An implementation that no source lists, of an architecture that one row (or the later of two) covers.
TEST(UnknownChip, OfAKnownArchitectureIsReadAsItsGeneration)
{
	const struct {
		u32 boot0;
		const char *generation;
	} rows[] = {
		{0x0e5000a1, "GK10x"}, {0x0ff000a1, "GK10x"}, {0x10f000a1, "GK10x"}, {0x11f000a1, "GM10x"},
		{0x12f000a1, "GM20x"}, {0x13f000a1, "GP10x"}, {0x14f000a1, "GV10x"}, {0x151000a1, "GV10x"},
		{0x16f000a1, "TU10x"}, {0x171000a1, "GA10x"}, {0x18f000a1, "GH100"}, {0x19f000a1, "AD10x"},
		{0x1af000a1, "GB10x"}, {0x1bf000a1, "GB20x"},
	};
	for (const auto &r : rows) {
		Fake f(lens_chip_gp10x);
		f.regs[0] = r.boot0;
		ASSERT_EQ(lens_gpu_identify(f.gpu.get(), f.io()), 0) << r.generation;
		EXPECT_STREQ(f.gpu->chip->name, r.generation) << std::hex << r.boot0;
		EXPECT_STREQ(f.gpu->name, r.generation) << std::hex << r.boot0;
		EXPECT_EQ(f.gpu->chip_id, r.boot0 >> 20);
		EXPECT_FALSE(f.gpu->known);
		EXPECT_FALSE(lens_gpu_has_host(f.gpu.get()));
	}
}

TEST(UnknownChip, OfAnUnknownArchitectureIsRefused)
{
	// Tesla, Fermi (0x0c, 0x0d), no architecture, 0x1c and 0x1d, AMODEL, and any with bit 8 (architecture 0x20 on)
	for (u32 boot0 : {0x086000a1u, 0x0c0000a1u, 0x0d9000a1u, 0x000000a1u, 0x1c0000a1u, 0x1d2000a1u, 0x1f0000a1u,
			  0x000001a1u, 0x142001a1u}) {
		Fake f(lens_chip_gp10x);
		f.regs[0] = boot0;
		EXPECT_EQ(lens_gpu_identify(f.gpu.get(), f.io()), -ENODEV) << std::hex << boot0;
	}
}

// Graphics and LCE 2 as in ptop_test.cc, with 0x2004, 0x2008 (CFG0, CFG1) and 0x2390 (PBDMA_MAP) never asked.
TEST(UnknownChip, HasItsDeviceTableReadAndNothingOfHost)
{
	Fake f(lens_chip_gp10x);
	f.regs[0] = 0x16f000a1;
	f.regs[0x2004] = 3;
	f.set_rows(0x22700, {0x80000003, 0x8006183e, 0x00400205, 0x8000004f, 0x94a4aa3e, 0x0810409d});
	ASSERT_EQ(lens_gpu_identify(f.gpu.get(), f.io()), 0);
	ASSERT_EQ(lens_gpu_read_topology(f.gpu.get()), 0);
	EXPECT_EQ(f.gpu->topo.n_engines, 2);
	EXPECT_EQ(f.gpu->topo.engines[1].runlist, 5);
	EXPECT_EQ(f.gpu->topo.n_runlists, 0);
	EXPECT_EQ(lens_gpu_find_runlist(f.gpu.get(), 5), nullptr);
	EXPECT_EQ(f.gpu->topo.num_ces, 1); // counted in the table
	for (u32 off : f.reads)
		EXPECT_TRUE(off == 0 || (off >= 0x22700 && off < 0x22800)) << std::hex << off;
}

/*
 * BOOT_0 0x0 and the device table: DEVICE_INFO(i) 0x22700+4i up to Turing, then CFG 0x224fc and DEVICE_INFO2(i) 0x22800+4i,
 * of GB10x also those of a second die, CFG 0x324fc (open-gpu-doc turing/tu104/dev_top.ref.txt; open-gpu-kernel-modules
 * blackwell/gb100/dev_top.h). Every other register would answer 3.
 */
TEST(UnknownChip, HasNoRegisterReadButTheDeviceTable)
{
	for (u32 boot0 : {0x0e5000a1u, 0x11f000a1u, 0x12f000a1u, 0x13f000a1u, 0x14f000a1u, 0x16f000a1u, 0x171000a1u,
			  0x18f000a1u, 0x19f000a1u, 0x1af000a1u, 0x1bf000a1u}) {
		Fake f(lens_chip_gp10x);
		f.default_value = 3;
		f.regs[0] = boot0;
		f.regs[0x324fc] = 0; // one die
		if (boot0 < 0x170000a1) {
			f.set_rows(0x22700, std::vector<u32>(64, 0));
			f.set_rows(0x22700, {0x80000003, 0x0006183e});
		} else {
			f.regs[0x224fc] = 0x00300002;
			f.set_rows(0x22800, {0x9302002d, 0xc0104005, 0x00c00401});
		}
		ASSERT_EQ(lens_gpu_identify(f.gpu.get(), f.io()), 0) << std::hex << boot0;
		ASSERT_EQ(lens_gpu_read_topology(f.gpu.get()), 0) << std::hex << boot0;
		const lens_topology &t = f.gpu->topo;
		EXPECT_EQ(t.n_engines, 1);
		EXPECT_EQ(t.gpcs_err, -EOPNOTSUPP) << std::hex << boot0;
		EXPECT_EQ(t.ce_err, -EOPNOTSUPP) << std::hex << boot0;
		EXPECT_EQ(t.num_gpcs, 0) << std::hex << boot0;
		EXPECT_EQ(t.num_tpc_per_gpc, 0) << std::hex << boot0;
		EXPECT_EQ(t.memory_bytes, 0u) << std::hex << boot0;
		EXPECT_EQ(t.num_ces, boot0 < 0x170000a1 ? 0 : 1) << std::hex << boot0;
		EXPECT_EQ(t.ce.n_grces, 0) << std::hex << boot0;
		for (u32 off : f.reads)
			EXPECT_TRUE(off == 0 || off == 0x224fc || off == 0x324fc || (off >= 0x22700 && off < 0x22900))
				<< std::hex << boot0 << ' ' << off;
	}
}

TEST(UnknownChip, OfAmpereHasNoRunlistRead)
{
	Fake f(lens_chip_gp10x);
	f.regs[0] = 0x171000a1;
	f.regs[0x224fc] = 0x00300002;
	f.set_rows(0x22800, {0x9302002d, 0xc0104005, 0x00c00401});
	ASSERT_EQ(lens_gpu_identify(f.gpu.get(), f.io()), 0);
	ASSERT_EQ(lens_gpu_read_topology(f.gpu.get()), 0);
	ASSERT_EQ(f.gpu->topo.n_engines, 1);
	EXPECT_EQ(f.gpu->topo.engines[0].type, 19);
	EXPECT_EQ(f.gpu->topo.engines[0].runlist_base, 0xc00400u);
	EXPECT_EQ(f.gpu->topo.engines[0].runlist, -1); // only the runlist's registers know
	EXPECT_EQ(f.gpu->topo.n_runlists, 0);
	for (u32 off : f.reads)
		EXPECT_LT(off, 0xc00000u);
}

/* -- limits -- */

struct Limits {
	const char *profile;
	u32 entry_bytes, tsg_length, channels, runlists, tsgs;
	bool per_runlist, preempts_runlists;
};

constexpr Limits LIMITS[] = {
	{"gk104", 8, 32, 4096, 7, 4096, false, false},   {"gk110", 8, 32, 4096, 7, 4096, false, false},
	{"gm107", 8, 32, 2048, 16, 4096, false, false},  {"gm204", 8, 32, 4096, 16, 4096, false, false},
	{"gm20b", 8, 32, 512, 1, 4096, false, false},    {"gp100", 8, 32, 4096, 16, 4096, false, false},
	{"gp102", 8, 32, 4096, 7, 4096, false, false},   {"gp106", 8, 32, 4096, 7, 4096, false, false},
	{"gp10b", 8, 32, 512, 1, 4096, false, false},    {"gv100", 16, 128, 4096, 13, 4096, false, true},
	{"gv11b", 16, 128, 512, 2, 4096, false, true},   {"tu102", 16, 128, 4096, 11, 4096, false, true},
	{"tu116", 16, 128, 4096, 11, 4096, false, true}, {"tu104", 16, 128, 4096, 11, 4096, false, true},
	{"tu117", 16, 128, 4096, 11, 4096, false, true}, {"ga100", 16, 128, 2048, 128, 2048, true, true},
	{"ga102", 16, 128, 2048, 128, 2048, true, true}, {"ga10b", 16, 128, 2048, 128, 2048, true, true},
	{"ad102", 16, 128, 2048, 128, 2048, true, true}, {"ad104", 16, 128, 2048, 128, 2048, true, true},
	{"gh100", 16, 128, 2048, 128, 2048, true, true}, {"gb100", 16, 128, 2048, 128, 2048, true, true},
};

class ChipLimits : public testing::TestWithParam<Limits> {};

TEST_P(ChipLimits, AreThoseOfItsManuals)
{
	const Limits &l = GetParam();
	Emulated e(l.profile);
	ASSERT_EQ(e.attach(), 0);
	EXPECT_TRUE(lens_gpu_has_host(e.gpu.get()));
	EXPECT_EQ(e.gpu->chip->entry_words * 4u, l.entry_bytes);
	EXPECT_EQ(e.gpu->chip->tsg_length_max, l.tsg_length);
	EXPECT_EQ(e.gpu->chip->tsgs, l.tsgs);
	EXPECT_EQ(e.gpu->chip->ids_per_runlist, l.per_runlist);
	ASSERT_GE(e.topo().n_runlists, 1);
	for (u32 i = 0; i < e.topo().n_runlists; i++)
		EXPECT_EQ(e.topo().runlists[i].channels, l.channels) << i;
	// TSG_LENGTH has 6 bits at 31:26 of word 0, or 8 at 7:0 of word 1: a header with all of them set.
	const u32 old_header[2] = {0xfc002005, 0}, new_header[4] = {0x00000001, 0xffffffff, 5, 0};
	lens_entry tsg;
	e.gpu->chip->host->decode_entry(l.entry_bytes == 8 ? old_header : new_header, &tsg);
	EXPECT_TRUE(tsg.is_tsg);
	EXPECT_EQ(tsg.length, l.entry_bytes == 8 ? 63 : 255);
	EXPECT_EQ(tsg.id, 5);
}

TEST_P(ChipLimits, IdBeyondThemIsRefusedBeforeAnythingIsWritten)
{
	const Limits &l = GetParam();
	Emulated e(l.profile);
	ASSERT_EQ(e.attach(), 0);
	e.emu->reset_counts();
	int at;
	for (u32 id : {l.channels, l.channels + 1, 0x10000u, 0xffffffffu}) {
		lens_ref bare{LENS_NONE, id}, named{0, id};
		EXPECT_EQ(lens_channel_enable(e.gpu.get(), &bare, true, &at), -ERANGE) << id;
		EXPECT_EQ(lens_channel_enable(e.gpu.get(), &named, false, &at), l.per_runlist ? -ERANGE : -EINVAL);
	}
	for (u32 id : {l.tsgs, l.tsgs + 1, 0x10000u, 0xffffffffu}) {
		lens_ref bare{LENS_NONE, id}, named{0, id};
		EXPECT_EQ(lens_tsg_preempt(e.gpu.get(), &bare, &at), -ERANGE) << id;
		EXPECT_EQ(lens_tsg_switch_to(e.gpu.get(), &bare, &at), -ERANGE) << id;
		EXPECT_EQ(lens_tsg_preempt(e.gpu.get(), &named, &at), l.per_runlist ? -ERANGE : -EINVAL);
	}
	for (u32 id : {l.runlists, l.runlists + 1, 0xffffffffu}) {
		EXPECT_EQ(lens_runlist_resubmit(e.gpu.get(), id), -ERANGE) << id;
		EXPECT_EQ(lens_runlist_preempt(e.gpu.get(), id), l.preempts_runlists ? -ERANGE : -EOPNOTSUPP);
	}
	EXPECT_EQ(e.emu->counts().all_writes(), 0u);
	EXPECT_EQ(e.emu->counts().all_reads(), 0u);
}

// One below is an id: nobody has it here, and on no chip is that -ERANGE.
TEST_P(ChipLimits, LastIdBelowThemIsSearched)
{
	const Limits &l = GetParam();
	Emulated e(l.profile);
	ASSERT_EQ(e.attach(), 0);
	int at;
	lens_ref channel{LENS_NONE, l.channels - 1}, tsg{LENS_NONE, l.tsgs - 1};
	EXPECT_EQ(lens_channel_enable(e.gpu.get(), &channel, false, &at), l.per_runlist ? -EINVAL : -ENOENT);
	EXPECT_EQ(lens_tsg_preempt(e.gpu.get(), &tsg, &at), -ENOENT);
	// Whether the chip has that runlist or not: nothing was ever submitted to it.
	EXPECT_EQ(lens_runlist_resubmit(e.gpu.get(), l.runlists - 1), -ENOENT);
}

INSTANTIATE_TEST_SUITE_P(Chips, ChipLimits, testing::ValuesIn(LIMITS),
			 [](const auto &info) { return std::string(info.param.profile); });

// Those whose limit is their own and not their generation's, without a profile of the emulator.
TEST(Limits, OfChipsThatDifferFromTheirGeneration)
{
	const struct {
		u32 boot0, channels, runlists;
	} rows[] = {
		{0x0ea000a1, 128, 1},  // GK20A: hw_ccsr_gk20a.h, hw_fifo_gk20a.h
		{0x106000a1, 1024, 7}, // GK208: nouveau engine/fifo/gk208.c
		{0x108000a1, 1024, 7},
		{0x0e6000a1, 4096, 7},
	};
	for (const auto &r : rows) {
		Fake f(lens_chip_gp10x);
		f.regs[0] = r.boot0;
		f.set_rows(0x22700,
			   {0x80000003, 0x0006183e}); // graphics on runlist 0 in Kepler's format, without a DATA row
		ASSERT_EQ(lens_gpu_identify(f.gpu.get(), f.io()), 0);
		ASSERT_EQ(lens_gpu_read_topology(f.gpu.get()), 0);
		ASSERT_EQ(f.gpu->topo.n_runlists, 1);
		EXPECT_EQ(f.gpu->topo.runlists[0].channels, r.channels) << std::hex << r.boot0;
		EXPECT_EQ(lens_runlist_resubmit(f.gpu.get(), r.runlists), -ERANGE) << std::hex << r.boot0;
		EXPECT_EQ(f.times_read(0x2008), 0u); // CFG1 came with GM20x
	}
}

TEST(Limits, ASmallerChannelCountOfTheGpuApplies)
{
	Fake f(lens_chip_gm20x);
	f.regs[0] = 0x124000a1;
	f.regs[0x2008] = 1024;
	f.set_rows(0x22700, {0x80000003, 0x0006183e});
	ASSERT_EQ(lens_gpu_identify(f.gpu.get(), f.io()), 0);
	ASSERT_EQ(lens_gpu_read_topology(f.gpu.get()), 0);
	EXPECT_EQ(f.gpu->topo.runlists[0].channels, 1024);
	f.regs[0x2008] = 0; // zero
	ASSERT_EQ(lens_gpu_read_topology(f.gpu.get()), 0);
	EXPECT_EQ(f.gpu->topo.runlists[0].channels, 4096);
}

TEST(Limits, Gb202HasNoHost)
{
	Emulated e("gb202");
	ASSERT_EQ(e.attach(), 0);
	EXPECT_TRUE(e.gpu->known);
	EXPECT_STREQ(e.gpu->name, "GB202");
	EXPECT_FALSE(lens_gpu_has_host(e.gpu.get()));
	EXPECT_EQ(e.topo().n_runlists, 0);
}

} // namespace
