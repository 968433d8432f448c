// SPDX-License-Identifier: GPL-2.0
/*
 * GP100: Host as on GP10x, page tables of version 2 (or 1, as the instance block
 * says). The size of GPU memory is published from GP102 on only.
 *
 * Sources: open-gpu-kernel-modules pascal/gp100/dev_mmu.h, dev_ram.h, nv_arch.h;
 * nouveau engine/fifo/gp100.c (4096 channels); the rest as GP106 (gp10x.c), assumed.
 */
#include "rows.h"

static const struct lens_chip_id gp100_ids[] = {
	{ 0x130, "GP100" },
	{ }
};

const struct lens_chip lens_chip_gp100 = {
	LENS_CHIP_GP100,
	.name = "GP100",
	.arch = "Pascal",
	.ids = gp100_ids,
	.assumed = "number of runlists; copy engine maps, fuses and context image as GP10x",
};
