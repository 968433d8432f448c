// SPDX-License-Identifier: GPL-2.0
// Runlist entries and time slices, from literal words without a GPU. The words are composed by hand from the bit numbers
// that each test names; no header or encoder of this project is used for them.
#include "gpulens/gpu.h"

#include <gtest/gtest.h>
#include <set>

namespace {

lens_entry decode_entry(const lens_chip &chip, std::initializer_list<u32> words)
{
	lens_entry e;
	memset(&e, 0x55, sizeof(e)); // a field that the decoder does not set is detected
	chip.host->decode_entry(std::data(words), &e);
	return e;
}

// linux-nvgpu hw_ram_gp106.h, ram_rl_entry_*: id 11:0, type 13 (1 = TSG), timeslice_scale 17:14,
// timeslice_timeout 25:18, tsg_length 31:26; scale_3_f = 0xc000, timeout_128_f = 0x2000000, type_tsg_f = 0x2000.
TEST(EntryOf8Bytes, DecodesTsgHeaderWithTheDefaultTimeslice)
{
	lens_entry e = decode_entry(lens_chip_gp10x, {0x0a00e005, 0});
	EXPECT_TRUE(e.is_tsg);
	EXPECT_EQ(e.id, 5);
	EXPECT_EQ(e.scale, 3);
	EXPECT_EQ(e.timeout, 128);
	EXPECT_EQ(e.length, 2);
	EXPECT_EQ(e.inst, 0u);
}

// Same source: each field all ones with the others zero, so that a shifted or short field changes its neighbours.
TEST(EntryOf8Bytes, TsgFieldsEndWhereTheManualSays)
{
	struct {
		u32 word;
		u32 id, scale, timeout, length;
	} const rows[] = {
		{0x00002fff, 4095, 0, 0, 0}, // 11:0
		{0x0003e000, 0, 15, 0, 0},   // 17:14
		{0x03fc2000, 0, 0, 255, 0},  // 25:18
		{0xfc002000, 0, 0, 0, 63},   // 31:26
		{0x80002000, 0, 0, 0, 32},   // the longest legal TSG: ram_rl_entry_tsg_length_max 0x20
		{0xfffff000 | 0x2000, 0, 15, 255, 63},
	};
	for (const auto &r : rows) {
		lens_entry e = decode_entry(lens_chip_gp10x, {r.word, 0});
		EXPECT_TRUE(e.is_tsg) << std::hex << r.word;
		EXPECT_EQ(e.id, r.id) << std::hex << r.word;
		EXPECT_EQ(e.scale, r.scale) << std::hex << r.word;
		EXPECT_EQ(e.timeout, r.timeout) << std::hex << r.word;
		EXPECT_EQ(e.length, r.length) << std::hex << r.word;
		EXPECT_EQ(e.runqueue, 0) << std::hex << r.word;
	}
}

// Bit 12 belongs to no field of hw_ram_gp106.h.
TEST(EntryOf8Bytes, Bit12IsNoPartOfTheId)
{
	EXPECT_EQ(decode_entry(lens_chip_gp10x, {0x00003001, 0}).id, 1);
	EXPECT_EQ(decode_entry(lens_chip_gp10x, {0x00001001, 0}).id, 1);
}

// Channel: type 13 = 0, chid 11:0; runqueue 14 as Linux's nouveau writes it from GP100 on (gp100_runl_insert_chan);
// word 1 is the instance block's address >> 12 from GM107 on (gm107_fifo_runlist_chan).
TEST(EntryOf8Bytes, DecodesChannelWithRunqueueAndInstanceBlock)
{
	lens_entry e = decode_entry(lens_chip_gp10x, {0x00004123, 0x000bfe34});
	EXPECT_FALSE(e.is_tsg);
	EXPECT_EQ(e.id, 0x123);
	EXPECT_EQ(e.runqueue, 1);
	EXPECT_EQ(e.inst, 0xbfe34000u);
	EXPECT_EQ(e.inst_target, 0);
	EXPECT_EQ(e.length, 0);
	EXPECT_EQ(e.timeout, 0);
	EXPECT_EQ(e.scale, 0);

	e = decode_entry(lens_chip_gp10x, {0x00000fff, 0xffffffff});
	EXPECT_FALSE(e.is_tsg);
	EXPECT_EQ(e.id, 4095);
	EXPECT_EQ(e.runqueue, 0);
	EXPECT_EQ(e.inst, 0xffffffff000u); // no bit of the word is lost in the shift
}

// open-gpu-doc volta/gv100, turing/tu104 and ampere/ga100 dev_ram.ref.txt, NV_RAMRL_ENTRY_*: TYPE 0.0 (1 = TSG),
// TSG_TIMESLICE_SCALE 0.19:16, _TIMEOUT 0.31:24, TSG_LENGTH 1.7:0, TSG_TSGID 2.11:0. Reset values 128 and 3.
TEST(EntryOf16Bytes, DecodesTsgHeaderOfGv100Manual)
{
	for (const lens_chip *chip : {&lens_chip_tu10x, &lens_chip_ad10x, &lens_chip_gh100}) {
		lens_entry e = decode_entry(*chip, {0x80030001, 0x00000002, 0x00000005, 0});
		EXPECT_TRUE(e.is_tsg) << chip->name;
		EXPECT_EQ(e.id, 5) << chip->name;
		EXPECT_EQ(e.scale, 3) << chip->name;
		EXPECT_EQ(e.timeout, 128) << chip->name;
		EXPECT_EQ(e.length, 2) << chip->name;
		EXPECT_EQ(e.inst, 0u) << chip->name;
	}
}

// Same source; TSG_GFID is 0.11:4 and belongs to none of the decoded fields.
TEST(EntryOf16Bytes, TsgFieldsEndWhereTheManualSays)
{
	struct {
		u32 w0, w1, w2;
		u32 id, scale, timeout, length;
	} const rows[] = {
		{0x00000001, 0, 0x00000fff, 4095, 0, 0, 0}, // 2.11:0
		{0x000f0001, 0, 0, 0, 15, 0, 0},            // 0.19:16
		{0xff000001, 0, 0, 0, 0, 255, 0},           // 0.31:24
		{0x00000001, 0x000000ff, 0, 0, 0, 0, 255},  // 1.7:0
		{0x00000001, 0x00000080, 0, 0, 0, 0, 128},  // the longest legal TSG: TSG_LENGTH_MAX 0x80
		{0x00f0fff1, 0xffffff00, 0xfffff000, 0, 0, 0, 0},
	};
	for (const auto &r : rows) {
		lens_entry e = decode_entry(lens_chip_gh100, {r.w0, r.w1, r.w2, 0xffffffff});
		EXPECT_TRUE(e.is_tsg) << std::hex << r.w0;
		EXPECT_EQ(e.id, r.id) << std::hex << r.w0;
		EXPECT_EQ(e.scale, r.scale) << std::hex << r.w0;
		EXPECT_EQ(e.timeout, r.timeout) << std::hex << r.w0;
		EXPECT_EQ(e.length, r.length) << std::hex << r.w0;
	}
}

// Same source: CHAN_RUNQUEUE_SELECTOR 0.1, CHAN_INST_TARGET 0.5:4, CHAN_USERD_TARGET 0.7:6, CHAN_USERD_PTR_LO 0.31:8,
// USERD_PTR_HI 1.31:0, CHAN_CHID 2.11:0, CHAN_INST_PTR_LO 2.31:12, CHAN_INST_PTR_HI 3.31:0; address =
// (PTR_HI << 32) | (PTR_LO << 12).
TEST(EntryOf16Bytes, DecodesChannelWithRunqueueTargetAndInstanceBlock)
{
	lens_entry e = decode_entry(lens_chip_ad10x, {0x123456e2, 0x00000007, 0xabcde321, 0x00000001});
	EXPECT_FALSE(e.is_tsg);
	EXPECT_EQ(e.id, 0x321);
	EXPECT_EQ(e.runqueue, 1);
	EXPECT_EQ(e.inst_target, 2); // coherent system memory; 3 would be USERD's
	EXPECT_EQ(e.inst, 0x1abcde000u);
	EXPECT_EQ(e.length, 0);
	EXPECT_EQ(e.timeout, 0);
	EXPECT_EQ(e.scale, 0);
}

TEST(EntryOf16Bytes, ChannelFieldsEndWhereTheManualSays)
{
	lens_entry e = decode_entry(lens_chip_tu10x, {0xffffffcc, 0xffffffff, 0x00000000, 0x00000000});
	EXPECT_FALSE(e.is_tsg);
	EXPECT_EQ(e.runqueue, 0); // bits 1, 5:4 clear, all around them set
	EXPECT_EQ(e.inst_target, 0);
	EXPECT_EQ(e.id, 0);
	EXPECT_EQ(e.inst, 0u);

	e = decode_entry(lens_chip_tu10x, {0x00000030, 0, 0xfffff000, 0x000000ff});
	EXPECT_EQ(e.inst_target, 3);
	EXPECT_EQ(e.id, 0);
	EXPECT_EQ(e.inst, 0xfffffff000u);
	EXPECT_EQ(decode_entry(lens_chip_tu10x, {0, 0, 0x00000fff, 0}).id, 4095);
}

// open-gpu-doc ampere/ga100/dev_ram.ref.txt, TSG entries: TIMEOUT << SCALE in units of 1024 ns of PTIMER; a TIMEOUT
// of zero counts as one unit (NV_RAMRL_ENTRY_TSG_TIMESLICE_TIMEOUT_1US of tu104).
TEST(Timeslice, IsTimeoutTimes2ToTheScaleUnitsOf1024Nanoseconds)
{
	EXPECT_EQ(lens_timeslice_decode(128, 3), 1048576u);     // the reset value
	EXPECT_EQ(lens_timeslice_decode(255, 15), 8556380160u); // the longest: needs more than 32 bits
	EXPECT_EQ(lens_timeslice_decode(1, 0), 1024u);
	EXPECT_EQ(lens_timeslice_decode(244, 3), 1998848u);     // 2 ms as nearly as the fields can
	EXPECT_EQ(lens_timeslice_decode(128, 15), 4294967296u); // 2^32
}

TEST(Timeslice, OfZeroCountsAsOneUnitWhateverTheScale)
{
	EXPECT_EQ(lens_timeslice_decode(0, 0), 1024u);
	EXPECT_EQ(lens_timeslice_decode(0, 3), 1024u);
	EXPECT_EQ(lens_timeslice_decode(0, 15), 1024u);
}

// The fields' places as above. 244 << 2 is 976 units, 999.424 us.
TEST(Timeslice, OnlyItsFieldsOfTheFirstWordChange)
{
	const auto set8 = lens_chip_gp10x.host->set_timeslice, set16 = lens_chip_gv10x.host->set_timeslice;
	EXPECT_EQ(set8(0x0a00e005, 244, 2), 0x0bd0a005u);
	EXPECT_EQ(set8(0xffffffff, 0, 0), 0xfc003fffu);
	EXPECT_EQ(set8(0xfc003fff, 255, 15), 0xffffffffu);
	EXPECT_EQ(set16(0x80030001, 244, 2), 0xf4020001u);
	EXPECT_EQ(set16(0xffffffff, 0, 0), 0x00f0ffffu);
	EXPECT_EQ(set16(0x00f0ffff, 255, 15), 0xffffffffu);
	for (const lens_chip *chip : {&lens_chip_gk10x, &lens_chip_gm10x, &lens_chip_gm20x, &lens_chip_gp100})
		EXPECT_EQ(chip->host->set_timeslice, set8) << chip->name;
	for (const lens_chip *chip : {&lens_chip_tu10x, &lens_chip_ga100, &lens_chip_ga10x, &lens_chip_gh100,
				      &lens_chip_ad10x, &lens_chip_gb10x})
		EXPECT_EQ(chip->host->set_timeslice, set16) << chip->name;
}

// Computed by hand: n us are n / 1.024 units; a number above 255 is halved, and the scale is one more.
// Seen failing with the bias of rounding left out, and with ties going up.
TEST(TimesliceEncode, IsTheNearestThatTheFieldsCanHold)
{
	const struct {
		u32 us, timeout, scale;
	} rows[] = {
		{1, 1, 0},          // 0.98 units
		{2, 2, 0},          // 1.95
		{100, 98, 0},       // 97.66
		{261, 255, 0},      // 254.88
		{262, 128, 1},      // 255.86: 256
		{384, 187, 1},      // 375, as far from 374 as from 376: the shorter
		{768, 187, 2},      // 750, the same of 748 and 752
		{1000, 244, 2},     // 976.56 = 4 * 244.14
		{1048, 128, 3},     // 1023.44 = 8 * 127.93, nearer to 1024 than to 4 * 255
		{1049, 128, 3},     // the reset value, 1048.576 us
		{1300, 159, 3},     // 1269.53 = 8 * 158.69
		{2000, 244, 3},     // 1953.125 = 8 * 244.14
		{5200, 159, 5},     // 5078.125 = 32 * 158.69
		{50000, 191, 8},    // 48828.125 = 256 * 190.73
		{1000000, 238, 12}, // 976562.5 = 4096 * 238.42
		{8556380, 255, 15}, // 8355839.84 = 32768 * 254.99999
	};
	for (const auto &r : rows) {
		u32 timeout = 999, scale = 999;
		EXPECT_EQ(lens_timeslice_encode(r.us, &timeout, &scale), 0) << r.us;
		EXPECT_EQ(timeout, r.timeout) << r.us;
		EXPECT_EQ(scale, r.scale) << r.us;
	}
}

TEST(TimesliceEncode, WhatTheFieldsCannotHoldIsOutOfRange)
{
	// 255 << 15 units are 8556380.16 us; 34359739 * 125 is 79 in 32 bits
	for (u32 us : {0u, 8556381u, 34359739u, 0x80000000u, 0xffffffffu}) {
		u32 timeout = 999, scale = 999;
		EXPECT_EQ(lens_timeslice_encode(us, &timeout, &scale), -ERANGE) << us;
		EXPECT_EQ(timeout, 999u) << us;
		EXPECT_EQ(scale, 999u) << us;
	}
}

// Against every pair of fields there is.
TEST(TimesliceEncode, NoOtherPairIsNearer)
{
	std::set<u64> all;
	for (u64 t = 1; t <= 255; t++)
		for (u32 s = 0; s <= 15; s++)
			all.insert((t << s) * 1024);
	for (u32 us = 1; us <= 8556380; us += us < 20000 ? 1 : 997) {
		u32 timeout = 0, scale = 0;
		ASSERT_EQ(lens_timeslice_encode(us, &timeout, &scale), 0) << us;
		ASSERT_GE(timeout, 1u) << us;
		ASSERT_LE(timeout, 255u) << us;
		ASSERT_LE(scale, 15u) << us;
		u64 ns = (u64{timeout} << scale) * 1024, want = u64{us} * 1000;
		auto above = all.lower_bound(want);
		u64 best = above == all.end() ? *all.rbegin() : *above;
		if (above != all.begin() && want - *std::prev(above) <= (best > want ? best - want : want - best))
			best = *std::prev(above);
		ASSERT_EQ(ns, best) << us;
	}
}

// TSG_LENGTH channels follow the header of a TSG, and belong to it (dev_ram.ref.txt, RAMRL). Entries of 8 bytes: LENGTH
// 31:26, TYPE 13, ID 11:0. Seen failing with left not decremented, and with tsgid kept when left is 0.
TEST(Group, ChannelsBelongToTheTsgWhoseHeaderCountsThem)
{
	struct {
		u32 word;
		int tsgid;
		u16 length, left;
	} const rows[] = {
		{0x00000011, -1, 0, 0},                                                // channel 17, before any TSG
		{0x08002005, 5, 2, 2},                                                 // TSG 5, two channels
		{0x00000001, 5, 2, 1},  {0x00000002, 5, 2, 0}, {0x00000003, -1, 2, 0}, // one more, outside of it
		{0x0c002006, 6, 3, 3},                                                 // TSG 6, three channels
		{0x00000004, 6, 3, 2},  {0x04002007, 7, 1, 1}, // TSG 7 begins before they followed
		{0x00000005, 7, 1, 0},  {0x00002008, 8, 0, 0}, // TSG 8, no channel
		{0x00000006, -1, 0, 0},
	};
	lens_group g = {.tsgid = LENS_NONE, .length = 0, .left = 0};
	for (const auto &r : rows) {
		const u32 w[2] = {r.word, 0};
		lens_entry e;
		lens_chip_gp10x.host->decode_entry(w, &e);
		lens_group_add(&g, &e);
		EXPECT_EQ(g.tsgid, r.tsgid) << std::hex << r.word;
		EXPECT_EQ(g.length, r.length) << std::hex << r.word;
		EXPECT_EQ(g.left, r.left) << std::hex << r.word;
	}
}

// Sizes and limits: hw_ram_gp106.h ram_rl_entry_size_v 8, TSG_LENGTH_MAX 0x20 (open-gpu-kernel-modules
// maxwell/gm107/dev_ram.h); dev_ram.ref.txt NV_RAMRL_ENTRY_SIZE 16, TSG_LENGTH_MAX 0x80; hw_ccsr_gp106.h and tu104
// dev_fifo.ref.txt: 4096 channels. NV_RAMRL_ENTRY_ID_MAX 4096-1 (tu104), 2048-1 (ga100).
TEST(Limits, AreThoseOfEachGeneration)
{
	struct {
		const lens_chip *chip;
		u32 words, length, tsgs, channels;
		bool per_runlist;
	} const rows[] = {
		{&lens_chip_gp10x, 2, 32, 4096, 4096, false},
		{&lens_chip_tu10x, 4, 128, 4096, 4096, false},
		{&lens_chip_ad10x, 4, 128, 2048, 0, true},
		{&lens_chip_gh100, 4, 128, 2048, 0, true},
	};
	for (const auto &r : rows) {
		EXPECT_EQ(r.chip->entry_words, r.words) << r.chip->name;
		EXPECT_EQ(r.chip->tsg_length_max, r.length) << r.chip->name;
		EXPECT_EQ(r.chip->tsgs, r.tsgs) << r.chip->name;
		EXPECT_EQ(r.chip->channels, r.channels) << r.chip->name;
		EXPECT_EQ(r.chip->ids_per_runlist, r.per_runlist) << r.chip->name;
	}
}

} // namespace
