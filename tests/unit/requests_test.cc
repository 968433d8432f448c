// SPDX-License-Identifier: GPL-2.0
// The words that control requests write to a map of registers. control_test.cc has their effects on a GPU.
// Sources: linux-nvgpu hw_fifo_gp106.h and open-gpu-doc turing/tu104/dev_fifo.ref.txt: PREEMPT 0x2634 (ID 11:0,
// TYPE 25:24, 1 = TSG), RUNLIST_PREEMPT 0x2638 (a bit per runlist), RUNLIST_BASE 0x2270 and RUNLIST 0x2274 (LENGTH 15:0,
// ID 23:20) up to Volta, RUNLIST_SUBMIT(i) 0x2b08+16i on Turing, ENGINE_STATUS(i) 0x2640+8i (ID 11:0, ID_TYPE 12,
// CTX_STATUS 15:13: 1 valid, 5 load, 6 save, 7 switch; NEXT_ID 27:16, NEXT_ID_TYPE 28), PCCSR ENABLE_SET 10, ENABLE_CLR 11,
// PREEMPT PENDING 20, ENG_RUNLIST PENDING 20, RUNLIST_SUBMIT_INFO PENDING 15;
// ampere/ga100/dev_runlist.ref.txt: PREEMPT +0x98 (TYPE 0 = runlist, 1 = TSG; TSG_PREEMPT_PENDING 20,
// RUNLIST_PREEMPT_PENDING 21), SUBMIT +0x88, SUBMIT_INFO +0x8c PENDING 15, CHRAM commands 2 and 3.
#include "support/core/chips.hpp"
#include "support/core/emulated.hpp"
#include "support/core/fake.hpp"

#include <functional>
#include <gtest/gtest.h>

