// SPDX-License-Identifier: GPL-2.0
// Runlists in another order (src/order.c), and what is written for it. Entries of 8 bytes are linux-nvgpu's
// hal/fifo/runlist_ram_gk20a.c: a TSG has bit 13, its length in 31:26 and its id in 11:0; those of 16 bytes are open-gpu-doc
// volta/gv100/dev_ram.ref.txt: a TSG has bit 0, TSG_LENGTH 7:0 of word 1, TSGID 11:0 of word 2; a channel its CHID in word 2.
#include "support/core/fake.hpp"

#include "parse.h"

#include <gtest/gtest.h>

namespace {

using test::Fake;
using Ids = std::vector<u16>;

struct List {
	const lens_chip *chip;
	std::vector<u32> words;

	void add_tsg(u32 id, u32 length)
	{
		if (chip->entry_words == 2)
			words.insert(words.end(), {length << 26 | 0x3c000u << 4 | 1u << 13 | id, 0});
		else
			words.insert(words.end(), {1 | 0x33000000u, length, id, 0});
	}
	void add_channel(u32 id)
	{
		if (chip->entry_words == 2)
			words.insert(words.end(), {id, 0x1000 + id});
		else
			words.insert(words.end(), {0x10, 0x1000 + id, id | 0x5000, 0});
	}
};

// TSG 3 with channels 8 and 9, TSG 5 with 16, TSG 9 with none
List make_list(const lens_chip *chip)
{
	List l{chip, {}};
	l.add_tsg(3, 2);
	l.add_channel(8);
	l.add_channel(9);
	l.add_tsg(5, 1);
	l.add_channel(16);
	l.add_tsg(9, 0);
	return l;
}

struct Arranged {
	int err = 0;
	u32 n = 0;
	std::vector<u32> words{};
};

Arranged arrange_list(List list, const Ids &ids, u32 cap = 100)
{
	Fake f(*list.chip);
	lens_runlist_snap snap{};
	auto order = std::make_unique<lens_order>();
	Arranged a;

	snap.entries = list.words.data();
	snap.n = static_cast<u32>(list.words.size()) / list.chip->entry_words;
	order->n = static_cast<u32>(ids.size());
	std::copy(ids.begin(), ids.end(), order->tsgs);
	a.words.resize(size_t{cap} * list.chip->entry_words);
	a.err = lens_order_arrange(f.gpu.get(), &snap, order.get(), a.words.data(), cap, &a.n);
	a.words.resize(std::min<size_t>(a.words.size(), size_t{a.n} * list.chip->entry_words));
	return a;
}

class Order : public testing::TestWithParam<const lens_chip *> {};

TEST_P(Order, EachTsgIsCopiedWhole)
{
	List expected{GetParam(), {}};
	expected.add_tsg(9, 0);
	for (int twice = 0; twice < 2; twice++) {
		expected.add_tsg(5, 1);
		expected.add_channel(16);
	}
	expected.add_tsg(3, 2);
	expected.add_channel(8);
	expected.add_channel(9);
	Arranged a = arrange_list(make_list(GetParam()), {9, 5, 5, 3});
	EXPECT_EQ(a.err, 0);
	EXPECT_EQ(a.n, 8u);
	EXPECT_EQ(a.words, expected.words);
}

// A driver lists a TSG more than once: its first place is copied.
TEST_P(Order, ATsgThatIsListedTwice)
{
	List twice = make_list(GetParam());
	twice.add_tsg(5, 0);
	Arranged a = arrange_list(twice, {5, 3, 9});
	EXPECT_EQ(a.err, 0);
	EXPECT_EQ(a.n, 6u);
}

// Seen failing, one each, without the checks of order_check_list() and of cap.
TEST_P(Order, WhatIsRefused)
{
	EXPECT_EQ(arrange_list(make_list(GetParam()), {3, 5}).err, -EINVAL);
	EXPECT_EQ(arrange_list(make_list(GetParam()), {3, 5, 9, 4}).err, -ENOENT);
	List bare = make_list(GetParam());
	bare.add_channel(30);
	EXPECT_EQ(arrange_list(bare, {3, 5, 9}).err, -EOPNOTSUPP);
	List cut = make_list(GetParam());
	cut.add_tsg(10, 2);
	cut.add_channel(30);
	EXPECT_EQ(arrange_list(cut, {3, 5, 9, 10}).err, -EIO);
	cut.add_tsg(11, 0);
	EXPECT_EQ(arrange_list(cut, {3, 5, 9, 10, 11}).err, -EIO);
	Arranged a = arrange_list(make_list(GetParam()), {3, 5, 9, 3}, 8);
	EXPECT_EQ(a.err, -ENOSPC);
	EXPECT_EQ(a.n, 9u);
	EXPECT_EQ(arrange_list(make_list(GetParam()), {3, 5, 9, 3}, 9).err, 0);
}

INSTANTIATE_TEST_SUITE_P(Chips, Order, testing::Values(&lens_chip_gp10x, &lens_chip_gv10x),
			 [](const auto &info) { return std::string(info.param->name); });

int parse_order(const std::string &text, lens_order *order)
{
	std::unique_ptr<char[]> exact(new char[text.size()]);

	memcpy(exact.get(), text.data(), text.size());
	return lens_parse_order(exact.get(), text.size(), order);
}

TEST(ParseOrder, RunlistAndTsgs)
{
	auto order = std::make_unique<lens_order>();

	ASSERT_EQ(parse_order("2 5 3 5 65535\n", order.get()), 0);
	EXPECT_EQ(order->runlist, 2u);
	EXPECT_EQ(Ids(order->tsgs, order->tsgs + order->n), (Ids{5, 3, 5, 65535}));
	std::string most = "0";
	for (int i = 0; i < 1024; i++)
		most += " 7";
	ASSERT_EQ(parse_order(most, order.get()), 0);
	EXPECT_EQ(order->n, 1024u);
	EXPECT_EQ(parse_order(most + " 7", order.get()), -EINVAL);
	for (const char *text :
	     {"", "\n", "0", "0 ", "0  5", " 0 5", "0 5 ", "0 5\n\n", "0 x", "0 5x", "0 0x5", "0:5", "0 -1", "0\t5"})
		EXPECT_EQ(parse_order(text, order.get()), -EINVAL) << text;
	for (const char *text : {"0 65536", "4294967296 5", "0 5 99999999999999999999"})
		EXPECT_EQ(parse_order(text, order.get()), -ERANGE) << text;
	EXPECT_EQ(parse_order("0 65536 x", order.get()), -EINVAL);
	EXPECT_EQ(parse_order("0 5" + std::string(8190, ' '), order.get()), -EINVAL);
}

} // namespace
