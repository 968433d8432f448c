// SPDX-License-Identifier: GPL-2.0
/*
 * Hopper: Host as on Ampere, page tables of version 3, and a PRAMIN window in
 * the XAL unit that reaches GPU memory only.
 *
 * NVIDIA publishes chip id, page tables, window, BAR blocks and the size of the
 * copy engine map of GH100. The rest is assumed as on GA10x, whose code its open
 * driver runs on GH100; the context image is guarded by its magic words before
 * anything is written to it.
 *
 * Sources: open-gpu-kernel-modules nv_arch.h, hopper/gh100/dev_mmu.h,
 * dev_nv_xal_ep_zb.h, hwproject.h, dev_ce_base.h; for what is assumed see ad10x.c.
 */
#include "rows.h"

static const struct lens_chip_id gh100_ids[] = {
	{ 0x180, "GH100" },
	{ }
};

const struct lens_chip lens_chip_gh100 = {
	LENS_CHIP_GH100,
	.name = "GH100",
	.arch = "Hopper",
	.ids = gh100_ids,
	.assumed =
		"runlist, device table, unit count, fuse, copy engine and context layouts as GA10x",
};
