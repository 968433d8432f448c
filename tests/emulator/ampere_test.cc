// SPDX-License-Identifier: GPL-2.0
// Channels of NV_RUNLIST and NV_CHRAM that execute their pushbuffers, the interrupt tree of virtual functions, and what a
// driver asks for when it starts such a chip. Expected numbers: DOC ampere/ga102/dev_vm.ref.txt, ampere/ga100/
// dev_runlist.ref.txt, dev_ram.ref.txt, ampere/host/ampere_interrupt_map.csv.
#include "driven.hpp"

using namespace emu_test;

namespace {

constexpr uint32_t LEAF = 0xb81000, LEAF_SET = 0xb81200, LEAF_CLEAR = 0xb81400, TOP = 0xb81600, TOP_SET = 0xb81608,
		   TOP_CLEAR = 0xb81610;

} // namespace

// USERD is where the runlist's entry says. Seen failing with RAMFC's USERD: nothing was copied.
TEST(Ampere, a_channel_copies_and_releases_a_semaphore)
{
	Driven m("ga102");
	m.set(0x10000, 0xabcd);
	m.copy(0x10000, 0x20000, 4, 1, 4, 4);
	m.release(0x30000, 0xfeed);
	m.kick();
	m.run();
	EXPECT_EQ(m.at(0x30000), 0u) << "not enabled";
	m.enable();
	m.run();
	EXPECT_EQ(m.at(0x20000), 0xabcdu);
	EXPECT_EQ(m.at(0x30000), 0xfeedu);
	EXPECT_EQ(m.gpu->vidmem().rd32(USERD + 0x88), 1u) << "GP_GET";
	EXPECT_EQ(m.state(), 0x2u) << "enabled, not busy";
	EXPECT_EQ(m.work()["copied_bytes"], 4);
	EXPECT_EQ(m.work()["ignored"], json::array());
}

