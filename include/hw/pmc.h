/* SPDX-License-Identifier: GPL-2.0 */
/*
 * PMC: chip identification, and which engines are enabled.
 *
 * Notation is NVIDIA's own: registers are BAR0 byte offsets (or offsets in
 * the structure named), fields are `hi:lo` bit ranges, the access code of the
 * manual follows. Read them with the macros of drf.h. scripts/check-registers
 * holds every line under an @source mark against that manual.
 */
#ifndef _LENS_HW_PMC_H_
#define _LENS_HW_PMC_H_

/* @source open-gpu-kernel-modules src/common/inc/swref/published/nv_ref.h */
#define NV_PMC_BOOT_0                                           0x00000000	/* R--4R */
#define NV_PMC_BOOT_0_MINOR_REVISION                            3:0	/* R--VF */
#define NV_PMC_BOOT_0_MAJOR_REVISION                            7:4	/* R--VF */
#define NV_PMC_BOOT_0_ARCHITECTURE_1                            8:8	/* R--VF */
#define NV_PMC_BOOT_0_IMPLEMENTATION                            23:20	/* R--VF */
#define NV_PMC_BOOT_0_ARCHITECTURE_0                            28:24	/* R--VF */
#define NV_PMC_BOOT_42                                          0x00000A00	/* R--4R */

/*
 * @source open-gpu-doc gk104-disable-graphics-power-gating/gk104-disable-graphics-power-gating.txt
 * For GM10x the same: open-gpu-kernel-modules maxwell/gm107/dev_boot.h; for GK20A linux-nvgpu
 * hw_mc_gk20a.h mc_enable_pgraph_enabled_f.
 */
#define NV_PMC_ENABLE                                           0x00000200	/* RW-4R */
#define NV_PMC_ENABLE_PGRAPH                                    12:12	/* RWIVF */

/*
 * @hand open-gpu-kernel-modules maxwell/gm107/dev_boot.h; open-gpu-doc volta/gv100 and
 * turing/tu104 dev_master.ref.txt. For Kepler linux-nvgpu hw_mc_gk20a.h mc_enable_pfifo_enabled_f.
 */
#define NV_PMC_ENABLE_PFIFO                                     8:8

#endif /* _LENS_HW_PMC_H_ */
