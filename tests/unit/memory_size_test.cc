// SPDX-License-Identifier: GPL-2.0
// The size of GPU memory from its register. Sources: linux-nvgpu hw_fb_gv100.h fb_mmu_local_memory_range_r 0x100ce0
// (LOWER_SCALE 3:0, LOWER_MAG 9:4, ECC_MODE 30: MAG << SCALE MiB, a sixteenth less under ECC); Titan V (two cards) reads
// 0x308 there, which is its 12 GiB, and 0 before a driver ran; a GTX 1660 Ti reads 0x307, 6 GiB.
#include "support/core/fake.hpp"

#include <gtest/gtest.h>

namespace {

using test::Fake;

TEST(MemorySize, OfATitanVIsTwelveGibibytes)
{
	Fake f(lens_chip_gv10x);
	u64 bytes = 0;

	f.regs[0x100ce0] = 0x308;
	EXPECT_EQ(lens_gpu_read_memory_size(f.gpu.get(), &bytes), 0);
	EXPECT_EQ(bytes, 12884901888u);
	EXPECT_EQ(f.gpu->topo.memory_bytes, 12884901888u);
	EXPECT_EQ(f.io()->memory_bytes, 12884901888u);
}

TEST(MemorySize, OfTuringAndUnderEcc)
{
	Fake f(lens_chip_tu10x), ecc(lens_chip_gv10x);
	u64 bytes = 0;

	f.regs[0x100ce0] = 0x307;
	EXPECT_EQ(lens_gpu_read_memory_size(f.gpu.get(), &bytes), 0);
	EXPECT_EQ(bytes, 6442450944u);
	ecc.regs[0x100ce0] = 0x40000308;
	EXPECT_EQ(lens_gpu_read_memory_size(ecc.gpu.get(), &bytes), 0);
	EXPECT_EQ(bytes, 12079595520u);
}

// Not 0 bytes; known after a driver has set the register, without further reads after that.
TEST(MemorySize, IsUnknownWhileTheRegisterIsZero)
{
	for (const lens_chip *chip : {&lens_chip_gv10x, &lens_chip_ga10x}) {
		u32 reg = chip == &lens_chip_gv10x ? 0x100ce0 : 0x1183a4;
		Fake f(*chip);
		u64 bytes = 1;
		f.regs[reg] = 0;
		EXPECT_EQ(lens_gpu_read_memory_size(f.gpu.get(), &bytes), -ENODATA);
		f.regs[reg] = 0x308; // of GA102: MiB
		EXPECT_EQ(lens_gpu_read_memory_size(f.gpu.get(), &bytes), 0);
		EXPECT_EQ(bytes, chip == &lens_chip_gv10x ? 12884901888u : 813694976u);
		EXPECT_EQ(lens_gpu_read_memory_size(f.gpu.get(), &bytes), 0);
		EXPECT_EQ(f.times_read(reg), 2u);
	}
}

TEST(MemorySize, RegisterThatCannotBeReadIsAnErrorAndNotUnpublished)
{
	Fake f(lens_chip_gv10x);
	u64 bytes = 0;

	f.regs[0x100ce0] = 0xbadf1100;
	EXPECT_EQ(lens_gpu_read_memory_size(f.gpu.get(), &bytes), -EIO);
	EXPECT_EQ(f.gpu->topo.memory_bytes, 0u);
}

TEST(MemorySize, OfATegraAndOfAnUnknownChipIsNotRead)
{
	Fake tegra(lens_chip_gv10x), unknown(lens_chip_tu10x), kepler(lens_chip_gk10x);
	u64 bytes = 0;

	tegra.gpu->id = &lens_chip_gv10x.ids[1]; // GV11B
	unknown.gpu->known = false;
	for (Fake *f : {&tegra, &unknown, &kepler}) {
		EXPECT_EQ(lens_gpu_read_memory_size(f->gpu.get(), &bytes), -EOPNOTSUPP);
		EXPECT_EQ(f->reads.size(), 0u);
	}
}

} // namespace
