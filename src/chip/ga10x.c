// SPDX-License-Identifier: GPL-2.0
/*
 * GA10x and GA10B (Jetson Orin): as GA100, with runlists at 1 KiB steps.
 *
 * Sources: as ga100.c; open-gpu-doc ampere/ga102/dev_ce.ref.txt, dev_ctxsw.ref.txt;
 * open-gpu-kernel-modules ampere/ga102/dev_ram.h, nv_arch.h; linux-nvgpu
 * hw_runlist_ga10b.h, hw_top_ga10b.h, hw_fuse_ga10b.h; id of GA10B: linux-nvgpu
 * include/nvgpu/gk20a.h NVGPU_GPUID_GA10B.
 */
#include "rows.h"

static const struct lens_chip_id ga10x_ids[] = {
	{ 0x172, "GA102" },
	{ 0x173, "GA103" },
	{ 0x174, "GA104" },
	{ 0x176, "GA106" },
	{ 0x177, "GA107" },
	{ 0x17b, "GA10B", .soc = true },
	{ 0x17f, "GA102F" },
	{ }
};

const struct lens_chip lens_chip_ga10x = {
	LENS_CHIP_GA10X,
	.name = "GA10x",
	.arch = "Ampere",
	.ids = ga10x_ids,
	.assumed =
		"runlist, device table, unit count and fuse layouts of GA102 .. GA107 as GA100 and GA10B; copy engine maps of GA10B as GA102; logical TPC order",
};
