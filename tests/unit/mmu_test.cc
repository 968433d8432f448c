// SPDX-License-Identifier: GPL-2.0
// The page table walker on tables written by hand. Sources:
//   V2  open-gpu-kernel-modules pascal/gp100/dev_mmu.h NV_MMU_VER2_*: PDE APERTURE 2:1 (0 invalid, 1 video, 2 and 3
//       system), ADDRESS 53:8 or 32:8 = address >> 12; dual PDE big half ADDRESS 53:4 or 32:4 = address >> 8, small half
//       the upper 8 bytes as a PDE; PTE VALID 0, APERTURE 2:1 (0 video, 1 peer, 2 and 3 system), VOL 3
//   V3  hopper/gh100/dev_mmu.h NV_MMU_VER3_*: addresses in place, PDE and PTE 51:12, big half 51:8; PCF 5:3 or 7:3
//   levels  kern_gmmu_fmt_gp10x.c, kern_gmmu_fmt_gh10x.c
// Both addresses below have index 1 at the top, 0x123 in PD2, 0x45 in PD1, 0x67 in PD0, 0x1ab in the table of 4 KiB
// pages, 0x1a in that of 64 KiB pages, and byte 0x678; the V3 one also has 0x0a5 in PD3.
#include "support/core/emulated.hpp"
#include "support/core/fake.hpp"

#include <gtest/gtest.h>

