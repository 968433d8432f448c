// SPDX-License-Identifier: GPL-2.0
// Channels that execute their pushbuffers (--execute): entries, headers, Host's methods but semaphores. Expected numbers
// are those of the classes and manuals that model/work.hpp names.
#include "driven.hpp"

using namespace emu_test;

// Seen failing with the pitches exchanged, and with GP_GET in RAMFC alone.
TEST(Work, a_channel_copies_lines_releases_a_semaphore_and_interrupts)
{
	Driven m;
	for (uint32_t i = 0; i < 64; i++)
		m.gpu->vidmem().wr32(PHYS + 0x10000 + 4 * i, 0x1000 + i);
	m.copy(0x10000, 0x20000, 16, 3, 32, 64);
	m.release(0x30000, 0xfeed);
	m.kick();
	m.enable();
	EXPECT_EQ(m.state() >> 28 & 1, 1u) << "BUSY: there is an entry";
	m.run();
	for (uint32_t line = 0; line < 3; line++)
		for (uint32_t i = 0; i < 4; i++)
			EXPECT_EQ(m.at(0x20000 + 64 * line + 4 * i), 0x1000 + 8 * line + i);
	EXPECT_EQ(m.at(0x20010), 0u);
	EXPECT_EQ(m.at(0x20000 + 64 * 3), 0u);
	EXPECT_EQ(m.at(0x30000), 0xfeedu);
	EXPECT_EQ(m.gpu->vidmem().rd32(USERD + 0x88), 1u) << "GP_GET";
	EXPECT_EQ(m.state() >> 24, 0u) << "idle, not busy";
	EXPECT_EQ(rd32(*m.gpu, 0x2100) & 0x80000000, 0x80000000) << "CHANNEL_INTR";
	EXPECT_TRUE(m.gpu->interrupt_raised());
	wr32(*m.gpu, 0x2100, 0x80000000);
	EXPECT_FALSE(m.gpu->interrupt_raised());
	json work = m.work();
	EXPECT_EQ(work["copied_bytes"], 48);
	EXPECT_EQ(work["ignored"], json::array());
}

// Seen failing with channels that run without being enabled.
TEST(Work, a_disabled_channel_keeps_its_work)
{
	Driven m;
	m.release(0x30000, 1);
	m.kick();
	m.run();
	EXPECT_EQ(m.at(0x30000), 0u);
	m.enable();
	m.run();
	EXPECT_EQ(m.at(0x30000), 1u);
	m.disable();
	m.release(0x30000, 2);
	m.kick();
	m.run();
	EXPECT_EQ(m.at(0x30000), 1u);
	EXPECT_EQ(m.state() & 0x10000001, 0x10000000u) << "busy, not enabled";
	m.enable();
	m.run();
	EXPECT_EQ(m.at(0x30000), 2u);
}

// ACQ_GEQ compares circularly. Seen failing with an unsigned comparison: 0xffffffff released at once.
TEST(Work, an_acquire_waits_until_memory_has_the_value)
{
	Driven m;
	m.gpu->vidmem().wr32(PHYS + 0x30000, 0xffffffff);
	m.method(0, 0x10, {0, 0x30000, 2, 0x1004});
	m.release(0x30010, 9);
	m.kick();
	m.enable();
	m.run();
	EXPECT_EQ(m.at(0x30010), 0u);
	EXPECT_EQ(m.state() >> 24, 0u) << "not busy while it waits";
	m.gpu->vidmem().wr32(PHYS + 0x30000, 2);
	m.run();
	EXPECT_EQ(m.at(0x30010), 9u);
	EXPECT_EQ(m.work()["acquires"], 1);
}

