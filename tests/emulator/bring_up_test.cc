// SPDX-License-Identifier: GPL-2.0
// What a driver asks for when it starts. Expected numbers are those of the manuals that bring_up_table.cc names.
#include "driven.hpp"

#include "model/host.hpp"

using namespace emu_test;

// Seen failing with an alarm that was due at once.
TEST(BringUp, the_alarm_of_ptimer_interrupts_when_its_time_comes)
{
	auto gpu = make_gpu("tu102");
	wr32(*gpu, 0x160, 0x00100000); // INTR_EN_SET, PTIMER 20
	wr32(*gpu, 0x9140, 1);
	wr32(*gpu, 0x9420, uint32_t(gpu->now()) + 100'000);
	EXPECT_FALSE(gpu->interrupt_raised());
	EXPECT_NEAR(double(gpu->next_event() - gpu->now()), 100'000, 2'000);
	gpu->advance(110'000);
	EXPECT_EQ(rd32(*gpu, 0x100), 0x00100000u);
	EXPECT_TRUE(gpu->interrupt_raised());
	wr32(*gpu, 0x180, 0xffffffff); // INTR_EN_CLEAR
	EXPECT_FALSE(gpu->interrupt_raised());
	EXPECT_EQ(rd32(*gpu, 0x140), 0u);
	wr32(*gpu, 0x9100, 1);
	EXPECT_EQ(rd32(*gpu, 0x100), 0u);
}

// 11 GiB and 12 possible controllers: 11 of 1 GiB. Seen failing with 938 MiB in each of 12.
TEST(BringUp, memory_controllers_share_the_memory_evenly)
{
	auto tu = make_gpu("tu102");
	EXPECT_EQ(rd32(*tu, 0x21c14), 0x800u);     // STATUS_OPT_FBIO
	EXPECT_EQ(rd32(*tu, 0x90020c), 1024u);     // RAMAMOUNT
	EXPECT_EQ(rd32(*tu, 0x22458), 2u);         // per FBP
	EXPECT_EQ(rd32(*tu, 0x21d70 + 4 * 4), 0u); // ROP_L2_FBP
	EXPECT_EQ(rd32(*tu, 0x21d70 + 4 * 5), 0x2u);
	EXPECT_EQ(rd32(*tu, 0x12006c), 11u);
	EXPECT_EQ(rd32(*tu, 0x118234), 0xffu); // GFW_BOOT_PROGRESS
	auto gp = make_gpu("gp106");
	EXPECT_EQ(rd32(*gp, 0x21c14), 0u);
	EXPECT_EQ(rd32(*gp, 0x90020c + 2 * 0x4000), 1024u);
	EXPECT_EQ(rd32(*gp, 0x118234), 0xbadf1100u);
	EXPECT_EQ(rd32(*gp, 0x100c80), 0x00208000u);
	wr32(*gp, 0x100cbc, 0x80000001);
	EXPECT_EQ(rd32(*gp, 0x100cbc), 1u) << "TRIGGER is write only";
}

// A finished preempt, bit 28: an MMU fault before Turing. On Turing INTR_0 keeps it while its mask is off and shows it when the
// mask is set. Seen failing where it was lost, and where it was shown.
TEST(BringUp, a_finished_preempt_is_reported_when_the_mask_says_so)
{
	for (std::string chip : {"gp106", "tu102"}) {
		auto gpu = make_gpu(chip);
		ASSERT_TRUE(
			gpu->control({{"cmd", "scenario"}, {"file", EMU_DATA_DIR "/scenarios/minimal.json"}})["ok"]);
		auto preempted = [&] { return rd32(*gpu, 0x2100) & 0x10000000; };
		uint32_t shown = chip == "tu102" ? 0x10000000u : 0u;
		wr32(*gpu, 0x2140, 0xffffffff);
		wr32(*gpu, 0x160, 0x100);
		wr32(*gpu, 0x2634, 0x01000000 | uint32_t(gpu->host().runlists()[0].list.tsgs.at(0).id));
		gpu->advance(10'000'000);
		EXPECT_EQ(preempted(), 0u) << chip;
		EXPECT_FALSE(gpu->interrupt_raised()) << chip;
		wr32(*gpu, 0x2180, 0x10000000);
		EXPECT_EQ(preempted(), shown) << chip;
		EXPECT_EQ(gpu->interrupt_raised(), shown != 0) << chip;
		wr32(*gpu, 0x21c0, 0x10000000);
		EXPECT_EQ(preempted(), 0u) << chip;
		wr32(*gpu, 0x2180, 0x10000000);
		EXPECT_EQ(preempted(), shown) << chip;
		wr32(*gpu, 0x2100, 0x10000000);
		EXPECT_EQ(preempted(), 0u) << chip;
	}
}

// A list of one entry, a channel: SCHED_ERROR with BAD_TSG from Volta on.
void submit_bad_list(emu::Gpu &gpu)
{
	gpu.vidmem().wr32(0x130000, 0x0);
	if (gpu.profile().traits.runlist_readback) {
		wr32(gpu, 0x2270, 0x130);
		wr32(gpu, 0x2274, 1);
	} else {
		wr32(gpu, 0x2b00, 0x130000);
		wr32(gpu, 0x2b08, 1);
	}
	gpu.advance(100'000);
}

// PMC_ENABLE bit 8. Seen failing with a register that only kept its bits: nouveau crashed over an old interrupt.
TEST(BringUp, a_reset_of_pfifo_clears_its_interrupts)
{
	for (std::string chip : {"gv100", "tu102"}) {
		auto gpu = make_gpu(chip);
		wr32(*gpu, 0x2140, 0x100);
		wr32(*gpu, 0x2528, 0x100);
		wr32(*gpu, 0x160, 0x100);
		EXPECT_EQ(rd32(*gpu, 0x200), 0xffffffffu);
		submit_bad_list(*gpu);
		EXPECT_TRUE(gpu->interrupt_raised()) << chip;
		wr32(*gpu, 0x200, 0xfffffeff);
		wr32(*gpu, 0x200, 0xffffffff);
		EXPECT_FALSE(gpu->interrupt_raised()) << chip;
		EXPECT_EQ(rd32(*gpu, 0x2100), 0u) << chip;
		EXPECT_EQ(rd32(*gpu, 0x2140), 0u) << chip;
		EXPECT_EQ(rd32(*gpu, 0x2528), 0u) << chip;
	}
}

// Word 1 of PMC's tree has PFIFO by NV_PFIFO_INTR_EN_1, and not PTIMER. Seen failing with a copy of word 0.
TEST(BringUp, word_1_of_the_interrupt_tree_is_that_of_second_enables)
{
	for (std::string chip : {"gv100", "tu102"}) {
		auto gpu = make_gpu(chip);
		wr32(*gpu, 0x164, 0xffffffff); // INTR_EN_SET(1)
		wr32(*gpu, 0x9140, 1);
		wr32(*gpu, 0x9420, uint32_t(gpu->now()) + 10'000);
		wr32(*gpu, 0x2140, 0x100);
		submit_bad_list(*gpu);
		EXPECT_EQ(rd32(*gpu, 0x100), 0x00100100u) << chip;
		EXPECT_EQ(rd32(*gpu, 0x104), 0u) << chip;
		EXPECT_FALSE(gpu->interrupt_raised()) << chip;
		wr32(*gpu, 0x2528, 0x100);
		EXPECT_EQ(rd32(*gpu, 0x104), 0x00000100u) << chip;
		EXPECT_TRUE(gpu->interrupt_raised()) << chip;
	}
}

// Bits that NV_PFIFO_INTR_EN_0 has: DOC volta/gv100, turing/tu104 dev_fifo.ref.txt, linux-nvgpu hw_fifo_gk20a.h; a
// Titan V reads back 0x61810101. Seen failing with a register that keeps all bits.
TEST(BringUp, enables_of_pfifo_keep_the_bits_that_exist)
{
	const std::pair<const char *, uint32_t> kept[] = {
		{"gk104", 0x79810111}, {"gp106", 0x79810111}, {"gv100", 0x61810101}, {"tu102", 0x718101f3}};
	for (const auto &[chip, bits] : kept) {
		auto gpu = make_gpu(chip);
		wr32(*gpu, 0x2140, 0x7fffffff);
		EXPECT_EQ(rd32(*gpu, 0x2140), bits) << chip;
		EXPECT_EQ(rd32(*gpu, 0x2528), 0u) << chip;
	}
}

// After POST, without a driver: a Titan V (syntheticChemistry/hotSpring data/target_vfio_d0_warm.txt, data/titanv/
// nvidia535-captures/cold_bar0.json), a K80 (data/k80/cold_bar0_die1.json); DOC turing/tu104/dev_master.ref.txt. Seen
// failing with a PMC_ENABLE of 0xffffffff.
TEST(BringUp, pfifo_is_off_until_a_driver_enables_it)
{
	const std::pair<const char *, uint32_t> cold[] = {
		{"gv100", 0x40000020}, {"gk110", 0xc0002020}, {"tu104", 0x40000000}};
	for (const auto &[chip, enable] : cold) {
		auto gpu = make_cold_gpu(chip);
		EXPECT_EQ(rd32(*gpu, 0x200), enable) << chip;
		for (uint32_t off : {0x2100u, 0x2390u, 0x2640u, 0x2b0cu, 0x40120u, 0x4013cu})
			EXPECT_EQ(rd32(*gpu, off), 0xbad0da00u) << chip << std::hex << " " << off;
		wr32(*gpu, 0x2140, 0x100); // dropped
		EXPECT_EQ(rd32(*gpu, 0x22434), gpu->profile().tpc_per_gpc) << chip << ": PTOP answers";
		wr32(*gpu, 0x200, enable | 0x100);
		EXPECT_EQ(rd32(*gpu, 0x2390), 1u) << chip;
		EXPECT_EQ(rd32(*gpu, 0x2140), 0u) << chip;
	}
}

// DOC volta/gv100, turing/tu104 dev_fifo.ref.txt, dev_pbdma.ref.txt, pri_mmu_both.ref.txt; bit 29 of INTR_STALL, FB's
// timeout and bit 0 of MMU_CTRL are a Titan V's, 0x2530 and 0x100c80 of gk110 a K80's (syntheticChemistry/hotSpring).
// Seen failing with the words of before, mostly 0.
TEST(BringUp, reset_words_of_host_and_mmu)
{
	const struct {
		uint32_t off, gk110, gv100, tu102;
	} words[] = {{0x2530, 0x09810111, 0x01810101, 0x01810101},   {0x2a04, 0x80003c00, 0x80003c00, 0x80003c00},
		     {0x2a0c, 0x803fffff, 0x803fffff, 0x803fffff},   {0x4012c, 0x00010000, 0x00010000, 0x00010000},
		     {0x4213c, 0xffffffff, 0xeffffeff, 0xcffffeff},  {0x40140, 0x0000001f, 0x8000001f, 0x8000001f},
		     {0x100c80, 0x00208000, 0x00208001, 0x08208000}, {0x204, 0x00000007, 0x00003fff, 0x00000fff}};
	auto gk110 = make_gpu("gk110"), gv100 = make_gpu("gv100"), tu102 = make_gpu("tu102");
	for (const auto &w : words) {
		EXPECT_EQ(rd32(*gk110, w.off), w.gk110) << std::hex << w.off;
		EXPECT_EQ(rd32(*gv100, w.off), w.gv100) << std::hex << w.off;
		EXPECT_EQ(rd32(*tu102, w.off), w.tu102) << std::hex << w.off;
	}
	wr32(*gv100, 0x2a04, 0xffffffff);
	EXPECT_EQ(rd32(*gv100, 0x2a04), 0xbfffffffu);
}

// A Titan V reads so before it is enabled and on a list; with no work it is idle once Host looked (GP_PUT in USERD is
// GP_GET). Seen failing where it read 0.
TEST(BringUp, a_channel_that_was_just_bound_is_pending)
{
	for (std::string chip : {"gk104", "gp106", "gv100", "tu102"}) {
		auto gpu = make_gpu(chip);
		wr32(*gpu, 0x800010, 0x80000110);
		EXPECT_EQ(rd32(*gpu, 0x800014), 0x11000000u) << chip;
		wr32(*gpu, 0x800014, 0x400);
		EXPECT_EQ(rd32(*gpu, 0x800014), 0x11000001u) << chip;
		wr32(*gpu, 0x800010, 0x00000110);
		EXPECT_EQ(rd32(*gpu, 0x800014), 1u) << chip;
	}
	for (std::string chip : {"gp106", "gv100"}) {
		Driven m(chip);
		EXPECT_EQ(m.state(), 0x11000000u) << chip;
		m.enable();
		m.run();
		EXPECT_EQ(m.state(), 1u) << chip;
	}
}

// A Titan V has fetched the list at the first read after a submit, and raises no interrupt. Seen failing with an event in
// INTR_RUNLIST for each list.
TEST(BringUp, a_submit_raises_no_interrupt)
{
	auto gpu = make_gpu("gv100", two_tsgs());
	wr32(*gpu, 0x2140, 0x7fffffff);
	wr32(*gpu, 0x2270, rd32(*gpu, 0x2280));
	wr32(*gpu, 0x2274, rd32(*gpu, 0x2284));
	EXPECT_EQ(rd32(*gpu, 0x2284), 0x00100006u);
	gpu->advance(2'000);
	EXPECT_EQ(rd32(*gpu, 0x2284), 6u);
	gpu->advance(100'000'000);
	EXPECT_EQ(rd32(*gpu, 0x100), 0u);
	EXPECT_EQ(rd32(*gpu, 0x2a00), 0u);
}

// Before Pascal INTR_EN is one switch, and 0x640 has the lines. Seen failing with Pascal's INTR_EN_SET.
TEST(BringUp, the_interrupt_tree_before_pascal)
{
	for (std::string chip : {"gk104", "gk110", "gm107"}) {
		auto gpu = make_gpu(chip);
		wr32(*gpu, 0x9140, 1);
		wr32(*gpu, 0x9420, uint32_t(gpu->now()) + 10'000);
		gpu->advance(20'000);
		EXPECT_EQ(rd32(*gpu, 0x100), 0x00100000u) << chip; // PTIMER
		EXPECT_FALSE(gpu->interrupt_raised()) << chip;
		wr32(*gpu, 0x160, 0xffffffff);
		EXPECT_FALSE(gpu->interrupt_raised()) << chip;
		wr32(*gpu, 0x140, 1);
		EXPECT_EQ(rd32(*gpu, 0x140), 1u) << chip;
		EXPECT_TRUE(gpu->interrupt_raised()) << chip;
		wr32(*gpu, 0x640, 0xffefffff);
		EXPECT_FALSE(gpu->interrupt_raised()) << chip;
		wr32(*gpu, 0x644, 0x00100000);
		wr32(*gpu, 0x144, 1);
		EXPECT_EQ(rd32(*gpu, 0x104), 0u) << chip;
		EXPECT_FALSE(gpu->interrupt_raised()) << chip;
	}
}

// What nouveau counts and adds up (engine/fifo/gk104.c, subdev/fb/ramgf100.c). Seen failing with 32 PBDMAs.
TEST(BringUp, pbdmas_and_memory_before_pascal)
{
	auto gpu = make_gpu("gk104");
	wr32(*gpu, 0x204, 0xffffffff);
	EXPECT_EQ(rd32(*gpu, 0x204), 0x7u);
	for (uint32_t fbpa = 0; fbpa < 4; fbpa++)
		EXPECT_EQ(rd32(*gpu, 0x11020c + 0x1000 * fbpa), 512u);
	EXPECT_EQ(rd32(*gpu, 0x11020c + 0x4000), 0xbadf1100u);
	EXPECT_EQ(rd32(*gpu, 0x22500), 1u) << "no display";
	EXPECT_EQ(rd32(*make_gpu("gm107"), 0x21c04), 1u);
	EXPECT_EQ(rd32(*make_gpu("gm107"), 0x22500), 0xbadf1100u);
	EXPECT_EQ(rd32(*make_gpu("gm204"), 0x204), 0xbadf1100u) << "second Maxwell is not modelled";
}

// Seen failing where a write of a wrong width was not listed.
TEST(BringUp, what_is_not_modelled_is_listed)
{
	auto gpu = make_gpu("gp106");
	rd32(*gpu, 0x345678);
	wr32(*gpu, 0x345678, 5);
	gpu->write(0, 0x6013d4, 1, 0x3f);
	json expected = {{{"off", 0x345678}, {"reads", 1}, {"writes", 1}, {"written", 5}},
			 {{"off", 0x6013d4}, {"reads", 0}, {"writes", 1}, {"written", 0x3f}}};
	EXPECT_EQ(gpu->control({{"cmd", "unmodelled"}, {"reset", true}})["registers"], expected);
	EXPECT_EQ(gpu->control({{"cmd", "unmodelled"}})["registers"], json::array());
}
