// SPDX-License-Identifier: GPL-2.0
// The counts of GPCs and TPCs before GM20x, from literal register words. PMC_ENABLE 0x200, PGRAPH bit 12: open-gpu-doc
// gk104-disable-graphics-power-gating.txt. FECS_FS 0x409604, GPC_FS 0x502608 + 0x8000 * logical GPC, 4:0 of each:
// linux-nvgpu hw_gr_gk20a.h gr_fecs_fs_r, gr_gpc0_fs_gpc_r; 20:16 of them count other units. The order by turns: nouveau
// gf100.c gf100_gr_oneinit_sm_id.
#include "support/core/emulated.hpp"
#include "support/core/fake.hpp"

#include "format.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <string>
#include <vector>

namespace {

using test::Fake;

// A GK110 of five GPCs with three TPCs, of which three GPCs are left, with 3, 1 and 2 TPCs.
struct Kepler {
	explicit Kepler(const lens_chip &chip = lens_chip_gk10x) : f(chip)
	{
		f.gpu->topo.num_gpcs = 5;
		f.gpu->topo.num_tpc_per_gpc = 3;
		f.gpu->topo.gpcs_err = -EOPNOTSUPP;
		f.default_value = 0xbadf1100;
		f.regs = {{0x200, 0x00001000},
			  {0x409604, 0x00040003},
			  {0x502608, 0x00040003},
			  {0x50a608, 0x00040001},
			  {0x512608, 0x00040002}};
	}
	int read() { return lens_gpc_read_counts(f.gpu.get(), &places); }
	int read(u32 reg, u32 word)
	{
		f.regs[reg] = word;
		return read();
	}

