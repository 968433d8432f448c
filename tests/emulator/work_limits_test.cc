// SPDX-License-Identifier: GPL-2.0
// Channels whose work never ends, or is not what a driver writes: each call of advance() does a bounded part of it, and
// nothing that a channel does makes the emulator's memory grow without bound.
#include "driven.hpp"

#include <random>

using namespace emu_test;

namespace {

constexpr uint64_t SECOND = 1'000'000'000;
constexpr uint32_t MOST = 4096; // methods, or lines of a copy, in one advance()

} // namespace

// 400,000 NOPs take 20 ms; in one advance of a second 4096 are done at most, the rest later, and time goes on. Seen failing
// without the limit: all of them.
TEST(WorkLimits, a_long_pushbuffer_is_done_in_parts)
{
	constexpr uint32_t FIRST = 0x40000, WORDS = 400'000;
	Driven m;
	for (uint32_t i = 0; i < WORDS; i++)
		m.set(FIRST + 4 * i, i % 8192 ? 0 : 3u << 29 | 8191 << 16 | 0x08 >> 2);
	m.push(FIRST, WORDS);
	m.enable();
	uint64_t before = m.gpu->now();
	m.gpu->advance(SECOND);
	uint64_t first = m.work()["methods"];
	EXPECT_GT(first, 1000u);
	EXPECT_LE(first, MOST);
	EXPECT_EQ(m.gpu->now(), before + SECOND);
	EXPECT_LE(m.gpu->next_event(), m.gpu->now() + 1) << "the rest is due";
	m.disable();
	EXPECT_EQ(m.state() & 1, 0u) << "registers answer";
	m.enable();
	for (int i = 0; i < 200; i++)
		m.gpu->advance(1'000'000);
	EXPECT_EQ(m.work()["methods"], WORDS - (WORDS + 8191) / 8192);
}

// A pushbuffer that moves its own GP_PUT: each of 16 entries copies a number to USERD, two entries ahead. Seen failing
// without the limit: this never returned.
TEST(WorkLimits, a_channel_that_gives_itself_work_does_not_stop_the_emulator)
{
	Driven m;
	for (uint32_t i = 0; i < GP_ENTRIES; i++) {
		m.set(0x40000 + 4 * i, (i + 2) % GP_ENTRIES);
		m.words.clear();
		m.method(4, 0, {0xc1b5});
		m.method(4, 0x400, {0, 0x40000 + 4 * i, 0, uint32_t(USERD) + 0x8c, 0, 0, 4, 1});
		m.method(4, 0x300, {0x182 | 1 << 13});
		m.kick();
	}
	m.gpu->vidmem().wr32(USERD + 0x8c, 1);
	m.enable();
	for (uint64_t i = 1; i <= 20; i++) {
		m.gpu->advance(SECOND);
		ASSERT_LE(m.work()["methods"], i * MOST);
	}
	EXPECT_GT(m.work()["entries"], 100);
	EXPECT_EQ(m.work()["faults"], 0);
}

// 2^32 - 1 lines. Of no bytes: nothing to copy. Of one byte to the same place: so many in each call. One line of as many
// bytes: up to the first page that is not there. Seen failing with the lines as one loop: this never returned.
TEST(WorkLimits, a_copy_without_end_is_done_in_parts)
{
	Driven none, bytes, line;
	none.copy(0x40000, 0x50000, 0, 0xffffffff, 0, 0);
	none.release(0x30000, 1);
	none.kick();
	none.enable();
	none.run();
	EXPECT_EQ(none.at(0x30000), 1u);

	bytes.copy(0x40000, 0x50000, 1, 0xffffffff, 0, 0);
	bytes.kick();
	bytes.enable();
	for (uint64_t i = 1; i <= 10; i++) {
		bytes.gpu->advance(SECOND);
		ASSERT_LE(bytes.work()["copied_bytes"], i * MOST);
	}
	EXPECT_GT(bytes.work()["copied_bytes"], MOST);

	line.copy(0x40000, 0x50000, 0xffffffff, 1, 0, 0);
	line.kick();
	line.enable();
	for (int i = 0; i < 10; i++)
		line.gpu->advance(SECOND);
	EXPECT_EQ(line.work()["faults"], 1);
	EXPECT_LE(line.work()["copied_bytes"], UNMAPPED - 0x50000);
}

// Methods 0x100 to 0x1ffc of a class: 1984, of which the list has 1024. Seen failing without the limit.
TEST(WorkLimits, the_list_of_ignored_methods_has_an_end)
{
	Driven m;
	m.method(0, 0, {0xb097});
	for (uint32_t method = 0x100; method < 0x2000; method += 0x100)
		m.method(0, method, std::vector<uint32_t>(64));
	m.kick();
	m.enable();
	m.run();
	json work = m.work();
	EXPECT_EQ(work["ignored"].size(), 1024u);
	EXPECT_EQ(work["ignored_unlisted"], 960);
	EXPECT_EQ(work["ignored"][0], m.ignored(0xb097, 0x100)[0]);
}

