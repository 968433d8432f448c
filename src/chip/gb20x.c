// SPDX-License-Identifier: GPL-2.0
/*
 * Blackwell for desktops. The layout of its runlist registers is new, and NVIDIA publishes
 * PREEMPT alone, so even the ids of runlists are unknown: topology only.
 *
 * Sources: open-gpu-kernel-modules nv_arch.h, blackwell/gb202/dev_runlist.h; device
 * table as GB100, assumed.
 */
#include "rows.h"

static const struct lens_chip_id gb20x_ids[] = {
	{ 0x1b2, "GB202" },
	{ 0x1b3, "GB203" },
	{ 0x1b5, "GB205" },
	{ 0x1b6, "GB206" },
	{ 0x1b7, "GB207" },
	{ 0x1bb, "GB20B", .soc = true },
	{ 0x1bc, "GB20C", .soc = true },
	{ }
};

const struct lens_chip lens_chip_gb20x = {
	LENS_CHIP_GB10X,
	.name = "GB20x",
	.arch = "Blackwell",
	.ids = gb20x_ids,
	.host = NULL,
	.read_devices = lens_ptop_v2_read,
	.engines = LENS_PTOP_V2_DEVICES,
	.ce.grces = 4,		/* NV_CE_BASE_GRCE_CONFIG__SIZE_1 of gb202/dev_ce_base.h */
	.assumed = "device table as GB10x, unit count layout as GA10x",
};
