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
#include "support/core/device_tables.hpp"

#include <gtest/gtest.h>

namespace {

using namespace test;

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

// DATA_TYPE 30 = 1: a layout that no manual describes.
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

// TYPE_ENUM 30:2 has 29 bits: 0x10000 and 0x1fff0013 are neither graphics nor LCE, which 16 bits would make of them.
TEST(PtopV1, TypeThatNoManualNamesIsNoOtherType)
{
	for (u32 type : {0x10000u, 0x1fff0013u}) {
		V1Table t({type << 2 | 3});
		char name[LENS_ENGINE_NAME];
		ASSERT_EQ(t.topo().n_engines, 1);
		EXPECT_EQ(t.topo().engines[0].type, type);
		lens_engine_format_name(t.gpu.get(), &t.topo().engines[0], name);
		EXPECT_EQ(std::string(name), "Unknown (type " + std::to_string(type) + ") 0");
	}
}

// 0xbadf5040 and all ones are answers of a register that cannot be read. The remaining rows of that device would give
// wrong ids, so it is dropped; all other devices are kept.
TEST(PtopV1, RowThatCannotBeReadDropsItsDeviceOnly)
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
	f.set_rows(V1, {GRAPHICS, 0xffffffff});
	f.regs[0] = 0x162000a1;
	EXPECT_EQ(lens_chip_tu10x.read_devices(f.gpu.get()), 0);
	EXPECT_EQ(f.gpu->topo.n_engines, 1);
	EXPECT_EQ(f.gpu->topo.devices_err, -EIO);
	Fake gone(lens_chip_tu10x);
	gone.set_rows(V1, {GRAPHICS, 0xffffffff});
	gone.regs[0] = 0xffffffff;
	EXPECT_EQ(lens_chip_tu10x.read_devices(gone.gpu.get()), -ENODEV);
}

TEST(PtopV1, TableOfWhichNothingCanBeReadIsAnError)
{
	EXPECT_EQ(V1Table(std::vector<u32>(64, 0xbadf5040)).err, -EIO);
	EXPECT_EQ(V1Table({}).err, 0); // an empty one is not
}

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
	EXPECT_EQ(e.engine_id, -1); // not in the table: a runlist register has it
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

TEST(PtopV2, ThirdRowWithoutIsEngineHasNoRunlist)
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

// 256: NV2080_CTRL_FIFO_GET_DEVICE_INFO_TABLE_MAX_DEVICES of open-gpu-kernel-modules ctrl2080fifo.h.
TEST(PtopV2, DevicesBeyondTheArrayAreCounted)
{
	V2Table full(std::vector<u32>(256, 0x13000001));
	EXPECT_EQ(full.err, 0);
	EXPECT_EQ(full.topo().n_engines, 256);
	EXPECT_EQ(full.topo().dropped_engines, 0);
	EXPECT_EQ(full.topo().devices_err, 0);
	V2Table t(std::vector<u32>(259, 0x13000001));
	EXPECT_EQ(t.err, 0);
	EXPECT_EQ(t.topo().n_engines, 256);
	EXPECT_EQ(t.topo().dropped_engines, 3);
	EXPECT_EQ(t.topo().devices_err, -ENOSPC);
	// A row that cannot be read takes precedence.
	std::vector<u32> rows(259, 0x13000001);
	rows[258] = 0xbadf1300;
	V2Table bad(rows);
	EXPECT_EQ(bad.topo().dropped_engines, 2);
	EXPECT_EQ(bad.topo().devices_err, -EIO);
}

// Every row of version 1 a device of its own.
TEST(PtopV1, AsManyDevicesAsRowsFit)
{
	V1Table t(std::vector<u32>(64, 0x0000004b));
	EXPECT_EQ(t.err, 0);
	EXPECT_EQ(t.topo().n_engines, 64);
	EXPECT_EQ(t.topo().devices_err, 0);
}

/*
 * MAX_DEVICES_INIT 0x99 and SIZE_1 353 of blackwell/gb100/dev_top.h: 153 devices in 353 rows on each of two dies. Here 106
 * records of two rows and 47 of three fill each table; 129 devices once were too many for all of them.
 */
