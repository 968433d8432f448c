// SPDX-License-Identifier: GPL-2.0
/*
 * Size of GPU memory, which firmware or a driver writes into a register.
 */
#include "core.h"
#include "../include/hw/fb.h"

/*
 * LOWER_MAG << (LOWER_SCALE + 20) bytes, a sixteenth less under ECC.
 * open-gpu-kernel-modules kern_mem_sys_gp102.c kmemsysReadUsableFbSize_GP102,
 * which the driver uses for Turing and GA100 as well; Volta: linux-nvgpu hw_fb_gv100.h.
 */
int lens_fb_read_size_gp102(struct lens_gpu *gpu, u64 *bytes)
{
	u32 v;
	int err = lens_rd32(gpu, NV_PFB_PRI_MMU_LOCAL_MEMORY_RANGE, &v);

	if (err)
		return err;
	*bytes = (u64)DRF_VAL(NV_PFB_PRI_MMU_LOCAL_MEMORY_RANGE_LOWER_MAG, v)
		 << (DRF_VAL(NV_PFB_PRI_MMU_LOCAL_MEMORY_RANGE_LOWER_SCALE, v) + 20);
	if (DRF_VAL(NV_PFB_PRI_MMU_LOCAL_MEMORY_RANGE_ECC_MODE, v))
		*bytes = (*bytes >> 4) * 15;
	return 0;
}

/* In MiB, from GA102 on (dispatch of kmemsysReadUsableFbSize in g_kern_mem_sys_nvoc.c). */
int lens_fb_read_size_ga102(struct lens_gpu *gpu, u64 *bytes)
{
	u32 v;
	int err = lens_rd32(gpu, NV_USABLE_FB_SIZE_IN_MB, &v);

	if (!err)
		*bytes = (u64)v << 20;
	return err;
}
