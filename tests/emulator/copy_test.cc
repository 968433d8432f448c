// SPDX-License-Identifier: GPL-2.0
// Copy engines: each kind of copy, its semaphore and its faults. Methods and bits: DOC classes/dma-copy/clc1b5.h.
#include "driven.hpp"

using namespace emu_test;

namespace {

constexpr uint32_t FROM = 0x40000, TO = 0x80000, SEMAPHORE = 0x30000;
constexpr uint64_t SYSMEM = 0x10000000;
// LAUNCH_DMA
constexpr uint32_t COPY = 0x182, ONE_WORD = 1 << 3, FOUR_WORDS = 2 << 3, LINES = 1 << 9, REMAP = 1 << 10,
		   PHYSICAL_IN = 1 << 12, PHYSICAL_OUT = 1 << 13, REDUCTION = 1 << 19, UNSIGNED = 1 << 18;

void fill_words(Driven &m, uint32_t va, uint32_t words)
{
	for (uint32_t i = 0; i < words; i++)
		m.set(va + 4 * i, 0x1000 + i);
}

void run_all(Driven &m)
{
	m.kick();
	m.enable();
	m.run();
}

void set_semaphore(Driven &m, uint32_t payload)
{
	m.method(4, 0, {0xc1b5});
	m.method(4, 0x240, {0, SEMAPHORE, payload});
}

} // namespace

// Seen failing with a count of lines that was taken without MULTI_LINE_ENABLE.
TEST(Copy, one_line_goes_between_pages)
{
	Driven m;
	fill_words(m, FROM + 0xff4, 8);
	m.copy(FROM + 0xff7, TO + 0xffe, 21, 5, 0x100, 0x100, COPY);
	run_all(m);
	// bytes 3 to 23 of the words 0x1000 to 0x1007, 2 bytes into a word
	EXPECT_EQ(m.at(TO + 0xffc), 0x01000000u);
	EXPECT_EQ(m.at(TO + 0x1000), 0x02000010u);
	EXPECT_EQ(m.at(TO + 0x1010), 0x00000010u);
	EXPECT_EQ(m.at(TO + 0x1014), 0u);
	EXPECT_EQ(m.at(TO + 0x10fc), 0u) << "the second line";
	EXPECT_EQ(m.work()["copied_bytes"], 21);
	EXPECT_EQ(m.work()["ignored"], json::array());
}

// Seen failing with one pitch for both.
TEST(Copy, lines_have_a_pitch_on_each_side)
{
	Driven m;
	fill_words(m, FROM, 64);
	m.copy(FROM, TO, 8, 3, 32, 12, COPY | LINES);
	run_all(m);
	const uint32_t expected[] = {0x1000, 0x1001, 0, 0x1008, 0x1009, 0, 0x1010, 0x1011, 0};
	for (uint32_t i = 0; i < 9; i++)
		EXPECT_EQ(m.at(TO + 4 * i), expected[i]);
}

