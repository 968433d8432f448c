// SPDX-License-Identifier: GPL-2.0
// The core reads what was submitted to the model: 20,000 generated runlists for each chip.
//
// The lists are encoded here, by the manuals' bit numbers, into the model's memory, and submitted through the registers
// that a driver uses (without being counted); the core reads them through BAR0. In a second, smaller run the emulator's
// driver part builds scenarios and reports their instance blocks and channel states.
//   entries   linux-nvgpu hw_ram_gp106.h; open-gpu-doc turing/tu104, ampere/ga100 dev_ram.ref.txt NV_RAMRL_ENTRY_*
//   submits   0x2270, 0x2274: linux-nvgpu hw_fifo_gp106.h; 0x2b00+16i: turing/tu104/dev_fifo.ref.txt; NV_RUNLIST 0x80 ..:
//             ampere/ga100/dev_runlist.ref.txt
//   channels  PCCSR 0x800000+8i: turing/tu104/dev_fifo.ref.txt; CHRAM: ampere/ga100/dev_runlist.ref.txt
// GPULENS_SEED=n repeats a run, GPULENS_LISTS=n changes how many lists.
#include "support/core/emulated.hpp"
#include "model/host.hpp"

#include <gtest/gtest.h>
#include <algorithm>
#include <random>
#include <set>

namespace {

using nlohmann::json;
using test::Emulated;

u64 from_environment(const char *name, u64 fallback)
{
	const char *v = getenv(name);
	return v ? strtoull(v, nullptr, 0) : fallback;
}

struct Channel {
	u32 id, runqueue, target;
	u64 inst, userd;
	bool enabled, next, pbdma_faulted, eng_faulted, reload;
	bool fresh; // bound, and Host has not looked at it, as it does of enabled ones alone: it is busy until then
};

struct Tsg {
	bool bare = false;
	u32 id = 0, scale = 0, timeout = 0;
	std::vector<Channel> channels;
};

using List = std::vector<Tsg>;

struct Layout {
	const char *name;
	bool wide, pccsr; // 16-byte entries; PCCSR channel words
	u32 ids, longest; // ids in entries are below; channels of a TSG
	unsigned align;   // shift of the list's address
};

const Layout layouts[] = {
	{"gp106", false, true, 4096, 32, 12},
	{"tu102", true, true, 4096, 128, 12},
	{"ad102", true, false, 2048, 128, 10},
	{"gh100", true, false, 2048, 128, 10},
};

class Random : public testing::TestWithParam<Layout> {
protected:
	Random() : seed(from_environment("GPULENS_SEED", std::random_device{}())), rng(seed), e(GetParam().name)
	{
		printf("GPULENS_SEED=%llu\n", static_cast<unsigned long long>(seed));
		e.emu->set_access_ns(0);
	}
	void SetUp() override { ASSERT_EQ(e.attach(), 0); }

	u64 upto(u64 n) { return std::uniform_int_distribution<u64>(0, n)(rng); }
	bool one_in(u64 n) { return upto(n - 1) == 0; }

	u32 fresh_id(std::set<u32> &used)
	{
		for (;;) {
			u32 id = u32(one_in(8) ? GetParam().ids - 1 - upto(3) : upto(GetParam().ids - 1));
			if (used.insert(id).second)
				return id;
		}
	}

	Channel make_channel(std::set<u32> &used)
	{
		Channel c{};
		c.id = fresh_id(used);
		c.runqueue = one_in(4);
		c.userd = upto((1ull << 31) - 1) << 9;
		// A block of 4 KiB anywhere in 40 bits; its target differs from zero now and then.
		c.inst = upto((1ull << 28) - 1) << 12;
		c.target = one_in(4) ? u32(2 + upto(1)) : 0;
		if (one_in(100)) { // PCCSR's word looks like a bad-read code
			c.inst = u64((one_in(2) ? 0xadf0000 : 0xad00000) | upto(0xffff)) << 12;
			c.target = 3;
		}
		c.enabled = !one_in(3);
		c.next = one_in(5);
		c.pbdma_faulted = one_in(9);
		c.eng_faulted = one_in(9);
		c.reload = one_in(5);
		c.fresh = GetParam().pccsr && !c.enabled;
		return c;
	}

