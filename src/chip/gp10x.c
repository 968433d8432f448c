// SPDX-License-Identifier: GPL-2.0
/*
 * Pascal: PFIFO with read-back registers per runlist, 8-byte runlist entries,
 * PCCSR channel words, page tables of version 2.
 *
 * Sources: linux-nvgpu hw_fifo_gp106.h, hw_ccsr_gp106.h, hw_ram_gp106.h,
 * hw_top_gp106.h, hw_fuse_gp106.h, hw_ctxsw_prog_gp106.h; register layouts as
 * published for GV100 (open-gpu-doc); chip ids: open-gpu-kernel-modules nv_arch.h.
 * Copy engine maps: see ce.c.
 */
#include "rows.h"

static const struct lens_chip_id gp10x_ids[] = {
	{ 0x132, "GP102" },
	{ 0x134, "GP104" },
	{ 0x136, "GP106" },
	{ 0x137, "GP107" },
	{ 0x138, "GP108" },
	/* Tegra X2 */
	{ 0x13b, "GP10B", .channels = 512, .runlists = 1, .soc = true },
	{ }
};

const struct lens_chip lens_chip_gp10x = {
	LENS_CHIP_GP10X,
	.name = "GP10x",
	.arch = "Pascal",
	.ids = gp10x_ids,
	.assumed = "copy engine maps",
};
