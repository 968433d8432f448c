/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What each generation inherits and what differs.
 *
 * LENS_CHIP_<GENERATION> is the list of initialisers of struct lens_chip that the row of that
 * generation begins with: its parent's, then its own. An initialiser replaces an earlier one of
 * the same member, so false, 0 and NULL are said like any other value. Name, chips and .assumed
 * are never inherited. A generation that is no parent has its differences in its own file.
 *
 *	GK10x > GM10x > GM20x > GP100 > GP10x > GV10x > TU10x > GA10x > GH100 > GB10x
 *	GA10x > GA100		GA10x > AD10x		GB10x > GB20x
 *
 * Sources are at the head of each generation's file.
 */
#ifndef _LENS_CHIP_ROWS_H_
#define _LENS_CHIP_ROWS_H_

#include "../core.h"
#include "../../include/hw/bus.h"
#include "../../include/hw/ce.h"
#include "../../include/hw/fifo.h"
#include "../../include/hw/fuse.h"
#include "../../include/hw/gr.h"
#include "../../include/hw/ram.h"

/* Replacing an inherited initialiser is what this file is for. */
#pragma GCC diagnostic ignored "-Woverride-init"

#define LENS_CHIP_GK10X								\
	.entry_words = NV_RAMRL_LEGACY_ENTRY_SIZE / 4,				\
	.bare_channels = true,							\
	.tsg_length_max = NV_RAMRL_LEGACY_ENTRY_TSG_LENGTH_MAX,			\
	.tsgs = 4096,		/* id 11:0 of a runlist entry */		\
	.runlists = 7,		/* PLAYLIST_RD of gf100_pfifo.xml */		\
	.channels = 4096,	/* gk104_fifo_new */				\
	.pbdmas = 3,		/* SUBFIFO_ENG_MASK of gf100_pfifo.xml */	\
	.host = &lens_host_pfifo,						\
	.read_devices = lens_ptop_v1_read,					\
	.engines = LENS_PTOP_V1_DEVICES,					\
	.has_gpc_counts = true,							\
	.tpc_order = LENS_TPC_ORDER_ASSUMED,					\
	.window = { NV_PBUS_BAR0_WINDOW, DRF_MASK(NV_PBUS_BAR0_WINDOW_BASE) },	\
	.mmu = lens_mmu_select_gk104,						\
	.bar_block = lens_bar_read_block_pbus,					\
	.ctxsw = LENS_CTXSW_UNPUBLISHED

#define LENS_CHIP_GM10X								\
	LENS_CHIP_GK10X,							\
	.runlists = 16		/* RUNLIST_ENUM 24:21 of the device table; unpublished */

#define LENS_CHIP_GM20X								\
	LENS_CHIP_GM10X,							\
	.has_cfg = true,							\
	.pbdmas = 0,		/* CFG0 */					\
	.fuse_gpc = NV_FUSE_STATUS_OPT_GPC,					\
	.fuse_tpc_gpc = NV_FUSE_STATUS_OPT_TPC_GPC(0),				\
	.has_gpc_counts = false,						\
	.tpc_order = LENS_TPC_ORDER_PUBLISHED,					\
	.cwd = {								\
		.gpc_tpc_id = NV_PGRAPH_PRI_CWD_GPC_TPC_ID(0),			\
		.sm_id = NV_PGRAPH_PRI_CWD_SM_ID(0),				\
		.words = NV_PGRAPH_PRI_CWD_GM20B__SIZE_1,			\
	},									\
	.mmu = lens_mmu_select_gm200

#define LENS_CHIP_GP100								\
	LENS_CHIP_GM20X,							\
	.cwd.words = NV_PGRAPH_PRI_CWD_GP106__SIZE_1,				\
	.ce = {									\
		.pce_map = NV_CE_PCE_MAP,					\
		.pce_map_mask = 0xff,						\
		.pce2lce = NV_CE_PASCAL_PCE2LCE,				\
		.pces = 8,	/* 4 bits each in one register */		\
		.grce = NV_CE_GRCE_CONFIG(0),					\
		.grces = 2,							\
		.packed = true,							\
		.lce_none = NV_CE_PASCAL_PCE2LCE_NONE,				\
	},									\
	.mmu = lens_mmu_select_gp100,						\
	.ctxsw = LENS_CTXSW_MAIN

#define LENS_CHIP_GP10X								\
	LENS_CHIP_GP100,							\
	.runlists = 7,		/* fifo_eng_runlist_base__size_1_v */		\
	.ce.pce_map_mask = 0xf,							\
	.ce.pces = 4,								\
	.memory_bytes = lens_fb_read_size_gp102