namespace {

using test::Fake;

constexpr u64 V2_VA = 0xc8c8acfab678, V3_VA = 0x0152c8c8acfab678;

struct Tables : Fake {
	Tables(const lens_chip &chip, u64 va) : Fake(chip), va_(va) {}
	int translate(lens_aperture root_ap = LENS_VID)
	{
		copies = 0;
		memset(&m, 0x55, sizeof(m));
		return lens_mmu_translate(gpu.get(), gpu->chip->mmu(word128), root_ap, 0x10000, va_, &m, nullptr);
	}
	lens_mapping m;
	u64 va_;
	u32 word128 = 0x400; // an instance block's word 128: USE_VER2_PT_FORMAT 10:10
};

struct V2 : Tables {
	V2() : Tables(lens_chip_gp10x, V2_VA)
	{
		vid[0x10008] = 0x2002; // PD3[1] -> 0x20000
		vid[0x20918] = 0x3002; // PD2[0x123] -> 0x30000
		vid[0x30228] = 0x4002; // PD1[0x45] -> 0x40000; PD0[0x67] is at 0x40670
	}
	void small() { vid[0x40678] = 0x5002; } // table of 4 KiB pages at 0x50000; [0x1ab] at 0x50d58
	void big() { vid[0x40670] = 0x60f2; }   // table of 64 KiB pages at 0x60f00; [0x1a] at 0x60fd0
};

struct V3 : Tables {
	V3() : Tables(lens_chip_gh100, V3_VA)
	{
		vid[0x10008] = 0x20012; // PD4[1] -> 0x20000, PCF 2
		vid[0x20528] = 0x30012; // PD3[0xa5]
		vid[0x30918] = 0x40012; // PD2[0x123]
		vid[0x40228] = 0x50012; // PD1[0x45] -> 0x50000; PD0[0x67] is at 0x50670
	}
	void small() { vid[0x50678] = 0x60012; } // [0x1ab] at 0x60d58
	void big() { vid[0x50670] = 0x70f12; }   // table at 0x70f00; [0x1a] at 0x70fd0
};

#define EXPECT_MAPS(t, aperture, address, page)                                                                        \
	do {                                                                                                           \
		EXPECT_EQ((t).translate(), 0);                                                                         \
		EXPECT_EQ((t).m.ap, aperture);                                                                         \
		EXPECT_EQ((t).m.addr, u64{address});                                                                   \
		EXPECT_EQ((t).m.page_bytes, u64{page});                                                                \
	} while (0)

TEST(MmuV2, PageOf4KibIsFoundThroughTheSmallHalf)
{
	V2 t;
	t.small();
	t.vid[0x50d58] = 0x123401;
	EXPECT_MAPS(t, LENS_VID, 0x1234678, 0x1000);
	EXPECT_EQ(t.copies, 5u); // four directories, one table
}

TEST(MmuV2, PageOf64KibIsFoundThroughTheBigHalfWhoseTableIsAlignedTo256Bytes)
{
	V2 t;
	t.big();
	t.vid[0x60fd0] = 0x555001;
	EXPECT_MAPS(t, LENS_VID, 0x555b678, 0x10000);
}

TEST(MmuV2, BigPageWinsOverSmallOneAndSmallServesWhereBigMapsNothing)
{
	V2 t;
	t.small();
	t.big();
	t.vid[0x50d58] = 0x123401;
	t.vid[0x60fd0] = 0x555001;
	EXPECT_MAPS(t, LENS_VID, 0x555b678, 0x10000);
	t.vid[0x60fd0] = 0;
	EXPECT_MAPS(t, LENS_VID, 0x1234678, 0x1000);
}

// Bit 0 of PD0's lower half: it is itself the PTE of 2 MiB, and the upper half means nothing.
TEST(MmuV2, PageOf2MibIsTheLowerHalfOfPd0)
{
	V2 t;
	t.small();
	t.vid[0x50d58] = 0x123401;
	t.vid[0x40670] = 0x760001;
	EXPECT_MAPS(t, LENS_VID, 0x77ab678, 0x200000);
	EXPECT_EQ(t.copies, 4u);
}

TEST(MmuV2, PageOf512MibIsAnEntryOfPd1)
{
	V2 t;
	t.vid[0x30228] = 0x6000001;
	EXPECT_MAPS(t, LENS_VID, 0x6cfab678, 0x20000000);
	EXPECT_EQ(t.copies, 3u);
}

// Video addresses end at bit 32 of the entry (37 bits); above lie peer id, compression tag and KIND 63:56.
TEST(MmuV2, VideoAddressEndsBelowTagAndKind)
{
	V2 t;
	t.small();
	t.vid[0x50d58] = 0xfffffffe00123401;
	EXPECT_MAPS(t, LENS_VID, 0x1234678, 0x1000);
	t.vid[0x50d58] = 0x00000001ffffff01;
	EXPECT_MAPS(t, LENS_VID, 0x1ffffff678, 0x1000);
}

// System addresses reach bit 53 of the entry; APERTURE 2 and 3 both mean it.
TEST(MmuV2, SystemMemoryPageKeepsItsWideAddress)
{
	V2 t;
	t.small();
	t.vid[0x50d58] = 0xff00001234567805;
	EXPECT_MAPS(t, LENS_SYS, 0x12345678678, 0x1000);
	t.vid[0x50d58] = 0x003fffffffffff07;
	EXPECT_MAPS(t, LENS_SYS, 0x3fffffffffff678, 0x1000);
}

TEST(MmuV2, TablesInSystemMemoryAreFollowedThere)
{
	V2 t;
	t.vid.clear();
	t.sys = {{0x10008, 0x2004}, {0x20918, 0x3006}, {0x30228, 0x4004}, {0x40678, 0x5006}, {0x50d58, 0x123401}};
	EXPECT_EQ(t.translate(LENS_SYS), 0);
	EXPECT_EQ(t.m.ap, LENS_VID);
	EXPECT_EQ(t.m.addr, 0x1234678u);
	t.sys.erase(0x40678);
	t.sys[0x40670] = 0x60f4;
	t.sys[0x60fd0] = 0x555001;
	EXPECT_EQ(t.translate(LENS_SYS), 0);
	EXPECT_EQ(t.m.addr, 0x555b678u);
}

TEST(MmuV2, PeerPageCannotBeReached)
{
	V2 t;
	t.small();
	t.vid[0x50d58] = 0x123403;
	EXPECT_EQ(t.translate(), -EIO);
	t.vid[0x40670] = 0x760003; // 2 MiB of a peer
	EXPECT_EQ(t.translate(), -EIO);
}

// VALID 0 with VOL 3 is sparse: nothing is there; so is a PDE of aperture 0 with VOL.
TEST(MmuV2, SparseAndEmptyEntriesAreNotMapped)
{
	for (u64 nothing : {0x0ull, 0x8ull}) {
		V2 t;
		t.small();
		t.vid[0x50d58] = nothing;
		EXPECT_EQ(t.translate(), -EFAULT) << nothing;
		t.vid[0x40678] = nothing;
		EXPECT_EQ(t.translate(), -EFAULT) << nothing;
		t.vid[0x30228] = nothing;
		EXPECT_EQ(t.translate(), -EFAULT) << nothing;
		EXPECT_EQ(t.copies, 3u);
		t.vid[0x20918] = nothing;
		EXPECT_EQ(t.translate(), -EFAULT) << nothing;
		t.vid[0x10008] = nothing;
		EXPECT_EQ(t.translate(), -EFAULT) << nothing;
		EXPECT_EQ(t.copies, 1u);
	}
}

TEST(MmuV2, InvalidApertureHasNoAddress)
{
	V2 t;
	t.small();
	t.vid[0x50d58] = 0x123401;
	t.vid[0x20918] = 0x3000; // the right address, but APERTURE 0
	EXPECT_EQ(t.translate(), -EFAULT);
}

TEST(MmuV2, PageInADirectoryOnlyLevelIsInvalid)
{
	V2 t;
	t.vid[0x20918] = 0x3001;
	EXPECT_EQ(t.translate(), -EIO);
	t.vid[0x10008] = 0x2001;
	EXPECT_EQ(t.translate(), -EIO);
}

TEST(MmuV2, AddressesBeyond49BitsAreNotMapped)
{
	V2 t;
	t.small();
	t.vid[0x50d58] = 0x123401;
	t.va_ = V2_VA | 1ull << 49;
	EXPECT_EQ(t.translate(), -EFAULT);
	EXPECT_EQ(t.copies, 0u);
}

TEST(MmuV3, PageOf4KibIsFoundThroughTheSmallHalf)
{
	V3 t;
	t.small();
	t.vid[0x60d58] = 0x1234691; // PCF 0x12, KIND 11:8 = 6: not part of the address
	EXPECT_MAPS(t, LENS_VID, 0x1234678, 0x1000);
	EXPECT_EQ(t.copies, 6u); // five directories, one table
}

TEST(MmuV3, PageOf64KibIsFoundThroughTheBigHalfWhoseTableIsAlignedTo256Bytes)
{
	V3 t;
	t.big();
	t.vid[0x70fd0] = 0x5550001;
	EXPECT_MAPS(t, LENS_VID, 0x555b678, 0x10000);
}

TEST(MmuV3, PagesOf2And512MibAreEntriesOfTheDirectories)
{
	V3 t;
	t.vid[0x50670] = 0x7600091;
	EXPECT_MAPS(t, LENS_VID, 0x77ab678, 0x200000);
	t.vid[0x40228] = 0x60000091;
	EXPECT_MAPS(t, LENS_VID, 0x6cfab678, 0x20000000);
}

// ADDRESS 51:12; PEER_ID 63:61.
TEST(MmuV3, AddressEndsAtBit51)
{
	V3 t;
	t.small();
	t.vid[0x60d58] = 0xfff0000001234001;
	EXPECT_MAPS(t, LENS_VID, 0x1234678, 0x1000);
	t.vid[0x60d58] = 0x000ffffffffff005;
	EXPECT_MAPS(t, LENS_SYS, 0xffffffffff678, 0x1000);
	t.vid[0x60d58] = 0x0000001234567007;
	EXPECT_MAPS(t, LENS_SYS, 0x1234567678, 0x1000);
}

TEST(MmuV3, TablesInSystemMemoryAreFollowedThere)
{
	V3 t;
	t.small();
	t.vid.erase(0x50678);
	t.vid[0x40228] = 0x50014;
	t.sys = {{0x50678, 0x60016}, {0x60d58, 0x1234001}};
	EXPECT_MAPS(t, LENS_VID, 0x1234678, 0x1000);
}

TEST(MmuV3, PeerSparseAndInvalidEntries)
{
	V3 t;
	t.small();
	t.vid[0x60d58] = 0x1234003;
	EXPECT_EQ(t.translate(), -EIO);                          // peer
	for (u64 invalid : {0x0ull, 0x8ull, 0x10ull, 0x18ull}) { // PCF: invalid, sparse, nowhere, no valid 4 KiB page
		t.vid[0x60d58] = invalid;
		EXPECT_EQ(t.translate(), -EFAULT) << invalid;
	}
	t.vid[0x30918] = 0x40010; // APERTURE 0
	EXPECT_EQ(t.translate(), -EFAULT);
	t.vid[0x30918] = 0x40011; // a page of 256 GiB: not on Hopper
	EXPECT_EQ(t.translate(), -EIO);
}

TEST(MmuV3, AddressesBeyond57BitsAreNotMapped)
{
	V3 t;
	t.va_ = V3_VA | 1ull << 57;
	EXPECT_EQ(t.translate(), -EFAULT);
	EXPECT_EQ(t.copies, 0u);
}

// A root whose entries all point back to it: the walk ends at the format's depth.
TEST(Mmu, RootPointingToItselfEndsAfterTheFormatsDepth)
{
	V2 v2;
	v2.memory = [](lens_aperture, u64) { return u64{0x1002}; };
	EXPECT_EQ(v2.translate(), -EFAULT);
	EXPECT_EQ(v2.copies, 6u); // four directories and both tables
	V3 v3;
	v3.memory = [](lens_aperture, u64) { return u64{0x10012}; };
	EXPECT_EQ(v3.translate(), -EFAULT);
	EXPECT_EQ(v3.copies, 7u);
}

TEST(Mmu, TableBeyondMemoryIsAnErrorAndNotAnAccess)
{
	V2 t;
	t.vid_bytes = 0x40000;
	t.small();
	EXPECT_EQ(t.translate(), -EIO); // PD0 would be the first byte beyond
	V3 v3;
	v3.vid[0x10008] = 0x000ffffffffff012; // the highest address there is
	EXPECT_EQ(v3.translate(), -EIO);
}

// Through the real window check: GP106's 3 GiB. PD3 entry -> 0xc0000000, the first byte beyond.
TEST(Mmu, TableBeyondTheMemoryOfGp106IsRefusedByTheWindow)
{
	test::Emulated e("gp106");
	ASSERT_EQ(e.attach(), 0);
	lens_mapping m;
	e.emu->vidmem().wr64(0x10008, 0xc000002);
	EXPECT_EQ(lens_mmu_translate(e.gpu.get(), &lens_mmu_v2, LENS_VID, 0x10000, V2_VA, &m, nullptr), -EIO);
	e.emu->vidmem().wr64(0x10008, 0xbffff02); // the last page: empty, so nothing is mapped
	EXPECT_EQ(lens_mmu_translate(e.gpu.get(), &lens_mmu_v2, LENS_VID, 0x10000, V2_VA, &m, nullptr), -EFAULT);
	EXPECT_EQ(lens_mmu_translate(e.gpu.get(), &lens_mmu_v2, LENS_VID, ~0ull << 12, V2_VA, &m, nullptr), -EIO);
	EXPECT_EQ(lens_mmu_translate(e.gpu.get(), &lens_mmu_v2, LENS_SYS, 0x10000, V2_VA, &m, nullptr), -EOPNOTSUPP);
}

} // namespace