	List make_list()
	{
		const Layout &l = GetParam();
		std::set<u32> channels, tsgs;
		List list;
		u64 n = one_in(20) ? 0 : one_in(10) ? 1 : 1 + upto(5); // TSGs
		bool full = one_in(50);
		for (u64 i = 0; i < n; i++) {
			Tsg t;
			t.bare = !l.wide && one_in(6);
			t.id = fresh_id(tsgs);
			t.scale = u32(upto(15));
			t.timeout = u32(one_in(8) ? 0 : upto(255));
			u64 length = t.bare ? 1 : full && i == 0 ? l.longest : 1 + upto(6);
			for (u64 c = 0; c < length; c++)
				t.channels.push_back(make_channel(channels));
			list.push_back(std::move(t));
		}
		return list;
	}

	std::vector<u32> encode(const List &list) const
	{
		std::vector<u32> w;
		for (const Tsg &t : list) {
			u32 n = u32(t.channels.size());
			if (GetParam().wide)
				w.insert(w.end(), {1 | t.scale << 16 | t.timeout << 24, n, t.id, 0});
			else if (!t.bare)
				w.insert(w.end(), {t.id | 1u << 13 | t.scale << 14 | t.timeout << 18 | n << 26, 0});
			for (const Channel &c : t.channels) {
				if (GetParam().wide)
					w.insert(w.end(), {c.runqueue << 1 | c.target << 4 | (u32(c.userd) & ~0xffu),
							   u32(c.userd >> 32), c.id | (u32(c.inst) & ~0xfffu),
							   u32(c.inst >> 32)});
				else
					w.insert(w.end(), {c.id | c.runqueue << 14, u32(c.inst >> 12)});
			}
		}
		return w;
	}

	void set_channel(const lens_runlist &rl, const Channel &c)
	{
		emu::Gpu &gpu = *e.emu;
		if (GetParam().pccsr) {
			u32 at = 0x800000 + 8 * c.id;
			gpu.poke_register(at, u32(c.inst >> 12) | c.target << 28 | 1u << 31);
			gpu.poke_register(at + 4, (c.enabled ? 1u << 10 : 1u << 11) | u32(c.next) << 1 |
							  u32(c.reload) << 8 | u32(c.pbdma_faulted) << 20 |
							  u32(c.eng_faulted) << 21);
			return;
		}
		u32 at = chram(rl) + 4 * c.id;
		gpu.poke_register(at, u32(c.enabled) << 1 | u32(c.next) << 2 | u32(c.pbdma_faulted) << 4 |
					      u32(c.eng_faulted) << 5 | u32(c.reload) << 9);
	}

	void clear_channel(const lens_runlist &rl, const Channel &c)
	{
		emu::Gpu &gpu = *e.emu;
		if (!GetParam().pccsr) {
			gpu.poke_register(chram(rl) + 4 * c.id, 0xffffffff);
			return;
		}
		gpu.poke_register(0x800000 + 8 * c.id, 0);
		gpu.poke_register(0x800004 + 8 * c.id, 1u << 11 | 1u << 22 | 1u << 23);
		// Only being loaded takes a reload request away, so the model is told to forget it.
		gpu.host().pccsr_channels()[c.id] = emu::Channel{};
	}

	// From the profile, not from what the core found.
	u32 chram(const lens_runlist &rl) { return e.emu->host().runlist(rl.id)->info.chram_base; }

	void submit(const lens_runlist &rl, u64 base, u32 length)
	{
		emu::Gpu &gpu = *e.emu;
		if (!GetParam().wide) {
			gpu.poke_register(0x2270, u32(base >> 12));
			gpu.poke_register(0x2274, length | u32(rl.id) << 20);
			gpu.advance(100000);
			return;
		}
		u32 at = GetParam().pccsr ? 0x2b00 + 16 * rl.id : e.emu->host().runlist(rl.id)->info.pri_base + 0x80;
		gpu.poke_register(at, u32(base));
		gpu.poke_register(at + 4, u32(base >> 32));
		gpu.poke_register(at + 8, length);
		gpu.advance(100000); // committed
	}

	u64 make_base(u64 bytes)
	{
		u64 unit = 1ull << GetParam().align, size = e.topo().memory_bytes;
		for (;;) {
			u64 base = one_in(10) ? (size - bytes) & ~(unit - 1) : upto((size - bytes) / unit) * unit;
			if (one_in(100)) // its low half looks like a bad-read code
				base = ((base & ~0xffffffffull) | (one_in(2) ? 0xbadf0000 : 0xbad00000) |
					(base & 0xffff)) &
				       ~(unit - 1);
			if (base && base + bytes <= size)
				return base;
		}
	}

