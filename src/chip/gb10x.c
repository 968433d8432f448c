// SPDX-License-Identifier: GPL-2.0
/*
 * Blackwell for data centres: two dies, each with a device table of its own. Runlist
 * registers and channel RAM as NVIDIA's open driver uses them on GA100 (assumed); page
 * tables of version 3.
 *
 * Fuses and copy engine maps of the discrete parts are behind a privilege mask or
 * not published: gpc_mask, tpc_map and the copy engine files answer EOPNOTSUPP.
 *
 * Sources: open-gpu-kernel-modules blackwell/gb100/dev_top.h, dev_nv_xal_ep_zb.h,
 * nv_arch.h, kern_gmmu_fmt_gb10x.c, g_kernel_fifo_nvoc.c.
 */
#include "rows.h"

static const struct lens_chip_id gb10x_ids[] = {
	{ 0x1a0, "GB100" },
	{ 0x1a2, "GB102" },
	{ 0x1a3, "GB110" },
	{ 0x1a4, "GB112" },
	{ 0x1ab, "GB10B", .soc = true },
	{ }
};

const struct lens_chip lens_chip_gb10x = {
	LENS_CHIP_GB10X,
	.name = "GB10x",
	.arch = "Blackwell",
	.ids = gb10x_ids,
	.assumed = "runlist and unit count layouts as GA10x",
};
