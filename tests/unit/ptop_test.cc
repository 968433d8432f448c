// SPDX-License-Identifier: GPL-2.0
// The device table, both layouts, from literal rows in a map of registers. Sources:
//   v1  open-gpu-doc turing/tu104/dev_top.ref.txt NV_PTOP_DEVICE_INFO*: 64 rows at 0x22700; CHAIN 31, ENTRY 1:0
//       (1 DATA, 2 ENUM, 3 ENGINE_TYPE)
//         ENGINE_TYPE  TYPE_ENUM 30:2
//         ENUM         RESET 2, INTR 3, RUNLIST 4, ENGINE 5; RESET_ENUM 13:9, INTR_ENUM 19:15, RUNLIST_ENUM 24:21,
//                      ENGINE_ENUM 29:26
//         DATA         FAULT_ID 2, FAULT_ID_ENUM 9:3, PRI_BASE 23:12 in place, INST_ID 29:26, DATA_TYPE 30
//   v2  open-gpu-kernel-modules blackwell/gb100/dev_top.h NV_PTOP_DEVICE_INFO_CFG, _INFO2_*: CFG 0x224fc, rows at
//       0x22800; record of rows 0 FAULT_ID 10:0, INSTANCE_ID 23:16, TYPE_ENUM 30:24; 1 RESET_ID 7:0, PRI_BASE 25:8 in
//       place, IS_ENGINE 30; 2 RLENG_ID 1:0, RUNLIST_PRI_BASE 25:10 in place; each CHAIN 31. What zero rows mean:
//       linux-nvgpu hal/top/top_ga10b_fusa.c.
#include "fake.hpp"

#include <gtest/gtest.h>

