// SPDX-License-Identifier: GPL-2.0
/*
 * The core's decoders on literal words, as the kernel's compiler and options make
 * them: the unit tests on the host see another compiler and another libc. Words
 * are put together by hand from the bit numbers that each function names.
 * Loading ends without an error; checks and failed say what came of it.
 */
#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/slab.h>

#include "gpulens/gpu.h"
#include "gpulens/mmu.h"

static unsigned int checks;
module_param(checks, uint, 0444);
MODULE_PARM_DESC(checks, "comparisons made");

static unsigned int failed;
module_param(failed, uint, 0444);
MODULE_PARM_DESC(failed, "of these, how many differed; the kernel's log has each");

static void compare(int line, const char *what, u64 got, u64 want)
{
	checks++;
	if (got == want)
		return;
	failed++;
	pr_err("decode: line %d: %s is %#llx, not %#llx\n", line, what, got, want);
}

#define CHECK(got, want) compare(__LINE__, #got, got, want)

/*
 * linux-nvgpu hw_ram_gp106.h, ram_rl_entry_*: id 11:0, type 13, timeslice_scale 17:14,
 * timeslice_timeout 25:18, tsg_length 31:26.
 */
static void check_entries_of_8_bytes(void)
{
	const u32 tsg[2] = { 0x0a00e005, 0 }, channel[2] = { 0x00000fff, 0xffffffff };
	const struct lens_host_ops *host = lens_chip_gp10x.host;
	struct lens_entry e;

	memset(&e, 0x55, sizeof(e));
	host->decode_entry(tsg, &e);
	CHECK(e.is_tsg, true);
	CHECK(e.id, 5);
	CHECK(e.scale, 3);
	CHECK(e.timeout, 128);
	CHECK(e.length, 2);
	host->decode_entry(channel, &e);
	CHECK(e.is_tsg, false);
	CHECK(e.id, 4095);
	CHECK(e.inst, 0xffffffff000ULL);
	CHECK(host->set_timeslice(0x0a00e005, 244, 2), 0x0bd0a005);
}

/*
 * open-gpu-doc ampere/ga100/dev_ram.ref.txt, NV_RAMRL_ENTRY_*: TYPE 0.0,
 * TSG_TIMESLICE_SCALE 0.19:16, _TIMEOUT 0.31:24, TSG_LENGTH 1.7:0, TSG_TSGID and CHAN_CHID
 * 2.11:0, CHAN_INST_TARGET 0.5:4, _PTR_LO 2.31:12, _PTR_HI 3.31:0.
 */
static void check_entries_of_16_bytes(void)
{
	const u32 tsg[4] = { 0x80030001, 0x00000002, 0x00000005, 0 };
	const u32 channel[4] = { 0x123456e2, 0x00000007, 0xabcde321, 0x00000001 };
	const struct lens_host_ops *host = lens_chip_gh100.host;
	struct lens_entry e;

	memset(&e, 0x55, sizeof(e));
	host->decode_entry(tsg, &e);
	CHECK(e.is_tsg, true);
	CHECK(e.id, 5);
	CHECK(e.scale, 3);
	CHECK(e.timeout, 128);
	CHECK(e.length, 2);
	host->decode_entry(channel, &e);
	CHECK(e.is_tsg, false);
	CHECK(e.id, 0x321);
	CHECK(e.runqueue, 1);
	CHECK(e.inst_target, 2);
	CHECK(e.inst, 0x1abcde000ULL);
	CHECK(host->set_timeslice(0x80030001, 244, 2), 0xf4020001);
}

/* Timeout << scale units of 1024 ns: the longest needs more than 32 bits. */
static void check_timeslices(void)
{
	u32 timeout = 0, scale = 0;

	CHECK(lens_timeslice_decode(128, 3), 1048576);
	CHECK(lens_timeslice_decode(255, 15), 8556380160ULL);
	CHECK(lens_timeslice_decode(0, 3), 1024);
	CHECK(lens_timeslice_encode(8556380, &timeout, &scale), 0);
	CHECK(timeout, 255);
	CHECK(scale, 15);
	CHECK(lens_timeslice_encode(8556381, &timeout, &scale), (u64)-ERANGE);
}

/*
 * PCCSR: open-gpu-doc turing/tu104/dev_fifo.ref.txt, INST PTR 27:0, TARGET 29:28, BIND 31;
 * CHANNEL ENABLE 0, STATUS 27:24. CHRAM: ampere/ga100/dev_runlist.ref.txt, ENABLE 1, ON_ENG 7,
 * CTX_RELOAD 9.
 */
static void check_channels(void)
{
	const u32 pccsr[2] = { 0xafffffff, 0x0a000001 }, chram[2] = { 0x00000282, 0 };
	struct lens_channel_state s;

	memset(&s, 1, sizeof(s));
	lens_chip_tu10x.host->decode_channel(pccsr, &s);
	CHECK(s.pccsr, true);
	CHECK(s.chram, false);
	CHECK(s.bound, true);
	CHECK(s.inst_target, 2);
	CHECK(s.inst, 0xfffffff000ULL);
	CHECK(s.enable, true);
	CHECK(s.status, 10);
	CHECK(s.ctx_reload, true);
	memset(&s, 1, sizeof(s));
	lens_chip_gh100.host->decode_channel(chram, &s);
	CHECK(s.chram, true);
	CHECK(s.enable, true);
	CHECK(s.on_eng, true);
	CHECK(s.ctx_reload, true);
	CHECK(s.busy, false);
	CHECK(s.bound, false);
}

