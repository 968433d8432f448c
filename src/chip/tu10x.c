// SPDX-License-Identifier: GPL-2.0
/*
 * Turing: PFIFO as on Volta, but each runlist has its own BASE, SUBMIT and INFO
 * registers, which read back what was last submitted. 16-byte entries.
 *
 * Sources: open-gpu-doc turing/tu104/dev_fifo.ref.txt, dev_ram.ref.txt,
 * dev_top.ref.txt, dev_ce.ref.txt; chip ids: open-gpu-kernel-modules nv_arch.h;
 * fuses: linux-nvgpu hw_fuse_tu104.h.
 */
#include "rows.h"

/* Between TARGET 1:0 and PTR_LO 31:12. */
#define BASE_LO_RESERVED 0xffcU

static int tu10x_read_runlist_regs(struct lens_gpu *gpu, const struct lens_runlist *rl,
				   struct lens_runlist_regs *regs)
{
	u32 lo, hi, submit, info;
	int err;

	err = lens_rd32_address(gpu, NV_PFIFO_RUNLIST_BASE_LO(rl->id), BASE_LO_RESERVED, &lo);
	if (!err)
		err = lens_rd32(gpu, NV_PFIFO_RUNLIST_BASE_HI(rl->id), &hi);
	if (!err)
		err = lens_rd32(gpu, NV_PFIFO_RUNLIST_SUBMIT(rl->id), &submit);
	if (!err)
		err = lens_rd32(gpu, NV_PFIFO_RUNLIST_SUBMIT_INFO(rl->id), &info);
	if (err)
		return err;
	regs->base = (u64)DRF_VAL(NV_PFIFO_RUNLIST_BASE_HI_PTR_HI, hi) << 32 |
		     DRF_VAL(NV_PFIFO_RUNLIST_BASE_LO_PTR_LO, lo)
		     << DRF_LO(NV_PFIFO_RUNLIST_BASE_LO_PTR_LO);
	regs->target = DRF_VAL(NV_PFIFO_RUNLIST_BASE_LO_TARGET, lo);
	regs->length = DRF_VAL(NV_PFIFO_RUNLIST_SUBMIT_LENGTH, submit);
	regs->pending = DRF_VAL(NV_PFIFO_RUNLIST_SUBMIT_INFO_PENDING, info);
	return 0;
}

/*
 * BASE_LO and BASE_HI read back what was written last, submitted or not: a driver that is itself
 * kept from its processor between them and SUBMIT cannot be told from one that is done.
 */
static int tu10x_write_submit(void *request)
{
	struct lens_request *r = request;
	struct lens_runlist_regs regs;
	int err;
	u32 v;

	err = lens_request_read_regs(r, &regs);
	if (err)
		return err;
	r->written = true;
	lens_wr32(r->gpu, NV_PFIFO_RUNLIST_SUBMIT(r->rl->id),
		  DRF_NUM(NV_PFIFO_RUNLIST_SUBMIT_LENGTH, regs.length));
	/* Before the driver goes on, the write has reached the GPU. */
	return lens_rd32(r->gpu, NV_PFIFO_RUNLIST_SUBMIT_INFO(r->rl->id), &v);
}

static int tu10x_resubmit(struct lens_gpu *gpu, const struct lens_runlist *rl,
			  const struct lens_runlist_regs *expected)
{
	struct lens_request r = { .gpu = gpu, .rl = rl, .expected = expected };

	return lens_run_atomic_and_wait(&r, tu10x_write_submit,
					NV_PFIFO_RUNLIST_SUBMIT_INFO(rl->id),
					DRF_NUM(NV_PFIFO_RUNLIST_SUBMIT_INFO_PENDING, 1));
}

const struct lens_host_ops lens_host_pfifo_tu102 = {
	.read_runlists = lens_pfifo_read_runlists,
	.read_runlist_regs = tu10x_read_runlist_regs,
	.read_channel = lens_pccsr_read_channel,
	.enable_channel = lens_pccsr_enable_channel,
	.preempt_tsg = lens_pfifo_preempt_tsg,
	.preempt_others = lens_pfifo_preempt_others,
	.preempt_runlist = lens_pfifo_preempt_runlist,
	.resubmit = tu10x_resubmit,
	.decode_entry = lens_entry_decode_16,
	.decode_channel = lens_pccsr_decode_channel,
	.get_engine_regs = lens_pfifo_get_engine_regs,
	.decode_engine = lens_pfifo_decode_engine,
	.set_timeslice = lens_entry_set_timeslice_16,
};

static const struct lens_chip_id tu10x_ids[] = {
	{ 0x162, "TU102" },
	{ 0x164, "TU104" },
	{ 0x166, "TU106" },
	{ 0x167, "TU117" },
	{ 0x168, "TU116" },
	{ }
};

const struct lens_chip lens_chip_tu10x = {
	LENS_CHIP_TU10X,
	.name = "TU10x",
	.arch = "Turing",
	.ids = tu10x_ids,
};
