/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Device topology (PTOP): unit counts and both layouts of the device table.
 * Layout 1 (Kepler .. Turing): runs of typed rows. Layout 2 (Ampere ..): records
 * of up to three rows, fields numbered across the rows.
 *
 * Notation is NVIDIA's own: registers are BAR0 byte offsets (or offsets in
 * the structure named), fields are `hi:lo` bit ranges, the access code of the
 * manual follows. Read them with the macros of drf.h. scripts/check-registers
 * holds every line under an @source mark against that manual.
 */
#ifndef _LENS_HW_PTOP_H_
#define _LENS_HW_PTOP_H_

/* @source open-gpu-doc manuals/turing/tu104/dev_top.ref.txt */
#define NV_PTOP_SCAL_NUM_GPCS                                   0x00022430	/* R--4R */
#define NV_PTOP_SCAL_NUM_GPCS_VALUE                             4:0	/* R-IVF */
#define NV_PTOP_SCAL_NUM_TPC_PER_GPC                            0x00022434	/* R--4R */
#define NV_PTOP_SCAL_NUM_TPC_PER_GPC_VALUE                      4:0	/* R-IVF */
#define NV_PTOP_DEVICE_INFO(i)                                  (0x00022700+(i)*4)	/* R--4A */
#define NV_PTOP_DEVICE_INFO__SIZE_1                             64
#define NV_PTOP_DEVICE_INFO_CHAIN                               31:31
#define NV_PTOP_DEVICE_INFO_ENGINE_ENUM                         29:26
#define NV_PTOP_DEVICE_INFO_RUNLIST_ENUM                        24:21
#define NV_PTOP_DEVICE_INFO_INTR_ENUM                           19:15
#define NV_PTOP_DEVICE_INFO_RESET_ENUM                          13:9
#define NV_PTOP_DEVICE_INFO_ENGINE                              5:5
#define NV_PTOP_DEVICE_INFO_RUNLIST                             4:4
#define NV_PTOP_DEVICE_INFO_INTR                                3:3
#define NV_PTOP_DEVICE_INFO_RESET                               2:2
#define NV_PTOP_DEVICE_INFO_TYPE_ENUM                           30:2
#define NV_PTOP_DEVICE_INFO_TYPE_ENUM_GRAPHICS                  0
#define NV_PTOP_DEVICE_INFO_TYPE_ENUM_NVDEC                     16
#define NV_PTOP_DEVICE_INFO_TYPE_ENUM_NVENC                     14
#define NV_PTOP_DEVICE_INFO_TYPE_ENUM_NVJPG                     21
#define NV_PTOP_DEVICE_INFO_TYPE_ENUM_SEC                       13
#define NV_PTOP_DEVICE_INFO_TYPE_ENUM_LCE                       19
#define NV_PTOP_DEVICE_INFO_TYPE_ENUM_GSP                       20
#define NV_PTOP_DEVICE_INFO_TYPE_ENUM_IOCTRL                    18
#define NV_PTOP_DEVICE_INFO_TYPE_ENUM_MSPDEC                    8
#define NV_PTOP_DEVICE_INFO_TYPE_ENUM_MSPPP                     9
#define NV_PTOP_DEVICE_INFO_TYPE_ENUM_MSVLD                     10
#define NV_PTOP_DEVICE_INFO_TYPE_ENUM_VIC                       12
#define NV_PTOP_DEVICE_INFO_TYPE_ENUM_COPY0                     1
#define NV_PTOP_DEVICE_INFO_TYPE_ENUM_COPY2                     3
#define NV_PTOP_DEVICE_INFO_TYPE_ENUM_NVENC1                    15
#define NV_PTOP_DEVICE_INFO_DATA_TYPE                           30:30
#define NV_PTOP_DEVICE_INFO_DATA_TYPE_ENUM2                     0
#define NV_PTOP_DEVICE_INFO_DATA_INST_ID                        29:26
#define NV_PTOP_DEVICE_INFO_DATA_PRI_BASE                       23:12
#define NV_PTOP_DEVICE_INFO_DATA_FAULT_ID_ENUM                  9:3
#define NV_PTOP_DEVICE_INFO_DATA_FAULT_ID                       2:2
#define NV_PTOP_DEVICE_INFO_ENTRY                               1:0
#define NV_PTOP_DEVICE_INFO_ENTRY_NOT_VALID                     0
#define NV_PTOP_DEVICE_INFO_ENTRY_DATA                          1
#define NV_PTOP_DEVICE_INFO_ENTRY_ENUM                          2
#define NV_PTOP_DEVICE_INFO_ENTRY_ENGINE_TYPE                   3

