/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Runlist registers and channel RAM, Ampere and later. Offsets in NV_RUNLIST are relative
 * to the runlist's own base (NV_PTOP_DEVICE_INFO2_DEV_RUNLIST_PRI_BASE), in NV_CHRAM to
 * CHRAM_BAR0_OFFSET of its CHANNEL_CONFIG. Published for GA100; AD102 and GH100 are
 * assumed alike (NVIDIA's open driver runs its GA100 code on both).
 *
 * Notation is NVIDIA's own: registers are BAR0 byte offsets (or offsets in
 * the structure named), fields are `hi:lo` bit ranges, the access code of the
 * manual follows. Read them with the macros of drf.h. scripts/check-registers
 * holds every line under an @source mark against that manual.
 */
#ifndef _LENS_HW_RUNLIST_H_
#define _LENS_HW_RUNLIST_H_

/* @source open-gpu-doc manuals/ampere/ga100/dev_runlist.ref.txt */
#define NV_RUNLIST_CHANNEL_CONFIG                               0x004	/* R--4R */
#define NV_RUNLIST_CHANNEL_CONFIG_NUM_CHANNELS_LOG2             3:0	/* C--UF */
#define NV_RUNLIST_CHANNEL_CONFIG_NUM_CHANNELS_LOG2_2K          11	/* C---V */
#define NV_RUNLIST_CHANNEL_CONFIG_CHRAM_BAR0_OFFSET             31:4	/* R-XVF */
#define NV_RUNLIST_DOORBELL_CONFIG                              0x008	/* R--4R */
#define NV_RUNLIST_DOORBELL_CONFIG_ID                           31:16	/* R-XVF */
#define NV_RUNLIST_PBDMA_CONFIG(i)                              (0x010+(i)*4)	/* R--4A */
#define NV_RUNLIST_PBDMA_CONFIG__SIZE_1                         2
#define NV_RUNLIST_PBDMA_CONFIG_PBDMA_BAR0_OFFSET               25:10	/* R-XUF */
#define NV_RUNLIST_PBDMA_CONFIG_VALID                           31:31	/* R-XUF */
#define NV_RUNLIST_PBDMA_CONFIG_VALID_TRUE                      0x00000001	/* R---V */
#define NV_RUNLIST_PBDMA_CONFIG_VALID_FALSE                     0x00000000	/* R---V */
#define NV_CHRAM_CHANNEL(i)                                     (0x000+(i)*4)	/* RW-4A */
#define NV_CHRAM_CHANNEL__SIZE_1                                2048
#define NV_CHRAM_CHANNEL_WRITE_CONTROL                          0:0	/* -WIVF */
#define NV_CHRAM_CHANNEL_WRITE_CONTROL_ONES_SET_BITS            0x00000000	/* -WI-V */
#define NV_CHRAM_CHANNEL_WRITE_CONTROL_ONES_CLEAR_BITS          0x00000001	/* -W--V */
#define NV_CHRAM_CHANNEL_ENABLE                                 1:1	/* RWIVF */
#define NV_CHRAM_CHANNEL_ENABLE_NOT_IN_USE                      0x00000000	/* RWI-V */
#define NV_CHRAM_CHANNEL_ENABLE_IN_USE                          0x00000001	/* RW--V */
#define NV_CHRAM_CHANNEL_NEXT                                   2:2	/* RWIVF */
#define NV_CHRAM_CHANNEL_NEXT_FALSE                             0x00000000	/* RWI-V */
#define NV_CHRAM_CHANNEL_NEXT_TRUE                              0x00000001	/* RW--V */
#define NV_CHRAM_CHANNEL_BUSY                                   3:3	/* R-IVF */
#define NV_CHRAM_CHANNEL_BUSY_FALSE                             0x00000000	/* R-I-V */
#define NV_CHRAM_CHANNEL_BUSY_TRUE                              0x00000001	/* R---V */
#define NV_CHRAM_CHANNEL_PBDMA_FAULTED                          4:4	/* RWIVF */
#define NV_CHRAM_CHANNEL_PBDMA_FAULTED_FALSE                    0x00000000	/* RWI-V */
#define NV_CHRAM_CHANNEL_PBDMA_FAULTED_TRUE                     0x00000001	/* RW--V */
#define NV_CHRAM_CHANNEL_ENG_FAULTED                            5:5	/* RWIVF */
#define NV_CHRAM_CHANNEL_ENG_FAULTED_FALSE                      0x00000000	/* RWI-V */
#define NV_CHRAM_CHANNEL_ENG_FAULTED_TRUE                       0x00000001	/* RW--V */
#define NV_CHRAM_CHANNEL_ON_PBDMA                               6:6	/* R-IVF */
#define NV_CHRAM_CHANNEL_ON_PBDMA_FALSE                         0x00000000	/* R-I-V */
#define NV_CHRAM_CHANNEL_ON_PBDMA_TRUE                          0x00000001	/* R---V */
#define NV_CHRAM_CHANNEL_ON_ENG                                 7:7	/* R-IVF */
#define NV_CHRAM_CHANNEL_ON_ENG_FALSE                           0x00000000	/* R-I-V */
#define NV_CHRAM_CHANNEL_ON_ENG_TRUE                            0x00000001	/* R---V */
#define NV_CHRAM_CHANNEL_PENDING                                8:8	/* RWIVF */
#define NV_CHRAM_CHANNEL_PENDING_FALSE                          0x00000000	/* RWI-V */
#define NV_CHRAM_CHANNEL_PENDING_TRUE                           0x00000001	/* RW--V */
#define NV_CHRAM_CHANNEL_CTX_RELOAD                             9:9	/* RWIVF */
#define NV_CHRAM_CHANNEL_CTX_RELOAD_FALSE                       0x00000000	/* RWI-V */
#define NV_CHRAM_CHANNEL_CTX_RELOAD_TRUE                        0x00000001	/* RW--V */
#define NV_CHRAM_CHANNEL_PBDMA_BUSY                             10:10	/* R-IVF */
#define NV_CHRAM_CHANNEL_PBDMA_BUSY_FALSE                       0x00000000	/* R-I-V */
#define NV_CHRAM_CHANNEL_PBDMA_BUSY_TRUE                        0x00000001	/* R---V */
#define NV_CHRAM_CHANNEL_ENG_BUSY                               11:11	/* R-IVF */
#define NV_CHRAM_CHANNEL_ENG_BUSY_FALSE                         0x00000000	/* R-I-V */
#define NV_CHRAM_CHANNEL_ENG_BUSY_TRUE                          0x00000001	/* R---V */
#define NV_CHRAM_CHANNEL_ACQUIRE_FAIL                           12:12	/* RWIVF */
#define NV_CHRAM_CHANNEL_ACQUIRE_FAIL_FALSE                     0x00000000	/* RWI-V */
#define NV_CHRAM_CHANNEL_ACQUIRE_FAIL_TRUE                      0x00000001	/* RW--V */
#define NV_CHRAM_CHANNEL_UPDATE                                 31:0
#define NV_CHRAM_CHANNEL_UPDATE_ENABLE_CHANNEL                  0x00000002
#define NV_CHRAM_CHANNEL_UPDATE_DISABLE_CHANNEL                 0x00000003
#define NV_CHRAM_CHANNEL_UPDATE_FORCE_CTX_RELOAD                0x00000200
#define NV_CHRAM_CHANNEL_UPDATE_RESET_PBDMA_FAULTED             0x00000011
#define NV_CHRAM_CHANNEL_UPDATE_RESET_ENG_FAULTED               0x00000021
#define NV_CHRAM_CHANNEL_UPDATE_CLEAR_CHANNEL                   0xFFFFFFFF
#define NV_RUNLIST_SUBMIT_BASE_LO                               0x080	/* RW-4R */
#define NV_RUNLIST_SUBMIT_BASE_LO_PTR_LO                        31:12	/* RWIUF */
#define NV_RUNLIST_SUBMIT_BASE_LO_TARGET                        1:0	/* RWIVF */
#define NV_RUNLIST_SUBMIT_BASE_LO_TARGET_VID_MEM                0x0	/* RWI-V */
#define NV_RUNLIST_SUBMIT_BASE_LO_TARGET_SYS_MEM_COHERENT       0x2	/* RW--V */
#define NV_RUNLIST_SUBMIT_BASE_LO_TARGET_SYS_MEM_NONCOHERENT    0x3	/* RW--V */
#define NV_RUNLIST_SUBMIT_BASE_LO_PTR_ALIGN_SHIFT               12
#define NV_RUNLIST_SUBMIT_BASE_HI                               0x084	/* RW-4R */
#define NV_RUNLIST_SUBMIT_BASE_HI_PTR_HI                        7:0	/* RWIUF */
#define NV_RUNLIST_SUBMIT                                       0x088	/* RW-4R */
#define NV_RUNLIST_SUBMIT_LENGTH                                15:0	/* RWIUF */
#define NV_RUNLIST_SUBMIT_LENGTH_MAX                            0x0000ffff	/* RW--V */
#define NV_RUNLIST_SUBMIT_OFFSET                                31:16	/* RWIVF */
#define NV_RUNLIST_SUBMIT_INFO                                  0x08C	/* R--4R */
#define NV_RUNLIST_SUBMIT_INFO_PREEMPTED_TSGID                  13:0
#define NV_RUNLIST_SUBMIT_INFO_PREEMPTED_TSGID_VALID            14:14	/* R-IUF */
#define NV_RUNLIST_SUBMIT_INFO_PREEMPTED_TSGID_VALID_FALSE      0x00000000	/* R-I-V */
#define NV_RUNLIST_SUBMIT_INFO_PREEMPTED_TSGID_VALID_TRUE       0x00000001	/* R---V */
#define NV_RUNLIST_SUBMIT_INFO_PENDING                          15:15	/* R-IVF */
#define NV_RUNLIST_SUBMIT_INFO_PENDING_FALSE                    0x00000000	/* R-I-V */
#define NV_RUNLIST_SUBMIT_INFO_PENDING_TRUE                     0x00000001	/* R---V */
#define NV_RUNLIST_SUBMIT_INFO_PREEMPTED_OFFSET                 31:16	/* R-IVF */
#define NV_RUNLIST_INFO                                         0x108	/* R--4R */
#define NV_RUNLIST_INFO_ENG_IDLE                                8:8	/* R-IUF */
#define NV_RUNLIST_INFO_ENG_IDLE_FALSE                          0x00000000	/* R---V */
#define NV_RUNLIST_INFO_ENG_IDLE_TRUE                           0x00000001	/* R-I-V */
#define NV_RUNLIST_INFO_RUNLIST_IDLE                            9:9	/* R-IUF */
#define NV_RUNLIST_INFO_RUNLIST_IDLE_FALSE                      0x00000000	/* R---V */
#define NV_RUNLIST_INFO_RUNLIST_IDLE_TRUE                       0x00000001	/* R-I-V */
#define NV_RUNLIST_INFO_RUNLIST_FETCH_STATUS                    10:10	/* R-IVF */
#define NV_RUNLIST_INFO_RUNLIST_FETCH_STATUS_IDLE               0x00000000	/* R-I-V */
#define NV_RUNLIST_INFO_RUNLIST_FETCH_STATUS_BUSY               0x00000001	/* R---V */
#define NV_RUNLIST_INFO_ACQUIRE_STILL_PENDING                   12:12	/* R-IUF */
#define NV_RUNLIST_INFO_ACQUIRE_STILL_PENDING_FALSE             0x00000000	/* R-I-V */
#define NV_RUNLIST_INFO_ACQUIRE_STILL_PENDING_TRUE              0x00000001	/* R---V */
#define NV_RUNLIST_INFO_RUNLIST_FETCH_NACKED                    13:13	/* R-IUF */
#define NV_RUNLIST_INFO_RUNLIST_FETCH_NACKED_FALSE              0x00000000	/* R-I-V */
#define NV_RUNLIST_INFO_RUNLIST_FETCH_NACKED_TRUE               0x00000001	/* R---V */
#define NV_RUNLIST_SCHED_DISABLE                                0x094	/* RW-4R */
#define NV_RUNLIST_SCHED_DISABLE_RUNLIST                        0:0	/* RWIVF */
#define NV_RUNLIST_SCHED_DISABLE_RUNLIST_ENABLED                0x00000000	/* RWI-V */
#define NV_RUNLIST_SCHED_DISABLE_RUNLIST_DISABLED               0x00000001	/* RW--V */
#define NV_RUNLIST_SCHED_DISABLE_RUNLIST_FALSE                  0x00000000
#define NV_RUNLIST_SCHED_DISABLE_RUNLIST_TRUE                   0x00000001
#define NV_RUNLIST_PREEMPT                                      0x098	/* RW-4R */
#define NV_RUNLIST_PREEMPT_ID                                   11:0
#define NV_RUNLIST_PREEMPT_TSG_PREEMPT_PENDING                  20:20	/* R-IVF */
#define NV_RUNLIST_PREEMPT_TSG_PREEMPT_PENDING_FALSE            0x00000000	/* R-I-V */
#define NV_RUNLIST_PREEMPT_TSG_PREEMPT_PENDING_TRUE             0x00000001	/* R---V */
#define NV_RUNLIST_PREEMPT_RUNLIST_PREEMPT_PENDING              21:21	/* R-IVF */
#define NV_RUNLIST_PREEMPT_RUNLIST_PREEMPT_PENDING_FALSE        0x00000000	/* R-I-V */
#define NV_RUNLIST_PREEMPT_RUNLIST_PREEMPT_PENDING_TRUE         0x00000001	/* R---V */
#define NV_RUNLIST_PREEMPT_TYPE                                 25:24	/* RWIVF */
#define NV_RUNLIST_PREEMPT_TYPE_RUNLIST                         0x00000000	/* RWI-V */
#define NV_RUNLIST_PREEMPT_TYPE_TSG                             0x00000001	/* RW--V */
#define NV_RUNLIST_ENGINE_STATUS0(i)                            (0x200+(i)*64)	/* R--4A */
#define NV_RUNLIST_ENGINE_STATUS0__SIZE_1                       3
#define NV_RUNLIST_ENGINE_STATUS0_TSGID                         11:0
#define NV_RUNLIST_ENGINE_STATUS0_CTX_STATUS                    15:13	/* R-IVF */
#define NV_RUNLIST_ENGINE_STATUS0_CTX_STATUS_INVALID            0x00000000	/* R-I-V */
#define NV_RUNLIST_ENGINE_STATUS0_CTX_STATUS_VALID              0x00000001	/* R---V */
#define NV_RUNLIST_ENGINE_STATUS0_CTX_STATUS_CTXSW_SAVE         0x00000005	/* R---V */
#define NV_RUNLIST_ENGINE_STATUS0_CTX_STATUS_CTXSW_LOAD         0x00000006	/* R---V */
#define NV_RUNLIST_ENGINE_STATUS0_CTX_STATUS_CTXSW_SWITCH       0x00000007	/* R---V */
#define NV_RUNLIST_ENGINE_STATUS0_CTX                           13:13
#define NV_RUNLIST_ENGINE_STATUS0_CTX_INVALID                   0x00000000
#define NV_RUNLIST_ENGINE_STATUS0_CTX_VALID                     0x00000001
#define NV_RUNLIST_ENGINE_STATUS0_CTXLOAD                       14:14
#define NV_RUNLIST_ENGINE_STATUS0_CTXLOAD_NOT_IN_PROGRESS       0x00000000
#define NV_RUNLIST_ENGINE_STATUS0_CTXLOAD_IN_PROGRESS           0x00000001
#define NV_RUNLIST_ENGINE_STATUS0_CTXSW                         15:15
#define NV_RUNLIST_ENGINE_STATUS0_CTXSW_NOT_IN_PROGRESS         0x00000000
#define NV_RUNLIST_ENGINE_STATUS0_CTXSW_IN_PROGRESS             0x00000001
#define NV_RUNLIST_ENGINE_STATUS0_NEXT_TSGID                    27:16
#define NV_RUNLIST_ENGINE_STATUS0_ENG_RELOAD                    29:29	/* R-IVF */
#define NV_RUNLIST_ENGINE_STATUS0_ENG_RELOAD_FALSE              0x00000000	/* R-I-V */
#define NV_RUNLIST_ENGINE_STATUS0_ENG_RELOAD_TRUE               0x00000001	/* R---V */
#define NV_RUNLIST_ENGINE_STATUS0_FAULTED                       30:30	/* R-IVF */
#define NV_RUNLIST_ENGINE_STATUS0_FAULTED_FALSE                 0x00000000	/* R-I-V */
#define NV_RUNLIST_ENGINE_STATUS0_FAULTED_TRUE                  0x00000001	/* R---V */
#define NV_RUNLIST_ENGINE_STATUS0_ENGINE                        31:31	/* R-IVF */
#define NV_RUNLIST_ENGINE_STATUS0_ENGINE_IDLE                   0x00000000	/* R-I-V */
#define NV_RUNLIST_ENGINE_STATUS0_ENGINE_BUSY                   0x00000001	/* R---V */
#define NV_RUNLIST_ENGINE_STATUS1(i)                            (0x204+(i)*64)	/* R--4A */
#define NV_RUNLIST_ENGINE_STATUS1__SIZE_1                       3
#define NV_RUNLIST_ENGINE_STATUS1_GFID                          5:0	/* R-XVF */
#define NV_RUNLIST_ENGINE_STATUS1_NEXT_GFID                     13:8	/* R-XVF */
#define NV_RUNLIST_ENGINE_STATUS1_INTR_ID                       20:16	/* R-XVF */
#define NV_RUNLIST_ENGINE_STATUS1_GFID_VALID                    30:30	/* R-IVF */
#define NV_RUNLIST_ENGINE_STATUS1_GFID_VALID_FALSE              0x00000000	/* R-I-V */
#define NV_RUNLIST_ENGINE_STATUS1_GFID_VALID_TRUE               0x00000001	/* R---V */
#define NV_RUNLIST_ENGINE_STATUS1_NEXT_GFID_VALID               31:31	/* R-IVF */
#define NV_RUNLIST_ENGINE_STATUS1_NEXT_GFID_VALID_FALSE         0x00000000	/* R-I-V */
#define NV_RUNLIST_ENGINE_STATUS1_NEXT_GFID_VALID_TRUE          0x00000001	/* R---V */
#define NV_RUNLIST_ENGINE_STATUS_CHANNEL(i,j)                   (0x208+(i)*64+(j)*4)	/* R--4A */
#define NV_RUNLIST_ENGINE_STATUS_CHANNEL__SIZE_1                3
#define NV_RUNLIST_ENGINE_STATUS_CHANNEL__SIZE_2                2
#define NV_RUNLIST_ENGINE_STATUS_CHANNEL_CHID                   11:0
#define NV_RUNLIST_ENGINE_STATUS_CHANNEL_VALID                  15:15	/* R-IVF */
#define NV_RUNLIST_ENGINE_STATUS_CHANNEL_VALID_FALSE            0x00000000	/* R-I-V */
#define NV_RUNLIST_ENGINE_STATUS_CHANNEL_VALID_TRUE             0x00000001	/* R---V */
#define NV_RUNLIST_ENGINE_STATUS_CHANNEL_NEXT_CHID              27:16
#define NV_RUNLIST_ENGINE_STATUS_CHANNEL_NEXT_VALID             31:31	/* R-IVF */
#define NV_RUNLIST_ENGINE_STATUS_CHANNEL_NEXT_VALID_FALSE       0x00000000	/* R-I-V */
#define NV_RUNLIST_ENGINE_STATUS_CHANNEL_NEXT_VALID_TRUE        0x00000001	/* R---V */
#define NV_RUNLIST_ENGINE_STATUS_DEBUG(i)                       (0x228+(i)*64)	/* R--4A */
#define NV_RUNLIST_ENGINE_STATUS_DEBUG__SIZE_1                  3
#define NV_RUNLIST_ENGINE_STATUS_DEBUG_IF_EN                    0:0	/* R-IVF */
#define NV_RUNLIST_ENGINE_STATUS_DEBUG_IF_EN_DISABLED           0x00000000	/* R---V */
#define NV_RUNLIST_ENGINE_STATUS_DEBUG_IF_EN_ENABLED            0x00000001	/* R-I-V */
#define NV_RUNLIST_ENGINE_STATUS_DEBUG_PIPE0_NO_CREDITS         8:8	/* R-IVF */
#define NV_RUNLIST_ENGINE_STATUS_DEBUG_PIPE0_NO_CREDITS_FALSE   0x00000000	/* R-I-V */
#define NV_RUNLIST_ENGINE_STATUS_DEBUG_PIPE0_NO_CREDITS_TRUE    0x00000001	/* R---V */
#define NV_RUNLIST_ENGINE_STATUS_DEBUG_PIPE0_WFI                12:12	/* R-IVF */
#define NV_RUNLIST_ENGINE_STATUS_DEBUG_PIPE0_WFI_FALSE          0x00000000	/* R-I-V */
#define NV_RUNLIST_ENGINE_STATUS_DEBUG_PIPE0_WFI_TRUE           0x00000001	/* R---V */
#define NV_RUNLIST_ENGINE_STATUS_DEBUG_PIPE1_NO_CREDITS         16:16	/* R-IVF */
#define NV_RUNLIST_ENGINE_STATUS_DEBUG_PIPE1_NO_CREDITS_FALSE   0x00000000	/* R-I-V */
#define NV_RUNLIST_ENGINE_STATUS_DEBUG_PIPE1_NO_CREDITS_TRUE    0x00000001	/* R---V */
#define NV_RUNLIST_ENGINE_STATUS_DEBUG_PIPE1_WFI                20:20	/* R-IVF */
#define NV_RUNLIST_ENGINE_STATUS_DEBUG_PIPE1_WFI_FALSE          0x00000000	/* R-I-V */
#define NV_RUNLIST_ENGINE_STATUS_DEBUG_PIPE1_WFI_TRUE           0x00000001	/* R---V */
#define NV_RUNLIST_ENGINE_STATUS_INST(i)                        (0x210+(i)*64)	/* R--4A */
#define NV_RUNLIST_ENGINE_STATUS_INST__SIZE_1                   3
#define NV_RUNLIST_ENGINE_STATUS_INST_TARGET                    1:0	/* R-XUF */
#define NV_RUNLIST_ENGINE_STATUS_INST_TARGET_VID_MEM            0x00000000	/* R---V */
#define NV_RUNLIST_ENGINE_STATUS_INST_TARGET_SYS_MEM_COHERENT   0x00000002	/* R---V */
#define NV_RUNLIST_ENGINE_STATUS_INST_TARGET_SYS_MEM_NONCOHERENT 0x00000003	/* R---V */
#define NV_RUNLIST_ENGINE_STATUS_INST_VALID                     11:11	/* R-IVF */
#define NV_RUNLIST_ENGINE_STATUS_INST_VALID_FALSE               0x00000000	/* R-I-V */
#define NV_RUNLIST_ENGINE_STATUS_INST_VALID_TRUE                0x00000001	/* R---V */
#define NV_RUNLIST_ENGINE_STATUS_INST_PTR_LO                    31:12	/* R-XUF */
#define NV_RUNLIST_ENGINE_STATUS_INST_HI(i)                     (0x214+(i)*64)	/* R--4A */
#define NV_RUNLIST_ENGINE_STATUS_INST_HI__SIZE_1                3
#define NV_RUNLIST_ENGINE_STATUS_INST_HI_PTR_HI                 31:0	/* R-XUF */
#define NV_RUNLIST_ENGINE_STATUS_NEXT_INST(i)                   (0x218+(i)*64)	/* R--4A */
#define NV_RUNLIST_ENGINE_STATUS_NEXT_INST__SIZE_1              3
#define NV_RUNLIST_ENGINE_STATUS_NEXT_INST_TARGET               1:0	/* R-XUF */
#define NV_RUNLIST_ENGINE_STATUS_NEXT_INST_TARGET_VID_MEM       0x00000000	/* R---V */
#define NV_RUNLIST_ENGINE_STATUS_NEXT_INST_TARGET_SYS_MEM_COHERENT 0x00000002	/* R---V */
#define NV_RUNLIST_ENGINE_STATUS_NEXT_INST_TARGET_SYS_MEM_NONCOHERENT 0x00000003	/* R---V */
#define NV_RUNLIST_ENGINE_STATUS_NEXT_INST_VALID                11:11	/* R-IVF */
#define NV_RUNLIST_ENGINE_STATUS_NEXT_INST_VALID_FALSE          0x00000000	/* R-I-V */
#define NV_RUNLIST_ENGINE_STATUS_NEXT_INST_VALID_TRUE           0x00000001	/* R---V */
#define NV_RUNLIST_ENGINE_STATUS_NEXT_INST_PTR_LO               31:12	/* R-XUF */
#define NV_RUNLIST_ENGINE_STATUS_NEXT_INST_HI(i)                (0x21C+(i)*64)	/* R--4A */
#define NV_RUNLIST_ENGINE_STATUS_NEXT_INST_HI__SIZE_1           3
#define NV_RUNLIST_ENGINE_STATUS_NEXT_INST_HI_PTR_HI            31:0	/* R-XUF */

/*
 * @hand linux-nvgpu include/nvgpu/hw/ga10b/hw_runlist_ga10b.h and ga100/hw_runlist_ga100.h
 * runlist_engine_status_debug_engine_id_v; not in NVIDIA's manual of GA100
 */
#define LENS_RUNLIST_GA10B_ENGINE_STATUS_DEBUG_ENGINE_ID        29:24

/*
 * @hand open-gpu-kernel-modules ampere/ga102/dev_ram.h NV_RAMRL_ENTRY_BASE_SHIFT: runlists
 * start at 1 KiB steps
 */
#define LENS_RUNLIST_GA102_BASE_SHIFT                           10

#endif /* _LENS_HW_RUNLIST_H_ */