// Types 1 and 2, with and without a copy. Seen failing with four words for type 1.
TEST(Copy, a_semaphore_of_one_word_or_four_follows)
{
	for (uint32_t copies : {0u, COPY})
		for (uint32_t type : {ONE_WORD, FOUR_WORDS}) {
			Driven m;
			for (uint32_t i = 0; i < 4; i++)
				m.set(SEMAPHORE + 4 * i, 7);
			fill_words(m, FROM, 4);
			set_semaphore(m, 0xfeed);
			m.copy(FROM, TO, 16, 1, 0, 0, copies | type);
			run_all(m);
			EXPECT_EQ(m.at(SEMAPHORE), 0xfeedu);
			EXPECT_EQ(m.at(SEMAPHORE + 4), type == ONE_WORD ? 7u : 0u);
			EXPECT_EQ(m.at(SEMAPHORE + 12), type == ONE_WORD ? 7u : 0u) << "upper half of a time below 4 s";
			EXPECT_EQ(m.at(SEMAPHORE + 8) > 100'000, type == FOUR_WORDS) << "lower half";
			EXPECT_EQ(m.at(TO), copies ? 0x1000u : 0u);
			EXPECT_EQ(m.work()["ignored"], json::array());
		}
}

// SEMAPHORE_REDUCTION: ADD 5, MAX 1 of signed and unsigned numbers. Seen failing with the sign inverted.
TEST(Copy, a_semaphore_is_reduced)
{
	struct Case {
		uint32_t launch, value, payload, expected;
	};
	const Case cases[] = {
		{5 << 14, 0xffffffff, 2, 1},
		{1 << 14, 0xffffffff, 2, 2},
		{1 << 14 | UNSIGNED, 0xffffffff, 2, 0xffffffff},
	};
	for (const Case &c : cases) {
		Driven m;
		m.set(SEMAPHORE, c.value);
		m.set(SEMAPHORE + 4, 7);
		set_semaphore(m, c.payload);
		m.method(4, 0x300, {FOUR_WORDS | REDUCTION | c.launch});
		run_all(m);
		EXPECT_EQ(m.at(SEMAPHORE), c.expected) << std::hex << c.launch;
		EXPECT_EQ(m.at(SEMAPHORE + 4), 7u);
		EXPECT_GT(m.at(SEMAPHORE + 8), 100'000u);
	}
}

// Targets 0 to 2 on each side; PHYS is where virtual address 0 is. Seen failing with target 2 as video memory.
TEST(Copy, physical_addresses_have_a_target)
{
	for (uint32_t target : {0, 1, 2}) {
		emu::RamAt ram(SYSMEM, 0x10000);
		uint32_t base = target ? uint32_t(SYSMEM) : uint32_t(PHYS + 0x90000);
		emu::Phys there{target == 0   ? emu::Aperture::Vid
				: target == 1 ? emu::Aperture::SysCoherent
					      : emu::Aperture::SysNoncoherent,
				base};
		Driven m;
		m.gpu->set_sysmem(&ram);
		fill_words(m, FROM, 4);
		m.method(4, 0, {0xc1b5});
		m.method(4, 0x260, {target, target}); // SET_SRC_PHYS_MODE, SET_DST_PHYS_MODE
		m.copy(FROM, base, 16, 1, 0, 0, COPY | PHYSICAL_OUT);
		m.copy(base + 4, TO, 8, 1, 0, 0, COPY | PHYSICAL_IN);
		run_all(m);
		EXPECT_EQ(m.gpu->memories().rd32(there), 0x1000u) << target;
		EXPECT_EQ(m.at(TO), 0x1001u) << target;
		EXPECT_EQ(m.at(TO + 4), 0x1002u) << target;
		EXPECT_EQ(m.at(TO + 8), 0u) << target;
	}
}

// Of the three last members of a fault, the engine's id in the profile is 23 (LCE2). Seen failing with faults of Host.
TEST(Copy, memory_that_is_not_there_is_a_fault_of_the_engine)
{
	struct Case {
		uint32_t launch;
		uint64_t from, to;
		uint64_t va;
		uint32_t write;
	};
	const Case cases[] = {
		{COPY, UNMAPPED, TO, UNMAPPED, 0},
		{COPY, FROM, UNMAPPED, UNMAPPED, 1},
		{COPY, UNMAPPED - 8, TO, UNMAPPED, 0},
		{COPY | PHYSICAL_IN, 0xc0000000, TO, 0xc0000000, 0},
		{COPY | PHYSICAL_OUT, FROM, 0xc0000000, 0xc0000000, 1},
		{ONE_WORD, FROM, TO, 0x1f000000, 1},
	};
	for (const Case &c : cases) {
		Driven m;
		m.method(4, 0, {0xc1b5});
		m.method(4, 0x240, {0, 0x1f000000, 1});
		m.copy(uint32_t(c.from), uint32_t(c.to), 16, 1, 0, 0, c.launch);
		m.release(SEMAPHORE, 1);
		run_all(m);
		EXPECT_EQ(m.at(SEMAPHORE), 0u) << "it went on";
		EXPECT_EQ(rd32(*m.gpu, 0x259c), 1u << 23) << std::hex << c.va;
		EXPECT_EQ(rd32(*m.gpu, 0x2804 + 16 * 23), c.va);
		EXPECT_EQ(rd32(*m.gpu, 0x280c + 16 * 23) >> 16 & 7, c.write) << std::hex << c.va;
	}
}

// Not begun, and listed: block-linear, remapping, a reduction without a name (FADD 10), semaphore type 3, a method without
// a model. Seen failing where FADD's copy was done.
TEST(Copy, what_is_not_modelled_is_left_out_and_listed)
{
	for (uint32_t launch : {0x082u | ONE_WORD, 0x102u | ONE_WORD, COPY | REMAP | ONE_WORD, COPY | 3 << 3,
				COPY | ONE_WORD | REDUCTION | 10 << 14}) {
		Driven m;
		fill_words(m, FROM, 4);
		set_semaphore(m, 1);
		m.copy(FROM, TO, 16, 1, 0, 0, launch);
		run_all(m);
		EXPECT_EQ(m.at(TO), 0u) << std::hex << launch;
		EXPECT_EQ(m.at(SEMAPHORE), 0u) << std::hex << launch;
		EXPECT_EQ(m.work()["ignored"], m.ignored(0xc1b5, 0x300));
	}
	Driven m;
	m.method(4, 0, {0xc1b5});
	m.method(4, 0x700, {1});
	run_all(m);
	EXPECT_EQ(m.work()["ignored"], m.ignored(0xc1b5, 0x700));
}

// INTERRUPT_TYPE 1 and 2: the copy is done, its interrupt is not raised, which is listed. Seen failing without the list.
TEST(Copy, an_interrupt_of_a_copy_is_listed)
{
	for (uint32_t type : {1, 2}) {
		Driven m;
		fill_words(m, FROM, 4);
		m.copy(FROM, TO, 16, 1, 0, 0, COPY | type << 5);
		run_all(m);
		EXPECT_EQ(m.at(TO + 12), 0x1003u);
		EXPECT_EQ(m.work()["ignored"], m.ignored(0xc1b5, 0x300));
		EXPECT_EQ(rd32(*m.gpu, 0x2100) & 0x80000000, 0u);
	}
}

// 100,000 bytes take 12.5 us. A preempt in the middle stops the copy, which then goes on where it was; the semaphore comes at
// the end. Seen failing with copies that are done when they begin.
TEST(Copy, a_large_copy_takes_time_and_can_be_preempted)
{
	Driven m;
	fill_words(m, FROM, 25'000);
	set_semaphore(m, 1);
	m.copy(FROM, TO, 100'000, 1, 0, 0, COPY | ONE_WORD);
	m.kick();
	m.enable();
	while (m.work()["copied_bytes"] == 0)
		m.gpu->advance(1'000);
	EXPECT_EQ(m.work()["copied_bytes"], 65'536);
	m.disable();
	wr32(*m.gpu, 0x2634, 1 << 24 | TSG);
	m.run();
	EXPECT_EQ(m.work()["copied_bytes"], 65'536);
	EXPECT_EQ(m.at(SEMAPHORE), 0u);
	EXPECT_EQ(m.state() & 0x10000000, 0x10000000u) << "BUSY";
	m.enable();
	m.run();
	EXPECT_EQ(m.work()["copied_bytes"], 100'000);
	EXPECT_EQ(m.at(SEMAPHORE), 1u);
	for (uint32_t i = 0; i < 25'000; i++)
		ASSERT_EQ(m.at(TO + 4 * i), 0x1000 + i);
	EXPECT_EQ(m.at(TO + 100'000), 0u);
}
