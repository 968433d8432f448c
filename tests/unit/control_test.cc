// SPDX-License-Identifier: GPL-2.0
// Control requests on emulated chips in virtual time: their effects, and what they refuse. Effects are taken from the
// model's run times, engines and memory, never from what the core reads. The model's durations (save 40 us, load 10 us,
// switch 2 us) are its own; time slices are 1.048576 ms (128 << 3) or 8.55638016 s (255 << 15). Time passes only through
// advance() and while the core waits.
#include "support/core/emulated.hpp"
#include "model/host.hpp"

#include <gtest/gtest.h>
#include <functional>

namespace {

using nlohmann::json;
using test::Emulated;

constexpr u64 MS = 1000000, S = 1000000000;
enum Slice { SHORT, LONG };

struct Chip {
	const char *name;
	bool per_runlist;
	u32 ids, runlists;             // ids and runlist ids are below these
	u32 absent_runlist;            // a legal id of no runlist
	u32 window, channel2, preempt; // registers: window, state word of channel 2 on runlist 0, PREEMPT of runlist 0
};

// ids: hw_ccsr_gp106.h, turing/tu104/dev_fifo.ref.txt, ampere/ga100/dev_runlist.ref.txt NV_CHRAM_CHANNEL__SIZE_1;
// runlists: hw_fifo_gp106.h 7, tu104 11, RUNLIST_ID 22:16 of the doorbell; absent ones: Tables II and IV, and profiles
const Chip chips[] = {
	{"gp106", false, 4096, 7, 4, 0x1700, 0x800014, 0x2634},
	{"tu102", false, 4096, 11, 4, 0x1700, 0x800014, 0x2634},
	{"ad102", true, 2048, 128, 7, 0x1700, 0xc40008, 0xc00098},
	{"gh100", true, 2048, 128, 2, 0x10fd40, 0xc40008, 0xc00098},
};

json make_tsg(u32 id, Slice slice, std::initializer_list<u32> channels, int runlist = 0)
{
	json list = json::array();
	for (u32 c : channels)
		list.push_back({{"id", c}});
	return {{"id", id},
		{"runlist", runlist},
		{"timeslice", {{"timeout", slice == LONG ? 255 : 128}, {"scale", slice == LONG ? 15 : 3}}},
		{"channels", list}};
}

json make_processes(std::initializer_list<json> tsgs, const char *page = "4k")
{
	json list = json::array();
	for (const json &t : tsgs)
		list.push_back({{"page_size", page}, {"tsgs", json::array({t})}});
	return {{"processes", list}};
}

class Control : public testing::TestWithParam<Chip> {
protected:
	Control() : e(GetParam().name) { e.emu->set_access_ns(0); }
	void SetUp() override { ASSERT_EQ(e.attach(), 0); }

	void load(const json &scenario)
	{
		e.emu->load_scenario(scenario);
		e.emu->advance(1 * MS); // the first TSG is on by now
		e.emu->take_log();
		e.emu->set_log(true);
	}
	// An id as it is written for runlist 0 of this chip.
	lens_ref ref(u32 id, int runlist = 0) { return {GetParam().per_runlist ? runlist : LENS_NONE, id}; }

	int enable(lens_ref r, bool on) { return lens_channel_enable(e.gpu.get(), &r, on, &runlist); }
	int preempt(lens_ref r) { return lens_tsg_preempt(e.gpu.get(), &r, &runlist); }
	int switch_to(lens_ref r) { return lens_tsg_switch_to(e.gpu.get(), &r, &runlist); }
	int mode(lens_ref r, lens_preemption m) { return lens_channel_set_preemption(e.gpu.get(), &r, m, &runlist); }

