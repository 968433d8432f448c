// SPDX-License-Identifier: GPL-2.0
// Instance blocks and context images: each word that the core reads, and its behaviour if they are invalid. Literal words
// in a map of memory. Sources:
//   instance block  open-gpu-doc ampere/ga100/dev_ram.ref.txt NV_RAMIN_*: word 128 PAGE_DIR_BASE_TARGET 1:0 (0 video, 1
//     invalid, 2 and 3 system), USE_VER2_PT_FORMAT 10, PAGE_DIR_BASE_LO 31:12; 129 _HI; 132 ENGINE_WFI_TARGET 1:0, _MODE 2
//     (1 virtual), _PTR_LO 31:12; 133 _PTR_HI 7:0; 166, 167 SC_PDB_VALID
//   word 63         dev_pbdma.ref.txt NV_PPBDMA_SET_CHANNEL_INFO: VEID 13:8, CHID 27:16
//   context image   ampere/ga102/dev_ctxsw.ref.txt NV_CTXSW_MAIN_IMAGE_*: 0x0c CTL (TYPE 5:0, 0x21 per-VEID header; 31:16
//     0xcafe), 0x78 and 0x7c CONTEXT_BUFFER_PTR, 0x80 graphics (0 WFI, 1 GFXP) and 0x84 compute (0 WFI, 1 CTA, 2 CILP)
//     preemption, 0xd0 .. 0xdc saves by kind, 0xf0 CONTEXT_ID, 0xf4 saves, 0xf8 restores, 0xfc magic 0x600dc0de
//   Pascal          linux-nvgpu hw_ctxsw_prog_gp10b.h: no header before the image
// contexts.hpp has the GPU with this memory.
#include "support/core/contexts.hpp"

#include <gtest/gtest.h>

