// SPDX-License-Identifier: GPL-2.0
/*
 * The block of four registers that submits a runlist, from Turing on. Turing has
 * one per runlist in PFIFO; Ampere and later have it among the runlist's registers.
 *
 *	0x0	BASE_LO		31:12 (from GA102 on 31:10) address, in place; 1:0 TARGET
 *	0x4	BASE_HI		7:0 address, bits 39:32
 *	0x8	SUBMIT		15:0 length; a write submits the list
 *	0xc	SUBMIT_INFO	15 pending
 *
 * BASE reads back what was written last, submitted or not. A driver that was stopped
 * between writing BASE and SUBMIT looks like one that has finished.
 *
 * Sources: open-gpu-doc turing/tu104/dev_fifo.ref.txt, ampere/ga100/dev_runlist.ref.txt.
 */
#include "core.h"
#include "../include/hw/fifo.h"
#include "../include/hw/runlist.h"

#define SUBMIT_BASE_LO	(NV_RUNLIST_SUBMIT_BASE_LO - NV_RUNLIST_SUBMIT_BASE_LO)
#define SUBMIT_BASE_HI	(NV_RUNLIST_SUBMIT_BASE_HI - NV_RUNLIST_SUBMIT_BASE_LO)
#define SUBMIT_SUBMIT	(NV_RUNLIST_SUBMIT - NV_RUNLIST_SUBMIT_BASE_LO)
#define SUBMIT_INFO	(NV_RUNLIST_SUBMIT_INFO - NV_RUNLIST_SUBMIT_BASE_LO)
#define SUBMIT_PENDING	DRF_NUM(NV_RUNLIST_SUBMIT_INFO_PENDING, 1)

/* Turing's block is the same. */
static_assert(NV_PFIFO_RUNLIST_BASE_HI(0) - NV_PFIFO_RUNLIST_BASE_LO(0) == SUBMIT_BASE_HI &&
	      NV_PFIFO_RUNLIST_SUBMIT(0) - NV_PFIFO_RUNLIST_BASE_LO(0) == SUBMIT_SUBMIT &&
	      NV_PFIFO_RUNLIST_SUBMIT_INFO(0) - NV_PFIFO_RUNLIST_BASE_LO(0) == SUBMIT_INFO,
	      "registers of the block");
static_assert(DRF_NUM(NV_PFIFO_RUNLIST_BASE_LO_TARGET, ~0U) ==
	      DRF_NUM(NV_RUNLIST_SUBMIT_BASE_LO_TARGET, ~0U) &&
	      DRF_NUM(NV_PFIFO_RUNLIST_BASE_HI_PTR_HI, ~0U) ==
	      DRF_NUM(NV_RUNLIST_SUBMIT_BASE_HI_PTR_HI, ~0U) &&
	      DRF_NUM(NV_PFIFO_RUNLIST_SUBMIT_LENGTH, ~0U) ==
	      DRF_NUM(NV_RUNLIST_SUBMIT_LENGTH, ~0U) &&
	      DRF_NUM(NV_PFIFO_RUNLIST_SUBMIT_INFO_PENDING, 1) == SUBMIT_PENDING,
	      "fields of the block");

int lens_submit_read_regs(struct lens_gpu *gpu, u32 block, u32 shift,
			  struct lens_runlist_regs *regs)
{
	u32 in_page = (1U << shift) - 1, reserved, lo, hi, submit, info;
	int err;

	/* Bits between TARGET and the address. */
	reserved = in_page & ~DRF_NUM(NV_RUNLIST_SUBMIT_BASE_LO_TARGET, ~0U);
	err = lens_rd32_address(gpu, block + SUBMIT_BASE_LO, reserved, &lo);
	if (!err)
		err = lens_rd32(gpu, block + SUBMIT_BASE_HI, &hi);
	if (!err)
		err = lens_rd32(gpu, block + SUBMIT_SUBMIT, &submit);
	if (!err)
		err = lens_rd32(gpu, block + SUBMIT_INFO, &info);
	if (err)
		return err;
	regs->base = (u64)DRF_VAL(NV_RUNLIST_SUBMIT_BASE_HI_PTR_HI, hi) << 32 | (lo & ~in_page);
	regs->target = DRF_VAL(NV_RUNLIST_SUBMIT_BASE_LO_TARGET, lo);
	regs->length = DRF_VAL(NV_RUNLIST_SUBMIT_LENGTH, submit);
	regs->pending = DRF_VAL(NV_RUNLIST_SUBMIT_INFO_PENDING, info);
	return 0;
}

static int submit_write_length(void *request)
{
	struct lens_request *r = request;
	struct lens_runlist_regs regs;
	int err;
	u32 v;

	err = lens_request_read_regs(r, &regs);
	if (err)
		return err;
	r->written = true;
	lens_wr32(r->gpu, r->block + SUBMIT_SUBMIT,
		  DRF_NUM(NV_RUNLIST_SUBMIT_LENGTH, regs.length));
	/* The read flushes the write before the driver goes on. */
	return lens_rd32(r->gpu, r->block + SUBMIT_INFO, &v);
}

int lens_submit_again(struct lens_gpu *gpu, const struct lens_runlist *rl,
		      const struct lens_runlist_regs *expected, u32 block)
{
	struct lens_request r = { .gpu = gpu, .rl = rl, .expected = expected, .block = block };

	return lens_run_atomic_and_wait(&r, submit_write_length, block + SUBMIT_INFO,
					SUBMIT_PENDING);
}
