// SPDX-License-Identifier: GPL-2.0
// The hardware's own order of TPCs, from literal register values: CWD_GPC_TPC_ID(i) 0x405b60+4i (linux-nvgpu
// hw_gr_tu104.h), from Hopper on and on Ada 0x405000+4i (nvdebug_entry.c, 2025); four TPCs to a word, GPC in 7:4 and TPC
// in 3:0 of a byte. Fuses as in topology_test.cc.
#include "support/core/emulated.hpp"
#include "support/core/fake.hpp"

#include "format.h"

#include <gtest/gtest.h>
#include <string>
#include <vector>

namespace {

using test::Fake;

// GPC 0 has three TPCs, GPC 1 one and GPC 2 two.
struct Small {
	explicit Small(const lens_chip &chip = lens_chip_tu10x) : f(chip)
	{
		lens_topology &t = f.gpu->topo;

		t.num_gpcs = 3;
		t.num_tpc_per_gpc = 3;
		t.tpc_mask[1] = 6;
		t.tpc_mask[2] = 1;
	}
	int read(std::vector<u32> words, u32 base = 0x405b60)
	{
		for (u32 i = 0; i < words.size(); i++)
			f.regs[base + 4 * i] = words[i];
		return lens_cwd_read_places(f.gpu.get(), &places);
	}

