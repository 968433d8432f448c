// SPDX-License-Identifier: GPL-2.0
// Channel state words, PCCSR and CHRAM, from literal words. Sources:
//   PCCSR  open-gpu-doc turing/tu104/dev_fifo.ref.txt NV_PCCSR_CHANNEL_INST_*, NV_PCCSR_CHANNEL_*
//   CHRAM  open-gpu-doc ampere/ga100/dev_runlist.ref.txt NV_CHRAM_CHANNEL_*
#include "gpulens/gpu.h"
#include "support/core/chips.hpp"
#include "format.h"

#include <gtest/gtest.h>

namespace {

using test::chram_chips;
using test::pfifo_chips;

lens_channel_state decode_channel(const lens_chip &chip, u32 w0, u32 w1 = 0)
{
	lens_channel_state s;
	u32 w[2] = {w0, w1};
	memset(&s, 1, sizeof(s)); // a field that the decoder does not set is detected
	chip.host->decode_channel(w, &s);
	return s;
}

// INST: PTR 27:0 (address >> 12), TARGET 29:28, BIND 31.
TEST(Pccsr, DecodesInstanceBlockWord)
{
	for (const lens_chip *chip : pfifo_chips()) {
		lens_channel_state s = decode_channel(*chip, 0xa0012345);
		EXPECT_TRUE(s.pccsr);
		EXPECT_FALSE(s.chram);
		EXPECT_TRUE(s.bound);
		EXPECT_EQ(s.inst_target, 2);
		EXPECT_EQ(s.inst, 0x12345000u);

		s = decode_channel(*chip, 0x0fffffff);
		EXPECT_FALSE(s.bound);
		EXPECT_EQ(s.inst_target, 0);
		EXPECT_EQ(s.inst, 0xfffffff000u); // 40 bits of address

		s = decode_channel(*chip, 0x70000000);
		EXPECT_FALSE(s.bound); // bit 30 belongs to no field
		EXPECT_EQ(s.inst_target, 3);
		EXPECT_EQ(s.inst, 0u);
	}
}

// CHANNEL: ENABLE 0, NEXT 1, PBDMA_FAULTED 22, ENG_FAULTED 23, STATUS 27:24, BUSY 28.
TEST(Pccsr, EachBitOfTheStateWordIsItsOwnFlag)
{
	for (const lens_chip *chip : pfifo_chips())
		for (int bit = 0; bit < 32; bit++) {
			lens_channel_state s = decode_channel(*chip, 0, 1u << bit);
			EXPECT_EQ(s.enable, bit == 0) << bit;
			EXPECT_EQ(s.next, bit == 1) << bit;
			EXPECT_EQ(s.pbdma_faulted, bit == 22) << bit;
			EXPECT_EQ(s.eng_faulted, bit == 23) << bit;
			EXPECT_EQ(s.busy, bit == 28) << bit;
			EXPECT_EQ(s.status, bit >= 24 && bit <= 27 ? 1 << (bit - 24) : 0) << bit;
			EXPECT_FALSE(s.bound) << bit;
		}
}

// NV_PCCSR_CHANNEL_STATUS_*: 0 .. 14, and which of them include CTX_RELOAD. 15 is not defined.
TEST(Pccsr, EveryStatusValueHasItsNameAndReload)
{
	struct {
		u32 word;
		int status;
		bool reload;
		const char *name;
	} const rows[] = {
		{0x00000001, 0, false, "idle"},
		{0x01000001, 1, false, "pending"},
		{0x02000001, 2, true, "pending, reload"},
		{0x03000001, 3, false, "acquire"},
		{0x04000001, 4, true, "acquire, reload"},
		{0x05000001, 5, false, "on pbdma"},
		{0x06000001, 6, false, "on pbdma+eng"},
		{0x07000001, 7, false, "on eng"},
		{0x08000001, 8, false, "on eng, acquire"},
		{0x09000001, 9, false, "on eng, pending"},
		{0x0a000001, 10, true, "on pbdma, reload"},
		{0x0b000001, 11, true, "on pbdma+eng, reload"},
		{0x0c000001, 12, true, "on eng, reload"},
		{0x0d000001, 13, true, "on eng, pend, reload"},
		{0x0e000001, 14, true, "on eng, acq, reload"},
		{0x0f000001, 15, false, "undefined"},
	};
	for (const lens_chip *chip : pfifo_chips())
		for (const auto &r : rows) {
			lens_channel_state s = decode_channel(*chip, 0, r.word);
			EXPECT_EQ(s.status, r.status);
			EXPECT_EQ(s.ctx_reload, r.reload) << r.status;
			EXPECT_STREQ(lens_status_name(s.status), r.name);
			EXPECT_TRUE(s.enable) << r.status;
			EXPECT_FALSE(s.busy) << r.status;
		}
}

// WRITE_CONTROL 0, ENABLE 1, NEXT 2, BUSY 3, PBDMA_FAULTED 4, ENG_FAULTED 5, ON_PBDMA 6, ON_ENG 7, PENDING 8,
// CTX_RELOAD 9, PBDMA_BUSY 10, ENG_BUSY 11, ACQUIRE_FAIL 12.
TEST(Chram, EachBitIsItsOwnFlag)
{
	for (const lens_chip *chip : chram_chips())
		for (int bit = 0; bit < 32; bit++) {
			lens_channel_state s = decode_channel(*chip, 1u << bit);
			EXPECT_TRUE(s.chram);
			EXPECT_FALSE(s.pccsr);
			EXPECT_EQ(s.enable, bit == 1) << bit;
			EXPECT_EQ(s.next, bit == 2) << bit;
			EXPECT_EQ(s.busy, bit == 3) << bit;
			EXPECT_EQ(s.pbdma_faulted, bit == 4) << bit;
			EXPECT_EQ(s.eng_faulted, bit == 5) << bit;
			EXPECT_EQ(s.on_pbdma, bit == 6) << bit;
			EXPECT_EQ(s.on_eng, bit == 7) << bit;
			EXPECT_EQ(s.pending, bit == 8) << bit;
			EXPECT_EQ(s.ctx_reload, bit == 9) << bit;
			EXPECT_EQ(s.pbdma_busy, bit == 10) << bit;
			EXPECT_EQ(s.eng_busy, bit == 11) << bit;
			EXPECT_EQ(s.acquire_fail, bit == 12) << bit;
			EXPECT_FALSE(s.bound) << bit;
			EXPECT_EQ(s.inst, 0u) << bit;
		}
}

// These chips have no STATUS; it is derived, so that PCCSR's names can be used. Words by the bit numbers above.
TEST(Chram, StatusIsDerivedFromTheBits)
{
	struct {
		u32 word;
		int status;
	} const rows[] = {
		{0x0000, 0},  {0x0002, 0}, {0x0100, 1}, // PENDING
		{0x0300, 2},                            // PENDING, CTX_RELOAD
		{0x1000, 3},                            // ACQUIRE_FAIL
		{0x1200, 4},                            // ACQUIRE_FAIL, CTX_RELOAD
		{0x0040, 5},                            // ON_PBDMA
		{0x00c0, 6},                            // ON_PBDMA, ON_ENG
		{0x0080, 7},                            // ON_ENG
		{0x1080, 8},                            // ON_ENG, ACQUIRE_FAIL
		{0x0180, 9},                            // ON_ENG, PENDING
		{0x0240, 10},                           // ON_PBDMA, CTX_RELOAD
		{0x02c0, 11},                           // ON_PBDMA, ON_ENG, CTX_RELOAD
		{0x0280, 12},                           // ON_ENG, CTX_RELOAD
		{0x0380, 13},                           // ON_ENG, PENDING, CTX_RELOAD
		{0x1280, 14},                           // ON_ENG, ACQUIRE_FAIL, CTX_RELOAD
	};
	for (const lens_chip *chip : chram_chips())
		for (const auto &r : rows)
			EXPECT_EQ(decode_channel(*chip, r.word).status, r.status) << std::hex << r.word;
}

} // namespace
