// SPDX-License-Identifier: GPL-2.0
/*
 * Blackwell for desktops. Its runlist RAM is arranged anew and NVIDIA publishes only
 * PREEMPT of it, so that even the ids of runlists are unknown: topology only.
 *
 * Sources: open-gpu-kernel-modules nv_arch.h, blackwell/gb202/dev_runlist.h; device
 * table as GB100, assumed.
 */
#include "../core.h"
#include "../../include/hw/bus.h"
#include "../../include/hw/ram.h"

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
	.name = "GB20x",
	.arch = "Blackwell",
	.ids = gb20x_ids,
	.entry_words = NV_RAMRL_ENTRY_SIZE / 4,
	.tsg_length_max = NV_RAMRL_ENTRY_TSG_LENGTH_MAX,
	.tsgs = 2048,		/* NV_RAMRL_ENTRY_ID_MAX of GA100 */
	.runlists = 128,	/* RUNLIST_ID 22:16 of NV_VIRTUAL_FUNCTION_DOORBELL */
	.ids_per_runlist = true,
	.read_devices = lens_ptop_v2_read,
	.engines = LENS_PTOP_V2_DEVICES,
	.ce = { .grces = 4 },	/* NV_CE_BASE_GRCE_CONFIG__SIZE_1 of gb202/dev_ce_base.h */
	.memory_bytes = lens_memory_bytes_ga102,
	.window = {
		NV_XAL_BASE_ADDRESS + NV_XAL_EP_ZB_BAR0_WINDOW,
		0x7fffff,	/* 22:0, blackwell/gb100/dev_nv_xal_ep_zb.h */
	},
	.mmu = lens_mmu_select_gb100,
	.bar_block = lens_bar_block_vf_wide,
	.ctxsw = LENS_CTXSW_UNPUBLISHED,
	.assumed = "device table as GB10x, unit count layout as GA10x",
};
