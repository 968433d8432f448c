// SPDX-License-Identifier: GPL-2.0
// tsg_timeslice on emulated chips of every generation: the words that it writes, the resulting run times, and what it
// refuses. Time slices: 128 << 3 units are 1.048576 ms, 255 << 15 are 8.55638016 s, 1000 us are 244 << 2 units: 0.999424
// ms. Time passes only through advance() and while the core waits.
#include "support/core/emulated.hpp"
#include "model/host.hpp"

#include <gtest/gtest.h>

namespace {

using nlohmann::json;
using test::Emulated;

constexpr u64 MS = 1000000;

struct Chip {
	const char *name;
	bool per_runlist;
	u32 entry; // bytes
	u32 ids;   // TSG ids are below this
	bool sys;  // runlists in the machine's memory
};

json make_tsg(u32 id, u32 timeout, u32 scale, std::initializer_list<u32> channels, int runlist = 0)
{
	json list = json::array();
	for (u32 c : channels)
		list.push_back({{"id", c}});
	return {{"id", id},
		{"runlist", runlist},
		{"timeslice", {{"timeout", timeout}, {"scale", scale}}},
		{"channels", list}};
}

class Timeslices : public testing::TestWithParam<Chip> {
public:
	// As a driver does: the same list at another address.
	void replace()
	{
		emu::Phys to{list().base.ap, list().base.addr + 0x10000};
		std::vector<u32> all = words();
		for (u32 i = 0; i < all.size(); i++)
			e.emu->memories().wr32({to.ap, to.addr + 4 * i}, all[i]);
		submit(to, list().length);
	}

protected:
	Timeslices() : e(GetParam().name)
	{
		e.emu->set_access_ns(0);
		e.give_system_memory();
	}
	void SetUp() override { ASSERT_EQ(e.attach(), 0); }

	void load(std::initializer_list<json> tsgs)
	{
		json list = json::array();
		for (const json &t : tsgs)
			list.push_back({{"tsgs", json::array({t})}});
		json scenario = {{"processes", list}};
		if (GetParam().sys)
			scenario["memory"] = {{"runlists", "sys"}};
		e.emu->load_scenario(scenario);
		e.emu->advance(1 * MS); // the first TSG is on by now
		e.emu->take_log();
		e.emu->set_log(true);
	}
	// TSG 1 with channels 2 and 3 and the longest slice, TSG 2 with channel 4.
	void load_two() { load({make_tsg(1, 255, 15, {2, 3}), make_tsg(2, 128, 3, {4})}); }

	lens_ref ref(u32 id, int on = 0) { return {GetParam().per_runlist ? on : LENS_NONE, id}; }
	int set(lens_ref r, u32 us) { return lens_tsg_set_timeslice(e.gpu.get(), &r, us, &runlist); }

	emu::Runlist &list(int on = 0) { return *e.emu->host().runlist(on); }
	// The n-th word of 32 bits of the list that was submitted last.
	u32 word(u32 n) { return e.emu->memories().rd32({list().submit_base.ap, list().submit_base.addr + 4 * n}); }
	std::vector<u32> words()
	{
		std::vector<u32> all;
		for (u32 i = 0; i < list().submit_length * GetParam().entry / 4; i++)
			all.push_back(word(i));
		return all;
	}
	void submit(emu::Phys base, u32 entries)
	{
		u32 target = base.ap == emu::Aperture::Vid ? 0 : 2;
		auto wr = [this](u32 off, u32 v) { e.emu->write(0, off, 4, v); };
		if (GetParam().per_runlist || std::string(GetParam().name).substr(0, 2) == "tu") {
			u32 at = GetParam().per_runlist ? e.topo().runlists[0].base + 0x80 : 0x2b00;
			wr(at, u32(base.addr) | target);
			wr(at + 4, u32(base.addr >> 32));
			wr(at + 8, entries);
		} else {
			wr(0x2270, u32(base.addr >> 12) | target << 28);
			wr(0x2274, entries);
		}
	}
	u64 ran(u32 tsg_id)
	{
		json reply = e.emu->control({{"cmd", "runtime"}});
		for (const auto &t : reply["tsgs"])
			if (t["id"] == tsg_id && t["runlist"] == 0)
				return t["ns"];
		return 0;
	}
	size_t writes()
	{
		size_t n = 0;
		for (const auto &a : e.emu->take_log())
			n += a.write && a.offset != e.gpu->chip->window.reg;
		return n;
	}

