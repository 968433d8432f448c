// SPDX-License-Identifier: GPL-2.0
/*
 * The file snapshot (uapi/gpulens.h). All is collected in one use of the GPU, then encoded by the
 * core.
 */
#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "../include/gpulens/snapshot.h"
#include "files.h"

static int snapshot_lay_out(const struct lens_file *f, const struct lens_snapshot *all, u64 start,
			    u64 took, struct lens_text *t)
{
	const struct lens_gpu *gpu = &f->dev->gpu;
	u32 records = lens_snapshot_encode(gpu, all, NULL, 0);
	struct gpulens_header *h;

	h = kvcalloc(records + 1, GPULENS_RECORD_BYTES, GFP_KERNEL_ACCOUNT);
	if (!h)
		return -ENOMEM;
	lens_snapshot_encode(gpu, all, h + 1, records);
	h->magic = cpu_to_le32(GPULENS_MAGIC);
	h->version = cpu_to_le16(GPULENS_VERSION);
	h->record_bytes = cpu_to_le16(GPULENS_RECORD_BYTES);
	h->records = cpu_to_le32(records);
	h->gpu = cpu_to_le32(f->dev->index);
	h->time_ns = cpu_to_le64(start);
	h->took_ns = cpu_to_le64(took);
	t->buf = (char *)h;
	t->len = (size_t)(records + 1) * GPULENS_RECORD_BYTES;
	t->cap = t->len;
	return 0;
}

/* Reads what needs a capability. */
static void snapshot_collect_scheduling(struct lens_dev *dev, struct lens_snapshot *all)
{
	struct lens_gpu *gpu = &dev->gpu;
	const struct lens_topology *topo = &gpu->topo;
	u32 i;

	lockdep_assert_held(&dev->lock);
	for (i = 0; i < topo->n_runlists; i++)
		all->err[i] = lens_snap_fill(gpu, &all->snap[i], false);
	for (i = 0; i < topo->n_engines; i++)
		all->now_err[i] = lens_engine_read(gpu, &topo->engines[i], &all->now[i]);
	all->engines_read = true;
}

/* Without observe, the error of each runlist is EPERM, and a GPU that sleeps shows what is kept. */
int lens_show_snapshot(const struct lens_file *f, bool observe, struct lens_text *t)
{
	struct lens_gpu *gpu = &f->dev->gpu;
	const struct lens_topology *topo = &gpu->topo;
	struct lens_snapshot *all;
	u64 start, took = 0;
	int err;
	u32 i;

	all = kvzalloc(sizeof(*all), GFP_KERNEL_ACCOUNT);
	if (!all)
		return -ENOMEM;
	all->where = f->dev->where;
	for (i = 0; i < topo->n_runlists; i++) {
		all->snap[i].rl = &topo->runlists[i];
		all->err[i] = -EPERM;
	}
	err = lens_dev_begin_use(f->dev);
	start = ktime_get_ns();
	if (!err) {
		/* Stays 0 after an error: unknown. */
		lens_gpu_read_memory_size(gpu, &all->memory_bytes);
		all->ce_err = lens_ce_map_read(gpu, &all->ce);
		if (observe)
			snapshot_collect_scheduling(f->dev, all);
		took = ktime_get_ns() - start;
		err = lens_dev_end_use(f->dev, 0);
	} else if (err == -ENODATA && !observe) {
		/* The copy engines' map is not kept, since it may change. */
		all->memory_bytes = topo->memory_bytes;
		all->ce_err = err;
		err = 0;
	}
	if (!err)
		err = snapshot_lay_out(f, all, start, took, t);
	for (i = 0; i < topo->n_runlists; i++)
		lens_snap_free(&all->snap[i]);
	kvfree(all);
	return err;
}
