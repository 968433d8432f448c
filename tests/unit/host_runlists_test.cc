// SPDX-License-Identifier: GPL-2.0
// The runlists of a chip: from their own registers on chips with channel RAM, from the device table on PFIFO chips.
// Literal words in a map of registers; each test names its sources.
#include "support/core/device_tables.hpp"
#include "support/core/emulated.hpp"

#include <gtest/gtest.h>

namespace {

using namespace test;

// Runlist id, channel RAM, PBDMAs and engine id come from NV_RUNLIST: open-gpu-doc ampere/ga100/dev_runlist.ref.txt
// CHANNEL_CONFIG +4 (NUM_CHANNELS_LOG2 3:0, CHRAM_BAR0_OFFSET 31:4 in place), DOORBELL_CONFIG +8 (ID 31:16),
// PBDMA_CONFIG +0x10, +0x14 (PBDMA_BAR0_OFFSET 25:10 in place, VALID 31); ENGINE_STATUS_DEBUG(e) +0x228+64e
// (engine id 29:24: linux-nvgpu hw_runlist_ga10b.h). PBDMA registers at 0x40000 + 0x800 * id: dev_pbdma.ref.txt.
TEST(RunlistRegisters, RunlistIsDescribedByItsOwnRegisters)
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

// NV_RUNLIST_ENGINE_STATUS1(i) 0x204 + 64 * i, three of them, INTR_ID 20:16, beside GFID 5:0 and NEXT_GFID 13:8 and their
// valid bits 30 and 31: ga100/dev_runlist.ref.txt. LCE 2 is the second engine of its runlist.
TEST(RunlistRegisters, InterruptIdFollowsTheEnginesIndexInItsRunlist)
{
	V2Table t({V2_LCE2, V2_GSP});
	t.regs[0xc00444] = 0xc0153f3f | 3 << 16; // the first engine's, not this one's
	t.regs[0xc00644] = 0xc0113f3f;
	ASSERT_EQ(lens_chip_gh100.host->read_runlists(t.gpu.get()), 0);
	EXPECT_EQ(t.topo().engines[0].intr, 17);
	EXPECT_EQ(t.topo().engines[1].intr, -1); // on no runlist
	t.regs[0xc00644] = 0xffe0ffff;           // all bits except the field
	ASSERT_EQ(lens_chip_gh100.host->read_runlists(t.gpu.get()), 0);
	EXPECT_EQ(t.topo().engines[0].intr, 0);
}

// emulator/profiles/gh100.json and gb202.json: the first engine's is 31; GSP is on no runlist, and gb202's are locked.
TEST(RunlistRegisters, EmulatedChipsGiveTheInterruptIdsOfTheirProfile)
{
	Emulated h100("gh100"), gb202("gb202");
	ASSERT_EQ(h100.attach(), 0);
	EXPECT_EQ(h100.topo().engines[0].type, 0u);
	EXPECT_EQ(h100.topo().engines[0].intr, 31);
	for (u32 i = 0; i < h100.topo().n_engines; i++)
		EXPECT_EQ(h100.topo().engines[i].intr >= 0, h100.topo().engines[i].runlist >= 0) << i;
	ASSERT_EQ(gb202.attach(), 0);
	for (u32 i = 0; i < gb202.topo().n_engines; i++)
		EXPECT_EQ(gb202.topo().engines[i].intr, -1) << i;
}

TEST(RunlistRegisters, IdsWhoseRegistersCannotBeReadAreUnknown)
{
	V2Table t({V2_LCE2});
	t.regs[0xc00644] = 0xbadf5100;
	t.regs[0xc00668] = 0x03000001;
	ASSERT_EQ(lens_chip_gh100.host->read_runlists(t.gpu.get()), 0);
	EXPECT_EQ(t.topo().engines[0].intr, -1);
	EXPECT_EQ(t.topo().engines[0].engine_id, 3);
	// RLENG_ID 1:0 = 3: there is no fourth
	V2Table beyond({0x9302002d, 0xc0104005, 0x00c00403});
	beyond.regs[0xc006c4] = 0x00110000;
	ASSERT_EQ(lens_chip_gh100.host->read_runlists(beyond.gpu.get()), 0);
	EXPECT_EQ(beyond.topo().engines[0].intr, -1);
	EXPECT_EQ(beyond.times_read(0xc006c4) + beyond.times_read(0xc006e8), 0u);
}

// 12 bits of an entry and of a doorbell name a channel: dev_runlist.ref.txt INTERNAL_DOORBELL CHID 11:0.
TEST(RunlistRegisters, NoMoreChannelsThanAnIdCanName)
{
	V2Table t({V2_LCE2});
	t.regs[0xc00404] = 0x00c4200f; // log2 = 15
	ASSERT_EQ(lens_chip_gh100.host->read_runlists(t.gpu.get()), 0);
	EXPECT_EQ(t.topo().runlists[0].channels, 4096);
}

// DOORBELL_CONFIG ID 31:16 has 16 bits; RUNLIST_ID 22:16 of a doorbell (dev_vm.ref.txt NV_VIRTUAL_FUNCTION_DOORBELL) 7.
TEST(RunlistRegisters, RunlistIdThatNoDoorbellCouldNameIsNoRunlist)
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

// Requests write to the registers of a runlist and to its channel RAM: where these cannot be, the runlist is not used.
// Numbers: BAR0 has 16 MiB; below 0x50000 are the units of the whole GPU, the last of them 32 PBDMAs (see the first test),
// PRAMIN is at 0x700000 (ampere/ga100/dev_bus.ref.txt). Seen failing without each of the checks in src/host_ga100.c.
TEST(RunlistRegisters, ChannelRamThatCannotBeThereIsAnErrorOfItsRunlist)
{
	for (u32 word : {
		     0xfffff00cu, // 4096 words wrap at 2^32 and end at PMC_ENABLE, 0x200
		     0x0000000bu, // PMC
		     0x0004f00bu, // half of it within the PBDMAs
		     0x006ff00bu, // and within PRAMIN
		     0x00fff00bu, // and beyond BAR0
		     0x00bff00bu, // and within the runlist's own registers
	     }) {
		V2Table t({V2_LCE2});
		t.regs[0xc00404] = word;
		ASSERT_EQ(lens_chip_gh100.host->read_runlists(t.gpu.get()), 0);
		ASSERT_EQ(t.topo().n_runlists, 1);
		EXPECT_EQ(t.topo().runlists[0].err, -EIO) << std::hex << word;
		int runlist;
		lens_ref ref = {0, 1152};
		EXPECT_EQ(lens_channel_enable(t.gpu.get(), &ref, true, &runlist), -EIO);
		EXPECT_TRUE(t.writes.empty());
	}
	for (u32 word : {0x0005000bu, 0x006fe00bu, 0x0080000bu, 0x00ffe00bu, 0x00bfe40bu, 0x00c0080bu}) {
		V2Table t({V2_LCE2});
		t.regs[0xc00404] = word;
		ASSERT_EQ(lens_chip_gh100.host->read_runlists(t.gpu.get()), 0);
		EXPECT_EQ(t.topo().runlists[0].err, 0) << std::hex << word;
	}
}

TEST(RunlistRegisters, RegistersThatCannotBeThereAreNotRead)
{
	for (u32 row : {0x0004fc01u, 0x00700001u, 0x01000001u, 0x03fffc01u}) {
		V2Table t({0x9302002d, 0xc0104005, row});
		ASSERT_EQ(t.topo().n_engines, 1);
		t.reads.clear();
		ASSERT_EQ(lens_chip_gh100.host->read_runlists(t.gpu.get()), 0);
		EXPECT_EQ(t.topo().unnamed_runlists, 1) << std::hex << row;
		EXPECT_TRUE(t.reads.empty()) << std::hex << row;
		u32 reg[2];
		EXPECT_EQ(lens_engine_get_regs(t.gpu.get(), &t.topo().engines[0], reg), 0u);
	}
}

// PBDMA_BAR0_OFFSET has steps of 1 KiB, PBDMAs of 2 KiB.
TEST(RunlistRegisters, PbdmaThatCannotBeThereIsAnErrorOfItsRunlist)
{
	for (u32 word : {0x8003f800u, 0x80040400u, 0x80050000u, 0x83fffc00u}) {
		V2Table t({V2_LCE2});
		t.regs[0xc00404] = 0x00c4200b;
		t.regs[0xc00410] = word;
		ASSERT_EQ(lens_chip_gh100.host->read_runlists(t.gpu.get()), 0);
		EXPECT_EQ(t.topo().runlists[0].err, -EIO) << std::hex << word;
	}
}

TEST(RunlistRegisters, RunlistsThatOverlapAreErrorsAndOthersAreNot)
{
	struct {
		u32 first, second; // CHANNEL_CONFIG
	} overlaps[] = {
		{0x00c4200b, 0x00c4200b}, // the same channel RAM
		{0x00c4200b, 0x00c43ff0}, // one word of it
		{0x00c0f00b, 0x00c6000b}, // the first one's over the registers of the second, 0xc10400
		{0x00c6000b, 0x00bff00b}, // and the other way round
	};
	for (const auto &o : overlaps) {
		V2Table t({0x8000007b, 0xc0400002, 0x00c10400, V2_LCE2, 0x8001007b, 0xc0400002, 0x00c20400});
		t.regs[0xc00404] = o.first;
		t.regs[0xc00408] = 0x00130000;
		t.regs[0xc10404] = o.second;
		t.regs[0xc10408] = 0x00140000;
		t.regs[0xc20404] = 0x00c8000b;
		t.regs[0xc20408] = 0x00150000;
		ASSERT_EQ(lens_chip_gh100.host->read_runlists(t.gpu.get()), 0);
		ASSERT_EQ(t.topo().n_runlists, 3);
		EXPECT_EQ(t.topo().runlists[0].err, -EIO) << std::hex << o.first;
		EXPECT_EQ(t.topo().runlists[1].err, -EIO) << std::hex << o.second;
		EXPECT_EQ(t.topo().runlists[2].err, 0) << std::hex << o.second;
	}
}

// The registers of a runlist whose channels, or whose id, cannot be read are there all the same. Found by the fuzz target
// of requests.
TEST(RunlistRegisters, ChannelRamOverRegistersOfAnUnreadableRunlistIsAnError)
{
	for (u32 reg : {0xc10404u, 0xc10408u}) {
		V2Table t({0x8000007b, 0xc0400002, 0x00c10400, V2_LCE2});
		t.regs[0xc00404] = 0x00c0f00b;
		t.regs[0xc00408] = 0x00130000;
		t.regs[0xc10404] = 0x00c8000b;
		t.regs[0xc10408] = 0x00140000;
		t.regs[reg] = 0xbadf5100;
		ASSERT_EQ(lens_chip_gh100.host->read_runlists(t.gpu.get()), 0);
		const lens_runlist *rl = lens_gpu_find_runlist(t.gpu.get(), 0x13);
		ASSERT_TRUE(rl);
		EXPECT_EQ(rl->err, -EIO) << std::hex << reg;
	}
}

// Two sets of registers give the same number, so their files could not be distinguished.
TEST(RunlistRegisters, SecondRunlistOfTheSameNumberIsNoRunlist)
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

// "N/A" in Tables II and IV of RTAS'24: runlist 4 has a PBDMA and no engine. Runlist 7 is beyond GP106's seven
// (fifo_eng_runlist_base__size_1_v of linux-nvgpu hw_fifo_gp106.h). Seen failing with the device table's runlists alone.
TEST(Pfifo, ARunlistThatAPbdmaServesExistsWithoutAnEngine)
{
	V1Table t({LCE2, GRAPHICS});
	t.gpu->chip = &lens_chip_gp10x;
	t.regs[0x2004] = 0x00200003;
	t.regs[0x2008] = 512;
	t.set_rows(0x2390, {0x01, 0x31, 0xa0});
	ASSERT_EQ(lens_chip_gp10x.host->read_runlists(t.gpu.get()), 0);
	ASSERT_EQ(t.topo().n_runlists, 3);
	EXPECT_EQ(t.topo().runlists[1].id, 4);
	EXPECT_EQ(t.topo().runlists[1].pbdmas, 2u);
	EXPECT_EQ(t.topo().runlists[1].channels, 512);
	EXPECT_EQ(t.topo().runlists[2].id, 5);
	EXPECT_EQ(t.topo().runlists[2].pbdmas, 6u);
}

// PFIFO chips: CFG1 0x2008 number of channels, CFG0 0x2004 NUM_PBDMA 7:0, PBDMA_MAP(i) 0x2390+4i a bit per runlist:
// open-gpu-doc turing/tu104/dev_fifo.ref.txt.
TEST(Pfifo, RunlistsComeFromTheDeviceTableAndPbdmasFromTheirMap)
{
	V1Table t({LCE2, GRAPHICS, LCE2});
	t.regs[0x2004] = 0x00200003;
	t.regs[0x2008] = 512;
	t.set_rows(0x2390, {0x01, 0x21, 0x20});
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
TEST(Pfifo, RunlistThatTheChipLacksIsAnErrorOfItsRowOnly)
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

// GK20A has one runlist (linux-nvgpu hw_fifo_gk20a.h), its generation seven: the chip's own limit applies.
TEST(Pfifo, RunlistLimitIsThatOfTheChip)
{
	Fake f(lens_chip_gk10x);
	f.regs[0] = 0x0ea000a1;
	f.set_rows(V1, {0x80000003, 0x0006183e, 0x80000007, 0x0026183e}); // graphics on 0, COPY0 on 1
	ASSERT_EQ(lens_gpu_identify(f.gpu.get(), f.io()), 0);
	ASSERT_EQ(lens_gpu_read_topology(f.gpu.get()), 0);
	EXPECT_EQ(f.gpu->topo.n_engines, 2);
	EXPECT_EQ(f.gpu->topo.n_runlists, 1);
	EXPECT_EQ(f.gpu->topo.devices_err, -EIO);
}

} // namespace
