// SPDX-License-Identifier: GPL-2.0
// Valid register values that look like error words; random_test.cc has some, too. A failed read gives 0xbadf.... or
// 0xbad0...., but these are also addresses: NV_RUNLIST_SUBMIT_BASE_LO (open-gpu-doc ampere/ga100/dev_runlist.ref.txt)
// and NV_PFIFO_RUNLIST_BASE_LO (turing/tu104/dev_fifo.ref.txt) hold bits 31:12 of a runlist's address in place, so two
// ranges of 64 KiB in every 4 GiB have such a value; NV_PCCSR_CHANNEL_INST (turing/tu104/dev_fifo.ref.txt) with BIND
// and TARGET 3 begins with 0xb, followed by PTR.
#include "support/core/emulated.hpp"
#include "support/core/fake.hpp"

#include <gtest/gtest.h>

namespace {

using test::Emulated;

class Address : public testing::TestWithParam<std::tuple<const char *, u32>> {};

TEST_P(Address, RunlistAtAnAddressLikeABadReadIsRead)
{
	auto [name, low] = GetParam();
	Emulated e(name);
	ASSERT_EQ(e.attach(), 0);
	u64 base = 0x100000000ull + low; // 7 GiB: every one of these chips has it
	const u32 words[] = {0x80030001, 1, 5, 0, 0, 0, 7, 0};
	ASSERT_TRUE(e.emu->vidmem().write(base, words, sizeof(words)));
	u32 at = std::string(name) == "tu102" ? 0x2b00 : 0xc00080;
	e.emu->poke_register(at, u32(base));
	e.emu->poke_register(at + 4, u32(base >> 32));
	e.emu->poke_register(at + 8, 2);
	e.emu->advance(1000000);
	test::Snap snap(e, 0);
	ASSERT_EQ(snap.err, 0);
	EXPECT_EQ(snap.snap.regs.base, base);
	EXPECT_EQ(snap.snap.n, 2u);
}

INSTANTIATE_TEST_SUITE_P(Chips, Address,
			 testing::Combine(testing::Values("tu102", "ad102", "gh100"),
					  testing::Values(0xbadf1000u, 0xbad00000u)),
			 [](const auto &info) {
	return std::string(std::get<0>(info.param)) + (std::get<1>(info.param) == 0xbadf1000 ? "_badf" : "_bad0");
});

// BIND 31, TARGET 29:28 = 3 (non-coherent system memory), PTR = 0xadf5678: an instance block at 0xadf5678000.
TEST(ChannelAddress, InstanceBlockAtAnAddressLikeABadReadIsRead)
{
	for (const lens_chip *chip : {&lens_chip_gp10x, &lens_chip_tu10x}) {
		test::Fake f(*chip);
		f.regs[0x800038] = 0xbadf5678;
		f.regs[0x80003c] = 0x00000001;
		lens_runlist rl{};
		u32 w[2];
		ASSERT_EQ(chip->host->read_channel(f.gpu.get(), &rl, 7, w), 0) << chip->name;
		lens_channel_state s;
		chip->host->decode_channel(w, &s);
		EXPECT_EQ(s.inst, 0xadf5678000u);
		EXPECT_EQ(s.inst_target, 3);
	}
}

// To enable an idle channel, the core reads the same word, because a channel without an instance block is unused.
TEST(ChannelAddress, IdleChannelWithSuchAnInstanceBlockCanBeEnabled)
{
	for (const lens_chip *chip : {&lens_chip_gp10x, &lens_chip_tu10x}) {
		test::Fake f(*chip);
		f.regs[0x800038] = 0xbadf5678;
		f.answer = [&](u32 off) { return off == 0x80003c ? u32(!f.writes.empty()) : f.regs[off]; };
		lens_runlist rl{};
		u32 w[2];
		EXPECT_EQ(chip->host->enable_channel(f.gpu.get(), &rl, 7, true, w), 0) << chip->name;
	}
}

} // namespace