namespace {

using test::chram_chips;
using test::Fake;
using test::pfifo_chips;
using Writes = std::vector<std::pair<u32, u32>>;

u32 w[2]; // of a channel that was enabled or disabled
const lens_runlist runlist5{5, 4096, 0xc00400, 0xc42000, 1, 0};

TEST(Requests, PreemptOfATsgNamesItAndItsKind)
{
	for (const lens_chip *chip : pfifo_chips()) {
		Fake f(*chip);
		EXPECT_EQ(chip->host->preempt_tsg(f.gpu.get(), &runlist5, 0xabc), 0);
		EXPECT_EQ(f.writes, (Writes{{0x2634, 0x01000abc}}));
	}
	for (const lens_chip *chip : chram_chips()) {
		Fake f(*chip);
		EXPECT_EQ(chip->host->preempt_tsg(f.gpu.get(), &runlist5, 0x7bc), 0);
		EXPECT_EQ(f.writes, (Writes{{0xc00498, 0x010007bc}}));
	}
}

TEST(Requests, PreemptWaitsForItsPendingBit)
{
	const std::pair<const lens_chip *, u32> rows[] = {{&lens_chip_gp10x, 0x2634},
							  {&lens_chip_tu10x, 0x2634},
							  {&lens_chip_ad10x, 0xc00498},
							  {&lens_chip_gh100, 0xc00498}};
	for (auto [chip, reg] : rows) {
		Fake f(*chip);
		f.answer = [&, reg = reg](u32 off) {
			bool pending = off == reg && !f.writes.empty() && f.reads.size() < 7;
			return pending ? 0x01100001u : 0x01000001u;
		};
		EXPECT_EQ(chip->host->preempt_tsg(f.gpu.get(), &runlist5, 1), 0);
		EXPECT_EQ(f.reads.size(), 7u); // one before the write, and one that flushes it
		EXPECT_GT(f.waited_us, 0u);
		EXPECT_EQ(f.writes.size(), 1u);
	}
}

TEST(Requests, PreemptOfARunlistNamesItAlone)
{
	Fake f(lens_chip_tu10x);
	f.regs[0x2638] = 0x00000001; // another one is still pending and stays requested
	EXPECT_EQ(lens_chip_tu10x.host->preempt_runlist(f.gpu.get(), &runlist5), 0);
	EXPECT_EQ(f.writes, (Writes{{0x2638, 0x00000021}}));
	for (const lens_chip *chip : chram_chips()) {
		Fake g(*chip);
		EXPECT_EQ(chip->host->preempt_runlist(g.gpu.get(), &runlist5), 0);
		EXPECT_EQ(g.writes, (Writes{{0xc00498, 0x00000000}}));
	}
	EXPECT_EQ(lens_chip_gp10x.host->preempt_runlist, nullptr);
}

TEST(Requests, ResubmitWritesTheListThatIsThere)
{
	Fake gp(lens_chip_gp10x);
	gp.regs[0x22a8] = 0x20012345; // runlist 5: coherent system memory, 0x12345000
	gp.regs[0x22ac] = 0x00000017;
	gp.regs[0x2270] = 0x10054321; // the value that a driver left there, of any runlist
	EXPECT_EQ(lens_chip_gp10x.host->resubmit(gp.gpu.get(), &runlist5, nullptr), 0);
	EXPECT_EQ(gp.writes, (Writes{{0x2270, 0x20012345}, {0x2274, 0x00500017}, {0x2270, 0x10054321}}));

	Fake tu(lens_chip_tu10x);
	tu.set_rows(0x2b50,
		    {0x12345000, 0x1, 0x00030017, 0}); // OFFSET 31:16 is cleared: the list starts from its first entry
	EXPECT_EQ(lens_chip_tu10x.host->resubmit(tu.gpu.get(), &runlist5, nullptr), 0);
	EXPECT_EQ(tu.writes, (Writes{{0x2b58, 0x00000017}}));

	for (const lens_chip *chip : chram_chips()) {
		Fake f(*chip);
		f.set_rows(0xc00480, {0x12345400, 0x1, 0x00030017, 0});
		EXPECT_EQ(chip->host->resubmit(f.gpu.get(), &runlist5, nullptr), 0);
		EXPECT_EQ(f.writes, (Writes{{0xc00488, 0x00000017}}));
	}
}

// NEXT stays, the faulted bits 22 and 23 are not written back: writing one clears it.
TEST(Requests, EnableAndDisableOfAPccsrChannelKeepOtherBits)
{
	for (const lens_chip *chip : pfifo_chips())
		for (bool on : {true, false}) {
			Fake f(*chip);
			f.answer = [&](u32) {
				return f.writes.empty() ? (on ? 0x16c00002u : 0x16c00003u) : (on ? 1u : 0u);
			};
			EXPECT_EQ(chip->host->enable_channel(f.gpu.get(), &runlist5, 7, on, w), 0);
			EXPECT_EQ(f.writes, (Writes{{0x80003c, on ? 0x16000402u : 0x16000803u}}));
		}
}

TEST(Requests, EnableAndDisableOfAChannelWithItsOwnRamAreBareCommands)
{
	for (const lens_chip *chip : chram_chips())
		for (bool on : {true, false}) {
			Fake f(*chip);
			f.default_value = on ? 2 : 0;
			EXPECT_EQ(chip->host->enable_channel(f.gpu.get(), &runlist5, 7, on, w), 0);
			EXPECT_EQ(f.writes, (Writes{{0xc4201c, on ? 2u : 3u}}));
		}
}

// The TSG on each engine, and the one that comes next while the engine switches, is preempted, unless it is the TSG
// that is kept.
TEST(Requests, SwitchPreemptsTheTsgOnEachEngineOfTheRunlist)
{
	const struct {
		u32 status;
		Writes writes;
	} rows[] = {
		{0x00000000, {}},                                           // idle
		{0x1008300b, {{0x2634, 0x0100000b}}},                       // valid: 11; the 8 that was next is not
		{0x1008d00b, {{0x2634, 0x0100000b}}},                       // being saved: 11
		{0x100bb009, {{0x2634, 0x0100000b}}},                       // 11 is being loaded
		{0x100bf009, {{0x2634, 0x0100000b}}},                       // 9 is being preempted, 11 is next
		{0x10083009, {}},                                           // valid: 9 itself
		{0x1009f00b, {{0x2634, 0x0100000b}}},                       // 11 is to be preempted, 9 is next
		{0x1008f00b, {{0x2634, 0x0100000b}, {0x2634, 0x01000008}}}, // 11 is being preempted, 8 is next
		{0x0008f00b, {{0x2634, 0x0100000b}}}, // 11 is being preempted, a bare channel is next
		{0x1009b00b, {}},                     // 9 is being loaded
		{0x0000200b, {}},                     // a bare channel, no TSG
		{0x000bb009, {}},                     // a bare channel is being loaded
	};
	for (const lens_chip *chip : pfifo_chips())
		for (const auto &r : rows) {
			Fake f(*chip);
			lens_topology &t = f.gpu->topo;
			t.n_engines = 4;
			t.engines[0] = {0, 0, 0, 5, 2, -1, -1, -1, 0, 0};
			t.engines[1] = {16, 0, 0, 1, 3, -1, -1, -1, 0, 0};  // another runlist's
			t.engines[2] = {19, 0, 0, 5, -1, -1, -1, -1, 0, 0}; // no id: it has no status register
			t.engines[3] = {18, 0, 0, -1, 4, -1, -1, -1, 0, 0};
			f.regs[0x2650] = r.status;
			f.regs[0x2658] = f.regs[0x2660] = 0x0000300b;
			EXPECT_EQ(chip->host->preempt_others(f.gpu.get(), &runlist5, 9), 0);
			EXPECT_EQ(f.writes, r.writes) << std::hex << r.status;
		}
}

TEST(Requests, SwitchStopsAtAnUnreadableOrHangingEngine)
{
	Fake f(lens_chip_tu10x);
	lens_topology &t = f.gpu->topo;
	t.n_engines = 2;
	t.engines[0] = {0, 0, 0, 5, 0, -1, -1, -1, 0, 0};
	t.engines[1] = {19, 0, 0, 5, 1, -1, -1, -1, 0, 0};
	f.regs[0x2640] = 0xbadf1300;
	EXPECT_EQ(lens_chip_tu10x.host->preempt_others(f.gpu.get(), &runlist5, 9), -EIO);
	EXPECT_TRUE(f.writes.empty());
	f.answer = [&](u32 off) {
		return off == 0x2640 ? 0x0000300bu : off == 0x2634 && !f.writes.empty() ? 0x0110000bu : 0u;
	};
	EXPECT_EQ(lens_chip_tu10x.host->preempt_others(f.gpu.get(), &runlist5, 9), -ETIMEDOUT);
	EXPECT_EQ(f.writes.size(), 1u);
}

// A first read, and then reads after steps that double, so that a wait is bounded where each read takes long, too: 10
// us, 20 us .. 81.92 ms are 14 steps and 163.83 ms, 81.92 ms eleven times more. Seen failing with steps of at most 1 ms
// (789 reads).
TEST(Requests, WaitForAHangingRequestCostsFewReads)
{
	Fake f(lens_chip_tu10x);
	f.answer = [&](u32) { return f.writes.empty() ? 0u : 0x01100009u; }; // pending for ever
	EXPECT_EQ(lens_chip_tu10x.host->preempt_tsg(f.gpu.get(), &runlist5, 9), -ETIMEDOUT);
	EXPECT_EQ(f.times_read(0x2634), 28u); // one before the write, and one that flushes it
	EXPECT_EQ(f.waited_us, 1064950u);
}

// Seen failing with wait_us()'s result ignored in lens_poll_clear().
TEST(Requests, GpuRemovedDuringAWaitIsNotAccessedAgain)
{
	for (bool ours : {true, false}) { // the TSG whose preempt stays pending
		Fake f(lens_chip_tu10x);
		f.answer = [&](u32) { return ours && f.writes.empty() ? 0u : 0x01100009u; };
		f.lost_after_us = 70; // 10 + 20 + 40
		EXPECT_EQ(lens_chip_tu10x.host->preempt_tsg(f.gpu.get(), &runlist5, 9), -ENODEV);
		EXPECT_EQ(f.reads.size(), ours ? 5u : 4u);
		EXPECT_EQ(f.writes.size(), ours ? 1u : 0u);
	}
}

/* -- registers that the GPU's driver uses too -- */

// The accesses of a request that needs one stop of the machine, r and w with their offsets, and those after the stop.
using Order = std::vector<Fake::Access>;

Order in_one_stop(std::initializer_list<std::pair<char, u32>> inside, std::initializer_list<u32> read_behind = {})
{
	Order order;
	for (auto [kind, off] : inside)
		order.push_back({kind, off, 1});
	for (u32 off : read_behind)
		order.push_back({'r', off, 0});
	return order;
}

// Seen failing with lens_run_atomic() replaced by a call of fn, and with the code before it.
TEST(Requests, ReadAndWriteAreOneStopOfTheMachineWithoutWaiting)
{
	for (const lens_chip *chip : {&lens_chip_gk10x, &lens_chip_gp10x, &lens_chip_gv10x}) {
		Fake f(*chip);
		f.regs[0x22a8] = 0x00012345;
		EXPECT_EQ(chip->host->resubmit(f.gpu.get(), &runlist5, nullptr), 0);
		EXPECT_EQ(f.order, in_one_stop({{'r', 0x22a8},
						{'r', 0x22ac},
						{'r', 0x2270},
						{'w', 0x2270},
						{'w', 0x2274},
						{'w', 0x2270},
						{'r', 0x2270}},
					       {0x22ac}))
			<< chip->name;
	}
	Fake tu(lens_chip_tu10x);
	tu.regs[0x2b50] = 0x12345000;
	EXPECT_EQ(lens_chip_tu10x.host->resubmit(tu.gpu.get(), &runlist5, nullptr), 0);
	EXPECT_EQ(
		tu.order,
		in_one_stop({{'r', 0x2b50}, {'r', 0x2b54}, {'r', 0x2b58}, {'r', 0x2b5c}, {'w', 0x2b58}, {'r', 0x2b5c}},
			    {0x2b5c}));
	for (const lens_chip *chip : chram_chips()) {
		Fake f(*chip);
		f.regs[0xc00480] = 0x12345000;
		EXPECT_EQ(chip->host->resubmit(f.gpu.get(), &runlist5, nullptr), 0);
		EXPECT_EQ(f.order, in_one_stop({{'r', 0xc00480},
						{'r', 0xc00484},
						{'r', 0xc00488},
						{'r', 0xc0048c},
						{'w', 0xc00488},
						{'r', 0xc0048c}},
					       {0xc0048c}));
		Fake g(*chip);
		EXPECT_EQ(chip->host->preempt_tsg(g.gpu.get(), &runlist5, 1), 0);
		EXPECT_EQ(g.order, in_one_stop({{'r', 0xc00498}, {'w', 0xc00498}, {'r', 0xc00498}}, {0xc00498}));
		Fake h(*chip);
		EXPECT_EQ(chip->host->preempt_runlist(h.gpu.get(), &runlist5), 0);
		EXPECT_EQ(h.order, in_one_stop({{'r', 0xc00498}, {'w', 0xc00498}, {'r', 0xc00498}}));
		Fake c(*chip); // a command to a word of its own: the machine is not stopped
		c.default_value = 2;
		EXPECT_EQ(chip->host->enable_channel(c.gpu.get(), &runlist5, 7, true, w), 0);
		EXPECT_EQ(c.order, (Order{{'w', 0xc4201c, 0}, {'r', 0xc4201c, 0}}));
	}
	for (const lens_chip *chip : pfifo_chips()) {
		Fake f(*chip);
		EXPECT_EQ(chip->host->preempt_tsg(f.gpu.get(), &runlist5, 1), 0);
		EXPECT_EQ(f.order, in_one_stop({{'r', 0x2634}, {'w', 0x2634}, {'r', 0x2634}}, {0x2634}));
		Fake c(*chip);
		c.regs[0x800038] = 0x80000040;
		EXPECT_EQ(chip->host->enable_channel(c.gpu.get(), &runlist5, 7, false, w), 0);
		EXPECT_EQ(c.order, in_one_stop({{'r', 0x80003c}, {'r', 0x800038}, {'w', 0x80003c}, {'r', 0x80003c}}));
		Fake s(*chip); // TSG 11 is on the engine and is not kept
		s.gpu->topo.n_engines = 1;
		s.gpu->topo.engines[0] = {0, 0, 0, 5, 2, -1, -1, -1, 0, 0};
		s.regs[0x2650] = 0x0000300b;
		EXPECT_EQ(chip->host->preempt_others(s.gpu.get(), &runlist5, 9), 0);
		EXPECT_EQ(s.order, in_one_stop({{'r', 0x2650}, {'r', 0x2634}, {'w', 0x2634}, {'r', 0x2634}}, {0x2634}));
	}
	for (const lens_chip *chip : {&lens_chip_gv10x, &lens_chip_tu10x}) {
		Fake f(*chip);
		EXPECT_EQ(chip->host->preempt_runlist(f.gpu.get(), &runlist5), 0);
		EXPECT_EQ(f.order, in_one_stop({{'r', 0x2638}, {'w', 0x2638}, {'r', 0x2638}}));
	}
}

// A request of the driver that is pending: a register and its pending bits.
struct Pending {
	const lens_chip *chip;
	u32 reg;
	std::vector<u32> bits;
	std::function<int(Fake &)> request;
};

std::vector<Pending> pending_requests()
{
	std::vector<Pending> all;
	for (const lens_chip *chip : pfifo_chips()) {
		auto tsg = [chip](Fake &f) { return chip->host->preempt_tsg(f.gpu.get(), &runlist5, 9); };
		all.push_back({chip, 0x2634, {1u << 20}, tsg});
	}
	for (const lens_chip *chip : chram_chips()) {
		auto tsg = [chip](Fake &f) { return chip->host->preempt_tsg(f.gpu.get(), &runlist5, 9); };
		auto runlist = [chip](Fake &f) { return chip->host->preempt_runlist(f.gpu.get(), &runlist5); };
		all.push_back({chip, 0xc00498, {1u << 20, 1u << 21}, tsg});
		all.push_back({chip, 0xc00498, {1u << 20, 1u << 21}, runlist});
	}
	auto resubmit = [](const lens_chip *chip, u32 reg, u32 bit) {
		auto again = [chip](Fake &f) { return chip->host->resubmit(f.gpu.get(), &runlist5, nullptr); };
		return Pending{chip, reg, {bit}, again};
	};
	for (const lens_chip *chip : {&lens_chip_gk10x, &lens_chip_gp10x, &lens_chip_gv10x})
		all.push_back(resubmit(chip, 0x22ac, 1u << 20));
	all.push_back(resubmit(&lens_chip_tu10x, 0x2b5c, 1u << 15));
	for (const lens_chip *chip : chram_chips())
		all.push_back(resubmit(chip, 0xc0048c, 1u << 15));
	return all;
}

// Seen failing without each of the checks of pending bits.
TEST(Requests, PendingRequestsOfTheDriverAreNotOverwritten)
{
	for (const Pending &p : pending_requests())
		for (u32 bit : p.bits) {
			Fake f(*p.chip);
			f.default_value = 0x1000; // a list is there
			f.regs[p.reg] = bit;
			EXPECT_EQ(p.request(f), -EBUSY) << p.chip->name << std::hex << p.reg;
			EXPECT_TRUE(f.writes.empty());
			EXPECT_GE(f.waited_us, 1000000u);

			Fake g(*p.chip); // done at the second read outside of the stop
			g.answer = [&](u32 off) {
				return off == p.reg && g.times_read(off) < 3 && g.writes.empty() ? bit : 0x1000u;
			};
			EXPECT_EQ(p.request(g), 0) << p.chip->name << std::hex << p.reg;
			EXPECT_FALSE(g.writes.empty());
			EXPECT_EQ(g.waited_us, 10u);
			EXPECT_EQ(g.stops, 2);
		}
}

// A driver that makes a new request each time that the last one is done.
TEST(Requests, DriverWithEndlessRequestsIsBusy)
{
	for (const Pending &p : pending_requests()) {
		Fake f(*p.chip);
		f.answer = [&](u32 off) { return off == p.reg && f.stop ? p.bits[0] : 0x1000u; };
		EXPECT_EQ(p.request(f), -EBUSY) << p.chip->name << std::hex << p.reg;
		EXPECT_TRUE(f.writes.empty());
		EXPECT_EQ(f.stops, 4);
	}
}

// The list is checked in the same stop of the machine in which it is submitted.
TEST(Requests, OnlyTheExpectedListIsSubmittedAgain)
{
	for (const lens_chip *chip : {&lens_chip_gp10x, &lens_chip_tu10x, &lens_chip_ga100}) {
		using Regs = lens_runlist_regs;
		const Regs good = {0x1000000, 0, 0x1000, false};
		for (const Regs &other : {Regs{0x2000000, 0, 0x1000, false}, Regs{0x1000000, 2, 0x1000, false},
					  Regs{0x1000000, 0, 0x1001, false}, good}) {
			Fake f(*chip);
			f.regs[0x22a8] = 0x1000; // in units of 4 KiB
			f.regs[0x22ac] = 0x1000;
			f.set_rows(0x2b50, {0x1000000, 0, 0x1000, 0});
			f.set_rows(0xc00480, {0x1000000, 0, 0x1000, 0});
			bool same = other.base == good.base && other.target == 0 && other.length == 0x1000;
			EXPECT_EQ(chip->host->resubmit(f.gpu.get(), &runlist5, &other), same ? 0 : -EBUSY)
				<< chip->name;
			EXPECT_EQ(f.writes.empty(), !same);
			EXPECT_EQ(f.waited_us, 0u);
		}
	}
}

TEST(Requests, BaseThatIsNotRestoredIsAnError)
{
	Fake f(lens_chip_gp10x);
	f.regs[0x22a8] = 0x1000;
	f.answer = [&](u32 off) {
		return off == 0x2270 && f.writes.size() == 3 ? 0x1000u : off == 0x2270 ? 0x77u : 0x1000u;
	};
	EXPECT_EQ(lens_chip_gp10x.host->resubmit(f.gpu.get(), &runlist5, nullptr), -EIO);
}

// RAMIN words 132, 133 (turing/tu104/dev_ram.ref.txt NV_RAMIN_ENGINE_WFI_*): TARGET 1:0, MODE 2 (0 physical), PTR_LO 31:12,
// PTR_HI 7:0; word 128 bit 10 says that the tables are of version 2. Context image: magic 0x600dc0de at 0xfc, options of
// graphics and compute at 0x80 and 0x84 (dev_ctxsw.ref.txt).
TEST(Requests, PreemptionModeReachesAContextAtAPhysicalAddress)
{
	const u64 inst = 0x40000, context_image = 0x1200345000;
	for (lens_preemption mode : {LENS_PREEMPT_WFI, LENS_PREEMPT_CTA, LENS_PREEMPT_CILP})
		for (const lens_chip *chip : {&lens_chip_gp10x, &lens_chip_tu10x}) {
			Fake f(*chip);
			f.gpu->topo.n_runlists = 1;
			f.gpu->topo.runlists[0] = runlist5;
			f.regs[0x800038] = 0x80000040; // channel 7 is bound to the block at 0x40000
			f.regs[0x80003c] = 1;
			f.vid[inst + 0x200] = 0x400;
			f.vid[inst + 0x210] = 0x1200345000; // words 132, 133
			f.vid[context_image + 0xf8] = 0x600dc0de00000000;
			lens_ref ref{LENS_NONE, 7};
			int runlist;
			ASSERT_EQ(lens_channel_set_preemption(f.gpu.get(), &ref, mode, &runlist), 0) << chip->name;
			std::vector<std::pair<u64, u32>> stores;
			if (mode != LENS_PREEMPT_CTA) // does not change graphics
				stores.emplace_back(context_image + 0x80, 0);
			stores.emplace_back(context_image + 0x84, mode == LENS_PREEMPT_WFI   ? 0
								  : mode == LENS_PREEMPT_CTA ? 1
											     : 2);
			EXPECT_EQ(f.stores, stores) << chip->name << mode;
			EXPECT_TRUE(f.writes.empty());
		}
}

} // namespace
