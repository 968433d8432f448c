// SPDX-License-Identifier: GPL-2.0
// Hardware with invalid answers: every call of the core returns 0 or one of its error codes after a bounded number of
// accesses, and the sanitizers find nothing. GPULENS_SEED=n repeats a run.
#include "support/core/emulated.hpp"
#include "support/core/fake.hpp"
#include "format.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <random>

namespace {

using test::Emulated;
using test::Fake;

u64 seed_of_run()
{
	static const u64 seed = [] {
		const char *v = getenv("GPULENS_SEED");
		u64 s = v ? strtoull(v, nullptr, 0) : std::random_device{}();
		printf("GPULENS_SEED=%llu\n", static_cast<unsigned long long>(s));
		return s;
	}();
	return seed;
}

bool is_known(int err)
{
	switch (err) {
	case 0:
	case -EIO:
	case -ENODEV:
	case -EINVAL:
	case -ENOENT:
	case -ERANGE:
	case -EBUSY: // a preempt or submit of a driver stays pending
	case -EOPNOTSUPP:
	case -ENODATA: // Host was not enabled
	case -ETIMEDOUT:
	case -EAGAIN:
	case -EFAULT:
	case -EACCES: return true;
	}
	return false;
}

#define EXPECT_KNOWN(call)                                                                                             \
	do {                                                                                                           \
		int known_err = (call);                                                                                \
		EXPECT_TRUE(is_known(known_err)) << #call << " = " << known_err;                                       \
	} while (0)

// A snapshot as the module takes it: room for what was announced, again when it has grown, then formatted.
int read_snapshot(lens_gpu *gpu, const lens_runlist *rl)
{
	lens_runlist_snap snap{};
	std::vector<u64> entries;
	std::vector<u32> state;
	std::vector<s16> errs;
	snap.rl = rl;
	int err = lens_runlist_begin(gpu, &snap);
	for (int tries = 0; !err && tries < 4; tries++) {
		u32 cap = snap.regs.length;
		entries.assign(size_t{cap} * gpu->chip->entry_words / 2, 0); // exactly as much as is asked for
		state.assign(size_t{cap} * 2, 0);
		errs.assign(cap, 0);
		snap.cap = cap;
		snap.entries = reinterpret_cast<u32 *>(entries.data());
		snap.state = state.data();
		snap.err = errs.data();
		err = lens_runlist_collect(gpu, &snap);
		if (err != -EAGAIN)
			break;
		err = 0;
	}
	std::vector<lens_context> context;
	auto cache = std::make_unique<lens_walk_cache>();
	if (!err && snap.n && snap.n <= 512) { // longer ones only take time
		context.resize(snap.n);
		snap.context = context.data();
		snap.cache = cache.get();
		err = lens_contexts_collect(gpu, &snap);
	}
	if (!err && snap.n <= 512) {
		lens_text t{};
		lens_format_runlist(&t, gpu, &snap);
		EXPECT_EQ(t.err, 0);
		lens_text_free(&t);
	}
	return err;
}

// Every call of the core.
void ask_everything(lens_gpu *gpu, std::mt19937_64 &rng)
{
	lens_text t{};
	lens_format_chip(&t, gpu, "somewhere", nullptr);
	lens_format_device_info(&t, gpu);
	lens_format_copy_topology(&t, gpu, &gpu->topo.ce);
	lens_tpc_places places{};
	int cwd_err = lens_cwd_read_places(gpu, &places);
	EXPECT_TRUE(cwd_err == -ENODATA || is_known(cwd_err)) << cwd_err; // -ENODATA: not a table of this GPU's TPCs
	lens_format_tpc_map(&t, gpu, &places);
	int counts_err = lens_gpc_read_counts(gpu, &places);
	EXPECT_TRUE(counts_err == -ENODATA || is_known(counts_err))
		<< counts_err; // -ENODATA: the engine is not enabled
	lens_format_tpc_map(&t, gpu, &places);
	EXPECT_EQ(t.err, 0);
	lens_text_free(&t);
	u32 n = gpu->topo.n_runlists;
	for (u32 i = 0; i < n && i < 3; i++)
		EXPECT_KNOWN(read_snapshot(gpu, &gpu->topo.runlists[rng() % n]));
	int runlist;
	for (int i = 0; i < 3; i++) {
		lens_ref r{i == 0 || !n ? LENS_NONE : int(gpu->topo.runlists[rng() % n].id),
			   u32(i == 2 ? rng() : rng() % 64)};
		if (!n && r.runlist == LENS_NONE && !gpu->chip->ids_per_runlist)
			continue; // no runlist was found: the module would not attach such a GPU
		EXPECT_KNOWN(lens_channel_enable(gpu, &r, rng() & 1, &runlist));
		EXPECT_KNOWN(lens_tsg_preempt(gpu, &r, &runlist));
		EXPECT_KNOWN(lens_tsg_switch_to(gpu, &r, &runlist));
		EXPECT_KNOWN(lens_channel_set_preemption(gpu, &r, LENS_PREEMPT_CILP, &runlist));
		EXPECT_KNOWN(lens_runlist_preempt(gpu, r.id));
		EXPECT_KNOWN(lens_runlist_resubmit(gpu, r.id));
	}
}

// No call may need more than this: a list of 65535 entries with two words of state each, four times torn.
constexpr size_t BOUND = 4000000;

// Words as broken hardware makes them: each kind alone would leave paths unvisited.
u32 draw_nonsense(std::mt19937_64 &rng)
{
	switch (rng() % 8) {
	case 0: return 0;
	case 1: return 0xffffffff;
	case 2: return 0xbadf0000 | u32(rng() & 0xffff);
	case 3: return u32(1) << (rng() % 32);
	case 4: return u32(rng() & 0xff);
	case 5: return u32(rng()) & u32(rng());
	default: return u32(rng());
	}
}

class Hostile : public testing::TestWithParam<const lens_chip *> {};

TEST_P(Hostile, EveryCallEndsOnRandomRegistersAndMemory)
{
	std::mt19937_64 rng(seed_of_run());
	for (int round = 0; round < 300; round++) {
		SCOPED_TRACE(testing::Message() << "round " << round << ", GPULENS_SEED=" << seed_of_run());
		Fake f(*GetParam());
		// Mostly tame, or nothing would get past the first register; all of it wild in every eighth round.
		u64 wild = round % 8 == 0 ? 1 : 4 + rng() % 2000;
		f.answer = [&](u32 off) -> u32 {
			if (off == 0x224fc)
				return rng() % 8 ? 0x06000002 : draw_nonsense(rng); // 96 rows of the device table
			if (off == 0 && rng() % 64)
				return 0x12345678; // it is still there
			if (rng() % wild == 0)
				return draw_nonsense(rng);
			u32 v = u32(rng()) & 0x7fffffff;
			return v >> 16 == 0xbadf ? 0 : rng() % 3 ? v & 0x3ff00ff : v;
		};
		f.memory = [&](lens_aperture, u64) { return rng() & (rng() % 2 ? ~0ull : 0x0000000fffff0fff); };
		EXPECT_KNOWN(lens_gpu_read_topology(f.gpu.get()));
		f.reads.clear();
		if (round % 2) // lists of legal length only: 65535 entries each would be the same again
			f.answer = [&, inner = f.answer](u32 off) { return inner(off) & ~0x00007f00u; };
		ask_everything(f.gpu.get(), rng);
		EXPECT_LT(f.reads.size() + f.copied_words, BOUND);
	}
}

INSTANTIATE_TEST_SUITE_P(Chips, Hostile,
			 testing::Values(&lens_chip_gp10x, &lens_chip_tu10x, &lens_chip_ad10x, &lens_chip_gh100),
			 [](const auto &info) { return std::string(info.param->name); });

/* -- an emulated GPU that is removed, or whose memory becomes random, during a call -- */

// The io of an emulated GPU that does something at the n-th access to BAR0.
struct Tripwire {
	Tripwire(Emulated &e, u64 at, std::function<void()> trip) : e(e), at(at), trip(std::move(trip))
	{
		static const lens_io_ops ops = {
			.rd32 = [](lens_io *io, u32 off) { return u32(self(io)->step().emu->read(0, off, 4)); },
			.wr32 = [](lens_io *io, u32 off, u32 v) { self(io)->step().emu->write(0, off, 4, v); },
			.rd64 = [](lens_io *io, u32 off) { return u64(self(io)->step().emu->read(0, off, 8)); },
			.copy =
				[](lens_io *io, lens_aperture ap, u64 addr, u64 *dst, u32 words) {
			if (ap != LENS_VID)
				return -EOPNOTSUPP;
			int err = lens_window_check(io, addr, u64{words} * 8);
			for (u32 n; !err && words; addr += u64{n} * 8, dst += n, words -= n) {
				n = words < 4096 ? words : 4096;
				err = std::min(lens_window_copy(io, addr, dst, n), 0);
			}
			return err;
			},
			.store32 =
				[](lens_io *io, lens_aperture ap, u64 addr, u32 v) {
			if (ap != LENS_VID)
				return -EOPNOTSUPP;
			int err = lens_window_check(io, addr, 4);
			return err ? err : lens_window_store32(io, addr, v);
			},
			.exclusive = lens_window_run, .stop_state = nullptr, .exclusive_at = nullptr,
			.atomic = [](lens_io *, int (*fn)(void *), void *arg) { return fn(arg); },
			.wait_us =
				[](lens_io *io, u32 us) {
			self(io)->e.emu->advance(u64{us} * 1000);
			return 0;
			},
			};
		io.self = this;
		io.io.ops = &ops;
	}
	Emulated &step()
	{
		if (++done == at)
			trip();
		return e;
	}

