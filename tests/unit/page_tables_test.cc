// SPDX-License-Identifier: GPL-2.0
// The page table walker beyond mmu_test.cc: version 1, what an instance block selects, pages that are hidden, Blackwell's
// largest page, and the cache of table words. Literal words. Sources:
//   V1  open-gpu-kernel-modules maxwell/gm107/dev_mmu.h NV_MMU_PDE_*, NV_MMU_PTE_*, upper word after lower word:
//       PDE lower  APERTURE_BIG 1:0 (0 invalid, 1 video, 2 and 3 system), SIZE 3:2, ADDRESS_BIG 31:4 or 28:4 = address >> 12
//           upper  APERTURE_SMALL 1:0, ADDRESS_SMALL 31:4 or 28:4
//       PTE lower  VALID 0, PRIVILEGE 1, ADDRESS 31:4 or 28:4;  upper  VOL 0, APERTURE 2:1 (0 video, 1 peer, 2 and 3 system)
//       levels: kern_gmmu_fmt_gm10x.c
//   V3  hopper/gh100/dev_mmu.h, kern_gmmu_fmt_gb10x.c (256 GiB in PD2)
//   an invalid big page with PRIVILEGE (V1, V2) or PCF 3 (V3) hides the small ones: nouveau vmmgk104.c, vmmgp100.c;
//   gh100/dev_mmu.h NV_MMU_VER3_PTE_PCF_NO_VALID_4KB_PAGE
// The V1 address has, with 128 KiB pages, index 0x123 in the directory, 0xa5 in the big table, 0x14bb in the small one; with
// 64 KiB pages 0x246, 0x14b, 0x14bb. Its byte in a page of 128 KiB is 0x1b678, of 64 KiB 0xb678, of 4 KiB 0x678.
#include "support/core/fake.hpp"

#include <gtest/gtest.h>

