/* SPDX-License-Identifier: GPL-2.0 */
/*
 * GPU page tables: version 1 (Kepler, Maxwell), 2 (Pascal .. Ada) and 3 (Hopper ..).
 * Bit numbers of 16-byte entries count over both halves.
 *
 * Notation is NVIDIA's own: registers are BAR0 byte offsets (or offsets in
 * the structure named), fields are `hi:lo` bit ranges, the access code of the
 * manual follows. Read them with the macros of drf.h. scripts/check-registers
 * holds every line under an @source mark against that manual.
 */
#ifndef _LENS_HW_MMU_H_
#define _LENS_HW_MMU_H_

/* @source open-gpu-kernel-modules src/common/inc/swref/published/maxwell/gm107/dev_mmu.h */
#define NV_MMU_PDE_APERTURE_BIG                                 (0*32+1):(0*32+0)	/* RWXVF */
#define NV_MMU_PDE_SIZE                                         (0*32+3):(0*32+2)	/* RWXVF */
#define NV_MMU_PDE_ADDRESS_BIG_SYS                              (0*32+31):(0*32+4)	/* RWXVF */
#define NV_MMU_PDE_ADDRESS_BIG_VID                              (0*32+31-3):(0*32+4)	/* RWXVF */
#define NV_MMU_PDE_APERTURE_SMALL                               (1*32+1):(1*32+0)	/* RWXVF */
#define NV_MMU_PDE_ADDRESS_SMALL_SYS                            (1*32+31):(1*32+4)	/* RWXVF */
#define NV_MMU_PDE_ADDRESS_SMALL_VID                            (1*32+31-3):(1*32+4)	/* RWXVF */
#define NV_MMU_PDE_ADDRESS_SHIFT                                0x0000000c
#define NV_MMU_PTE_VALID                                        (0*32+0):(0*32+0)	/* RWXVF */
#define NV_MMU_PTE_PRIVILEGE                                    (0*32+1):(0*32+1)	/* RWXVF */
#define NV_MMU_PTE_ADDRESS_SYS                                  (0*32+31):(0*32+4)	/* RWXVF */
#define NV_MMU_PTE_ADDRESS_VID                                  (0*32+31-3):(0*32+4)	/* RWXVF */
#define NV_MMU_PTE_APERTURE                                     (1*32+2):(1*32+1)	/* RWXVF */
#define NV_MMU_PTE_ADDRESS_SHIFT                                0x0000000c

/* @source open-gpu-kernel-modules src/common/inc/swref/published/pascal/gp100/dev_mmu.h */
#define NV_MMU_VER2_DUAL_PDE_APERTURE_BIG                       2:1	/* RWXVF */
#define NV_MMU_VER2_DUAL_PDE_ADDRESS_BIG_VID                    (35-3):(8-4)	/* RWXVF */
#define NV_MMU_VER2_DUAL_PDE_ADDRESS_BIG_SYS                    53:(8-4)	/* RWXVF */
#define NV_MMU_VER2_DUAL_PDE_ADDRESS_BIG_SHIFT                  8
#define NV_MMU_VER2_DUAL_PDE_APERTURE_SMALL                     66:65	/* RWXVF */
#define NV_MMU_VER2_DUAL_PDE_ADDRESS_SMALL_VID                  (99-3):72	/* RWXVF */
#define NV_MMU_VER2_DUAL_PDE_ADDRESS_SMALL_SYS                  117:72	/* RWXVF */
#define NV_MMU_VER2_DUAL_PDE_ADDRESS_SHIFT                      0x0000000c
#define NV_MMU_VER2_PDE_ADDRESS_VID                             (35-3):8	/* RWXVF */
#define NV_MMU_VER2_PDE_ADDRESS_SHIFT                           0x0000000c
#define NV_MMU_VER2_PDE_APERTURE                                2:1	/* RWXVF */
#define NV_MMU_VER2_PDE_ADDRESS_SYS                             53:8	/* RWXVF */
#define NV_MMU_VER2_PTE_VALID                                   0:0	/* RWXVF */
#define NV_MMU_VER2_PTE_APERTURE                                2:1	/* RWXVF */
#define NV_MMU_VER2_PTE_PRIVILEGE                               5:5	/* RWXVF */
#define NV_MMU_VER2_PTE_ADDRESS_SYS                             53:8	/* RWXVF */
#define NV_MMU_VER2_PTE_ADDRESS_VID                             (35-3):8	/* RWXVF */
#define NV_MMU_VER2_PTE_ADDRESS_SHIFT                           0x0000000c

/* @source open-gpu-kernel-modules src/common/inc/swref/published/hopper/gh100/dev_mmu.h */
#define NV_MMU_VER3_PDE_APERTURE                                2:1	/* RWXVF */
#define NV_MMU_VER3_PDE_APERTURE_VIDEO_MEMORY                   0x00000001	/* RW--V */
#define NV_MMU_VER3_PDE_APERTURE_SYSTEM_COHERENT_MEMORY         0x00000002	/* RW--V */
#define NV_MMU_VER3_PDE_APERTURE_SYSTEM_NON_COHERENT_MEMORY     0x00000003	/* RW--V */
#define NV_MMU_VER3_PDE_ADDRESS                                 51:12	/* RWXVF */
#define NV_MMU_VER3_PDE_ADDRESS_SHIFT                           0x0000000c
#define NV_MMU_VER3_DUAL_PDE_APERTURE_BIG                       2:1	/* RWXVF */
#define NV_MMU_VER3_DUAL_PDE_ADDRESS_BIG                        51:8	/* RWXVF */
#define NV_MMU_VER3_DUAL_PDE_APERTURE_SMALL                     66:65	/* RWXVF */
#define NV_MMU_VER3_DUAL_PDE_ADDRESS_SMALL                      115:76	/* RWXVF */
#define NV_MMU_VER3_DUAL_PDE_ADDRESS_SHIFT                      0x0000000c
#define NV_MMU_VER3_DUAL_PDE_ADDRESS_BIG_SHIFT                  8
#define NV_MMU_VER3_PTE_VALID                                   0:0	/* RWXVF */
#define NV_MMU_VER3_PTE_APERTURE                                2:1	/* RWXVF */
#define NV_MMU_VER3_PTE_APERTURE_VIDEO_MEMORY                   0x00000000	/* RW--V */
#define NV_MMU_VER3_PTE_APERTURE_PEER_MEMORY                    0x00000001	/* RW--V */
#define NV_MMU_VER3_PTE_PCF                                     7:3	/* RWXVF */
#define NV_MMU_VER3_PTE_PCF_NO_VALID_4KB_PAGE                   0x00000003	/* RW--V */
#define NV_MMU_VER3_PTE_ADDRESS                                 51:12	/* RWXVF */
#define NV_MMU_VER3_PTE_ADDRESS_SHIFT                           0x0000000c

#endif /* _LENS_HW_MMU_H_ */
