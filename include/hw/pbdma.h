/* SPDX-License-Identifier: GPL-2.0 */
/*
 * PBDMA units, Ampere and later (offsets within one unit).
 *
 * Notation is NVIDIA's own: registers are BAR0 byte offsets (or offsets in
 * the structure named), fields are `hi:lo` bit ranges, the access code of the
 * manual follows. Read them with the macros of drf.h. scripts/check-registers
 * holds every line under an @source mark against that manual.
 */
#ifndef _LENS_HW_PBDMA_H_
#define _LENS_HW_PBDMA_H_

/* @source open-gpu-doc manuals/ampere/ga100/dev_pbdma.ref.txt */
#define NV_PPBDMA_SET_CHANNEL_INFO(i)                           (0x000400fc+(i)*2048)	/* RW-4A */
#define NV_PPBDMA_SET_CHANNEL_INFO_VEID                         ((6-1)+8):8

/*
 * @hand open-gpu-doc ampere/ga100/dev_pbdma.ref.txt NV_PPBDMA_CHANNEL(i): units lie at
 * 0x40000 + i * 0x800; how many: linux-nvgpu hw_proj_ga100.h proj_host_num_pbdma_v
 */
#define LENS_PPBDMA_GA100_BASE                                  0x00040000
#define LENS_PPBDMA_GA100_STRIDE                                0x800
#define LENS_PPBDMA_GA100__SIZE_1                               32

#endif /* _LENS_HW_PBDMA_H_ */