namespace {

using test::Fake;

constexpr u64 V1_VA = 0x9194bb678;

struct V1 : Fake {
	explicit V1(bool big_64k, const lens_chip &chip = lens_chip_gm20x)
		: Fake(chip), word128(big_64k ? 0x800 : 0), root_entry(big_64k ? 0x11230 : 0x10918),
		  big_entry(big_64k ? 0x20a58 : 0x20528)
	{
		vid[root_entry] = 0x0000300100000201; // big table at 0x20000, small table at 0x300000
	}
	int translate(lens_aperture root_ap = LENS_VID)
	{
		copies = 0;
		memset(&m, 0x55, sizeof(m));
		return lens_mmu_translate(gpu.get(), gpu->chip->mmu(word128), root_ap, 0x10000, va, &m, nullptr);
	}
	lens_mapping m;
	u32 word128; // BIG_PAGE_SIZE 11:11
	u64 va = V1_VA, root_entry, big_entry, small_entry = 0x30a5d8;
};

#define EXPECT_MAPS(t, aperture, address, page)                                                                        \
	do {                                                                                                           \
		EXPECT_EQ((t).translate(), 0);                                                                         \
		EXPECT_EQ((t).m.ap, aperture);                                                                         \
		EXPECT_EQ((t).m.addr, u64{address});                                                                   \
		EXPECT_EQ((t).m.page_bytes, u64{page});                                                                \
	} while (0)

TEST(MmuV1, BigPageIsOf64Or128KibAsTheInstanceBlockSays)
{
	V1 k128(false), k64(true);
	k128.vid[k128.big_entry] = 0x123401;
	EXPECT_MAPS(k128, LENS_VID, 0x1235b678, 0x20000);
	EXPECT_EQ(k128.copies, 2u);
	k64.vid[k64.big_entry] = 0x123401;
	EXPECT_MAPS(k64, LENS_VID, 0x1234b678, 0x10000);
}

TEST(MmuV1, KeplerAndTheFirstMaxwellHave128KibWhateverTheBitSays)
{
	for (const lens_chip *chip : {&lens_chip_gk10x, &lens_chip_gm10x}) {
		V1 t(false, *chip);
		t.word128 = 0xfffff800;
		t.vid[t.big_entry] = 0x123401;
		EXPECT_MAPS(t, LENS_VID, 0x1235b678, 0x20000);
	}
}

TEST(MmuV1, PageOf4KibIsFoundThroughTheUpperWord)
{
	for (bool big_64k : {false, true}) {
		V1 t(big_64k);
		t.vid[t.small_entry] = 0x76541;
		EXPECT_MAPS(t, LENS_VID, 0x7654678, 0x1000);
		EXPECT_EQ(t.copies, 3u);                  // directory, both tables
		t.vid[t.root_entry] = 0x0000300100000200; // no big table
		EXPECT_MAPS(t, LENS_VID, 0x7654678, 0x1000);
		EXPECT_EQ(t.copies, 2u);
		t.vid[t.big_entry] = 0x123401; // now it would win, but it is not there
		EXPECT_MAPS(t, LENS_VID, 0x7654678, 0x1000);
		t.vid[t.root_entry] = 0x0000300100000201;
		EXPECT_EQ(t.translate(), 0);
		EXPECT_EQ(t.m.page_bytes, big_64k ? 0x10000u : 0x20000u);
	}
}

// KIND, COMPTAGLINE and the flags of the upper word, and PRIVILEGE, READ_ONLY, ENCRYPTED 3:1 of the lower.
TEST(MmuV1, OtherFieldsAreNoPartOfTheAddress)
{
	V1 t(false);
	t.vid[t.small_entry] = 0xfffffff90007654f;
	EXPECT_MAPS(t, LENS_VID, 0x7654678, 0x1000);
}

// Video addresses end at bit 28 (37 bits), system ones at bit 31 (40 bits).
TEST(MmuV1, SystemAddressesAreWiderThanVideoOnes)
{
	V1 t(false);
	t.vid[t.small_entry] = 0x00000000f1234011;
	EXPECT_MAPS(t, LENS_VID, 0x1123401678, 0x1000);
	t.vid[t.small_entry] = 0x00000004f1234011;
	EXPECT_MAPS(t, LENS_SYS, 0xf123401678, 0x1000);
	t.vid[t.small_entry] = 0x00000006f1234011;
	EXPECT_MAPS(t, LENS_SYS, 0xf123401678, 0x1000);
	t.vid[t.small_entry] = 0x00000002f1234011;
	EXPECT_EQ(t.translate(), -EIO); // a peer's
	t.vid[t.small_entry] = 0;
	t.vid[t.big_entry] = 0x0000000200123401;
	EXPECT_EQ(t.translate(), -EIO);
}

// SIZE: only 1, 1/2, 1/4, 1/8 of each table is there. 0x14bb of 32768 and 0xa5 of 1024 lie in the second eighth.
TEST(MmuV1, PartialTablesEndWhereTheySay)
{
	const int want[] = {0, 0, 0, -EFAULT};
	for (u64 size = 0; size < 4; size++) {
		V1 small(false), big(false);
		small.vid[small.small_entry] = 0x76541;
		small.vid[small.root_entry] |= size << 2;
		EXPECT_EQ(small.translate(), want[size]) << size;
		big.vid[big.big_entry] = 0x123401;
		big.vid[big.root_entry] |= size << 2;
		EXPECT_EQ(big.translate(), want[size]) << size;
		if (want[size]) {
			EXPECT_EQ(big.copies, 1u); // memory beyond it is not part of the table
		}
	}
	// With 64 KiB pages 0x14bb is of 16384 and 0x14b of 1024: both in the second quarter.
	V1 t(true);
	t.vid[t.small_entry] = 0x76541;
	t.vid[t.root_entry] = 0x0000300100000205;
	EXPECT_MAPS(t, LENS_VID, 0x7654678, 0x1000);
	t.vid[t.root_entry] = 0x0000300100000209;
	EXPECT_EQ(t.translate(), -EFAULT);
}

TEST(MmuV1, TablesInSystemMemoryAreFollowedThere)
{
	V1 t(false);
	t.vid.clear();
	t.sys = {{t.root_entry, 0xf000300200000203}, {0xf00030a5d8, 0x76541}};
	EXPECT_EQ(t.translate(LENS_SYS), 0); // the small table's address has 28 bits
	EXPECT_EQ(t.m.ap, LENS_VID);
	EXPECT_EQ(t.m.addr, 0x7654678u);
	t.sys[0x20528] = 0x123401;
	EXPECT_EQ(t.translate(LENS_SYS), 0);
	EXPECT_EQ(t.m.addr, 0x1235b678u);
	t.vid[t.root_entry] = 0x0000300200000000; // root in video memory, table in the system's
	t.sys[t.small_entry] = 0x99991;
	EXPECT_MAPS(t, LENS_VID, 0x9999678, 0x1000);
}

TEST(MmuV1, EmptyAndInvalidEntriesAreNotMapped)
{
	V1 t(false);
	EXPECT_EQ(t.translate(), -EFAULT); // both tables empty
	t.vid[t.small_entry] = 0x76540;
	t.vid[t.big_entry] = 0x123400;
	EXPECT_EQ(t.translate(), -EFAULT); // VALID clear
	t.vid[t.small_entry] = 0x76541;
	t.vid[t.root_entry] = 0x0000300000000200;
	EXPECT_EQ(t.translate(), -EFAULT); // APERTURE invalid
	EXPECT_EQ(t.copies, 1u);
	t.va = V1_VA | 1ull << 40;
	EXPECT_EQ(t.translate(), -EFAULT);
	EXPECT_EQ(t.copies, 0u);
}

TEST(MmuV1, DirectoryPointingToItselfAndTablesBeyondMemoryEnd)
{
	V1 loop(false);
	loop.memory = [](lens_aperture, u64) {
		return u64{0x0000010200000102};
	}; // as a big page: invalid, and hides small ones
	EXPECT_EQ(loop.translate(), -EFAULT);
	EXPECT_EQ(loop.copies, 2u);
	V1 t(false);
	t.vid_bytes = 0x100000;
	EXPECT_EQ(t.translate(), -EIO); // the small table at 0x300000
	t.vid[t.big_entry] = 0x123401;
	EXPECT_MAPS(t, LENS_VID, 0x1235b678, 0x20000); // is not read
	t.vid[t.root_entry] = 0x0000000000100001;
	EXPECT_EQ(t.translate(), -EIO);
}

// Word 128 of an instance block: USE_VER2_PT_FORMAT 10:10, BIG_PAGE_SIZE 11:11 (1: 64 KiB). The bit for version 2 says
// nothing before Pascal, and on Hopper and Blackwell it is written either way.
TEST(MmuSelect, FormatIsTheGenerationsOrTheInstanceBlocks)
{
	const struct {
		const lens_chip *chip;
		const char *none, *ver2, *big_64k, *both;
	} rows[] = {
		{&lens_chip_gk10x, "v1 128K", "v1 128K", "v1 128K", "v1 128K"},
		{&lens_chip_gm10x, "v1 128K", "v1 128K", "v1 128K", "v1 128K"},
		{&lens_chip_gm20x, "v1 128K", "v1 128K", "v1 64K", "v1 64K"},
		{&lens_chip_gp100, "v1 128K", "v2", "v1 64K", "v2"},
		{&lens_chip_gp10x, "v1 128K", "v2", "v1 64K", "v2"},
		{&lens_chip_gv10x, "v2", "v2", "v2", "v2"},
		{&lens_chip_tu10x, "v2", "v2", "v2", "v2"},
		{&lens_chip_ga100, "v2", "v2", "v2", "v2"},
		{&lens_chip_ga10x, "v2", "v2", "v2", "v2"},
		{&lens_chip_ad10x, "v2", "v2", "v2", "v2"},
		{&lens_chip_gh100, "v3", "v3", "v3", "v3"},
		{&lens_chip_gb10x, "v3", "v3", "v3", "v3"},
		{&lens_chip_gb20x, "v3", "v3", "v3", "v3"},
	};
	for (const auto &r : rows) {
		EXPECT_STREQ(r.chip->mmu(0xfffff3ff)->name, r.none) << r.chip->name;
		EXPECT_STREQ(r.chip->mmu(0xfffff7ff)->name, r.ver2) << r.chip->name;
		EXPECT_STREQ(r.chip->mmu(0xfffffbff)->name, r.big_64k) << r.chip->name;
		EXPECT_STREQ(r.chip->mmu(0xffffffff)->name, r.both) << r.chip->name;
	}
}

/* -- versions 2 and 3: what mmu_test.cc leaves open -- */

// Indices as in mmu_test.cc: 1, 0x123, 0x45, 0x67 and 0x1ab or 0x1a; V3 also 0xa5 in PD3.
constexpr u64 V2_VA = 0xc8c8acfab678, V3_VA = 0x0152c8c8acfab678;

struct Walk : Fake {
	Walk(const lens_chip &chip, u64 va) : Fake(chip), va(va) {}
	int translate(lens_walk_cache *cache = nullptr)
	{
		copies = copied_words = 0;
		return lens_mmu_translate(gpu.get(), gpu->chip->mmu(0x400), LENS_VID, 0x10000, va, &m, cache);
	}
	lens_mapping m;
	u64 va;
};

struct V2 : Walk {
	V2() : Walk(lens_chip_tu10x, V2_VA)
	{
		vid = {{0x10008, 0x2002}, {0x20918, 0x3002}, {0x30228, 0x4002},
		       {0x40670, 0x60f2}, {0x40678, 0x5002}, {0x50d58, 0x123401}};
	}
};

struct V3 : Walk {
	explicit V3(const lens_chip &chip) : Walk(chip, V3_VA)
	{
		vid = {{0x10008, 0x20012}, {0x20528, 0x30012}, {0x30918, 0x40012},  {0x40228, 0x50012},
		       {0x50670, 0x70f12}, {0x50678, 0x60012}, {0x60d58, 0x1234001}};
	}
};

TEST(MmuHidden, InvalidBigPageMayForbidTheSmallOnes)
{
	V1 v1(false);
	v1.vid[v1.small_entry] = 0x76541;
	v1.vid[v1.big_entry] = 0x2; // PRIVILEGE without VALID
	EXPECT_EQ(v1.translate(), -EFAULT);
	EXPECT_EQ(v1.copies, 2u); // the small table is not looked at
	v1.vid[v1.big_entry] = 0x4;
	EXPECT_EQ(v1.translate(), 0);
	v1.vid[v1.big_entry] = 0x123403;
	EXPECT_MAPS(v1, LENS_VID, 0x1235b678, 0x20000); // valid and privileged
	V2 v2;
	v2.vid[0x60fd0] = 0x20;
	EXPECT_EQ(v2.translate(), -EFAULT);
	EXPECT_EQ(v2.copies, 5u);
	v2.vid[0x60fd0] = 0x08; // sparse: the small ones count
	EXPECT_MAPS(v2, LENS_VID, 0x1234678, 0x1000);
	V3 v3(lens_chip_gh100);
	v3.vid[0x70fd0] = 0x18; // PCF 3
	EXPECT_EQ(v3.translate(), -EFAULT);
	EXPECT_EQ(v3.copies, 6u);
	for (u64 pcf : {0x00ull, 0x08ull, 0x10ull}) { // invalid, sparse, nowhere
		v3.vid[0x70fd0] = pcf;
		EXPECT_EQ(v3.translate(), 0) << pcf;
	}
}

TEST(MmuBlackwell, PageOf256GibIsAnEntryOfPd2)
{
	for (const lens_chip *chip : {&lens_chip_gb10x, &lens_chip_gb20x}) {
		V3 t(*chip);
		EXPECT_MAPS(t, LENS_VID, 0x1234678, 0x1000);
		t.vid[0x30918] = 0x14000000001;
		EXPECT_MAPS(t, LENS_VID, 0x148acfab678, 0x4000000000);
		EXPECT_EQ(t.copies, 3u);
		t.vid[0x20528] = 0x30011; // PD3 holds no pages
		EXPECT_EQ(t.translate(), -EIO);
	}
}

TEST(MmuBlackwell, SmallerPagesAreThoseOfHopper)
{
	V3 t(lens_chip_gb10x);
	t.vid[0x40228] = 0x60000001;
	EXPECT_MAPS(t, LENS_VID, 0x6cfab678, 0x20000000);
	t.vid[0x40228] = 0x50012;
	t.vid[0x50670] = 0x7600001;
	EXPECT_MAPS(t, LENS_VID, 0x77ab678, 0x200000);
}

// On a Tegra the video memory aperture means the system's (nvgpu hw_gmmu_gv11b.h), in the root and in every entry.
TEST(MmuTegra, VideoMemoryIsTheSystems)
{
	V2 t;
	std::swap(t.vid, t.sys);
	EXPECT_EQ(t.translate(), -EFAULT);
	lens_chip_id soc{};
	soc.soc = true;
	t.gpu->id = &soc;
	EXPECT_EQ(t.translate(), 0);
	EXPECT_EQ(t.m.addr, 0x1234678u);
}

/* -- the cache of table words -- */

TEST(MmuCache, EachTableWordIsReadOnce)
{
	V2 t;
	auto cache = std::make_unique<lens_walk_cache>();
	EXPECT_EQ(t.translate(cache.get()), 0);
	EXPECT_EQ(t.copies, 6u); // four directories, the empty big table, the small one
	EXPECT_EQ(t.copied_words, 7u);
	EXPECT_EQ(t.translate(cache.get()), 0);
	EXPECT_EQ(t.copies, 0u);
	EXPECT_EQ(t.m.addr, 0x1234678u);
	t.va = V2_VA + 0x1000; // the next page: one word of the small table is new
	t.vid[0x50d60] = 0x765401;
	EXPECT_EQ(t.translate(cache.get()), 0);
	EXPECT_EQ(t.copies, 1u);
	EXPECT_EQ(t.m.addr, 0x7654678u);
	t.va = V2_VA + 0x200000; // the next PD0 entry: two words, and nothing there
	EXPECT_EQ(t.translate(cache.get()), -EFAULT);
	EXPECT_EQ(t.copied_words, 2u);
	EXPECT_EQ(cache->used, 8u);
}

TEST(MmuCache, MemoriesAreCachedSeparately)
{
	V2 t;
	auto cache = std::make_unique<lens_walk_cache>();
	EXPECT_EQ(t.translate(cache.get()), 0);
	// The same addresses in system memory lead elsewhere.
	t.sys = {{0x10008, 0x2004}, {0x20918, 0x3004}, {0x30228, 0x4004}, {0x40678, 0x5004}, {0x50d58, 0x999901}};
	EXPECT_EQ(lens_mmu_translate(t.gpu.get(), &lens_mmu_v2, LENS_SYS, 0x10000, V2_VA, &t.m, cache.get()), 0);
	EXPECT_EQ(t.m.addr, 0x9999678u);
}

// A failed read is not kept: the next walk asks again.
TEST(MmuCache, FailedReadIsNotCached)
{
	V2 t;
	auto cache = std::make_unique<lens_walk_cache>();
	t.vid_bytes = 0x50000;
	t.vid[0x40670] = 0;
	EXPECT_EQ(t.translate(cache.get()), -EIO);
	t.vid_bytes = 1ull << 40;
	EXPECT_EQ(t.translate(cache.get()), 0);
	EXPECT_EQ(t.copies, 1u);
	EXPECT_EQ(t.m.addr, 0x1234678u);
}

// PD2 and PD0 are one page here: PD2's entry 0xce of 8 bytes is the lower half of PD0's entry 0x67 of 16.
TEST(MmuCache, EntryOf8BytesIsNoHalfOfOneOf16)
{
	V2 t;
	t.va = 0xb388acfab678;
	t.vid = {{0x10008, 0x2002}, {0x20670, 0x3002}, {0x20678, 0x5002}, {0x30228, 0x2002}, {0x50d58, 0x123401}};
	EXPECT_EQ(t.translate(), 0);
	EXPECT_EQ(t.m.addr, 0x1234678u);
	auto cache = std::make_unique<lens_walk_cache>();
	EXPECT_EQ(t.translate(cache.get()), 0);
	EXPECT_EQ(t.m.addr, 0x1234678u);
}

// Ten tables of 512 pages: more words than the cache holds. Page n of table k maps 0x10000000 + k * 0x1000000 + n * 0x2000.
TEST(MmuCache, FullCacheStillGivesTheRightAddress)
{
	V2 t;
	t.vid = {{0x10000, 0x2002}, {0x20000, 0x3002}, {0x30000, 0x4002}};
	for (u64 k = 0; k < 10; k++) {
		t.vid[0x40000 + 16 * k + 8] = (0x50000 + k * 0x1000) >> 4 | 2;
		for (u64 n = 0; n < 512; n++)
			t.vid[0x50000 + k * 0x1000 + 8 * n] = (0x10000000 + k * 0x1000000 + n * 0x2000) >> 4 | 1;
	}
	auto cache = std::make_unique<lens_walk_cache>();
	for (int round = 0; round < 2; round++)
		for (u64 k = 0; k < 10; k++)
			for (u64 n = 0; n < 512; n++) {
				t.va = k * 0x200000 + n * 0x1000 + 0xabc;
				ASSERT_EQ(t.translate(cache.get()), 0) << k << ' ' << n;
				ASSERT_EQ(t.m.addr, 0x10000abc + k * 0x1000000 + n * 0x2000) << k << ' ' << n;
			}
	EXPECT_LE(cache->used, 1024u);
	EXPECT_GT(cache->used, 900u); // it was full, or nearly: eight slots are tried for a word
}

} // namespace