/* @source open-gpu-kernel-modules src/common/inc/swref/published/blackwell/gb100/dev_top.h */
#define NV_PTOP_DEVICE_INFO_CFG_VERSION                         3:0	/* RWDUF */
#define NV_PTOP_DEVICE_INFO_CFG_VERSION_INIT                    0x2	/* RWD-V */
#define NV_PTOP_DEVICE_INFO_CFG_MAX_DEVICES_INIT                0x099	/* RWD-V */
#define NV_PTOP_DEVICE_INFO2(i)                                 (0x00022800+(i)*4)	/* RW-4A */
#define NV_PTOP_DEVICE_INFO2_ROW_CHAIN                          31:31
#define NV_PTOP_DEVICE_INFO2_DEV_FAULT_ID                       10:0
#define NV_PTOP_DEVICE_INFO2_DEV_INSTANCE_ID                    23:16
#define NV_PTOP_DEVICE_INFO2_DEV_TYPE_ENUM                      30:24
#define NV_PTOP_DEVICE_INFO2_DEV_TYPE_ENUM_HSHUB                0x18
#define NV_PTOP_DEVICE_INFO2_DEV_RESET_ID                       39:32
#define NV_PTOP_DEVICE_INFO2_DEV_DEVICE_PRI_BASE                57:40
#define NV_PTOP_DEVICE_INFO2_DEV_IS_ENGINE                      62:62
#define NV_PTOP_DEVICE_INFO2_DEV_RLENG_ID                       65:64
#define NV_PTOP_DEVICE_INFO2_DEV_RUNLIST_PRI_BASE               89:74
#define NV_PTOP1_DEVICE_INFO_CFG                                0x000324fc	/* RW-4R */
#define NV_PTOP1_DEVICE_INFO2(i)                                (0x00032800+(i)*4)	/* RW-4A */

/* @source open-gpu-kernel-modules src/common/inc/swref/published/ampere/ga100/dev_top.h */
#define NV_PTOP_DEVICE_INFO_CFG                                 0x000224FC	/* R--4R */
#define NV_PTOP_DEVICE_INFO_CFG_NUM_ROWS                        31:20	/* C--UF */

/*
 * @hand linux-nvgpu include/nvgpu/hw/ga100/hw_top_ga100.h top_num_ces_r; same offset in
 * gv100, tu104
 */
#define NV_PTOP_SCAL_NUM_CES                                    0x00022444	/* R--4R */
#define NV_PTOP_SCAL_NUM_CES_VALUE                              4:0	/* R-IVF */

/* @source open-gpu-doc manuals/volta/gv100/dev_top.ref.txt */
#define NV_PTOP_DEVICE_INFO_TYPE_ENUM_MSENC                     11

/*
 * @hand types that only other files name: NVJPG, OFA, FLA from Linux
 * drivers/gpu/drm/nouveau/nvkm/subdev/top/ga100.c; SEC2 is NVIDIA's newer
 * name of SEC.
 */
#define NV_PTOP_DEVICE_INFO_TYPE_ENUM_OFA                       22
#define NV_PTOP_DEVICE_INFO_TYPE_ENUM_FLA                       23

#endif /* _LENS_HW_PTOP_H_ */
