/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Host scheduling registers Kepler .. Turing: PFIFO, the per-channel PCCSR words,
 * and Turing's own runlist block.
 *
 * Notation is NVIDIA's own: registers are BAR0 byte offsets (or offsets in
 * the structure named), fields are `hi:lo` bit ranges, the access code of the
 * manual follows. Read them with the macros of drf.h. scripts/check-registers
 * holds every line under an @source mark against that manual.
 */
#ifndef _LENS_HW_FIFO_H_
#define _LENS_HW_FIFO_H_

/* @source open-gpu-doc manuals/volta/gv100/dev_fifo.ref.txt */
#define NV_PFIFO_CFG0                                           0x00002004	/* R--4R */
#define NV_PFIFO_CFG0_NUM_PBDMA                                 7:0	/* R-IUF */
#define NV_PFIFO_CFG1                                           0x00002008	/* R--4R */
#define NV_PCCSR_CHANNEL(i)                                     (0x00800004+(i)*8)	/* RW-4A */
#define NV_PCCSR_CHANNEL_ENABLE                                 0:0	/* R-IVF */
#define NV_PCCSR_CHANNEL_NEXT                                   1:1	/* RWIVF */
#define NV_PCCSR_CHANNEL_ENABLE_SET                             10:10	/* -W-VF */
#define NV_PCCSR_CHANNEL_ENABLE_SET_TRUE                        0x00000001	/* -W--T */
#define NV_PCCSR_CHANNEL_ENABLE_CLR                             11:11	/* -W-VF */
#define NV_PCCSR_CHANNEL_ENABLE_CLR_TRUE                        0x00000001	/* -W--T */
#define NV_PCCSR_CHANNEL_PBDMA_FAULTED                          22:22	/* RWIVF */
#define NV_PCCSR_CHANNEL_ENG_FAULTED                            23:23	/* RWIVF */
#define NV_PCCSR_CHANNEL_STATUS                                 27:24	/* R-IVF */
#define NV_PCCSR_CHANNEL_STATUS_IDLE                            0x00000000	/* R-I-V */
#define NV_PCCSR_CHANNEL_STATUS_PENDING                         0x00000001	/* R---V */
#define NV_PCCSR_CHANNEL_STATUS_PENDING_CTX_RELOAD              0x00000002	/* R---V */
#define NV_PCCSR_CHANNEL_STATUS_PENDING_ACQUIRE                 0x00000003	/* R---V */
#define NV_PCCSR_CHANNEL_STATUS_PENDING_ACQ_CTX_RELOAD          0x00000004	/* R---V */
#define NV_PCCSR_CHANNEL_STATUS_ON_PBDMA                        0x00000005	/* R---V */
#define NV_PCCSR_CHANNEL_STATUS_ON_PBDMA_AND_ENG                0x00000006	/* R---V */
#define NV_PCCSR_CHANNEL_STATUS_ON_ENG                          0x00000007	/* R---V */
#define NV_PCCSR_CHANNEL_STATUS_ON_ENG_PENDING_ACQUIRE          0x00000008	/* R---V */
#define NV_PCCSR_CHANNEL_STATUS_ON_ENG_PENDING                  0x00000009	/* R---V */
#define NV_PCCSR_CHANNEL_STATUS_ON_PBDMA_CTX_RELOAD             0x0000000A	/* R---V */
#define NV_PCCSR_CHANNEL_STATUS_ON_PBDMA_AND_ENG_CTX_RELOAD     0x0000000B	/* R---V */
#define NV_PCCSR_CHANNEL_STATUS_ON_ENG_CTX_RELOAD               0x0000000C	/* R---V */
#define NV_PCCSR_CHANNEL_STATUS_ON_ENG_PENDING_CTX_RELOAD       0x0000000D	/* R---V */
#define NV_PCCSR_CHANNEL_STATUS_ON_ENG_PENDING_ACQ_CTX_RELOAD   0x0000000E	/* R---V */
#define NV_PCCSR_CHANNEL_BUSY                                   28:28	/* R-IVF */
#define NV_PFIFO_RUNLIST_BASE                                   0x00002270	/* RW-4R */
#define NV_PFIFO_RUNLIST_BASE_PTR                               27:0	/* RWEUF */
#define NV_PFIFO_RUNLIST_BASE_TARGET                            29:28	/* RWEVF */
#define NV_PFIFO_RUNLIST_BASE_TARGET_SYS_MEM_COHERENT           0x00000002	/* RW--V */
#define NV_PFIFO_RUNLIST_BASE_PTR_ALIGN_SHIFT                   12
#define NV_PFIFO_RUNLIST                                        0x00002274	/* RW-4R */
#define NV_PFIFO_RUNLIST_LENGTH                                 15:0	/* RWEUF */
#define NV_PFIFO_RUNLIST_ID                                     23:20	/* RWXUF */
#define NV_PFIFO_ENG_RUNLIST_BASE(i)                            (0x00002280+(i)*8)	/* R--4A */
#define NV_PFIFO_ENG_RUNLIST_BASE_PTR                           27:0	/* R-EUF */
#define NV_PFIFO_ENG_RUNLIST_BASE_TARGET                        29:28	/* R-EVF */
#define NV_PFIFO_ENG_RUNLIST(i)                                 (0x00002284+(i)*8)	/* R--4A */
#define NV_PFIFO_ENG_RUNLIST_LENGTH                             15:0	/* R-EUF */
#define NV_PFIFO_ENG_RUNLIST_PENDING                            20:20	/* R-EVF */
#define NV_PFIFO_PBDMA_MAP(i)                                   (0x00002390+(i)*4)	/* R--4A */
#define NV_PFIFO_PBDMA_MAP_RUNLISTS                             15:0	/* R-XVF */
#define NV_PFIFO_PREEMPT                                        0x00002634	/* RW-4R */
#define NV_PFIFO_PREEMPT_ID                                     11:0
#define NV_PFIFO_PREEMPT_PENDING                                20:20	/* R-EVF */
#define NV_PFIFO_PREEMPT_TYPE                                   25:24	/* RWEVF */
#define NV_PFIFO_PREEMPT_TYPE_TSG                               0x00000001	/* RW--V */
#define NV_PFIFO_RUNLIST_PREEMPT                                0x00002638	/* RW-4R */
#define NV_PFIFO_ENGINE_STATUS(i)                               (0x00002640+(i)*8)	/* R--4A */
#define NV_PFIFO_ENGINE_STATUS__SIZE_1                          15
#define NV_PFIFO_ENGINE_STATUS_ID                               11:0
#define NV_PFIFO_ENGINE_STATUS_ID_TYPE                          12:12	/* R-XVF */
#define NV_PFIFO_ENGINE_STATUS_CTX_STATUS                       15:13	/* R-EVF */
#define NV_PFIFO_ENGINE_STATUS_CTX_STATUS_INVALID               0x00000000	/* R-E-V */
#define NV_PFIFO_ENGINE_STATUS_CTX_STATUS_VALID                 0x00000001	/* R---V */
#define NV_PFIFO_ENGINE_STATUS_CTX_STATUS_CTXSW_LOAD            0x00000005	/* R---V */
#define NV_PFIFO_ENGINE_STATUS_CTX_STATUS_CTXSW_SAVE            0x00000006	/* R---V */
#define NV_PFIFO_ENGINE_STATUS_CTX_STATUS_CTXSW_SWITCH          0x00000007	/* R---V */
#define NV_PFIFO_ENGINE_STATUS_NEXT_ID                          27:16
#define NV_PFIFO_ENGINE_STATUS_NEXT_ID_TYPE                     28:28	/* R-XVF */
#define NV_PFIFO_ENGINE_STATUS_ENG_RELOAD                       29:29	/* R-EVF */
#define NV_PFIFO_ENGINE_STATUS_FAULTED                          30:30	/* R-EVF */
#define NV_PFIFO_ENGINE_STATUS_ENGINE                           31:31	/* R-EVF */