#define LENS_CHIP_GV10X								\
	LENS_CHIP_GP10X,							\
	.entry_words = NV_RAMRL_ENTRY_SIZE / 4,					\
	.bare_channels = false,							\
	.tsg_length_max = NV_RAMRL_ENTRY_TSG_LENGTH_MAX,			\
	.runlists = 13,		/* NV_PFIFO_ENG_RUNLIST__SIZE_1 */		\
	.host = &lens_host_pfifo_gv100,						\
	.has_num_ces = true,							\
	.ce = {									\
		.pce_map = NV_CE_PCE_MAP,					\
		.pce_map_mask = DRF_MASK(NV_CE_PCE_MAP_VALUE),			\
		.pce2lce = NV_CE_PCE2LCE_CONFIG(0),				\
		.pces = 16,	/* as wide as the map; a Titan V has nine */	\
		.grce = NV_CE_GRCE_CONFIG(0),					\
		.grces = NV_CE_GRCE_CONFIG__SIZE_1,				\
		.lce_none = NV_CE_PCE2LCE_CONFIG_PCE_ASSIGNED_LCE_NONE,		\
	},									\
	.mmu = lens_mmu_select_v2,						\
	.ctxsw = LENS_CTXSW_VEID

#define LENS_CHIP_TU10X								\
	LENS_CHIP_GV10X,							\
	.runlists = NV_PFIFO_RUNLIST_BASE_LO__SIZE_1,				\
	.host = &lens_host_pfifo_tu102,						\
	.ce.pces = NV_CE_PCE2LCE_CONFIG__SIZE_1,				\
	.bar_block = lens_bar_read_block_vf

#define LENS_CHIP_GA10X								\
	LENS_CHIP_TU10X,							\
	.tsgs = 2048,		/* NV_RAMRL_ENTRY_ID_MAX of GA100 */		\
	.runlists = 128,	/* RUNLIST_ID 22:16 of NV_VIRTUAL_FUNCTION_DOORBELL */ \
	.channels = 0,		/* CHANNEL_CONFIG of each runlist */		\
	.has_cfg = false,							\
	.ids_per_runlist = true,						\
	.host = &lens_host_ga100,						\
	.read_devices = lens_ptop_v2_read,					\
	.engines = LENS_PTOP_V2_DEVICES,					\
	.fuse_gpc = NV_FUSE_GA100_STATUS_OPT_GPC,				\
	.fuse_tpc_gpc = NV_FUSE_GA100_STATUS_OPT_TPC_GPC(0),			\
	.tpc_order = LENS_TPC_ORDER_ASSUMED,					\
	.ce.pce_map_mask = DRF_MASK(NV_CE_GA102_PCE_MAP_VALUE),			\
	.ce.pce2lce = NV_CE_GA102_PCE2LCE_CONFIG(0),				\
	.ce.pces = 24,								\
	.ce.grce = NV_CE_GA102_GRCE_CONFIG(0),					\
	.memory_bytes = lens_fb_read_size_ga102

#define LENS_CHIP_GH100								\
	LENS_CHIP_GA10X,							\
	/* By virtual GPCs: docs/results/2026-11-22-h200-masks.md. */		\
	.tpc_order = LENS_TPC_ORDER_WRONG,					\
	.cwd = {								\
		.gpc_tpc_id = NV_PGRAPH_PRI_CWD_GH100_GPC_TPC_ID(0),		\
		.sm_id = NV_PGRAPH_PRI_CWD_GH100_SM_ID(0),			\
		.words = NV_PGRAPH_PRI_CWD_GH100__SIZE_1,			\
	},									\
	.ce.pce_map_mask = 0xffff,						\
	.ce.pces = 16,	/* NV_CE_BASE_PCE2LCE_CONFIG__SIZE_1 of gh100/dev_ce_base.h */ \
	.window = {								\
		NV_XAL_BASE_ADDRESS + NV_XAL_EP_ZB_BAR0_WINDOW,			\
		DRF_MASK(NV_XAL_EP_ZB_BAR0_WINDOW_BASE),			\
	},									\
	.mmu = lens_mmu_select_v3,						\
	.bar_block = lens_bar_read_block_vf_wide

#define LENS_CHIP_GB10X								\
	LENS_CHIP_GH100,							\
	.read_devices = lens_ptop_v2_read_two_dies,				\
	.engines = LENS_PTOP_GB100_DEVICES,					\
	.fuse_gpc = 0,		/* privileged or not published, as are the maps */ \
	.fuse_tpc_gpc = 0,							\
	.tpc_order = LENS_TPC_ORDER_PUBLISHED,					\
	.cwd = { 0 },								\
	.has_num_ces = false,							\
	.ce = { .grces = 2 },	/* NV_CE_GRCE_CONFIG__SIZE_1 of gb100/dev_ce_base.h */ \
	.window.base_mask = 0x7fffff,	/* 22:0, blackwell/gb100/dev_nv_xal_ep_zb.h */ \
	.mmu = lens_mmu_select_gb100,						\
	.ctxsw = LENS_CTXSW_UNPUBLISHED

#endif /* _LENS_CHIP_ROWS_H_ */