	Fake f;
	lens_tpc_places places{};
};

// Seen failing with the TPCs counted GPC by GPC.
TEST(GpcCounts, TpcsAreNumberedByTurnsOverTheLogicalGpcs)
{
	for (const lens_chip *chip : {&lens_chip_gk10x, &lens_chip_gm10x}) {
		Kepler k(*chip);
		ASSERT_EQ(k.read(), 0) << chip->name;
		ASSERT_EQ(k.places.tpcs, 6u);
		EXPECT_TRUE(k.places.counted);
		EXPECT_EQ(std::vector<u32>(k.places.gpc, k.places.gpc + 6), (std::vector<u32>{0, 1, 2, 0, 2, 0}));
		EXPECT_EQ(std::vector<u32>(k.places.tpc, k.places.tpc + 6), (std::vector<u32>{0, 0, 0, 1, 1, 2}));
	}
}

// A failed read is an error of the priv ring, which interrupts the driver. Seen failing without the look at PMC_ENABLE.
TEST(GpcCounts, RegistersOfADisabledEngineAreNotRead)
{
	Kepler k;

	EXPECT_EQ(k.read(0x200, 0xf833a1ff), -ENODATA);
	EXPECT_EQ(k.f.reads, std::vector<u32>{0x200});
	EXPECT_TRUE(k.f.writes.empty());
	EXPECT_EQ(k.places.tpcs, 0u);
}

TEST(GpcCounts, ABadReadIsAnError)
{
	EXPECT_EQ(Kepler().read(0x200, 0xbadf1100), -EIO);
	EXPECT_EQ(Kepler().read(0x200, 0xffffffff), -EIO); // it has reserved bits
	EXPECT_EQ(Kepler().read(0x409604, 0xbadf1201), -EIO);
	EXPECT_EQ(Kepler().read(0x512608, 0xbadf2300), -EIO);
	EXPECT_EQ(Kepler().read(0x512608, 0xffffffff), -EIO);
	Kepler gone;
	gone.f.regs[0] = 0xffffffff;
	EXPECT_EQ(gone.read(0x409604, 0xffffffff), -ENODEV);
}

// Seen failing without each of the limits.
TEST(GpcCounts, ANumberThatTheChipCannotHaveIsAnError)
{
	EXPECT_EQ(Kepler().read(0x409604, 0x00040000), -EIO);
	EXPECT_EQ(Kepler().read(0x50a608, 0x00040000), -EIO);
	EXPECT_EQ(Kepler().read(0x50a608, 0x00040004), -EIO); // more than SCAL_NUM_TPC_PER_GPC
	Kepler many;
	for (u32 i = 0; i < 31; i++)
		many.f.regs[0x502608 + 0x8000 * i] = 1;
	EXPECT_EQ(many.read(0x409604, 5), 0);
	EXPECT_EQ(many.read(0x409604, 6), -EIO); // more than SCAL_NUM_GPCS
	many.f.gpu->topo.num_gpcs = many.f.gpu->topo.num_tpc_per_gpc = 31;
	EXPECT_EQ(many.read(0x409604, 16), 0);
	EXPECT_EQ(many.read(0x409604, 17), -EIO); // LENS_CWD_GPCS
	for (u32 i = 0; i < 31; i++)
		many.f.regs[0x502608 + 0x8000 * i] = 7;
	EXPECT_EQ(many.read(0x409604, 16), -EIO); // 112 TPCs; no chip has more than 96
	EXPECT_EQ(many.places.tpcs, 0u);
}

TEST(GpcCounts, AreReadWhereNoFusesArePublished)
{
	for (const lens_chip *const *chip = lens_chips; *chip; chip++) {
		bool counted = *chip == &lens_chip_gk10x || *chip == &lens_chip_gm10x;
		EXPECT_EQ(Kepler(**chip).read(), counted ? 0 : -EOPNOTSUPP) << (*chip)->name;
	}
	Kepler unknown;
	unknown.f.gpu->known = false;
	EXPECT_EQ(unknown.read(), -EOPNOTSUPP);
	Kepler scal; // the chip's own numbers could not be read, so there is no limit
	scal.f.gpu->topo.gpcs_err = -EIO;
	EXPECT_EQ(scal.read(), -EOPNOTSUPP);
	EXPECT_TRUE(scal.f.reads.empty());
}

TEST(GpcCounts, TheMapSaysThatTheyAreCounts)
{
	Kepler k;
	lens_text t{};

	ASSERT_EQ(k.read(), 0);
	lens_format_tpc_map(&t, k.f.gpu.get(), &k.places);
	EXPECT_EQ(
		std::string(t.buf, t.len),
		"! counted by the hardware (FECS_FS, GPC_FS): GPCs are logical; order assumed, by turns over the GPCs\n"
		"gpc 0: 0x0029\ngpc 1: 0x0002\ngpc 2: 0x0014\n");
	lens_text_free(&t);
}

// The emulated GK110 has 14 of 15 TPCs, as a GeForce GTX TITAN; the other two boards have all.
TEST(GpcCounts, OfEmulatedChips)
{
	const struct {
		const char *name;
		std::vector<u32> tpcs; // by logical GPC
	} chips[] = {{"gk104", {2, 2, 2, 2}}, {"gk110", {3, 3, 3, 2, 3}}, {"gm107", {5}}};

	for (const auto &chip : chips) {
		test::Emulated e(chip.name);
		lens_tpc_places places{};
		ASSERT_EQ(e.attach(), 0) << chip.name;
		ASSERT_EQ(lens_gpc_read_counts(e.gpu.get(), &places), 0) << chip.name;
		std::vector<u32> tpcs(chip.tpcs.size());
		for (u32 i = 0; i < places.tpcs; i++)
			tpcs.at(places.gpc[i])++;
		EXPECT_EQ(tpcs, chip.tpcs) << chip.name;
		e.emu->write(0, 0x200, 4, 0xffffefff);
		EXPECT_EQ(lens_gpc_read_counts(e.gpu.get(), &places), -ENODATA) << chip.name;
	}
}

} // namespace
