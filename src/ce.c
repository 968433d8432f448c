// SPDX-License-Identifier: GPL-2.0
/*
 * Copy engines: which physical engine (PCE) serves which logical one (LCE), and
 * which LCE a graphics copy engine (GRCE) shares.
 *
 * Sources: open-gpu-doc turing/tu104/dev_ce.ref.txt, ampere/ga102/dev_ce.ref.txt.
 * NVIDIA does not publish Pascal's packed form: 4 bits per PCE, 7 for none; 8 bits
 * per GRCE, bit 3 for shared. The nvdebug tool of RTAS'24 reads it so.
 */
#include "core.h"
#include "../include/hw/ce.h"
#include "../include/hw/ptop.h"

static u8 ce_decode_grce(const struct lens_ce_layout *ce, u32 i, u32 v)
{
	if (ce->packed) {
		v >>= 8 * i;
		return v & 8 ? v & 7 : LENS_LCE_NONE;
	}
	if (DRF_VAL(NV_CE_GRCE_CONFIG_SHARED, v))
		return DRF_VAL(NV_CE_GRCE_CONFIG_SHARED_LCE, v);
	return LENS_LCE_NONE;
}

/* Up to Maxwell the device table lists physical engines by type, then logical ones. */
static bool ce_is_copy_engine(u32 type)
{
	return type == NV_PTOP_DEVICE_INFO_TYPE_ENUM_LCE ||
	       (type >= NV_PTOP_DEVICE_INFO_TYPE_ENUM_COPY0 &&
		type <= NV_PTOP_DEVICE_INFO_TYPE_ENUM_COPY2);
}

/* Entry i of a map: its own register, or the packed one, which is read once. */
static int ce_read_map_entry(struct lens_gpu *gpu, u32 reg, u32 i, bool first, u32 *v)
{
	if (gpu->chip->ce.packed)
		return first ? lens_rd32(gpu, reg, v) : 0;
	return lens_rd32(gpu, reg + 4 * i, v);
}

int lens_ce_map_read(struct lens_gpu *gpu, struct lens_ce_map *map)
{
	const struct lens_ce_layout *ce = &gpu->chip->ce;
	bool first = true;
	u32 v, i;
	int err;

	memset(map, 0, sizeof(*map));
	if (!gpu->known || !ce->pces)
		return -EOPNOTSUPP;
	map->n_grces = ce->grces;
	err = lens_rd32(gpu, ce->pce_map, &v);
	if (err)
		return err;
	map->pce_map = v & ce->pce_map_mask;
	for (i = 0; i < ce->pces; i++) {
		map->lce_for_pce[i] = ce->lce_none;
		if (!(map->pce_map & (1U << i)))
			continue;
		err = ce_read_map_entry(gpu, ce->pce2lce, i, first, &v);
		if (err)
			return err;
		first = false;
		map->lce_for_pce[i] = DRF_VAL(NV_CE_PCE2LCE_CONFIG_PCE_ASSIGNED_LCE,
					      ce->packed ? v >> 4 * i : v);
	}
	for (i = 0; i < ce->grces; i++) {
		err = ce_read_map_entry(gpu, ce->grce, i, !i, &v);
		if (err)
			return err;
		map->shared_lce[i] = ce_decode_grce(ce, i, v);
	}
	return 0;
}

int lens_read_copy_engines(struct lens_gpu *gpu)
{
	struct lens_topology *t = &gpu->topo;
	u32 v, i;
	int err;

	if (gpu->known && gpu->chip->has_num_ces) {
		err = lens_rd32(gpu, NV_PTOP_SCAL_NUM_CES, &v);
		if (err)
			return err;
		t->num_ces = DRF_VAL(NV_PTOP_SCAL_NUM_CES_VALUE, v);
	} else {
		for (i = 0; i < t->n_engines; i++)
			t->num_ces += ce_is_copy_engine(t->engines[i].type);
	}
	return lens_ce_map_read(gpu, &t->ce);
}

u32 lens_lce_find_pces(const struct lens_gpu *gpu, const struct lens_ce_map *map, u32 lce)
{
	u32 i, mask = 0;

	for (i = 0; i < gpu->chip->ce.pces; i++)
		if (map->pce_map & (1U << i) && map->lce_for_pce[i] == lce)
			mask |= 1U << i;
	return mask;
}