namespace {

using test::Fake;

constexpr u32 V1 = 0x22700, V2 = 0x22800, V2_CFG = 0x224fc;

struct V1Table : Fake {
	explicit V1Table(const std::vector<u32> &words) : Fake(lens_chip_tu10x)
	{
		rows(V1, words);
		err = lens_chip_tu10x.read_devices(gpu.get());
	}
	const lens_topology &topo() { return gpu->topo; }
	int err;
};

// Graphics: TYPE 0; reset 12, interrupt 12, runlist 0, engine 0; fault id 64, base 0x400000.
#define GRAPHICS 0x80000003, 0x8006183e, 0x00400205
// LCE 2: TYPE 19; reset 21, interrupt 9, runlist 5, engine 5; fault id 19, base 0x104000, instance 2.
#define LCE2 0x8000004f, 0x94a4aa3e, 0x0810409d

TEST(PtopV1, DecodesEveryFieldOfADevice)
{
	V1Table t({LCE2});
	ASSERT_EQ(t.err, 0);
	ASSERT_EQ(t.topo().n_engines, 1);
	const lens_engine &e = t.topo().engines[0];
	EXPECT_EQ(e.type, 19);
	EXPECT_EQ(e.inst, 2);
	EXPECT_EQ(e.runlist, 5);
	EXPECT_EQ(e.engine_id, 5);
	EXPECT_EQ(e.intr, 9);
	EXPECT_EQ(e.reset, 21);
	EXPECT_EQ(e.fault, 19);
	EXPECT_EQ(e.pri_base, 0x104000u);
	EXPECT_EQ(e.runlist_base, 0u);
}

// Each value field all ones, then only the bits that lie between the fields.
TEST(PtopV1, FieldsEndWhereTheManualSays)
{
	V1Table ones({0x80000003, 0xbdefbe3e, 0x3cfff3fd});
	ASSERT_EQ(ones.topo().n_engines, 1);
	const lens_engine &e = ones.topo().engines[0];
	EXPECT_EQ(e.engine_id, 15);
	EXPECT_EQ(e.runlist, 15);
	EXPECT_EQ(e.intr, 31);
	EXPECT_EQ(e.reset, 31);
	EXPECT_EQ(e.fault, 127);
	EXPECT_EQ(e.inst, 15);
	EXPECT_EQ(e.pri_base, 0xfff000u);

	V1Table between({0x80000003, 0xc21041fe, 0x03000c05});
	ASSERT_EQ(between.topo().n_engines, 1);
	const lens_engine &b = between.topo().engines[0];
	EXPECT_EQ(b.engine_id, 0);
	EXPECT_EQ(b.runlist, 0);
	EXPECT_EQ(b.intr, 0);
	EXPECT_EQ(b.reset, 0);
	EXPECT_EQ(b.fault, 0);
	EXPECT_EQ(b.inst, 0);
	EXPECT_EQ(b.pri_base, 0u);
}

// The valid bits 5:2 of ENUM and 2 of DATA are clear while the fields hold ones: none of the ids is given.
TEST(PtopV1, IdsWithoutTheirValidBitAreNotGiven)
{
	V1Table t({0x80000003, 0xbdefbe02, 0x3cfff3f9});
	ASSERT_EQ(t.topo().n_engines, 1);
	const lens_engine &e = t.topo().engines[0];
	EXPECT_EQ(e.engine_id, -1);
	EXPECT_EQ(e.runlist, -1);
	EXPECT_EQ(e.intr, -1);
	EXPECT_EQ(e.reset, -1);
	EXPECT_EQ(e.fault, -1);
}

// DATA_TYPE 30 = 1: some layout that no manual gives.
TEST(PtopV1, DataRowsOfAnotherLayoutAreNotRead)
{
	V1Table t({0x80000003, 0x7cfff3fd});
	ASSERT_EQ(t.topo().n_engines, 1);
	EXPECT_EQ(t.topo().engines[0].pri_base, 0u);
	EXPECT_EQ(t.topo().engines[0].inst, 0);
	EXPECT_EQ(t.topo().engines[0].fault, -1);
}

TEST(PtopV1, RowsOfADeviceMayComeInAnyOrder)
{
	V1Table t({0x8810409d, 0x94a4aa3e, 0x0000004f});
	ASSERT_EQ(t.topo().n_engines, 1);
	EXPECT_EQ(t.topo().engines[0].type, 19);
	EXPECT_EQ(t.topo().engines[0].inst, 2);
	EXPECT_EQ(t.topo().engines[0].runlist, 5);
}

// ENTRY 0 rows may stand before, between and after devices: the table does not end there.
TEST(PtopV1, HolesAreSkippedUpToTheLastRow)
{
	std::vector<u32> rows(64, 0);
	const u32 graphics[] = {GRAPHICS}, lce2[] = {LCE2};
	std::copy(std::begin(graphics), std::end(graphics), rows.begin() + 2);
	std::copy(std::begin(lce2), std::end(lce2), rows.begin() + 61);
	V1Table t(rows);
	ASSERT_EQ(t.err, 0);
	ASSERT_EQ(t.topo().n_engines, 2);
	EXPECT_EQ(t.topo().engines[0].type, 0);
	EXPECT_EQ(t.topo().engines[0].fault, 64);
	EXPECT_EQ(t.topo().engines[0].pri_base, 0x400000u);
	EXPECT_EQ(t.topo().engines[1].type, 19);
	EXPECT_EQ(t.topo().engines[1].runlist, 5);
	EXPECT_EQ(t.reads.size(), 64u); // and each row is read once
	EXPECT_EQ(t.times_read(0x227fc), 1u);
}

TEST(PtopV1, HoleInsideAChainDoesNotCutTheDevice)
{
	V1Table t({0x8000004f, 0x00000000, 0x94a4aa3e, 0x00000000, 0x0810409d, GRAPHICS});
	ASSERT_EQ(t.topo().n_engines, 2);
	EXPECT_EQ(t.topo().engines[0].type, 19);
	EXPECT_EQ(t.topo().engines[0].runlist, 5);
	EXPECT_EQ(t.topo().engines[0].inst, 2);
	EXPECT_EQ(t.topo().engines[1].type, 0);
}

TEST(PtopV1, ChainWithoutATypeRowIsNoDevice)
{
	V1Table t({0x94a4aa3e, 0x0810409d, GRAPHICS});
	ASSERT_EQ(t.err, 0);
	ASSERT_EQ(t.topo().n_engines, 1);
	EXPECT_EQ(t.topo().engines[0].type, 0);
	EXPECT_EQ(t.topo().engines[0].runlist, 0);
	EXPECT_EQ(t.topo().engines[0].inst, 0); // nothing of the dropped rows is left in it
}

TEST(PtopV1, ChainThatNeverEndsIsNoDevice)
{
	std::vector<u32> rows(64, 0x8000004f);
	V1Table t(rows);
	EXPECT_EQ(t.err, 0);
	EXPECT_EQ(t.topo().n_engines, 0);
	EXPECT_EQ(t.reads.size(), 64u);
}

TEST(PtopV1, SingleTypeRowIsADeviceWithoutIds)
{
	V1Table t({0x0000004b}); // type 18, IOCTRL, no chain
	ASSERT_EQ(t.topo().n_engines, 1);
	EXPECT_EQ(t.topo().engines[0].type, 18);
	EXPECT_EQ(t.topo().engines[0].runlist, -1);
	EXPECT_EQ(t.topo().engines[0].engine_id, -1);
}

// 0xbadf5040 and all ones are answers of a register that could not be read. What is left of the device they fell into
// would be a device with wrong ids; everything else is kept.
TEST(PtopV1, RowThatCannotBeReadCostsItsDeviceOnly)
{
	for (u32 bad : {0xbadf5040u, 0xbad00200u}) {
		V1Table t({GRAPHICS, 0x8000004f, bad, 0x0810409d, 0x0000004b});
		EXPECT_EQ(t.err, 0);
		EXPECT_EQ(t.topo().devices_err, -EIO);
		ASSERT_EQ(t.topo().n_engines, 2);
		EXPECT_EQ(t.topo().engines[0].type, 0);
		EXPECT_EQ(t.topo().engines[0].fault, 64);
		EXPECT_EQ(t.topo().engines[1].type, 18);
		EXPECT_EQ(t.topo().engines[1].inst, 0); // nothing of LCE 2 is left in it
		EXPECT_EQ(t.reads.size(), 64u);
	}
	EXPECT_EQ(V1Table({GRAPHICS}).topo().devices_err, 0);
}

// The bad row may have been the next device's first: without its DATA row LCE 2 would be LCE 0.
TEST(PtopV1, WhatFollowsARowThatCannotBeReadIsNotTrustedUpToTheNextEndOfAChain)
{
	V1Table t({GRAPHICS, 0xbadf5040, 0x00000000, 0x94a4aa3e, 0x0000004f, LCE2});
	EXPECT_EQ(t.err, 0);
	EXPECT_EQ(t.topo().devices_err, -EIO);
	ASSERT_EQ(t.topo().n_engines, 2);
	EXPECT_EQ(t.topo().engines[1].type, 19);
	EXPECT_EQ(t.topo().engines[1].inst, 2);
}

TEST(PtopV1, RowOfAllOnesIsOneRowOrTheWholeGpu)
{
	Fake f(lens_chip_tu10x);
	f.rows(V1, {GRAPHICS, 0xffffffff});
	f.regs[0] = 0x162000a1;
	EXPECT_EQ(lens_chip_tu10x.read_devices(f.gpu.get()), 0);
	EXPECT_EQ(f.gpu->topo.n_engines, 1);
	EXPECT_EQ(f.gpu->topo.devices_err, -EIO);
	Fake gone(lens_chip_tu10x);
	gone.rows(V1, {GRAPHICS, 0xffffffff});
	gone.regs[0] = 0xffffffff;
	EXPECT_EQ(lens_chip_tu10x.read_devices(gone.gpu.get()), -ENODEV);
}

TEST(PtopV1, TableOfWhichNothingCanBeReadIsAnError)
{
	EXPECT_EQ(V1Table(std::vector<u32>(64, 0xbadf5040)).err, -EIO);
	EXPECT_EQ(V1Table({}).err, 0); // an empty one is not
}

struct V2Table : Fake {
	explicit V2Table(const std::vector<u32> &words, u32 cfg = 0) : Fake(lens_chip_gh100)
	{
		rows(V2, words);
		// VERSION 3:0 = 2, NUM_ROWS 31:20
		regs[V2_CFG] = cfg ? cfg : u32(words.size()) << 20 | 2;
		err = lens_chip_gh100.read_devices(gpu.get());
	}
	const lens_topology &topo() { return gpu->topo; }
	int err;
};

// LCE 2: fault id 0x2d, reset 5, base 0x104000, second engine of the runlist at 0xc00400.
#define V2_LCE2 0x9302002d, 0xc0104005, 0x00c00401
// GSP: fault id 449, base 0x110000, reset 60, no runlist: a record of two rows.
#define V2_GSP 0x940001c1, 0x0011003c

TEST(PtopV2, DecodesEveryFieldOfADevice)
{
	V2Table t({V2_LCE2});
	ASSERT_EQ(t.err, 0);
	ASSERT_EQ(t.topo().n_engines, 1);
	const lens_engine &e = t.topo().engines[0];
	EXPECT_EQ(e.type, 19);
	EXPECT_EQ(e.inst, 2);
	EXPECT_EQ(e.fault, 0x2d);
	EXPECT_EQ(e.reset, 5);
	EXPECT_EQ(e.pri_base, 0x104000u);
	EXPECT_EQ(e.rleng, 1);
	EXPECT_EQ(e.runlist_base, 0xc00400u);
	EXPECT_EQ(e.intr, -1);      // not in this layout
	EXPECT_EQ(e.engine_id, -1); // not in the table: RLRAM has it
	EXPECT_EQ(e.runlist, -1);
}

TEST(PtopV2, FieldsEndWhereTheManualSays)
{
	// TYPE 30:24, INSTANCE 23:16, FAULT 10:0; IS_ENGINE 30, PRI_BASE 25:8, RESET 7:0; PRI_BASE 25:10, RLENG 1:0
	V2Table ones({0xffff07ff, 0xc3ffffff, 0x03fffc03});
	ASSERT_EQ(ones.topo().n_engines, 1);
	const lens_engine &e = ones.topo().engines[0];
	EXPECT_EQ(e.type, 127);
	EXPECT_EQ(e.inst, 255);
	EXPECT_EQ(e.fault, 2047);
	EXPECT_EQ(e.reset, 255);
	EXPECT_EQ(e.pri_base, 0x03ffff00u);
	EXPECT_EQ(e.rleng, 3);
	EXPECT_EQ(e.runlist_base, 0x03fffc00u);

	// Only GROUP_ID 15:11 and the bits that no field names.
	V2Table between({0x8000f800, 0xfc000000, 0x7c0003fc});
	ASSERT_EQ(between.topo().n_engines, 1);
	const lens_engine &b = between.topo().engines[0];
	EXPECT_EQ(b.type, 0);
	EXPECT_EQ(b.inst, 0);
	EXPECT_EQ(b.fault, -1); // FAULT_ID_INVALID is 0
	EXPECT_EQ(b.reset, -1); // RESET_ID_INVALID is 0
	EXPECT_EQ(b.pri_base, 0u);
	EXPECT_EQ(b.rleng, 0);
	EXPECT_EQ(b.runlist_base, 0u);
}

TEST(PtopV2, RecordOfTwoRowsIsADeviceWithoutARunlist)
{
	V2Table t({V2_GSP, V2_LCE2});
	ASSERT_EQ(t.topo().n_engines, 2);
	EXPECT_EQ(t.topo().engines[0].type, 20);
	EXPECT_EQ(t.topo().engines[0].fault, 449);
	EXPECT_EQ(t.topo().engines[0].reset, 60);
	EXPECT_EQ(t.topo().engines[0].pri_base, 0x110000u);
	EXPECT_EQ(t.topo().engines[0].runlist_base, 0u);
	EXPECT_EQ(t.topo().engines[1].type, 19);
	EXPECT_EQ(t.topo().engines[1].runlist_base, 0xc00400u);
}

// top_ga10b_fusa.c: within a record a zero word is its last row, not a hole between devices.
TEST(PtopV2, ZeroLastRowEndsItsRecord)
{
	V2Table t({0x98010000, 0x80086000, 0x00000000, V2_LCE2});
	ASSERT_EQ(t.topo().n_engines, 2);
	EXPECT_EQ(t.topo().engines[0].type, 24);
	EXPECT_EQ(t.topo().engines[0].inst, 1);
	EXPECT_EQ(t.topo().engines[0].pri_base, 0x86000u);
	EXPECT_EQ(t.topo().engines[0].runlist_base, 0u);
	EXPECT_EQ(t.topo().engines[1].type, 19);
	EXPECT_EQ(t.topo().engines[1].inst, 2);
}

TEST(PtopV2, ThirdRowOfWhatIsNoEngineNamesNoRunlist)
{
	V2Table t({0x98010000, 0x80086000, 0x00c00400});
	ASSERT_EQ(t.topo().n_engines, 1);
	EXPECT_EQ(t.topo().engines[0].runlist_base, 0u);
}

TEST(PtopV2, HolesBetweenRecordsAreSkippedUpToTheLastRow)
{
	V2Table t({0, 0, V2_GSP, 0, 0, 0, V2_LCE2, 0});
	ASSERT_EQ(t.topo().n_engines, 2);
	EXPECT_EQ(t.topo().engines[1].fault, 0x2d);
	EXPECT_EQ(t.reads.size(), 12u); // CFG and 11 rows, each once
}

TEST(PtopV2, RowsBeyondThoseKnownBelongToTheSameRecord)
{
	V2Table t({0x9302002d, 0xc0104005, 0x80c00401, 0x94000007, 0x00000000, V2_GSP});
	ASSERT_EQ(t.topo().n_engines, 2);
	EXPECT_EQ(t.topo().engines[0].runlist_base, 0xc00400u);
	EXPECT_EQ(t.topo().engines[1].type, 20);
	EXPECT_EQ(t.topo().engines[1].fault, 449);
}

TEST(PtopV2, RecordThatNeverEndsIsNoDevice)
{
	V2Table t(std::vector<u32>(16, 0x9302002d));
	EXPECT_EQ(t.err, 0);
	EXPECT_EQ(t.topo().n_engines, 0);
}

// GB100's reset values: NUM_ROWS 0x161, MAX_ROWS_PER_DEVICE 3, MAX_DEVICES 0x99, VERSION 2; SIZE_1 is 353.
TEST(PtopV2, AsManyRowsAreReadAsTheTableHas)
{
	V2Table t({}, 0x16130992);
	EXPECT_EQ(t.err, 0);
	EXPECT_EQ(t.reads.size(), 354u);
	EXPECT_EQ(t.times_read(0x22d80), 1u);
	EXPECT_EQ(t.times_read(0x22d84), 0u);
}

TEST(PtopV2, OtherVersionsAreRefused)
{
	EXPECT_EQ(V2Table({V2_LCE2}, 0x00300001).err, -EOPNOTSUPP);
	EXPECT_EQ(V2Table({V2_LCE2}, 0x00300003).err, -EOPNOTSUPP);
}

TEST(PtopV2, MoreDevicesThanThereIsRoomForAreAnError)
{
	V2Table t(std::vector<u32>(129, 0x13000001));
	EXPECT_EQ(t.err, -EIO);
	EXPECT_EQ(t.topo().n_engines, 128);
	EXPECT_EQ(V2Table(std::vector<u32>(128, 0x13000001)).err, 0);
}

TEST(PtopV2, RowThatCannotBeReadCostsItsDeviceOnly)
{
	V2Table t({V2_GSP, 0x9302002d, 0xbadf1300, 0x00c00401, 0x98010000, 0x00086000});
	EXPECT_EQ(t.err, 0);
	EXPECT_EQ(t.topo().devices_err, -EIO);
	ASSERT_EQ(t.topo().n_engines, 2);
	EXPECT_EQ(t.topo().engines[0].type, 20);
	EXPECT_EQ(t.topo().engines[1].type, 24);
	EXPECT_EQ(t.topo().engines[1].inst, 1);
	EXPECT_EQ(t.topo().engines[1].pri_base, 0x86000u);
	EXPECT_EQ(V2Table({V2_GSP}).topo().devices_err, 0);
	EXPECT_EQ(V2Table(std::vector<u32>(6, 0xbadf1300)).err, -EIO);
}

// A zero row is a hole or the last row of the damaged record: the next one begins a record.
TEST(PtopV2, ZeroRowEndsTheDoubtAfterARowThatCannotBeRead)
{
	V2Table t({V2_GSP, 0xbadf1300, 0x00000000, V2_LCE2});
	ASSERT_EQ(t.topo().n_engines, 2);
	EXPECT_EQ(t.topo().engines[1].fault, 0x2d);
	EXPECT_EQ(t.topo().engines[1].runlist_base, 0xc00400u);
	V2Table no_zero({V2_GSP, 0xbadf1300, V2_LCE2, V2_GSP});
	ASSERT_EQ(no_zero.topo().n_engines, 2);
	EXPECT_EQ(no_zero.topo().engines[1].type, 20);
}

// NUM_ROWS 31:20 = 0xfff. No published table is longer than GB100's 353 rows; 512 rows end at 0x23000.
TEST(PtopV2, MoreRowsThanThereIsRoomForAreNotBelieved)
{
	V2Table t({V2_LCE2}, 0xfff00002);
	EXPECT_EQ(t.err, 0);
	EXPECT_EQ(t.topo().n_engines, 1);
	EXPECT_EQ(t.topo().devices_err, -EIO);
	EXPECT_EQ(t.reads.size(), 513u);
	EXPECT_EQ(t.times_read(0x22ffc), 1u);
	EXPECT_EQ(t.times_read(0x23000), 0u);
	EXPECT_EQ(V2Table({V2_LCE2}, 0x20000002).topo().devices_err, 0); // 512
	EXPECT_EQ(V2Table({V2_LCE2}, 0x20100002).topo().devices_err, -EIO);
}

// blackwell/gb100/dev_top.h: the second die's configuration is at 0x324fc and its rows at 0x32800.
TEST(PtopV2, SecondDieOfGb100IsReadWhereItAnswers)
{
	Fake f(lens_chip_gb10x);
	f.regs[V2_CFG] = f.regs[0x324fc] = 0x00300002;
	f.rows(V2, {V2_LCE2});
	f.rows(0x32800, {0x9305003d, 0xc0104009, 0x00c01000});
	EXPECT_EQ(lens_chip_gb10x.read_devices(f.gpu.get()), 0);
	EXPECT_EQ(f.gpu->topo.devices_err, 0);
	ASSERT_EQ(f.gpu->topo.n_engines, 2);
	EXPECT_EQ(f.gpu->topo.engines[0].inst, 2);
	EXPECT_EQ(f.gpu->topo.engines[1].inst, 5);
	EXPECT_EQ(f.gpu->topo.engines[1].fault, 0x3d);
	EXPECT_EQ(f.gpu->topo.engines[1].runlist_base, 0xc01000u);
}

TEST(PtopV2, PartWithOneDieIsCompleteWithoutTheSecond)
{
	for (u32 cfg : {0xbadf1100u, 0x00000000u, 0x00300001u}) { // no answer, no table, another version
		Fake f(lens_chip_gb10x);
		f.regs[V2_CFG] = 0x00300002;
		f.regs[0x324fc] = cfg;
		f.rows(V2, {V2_LCE2});
		f.rows(0x32800, {V2_LCE2});
		EXPECT_EQ(lens_chip_gb10x.read_devices(f.gpu.get()), 0);
		EXPECT_EQ(f.gpu->topo.n_engines, 1);
		EXPECT_EQ(f.gpu->topo.devices_err, 0);
	}
}

TEST(PtopV2, SecondDieWhoseRowsCannotBeReadIsNoted)
{
	Fake f(lens_chip_gb10x);
	f.regs[V2_CFG] = f.regs[0x324fc] = 0x00300002;
	f.rows(V2, {V2_LCE2});
	f.rows(0x32800, {0xbadf5100, 0xbadf5100, 0xbadf5100});
	EXPECT_EQ(lens_chip_gb10x.read_devices(f.gpu.get()), 0);
	EXPECT_EQ(f.gpu->topo.n_engines, 1);
	EXPECT_EQ(f.gpu->topo.devices_err, -EIO);
}

// Runlist id, channel RAM, PBDMAs and engine id come from RLRAM: open-gpu-doc ampere/ga100/dev_runlist.ref.txt
// CHANNEL_CONFIG +4 (NUM_CHANNELS_LOG2 3:0, CHRAM_BAR0_OFFSET 31:4 in place), DOORBELL_CONFIG +8 (ID 31:16),
// PBDMA_CONFIG +0x10, +0x14 (PBDMA_BAR0_OFFSET 25:10 in place, VALID 31); ENGINE_STATUS_DEBUG(e) +0x228+64e
// (engine id 29:24: linux-nvgpu hw_runlist_ga10b.h). PBDMA registers at 0x40000 + 0x800 * id: dev_pbdma.ref.txt.
TEST(Rlram, RunlistIsDescribedByItsOwnRegisters)
{
	V2Table t({0x8000007b, 0xc0400002, 0x00c00400, V2_LCE2, V2_GSP});
	ASSERT_EQ(t.topo().n_engines, 3);
	t.regs[0xc00404] = 0x00c4200b; // 2048 channels, channel RAM at 0xc42000
	t.regs[0xc00408] = 0x00130000; // runlist 19
	t.regs[0xc00410] = 0x80041000; // PBDMA 2
	t.regs[0xc00414] = 0x80041800; // PBDMA 3
	t.regs[0xc00628] = 0x03000001; // first engine: id 3
	t.regs[0xc00668] = 0x2a000001; // second: id 42
	ASSERT_EQ(lens_chip_gh100.host->read_runlists(t.gpu.get()), 0);
	ASSERT_EQ(t.topo().n_runlists, 1);
	const lens_runlist &rl = t.topo().runlists[0];
	EXPECT_EQ(rl.id, 19);
	EXPECT_EQ(rl.base, 0xc00400u);
	EXPECT_EQ(rl.channels, 2048);
	EXPECT_EQ(rl.chram, 0xc42000u);
	EXPECT_EQ(rl.pbdmas, 0xcu);
	EXPECT_EQ(t.topo().engines[0].engine_id, 3);
	EXPECT_EQ(t.topo().engines[1].engine_id, 42);
	EXPECT_EQ(t.topo().engines[0].runlist, 19);
	EXPECT_EQ(t.topo().engines[1].runlist, 19);
	EXPECT_EQ(t.topo().engines[2].runlist, -1);
}

// 12 bits of an entry and of a doorbell name a channel: dev_runlist.ref.txt INTERNAL_DOORBELL CHID 11:0.
TEST(Rlram, NoMoreChannelsThanAnIdCanName)
{
	V2Table t({V2_LCE2});
	t.regs[0xc00404] = 0x00c4200f; // log2 = 15
	ASSERT_EQ(lens_chip_gh100.host->read_runlists(t.gpu.get()), 0);
	EXPECT_EQ(t.topo().runlists[0].channels, 4096);
}

// DOORBELL_CONFIG ID 31:16 has 16 bits; RUNLIST_ID 22:16 of a doorbell (dev_vm.ref.txt NV_VIRTUAL_FUNCTION_DOORBELL) 7.
TEST(Rlram, RunlistIdThatNoDoorbellCouldNameIsNoRunlist)
{
	V2Table t({V2_LCE2});
	t.regs[0xc00408] = 0x007f0000;
	ASSERT_EQ(lens_chip_gh100.host->read_runlists(t.gpu.get()), 0);
	EXPECT_EQ(t.topo().runlists[0].id, 127);
	for (u32 word : {0x00800000u, 0xffff0000u}) {
		V2Table beyond({V2_LCE2});
		beyond.regs[0xc00408] = word;
		EXPECT_EQ(lens_chip_gh100.host->read_runlists(beyond.gpu.get()), 0) << word;
		EXPECT_EQ(beyond.topo().n_runlists, 0);
		EXPECT_EQ(beyond.topo().unnamed_runlists, 1) << word;
	}
}

// Two sets of registers that give the same number: neither file could be told from the other.
TEST(Rlram, SecondRunlistOfTheSameNumberIsNoRunlist)
{
	V2Table t({0x8000007b, 0xc0400002, 0x00c10400, V2_LCE2});
	t.regs[0xc10408] = 0x00130000;
	t.regs[0xc00408] = 0x00130000;
	ASSERT_EQ(lens_chip_gh100.host->read_runlists(t.gpu.get()), 0);
	ASSERT_EQ(t.topo().n_runlists, 1);
	EXPECT_EQ(t.topo().runlists[0].base, 0xc10400u);
	EXPECT_EQ(t.topo().unnamed_runlists, 1);
	EXPECT_EQ(t.topo().engines[0].runlist, 19);
	EXPECT_EQ(t.topo().engines[1].runlist, -1);
}

// PFIFO chips: CFG1 0x2008 number of channels, CFG0 0x2004 NUM_PBDMA 7:0, PBDMA_MAP(i) 0x2390+4i a bit per runlist:
// open-gpu-doc turing/tu104/dev_fifo.ref.txt.
TEST(Pfifo, RunlistsComeFromTheDeviceTableAndPbdmasFromTheirMap)
{
	V1Table t({LCE2, GRAPHICS, LCE2});
	t.regs[0x2004] = 0x00200003;
	t.regs[0x2008] = 512;
	t.rows(0x2390, {0x01, 0x21, 0x20});
	ASSERT_EQ(lens_chip_tu10x.host->read_runlists(t.gpu.get()), 0);
	ASSERT_EQ(t.topo().n_runlists, 2);
	EXPECT_EQ(t.topo().runlists[0].id, 0);
	EXPECT_EQ(t.topo().runlists[0].pbdmas, 3u);
	EXPECT_EQ(t.topo().runlists[0].channels, 512);
	EXPECT_EQ(t.topo().runlists[1].id, 5);
	EXPECT_EQ(t.topo().runlists[1].pbdmas, 6u);

	V1Table more({GRAPHICS});
	more.regs[0x2008] = 100000; // more than PCCSR has words for
	ASSERT_EQ(lens_chip_tu10x.host->read_runlists(more.gpu.get()), 0);
	EXPECT_EQ(more.topo().runlists[0].channels, 4096);
}

/*
 * RUNLIST_ENUM 24:21 has four bits, TU104 eleven runlists (turing/tu104/dev_fifo.ref.txt NV_PFIFO_RUNLIST_BASE_LO__SIZE_1):
 * the engine is listed, its runlist is not, and the others are. LCE 2 with 10, 11 and 15 in the field for 5.
 */
TEST(Pfifo, RunlistThatTheChipHasNotIsAnErrorOfItsRowOnly)
{
	V1Table last({GRAPHICS, 0x8000004f, 0x9544aa3e, 0x0810409d});
	ASSERT_EQ(lens_chip_tu10x.host->read_runlists(last.gpu.get()), 0);
	EXPECT_EQ(last.topo().n_runlists, 2);
	EXPECT_EQ(last.topo().runlists[1].id, 10);
	EXPECT_EQ(last.topo().devices_err, 0);
	for (u32 word : {0x9564aa3eu, 0x95e4aa3eu}) {
		V1Table t({GRAPHICS, 0x8000004f, word, 0x0810409d, LCE2});
		ASSERT_EQ(lens_chip_tu10x.host->read_runlists(t.gpu.get()), 0) << std::hex << word;
		EXPECT_EQ(t.topo().n_engines, 3);
		EXPECT_EQ(t.topo().engines[1].type, 19);
		EXPECT_EQ(t.topo().engines[1].runlist, -1) << std::hex << word;
		EXPECT_EQ(t.topo().engines[2].runlist, 5);
		EXPECT_EQ(t.topo().n_runlists, 2);
		EXPECT_EQ(t.topo().devices_err, -EIO);
	}
}

// GK20A has one runlist (linux-nvgpu hw_fifo_gk20a.h), its generation seven: the chip's own limit counts.
TEST(Pfifo, RunlistLimitIsThatOfTheVeryChip)
{
	Fake f(lens_chip_gk10x);
	f.regs[0] = 0x0ea000a1;
	f.rows(V1, {0x80000003, 0x0006183e, 0x80000007, 0x0026183e}); // graphics on 0, COPY0 on 1
	ASSERT_EQ(lens_gpu_identify(f.gpu.get(), f.io()), 0);
	ASSERT_EQ(lens_gpu_read_topology(f.gpu.get()), 0);
	EXPECT_EQ(f.gpu->topo.n_engines, 2);
	EXPECT_EQ(f.gpu->topo.n_runlists, 1);
	EXPECT_EQ(f.gpu->topo.devices_err, -EIO);
}

} // namespace