/*
 * PFIFO: open-gpu-doc turing/tu104/dev_fifo.ref.txt, ID 11:0, CTX_STATUS 15:13 with 5 LOAD and
 * 6 SAVE, NEXT_ID 27:16. NV_RUNLIST: ampere/ga100/dev_runlist.ref.txt, the same fields with 5 SAVE
 * and 6 LOAD; second word CHID 11:0, VALID 15.
 */
static void check_engines(void)
{
	const u32 pfifo[2] = { 0x1456b123, 0 }, runlist[2] = { 0x0456a123, 0x809a8078 };
	struct lens_engine_status s;

	memset(&s, 1, sizeof(s));
	lens_chip_tu10x.host->decode_engine(pfifo, &s);
	CHECK(s.state, LENS_ENGINE_LOAD);
	CHECK(s.next.id, 0x456);
	CHECK(s.next.channel, (u64)LENS_NONE);
	lens_chip_ga100.host->decode_engine(runlist, &s);
	CHECK(s.state, LENS_ENGINE_SAVE);
	CHECK(s.now.id, 0x123);
	CHECK(s.now.channel, 0x78);
}

/* A word of GPU memory. */
struct word {
	u64 addr, val;
};

/*
 * open-gpu-kernel-modules pascal/gp100/dev_mmu.h NV_MMU_VER2_*: index 1 in PD3, 0x123 in PD2,
 * 0x45 in PD1, 0x67 in PD0 (its upper half: the table of small pages), 0x1ab in that table.
 */
static const struct word tables_v2[] = {
	{ 0x10008, 0x2002 }, { 0x20918, 0x3002 }, { 0x30228, 0x4002 },
	{ 0x40678, 0x5002 }, { 0x50d58, 0x123401 },
};

/* hopper/gh100/dev_mmu.h NV_MMU_VER3_*: index 1 in PD4 and 0xa5 in PD3, then the same. */
static const struct word tables_v3[] = {
	{ 0x10008, 0x20012 }, { 0x20528, 0x30012 }, { 0x30918, 0x40012 },
	{ 0x40228, 0x50012 }, { 0x50678, 0x60012 }, { 0x60d58, 0x1234001 },
};

struct memory {
	struct lens_io io;
	const struct word *words;
	size_t n;
};

static int copy_words(struct lens_io *io, enum lens_aperture ap, u64 addr, u64 *dst, u32 words)
{
	struct memory *m = container_of(io, struct memory, io);
	size_t i;

	memset(dst, 0, words * sizeof(*dst));
	for (i = 0; i < m->n; i++)
		if (m->words[i].addr >= addr && m->words[i].addr < addr + words * sizeof(*dst))
			dst[(m->words[i].addr - addr) / sizeof(*dst)] = m->words[i].val;
	return ap == LENS_VID ? 0 : -EIO;
}

static const struct lens_io_ops memory_ops = { .copy = copy_words };

static void check_walk(const struct lens_chip *chip, const struct word *words, size_t n, u64 va)
{
	struct memory m = { .io = { .ops = &memory_ops }, .words = words, .n = n };
	struct lens_gpu *gpu = kzalloc(sizeof(*gpu), GFP_KERNEL);
	struct lens_mapping found = { 0 };
	const struct lens_mmu_format *mmu;

	CHECK(!gpu, false);
	if (!gpu)
		return;
	gpu->io = &m.io;
	gpu->chip = chip;
	gpu->id = &chip->ids[0];
	/* 0x400: USE_VER2_PT_FORMAT 10:10 of an instance block's word 128 */
	mmu = chip->mmu(0x400);
	CHECK(lens_mmu_translate(gpu, mmu, LENS_VID, 0x10000, va, &found, NULL), 0);
	CHECK(found.addr, 0x1234678);
	CHECK(found.page_bytes, 0x1000);
	va += 0x1000;	/* the next page, of which the table has nothing */
	CHECK(lens_mmu_translate(gpu, mmu, LENS_VID, 0x10000, va, &found, NULL), (u64)-EFAULT);
	kfree(gpu);
}

static void check_chips(void)
{
	const struct lens_chip_id *row;
	bool known;

	/* NV_PMC_BOOT_0 architecture << 4 | implementation, open-gpu-kernel-modules nv_arch.h */
	CHECK(lens_chip_find(0x170, &row, &known) == &lens_chip_ga100, true);
	CHECK(known, true);
	CHECK(lens_chip_find(0x180, &row, &known) == &lens_chip_gh100, true);
	CHECK(!lens_chip_find(0xfff, &row, &known), true);
	CHECK(lens_is_bad_read(0xbadf1002), true);
	CHECK(lens_is_bad_read(0x00000000), false);
}

static int __init decode_init(void)
{
	check_entries_of_8_bytes();
	check_entries_of_16_bytes();
	check_timeslices();
	check_channels();
	check_engines();
	check_walk(&lens_chip_gp10x, tables_v2, ARRAY_SIZE(tables_v2), 0xc8c8acfab678ULL);
	check_walk(&lens_chip_gh100, tables_v3, ARRAY_SIZE(tables_v3), 0x0152c8c8acfab678ULL);
	check_chips();
	pr_info("decode: %u checks, %u failed\n", checks, failed);
	return 0;
}
module_init(decode_init);

static void __exit decode_exit(void)
{
}
module_exit(decode_exit);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Test: the core's decoders inside of the kernel");
