// SPDX-License-Identifier: GPL-2.0
/*
 * Kepler: PFIFO with read-back registers per runlist, 8-byte runlist entries, PCCSR
 * channel words, page tables of version 1 with 128 KiB big pages. Copy engines are
 * physical ones (COPY0 .. COPY2) without a map. GK104 itself knows no TSG headers.
 *
 * NVIDIA publishes little; floorsweeping fuses, the size of GPU memory and the
 * context image are not published, so that gpc_mask, local_memory and the preemption
 * modes answer EOPNOTSUPP. tpc_map has the counts of the graphics engine (gpc.c).
 *
 * Sources: linux-nvgpu hw_fifo_gk20a.h, hw_ccsr_gk20a.h, hw_ram_gk20a.h,
 * hw_top_gk20a.h, hw_gr_gk20a.h; envytools rnndb/fifo/gf100_pfifo.xml (7 runlists, 3 PBDMAs);
 * nouveau engine/fifo/gk104.c, gk208.c (numbers of channels), engine/device/base.c
 * (chip ids, but GK210's: BOOT_0 0x0f22d0a1 of a Tesla K80; no driver names it);
 * page tables: open-gpu-kernel-modules maxwell/gm107/dev_mmu.h.
 */
#include "rows.h"

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
	LENS_CHIP_GK10X,
	.name = "GK10x",
	.arch = "Kepler",
	.ids = gk10x_ids,
	.assumed = "logical TPC order",
};
