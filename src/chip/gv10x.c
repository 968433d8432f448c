// SPDX-License-Identifier: GPL-2.0
/*
 * Volta: PFIFO with read-back registers per runlist, 16-byte runlist entries, a
 * preempt request for whole runlists, per-VEID headers before context images.
 * GV11B is Tegra Xavier: its video memory aperture means system memory.
 *
 * Sources: open-gpu-doc volta/gv100/dev_fifo.ref.txt, dev_ram.ref.txt,
 * dev_top.ref.txt, dev_ctxsw.ref.txt; linux-nvgpu hw_fifo_gv11b.h, hw_ccsr_gv11b.h,
 * hw_fuse_gv11b.h; size of memory: hw_fb_gv100.h.
 *
 * No manual of GV100's copy engines is published. Its registers are where TU104 has
 * them: on a Titan V under NVIDIA's driver 0x104028 reads 0x1ff, 0x104040 to 0x104060
 * read 0 to 8, one word per PCE of that map, 0x104064 is an error word, and 0x104034
 * reads 0, no LCE borrowed (syntheticChemistry/hotSpring
 * data/titanv/nvidia535-vm-captures/artifacts/warm_bar0.json). nouveau reads 0x104028
 * as well. GV11B's are assumed alike.
 */
#include "rows.h"

static const struct lens_chip_id gv10x_ids[] = {
	{ 0x140, "GV100" },
	{ 0x15b, "GV11B", .channels = 512, .runlists = 2, .soc = true,
	  .assumed = "copy engine maps as GV100" },
	{ }
};

const struct lens_chip lens_chip_gv10x = {
	LENS_CHIP_GV10X,
	.name = "GV10x",
	.arch = "Volta",
	.ids = gv10x_ids,
};