namespace {

using test::AT_67, test::AT_68, test::AT_69, test::AT_6A, test::HEADER, test::MAIN;
using test::OneOfTuring;

TEST(Contexts, EveryWordOfTheMainContextImageIsDecoded)
{
	for (const lens_chip *chip : {&lens_chip_gv10x, &lens_chip_tu10x, &lens_chip_ga100, &lens_chip_ga10x,
				      &lens_chip_ad10x, &lens_chip_gh100}) {
		OneOfTuring t(*chip);
		ASSERT_EQ(t.collect(), 0);
		EXPECT_EQ(t.c().err, 0) << chip->name;
		EXPECT_EQ(t.c().image_err, 0) << chip->name;
		EXPECT_EQ(t.c().ctl, 0xcafe0021u) << chip->name;
		EXPECT_EQ(t.c().wfi_va, 0x1234567000u) << chip->name;
		EXPECT_EQ(t.c().image_va, 0x1234569000u) << chip->name;
		EXPECT_EQ(t.c().addr, 0x900000u) << chip->name;
		EXPECT_EQ(t.c().graphics, 1u) << chip->name;
		EXPECT_EQ(t.c().compute, 2u) << chip->name;
		EXPECT_EQ(t.c().saves_wfi, 11u) << chip->name;
		EXPECT_EQ(t.c().saves_cta, 12u) << chip->name;
		EXPECT_EQ(t.c().saves_gfxp, 13u) << chip->name;
		EXPECT_EQ(t.c().saves_cilp, 14u) << chip->name;
		EXPECT_EQ(t.c().restores, 15u) << chip->name;
		EXPECT_EQ(t.c().saves, 16u) << chip->name;
		EXPECT_EQ(t.c().context_id, 0x77u) << chip->name;
	}
}

// TYPE other than 0x21: the instance block points at the main context image itself.
TEST(Contexts, ContextImageWithoutAHeaderIsRead)
{
	OneOfTuring t;
	t.write_instance_block(t.block(1), AT_69);
	t.vid[MAIN + 8] = 0xcafe002000000000; // compute
	ASSERT_EQ(t.collect(), 0);
	EXPECT_EQ(t.c().image_err, 0);
	EXPECT_EQ(t.c().ctl, 0xcafe0020u);
	EXPECT_EQ(t.c().image_va, 0x1234569000u);
	EXPECT_EQ(t.c().saves_cilp, 14u);
}

TEST(Contexts, PascalHasNeitherHeaderNorSubcontexts)
{
	for (const lens_chip *chip : {&lens_chip_gp100, &lens_chip_gp10x}) {
		OneOfTuring t(*chip);
		t.vid[t.block(1) + 0xf8] = 0xffffffffffffffff; // words 62, 63 mean other things
		t.vid[t.block(1) + 0x298] = 0xffffffffffffffff;
		t.write_instance_block(t.block(1), AT_69);
		ASSERT_EQ(t.collect(), 0);
		EXPECT_EQ(t.c().err, 0);
		EXPECT_EQ(t.c().image_err, 0);
		EXPECT_EQ(t.c().veid, 0);
		EXPECT_EQ(t.c().subcontexts, 0u);
		EXPECT_EQ(t.c().ctl, 0u);
		EXPECT_EQ(t.c().compute, 2u);
		EXPECT_EQ(t.c().context_id, 0x77u);
		t.write_instance_block(t.block(1),
				       AT_67); // a header of other chips is a context image without its magic here
		ASSERT_EQ(t.collect(), 0);
		EXPECT_EQ(t.c().image_err, -EOPNOTSUPP);
	}
}

// The layout of these context images is not published: the instance block is read, the context image is not.
TEST(Contexts, UnpublishedContextImagesAreNotRead)
{
	for (const lens_chip *chip : {&lens_chip_gk10x, &lens_chip_gm10x, &lens_chip_gm20x, &lens_chip_gb10x}) {
		OneOfTuring t(*chip);
		ASSERT_EQ(t.collect(), 0);
		EXPECT_EQ(t.c().err, 0) << chip->name;
		EXPECT_EQ(t.c().image_err, -EOPNOTSUPP) << chip->name;
		EXPECT_EQ(t.c().pdb, 0x10000u) << chip->name;
		EXPECT_EQ(t.c().wfi_va, 0x1234567000u) << chip->name;
		EXPECT_EQ(t.copies, 2u) << chip->name; // words 128 and 132
		t.vid[t.block(1) + 0x210] = 0;
		ASSERT_EQ(t.collect(), 0);
		EXPECT_EQ(t.c().image_err, -ENOENT) << chip->name; // a missing context image is still detected
	}
}

TEST(Contexts, SubcontextOfAChannelAndOfItsTsg)
{
	OneOfTuring t;
	t.vid[t.block(1) + 0xf8] = 0x0010210000000000;  // word 63: CHID 16, VEID 33
	t.vid[t.block(1) + 0x298] = 0x8000000200000023; // SC_PDB_VALID 0, 1, 5, 33, 63
	ASSERT_EQ(t.collect(), 0);
	EXPECT_EQ(t.c().veid, 33);
	EXPECT_EQ(t.c().subcontexts, 0x8000000200000023u);
	t.vid[t.block(1) + 0xf8] = 0xffffc0ff00000000; // all bits around VEID 13:8
	ASSERT_EQ(t.collect(), 0);
	EXPECT_EQ(t.c().veid, 0);
	t.vid[t.block(1) + 0xf8] = 0x00003f0000000000;
	ASSERT_EQ(t.collect(), 0);
	EXPECT_EQ(t.c().veid, 63);
}

TEST(Contexts, FieldsOfTheInstanceBlockEndWhereTheManualSays)
{
	OneOfTuring t;
	t.vid[t.block(1) + 0x200] = 0x00000012fffffffe; // TARGET 2, PAGE_DIR_BASE 0x12_fffff000
	t.vid[t.block(1) + 0x210] = 0xffffff00fffff00a; // CS 3, TARGET 2, MODE physical, PTR 0x00_fffff000
	ASSERT_EQ(t.collect(), 0);
	EXPECT_EQ(t.c().err, 0);
	EXPECT_EQ(t.c().target, 2);
	EXPECT_EQ(t.c().pdb, 0x12fffff000u);
	EXPECT_FALSE(t.c().is_virtual);
	EXPECT_EQ(t.c().ap, LENS_SYS);
	EXPECT_EQ(t.c().wfi_va, 0xfffff000u);
	t.vid[t.block(1) + 0x210] = 0x000000ff00000ff4;
	ASSERT_EQ(t.collect(), 0);
	EXPECT_TRUE(t.c().is_virtual);
	EXPECT_EQ(t.c().wfi_va, 0xff00000000u);
}

TEST(Contexts, InSystemMemoryAreReadThere)
{
	OneOfTuring t;
	std::swap(t.vid, t.sys);
	t.set_instance_address(1, 3, t.block(1));
	t.sys[t.block(1) + 0x200] = 0x0000000000010402; // the page directory too
	for (u64 at : {0x10000, 0x20000, 0x30488, 0x40a28})
		t.sys[at] = (t.sys[at] & ~6ull) | 4;
	t.sys[0x50b38] = 0x80005;
	t.sys[0x50b48] = 0x90007;
	ASSERT_EQ(t.collect(), 0);
	EXPECT_EQ(t.c().err, 0);
	EXPECT_EQ(t.c().image_err, 0);
	EXPECT_EQ(t.c().ap, LENS_SYS);
	EXPECT_EQ(t.c().saves_gfxp, 13u);
}

TEST(Contexts, ContextImageAtAPhysicalAddressNeedsNoTables)
{
	OneOfTuring t;
	t.write_instance_block(t.block(1), MAIN);
	t.vid[t.block(1) + 0x200] = 0; // no page directory
	ASSERT_EQ(t.collect(), 0);
	EXPECT_EQ(t.c().image_err, 0);
	EXPECT_EQ(t.c().compute, 2u);
	EXPECT_FALSE(t.c().is_virtual);
	t.sys[MAIN + 0x80] = 0x0000000100000000;
	t.sys[MAIN + 0xf8] = 0x600dc0de00000000;
	t.write_instance_block(t.block(1), MAIN | 2);
	ASSERT_EQ(t.collect(), 0);
	EXPECT_EQ(t.c().compute, 1u);
}

/* -- invalid contexts -- */

// Only the invalid channel fails: channel 16 before it and channel 18 behind it are read.
struct Between : OneOfTuring {
	explicit Between(const lens_chip &chip = lens_chip_tu10x) : OneOfTuring(chip, 3)
	{
		write_instance_block(block(1), AT_67);
		write_instance_block(block(3), AT_67);
	}
	void expect(int error, int image_error)
	{
		ASSERT_EQ(collect(), 0);
		EXPECT_EQ(context[2].err, error);
		EXPECT_EQ(context[2].image_err, image_error);
		for (int i : {1, 3}) {
			EXPECT_EQ(context[i].err, 0) << i;
			EXPECT_EQ(context[i].image_err, 0) << i;
			EXPECT_EQ(context[i].context_id, 0x77u) << i;
		}
	}
};

TEST(BadContexts, ChannelWithoutAnInstanceBlockHasNone)
{
	for (const lens_chip *chip : {&lens_chip_tu10x, &lens_chip_ga10x}) {
		Between t(*chip);
		t.set_instance_address(2, 0, 0);
		t.expect(-ENOENT, 0);
	}
	Between unbound;
	unbound.state[4] = 0x00000102; // PTR without BIND
	unbound.expect(-ENOENT, 0);
}

TEST(BadContexts, InstanceBlockOfAnotherGpuOrOfNoMemoryIsRefused)
{
	for (const lens_chip *chip : {&lens_chip_tu10x, &lens_chip_ga10x}) {
		Between t(*chip);
		t.set_instance_address(2, 1, 0x102000); // TARGET 1
		t.expect(-EIO, 0);
	}
}

// ampere/ga100/dev_ram.ref.txt, RAMRL: "If an INVALID aperture is provided hardware will silently use
// INST_TARGET_VID_MEM". That of GV100 and TU104 does not say so (their hardware looks at PCCSR).
TEST(BadContexts, Ga100TakesAnInvalidTargetForItsOwnMemory)
{
	Between t(lens_chip_ga100);
	t.set_instance_address(2, 1, 0x102000);
	t.expect(0, 0);
}

// The list at 0x700000: SUBMIT_BASE_LO 0x80, SUBMIT 0x88 with LENGTH 15:0
// (ampere/ga100/dev_runlist.ref.txt). Reading and control use the same rule.
TEST(BadContexts, Ga100ControlsTheContextThatItShows)
{
	for (const lens_chip *chip : {&lens_chip_ga100, &lens_chip_ga10x}) {
		Between t(*chip);
		t.set_instance_address(2, 1, 0x102000);
		t.gpu->topo.n_runlists = 1;
		t.gpu->topo.runlists[0] = {0, 2048, 0xc00000, 0xc40000, 1, 0};
		t.regs[0xc00080] = 0x00700000;
		t.regs[0xc00088] = 4; // the TSG and its three channels
		for (u32 i = 0; i < t.snap.n * 2; i++)
			t.vid[0x700000 + 8 * i] = u64{t.entries[2 * i + 1]} << 32 | t.entries[2 * i];
		lens_ref ref{0, 17}; // the second channel
		int runlist;
		bool vid = chip == &lens_chip_ga100;
		EXPECT_EQ(lens_channel_set_preemption(t.gpu.get(), &ref, LENS_PREEMPT_CTA, &runlist), vid ? 0 : -EIO);
		EXPECT_EQ(t.stores.empty(), !vid);
	}
}

TEST(BadContexts, InstanceBlockBeyondMemoryIsNotRead)
{
	Between t;
	t.vid_bytes = 0x1000000;
	t.set_instance_address(2, 0, 0x1000000);
	t.expect(-EIO, 0);
	t.set_instance_address(2, 0, 0xfffffff000); // the last page that PTR can name
	t.expect(-EIO, 0);
}

TEST(BadContexts, PageDirectoryOfAnInvalidTargetIsRefused)
{
	Between t;
	t.vid[t.block(2) + 0x200] = 0x0000000000010401;
	t.expect(-EIO, 0);
}

TEST(BadContexts, ChannelWithoutAContextImageHasNone)
{
	Between t;
	for (u64 word : {0x0ull, 0x4ull, 0xcull}) { // PTR 0, whatever MODE and CS say
		t.vid[t.block(2) + 0x210] = word;
		t.expect(0, -ENOENT);
	}
}

TEST(BadContexts, ContextImageOfAnInvalidTargetIsRefused)
{
	Between t;
	t.write_instance_block(t.block(2), MAIN | 1);
	t.expect(0, -EIO);
}

TEST(BadContexts, ContextImageThatNoTableMapsIsAnError)
{
	Between t;
	t.write_instance_block(t.block(2), AT_6A);
	t.expect(0, -EIO);
	t.vid[t.block(2) + 0x200] = 0x0000000000060400; // a page directory of zeros
	t.write_instance_block(t.block(2), AT_67);
	t.vid[t.block(2) + 0x200] = 0x0000000000060400;
	t.expect(0, -EIO);
}

TEST(BadContexts, TablesThatLoopOrLeaveMemoryAreAnError)
{
	Between t;
	t.vid_bytes = 0x1000000;
	t.vid[0x60000] = 0x6002; // every level is the same page
	t.vid[0x60488] = 0x6002;
	t.vid[0x60a20] = 0x6002;
	t.vid[0x60a28] = 0x6002;
	t.vid[t.block(2) + 0x200] = 0x0000000000060400;
	t.expect(0, -EIO);
	t.vid[t.block(2) + 0x200] = 0x0000000001000400; // the first byte beyond
	t.expect(0, -EIO);
	t.vid[t.block(2) + 0x200] = 0x0000000000061400;
	t.vid[0x61000] = 0x100002; // its first entry leads there
	t.expect(0, -EIO);
	t.vid[0x50b40] = 0x81003; // a peer's page
	t.write_instance_block(t.block(2), AT_68);
	t.expect(0, -EIO);
	t.vid[0x50b40] = 0x100001; // a page beyond memory
	t.expect(0, -EIO);
}

TEST(BadContexts, HeaderThatLeadsNowhereIsAnError)
{
	Between t;
	t.write_header(0x810000);
	t.vid[0x810078] = 0x3456a00000000012; // not mapped
	t.write_instance_block(t.block(2), AT_68);
	t.expect(0, -EIO);
	t.vid[0x810078] = 0x345690000001ff12; // PTR_HI 16:0 goes beyond version 2's 49 bits
	t.expect(0, -EIO);
	t.vid[0x810078] = 0x34569000fffe0012; // bits 31:17 are none of it
	t.expect(0, 0);
}

// Only one per-VEID header is followed: a second one is a context image without its magic.
TEST(BadContexts, HeaderThatLeadsToAHeaderIsNoContextImage)
{
	Between t;
	t.write_header(0x810000);
	t.vid[0x810078] = 0x3456800000000012; // itself
	t.write_instance_block(t.block(2), AT_68);
	t.expect(0, -EOPNOTSUPP);
}

TEST(BadContexts, ContextImageWithoutItsMagicIsIgnored)
{
	Between t;
	t.write_instance_block(t.block(2), AT_68);
	t.vid[0x810080] = 0x0000000200000001;
	for (u64 word : {0x0ull, 0x600dc0df00000000ull, 0x00000000600dc0deull}) {
		t.vid[0x8100f8] = word;
		t.expect(0, -EOPNOTSUPP);
		EXPECT_EQ(t.context[2].graphics, 0u);
		EXPECT_EQ(t.context[2].compute, 0u);
	}
}

TEST(BadContexts, ChannelWhoseStateCouldNotBeReadHasNoContext)
{
	Between t;
	t.err[2] = -EIO;
	ASSERT_EQ(t.collect(), 0);
	EXPECT_EQ(t.context[2].pdb, 0u);
	EXPECT_EQ(t.context[2].mmu, nullptr);
	EXPECT_EQ(t.context[3].image_err, 0); // and the next one does not use its result
	EXPECT_EQ(t.context[3].context_id, 0x77u);
}

/* -- each context image and table is read once -- */

// Volta on: words 62, 128, 132, 166 of the instance block; CTL, pointer, and the five words of the context image.
TEST(SharedContexts, ChannelsOfATsgCostTheirInstanceBlockOnly)
{
	OneOfTuring single(lens_chip_tu10x, 1), three(lens_chip_tu10x, 3);
	ASSERT_EQ(single.collect(), 0);
	ASSERT_EQ(three.collect(), 0);
	EXPECT_EQ(single.copies, 4u + 5u + 2u + 1u + 5u); // a walk, and the other page's table word
	EXPECT_EQ(three.copies, single.copies + 2 * 4u);
	for (int i = 1; i <= 3; i++) {
		EXPECT_EQ(three.context[i].context_id, 0x77u) << i;
		EXPECT_EQ(three.context[i].graphics, 1u) << i;
		EXPECT_EQ(three.context[i].compute, 2u) << i;
		EXPECT_EQ(three.context[i].saves_wfi, 11u) << i;
		EXPECT_EQ(three.context[i].saves_cta, 12u) << i;
		EXPECT_EQ(three.context[i].saves_gfxp, 13u) << i;
		EXPECT_EQ(three.context[i].saves_cilp, 14u) << i;
		EXPECT_EQ(three.context[i].saves, 16u) << i;
		EXPECT_EQ(three.context[i].restores, 15u) << i;
		EXPECT_EQ(three.context[i].image_va, 0x1234569000u) << i;
		EXPECT_EQ(three.context[i].ctl, 0xcafe0021u) << i;
	}
}

// Channels whose context images differ in page directory, memory or kind of address share nothing.
TEST(SharedContexts, EqualAddressesInDifferentSpacesAreDifferent)
{
	OneOfTuring t(lens_chip_tu10x, 2);
	t.write_instance_block(t.block(1), AT_69);
	t.write_instance_block(t.block(2), AT_69);
	// another page directory, where the address lies at 0x810000
	t.vid[t.block(2) + 0x200] = 0x0000000000011400;
	t.vid[0x11000] = 0x2102;
	t.vid[0x21000] = 0x3102;
	t.vid[0x31488] = 0x4102;
	t.vid[0x41a28] = 0x5102;
	t.vid[0x51b48] = 0x81001;
	t.write_context_image(0x810000);
	t.vid[0x8100f0] = 0x88;
	ASSERT_EQ(t.collect(), 0);
	EXPECT_EQ(t.context[1].context_id, 0x77u);
	EXPECT_EQ(t.context[2].context_id, 0x88u);
	// the same number, but physical
	t.write_instance_block(t.block(1), MAIN | 4);
	t.write_instance_block(t.block(2), MAIN);
	t.vid[0x30000] = 0x0000000000000001; // the virtual 0x900000 lies in the page of 512 MiB at 0
	t.write_context_image(MAIN);
	ASSERT_EQ(t.collect(), 0);
	EXPECT_TRUE(t.context[1].is_virtual);
	EXPECT_FALSE(t.context[2].is_virtual);
	EXPECT_EQ(t.context[2].context_id, 0x77u);
	t.vid[0x30000] = 0x0000000002000001; // and now at 0x20000000
	t.write_context_image(0x20900000);
	t.vid[0x209000f0] = 0x99;
	ASSERT_EQ(t.collect(), 0);
	EXPECT_EQ(t.context[1].context_id, 0x99u);
	EXPECT_EQ(t.context[2].context_id, 0x77u);
	// physical in both memories
	t.write_instance_block(t.block(1), MAIN | 2);
	t.sys[MAIN + 0xf0] = 0xaa;
	t.sys[MAIN + 0xf8] = 0x600dc0de00000000;
	ASSERT_EQ(t.collect(), 0);
	EXPECT_EQ(t.context[1].context_id, 0xaau);
	EXPECT_EQ(t.context[2].context_id, 0x77u);
}

TEST(SharedContexts, ManyChannelsReadEachTableWordOnce)
{
	OneOfTuring t(lens_chip_tu10x, 128);
	for (u32 i = 1; i <= 128; i++)
		t.write_instance_block(t.block(i), i % 2 ? AT_67 : AT_69); // never the same twice running
	t.vid[MAIN + 8] = 0xcafe002000000000;
	ASSERT_EQ(t.collect(), 0);
	// 128 instance blocks; six table words; 64 headers of two words and 64 of one; 128 images of five words
	EXPECT_EQ(t.copies, 128u * 4 + 6 + 64 * 2 + 64 + 128 * 5);
	for (u32 i = 1; i <= 128; i++)
		EXPECT_EQ(t.context[i].context_id, 0x77u) << i;
}

} // namespace
