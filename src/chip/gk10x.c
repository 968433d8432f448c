// SPDX-License-Identifier: GPL-2.0
/*
 * Kepler: PFIFO with read-back registers per runlist, 8-byte runlist entries, PCCSR
 * channel words, page tables of version 1 with 128 KiB big pages. Copy engines are
 * physical ones (COPY0 .. COPY2) without a map. GK104 itself knows no TSG headers.
 *
 * NVIDIA publishes little; floorsweeping fuses, the size of GPU memory and the
 * context image are not published, so that gpc_mask, tpc_map, local_memory and the
 * preemption modes answer EOPNOTSUPP.
 *
 * Sources: linux-nvgpu hw_fifo_gk20a.h, hw_ccsr_gk20a.h, hw_ram_gk20a.h,
 * hw_top_gk20a.h; envytools rnndb/fifo/gf100_pfifo.xml (7 runlists, 3 PBDMAs);
 * nouveau engine/fifo/gk104.c, gk208.c (numbers of channels), engine/device/base.c
 * (chip ids, but GK210's: BOOT_0 0x0f22d0a1 of a Tesla K80; no driver names it);
 * page tables: open-gpu-kernel-modules maxwell/gm107/dev_mmu.h.
 */
#include "../core.h"
#include "../../include/hw/bus.h"
#include "../../include/hw/ram.h"

static const struct lens_chip_id gk10x_ids[] = {
	{ 0xe4, "GK104" },
	{ 0xe6, "GK106" },
	{ 0xe7, "GK107" },
	{ 0xea, "GK20A", .channels = 128, .runlists = 1, .pbdmas = 1, .soc = true },
	{ 0xf0, "GK110" },
	{ 0xf1, "GK110B" },
	{ 0xf2, "GK210" },
	{ 0x106, "GK208B", .channels = 1024 },
	{ 0x108, "GK208", .channels = 1024 },
	{ }
};

const struct lens_chip lens_chip_gk10x = {
	.name = "GK10x",
	.arch = "Kepler",
	.ids = gk10x_ids,
	.entry_words = NV_RAMRL_LEGACY_ENTRY_SIZE / 4,
	.bare_channels = true,
	.tsg_length_max = NV_RAMRL_LEGACY_ENTRY_TSG_LENGTH_MAX,
	.tsgs = 4096,		/* id 11:0 of a runlist entry */
	.runlists = 7,		/* PLAYLIST_RD of gf100_pfifo.xml */
	.channels = 4096,	/* gk104_fifo_new */
	.pbdmas = 3,		/* SUBFIFO_ENG_MASK of gf100_pfifo.xml */
	.host = &lens_host_pfifo,
	.read_devices = lens_ptop_v1_read,
	.engines = LENS_PTOP_V1_DEVICES,
	.window = { NV_PBUS_BAR0_WINDOW, DRF_MASK(NV_PBUS_BAR0_WINDOW_BASE) },
	.mmu = lens_mmu_select_gk104,
	.bar_block = lens_bar_block_pbus,
	.ctxsw = LENS_CTXSW_UNPUBLISHED,
};