	void check_channel(const lens_runlist_snap &snap, u32 i, const Channel &c)
	{
		lens_entry got;
		lens_channel_state s;
		ASSERT_LT(i, snap.n);
		e.gpu->chip->host->decode_entry(&snap.entries[i * e.gpu->chip->entry_words], &got);
		ASSERT_EQ(snap.err[i], 0);
		e.gpu->chip->host->decode_channel(&snap.state[2 * i], &s);
		EXPECT_FALSE(got.is_tsg);
		EXPECT_EQ(got.id, c.id);
		EXPECT_EQ(got.runqueue, c.runqueue);
		EXPECT_EQ(got.inst, c.inst);
		EXPECT_EQ(got.inst_target, GetParam().wide ? c.target : 0);
		EXPECT_EQ(s.enable, c.enabled) << c.id;
		EXPECT_EQ(s.next, c.next) << c.id;
		// The model's Pascal has no fault bits in PCCSR. No work is queued: nothing is reloaded once Host has looked.
		bool faults = std::string(GetParam().name) != "gp106";
		EXPECT_EQ(s.pbdma_faulted, faults && c.pbdma_faulted) << c.id;
		EXPECT_EQ(s.eng_faulted, faults && c.eng_faulted) << c.id;
		EXPECT_EQ(s.ctx_reload, (c.fresh || !GetParam().pccsr) && c.reload) << c.id;
		EXPECT_EQ(s.busy, c.fresh) << c.id;
		if (GetParam().pccsr) {
			EXPECT_TRUE(s.bound);
			EXPECT_EQ(s.inst, c.inst);
			EXPECT_EQ(s.inst_target, c.target);
		}
	}

	void check(const test::Snap &snap, const List &list, u64 base)
	{
		ASSERT_EQ(snap.err, 0);
		EXPECT_FALSE(snap.snap.torn);
		EXPECT_FALSE(snap.snap.regs.pending);
		EXPECT_EQ(snap.snap.regs.target, 0);
		EXPECT_EQ(snap.snap.regs.base, base);
		u32 i = 0;
		for (const Tsg &t : list) {
			if (!t.bare) {
				lens_entry got;
				ASSERT_LT(i, snap.snap.n);
				e.gpu->chip->host->decode_entry(&snap.snap.entries[i * e.gpu->chip->entry_words], &got);
				EXPECT_TRUE(got.is_tsg);
				EXPECT_EQ(got.id, t.id);
				EXPECT_EQ(got.scale, t.scale);
				EXPECT_EQ(got.timeout, t.timeout);
				EXPECT_EQ(got.length, t.channels.size());
				i++;
			}
			for (const Channel &c : t.channels)
				ASSERT_NO_FATAL_FAILURE(check_channel(snap.snap, i++, c));
		}
		EXPECT_EQ(snap.snap.n, i); // and no more entries
	}

	// The same list through lens_runlist_walk(): the TSG that each channel belongs to.
	void check_walk(const lens_runlist &rl, const List &list)
	{
		std::vector<std::pair<int, u32>> want, got;
		for (const Tsg &t : list)
			for (const Channel &c : t.channels)
				want.emplace_back(t.bare ? LENS_NONE : int(t.id), c.id);
		auto fn = [](lens_gpu *, const lens_runlist *, const lens_entry *en, int tsgid, void *arg) {
			if (!en->is_tsg)
				static_cast<decltype(got) *>(arg)->emplace_back(tsgid, en->id);
			return 0;
		};
		EXPECT_EQ(lens_runlist_walk(e.gpu.get(), &rl, fn, &got), 0);
		EXPECT_EQ(got, want);
	}

