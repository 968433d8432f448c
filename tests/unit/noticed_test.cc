// SPDX-License-Identifier: GPL-2.0
// A channel that is enabled again runs, also on a chip whose Host notices it only when its runlist is submitted, as nvdebug
// says of Turing and later chips. Run times are the model's; its fault loses channels that
// are enabled. Time slices are 1.048576 ms (128 << 3) or 8.55638016 s (255 << 15).
#include "support/core/emulated.hpp"
#include "model/host.hpp"

#include <gtest/gtest.h>

namespace {

using nlohmann::json;
using test::Emulated;

constexpr u64 MS = 1000000;

json make_tsg(u32 id, std::initializer_list<u32> channels, bool busy = true)
{
	json list = json::array();
	for (u32 c : channels)
		list.push_back({{"id", c}, {"busy", busy}});
	json tsg = {{"id", id}, {"runlist", 0}, {"timeslice", {{"timeout", 255}, {"scale", 15}}}, {"channels", list}};
	return {{"tsgs", json::array({tsg})}};
}

class Noticed : public testing::TestWithParam<const char *> {
protected:
	Noticed() : e(GetParam()) { e.emu->set_access_ns(0); }
	void SetUp() override
	{
		e.give_system_memory();
		ASSERT_EQ(e.attach(), 0);
	}

	void load(std::initializer_list<json> processes)
	{
		e.emu->load_scenario({{"processes", json(json::array_t(processes))}});
		e.emu->advance(1 * MS);
	}
	void lose() { ASSERT_TRUE(e.emu->control({{"cmd", "fault"}, {"kind", "lose-enabled"}})["ok"]); }
	lens_ref ref(u32 id) { return {e.gpu->chip->ids_per_runlist ? 0 : LENS_NONE, id}; }
	int enable(u32 id, bool on)
	{
		lens_ref r = ref(id);
		return lens_channel_enable(e.gpu.get(), &r, on, &runlist);
	}
	int on_engine()
	{
		for (const auto &r : e.emu->running())
			if (r.runlist == 0)
				return r.tsg ? int(*r.tsg) : -1;
		return -2;
	}
	// Disables a channel and waits until it has left the engine.
	void disable(u32 id)
	{
		ASSERT_EQ(enable(id, false), 0);
		e.emu->advance(10000 * MS);
	}
	emu::Runlist &list() { return *e.emu->host().runlist(0); }
	u64 resubmits() { return e.io()->cost.resubmits; }

	Emulated e;
	int runlist = 0;
};

// Seen failing without control_notice().
TEST_P(Noticed, EnabledChannelRunsAfterTheSameListWasSubmitted)
{
	load({make_tsg(1, {2})});
	disable(2);
	ASSERT_EQ(on_engine(), -1);
	lose();
	u64 base = list().base.addr, length = list().length, submits = list().submits;
	ASSERT_EQ(enable(2, true), 0);
	e.emu->advance(1 * MS);
	EXPECT_EQ(on_engine(), 1);
	EXPECT_EQ(list().submits, submits + 1);
	EXPECT_EQ(list().base.addr, base);
	EXPECT_EQ(list().length, length);
	EXPECT_EQ(resubmits(), 1u);
}

// A submit ends the time slice of others: it is made only where it is needed.
TEST_P(Noticed, NothingIsSubmittedForAChannelThatHostNotices)
{
	load({make_tsg(1, {2}), make_tsg(3, {4})});
	disable(4);
	u64 submits = list().submits;
	ASSERT_EQ(enable(4, true), 0);
	ASSERT_EQ(enable(4, true), 0);
	EXPECT_EQ(list().submits, submits);
	EXPECT_EQ(resubmits(), 0u);
	// nor for one that is disabled
	lose();
	ASSERT_EQ(enable(4, false), 0);
	EXPECT_EQ(list().submits, submits);
}

// It cannot be told from one that Host has missed. Its fault is its driver's to clear.
TEST_P(Noticed, ListOfAnIdleChannelIsSubmittedAndOfAFaultedOneIsNot)
{
	json faulted = make_tsg(3, {4}, false);
	faulted["tsgs"][0]["channels"][0]["pbdma_faulted"] = true;
	load({make_tsg(1, {2}, false), faulted});
	u64 submits = list().submits;
	ASSERT_EQ(enable(4, true), 0);
	EXPECT_EQ(list().submits, submits);
	ASSERT_EQ(enable(2, true), 0);
	EXPECT_EQ(list().submits, submits + 1);
}

// Seen failing without control_resubmit_missed() in lens_tsg_switch_to().
TEST_P(Noticed, TsgThatIsSwitchedToRuns)
{
	load({make_tsg(1, {2}), make_tsg(3, {4, 5})});
	disable(4);
	disable(5);
	ASSERT_EQ(on_engine(), 1);
	lose();
	u64 submits = list().submits;
	lens_ref r = ref(3);
	ASSERT_EQ(lens_tsg_switch_to(e.gpu.get(), &r, &runlist), 0);
	e.emu->advance(1 * MS);
	EXPECT_EQ(on_engine(), 3);
	EXPECT_EQ(list().submits, submits + 1);
	EXPECT_EQ(resubmits(), 1u);
	// all of them are enabled already
	ASSERT_EQ(lens_tsg_switch_to(e.gpu.get(), &r, &runlist), 0);
	EXPECT_EQ(list().submits, submits + 1);
}

// There is no list to submit, and no work that could be missed.
TEST_P(Noticed, ChannelOnNoListIsEnabled)
{
	load({make_tsg(1, {2})});
	u32 at = e.gpu->chip->ids_per_runlist ? list().info.chram_base + 4 * 9 : 0;
	if (!at) // bound, so that it exists
		e.emu->poke_register(0x800000 + 8 * 9, 1u << 31);
	u64 submits = list().submits;
	EXPECT_EQ(enable(9, true), 0);
	EXPECT_LE(list().submits, submits + (at ? 1 : 0));
}

INSTANTIATE_TEST_SUITE_P(Chips, Noticed, testing::Values("gv100", "tu102", "ga10b", "ga102", "ad102", "gh100"),
			 [](const auto &info) { return std::string(info.param); });

// Before Volta nothing rings a doorbell: Host looks at each channel of a list.
TEST(EnabledChannel, IsNotSubmittedForBeforeVolta)
{
	Emulated e("gp106");
	ASSERT_EQ(e.attach(), 0);
	e.emu->load_scenario({{"processes", json::array({make_tsg(1, {2}, false)})}});
	u64 submits = e.emu->host().runlist(0)->submits;
	lens_ref r{LENS_NONE, 2};
	int runlist;
	ASSERT_EQ(lens_channel_enable(e.gpu.get(), &r, false, &runlist), 0);
	ASSERT_EQ(lens_channel_enable(e.gpu.get(), &r, true, &runlist), 0);
	EXPECT_EQ(e.emu->host().runlist(0)->submits, submits);
}

} // namespace
