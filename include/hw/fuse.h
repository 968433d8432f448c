/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Floorsweeping fuses: a SET bit is a DISABLED unit. Index is the physical GPC.
 *
 * Notation is NVIDIA's own: registers are BAR0 byte offsets (or offsets in
 * the structure named), fields are `hi:lo` bit ranges, the access code of the
 * manual follows. Read them with the macros of drf.h. scripts/check-registers
 * holds every line under an @source mark against that manual.
 */
#ifndef _LENS_HW_FUSE_H_
#define _LENS_HW_FUSE_H_

/*
 * @hand linux-nvgpu include/nvgpu/hw/gp106/hw_fuse_gp106.h, .../tu104/hw_fuse_tu104.h
 * fuse_status_opt_gpc_r, fuse_status_opt_tpc_gpc_r
 */
#define NV_FUSE_STATUS_OPT_GPC                                  0x00021c1c
#define NV_FUSE_STATUS_OPT_TPC_GPC(i)                           (0x00021c38+(i)*0x4)

/*
 * @hand linux-nvgpu include/nvgpu/hw/ga100/hw_fuse_ga100.h, same names. GPC fuse also in
 * open-gpu-kernel-modules blackwell/gb10b/dev_fuse.h. AD102, GH100: unpublished, assumed
 * alike (GH100's fuse base 0x820000 is published: hopper/gh100/hwproject.h
 * NV_FUSE0_PRI_BASE).
 */
#define NV_FUSE_GA100_STATUS_OPT_GPC                            0x00820c1c
#define NV_FUSE_GA100_STATUS_OPT_TPC_GPC(i)                     (0x00820c38+(i)*0x4)

#endif /* _LENS_HW_FUSE_H_ */
