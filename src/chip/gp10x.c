// SPDX-License-Identifier: GPL-2.0
/*
 * Pascal: PFIFO with read-back registers per runlist, 8-byte runlist entries,
 * PCCSR channel words, page tables of version 2.
 *
 * Sources: linux-nvgpu hw_fifo_gp106.h, hw_ccsr_gp106.h, hw_ram_gp106.h,
 * hw_top_gp106.h, hw_fuse_gp106.h, hw_ctxsw_prog_gp106.h; register layouts as
 * published for GV100 (open-gpu-doc); chip ids: open-gpu-kernel-modules nv_arch.h.
 * Copy engine maps: see ce.c.
 */
#include "../core.h"
#include "../../include/hw/bus.h"
#include "../../include/hw/ce.h"
#include "../../include/hw/fuse.h"
#include "../../include/hw/ram.h"

static const struct lens_chip_id gp10x_ids[] = {
	{ 0x132, "GP102" },
	{ 0x134, "GP104" },
	{ 0x136, "GP106" },
	{ 0x137, "GP107" },
	{ 0x138, "GP108" },
	/* Tegra X2 */
	{ 0x13b, "GP10B", .channels = 512, .runlists = 1, .soc = true },
	{ }
};

const struct lens_chip lens_chip_gp10x = {
	.name = "GP10x",
	.arch = "Pascal",
	.ids = gp10x_ids,
	.entry_words = NV_RAMRL_LEGACY_ENTRY_SIZE / 4,
	.bare_channels = true,
	.tsg_length_max = NV_RAMRL_LEGACY_ENTRY_TSG_LENGTH_MAX,
	.tsgs = 4096,		/* id 11:0 of a runlist entry */
	.runlists = 7,		/* fifo_eng_runlist_base__size_1_v */
	.channels = 4096,	/* ccsr_channel__size_1_v */
	.has_cfg = true,
	.host = &lens_host_pfifo,
	.read_devices = lens_ptop_v1_read,
	.engines = LENS_PTOP_V1_DEVICES,
	.fuse_gpc = NV_FUSE_STATUS_OPT_GPC,
	.fuse_tpc_gpc = NV_FUSE_STATUS_OPT_TPC_GPC(0),
	.ce = {
		.pce_map = NV_CE_PCE_MAP,
		.pce_map_mask = 0xf,
		.pce2lce = NV_CE_PASCAL_PCE2LCE,
		.pces = 4,
		.grce = NV_CE_GRCE_CONFIG(0),
		.grces = 2,
		.packed = true,
		.lce_none = NV_CE_PASCAL_PCE2LCE_NONE,
	},
	.memory_bytes = lens_memory_bytes_gp102,
	.window = { NV_PBUS_BAR0_WINDOW, DRF_MASK(NV_PBUS_BAR0_WINDOW_BASE) },
	.mmu = lens_mmu_select_gp100,
	.bar_block = lens_bar_block_pbus,
	.ctxsw = LENS_CTXSW_MAIN,
	.assumed = "copy engine maps",
};