/* @source open-gpu-doc manuals/volta/gv100/dev_fifo.ref.txt */
#define NV_PCCSR_CHANNEL_INST(i)                                (0x00800000+(i)*8)	/* RW-4A */
#define NV_PCCSR_CHANNEL_INST_PTR                               27:0	/* RWXUF */
#define NV_PCCSR_CHANNEL_INST_TARGET                            29:28	/* RWXVF */
#define NV_PCCSR_CHANNEL_INST_BIND                              31:31	/* RWIVF */
#define NV_PCCSR_CHANNEL_INST_PTR_ALIGN_SHIFT                   12

/* @source open-gpu-doc manuals/turing/tu104/dev_fifo.ref.txt */
#define NV_PFIFO_RUNLIST_BASE_LO(i)                             (0x00002B00+(i)*16)	/* RW-4A */
#define NV_PFIFO_RUNLIST_BASE_LO__SIZE_1                        11
#define NV_PFIFO_RUNLIST_BASE_LO_PTR_LO                         31:12	/* RWEUF */
#define NV_PFIFO_RUNLIST_BASE_LO_TARGET                         1:0	/* RWEVF */
#define NV_PFIFO_RUNLIST_BASE_HI(i)                             (0x00002B04+(i)*16)	/* RW-4A */
#define NV_PFIFO_RUNLIST_BASE_HI_PTR_HI                         7:0	/* RWEUF */
#define NV_PFIFO_RUNLIST_SUBMIT(i)                              (0x00002B08+(i)*16)	/* RW-4A */
#define NV_PFIFO_RUNLIST_SUBMIT_LENGTH                          15:0	/* RWEUF */
#define NV_PFIFO_RUNLIST_SUBMIT_INFO(i)                         (0x00002B0C+(i)*16)	/* R--4A */
#define NV_PFIFO_RUNLIST_SUBMIT_INFO_PENDING                    15:15	/* R-EVF */

/*
 * @hand linux-nvgpu hw_fifo_gk20a.h and gm20b, gp10b fifo_eng_timeout_r, hw_fifo_gv11b.h
 * fifo_eng_ctxsw_timeout_r; the same fields as NV_RUNLIST_ENGINE_CTXSW_TIMEOUT_CONFIG
 */
#define NV_PFIFO_ENG_CTXSW_TIMEOUT                              0x00002a0c

#endif /* _LENS_HW_FIFO_H_ */
