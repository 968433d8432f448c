// SPDX-License-Identifier: GPL-2.0
// A channel is known by its instance block: drivers use ids again. NV_PCCSR_CHANNEL_INST up to Turing, from Ampere on
// the runlist's entry (ga100/dev_ram.ref.txt RAMRL).
#include "support/core/emulated.hpp"
#include "model/host.hpp"

#include <gtest/gtest.h>

namespace {

using nlohmann::json;
using test::Emulated;

class SameChannel : public testing::TestWithParam<const char *> {
protected:
	SameChannel() : e(GetParam()) { e.emu->set_access_ns(0); }
	void SetUp() override
	{
		ASSERT_EQ(e.attach(), 0);
		e.give_system_memory(); // a Tegra's lists lie there
	}

	// Channels 5 and 6 in this order, so that each has the other's instance block in the other order.
	void load(std::initializer_list<u32> channels)
	{
		json list = json::array();
		for (u32 c : channels)
			list.push_back({{"id", c}});
		e.emu->load_scenario({{"processes", {{{"tsgs", {{{"id", 1}, {"runlist", 0}, {"channels", list}}}}}}}});
		e.emu->advance(1000000);
	}
	int find(u32 id)
	{
		lens_ref ref = {e.gpu->chip->ids_per_runlist ? 0 : LENS_NONE, id};
		return lens_channel_find(e.gpu.get(), &ref, &channel, &enabled, &runlist);
	}
	int set(bool on) { return lens_channel_enable_same(e.gpu.get(), &channel, on); }
	bool is_enabled(u32 id)
	{
		json state = e.emu->control({{"cmd", "state"}});
		for (const json &c : state["channels"])
			if (c["id"] == id && c["runlist"] == 0)
				return c["enabled"];
		return false;
	}

	Emulated e;
	lens_channel channel{};
	bool enabled = false;
	int runlist = -2;
};

TEST_P(SameChannel, IsDisabledAndEnabled)
{
	load({5, 6});
	ASSERT_EQ(find(6), 0);
	EXPECT_TRUE(enabled);
	EXPECT_EQ(runlist, e.gpu->chip->ids_per_runlist ? 0 : LENS_NONE);
	EXPECT_EQ(set(false), 0);
	EXPECT_FALSE(is_enabled(6));
	EXPECT_TRUE(is_enabled(5));
	ASSERT_EQ(find(6), 0);
	EXPECT_FALSE(enabled);
	EXPECT_EQ(set(true), 0);
	EXPECT_TRUE(is_enabled(6));
}

// Seen failing without the comparison.
TEST_P(SameChannel, AnotherInstanceBlockIsAnotherChannel)
{
	load({5, 6});
	ASSERT_EQ(find(6), 0);
	load({6, 5});
	for (bool on : {false, true})
		EXPECT_EQ(set(on), -ESTALE);
	EXPECT_TRUE(is_enabled(6));
}

// The driver has submitted another list, with the channel at another place: it is found there. Seen failing without the
// second attempt (-EBUSY, from ga100 on).
TEST_P(SameChannel, IsFoundOnAnotherListOfItsDriver)
{
	load({5, 6});
	ASSERT_EQ(find(6), 0);
	channel.index--;
	EXPECT_EQ(set(false), 0);
	EXPECT_FALSE(is_enabled(6));
	EXPECT_TRUE(is_enabled(5));
}

TEST_P(SameChannel, OneThatIsGoneIsNotWritten)
{
	load({5, 6});
	ASSERT_EQ(find(6), 0);
	load({5});
	EXPECT_EQ(set(true), -ENOENT);
	EXPECT_FALSE(is_enabled(6));
	EXPECT_EQ(find(6), -ENOENT);
}

INSTANTIATE_TEST_SUITE_P(Chips, SameChannel,
			 testing::Values("gk104", "gm204", "gp106", "gv100", "tu102", "ga100", "ga102", "ga10b",
					 "ad102", "gh100"));

} // namespace