// 300 channels that have work and are not enabled: a poll looks at 256 of them, the next one at the others. Seen failing
// with 300 at once.
TEST(WorkLimits, a_poll_looks_at_so_many_channels)
{
	constexpr unsigned CHANNELS = 300;
	Driven m("gp106", 0);
	for (unsigned i = 0; i < CHANNELS; i++) {
		wr32(*m.gpu, 0x800000 + 8 * (CHANNEL + i), 0x80000000 | uint32_t(INST >> 12));
		m.gpu->vidmem().wr32(LIST + 8 * i, CHANNEL + i); // bare channels
	}
	m.bind(0);
	wr32(*m.gpu, 0x2274, m.runlist << 20 | CHANNELS);
	m.gpu->advance(100'000);
	m.push(0, 0);
	auto busy = [&] {
		unsigned n = 0;
		for (const emu::Channel &c : m.gpu->host().pccsr_channels())
			n += c.work;
		return n;
	};
	bool looks_on = false; // at the others, without an access
	for (unsigned before = 0, i = 0; i < 3; before = busy(), i++) {
		m.gpu->host().advance(m.gpu->now());
		EXPECT_LE(busy() - before, 256u);
		looks_on |= m.gpu->next_event() <= m.gpu->now() + 1'000'000;
	}
	EXPECT_TRUE(looks_on);
	EXPECT_EQ(busy(), CHANNELS);
}

// Seen failing: an event was due at once, for ever.
TEST(WorkLimits, a_faulted_channel_of_a_disabled_runlist_is_idle)
{
	Driven m;
	m.method(0, 0x08, std::vector<uint32_t>(200));
	m.copy(UNMAPPED, 0x50000, 4, 1, 0, 0);
	m.release(0x30000, 1);
	m.kick();
	m.enable();
	while (m.work()["methods"] == 0)
		m.gpu->advance(1'000);
	ASSERT_EQ(m.work()["faults"], 0);
	wr32(*m.gpu, 0x2630, 1 << m.runlist);
	m.run();
	EXPECT_EQ(m.work()["faults"], 1);
	EXPECT_EQ(m.at(0x30000), 0u);
	EXPECT_EQ(m.gpu->next_event(), emu::NEVER);
}

// PBDMA 30 would be unit 36 of 32 (0 to 31) that the registers have; the channel stops and no other unit is blamed. Seen failing
// with undefined behaviour, and as a fault of unit 4.
TEST(WorkLimits, a_fault_of_a_unit_without_a_register_is_not_reported)
{
	std::ifstream in(EMU_DATA_DIR "/profiles/gp106.json");
	json profile = json::parse(in);
	for (json &r : profile["runlists"]["list"])
		if (r["id"] == 5)
			r["pbdmas"] = {30};
	Driven m(std::make_unique<emu::EmulatedGpu>(profile), false, 1);
	m.method(0, 0x10, {0, UNMAPPED, 9, 0x2});
	m.release(0x30000, 1);
	m.kick();
	m.enable();
	m.run();
	EXPECT_EQ(m.work()["faults"], 1);
	EXPECT_EQ(m.at(0x30000), 0u);
	EXPECT_EQ(rd32(*m.gpu, 0x259c), 0u);
	EXPECT_EQ(rd32(*m.gpu, 0x2100) & 0x10000000, 0u);
}

// Of the pages that a channel writes so many are kept. Seen failing without the limit.
TEST(WorkLimits, video_memory_that_a_channel_fills_has_an_end)
{
	constexpr uint32_t TARGET = 0x20000000;
	Driven m;
	m.copy(0x40000, TARGET, 4096, 300, 0, 4096, 0x382 | 1 << 13);
	m.kick();
	m.gpu->vidmem().set_limit(1 << 20);
	m.enable();
	m.run();
	EXPECT_EQ(m.work()["copied_bytes"], 256 * 4096);
	EXPECT_EQ(m.work()["faults"], 1);
	EXPECT_EQ(m.work()["refused_writes"], 1);
	EXPECT_EQ(rd32(*m.gpu, 0x2804 + 16 * 23), TARGET + (1 << 20));
	m.gpu->vidmem().wr32(TARGET, 5);
	EXPECT_EQ(m.gpu->vidmem().rd32(TARGET), 5u) << "pages that are there can be written";
}

// Streams of random headers, methods and numbers, of which many are addresses that exist; instance blocks with random words.
// Under the sanitizers no access is wrong, and each call ends.
TEST(WorkLimits, random_words_do_no_harm)
{
	std::mt19937 random(26);
	auto pick = [&](std::vector<uint32_t> of) { return of[random() % of.size()]; };
	auto word = [&]() -> uint32_t {
		switch (random() % 4) {
		case 0: return random() % 0x200000;
		case 1:
			return pick(
				{0, 1, 2, 4, 0x1004, 0x182, 0x38a, 0x3192, 0xffffffff, uint32_t(USERD) + 0x8c, 0xc1b5});
		case 2: return random() % 256;
		}
		return random();
	};
	for (int round = 0; round < 60; round++) {
		Driven m(round % 2 ? "gv100" : "gp106", 2);
		for (int entry = 0; entry < 15; entry++) {
			for (int i = 0; i < 8; i++) {
				uint32_t count = random() % 9, sub = pick({0, 4}),
					 method = pick({0, 0x10, 0x1c, 0x5c, 0x6c, 0x80, 0x240, 0x300, 0x400, 0x418});
				m.words.push_back(random() % 16 ? pick({1, 1, 1, 3, 5}) << 29 | count << 16 |
									  sub << 13 | method >> 2
								: word());
				for (uint32_t k = 0; k < count; k++)
					m.words.push_back(word());
			}
			m.kick(entry % 2);
		}
		if (round % 3 == 0)
			for (int i = 0; i < 4; i++)
				m.gpu->vidmem().wr32(INST + 4 * (random() % 130), word());
		m.enable(0);
		m.enable(1);
		for (uint64_t i = 1; i <= 5; i++) {
			m.gpu->advance(SECOND);
			ASSERT_LE(m.work()["methods"], i * 2 * MOST);
		}
	}
}
