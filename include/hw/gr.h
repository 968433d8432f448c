/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The graphics engine: the compute work distributor's (CWD) table of TPCs, which a driver fills
 * when it sets up that engine, and the numbers of GPCs and TPCs that are left after floorsweeping.
 *
 * Notation is NVIDIA's own: registers are BAR0 byte offsets (or offsets in
 * the structure named), fields are `hi:lo` bit ranges, the access code of the
 * manual follows. Read them with the macros of drf.h. scripts/check-registers
 * holds every line under an @source mark against that manual.
 */
#ifndef _LENS_HW_GR_H_
#define _LENS_HW_GR_H_

/*
 * @hand linux-nvgpu include/nvgpu/hw/gm20b/hw_gr_gm20b.h, gp106, gv100, tu104, ga100, ga10b:
 * gr_cwd_gpc_tpc_id_r, gr_cwd_sm_id_r. Names as in its hal/gr/init/gr_init_gm20b.c, which writes
 * entry t of the first table for the TPC whose first SM has SM id t * (SMs per TPC). Words:
 * gr_cwd_sm_id__size_1_v, 6 on gm20b and 16 on the others.
 */
#define NV_PGRAPH_PRI_CWD_GPC_TPC_ID(i)                         (0x00405b60+(i)*0x4)
#define NV_PGRAPH_PRI_CWD_SM_ID(i)                              (0x00405ba0+(i)*0x4)
#define NV_PGRAPH_PRI_CWD_GM20B__SIZE_1                         6
#define NV_PGRAPH_PRI_CWD_GP106__SIZE_1                         16
/* Of entry 0; entry t of a word is 8 * t bits higher. */
#define NV_PGRAPH_PRI_CWD_GPC_TPC_ID_TPC0                       3:0
#define NV_PGRAPH_PRI_CWD_GPC_TPC_ID_GPC0                       7:4

/* @hand nvdebug (2025), nvdebug_entry.c: Hopper and later, found and tested on an AD102 there */
#define NV_PGRAPH_PRI_CWD_GH100_GPC_TPC_ID(i)                   (0x00405000+(i)*0x4)
#define NV_PGRAPH_PRI_CWD_GH100_SM_ID(i)                        (0x00405100+(i)*0x4)
#define NV_PGRAPH_PRI_CWD_GH100__SIZE_1                         24

/*
 * @hand linux-nvgpu include/nvgpu/hw/gk20a/hw_gr_gk20a.h, gm20b: gr_fecs_fs_r, gr_gpc0_fs_gpc_r;
 * stride: hw_proj_gk20a.h proj_gpc_stride_v. nouveau engine/gr/gf100.c gf100_gr_oneinit reads both
 * on every chip from GF100 on. i is the logical GPC.
 */
#define NV_PGRAPH_PRI_FECS_FS                                   0x00409604
#define NV_PGRAPH_PRI_FECS_FS_NUM_AVAILABLE_GPCS                4:0
#define NV_PGRAPH_PRI_GPC_FS(i)                                 (0x00502608+(i)*0x8000)
#define NV_PGRAPH_PRI_GPC_FS_NUM_AVAILABLE_TPCS                 4:0

#endif /* _LENS_HW_GR_H_ */
