/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copy engines: which physical engine (PCE) serves which logical one (LCE), and
 * which LCE a graphics copy engine (GRCE) shares. Turing and Ampere put the same
 * registers at different places; the prefix GA102 is this project's.
 *
 * Notation is NVIDIA's own: registers are BAR0 byte offsets (or offsets in
 * the structure named), fields are `hi:lo` bit ranges, the access code of the
 * manual follows. Read them with the macros of drf.h. scripts/check-registers
 * holds every line under an @source mark against that manual.
 */
#ifndef _LENS_HW_CE_H_
#define _LENS_HW_CE_H_

/* @source open-gpu-doc manuals/turing/tu104/dev_ce.ref.txt */
#define NV_CE_PCE_MAP                                           0x00104028	/* R--4R */
#define NV_CE_PCE_MAP_VALUE                                     15:0	/* R-XVF */
#define NV_CE_PCE2LCE_CONFIG(i)                                 (0x00104040+(i)*0x4)	/* RW-4A */
#define NV_CE_PCE2LCE_CONFIG__SIZE_1                            4
#define NV_CE_PCE2LCE_CONFIG_PCE_ASSIGNED_LCE                   3:0	/* RWIVF */
#define NV_CE_PCE2LCE_CONFIG_PCE_ASSIGNED_LCE_NONE              0x0000000f	/* RW--V */
#define NV_CE_GRCE_CONFIG(i)                                    (0x00104034+(i)*0x4)	/* RW-4A */
#define NV_CE_GRCE_CONFIG__SIZE_1                               2
#define NV_CE_GRCE_CONFIG_SHARED_LCE                            3:0	/* RWIVF */
#define NV_CE_GRCE_CONFIG_SHARED                                30:30	/* RWIVF */

/*
 * @hand open-gpu-doc manuals/ampere/ga102/dev_ce.ref.txt NV_CE_PCE_MAP,
 * NV_CE_PCE2LCE_CONFIG(i), NV_CE_GRCE_CONFIG(i)
 */
#define NV_CE_GA102_PCE_MAP_VALUE                               23:0
#define NV_CE_GA102_PCE2LCE_CONFIG(i)                           (0x00104100+(i)*0x4)
#define NV_CE_GA102_GRCE_CONFIG(i)                              (0x001041c0+(i)*0x4)

/*
 * @hand the nvdebug tool of RTAS'24, copy_topology_procfs.c; not published by NVIDIA. 4
 * bits a PCE, 7: none
 */
#define NV_CE_PASCAL_PCE2LCE                                    0x0010402c
#define NV_CE_PASCAL_PCE2LCE_NONE                               0x7

#endif /* _LENS_HW_CE_H_ */
