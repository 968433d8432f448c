// SPDX-License-Identifier: GPL-2.0
// Copy engine wiring, floorsweeping and memory size from literal register values. Sources:
//   PCE_MAP 0x104028; PCE2LCE_CONFIG(i) 0x104040+4i, GRCE_CONFIG(i) 0x104034+4i: open-gpu-doc turing/tu104/dev_ce.ref.txt;
//   0x104100+4i, 0x1041c0+4i: ampere/ga102/dev_ce.ref.txt; LCE 3:0, SHARED_LCE 3:0, SHARED 30
//   Pascal's packed words 0x10402c, 0x104034: not published by NVIDIA; the nvdebug tool of RTAS'24
//   NUM_GPCS 0x22430, NUM_TPC_PER_GPC 0x22434, value 4:0: open-gpu-doc turing/tu104/dev_top.ref.txt
//   STATUS_OPT_GPC 0x21c1c, 0x820c1c; STATUS_OPT_TPC_GPC(i) 0x21c38+4i, 0x820c38+4i, a set bit disabled:
//   linux-nvgpu hw_fuse_gm20b.h, hw_fuse_ga100.h, gr_config_gm20b_fusa.c
//   LOCAL_MEMORY_RANGE 0x100ce0, LOWER_SCALE 3:0, LOWER_MAG 9:4, ECC_MODE 30: open-gpu-kernel-modules
//   kern_mem_sys_gp102.c; USABLE_FB_SIZE_IN_MB 0x1183a4: kern_mem_sys_ga102.c
#include "support/core/fake.hpp"

#include <gtest/gtest.h>

