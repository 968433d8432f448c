/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How the CPU reaches GPU memory through BAR0: the PRAMIN window and the
 * blocks that say what BAR1 and BAR2 map.
 *
 * Notation is NVIDIA's own: registers are BAR0 byte offsets (or offsets in
 * the structure named), fields are `hi:lo` bit ranges, the access code of the
 * manual follows. Read them with the macros of drf.h. scripts/check-registers
 * holds every line under an @source mark against that manual.
 */
#ifndef _LENS_HW_BUS_H_
#define _LENS_HW_BUS_H_

/* @source open-gpu-kernel-modules src/common/inc/swref/published/maxwell/gm107/dev_bus.h */
#define NV_PBUS_BAR0_WINDOW                                     0x00001700	/* RW-4R */
#define NV_PBUS_BAR0_WINDOW_BASE                                23:0	/* RWIUF */
#define NV_PBUS_BAR0_WINDOW_BASE_SHIFT                          16

/* @source open-gpu-kernel-modules src/common/inc/swref/published/maxwell/gm107/dev_bus.h */
#define NV_PBUS_BAR1_BLOCK                                      0x00001704	/* RW-4R */
#define NV_PBUS_BAR1_BLOCK_PTR                                  27:0	/* RWIUF */
#define NV_PBUS_BAR1_BLOCK_TARGET                               29:28	/* RWIUF */
#define NV_PBUS_BAR1_BLOCK_MODE                                 31:31	/* RWIUF */
#define NV_PBUS_BAR1_BLOCK_MODE_VIRTUAL                         0x00000001	/* RW--V */
#define NV_PBUS_BAR1_BLOCK_PTR_SHIFT                            12
#define NV_PBUS_BAR2_BLOCK                                      0x00001714	/* RW-4R */

/* @source open-gpu-kernel-modules src/common/inc/swref/published/hopper/gh100/dev_nv_xal_ep_zb.h */
#define NV_XAL_EP_ZB_BAR0_WINDOW_BASE                           21:0
#define NV_XAL_EP_ZB_BAR0_WINDOW                                0x00000d40

/* @source open-gpu-kernel-modules src/common/inc/swref/published/hopper/gh100/hwproject.h */
#define NV_XAL_BASE_ADDRESS                                     1110016

/* @source open-gpu-kernel-modules src/common/inc/swref/published/turing/tu102/dev_vm.h */
#define NV_VIRTUAL_FUNCTION_PRIV_BAR1_BLOCK                     0x00000F40	/* RW-4R */
#define NV_VIRTUAL_FUNCTION_PRIV_BAR2_BLOCK                     0x00000F48	/* RW-4R */

/* @source open-gpu-kernel-modules src/common/inc/swref/published/hopper/gh100/dev_vm.h */
#define NV_VIRTUAL_FUNCTION_PRIV_FUNC_BAR2_BLOCK_LOW_ADDR       0x00000F70	/* RW-4R */
#define NV_VIRTUAL_FUNCTION_PRIV_FUNC_BAR1_BLOCK_LOW_ADDR       0x00000F60	/* RW-4R */
#define NV_VIRTUAL_FUNCTION_PRIV_FUNC_BAR1_BLOCK_LOW_ADDR_MODE  9:9	/* RWIUF */
#define NV_VIRTUAL_FUNCTION_PRIV_FUNC_BAR1_BLOCK_LOW_ADDR_MODE_VIRTUAL 0x00000001	/* RW--V */
#define NV_VIRTUAL_FUNCTION_PRIV_FUNC_BAR1_BLOCK_LOW_ADDR_TARGET 11:10	/* RWIUF */
#define NV_VIRTUAL_FUNCTION_PRIV_FUNC_BAR1_BLOCK_LOW_ADDR_PTR   31:12	/* RWIUF */
#define NV_VIRTUAL_FUNCTION_PRIV_FUNC_BAR1_BLOCK_HIGH_ADDR      0x00000F64	/* RW-4R */
#define NV_VIRTUAL_FUNCTION_PRIV_FUNC_BAR2_BLOCK_HIGH_ADDR      0x00000F74	/* RW-4R */

/*
 * @hand open-gpu-kernel-modules hopper/gh100/dev_ram.h NV_PRAMIN 0x007FFFFF:0x00700000,
 * split into start and size
 */
#define NV_PRAMIN_START                                         0x00700000
#define NV_PRAMIN_SIZE                                          0x00100000

/* @hand open-gpu-doc turing/tu104/dev_vm.ref.txt: the VF space as the physical function sees it */
#define NV_VIRTUAL_FUNCTION_PRIV_START                          0x00b80000

#endif /* _LENS_HW_BUS_H_ */
