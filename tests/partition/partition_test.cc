// SPDX-License-Identifier: GPL-2.0
// Masks of TPCs: literal masks on a make_masks-up GPU, and properties that hold on many floorswept GPUs.
#include "gpulens-partition.h"

#include <algorithm>
#include <cerrno>
#include <gtest/gtest.h>
#include <memory>
#include <numeric>
#include <random>
#include <set>

namespace {

using Words = std::vector<uint64_t>;
using Sizes = std::vector<unsigned>;

struct Close {
	void operator()(gpulens_layout *l) const { gpulens_layout_close(l); }
};
using Layout = std::unique_ptr<gpulens_layout, Close>;

Layout make_layout(const std::vector<unsigned> &tpcs)
{
	gpulens_layout *l = nullptr;

	EXPECT_EQ(gpulens_layout_make(tpcs.data(), tpcs.size(), &l), 0) << gpulens_error();
	return Layout(l);
}

// GPCs of 3, 2 and 4 TPCs: 0-2, 3-4, 5-8.
Layout layout_of_three_gpcs()
{
	return make_layout({3, 2, 4});
}

std::vector<Words> make_masks(const Layout &l, const std::vector<unsigned> &sizes, gpulens_placing placing,
			      const uint64_t *taken = nullptr)
{
	size_t words = gpulens_layout_words(l.get());
	Words all(sizes.size() * words);
	std::vector<Words> list;

	EXPECT_EQ(gpulens_masks_make(l.get(), sizes.data(), sizes.size(), placing, taken, all.data()), 0)
		<< gpulens_error();
	for (size_t i = 0; i < sizes.size(); i++)
		list.emplace_back(all.begin() + static_cast<long>(i * words),
				  all.begin() + static_cast<long>((i + 1) * words));
	return list;
}

unsigned count_tpcs(const Words &mask)
{
	unsigned n = 0;

	for (uint64_t word : mask)
		n += static_cast<unsigned>(__builtin_popcountll(word));
	return n;
}

unsigned count_in(const Words &a, const Words &b)
{
	unsigned n = 0;

	for (size_t i = 0; i < a.size(); i++)
		n += static_cast<unsigned>(__builtin_popcountll(a[i] & b[i]));
	return n;
}

std::vector<Words> gpc_masks(const Layout &l)
{
	std::vector<Words> list(gpulens_layout_gpcs(l.get()), Words(gpulens_layout_words(l.get())));

	for (unsigned i = 0; i < list.size(); i++)
		EXPECT_EQ(gpulens_layout_gpc(l.get(), i, nullptr, list[i].data()), 0);
	return list;
}

TEST(Layout, GpcsHaveTheirTpcsInOrder)
{
	Layout l = layout_of_three_gpcs();
	unsigned id = 0;
	uint64_t mask = 0;

	EXPECT_EQ(gpulens_layout_gpcs(l.get()), 3U);
	EXPECT_EQ(gpulens_layout_tpcs(l.get()), 9U);
	EXPECT_EQ(gpulens_layout_words(l.get()), 1U);
	EXPECT_EQ(gpulens_layout_gpc(l.get(), 1, &id, &mask), 0);
	EXPECT_EQ(id, 1U);
	EXPECT_EQ(mask, 0x18U);
	EXPECT_EQ(gpulens_layout_gpc(l.get(), 3, &id, &mask), -ENOENT);
	EXPECT_STREQ(gpulens_error(), "there is no GPC at index 3; there are 3 GPCs");
	EXPECT_EQ(mask, 0x18U);
}

TEST(Layout, AGpuMayHaveMoreThan64Tpcs)
{
	Layout l = make_layout({9, 9, 9, 9, 9, 9, 9, 9});
	uint64_t mask[2] = {};

	EXPECT_EQ(gpulens_layout_words(l.get()), 2U);
	EXPECT_EQ(gpulens_layout_gpc(l.get(), 7, nullptr, mask), 0);
	EXPECT_EQ(mask[0], 0x8000000000000000U);
	EXPECT_EQ(mask[1], 0xffU);
	EXPECT_EQ(gpulens_mask_parse(l.get(), "63-64,71", mask), 0);
	EXPECT_EQ(mask[0], 0x8000000000000000U);
	EXPECT_EQ(mask[1], 0x81U);
	EXPECT_EQ(gpulens_mask_parse(l.get(), "0x810000000000000001", mask), 0);
	EXPECT_EQ(mask[0], 1U);
	EXPECT_EQ(mask[1], 0x81U);
}

TEST(Layout, ImpossibleSizesAreRefused)
{
	gpulens_layout *l = nullptr;
	unsigned none[] = {0, 0}, many[] = {65536, 1}, most[] = {65536};

	EXPECT_EQ(gpulens_layout_make(none, 2, &l), -EINVAL);
	EXPECT_STREQ(gpulens_error(), "a GPU without TPCs");
	EXPECT_EQ(gpulens_layout_make(none, 0, &l), -EINVAL);
	EXPECT_EQ(gpulens_layout_make(many, 2, &l), -EINVAL);
	EXPECT_STREQ(gpulens_error(), "more than 65536 TPCs");
	EXPECT_EQ(gpulens_layout_make(nullptr, 1, &l), -EINVAL);
	EXPECT_EQ(gpulens_layout_make(most, 1, nullptr), -EINVAL);
	EXPECT_EQ(l, nullptr);
	EXPECT_EQ(gpulens_layout_make(most, 1, &l), 0);
	gpulens_layout_close(l);
	gpulens_layout_close(nullptr);
}

TEST(Masks, PackedTakesWholeGpcsAndThenTheSmallest)
{
	Layout l = layout_of_three_gpcs();

	EXPECT_EQ(make_masks(l, {4}, GPULENS_PACKED)[0][0], 0x1e0U); // GPC 2
	EXPECT_EQ(make_masks(l, {5}, GPULENS_PACKED)[0][0], 0x1e8U); // and one of GPC 1, the smallest
	EXPECT_EQ(make_masks(l, {2}, GPULENS_PACKED)[0][0], 0x018U); // GPC 1 as a whole
	EXPECT_EQ(make_masks(l, {3, 4, 2}, GPULENS_PACKED), (std::vector<Words>{{0x007}, {0x1e0}, {0x018}}));
	uint64_t taken = 0x1e0;
	EXPECT_EQ(make_masks(l, {4}, GPULENS_PACKED, &taken)[0][0], 0x00fU);
}

TEST(Masks, DistributedTakesFromAllGpcs)
{
	Layout l = layout_of_three_gpcs();

	EXPECT_EQ(make_masks(l, {3}, GPULENS_DISTRIBUTED)[0][0], 0x029U);
	EXPECT_EQ(make_masks(l, {9}, GPULENS_DISTRIBUTED)[0][0], 0x1ffU);
	uint64_t taken = 0x021; // the first of GPCs 0 and 2
	EXPECT_EQ(make_masks(l, {3}, GPULENS_DISTRIBUTED, &taken)[0][0], 0x04aU);
}

TEST(Masks, MoreTpcsThanAreFreeAreRefused)
{
	Layout l = layout_of_three_gpcs();
	uint64_t masks[2] = {5, 6}, taken = 0x1e0, beyond = 0x200;
	unsigned sizes[] = {5, 5}, zero[] = {5, 0};

	EXPECT_EQ(gpulens_masks_make(l.get(), sizes, 2, GPULENS_PACKED, nullptr, masks), -ENOSPC);
	EXPECT_STREQ(gpulens_error(), "size 1 is 5 TPCs, but only 4 are free");
	EXPECT_EQ(gpulens_masks_make(l.get(), sizes, 2, GPULENS_PACKED, &taken, masks), -ENOSPC);
	EXPECT_STREQ(gpulens_error(), "size 1 is 5 TPCs, but only 0 are free");
	EXPECT_EQ(gpulens_masks_make(l.get(), zero, 2, GPULENS_PACKED, nullptr, masks), -EINVAL);
	EXPECT_STREQ(gpulens_error(), "size 1 is 0");
	EXPECT_EQ(gpulens_masks_make(l.get(), sizes, 1, GPULENS_PACKED, &beyond, masks), -ENOENT);
	EXPECT_STREQ(gpulens_error(), "there is no TPC 9; there are 0 to 8");
	EXPECT_EQ(gpulens_masks_make(l.get(), sizes, 1, 2, nullptr, masks), -EINVAL);
	EXPECT_STREQ(gpulens_error(), "unknown placing 2");
	EXPECT_EQ(masks[0], 5U);
	EXPECT_EQ(masks[1], 6U);
}

TEST(Masks, GpcsAreNamedByTheirNumbers)
{
	Layout l = layout_of_three_gpcs();
	unsigned some[] = {2, 0}, wrong[] = {1, 3}, twice[] = {1, 1};
	uint64_t mask = 0;

	EXPECT_EQ(gpulens_mask_of_gpcs(l.get(), some, 2, &mask), 0);
	EXPECT_EQ(mask, 0x1e7U);
	EXPECT_EQ(gpulens_mask_of_gpcs(l.get(), wrong, 2, &mask), -ENOENT);
	EXPECT_STREQ(gpulens_error(), "there is no GPC 3; there are 0, 1, 2");
	EXPECT_EQ(gpulens_mask_of_gpcs(l.get(), twice, 2, &mask), -EINVAL);
	EXPECT_STREQ(gpulens_error(), "GPC 1 is named twice");
	EXPECT_EQ(gpulens_mask_of_gpcs(l.get(), some, 0, &mask), -EINVAL);
	EXPECT_STREQ(gpulens_error(), "no GPC is named");
	EXPECT_EQ(mask, 0x1e7U);
}

TEST(Masks, ComplementAndCount)
{
	Layout l = layout_of_three_gpcs();
	uint64_t mask = 0x1e7, beyond = 0x8000000000000000;
	unsigned n = 0;

	EXPECT_EQ(gpulens_mask_count(l.get(), &mask, &n), 0);
	EXPECT_EQ(n, 7U);
	EXPECT_EQ(gpulens_mask_complement(l.get(), &mask, &mask), 0);
	EXPECT_EQ(mask, 0x018U);
	EXPECT_EQ(gpulens_mask_complement(l.get(), &beyond, &mask), -ENOENT);
	EXPECT_STREQ(gpulens_error(), "there is no TPC 63; there are 0 to 8");
	EXPECT_EQ(gpulens_mask_count(l.get(), &beyond, &n), -ENOENT);
}

TEST(Masks, TextIsParsed)
{
	Layout l = layout_of_three_gpcs();
	auto parsed = [&](const char *text) {
		uint64_t mask = 0;
		return gpulens_mask_parse(l.get(), text, &mask) ? 0 : mask;
	};

	EXPECT_EQ(parsed("0-3,8"), 0x10fU);
	EXPECT_EQ(parsed("8"), 0x100U);
	EXPECT_EQ(parsed("0x1E7"), 0x1e7U);
	EXPECT_EQ(parsed("gpc:0,2"), 0x1e7U);
	EXPECT_EQ(parsed("gpc:1-2"), 0x1f8U);
	EXPECT_EQ(parsed("all"), 0x1ffU);
	uint64_t mask = 0;
	for (const char *text : {"", "-", "3-", "3-2", "1,", ",1", "1,,2", "x", "1 2", "gpc:", "gpc:x", "0x", "0xg",
				 "-1", "99999999999", "All"}) {
		EXPECT_EQ(gpulens_mask_parse(l.get(), text, &mask), -EINVAL) << text;
		std::string message = gpulens_error();
		EXPECT_NE(message.find('"' + std::string(text) + '"'), std::string::npos) << message;
	}
	EXPECT_EQ(gpulens_mask_parse(l.get(), "0-9", &mask), -ENOENT);
	EXPECT_STREQ(gpulens_error(), "\"0-9\": there is no TPC 9; there are 0 to 8");
	EXPECT_EQ(gpulens_mask_parse(l.get(), "0x200", &mask), -ENOENT);
	EXPECT_EQ(gpulens_mask_parse(l.get(), "gpc:3", &mask), -ENOENT);
	EXPECT_EQ(gpulens_mask_parse(l.get(), nullptr, &mask), -EINVAL);
}

TEST(Masks, CheckNamesTheWrongMaskAndFindsSplitGpcs)
{
	Layout l = layout_of_three_gpcs();
	uint64_t apart[] = {0x007, 0x018}, split[] = {0x003, 0x03c}, both[] = {0x003, 0x004, 0x00a}, empty[] = {1, 0},
		 beyond[] = {1, 0x200}, shared = 1;

	EXPECT_EQ(gpulens_masks_check(l.get(), apart, 2, &shared), 0);
	EXPECT_EQ(shared, 0U);
	EXPECT_EQ(gpulens_masks_check(l.get(), split, 2, &shared), 0);
	EXPECT_EQ(shared, 0x007U); // GPC 0; GPCs 1 and 2 are of the second alone
	EXPECT_EQ(gpulens_masks_check(l.get(), split, 2, nullptr), 0);
	EXPECT_EQ(gpulens_masks_check(l.get(), both, 3, &shared), -EBUSY);
	EXPECT_STREQ(gpulens_error(), "masks 0 and 2 both have TPC 1");
	EXPECT_EQ(gpulens_masks_check(l.get(), empty, 2, &shared), -EINVAL);
	EXPECT_STREQ(gpulens_error(), "mask 1 is empty");
	EXPECT_EQ(gpulens_masks_check(l.get(), beyond, 2, &shared), -ENOENT);
	EXPECT_STREQ(gpulens_error(), "mask 1: there is no TPC 9; there are 0 to 8");
	EXPECT_EQ(shared, 0x007U);
}

TEST(Masks, HalvesAreWholeGpcs)
{
	auto half = [](const Layout &l, const char *which) -> uint64_t {
		uint64_t mask = 0;
		return gpulens_mask_parse(l.get(), which, &mask) ? 0 : mask;
	};
	Layout l = layout_of_three_gpcs(), one = make_layout({5}), among = make_layout({0, 5, 0}),
	       least = make_layout({1}), middle = make_layout({1, 3, 2}), many = make_layout(Sizes(21, 1));

	EXPECT_EQ(half(l, "half:a"), 0x01fU); // 3 + 2 of 9
	EXPECT_EQ(half(l, "half:b"), 0x1e0U);
	EXPECT_EQ(half(one, "half:a"), 0x07U);
	EXPECT_EQ(half(one, "half:b"), 0x18U);
	EXPECT_EQ(half(among, "half:a"), 0x07U);
	EXPECT_EQ(half(middle, "half:a"), 0x31U); // GPCs 0 and 2
	EXPECT_EQ(half(l, "half:c"), 0U);
	EXPECT_EQ(half(least, "half:a"), 1U);
	EXPECT_EQ(half(least, "half:b"), 0U);
	EXPECT_STREQ(gpulens_error(), "\"half:b\": there is only one TPC");
	EXPECT_EQ(half(many, "half:a"), 0U);
	EXPECT_STREQ(gpulens_error(), "halves of 21 GPCs are not supported; at most 20 GPCs");
}

// GPUs of up to 12 GPCs with up to 12 TPCs each, any of which may be disabled.
TEST(Floorswept, MasksAreDisjointAndHaveTheirSizes)
{
	std::mt19937 random(20261122);

	for (int die = 0; die < 300; die++) {
		std::vector<unsigned> tpcs(1 + random() % 12);
		for (unsigned &n : tpcs)
			n = random() % 13;
		tpcs[0] += 1;
		Layout l = make_layout(tpcs);
		unsigned all = std::accumulate(tpcs.begin(), tpcs.end(), 0U), left = all;
		std::vector<unsigned> sizes;
		while (left && sizes.size() < 6) {
			sizes.push_back(1 + random() % left);
			left -= sizes.back();
		}
		for (gpulens_placing placing : {GPULENS_PACKED, GPULENS_DISTRIBUTED}) {
			std::vector<Words> masks = make_masks(l, sizes, placing);
			Words flat;
			for (size_t i = 0; i < masks.size(); i++) {
				ASSERT_EQ(count_tpcs(masks[i]), sizes[i]);
				for (size_t j = 0; j < i; j++)
					ASSERT_EQ(count_in(masks[i], masks[j]), 0U);
				flat.insert(flat.end(), masks[i].begin(), masks[i].end());
			}
			ASSERT_EQ(gpulens_masks_check(l.get(), flat.data(), masks.size(), nullptr), 0);
		}
	}
}

TEST(Floorswept, PackedSplitsAtMostOneGpcAndDistributedUsesAsManyAsItCan)
{
	std::mt19937 random(5);

	for (int die = 0; die < 300; die++) {
		std::vector<unsigned> tpcs(1 + random() % 12);
		for (unsigned &n : tpcs)
			n = 1 + random() % 12;
		Layout l = make_layout(tpcs);
		unsigned size = 1 + random() % std::accumulate(tpcs.begin(), tpcs.end(), 0U);
		std::vector<Words> all = gpc_masks(l);
		Words packed = make_masks(l, {size}, GPULENS_PACKED)[0],
		      wide = make_masks(l, {size}, GPULENS_DISTRIBUTED)[0];
		auto split = [&](const Words &g) {
			return count_in(packed, g) > 0 && count_in(packed, g) < count_tpcs(g);
		};
		ASSERT_LE(std::count_if(all.begin(), all.end(), split), 1);
		auto touched = [&](const Words &g) { return count_in(wide, g) > 0; };
		ASSERT_EQ(std::count_if(all.begin(), all.end(), touched),
			  std::min<long>(size, static_cast<long>(tpcs.size())));
	}
}

TEST(Floorswept, HalvesAreAsEqualAsWholeGpcsAllow)
{
	std::mt19937 random(11);

	for (int die = 0; die < 200; die++) {
		Sizes tpcs(2 + random() % 11);
		for (unsigned &n : tpcs)
			n = 1 + random() % 12;
		Layout l = make_layout(tpcs);
		Words a(gpulens_layout_words(l.get())), b = a;
		ASSERT_EQ(gpulens_mask_parse(l.get(), "half:a", a.data()), 0);
		ASSERT_EQ(gpulens_mask_parse(l.get(), "half:b", b.data()), 0);
		ASSERT_EQ(count_in(a, b), 0U);
		ASSERT_EQ(count_tpcs(a) + count_tpcs(b), gpulens_layout_tpcs(l.get()));
		for (const Words &gpc : gpc_masks(l))
			ASSERT_TRUE(count_in(a, gpc) == 0 || count_in(b, gpc) == 0);
		std::set<unsigned> sums = {0}; // of whole GPCs
		for (unsigned n : tpcs)
			for (unsigned sum : std::set<unsigned>(sums))
				sums.insert(sum + n);
		unsigned all = count_tpcs(a) + count_tpcs(b), nearest = all;
		for (unsigned sum : sums)
			nearest = std::min(nearest, std::max(sum, all - sum));
		ASSERT_EQ(std::max(count_tpcs(a), count_tpcs(b)), nearest);
	}
}

TEST(Floorswept, AMaskAndItsComplementHaveEachTpcOnce)
{
	std::mt19937_64 random(7);

	for (int die = 0; die < 300; die++) {
		std::vector<unsigned> tpcs(1 + random() % 12, static_cast<unsigned>(1 + random() % 12));
		Layout l = make_layout(tpcs);
		unsigned all = gpulens_layout_tpcs(l.get());
		Words mask(gpulens_layout_words(l.get())), rest = mask, back = mask;
		for (unsigned t = 0; t < all; t++)
			mask[t / 64] |= (random() & 1) << t % 64;
		ASSERT_EQ(gpulens_mask_complement(l.get(), mask.data(), rest.data()), 0);
		ASSERT_EQ(count_in(mask, rest), 0U);
		ASSERT_EQ(count_tpcs(mask) + count_tpcs(rest), all);
		ASSERT_EQ(gpulens_mask_complement(l.get(), rest.data(), back.data()), 0);
		ASSERT_EQ(back, mask);
	}
}

} // namespace