	Emulated e;
	int runlist = -2;
};

class WithTsgs : public Timeslices {};   // chips whose lists have TSGs
class PerRunlist : public Timeslices {}; // ids count per runlist
class OfTheGpu : public Timeslices {};   // ids count per GPU

// linux-nvgpu hw_ram_gp106.h: id 11:0, TSG 13, scale 17:14, timeout 25:18, length 31:26. open-gpu-doc volta/gv100,
// turing/tu104, ampere/ga100 dev_ram.ref.txt: TYPE 0.0, SCALE 0.19:16, TIMEOUT 0.31:24, LENGTH 1.7:0, TSGID 2.11:0.
// Seen failing with the old word stored back.
TEST_P(WithTsgs, OneWordOfTheListChangesAndTheTimeSliceApplies)
{
	load_two();
	e.emu->advance(100 * MS);
	ASSERT_EQ(ran(2), 0u); // TSG 1 has the engine for eight seconds
	std::vector<u32> expected = words();
	ASSERT_EQ(expected[0], GetParam().entry == 8 ? 0x0bffe001u : 0xff0f0001u);
	u64 base = list().base.addr, submits = list().submits;

	ASSERT_EQ(set(ref(1), 1000), 0);
	EXPECT_EQ(runlist, GetParam().per_runlist ? 0 : LENS_NONE);
	expected[0] = GetParam().entry == 8 ? 0x0bd0a001u : 0xf4020001u;
	EXPECT_EQ(words(), expected);
	EXPECT_EQ(list().submits, submits + 1);
	EXPECT_FALSE(list().submit_pending);
	EXPECT_EQ(list().base.addr, base);
	EXPECT_EQ(list().length, 5u);
	EXPECT_EQ(e.emu->peek_register(e.gpu->chip->window.reg), 0u); // the window was restored

	u64 before = ran(1);
	e.emu->advance(100 * MS);
	// 0.999424 and 1.048576 ms in alternation; the time of a switch is small beside them.
	EXPECT_NEAR(double(ran(1) - before), 46.5e6, 2.5e6);
	EXPECT_NEAR(double(ran(2)), 48.8e6, 2.5e6);
}

// nvgpu gives a TSG more slots by listing it more often (common/fifo/runlist.c): each of its entries has a time slice.
// Seen failing with the walk ending at the first entry.
TEST_P(WithTsgs, EveryEntryOfTheTsgIsRewritten)
{
	load_two();
	const u32 n = GetParam().entry / 4;
	std::vector<u32> twice = words();
	twice.insert(twice.end(), twice.begin(), twice.begin() + 3 * n); // TSG 1 and its channels once more
	emu::Phys to{list().base.ap, list().base.addr + 0x10000};
	for (u32 i = 0; i < twice.size(); i++)
		e.emu->memories().wr32({to.ap, to.addr + 4 * i}, twice[i]);
	submit(to, 8);
	e.emu->advance(1 * MS);
	ASSERT_EQ(list().base.addr, to.addr);
	ASSERT_EQ(words(), twice);

	e.stops = 0;
	ASSERT_EQ(set(ref(1), 1000), 0);
	twice[0] = twice[5 * n] = GetParam().entry == 8 ? 0x0bd0a001u : 0xf4020001u;
	EXPECT_EQ(words(), twice);
	if (!GetParam().sys)
		EXPECT_EQ(e.stops, 2u); // each is read and written in one stop of the machine
}

TEST_P(WithTsgs, OtherRunlistsAreNotChanged)
{
	if (e.topo().n_runlists < 2)
		GTEST_SKIP() << "it has one runlist";
	int other = e.topo().runlists[1].id;
	load({make_tsg(1, 128, 3, {2}), make_tsg(9, 128, 3, {20}, other)});
	u64 submits = list(other).submits;
	ASSERT_EQ(set(ref(1), 5), 0);
	EXPECT_EQ(list(other).submits, submits);
	EXPECT_EQ(set(ref(9, other), 5000), 0);
	EXPECT_EQ(list(other).submits, submits + 1);
	EXPECT_EQ(list(other).list.tsgs[0].timeslice_ns(), 5013504u); // 153 << 5 units
	EXPECT_EQ(list().list.tsgs[0].timeslice_ns(), 5120u);         // 5 units
}

/* -- refusals -- */

TEST_P(WithTsgs, ImpossibleTimeSliceIsRefusedWithoutAnAccess)
{
	load_two();
	for (u32 us : {0u, 8556381u, 0xffffffffu})
		EXPECT_EQ(set(ref(1), us), -ERANGE) << us;
	EXPECT_TRUE(e.emu->take_log().empty());
}

TEST_P(Timeslices, TsgThatIsNotListedIsNotFound)
{
	load_two();
	std::vector<u32> before = words();
	EXPECT_EQ(set(ref(99), 1000), -ENOENT);
	EXPECT_EQ(set(ref(4), 1000), -ENOENT); // a channel
	EXPECT_EQ(set(ref(GetParam().ids), 1000), -ERANGE);
	EXPECT_EQ(set({LENS_NONE, GetParam().ids}, 1000), -ERANGE);
	EXPECT_EQ(words(), before);
	EXPECT_EQ(writes(), 0u);
}

TEST_P(OfTheGpu, TakesNoRunlist)
{
	load_two();
	EXPECT_EQ(set({0, 1}, 1000), -EINVAL);
	EXPECT_EQ(writes(), 0u);
}

TEST_P(PerRunlist, BareIdThatTwoRunlistsHoldIsRefused)
{
	load({make_tsg(1, 128, 3, {2}), make_tsg(5, 128, 3, {3}), make_tsg(1, 128, 3, {20}, 1)});
	EXPECT_EQ(set({LENS_NONE, 1}, 1000), -EINVAL);
	EXPECT_EQ(set({127, 1}, 1000), -ENOENT);
	EXPECT_EQ(set({128, 1}, 1000), -ERANGE);
	EXPECT_EQ(writes(), 0u);
	EXPECT_EQ(set({LENS_NONE, 5}, 1000), 0);
	EXPECT_EQ(runlist, 0);
	EXPECT_EQ(set({1, 1}, 1000), 0);
	EXPECT_EQ(runlist, 1);
	EXPECT_EQ(list(1).list.tsgs[0].timeslice_ns(), 999424u);
	EXPECT_EQ(list(0).list.tsgs[0].timeslice_ns(), 1048576u);
}

// A list that is submitted but not committed may be replaced again, because the driver is changing it. Seen failing
// without the check of the pending bit.
TEST_P(WithTsgs, ListThatIsNotCommittedYetIsBusy)
{
	load_two();
	std::vector<u32> before = words();
	submit(list().base, 5);
	ASSERT_TRUE(list().submit_pending);
	e.emu->take_log();
	EXPECT_EQ(set(ref(1), 1000), -EBUSY);
	EXPECT_EQ(writes(), 0u);
	EXPECT_EQ(words(), before);
	e.emu->advance(1 * MS);
	EXPECT_EQ(set(ref(1), 1000), 0);
}

// A driver that replaces the list at every k-th read of it: in another buffer, with 0x5a written to the old one, or in
// place, with its first TSG last. Whatever the request returns: the list still has these two TSGs and their channels, only
// TSG 1 changes, and nothing is written to the old list. Seen failing without the second check of the entry in rewrite().
TEST_P(WithTsgs, ListThatMovesMeanwhileIsNeverCorrupted)
{
	int done = 0, busy = 0;
	for (int how = 0; how < 3; how++)
		for (int every = 1; every <= 60; every++) {
			const bool in_place = how > 0;
			e.emu->set_access_ns(0);
			load_two();
			// 3 us: a list that is replaced during one read is committed (20 us) by the next, but not within one.
			e.emu->set_access_ns(how == 2 ? 3000 : 0);
			emu::Phys first = list().base;
			json fault = {{"cmd", "fault"},
				      {"kind", "torn"},
				      {"runlist", 0},
				      {"every", every},
				      {"in_place", in_place}};
			ASSERT_EQ(e.emu->control(fault)["ok"], true);
			int err = set(ref(1), 1000);
			done += !err;
			busy += err == -EBUSY;
			// EIO: the list moved while the word was read back.
			EXPECT_TRUE(!err || err == -EBUSY || err == -EIO || err == -ENOENT) << err;
			e.emu->control({{"cmd", "fault"}, {"kind", "none"}});
			e.emu->advance(1 * MS);
			ASSERT_EQ(list().list.error, 0u) << every;
			ASSERT_EQ(list().list.tsgs.size(), 2u) << every;
			for (const auto &t : list().list.tsgs) {
				ASSERT_TRUE(t.id == 1 || t.id == 2) << every;
				ASSERT_EQ(t.channels.size(), t.id == 1 ? 2u : 1u) << every;
				EXPECT_EQ(t.channels[0].id, t.id == 1 ? 2u : 4u) << every;
				if (t.id == 2) {
					EXPECT_EQ(t.timeslice_ns(), 1048576u) << every;
				} else if (!err) {
					EXPECT_EQ(t.timeslice_ns(), 999424u) << every;
				} else {
					EXPECT_TRUE(t.timeslice_ns() == 999424u || t.timeslice_ns() == 8556380160u)
						<< every;
				}
			}
			if (list().base.addr == first.addr)
				continue;
			for (u32 i = 0; i < 5 * GetParam().entry / 4; i++)
				ASSERT_EQ(e.emu->memories().rd32({first.ap, first.addr + 4 * i}), 0x5a5a5a5au) << every;
		}
	EXPECT_GT(done, 0);
	// The emulator does not see reads of system memory, and moves nothing then.
	EXPECT_EQ(busy > 0, !GetParam().sys);
}

// The same, but the old list is unchanged: the time slice would be lost, and the driver's list submitted once more. Seen
// failing without the second check of the registers in rewrite().
TEST_P(WithTsgs, ReplacedListIsNotWritten)
{
	static Timeslices *test;
	static const lens_io_ops *good;
	static int copies;
	load_two();
	std::vector<u32> before = words();
	emu::Phys old = list().base;
	test = this, good = e.io()->ops, copies = 0;
	lens_io_ops ops = *good;
	ops.copy = [](lens_io *io, lens_aperture ap, u64 addr, u64 *dst, u32 n) {
		if (++copies == 3) // after the list was read twice
			test->replace();
		return good->copy(io, ap, addr, dst, n);
	};
	e.io()->ops = &ops;
	EXPECT_EQ(set(ref(1), 1000), -EBUSY);
	e.io()->ops = good;
	EXPECT_EQ(copies, 3);
	EXPECT_NE(list().submit_base.addr, old.addr);
	EXPECT_EQ(words(), before);
	for (u32 i = 0; i < before.size(); i++)
		EXPECT_EQ(e.emu->memories().rd32({old.ap, old.addr + 4 * i}), before[i]);
}

TEST_P(WithTsgs, StoreWithoutEffectIsAnErrorAndNothingIsSubmitted)
{
	load_two();
	lens_io_ops ops = *e.io()->ops;
	ops.store32 = [](lens_io *, lens_aperture, u64, u32) { return -EIO; };
	const lens_io_ops *good = e.io()->ops;
	e.io()->ops = &ops;
	u64 submits = list().submits;
	EXPECT_EQ(set(ref(1), 1000), -EIO);
	e.io()->ops = good;
	EXPECT_EQ(list().submits, submits);
}

TEST_P(WithTsgs, RemovedGpuIsNoDevice)
{
	load_two();
	e.emu->control({{"cmd", "fault"}, {"kind", "all-ones"}});
	EXPECT_EQ(set(ref(1), 1000), -ENODEV);
	EXPECT_EQ(writes(), 0u);
}

// gk104 lists channels and no TSGs; ids as in chips_test.cc and generations_test.cc
constexpr Chip NO_TSGS = {"gk104", false, 8, 4096, false};
constexpr Chip GPU_IDS[] = {
	{"gk110", false, 8, 4096, false},  {"gm204", false, 8, 4096, false},  {"gp106", false, 8, 4096, false},
	{"gv100", false, 16, 4096, false}, {"tu102", false, 16, 4096, false}, {"gp106", false, 8, 4096, true},
	{"gm20b", false, 8, 4096, true},   {"gp10b", false, 8, 4096, true},   {"gv11b", false, 16, 4096, true},
	{"tu102", false, 16, 4096, true},
};
constexpr Chip RUNLIST_IDS[] = {
	{"ga100", true, 16, 2048, false}, {"ad102", true, 16, 2048, false}, {"gh100", true, 16, 2048, false},
	{"gb100", true, 16, 2048, false}, {"ad102", true, 16, 2048, true},  {"ga10b", true, 16, 2048, true},
};
const auto chip_name = [](const testing::TestParamInfo<Chip> &info) {
	return std::string(info.param.name) + (info.param.sys ? "_sys" : "");
};
INSTANTIATE_TEST_SUITE_P(NoTsgs, Timeslices, testing::Values(NO_TSGS), chip_name);
INSTANTIATE_TEST_SUITE_P(GpuIds, Timeslices, testing::ValuesIn(GPU_IDS), chip_name);
INSTANTIATE_TEST_SUITE_P(RunlistIds, Timeslices, testing::ValuesIn(RUNLIST_IDS), chip_name);
INSTANTIATE_TEST_SUITE_P(GpuIds, WithTsgs, testing::ValuesIn(GPU_IDS), chip_name);
INSTANTIATE_TEST_SUITE_P(RunlistIds, WithTsgs, testing::ValuesIn(RUNLIST_IDS), chip_name);
INSTANTIATE_TEST_SUITE_P(GpuIds, OfTheGpu, testing::ValuesIn(GPU_IDS), chip_name);
INSTANTIATE_TEST_SUITE_P(RunlistIds, PerRunlist, testing::ValuesIn(RUNLIST_IDS), chip_name);

} // namespace
