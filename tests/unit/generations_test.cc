// SPDX-License-Identifier: GPL-2.0
// Every chip by its id, and the limits of every chip, against tests/support/generations/, which names the sources.
// PMC_BOOT_0 0x0: implementation 23:20, architecture 28:24 and its bit 5 in bit 8: open-gpu-kernel-modules nv_ref.h.
#include "support/core/chips.hpp"
#include "support/core/emulated.hpp"
#include "support/core/fake.hpp"
#include "support/generations.hpp"

#include <gtest/gtest.h>
#include <map>
#include <set>

namespace {

using test::all_generations;
using test::Emulated;
using test::Fake;
using test::GenerationLiterals;

// The chip that the core identifies by this BOOT_0.
void identify_chip(Fake &f, u32 boot0)
{
	f.regs[0] = boot0;
	ASSERT_EQ(lens_gpu_identify(f.gpu.get(), f.io()), 0) << std::hex << boot0;
}

// RTAS'23, Fig. 5, up to Turing; nothing is published about later chips, and H200s use another order
// (docs/results/2026-11-22-h200-masks.md). The file chip also states assumptions in words.
TEST(Generations, LogicalTpcOrderIsPublishedAssumedOrKnownToBeWrong)
{
	const std::map<std::string, lens_tpc_order> orders = {{"published", LENS_TPC_ORDER_PUBLISHED},
							      {"assumed", LENS_TPC_ORDER_ASSUMED},
							      {"wrong", LENS_TPC_ORDER_WRONG}};
	for (const GenerationLiterals &g : all_generations()) {
		Fake f(lens_chip_gp10x);
		identify_chip(f, g.ids.at(0).first);
		EXPECT_EQ(f.gpu->chip->tpc_order, orders.at(g.tpc_order)) << g.name;
		const char *assumed = f.gpu->chip->assumed;
		bool stated = assumed && std::string(assumed).find("logical TPC order") != std::string::npos;
		EXPECT_EQ(stated, g.tpc_order == "assumed") << g.name;
	}
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

// At least seven generations with PFIFO, five with runlist registers, and GB20x, of whose Host only PREEMPT is published.
TEST(Generations, EachHasItsHost)
{
	std::map<std::string, size_t> counts;

	for (const GenerationLiterals &g : all_generations()) {
		Fake f(lens_chip_gp10x);
		identify_chip(f, g.ids.at(0).first);
		EXPECT_EQ(f.gpu->chip->host != nullptr, !g.host.empty()) << g.name;
		EXPECT_EQ(f.gpu->chip->ids_per_runlist, g.host != "pfifo") << g.name;
		counts[g.host]++;
	}
	EXPECT_EQ(test::all_chips().size(), all_generations().size());
	EXPECT_EQ(test::pfifo_chips().size(), counts["pfifo"]);
	EXPECT_EQ(test::chram_chips().size(), counts["runlist registers"]);
	EXPECT_GE(counts["pfifo"], 7u);
	EXPECT_GE(counts["runlist registers"], 5u);
	EXPECT_EQ(lens_chip_gb20x.host, nullptr);
}

// Seen failing with an id added to src/chip/ad10x.c, and with AD103 left out of ad10x.json.
TEST(Generations, EveryPublishedIdHasItsNameAndGeneration)
{
	std::set<u32> literals;

	for (const GenerationLiterals &g : all_generations())
		for (const auto &[boot0, name] : g.ids) {
			Fake f(lens_chip_gp10x);
			identify_chip(f, boot0);
			EXPECT_STREQ(f.gpu->name, name.c_str());
			EXPECT_STREQ(f.gpu->chip->name, g.name.c_str()) << name;
			EXPECT_STREQ(f.gpu->chip->arch, g.arch.c_str()) << name;
			EXPECT_EQ(f.gpu->chip_id, boot0 >> 20) << name;
			EXPECT_TRUE(f.gpu->known) << name;
			EXPECT_TRUE(literals.insert(boot0 >> 20).second) << name << " is there twice";
		}
	EXPECT_GE(literals.size(), 56u);
	for (const lens_chip *chip : test::all_chips())
		for (const lens_chip_id *id = chip->ids; id->id; id++)
			EXPECT_EQ(literals.erase(id->id), 1u)
				<< chip->name << " has 0x" << std::hex << id->id << ", " << id->name
				<< ", which tests/support/generations/ does not have";
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

TEST(Generations, WindowMovedFromPbusToXal)
{
	for (const GenerationLiterals &g : all_generations()) {
		Fake f(lens_chip_gp10x);
		identify_chip(f, g.ids.at(0).first);
		EXPECT_EQ(f.io()->window->reg, g.window) << g.name;
		EXPECT_EQ(f.io()->window->base_mask, g.window_base_mask) << g.name;
	}
}

// An implementation that no source lists, of an architecture that one row (or the later of two) covers.
TEST(UnknownChip, OfAKnownArchitectureIsReadAsItsGeneration)
{
	size_t checked = 0;

	for (const GenerationLiterals &g : all_generations())
		for (u32 boot0 : g.unlisted_ids) {
			Fake f(lens_chip_gp10x);
			identify_chip(f, boot0);
			EXPECT_STREQ(f.gpu->chip->name, g.name.c_str()) << std::hex << boot0;
			EXPECT_STREQ(f.gpu->name, g.name.c_str()) << std::hex << boot0;
			EXPECT_EQ(f.gpu->chip_id, boot0 >> 20);
			EXPECT_FALSE(f.gpu->known);
			EXPECT_FALSE(lens_gpu_has_host(f.gpu.get()));
			checked++;
		}
	EXPECT_GE(checked, 14u);
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
	std::vector<u32> unlisted;

	for (const GenerationLiterals &g : all_generations())
		unlisted.insert(unlisted.end(), g.unlisted_ids.begin(), g.unlisted_ids.end());
	EXPECT_GE(unlisted.size(), 14u);
	for (u32 boot0 : unlisted) {
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

class ChipLimits : public testing::TestWithParam<std::string> {
protected:
	const std::pair<GenerationLiterals, test::ChipLiterals> literals = test::find_literals(GetParam());
	const GenerationLiterals &generation = literals.first;
	const test::ChipLiterals &chip = literals.second;
};

TEST_P(ChipLimits, AreThoseOfItsManuals)
{
	Emulated e(chip.profile);
	ASSERT_EQ(e.attach(), 0);
	EXPECT_TRUE(lens_gpu_has_host(e.gpu.get()));
	EXPECT_EQ(e.gpu->chip->entry_words * 4u, generation.entry_bytes);
	EXPECT_EQ(e.gpu->chip->tsg_length_max, generation.tsg_length);
	EXPECT_EQ(e.gpu->chip->tsgs, generation.tsgs);
	EXPECT_EQ(e.gpu->chip->ids_per_runlist, generation.ids_per_runlist);
	ASSERT_GE(e.topo().n_runlists, 1);
	for (u32 i = 0; i < e.topo().n_runlists; i++)
		EXPECT_EQ(e.topo().runlists[i].channels, chip.channels) << i;
	// TSG_LENGTH has 6 bits at 31:26 of word 0, or 8 at 7:0 of word 1: a header with all of them set.
	const u32 old_header[2] = {0xfc002005, 0}, new_header[4] = {0x00000001, 0xffffffff, 5, 0};
	lens_entry tsg;
	e.gpu->chip->host->decode_entry(generation.entry_bytes == 8 ? old_header : new_header, &tsg);
	EXPECT_TRUE(tsg.is_tsg);
	EXPECT_EQ(tsg.length, generation.entry_bytes == 8 ? 63 : 255);
	EXPECT_EQ(tsg.id, 5);
}

TEST_P(ChipLimits, IdBeyondThemIsRefusedBeforeAnythingIsWritten)
{
	Emulated e(chip.profile);
	ASSERT_EQ(e.attach(), 0);
	e.emu->reset_counts();
	int at;
	for (u32 id : {chip.channels, chip.channels + 1, 0x10000u, 0xffffffffu}) {
		lens_ref bare{LENS_NONE, id}, named{0, id};
		EXPECT_EQ(lens_channel_enable(e.gpu.get(), &bare, true, &at), -ERANGE) << id;
		EXPECT_EQ(lens_channel_enable(e.gpu.get(), &named, false, &at),
			  generation.ids_per_runlist ? -ERANGE : -EINVAL);
	}
	for (u32 id : {generation.tsgs, generation.tsgs + 1, 0x10000u, 0xffffffffu}) {
		lens_ref bare{LENS_NONE, id}, named{0, id};
		EXPECT_EQ(lens_tsg_preempt(e.gpu.get(), &bare, &at), -ERANGE) << id;
		EXPECT_EQ(lens_tsg_switch_to(e.gpu.get(), &bare, &at), -ERANGE) << id;
		EXPECT_EQ(lens_tsg_preempt(e.gpu.get(), &named, &at), generation.ids_per_runlist ? -ERANGE : -EINVAL);
	}
	for (u32 id : {chip.runlists, chip.runlists + 1, 0xffffffffu}) {
		EXPECT_EQ(lens_runlist_resubmit(e.gpu.get(), id), -ERANGE) << id;
		EXPECT_EQ(lens_runlist_preempt(e.gpu.get(), id), generation.preempts_runlists ? -ERANGE : -EOPNOTSUPP);
	}
	EXPECT_EQ(e.emu->counts().all_writes(), 0u);
	EXPECT_EQ(e.emu->counts().all_reads(), 0u);
}

// One below is an id: nobody has it here, and on no chip is that -ERANGE.
TEST_P(ChipLimits, LastIdBelowThemIsSearched)
{
	Emulated e(chip.profile);
	ASSERT_EQ(e.attach(), 0);
	int at;
	lens_ref channel{LENS_NONE, chip.channels - 1}, tsg{LENS_NONE, generation.tsgs - 1};
	EXPECT_EQ(lens_channel_enable(e.gpu.get(), &channel, false, &at),
		  generation.ids_per_runlist ? -EINVAL : -ENOENT);
	EXPECT_EQ(lens_tsg_preempt(e.gpu.get(), &tsg, &at), -ENOENT);
	// Whether the chip has that runlist or not: nothing was ever submitted to it.
	EXPECT_EQ(lens_runlist_resubmit(e.gpu.get(), chip.runlists - 1), -ENOENT);
}

INSTANTIATE_TEST_SUITE_P(Chips, ChipLimits, testing::ValuesIn(test::profiles_with_host()),
			 [](const auto &info) { return info.param; });

TEST(Limits, AreHeldForEveryEmulatedChipWithAHost)
{
	EXPECT_GE(test::profiles_with_host().size(), 22u);
}

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