	struct Io {
		lens_io io{};
		Tripwire *self;
	} io;
	Emulated &e;
	u64 at, done = 0;
	std::function<void()> trip;

private:
	static Tripwire *self(lens_io *i) { return reinterpret_cast<Io *>(i)->self; }
};

class Vanishing : public testing::TestWithParam<const char *> {};

TEST_P(Vanishing, RemovalAtAnyAccessIsAnError)
{
	std::mt19937_64 rng(seed_of_run());
	nlohmann::json scenario = test::load_json("scenarios/demo-" + std::string(GetParam()) + ".json");
	Emulated e(GetParam());
	e.emu->load_scenario(scenario);
	for (int round = 0; round < 150; round++) {
		SCOPED_TRACE(testing::Message() << "round " << round << ", GPULENS_SEED=" << seed_of_run());
		e.emu->control({{"cmd", "fault"}, {"kind", "none"}});
		Tripwire wire(e, 1 + rng() % 1500, [&] { e.emu->control({{"cmd", "fault"}, {"kind", "all-ones"}}); });
		auto gpu = std::make_unique<lens_gpu>();
		int err = lens_gpu_identify(gpu.get(), &wire.io.io);
		if (!err)
			err = lens_gpu_read_topology(gpu.get());
		if (err) {
			EXPECT_EQ(err, -ENODEV);
			continue;
		}
		ask_everything(gpu.get(), rng);
		EXPECT_LT(wire.done, BOUND);
		if (wire.done >= wire.at) { // gone by now at the latest: everything says so
			EXPECT_EQ(read_snapshot(gpu.get(), &gpu->topo.runlists[0]), -ENODEV);
			EXPECT_EQ(lens_runlist_resubmit(gpu.get(), 0), -ENODEV);
		}
	}
}

TEST_P(Vanishing, RandomMemoryIsReadSafely)
{
	std::mt19937_64 rng(seed_of_run());
	Emulated e(GetParam());
	for (int round = 0; round < 40; round++) {
		SCOPED_TRACE(testing::Message() << "round " << round << ", GPULENS_SEED=" << seed_of_run());
		e.emu->load_scenario(test::load_json("scenarios/demo-" + std::string(GetParam()) + ".json"));
		ASSERT_EQ(e.attach(), 0);
		// What the driver part built is in the upper half of memory: instance blocks, tables, images and lists.
		u64 first = (e.topo().memory_bytes / 2) & ~0x1fffffull;
		for (int i = 0; i < 3000; i++)
			e.emu->vidmem().wr32(first + (rng() % 0x800000 & ~3ull), draw_nonsense(rng));
		u64 list = e.emu->control({{"cmd", "state"}})["runlists"][0]["base"];
		for (int i = 0; i < 32; i++)
			e.emu->vidmem().wr32(list + rng() % 64 * 4, draw_nonsense(rng));
		e.emu->reset_counts();
		ask_everything(e.gpu.get(), rng);
		EXPECT_LT(e.emu->counts().all_reads(), BOUND);
		EXPECT_EQ(e.emu->counts().wide_register_accesses, 0u);
	}
}

INSTANTIATE_TEST_SUITE_P(Chips, Vanishing, testing::Values("gp106", "tu102", "ad102", "gh100"),
			 [](const auto &info) { return std::string(info.param); });

} // namespace
