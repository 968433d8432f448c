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
#define NV_RUNLIST_CHANNEL_CONFIG_CHRAM_BAR0_OFFSET             31:4	/* R-XVF */
#define NV_RUNLIST_DOORBELL_CONFIG                              0x008	/* R--4R */
#define NV_RUNLIST_DOORBELL_CONFIG_ID                           31:16	/* R-XVF */
#define NV_RUNLIST_PBDMA_CONFIG(i)                              (0x010+(i)*4)	/* R--4A */
#define NV_RUNLIST_PBDMA_CONFIG__SIZE_1                         2
#define NV_RUNLIST_PBDMA_CONFIG_PBDMA_BAR0_OFFSET               25:10	/* R-XUF */
#define NV_RUNLIST_PBDMA_CONFIG_VALID                           31:31	/* R-XUF */
#define NV_CHRAM_CHANNEL(i)                                     (0x000+(i)*4)	/* RW-4A */
#define NV_CHRAM_CHANNEL__SIZE_1                                2048
#define NV_CHRAM_CHANNEL_ENABLE                                 1:1	/* RWIVF */
#define NV_CHRAM_CHANNEL_NEXT                                   2:2	/* RWIVF */
#define NV_CHRAM_CHANNEL_BUSY                                   3:3	/* R-IVF */
#define NV_CHRAM_CHANNEL_PBDMA_FAULTED                          4:4	/* RWIVF */
#define NV_CHRAM_CHANNEL_ENG_FAULTED                            5:5	/* RWIVF */
#define NV_CHRAM_CHANNEL_ON_PBDMA                               6:6	/* R-IVF */
#define NV_CHRAM_CHANNEL_ON_ENG                                 7:7	/* R-IVF */
#define NV_CHRAM_CHANNEL_PENDING                                8:8	/* RWIVF */
#define NV_CHRAM_CHANNEL_CTX_RELOAD                             9:9	/* RWIVF */
#define NV_CHRAM_CHANNEL_PBDMA_BUSY                             10:10	/* R-IVF */
#define NV_CHRAM_CHANNEL_ENG_BUSY                               11:11	/* R-IVF */
#define NV_CHRAM_CHANNEL_ACQUIRE_FAIL                           12:12	/* RWIVF */
#define NV_CHRAM_CHANNEL_UPDATE_ENABLE_CHANNEL                  0x00000002
#define NV_CHRAM_CHANNEL_UPDATE_DISABLE_CHANNEL                 0x00000003
#define NV_RUNLIST_SUBMIT_BASE_LO                               0x080	/* RW-4R */
#define NV_RUNLIST_SUBMIT_BASE_LO_TARGET                        1:0	/* RWIVF */
#define NV_RUNLIST_SUBMIT_BASE_HI                               0x084	/* RW-4R */
#define NV_RUNLIST_SUBMIT_BASE_HI_PTR_HI                        7:0	/* RWIUF */
#define NV_RUNLIST_SUBMIT                                       0x088	/* RW-4R */
#define NV_RUNLIST_SUBMIT_LENGTH                                15:0	/* RWIUF */
#define NV_RUNLIST_SUBMIT_INFO                                  0x08C	/* R--4R */
#define NV_RUNLIST_SUBMIT_INFO_PENDING                          15:15	/* R-IVF */
#define NV_RUNLIST_PREEMPT                                      0x098	/* RW-4R */
#define NV_RUNLIST_PREEMPT_ID                                   11:0
#define NV_RUNLIST_PREEMPT_TSG_PREEMPT_PENDING                  20:20	/* R-IVF */
#define NV_RUNLIST_PREEMPT_RUNLIST_PREEMPT_PENDING              21:21	/* R-IVF */
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
#define NV_RUNLIST_ENGINE_STATUS0_NEXT_TSGID                    27:16
#define NV_RUNLIST_ENGINE_STATUS0_ENG_RELOAD                    29:29	/* R-IVF */
#define NV_RUNLIST_ENGINE_STATUS0_FAULTED                       30:30	/* R-IVF */
#define NV_RUNLIST_ENGINE_STATUS0_ENGINE                        31:31	/* R-IVF */
#define NV_RUNLIST_ENGINE_STATUS1(i)                            (0x204+(i)*64)	/* R--4A */
#define NV_RUNLIST_ENGINE_STATUS1__SIZE_1                       3
#define NV_RUNLIST_ENGINE_STATUS1_INTR_ID                       20:16	/* R-XVF */
#define NV_RUNLIST_ENGINE_STATUS_CHANNEL(i,j)                   (0x208+(i)*64+(j)*4)	/* R--4A */
#define NV_RUNLIST_ENGINE_STATUS_CHANNEL_CHID                   11:0
#define NV_RUNLIST_ENGINE_STATUS_CHANNEL_VALID                  15:15	/* R-IVF */
#define NV_RUNLIST_ENGINE_STATUS_CHANNEL_NEXT_CHID              27:16
#define NV_RUNLIST_ENGINE_STATUS_CHANNEL_NEXT_VALID             31:31	/* R-IVF */
#define NV_RUNLIST_ENGINE_STATUS_DEBUG(i)                       (0x228+(i)*64)	/* R--4A */

/*
 * @hand linux-nvgpu include/nvgpu/hw/ga10b/hw_runlist_ga10b.h and ga100/hw_runlist_ga100.h
 * runlist_engine_status_debug_engine_id_v; not in NVIDIA's manual of GA100
 */
#define LENS_RUNLIST_GA10B_ENGINE_STATUS_DEBUG_ENGINE_ID        29:24

/*
 * @hand nvdebug (2025) nvdebug.h, linux-nvgpu ga10b runlist_engine_ctxsw_timeout_config_r; PERIOD
 * in microseconds of PTIMER's reference clock
 */
#define NV_RUNLIST_ENGINE_CTXSW_TIMEOUT_CONFIG(i)               (0x220+(i)*64)
#define NV_RUNLIST_ENGINE_CTXSW_TIMEOUT_CONFIG_PERIOD           30:0
#define NV_RUNLIST_ENGINE_CTXSW_TIMEOUT_CONFIG_DETECTION        31:31

/*
 * @hand open-gpu-doc ampere/ga100/dev_runlist.ref.txt: the last register of a runlist is
 * NV_RUNLIST_VIRTUAL_CHANNEL_CFG(63) at 0x3fc
 */
#define LENS_RUNLIST_GA100_SIZE                                 0x400

/*
 * @hand open-gpu-kernel-modules ampere/ga102/dev_ram.h NV_RAMRL_ENTRY_BASE_SHIFT: runlists
 * start at 1 KiB steps
 */
#define LENS_RUNLIST_GA102_BASE_SHIFT                           10

#endif /* _LENS_HW_RUNLIST_H_ */