	u64 ran(u32 channel, int on = 0)
	{
		json reply = e.emu->control({{"cmd", "runtime"}});
		for (const auto &c : reply["channels"])
			if (c["id"] == channel && c["runlist"] == on)
				return c["ns"];
		ADD_FAILURE() << "no channel " << channel;
		return 0;
	}
	// The TSG on a runlist's first engine, -1 when idle.
	int on_engine(int on = 0)
	{
		for (const auto &r : e.emu->running())
			if (r.runlist == on)
				return r.tsg ? int(*r.tsg) : -1;
		return -2;
	}
	json channel(u32 id, int on = 0)
	{
		json state = e.emu->control({{"cmd", "state"}});
		for (const auto &c : state["channels"])
			if (c["id"] == id && c["runlist"] == on)
				return c;
		ADD_FAILURE() << "no channel " << id;
		return {};
	}
	// Writes of anything but the PRAMIN window; memory counts.
	size_t writes()
	{
		size_t n = 0;
		for (const auto &a : e.emu->take_log())
			n += a.write && a.offset != GetParam().window;
		return n;
	}
	void fault(const json &f)
	{
		json reply = e.emu->control(f);
		EXPECT_EQ(reply["ok"], true) << reply;
	}

	// Every request, for existing objects.
	std::vector<std::pair<const char *, std::function<int()>>> requests()
	{
		return {
			{"enable", [this] { return enable(ref(2), true); }},
			{"disable", [this] { return enable(ref(2), false); }},
			{"preempt", [this] { return preempt(ref(1)); }},
			{"switch_to", [this] { return switch_to(ref(1)); }},
			{"resubmit", [this] { return lens_runlist_resubmit(e.gpu.get(), 0); }},
			{"cilp", [this] { return mode(ref(2), LENS_PREEMPT_CILP); }},
			{"bare disable",
			 [this] {
			return enable({LENS_NONE, 2}, false);
			 }},
			};
	}

