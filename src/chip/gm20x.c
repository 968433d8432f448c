// SPDX-License-Identifier: GPL-2.0
/*
 * Second Maxwell: CFG0 and CFG1 say how many PBDMAs and channels there are; an
 * instance block chooses 64 or 128 KiB big pages. GM20B is Tegra X1.
 *
 * The context image has one preemption word at 0x60 (bit 0: CTA), other than later
 * chips; it is not written.
 *
 * Sources: linux-nvgpu hw_fifo_gm20b.h, hw_ccsr_gm20b.h, hw_ram_gm20b.h,
 * hw_fuse_gm20b.h, hw_top_gm20b.h, hw_ctxsw_prog_gm20b.h; nouveau
 * engine/fifo/gm200.c; chip ids: open-gpu-kernel-modules nv_arch.h.
 */
#include "rows.h"

static const struct lens_chip_id gm20x_ids[] = {
	{ 0x120, "GM200" },
	{ 0x124, "GM204" },
	{ 0x126, "GM206" },
	{ 0x12b, "GM20B", .channels = 512, .runlists = 1, .soc = true },
	/* GM20B_B of linux-nvgpu include/nvgpu/gk20a.h, which runs GM20B's code on it */
	{ 0x12e, "GM20B", .channels = 512, .runlists = 1, .soc = true },
	{ }
};

const struct lens_chip lens_chip_gm20x = {
	LENS_CHIP_GM20X,
	.name = "GM20x",
	.arch = "Maxwell",
	.ids = gm20x_ids,
	.assumed = "number of runlists, fuses of GM200 .. GM206 as GM20B",
};
