// SPDX-License-Identifier: GPL-2.0
/*
 * GA100: the first with registers and channel RAM for each runlist.
 *
 * Sources: open-gpu-doc ampere/ga100/dev_runlist.ref.txt, dev_ram.ref.txt,
 * dev_ctxsw.ref.txt; open-gpu-kernel-modules ampere/ga100/dev_top.h, dev_ce_base.h;
 * linux-nvgpu hw_top_ga100.h, hw_fuse_ga100.h; addresses of the copy engine maps:
 * as GA102, assumed.
 */
#include "rows.h"

static const struct lens_chip_id ga100_ids[] = {
	{ 0x170, "GA100" },
	{ }
};

const struct lens_chip lens_chip_ga100 = {
	LENS_CHIP_GA10X,
	.name = "GA100",
	.arch = "Ampere",
	.ids = ga100_ids,
	/*
	 * "If an INVALID aperture is provided hardware will silently use
	 * INST_TARGET_VID_MEM": ga100/dev_ram.ref.txt, RAMRL. No other manual says so.
	 */
	.inst_1_is_vid = true,
	.ce.pces = 18,
	.memory_bytes = lens_fb_read_size_gp102,
	.assumed = "addresses of the copy engine maps as GA102; logical TPC order",
};
