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
#define NV_PPBDMA_STATUS_SCHED(i)                               (0x0004015c+(i)*2048)	/* R--4A */
#define NV_PPBDMA_STATUS_SCHED__SIZE_1                          32
#define NV_PPBDMA_STATUS_SCHED_TSGID                            11:0
#define NV_PPBDMA_STATUS_SCHED_CHAN_STATUS                      15:13	/* R-EVF */
#define NV_PPBDMA_STATUS_SCHED_CHAN_STATUS_INVALID              0x00000000	/* R-E-V */
#define NV_PPBDMA_STATUS_SCHED_CHAN_STATUS_VALID                0x00000001	/* R---V */
#define NV_PPBDMA_STATUS_SCHED_CHAN_STATUS_CHSW_SAVE            0x00000005	/* R---V */
#define NV_PPBDMA_STATUS_SCHED_CHAN_STATUS_CHSW_LOAD            0x00000006	/* R---V */
#define NV_PPBDMA_STATUS_SCHED_CHAN_STATUS_CHSW_SWITCH          0x00000007	/* R---V */
#define NV_PPBDMA_STATUS_SCHED_NEXT_TSGID                       27:16
#define NV_PPBDMA_STATUS_SCHED_CHAN                             13:13
#define NV_PPBDMA_STATUS_SCHED_CHAN_INVALID                     0x00000000
#define NV_PPBDMA_STATUS_SCHED_CHAN_VALID                       0x00000001
#define NV_PPBDMA_STATUS_SCHED_CHANLOAD                         14:14
#define NV_PPBDMA_STATUS_SCHED_CHANLOAD_NOT_IN_PROGRESS         0x00000000
#define NV_PPBDMA_STATUS_SCHED_CHANLOAD_IN_PROGRESS             0x00000001
#define NV_PPBDMA_STATUS_SCHED_CHSW                             15:15
#define NV_PPBDMA_STATUS_SCHED_CHSW_NOT_IN_PROGRESS             0x00000000
#define NV_PPBDMA_STATUS_SCHED_CHSW_IN_PROGRESS                 0x00000001
#define NV_PPBDMA_SET_CHANNEL_INFO(i)                           (0x000400fc+(i)*2048)	/* RW-4A */
#define NV_PPBDMA_SET_CHANNEL_INFO_SCG_TYPE                     0:0
#define NV_PPBDMA_SET_CHANNEL_INFO_VEID                         ((6-1)+8):8
#define NV_PPBDMA_SET_CHANNEL_INFO_CHID                         27:16

/*
 * @hand open-gpu-doc ampere/ga100/dev_pbdma.ref.txt NV_PPBDMA_CHANNEL(i): units lie at
 * 0x40000 + i * 0x800
 */
#define LENS_PPBDMA_GA100_BASE                                  0x00040000
#define LENS_PPBDMA_GA100_STRIDE                                0x800

#endif /* _LENS_HW_PBDMA_H_ */
