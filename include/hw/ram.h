/* SPDX-License-Identifier: GPL-2.0 */
/*
 * In-memory structures of Host: runlist entries (RAMRL), instance block (RAMIN).
 * Bit numbers count from the structure's first word: word*32+bit.
 *
 * Notation is NVIDIA's own: registers are BAR0 byte offsets (or offsets in
 * the structure named), fields are `hi:lo` bit ranges, the access code of the
 * manual follows. Read them with the macros of drf.h. scripts/check-registers
 * holds every line under an @source mark against that manual.
 */
#ifndef _LENS_HW_RAM_H_
#define _LENS_HW_RAM_H_

/* @source open-gpu-doc manuals/ampere/ga100/dev_ram.ref.txt */
#define NV_RAMIN_BASE_SHIFT                                     12
#define NV_RAMIN_PAGE_DIR_BASE_TARGET                           (128*32+1):(128*32+0)	/* RWXUF */
#define NV_RAMIN_PAGE_DIR_BASE_TARGET_VID_MEM                   0x00000000	/* RW--V */
#define NV_RAMIN_PAGE_DIR_BASE_TARGET_INVALID                   0x00000001	/* RW--V */
#define NV_RAMIN_PAGE_DIR_BASE_TARGET_SYS_MEM_COHERENT          0x00000002	/* RW--V */
#define NV_RAMIN_PAGE_DIR_BASE_TARGET_SYS_MEM_NONCOHERENT       0x00000003	/* RW--V */
#define NV_RAMIN_USE_VER2_PT_FORMAT                             (128*32+10):(128*32+10)
#define NV_RAMIN_BIG_PAGE_SIZE                                  (128*32+11):(128*32+11)	/* RWXUF */
#define NV_RAMIN_BIG_PAGE_SIZE_64KB                             0x00000001	/* RW--V */
#define NV_RAMIN_PAGE_DIR_BASE_LO                               (128*32+31):(128*32+12)	/* RWXUF */
#define NV_RAMIN_PAGE_DIR_BASE_HI                               (129*32+31):(129*32+0)	/* RWXUF */
#define NV_RAMIN_ENGINE_WFI_TARGET                              (132*32+1):(132*32+0)
#define NV_RAMIN_ENGINE_WFI_MODE                                (132*32+2):(132*32+2)
#define NV_RAMIN_ENGINE_WFI_MODE_VIRTUAL                        0x00000001
#define NV_RAMIN_ENGINE_WFI_PTR_LO                              (132*32+31):(132*32+12)
#define NV_RAMIN_ENGINE_WFI_PTR_HI                              (133*32+7):(133*32+0)
#define NV_RAMRL_ENTRY_SIZE                                     16
#define NV_RAMRL_ENTRY_BASE_SHIFT                               12
#define NV_RAMRL_ENTRY_TYPE                                     (0+0*32):(0+0*32)	/* RWXUF */
#define NV_RAMRL_ENTRY_TYPE_TSG                                 0x00000001	/* RW--V */
#define NV_RAMRL_ENTRY_ID                                       (11+2*32):(0+2*32)	/* RWXUF */
#define NV_RAMRL_ENTRY_CHAN_RUNQUEUE_SELECTOR                   (1+0*32):(1+0*32)	/* RWXUF */
#define NV_RAMRL_ENTRY_CHAN_INST_TARGET                         (5+0*32):(4+0*32)	/* RWXUF */
#define NV_RAMRL_ENTRY_CHAN_INST_PTR_LO                         (31+2*32):(12+2*32)	/* RWXUF */
#define NV_RAMRL_ENTRY_CHAN_INST_PTR_ALIGN_SHIFT                12
#define NV_RAMRL_ENTRY_TSG_TIMESLICE_SCALE                      (19+0*32):(16+0*32)	/* RWXUF */
#define NV_RAMRL_ENTRY_TSG_TIMESLICE_TIMEOUT                    (31+0*32):(24+0*32)	/* RWXUF */
#define NV_RAMRL_ENTRY_TSG_LENGTH                               (7+1*32):(0+1*32)	/* RWXUF */
#define NV_RAMRL_ENTRY_TSG_LENGTH_MAX                           0x00000080	/* RW--V */

/*
 * 8-byte entries, Kepler .. Pascal. NVIDIA publishes the layout only as
 * accessor functions; LEGACY is this project's prefix for them.
 * @hand linux-nvgpu include/nvgpu/hw/gp106/hw_ram_gp106.h ram_rl_entry_*; size and length limit:
 * open-gpu-kernel-modules maxwell/gm107/dev_ram.h NV_RAMRL_ENTRY_SIZE, _TSG_LENGTH_MAX
 */
#define NV_RAMRL_LEGACY_ENTRY_SIZE                              8
#define NV_RAMRL_LEGACY_ENTRY_ID                                11:0
#define NV_RAMRL_LEGACY_ENTRY_TYPE                              13:13
#define NV_RAMRL_LEGACY_ENTRY_TYPE_TSG                          1
#define NV_RAMRL_LEGACY_ENTRY_TIMESLICE_SCALE                   17:14
#define NV_RAMRL_LEGACY_ENTRY_TIMESLICE_TIMEOUT                 25:18
#define NV_RAMRL_LEGACY_ENTRY_TSG_LENGTH                        31:26
#define NV_RAMRL_LEGACY_ENTRY_TSG_LENGTH_MAX                    32
/*
 * @hand Linux drivers/gpu/drm/nouveau/nvkm/engine/fifo/gp100.c gp100_runl_insert_chan,
 * Pascal only
 */
#define NV_RAMRL_LEGACY_ENTRY_CHAN_RUNQUEUE                     14:14

#endif /* _LENS_HW_RAM_H_ */
