// SPDX-License-Identifier: GPL-2.0
/*
 * Ada: Host as on GA102 (registers and channel RAM for each runlist), page tables
 * of version 2.
 *
 * NVIDIA publishes chip ids and the bus registers of AD102 only. Everything else
 * is what it published for GA100 and GA102, whose code its open driver runs on
 * Ada (g_kernel_fifo_nvoc.c, g_kernel_ce_nvoc.c); the context image is guarded
 * by its magic words before anything is written to it.
 *
 * Sources: open-gpu-kernel-modules nv_arch.h, ada/ad102/dev_bus.h; open-gpu-doc
 * ampere/ga100/dev_runlist.ref.txt, ampere/ga102/dev_ce.ref.txt,
 * ampere/ga102/dev_ctxsw.ref.txt; fuses: linux-nvgpu hw_fuse_ga100.h; table of TPCs:
 * nvdebug (2025), nvdebug_entry.c.
 */
#include "rows.h"

static const struct lens_chip_id ad10x_ids[] = {
	{ 0x192, "AD102" },
	{ 0x193, "AD103" },
	{ 0x194, "AD104" },
	{ 0x196, "AD106" },
	{ 0x197, "AD107" },
	{ }
};

const struct lens_chip lens_chip_ad10x = {
	LENS_CHIP_GA10X,
	.cwd = {
		.gpc_tpc_id = NV_PGRAPH_PRI_CWD_GH100_GPC_TPC_ID(0),
		.sm_id = NV_PGRAPH_PRI_CWD_GH100_SM_ID(0),
		.words = NV_PGRAPH_PRI_CWD_GH100__SIZE_1,
	},
	.name = "AD10x",
	.arch = "Ada",
	.ids = ad10x_ids,
	.assumed =
		"runlist, device table, unit count, fuse, copy engine and context layouts as GA10x; logical TPC order",
};
