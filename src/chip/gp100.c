// SPDX-License-Identifier: GPL-2.0
/*
 * GP100: Host as on GP10x, page tables of version 2 (or 1, as the instance block
 * says). The size of GPU memory is published from GP102 on only.
 *
 * Sources: open-gpu-kernel-modules pascal/gp100/dev_mmu.h, dev_ram.h, nv_arch.h;
 * nouveau engine/fifo/gp100.c (4096 channels); the rest as GP106 (gp10x.c), assumed.
 */
#include "../core.h"
#include "../../include/hw/bus.h"
#include "../../include/hw/ce.h"
#include "../../include/hw/fuse.h"
#include "../../include/hw/ram.h"

static const struct lens_chip_id gp100_ids[] = {
	{ 0x130, "GP100" },
	{ }
};

const struct lens_chip lens_chip_gp100 = {
	.name = "GP100",
	.arch = "Pascal",
	.ids = gp100_ids,
	.entry_words = NV_RAMRL_LEGACY_ENTRY_SIZE / 4,
	.bare_channels = true,
	.tsg_length_max = NV_RAMRL_LEGACY_ENTRY_TSG_LENGTH_MAX,
	.tsgs = 4096,		/* id 11:0 of a runlist entry */
	.runlists = 16,		/* RUNLIST_ENUM 24:21 of the device table; unpublished */
	.channels = 4096,	/* gp100_fifo */
	.has_cfg = true,
	.host = &lens_host_pfifo,
	.read_devices = lens_ptop_v1_read,
	.engines = LENS_PTOP_V1_DEVICES,
	.fuse_gpc = NV_FUSE_STATUS_OPT_GPC,
	.fuse_tpc_gpc = NV_FUSE_STATUS_OPT_TPC_GPC(0),
	.ce = {
		.pce_map = NV_CE_PCE_MAP,
		.pce_map_mask = 0xff,
		.pce2lce = NV_CE_PASCAL_PCE2LCE,
		.pces = 8,	/* 4 bits each in one register */
		.grce = NV_CE_GRCE_CONFIG(0),
		.grces = 2,
		.packed = true,
		.lce_none = NV_CE_PASCAL_PCE2LCE_NONE,
	},
	.window = { NV_PBUS_BAR0_WINDOW, DRF_MASK(NV_PBUS_BAR0_WINDOW_BASE) },
	.mmu = lens_mmu_select_gp100,
	.bar_block = lens_bar_block_pbus,
	.ctxsw = LENS_CTXSW_MAIN,
	.assumed = "number of runlists; copy engine maps, fuses and context image as GP10x",
};
