// SPDX-License-Identifier: GPL-2.0
// The core's topology of the emulated chips of all generations, compared with what papers and manuals state about the
// real ones. If no source lists the engines, they are the emulator's assumption; the literals are compared nevertheless,
// so that a misread table is detected. Sources:
//   RTAS'24  Bakita & Anderson, Tables II to IV (engines and runlists), sections V-C, V-D, VI-B
//   RTAS'23  Bakita & Anderson, section IV-B (floorsweeping of GP106)
//   counts   linux-nvgpu hw_proj_*.h host_num_engines, host_num_pbdma; hw_fifo_*.h; hal_ga100_litter.c
//   Kepler   nouveau engine/fifo/gk104.c fifo_engine
//   tests/support/generations/ names the sources of units, copy engines and memory sizes
// Tables II and IV and the H200 are in tables_test.cc.
#include "support/core/emulated.hpp"
#include "support/generations.hpp"
#include "format.h"

#include <bit>
#include <gtest/gtest.h>
#include <map>

namespace {

using test::Emulated;
using Engines = std::vector<std::string>;
using ByRunlist = std::map<int, Engines>;

ByRunlist by_runlist(const Emulated &e)
{
	ByRunlist out;
	for (u32 i = 0; i < e.topo().n_engines; i++) {
		char name[LENS_ENGINE_NAME];
		lens_engine_format_name(e.gpu.get(), &e.topo().engines[i], name);
		out[e.topo().engines[i].runlist].push_back(name);
	}
	return out;
}

u32 count_pbdmas(const Emulated &e)
{
	u32 all = 0;
	for (u32 i = 0; i < e.topo().n_runlists; i++)
		all |= e.topo().runlists[i].pbdmas;
	return u32(std::popcount(all));
}

const std::string GR = "Graphics/Compute 0", GRCE0 = "[Graphics] Copy Engine 0 (GRCE0/LCE0)",
		  GRCE1 = "[Graphics] Copy Engine 1 (GRCE1/LCE1)";

std::string lce_name(int i)
{
	std::string n = std::to_string(i);
	return "Copy Engine " + n + " (LCE" + n + ")";
}

struct Chip : Emulated {
	explicit Chip(const char *profile) : Emulated(profile), err(attach()) {}
	int err;
};

// gk104.c fifo_engine: { GR, CE2 }, { MSPDEC }, { MSPPP }, { MSVLD }, { CE0 }, { CE1 }, { MSENC }.
TEST(Chips, KeplerHasTheRunlistsOfNouveausTable)
{
	for (const char *profile : {"gk104", "gk110"}) {
		Chip c(profile);
		ASSERT_EQ(c.err, 0);
		EXPECT_EQ(by_runlist(c), (ByRunlist{{0, {GR, "Copy Engine 2"}},
						    {1, {"Picture Decoder 0 (MSPDEC0)"}},
						    {2, {"Post Processor 0 (MSPPP0)"}},
						    {3, {"Variable Length Decoder 0 (MSVLD0)"}},
						    {4, {"Copy Engine 0"}},
						    {5, {"Copy Engine 1"}},
						    {6, {"Video Encoder 0 (MSENC0)"}}}))
			<< profile;
		EXPECT_EQ(count_pbdmas(c), 3u) << profile; // SUBFIFO_ENG_MASK of gf100_pfifo.xml
	}
}

TEST(Chips, MaxwellCountsEnginesByType)
{
	Chip gm107("gm107"), gm204("gm204");
	ASSERT_EQ(gm107.err, 0);
	ASSERT_EQ(gm204.err, 0);
	// ce0, ce2, nvdec0, nvenc0: the kernel log of a card; which runlists is assumed
	EXPECT_EQ(by_runlist(gm107), (ByRunlist{{0, {GR, "Copy Engine 2"}},
						{1, {"Video Decoder 0 (NVDEC0)"}},
						{2, {"Video Encoder 0 (NVENC0)"}},
						{4, {"Copy Engine 0"}}}));
	// NVENC1 is type 15 and not instance 1 of type 14: open-gpu-doc volta/gv100/dev_top.ref.txt
	EXPECT_EQ(by_runlist(gm204), (ByRunlist{{0, {GR, "Copy Engine 2"}},
						{1, {"Video Decoder 0 (NVDEC0)"}},
						{2, {"Video Encoder 0 (NVENC0)"}},
						{3, {"Sequencer"}},
						{4, {"Video Encoder 1 (NVENC1)"}},
						{5, {"Copy Engine 0"}},
						{6, {"Copy Engine 1"}}}));
}

// Two engines on the one runlist, one PBDMA: hw_proj_gm20b.h, hw_proj_gp10b.h. RTAS'24 section V-C: on the TX2 copies
// share the runlist of compute.
TEST(Chips, TegraX1AndX2HaveOneRunlistForComputeAndCopies)
{
	Chip gm20b("gm20b"), gp10b("gp10b");
	ASSERT_EQ(gm20b.err, 0);
	ASSERT_EQ(gp10b.err, 0);
	EXPECT_EQ(by_runlist(gm20b), (ByRunlist{{0, {GR, "Copy Engine 2"}}}));
	EXPECT_EQ(by_runlist(gp10b), (ByRunlist{{0, {GR, GRCE0}}}));
	EXPECT_EQ(count_pbdmas(gm20b), 1u);
	EXPECT_EQ(count_pbdmas(gp10b), 1u);
}

// Four engines, two runlists, three PBDMAs: hw_proj_gv11b.h, hw_fifo_gv11b.h; the second one for copies: RTAS'24 VI-B.
TEST(Chips, XavierHasASecondRunlistForCopies)
{
	Chip c("gv11b");
	ASSERT_EQ(c.err, 0);
	EXPECT_EQ(by_runlist(c), (ByRunlist{{0, {GR, GRCE0, GRCE1}}, {1, {lce_name(2)}}}));
	EXPECT_EQ(count_pbdmas(c), 3u);
}

/*
 * RTAS'24 Table III, "Engines on Jetson Orin". The printed table has both Copy Engine 3 and Graphics/Compute 1 on runlist
 * 2, while section V-D says that "with the exception of Runlist 0 every runlist is associated with only one engine". The
 * test follows the table, which the paper's tool read from the hardware. The LCE is not named as a graphics copy engine,
 * although graphics shares its runlist: only the first two LCEs are GRCEs (section V-D; NV_CE_GRCE_ALLOWED_LCE_MASK 0x3
 * of kernel_ce_ga102.c). The two engines of runlist 2 are in the order of types here, and reversed in the table.
 * Six engines: hw_proj_ga10b.h.
 */
TEST(Chips, OrinIsTableThreeOfRtas24)
{
	Chip c("ga10b");
	ASSERT_EQ(c.err, 0);
	EXPECT_EQ(by_runlist(c),
		  (ByRunlist{{0, {GR, GRCE0, GRCE1}}, {1, {lce_name(2)}}, {2, {"Graphics/Compute 1", lce_name(3)}}}));
	EXPECT_EQ(c.topo().n_engines, 6);
	EXPECT_EQ(c.topo().n_runlists, 3);
	EXPECT_EQ(c.topo().num_ces, 4); // LCE0 to LCE3
	EXPECT_EQ(c.topo().memory_bytes, 0u);
}

// 15 engines, 13 runlists, 14 PBDMAs: hw_proj_gv100.h, hw_fifo_gv100.h. Two devices (NVLink, GSP) have no runlist.
TEST(Chips, Gv100HasFifteenEnginesOnThirteenRunlists)
{
	Chip c("gv100");
	ASSERT_EQ(c.err, 0);
	ByRunlist got = by_runlist(c);
	EXPECT_EQ(got[-1], (Engines{"NVLink Control 0 (IOCTRL0)", "GPU System Processor 0 (GSP0)"}));
	got.erase(-1);
	EXPECT_EQ(got.size(), 13u);
	EXPECT_EQ(c.topo().n_engines - 2, 15);
	EXPECT_EQ(c.topo().n_runlists, 13);
	EXPECT_EQ(got[0], (Engines{GR, GRCE0, GRCE1}));
	// a Titan V's device table
	EXPECT_EQ(got[1], (Engines{"Video Decoder 0 (NVDEC0)"}));
	EXPECT_EQ(got[2], (Engines{"Video Encoder 0 (NVENC0)"}));
	EXPECT_EQ(got[3], (Engines{"Sequencer"}));
	EXPECT_EQ(got[4], (Engines{"Video Encoder 1 (NVENC1)"}));
	EXPECT_EQ(got[5], (Engines{"Video Encoder 2 (NVENC2)"}));
	for (u32 i = 2; i <= 8; i++)
		EXPECT_EQ(got[int(i) + 4], (Engines{lce_name(i)}));
	EXPECT_EQ(count_pbdmas(c), 14u);
}

// RTAS'24 section V-C: all GPUs tested but the TX2 have runlists for copies only; section V-D (R7): no engine is on two.
TEST(Chips, EveryRunlistButTheFirstHasOneEngineAndNoEngineHasTwo)
{
	for (const char *profile : {"gp100", "gp102", "gp106", "gv100", "gv11b", "tu102", "tu104", "tu116", "tu117",
				    "ga100", "ga102", "ad102", "ad104", "gh100", "gb100"}) {
		Chip c(profile);
		ASSERT_EQ(c.err, 0) << profile;
		ByRunlist got = by_runlist(c);
		std::map<std::string, int> seen;
		EXPECT_EQ(got[0], (Engines{GR, GRCE0, GRCE1})) << profile;
		bool copies_only = false;
		for (const auto &[runlist, engines] : got) {
			for (const auto &name : engines)
				EXPECT_EQ(seen[name]++, 0) << profile << ' ' << name;
			if (runlist <= 0)
				continue;
			EXPECT_EQ(engines.size(), 1u) << profile << ' ' << runlist;
			copies_only |= engines[0].starts_with("Copy Engine ");
		}
		EXPECT_TRUE(copies_only) << profile;
	}
}

TEST(Chips, PascalsWithTwoEncodersUseBothNumbers)
{
	Chip gp102("gp102"), gp100("gp100");
	ASSERT_EQ(gp102.err, 0);
	ASSERT_EQ(gp100.err, 0);
	EXPECT_EQ(by_runlist(gp102)[4], (Engines{"Video Encoder 1 (NVENC1)"})); // the runlist that Table II leaves out
	EXPECT_EQ(by_runlist(gp102)[6], (Engines{lce_name(3)}));
	EXPECT_EQ(by_runlist(gp100)[8], (Engines{lce_name(5)}));
	EXPECT_EQ(by_runlist(gp100)[-1], (Engines{"NVLink Control 0 (IOCTRL0)"}));
}

// Five LCEs: turing/tu104/dev_ce.ref.txt NV_CE_LCE_STATUS__SIZE_1. TU117 has no NVLink.
TEST(Chips, TuringHasFiveLces)
{
	for (const char *profile : {"tu102", "tu104", "tu117"}) {
		Chip c(profile);
		ASSERT_EQ(c.err, 0) << profile;
		EXPECT_EQ(c.topo().num_ces, 5) << profile;
		EXPECT_EQ(by_runlist(c)[7], (Engines{lce_name(4)})) << profile;
		EXPECT_EQ(by_runlist(c)[-1].size(), profile == std::string("tu117") ? 1u : 2u);
		EXPECT_EQ(c.topo().ce.shared_lce[0], 1) << profile;
		EXPECT_EQ(c.topo().ce.shared_lce[1], 0xf) << profile;
	}
}

// 26 engines (hw_proj_ga100.h), 24 runlists (hal_ga100_litter.c), 32 PBDMAs; several GRs, each a runlist of its own.
TEST(Chips, Ga100HasTwentySixEnginesOnTwentyFourRunlists)
{
	Chip c("ga100");
	ASSERT_EQ(c.err, 0);
	ByRunlist got = by_runlist(c);
	EXPECT_EQ(got[-1].size(), 2u);
	got.erase(-1);
	EXPECT_EQ(c.topo().n_engines - 2, 26);
	EXPECT_EQ(got.size(), 24u);
	EXPECT_EQ(got[7], (Engines{"Graphics/Compute 7"}));
	EXPECT_EQ(got[8], (Engines{lce_name(2)}));
	EXPECT_EQ(got[21], (Engines{"JPEG Decoder 0 (NVJPG0)"}));
	EXPECT_EQ(got[22], (Engines{"Optical Flow Accelerator"}));
	EXPECT_EQ(count_pbdmas(c), 32u);
}

TEST(Chips, AmpereAndAdaOfTheDesktop)
{
	Chip ga102("ga102"), ad104("ad104");
	ASSERT_EQ(ga102.err, 0);
	ASSERT_EQ(ad104.err, 0);
	// the runlist registers that a card's kernel log names: NVENC 0xc01800, OFA 0xc01c00, SEC2 0xc02000
	EXPECT_EQ(by_runlist(ga102)[6], (Engines{"Video Encoder 0 (NVENC0)"}));
	EXPECT_EQ(by_runlist(ga102)[7], (Engines{"Optical Flow Accelerator"}));
	EXPECT_EQ(by_runlist(ga102)[8], (Engines{"Sequencer"}));
	EXPECT_EQ(by_runlist(ga102)[-1], (Engines{"GPU System Processor 0 (GSP0)"})); // a device of two rows
	// As Table IV with fewer engines: the runlists keep their numbers, and gaps show.
	EXPECT_EQ(by_runlist(ad104)[9], (Engines{"Video Encoder 1 (NVENC1)"}));
	EXPECT_EQ(by_runlist(ad104)[16], (Engines{"Sequencer"}));
	EXPECT_EQ(lens_gpu_find_runlist(ad104.gpu.get(), 5), nullptr);
	EXPECT_EQ(lens_gpu_find_runlist(ad104.gpu.get(), 10), nullptr);
}

// blackwell/gb100/dev_top.h: NV_PTOP1_DEVICE_INFO_CFG 0x324fc, NV_PTOP1_DEVICE_INFO2(i) 0x32800+4i; HSHUB is type 0x18.
TEST(Chips, Gb100HasTheEnginesOfBothDies)
{
	Chip c("gb100");
	ASSERT_EQ(c.err, 0);
	ByRunlist got = by_runlist(c);
	EXPECT_EQ(c.topo().devices_err, 0);
	EXPECT_EQ(c.topo().n_engines, 21); // 16 and 5
	EXPECT_EQ(c.topo().n_runlists, 11);
	EXPECT_EQ(got[2], (Engines{lce_name(3)}));
	EXPECT_EQ(got[8], (Engines{lce_name(4)})); // these are the second die's
	EXPECT_EQ(got[9], (Engines{lce_name(5)}));
	EXPECT_EQ(got[10], (Engines{"Video Decoder 1 (NVDEC1)"}));
	EXPECT_EQ(got[11], (Engines{"JPEG Decoder 1 (NVJPG1)"}));
	u32 hubs = 0;
	for (const auto &name : got[-1])
		hubs += name.starts_with("High-Speed Hub ");
	EXPECT_EQ(hubs, 2u); // records of two rows, one on each die
	EXPECT_EQ(c.topo().gpcs_err, -EOPNOTSUPP);
	EXPECT_EQ(c.topo().ce_err, -EOPNOTSUPP);
	EXPECT_EQ(c.topo().num_ces, 6);
}

// Of its runlist registers, PREEMPT alone is published: engines are listed, ids of runlists are not known.
TEST(Chips, Gb202HasEnginesWithUnknownRunlists)
{
	Chip c("gb202");
	ASSERT_EQ(c.err, 0);
	ByRunlist got = by_runlist(c);
	ASSERT_EQ(got.size(), 1u);
	EXPECT_EQ(got[-1].size(), 18u);
	EXPECT_EQ(got[-1][0], GR);
	// LCEs 0 and 1 have their runlist's registers where graphics has them; 2 has others, though a GRCE may be one of four.
	EXPECT_EQ(std::count(got[-1].begin(), got[-1].end(), GRCE0), 1);
	EXPECT_EQ(std::count(got[-1].begin(), got[-1].end(), GRCE1), 1);
	EXPECT_EQ(std::count(got[-1].begin(), got[-1].end(), lce_name(2)), 1);
	u32 with_base = 0;
	for (u32 i = 0; i < c.topo().n_engines; i++)
		with_base += c.topo().engines[i].runlist_base != 0;
	EXPECT_EQ(with_base, 16u); // 14 runlists, three engines on the first
	EXPECT_EQ(c.topo().memory_bytes, 34359738368u);
}

/* -- units -- */

// Design maxima: registers SCAL_NUM_GPCS 0x22430, SCAL_NUM_TPC_PER_GPC 0x22434. Fuses are published from GM20B on and not
// for GB100. What is off is product data: GTX 1060 3 GB nine of ten TPCs (RTAS'23, section IV-B), A100 54 TPCs, H200 66.
TEST(Chips, UnitsAreThoseOfTheDie)
{
	EXPECT_GE(test::all_emulated().size(), 23u);
	for (const test::ChipLiterals &l : test::all_emulated()) {
		Chip c(l.profile.c_str());
		ASSERT_EQ(c.err, 0) << l.profile;
		EXPECT_EQ(c.topo().num_gpcs, l.gpcs) << l.profile;
		EXPECT_EQ(c.topo().num_tpc_per_gpc, l.tpcs_per_gpc) << l.profile;
		EXPECT_EQ(c.topo().gpcs_err, l.fuses_published ? 0 : -EOPNOTSUPP) << l.profile;
		u32 first, n = 0;
		for (u32 i = 0; i < l.gpcs; i++) {
			u32 here = lens_gpc_count_tpcs(&c.topo(), i, &first);
			EXPECT_EQ(first, n) << l.profile << " gpc " << i;
			n += here;
		}
		EXPECT_EQ(n, l.enabled_tpcs) << l.profile;
	}
}

// RTAS'23, Fig. 5: two dies of GP106 with nine TPCs each. With the first TPC of GPC 1 off, TPC 4 is the last of GPC 0; with
// the first of GPC 0 off, TPC 4 is the first of GPC 1.
TEST(Chips, LogicalTpcsOfTwoGp106DiesAreThoseOfFigure5)
{
	Chip c("gp106");
	ASSERT_EQ(c.err, 0);
	u32 first;
	lens_topology t = c.topo();
	t.tpc_mask[0] = 0x00;
	t.tpc_mask[1] = 0x01;
	EXPECT_EQ(lens_gpc_count_tpcs(&t, 0, &first), 5u);
	EXPECT_EQ(lens_gpc_count_tpcs(&t, 1, &first), 4u);
	EXPECT_EQ(first, 5u);
	t.tpc_mask[0] = 0x01;
	t.tpc_mask[1] = 0x00;
	EXPECT_EQ(lens_gpc_count_tpcs(&t, 0, &first), 4u);
	EXPECT_EQ(lens_gpc_count_tpcs(&t, 1, &first), 5u);
	EXPECT_EQ(first, 4u);
}

TEST(Chips, A100LacksOneWholeGpc)
{
	Chip c("ga100");
	ASSERT_EQ(c.err, 0);
	EXPECT_EQ(c.topo().gpc_mask, 0x20u); // "at most seven of the eight GPCs are enabled": RTAS'23, section II
	u32 first;
	EXPECT_EQ(lens_gpc_count_tpcs(&c.topo(), 5, &first), 0u);
	EXPECT_EQ(lens_gpc_count_tpcs(&c.topo(), 6, &first), 7u);
	EXPECT_EQ(first, 39u); // 8, 7, 8, 8, 8 before it
}

/* -- copy engines -- */

// Up to Maxwell there is no register for it (0x22444 came with GV100: linux-nvgpu hw_top_gv100.h): COPY0 to COPY2 are types
// 1 to 3 of the device table (linux-nvgpu hw_top_gk20a.h, open-gpu-doc turing/tu104/dev_top.ref.txt), LCEs type 19.
TEST(Chips, CopyEnginesOfBothTypesAreCounted)
{
	for (const test::ChipLiterals &l : test::all_emulated()) {
		Chip c(l.profile.c_str());
		ASSERT_EQ(c.err, 0) << l.profile;
		EXPECT_GE(l.copy_engines, 1u) << l.profile;
		EXPECT_EQ(c.topo().num_ces, l.copy_engines) << l.profile;
	}
}

// 18 PCEs: open-gpu-kernel-modules ampere/ga100/dev_ce_base.h. Which serves which LCE is assumed; that several may serve
// one is what kernel_ce_ga100.c does.
TEST(Chips, LcesOfA100AreServedBySeveralPces)
{
	Chip c("ga100");
	ASSERT_EQ(c.err, 0);
	EXPECT_EQ(c.topo().ce.pce_map, 0x3ffffu);
	EXPECT_EQ(c.topo().num_ces, 10);
	EXPECT_EQ(lens_lce_find_pces(c.gpu.get(), &c.gpu->topo.ce, 2), 0x0000fu);
	EXPECT_EQ(lens_lce_find_pces(c.gpu.get(), &c.gpu->topo.ce, 3), 0x000f0u);
	EXPECT_EQ(lens_lce_find_pces(c.gpu.get(), &c.gpu->topo.ce, 4), 0x00300u);
	EXPECT_EQ(lens_lce_find_pces(c.gpu.get(), &c.gpu->topo.ce, 5), 0x00c00u);
	EXPECT_EQ(lens_lce_find_pces(c.gpu.get(), &c.gpu->topo.ce, 9), 0x08000u);
	// The GRCEs have a PCE each and share nothing.
	EXPECT_EQ(lens_lce_find_pces(c.gpu.get(), &c.gpu->topo.ce, 0), 0x10000u);
	EXPECT_EQ(lens_lce_find_pces(c.gpu.get(), &c.gpu->topo.ce, 1), 0x20000u);
	EXPECT_EQ(c.topo().ce.shared_lce[0], 0xf);
	EXPECT_EQ(c.topo().ce.shared_lce[1], 0xf);
}

// RTAS'24, Fig. 11 and its text: on the RTX 6000 Ada both GRCEs are mapped onto LCEs; on the GTX 1080 Ti (GP102) texture
// uploads barely disturb a copy, so they have PCEs of their own. ampere/ga102/dev_ce.ref.txt: reset values share 3, 2.
TEST(Chips, GrcesShareOnAdaAndGa102AndNotOnGp102)
{
	for (const char *profile : {"ad102", "ad104", "ga102"}) {
		Chip c(profile);
		ASSERT_EQ(c.err, 0);
		EXPECT_EQ(lens_lce_find_pces(c.gpu.get(), &c.gpu->topo.ce, 0), 0u) << profile;
		EXPECT_EQ(lens_lce_find_pces(c.gpu.get(), &c.gpu->topo.ce, 1), 0u) << profile;
		EXPECT_EQ(c.topo().ce.shared_lce[0], 3) << profile;
		EXPECT_EQ(c.topo().ce.shared_lce[1], 2) << profile;
	}
	Chip c("gp102");
	ASSERT_EQ(c.err, 0);
	EXPECT_EQ(lens_lce_find_pces(c.gpu.get(), &c.gpu->topo.ce, 0), 1u);
	EXPECT_EQ(lens_lce_find_pces(c.gpu.get(), &c.gpu->topo.ce, 1), 2u);
	EXPECT_EQ(c.topo().ce.shared_lce[0], 0xf);
	EXPECT_EQ(c.topo().ce.shared_lce[1], 0xf);
}

// COPY0 to COPY2 are physical engines: there is no map, and none on Blackwell that may be read.
TEST(Chips, CopyEngineMapsOfAllChips)
{
	for (const test::ChipLiterals &l : test::all_emulated()) {
		Chip c(l.profile.c_str());
		ASSERT_EQ(c.err, 0) << l.profile;
		EXPECT_EQ(c.topo().ce_err, l.copy_published ? 0 : -EOPNOTSUPP) << l.profile;
		if (!l.copy_published)
			continue;
		EXPECT_EQ(c.topo().ce.pce_map, l.pce_map) << l.profile;
		ASSERT_EQ(l.lce_for_pce.size(), size_t(std::bit_width(l.pce_map))) << l.profile;
		for (size_t i = 0; i < l.lce_for_pce.size(); i++)
			EXPECT_EQ(c.topo().ce.lce_for_pce[i], l.lce_for_pce[i]) << l.profile << " PCE " << i;
		ASSERT_EQ(l.shared_lce.size(), 2u) << l.profile;
		EXPECT_EQ(c.topo().ce.shared_lce[0], l.shared_lce[0]) << l.profile;
		EXPECT_EQ(c.topo().ce.shared_lce[1], l.shared_lce[1]) << l.profile;
	}
}

// A real card showed where GV100's copy engine maps are; no GV11B was read.
TEST(Chips, AssumptionsBelongToTheChipNotToItsGeneration)
{
	Chip gv100("gv100"), gv11b("gv11b"), gp106("gp106"), tu104("tu104");
	EXPECT_EQ(lens_chip_get_assumed(gv100.gpu->chip, gv100.gpu->id), nullptr);
	EXPECT_STREQ(lens_chip_get_assumed(gv11b.gpu->chip, gv11b.gpu->id), "copy engine maps as GV100");
	EXPECT_STREQ(lens_chip_get_assumed(gp106.gpu->chip, gp106.gpu->id), "copy engine maps");
	EXPECT_EQ(lens_chip_get_assumed(tu104.gpu->chip, tu104.gpu->id), nullptr);
}

// A GTX 1660 Ti's device table: engine, runlist, interrupt, reset, fault. Runlists 4 to 7 have no engine.
TEST(Chips, Tu116IsTheDeviceTableOfACard)
{
	const struct {
		const char *name;
		int engine, runlist, intr, reset, fault;
	} rows[] = {{"Graphics/Compute 0", 0, 0, 12, 12, 64},
		    {"[Graphics] Copy Engine 0 (GRCE0/LCE0)", 11, 0, 5, 6, 15},
		    {"[Graphics] Copy Engine 1 (GRCE1/LCE1)", 12, 0, 6, 7, 16},
		    {"Video Decoder 0 (NVDEC0)", 1, 1, 17, 15, 10},
		    {"Video Encoder 0 (NVENC0)", 2, 2, 16, 18, 11},
		    {"Sequencer", 3, 3, 15, 14, 14},
		    {"Copy Engine 2 (LCE2)", 8, 8, 7, 21, 17},
		    {"Copy Engine 3 (LCE3)", 9, 9, 10, 22, 18},
		    {"Copy Engine 4 (LCE4)", 10, 10, 11, 23, 19},
		    {"GPU System Processor 0 (GSP0)", LENS_NONE, LENS_NONE, 27, LENS_NONE, 2}};
	Chip c("tu116");
	ASSERT_EQ(c.err, 0);
	ASSERT_EQ(c.topo().n_engines, std::size(rows));
	for (size_t i = 0; i < std::size(rows); i++) {
		const lens_engine &e = c.topo().engines[i];
		char name[LENS_ENGINE_NAME];
		lens_engine_format_name(c.gpu.get(), &e, name);
		EXPECT_STREQ(name, rows[i].name);
		EXPECT_EQ(e.engine_id, rows[i].engine) << name;
		EXPECT_EQ(e.runlist, rows[i].runlist) << name;
		EXPECT_EQ(e.intr, rows[i].intr) << name;
		EXPECT_EQ(e.reset, rows[i].reset) << name;
		EXPECT_EQ(e.fault, rows[i].fault) << name;
	}
}

// Registers 0x100ce0 (GP102 to GA100) and 0x1183a4 (GA102 on); not published for the others, and none on a Tegra.
TEST(Chips, MemorySizeIsReadWhereItsRegisterIsPublished)
{
	for (const test::ChipLiterals &l : test::all_emulated()) {
		Chip c(l.profile.c_str());
		ASSERT_EQ(c.err, 0) << l.profile;
		EXPECT_EQ(c.topo().memory_bytes, l.memory) << l.profile;
	}
}

// Attaching reads no register that the chip lacks, and each row of the device table once.
TEST(Chips, AttachingReadsOnlyExistingRegisters)
{
	for (const test::ChipLiterals &l : test::all_emulated()) {
		Chip c(l.profile.c_str());
		ASSERT_EQ(c.err, 0);
		EXPECT_EQ(c.emu->counts().unknown_reads, 0u) << l.profile;
		EXPECT_EQ(c.emu->counts().all_writes(), 0u) << l.profile;
		EXPECT_EQ(c.emu->counts().wide_register_accesses, 0u) << l.profile;
	}
}

} // namespace
