// SPDX-License-Identifier: GPL-2.0
/*
 * GPCs and TPCs of this die: unit counts and floorsweeping fuses.
 *
 * The fuse index is the physical GPC; a set bit is a disabled unit (linux-nvgpu
 * hal/gr/config/gr_config_gm20b_fusa.c inverts it). Logical TPC numbers count
 * enabled units, GPC by GPC (RTAS'23, Fig. 5). That order is published up to
 * Turing; tpc_order of the chip's row says where it is assumed or wrong.
 */
#include "core.h"
#include "../include/hw/fuse.h"
#include "../include/hw/ptop.h"

int lens_read_gpcs(struct lens_gpu *gpu)
{
	struct lens_topology *t = &gpu->topo;
	u32 v, i;
	int err;

	if (!gpu->known)
		return -EOPNOTSUPP;
	err = lens_rd32(gpu, NV_PTOP_SCAL_NUM_GPCS, &v);
	if (err)
		return err;
	t->num_gpcs = DRF_VAL(NV_PTOP_SCAL_NUM_GPCS_VALUE, v);
	err = lens_rd32(gpu, NV_PTOP_SCAL_NUM_TPC_PER_GPC, &v);
	if (err)
		return err;
	t->num_tpc_per_gpc = DRF_VAL(NV_PTOP_SCAL_NUM_TPC_PER_GPC_VALUE, v);
	if (!gpu->chip->fuse_gpc)
		return -EOPNOTSUPP;
	err = lens_rd32(gpu, gpu->chip->fuse_gpc, &v);
	if (err)
		return err;
	t->gpc_mask = v & ((1U << t->num_gpcs) - 1);
	for (i = 0; i < t->num_gpcs; i++) {
		/* The fuses of a disabled GPC may not be readable. */
		if (t->gpc_mask & (1U << i))
			continue;
		err = lens_rd32(gpu, gpu->chip->fuse_tpc_gpc + 4 * i, &v);
		if (err)
			return err;
		t->tpc_mask[i] = v & ((1U << t->num_tpc_per_gpc) - 1);
	}
	return 0;
}

u32 lens_gpc_count_tpcs(const struct lens_topology *t, u32 gpc, u32 *first)
{
	u32 i, n = 0;

	*first = 0;
	for (i = 0; i <= gpc && i < t->num_gpcs; i++) {
		*first += n;
		n = t->gpc_mask & (1U << i) ? 0 : t->num_tpc_per_gpc - hweight32(t->tpc_mask[i]);
	}
	return gpc < t->num_gpcs ? n : 0;
}
