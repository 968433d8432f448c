/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Size of GPU memory.
 *
 * Notation is NVIDIA's own: registers are BAR0 byte offsets (or offsets in
 * the structure named), fields are `hi:lo` bit ranges, the access code of the
 * manual follows. Read them with the macros of drf.h. scripts/check-registers
 * holds every line under an @source mark against that manual.
 */
#ifndef _LENS_HW_FB_H_
#define _LENS_HW_FB_H_

/* @source open-gpu-kernel-modules src/common/inc/swref/published/pascal/gp102/dev_fb.h */
#define NV_PFB_PRI_MMU_LOCAL_MEMORY_RANGE                       0x00100CE0	/* RW-4R */
#define NV_PFB_PRI_MMU_LOCAL_MEMORY_RANGE_LOWER_SCALE           3:0	/* RWEVF */
#define NV_PFB_PRI_MMU_LOCAL_MEMORY_RANGE_LOWER_MAG             9:4	/* RWEVF */
#define NV_PFB_PRI_MMU_LOCAL_MEMORY_RANGE_ECC_MODE              30:30	/* RWEVF */

/* @source open-gpu-kernel-modules src/common/inc/swref/published/ampere/ga102/dev_gc6_island.h */
#define NV_PGC6_AON_SECURE_SCRATCH_GROUP_42                     0x001183a4	/* RW-4R */

/* @source open-gpu-kernel-modules src/common/inc/swref/published/ampere/ga102/dev_gc6_island_addendum.h */
#define NV_USABLE_FB_SIZE_IN_MB                                 NV_PGC6_AON_SECURE_SCRATCH_GROUP_42

#endif /* _LENS_HW_FB_H_ */