namespace {

using test::Fake;

int read_topology(Fake &f)
{
	return lens_gpu_read_topology(f.gpu.get());
}

TEST(CopyEngines, OfTuringHaveARegisterEach)
{
	Fake f(lens_chip_tu10x);
	f.regs[0x104028] = 0xffff000f; // bits above 15 are no PCEs
	f.set_rows(0x104040, {0xfffffff1, 0x4, 0x2, 0xf});
	f.set_rows(0x104034, {0x40000001, 0x0000000f});
	ASSERT_EQ(read_topology(f), 0);
	const lens_topology &t = f.gpu->topo;
	EXPECT_EQ(t.ce.pce_map, 0xfu);
	EXPECT_EQ(t.ce.lce_for_pce[0], 1);
	EXPECT_EQ(t.ce.lce_for_pce[1], 4);
	EXPECT_EQ(t.ce.lce_for_pce[2], 2);
	EXPECT_EQ(t.ce.lce_for_pce[3], 0xf);
	EXPECT_EQ(t.ce.n_grces, 2);
	EXPECT_EQ(t.ce.shared_lce[0], 1);
	EXPECT_EQ(t.ce.shared_lce[1], 0xf);
	EXPECT_EQ(lens_lce_find_pces(f.gpu.get(), &f.gpu->topo.ce, 4), 2u);
	EXPECT_EQ(lens_lce_find_pces(f.gpu.get(), &f.gpu->topo.ce, 7), 0u);
}

TEST(CopyEngines, GrceThatDoesNotShareHasNoLceWhateverItsFieldHolds)
{
	Fake f(lens_chip_tu10x);
	f.set_rows(0x104034, {0xb0000002, 0x40000003}); // SHARED clear, all bits around it set; then set
	ASSERT_EQ(read_topology(f), 0);
	EXPECT_EQ(f.gpu->topo.ce.shared_lce[0], 0xf);
	EXPECT_EQ(f.gpu->topo.ce.shared_lce[1], 3);
}

// Reset values of ga102's manual: PCE 0..5 -> f, f, f, f, 2, 3; GRCE 0 shares LCE 3, GRCE 1 shares LCE 2.
TEST(CopyEngines, OfAdaAndHopperAreAtTheAddressesOfGa102)
{
	for (const lens_chip *chip : {&lens_chip_ad10x, &lens_chip_gh100}) {
		Fake f(*chip);
		f.regs[0x224fc] = 2; // a device table without rows
		f.regs[0x104028] = 0x3f;
		f.set_rows(0x104100, {0xf, 0xf, 0xf, 0xf, 2, 3});
		f.set_rows(0x1041c0, {0x40000003, 0x40000002});
		ASSERT_EQ(read_topology(f), 0);
		const lens_topology &t = f.gpu->topo;
		EXPECT_EQ(t.ce.pce_map, 0x3fu);
		EXPECT_EQ(t.ce.lce_for_pce[0], 0xf);
		EXPECT_EQ(t.ce.lce_for_pce[4], 2);
		EXPECT_EQ(t.ce.lce_for_pce[5], 3);
		EXPECT_EQ(t.ce.lce_for_pce[6], 0xf); // absent
		EXPECT_EQ(t.ce.shared_lce[0], 3);
		EXPECT_EQ(t.ce.shared_lce[1], 2);
		EXPECT_EQ(lens_lce_find_pces(f.gpu.get(), &f.gpu->topo.ce, 2), 0x10u);
		EXPECT_EQ(lens_lce_find_pces(f.gpu.get(), &f.gpu->topo.ce, 0xf), 0xfu); // those that serve none
	}
}

TEST(CopyEngines, OfPascalArePackedInOneRegister)
{
	Fake f(lens_chip_gp10x);
	f.regs[0x104028] = 0xff; // four PCEs at most
	f.regs[0x10402c] = 0xabcd7310;
	f.regs[0x104034] = 0x0000020b; // GRCE 0: shared with 3; GRCE 1: bit 3 clear
	ASSERT_EQ(read_topology(f), 0);
	const lens_topology &t = f.gpu->topo;
	EXPECT_EQ(t.ce.pce_map, 0xfu);
	EXPECT_EQ(t.ce.lce_for_pce[0], 0);
	EXPECT_EQ(t.ce.lce_for_pce[1], 1);
	EXPECT_EQ(t.ce.lce_for_pce[2], 3);
	EXPECT_EQ(t.ce.lce_for_pce[3], 7); // none
	EXPECT_EQ(t.ce.shared_lce[0], 3);
	EXPECT_EQ(t.ce.shared_lce[1], 0xf);
	f.regs[0x104034] = 0x00000a02;
	ASSERT_EQ(read_topology(f), 0);
	EXPECT_EQ(f.gpu->topo.ce.shared_lce[0], 0xf);
	EXPECT_EQ(f.gpu->topo.ce.shared_lce[1], 2);
}

TEST(CopyEngines, AbsentPcesAreNotRead)
{
	Fake f(lens_chip_tu10x);
	f.regs[0x104028] = 0x5;
	f.set_rows(0x104040, {0x1, 0x2, 0x3, 0x4});
	ASSERT_EQ(read_topology(f), 0);
	EXPECT_EQ(f.times_read(0x104040), 1u);
	EXPECT_EQ(f.times_read(0x104044), 0u);
	EXPECT_EQ(f.times_read(0x10404c), 0u);
	EXPECT_EQ(f.gpu->topo.ce.lce_for_pce[1], 0xf);
	EXPECT_EQ(lens_lce_find_pces(f.gpu.get(), &f.gpu->topo.ce, 2), 0u);
}

TEST(Gpcs, FusesHaveDisabledUnitsByPhysicalNumber)
{
	const struct {
		const lens_chip *chip;
		u32 gpc, tpc;
	} rows[] = {
		{&lens_chip_gp10x, 0x21c1c, 0x21c38},
		{&lens_chip_tu10x, 0x21c1c, 0x21c38},
		{&lens_chip_ad10x, 0x820c1c, 0x820c38},
		{&lens_chip_gh100, 0x820c1c, 0x820c38},
	};
	for (const auto &r : rows) {
		Fake f(*r.chip);
		f.regs[0x224fc] = 2;
		f.regs[0x22430] = 0xe4; // 4 GPCs: only bits 4:0 count
		f.regs[0x22434] = 0x25; // 5 TPCs each
		f.regs[r.gpc] = 0xfffffff2;
		f.set_rows(r.tpc, {0xffffffe4, 0x1f, 0x00, 0x11});
		ASSERT_EQ(read_topology(f), 0);
		const lens_topology &t = f.gpu->topo;
		EXPECT_EQ(t.num_gpcs, 4);
		EXPECT_EQ(t.num_tpc_per_gpc, 5);
		EXPECT_EQ(t.gpc_mask, 0x2u);
		EXPECT_EQ(t.tpc_mask[0], 0x4u);
		EXPECT_EQ(t.tpc_mask[2], 0x0u);
		EXPECT_EQ(t.tpc_mask[3], 0x11u);
		EXPECT_EQ(f.times_read(r.tpc + 4), 0u); // the fuses of a GPC that is off may not answer
		u32 first;
		EXPECT_EQ(lens_gpc_count_tpcs(&t, 0, &first), 4u);
		EXPECT_EQ(first, 0u);
		EXPECT_EQ(lens_gpc_count_tpcs(&t, 1, &first), 0u);
		EXPECT_EQ(lens_gpc_count_tpcs(&t, 2, &first), 5u);
		EXPECT_EQ(first, 4u);
		EXPECT_EQ(lens_gpc_count_tpcs(&t, 3, &first), 3u);
		EXPECT_EQ(first, 9u);
	}
}

TEST(Gpcs, OneBeyondTheDieHasNoTpcs)
{
	Fake f(lens_chip_tu10x);
	f.regs[0x22430] = 2;
	f.regs[0x22434] = 4;
	ASSERT_EQ(read_topology(f), 0);
	u32 first;
	EXPECT_EQ(lens_gpc_count_tpcs(&f.gpu->topo, 1, &first), 4u);
	EXPECT_EQ(lens_gpc_count_tpcs(&f.gpu->topo, 2, &first), 0u);
	EXPECT_EQ(lens_gpc_count_tpcs(&f.gpu->topo, 31, &first), 0u);
}

TEST(Gpcs, AsManyAsTheFieldCanCountAreNoOverflow)
{
	Fake f(lens_chip_tu10x);
	f.regs[0x22430] = f.regs[0x22434] = 0x1f;
	f.regs[0x21c1c] = 0xfffffffe;
	f.regs[0x21c38] = 0xfffffffe;
	ASSERT_EQ(read_topology(f), 0);
	EXPECT_EQ(f.gpu->topo.gpc_mask, 0x7ffffffeu);
	EXPECT_EQ(f.gpu->topo.tpc_mask[0], 0x7ffffffeu);
}

TEST(Memory, OfPascalAndTuringIsMagnitudeTimesScale)
{
	for (const lens_chip *chip : {&lens_chip_gp10x, &lens_chip_tu10x}) {
		Fake f(*chip);
		f.regs[0x100ce0] = 0x000000c8; // magnitude 12, scale 8: 12 << 28
		ASSERT_EQ(read_topology(f), 0);
		EXPECT_EQ(f.gpu->topo.memory_bytes, 3221225472u);
		EXPECT_EQ(f.io()->memory_bytes, 3221225472u);
		f.regs[0x100ce0] = 0x400000c8; // a sixteenth is ECC's
		ASSERT_EQ(read_topology(f), 0);
		EXPECT_EQ(f.gpu->topo.memory_bytes, 3019898880u);
		f.regs[0x100ce0] = 0x000003ff; // 63 << 35
		ASSERT_EQ(read_topology(f), 0);
		EXPECT_EQ(f.gpu->topo.memory_bytes, 2164663517184u);
	}
}

TEST(Memory, OfAdaAndHopperIsInMegabytes)
{
	for (const lens_chip *chip : {&lens_chip_ad10x, &lens_chip_gh100}) {
		Fake f(*chip);
		f.regs[0x224fc] = 2;
		f.regs[0x1183a4] = 49152;
		ASSERT_EQ(read_topology(f), 0);
		EXPECT_EQ(f.gpu->topo.memory_bytes, 51539607552u);
	}
}

// PMC_BOOT_0 0x0: implementation 23:20, architecture 28:24 and its bit 5 in bit 8: open-gpu-kernel-modules nv_ref.h.
// Ids: nv_arch.h.
TEST(Identify, ChipIdIsArchitectureAndImplementation)
{
	const struct {
		u32 boot0;
		const lens_chip *chip;
		const char *name;
	} rows[] = {
		{0x132000a1, &lens_chip_gp10x, "GP102"}, {0x134000a1, &lens_chip_gp10x, "GP104"},
		{0x136000a1, &lens_chip_gp10x, "GP106"}, {0x137000a1, &lens_chip_gp10x, "GP107"},
		{0x138000a1, &lens_chip_gp10x, "GP108"}, {0x162000a1, &lens_chip_tu10x, "TU102"},
		{0x164000a1, &lens_chip_tu10x, "TU104"}, {0x166000a1, &lens_chip_tu10x, "TU106"},
		{0x168000a1, &lens_chip_tu10x, "TU116"}, {0x167000a1, &lens_chip_tu10x, "TU117"},
		{0x180000a1, &lens_chip_gh100, "GH100"}, {0x192000a1, &lens_chip_ad10x, "AD102"},
		{0x193000a1, &lens_chip_ad10x, "AD103"}, {0x194000a1, &lens_chip_ad10x, "AD104"},
		{0x196000a1, &lens_chip_ad10x, "AD106"}, {0x197000a1, &lens_chip_ad10x, "AD107"},
	};
	for (const auto &r : rows) {
		Fake f(lens_chip_gp10x);
		f.regs[0] = r.boot0;
		ASSERT_EQ(lens_gpu_identify(f.gpu.get(), f.io()), 0) << r.name;
		EXPECT_EQ(f.gpu->chip, r.chip) << r.name;
		EXPECT_STREQ(f.gpu->name, r.name);
		EXPECT_EQ(f.gpu->boot0, r.boot0);
	}
}

TEST(Identify, UnknownGpusAreRefused)
{
	const struct {
		u32 boot0;
		int err;
	} rows[] = {
		{0x00000000, -ENODEV}, {0x0c0000a1, -ENODEV}, // GF100, Fermi
		{0x136001a1, -ENODEV},                        // bit 8: architecture 0x33
		{0xffffffff, -ENODEV}, {0xbadf1300, -EIO},    {0xbad00200, -EIO},
	};
	for (const auto &r : rows) {
		Fake f(lens_chip_gp10x);
		f.regs[0] = r.boot0;
		EXPECT_EQ(lens_gpu_identify(f.gpu.get(), f.io()), r.err) << std::hex << r.boot0;
	}
}

} // namespace