std::vector<u32> full_table(u32 type)
{
	std::vector<u32> rows;

	for (u32 i = 0; i < 153; i++) {
		rows.push_back(0x80000000 | type << 24 | i << 16 | (i + 1));
		rows.push_back(i < 47 ? 0xc0104000 : 0x00104000);
		if (i < 47)
			rows.push_back(0x00c00000 + 0x400 * i);
	}
	return rows;
}

struct Gb100 : Fake {
	Gb100(const std::vector<u32> &first, const std::vector<u32> &second) : Fake(lens_chip_gb10x)
	{
		regs[V2_CFG] = regs[0x324fc] = 0x16130992;
		set_rows(V2, first);
		set_rows(0x32800, second);
		err = lens_chip_gb10x.read_devices(gpu.get());
	}
	const lens_topology &topo() { return gpu->topo; }
	int err;
};

TEST(PtopV2, FullTablesOfBothDiesOfGb100Fit)
{
	ASSERT_EQ(full_table(19).size(), 353u);
	Gb100 f(full_table(19), full_table(24));
	EXPECT_EQ(f.err, 0);
	ASSERT_EQ(f.topo().n_engines, 306);
	EXPECT_EQ(f.topo().dropped_engines, 0);
	EXPECT_EQ(f.topo().devices_err, 0);
	EXPECT_EQ(f.topo().engines[152].type, 19u);
	EXPECT_EQ(f.topo().engines[152].fault, 153);
	EXPECT_EQ(f.topo().engines[153].type, 24u);
	EXPECT_EQ(f.topo().engines[305].fault, 153);
}

TEST(PtopV2, DevicesOfTheSecondDieThatDoNotFitAreCounted)
{
	// 353 devices of one row on the first die
	Gb100 f(std::vector<u32>(353, 0x13000001), full_table(24));
	EXPECT_EQ(f.err, 0);
	EXPECT_EQ(f.topo().n_engines, 306);
	EXPECT_EQ(f.topo().dropped_engines, 200);
	EXPECT_EQ(f.topo().devices_err, -ENOSPC);
}

TEST(PtopV2, SecondDieIsShownWhereTheFirstCannotBeRead)
{
	Gb100 f(std::vector<u32>(353, 0xbadf1300), full_table(24));
	EXPECT_EQ(f.err, 0);
	EXPECT_EQ(f.topo().n_engines, 153);
	EXPECT_EQ(f.topo().devices_err, -EIO);
	EXPECT_EQ(Gb100(std::vector<u32>(353, 0xbadf1300), std::vector<u32>(353, 0xbadf1300)).err, -EIO);
}

TEST(PtopV2, RowThatCannotBeReadDropsItsDeviceOnly)
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
TEST(PtopV2, ZeroRowEndsTheRecordOfARowThatCannotBeRead)
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
TEST(PtopV2, ImpossibleNumbersOfRowsAreRefused)
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
	f.set_rows(V2, {V2_LCE2});
	f.set_rows(0x32800, {0x9305003d, 0xc0104009, 0x00c01000});
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
		f.set_rows(V2, {V2_LCE2});
		f.set_rows(0x32800, {V2_LCE2});
		EXPECT_EQ(lens_chip_gb10x.read_devices(f.gpu.get()), 0);
		EXPECT_EQ(f.gpu->topo.n_engines, 1);
		EXPECT_EQ(f.gpu->topo.devices_err, 0);
	}
}

TEST(PtopV2, SecondDieWhoseRowsCannotBeReadIsNoted)
{
	Fake f(lens_chip_gb10x);
	f.regs[V2_CFG] = f.regs[0x324fc] = 0x00300002;
	f.set_rows(V2, {V2_LCE2});
	f.set_rows(0x32800, {0xbadf5100, 0xbadf5100, 0xbadf5100});
	EXPECT_EQ(lens_chip_gb10x.read_devices(f.gpu.get()), 0);
	EXPECT_EQ(f.gpu->topo.n_engines, 1);
	EXPECT_EQ(f.gpu->topo.devices_err, -EIO);
}

} // namespace
