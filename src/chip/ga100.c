// SPDX-License-Identifier: GPL-2.0
/*
 * GA100: the first with runlist RAM and channel RAM per runlist.
 *
 * Sources: open-gpu-doc ampere/ga100/dev_runlist.ref.txt, dev_ram.ref.txt,
 * dev_ctxsw.ref.txt; open-gpu-kernel-modules ampere/ga100/dev_top.h, dev_ce_base.h;
 * linux-nvgpu hw_top_ga100.h, hw_fuse_ga100.h; addresses of the copy engine maps:
 * as GA102, assumed.
 */
#include "../core.h"
#include "../../include/hw/bus.h"
#include "../../include/hw/ce.h"
#include "../../include/hw/fuse.h"
#include "../../include/hw/ram.h"

static const struct lens_chip_id ga100_ids[] = {
	{ 0x170, "GA100" },
	{ }
};

const struct lens_chip lens_chip_ga100 = {
	.name = "GA100",
	.arch = "Ampere",
	.ids = ga100_ids,
	.entry_words = NV_RAMRL_ENTRY_SIZE / 4,
	.tsg_length_max = NV_RAMRL_ENTRY_TSG_LENGTH_MAX,
	.tsgs = 2048,		/* NV_RAMRL_ENTRY_ID_MAX of GA100 */
	.runlists = 128,	/* RUNLIST_ID 22:16 of NV_VIRTUAL_FUNCTION_DOORBELL */
	.ids_per_runlist = true,
	/*
	 * "If an INVALID aperture is provided hardware will silently use
	 * INST_TARGET_VID_MEM": ga100/dev_ram.ref.txt, RAMRL. No other manual says so.
	 */
	.inst_1_is_vid = true,
	.host = &lens_host_rlram,
	.read_devices = lens_ptop_v2_read,
	.engines = LENS_PTOP_V2_DEVICES,
	.fuse_gpc = NV_FUSE_GA100_STATUS_OPT_GPC,
	.fuse_tpc_gpc = NV_FUSE_GA100_STATUS_OPT_TPC_GPC(0),
	.tpc_order = LENS_TPC_ORDER_ASSUMED,
	.has_num_ces = true,
	.ce = {
		.pce_map = NV_CE_PCE_MAP,
		.pce_map_mask = DRF_MASK(NV_CE_GA102_PCE_MAP_VALUE),
		.pce2lce = NV_CE_GA102_PCE2LCE_CONFIG(0),
		.pces = 18,
		.grce = NV_CE_GA102_GRCE_CONFIG(0),
		.grces = NV_CE_GRCE_CONFIG__SIZE_1,
		.lce_none = NV_CE_PCE2LCE_CONFIG_PCE_ASSIGNED_LCE_NONE,
	},
	.memory_bytes = lens_memory_bytes_gp102,
	.window = { NV_PBUS_BAR0_WINDOW, DRF_MASK(NV_PBUS_BAR0_WINDOW_BASE) },
	.mmu = lens_mmu_select_v2,
	.bar_block = lens_bar_block_vf,
	.ctxsw = LENS_CTXSW_VEID,
	.assumed = "addresses of the copy engine maps as GA102; logical TPC order",
};
