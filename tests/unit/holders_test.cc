// SPDX-License-Identifier: GPL-2.0
// If ids count per runlist, an id without a runlist belongs to the runlist that lists it. A refusal names all candidates.
// The requests themselves: control_test.cc.
#include "support/core/emulated.hpp"
#include "support/core/fake.hpp"
#include "model/host.hpp"

#include <gtest/gtest.h>

namespace {

using nlohmann::json;
using test::Emulated;

json make_tsg(u32 id, std::initializer_list<u32> channels, int runlist = 0)
{
	json list = json::array();
	for (u32 c : channels)
		list.push_back({{"id", c}});
	return {{"id", id}, {"runlist", runlist}, {"channels", list}};
}

class Holders : public testing::TestWithParam<const char *> {
protected:
	Holders() : e(GetParam()) { e.emu->set_access_ns(0); }
	void SetUp() override { ASSERT_EQ(e.attach(), 0); }

	void load(std::initializer_list<json> tsgs)
	{
		json list = json::array();
		for (const json &t : tsgs)
			list.push_back({{"tsgs", json::array({t})}});
		e.emu->load_scenario({{"processes", list}});
		e.emu->advance(1000000);
	}
	int enable(lens_ref r, bool on) { return lens_channel_enable(e.gpu.get(), &r, on, &runlist); }
	int preempt(lens_ref r) { return lens_tsg_preempt(e.gpu.get(), &r, &runlist); }
	// NV_CHRAM_CHANNEL ENABLE is bit 1.
	u32 word(int on, u32 id) { return e.emu->host().runlist(on)->info.chram_base + 4 * id; }
	bool is_enabled(int on, u32 id) { return e.emu->peek_register(word(on, id)) & 2; }
	void fail_reads(u32 off)
	{
		json reply = e.emu->control({{"cmd", "fault"}, {"kind", "bad-read"}, {"off", off}});
		EXPECT_EQ(reply["ok"], true) << reply;
	}
	// By number, as the kernel log names them.
	std::vector<int> holders()
	{
		std::vector<int> list;
		for (u32 i = 0; i < e.topo().n_runlists; i++)
			if (e.gpu->holders >> i & 1)
				list.push_back(e.topo().runlists[i].id);
		return list;
	}

	Emulated e;
	int runlist = -2;
};

// A channel exists where a list has it: ga100/dev_ram.ref.txt RAMRL, NV_CHRAM_CHANNEL has no BIND. Its driver may take it
// off the list and leave its word as it was. Seen failing with enabled words counted beside lists.
TEST_P(Holders, ChannelThatIsStillEnabledButOnNoListMakesNoIdAmbiguous)
{
	load({make_tsg(1, {2, 5})});
	e.emu->poke_register(word(3, 5), 2);
	ASSERT_EQ(enable({LENS_NONE, 5}, false), 0);
	EXPECT_EQ(runlist, 0);
	EXPECT_FALSE(is_enabled(0, 5));
	EXPECT_TRUE(is_enabled(3, 5));
	ASSERT_EQ(enable({LENS_NONE, 5}, true), 0); // disabled where it is listed, enabled on runlist 3
	EXPECT_EQ(runlist, 0);
	EXPECT_TRUE(is_enabled(0, 5));
	// on no list, and enabled on two: ambiguous
	e.emu->poke_register(word(1, 77), 2);
	e.emu->poke_register(word(3, 77), 2);
	EXPECT_EQ(enable({LENS_NONE, 77}, false), -EINVAL);
	EXPECT_EQ(holders(), (std::vector{1, 3}));
	EXPECT_TRUE(is_enabled(1, 77) && is_enabled(3, 77));
}

TEST_P(Holders, RefusedBareIdNamesThemAll)
{
	load({make_tsg(1, {2}), make_tsg(1, {2}, 1), make_tsg(1, {2}, 3)});
	EXPECT_EQ(enable({LENS_NONE, 2}, false), -EINVAL);
	EXPECT_EQ(holders(), (std::vector{0, 1, 3}));
	EXPECT_EQ(runlist, LENS_NONE);
	EXPECT_EQ(preempt({LENS_NONE, 1}), -EINVAL);
	EXPECT_EQ(holders(), (std::vector{0, 1, 3}));
	EXPECT_EQ(enable({LENS_NONE, 77}, false), -EINVAL);
	EXPECT_EQ(holders(), std::vector<int>{});
	EXPECT_EQ(enable({1, 2}, false), 0); // named: no other runlist was read
	EXPECT_EQ(holders(), std::vector<int>{});
	EXPECT_TRUE(is_enabled(0, 2) && is_enabled(3, 2));
}

// A runlist that cannot be read is a candidate, too, unless there is more than one anyway.
TEST_P(Holders, RunlistThatCannotBeReadIsACandidate)
{
	load({make_tsg(1, {2}), make_tsg(1, {2}, 1), make_tsg(1, {2}, 3)});
	fail_reads(e.topo().runlists[1].base + 0x88); // NV_RUNLIST_SUBMIT
	EXPECT_EQ(enable({LENS_NONE, 2}, false), -EINVAL);
	EXPECT_EQ(holders(), (std::vector{0, 3}));
	fail_reads(e.topo().runlists[0].base + 0x88);
	EXPECT_EQ(enable({LENS_NONE, 2}, false), -EIO);
	EXPECT_EQ(runlist, LENS_NONE);
	EXPECT_TRUE(is_enabled(0, 2) && is_enabled(1, 2) && is_enabled(3, 2));
}

const auto chip_name = [](const testing::TestParamInfo<const char *> &info) { return std::string(info.param); };
INSTANTIATE_TEST_SUITE_P(Chips, Holders, testing::Values("ga100", "ad102", "gh100"), chip_name);

// A list names channel 222 of a runlist that has 64: its word would be beyond the channel RAM. Found by the fuzz target of
// requests. Seen failing without the limit in control_find_on_runlist(): a write to 0xc42378.
TEST(HoldersByHand, ChannelThatAListNamesBeyondItsRunlistIsNotWritten)
{
	test::Fake f(lens_chip_ga10x);
	f.gpu->topo.n_runlists = 2;
	f.gpu->topo.runlists[0] = {0, 64, 0xc00000, 0xc42000, 1, 0};
	f.gpu->topo.runlists[1] = {1, 2048, 0xc00400, 0xc44000, 2, 0};
	f.set_rows(0xc00080, {0x00010000, 0, 1, 0});
	f.vid[0x10008] = 222; // a channel's entry: ID 11:0 of word 2
	int runlist;
	lens_ref ref{LENS_NONE, 222};
	EXPECT_EQ(lens_channel_enable(f.gpu.get(), &ref, true, &runlist), -EINVAL);
	EXPECT_TRUE(f.writes.empty());
}

} // namespace
