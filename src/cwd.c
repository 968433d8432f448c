// SPDX-License-Identifier: GPL-2.0
/*
 * The hardware's own order of TPCs: the compute work distributor's table, which a driver writes
 * when it sets up the graphics engine. It can be read while a context is active; otherwise the
 * registers give 0 or a bad-read code.
 *
 * Entry t has the TPC with SM id t * (SMs per TPC), as the driver's GPC and the TPC within it
 * (linux-nvgpu hal/gr/init/gr_init_gm20b.c, gr_init_gv11b_fusa.c). That GPC number is logical.
 */
#include "core.h"
#include "../include/hw/gr.h"

static u32 cwd_count_enabled_tpcs(const struct lens_topology *t)
{
	u32 i, n = 0, first;

	for (i = 0; i < t->num_gpcs; i++)
		n += lens_gpc_count_tpcs(t, i, &first);
	return n;
}

/* As many GPCs have each number of TPCs as by the fuses, and none has a TPC twice. */
static bool cwd_agrees_with_fuses(const struct lens_topology *t,
				  const struct lens_tpc_places *places)
{
	u16 seen[LENS_CWD_GPCS] = { };	/* by logical GPC: its TPCs */
	s16 gpcs[LENS_CWD_GPCS + 1] = { };	/* by number of TPCs: GPCs, less those by fuses */
	u32 i, n, first;

	for (i = 0; i < places->tpcs; i++) {
		if (seen[places->gpc[i]] & (1U << places->tpc[i]))
			return false;
		seen[places->gpc[i]] |= 1U << places->tpc[i];
	}
	for (i = 0; i < LENS_CWD_GPCS; i++)
		gpcs[hweight32(seen[i])]++;
	for (i = 0; i < t->num_gpcs; i++) {
		n = lens_gpc_count_tpcs(t, i, &first);
		gpcs[n < LENS_CWD_GPCS ? n : LENS_CWD_GPCS]--;
	}
	for (i = 1; i <= LENS_CWD_GPCS; i++)
		if (gpcs[i])
			return false;
	return true;
}

#define CWD_LOOKS 200

/* 0, -ENODEV, or -ENODATA and how many looks of CWD_LOOKS this one counts for. */
static int cwd_look_for_context(struct lens_gpu *gpu, u32 *looks)
{
	const struct lens_topology *topo = &gpu->topo;
	struct lens_engine_status status;
	u32 i, counts;
	int err;

	*looks = CWD_LOOKS;
	for (i = 0; i < topo->n_engines; i++) {
		if (topo->engines[i].type != NV_PTOP_DEVICE_INFO_TYPE_ENUM_GRAPHICS)
			continue;
		err = lens_engine_read(gpu, &topo->engines[i], &status);
		if (err == -ENODEV || (!err && status.state == LENS_ENGINE_ON))
			return err;
		if (err || status.state == LENS_ENGINE_UNKNOWN)
			continue;
		counts = status.state == LENS_ENGINE_IDLE ? CWD_LOOKS / 4 : 1;
		if (counts < *looks)
			*looks = counts;
	}
	return -ENODATA;
}

/*
 * From one context to the next it takes 0.1 ms on an H200, in which there is none, and in which the
 * engine may be idle for a moment: a look at a switch counts once, at an idle engine 50 times.
 */
int lens_cwd_check_context(struct lens_gpu *gpu)
{
	u32 looks, all = 0;
	int err;

	do {
		err = cwd_look_for_context(gpu, &looks);
		all += looks;
	} while (err == -ENODATA && all < CWD_LOOKS);
	return err;
}

int lens_cwd_read_word(struct lens_gpu *gpu, u32 reg, u32 i, u32 *v)
{
	if (!reg || i >= gpu->chip->cwd.words)
		return -EOPNOTSUPP;
	return lens_rd32(gpu, reg + 4 * i, v);
}

int lens_cwd_read_places(struct lens_gpu *gpu, struct lens_tpc_places *places)
{
	u32 i, n, v = 0;
	int err;

	places->tpcs = 0;
	places->counted = false;
	if (!gpu->known || !gpu->chip->cwd.words)
		return -EOPNOTSUPP;
	if (gpu->topo.gpcs_err)
		return gpu->topo.gpcs_err;
	n = cwd_count_enabled_tpcs(&gpu->topo);
	if (n > 4U * gpu->chip->cwd.words)
		return -EOPNOTSUPP;
	for (i = 0; i < n; i++, v >>= 8) {
		err = i % 4 ? 0 : lens_cwd_read_word(gpu, gpu->chip->cwd.gpc_tpc_id, i / 4, &v);
		if (err)
			return err;
		places->gpc[i] = DRF_VAL(NV_PGRAPH_PRI_CWD_GPC_TPC_ID_GPC0, v);
		places->tpc[i] = DRF_VAL(NV_PGRAPH_PRI_CWD_GPC_TPC_ID_TPC0, v);
	}
	places->tpcs = n;
	if (cwd_agrees_with_fuses(&gpu->topo, places))
		return 0;
	places->tpcs = 0;
	return -ENODATA;
}
