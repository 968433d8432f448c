// SPDX-License-Identifier: GPL-2.0
/*
 * First Maxwell: Host as on Kepler with 2048 channels; runlist entries carry the
 * instance block in word 1.
 *
 * Sources: open-gpu-kernel-modules maxwell/gm107/dev_ram.h, dev_mmu.h, dev_bus.h,
 * nv_arch.h; nouveau engine/fifo/gm107.c (2048 channels); floorsweeping and the
 * context image: not published before GM20B.
 */
#include "../core.h"
#include "../../include/hw/bus.h"
#include "../../include/hw/ram.h"

static const struct lens_chip_id gm10x_ids[] = {
	{ 0x117, "GM107" },
	{ 0x118, "GM108" },
	{ }
};

const struct lens_chip lens_chip_gm10x = {
	.name = "GM10x",
	.arch = "Maxwell",
	.ids = gm10x_ids,
	.entry_words = NV_RAMRL_LEGACY_ENTRY_SIZE / 4,
	.bare_channels = true,
	.tsg_length_max = NV_RAMRL_LEGACY_ENTRY_TSG_LENGTH_MAX,
	.tsgs = 4096,		/* id 11:0 of a runlist entry */
	.runlists = 16,		/* RUNLIST_ENUM 24:21 of the device table; unpublished */
	.channels = 2048,	/* gm107_fifo_new */
	.pbdmas = 3,		/* assumed as on Kepler */
	.host = &lens_host_pfifo,
	.read_devices = lens_ptop_v1_read,
	.engines = LENS_PTOP_V1_DEVICES,
	.window = { NV_PBUS_BAR0_WINDOW, DRF_MASK(NV_PBUS_BAR0_WINDOW_BASE) },
	.mmu = lens_mmu_select_gk104,
	.bar_block = lens_bar_block_pbus,
	.ctxsw = LENS_CTXSW_UNPUBLISHED,
	.assumed = "number of PBDMAs and runlists",
};