// Seen failing without the check of the page: the copy wrote elsewhere and the channel went on.
TEST(Work, an_address_without_a_page_is_an_mmu_fault)
{
	Driven m;
	m.copy(0x10000, UNMAPPED, 16, 1, 16, 16);
	m.release(0x30000, 1);
	m.kick();
	m.enable();
	m.run();
	EXPECT_EQ(m.at(0x30000), 0u) << "the channel stopped";
	EXPECT_EQ(rd32(*m.gpu, 0x259c), 1u << 23) << "fault id of LCE2, the profile's";
	EXPECT_EQ(rd32(*m.gpu, 0x2800 + 16 * 23), INST >> 12);
	EXPECT_EQ(rd32(*m.gpu, 0x2804 + 16 * 23), UNMAPPED);
	EXPECT_EQ(rd32(*m.gpu, 0x280c + 16 * 23) >> 16 & 7, 1u) << "a write";
	EXPECT_EQ(rd32(*m.gpu, 0x2100) & 0x10000000, 0x10000000u) << "MMU_FAULT";
	wr32(*m.gpu, 0x259c, 1u << 23);
	EXPECT_EQ(rd32(*m.gpu, 0x2100) & 0x10000000, 0u);
}

// Kepler reports a fault in other fields, of HOST0 as 7 (nouveau engine/fifo/gf100.c, gk104.c). A channel without a TSG, on
// the runlist of COPY0, whose PBDMA is 2. Seen failing with Pascal's fields, and with its HOST0.
TEST(Work, an_mmu_fault_before_pascal)
{
	auto gpu = make_gpu("gk104");
	gpu->host().enable_work();
	auto &vid = gpu->vidmem();
	vid.wr32(INST + 4 * 128, uint32_t(PDB)); // a page directory without an entry
	vid.wr32(INST + 4 * 2, uint32_t(USERD));
	vid.wr32(INST + 4 * 18, uint32_t(GPFIFO));
	vid.wr32(INST + 4 * 19, 4 << 16);
	vid.wr32(USERD + 4 * 35, 1);
	vid.wr32(LIST, CHANNEL);
	wr32(*gpu, 0x2140, 0xffffffff);
	wr32(*gpu, 0x140, 1);
	wr32(*gpu, 0x800000 + 8 * CHANNEL, 0x80000000 | uint32_t(INST >> 12));
	wr32(*gpu, 0x800004 + 8 * CHANNEL, 4 << 16 | 1 << 10);
	wr32(*gpu, 0x2270, uint32_t(LIST >> 12));
	wr32(*gpu, 0x2274, 4 << 20 | 1);
	gpu->advance(100'000);
	gpu->advance(100'000);
	EXPECT_TRUE(gpu->interrupt_raised());
	EXPECT_EQ(rd32(*gpu, 0x2100) & 0x10000000, 0x10000000u);
	EXPECT_EQ(rd32(*gpu, 0x259c), 1u << 9);
	EXPECT_EQ(rd32(*gpu, 0x2890), uint32_t(INST >> 12));
	EXPECT_EQ(rd32(*gpu, 0x2894), uint32_t(GPFIFO));
	EXPECT_EQ(rd32(*gpu, 0x289c), 0x642u) << "a read, of Host, without a page table entry";
}

// Seen failing with 0xb097's methods counted under class 0.
TEST(Work, methods_of_other_classes_are_counted_and_ignored)
{
	Driven m;
	m.method(0, 0, {0xb097});
	m.method(0, 0x1234, {1, 2});
	m.release(0x30000, 1);
	m.kick();
	m.enable();
	m.run();
	EXPECT_EQ(m.at(0x30000), 1u);
	json expected = {{{"class", 0xb097}, {"method", 0x1234}, {"times", 1}},
			 {{"class", 0xb097}, {"method", 0x1238}, {"times", 1}}};
	EXPECT_EQ(m.work()["ignored"], expected);
}

// Seen failing where the loader did not ask.
TEST(Work, no_scenario_is_loaded_over_work)
{
	Driven m;
	json reply = m.gpu->control({{"cmd", "scenario"}, {"data", {{"processes", json::array()}}}});
	EXPECT_EQ(reply["error"],
		  "scenario: channels execute their pushbuffers (--execute), so that no scenario can be loaded");
}

// A header of each kind; what the words after it mean is seen in the semaphore that they describe. Seen failing with
// ONE_INC that goes on incrementing, and with old headers whose address is in words.
TEST(Work, headers_say_which_methods_the_words_are)
{
	auto header = [](uint32_t op, uint32_t count, uint32_t method) { return op << 29 | count << 16 | method >> 2; };
	Driven m;
	auto add = [&](std::vector<uint32_t> more) { m.words.insert(m.words.end(), more.begin(), more.end()); };
	add({header(1, 4, 0x10), 0, 0x30000, 0x11, 0x01000002});                        // INC_METHOD
	add({header(5, 3, 0x14), 0x30004, 0x21, 0x22, header(1, 1, 0x1c), 0x01000002}); // ONE_INC: 0x14, 0x18, 0x18
	add({header(3, 2, 0x14), 0x30100, 0x30008, header(4, 0x31, 0x18)});             // NON_INC, IMMD_DATA
	add({header(1, 1, 0x1c), 0x01000002});
	add({4 << 18 | 0x10, 0, 0x3000c, 0x41, 0x01000002});                // INC_METHOD, old
	add({2u << 29 | 2 << 18 | 0x14, 0x30100, 0x30010, 0x00010000});     // NON_INC, old; SET_SUB_DEV_MASK
	add({header(1, 1, 0x1c), 0x01000002, header(7, 0, 0), 0xffffffff}); // END_PB_SEGMENT: the rest is not looked at
	m.kick();
	m.enable();
	m.run();
	EXPECT_EQ(m.at(0x30000), 0x11u);
	EXPECT_EQ(m.at(0x30004), 0x22u);
	EXPECT_EQ(m.at(0x30008), 0x31u);
	EXPECT_EQ(m.at(0x3000c), 0x41u);
	EXPECT_EQ(m.at(0x30010), 0x41u);
	EXPECT_EQ(m.at(0x30100), 0u);
	EXPECT_EQ(m.work()["ignored"], json::array());
}

// Seen failing with a GP_GET that is not wrapped.
TEST(Work, entries_go_round)
{
	Driven m;
	m.enable();
	for (uint32_t i = 1; i <= 20; i++) {
		m.release(0x30000, i);
		m.kick();
		m.run();
		ASSERT_EQ(m.at(0x30000), i);
		ASSERT_EQ(m.gpu->vidmem().rd32(USERD + 0x88), i % 16);
	}
	EXPECT_EQ(m.work()["entries"], 20);
}

// NV_RAMUSERD_PUT 16 and 19, GET 17 and 24, TOP_LEVEL_GET 22 and 23 (HI with VALID 31:31); NV_RAMFC_PB_GET 6 and 7,
// PB_TOP_LEVEL_GET 8 and 9, PB_PUT 23 and 24. A segment with LEVEL (9:9) SUBROUTINE does not count as top-level. Seen failing
// without these words, and with a TOP_LEVEL_GET of a subroutine.
TEST(Work, a_driver_sees_how_far_the_pushbuffer_is_read)
{
	Driven m;
	auto word = [&](uint64_t base, unsigned number) { return m.gpu->vidmem().rd32(base + 4 * number); };
	auto expect = [&](uint32_t get, uint32_t put, uint32_t top) {
		EXPECT_EQ((std::array{word(USERD, 17), word(USERD, 24), word(INST, 6), word(INST, 7)}),
			  (std::array{get, 0u, get, 0u}));
		EXPECT_EQ((std::array{word(USERD, 16), word(USERD, 19), word(INST, 23), word(INST, 24)}),
			  (std::array{put, 0u, put, 0u}));
		EXPECT_EQ((std::array{word(USERD, 22), word(USERD, 23), word(INST, 8), word(INST, 9)}),
			  (std::array{top, 0x80000000, top, 0x80000000}));
	};

	m.enable();
	m.method(0, 0x08, {0, 0}); // 3 words at 0x2000
	m.kick();
	m.run();
	expect(0x200c, 0x200c, 0x200c);
	m.set(0x3000, 1u << 29 | 1 << 16 | 0x50 >> 2);
	m.set(0x3004, 9);
	m.push(0x3000, 2);
	m.gpu->vidmem().wr32(PHYS + GPFIFO + 12, 2 << 10 | 1 << 9);
	m.run();
	expect(0x3008, 0x3008, 0x200c);
	// an acquire that waits: GET is after what was read, and before PUT
	m.set(0x30000, 1);
	m.method(0, 0x10, {0, 0x30000, 2, 0x1}); // 5 words at 0x2400
	m.method(0, 0x08, {0});
	m.kick();
	m.run();
	expect(0x2414, 0x241c, 0x2414);
}

// NV_RAMUSERD_REF 18 and NV_RAMFC_REF 10. Seen failing without the method.
TEST(Work, a_reference_count_is_kept_where_the_driver_looks)
{
	Driven m;
	m.method(0, 0x50, {0x1234});
	m.kick();
	m.enable();
	m.run();
	EXPECT_EQ(m.gpu->vidmem().rd32(USERD + 0x48), 0x1234u);
	EXPECT_EQ(m.gpu->vidmem().rd32(INST + 0x28), 0x1234u);
}

// FB_FLUSH, MEM_OP_A to D, WFI, NOP, NON_STALL_INTERRUPT, YIELD that yields nothing: done, and not listed as ignored.
// Seen failing without 0x34.
TEST(Work, methods_that_change_no_memory_are_passed)
{
	Driven m;
	m.method(0, 0x20, {0, 0, 0, 0, 0, 0});
	m.method(0, 0x78, {1});
	m.method(0, 0x08, {0xffffffff});
	m.method(0, 0x80, {0});
	m.kick();
	m.enable();
	m.run();
	EXPECT_EQ(m.work()["methods"], 9);
	EXPECT_EQ(m.work()["ignored"], json::array());
	EXPECT_EQ(rd32(*m.gpu, 0x2100) & 0x80000000, 0x80000000) << "CHANNEL_INTR";
}

// ILLEGAL, SYNCPOINTA, CRC_CHECK, YIELD's PBDMA_TIMESLICE, CLEAR_FAULTED. Seen failing where any YIELD was passed.
TEST(Work, methods_of_host_that_are_not_modelled_are_listed)
{
	Driven m("gv100");
	for (uint32_t method : {0x04u, 0x70u, 0x7cu, 0x80u, 0x84u})
		m.method(0, method, {1});
	m.kick();
	m.enable();
	m.run();
	json listed = m.work()["ignored"];
	ASSERT_EQ(listed.size(), 5u);
	for (size_t i = 0; i < 5; i++)
		EXPECT_EQ(listed[i]["method"], std::vector<uint32_t>({0x04, 0x70, 0x7c, 0x80, 0x84})[i]);
}

namespace {

// Two channels, each of which releases a semaphore with its time, yields and releases another one. Returns whether each
// did its first before the other's second: otherwise one was done before the other began.
bool take_turns(Driven &m, uint32_t yield)
{
	for (uint32_t i = 0; i < 2; i++) {
		m.release(0x30000 + 0x20 * i, 1);
		m.method(0, 0x80, {yield});
		m.release(0x30010 + 0x20 * i, 1);
		m.kick(i);
	}
	m.enable(0);
	m.enable(1);
	m.run();
	auto time = [&](uint32_t va) { return uint64_t(m.at(va + 12)) << 32 | m.at(va + 8); };
	for (uint32_t i = 0; i < 4; i++)
		EXPECT_EQ(m.at(0x30000 + 0x10 * i), 1u);
	return time(0x30000) < time(0x30030) && time(0x30020) < time(0x30010);
}

} // namespace

// YIELD_OP_TSG 3: to the next channel of the TSG; RUNLIST_TIMESLICE 2: to the next TSG. Seen failing with YIELD as a NOP.
TEST(Work, a_channel_yields_within_its_tsg)
{
	Driven nop("gp106", 2), tsg("gp106", 2);
	EXPECT_FALSE(take_turns(nop, 0));
	EXPECT_TRUE(take_turns(tsg, 3));
}

TEST(Work, a_channel_yields_the_time_slice_of_its_tsg)
{
	Driven within("gp106", 2), beyond("gp106", 2);
	within.write_list(2, 2);
	EXPECT_FALSE(take_turns(within, 3));
	beyond.write_list(2, 2);
	EXPECT_TRUE(take_turns(beyond, 2));
}
