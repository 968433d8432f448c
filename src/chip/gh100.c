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
#include "../core.h"
#include "../../include/hw/bus.h"
#include "../../include/hw/ce.h"
#include "../../include/hw/fuse.h"
#include "../../include/hw/ram.h"

static const struct lens_chip_id gh100_ids[] = {
	{ 0x180, "GH100" },
	{ }
};

const struct lens_chip lens_chip_gh100 = {
	.name = "GH100",
	.arch = "Hopper",
	.ids = gh100_ids,
	.entry_words = NV_RAMRL_ENTRY_SIZE / 4,
	.tsg_length_max = NV_RAMRL_ENTRY_TSG_LENGTH_MAX,
	.tsgs = 2048,		/* NV_RAMRL_ENTRY_ID_MAX of GA100 */
	.runlists = 128,		/* RUNLIST_ID 22:16 of NV_VIRTUAL_FUNCTION_DOORBELL */
	.ids_per_runlist = true,
	.host = &lens_host_rlram,
	.read_devices = lens_ptop_v2_read,
	.engines = LENS_PTOP_V2_DEVICES,
	.fuse_gpc = NV_FUSE_GA100_STATUS_OPT_GPC,
	.fuse_tpc_gpc = NV_FUSE_GA100_STATUS_OPT_TPC_GPC(0),
	/* By virtual GPCs: docs/results/2026-11-22-h200-masks.md. */
	.tpc_order = LENS_TPC_ORDER_WRONG,
	.has_num_ces = true,
	.ce = {
		.pce_map = NV_CE_PCE_MAP,
		.pce_map_mask = 0xffff,
		.pce2lce = NV_CE_GA102_PCE2LCE_CONFIG(0),
		.pces = 16,	/* NV_CE_BASE_PCE2LCE_CONFIG__SIZE_1 of gh100/dev_ce_base.h */
		.grce = NV_CE_GA102_GRCE_CONFIG(0),
		.grces = NV_CE_GRCE_CONFIG__SIZE_1,
		.lce_none = NV_CE_PCE2LCE_CONFIG_PCE_ASSIGNED_LCE_NONE,
	},
	.memory_bytes = lens_memory_bytes_ga102,
	.window = {
		NV_XAL_BASE_ADDRESS + NV_XAL_EP_ZB_BAR0_WINDOW,
		DRF_MASK(NV_XAL_EP_ZB_BAR0_WINDOW_BASE),
	},
	.mmu = lens_mmu_select_v3,
	.bar_block = lens_bar_block_vf_wide,
	.ctxsw = LENS_CTXSW_VEID,
	.assumed =
		"runlist, device table, unit count, fuse, copy engine and context layouts as GA10x",
};
