// SPDX-License-Identifier: GPL-2.0
/*
 * Blackwell for data centres: two dies, each with a device table of its own. Runlist
 * RAM as NVIDIA's open driver uses it on GA100 (assumed); page tables of version 3.
 *
 * Fuses and copy engine maps of the discrete parts are behind a privilege mask or
 * not published: gpc_mask, tpc_map and the copy engine files answer EOPNOTSUPP.
 *
 * Sources: open-gpu-kernel-modules blackwell/gb100/dev_top.h, dev_nv_xal_ep_zb.h,
 * nv_arch.h, kern_gmmu_fmt_gb10x.c, g_kernel_fifo_nvoc.c.
 */
#include "../core.h"
#include "../../include/hw/bus.h"
#include "../../include/hw/ram.h"

static const struct lens_chip_id gb10x_ids[] = {
	{ 0x1a0, "GB100" },
	{ 0x1a2, "GB102" },
	{ 0x1a3, "GB110" },
	{ 0x1a4, "GB112" },
	{ 0x1ab, "GB10B", .soc = true },
	{ }
};

const struct lens_chip lens_chip_gb10x = {
	.name = "GB10x",
	.arch = "Blackwell",
	.ids = gb10x_ids,
	.entry_words = NV_RAMRL_ENTRY_SIZE / 4,
	.tsg_length_max = NV_RAMRL_ENTRY_TSG_LENGTH_MAX,
	.tsgs = 2048,		/* NV_RAMRL_ENTRY_ID_MAX of GA100 */
	.runlists = 128,	/* RUNLIST_ID 22:16 of NV_VIRTUAL_FUNCTION_DOORBELL */
	.ids_per_runlist = true,
	.host = &lens_host_rlram,
	.read_devices = lens_ptop_v2_read_two_dies,
	.engines = LENS_PTOP_GB100_DEVICES,
	.ce = { .grces = 2 },	/* NV_CE_GRCE_CONFIG__SIZE_1 of gb100/dev_ce_base.h */
	.memory_bytes = lens_memory_bytes_ga102,
	.window = {
		NV_XAL_BASE_ADDRESS + NV_XAL_EP_ZB_BAR0_WINDOW,
		0x7fffff,	/* 22:0, blackwell/gb100/dev_nv_xal_ep_zb.h */
	},
	.mmu = lens_mmu_select_gb100,
	.bar_block = lens_bar_block_vf_wide,
	.ctxsw = LENS_CTXSW_UNPUBLISHED,
	.assumed = "runlist and unit count layouts as GA10x",
};
