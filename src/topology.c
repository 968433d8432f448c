// SPDX-License-Identifier: GPL-2.0
/*
 * The tables of engines and runlists of a GPU: adding, sorting, finding.
 *
 * No access to the GPU. ptop.c and the files of Host fill the tables.
 */
#include "core.h"

bool lens_gpu_has_host(const struct lens_gpu *gpu)
{
	return gpu->known && gpu->chip->host;
}

u32 lens_get_runlist_limit(const struct lens_gpu *gpu)
{
	return gpu->id->runlists ? gpu->id->runlists : gpu->chip->runlists;
}

const struct lens_runlist *lens_gpu_find_runlist(const struct lens_gpu *gpu, u32 id)
{
	u32 i;

	for (i = 0; i < gpu->topo.n_runlists; i++)
		if (gpu->topo.runlists[i].id == id)
			return &gpu->topo.runlists[i];
	return NULL;
}

/* Add a runlist, or find it; they are sorted by id. NULL: the table is full. */
struct lens_runlist *lens_add_runlist(struct lens_topology *t, u32 id)
{
	u32 i, j;

	for (i = 0; i < t->n_runlists && t->runlists[i].id < id; i++)
		;
	if (i < t->n_runlists && t->runlists[i].id == id)
		return &t->runlists[i];
	if (t->n_runlists == LENS_MAX_RUNLISTS)
		return NULL;
	for (j = t->n_runlists++; j > i; j--)
		t->runlists[j] = t->runlists[j - 1];
	memset(&t->runlists[i], 0, sizeof(t->runlists[i]));
	t->runlists[i].id = id;
	return &t->runlists[i];
}

/* Runlist first, then type and instance; devices without a runlist last. */
static u64 topology_get_sort_key(const struct lens_engine *e)
{
	return (u64)(u16)e->runlist << 48 | (u64)e->type << 16 | e->inst;
}

void lens_sort_engines(struct lens_topology *t)
{
	struct lens_engine tmp;
	u32 i, j;

	for (i = 1; i < t->n_engines; i++) {
		tmp = t->engines[i];
		for (j = i; j &&
		     topology_get_sort_key(&t->engines[j - 1]) > topology_get_sort_key(&tmp); j--)
			t->engines[j] = t->engines[j - 1];
		t->engines[j] = tmp;
	}
}