	Emulated e;
	int runlist = -2;
};

class IdsOfTheGpu : public Control {};   // up to Turing
class IdsPerRunlist : public Control {}; // from Ampere on
class SinceVolta : public Control {};

/* -- channels -- */

TEST_P(Control, DisabledChannelStopsRunningWhileTheOtherTsgContinues)
{
	load(make_processes({make_tsg(1, SHORT, {2}), make_tsg(2, SHORT, {4})}));
	e.emu->advance(20 * MS);
	ASSERT_EQ(enable(ref(2), false), 0);
	EXPECT_EQ(channel(2)["enabled"], false);
	e.emu->advance(5 * MS); // it keeps the slice that it had
	u64 two = ran(2), four = ran(4);
	EXPECT_GT(two, 8 * MS);
	e.emu->advance(100 * MS);
	EXPECT_EQ(ran(2), two);
	EXPECT_EQ(ran(4) - four, 100000000u); // alone, without a switch

	ASSERT_EQ(enable(ref(2), true), 0);
	EXPECT_EQ(channel(2)["enabled"], true);
	four = ran(4);
	e.emu->advance(100 * MS);
	// In alternation, with 52 us for each switch: 1048576 / 1100576 of the time for the two together.
	EXPECT_NEAR(double(ran(2) - two), 47.6e6, 1.2e6);
	EXPECT_NEAR(double(ran(4) - four), 47.6e6, 1.2e6);
}

TEST_P(Control, DisabledChannelLeavesItsTsgToTheOthers)
{
	load(make_processes({make_tsg(1, SHORT, {2, 3})}));
	e.emu->advance(20 * MS);
	ASSERT_EQ(enable(ref(2), false), 0);
	e.emu->advance(5 * MS);
	u64 two = ran(2), three = ran(3);
	EXPECT_GT(two, 5 * MS);
	e.emu->advance(50 * MS);
	EXPECT_EQ(ran(2), two);
	EXPECT_EQ(ran(3) - three, 50000000u);
}

TEST_P(Control, DisablingAChannelDoesNotAffectOtherRunlists)
{
	load(make_processes({make_tsg(1, SHORT, {2}), make_tsg(8, SHORT, {20}, 1)}));
	ASSERT_EQ(enable(ref(2), false), 0);
	u64 other = ran(20, 1);
	e.emu->advance(10 * MS);
	EXPECT_EQ(ran(20, 1) - other, 10000000u);
	EXPECT_EQ(on_engine(0), -1);
	EXPECT_EQ(on_engine(1), 8);
}

// NEXT is a plain bit, and the faulted bits are cleared by writing back the one that was read (turing/tu104/
// dev_fifo.ref.txt): neither may change.
TEST_P(Control, DisablingKeepsNextAndFaults)
{
	json t = make_tsg(1, SHORT, {2, 3});
	t["channels"][0]["next"] = true;
	t["channels"][0]["eng_faulted"] = true;
	t["channels"][0]["pbdma_faulted"] = true;
	load(make_processes({t}));
	bool faults = std::string(GetParam().name) != "gp106"; // the model's Pascal has none in PCCSR
	for (bool on : {false, true}) {
		ASSERT_EQ(enable(ref(2), on), 0);
		json c = channel(2);
		EXPECT_EQ(c["enabled"], on);
		EXPECT_EQ(c["next"], true);
		EXPECT_EQ(c["faulted"], faults);
	}
	if (faults) {
		const emu::Channel &c = *e.emu->host().channel(*e.emu->host().runlist(0), 2);
		EXPECT_TRUE(c.pbdma_faulted);
		EXPECT_TRUE(c.eng_faulted);
	}
	EXPECT_EQ(channel(3)["enabled"], true);
}

TEST_P(Control, RepeatingADisableOrEnableChangesNothing)
{
	load(make_processes({make_tsg(1, SHORT, {2})}));
	for (bool on : {true, false, false, true}) {
		EXPECT_EQ(enable(ref(2), on), 0);
		EXPECT_EQ(channel(2)["enabled"], on);
	}
}

/* -- TSGs and runlists -- */

TEST_P(Control, PreemptedTsgLeavesTheEngineToTheNext)
{
	load(make_processes({make_tsg(1, LONG, {2}), make_tsg(2, LONG, {4})}));
	ASSERT_EQ(on_engine(), 1);
	ASSERT_EQ(preempt(ref(1)), 0);
	e.emu->advance(1 * MS);
	EXPECT_EQ(on_engine(), 2);     // eight seconds before the end of the time slice
	ASSERT_EQ(preempt(ref(1)), 0); // not on the engine: nothing happens
	e.emu->advance(1 * MS);
	EXPECT_EQ(on_engine(), 2);
	EXPECT_EQ(channel(2)["enabled"], true);
}

TEST_P(Control, SwitchToLeavesOnlyThatTsgRunning)
{
	json two = make_tsg(2, SHORT, {4, 5});
	two["channels"][1]["enabled"] = false;
	load(make_processes({make_tsg(1, LONG, {2, 3}), two, make_tsg(3, SHORT, {6}), make_tsg(8, SHORT, {20}, 1)}));
	ASSERT_EQ(on_engine(), 1);
	ASSERT_EQ(switch_to(ref(2)), 0);
	e.emu->advance(1 * MS);
	EXPECT_EQ(on_engine(), 2);
	u64 one = ran(2) + ran(3), three = ran(6), own = ran(4) + ran(5), other = ran(20, 1);
	e.emu->advance(10 * S);
	EXPECT_EQ(on_engine(), 2);
	EXPECT_EQ(ran(2) + ran(3), one);
	EXPECT_EQ(ran(6), three);
	EXPECT_EQ(ran(4) + ran(5) - own, 10000000000u);
	EXPECT_GT(ran(5), 0u); // it was disabled before
	EXPECT_EQ(ran(20, 1) - other, 10000000000u);
	for (u32 id : {2, 3, 6})
		EXPECT_EQ(channel(id)["enabled"], false) << id;
	for (u32 id : {4, 5})
		EXPECT_EQ(channel(id)["enabled"], true) << id;
	EXPECT_EQ(channel(20, 1)["enabled"], true);
	// and back
	ASSERT_EQ(switch_to(ref(3)), 0);
	e.emu->advance(1 * MS);
	EXPECT_EQ(on_engine(), 3);
}

// Disabling preempts nothing; committing a list again ends the running time slice (ampere/ga100/dev_ram.ref.txt).
TEST_P(Control, ResubmittedRunlistIsCommitted)
{
	load(make_processes({make_tsg(1, LONG, {2}), make_tsg(2, LONG, {4})}));
	ASSERT_EQ(enable(ref(2), false), 0);
	e.emu->advance(100 * MS);
	ASSERT_EQ(on_engine(), 1);
	auto &rl = *e.emu->host().runlist(0);
	u64 base = rl.base.addr, length = rl.length, submits = rl.submits;
	ASSERT_EQ(lens_runlist_resubmit(e.gpu.get(), 0), 0);
	EXPECT_FALSE(rl.submit_pending); // waited for
	EXPECT_EQ(rl.submits, submits + 1);
	EXPECT_EQ(rl.base.addr, base);
	EXPECT_EQ(rl.length, length);
	e.emu->advance(1 * MS);
	EXPECT_EQ(on_engine(), 2);
	EXPECT_FALSE(e.emu->host().runlist(1)->submit_pending);
}

TEST_P(Control, RunlistThatWasNeverSubmittedCannotBeResubmitted)
{
	load(make_processes({make_tsg(1, LONG, {2})}));
	EXPECT_EQ(lens_runlist_resubmit(e.gpu.get(), 1), -ENOENT);
	EXPECT_EQ(writes(), 0u);
}

TEST_P(SinceVolta, PreemptedRunlistGoesOnWithTheNextTsg)
{
	load(make_processes({make_tsg(1, LONG, {2}), make_tsg(2, LONG, {4}), make_tsg(8, LONG, {20}, 1),
			     make_tsg(9, LONG, {21}, 1)}));
	ASSERT_EQ(on_engine(), 1);
	ASSERT_EQ(lens_runlist_preempt(e.gpu.get(), 0), 0);
	e.emu->advance(1 * MS);
	EXPECT_EQ(on_engine(0), 2);
	EXPECT_EQ(on_engine(1), 8); // untouched
}

TEST(Gp106Control, HasNoPreemptionOfRunlists)
{
	Emulated e("gp106");
	ASSERT_EQ(e.attach(), 0);
	e.emu->set_log(true);
	EXPECT_EQ(lens_runlist_preempt(e.gpu.get(), 0), -EOPNOTSUPP);
	EXPECT_EQ(lens_runlist_preempt(e.gpu.get(), 99), -EOPNOTSUPP);
	EXPECT_TRUE(e.emu->take_log().empty());
}

/* -- preemption modes -- */

// NV_CTXSW_MAIN_IMAGE_GRAPHICS_PREEMPTION_OPTIONS 0 WFI, 1 GFXP; COMPUTE 0 WFI, 1 CTA, 2 CILP; and the counters of
// saves by kind at 0xd0 WFI, 0xd4 CTA, 0xd8 GFXP, 0xdc CILP: open-gpu-doc turing/tu104/dev_ctxsw.ref.txt.
TEST_P(Control, PreemptionModeDecidesHowTheContextIsSaved)
{
	const struct {
		lens_preemption mode;
		u32 graphics, compute, counter;
	} rows[] = {{LENS_PREEMPT_WFI, 0, 0, 0xd0}, {LENS_PREEMPT_CTA, 1, 1, 0xd4}, {LENS_PREEMPT_CILP, 0, 2, 0xdc}};
	for (const char *page : {"4k", "64k", "2m"})
		for (const auto &r : rows) {
			json one = make_tsg(1, SHORT, {2});
			one["graphics_preemption"] = "gfxp";
			load(make_processes({one, make_tsg(2, SHORT, {4})}, page));
			ASSERT_EQ(mode(ref(2), r.mode), 0) << page;
			json c = channel(2);
			EXPECT_EQ(c["graphics_preemption"], r.graphics) << r.mode;
			EXPECT_EQ(c["compute_preemption"], r.compute) << r.mode;
			EXPECT_EQ(channel(4)["graphics_preemption"], 0); // another context
			EXPECT_EQ(channel(4)["compute_preemption"], 0);
			u64 context_image = c["context"];
			e.emu->advance(10 * MS);
			for (u32 at : {0xd0, 0xd4, 0xd8, 0xdc}) {
				u32 before = e.emu->vidmem().rd32(context_image + at);
				e.emu->advance(10 * MS);
				EXPECT_EQ(e.emu->vidmem().rd32(context_image + at) > before, at == r.counter)
					<< page << " " << r.mode << " " << std::hex << at;
			}
		}
}

TEST_P(Control, ChannelWithoutAGraphicsContextHasNoPreemptionMode)
{
	load(make_processes({make_tsg(1, SHORT, {2}), make_tsg(8, SHORT, {20}, 1)}));
	e.emu->vidmem().wr32(132 * 4, 0x00005004); // a block at address 0 would have a context, mapped to nothing
	EXPECT_EQ(mode(ref(20, 1), LENS_PREEMPT_CTA), -ENOENT);
	EXPECT_EQ(mode(ref(99), LENS_PREEMPT_CTA), -ENOENT); // no such channel
	EXPECT_EQ(mode(ref(GetParam().ids), LENS_PREEMPT_CTA), -ERANGE);
	EXPECT_EQ(writes(), 0u);
}

// NV_CTXSW_MAIN_IMAGE_MAGIC_VALUE_1 0xfc: 0x600dc0de. RAMIN words 132, 133: where the context is.
TEST_P(Control, NothingIsWrittenWhereNoContextImageIs)
{
	load(make_processes({make_tsg(1, LONG, {2}), make_tsg(2, LONG, {4})}));
	json c = channel(2);
	u64 context_image = c["context"], inst = c["inst"];
	e.emu->vidmem().wr32(context_image + 0xfc, 0x600dc0df);
	EXPECT_EQ(mode(ref(2), LENS_PREEMPT_CILP), -EOPNOTSUPP);
	EXPECT_EQ(e.emu->vidmem().rd32(context_image + 0x84), 0u);
	e.emu->vidmem().wr32(context_image + 0xfc, 0x600dc0de);
	EXPECT_EQ(mode(ref(2), LENS_PREEMPT_CILP), 0);
	e.emu->take_log();

	e.emu->vidmem().wr32(inst + 132 * 4, 0x00005004); // virtual, and mapped to nothing
	EXPECT_EQ(mode(ref(2), LENS_PREEMPT_CTA), -EIO);
	e.emu->vidmem().wr32(inst + 132 * 4, 0x00005001); // TARGET 1 is invalid
	EXPECT_EQ(mode(ref(2), LENS_PREEMPT_CTA), -EIO);
	e.emu->vidmem().wr32(inst + 132 * 4, 0);
	e.emu->vidmem().wr32(inst + 133 * 4, 0);
	EXPECT_EQ(mode(ref(2), LENS_PREEMPT_CTA), -ENOENT);
	EXPECT_EQ(writes(), 0u);
	EXPECT_EQ(e.emu->vidmem().rd32(context_image + 0x84), 2u);
}

// Since Volta the instance block points at a per-VEID header (CTL 0xc TYPE 0x21), which points at the context image;
// without a header it points at the context image itself. The driver part puts the header one page behind the image.
TEST_P(SinceVolta, ContextImageWithoutAHeaderIsFound)
{
	load(make_processes({make_tsg(1, LONG, {2})}));
	json c = channel(2);
	u64 context_image = c["context"], pointer = u64(c["inst"]) + 132 * 4;
	e.emu->vidmem().wr32(pointer, e.emu->vidmem().rd32(pointer) - 0x1000);
	ASSERT_EQ(mode(ref(2), LENS_PREEMPT_CILP), 0);
	EXPECT_EQ(e.emu->vidmem().rd32(context_image + 0x84), 2u);
}

// NV_RAMIN_USE_VER2_PT_FORMAT, word 128 bit 10: without it Pascal's tables are read as version 1, under which these do
// not map the context.
TEST(Gp106Control, ContextThatTheTablesDoNotMapIsRefused)
{
	Emulated e("gp106");
	ASSERT_EQ(e.attach(), 0);
	e.emu->load_scenario(make_processes({make_tsg(1, LONG, {2})}));
	json state = e.emu->control({{"cmd", "state"}});
	u64 inst = state["channels"][0]["inst"];
	e.emu->vidmem().wr32(inst + 128 * 4, e.emu->vidmem().rd32(inst + 128 * 4) & ~0x400u);
	lens_ref r{LENS_NONE, 2};
	int runlist;
	EXPECT_EQ(lens_channel_set_preemption(e.gpu.get(), &r, LENS_PREEMPT_CTA, &runlist), -EIO);
}

/* -- the runlist of an id -- */

TEST_P(IdsOfTheGpu, TakeNoRunlist)
{
	load(make_processes({make_tsg(1, LONG, {2}), make_tsg(8, LONG, {20}, 1)}));
	EXPECT_EQ(enable({0, 2}, false), -EINVAL);
	EXPECT_EQ(preempt({0, 1}), -EINVAL);
	EXPECT_EQ(switch_to({0, 1}), -EINVAL);
	EXPECT_EQ(mode({0, 2}, LENS_PREEMPT_CTA), -EINVAL);
	EXPECT_EQ(writes(), 0u);
	EXPECT_EQ(enable({LENS_NONE, 20}, false), 0); // on whatever runlist
	EXPECT_EQ(runlist, LENS_NONE);
	EXPECT_EQ(channel(20, 1)["enabled"], false);
	EXPECT_EQ(preempt({LENS_NONE, 8}), 0);
}

TEST_P(IdsPerRunlist, BareIdIsTakenWhenOneRunlistHoldsItAndRefusedWhenTwoOrNoneDo)
{
	load(make_processes({make_tsg(1, LONG, {2}), make_tsg(5, LONG, {4, 6}), make_tsg(1, LONG, {2}, 1),
			     make_tsg(7, LONG, {9}, 1)}));
	// held by both runlists
	EXPECT_EQ(enable({LENS_NONE, 2}, false), -EINVAL);
	EXPECT_EQ(preempt({LENS_NONE, 1}), -EINVAL);
	EXPECT_EQ(switch_to({LENS_NONE, 1}), -EINVAL);
	EXPECT_EQ(mode({LENS_NONE, 2}, LENS_PREEMPT_CTA), -EINVAL);
	// held by none
	EXPECT_EQ(enable({LENS_NONE, 77}, false), -EINVAL);
	EXPECT_EQ(preempt({LENS_NONE, 77}), -ENOENT);
	EXPECT_EQ(switch_to({LENS_NONE, 77}), -ENOENT);
	EXPECT_EQ(writes(), 0u);
	// held by one
	EXPECT_EQ(enable({LENS_NONE, 4}, false), 0);
	EXPECT_EQ(runlist, 0);
	EXPECT_EQ(channel(4)["enabled"], false);
	EXPECT_EQ(enable({LENS_NONE, 9}, false), 0);
	EXPECT_EQ(runlist, 1);
	EXPECT_EQ(channel(9, 1)["enabled"], false);
	EXPECT_EQ(preempt({LENS_NONE, 7}), 0);
	EXPECT_EQ(runlist, 1);
	// a disabled channel is found through the list that it stands on
	EXPECT_EQ(enable({LENS_NONE, 9}, true), 0);
	EXPECT_EQ(runlist, 1);
	EXPECT_EQ(channel(9, 1)["enabled"], true);
	// one that is enabled but on no list through its channel word; runlist 3 exists on both chips
	u32 word = e.emu->host().runlist(3)->info.chram_base + 4 * 500;
	e.emu->poke_register(word, 2);
	EXPECT_EQ(enable({LENS_NONE, 500}, false), 0);
	EXPECT_EQ(runlist, 3);
	EXPECT_EQ(e.emu->peek_register(word) & 2, 0u);
}

TEST_P(IdsPerRunlist, SameIdOnAnotherRunlistIsLeftAlone)
{
	load(make_processes({make_tsg(1, LONG, {2}), make_tsg(3, LONG, {4}), make_tsg(1, LONG, {2}, 1),
			     make_tsg(3, LONG, {4}, 1)}));
	ASSERT_EQ(enable({1, 2}, false), 0);
	EXPECT_EQ(channel(2, 0)["enabled"], true);
	EXPECT_EQ(channel(2, 1)["enabled"], false);
	ASSERT_EQ(preempt({0, 1}), 0);
	e.emu->advance(1 * MS);
	EXPECT_EQ(on_engine(0), 3);
	EXPECT_EQ(on_engine(1), 1);
	ASSERT_EQ(switch_to({1, 3}), 0);
	e.emu->advance(1 * MS);
	EXPECT_EQ(on_engine(1), 3);
	EXPECT_EQ(channel(2, 0)["enabled"], true);
	EXPECT_EQ(channel(4, 0)["enabled"], true);
}

/* -- refusals -- */

TEST_P(Control, IdsBeyondTheChipAreOutOfRange)
{
	const Chip &c = GetParam();
	load(make_processes({make_tsg(1, LONG, {2})}));
	for (u32 id : {c.ids, c.ids + 1, 65536u, 0x80000002u, 0xffffffffu}) {
		EXPECT_EQ(enable({LENS_NONE, id}, false), -ERANGE) << id;
		EXPECT_EQ(enable(ref(id), false), -ERANGE) << id;
		EXPECT_EQ(preempt({LENS_NONE, id}), -ERANGE) << id;
		EXPECT_EQ(preempt(ref(id)), -ERANGE) << id;
		EXPECT_EQ(switch_to(ref(id)), -ERANGE) << id;
		EXPECT_EQ(mode(ref(id), LENS_PREEMPT_WFI), -ERANGE) << id;
	}
	for (u32 rl : {c.runlists, 65536u, 0x7fffffffu, 0xffffffffu}) {
		EXPECT_EQ(lens_runlist_resubmit(e.gpu.get(), rl), -ERANGE) << rl;
		EXPECT_EQ(lens_runlist_preempt(e.gpu.get(), rl), std::string(c.name) == "gp106" ? -EOPNOTSUPP : -ERANGE)
			<< rl;
		EXPECT_EQ(enable({int(rl & 0x7fffffff), 2}, false), c.per_runlist ? -ERANGE : -EINVAL) << rl;
	}
	EXPECT_EQ(writes(), 0u);
	EXPECT_EQ(e.emu->peek_register(c.window), 0u);
}

TEST_P(Control, MissingObjectsAreNotFound)
{
	const Chip &c = GetParam();
	load(make_processes({make_tsg(1, LONG, {2})}));
	EXPECT_EQ(preempt(ref(99)), -ENOENT);
	EXPECT_EQ(preempt(ref(2)), -ENOENT); // a channel, not a TSG
	EXPECT_EQ(switch_to(ref(99)), -ENOENT);
	EXPECT_EQ(preempt(ref(c.ids - 1)), -ENOENT);
	EXPECT_EQ(lens_runlist_resubmit(e.gpu.get(), c.absent_runlist), -ENOENT);
	if (c.per_runlist) {
		EXPECT_EQ(preempt({int(c.absent_runlist), 1}), -ENOENT);
		EXPECT_EQ(enable({int(c.absent_runlist), 2}, false), -ENOENT);
		EXPECT_EQ(preempt({1, 1}), -ENOENT);
	} else {
		EXPECT_EQ(enable(ref(99), true), -ENOENT); // bound to no instance block: unused
		EXPECT_EQ(enable(ref(99), false), -ENOENT);
	}
	EXPECT_EQ(writes(), 0u);
	EXPECT_EQ(channel(2)["enabled"], true);
	EXPECT_EQ(on_engine(), 1);
}

TEST_P(Control, PreemptThatHangsTimesOut)
{
	load(make_processes({make_tsg(1, LONG, {2}), make_tsg(2, LONG, {4})}));
	fault({{"cmd", "fault"}, {"kind", "preempt-hangs"}});
	u64 before = e.emu->now();
	EXPECT_EQ(preempt(ref(1)), -ETIMEDOUT);
	EXPECT_GE(e.emu->now() - before, 1 * S);
	EXPECT_LE(e.emu->now() - before, 2 * S);
	EXPECT_EQ(writes(), 1u); // written once
	fault({{"cmd", "fault"}, {"kind", "none"}});
	e.emu->advance(1 * MS);
	EXPECT_EQ(preempt(ref(2)), 0);
}

TEST_P(Control, RemovedGpuIsNoDeviceAndIsNotWritten)
{
	load(make_processes({make_tsg(1, LONG, {2})}));
	fault({{"cmd", "fault"}, {"kind", "all-ones"}});
	for (auto &[name, request] : requests()) {
		EXPECT_EQ(request(), -ENODEV) << name;
		size_t n = writes();
		// Chips whose disable is one write without a read before it have that one write, which has no effect.
		EXPECT_LE(n, GetParam().per_runlist && std::string(name).find("able") != std::string::npos ? 1u : 0u)
			<< name;
	}
	EXPECT_EQ(test::Snap(e, 0).err, -ENODEV);
	Emulated fresh(GetParam().name);
	fresh.emu->control({{"cmd", "fault"}, {"kind", "all-ones"}});
	EXPECT_EQ(fresh.attach(), -ENODEV);
}

TEST_P(Control, BadReadOfAChannelWordIsAnIoError)
{
	load(make_processes({make_tsg(1, LONG, {2})}));
	fault({{"cmd", "fault"}, {"kind", "bad-read"}, {"off", GetParam().channel2}, {"value", 0xbadf5040}});
	EXPECT_EQ(enable(ref(2), false), -EIO);
	if (!GetParam().per_runlist) {
		EXPECT_EQ(writes(), 0u); // it reads first
		EXPECT_EQ(channel(2)["enabled"], true);
	}
	test::Snap snap(e, 0); // reading continues; that channel has an error instead of a state
	EXPECT_EQ(snap.err, 0);
	EXPECT_EQ(snap.snap.n, 2u);
	EXPECT_EQ(snap.snap.err[1], -EIO);
	fault({{"cmd", "fault"}, {"kind", "bad-read"}, {"off", GetParam().channel2}, {"value", 0xbad00100}});
	EXPECT_EQ(enable(ref(2), false), -EIO);
	fault({{"cmd", "fault"}, {"kind", "bad-read"}, {"off", GetParam().channel2}, {"value", 0xffffffff}});
	EXPECT_EQ(enable(ref(2), false), -EIO); // all ones of one register while the GPU is there
}

TEST_P(Control, BadReadOfThePreemptRegisterIsAnIoError)
{
	load(make_processes({make_tsg(1, LONG, {2})}));
	fault({{"cmd", "fault"}, {"kind", "bad-read"}, {"off", GetParam().preempt}});
	EXPECT_EQ(preempt(ref(1)), -EIO);
}

TEST_P(Control, EnableWithoutEffectIsAnIoError)
{
	load(make_processes({make_tsg(1, LONG, {2})}));
	// The word keeps its value, enabled or not, whatever is written.
	u32 enabled = GetParam().per_runlist ? 2 : 1;
	fault({{"cmd", "fault"}, {"kind", "bad-read"}, {"off", GetParam().channel2}, {"value", enabled}});
	EXPECT_EQ(enable(ref(2), false), -EIO);
	EXPECT_EQ(enable(ref(2), true), 0);
	fault({{"cmd", "fault"}, {"kind", "bad-read"}, {"off", GetParam().channel2}, {"value", 0}});
	EXPECT_EQ(enable(ref(2), true), -EIO);
}

const auto chip_name = [](const testing::TestParamInfo<Chip> &info) { return std::string(info.param.name); };
INSTANTIATE_TEST_SUITE_P(Chips, Control, testing::ValuesIn(chips), chip_name);
INSTANTIATE_TEST_SUITE_P(Chips, IdsOfTheGpu, testing::Values(chips[0], chips[1]), chip_name);
INSTANTIATE_TEST_SUITE_P(Chips, IdsPerRunlist, testing::Values(chips[2], chips[3]), chip_name);
INSTANTIATE_TEST_SUITE_P(Chips, SinceVolta, testing::Values(chips[1], chips[2], chips[3]), chip_name);

} // namespace
