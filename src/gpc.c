// SPDX-License-Identifier: GPL-2.0
/*
 * GPCs and TPCs of this die: unit counts and floorsweeping fuses.
 *
 * The fuse index is the physical GPC; a set bit is a disabled unit (linux-nvgpu
 * hal/gr/config/gr_config_gm20b_fusa.c inverts it). Logical TPC numbers count
 * enabled units, GPC by GPC (RTAS'23, Fig. 5). That order is published up to
 * Turing; tpc_order of the chip's row says where it is assumed or wrong.
 *
 * Without published fuses (Kepler, first Maxwell) the graphics engine counts what is left, by
 * logical GPC. That says nothing about physical ones.
 */
#include "core.h"
#include "../include/hw/fuse.h"
#include "../include/hw/gr.h"
#include "../include/hw/pmc.h"
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

bool lens_gpc_has_counts(const struct lens_gpu *gpu)
{
	return gpu->known && gpu->chip->has_gpc_counts && gpu->topo.gpcs_err == -EOPNOTSUPP;
}

/*
 * Fills tpcs[] by logical GPC; *gpcs is their number. Not in a stop of the machine, in which the
 * engine would stay enabled: every user may read these.
 */
static int gpc_read_numbers(struct lens_gpu *gpu, u32 *gpcs, u32 tpcs[LENS_CWD_GPCS])
{
	const struct lens_topology *t = &gpu->topo;
	u32 i, v;
	int err;

	err = lens_rd32(gpu, NV_PMC_ENABLE, &v);
	if (err)
		return err;
	if (!DRF_VAL(NV_PMC_ENABLE_PGRAPH, v))
		return -ENODATA;
	err = lens_rd32(gpu, NV_PGRAPH_PRI_FECS_FS, &v);
	if (err)
		return err;
	*gpcs = DRF_VAL(NV_PGRAPH_PRI_FECS_FS_NUM_AVAILABLE_GPCS, v);
	if (!*gpcs || *gpcs > t->num_gpcs || *gpcs > LENS_CWD_GPCS)
		return -EIO;
	for (i = 0; i < *gpcs; i++) {
		err = lens_rd32(gpu, NV_PGRAPH_PRI_GPC_FS(i), &v);
		if (err)
			return err;
		tpcs[i] = DRF_VAL(NV_PGRAPH_PRI_GPC_FS_NUM_AVAILABLE_TPCS, v);
		if (!tpcs[i] || tpcs[i] > t->num_tpc_per_gpc)
			return -EIO;
	}
	return 0;
}

/*
 * By turns: nouveau engine/gr/gf100.c gf100_gr_oneinit_sm_id (GK104, GK20A) and ctxgm107.c
 * gm107_grctx_generate_tpcid number SMs so. Of NVIDIA's own driver it is assumed.
 */
int lens_gpc_read_counts(struct lens_gpu *gpu, struct lens_tpc_places *places)
{
	u32 tpcs[LENS_CWD_GPCS];
	u32 gpcs, gpc, tpc, n = 0;
	int err;

	places->tpcs = 0;
	places->counted = true;
	if (!lens_gpc_has_counts(gpu))
		return -EOPNOTSUPP;
	err = gpc_read_numbers(gpu, &gpcs, tpcs);
	if (err)
		return err;
	for (tpc = 0; tpc < gpu->topo.num_tpc_per_gpc; tpc++) {
		for (gpc = 0; gpc < gpcs; gpc++) {
			if (tpc >= tpcs[gpc])
				continue;
			if (n == LENS_ARRAY_SIZE(places->gpc))
				return -EIO;
			places->gpc[n] = gpc;
			places->tpc[n] = tpc;
			n++;
		}
	}
	places->tpcs = n;
	return 0;
}
