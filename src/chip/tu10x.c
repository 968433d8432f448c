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

static int tu10x_read_runlist_regs(struct lens_gpu *gpu, const struct lens_runlist *rl,
				   struct lens_runlist_regs *regs)
{
	return lens_submit_read_regs(gpu, NV_PFIFO_RUNLIST_BASE_LO(rl->id),
				     DRF_LO(NV_PFIFO_RUNLIST_BASE_LO_PTR_LO), regs);
}

static int tu10x_resubmit(struct lens_gpu *gpu, const struct lens_runlist *rl,
			  const struct lens_runlist_regs *expected)
{
	return lens_submit_again(gpu, rl, expected, NV_PFIFO_RUNLIST_BASE_LO(rl->id));
}

const struct lens_host_ops lens_host_pfifo_tu102 = {
	.read_runlists = lens_pfifo_read_runlists,
	.read_runlist_regs = tu10x_read_runlist_regs,
	.read_channel = lens_pccsr_read_channel,
	.enable_channel = lens_pccsr_enable_channel,
	.enable_same = lens_pccsr_enable_same,
	.may_miss_enable = true,
	.preempt_tsg = lens_pfifo_preempt_tsg,
	.preempt_others = lens_pfifo_preempt_others,
	.preempt_runlist = lens_pfifo_preempt_runlist,
	.resubmit = tu10x_resubmit,
	.decode_entry = lens_entry_decode_16,
	.decode_channel = lens_pccsr_decode_channel,
	.get_engine_regs = lens_pfifo_get_engine_regs,
	.get_timeout_reg = lens_pfifo_get_timeout_reg,
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
