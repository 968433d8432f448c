// SPDX-License-Identifier: GPL-2.0
/*
 * First Maxwell: Host as on Kepler with 2048 channels; runlist entries carry the
 * instance block in word 1.
 *
 * Sources: open-gpu-kernel-modules maxwell/gm107/dev_ram.h, dev_mmu.h, dev_bus.h,
 * nv_arch.h; nouveau engine/fifo/gm107.c (2048 channels), engine/gr/gf100.c (counts
 * of GPCs and TPCs, as on Kepler); floorsweeping fuses and the context image: not
 * published before GM20B.
 */
#include "rows.h"

static const struct lens_chip_id gm10x_ids[] = {
	{ 0x117, "GM107" },
	{ 0x118, "GM108" },
	{ }
};

const struct lens_chip lens_chip_gm10x = {
	LENS_CHIP_GM10X,
	.name = "GM10x",
	.arch = "Maxwell",
	.ids = gm10x_ids,
	.channels = 2048,	/* gm107_fifo_new */
	.assumed = "number of PBDMAs and runlists; logical TPC order",
};
