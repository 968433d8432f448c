// SPDX-License-Identifier: GPL-2.0
/*
 * Ada: Host as on GA102 (a runlist RAM and channel RAM per runlist), page tables
 * of version 2.
 *
 * NVIDIA publishes chip ids and the bus registers of AD102 only. Everything else
 * is what it published for GA100 and GA102, whose code its open driver runs on
 * Ada (g_kernel_fifo_nvoc.c, g_kernel_ce_nvoc.c); the context image is guarded
 * by its magic words before anything is written to it.
 *
 * Sources: open-gpu-kernel-modules nv_arch.h, ada/ad102/dev_bus.h; open-gpu-doc
 * ampere/ga100/dev_runlist.ref.txt, ampere/ga102/dev_ce.ref.txt,
 * ampere/ga102/dev_ctxsw.ref.txt; fuses: linux-nvgpu hw_fuse_ga100.h.
 */
#include "../core.h"
#include "../../include/hw/bus.h"
#include "../../include/hw/ce.h"
#include "../../include/hw/fuse.h"
#include "../../include/hw/ram.h"

static const struct lens_chip_id ad10x_ids[] = {
	{ 0x192, "AD102" },
	{ 0x193, "AD103" },
	{ 0x194, "AD104" },
	{ 0x196, "AD106" },
	{ 0x197, "AD107" },
	{ }
};

const struct lens_chip lens_chip_ad10x = {
	.name = "AD10x",
	.arch = "Ada",
	.ids = ad10x_ids,
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
		"runlist, device table, unit count, fuse, copy engine and context layouts as GA10x; logical TPC order",
};