	u64 seed;
	std::mt19937_64 rng;
	Emulated e;
};

TEST_P(Random, TwentyThousandRunlistsAreReadAsTheyWereSubmitted)
{
	const u64 lists = from_environment("GPULENS_LISTS", 20000);
	u64 empty = 0, single = 0, longest = 0, top = 0, read = 0;
	for (u64 n = 0; n < lists && !HasFailure(); n++) {
		SCOPED_TRACE(testing::Message() << "list " << n << ", GPULENS_SEED=" << seed);
		const lens_runlist &rl = e.topo().runlists[upto(e.topo().n_runlists - 1u)];
		List list = make_list();
		std::vector<u32> words = encode(list);
		u64 base = make_base(words.size() * 4 + 8);
		ASSERT_TRUE(words.empty() || e.emu->vidmem().write(base, words.data(), words.size() * 4));
		u32 window = u32(upto(0xffff)); // at any position that a driver may have left
		u32 window_reg = e.gpu->chip->window.reg;
		e.emu->poke_register(window_reg, window);
		for (const Tsg &t : list)
			for (const Channel &c : t.channels)
				set_channel(rl, c);
		submit(rl, base, u32(words.size() / (GetParam().wide ? 4 : 2)));

		test::Snap snap(e, rl.id);
		check(snap, list, base);
		if (one_in(4))
			check_walk(rl, list);
		EXPECT_EQ(e.emu->peek_register(window_reg), window);

		read += snap.snap.n;
		empty += list.empty();
		single += list.size() == 1 && list[0].channels.size() == 1;
		for (const Tsg &t : list) {
			longest += t.channels.size() == GetParam().longest;
			top += t.id == GetParam().ids - 1;
			for (const Channel &c : t.channels) {
				top += c.id == GetParam().ids - 1;
				clear_channel(rl, c);
			}
		}
		submit(rl, 0, 0);
		std::vector<u32> zeros(words.size());
		if (one_in(64) && !words.empty()) // or what was there stays under the next list
			e.emu->vidmem().write(base, zeros.data(), zeros.size() * 4);
	}
	printf("%llu lists, %llu entries, %llu empty, %llu of one channel, %llu longest TSGs, %llu highest ids\n",
	       (unsigned long long)lists, (unsigned long long)read, (unsigned long long)empty,
	       (unsigned long long)single, (unsigned long long)longest, (unsigned long long)top);
	if (lists >= 10000 && !HasFailure()) { // the limits were reached
		EXPECT_GT(empty, 100u);
		EXPECT_GT(single, 100u);
		EXPECT_GT(longest, 50u);
		EXPECT_GT(top, 100u);
	}
}

// The emulator's driver part builds processes with page tables and instance blocks; what it reports of each channel is
// held against what the core reads.
TEST_P(Random, ScenariosAreReadAsTheDriverPartBuiltThem)
{
	const Layout &l = GetParam();
	for (u64 n = 0; n < 60 && !HasFailure(); n++) {
		SCOPED_TRACE(testing::Message() << "scenario " << n << ", GPULENS_SEED=" << seed);
		std::set<u32> channels, tsgs;
		std::map<u32, List> want;
		json processes = json::array();
		for (u64 p = 0, np = 1 + upto(3); p < np; p++) {
			json list = json::array();
			for (u64 k = 0, nt = 1 + upto(3); k < nt; k++) {
				Tsg t;
				u32 rl = e.topo().runlists[upto(e.topo().n_runlists - 1u)].id;
				t.id = fresh_id(tsgs);
				t.scale = u32(upto(15));
				t.timeout = u32(upto(255));
				json jc = json::array();
				for (u64 c = 0, nc = 1 + upto(4); c < nc; c++) {
					t.channels.push_back(make_channel(channels));
					const Channel &ch = t.channels.back();
					jc.push_back({{"id", ch.id},
						      {"runqueue", ch.runqueue},
						      {"enabled", ch.enabled},
						      {"next", ch.next},
						      {"busy", false}});
				}
				list.push_back({{"id", t.id},
						{"runlist", rl},
						{"timeslice", {{"timeout", t.timeout}, {"scale", t.scale}}},
						{"channels", jc}});
				want[rl].push_back(t);
			}
			processes.push_back({{"tsgs", list}});
		}
		e.emu->load_scenario({{"processes", processes}});
		std::map<std::pair<u32, u32>, u64> inst;
		json state = e.emu->control({{"cmd", "state"}});
		for (const auto &c : state["channels"])
			inst[{c["runlist"], c["id"]}] = c["inst"];
		for (u32 i = 0; i < e.topo().n_runlists; i++) {
			u32 id = e.topo().runlists[i].id;
			test::Snap snap(e, id);
			for (Tsg &t : want[id])
				for (Channel &c : t.channels) {
					ASSERT_EQ(inst.count({id, c.id}), 1u);
					c.inst = inst[{id, c.id}];
					c.target = 0;
					c.pbdma_faulted = c.eng_faulted = c.reload = c.fresh = false; // have run
				}
			u64 base = 0;
			for (const auto &r : state["runlists"])
				if (r["id"] == id)
					base = r["base"];
			check(snap, want[id], base);
		}
	}
	(void)l;
}

INSTANTIATE_TEST_SUITE_P(Chips, Random, testing::ValuesIn(layouts),
			 [](const auto &info) { return std::string(info.param.name); });

} // namespace
