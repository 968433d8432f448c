// SPDX-License-Identifier: GPL-2.0
/*
 * GA10x and GA10B (Jetson Orin): as GA100, with runlists at 1 KiB steps.
 *
 * Sources: as ga100.c; open-gpu-doc ampere/ga102/dev_ce.ref.txt, dev_ctxsw.ref.txt;
 * open-gpu-kernel-modules ampere/ga102/dev_ram.h, nv_arch.h; linux-nvgpu
 * hw_runlist_ga10b.h, hw_top_ga10b.h, hw_fuse_ga10b.h; id of GA10B: linux-nvgpu
 * include/nvgpu/gk20a.h NVGPU_GPUID_GA10B.
 */
#include "../core.h"
#include "../../include/hw/bus.h"
#include "../../include/hw/ce.h"
#include "../../include/hw/fuse.h"
#include "../../include/hw/ram.h"

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
	.name = "GA10x",
	.arch = "Ampere",
	.ids = ga10x_ids,
	.entry_words = NV_RAMRL_ENTRY_SIZE / 4,
	.tsg_length_max = NV_RAMRL_ENTRY_TSG_LENGTH_MAX,
	.tsgs = 2048,		/* NV_RAMRL_ENTRY_ID_MAX of GA100 */
	.runlists = 128,	/* RUNLIST_ID 22:16 of NV_VIRTUAL_FUNCTION_DOORBELL */
	.ids_per_runlist = true,
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
		.pces = 24,
		.grce = NV_CE_GA102_GRCE_CONFIG(0),
		.grces = NV_CE_GRCE_CONFIG__SIZE_1,
		.lce_none = NV_CE_PCE2LCE_CONFIG_PCE_ASSIGNED_LCE_NONE,
	},
	.memory_bytes = lens_memory_bytes_ga102,
	.window = { NV_PBUS_BAR0_WINDOW, DRF_MASK(NV_PBUS_BAR0_WINDOW_BASE) },
	.mmu = lens_mmu_select_v2,
	.bar_block = lens_bar_block_vf,
	.ctxsw = LENS_CTXSW_VEID,
	.assumed =
		"runlist, device table, unit count and fuse layouts of GA102 .. GA107 as GA100 and GA10B; copy engine maps of GA10B as GA102; logical TPC order",
};
