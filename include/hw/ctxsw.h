/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Context image header (what FECS saves and restores). Byte offsets in the image.
 * Published for GV100, TU104, GA100 and GA102; GP10x has the preemption words and
 * the magic at the same places (linux-nvgpu hw_ctxsw_prog_gp106.h, ..._gp10b.h).
 *
 * Notation is NVIDIA's own: registers are BAR0 byte offsets (or offsets in
 * the structure named), fields are `hi:lo` bit ranges, the access code of the
 * manual follows. Read them with the macros of drf.h. scripts/check-registers
 * holds every line under an @source mark against that manual.
 */
#ifndef _LENS_HW_CTXSW_H_
#define _LENS_HW_CTXSW_H_

/* @source open-gpu-doc manuals/ampere/ga102/dev_ctxsw.ref.txt */
#define NV_CTXSW_MAIN_IMAGE_CTL                                 0x0000000C	/* RW-4R */
#define NV_CTXSW_MAIN_IMAGE_CTL_TYPE                            5:0	/* RWXVF */
#define NV_CTXSW_MAIN_IMAGE_CTL_TYPE_PER_VEID_HEADER            0x21	/* RW--V */
#define NV_CTXSW_MAIN_IMAGE_CONTEXT_BUFFER_PTR_HI               0x00000078	/* RW-4R */
#define NV_CTXSW_MAIN_IMAGE_CONTEXT_BUFFER_PTR_HI_V             16:0	/* RWXVF */
#define NV_CTXSW_MAIN_IMAGE_GRAPHICS_PREEMPTION_OPTIONS         0x00000080	/* RW-4R */
#define NV_CTXSW_MAIN_IMAGE_GRAPHICS_PREEMPTION_OPTIONS_CONTROL 1:0	/* RWXVF */
#define NV_CTXSW_MAIN_IMAGE_GRAPHICS_PREEMPTION_OPTIONS_CONTROL_WFI 0	/* RW--V */
#define NV_CTXSW_MAIN_IMAGE_COMPUTE_PREEMPTION_OPTIONS          0x00000084	/* RW-4R */
#define NV_CTXSW_MAIN_IMAGE_COMPUTE_PREEMPTION_OPTIONS_CONTROL  1:0	/* RWXVF */
#define NV_CTXSW_MAIN_IMAGE_COMPUTE_PREEMPTION_OPTIONS_CONTROL_WFI 0	/* RW--V */
#define NV_CTXSW_MAIN_IMAGE_COMPUTE_PREEMPTION_OPTIONS_CONTROL_CTA 1	/* RW--V */
#define NV_CTXSW_MAIN_IMAGE_COMPUTE_PREEMPTION_OPTIONS_CONTROL_CILP 2	/* RW--V */
#define NV_CTXSW_MAIN_IMAGE_NUM_WFI_SAVE_OPERATIONS             0x000000d0	/* RW-4R */
#define NV_CTXSW_MAIN_IMAGE_NUM_GFXP_SAVE_OPERATIONS            0x000000d8	/* RW-4R */
#define NV_CTXSW_MAIN_IMAGE_CONTEXT_ID                          0x000000f0	/* RW-4R */
#define NV_CTXSW_MAIN_IMAGE_NUM_RESTORE_OPERATIONS              0x000000f8	/* RW-4R */
#define NV_CTXSW_MAIN_IMAGE_MAGIC_VALUE_1                       0x000000fc	/* RW-4R */
#define NV_CTXSW_MAIN_IMAGE_MAGIC_VALUE_1_V_VALUE               0x600dc0de	/* RW--V */

#endif /* _LENS_HW_CTXSW_H_ */
