// SPDX-License-Identifier: GPL-2.0
// Reading a runlist from a map of registers and memory words: lists that move or grow meanwhile, the longest one, ids and
// targets beyond the chip's. entry_test.cc decodes entries; random_test.cc uses chips with behaviour.
#include "support/core/fake.hpp"

#include <gtest/gtest.h>

namespace {

using test::Fake;

class Runlist : public testing::TestWithParam<const lens_chip *> {};

// The registers of runlist 0 of each chip with its base (in units of 4 KiB, or in place) and its length: linux-nvgpu hw_fifo_gp106.h;
// open-gpu-doc turing/tu104/dev_fifo.ref.txt; NV_RUNLIST at 0xc00000: ampere/ga100/dev_runlist.ref.txt.
struct Where {
	u32 base, length;
	bool in_place;
};

Where find_place(const lens_chip *chip)
{
	if (chip->entry_words == 2)
		return {0x2280, 0x2284, false};
	return chip->channels ? Where{0x2b00, 0x2b08, true} : Where{0xc00080, 0xc00088, true};
}

struct Room {
	explicit Room(u32 cap) : entries(size_t{cap} * 2), state(size_t{cap} * 2), errs(cap)
	{
		snap.rl = &rl;
		snap.cap = cap;
		snap.entries = reinterpret_cast<u32 *>(entries.data());
		snap.state = state.data();
		snap.err = errs.data();
	}
	lens_runlist rl{0, 2048, 0xc00000, 0xc40000, 1, 0};
	lens_runlist_snap snap{};
	std::vector<u64> entries;
	std::vector<u32> state;
	std::vector<s16> errs;
};

// The longest list that a length field can announce: of channels, of TSGs, of words with all bits set.
TEST_P(Runlist, ListOf65535EntriesIsReadWhole)
{
	for (u64 word : {0x0000000700000006ull, 0xfc00e0050600e005ull, ~0ull}) {
		Fake f(*GetParam());
		f.memory = [&](lens_aperture, u64) { return word; };
		f.regs[find_place(GetParam()).base] = 0x1000;
		f.regs[find_place(GetParam()).length] = 0xffff;
		Room r(65535);
		ASSERT_EQ(lens_runlist_begin(f.gpu.get(), &r.snap), 0);
		ASSERT_EQ(r.snap.regs.length, 65535);
		ASSERT_EQ(lens_runlist_collect(f.gpu.get(), &r.snap), 0);
		EXPECT_EQ(r.snap.n, 65535u);
		EXPECT_FALSE(r.snap.torn);
		EXPECT_EQ(f.copied_words, 65535u * f.gpu->chip->entry_words / 2);
		EXPECT_LT(f.reads.size(), 140000u);

		// Without room for it, nothing is copied.
		Room none(65534);
		f.copied_words = 0;
		ASSERT_EQ(lens_runlist_begin(f.gpu.get(), &none.snap), 0);
		EXPECT_EQ(lens_runlist_collect(f.gpu.get(), &none.snap), -EAGAIN);
		EXPECT_EQ(f.copied_words, 0u);
	}
}

// A list whose location changes at every read is given up after a few copies, and marked as torn.
TEST_P(Runlist, ListThatKeepsMovingIsTornAfterAFewCopies)
{
	Fake f(*GetParam());
	Where w = find_place(GetParam());
	u32 looks = 0;
	f.answer = [&](u32 off) -> u32 {
		if (off == w.base)
			return ++looks << (w.in_place ? 16 : 4);
		return off == w.length ? 4 : 0;
	};
	Room r(4);
	ASSERT_EQ(lens_runlist_begin(f.gpu.get(), &r.snap), 0);
	EXPECT_EQ(lens_runlist_collect(f.gpu.get(), &r.snap), 0);
	EXPECT_TRUE(r.snap.torn);
	EXPECT_EQ(f.copies, 4u);
}

// A move during the read costs one more copy, and the later list is shown.
TEST_P(Runlist, ListThatMovedOnceIsReadAgain)
{
	Fake f(*GetParam());
	Where w = find_place(GetParam());
	u32 looks = 0;
	f.answer = [&](u32 off) -> u32 {
		if (off == w.base)
			return (++looks == 1 ? 1 : 2) << (w.in_place ? 16 : 4);
		return off == w.length ? 4 : 0;
	};
	f.memory = [](lens_aperture, u64 addr) { return addr; };
	Room r(4);
	ASSERT_EQ(lens_runlist_begin(f.gpu.get(), &r.snap), 0);
	EXPECT_EQ(lens_runlist_collect(f.gpu.get(), &r.snap), 0);
	EXPECT_FALSE(r.snap.torn);
	EXPECT_EQ(f.copies, 2u);
	EXPECT_EQ(r.snap.regs.base, 0x20000u);
	EXPECT_EQ(r.entries[0], 0x20000u);
	EXPECT_EQ(r.snap.n, 4u);
}

// The list grew during the read: more room is requested, and nothing is written beyond the present room.
TEST_P(Runlist, ListThatGrewDuringTheReadNeedsMoreRoom)
{
	Fake f(*GetParam());
	Where w = find_place(GetParam());
	u32 looks = 0;
	f.answer = [&](u32 off) -> u32 {
		if (off == w.length)
			return ++looks == 1 ? 4 : 400;
		return off == w.base ? 0x10000 : 0;
	};
	Room r(4);
	ASSERT_EQ(lens_runlist_begin(f.gpu.get(), &r.snap), 0);
	EXPECT_EQ(lens_runlist_collect(f.gpu.get(), &r.snap), -EAGAIN);
	EXPECT_EQ(r.snap.regs.length, 400);
	Room more(400);
	more.snap.regs = r.snap.regs;
	EXPECT_EQ(lens_runlist_collect(f.gpu.get(), &more.snap), 0);
	EXPECT_EQ(more.snap.n, 400u);
}

// Entry i is channel i & 0xfff. A walk reads a page at a time; no entry is lost or repeated at the end of a page.
TEST_P(Runlist, WalkSeesEveryEntryOnceAndInOrder)
{
	Fake f(*GetParam());
	f.regs[find_place(GetParam()).base] = 0x1000;
	f.regs[find_place(GetParam()).length] = 0xffff;
	u64 base = find_place(GetParam()).in_place ? 0x1000 : 0x1000000;
	f.memory = [&](lens_aperture, u64 addr) -> u64 {
		u64 word = (addr - base) / 8;
		if (GetParam()->entry_words == 2)
			return word & 0xfff;
		return word & 1 ? word / 2 & 0xfff : 0;
	};
	std::vector<u32> seen;
	auto fn = [](lens_gpu *, const lens_runlist *, const lens_entry *e, int tsgid, void *arg) {
		EXPECT_EQ(tsgid, LENS_NONE);
		static_cast<std::vector<u32> *>(arg)->push_back(e->id);
		return 0;
	};
	Room r(0);
	ASSERT_EQ(lens_runlist_walk(f.gpu.get(), &r.rl, fn, &seen), 0);
	ASSERT_EQ(seen.size(), 65535u);
	for (u32 i = 0; i < seen.size(); i++)
		ASSERT_EQ(seen[i], i & 0xfff) << i;
}

TEST_P(Runlist, WalkEndsWhenItsFunctionReturnsNonzero)
{
	Fake f(*GetParam());
	f.regs[find_place(GetParam()).base] = 0x1000;
	f.regs[find_place(GetParam()).length] = 0xffff;
	u32 seen = 0;
	auto fn = [](lens_gpu *, const lens_runlist *, const lens_entry *, int, void *arg) {
		return ++*static_cast<u32 *>(arg) == 3 ? -ENOENT : 0;
	};
	Room r(0);
	EXPECT_EQ(lens_runlist_walk(f.gpu.get(), &r.rl, fn, &seen), -ENOENT);
	EXPECT_EQ(seen, 3u);
	EXPECT_EQ(f.copies, 1u);
}

// Entries can name 4096 channels; where the runlist has 2048, a higher id has no state word to be read.
TEST_P(Runlist, ChannelBeyondTheLastIsAnErrorAndNotRead)
{
	Fake f(*GetParam());
	f.regs[find_place(GetParam()).base] = 0x1000;
	f.regs[find_place(GetParam()).length] = 2;
	u64 base = find_place(GetParam()).in_place ? 0x1000 : 0x1000000;
	if (GetParam()->entry_words == 2)
		f.vid = {{base, 2047}, {base + 8, 2048}};
	else
		f.vid = {{base + 8, 2047}, {base + 24, 2048}};
	Room r(2);
	ASSERT_EQ(lens_runlist_begin(f.gpu.get(), &r.snap), 0);
	ASSERT_EQ(lens_runlist_collect(f.gpu.get(), &r.snap), 0);
	EXPECT_EQ(r.snap.n, 2u);
	EXPECT_EQ(r.errs[0], 0);
	EXPECT_EQ(r.errs[1], -ERANGE);
	// channel 2047 and, if it were read, channel 2048
	EXPECT_EQ(f.times_read(GetParam()->channels ? 0x803ffc : 0xc41ffc), 1u);
	EXPECT_EQ(f.times_read(GetParam()->channels ? 0x804004 : 0xc42000), 0u);
}

// TARGET of the list's address: 0 video memory, 2 and 3 system memory, 1 no valid memory.
TEST_P(Runlist, ListIsReadFromTheMemoryThatItsTargetNames)
{
	const struct {
		u32 target;
		int err;
	} rows[] = {{0, 0}, {1, -EIO}, {2, 0}, {3, 0}};
	for (const auto &r : rows) {
		Fake f(*GetParam());
		Where w = find_place(GetParam());
		f.regs[w.base] = 0x1000 | r.target << (w.in_place ? 0 : 28);
		f.regs[w.length] = 1;
		u64 base = w.in_place ? 0x1000 : 0x1000000;
		(r.target ? f.sys : f.vid)[base] = (r.target ? f.sys : f.vid)[base + 8] = 7;
		Room room(1);
		ASSERT_EQ(lens_runlist_begin(f.gpu.get(), &room.snap), 0);
		EXPECT_EQ(room.snap.regs.target, r.target);
		EXPECT_EQ(room.snap.regs.base, base);
		EXPECT_EQ(lens_runlist_collect(f.gpu.get(), &room.snap), r.err) << r.target;
		EXPECT_EQ(room.entries[0], r.err ? 0u : 7u);
	}
}

INSTANTIATE_TEST_SUITE_P(Chips, Runlist,
			 testing::Values(&lens_chip_gp10x, &lens_chip_tu10x, &lens_chip_ad10x, &lens_chip_gh100),
			 [](const auto &info) { return std::string(info.param->name); });

} // namespace