	Fake f;
	lens_tpc_places places{};
};

// Logical GPCs 0, 1 and 2 have 2, 3 and 1 TPCs: the driver numbers GPCs otherwise than the fuses do.
TEST(Cwd, ATableThatAgreesWithTheFusesIsTaken)
{
	Small s;

	ASSERT_EQ(s.read({0x11201000, 0x00001201}), 0);
	ASSERT_EQ(s.places.tpcs, 6u);
	EXPECT_EQ(std::vector<u32>(s.places.gpc, s.places.gpc + 6), (std::vector<u32>{0, 1, 2, 1, 0, 1}));
	EXPECT_EQ(std::vector<u32>(s.places.tpc, s.places.tpc + 6), (std::vector<u32>{0, 0, 0, 1, 1, 2}));
}

// Seen failing without the comparison with the fuses.
TEST(Cwd, ATableOfOtherTpcsIsRefused)
{
	EXPECT_EQ(Small().read({0, 0}), -ENODATA);                   // no context, up to Ampere
	EXPECT_EQ(Small().read({0x11201000, 0x00001101}), -ENODATA); // TPC 1 of GPC 1 twice
	EXPECT_EQ(Small().read({0x11201000, 0x00002101}), -ENODATA); // two TPCs in each GPC
	EXPECT_EQ(Small().read({0x11201000, 0xffff1201}), 0);        // entries beyond the last TPC do not count
	Small s;
	EXPECT_EQ(s.read({0x11201000, 0x00001101}), -ENODATA);
	EXPECT_EQ(s.places.tpcs, 0u);
}

TEST(Cwd, ABadReadIsAnError)
{
	EXPECT_EQ(Small(lens_chip_ad10x).read({0xbadf1201}, 0x405000), -EIO);
	EXPECT_EQ(Small(lens_chip_gh100).read({0x11201000, 0xbadf1201}, 0x405000), -EIO);
	EXPECT_EQ(Small(lens_chip_gb10x).read({0x11201000, 0x00001201}, 0x405000), -EOPNOTSUPP);
	EXPECT_EQ(Small(lens_chip_gm10x).read({0x11201000, 0x00001201}), -EOPNOTSUPP);
	Small fuses;
	fuses.f.gpu->topo.gpcs_err = -EIO;
	EXPECT_EQ(fuses.read({0x11201000, 0x00001201}), -EIO);
	Small many; // 25 TPCs on a chip with six words
	many.f.gpu->chip = &lens_chip_gm20x;
	many.f.gpu->topo.num_gpcs = 5;
	many.f.gpu->topo.num_tpc_per_gpc = 5;
	many.f.gpu->topo.tpc_mask[1] = many.f.gpu->topo.tpc_mask[2] = 0;
	EXPECT_EQ(many.read({0}), -EOPNOTSUPP);
}

TEST(Cwd, WordsAreReadByNumber)
{
	Small s;
	u32 word = 0;

	s.f.regs[0x405b9c] = 0x12345678;
	s.f.regs[0x405bdc] = 0x9abcdef0;
	EXPECT_EQ(lens_cwd_read_word(s.f.gpu.get(), lens_chip_tu10x.cwd.gpc_tpc_id, 15, &word), 0);
	EXPECT_EQ(word, 0x12345678u);
	EXPECT_EQ(lens_cwd_read_word(s.f.gpu.get(), lens_chip_tu10x.cwd.sm_id, 15, &word), 0);
	EXPECT_EQ(word, 0x9abcdef0u);
	EXPECT_EQ(lens_cwd_read_word(s.f.gpu.get(), lens_chip_tu10x.cwd.sm_id, 16, &word), -EOPNOTSUPP);
}

std::string map_text(const lens_gpu *gpu, const lens_tpc_places *places)
{
	lens_text t{};

	lens_format_tpc_map(&t, gpu, places);
	std::string text(t.buf, t.len);
	lens_text_free(&t);
	return text;
}

TEST(Cwd, TheMapSaysWhereItsOrderIsFrom)
{
	Small s;

	ASSERT_EQ(s.read({0x11201000, 0x00001201}), 0);
	EXPECT_EQ(map_text(s.f.gpu.get(), &s.places),
		  "! from the hardware (CWD_GPC_TPC_ID): in the order of %smid; GPCs as the driver numbers them\n"
		  "gpc 0: 0x011\ngpc 1: 0x02a\ngpc 2: 0x004\n");
	EXPECT_EQ(map_text(s.f.gpu.get(), nullptr), "gpc 0: 0x007\ngpc 1: 0x008\ngpc 2: 0x030\n");
	s.f.gpu->chip = &lens_chip_ga10x;
	EXPECT_EQ(map_text(s.f.gpu.get(), nullptr), "! assumed: GPC by GPC, which no manual publishes for this chip\n"
						    "gpc 0: 0x007\ngpc 1: 0x008\ngpc 2: 0x030\n");
}

// At each microsecond of four time slices of 0.999 ms (122 << 3). Each access takes one. Seen failing with a single look:
// while contexts are switched.
TEST(Cwd, IsFoundWhileContextsAreSwitched)
{
	for (const char *name : {"gp106", "tu102", "ad102", "gh100"}) {
		test::Emulated e(name);
		ASSERT_EQ(e.attach(), 0);
		e.emu->load_scenario(test::load_json("../tests/vm/scenarios/slices-two.json"));
		e.emu->set_access_ns(1000);
		e.emu->advance(1000000);
		for (int i = 0; i < 4000; i++)
			ASSERT_EQ(lens_cwd_check_context(e.gpu.get()), 0) << name << ' ' << i;
	}
}

// Without a context it is looked for four times. Seen failing with ten.
TEST(Cwd, OfAnIdleEngineIsNotWaitedFor)
{
	test::Emulated e("gp106");
	ASSERT_EQ(e.attach(), 0);
	e.emu->set_log(true);
	EXPECT_EQ(lens_cwd_check_context(e.gpu.get()), -ENODATA);
	EXPECT_EQ(e.emu->take_log().size(), 4u);
}

// Every emulated chip with a table.
TEST(Cwd, OfEmulatedChipsNeedsAContext)
{
	unsigned tables = 0;

	for (const std::string &name : test::profiles_but({"gb100", "gb202"})) {
		test::Emulated e(name);
		lens_tpc_places places{};
		ASSERT_EQ(e.attach(), 0);
		if (!e.gpu->chip->cwd.words)
			continue;
		EXPECT_LT(lens_cwd_read_places(e.gpu.get(), &places), 0) << name;
		tables++;
	}
	EXPECT_EQ(tables, 18u);
}

} // namespace
