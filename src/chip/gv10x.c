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
#include "../core.h"
#include "../../include/hw/bus.h"
#include "../../include/hw/ce.h"
#include "../../include/hw/fuse.h"
#include "../../include/hw/ram.h"

static const struct lens_chip_id gv10x_ids[] = {
	{ 0x140, "GV100" },
	{ 0x15b, "GV11B", .channels = 512, .runlists = 2, .soc = true,
	  .assumed = "copy engine maps as GV100" },
	{ }
};

const struct lens_chip lens_chip_gv10x = {
	.name = "GV10x",
	.arch = "Volta",
	.ids = gv10x_ids,
	.entry_words = NV_RAMRL_ENTRY_SIZE / 4,
	.tsg_length_max = NV_RAMRL_ENTRY_TSG_LENGTH_MAX,
	.tsgs = 4096,		/* ID 11:0 of NV_PFIFO_PREEMPT */
	.runlists = 13,		/* NV_PFIFO_ENG_RUNLIST__SIZE_1 */
	.channels = 4096,	/* NV_PCCSR_CHANNEL__SIZE_1 */
	.has_cfg = true,
	.host = &lens_host_pfifo_gv100,
	.read_devices = lens_ptop_v1_read,
	.engines = LENS_PTOP_V1_DEVICES,
	.fuse_gpc = NV_FUSE_STATUS_OPT_GPC,
	.fuse_tpc_gpc = NV_FUSE_STATUS_OPT_TPC_GPC(0),
	.has_num_ces = true,
	.ce = {
		.pce_map = NV_CE_PCE_MAP,
		.pce_map_mask = DRF_MASK(NV_CE_PCE_MAP_VALUE),
		.pce2lce = NV_CE_PCE2LCE_CONFIG(0),
		.pces = 16,	/* as wide as the map; a Titan V has nine */
		.grce = NV_CE_GRCE_CONFIG(0),
		.grces = NV_CE_GRCE_CONFIG__SIZE_1,
		.lce_none = NV_CE_PCE2LCE_CONFIG_PCE_ASSIGNED_LCE_NONE,
	},
	.memory_bytes = lens_memory_bytes_gp102,
	.window = { NV_PBUS_BAR0_WINDOW, DRF_MASK(NV_PBUS_BAR0_WINDOW_BASE) },
	.mmu = lens_mmu_select_v2,
	.bar_block = lens_bar_block_pbus,
	.ctxsw = LENS_CTXSW_VEID,
};