// Each runlist numbers its channels. Seen failing where work was known by the channel alone: the second one's was the first's.
TEST(Ampere, channels_of_two_runlists_with_one_id_are_two)
{
	constexpr uint32_t OTHER = 0xc00800, OTHER_CHRAM = 0xc24000; // runlist 2
	Driven m("ga102", 2);
	m.write_list(1, 1);
	auto &vid = m.gpu->vidmem();
	vid.wr32(LIST + 0x1000, 1 | 3 << 16 | 128u << 24);
	vid.wr32(LIST + 0x1004, 1);
	vid.wr32(LIST + 0x1008, TSG);
	vid.wr32(LIST + 0x1010, uint32_t(m.userd(1)));
	vid.wr32(LIST + 0x1018, uint32_t(m.inst(1)) | CHANNEL);
	wr32(*m.gpu, OTHER + 0x80, uint32_t(LIST + 0x1000));
	wr32(*m.gpu, OTHER + 0x88, 2);
	m.gpu->advance(100'000);
	m.release(0x30000, 1);
	m.kick();
	m.enable();
	m.run();
	m.release(0x30010, 2);
	m.kick(1);
	wr32(*m.gpu, OTHER_CHRAM + 4 * CHANNEL, 0x2);
	m.run();
	EXPECT_EQ(m.at(0x30000), 1u);
	EXPECT_EQ(m.at(0x30010), 2u);
}

// UPDATE_CLEAR_CHANNEL, and the list once more: GP_GET is RAMFC's again. Seen failing where the number of the last entry was
// kept: the channel had nothing to do.
TEST(Ampere, a_channel_that_was_cleared_begins_anew)
{
	Driven m("ga102");
	m.release(0x30000, 1);
	m.kick();
	m.enable();
	m.run();
	ASSERT_EQ(m.at(0x30000), 1u);
	wr32(*m.gpu, m.place(0), 0xffffffff);
	EXPECT_EQ(m.state(), 0u);
	m.gpu->vidmem().wr32(m.inst(0) + 4 * 5, 0); // GP_GET
	m.set(0x30000, 0);
	m.write_list(1, 1);
	m.enable();
	m.run();
	EXPECT_EQ(m.at(0x30000), 1u);
}

// NON_STALL_INTERRUPT of a channel on LCE2, which is engine 3. Seen failing without LEAF_EN in TOP.
TEST(Ampere, a_channel_interrupts_with_its_engines_vector)
{
	Driven m("ga102");
	m.release(0x30000, 1);
	m.kick();
	m.enable();
	m.run();
	EXPECT_EQ(rd32(*m.gpu, 0x104424 + 2 * 0x80), 3u);
	EXPECT_EQ(rd32(*m.gpu, LEAF), 1u << 3);
	EXPECT_EQ(rd32(*m.gpu, TOP), 0u) << "not enabled";
	wr32(*m.gpu, LEAF_SET, 1u << 3);
	EXPECT_EQ(rd32(*m.gpu, TOP), 1u);
	EXPECT_FALSE(m.gpu->interrupt_raised());
	wr32(*m.gpu, TOP_SET, 1);
	EXPECT_TRUE(m.gpu->interrupt_raised());
	wr32(*m.gpu, LEAF, 1u << 3);
	EXPECT_FALSE(m.gpu->interrupt_raised());
	EXPECT_EQ(rd32(*m.gpu, LEAF), 0u);
	wr32(*m.gpu, LEAF_CLEAR, 1u << 3);
	EXPECT_EQ(rd32(*m.gpu, LEAF_SET), 0u);
	wr32(*m.gpu, TOP_CLEAR, 1);
	EXPECT_EQ(rd32(*m.gpu, TOP_SET), 0u);
}

// A finished preempt, bits 8 and 9 of INTR_0, by "Runlist tree0" 1: vector 161. A vector is sent once, and again by
// INTR_RETRIGGER. Seen failing where the leaf followed INTR_0.
TEST(Ampere, an_event_of_a_runlist_is_sent_once)
{
	Driven m("ga102");
	constexpr uint32_t LEAF_5 = LEAF + 4 * 5, VECTOR = 1u << 1;
	EXPECT_EQ(rd32(*m.gpu, RUNLIST + 0x160), 0x800000a1u);
	wr32(*m.gpu, RUNLIST + 0x98, 0x01000000 | TSG);
	m.run();
	EXPECT_EQ(rd32(*m.gpu, RUNLIST + 0x100) & 0x300, 0x100u);
	EXPECT_EQ(rd32(*m.gpu, LEAF_5), 0u) << "not enabled";
	wr32(*m.gpu, RUNLIST + 0x120, 0x300); // INTR_0_EN_SET_TREE(0)
	EXPECT_EQ(rd32(*m.gpu, RUNLIST + 0x140), 0x300u);
	EXPECT_EQ(rd32(*m.gpu, LEAF_5), VECTOR);
	wr32(*m.gpu, LEAF_5, VECTOR);
	EXPECT_EQ(rd32(*m.gpu, LEAF_5), 0u);
	wr32(*m.gpu, RUNLIST + 0x180, 1);
	EXPECT_EQ(rd32(*m.gpu, LEAF_5), VECTOR);
	wr32(*m.gpu, RUNLIST + 0x100, 0x300);
	wr32(*m.gpu, LEAF_5, VECTOR);
	wr32(*m.gpu, RUNLIST + 0x180, 1);
	EXPECT_EQ(rd32(*m.gpu, LEAF_5), 0u) << "nothing is pending";
	wr32(*m.gpu, RUNLIST + 0x140, 0x300);
	EXPECT_EQ(rd32(*m.gpu, RUNLIST + 0x120), 0u);
}

// PTIMER_VECTOR 148. Seen failing with PMC's line 20.
TEST(Ampere, the_alarm_of_ptimer_has_its_vector)
{
	auto gpu = make_gpu("ga102");
	wr32(*gpu, 0x9140, 1);
	wr32(*gpu, 0x9420, uint32_t(gpu->now()) + 100'000);
	gpu->advance(110'000);
	EXPECT_EQ(rd32(*gpu, LEAF + 4 * 4), 1u << 20);
	EXPECT_EQ(rd32(*gpu, 0x100), 0xbadf1100u) << "there is no tree in PMC";
}

// Seen failing with the registers on Ada, whose nouveau wants GSP firmware.
TEST(Ampere, what_a_driver_reads_first)
{
	for (std::string chip : {"tu102", "ga100", "ga102"}) {
		auto gpu = make_gpu(chip);
		EXPECT_EQ(rd32(*gpu, 0x118234), 0xffu) << "GFW_BOOT_PROGRESS";
		EXPECT_EQ(rd32(*gpu, chip == "tu102" ? 0x21c04 : 0x820c04), 1u) << "no display";
		EXPECT_EQ(rd32(*gpu, 0x100ee0), 134u) << "mmu_info_fault";
		EXPECT_EQ(rd32(*gpu, 0x100ee4), 132u << 16 | 133) << "not replayable";
		EXPECT_EQ(rd32(*gpu, 0x100ee8), 64u << 16 | 131) << "replayable";
	}
	EXPECT_EQ(rd32(*make_gpu("ga102"), 0x12006c), 12u);
	for (std::string chip : {"ga10b", "ad102", "gh100"})
		EXPECT_EQ(rd32(*make_gpu(chip), 0x118234), 0xbadf1100u) << chip;
}
